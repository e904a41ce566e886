//! M9: changes in the history of a series, and a newest run that is unlike those before it.
//!
//! The values are logarithms of one number of each run, in the order of time. A change is where the largest t of all
//! ways to divide the history in two is larger than chance makes it; its critical values were simulated.

use super::student::quantile;

/// Fewest values of which something can be said.
pub const FEWEST: usize = 8;
/// Most values that are looked at, the newest ones: the critical values are known up to here.
pub const MOST: usize = 400;
/// Fewest values on a side of a change.
const SIDE: usize = 3;
/// Smallest change that counts, as a ratio: 3 %.
const SMALLEST: f64 = 0.03;
/// Most values before the newest one that it is compared with.
const BEFORE: usize = 30;

/// Probability of a change in a history without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// 1 %.
    OneInHundred,
    /// 0.2 %, the default.
    OneInFiveHundred,
}

/// Critical values of the largest |t|: number of values, at 1 %, at 0.2 %; 10^5 simulated histories each.
const CRITICAL: [(f64, f64, f64); 10] = [
    (8.0, 4.65, 6.58),
    (10.0, 4.39, 5.72),
    (12.0, 4.26, 5.40),
    (15.0, 4.09, 4.97),
    (20.0, 3.95, 4.72),
    (30.0, 3.80, 4.43),
    (50.0, 3.72, 4.30),
    (100.0, 3.68, 4.17),
    (200.0, 3.68, 4.20),
    (400.0, 3.72, 4.19),
];

/// A place that divides a history in two.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Division {
    /// Number of values before it.
    pub at: usize,
    /// |t| of the two parts, with their common variance; infinite if no value of a part differs from the others.
    pub t: f64,
}

/// A change, with the 95 % interval of its size; all as logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryChange {
    /// Position of the first value after it.
    pub at: usize,
    /// Mean of the values before it, back to the change before.
    pub before: f64,
    /// Mean of the values after it, up to the next change.
    pub after: f64,
    /// Lower bound of `after - before`.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// The newest value, compared with those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Newest {
    /// Fewer than eight values.
    TooFew,
    /// As expected.
    Usual,
    /// Outside of what 99 % of further runs would show; the mean before, and how many values that is the mean of.
    Unusual {
        /// Mean of the values before, as a logarithm.
        before: f64,
        /// Number of values before.
        runs: usize,
    },
    /// Unusual on the same side as the value before it.
    Changed {
        /// Mean of the values before both, as a logarithm.
        before: f64,
        /// Number of values before.
        runs: usize,
    },
}

/// The critical value for `count` values, between the simulated ones; `None` below 8, beyond 400 that of 400.
fn critical(count: usize, chance: Chance) -> Option<f64> {
    let of_row = |row: &(f64, f64, f64)| if chance == Chance::OneInHundred { row.1 } else { row.2 };
    let count = measure::float(count as u64);
    let above = CRITICAL.iter().position(|row| row.0 >= count);
    match above {
        Some(0) => (CRITICAL[0].0 <= count).then(|| of_row(&CRITICAL[0])),
        Some(at) => {
            let (low, high) = (&CRITICAL[at - 1], &CRITICAL[at]);
            let part = (count.ln() - low.0.ln()) / (high.0.ln() - low.0.ln());
            Some(of_row(low) + part * (of_row(high) - of_row(low)))
        }
        None => CRITICAL.last().map(of_row),
    }
}

/// The division with the largest |t|; `None` for fewer than eight values, and if one is not finite.
fn largest_division(values: &[f64]) -> Option<Division> {
    if values.len() < FEWEST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let count = float(values.len());
    let centre = mean(values);
    let total: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let mut sum = 0.0;
    let mut best: Option<Division> = None;
    for (index, value) in values.iter().enumerate().take(values.len() - SIDE) {
        sum += value - centre;
        let at = index + 1;
        if at < SIDE {
            continue;
        }
        let (left, right) = (float(at), count - float(at));
        // The part of the squares that the difference of the two means explains; the rest is their common variance.
        let between = sum * sum * count / (left * right);
        let within = (total - between).max(0.0) / (count - 2.0);
        let t = if between <= total * f64::EPSILON { 0.0 } else { (between / within).sqrt() };
        if best.is_none_or(|best| t > best.t) {
            best = Some(Division { at, t });
        }
    }
    best
}

