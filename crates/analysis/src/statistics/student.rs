//! Student's t distribution: its two-sided tail and its quantiles.
//!
//! Source: DLMF 8.17.22 (dlmf.nist.gov), incomplete beta as continued fraction; 5.11.13, ratio of gammas.

use std::f64::consts::PI;

/// Most degrees of freedom that are computed with. More change a quantile by less than 3 parts in a million.
const MOST_FREEDOM: f64 = 1e6;
/// Least argument at which the series of the ratio of gamma functions has all digits.
const LEAST_OF_SERIES: f64 = 40.0;
/// Most terms of the fraction and most steps to a quantile: what is computed here takes a tenth of them.
const MOST_STEPS: u32 = 2000;

/// Quantile; `None` for arguments that it is not defined for.
pub(crate) fn quantile(share: f64, freedom: f64) -> Option<f64> {
    if !(share > 0.0 && share < 1.0 && freedom > 0.0) {
        return None;
    }
    if share < 0.5 {
        return Some(-quantile(1.0 - share, freedom)?);
    }
    let distribution = Distribution::new(freedom);
    let wanted = 2.0 * (1.0 - share);
    // The tail is convex, so that Newton's steps from 0 come nearer from one side.
    let mut t = 0.0;
    for _ in 0..MOST_STEPS {
        let step = (distribution.two_sided(t) - wanted) / (2.0 * distribution.density(t));
        if step <= f64::EPSILON * t {
            break;
        }
        t += step;
    }
    Some(t).filter(|t| t.is_finite())
}

/// Probability that |t| is at least this large; `None` for arguments that it is not defined for.
pub(super) fn two_sided(t: f64, freedom: f64) -> Option<f64> {
    let is_defined = !t.is_nan() && freedom > 0.0;
    is_defined.then(|| Distribution::new(freedom).two_sided(t.abs()).clamp(0.0, 1.0))
}

struct Distribution {
    freedom: f64,
    /// 1 / B(freedom / 2, 1 / 2), of the beta function.
    scale: f64,
}

impl Distribution {
    fn new(freedom: f64) -> Self {
        let freedom = freedom.min(MOST_FREEDOM);
        Distribution { freedom, scale: gamma_ratio(freedom / 2.0) / PI.sqrt() }
    }

    fn density(&self, t: f64) -> f64 {
        let power = (self.freedom + 1.0) / 2.0;
        self.scale / self.freedom.sqrt() * (-power * (t * t / self.freedom).ln_1p()).exp()
    }

    /// The incomplete beta function I of x = freedom / (freedom + t²), with parameters freedom / 2 and 1 / 2.
    fn two_sided(&self, t: f64) -> f64 {
        let (a, b) = (self.freedom / 2.0, 0.5);
        let squared = t * t / self.freedom;
        let (x, rest) = (1.0 / (1.0 + squared), squared / (1.0 + squared));
        if squared.is_infinite() || rest == 0.0 {
            return if rest == 0.0 { 1.0 } else { 0.0 };
        }
        let front = self.scale * rest.sqrt() * (-a * squared.ln_1p()).exp();
        if x < (a + 1.0) / (a + b + 2.0) {
            front / a * fraction(a, b, x)
        } else {
            1.0 - front / b * fraction(b, a, rest)
        }
    }
}

