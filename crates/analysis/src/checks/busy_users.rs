//! Busy users: in a closed loop, IOPS × mean latency is the number of busy users.
//!
//! Signals: counters, latency sums and measured times of the jobs. Source: Little's law.

use super::note;
use crate::closed_loop::Users;
use crate::run_facts::{is_paced, window};
use measure::{Nanos, text};
use model::measurement::BusyUsers;
use model::{Grade, JobResult, Note, RunResult};

/// With a smaller fraction of busy users, the rate is not that of the requested number of users.
pub(crate) const LEAST_SHARE: f64 = 0.85;
/// With a larger ratio, rate and latency contradict each other; rounding and interval edges stay far below it.
pub(crate) const MOST_SHARE: f64 = 1.15;

/// Checks each reporting group that ran as one closed loop.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let mut jobs: Vec<&JobResult> = result.jobs.iter().collect();
    jobs.sort_by_key(|job| job.echo.group);
    jobs.chunk_by(|one, other| one.echo.group == other.echo.group)
        .filter_map(|group| {
            let users: Vec<Users> = group.iter().map(|job| Users::of(result, job)).collect();
            let paced = users.iter().any(|users| is_paced(users.job));
            if paced { None } else { judge_group(&users) }
        })
        .collect()
}

/// Result of this check among the notes of a run.
pub(crate) fn found(notes: &[Note]) -> BusyUsers {
    let note = notes.iter().find(|note| note.check == super::BUSY_USERS && note.grade > Grade::Trusted);
    let evidence = |id: &str| note?.evidence.iter().find(|(name, _)| name == id).map(|&(_, value)| value);
    match evidence("users_busy").zip(evidence("users_asked")) {
        Some((busy, asked)) => BusyUsers::Odd { busy, asked },
        None => BusyUsers::Fit,
    }
}

fn unknown(why: &str) -> Option<Note> {
    Some(note(Grade::NotChecked, format!("{why}, so busy users cannot be counted"), &[]))
}

