//! Coordinated omission: a closed loop sends nothing during a stall, so percentiles miss what would have waited.
//!
//! Signals: longest latencies of the run and of each interval, the rate, the length; response time of jobs with a rate.

use super::note;
use crate::run_facts::{RunFacts, busy_jobs, float, is_paced, is_simulated, window};
use measure::{Histogram, Nanos, text};
use model::{Grade, Interval, JobResult, LatencyStatistics, Note, RunResult};

/// Minimum length of a stall; anything shorter is a slow I/O.
const STALL_MIN_S: f64 = 0.1;
/// Minimum length of a stall in multiples of the mean latency.
const TIMES_MEAN: f64 = 20.0;
/// Minimum fraction of the run; a shorter stall hides too few requests to change a printed percentile.
const SHARE_MIN: f64 = 0.01;

/// From this factor between the 99th percentiles of response time and latency on, the latency hides what waited.
const HIDDEN_TIMES: f64 = 4.0;

/// Reports the stall that would have delayed the most requests, or short ones that recur.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let closed = busy_jobs(result).filter(|job| !is_paced(job) && !is_simulated(job));
    let worst = closed.filter_map(judge).max_by(|a, b| a.0.total_cmp(&b.0));
    let found = worst.map(|(_, note)| note).or_else(|| find(result).as_ref().map(describe));
    found.or_else(|| busy_jobs(result).filter(|job| !is_simulated(job)).find_map(hidden)).into_iter().collect()
}