/// The continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2), by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let (mut value, mut above, mut below) = (1.0, 1.0, 0.0);
    for n in 1..=MOST_STEPS {
        let m = f64::from(n / 2);
        let (even, odd) = (m * (b - m) / (a + 2.0 * m - 1.0), -(a + m) * (a + b + m) / (a + 2.0 * m + 1.0));
        let term = if n % 2 == 0 { even } else { odd } * x / (a + 2.0 * m);
        below = 1.0 / (1.0 + term * below);
        above = 1.0 + term / above;
        value *= above * below;
        if (above * below - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    1.0 / value
}

/// Γ(a + 1/2) / Γ(a).
fn gamma_ratio(mut a: f64) -> f64 {
    let mut factor = 1.0;
    while a < LEAST_OF_SERIES {
        factor *= a / (a + 0.5);
        a += 1.0;
    }
    let series = [1.0, -1.0 / 8.0, 1.0 / 128.0, 5.0 / 1024.0, -21.0 / 32_768.0, -399.0 / 262_144.0];
    factor * a.sqrt() * series.iter().rev().fold(0.0, |sum, part| sum / a + part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computed in 40 digits by mpmath: t, degrees of freedom, probability.
    const TAILS: &[(f64, f64, f64)] = &[
        (0.0, 3.0, 1.0),
        (0.1, 1.0, 0.936548965138893),
        (12.706, 1.0, 0.0500008023581332),
        (1.0, 0.5, 0.602243221682644),
        (4.3, 2.0, 0.0500571541170916),
        (-0.5, 7.25, 0.631892370465432),
        (8.0, 7.25, 7.53926415056613e-5),
        (2.0, 30.0, 0.0546250449629831),
        (6.0, 30.0, 1.39427687672047e-6),
        (1.2, 250.5, 0.231273004683192),
        (1.96, 10_000.0, 0.050023520231833),
        (10.0, 10_000.0, 1.96328074286638e-23),
        (0.01, 1e6, 0.992021289365548),
        (5.0, 1e6, 5.73399787089074e-7),
        (5.0, f64::INFINITY, 5.73399787089074e-7),
    ];

    /// The same: share, degrees of freedom, quantile.
    const QUANTILES: &[(f64, f64, f64)] = &[
        (0.5, 3.0, 0.0),
        (0.75, 0.5, 1.55377397403004),
        (0.975, 1.0, 12.7062047361747),
        (0.025, 1.0, -12.7062047361747),
        (0.995, 1.5, 17.8203105144628),
        (0.975, 2.0, 4.30265272974946),
        (0.9, 7.25, 1.4098848953259),
        (0.9995, 7.25, 5.3029920138006),
        (0.975, 30.0, 2.04227245630124),
        (0.999999, 30.0, 5.87111712041888),
        (0.55, 250.5, 0.125788805279687),
        (0.975, 10_000.0, 1.96020123989063),
        (0.975, 1e6, 1.95996635681411),
    ];

    #[test]
    fn tails_and_quantiles_have_ten_digits() {
        let near = |found: f64, expected: f64| (found - expected).abs() <= 2e-10 * expected.abs();
        for &(t, freedom, expected) in TAILS {
            let found = two_sided(t, freedom).unwrap();
            assert!(near(found, expected), "two_sided({t}, {freedom}) is {found}, not {expected}");
        }
        for &(share, freedom, expected) in QUANTILES {
            let found = quantile(share, freedom).unwrap();
            assert!(near(found, expected), "quantile({share}, {freedom}) is {found}, not {expected}");
        }
    }

    #[test]
    fn arguments_that_it_is_not_defined_for_have_no_value() {
        for (share, freedom) in [(0.0, 1.0), (1.0, 1.0), (f64::NAN, 1.0), (0.5, 0.0), (0.5, -1.0), (0.5, f64::NAN)] {
            assert_eq!(quantile(share, freedom), None);
        }
        assert_eq!((two_sided(f64::NAN, 1.0), two_sided(1.0, 0.0), two_sided(1.0, f64::NAN)), (None, None, None));
        assert_eq!(two_sided(f64::INFINITY, 3.0), Some(0.0));
    }

    proptest! {
        #[test]
        fn the_tail_beyond_a_quantile_is_what_is_left(left in 1e-6..0.5_f64, freedom in 0.5..1e7_f64) {
            let found = quantile(1.0 - left, freedom).unwrap();
            let tail = two_sided(found, freedom).unwrap();
            prop_assert!((tail - 2.0 * left).abs() <= 1e-9 * left, "{tail} of {found}");
        }
    }
}
