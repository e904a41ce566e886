//! What held a run back: one verdict, with its share and the numbers behind it.
//!
//! Rules are asked in an order in which an earlier one explains what a later one would see: a cap makes a device look
//! idle, a saturated processor makes a queue look short. The first that answers is the verdict; none is an answer too.

pub(crate) mod caps;
mod client;
pub(crate) mod device;
pub(crate) mod seen;

use model::{LimitedBy, Limiter, RunResult};
use seen::Seen;

/// Asked in this order.
const RULES: &[fn(&Seen<'_>) -> Option<LimitedBy>] = &[
    caps::of_the_plan,
    caps::of_the_group,
    client::held_back_by_quota,
    device::neighbour,
    client::on_the_processor,
    device::flush,
    device::link,
    caps::plateau,
    device::file_system_lock,
    device::busy_or_shallow,
];

/// What held this run back; `None` where nothing can be said: no I/O, virtual time, or signals that contradict every
/// rule.
pub fn limited_by(result: &RunResult) -> Option<LimitedBy> {
    let seen = Seen::of(result)?;
    RULES.iter().find_map(|rule| rule(&seen))
}

fn verdict(limiter: Limiter, share: f64, sentence: String, evidence: &[(&str, f64)]) -> LimitedBy {
    let evidence = evidence.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    LimitedBy { limiter, share_percent: (100.0 * share).clamp(0.0, 100.0), sentence, evidence }
}

/// A share in whole percent.
fn percent(share: f64) -> String {
    format!("{:.0} %", (100.0 * share).clamp(0.0, 100.0))
}

#[cfg(test)]
mod tests;
