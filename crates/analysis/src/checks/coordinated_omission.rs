//! Coordinated omission: while a closed loop stalls it asks for nothing, and the percentiles do not know what they missed.
//!
//! Signals: the longest latency against the rate and the length of the run.

use super::note;
use crate::evidence::{busy_jobs, float, is_paced, window};
use crate::summary::thousands;
use model::{Grade, JobResult, Note, RunResult};

/// The name in notes.
pub(super) const ID: &str = "coordinated omission";

/// A shorter stall is a slow I/O.
const STALL_MIN_S: f64 = 0.1;
/// A stall is this many times the mean at least.
const TIMES_MEAN: f64 = 20.0;
/// A stall that takes a smaller share of the run hides less than a percentile shows.
const SHARE_MIN: f64 = 0.01;

/// The stall that would have hit most requests.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let closed = busy_jobs(result).filter(|job| !is_paced(job, result) && job.echo.engine != "sim");
    let worst = closed.filter_map(judge).max_by(|a, b| a.0.total_cmp(&b.0));
    worst.map(|(_, note)| note).into_iter().collect()
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
        "closed loop: the longest stall of {:.0} ms would have hit about {} requests at this rate",
        1e3 * stall_s,
        if hit < 10.0 { format!("{hit:.0}") } else { thousands(two_digits(hit)) }
    );
    let evidence = [("stall_ms", 1e3 * stall_s), ("mean_ms", 1e3 * mean_s), ("requests", hit)];
    Some((hit, note(ID, Grade::ValidWithLimits, sentence, &evidence)))
}

/// Two digits: more would claim to know it.
fn two_digits(value: f64) -> f64 {
    let step = 10f64.powf(value.log10().floor() - 1.0).max(1.0);
    (value / step).round() * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::closed_loop;
    use measure::Nanos;

    #[test]
    fn a_stall_is_told_with_the_requests_it_would_have_hit() {
        let mut result = closed_loop(1, 17_500, Nanos::from_micros(171), Nanos::from_secs(3));
        assert_eq!(run(&result), []);
        let total = result.jobs[0].directions.read.total.as_mut().unwrap();
        total.moments.record(Nanos::from_millis(412));
        assert_eq!(
            run(&result)[0].sentence,
            "closed loop: the longest stall of 412 ms would have hit about 2,400 requests at this rate"
        );
        result.jobs[0].echo.options.push(("rate_iops".into(), "5000".into()));
        assert_eq!(run(&result), [], "a paced loop goes on without them");
    }
}
