//! Intervals within one run, from what it did in each of its intervals of time.
//!
//! Neighbouring intervals of a run are alike, so the error of a mean is not the deviation divided by √N. The
//! correlation is estimated at several widths and the widest result counts. Such an interval is about this run: the
//! noise between runs is not in it.

use super::{
    ALPHA, BIAS_OF_LINE, BIAS_OF_MEAN, MOST_CORRELATION, float, mean_and_squares, neighbour_correlation, t_quantile,
};

/// Fewest intervals of a run with which their correlation can be estimated, so that there is an interval of their mean.
pub const FEWEST_INTERVALS: usize = 15;
/// Numbers of neighbours that are averaged.
const WIDTHS: [usize; 4] = [1, 2, 4, 8];
/// Largest correlation that is computed with, of the series of a run.
const MOST_OF_A_RUN: f64 = 0.99;

/// Interval of the mean of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesInterval {
    /// The mean.
    pub mean: f64,
    /// Half of the width: the mean of a longer run of the same kind is within mean ± half with 95 %.
    pub half: f64,
    /// Number of independent values that the series is worth.
    pub effective: f64,
}

/// The interval of the mean of a series of equal intervals; `None` with fewer than 15 values, or one not finite.
pub fn series_interval(values: &[f64]) -> Option<SeriesInterval> {
    if values.len() < FEWEST_INTERVALS {
        return None;
    }
    let (mean, _) = mean_and_squares(values)?;
    let mut widest: Option<SeriesInterval> = None;
    for width in WIDTHS.into_iter().filter(|width| values.len() / width >= FEWEST_INTERVALS) {
        let whole = &values[values.len() % width..];
        let means: Vec<f64> = whole.chunks(width).map(|part| part.iter().sum::<f64>() / float(width)).collect();
        let (half, effective) = half_of(&means)?;
        if widest.is_none_or(|widest| half > widest.half) {
            widest = Some(SeriesInterval { mean, half, effective });
        }
    }
    widest
}

/// Half width and effective number of values, for values with the correlation of an AR(1) process.
fn half_of(values: &[f64]) -> Option<(f64, f64)> {
    let count = float(values.len());
    let (mean, squares) = mean_and_squares(values)?;
    if squares == 0.0 {
        return Some((0.0, count));
    }
    let rest: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let r = neighbour_correlation(&rest, BIAS_OF_MEAN, MOST_OF_A_RUN);
    let effective = (count * (1.0 - r) / (1.0 + r)).max(2.0);
    let variance = squares / (count - (1.0 + r) / (1.0 - r)).max(1.0);
    let half = t_quantile(1.0 - ALPHA / 2.0, (effective - 1.0).max(1.0))? * (variance / effective).sqrt();
    half.is_finite().then_some((half, effective))
}

/// Shares of a run's I/Os between which the true percentile is, with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareBounds {
    /// Lower end, as a share of the run's I/Os.
    pub low: f64,
    /// Upper end; `None` if the run cannot bound the percentile above.
    pub high: Option<f64>,
}

/// The interval of the percentile `share` (0.99), as shares of the run's I/Os: the latencies at these shares are its
/// ends. `intervals` has the I/Os of each interval of time, and how many of them were slower than the run's percentile.
///
/// `None` with fewer than 15 intervals, or with a number that is not a count.
pub fn percentile_shares(share: f64, intervals: &[(f64, f64)]) -> Option<ShareBounds> {
    let counts = intervals.iter().all(|&(ios, slower)| ios.is_finite() && slower >= 0.0 && slower <= ios);
    let all: f64 = intervals.iter().map(|(ios, _)| ios).sum();
    let is_share = share > 0.0 && share < 1.0;
    if !counts || !is_share || intervals.len() < FEWEST_INTERVALS || all <= 0.0 {
        return None;
    }
    let mut sorted: Vec<f64> = intervals.iter().map(|(ios, _)| *ios).collect();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let even = intervals.iter().all(|&(ios, _)| ios > 0.0 && ios <= 2.0 * median && median <= 2.0 * ios);
    // Intervals of different weight: the error of a ratio of two sums.
    let mean_share = intervals.iter().map(|(_, slower)| slower).sum::<f64>() / all;
    let mean_ios = all / float(intervals.len());
    let of_interval = |&(ios, slower): &(f64, f64)| {
        if even { slower / ios } else { mean_share + (slower - mean_share * ios) / mean_ios }
    };
    let half = series_interval(&intervals.iter().map(of_interval).collect::<Vec<_>>())?.half;
    let high = share + half;
    Some(ShareBounds { low: (share - half).max(0.0), high: (high < 1.0).then_some(high) })
}

// The trend of the last half: a least-squares line, with an error that knows that neighbouring intervals are alike.
// Settled is a promise about that window only: the line with its error stays within 5 % over it. A window that is short
// next to a slow decay looks flat to a rule without an error; here it cannot tell, or drifts.

const FEWEST_OF_DRIFT: usize = 60;
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

/// The drift of the last half, of 60 values or more. `None` if it is shorter, not finite, or not above 0.
pub fn drift_of_last_half(values: &[f64]) -> Option<Drift> {
    let count = (values.len() / 2).max(FEWEST_OF_DRIFT);
    drift(values.get(values.len().checked_sub(count)?..)?)
}

/// The drift of a whole series, of at least 60 values; `None` as with [`drift_of_last_half`].
pub fn drift(values: &[f64]) -> Option<Drift> {
    let count = float(values.len());
    let (mean, _) = mean_and_squares(values).filter(|(mean, _)| *mean > 0.0 && values.len() >= FEWEST_OF_DRIFT)?;
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

    #[test]
    fn a_constant_series_has_no_width_and_a_short_one_no_interval() {
        let found = series_interval(&[0.1; 40]).unwrap();
        assert_eq!((found.mean, found.half), (0.1, 0.0));
        assert_eq!(series_interval(&[1.0; 14]), None);
        assert_eq!(series_interval(&[f64::NAN; 40]), None);
    }

    #[test]
    fn a_slow_wave_is_worth_fewer_values_than_noise() {
        let noise: Vec<f64> = (0..64).map(|at| f64::from(at * 37 % 64)).collect();
        let wave: Vec<f64> = (0..64).map(f64::from).collect();
        let [noise, wave] = [noise, wave].map(|series| series_interval(&series).unwrap());
        assert!(wave.effective < 4.0 && noise.effective > 4.0 * wave.effective, "{noise:?} {wave:?}");
        assert!(wave.half > 2.0 * noise.half, "{noise:?} {wave:?}");
    }

    #[test]
    fn a_percentile_that_moves_too_much_is_open_above() {
        let calm: Vec<(f64, f64)> = (0..60).map(|at| (1000.0, f64::from(8 + at * 7 % 5))).collect();
        let bounds = percentile_shares(0.99, &calm).unwrap();
        assert!(bounds.low < 0.99 && bounds.high.is_some_and(|high| high > 0.99 && high < 0.995), "{bounds:?}");
        let burst: Vec<(f64, f64)> = (0..60).map(|at| (1000.0, if at < 6 { 100.0 } else { 0.0 })).collect();
        assert_eq!(percentile_shares(0.99, &burst).unwrap().high, None);
        assert_eq!(percentile_shares(0.99, &calm[..14]), None);
        assert_eq!(percentile_shares(0.99, &[(0.0, 0.0); 60]), None);
        assert_eq!(percentile_shares(0.99, &[(1.0, 2.0); 60]), None);
    }

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
