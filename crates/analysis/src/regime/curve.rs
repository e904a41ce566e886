//! A rate that approaches its end: r = end + span·e^(−t/τ), by least squares over τ, the rest being linear.

use super::course::Stretch;
use crate::run_facts::float;
use crate::statistics::{BIAS_OF_LINE, MOST_CORRELATION, neighbour_correlation};

/// The curve leaves at most this share of what a line, and what one step, leaves.
const BEST: f64 = 0.9;
/// Values of τ that are tried, evenly in its logarithm.
const TRIED: u32 = 120;
/// A curve is sure if its span is this many times its error, and a larger share of the end than the next number.
const SURE: f64 = 5.0;
const LEAST_SPAN: f64 = 0.1;
/// Fewest intervals of a sure curve.
const FEWEST: usize = 60;
/// Within this share of the end it has arrived.
const NEAR: f64 = 0.05;

/// A curve through a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    /// The rate at the end of time.
    pub(super) end: f64,
    /// Half width of its interval.
    pub(super) half: f64,
    /// How much is left of the way after the last interval, as a rate.
    left: f64,
    /// τ in intervals.
    decay: f64,
    /// The span divided by its error; 0 if it is small, or the series is short.
    sureness: f64,
}

impl Curve {
    /// True if noise whose neighbours are alike does not explain the curve.
    pub(super) fn is_sure(&self) -> bool {
        self.sureness > SURE
    }

    /// Seconds until the rate is within 5 % of the end; 0 if it is.
    pub(super) fn seconds_left(&self, stretch: &Stretch<'_>) -> f64 {
        let over = self.left.abs() / (NEAR * self.end.abs().max(1e-9));
        self.decay * over.ln().max(0.0) * stretch.pace()
    }

    pub(super) fn evidence(&self, stretch: &Stretch<'_>) -> Vec<(&'static str, f64)> {
        vec![
            ("end_iops", self.end),
            ("end_half_width_iops", self.half),
            ("time_constant_s", self.decay * stretch.pace()),
            ("within_5_percent_after_s", self.seconds_left(stretch)),
        ]
    }
}

/// A fit of two linear numbers.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Value where the shape is 0.
    end: f64,
    /// Factor of the shape.
    span: f64,
    /// Sum of the squares that are left.
    left: f64,
    /// Variance of `end`, per variance of a value.
    spread: f64,
    /// Sum of the squares of the shape.
    of_shape: f64,
}

/// Least squares of `end + span·shape`; `None` for a shape without variation.
fn fit(rates: &[f64], shape: &[f64]) -> Option<Fit> {
    let count = float(rates.len() as u64);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (level, middle) = (mean(rates), mean(shape));
    let spread = shape.iter().map(|one| (one - middle).powi(2)).sum::<f64>();
    if spread <= 1e-12 {
        return None;
    }
    let span = shape.iter().zip(rates).map(|(one, rate)| (one - middle) * (rate - level)).sum::<f64>() / spread;
    let end = level - span * middle;
    let left = shape.iter().zip(rates).map(|(one, rate)| (rate - end - span * one).powi(2)).sum();
    Some(Fit { end, span, left, spread: 1.0 / count + middle * middle / spread, of_shape: spread })
}

/// The curve through a series, if it fits better than a line and one step, and τ is shorter than the series.
pub(super) fn of(rates: &[f64]) -> Option<Curve> {
    let count = float(rates.len() as u64);
    let fits = (0..TRIED).filter_map(|step| {
        let decay = (count / 50.0).max(1.0) * 100.0_f64.powf(f64::from(step) / f64::from(TRIED - 1));
        let shape: Vec<f64> = (0..rates.len()).map(|at| (-float(at as u64) / decay).exp()).collect();
        Some((decay, fit(rates, &shape)?))
    });
    let (decay, best) = fits.min_by(|one, other| one.1.left.total_cmp(&other.1.left))?;
    let line: Vec<f64> = (0..rates.len()).map(|at| float(at as u64) / count).collect();
    let by_line = fit(rates, &line)?.left;
    let by_step = (1..rates.len()).filter_map(|cut| {
        let step: Vec<f64> = (0..rates.len()).map(|at| if at < cut { 1.0 } else { 0.0 }).collect();
        Some(fit(rates, &step)?.left)
    });
    let others = by_step.fold(by_line, f64::min);
    let value = |at: usize| best.end + best.span * (-float(at as u64) / decay).exp();
    let rest: Vec<f64> = rates.iter().enumerate().map(|(at, rate)| rate - value(at)).collect();
    let inflation = inflation(&rest);
    let variance = best.left / (count - 2.0 * inflation - 1.0).max(1.0) * inflation;
    let half = 2.0 * (variance * best.spread).sqrt();
    let left = best.span * (-(count - 1.0) / decay).exp();
    let is_large = (best.span - left).abs() > LEAST_SPAN * best.end.abs() && rates.len() >= FEWEST;
    let error = (variance / best.of_shape).sqrt().max(1e-9);
    let sureness = if is_large { best.span.abs() / error } else { 0.0 };
    let curve = Curve { end: best.end, half, left, decay, sureness };
    (best.left <= BEST * others && decay < count && best.end > 0.0).then_some(curve)
}

/// By how much the variance of a mean is larger than that of independent values.
fn inflation(rest: &[f64]) -> f64 {
    let r = neighbour_correlation(rest, BIAS_OF_LINE, MOST_CORRELATION);
    (1.0 + r) / (1.0 - r)
}
