//! Busy users: in a closed loop, IOPS × mean latency is the number of busy users.
//!
//! Signals: counters, latency sums and measured times of the jobs. Source: Little's law.

use super::note;
use crate::run_facts::{is_paced, latency_sum_ns, slots, window};
use measure::Nanos;
use model::{Grade, JobResult, Note, RunResult};

pub(super) const ID: &str = "busy users";

/// With a smaller fraction of busy users, the rate is not that of the requested number of users.
pub(crate) const LEAST_SHARE: f64 = 0.85;
/// With a larger ratio, rate and latency contradict each other; rounding and interval edges stay far below it.
pub(crate) const MOST_SHARE: f64 = 1.15;

/// Checks each reporting group that ran as one closed loop.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let mut groups: Vec<u32> = result.jobs.iter().map(|job| job.echo.group).collect();
    groups.dedup();
    groups.sort_unstable();
    groups.dedup();
    groups
        .into_iter()
        .filter_map(|group| {
            let jobs: Vec<&JobResult> = result.jobs.iter().filter(|job| job.echo.group == group).collect();
            let paced = jobs.iter().any(|job| is_paced(job));
            if paced { None } else { judge_group(&jobs) }
        })
        .collect()
}

fn judge_group(jobs: &[&JobResult]) -> Option<Note> {
    let span = jobs.iter().map(|job| window(job)).max()?;
    if span.is_zero() {
        return None;
    }
    let users: f64 = jobs.iter().map(|job| f64::from(job.workers.max(1)) * f64::from(slots(job))).sum();
    let sums: Option<Vec<f64>> = jobs.iter().map(|job| latency_sum_ns(job)).collect();
    let Some(sums) = sums else {
        let sentence = "latency was not measured, so busy users cannot be counted".to_owned();
        return Some(note(ID, Grade::NotChecked, sentence, &[("users_asked", users)]));
    };
    // IOPS × mean latency = Σ latency ÷ measured time.
    let busy = sums.iter().sum::<f64>() / span.as_f64();
    let share = busy / users;
    let evidence = [("users_busy", busy), ("users_asked", users), ("share_percent", 100.0 * share)];
    if share < LEAST_SHARE {
        Some(note(ID, Grade::ValidWithLimits, too_few(busy, users, jobs, span), &evidence))
    } else if share > MOST_SHARE {
        let sentence = format!(
            "IOPS × latency says {busy:.1} users were at work, but there were {users:.0}: rate and latency contradict each other"
        );
        Some(note(ID, Grade::NotAStorageResult, sentence, &evidence))
    } else {
        None
    }
}

fn too_few(busy: f64, users: f64, jobs: &[&JobResult], span: Nanos) -> String {
    let early = jobs.iter().filter(|job| window(job).as_f64() < LEAST_SHARE * span.as_f64()).count();
    let cause = match early {
        0 => String::new(),
        1 => " (one worker ended early)".to_owned(),
        _ => format!(" ({early} workers ended early)"),
    };
    if users < 1.5 {
        return format!(
            "the one user was busy {:.0} % of the time{cause}: the rest went by between the I/Os, not in the device",
            100.0 * busy
        );
    }
    format!("only {busy:.1} of {users:.0} users were busy{cause}: no scaling verdict")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, closed_loop, published_rows, workload};

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
    fn the_published_sweeps_are_told_apart_row_by_row() {
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
}
