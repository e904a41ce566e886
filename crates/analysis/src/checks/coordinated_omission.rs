//! Coordinated omission: during a stall, a closed loop issues no requests, so the percentiles miss those that would
//! have waited.
//!
//! Signals: maximum latency compared with the rate and the length of the run; the longest latency of each interval.

mod recurring;

use super::note;
use crate::run_facts::{busy_jobs, float, is_paced, is_simulated, window};
use crate::summary::thousands;
use model::{Grade, JobResult, Note, RunResult};

pub(super) const ID: &str = "coordinated omission";

/// Minimum length of a stall; anything shorter is a slow I/O.
const STALL_MIN_S: f64 = 0.1;
/// Minimum length of a stall in multiples of the mean latency.
const TIMES_MEAN: f64 = 20.0;
/// Minimum fraction of the run; a shorter stall hides too few requests to change a printed percentile.
const SHARE_MIN: f64 = 0.01;

/// Reports the stall that would have delayed the most requests, or short ones that recur.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let closed = busy_jobs(result).filter(|job| !is_paced(job) && !is_simulated(job));
    let worst = closed.filter_map(judge).max_by(|a, b| a.0.total_cmp(&b.0));
    worst.map(|(_, note)| note).or_else(|| recurring::find(result).as_ref().map(describe)).into_iter().collect()
}

fn describe(found: &recurring::Recurring) -> Note {
    let (stalled, all) = found.stalled;
    let (share, percent) = (found.stall_s / found.period_s, 100.0 * found.ios);
    let digits = if percent < 0.1 { 3 } else { 1 };
    let sentence = format!(
        "closed loop: a stall of about {:.0} ms each {:.1} s (in {stalled} of {all} intervals) takes {:.0} % of the time, and \
         only {percent:.digits$} % of the I/Os show it",
        1e3 * found.stall_s,
        found.period_s,
        100.0 * share.min(1.0)
    );
    let evidence = [
        ("stall_ms", 1e3 * found.stall_s),
        ("period_s", found.period_s),
        ("stalled_percent", 100.0 * share.min(1.0)),
        ("ios_percent", percent),
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
        "closed loop: the longest stall of {:.0} ms would have hit about {} requests at this rate",
        1e3 * stall_s,
        if hit < 10.0 { format!("{hit:.0}") } else { thousands(two_digits(hit)) }
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
}