/// The changes in the newest [`MOST`] values, ascending; `None` if there are too few or one is not finite.
pub fn history_changes(values: &[f64], chance: Chance) -> Option<Vec<HistoryChange>> {
    let skipped = values.len().saturating_sub(MOST);
    let newest = &values[skipped..];
    largest_division(newest)?;
    let mut found = Vec::new();
    let mut open = vec![(0, newest.len())];
    while let Some((from, until)) = open.pop() {
        let part = &newest[from..until];
        let (Some(division), Some(critical)) = (largest_division(part), critical(part.len(), chance)) else { continue };
        let jump = mean(&part[division.at..]) - mean(&part[..division.at]);
        if division.t > critical && jump.abs() >= SMALLEST.ln_1p() {
            let at = from + division.at;
            found.push(at);
            open.extend([(from, at), (at, until)]);
        }
    }
    found.sort_unstable();
    let starts = std::iter::once(0).chain(found.iter().copied());
    let ends = found.iter().copied().skip(1).chain([newest.len()]);
    let parts = starts.zip(found.iter().copied()).zip(ends);
    Some(parts.map(|((start, at), end)| change(newest, [start, at, end], skipped)).collect())
}

/// The change between the values of `[start, at)` and of `[at, end)`.
fn change(values: &[f64], [start, at, end]: [usize; 3], skipped: usize) -> HistoryChange {
    let (left, right) = (&values[start..at], &values[at..end]);
    let (before, after) = (mean(left), mean(right));
    let freedom = float(left.len() + right.len()) - 2.0;
    let variance = (squares(left, before) + squares(right, after)) / freedom;
    let error = (variance * (1.0 / float(left.len()) + 1.0 / float(right.len()))).sqrt();
    let half = quantile(0.975, freedom).unwrap_or(f64::INFINITY) * error;
    HistoryChange { at: skipped + at, before, after, low: after - before - half, high: after - before + half }
}

/// Compares the newest value with up to 30 before it, without the last of these if it is unusual on the same side.
pub fn newest(values: &[f64]) -> Newest {
    let Some((last, before)) = values.split_last() else { return Newest::TooFew };
    if values.len() < FEWEST || values.iter().any(|value| !value.is_finite()) {
        return Newest::TooFew;
    }
    if let Some((previous, earlier)) = before.split_last()
        && let Some((side, mean, runs)) = outside(*previous, earlier)
        && outside(*last, earlier).is_some_and(|(other, _, _)| other == side)
    {
        return Newest::Changed { before: mean, runs };
    }
    match outside(*last, before) {
        Some((_, mean, runs)) => Newest::Unusual { before: mean, runs },
        None => Newest::Usual,
    }
}

/// The side on which a value is outside of the 99 % prediction interval of the values before it, with their mean and
/// number; `None` if it is inside, or if there are fewer than seven of them.
fn outside(value: f64, before: &[f64]) -> Option<(bool, f64, usize)> {
    let before = &before[before.len().saturating_sub(BEFORE)..];
    if before.len() < FEWEST - 1 {
        return None;
    }
    let (centre, count) = (mean(before), float(before.len()));
    let deviation = (squares(before, centre) / (count - 1.0)).sqrt();
    let half = quantile(0.995, count - 1.0)? * deviation * (1.0 + 1.0 / count).sqrt();
    ((value - centre).abs() > half).then_some((value > centre, centre, before.len()))
}

fn squares(values: &[f64], centre: f64) -> f64 {
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len())
}

fn float(count: usize) -> f64 {
    measure::float(count as u64)
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
