//! Statistics of repeated measurements: the interval of one run, the change between two sets of runs, the conclusion of
//! a gate, when enough rounds were measured, the rate at which a share is reached, and changes within a run and in a
//! history of runs.
//!
//! Pure functions on slices. No input panics: values that are not finite, or too few, give no answer. Rates and
//! latencies are compared as logarithms, so a change is a ratio and its interval is symmetric. docs/decisions.md
//! explains each rule; `crates/analysis/tests/golden/statistics.py` computes the golden values of the tests.

mod change;
mod crossing;
mod gate;
mod history;
mod levels;
mod one_run;
pub(crate) mod student;

pub use change::{
    Change, WatchedMean, between_pairs, between_rounds, between_sets, between_turns, rejected, watched_mean,
};
pub use crossing::{Crossing, RateTrial, crossing};
pub use gate::{
    Answer, Decision, GateNumber, Rank, answer_of_all, answers, decision, order_effect, rounds_to_decide,
    runs_to_settle,
};
pub use history::{Chance, FEWEST, HistoryChange, MOST, Newest, history_changes, newest};
pub use levels::level_changes;
pub use one_run::{
    Drift, FEWEST_INTERVALS, SeriesInterval, ShareBounds, Trend, drift, drift_of_last_half, percentile_shares,
    series_interval,
};

use student::{quantile as t_quantile, two_sided};

/// Error probability of an interval: 5 %.
pub const ALPHA: f64 = 0.05;

/// Mean, and sum of squared deviations from it; `None` without values, or if a value or a result is not finite.
fn mean_and_squares(values: &[f64]) -> Option<(f64, f64)> {
    let count = float(values.len());
    let mean = values.iter().sum::<f64>() / count;
    // The mean of equal values is that value; a rounded sum would give them a deviation.
    let mean = if values.windows(2).all(|pair| pair[0] == pair[1]) { *values.first()? } else { mean };
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean.is_finite() && squares.is_finite()).then_some((mean, squares))
}

/// By how much the correlation of a short series is estimated too low: divided by its length, with the mean taken off.
const BIAS_OF_MEAN: f64 = 3.0;
/// The same with a line or a curve taken off.
pub(crate) const BIAS_OF_LINE: f64 = 4.0;
/// Largest correlation that is computed with.
pub(crate) const MOST_CORRELATION: f64 = 0.97;

/// Correlation of each deviation with the next one, corrected for its bias (Kendall): 0 to `most`.
pub(crate) fn neighbour_correlation(rest: &[f64], bias: f64, most: f64) -> f64 {
    let squares = rest.iter().map(|rest| rest * rest).sum::<f64>();
    let products = rest.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
    let r = if squares > 0.0 { products / squares } else { 0.0 };
    (r + (1.0 + bias * r) / float(rest.len())).clamp(0.0, most)
}

fn float(count: usize) -> f64 {
    measure::float(count as u64)
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod power;
#[cfg(test)]
mod proofs;
#[cfg(test)]
pub(crate) mod simulated;
