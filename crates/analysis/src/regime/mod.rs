//! Regimes: the phases of a run, each with its kind.
//!
//! Changes of level cut the run into pieces; rules then name them, in this order: throttled, burst, write cache, dips,
//! settling, settled, drifting, cannot tell. A level that a counter explains is not a burst. Owns the rules;
//! leaves change points, drifts and intervals to `statistics`.

mod course;
mod curve;
mod falls;
mod pieces;
mod plateaus;
mod rhythm;
mod until;
mod words;

use crate::run_facts::float;
use crate::statistics::{Trend, drift, drift_of_last_half, series_interval};
use course::Stretch;
pub(crate) use course::{Course, Step};
use measure::Nanos;
use model::{Lasting, Like, Monitored, Phase, PhaseKind, RunResult};
use pieces::{Piece, Shape};
pub use until::RegimeWatch;

#[cfg(test)]
pub(crate) use course::Warmth;

/// Fewest intervals of a run with phases.
const FEWEST: usize = 15;
/// Phases whose rates differ by a larger share are not one run.
const DIFFERENT: f64 = 0.1;

/// Finds the phases of a run and its lasting rate, for its result. What the run found stays without its samples.
pub(crate) fn describe(result: &mut RunResult) {
    if !result.is_judged() {
        result.phases = phases(result);
    }
    result.lasting = lasting(&result.phases);
}

/// Phases of a run in order; none for a run of less than 15 intervals, without samples, or in simulated time.
pub fn phases(result: &RunResult) -> Vec<Phase> {
    Course::of(result).map_or_else(Vec::new, |course| of_course(&course))
}

/// The same of a run that goes on, by its samples so far. They must be of real time.
///
/// ```
/// assert_eq!(analysis::regime::phases_so_far(&model::Monitored::default()), []);
/// ```
pub fn phases_so_far(samples: &Monitored) -> Vec<Phase> {
    Course::of_samples(samples).map_or_else(Vec::new, |course| of_course(&course))
}

/// The phase that says more than the average: the last settled one, or the last. `None` if rates are within 10 %.
pub(crate) fn lasting_phase(phases: &[Phase]) -> Option<&Phase> {
    let rates = || phases.iter().map(|phase| phase.iops);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let differ = phases.len() > 1 && most - least > DIFFERENT * most;
    let last = phases.iter().rev().find(|phase| phase.kind == PhaseKind::Settled).or(phases.last());
    last.filter(|_| differ)
}

/// The rate of the phase that lasts, next to the average; `None` if the phases have one rate within 10 %.
///
/// ```
/// assert_eq!(analysis::regime::lasting(&[]), None);
/// ```
pub fn lasting(phases: &[Phase]) -> Option<Lasting> {
    let last = lasting_phase(phases)?;
    let seconds = |phase: &Phase| phase.until.saturating_sub(phase.from).as_secs_f64();
    let ios = phases.iter().map(|phase| phase.iops * seconds(phase)).sum::<f64>();
    let average = ios / phases.iter().map(seconds).sum::<f64>().max(1e-9);
    Some(Lasting {
        from: last.from,
        until: last.until,
        kind: last.kind,
        iops: last.iops,
        bytes_per_second: last.bytes_per_second,
        p50: last.p50,
        p99: last.p99,
        average_iops: average,
        sentence: words::lasting(last, average, phases.len()),
    })
}

pub(crate) fn of_course(course: &Course) -> Vec<Phase> {
    let rates = course.rates();
    if rates.len() < FEWEST {
        return Vec::new();
    }
    if let Some(rhythm) = rhythm::of(&rates) {
        let whole = course.stretch(0, rates.len());
        return vec![made(&whole, PhaseKind::Dips, words::dips(&whole, &rhythm), rhythm.evidence(&whole))];
    }
    let pieces = pieces::of(&rates);
    let mut phases: Vec<Phase> = Vec::new();
    let pieces: Vec<Piece> = pieces.into_iter().flat_map(|piece| pieces::without_approach(&rates, piece)).collect();
    for (at, piece) in pieces.iter().enumerate() {
        let stretch = course.stretch(piece.from, piece.to);
        let next = pieces.get(at + 1).map(|next| course.stretch(next.from, next.to));
        let previous = at.checked_sub(1).map(|at| course.stretch(pieces[at].from, pieces[at].to));
        let fallen = |from: &Option<Stretch<'_>>| from.as_ref().and_then(|from| falls::throttled(from, &stretch));
        let ends = next.filter(|_| piece.shape == Shape::Level).and_then(|next| falls::ended(course, &stretch, &next));
        phases.push(match (fallen(&previous), ends) {
            (Some(cause), _) => {
                made(&stretch, PhaseKind::Throttled, words::throttled(&stretch, &cause), cause.evidence())
            }
            (None, Some(fall)) => {
                let phase = made(&stretch, fall.kind(), words::fall(&stretch, &fall), fall.evidence());
                with_likes(phase, fall.like(course))
            }
            (None, None) => {
                let phase = of_piece(&stretch, piece, pieces.get(at + 1));
                let like = falls::like_a_plateau(course, &stretch);
                if phase.kind == PhaseKind::Settled { with_likes(phase, like) } else { phase }
            }
        });
    }
    phases
}

