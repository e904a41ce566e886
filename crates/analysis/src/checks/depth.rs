//! Depth: the requested queue depth was not reached.
//!
//! Signals: depth bins, latency sums and measured times (Little's law), submission latency.

use super::{MOST_BUSY_SHARE as MOST_SHARE, note};
use crate::run_facts::{busy_jobs, float, is_paced, latency_sum_ns, slots, window};
use model::{Grade, JobResult, LatencyStatistics, Note, RunResult};

pub(super) const ID: &str = "depth";

/// If submission takes this fraction of the latency, I/Os wait in submission instead of in the queue.
const IN_SUBMISSION: f64 = 0.5;

/// One note for each cause of a low depth; similar jobs share a note.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for job in busy_jobs(result).filter(|job| job.echo.iodepth > 1 && !is_paced(job)) {
        if let Some(found) = judge(job)
            && notes.iter().all(|known| known.sentence != found.sentence)
        {
            notes.push(found);
        }
    }
    notes
}

fn judge(job: &JobResult) -> Option<Note> {
    let (asked, enough) = (job.echo.iodepth, 10 * u64::from(job.echo.iodepth));
    if job.ios() < enough {
        return None;
    }
    let users = f64::from(job.workers.max(1));
    let achieved = latency_sum_ns(job).map(|sum| sum / window(job).as_f64().max(1.0) / users);
    let evidence = [("depth_asked", f64::from(asked)), ("depth_achieved", achieved.unwrap_or(0.0))];
    // The depths that are counted are not those in flight if another thread submits (io_submit_mode=offload).
    let has_more = achieved.is_some_and(|depth| depth > MOST_SHARE * f64::from(slots(job)));
    if slots(job) < asked && !has_more && job.depth.level.iter().any(|&count| count > 0) {
        let reached =
            achieved.map_or_else(|| format!("at most {}", slots(job)), |depth| format!("achieved {depth:.1}"));
        let why = if slots(job) == 1 {
            format!("{} has one I/O per worker", engine(job))
        } else {
            "the jobs never had more to give".to_owned()
        };
        let sentence = format!("asked depth {asked}, {reached}: {why}");
        return Some(note(ID, Grade::ValidWithLimits, sentence, &evidence));
    }
    let share = share_in_submission(job)?;
    (share >= IN_SUBMISSION).then(|| {
        let buffered = if job.echo.direct { "" } else { ", as it does without direct=1" };
        let sentence = format!(
            "asked depth {asked}, but {:.0} % of the latency passed inside submission: {} waited for each I/O{buffered}",
            100.0 * share,
            engine(job)
        );
        note(ID, Grade::ValidWithLimits, sentence, &evidence)
    })
}

/// The engine by its name, which a report of another tool may not state.
fn engine(job: &JobResult) -> String {
    match job.echo.engine.as_str() {
        "" => "the engine".to_owned(),
        name => format!("engine `{name}`"),
    }
}

/// Fraction of the latency of a queued engine that passed before its I/Os were in the queue.
fn share_in_submission(job: &JobResult) -> Option<f64> {
    let sum = |latency: &Option<LatencyStatistics>| latency.as_ref().map(|latency| float(low(latency.moments.sum())));
    let (mut submission, mut completion) = (0.0, 0.0);
    for (_, direction) in job.directions.iter().filter(|(_, direction)| direction.ios > 0) {
        submission += sum(&direction.submission)?;
        completion += sum(&direction.completion)?;
    }
    let all = submission + completion;
    // Below 20 µs per I/O it is the normal CPU cost of the system call.
    (all > 0.0 && submission / float(job.ios().max(1)) > 20_000.0).then_some(submission / all)
}

fn low(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::closed_loop;
    use measure::{Moments, Nanos};

    fn sentence(result: &RunResult) -> Option<String> {
        run(result).into_iter().next().map(|note| note.sentence)
    }

    #[test]
    fn a_synchronous_engine_has_one_io_per_worker() {
        let mut result = closed_loop(1, 1_000, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].echo.engine = "sync".into();
        result.jobs[0].depth.level[0] = 1_000;
        assert_eq!(sentence(&result), None);
        result.jobs[0].echo.iodepth = 32;
        assert_eq!(
            sentence(&result).as_deref(),
            Some("asked depth 32, achieved 1.0: engine `sync` has one I/O per worker")
        );
        result.jobs[0].echo.engine.clear();
        assert!(sentence(&result).is_some_and(|sentence| sentence.ends_with("the engine has one I/O per worker")));
    }

    #[test]
    fn a_queue_that_fills_is_silent_and_one_that_waits_in_submission_is_not() {
        let mut result = closed_loop(1, 32_000, Nanos::MILLISECOND, Nanos::SECOND);
        let job = &mut result.jobs[0];
        (job.echo.iodepth, job.echo.engine) = (32, "libaio".into());
        job.depth.level[5] = 32_000;
        assert_eq!(sentence(&result), None);
        let part = |ns: u64| {
            let moments = Moments::from_parts(32_000, ns, ns, u128::from(ns) * 32_000, 0);
            Some(LatencyStatistics { moments, histogram: None })
        };
        let read = &mut result.jobs[0].directions.read;
        (read.submission, read.completion) = (part(900_000), part(100_000));
        assert!(sentence(&result).unwrap().contains("90 % of the latency passed inside submission"));
    }
}
