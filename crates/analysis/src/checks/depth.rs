//! Depth: the requested queue depth was not reached.
//!
//! Signals: depth bins, latency sums and measured times (Little's law), submission latency; the requests in flight at
//! the topmost devices and their time there; bytes past the end of the files at the start.

use super::{MOST_BUSY_SHARE as MOST_SHARE, note};
use crate::run_facts::{RunFacts, busy_jobs, extends_files, float, is_paced, latency_sum_ns, slots, window};
use model::{Grade, JobResult, LatencyStatistics, Note, RunResult};
use std::collections::BTreeSet;

/// If submission takes this fraction of the latency, or of the workers' time, I/Os wait there and not in the queue.
const IN_SUBMISSION: f64 = 0.5;

/// From this number of I/Os in flight on, it matters if the device has only few of them.
const DEPTH_MIN: f64 = 4.0;
/// The device must have at least this fraction of the I/Os in flight, and of the latency.
const AT_DEVICE: f64 = 1.0 / 3.0;
/// A device has at most this many requests at a time if they are made one after another.
const ONE_AT_A_TIME: f64 = 1.2;
/// A tester that is on a processor for this fraction of the time is what the I/Os wait for.
const TESTER_BUSY: f64 = 0.60;

/// The reason for which writes past the end of a file are done one after another.
const EXTENDING: &str =
    "writes past the end of a file wait for each other (write it in full first, or use fallocate=posix)";

/// One note for each cause of a low depth; similar jobs share a note.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for job in busy_jobs(result).filter(|job| job.echo.iodepth > 1 && !is_paced(job)) {
        if let Some(found) = judge(result, job)
            && notes.iter().all(|known| known.sentence != found.sentence)
        {
            notes.push(found);
        }
    }
    if notes.is_empty() {
        notes.extend(RunFacts::of(result).and_then(|seen| waiting_above(&seen)));
    }
    notes
}

/// Mean number of requests in flight at the topmost devices, and the sum of their fractions of busy time.
fn at_devices(seen: &RunFacts<'_>) -> (f64, f64) {
    let tops = seen.devices().filter(|(facts, _)| facts.top);
    tops.fold((0.0, 0.0), |(in_flight, busy), (_, gain)| {
        let of_time = |ms: u64| float(ms) / 1e3 / seen.seconds;
        (in_flight + of_time(gain.in_queue_ms), busy + of_time(gain.busy_ms))
    })
}

/// Direct I/Os in flight that wait above the device: in the engine, in a lock, or for a free request.
fn waiting_above(seen: &RunFacts<'_>) -> Option<Note> {
    let (in_flight, at_device) = at_devices(seen);
    // A write that is durable when it completes waits for its flush, during which the device has no request of it.
    let flushes = |job: &JobResult| job.workload.as_ref().is_some_and(|workload| workload.flushes.by_each_write);
    if seen.jobs().any(|job| !job.echo.direct || is_paced(job) || flushes(job)) {
        return None;
    }
    let ios = seen.steady.ios.iter().copied().fold(0, u64::saturating_add);
    // A single I/O that took longer than the run does not make them more than there are.
    let asked = (seen.latency_ms()? / 1e3 * seen.per_second(ios)).min(f64::from(seen.users()));
    let (on, waiting) = seen.processor_shares()?;
    let is_idle = at_device < 0.5;
    // A file that grows is locked for each write, whatever else the tester and the device do meanwhile.
    let files: BTreeSet<&String> = seen.jobs().flat_map(|job| &job.echo.paths).collect();
    let share_files = 2.0 * float(files.len() as u64) <= asked;
    let one_by_one = share_files && extends_files(seen.result, seen.jobs()) && in_flight <= ONE_AT_A_TIME;
    let is_here = in_flight >= AT_DEVICE * asked || (!one_by_one && on + waiting >= TESTER_BUSY);
    if asked < DEPTH_MIN || is_here || (is_idle && !one_by_one) {
        return None;
    }
    let takes = seen.devices().filter(|(facts, _)| facts.top).map(|(facts, _)| {
        facts.queue_requests.map(|requests| requests.saturating_mul(facts.hardware_queues.unwrap_or(1)))
    });
    let takes: Option<u64> = takes.collect::<Option<Vec<u64>>>().map(|all| all.iter().sum());
    let cause = match takes.filter(|&takes| float(takes) < asked && in_flight > 0.5 * float(takes)) {
        Some(takes) => format!("its queue takes {takes} (nr_requests)"),
        None if seen.jobs().all(|job| job.workload.as_ref().is_some_and(|workload| workload.one_per_file)) => {
            let engines: BTreeSet<String> = seen.jobs().map(engine).collect();
            let engines = engines.into_iter().collect::<Vec<_>>().join(" and ");
            format!("{engines} does the I/Os of a file one after another")
        }
        None if one_by_one => EXTENDING.to_owned(),
        None => "the others waited above it".to_owned(),
    };
    let sentence =
        format!("{asked:.0} I/Os were in flight, and the device had {in_flight:.1} of them at a time: {cause}");
    let evidence =
        [("depth_asked", asked), ("depth_achieved", in_flight), ("busy_percent", 100.0 * at_device.min(1.0))];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

fn judge(result: &RunResult, job: &JobResult) -> Option<Note> {
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
        return Some(note(Grade::ValidWithLimits, sentence, &evidence));
    }
    if let Some(waits_for) = job.workload.as_ref().map(|workload| workload.reap_min).filter(|&least| 2 * least > asked)
    {
        let sentence = format!(
            "each reap waits for {waits_for} of {asked} I/Os (iodepth_batch_complete_min): the latency is that of the slowest, and the \
             queue runs empty in between"
        );
        let evidence = [evidence[0], evidence[1], ("waits_for", f64::from(waits_for))];
        return Some(note(Grade::ValidWithLimits, sentence, &evidence));
    }
    let (share, whole) = share_in_submission(job)?;
    let seen = RunFacts::of(result);
    // Direct I/Os that are in the queue of the device did not wait for each other in the call that took long.
    let has_queue = job.echo.direct
        && seen
            .as_ref()
            .is_some_and(|seen| at_devices(seen).0 >= f64::from(asked.saturating_mul(job.workers.max(1))) / 2.0);
    // A call from which the hypervisor took the processor is longer by that.
    let stolen = seen.map_or(0.0, |seen| seen.stolen_share());
    (share - stolen >= IN_SUBMISSION && !has_queue).then(|| {
        let cause = match job.echo.direct {
            false => ", as it does without direct=1".to_owned(),
            true if extends_files(result, std::iter::once(job)) => format!(": {EXTENDING}"),
            true => String::new(),
        };
        let sentence = format!(
            "asked depth {asked}, but {:.0} % of the {whole} passed inside submission: {} waited for each I/O{cause}",
            100.0 * share,
            engine(job)
        );
        note(Grade::ValidWithLimits, sentence, &evidence)
    })
}

