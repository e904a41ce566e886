//! Change points of a series: where its mean jumps to a new level and stays there.
//!
//! Source: binary segmentation (Scott and Knott 1974). The noise is estimated from successive differences, which are
//! hardly affected by a jump of the mean.

/// Minimum number of values between two change points.
const SHORTEST: usize = 5;
/// Minimum jump relative to the mean, regardless of its significance.
const LEAST_JUMP: f64 = 0.1;
/// Most change points.
const MOST: usize = 12;

/// Indices at which a new level begins, ascending; empty for a series without change points.
pub fn changes(values: &[f64]) -> Vec<usize> {
    if values.len() < 2 * SHORTEST || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut sums = vec![0.0];
    values.iter().for_each(|value| sums.push(sums[sums.len() - 1] + value));
    let noise = noise(values);
    // A penalty as in the Bayesian information criterion: in pure noise, no split gains more than about 2σ² ln n.
    let least_gain = 4.0 * noise * noise * (values.len() as f64).ln();
    let mut found = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((from, to)) = open.pop() {
        if found.len() == MOST {
            break;
        }
        let Some(at) = split(&sums, from, to, least_gain) else { continue };
        found.push(at);
        open.extend([(from, at), (at, to)]);
    }
    found.sort_unstable();
    found
}

/// Index at which a split into two means explains the most variance; `None` if it explains too little.
fn split(sums: &[f64], from: usize, to: usize, least_gain: f64) -> Option<usize> {
    let mean = |from: usize, to: usize| (sums[to] - sums[from]) / (to - from) as f64;
    let gain = |at: usize| {
        let jump = mean(at, to) - mean(from, at);
        // The decrease of the sum of squared deviations if the range is split at `at`.
        jump * jump * (at - from) as f64 * (to - at) as f64 / (to - from) as f64
    };
    let best = (from + SHORTEST..(to + 1).saturating_sub(SHORTEST)).max_by(|&a, &b| gain(a).total_cmp(&gain(b)))?;
    let (before, after) = (mean(from, best), mean(best, to));
    let large = (after - before).abs() > LEAST_JUMP * before.abs().max(after.abs());
    (large && gain(best) > least_gain).then_some(best)
}

/// Standard deviation of the noise: median of |successive difference| ÷ (0.6745 × √2).
fn noise(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    steps[steps.len() / 2] / (0.6745 * std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A constant with deterministic noise of ±2 %.
    fn level(value: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |index| value * (1.0 + 0.02 * ((index * 7919 % 13) as f64 / 6.0 - 1.0)))
    }

    #[test]
    fn the_end_of_a_write_cache_is_found() {
        let series: Vec<f64> = level(90_000.0, 40).chain(level(12_000.0, 80)).collect();
        assert_eq!(changes(&series), [40]);
    }

    #[test]
    fn there_and_back_are_two_changes() {
        let series: Vec<f64> = level(100.0, 30).chain(level(50.0, 30)).chain(level(100.0, 30)).collect();
        assert_eq!(changes(&series), [30, 60]);
    }

    #[test]
    fn noise_and_short_series_have_no_regimes() {
        assert_eq!(changes(&level(100.0, 200).collect::<Vec<_>>()), Vec::<usize>::new());
        assert_eq!(changes(&[7.0; 50]), Vec::<usize>::new());
        assert_eq!(changes(&[1.0, 9.0]), Vec::<usize>::new());
        assert_eq!(changes(&[f64::NAN; 50]), Vec::<usize>::new());
    }

    #[test]
    fn a_single_outlier_is_no_regime() {
        let mut series: Vec<f64> = level(100.0, 60).collect();
        series[30] = 20.0;
        assert_eq!(changes(&series), Vec::<usize>::new());
    }
}
