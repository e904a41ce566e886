//! Coordinated omission: during a stall, a closed loop issues no requests, so the percentiles miss those that would
//! have waited.
//!
//! Signals: maximum latency compared with the rate and the length of the run; the longest latency of each interval; of a job
//! with a rate, its response time.

mod recurring;

use super::note;
use crate::run_facts::{busy_jobs, float, is_paced, is_simulated, window};
use measure::text;
use model::{Grade, JobResult, LatencyStatistics, Note, RunResult};

pub(super) const ID: &str = "coordinated omission";

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
    let found = worst.map(|(_, note)| note).or_else(|| recurring::find(result).as_ref().map(describe));
    found.or_else(|| busy_jobs(result).filter(|job| !is_simulated(job)).find_map(hidden)).into_iter().collect()
}

/// A job with a rate goes on during a stall, but its latencies begin when an I/O is issued: those that were due meanwhile show
/// their waiting in the response time alone.
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
    Some(note(ID, Grade::ValidWithLimits, sentence, &evidence))
}

fn describe(found: &recurring::Recurring) -> Note {
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
    note(ID, Grade::ValidWithLimits, sentence, &evidence)
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
    Some((hit, note(ID, Grade::ValidWithLimits, sentence, &evidence)))
}

/// Rounds to two digits, the precision of the estimate.
fn two_digits(value: f64) -> f64 {
    let step = 10f64.powf(value.log10().floor() - 1.0).max(1.0);
    (value / step).round() * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{closed_loop, workload};
    use measure::Nanos;

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
}