/// The engine by its name, which a report of another tool may not state.
fn engine(job: &JobResult) -> String {
    match job.echo.engine.as_str() {
        "" => "the engine".to_owned(),
        name => format!("engine `{name}`"),
    }
}

/// Fraction of the latency of a queued engine that passed before its I/Os were in the queue, or of the workers' time if
/// that is more: the completion of an I/O includes the submissions of those behind it. And what it is a fraction of.
fn share_in_submission(job: &JobResult) -> Option<(f64, &'static str)> {
    let sum = |latency: &Option<LatencyStatistics>| latency.as_ref().map(|latency| float(low(latency.moments.sum())));
    let (mut submission, mut completion) = (0.0, 0.0);
    for (_, direction) in job.directions.iter().filter(|(_, direction)| direction.ios > 0) {
        submission += sum(&direction.submission)?;
        completion += sum(&direction.completion)?;
    }
    // What the worker computes (contents, a checksum) is in the submission of a write, and waits for nothing.
    submission = (submission - job.cpu.user.as_f64()).max(0.0);
    let all = submission + completion;
    let each = submission / float(job.ios().max(1));
    // Reads that verify come after the writes: then both directions' times are parts of the whole.
    let time = (window(job).as_f64() * f64::from(job.workers.max(1))).max(job.runtime.as_f64());
    // I/Os that are submitted together have the time of the one call each.
    let of_time = (each * float(job.depth.submits) / time.max(1.0)).min(1.0);
    let of_latency = submission / all.max(1.0);
    // Below 20 µs per I/O it is the normal CPU cost of the system call.
    (all > 0.0 && each > 20_000.0).then_some(if of_time > of_latency {
        (of_time, "workers' time")
    } else {
        (of_latency, "latency")
    })
}

