//! Bottleneck of a run: one verdict, with its fraction and the supporting numbers.
//!
//! Rules are ordered so that an earlier one explains what a later one would misinterpret: a rate limit makes a device
//! look idle, a saturated CPU makes a queue look short. The first rule that applies gives the verdict; none may apply.

pub(crate) mod caps;
pub(crate) mod device;
pub(crate) mod parts;

use crate::run_facts::{RunFacts, float, polls};
use device::is_full;
use measure::text;
use model::{LimitedBy, Limiter, RunResult};

/// A rule, and the parts of the time of I/Os that it explains; none if it is about time between them, too.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    find: fn(&RunFacts<'_>) -> Option<LimitedBy>,
    explains: &'static [&'static str],
}

const fn rule(find: fn(&RunFacts<'_>) -> Option<LimitedBy>, explains: &'static [&'static str]) -> Rule {
    Rule { find, explains }
}

/// Parts that may hide a limit out of sight.
const OUT_OF_SIGHT: &[&str] = &[parts::THROTTLE, parts::TAGS, parts::SCHEDULER, parts::STACK, parts::DEVICE];
const LOCKS: &[&str] = &[parts::WAIT, parts::JOURNAL, parts::DIRTY_LIMIT];
const DEVICES: &[&str] = &[parts::DEVICE, parts::FLUSH, parts::STACK, parts::TAGS, parts::SCHEDULER];

pub(crate) const OF_THE_GROUP: Rule = rule(caps::of_the_group, &[parts::THROTTLE]);
pub(crate) const PLATEAU: Rule = rule(caps::plateau, OUT_OF_SIGHT);
pub(crate) const TOO_EVEN: Rule = rule(caps::too_even, OUT_OF_SIGHT);
pub(crate) const HELD_ABOVE: Rule =
    rule(caps::held_above_the_device, &[parts::THROTTLE, parts::TAGS, parts::SCHEDULER, parts::STACK]);

/// Rules in order of evaluation.
const RULES: &[Rule] = &[
    rule(caps::of_the_plan, &[]),
    rule(parts::waited, &[]),
    OF_THE_GROUP,
    rule(held_back_by_quota, &[]),
    rule(device::neighbour, DEVICES),
    rule(on_the_processor, &[]),
    rule(caps::held_by_the_group, &[parts::THROTTLE]),
    rule(device::server, &[]),
    rule(device::flush, &[]),
    rule(device::durable_writes, &[]),
    rule(device::link, &[parts::DEVICE]),
    PLATEAU,
    TOO_EVEN,
    HELD_ABOVE,
    rule(device::file_system_lock, LOCKS),
    rule(saturated, &[parts::WAKING_UP]),
    rule(longer_than_io, &[]),
    rule(device::busy_or_shallow, DEVICES),
    rule(parts::below, &[]),
];

/// The verdict on the bottleneck of this run; `None` without I/O, in simulated time, or where no rule matches.
pub(crate) fn limited_by(result: &RunResult) -> Option<LimitedBy> {
    let seen = RunFacts::of(result)?;
    RULES.iter().find_map(|rule| applied(*rule, &seen))
}

/// The verdict of a rule, unless the parts of the time of the I/Os were recorded and contradict it.
pub(crate) fn applied(rule: Rule, seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let found = (rule.find)(seen)?;
    match parts::Recorded::of(seen.result) {
        Some(recorded) => recorded.agreed(found, rule.explains),
        None => Some(found),
    }
}

/// The limit of a control group that this run reached, whatever rate the run had set for itself.
pub fn limited_by_group(result: &RunResult) -> Option<LimitedBy> {
    caps::of_the_group(&RunFacts::of(result)?)
}

/// A limit of a control group on the I/Os of a target's device: `control group /a limits vda to 3000 reads/s`.
pub fn group_limits_ios(result: &RunResult) -> Option<String> {
    let monitored = result.monitored.as_ref()?;
    monitored.group_limits.as_ref()?.io.iter().find_map(|cap| {
        monitored.devices.iter().find(|device| device.name == cap.device)?;
        let limits = [(cap.read_iops, "reads/s"), (cap.write_iops, "writes/s")];
        let (limit, what) = limits.into_iter().find_map(|(limit, what)| Some((limit?, what)))?;
        let group =
            cap.group.as_ref().map_or_else(|| "its control group".to_owned(), |name| format!("control group {name}"));
        Some(format!("{group} limits {} to {limit} {what}", cap.device))
    })
}

fn verdict(limiter: Limiter, share: f64, sentence: String, evidence: &[(&str, f64)]) -> LimitedBy {
    let evidence = evidence.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    LimitedBy { limiter, share_percent: (100.0 * share).clamp(0.0, 100.0), sentence, evidence }
}

#[cfg(test)]
mod tests;

/// A quota counts as the bottleneck from this fraction of the time.
const HELD_BACK: f64 = 0.10;
/// A worker that is on a CPU, or waiting for one, for this fraction of the time does not wait for a device.
const BUSY: f64 = 0.90;
/// Above this fraction of the time, a worker does not wait for I/O most of the time.
const MOST: f64 = 0.50;
/// In a shorter run, the start and the end are a part of what was sampled.
const LEAST_SECONDS: f64 = 0.5;
/// With a smaller fraction of idle time, the machine is saturated.
const IDLE_MIN: f64 = 0.05;

/// CPU quota of a control group.
pub(super) fn held_back_by_quota(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let cpus = seen.monitored?.group_limits.as_ref()?.cpus?;
    let throttled_us = seen.steady.group?.throttled_us?;
    let share = seen.share_of_time(float(throttled_us) / 1e6);
    (share >= HELD_BACK).then(|| {
        let sentence = format!(
            "the quota of {cpus} processors held the workers back {} of the time",
            text::percent(share.min(1.0))
        );
        verdict(Limiter::ClientCpu, share, sentence, &[("quota_cpus", cpus), ("throttled_us", float(throttled_us))])
    })
}

/// Workers with one I/O each that spend more of the time on a processor, or waiting for one, than waiting for I/O: at
/// checksums, at copying, while other programs work. With more I/Os in flight the two go on at the same time. Who waits
/// for a processor before a full disk would wait there instead.
pub(super) fn longer_than_io(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let one_each = seen.users() == seen.workers() && !seen.jobs().any(polls);
    let is_long = seen.seconds >= LEAST_SECONDS;
    let (on, waiting) = seen.processor_shares().filter(|_| is_long && one_each && !is_full(seen))?;
    (on + waiting > MOST).then(|| share_of_workers(on, waiting, ", longer than they waited for I/O"))
}

fn share_of_workers(on: f64, waiting: f64, compared: &str) -> LimitedBy {
    let share = on + waiting;
    let waited = match waiting {
        0.05.. => format!(
            " or waited for one {} of the time ({} of it waiting)",
            text::percent(share.min(1.0)),
            text::percent(waiting / share)
        ),
        _ => format!(" {} of the time", text::percent(share.min(1.0))),
    };
    let sentence = format!("the workers were on a processor{waited}{compared}");
    let evidence = [("on_cpu_percent", 100.0 * on), ("run_delay_percent", 100.0 * waiting)];
    verdict(Limiter::ClientCpu, share, sentence, &evidence)
}

/// Mean fractions of the time on a CPU and waiting for one; 0 for workers that poll, which is waiting too.
fn shares(seen: &RunFacts<'_>) -> (f64, f64) {
    let polled = seen.jobs().any(polls);
    seen.processor_shares().filter(|_| !polled).unwrap_or((0.0, 0.0))
}

/// Workers that never waited for a device.
pub(super) fn on_the_processor(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let (on, waiting) = shares(seen);
    (on + waiting >= BUSY).then(|| share_of_workers(on, waiting, ""))
}

/// A machine without idle CPUs. Who waits for a lock spins for a while, so the lock is asked for first.
pub(super) fn saturated(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let (_, waiting) = shares(seen);
    let cpu = seen.steady.cpu.filter(|cpu| cpu.total() > 0)?;
    let total = float(cpu.total());
    let idle = float(cpu.idle + cpu.iowait) / total;
    let steal = float(cpu.steal) / total;
    // A saturated machine limits workers that wait for a CPU, not workers that poll on one, nor a disk that is full.
    (idle < IDLE_MIN && waiting >= 0.2 && !is_full(seen)).then(|| {
        let stolen =
            if steal >= 0.05 { format!(", {} taken by the hypervisor", text::percent(steal)) } else { String::new() };
        let sentence = format!("all processors were busy {} of the time{stolen}", text::percent(1.0 - idle));
        let evidence =
            [("idle_percent", 100.0 * idle), ("steal_percent", 100.0 * steal), ("run_delay_percent", 100.0 * waiting)];
        verdict(Limiter::ClientCpu, 1.0 - idle, sentence, &evidence)
    })
}
