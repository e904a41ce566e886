//! Change points within a run: where the mean of a series jumps to a new level and stays there.
//!
//! Binary segmentation (Scott and Knott 1974) proposes changes, with the noise between neighbours as its measure: it
//! finds all changes, and half of all series with a correlation of 0.5 have one that is none. So each is judged, within
//! the changes next to it, by the long-run deviation of what is left on both sides, which knows that neighbouring
//! intervals of a run are alike. The least sure change goes first, and its neighbours are judged again.

use super::{BIAS_OF_MEAN, MOST_CORRELATION, float, mean_and_squares, neighbour_correlation, t_quantile};

/// Fewest values that can be split.
const FEWEST: usize = 15;
/// Minimum number of values between two change points.
const SHORTEST: usize = 5;
/// Minimum jump as a share of the larger mean, regardless of its significance.
const LEAST_JUMP: f64 = 0.1;
/// Most change points.
const MOST: usize = 12;
/// Error probability, both ends, of a change: it was chosen among many places.
const ERROR: f64 = 0.05 / 60.0;
/// Numbers of neighbours that are averaged to estimate the correlation.
const WIDTHS: [usize; 4] = [1, 2, 4, 8];
/// With fewer values, a change looks like a slow wave if the correlation is above the next number.
const SHORT: usize = 60;
const SLOW: f64 = 0.5;

/// Indices at which a new level begins, ascending. `None` if the series cannot tell: below 15 values, a value that is
/// not finite, or less than 60 values of which neighbours are very alike.
pub fn level_changes(values: &[f64]) -> Option<Vec<usize>> {
    if values.len() < FEWEST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut edges = proposed(values);
    edges.extend([0, values.len()]);
    edges.sort_unstable();
    while edges.len() > 2 {
        let sureness = edges.windows(3).map(|part| sureness(&values[part[0]..part[2]], part[1] - part[0]));
        let sureness: Vec<f64> = sureness.collect::<Option<_>>()?;
        let (least, sure) = sureness.iter().enumerate().min_by(|one, other| one.1.total_cmp(other.1))?;
        if *sure > 1.0 {
            // Where it was proposed, a change had other neighbours; between those left its place may be another.
            for at in 1..edges.len() - 1 {
                edges[at] = edges[at - 1] + best_split(&values[edges[at - 1]..edges[at + 1]]);
            }
            return Some(edges[1..edges.len() - 1].to_vec());
        }
        edges.remove(least + 1);
    }
    // Slow noise proposes many; the best of all places alone may be one.
    let best = best_split(values);
    if sureness(values, best)? > 1.0 {
        return Some(vec![best]);
    }
    let is_short = values.len() < SHORT && long_run(values)?.correlation > SLOW;
    (!is_short).then(Vec::new)
}

/// Where binary segmentation cuts, if neighbours had nothing in common.
fn proposed(values: &[f64]) -> Vec<usize> {
    let mut sum = 0.0;
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(values.iter().map(|value| {
            sum += value;
            sum
        }))
        .collect();
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    // The median difference of neighbours, as a standard deviation; a jump hardly changes it.
    let noise = steps[steps.len() / 2] / (0.6745 * std::f64::consts::SQRT_2);
    // In pure noise, no split gains more than about 2σ² ln n.
    let least = 4.0 * noise * noise * float(values.len()).ln();
    let (mut found, mut open) = (Vec::new(), vec![(0, values.len())]);
    while let Some((from, to)) = open.pop() {
        let gain = |at: usize| {
            let (before, after) = (sums[at] - sums[from], sums[to] - sums[at]);
            let jump = before / float(at - from) - after / float(to - at);
            jump * jump * float(at - from) * float(to - at) / float(to - from)
        };
        let places = from + SHORTEST..(to + 1).saturating_sub(SHORTEST);
        if let Some(at) = places.max_by(|&one, &other| gain(one).total_cmp(&gain(other)))
            && gain(at) > least
            && found.len() < MOST
        {
            found.push(at);
            open.extend([(from, at), (at, to)]);
        }
    }
    found
}

/// The place where the means on both sides differ most.
fn best_split(values: &[f64]) -> usize {
    let all = values.iter().sum::<f64>();
    let (mut sum, mut best, count) = (0.0, (0.0, SHORTEST), float(values.len()));
    for at in 1..=values.len() - SHORTEST {
        sum += values[at - 1];
        let (before, after) = (float(at), count - float(at));
        let gain = (sum / before - (all - sum) / after).abs() * (before * after / count).sqrt();
        if at >= SHORTEST && gain > best.0 {
            best = (gain, at);
        }
    }
    best.1
}