/// The phase with the volumes that it is like, and a sentence that says so.
fn with_likes(mut phase: Phase, like: Vec<Like>) -> Phase {
    if !like.is_empty() {
        let names: Vec<&str> = like.iter().map(|like| like.name.as_str()).collect();
        phase.sentence.push_str(&format!("; like {}", names.join(" or ")));
    }
    Phase { like, ..phase }
}

/// A piece that no change after it explains.
fn of_piece(stretch: &Stretch<'_>, piece: &Piece, next: Option<&Piece>) -> Phase {
    let rates = stretch.rates();
    if piece.shape == Shape::Slope && next.is_some() {
        return made(stretch, PhaseKind::Settling, words::slope(stretch), Vec::new());
    }
    if let Some(rhythm) = rhythm::of(&rates) {
        return made(stretch, PhaseKind::Dips, words::dips(stretch, &rhythm), rhythm.evidence(stretch));
    }
    let trend = if piece.shape == Shape::Slope { Trend::Drifting } else { trend(&rates) };
    match (trend, curve::of(&rates)) {
        (Trend::Settled, _) => settled(stretch),
        (Trend::CannotTell, Some(curve)) if !curve.is_sure() => cannot_tell(stretch),
        (_, Some(curve)) => {
            made(stretch, PhaseKind::Settling, words::settling(stretch, &curve), curve.evidence(stretch))
        }
        (Trend::CannotTell, None) => cannot_tell(stretch),
        (Trend::Drifting, None) => made(stretch, PhaseKind::Drifting, words::drifting(stretch), Vec::new()),
    }
}

fn cannot_tell(stretch: &Stretch<'_>) -> Phase {
    and_held(stretch, PhaseKind::CannotTell, words::cannot_tell(stretch))
}

fn settled(stretch: &Stretch<'_>) -> Phase {
    and_held(stretch, PhaseKind::Settled, words::settled(stretch))
}

/// A phase of one rate, with the I/Os that a limiter holds: for these, the rate need not be seen for long.
fn and_held(stretch: &Stretch<'_>, kind: PhaseKind, sentence: String) -> Phase {
    match held_ios(stretch) {
        Some(held) => made(stretch, kind, sentence + &words::held(&held), held.evidence()),
        None => made(stretch, kind, sentence, Vec::new()),
    }
}

/// Trend of a piece: that of its last half, not contradicted by the whole. Slow approaches look flat in short windows.
pub(crate) fn trend(rates: &[f64]) -> Trend {
    let (Some(last), Some(whole)) = (drift_of_last_half(rates), drift(rates)) else { return Trend::CannotTell };
    let goes_on = last.share.abs() > last.half && last.share.signum() == whole.share.signum();
    match (last.trend(), whole.trend()) {
        (Trend::Settled, Trend::Drifting) if goes_on => Trend::CannotTell,
        (Trend::Settled, _) => Trend::Settled,
        (Trend::Drifting, Trend::Drifting) if goes_on => Trend::Drifting,
        _ => Trend::CannotTell,
    }
}

fn made(stretch: &Stretch<'_>, kind: PhaseKind, sentence: String, evidence: Vec<(&'static str, f64)>) -> Phase {
    let rates = stretch.rates();
    // A run that is shorter than its own fluctuations has no interval.
    let interval = series_interval(&rates).filter(|found| found.half <= found.mean / 2.0);
    let [p50, p99] = stretch.percentiles();
    let mean = rates.iter().sum::<f64>() / float(rates.len() as u64);
    let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    Phase {
        from: stretch.from(),
        until: stretch.until(),
        kind,
        iops: stretch.iops(),
        iops_low: interval.map(|found| (found.mean - found.half).max(0.0)),
        iops_high: interval.map(|found| found.mean + found.half),
        bytes_per_second: stretch.bytes_per_second(),
        p50,
        p99,
        variation: if mean > 0.0 { (squares / float(rates.len() as u64)).sqrt() / mean } else { 0.0 },
        bytes_before: stretch.bytes_before(),
        sentence,
        like: Vec::new(),
        evidence: evidence.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

#[cfg(test)]
mod tests;

// I/Os that a limiter holds: a flat rate, and a second kind of latency far above the usual one.

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
fn held_ios(stretch: &Stretch<'_>) -> Option<HeldIos> {
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
