//! The machine that tests: its processors, and the quota on them.

use super::seen::{Seen, float};
use super::{percent, verdict};
use model::{LimitedBy, Limiter};

/// From this share of the time on, a quota is what was measured.
const HELD_BACK: f64 = 0.10;
/// From this share of its time on a processor, or waiting for one, a worker has no time to wait for a device.
const BUSY: f64 = 0.90;
/// With less than this share idle, the machine is full.
const IDLE_MIN: f64 = 0.05;
/// Options with which a worker waits on the processor.
const POLLING: [&str; 3] = ["hipri", "sqthread_poll", "userspace_reap"];

/// A control group's processor quota.
pub(super) fn held_back_by_quota(seen: &Seen<'_>) -> Option<LimitedBy> {
    let cpus = seen.monitored?.group_limits.as_ref()?.cpus?;
    let throttled_us = seen.steady.group?.throttled_us?;
    let share = seen.share_of_time(float(throttled_us) / 1e6);
    (share >= HELD_BACK).then(|| {
        let sentence = format!("the quota of {cpus} processors held the workers back {} of the time", percent(share));
        verdict(Limiter::ClientCpu, share, sentence, &[("quota_cpus", cpus), ("throttled_us", float(throttled_us))])
    })
}

/// Workers that never waited for a device, or a machine without a processor to spare.
pub(super) fn on_the_processor(seen: &Seen<'_>) -> Option<LimitedBy> {
    let polls = seen.jobs().any(|job| POLLING.iter().any(|name| seen.option(job, name).is_some()));
    let (on, waiting) = seen.processor_shares().filter(|_| !polls).unwrap_or((0.0, 0.0));
    let share = on + waiting;
    if share >= BUSY {
        let waited = if waiting >= 0.05 {
            format!(", {} of it waiting for one", percent(waiting / share))
        } else {
            String::new()
        };
        let sentence = format!("the workers were on a processor {} of the time{waited}", percent(share));
        let evidence = [("on_cpu_percent", 100.0 * on), ("run_delay_percent", 100.0 * waiting)];
        return Some(verdict(Limiter::ClientCpu, share, sentence, &evidence));
    }
    let cpu = seen.steady.cpu.filter(|cpu| cpu.total() > 0)?;
    let total = float(cpu.total());
    let idle = float(cpu.idle + cpu.iowait) / total;
    let steal = float(cpu.steal) / total;
    // A full machine limits those who wait for it, not those who poll on it.
    (idle < IDLE_MIN && waiting >= 0.2).then(|| {
        let stolen =
            if steal >= 0.05 { format!(", {} taken by the hypervisor", percent(steal)) } else { String::new() };
        let sentence = format!("all processors were busy {} of the time{stolen}", percent(1.0 - idle));
        let evidence =
            [("idle_percent", 100.0 * idle), ("steal_percent", 100.0 * steal), ("run_delay_percent", 100.0 * waiting)];
        verdict(Limiter::ClientCpu, 1.0 - idle, sentence, &evidence)
    })
}
