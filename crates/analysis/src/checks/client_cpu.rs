//! Client CPU: the CPUs of the test machine were the bottleneck. It agrees with the limit of the run: where that is the
//! tester, this check finds it, and where it is another one, this check does not say that it was the tester.
//!
//! Signals: on-CPU and runnable time of workers, stolen ticks, the disk's queue; CPU time of imported jobs.

use super::note;
use crate::limiter::device::is_full;
use crate::limiter::parts::is_measured;
use crate::limiter::{held_back_by_quota, limited_by};
use crate::run_facts::{RunFacts, polls};
use measure::{Nanos, text};
use model::{Grade, LimitedBy, Limiter, Note, RunResult};

/// A worker that is on a CPU, or waiting for one, for this fraction of the time hardly waits for a device.
const BUSY: f64 = 0.95;
/// If a worker is runnable without a CPU for this fraction of the time, its latencies are those of the machine. Workers
/// that are more than the CPUs wait for one 20 to 30 % of the time at a fast disk, as any program there would.
const DELAYED: f64 = 0.40;
/// If this fraction of all ticks is stolen, other guests of the hypervisor affect the result.
const STOLEN: f64 = 0.10;

/// A report prints its time in whole milliseconds: in a shorter run they are too coarse for a share of it.
const LEAST_SECONDS: f64 = 0.1;

/// Checks the busiest worker, the most delayed one, and stolen time.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(seen) = RunFacts::of(result) else { return Vec::new() };
    let seconds = seen.seconds;
    let is_coarse = seen.monitored.is_none() && result.printed().is_some() && seconds < LEAST_SECONDS;
    if seen.jobs().any(polls) || is_coarse {
        return Vec::new();
    }
    let share = |time: Option<Nanos>| time.map_or(0.0, |time| time.as_secs_f64() / seconds);
    let sampled = seen.steady.workers.iter().filter(|worker| worker.ios > 0 && worker.on_cpu.is_some());
    let shares: Vec<(f64, f64)> = sampled.map(|worker| (share(worker.on_cpu), share(worker.run_delay))).collect();
    let shares = if shares.is_empty() { seen.processor_shares().into_iter().collect() } else { shares };
    let Some(&(on, waiting)) = shares.iter().max_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1))) else {
        return Vec::new();
    };
    let delay = shares.iter().map(|share| share.1).fold(0.0, f64::max);
    let steal = seen.stolen_share();
    // One run has one limit: what is said of it elsewhere is said here. A quota is the finding of another check.
    let limit = limited_by(result);
    let (tester, other): (Vec<&LimitedBy>, Vec<&LimitedBy>) =
        limit.iter().partition(|limit| limit.limiter == Limiter::ClientCpu);
    let tester = tester.first().filter(|_| held_back_by_quota(&seen).is_none());
    let measured = tester.filter(|limit| is_measured(limit));
    let what = if let Some(limit) = measured {
        limit.sentence.clone()
    } else if on + waiting > BUSY {
        let waited = if waiting >= 0.05 { " or waited for one" } else { "" };
        format!("a worker was on a processor{waited} {} of the time", text::percent((on + waiting).min(1.0)))
    } else if delay > DELAYED && !is_full(&seen) {
        format!("a worker waited for a processor {} of the time", text::percent(delay.min(1.0)))
    } else if steal > STOLEN {
        format!("the hypervisor took {} of the processors", text::percent(steal))
    } else if let Some(limit) = tester {
        limit.sentence.clone()
    } else {
        return Vec::new();
    };
    let evidence =
        [("on_cpu_percent", percent(on)), ("run_delay_percent", percent(delay)), ("steal_percent", percent(steal))];
    let (grade, meaning) = match other.first() {
        Some(limit) => {
            let limit = limit.limiter.title();
            (Grade::ValidWithLimits, format!("that is in its latencies; the limit was another one ({limit})"))
        }
        None if on + waiting > BUSY => (Grade::NotAStorageResult, OF_TESTER.to_owned()),
        None if tester.is_some() => (Grade::ValidWithLimits, OF_TESTER.to_owned()),
        None => (Grade::ValidWithLimits, "that is in its latencies".to_owned()),
    };
    vec![note(grade, format!("{what}: {meaning}"), &evidence)]
}

const OF_TESTER: &str = "the tester, not the disk, was the limit";

/// True if this finding says that the tester was the limit.
pub(crate) fn blames_tester(note: &Note) -> bool {
    note.sentence.ends_with(OF_TESTER)
}

