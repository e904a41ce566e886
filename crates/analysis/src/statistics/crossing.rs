//! M10: the rate at which a share of I/Os is reached, from trials at known rates.
//!
//! Quasi-binomial logistic regression of the counts on the logarithm of the rate, and Fieller's interval of the rate at
//! which the line crosses the share. Counts, not logits of shares: I/Os that are late come in bursts, so that few
//! trials carry most of them, and a line through logits finds a rate that is 3 to 6 % too high.

use super::{ALPHA, float, t_quantile};

/// Fewest trials: two fix the line, the third one shows the scatter.
const FEWEST: usize = 3;
const MOST_STEPS: usize = 60;
const MOST_HALVINGS: i32 = 40;
/// Relative error of a sum of logarithms, within which two likelihoods are equal.
const ROUNDED: f64 = 1e-12;
/// The iteration has converged below this change; the next one would be its square.
const CONVERGED: f64 = 1e-9;
/// Slope that the iteration begins with.
const FIRST_SLOPE: f64 = 10.0;
/// Largest g = T²·V_bb ÷ b² with which the slope is known well enough.
const MOST_UNCERTAIN: f64 = 0.5;

/// I/Os at one rate, and how many of them were beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateTrial {
    /// Rate, in any unit.
    pub rate: f64,
    /// Number of I/Os.
    pub ios: f64,
    /// Those of them that were beyond the limit.
    pub over: f64,
}

/// The rate at which the share of I/Os beyond a limit reaches a given one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The rate.
    pub rate: f64,
    /// Lower end of its interval, 95 %.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Change of the logit of the share per change of the logarithm of the rate.
    pub slope: f64,
    /// How much more the trials scatter than independent I/Os would; at least 1.
    pub dispersion: f64,
}

impl Crossing {
    /// Half of the width of the interval as a share of the rate.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.rate)
    }

    /// How many times as many I/Os are beyond the limit at `times` this rate, where `share` of them are at this rate.
    pub fn growth(&self, times: f64, share: f64) -> f64 {
        let logit = (share / (1.0 - share)).ln() + self.slope * times.ln();
        1.0 / (1.0 + (-logit).exp()) / share
    }
}

/// The rate at which this share of I/Os is beyond the limit; `None` if fewer than three trials or no slope tell it.
///
/// Source: McCullagh and Nelder, Generalized Linear Models (1989), 4.5; Fieller (1954).
pub fn crossing(trials: &[RateTrial], share: f64) -> Option<Crossing> {
    let usable = |trial: &RateTrial| {
        let counts = trial.ios.is_finite() && trial.ios > 0.0 && trial.over >= 0.0 && trial.over <= trial.ios;
        counts && trial.rate.is_finite() && trial.rate > 0.0
    };
    if trials.len() < FEWEST || !trials.iter().all(usable) || !(share > 0.0 && share < 1.0) {
        return None;
    }
    let centre = trials.iter().map(|trial| trial.rate.ln()).sum::<f64>() / float(trials.len());
    let points: Vec<Point> = trials.iter().map(|trial| Point::new(trial, centre)).collect();
    let line = Line::fitted(&points)?;
    let dispersion = line.dispersion(&points);
    let covariance = line.information(&points).inverse()?;
    let quantile = t_quantile(1.0 - ALPHA / 2.0, float(trials.len() - 2))?;
    let (at, low, high) = line.solved((share / (1.0 - share)).ln(), &covariance, quantile * quantile * dispersion)?;
    let of = |logarithm: f64| (logarithm + centre).exp();
    let found = Crossing { rate: of(at), low: of(low), high: of(high), slope: line.slope, dispersion };
    [found.rate, found.low, found.high].iter().all(|rate| rate.is_finite() && *rate > 0.0).then_some(found)
}

/// A trial as the regression sees it.
struct Point {
    /// Logarithm of the rate, less that of the centre.
    place: f64,
    ios: f64,
    over: f64,
}

impl Point {
    fn new(trial: &RateTrial, centre: f64) -> Self {
        Point { place: trial.rate.ln() - centre, ios: trial.ios, over: trial.over }
    }
}

/// A symmetric 2×2 matrix.
struct Matrix {
    first: f64,
    mixed: f64,
    second: f64,
}

impl Matrix {
    fn inverse(&self) -> Option<Matrix> {
        let determinant = self.first * self.second - self.mixed * self.mixed;
        let found = Matrix {
            first: self.second / determinant,
            mixed: -self.mixed / determinant,
            second: self.first / determinant,
        };
        let is_finite = [found.first, found.mixed, found.second].iter().all(|value| value.is_finite());
        (determinant > 0.0 && is_finite).then_some(found)
    }
}

