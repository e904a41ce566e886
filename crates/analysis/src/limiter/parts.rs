//! Where the time of the I/Os went, where that was recorded (`--layers`): facts, which come before what is inferred from
//! counters, and with which this must agree.

use super::{device, verdict};
use crate::parts::{largest_of, limit};
use crate::run_facts::{RunFacts, float};
use measure::{Nanos, text};
use model::{Layers, LimitedBy, Limiter, RunResult};

pub(super) const THROTTLE: &str = "throttle";
pub(super) const WAIT: &str = "lock or other wait";
pub(super) const JOURNAL: &str = "journal";
pub(super) const DIRTY_LIMIT: &str = "dirty limit";
pub(super) const TAGS: &str = "tags";
pub(super) const SCHEDULER: &str = "scheduler";
pub(super) const STACK: &str = "dm or md";
pub(super) const DEVICE: &str = "device";
pub(super) const FLUSH: &str = "flush";
pub(super) const WAKING_UP: &str = "waking up";

/// A part is the limit from this share of the time of the I/Os.
const MOST: f64 = 0.5;
/// A cause that is inferred must have this share of it.
const LEAST: f64 = 0.25;
/// This share of the I/Os of a run must have been recorded.
const KNOWN: f64 = 0.9;

/// Waits that name the limit by themselves, whatever the counters of devices say.
const WAITS: [(&str, Limiter); 5] = [
    (THROTTLE, Limiter::Cap),
    (WAIT, Limiter::FileSystemLock),
    (JOURNAL, Limiter::Flush),
    (DIRTY_LIMIT, Limiter::Device),
    (WAKING_UP, Limiter::ClientCpu),
];
/// The time at the device and in front of it, of which counters say more.
const BELOW: [(&str, Limiter); 5] = [
    (TAGS, Limiter::Device),
    (SCHEDULER, Limiter::Device),
    (STACK, Limiter::Device),
    (DEVICE, Limiter::Device),
    (FLUSH, Limiter::Flush),
];

/// The time of all I/Os of a run by part.
pub(crate) struct Recorded<'a> {
    layers: &'a Layers,
    sum: f64,
}

impl<'a> Recorded<'a> {
    /// `None` if it was not recorded, or not of nearly all I/Os.
    pub(crate) fn of(result: &'a RunResult) -> Option<Self> {
        let layers = result.layers.as_deref()?;
        let ios = result.jobs.iter().map(model::JobResult::ios).fold(0, u64::saturating_add);
        let sum: Nanos = layers.parts.0.iter().map(|(_, time)| *time).sum();
        let is_known = float(layers.ios) >= KNOWN * float(ios) && !sum.is_zero();
        is_known.then(|| Recorded { layers, sum: sum.as_f64() })
    }

    fn share(&self, part: &str) -> f64 {
        self.layers.parts.get(part).map_or(0.0, |time| time.as_f64() / self.sum)
    }

    /// `throttle had 93 % of the time of the I/Os, measured`.
    fn said(&self, part: &str) -> String {
        format!("{part} had {} of the time of the I/Os, measured", text::percent(self.share(part)))
    }

    /// The limit, if it is one of these parts.
    fn limit(&self, of: &[(&str, Limiter)]) -> Option<LimitedBy> {
        let (part, _) = largest_of(self.layers.parts.0.iter())?;
        let (_, limiter) = of.iter().find(|(name, _)| *name == part)?;
        let share = self.share(part);
        let limits: Vec<String> = self.layers.limits.iter().map(limit).collect();
        let limits =
            if part == THROTTLE && !limits.is_empty() { format!(": {}", limits.join("; ")) } else { String::new() };
        (share >= MOST).then(|| verdict(*limiter, share, self.said(part) + &limits, &[(MEASURED, 100.0 * share)]))
    }

    /// A limit that was inferred, if the parts that it explains have enough of the time; with the largest of them.
    pub(super) fn agreed(&self, found: LimitedBy, explains: &[&str]) -> Option<LimitedBy> {
        if explains.is_empty() {
            return Some(found);
        }
        let share: f64 = explains.iter().map(|part| self.share(part)).sum();
        let largest = explains.iter().copied().max_by(|one, other| self.share(one).total_cmp(&self.share(other)))?;
        let sentence = format!("{}; {}", found.sentence, self.said(largest));
        let evidence = [found.evidence, vec![(MEASURED.to_owned(), 100.0 * self.share(largest))]].concat();
        (share >= LEAST).then_some(LimitedBy { sentence, evidence, ..found })
    }
}

/// Evidence of a limit that was measured.
const MEASURED: &str = "measured_percent";

/// True if a limit was measured, and not inferred.
pub(crate) fn is_measured(limit: &LimitedBy) -> bool {
    limit.evidence.first().is_some_and(|(name, _)| name == MEASURED)
}

/// A wait that had most of the time of the I/Os. What a server of the file system takes is such a wait, too.
pub(crate) fn waited(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let found = Recorded::of(seen.result).filter(|recorded| is_busy(seen, recorded))?.limit(&WAITS)?;
    (found.limiter != Limiter::FileSystemLock || device::server(seen).is_none()).then_some(found)
}

/// The device or the queue in front of it, if it had most of the time of the I/Os.
pub(super) fn below(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    Recorded::of(seen.result).filter(|recorded| is_busy(seen, recorded))?.limit(&BELOW)
}

/// True if the workers had I/Os in flight for most of the time: otherwise these are not what limits a run.
fn is_busy(seen: &RunFacts<'_>, recorded: &Recorded<'_>) -> bool {
    recorded.sum >= MOST * f64::from(seen.users().max(1)) * recorded.layers.recorded.as_f64()
}

/// The part that had most of the time of a run's I/Os as its limit, however many were in flight.
pub fn limited_by_part(result: &RunResult) -> Option<LimitedBy> {
    Recorded::of(result)?.limit(&[&WAITS[..], &BELOW].concat())
}