fn judge_group(jobs: &[Users<'_>]) -> Option<Note> {
    let span = jobs.iter().map(|users| window(users.job)).max()?;
    if span.is_zero() {
        return None;
    }
    if jobs.iter().any(Users::has_failed_ios) {
        return unknown("I/Os that failed are in some numbers of the report");
    }
    let Some(counts) = jobs.iter().map(Users::count).collect::<Option<Vec<f64>>>() else {
        return unknown("the report does not state how many users there were");
    };
    let users: f64 = counts.iter().sum();
    let Some(sums) = jobs.iter().map(Users::latency_sum).collect::<Option<Vec<f64>>>() else {
        return unknown("latency was not measured, or not of flushes");
    };
    // IOPS × mean latency = Σ latency ÷ measured time.
    let all: f64 = sums.iter().sum();
    let busy = all / span.as_f64();
    let share = busy / users;
    let evidence = [("users_busy", busy), ("users_asked", users), ("share_percent", 100.0 * share)];
    let possible: f64 = jobs.iter().map(Users::most_time).sum();
    if share < LEAST_SHARE {
        if let Some(excuse) = jobs.iter().find_map(Users::excuse) {
            return unknown(excuse);
        }
        Some(note(Grade::ValidWithLimits, too_few([busy, users], jobs, span), &evidence))
    } else if all > MOST_SHARE * possible {
        let busy = users * all / possible;
        let sentence = format!(
            "IOPS × latency says {busy:.1} users were at work, but there were {users:.0}: rate and latency contradict each other"
        );
        Some(note(Grade::NotAStorageResult, sentence, &evidence))
    } else {
        None
    }
}

fn too_few([busy, users]: [f64; 2], jobs: &[Users<'_>], span: Nanos) -> String {
    let early = jobs.iter().filter(|users| window(users.job).as_f64() < LEAST_SHARE * span.as_f64()).count();
    let cause = match early {
        0 => String::new(),
        1 => " (one worker ended early)".to_owned(),
        _ => format!(" ({early} workers ended early)"),
    };
    if users < 1.5 {
        let rest = if jobs.iter().all(Users::has_options) {
            "the rest of the time passed between the I/Os, not in the device"
        } else {
            "the rest of the time passed between the I/Os, in pauses, or in flushes that the report does not state"
        };
        return format!("the one user was busy {} of the time{cause}: {rest}", text::percent(busy));
    }
    format!("only {busy:.1} of {users:.0} users were busy{cause}: no scaling verdict")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, closed_loop, printed, published_rows, workload};

    fn check(result: &RunResult) -> Option<(Grade, String)> {
        let notes = run(result);
        assert!(notes.len() <= 1, "{notes:?}");
        notes.into_iter().next().map(|note| (note.grade, note.sentence))
    }

    #[test]
    fn all_users_busy_is_silent() {
        assert_eq!(check(&clean_random_read()), None);
    }

    #[test]
    fn half_the_users_busy_is_said_with_numbers() {
        let (grade, sentence) = check(&closed_loop(8, 1_000, Nanos::from_millis(4), Nanos::SECOND)).unwrap();
        assert_eq!(grade, Grade::ValidWithLimits);
        assert_eq!(sentence, "only 4.0 of 8 users were busy: no scaling verdict");
    }

    #[test]
    fn the_published_sweeps_are_distinguished_row_by_row() {
        for row in published_rows() {
            let found = check(&row.result()).map(|(grade, _)| grade);
            let expected = row.impossible.then_some(Grade::ValidWithLimits);
            assert_eq!(found, expected, "{row:?}");
        }
    }

    #[test]
    fn a_worker_that_ends_early_is_named_as_the_cause() {
        let mut result = closed_loop(1, 1_000, Nanos::MILLISECOND, Nanos::SECOND);
        let mut short = closed_loop(1, 250, Nanos::MILLISECOND, Nanos::from_millis(250));
        result.jobs.append(&mut short.jobs);
        let (_, sentence) = check(&result).unwrap();
        assert_eq!(sentence, "only 1.2 of 2 users were busy (one worker ended early): no scaling verdict");
    }

    #[test]
    fn more_busy_users_than_there_are_is_a_contradiction() {
        let (grade, sentence) = check(&closed_loop(4, 10_000, Nanos::MILLISECOND, Nanos::SECOND)).unwrap();
        assert_eq!(grade, Grade::NotAStorageResult);
        assert!(sentence.contains("10.0 users") && sentence.contains("there were 4"), "{sentence}");
    }

    #[test]
    fn an_io_that_began_in_the_ramp_counts_whole() {
        let mut result = closed_loop(1, 10, Nanos::from_millis(300), Nanos::from_secs(3));
        let latency = result.jobs[0].directions.read.total.as_mut().unwrap();
        latency.moments.record(Nanos::from_millis(1_200));
        assert_eq!(check(&result).unwrap().0, Grade::NotAStorageResult, "4.2 s of one user in 3 s");
        workload(&mut result).ramp = Nanos::SECOND;
        assert_eq!(check(&result), None, "one of them may have begun 1.2 s before");
        let latency = result.jobs[0].directions.read.total.as_mut().unwrap();
        (0..3).for_each(|_| latency.moments.record(Nanos::from_millis(1_200)));
        assert_eq!(check(&result).unwrap().0, Grade::NotAStorageResult, "only one can");
    }

    #[test]
    fn a_rate_limit_wants_idle_users() {
        let mut result = closed_loop(8, 100, Nanos::MILLISECOND, Nanos::SECOND);
        assert!(check(&result).is_some());
        workload(&mut result).pace.iops.read = Some(100);
        assert_eq!(check(&result), None);
    }

    #[test]
    fn depth_counts_as_users_and_a_synchronous_engine_has_one_slot() {
        let mut result = closed_loop(1, 32_000, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].echo.iodepth = 32;
        assert_eq!(check(&result), None);
        let mut synchronous = closed_loop(1, 1_000, Nanos::MILLISECOND, Nanos::SECOND);
        synchronous.jobs[0].echo.iodepth = 32;
        synchronous.jobs[0].depth.level[0] = 1_000;
        assert_eq!(check(&synchronous), None, "the depth that was never reached belongs to another check");
    }

    #[test]
    fn unmeasured_latency_is_not_checked() {
        let mut result = closed_loop(2, 1_000, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].directions.read.total = None;
        assert_eq!(check(&result).unwrap().0, Grade::NotChecked);
    }

    #[test]
    fn time_in_fsync_is_time_at_work() {
        let mut result = closed_loop(1, 100, Nanos::MILLISECOND, Nanos::SECOND);
        assert!(check(&result).is_some());
        result.jobs[0].sync.latency.moments = measure::Moments::from_parts(100, 9_000_000, 9_000_000, 900_000_000, 0);
        assert_eq!(check(&result), None);
    }

    #[test]
    fn users_that_a_report_does_not_state_are_not_checked() {
        let contradictory = || closed_loop(4, 10_000, Nanos::MILLISECOND, Nanos::SECOND);
        let grade = |result: RunResult| check(&result).map(|(grade, _)| grade);
        assert_eq!(grade(printed(contradictory(), Some(4.0), Some(1.0))), Some(Grade::NotAStorageResult));
        assert_eq!(grade(printed(contradictory(), None, Some(1.0))), Some(Grade::NotChecked), "a terse line");
        assert_eq!(
            grade(printed(contradictory(), Some(4.0), None)),
            Some(Grade::NotChecked),
            "without its first lines"
        );
        let mut at_one = printed(contradictory(), Some(10.0), None);
        at_one.jobs[0].workers = 10;
        crate::fixtures::printed_job(&mut at_one).depth_percent = vec![100.0, 0.0];
        assert_eq!(grade(at_one), None, "its depths say that each worker has one I/O in flight");
    }

    #[test]
    fn a_phase_that_verifies_comes_after_the_writes() {
        let mut result = closed_loop(1, 1_000, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].directions.write = result.jobs[0].directions.read.clone();
        assert_eq!(check(&result).unwrap().0, Grade::NotAStorageResult, "both at the same time");
        result = printed(result, Some(1.0), Some(1.0));
        assert_eq!(check(&result).unwrap().0, Grade::NotAStorageResult, "the report states the time of the job");
        workload(&mut result).is_outline = true;
        assert_eq!(check(&result), None, "a text does not");
        workload(&mut result).is_outline = false;
        result.jobs[0].runtime = Nanos::from_secs(2);
        assert_eq!(check(&result), None);
    }

    #[test]
    fn more_in_flight_than_seen_is_possible_up_to_the_asked_depth() {
        let mut result = closed_loop(1, 7_000, Nanos::MILLISECOND, Nanos::SECOND);
        (result.jobs[0].echo.iodepth, result.jobs[0].depth.level[0]) = (8, 7_000);
        assert_eq!(check(&result), None, "another thread submits");
        result.jobs[0].echo.iodepth = 4;
        assert_eq!(check(&result).unwrap().0, Grade::NotAStorageResult);
    }

    #[test]
    fn untimed_flushes_and_runs_of_milliseconds_are_not_checked() {
        let idle = |length: Nanos| printed(closed_loop(1, 2, Nanos::MILLISECOND, length), Some(1.0), Some(1.0));
        assert_eq!(check(&idle(Nanos::SECOND)).unwrap().0, Grade::ValidWithLimits);
        assert_eq!(check(&idle(Nanos::from_millis(10))).unwrap().0, Grade::NotChecked);
        let mut flushed = idle(Nanos::SECOND);
        crate::fixtures::printed_job(&mut flushed).sync = Some(model::reading::ReadLatency::default());
        assert_eq!(check(&flushed).unwrap().0, Grade::NotChecked);
        let mut ends_flushed = idle(Nanos::SECOND);
        workload(&mut ends_flushed).flushes.at_end = true;
        assert_eq!(check(&ends_flushed).unwrap().0, Grade::ValidWithLimits, "what was not written is not flushed");
        let writes = |result: &mut RunResult| {
            let directions = &mut result.jobs[0].directions;
            directions.write = std::mem::take(&mut directions.read);
        };
        writes(&mut ends_flushed);
        assert_eq!(check(&ends_flushed).unwrap().0, Grade::NotChecked);
        let mut ours = closed_loop(1, 2, Nanos::MILLISECOND, Nanos::SECOND);
        writes(&mut ours);
        assert_eq!(check(&ours).unwrap().0, Grade::ValidWithLimits);
        workload(&mut ours).flushes.at_end = true;
        assert_eq!(check(&ours).unwrap().0, Grade::NotChecked);
    }
}
