//! Late sender: the tester issued I/Os after the moments at which their rate made them due, and a percentile that is
//! printed is another one for it.
//!
//! Signals: the I/Os that a worker issued late though there was room in the queue; how late they were; the response time.

use super::note;
use crate::run_facts::{busy_jobs, float, is_simulated};
use measure::{Nanos, text};
use model::{DirectionResult, Grade, LatencyStatistics, Note, RunResult, samples_needed};

/// Least part of a percentile of the response time that the tester must add, to change what is read from it.
const PART_MIN: f64 = 0.1;
/// And least time of it: a worker that sleeps until an I/O is due wakes up later, by 50 µs and more on a virtual machine.
const TIME_MIN: Nanos = Nanos::from_micros(200);
/// Percentiles of a result that prints none.
const USUAL: [f64; 2] = [50.0, 99.0];

/// Checks all I/Os with a rate together.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let sum = sent(result);
    let share = late_share(&sum);
    let Some(changed) = changed(result, &sum, share) else { return Vec::new() };
    let longest = sum.lateness.as_ref().and_then(|lateness| lateness.moments.maximum()).unwrap_or_default();
    let sentence = format!(
        "{} of the I/Os were issued late, and not for want of room in the queue: of the p{} of the response time, {}, up to {} \
         are the tester's",
        text::percent(share.min(1.0)),
        changed.percent,
        text::time(changed.response.as_f64()),
        text::time(changed.late.min(longest).as_f64())
    );
    let evidence = [
        ("late_percent", 100.0 * share),
        ("percentile", changed.percent),
        ("late_ms", 1e3 * changed.late.as_secs_f64()),
        ("response_ms", 1e3 * changed.response.as_secs_f64()),
        ("longest_ms", 1e3 * longest.as_secs_f64()),
    ];
    vec![note(Grade::ValidWithLimits, sentence, &evidence)]
}

/// A percentile of the response time of which the tester is a part.
struct Changed {
    percent: f64,
    late: Nanos,
    response: Nanos,
}

/// The lowest printed percentile that has enough I/Os beyond it, and that the tester changes.
fn changed(result: &RunResult, sum: &DirectionResult, share: f64) -> Option<Changed> {
    let histogram = |times: &'_ Option<LatencyStatistics>| times.as_ref().and_then(|times| times.histogram.clone());
    let (lateness, response) = histogram(&sum.lateness).zip(histogram(&sum.response))?;
    let printed = result.jobs.iter().map(|job| &job.style.percentiles).find(|printed| !printed.is_empty());
    let mut percents = printed.map_or(USUAL.to_vec(), Clone::clone);
    percents.sort_by(f64::total_cmp);
    let is_fact = |&percent: &f64| percent < 100.0 && samples_needed(percent) <= sum.ios;
    percents.into_iter().filter(is_fact).find_map(|percent| {
        let (late, response) = lateness.percentile(percent).zip(response.percentile(percent))?;
        // With fewer I/Os that the tester sent late than are beyond the percentile, others waited for room.
        let is_the_testers = share >= 1.0 - percent / 100.0;
        (is_the_testers && late >= TIME_MIN && late.as_f64() >= PART_MIN * response.as_f64()).then_some(Changed {
            percent,
            late,
            response,
        })
    })
}

/// All I/Os with a rate together; those in virtual time are never late.
pub(crate) fn sent(result: &RunResult) -> DirectionResult {
    let jobs = busy_jobs(result).filter(|job| !is_simulated(job));
    let directions = jobs.flat_map(|job| job.directions.iter().map(|(_, direction)| direction));
    let mut sum = DirectionResult::default();
    for direction in directions.filter(|direction| direction.sent_late.is_some()) {
        sum.merge(direction);
    }
    sum
}