/// A job with a rate goes on during a stall: what was due meanwhile shows its waiting in the response time alone.
fn hidden(job: &JobResult) -> Option<Note> {
    let mixed = job.mixed();
    let [latency, response] = [mixed.latency_distribution()?, mixed.response.as_ref()?];
    let stall_s = latency.moments.maximum()?.as_secs_f64();
    let mean_s = latency.moments.mean()? / 1e9;
    let is_stall = stall_s >= STALL_MIN_S && stall_s >= TIMES_MEAN * mean_s;
    let p99 = |latency: &LatencyStatistics| Some(latency.histogram.as_ref()?.percentile(99.0)?.as_secs_f64());
    let (short_s, long_s) = (p99(latency)?, p99(response)?);
    if !is_stall || long_s < STALL_MIN_S || long_s < HIDDEN_TIMES * short_s {
        return None;
    }
    let sentence = format!(
        "the longest stall of {} made others wait before they were issued: the 99th percentile of the response time is {}, \
         that of the latency only {}",
        text::time(1e9 * stall_s),
        text::time(1e9 * long_s),
        text::time(1e9 * short_s)
    );
    let evidence = [("stall_ms", 1e3 * stall_s), ("response_p99_ms", 1e3 * long_s), ("latency_p99_ms", 1e3 * short_s)];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

fn describe(found: &Recurring) -> Note {
    let (stalled, all) = found.stalled;
    let share = found.stall_s / found.period_s;
    let sentence = format!(
        "closed loop: a stall of about {} each {} (in {stalled} of {all} intervals) takes {} of the time, and only {} of the I/Os show it",
        text::span(found.stall_s),
        text::span(found.period_s),
        text::percent(share.min(1.0)),
        text::percent(found.ios)
    );
    let evidence = [
        ("stall_ms", 1e3 * found.stall_s),
        ("period_s", found.period_s),
        ("stalled_percent", 100.0 * share.min(1.0)),
        ("ios_percent", 100.0 * found.ios),
    ];
    note(Grade::ValidWithLimits, sentence, &evidence)
}

fn judge(job: &JobResult) -> Option<(f64, Note)> {
    let mixed = job.mixed();
    let latency = mixed.total.or(mixed.completion)?;
    let stall_s = latency.moments.maximum()?.as_secs_f64();
    let mean_s = latency.moments.mean()? / 1e9;
    let length_s = window(job).as_secs_f64();
    if stall_s < STALL_MIN_S || stall_s < TIMES_MEAN * mean_s || stall_s < SHARE_MIN * length_s {
        return None;
    }
    let hit = stall_s * float(job.ios()) / length_s.max(stall_s);
    let sentence = format!(
        "closed loop: the longest stall of {} would have hit about {} requests at this rate",
        text::time(1e9 * stall_s),
        text::number(two_digits(hit))
    );
    let evidence = [("stall_ms", 1e3 * stall_s), ("mean_ms", 1e3 * mean_s), ("requests", hit)];
    Some((hit, note(Grade::ValidWithLimits, sentence, &evidence)))
}

/// Rounds to two digits, the precision of the estimate.
fn two_digits(value: f64) -> f64 {
    let step = 10f64.powf(value.log10().floor() - 1.0).max(1.0);
    (value / step).round() * step
}

/// Minimum length of a stall that recurs: below, a worker may just have waited for a processor.
const RECURRING_MIN_S: f64 = 0.020;
/// Minimum length of a stall in multiples of the median latency.
const TIMES_MEDIAN: f64 = 20.0;
/// Minimum number of intervals with a stall.
const STALLED_MIN: usize = 6;
/// Minimum fraction of the intervals with a stall.
const STALLED_SHARE: f64 = 0.25;
/// From this factor between them on, stalls are not of one length.
const ALIKE: f64 = 1.7;
/// I/Os that take at least this part of a stall are of the stall, and shorter ones are not.
const PART: f64 = 0.5;
/// Shorter ones next to a stall take at least this part of it.
const NEXT: f64 = 0.33;
/// With more I/Os of that length, as a part of those in stalls, stalls are the end of a long tail.
const NEXT_MAX: f64 = 0.25;
/// With more I/Os in stalls, they show in the percentiles.
const IOS_MAX: f64 = 0.01;
/// Minimum fraction of the time that is lost.
const LOST_MIN: f64 = 0.01;

/// Stalls of about the same length in many intervals.
struct Recurring {
    /// Length of a stall in seconds.
    stall_s: f64,
    /// Time from one to the next in seconds.
    period_s: f64,
    /// Intervals with a stall, and all.
    stalled: (usize, usize),
    /// Fraction of the I/Os that wait in a stall.
    ios: f64,
}

/// Searches for stalls that recur; `None` without any, and for jobs that pause themselves or write to memory.
fn find(result: &RunResult) -> Option<Recurring> {
    let seen = RunFacts::of(result)?;
    let is_judged = |job: &JobResult| !is_paced(job) && (job.echo.direct || job.directions.write.ios == 0);
    if !seen.jobs().all(is_judged) {
        return None;
    }
    let latencies = all_latencies(result)?;
    let median = latencies.percentile(50.0)?.as_secs_f64();
    let steady = seen.monitored?.steady();
    let longest: Vec<f64> = steady.iter().filter_map(|(_, interval)| longest(interval)).collect();
    let mut stalls: Vec<f64> =
        longest.iter().copied().filter(|&stall| stall >= RECURRING_MIN_S && stall >= TIMES_MEDIAN * median).collect();
    stalls.sort_by(f64::total_cmp);
    let count = stalls.len();
    if count < STALLED_MIN || float(count as u64) < STALLED_SHARE * float(longest.len() as u64) {
        return None;
    }
    // A single longer one, such as at the start, does not make them different.
    let (low, stall, high) = (stalls[count / 10], stalls[count / 2], stalls[count - 1 - count / 10]);
    let in_stalls = counted(&latencies, PART * stall..f64::INFINITY);
    let next = counted(&latencies, NEXT * stall..PART * stall);
    let share = in_stalls / float(latencies.total().max(1));
    let users = f64::from(seen.users().max(1));
    // A stall holds up all that is in flight.
    let times = (in_stalls / users).max(float(count as u64));
    let lost = times * stall / seen.seconds;
    let is_found = high <= ALIKE * low && next <= NEXT_MAX * in_stalls && share <= IOS_MAX && lost >= LOST_MIN;
    is_found.then(|| Recurring {
        stall_s: stall,
        period_s: seen.seconds / times,
        stalled: (count, longest.len()),
        ios: share,
    })
}

/// The longest latency of an interval in seconds.
fn longest(interval: &Interval) -> Option<f64> {
    let all = interval.latencies.iter().filter_map(|counts| counts.percentile(100.0));
    all.max().map(Nanos::as_secs_f64)
}

/// The latencies of all jobs; `None` if one of them has no histogram.
fn all_latencies(result: &RunResult) -> Option<Histogram> {
    let mut all = Histogram::new();
    for job in busy_jobs(result) {
        for (_, found) in job.directions.iter().filter(|(_, found)| found.ios > 0) {
            all.merge(found.latency_distribution()?.histogram.as_ref()?);
        }
    }
    Some(all)
}

/// Number of latencies in a range of seconds.
fn counted(latencies: &Histogram, range: std::ops::Range<f64>) -> f64 {
    let within = latencies.iter().filter(|&(bucket, _)| range.contains(&Histogram::bucket_value(bucket).as_secs_f64()));
    float(within.map(|(_, count)| count).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{closed_loop, watched_random_read, workload};
    use measure::Nanos;
    use model::LatencyCounts;

    #[test]
    fn a_stall_is_shown_with_the_requests_it_would_have_hit() {
        let mut result = closed_loop(1, 17_500, Nanos::from_micros(171), Nanos::from_secs(3));
        assert_eq!(run(&result), []);
        let total = result.jobs[0].directions.read.total.as_mut().unwrap();
        total.moments.record(Nanos::from_millis(412));
        assert_eq!(
            run(&result)[0].sentence,
            "closed loop: the longest stall of 412 ms would have hit about 2,400 requests at this rate"
        );
        workload(&mut result).pace.iops.read = Some(5000);
        assert_eq!(run(&result), [], "a paced loop goes on without them");
    }

    #[test]
    fn a_stall_of_a_job_with_a_rate_names_its_response_time() {
        let mut result = closed_loop(1, 50_000, Nanos::from_micros(100), Nanos::from_secs(10));
        workload(&mut result).pace.iops.read = Some(5000);
        let read = &mut result.jobs[0].directions.read;
        read.response.clone_from(&read.total);
        read.total.as_mut().unwrap().moments.record(Nanos::SECOND);
        assert_eq!(run(&result), [], "it made none wait");
        let waited = result.jobs[0].directions.read.response.as_mut().unwrap();
        (1..=5000).for_each(|ms| waited.histogram.as_mut().unwrap().record(Nanos::from_micros(200 * ms)));
        let notes = run(&result);
        assert!(notes[0].sentence.starts_with("the longest stall of 1 s made others wait"), "{notes:?}");
        assert!(notes[0].sentence.ends_with("that of the latency only 99.8 µs"), "{notes:?}");
        assert!((880.0..900.0).contains(&notes[0].evidence[1].1), "{notes:?}");
    }

    /// Twenty intervals of half a second of one user, with these latencies in ms in each interval next to 4,000 reads
    /// of 100 µs.
    fn with(others: impl Fn(usize) -> Vec<u64>) -> RunResult {
        let mut result = watched_random_read();
        let job = &mut result.jobs[0];
        (job.workers, job.echo.direct) = (1, true);
        let mut all = Histogram::new();
        let monitored = result.monitored.as_mut().unwrap();
        let template = monitored.intervals[0].clone();
        let interval = |at: usize| {
            let before = all.clone();
            all.record_many(Nanos::from_micros(100), 4_000);
            others(at).into_iter().for_each(|ms| all.record(Nanos::from_millis(ms)));
            let reads = LatencyCounts::gained(&all, &before);
            Interval {
                until: Nanos::from_millis(500 * (at as u64 + 1)),
                latencies: [reads, LatencyCounts::default(), LatencyCounts::default()],
                ..template.clone()
            }
        };
        monitored.intervals = (0..21).map(interval).collect();
        let mut moments = measure::Moments::new();
        for (bucket, count) in all.iter() {
            (0..count).for_each(|_| moments.record(Histogram::bucket_value(bucket)));
        }
        let read = &mut result.jobs[0].directions.read;
        read.total = Some(model::LatencyStatistics { moments, histogram: Some(Box::new(all)) });
        result
    }

    #[test]
    fn a_stall_in_every_second_is_named_with_length_and_period() {
        let notes = run(&with(|at| if at % 2 == 0 { vec![60] } else { Vec::new() }));
        assert_eq!(
            notes[0].sentence,
            "closed loop: a stall of about 60 ms each 910 ms (in 10 of 20 intervals) takes 6.6 % of the time, and only 0.013 % of the I/Os show it"
        );
        assert_eq!(notes[0].evidence[0].0, "stall_ms");
    }

    #[test]
    fn a_few_a_tail_and_stalls_of_any_length_are_silent() {
        assert!(run(&with(|at| if at % 5 == 0 { vec![60] } else { Vec::new() })).is_empty(), "four of them");
        assert!(run(&with(|_| vec![8])).is_empty(), "a slow I/O, no stall");
        assert!(run(&with(|at| vec![20 + 9 * (at as u64 % 9)])).is_empty(), "slow I/Os of any length");
        assert!(run(&with(|_| vec![60, 40, 28, 20, 16, 12, 10, 9, 8])).is_empty(), "the end of a long tail");
        assert!(run(&with(|_| vec![60; 100])).is_empty(), "enough for percentiles to show them");
    }

    #[test]
    fn jobs_with_a_rate_and_buffered_writes_are_silent() {
        let stalls = || with(|at| if at % 2 == 0 { vec![60] } else { Vec::new() });
        let mut paced = stalls();
        crate::fixtures::workload(&mut paced).pace.iops.read = Some(500);
        let mut buffered = stalls();
        let job = &mut buffered.jobs[0];
        job.directions.write = std::mem::take(&mut job.directions.read);
        job.echo.direct = false;
        assert!(run(&paced).is_empty() && run(&buffered).is_empty());
    }
}