/// logit(share) = height + slope · place.
struct Line {
    height: f64,
    slope: f64,
}

impl Line {
    /// The line of greatest likelihood, by Newton's method; a step that makes it less likely is halved.
    fn fitted(points: &[Point]) -> Option<Line> {
        let (ios, over) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.ios, sum.1 + point.over));
        let mut line = Line { height: ((over + 0.5) / (ios - over + 0.5)).ln(), slope: FIRST_SLOPE };
        for _ in 0..MOST_STEPS {
            let inverse = line.information(points).inverse()?;
            let (mut up, mut turn) = (0.0, 0.0);
            for point in points {
                let residual = point.over - point.ios * line.share(point);
                up += residual;
                turn += residual * point.place;
            }
            let height = inverse.first * up + inverse.mixed * turn;
            let slope = inverse.mixed * up + inverse.second * turn;
            line = line.stepped(height, slope, points)?;
            if height.abs().max(slope.abs()) < CONVERGED {
                return Some(line);
            }
        }
        None
    }

    /// The line after a step, or the largest half, quarter and so on of it that is not less likely.
    fn stepped(&self, height: f64, slope: f64, points: &[Point]) -> Option<Line> {
        let now = self.likelihood(points);
        let part = |part: f64| Line { height: self.height + part * height, slope: self.slope + part * slope };
        let parts = (0..MOST_HALVINGS).map(|halvings| part(0.5_f64.powi(halvings)));
        let is_as_likely = |line: &Line| line.likelihood(points) >= now - ROUNDED * now.abs();
        parts.into_iter().find(is_as_likely)
    }

    /// Logarithm of the likelihood, but for a constant.
    fn likelihood(&self, points: &[Point]) -> f64 {
        let of = |point: &Point| {
            let logit = self.height + self.slope * point.place;
            // ln(1 + e^x) without an overflow.
            point.over * logit - point.ios * (logit.max(0.0) + (-logit.abs()).exp().ln_1p())
        };
        points.iter().map(of).sum()
    }

    fn share(&self, point: &Point) -> f64 {
        1.0 / (1.0 + (-(self.height + self.slope * point.place)).exp())
    }

    /// Weight of a point: the variance of its count.
    fn weight(&self, point: &Point) -> f64 {
        let share = self.share(point);
        point.ios * share * (1.0 - share)
    }

    fn information(&self, points: &[Point]) -> Matrix {
        points.iter().fold(Matrix { first: 0.0, mixed: 0.0, second: 0.0 }, |sum, point| {
            let weight = self.weight(point);
            Matrix {
                first: sum.first + weight,
                mixed: sum.mixed + weight * point.place,
                second: sum.second + weight * point.place * point.place,
            }
        })
    }

    /// Pearson's χ² per degree of freedom, at least 1.
    fn dispersion(&self, points: &[Point]) -> f64 {
        let squared = |point: &Point| (point.over - point.ios * self.share(point)).powi(2) / self.weight(point);
        (points.iter().map(squared).sum::<f64>() / float(points.len() - 2)).max(1.0)
    }

    /// The place at which the line has this height, and the ends of its interval: `spread` is T²·φ.
    fn solved(&self, wanted: f64, covariance: &Matrix, spread: f64) -> Option<(f64, f64, f64)> {
        let rise = wanted - self.height;
        let squared = self.slope * self.slope;
        let is_known = self.slope > 0.0 && spread * covariance.second / squared < MOST_UNCERTAIN;
        let a = squared - spread * covariance.second;
        let b = -2.0 * (self.slope * rise + spread * covariance.mixed);
        let c = rise * rise - spread * covariance.first;
        let root = (b * b - 4.0 * a * c).sqrt();
        let found = (rise / self.slope, (-b - root) / (2.0 * a), (-b + root) / (2.0 * a));
        (is_known && root.is_finite()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trials(counts: &[(f64, f64, f64)]) -> Vec<RateTrial> {
        counts.iter().map(|&(rate, ios, over)| RateTrial { rate, ios, over }).collect()
    }

    /// Trials whose shares lie on a line: 1 % at 1,000, with this slope.
    fn exact(slope: f64) -> Vec<RateTrial> {
        let share = |rate: f64| {
            let logit = (0.01_f64 / 0.99).ln() + slope * (rate / 1000.0).ln();
            1.0 / (1.0 + (-logit).exp())
        };
        let rates = [950.0, 970.0, 990.0, 1010.0, 1030.0, 1050.0];
        rates.iter().map(|&rate| RateTrial { rate, ios: 1e6, over: 1e6 * share(rate) }).collect()
    }

    #[test]
    fn a_line_is_found_and_its_interval_is_that_of_its_ios() {
        let found = crossing(&exact(20.0), 0.01).unwrap();
        assert!((found.rate - 1000.0).abs() < 1e-6 && (found.slope - 20.0).abs() < 1e-6, "{found:?}");
        assert!(found.low < 1000.0 && 1000.0 < found.high && found.width() < 0.001, "{found:?}");
        assert!((found.dispersion - 1.0).abs() < 1e-9);
        // A twentieth more: the logit rises by 20·ln 1.05.
        // 20·ln 1.05 = 0.9758: the odds 1/99 become 0.026801, the share 0.026101.
        let (times, expected) = (found.growth(1.05, 0.01), 2.610_144);
        assert!((times - expected).abs() < 1e-5, "{times}");
    }

    #[test]
    fn a_steep_line_is_found() {
        for slope in [2.0, 90.0, 400.0] {
            let found = crossing(&exact(slope), 0.01).unwrap();
            assert!((found.slope / slope - 1.0).abs() < 1e-6 && (found.rate - 1000.0).abs() < 1e-3, "{found:?}");
        }
    }

    #[test]
    fn trials_that_scatter_make_it_wider() {
        let scattered = |factor: f64| {
            let mut trials = exact(20.0);
            for (at, trial) in trials.iter_mut().enumerate() {
                trial.over *= if at % 2 == 0 { factor } else { 1.0 / factor };
            }
            crossing(&trials, 0.01).unwrap()
        };
        let (calm, wild) = (scattered(1.01), scattered(1.2));
        assert!(calm.dispersion < wild.dispersion && calm.width() < wild.width(), "{calm:?} {wild:?}");
        assert!(wild.dispersion > 100.0);
    }

    #[test]
    fn without_a_slope_there_is_no_answer() {
        for counts in [
            &[(900.0, 1000.0, 10.0), (1000.0, 1000.0, 10.0), (1100.0, 1000.0, 10.0)][..],
            &[(900.0, 1000.0, 30.0), (1000.0, 1000.0, 20.0), (1100.0, 1000.0, 10.0)],
            &[(900.0, 1000.0, 0.0), (1000.0, 1000.0, 0.0), (1100.0, 1000.0, 0.0)],
            &[(900.0, 1000.0, 1000.0), (1000.0, 1000.0, 1000.0), (1100.0, 1000.0, 1000.0)],
            // No place between none and all fixes the slope.
            &[(900.0, 1000.0, 0.0), (1000.0, 1000.0, 1000.0), (1100.0, 1000.0, 1000.0)],
            &[(1000.0, 1000.0, 10.0), (1000.0, 1000.0, 12.0), (1000.0, 1000.0, 8.0)],
            &[(900.0, 1000.0, 5.0), (1100.0, 1000.0, 20.0)],
            &[(0.0, 1000.0, 5.0), (1000.0, 1000.0, 10.0), (1100.0, 1000.0, 20.0)],
            &[(900.0, 0.0, 0.0), (1000.0, 1000.0, 10.0), (1100.0, 1000.0, 20.0)],
            &[(900.0, 10.0, 11.0), (1000.0, 1000.0, 10.0), (1100.0, 1000.0, 20.0)],
        ] {
            assert_eq!(crossing(&trials(counts), 0.01), None, "{counts:?}");
        }
        assert_eq!(crossing(&exact(20.0), 0.0), None);
        assert_eq!(crossing(&exact(20.0), 1.0), None);
    }

    proptest! {
        #[test]
        fn any_numbers_give_a_rate_within_its_interval_or_none(
            counts in proptest::collection::vec((any::<f64>(), any::<f64>(), any::<f64>()), 0..8),
            share in any::<f64>(),
        ) {
            prop_assert!(crossing(&trials(&counts), share).is_none_or(|found| found.low <= found.rate && found.rate <= found.high));
        }

        #[test]
        fn counts_give_a_rate_within_its_interval_or_none(
            counts in proptest::collection::vec((500.0..2000.0_f64, 1_u32..100_000, 0.0..0.2_f64), 3..30),
            share in 0.001..0.2_f64,
        ) {
            let trials: Vec<RateTrial> = counts.iter().map(|&(rate, ios, over)| {
                let ios = f64::from(ios);
                RateTrial { rate, ios, over: (ios * over).floor() }
            }).collect();
            let Some(found) = crossing(&trials, share) else { return Ok(()) };
            prop_assert!(found.low <= found.rate && found.rate <= found.high && found.slope > 0.0 && found.dispersion >= 1.0, "{found:?}");
        }
    }
}
