//! Late sender: the tester issued I/Os after the moments at which their rate made them due.
//!
//! Signals: the I/Os that a worker issued more than 50 µs late though there was room in the queue.

use super::note;
use crate::run_facts::{busy_jobs, float, is_simulated};
use measure::text;
use model::{DirectionResult, Grade, LatencyStatistics, Note, RunResult};

/// From this part of the I/Os on, the 99th percentile of the response time is that of the tester.
const LATE_MIN: f64 = 0.01;

/// Least part of the 99th percentile of the response time that the tester must add, to change what is read from it. A
/// worker that sleeps until an I/O is due wakes up some 10 µs later.
const PART_MIN: f64 = 0.1;

/// Checks all I/Os with a rate together.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let sum = sent(result);
    let share = late_share(&sum);
    let p99 = |times: &Option<LatencyStatistics>| Some(times.as_ref()?.histogram.as_ref()?.percentile(99.0)?.as_f64());
    let is_little = p99(&sum.lateness).zip(p99(&sum.response)).is_some_and(|(late, whole)| late < PART_MIN * whole);
    if share < LATE_MIN || is_little {
        return Vec::new();
    }
    let longest = sum.lateness.as_ref().and_then(|lateness| lateness.moments.maximum()).unwrap_or_default();
    let sentence = format!(
        "{} of the I/Os were issued more than 50 µs after they were due, and not for want of room in the queue: the tester was \
         late, by up to {}",
        text::percent(share.min(1.0)),
        text::time(longest.as_f64())
    );
    let evidence = [("late_percent", 100.0 * share), ("longest_ms", 1e3 * longest.as_secs_f64())];
    vec![note(Grade::ValidWithLimits, sentence, &evidence)]
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
    use measure::Nanos;

    /// 8,000 reads with a rate, of which `late` were issued late.
    fn sent(late: u64) -> RunResult {
        let mut result = clean_random_read();
        let read = &mut result.jobs[0].directions.read;
        let mut lateness = LatencyStatistics::default();
        lateness.moments.record_many(Nanos(200), 8_000 - late);
        lateness.moments.record_many(Nanos::from_micros(2_300), late);
        (read.lateness, read.sent_late) = (Some(lateness), Some(late));
        result
    }

    #[test]
    fn a_hundredth_of_late_ios_is_a_finding_and_less_is_not() {
        assert_eq!(run(&sent(79)), []);
        assert_eq!(
            run(&sent(80))[0].sentence,
            "1 % of the I/Os were issued more than 50 µs after they were due, and not for want of room in the queue: the tester was late, by up to 2.3 ms"
        );
        assert_eq!(run(&clean_random_read()), [], "a job without a rate is never late");
    }

    #[test]
    fn a_tester_that_is_late_by_little_is_not_a_finding() {
        let with = |late_us: u64, response_us: u64| {
            let times = |us: u64| {
                let mut histogram = Histogram::default();
                (0..8_000).for_each(|_| histogram.record(Nanos::from_micros(us)));
                Some(LatencyStatistics { histogram: Some(Box::new(histogram)), ..LatencyStatistics::default() })
            };
            let mut result = sent(4_000);
            let read = &mut result.jobs[0].directions.read;
            (read.lateness, read.response) = (times(late_us), times(response_us));
            run(&result).len()
        };
        assert_eq!((with(60, 5_000), with(60, 500)), (0, 1));
    }

    #[test]
    fn directions_and_jobs_with_a_rate_count_together() {
        let mut result = sent(100);
        result.jobs.push(sent(0).jobs.remove(0));
        assert_eq!(run(&result), [], "100 of 16,000");
        result.jobs[1].directions.read.sent_late = None;
        assert_eq!(run(&result)[0].evidence[0], ("late_percent".to_owned(), 1.25));
        workload(&mut result).virtual_time = true;
        assert_eq!(run(&result), [], "virtual time is never late");
    }
}
