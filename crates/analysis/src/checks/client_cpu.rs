//! Client CPU: the processors of the machine that tests were the limit.
//!
//! Signals: time on a processor and waiting for one of each worker, ticks taken by the hypervisor; of foreign results
//! the jobs' own CPU shares.

use super::note;
use crate::evidence::{float, is_on};
use crate::limiter::seen::Seen;
use measure::Nanos;
use model::{Grade, Note, RunResult};

/// The name in notes.
pub(super) const ID: &str = "client CPU";

/// From this share of its time on a processor, or waiting for one, a worker has none for a device.
const BUSY: f64 = 0.95;
/// From this share of its time ready without a processor, a worker's latencies are the machine's.
const DELAYED: f64 = 0.25;
/// From this share of all ticks, the hypervisor's other guests are in the number.
const STOLEN: f64 = 0.10;
/// Options with which a worker waits on the processor.
const POLLING: [&str; 3] = ["hipri", "sqthread_poll", "userspace_reap"];

/// The busiest worker, the most delayed one, and the hypervisor.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(seen) = Seen::of(result) else { return Vec::new() };
    if seen.jobs().any(|job| is_on(job, result, &POLLING)) {
        return Vec::new();
    }
    let seconds = seen.seconds;
    let share = |time: Option<Nanos>| time.map_or(0.0, |time| time.as_secs_f64() / seconds);
    let told = seen.steady.workers.iter().filter(|worker| worker.ios > 0 && worker.on_cpu.is_some());
    let shares: Vec<(f64, f64)> = told.map(|worker| (share(worker.on_cpu), share(worker.run_delay))).collect();
    let shares = if shares.is_empty() { seen.processor_shares().into_iter().collect() } else { shares };
    let Some(&(on, waiting)) = shares.iter().max_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1))) else {
        return Vec::new();
    };
    let delay = shares.iter().map(|share| share.1).fold(0.0, f64::max);
    let ticks = seen.steady.cpu.filter(|cpu| cpu.total() >= 100);
    let steal = ticks.map_or(0.0, |cpu| float(cpu.steal) / float(cpu.total()));
    let what = if on + waiting > BUSY {
        let waited = if waiting >= 0.05 { ", waiting for one included" } else { "" };
        format!("a worker was on a processor {:.0} % of the time{waited}", percent(on + waiting))
    } else if delay > DELAYED {
        format!("a worker waited for a processor {:.0} % of the time", percent(delay))
    } else if steal > STOLEN {
        format!("the hypervisor took {:.0} % of the processors", percent(steal))
    } else {
        return Vec::new();
    };
    let evidence =
        [("on_cpu_percent", percent(on)), ("run_delay_percent", percent(delay)), ("steal_percent", percent(steal))];
    let grade = if on + waiting > BUSY { Grade::NotAStorageResult } else { Grade::ValidWithLimits };
    vec![note(ID, grade, format!("{what}: the tester, not the disk, was the limit"), &evidence)]
}

fn percent(share: f64) -> f64 {
    (100.0 * share).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    #[test]
    fn workers_without_time_to_wait_are_the_limit() {
        let mut result = watched_random_read();
        assert_eq!(run(&result), []);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.workers[0].on_cpu = Some(Nanos::from_millis(980));
        }
        let notes = run(&result);
        assert_eq!(
            notes[0].sentence,
            "a worker was on a processor 98 % of the time: the tester, not the disk, was the limit"
        );
    }

    #[test]
    fn a_worker_that_waits_for_a_processor_is_told_and_one_that_polls_is_not() {
        let mut result = watched_random_read();
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.workers[3].run_delay = Some(Nanos::from_millis(400));
        }
        assert!(run(&result)[0].sentence.starts_with("a worker waited for a processor 40 % of the time"));
        result.jobs[0].echo.options.push(("hipri".into(), "1".into()));
        assert_eq!(run(&result), []);
    }
}
