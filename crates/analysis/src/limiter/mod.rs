//! Bottleneck of a run: one verdict, with its fraction and the supporting numbers.
//!
//! Rules are ordered so that an earlier one explains what a later one would misinterpret: a rate limit makes a device
//! look idle, a saturated CPU makes a queue look short. The first rule that applies gives the verdict; none may apply.

pub(crate) mod caps;
mod client;
pub(crate) mod device;

use crate::run_facts::RunFacts;
use model::{LimitedBy, Limiter, RunResult};

/// Rules in order of evaluation.
const RULES: &[fn(&RunFacts<'_>) -> Option<LimitedBy>] = &[
    caps::of_the_plan,
    caps::of_the_group,
    client::held_back_by_quota,
    device::neighbour,
    client::on_the_processor,
    caps::held_by_the_group,
    device::server,
    device::flush,
    device::durable_writes,
    device::link,
    caps::plateau,
    caps::too_even,
    caps::held_above_the_device,
    device::file_system_lock,
    client::saturated,
    client::longer_than_io,
    device::busy_or_shallow,
];

/// The verdict on the bottleneck of this run; `None` if there is none: no I/O, simulated time, or signals that match no
/// rule.
pub(crate) fn limited_by(result: &RunResult) -> Option<LimitedBy> {
    let seen = RunFacts::of(result)?;
    RULES.iter().find_map(|rule| rule(&seen))
}

/// The limit of a control group that this run reached, whatever rate the run had set for itself.
pub fn limited_by_group(result: &RunResult) -> Option<LimitedBy> {
    caps::of_the_group(&RunFacts::of(result)?)
}

/// A limit of a control group on the I/Os per second of a device under the targets, in words: `control group /a limits vda to
/// 3000 reads/s`.
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
