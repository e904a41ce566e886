//! Two latencies: the I/Os are of two kinds, far apart, and the mean describes neither.
//!
//! Signals: the latency histogram, idle processors. Two kinds are two peaks with next to nothing between them over a
//! factor of four or more, where the slow ones make much of the time: reads of which some come from a cache, a device of
//! two parts. A tail is not a kind, and neither is what other programs leave of a processor.

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
/// The slow ones count from this fraction of the I/Os: fewer are a tail, and other checks find stalls.
const SLOW_MIN: f64 = 0.02;
/// A group is a peak if two neighbouring powers of two have this fraction of it: a tail is spread over more.
const PEAK: f64 = 0.6;
/// Time for which a worker waits for a processor that another program has: some time slices of the scheduler.
const SLICES_NS: std::ops::Range<f64> = 0.5e6..50e6;
/// Slow ones of that length count from this fraction of the I/Os, unless the processors are known to have been idle.
const SLICED_MIN: f64 = 0.3;
/// With a smaller fraction of idle time, workers wait for processors.
const IDLE_MIN: f64 = 0.25;
/// The fast ones count from this fraction of the I/Os: with fewer, the mean describes the slow ones.
const FAST_MIN: f64 = 0.05;
/// The slow ones count from this fraction of all time.
const TIME_MIN: f64 = 0.30;

/// Workers that wait this fraction of the slow ones' time for a processor make them slow (check `client CPU`).
const RUN_DELAY: f64 = 0.5;

/// Reports the direction and job in which the slow ones make the largest part of the time.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let seen = RunFacts::of(result);
    let waiting = seen.as_ref().and_then(RunFacts::processor_shares).map_or(0.0, |(_, waiting)| waiting);
    let had_processors = seen.as_ref().and_then(idle_processors).is_some_and(|idle| idle >= IDLE_MIN);
    let directions = busy_jobs(result)
        .flat_map(|job| [Direction::Read, Direction::Write].map(|direction| (job, direction)))
        .filter(|&(job, direction)| reaches_device(job, direction));
    let found = directions.filter_map(|(job, direction)| {
        let kinds = two_kinds(histogram(&job.directions[direction])?)?;
        let is_of_slices = !had_processors && SLICES_NS.contains(&kinds.slow_ns) && kinds.slow_share < SLICED_MIN;
        (waiting < RUN_DELAY * kinds.slow_time && !is_of_slices).then_some((kinds, direction))
    });
    let worst = found.max_by(|(one, _), (other, _)| one.slow_time.total_cmp(&other.slow_time));
    worst.map(|(kinds, direction)| describe(&kinds, direction)).into_iter().collect()
}

/// Fraction of the time that the processors were idle; `None` in a report, which does not state it.
fn idle_processors(seen: &RunFacts<'_>) -> Option<f64> {
    let cpu = seen.steady.cpu.filter(|cpu| cpu.total() > 0)?;
    Some(float(cpu.idle + cpu.iowait) / float(cpu.total()))
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
        let is_peak = |part: &[(u64, f64)], ios: u64| {
            part.windows(2).any(|pair| float(pair[0].0 + pair[1].0) >= PEAK * float(ios))
        };
        let are_peaks = is_peak(fast, fast_ios) && is_peak(slow, slow_ios);
        let counts = fast_ios > 0 && slow_share >= SLOW_MIN && 1.0 - slow_share >= FAST_MIN && slow_part >= TIME_MIN;
        (is_empty && counts && are_peaks).then(|| Kinds {
            fast_ns: fast_time / float(fast_ios),
            slow_ns: slow_time / float(slow_ios),
            slow_share,
            slow_time: slow_part,
        })
    });
    gaps.max_by(|one, other| (one.slow_ns / one.fast_ns).total_cmp(&(other.slow_ns / other.fast_ns)))
}

fn describe(kinds: &Kinds, direction: Direction) -> Note {
    let what = direction.plural();
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
    fn two_peaks_apart_are_named() {
        assert_eq!(run(&clean_random_read()), []);
        let parts = with(&[(Nanos::from_micros(100), 9_700), (Nanos::from_millis(80), 300)]);
        assert_eq!(
            run(&parts)[0].sentence,
            "the reads are of two kinds: most take about 100 µs, 3 % about 80 ms, and those are 96 % of the time: the mean describes neither"
        );
    }

    #[test]
    fn time_slices_of_other_programs_are_a_tail() {
        let sliced = [(Nanos::from_micros(100), 9_000), (Nanos::from_millis(4), 1_000)];
        assert_eq!(run(&with(&sliced)), [], "a report does not state how busy the machine was");
        let with_idle = |idle: u64| {
            let mut result = crate::fixtures::watched_random_read();
            result.jobs[0].directions.read = with(&sliced).jobs[0].directions.read.clone();
            workload(&mut result).order = Order::Random(plan::Distribution::Uniform);
            for interval in &mut result.monitored.as_mut().unwrap().intervals {
                interval.cpu = Some(model::CpuTicks { user: 200 - idle, idle, ..model::CpuTicks::default() });
            }
            run(&result).len()
        };
        assert_eq!((with_idle(2), with_idle(150)), (0, 1), "both processors busy, most of the time idle");
        let disk = [(Nanos::from_micros(100), 6_000), (Nanos::from_millis(8), 4_000)];
        assert_eq!(run(&with(&disk)).len(), 1, "a disk of which a cache answers most");
    }

    #[test]
    fn a_spread_tail_beyond_a_gap_is_not_a_kind() {
        let tail = (0..6).map(|step| (Nanos::from_micros(60_000 << step), 100));
        let all: Vec<(Nanos, u64)> = std::iter::once((Nanos::from_micros(100), 9_400)).chain(tail).collect();
        assert_eq!(run(&with(&all)), []);
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
        let mut result = with(&[(Nanos::from_micros(2), 9_700), (Nanos::from_millis(60), 300)]);
        let job = &mut result.jobs[0];
        job.directions.write = std::mem::take(&mut job.directions.read);
        assert_eq!(run(&result), []);
        result.jobs[0].echo.direct = true;
        assert!(run(&result)[0].sentence.starts_with("the writes are of two kinds"));
    }
}