fn percent(share: f64) -> f64 {
    (100.0 * share).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_read, workload};
    use model::{GroupGain, Interval};

    #[test]
    fn workers_without_time_to_wait_are_the_limit() {
        let mut result = watched_random_read();
        assert_eq!(run(&result), []);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.workers.iter_mut().for_each(|worker| worker.on_cpu = Some(Nanos::from_millis(980)));
        }
        let notes = run(&result);
        assert_eq!(
            notes[0].sentence,
            "a worker was on a processor 98 % of the time: the tester, not the disk, was the limit"
        );
    }

    #[test]
    fn a_worker_that_waits_for_a_cpu_is_a_finding_a_poller_is_not() {
        let mut result = watched_random_read();
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.workers[3].run_delay = Some(Nanos::from_millis(450));
        }
        assert!(run(&result)[0].sentence.starts_with("a worker waited for a processor 45 % of the time"));
        workload(&mut result).polls = true;
        assert_eq!(run(&result), []);
    }

    #[test]
    fn a_wait_for_a_cpu_is_not_the_limit_where_another_is_named() {
        let mut result = watched_random_read();
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.workers.iter_mut().for_each(|worker| worker.run_delay = Some(Nanos::from_millis(100)));
            interval.workers[3].run_delay = Some(Nanos::from_millis(450));
            (interval.devices[0].in_queue_ms, interval.devices[0].busy_ms) = (5_500, 990);
        }
        let limiter = limited_by(&result).unwrap().limiter;
        assert_eq!(limiter, Limiter::Device);
        let sentence = &run(&result)[0].sentence;
        assert!(sentence.ends_with("that is in its latencies; the limit was another one (device)"), "{sentence}");
    }

    /// What the check and the limit say of workers that are each on a processor for this long in each second.
    fn said(on_cpu_ms: [u64; 8], change: impl Fn(&mut Interval)) -> (Option<Grade>, Option<Limiter>, bool) {
        let mut result = watched_random_read();
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            for (worker, on_cpu) in interval.workers.iter_mut().zip(on_cpu_ms) {
                worker.on_cpu = Some(Nanos::from_millis(on_cpu));
            }
            change(interval);
        }
        crate::judge(&mut result);
        let note = result.notes.iter().find(|note| note.check == crate::checks::CLIENT_CPU);
        let says_tester = note.is_some_and(|note| note.sentence.ends_with(OF_TESTER));
        (note.map(|note| note.grade), result.limited_by.map(|limit| limit.limiter), says_tester)
    }

    #[test]
    fn the_verdict_and_the_limit_name_one_cause() {
        let (limits, bad) = (Some(Grade::ValidWithLimits), Some(Grade::NotAStorageResult));
        let (tester, device) = (Some(Limiter::ClientCpu), Some(Limiter::Device));
        assert_eq!(said([920; 8], |_| ()), (limits, tester, true), "all workers, and none above 95 %");
        assert_eq!(said([620; 8], |_| ()), (limits, tester, true), "longer than they waited for I/O");
        assert_eq!(said([980; 8], |_| ()), (bad, tester, true));
        let full = |interval: &mut Interval| {
            (interval.devices[0].in_queue_ms, interval.devices[0].busy_ms) = (5_500, 990);
        };
        let one = [980, 50, 50, 50, 50, 50, 50, 50];
        assert_eq!(said(one, full), (limits, device, false), "one of eight computes, the disk is the limit");
        let quota = |interval: &mut Interval| {
            interval.group = Some(GroupGain { throttled_us: Some(380_000), ..GroupGain::default() });
        };
        let (note, ..) = said([50; 8], quota);
        assert_eq!(note, None, "the check `throttled` says it");
    }

    #[test]
    fn a_wait_for_a_cpu_before_a_full_disk_is_the_wait_of_the_disk() {
        let mut result = watched_random_read();
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.workers.iter_mut().for_each(|worker| worker.run_delay = Some(Nanos::from_millis(480)));
            (interval.devices[0].in_queue_ms, interval.devices[0].busy_ms) = (5_500, 990);
            interval.devices[0].reads.ticks_ms = 5_500;
        }
        assert_eq!(run(&result).len(), 1, "a request takes as long as any I/O: the disk does them at the same time");
        let latency = result.jobs[0].directions.read.total.as_mut().unwrap();
        latency.moments.record(Nanos::from_micros(100));
        assert_eq!(run(&result), [], "4.8 ms instead of 0.1: they wait for each other");
        result.monitored.as_mut().unwrap().devices[0].name = "loop0".into();
        assert_eq!(run(&result).len(), 1, "a processor does the work of a loop device");
        result.monitored.as_mut().unwrap().devices[0].name = "sda".into();
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].in_queue_ms = 3_500;
        }
        assert_eq!(run(&result).len(), 1, "most wait elsewhere");
    }
}