/// Share of these I/Os that the tester issued late.
pub(crate) fn late_share(sum: &DirectionResult) -> f64 {
    float(sum.sent_late.unwrap_or(0)) / float(sum.ios.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, workload};
    use measure::Histogram;

    /// A kind of I/Os: their number, how late they were sent, and their response time, in µs.
    struct Sent {
        ios: u64,
        late_us: u64,
        response_us: u64,
    }

    /// Reads with a rate; those of the second kind were sent late.
    fn sent(kinds: [Sent; 2]) -> RunResult {
        let mut result = clean_random_read();
        result.jobs[0].style.percentiles = vec![50.0, 99.0, 99.9];
        let times = |of: fn(&Sent) -> u64| {
            let mut found = LatencyStatistics { histogram: Some(Box::new(Histogram::new())), ..Default::default() };
            for kind in &kinds {
                let time = Nanos::from_micros(of(kind));
                found.moments.record_many(time, kind.ios);
                found.histogram.as_mut().unwrap().record_many(time, kind.ios);
            }
            Some(found)
        };
        let read = &mut result.jobs[0].directions.read;
        read.ios = kinds.iter().map(|kind| kind.ios).sum();
        (read.lateness, read.response) = (times(|kind| kind.late_us), times(|kind| kind.response_us));
        read.sent_late = Some(kinds[1].ios);
        result
    }

    fn sentence(kinds: [Sent; 2]) -> Option<String> {
        run(&sent(kinds)).into_iter().next().map(|note| note.sentence)
    }

    const ON_TIME: Sent = Sent { ios: 19_000, late_us: 10, response_us: 110 };

    #[test]
    fn a_percentile_that_the_tester_changes_is_a_finding() {
        assert_eq!(
            sentence([ON_TIME, Sent { ios: 1_000, late_us: 4_000, response_us: 4_100 }]).unwrap(),
            "5 % of the I/Os were issued late, and not for want of room in the queue: of the p99 of the response time, \
             4.11 ms, up to 4 ms are the tester's"
        );
        assert_eq!(run(&clean_random_read()), [], "a job without a rate is never late");
    }

    #[test]
    fn a_timer_that_wakes_late_and_an_unprinted_tail_are_silent() {
        let timer = Sent { ios: 9_000, late_us: 90, response_us: 190 };
        assert_eq!(sentence([ON_TIME, timer]), None, "what a timer of a virtual machine takes");
        let tail = Sent { ios: 100, late_us: 4_000, response_us: 4_100 };
        assert_eq!(sentence([ON_TIME, tail]), None, "half a percent, and p99.9 has too few I/Os");
        let little = Sent { ios: 1_000, late_us: 300, response_us: 5_000 };
        assert_eq!(sentence([ON_TIME, little]), None, "6 % of the response time");
        let few = [Sent { ios: 800, ..ON_TIME }, Sent { ios: 40, late_us: 4_000, response_us: 4_100 }];
        assert_eq!(sentence(few), None, "840 I/Os have no p99");
    }

    #[test]
    fn i_os_that_waited_for_room_are_not_the_testers() {
        let mut result = sent([ON_TIME, Sent { ios: 1_000, late_us: 4_000, response_us: 4_100 }]);
        result.jobs[0].directions.read.sent_late = Some(100);
        assert_eq!(run(&result), []);
    }

    #[test]
    fn directions_and_jobs_with_a_rate_count_together() {
        let late = || Sent { ios: 250, late_us: 4_000, response_us: 4_100 };
        let mut result = sent([ON_TIME, late()]);
        result.jobs.push(sent([ON_TIME, Sent { ios: 0, ..ON_TIME }]).jobs.remove(0));
        assert_eq!(run(&result), [], "250 of 38,250");
        result.jobs[1].directions.read.sent_late = None;
        assert_eq!(run(&result)[0].evidence[0], ("late_percent".to_owned(), 100.0 * 250.0 / 19_250.0));
        workload(&mut result).virtual_time = true;
        assert_eq!(run(&result), [], "virtual time is never late");
    }
}
