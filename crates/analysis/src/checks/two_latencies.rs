//! Two latencies: the I/Os are of two kinds, far apart, and the mean describes neither.
//!
//! Signals: the latency histogram. Two kinds are two groups of I/Os with next to nothing between them over a factor of
//! four or more, where the slow ones are few and yet make much of the time: reads of which some come from a cache,
//! stalls that recur every second, a device of two parts.

use super::note;
use crate::run_facts::{RunFacts, busy_jobs, float};
use measure::{Direction, Histogram, text};
use model::{DirectionResult, Grade, JobResult, Note, RunResult};
use plan::Order;

/// With fewer I/Os a gap may be chance.
const IOS_MIN: u64 = 1_000;
/// Number of neighbouring powers of two that must be nearly empty.
const GAP: usize = 2;
/// A power of two is nearly empty with less than this fraction of the smaller group.
const EMPTY: f64 = 0.05;
/// The slow ones count from this fraction of the I/Os: fewer are outliers.
const SLOW_MIN: f64 = 0.002;
/// The fast ones count from this fraction of the I/Os: with fewer, the mean describes the slow ones.
const FAST_MIN: f64 = 0.05;
/// The slow ones count from this fraction of all time.
const TIME_MIN: f64 = 0.30;

/// Workers that wait this fraction of the slow ones' time for a processor make them slow (check `client CPU`).
const RUN_DELAY: f64 = 0.5;

/// Reports the direction and job in which the slow ones make the largest part of the time.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let waiting = RunFacts::of(result).and_then(|seen| seen.processor_shares()).map_or(0.0, |(_, waiting)| waiting);
    let directions = busy_jobs(result)
        .flat_map(|job| [Direction::Read, Direction::Write].map(|direction| (job, direction)))
        .filter(|&(job, direction)| reaches_device(job, direction));
    let found = directions.filter_map(|(job, direction)| {
        let kinds = two_kinds(histogram(&job.directions[direction])?)?;
        (waiting < RUN_DELAY * kinds.slow_time).then_some((kinds, direction))
    });
    let worst = found.max_by(|(one, _), (other, _)| one.slow_time.total_cmp(&other.slow_time));
    worst.map(|(kinds, direction)| describe(&kinds, direction)).into_iter().collect()
}

/// False for buffered writes, of which most end in memory, and for buffered reads in order, of which most find what the
/// kernel has read ahead: other checks say so, and the rate is what such a job asks for.
fn reaches_device(job: &JobResult, direction: Direction) -> bool {
    let Some(workload) = &job.workload else { return direction == Direction::Read || job.echo.direct };
    job.echo.direct
        || match direction {
            Direction::Read => workload.order != Order::Sequential,
            Direction::Write | Direction::Trim => workload.flushes.by_each_write,
        }
}

fn histogram(found: &DirectionResult) -> Option<&Histogram> {
    [&found.total, &found.completion].into_iter().find_map(|latency| latency.as_ref()?.histogram.as_deref())
}

/// Two groups of I/Os.
struct Kinds {
    /// Mean latency of the fast ones and of the slow ones, in ns.
    fast_ns: f64,
    slow_ns: f64,
    /// The fraction of the I/Os that are slow, and the fraction of all time that they take.
    slow_share: f64,
    slow_time: f64,
}

/// The widest gap between two groups; `None` if the I/Os are of one kind.
fn two_kinds(histogram: &Histogram) -> Option<Kinds> {
    let total = histogram.total();
    if total < IOS_MIN {
        return None;
    }
    // Per power of two: number of I/Os and their time.
    let mut octaves = [(0_u64, 0.0_f64); 64];
    for (bucket, count) in histogram.iter() {
        let value = Histogram::bucket_value(bucket).get();
        let octave = &mut octaves[(value | 1).ilog2() as usize];
        octave.0 += count;
        octave.1 += float(count) * float(value);
    }
    let all_time: f64 = octaves.iter().map(|octave| octave.1).sum();
    let sum =
        |part: &[(u64, f64)]| (part.iter().map(|octave| octave.0).sum::<u64>(), part.iter().map(|o| o.1).sum::<f64>());
    let gaps = (1..octaves.len() - GAP).filter_map(|start| {
        let (fast, rest) = octaves.split_at(start);
        let (gap, slow) = rest.split_at(GAP);
        let ((fast_ios, fast_time), (slow_ios, slow_time)) = (sum(fast), sum(slow));
        let least = float(fast_ios.min(slow_ios));
        let is_empty = gap.iter().all(|octave| float(octave.0) <= EMPTY * least);
        let (slow_share, slow_part) = (float(slow_ios) / float(total), slow_time / all_time);
        let counts = fast_ios > 0 && slow_share >= SLOW_MIN && 1.0 - slow_share >= FAST_MIN && slow_part >= TIME_MIN;
        (is_empty && counts).then(|| Kinds {
            fast_ns: fast_time / float(fast_ios),
            slow_ns: slow_time / float(slow_ios),
            slow_share,
            slow_time: slow_part,
        })
    });
    gaps.max_by(|one, other| (one.slow_ns / one.fast_ns).total_cmp(&(other.slow_ns / other.fast_ns)))
}