fn low(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{closed_loop, watched_random_read, watched_random_write, workload};
    use measure::{Moments, Nanos};
    use model::{CpuTicks, Interval, Monitored};

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
    fn a_filled_queue_is_silent_a_wait_in_submission_is_not() {
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
        let read = &mut result.jobs[0].directions.read;
        (read.submission, read.completion) = (part(30_000), part(970_000));
        assert_eq!(sentence(&result), None, "3 % of the latency");
        result.jobs[0].depth.submits = 32_000;
        let found = sentence(&result).unwrap();
        assert!(found.contains("96 % of the workers' time passed inside submission"), "{found}");
        result.jobs[0].cpu.user = Nanos::from_millis(600);
        assert_eq!(sentence(&result), None, "most of it is a checksum");
        result.jobs[0].cpu.user = Nanos::ZERO;
        let mut with_stolen = |steal: u64| {
            let cpu = Some(CpuTicks { user: 10, steal, idle: 190 - steal, ..CpuTicks::default() });
            let interval = Interval { until: Nanos::SECOND, measuring: 1, cpu, ..Interval::default() };
            result.monitored = Some(Monitored { intervals: vec![interval], ..Monitored::default() });
            sentence(&result).is_some()
        };
        assert!(with_stolen(20) && !with_stolen(100), "10 and 50 % of the processors' time were stolen");
        result.monitored = None;
        result.jobs[0].depth.submits = 2_000;
        assert_eq!(sentence(&result), None, "sixteen at a time: each has the time of the same call");
    }

    #[test]
    fn direct_ios_in_the_device_queue_did_not_wait_for_each_other() {
        let mut result = watched_random_read();
        let moments = Moments::from_parts(20_000, 900_000, 900_000, 900_000 * 20_000, 0);
        let part = || Some(LatencyStatistics { moments, histogram: None });
        let job = &mut result.jobs[0];
        (job.echo.iodepth, job.workers, job.depth.level[3]) = (8, 1, 20_000);
        (job.directions.read.submission, job.directions.read.completion) = (part(), part());
        assert!(sentence(&result).is_some_and(|sentence| sentence.contains("inside submission")));
        result.jobs[0].echo.direct = true;
        assert_eq!(sentence(&result), None, "8 are at the device");
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].in_queue_ms = 1_100;
        }
        assert!(sentence(&result).is_some_and(|sentence| sentence.contains("inside submission")));
    }

    #[test]
    fn a_reap_that_waits_for_most_of_the_queue_is_reported() {
        let mut result = closed_loop(1, 32_000, Nanos::MILLISECOND, Nanos::SECOND);
        let job = &mut result.jobs[0];
        (job.echo.iodepth, job.depth.level[5]) = (32, 32_000);
        assert_eq!(sentence(&result), None);
        workload(&mut result).reap_min = 8;
        assert_eq!(sentence(&result), None, "a quarter of the queue");
        workload(&mut result).reap_min = 32;
        assert!(sentence(&result).unwrap().starts_with("each reap waits for 32 of 32 I/Os"));
    }

    #[test]
    fn writes_that_extend_a_file_are_serial_on_an_idle_device() {
        let mut result = watched_random_write();
        result.jobs[0].echo.direct = true;
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            (interval.devices[0].in_queue_ms, interval.devices[0].busy_ms) = (400, 400);
        }
        assert_eq!(sentence(&result), None, "they may wait for anything");
        let past_end = |result: &mut RunResult, bytes| {
            result.monitored.as_mut().unwrap().targets[0].past_end_bytes = Some(bytes);
        };
        past_end(&mut result, 20_000 * 8192);
        let found = sentence(&result).unwrap();
        assert!(
            found.starts_with("8 I/Os were in flight, and the device had 0.4 of them at a time: writes past the end")
        );
        past_end(&mut result, 2_000 * 8192);
        assert_eq!(sentence(&result), None, "one write of ten extends it");
        past_end(&mut result, 20_000 * 8192);
        result.jobs[0].echo.paths = ["a", "b", "c", "d", "e", "f", "g", "h"].map(str::to_owned).to_vec();
        assert_eq!(sentence(&result), None, "each has a file for itself");
        result.jobs[0].echo.paths.truncate(1);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            (interval.devices[0].in_queue_ms, interval.devices[0].busy_ms) = (6_000, 900);
        }
        assert_eq!(sentence(&result), None, "a file system that does them at the same time");
    }

    #[test]
    fn ios_that_wait_above_the_device_are_reported_with_the_cause() {
        let mut result = watched_random_read();
        result.jobs[0].echo.direct = true;
        assert_eq!(sentence(&result), None, "all 8 are at the device");
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].in_queue_ms = 1_100;
        }
        assert_eq!(
            sentence(&result).unwrap(),
            "8 I/Os were in flight, and the device had 1.1 of them at a time: the others waited above it"
        );
        workload(&mut result).flushes.by_each_write = true;
        assert_eq!(sentence(&result), None, "they may wait for their flushes");
        workload(&mut result).flushes.by_each_write = false;
        workload(&mut result).one_per_file = true;
        assert!(sentence(&result).unwrap().ends_with("engine `psync` does the I/Os of a file one after another"));
        result.monitored.as_mut().unwrap().devices[0].queue_requests = Some(2);
        assert!(sentence(&result).unwrap().ends_with("its queue takes 2 (nr_requests)"));
        result.jobs[0].echo.direct = false;
        assert_eq!(sentence(&result), None, "the page cache decides");
    }
}
