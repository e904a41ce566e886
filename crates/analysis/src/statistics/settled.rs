//! Settled, drifting, or cannot tell: the trend of the last part of a run.
//!
//! A least-squares line through the last half, with an error that knows that neighbouring intervals are alike. Settled is a
//! promise about that window only: the line with its error stays within 5 % over it. A window that is short next to a slow
//! decay looks flat to a rule without an error; here it cannot tell, or drifts.

use super::{ALPHA, BIAS_OF_LINE, MOST_CORRELATION, float, mean_and_squares, neighbour_correlation, t_quantile};

/// Fewest values of a window.
const FEWEST: usize = 60;
/// Most drift over the window, as a share of the mean, of a series that is settled.
const MOST_DRIFT: f64 = 0.05;

/// Answer about a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// It drifts by less than 5 % over the window, its error included.
    Settled,
    /// It drifts by more than 5 % over the window, and the error does not explain it.
    Drifting,
    /// Either may be so.
    CannotTell,
}

/// The drift of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Drift over the window as a share of its mean; below 0 if it falls.
    pub share: f64,
    /// Half width of its interval, 95 %.
    pub half: f64,
}

impl Drift {
    /// Answer about the window.
    pub fn trend(&self) -> Trend {
        if self.share.abs() + self.half <= MOST_DRIFT {
            Trend::Settled
        } else if self.share.abs() > self.half && self.share.abs() > MOST_DRIFT {
            Trend::Drifting
        } else {
            Trend::CannotTell
        }
    }
}

/// The drift of the last half of a series, of at least 60 values. `None` for shorter series, values that are not finite,
/// and a mean that is not above 0.
pub fn drift_of_last_half(values: &[f64]) -> Option<Drift> {
    let count = (values.len() / 2).max(FEWEST);
    drift(values.get(values.len().checked_sub(count)?..)?)
}

/// The drift of a whole series, of at least 60 values; `None` as with [`drift_of_last_half`].
pub fn drift(values: &[f64]) -> Option<Drift> {
    let count = float(values.len());
    let (mean, _) = mean_and_squares(values).filter(|(mean, _)| *mean > 0.0 && values.len() >= FEWEST)?;
    let middle = (count - 1.0) / 2.0;
    let spread = count * (count * count - 1.0) / 12.0;
    let place = |at: usize| float(at) - middle;
    let slope = values.iter().enumerate().map(|(at, value)| place(at) * (value - mean)).sum::<f64>() / spread;
    let rest: Vec<f64> = values.iter().enumerate().map(|(at, value)| value - mean - slope * place(at)).collect();
    let squares = rest.iter().map(|rest| rest * rest).sum::<f64>();
    let r = neighbour_correlation(&rest, BIAS_OF_LINE, MOST_CORRELATION);
    let inflation = (1.0 + r) / (1.0 - r);
    let error = (squares / (count - 2.0 * inflation).max(1.0) * inflation / spread).sqrt();
    let half = t_quantile(1.0 - ALPHA / 2.0, (count / inflation - 2.0).max(1.0))? * error;
    let over_window = count / mean;
    let found = Drift { share: slope * over_window, half: half * over_window };
    (found.share.is_finite() && found.half.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ramp by this share over the series, with deterministic noise of ±1 %.
    fn ramp(count: usize, share: f64) -> Vec<f64> {
        let noise = |at: usize| 1.0 + 0.01 * ((at * 7919 % 13) as f64 / 6.0 - 1.0);
        (0..count).map(|at| 500.0 * noise(at) * (1.0 + share * (at as f64 / count as f64 - 0.5))).collect()
    }

    #[test]
    fn a_level_is_settled_and_a_ramp_drifts_by_what_it_does() {
        let level = drift_of_last_half(&ramp(200, 0.0)).unwrap();
        assert_eq!(level.trend(), Trend::Settled, "{level:?}");
        let fall = drift_of_last_half(&ramp(200, -0.4)).unwrap();
        // The last half falls by 0.2 of the whole mean, and has 0.9 of it.
        assert!((fall.share + 0.2 / 0.9).abs() < 0.01, "{fall:?}");
        assert_eq!(fall.trend(), Trend::Drifting);
        assert_eq!(drift(&[7.0; 60]), Some(Drift { share: 0.0, half: 0.0 }));
    }

    #[test]
    fn a_short_series_cannot_be_settled() {
        assert_eq!(drift_of_last_half(&ramp(59, 0.0)), None);
        assert!(drift_of_last_half(&ramp(60, 0.0)).is_some());
        assert_eq!(drift(&ramp(59, 0.0)), None);
        assert_eq!(drift(&[0.0; 90]), None);
        assert_eq!(drift(&[f64::NAN; 90]), None);
        assert_eq!(drift(&[f64::MAX, 1.0].repeat(45)), None);
    }

    #[test]
    fn the_window_is_the_last_half() {
        let mut series = ramp(100, 3.0);
        series.extend([100.0; 100]);
        assert_eq!(drift_of_last_half(&series).map(|found| found.trend()), Some(Trend::Settled));
        assert_ne!(drift(&series).map(|found| found.trend()), Some(Trend::Settled));
    }
}