fn describe(kinds: &Kinds, direction: Direction) -> Note {
    let what = if direction == Direction::Read { "reads" } else { "writes" };
    let slow = 100.0 * kinds.slow_share;
    let most = if slow <= 50.0 { "most".to_owned() } else { text::percent(1.0 - kinds.slow_share) };
    let sentence = format!(
        "the {what} are of two kinds: {most} take about {}, {} about {}, and those are {} of the time: the mean describes neither",
        text::span(kinds.fast_ns / 1e9),
        text::percent(kinds.slow_share),
        text::span(kinds.slow_ns / 1e9),
        text::percent(kinds.slow_time),
    );
    let evidence = [
        ("fast_us", kinds.fast_ns / 1e3),
        ("slow_us", kinds.slow_ns / 1e3),
        ("slow_percent", slow),
        ("slow_time_percent", 100.0 * kinds.slow_time),
    ];
    note(Grade::ValidWithLimits, sentence, &evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, workload};
    use measure::Nanos;

    /// A result whose reads have these latencies, by number.
    fn with(latencies: &[(Nanos, u64)]) -> RunResult {
        let mut result = clean_random_read();
        workload(&mut result).order = Order::Random(plan::Distribution::Uniform);
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|&(latency, count)| histogram.record_many(latency, count));
        result.jobs[0].directions.read.total.as_mut().unwrap().histogram = Some(Box::new(histogram));
        result
    }

    #[test]
    fn stalls_that_make_most_of_the_time_are_named() {
        assert_eq!(run(&clean_random_read()), []);
        let stalls = with(&[(Nanos::from_micros(100), 9_890), (Nanos::from_millis(60), 110)]);
        assert_eq!(
            run(&stalls)[0].sentence,
            "the reads are of two kinds: most take about 100 µs, 1.1 % about 60 ms, and those are 87 % of the time: the mean describes neither"
        );
    }

    #[test]
    fn reads_that_a_cache_answers_in_part_are_named() {
        let result = with(&[(Nanos::from_micros(2), 6_000), (Nanos::from_micros(90), 4_000)]);
        assert!(run(&result)[0].sentence.contains("most take about 2 µs, 40 % about"), "{:?}", run(&result));
    }

    #[test]
    fn a_tail_an_outlier_and_few_ios_are_silent() {
        let tail: Vec<(Nanos, u64)> =
            (0..10).map(|step| (Nanos::from_micros(100 << step), 100_000 >> (2 * step))).collect();
        assert_eq!(run(&with(&tail)), [], "a tail without a gap");
        assert_eq!(run(&with(&[(Nanos::from_micros(100), 50_000), (Nanos::from_millis(80), 3)])), [], "outliers");
        assert_eq!(run(&with(&[(Nanos::from_micros(100), 500), (Nanos::from_millis(80), 400)])), [], "too few");
        assert_eq!(run(&with(&[(Nanos::from_micros(100), 9_000), (Nanos::from_micros(250), 4_000)])), [], "no gap");
        assert_eq!(run(&with(&[(Nanos(520), 100), (Nanos::from_micros(303), 9_900)])), [], "few fast ones");
    }

    #[test]
    fn buffered_reads_in_order_are_read_ahead() {
        let mut result = with(&[(Nanos::from_micros(4), 3_400), (Nanos::from_micros(180), 6_600)]);
        assert!(run(&result)[0].sentence.contains("of two kinds: 34 % take about 4 µs, 66 % about"), "random ones");
        workload(&mut result).order = Order::Sequential;
        assert_eq!(run(&result), []);
        result.jobs[0].echo.direct = true;
        assert_eq!(run(&result).len(), 1);
    }

    #[test]
    fn buffered_writes_are_left_to_other_checks() {
        let mut result = with(&[(Nanos::from_micros(2), 9_890), (Nanos::from_millis(60), 110)]);
        let job = &mut result.jobs[0];
        job.directions.write = std::mem::take(&mut job.directions.read);
        assert_eq!(run(&result), []);
        result.jobs[0].echo.direct = true;
        assert!(run(&result)[0].sentence.starts_with("the writes are of two kinds"));
    }
}