/// How sure a change at an index is: above 1 it is one. `None` if a sum is not finite.
fn sureness(values: &[f64], at: usize) -> Option<f64> {
    let count = values.len();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / float(part.len());
    let (before, after) = (mean(&values[..at]), mean(&values[at..]));
    let level = |index: usize| if index < at { before } else { after };
    let rest: Vec<f64> = values.iter().enumerate().map(|(index, value)| value - level(index)).collect();
    let noise = long_run(&rest)?;
    let jump = (after - before).abs();
    if jump <= LEAST_JUMP * before.abs().max(after.abs()) || (count < SHORT && noise.correlation > SLOW) {
        return Some(0.0);
    }
    let gain = jump * (float(at) * float(count - at) / float(count)).sqrt();
    Some(gain / (t_quantile(1.0 - ERROR, (noise.effective - 2.0).max(1.0))? * noise.deviation))
}

/// Noise of a series as it shows in the means of long parts.
struct LongRun {
    /// Deviation of a mean of n values, times √n.
    deviation: f64,
    /// Number of independent values that the series is worth.
    effective: f64,
    /// Correlation of neighbours.
    correlation: f64,
}

/// The largest estimate over all widths; `None` if a sum is not finite.
fn long_run(rest: &[f64]) -> Option<LongRun> {
    let mut largest = LongRun { deviation: 0.0, effective: float(rest.len()), correlation: 0.0 };
    for width in WIDTHS.into_iter().filter(|&width| width == 1 || rest.len() / width >= FEWEST) {
        let whole = &rest[rest.len() % width..];
        let means: Vec<f64> = whole.chunks(width).map(|part| part.iter().sum::<f64>() / float(width)).collect();
        let (mean, squares) = mean_and_squares(&means)?;
        if squares == 0.0 {
            continue;
        }
        let count = float(means.len());
        let rest: Vec<f64> = means.iter().map(|value| value - mean).collect();
        let r = neighbour_correlation(&rest, BIAS_OF_MEAN, MOST_CORRELATION);
        let inflation = (1.0 + r) / (1.0 - r);
        let deviation = (float(width) * squares / (count - inflation).max(1.0) * inflation).sqrt();
        if width == 1 {
            largest.correlation = r;
        }
        if deviation > largest.deviation {
            largest = LongRun { deviation, effective: (count / inflation).max(3.0), ..largest };
        }
    }
    Some(largest)
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
        assert_eq!(level_changes(&series), Some(vec![40]));
        let constant: Vec<f64> = [9.0; 20].into_iter().chain([5.0; 20]).collect();
        assert_eq!(level_changes(&constant), Some(vec![20]));
    }

    #[test]
    fn there_and_back_are_two_changes() {
        let series: Vec<f64> = level(100.0, 30).chain(level(50.0, 30)).chain(level(100.0, 30)).collect();
        assert_eq!(level_changes(&series), Some(vec![30, 60]));
        let short: Vec<f64> = level(100.0, 15).chain(level(50.0, 15)).chain(level(100.0, 15)).collect();
        assert_eq!(level_changes(&short), Some(vec![15, 30]));
    }

    #[test]
    fn a_staircase_has_all_of_its_steps() {
        let series: Vec<f64> =
            (0..6).flat_map(|step| level(2_000.0 * f64::from(2_u32.pow(step)), 40).collect::<Vec<_>>()).collect();
        assert_eq!(level_changes(&series), Some(vec![40, 80, 120, 160, 200]));
    }

    #[test]
    fn noise_has_no_changes_and_a_short_or_slow_series_cannot_tell() {
        assert_eq!(level_changes(&level(100.0, 200).collect::<Vec<_>>()), Some(Vec::new()));
        assert_eq!(level_changes(&[7.0; 50]), Some(Vec::new()));
        assert_eq!(level_changes(&[1.0; 14]), None);
        assert_eq!(level_changes(&[f64::NAN; 50]), None);
        assert_eq!(level_changes(&[f64::MAX; 50]), None);
        let wave: Vec<f64> = (0..40).map(|at| 100.0 + 30.0 * (f64::from(at) / 4.0).sin()).collect();
        assert_eq!(level_changes(&wave), None);
    }

    #[test]
    fn a_single_outlier_is_not_a_change() {
        let mut series: Vec<f64> = level(100.0, 60).collect();
        series[30] = 20.0;
        assert_eq!(level_changes(&series), Some(Vec::new()));
    }
}
