//! A rate that falls in a rhythm: garbage collection, commit intervals, refreshes.
//!
//! The autocorrelation of what is left without a line. A peak counts if it is beyond three of Bartlett's errors, if one
//! follows at twice its lag, and if it is low in between: a slow wave and a change of level are high there.

use super::course::Stretch;
use crate::run_facts::float;

/// Shortest period in intervals.
const SHORTEST: usize = 4;
/// A peak is larger than this many times its error.
const ERRORS: f64 = 3.0;
/// The peak at twice the lag has at least this share of it.
const SECOND: f64 = 0.6;
/// Between its peaks the correlation is at most this share of them.
const BETWEEN: f64 = 0.5;
/// Least depth, as a share of the rate between the dips.
const LEAST_DEPTH: f64 = 0.1;

/// Dips of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rhythm {
    /// Period in intervals.
    pub(super) period: f64,
    /// Intervals of a dip.
    pub(super) length: f64,
    /// By which share the rate falls.
    pub(super) depth: f64,
    /// Share of the work that is lost to the dips.
    pub(super) lost: f64,
    /// The correlation at the period.
    repeats: f64,
}

impl Rhythm {
    pub(super) fn evidence(&self, stretch: &Stretch<'_>) -> Vec<(&'static str, f64)> {
        vec![
            ("period_s", self.period * stretch.pace()),
            ("dip_s", self.length * stretch.pace()),
            ("depth_percent", 100.0 * self.depth),
            ("lost_percent", 100.0 * self.lost),
            ("repeats_percent", 100.0 * self.repeats.clamp(0.0, 1.0)),
        ]
    }
}

/// The rhythm of a series, if it has one.
pub(super) fn of(rates: &[f64]) -> Option<Rhythm> {
    let most = rates.len() / 3;
    if most <= SHORTEST {
        return None;
    }
    let level = straightened(rates);
    let correlations = autocorrelations(&level)?;
    let squares = |lag: usize| correlations[1..lag].iter().map(|one| one * one).sum::<f64>();
    let error = |lag: usize| ((1.0 + 2.0 * squares(lag)) / float(rates.len() as u64)).sqrt();
    let largest = |from: usize, to: usize| {
        let lags = from..(to + 1).min(correlations.len());
        lags.max_by(|&one, &other| correlations[one].total_cmp(&correlations[other]))
    };
    let is_peak = |&lag: &usize| {
        let at = correlations[lag];
        let near = (lag / 8).max(1);
        let second = largest(2 * lag - near, 2 * lag + near).map_or(-1.0, |lag| correlations[lag]);
        let between = correlations[1..lag].iter().copied().fold(1.0, f64::min);
        at > correlations[lag - 1]
            && at >= correlations[lag + 1]
            && at > ERRORS * error(lag)
            && second > SECOND * at
            && between < BETWEEN * at
    };
    let lag =
        (SHORTEST..most).filter(is_peak).max_by(|&one, &other| correlations[one].total_cmp(&correlations[other]))?;
    // Peaks at multiples give the period to a fraction of an interval.
    let (mut period, mut times) = (float(lag as u64), 1);
    while lag * (times + 1) < 2 * most {
        times += 1;
        let near = whole(period * float(times as u64));
        let Some(peak) = largest(near.saturating_sub(1), near + 1).filter(|&peak| correlations[peak] > 0.0) else {
            break;
        };
        period = float(peak as u64) / float(times as u64);
    }
    let (high, low, share) = levels(&level)?;
    let depth = 1.0 - low / high;
    let lost = 1.0 - level.iter().sum::<f64>() / float(level.len() as u64) / high;
    let found = Rhythm { period, length: share * period, depth, lost, repeats: correlations[lag] };
    (depth >= LEAST_DEPTH).then_some(found)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a lag of a series")]
fn whole(lag: f64) -> usize {
    lag.round() as usize
}

/// A series turned about its middle so that its least-squares line is level.
fn straightened(rates: &[f64]) -> Vec<f64> {
    let count = float(rates.len() as u64);
    let mean = rates.iter().sum::<f64>() / count;
    let place = |at: usize| float(at as u64) - (count - 1.0) / 2.0;
    let spread = count * (count * count - 1.0) / 12.0;
    let slope = rates.iter().enumerate().map(|(at, rate)| place(at) * (rate - mean)).sum::<f64>() / spread;
    rates.iter().enumerate().map(|(at, rate)| rate - slope * place(at)).collect()
}

/// Correlations of a level series, by lag; `None` if it is constant.
fn autocorrelations(level: &[f64]) -> Option<Vec<f64>> {
    let count = float(level.len() as u64);
    let mean = level.iter().sum::<f64>() / count;
    let rest: Vec<f64> = level.iter().map(|rate| rate - mean).collect();
    let all = rest.iter().map(|rest| rest * rest).sum::<f64>();
    // A line leaves errors of rounding, which do not count.
    let is_noise = all > 1e-12 * mean * mean * count;
    let of_lag = |lag: usize| rest.iter().zip(&rest[lag..]).map(|(one, later)| one * later).sum::<f64>() / all;
    is_noise.then(|| (0..=2 * level.len() / 3 + 1).map(of_lag).collect())
}

/// Mean of the high and of the low intervals, and the share of the low ones: the threshold is in the middle of both.
fn levels(rates: &[f64]) -> Option<(f64, f64, f64)> {
    const ROUNDS: usize = 50;
    let (least, most) =
        rates.iter().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), &rate| (least.min(rate), most.max(rate)));
    let mut threshold = f64::midpoint(least, most);
    for _ in 0..ROUNDS {
        let (low, high): (Vec<f64>, Vec<f64>) = rates.iter().partition(|&&rate| rate < threshold);
        if low.is_empty() || high.is_empty() {
            return None;
        }
        let mean = |part: &[f64]| part.iter().sum::<f64>() / float(part.len() as u64);
        let (below, above) = (mean(&low), mean(&high));
        let next = f64::midpoint(below, above);
        if (next - threshold).abs() <= 1e-9 * above {
            let share = float(low.len() as u64) / float(rates.len() as u64);
            return (above > 0.0).then_some((above, below, share));
        }
        threshold = next;
    }
    None
}
