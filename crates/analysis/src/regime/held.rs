//! I/Os that a limiter holds: a rate that is flat, and a second kind of latency far above the usual one with nothing in
//! between.

use super::course::Stretch;
use crate::run_facts::float;
use measure::Nanos;

/// Most variation of the rate.
const FLAT: f64 = 0.005;
/// Least share of I/Os that are held.
const LEAST: f64 = 0.005;
/// They take at least this many times the median.
const FACTOR: f64 = 8.0;
/// Most I/Os in an empty octave, as a share.
const EMPTY: f64 = 0.0002;

/// I/Os that are held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HeldIos {
    /// Their share.
    pub(super) share: f64,
    /// The usual latency.
    pub(super) usual: Nanos,
    /// The least latency of those that are held.
    pub(super) held: Nanos,
}

impl HeldIos {
    pub(super) fn evidence(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("held_percent", 100.0 * self.share),
            ("usual_us", self.usual.as_f64() / 1e3),
            ("held_us", self.held.as_f64() / 1e3),
        ]
    }
}

/// The I/Os of a stretch that are held, if there are any.
pub(super) fn of(stretch: &Stretch<'_>) -> Option<HeldIos> {
    const OCTAVES: u32 = 24;
    const PARTS: u32 = 4;
    if stretch.variation() >= FLAT {
        return None;
    }
    let all = stretch.latencies();
    let usual = all.percentile(50.0)?;
    let count = float(all.total());
    let beyond = |factor: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time; the cast saturates")]
        let value = Nanos((usual.as_f64() * factor) as u64);
        float(all.slower_than(value)) / count
    };
    // The octave from half of the mode to the mode is empty, and the mode begins at 8 times the median.
    let octaves = (0..OCTAVES * PARTS).map(|step| FACTOR * 2.0_f64.powf(f64::from(step) / f64::from(PARTS)));
    let mode = octaves.into_iter().find(|&mode| beyond(mode) >= LEAST && beyond(mode / 2.0) - beyond(mode) < EMPTY)?;
    let share = beyond(mode);
    let held = all.percentile(100.0 * (1.0 - share) + 100.0 / count)?;
    Some(HeldIos { share, usual, held })
}
