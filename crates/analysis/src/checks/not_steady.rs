//! Not steady: the average does not describe a rate that changes in steps, drifts, or falls in a rhythm.
//!
//! Signals: I/Os of the workers per interval. From 15 intervals on, the phases of the run are the verdict. Rules of
//! this check decide what the phases of less than 60 intervals cannot, with the bytes per interval: the best single
//! change point compared with the best line, both by least squares; then a swing that repeats, by the correlation of
//! the rates with themselves some intervals later.

use super::note;
use crate::regime::{lasting_phase, phases};
use crate::run_facts::{RunFacts, float, is_paced};
use measure::{Nanos, text};
use model::{Grade, Note, Phase, PhaseKind, RunResult};

/// Minimum number of intervals for a trend.
const INTERVALS_MIN: usize = 8;
/// Minimum number of intervals on each side of a change point.
const SIDE_MIN: usize = 3;
/// A burst at the start, shorter than [`SIDE_MIN`], is at least this many times as fast as the rest, by its length.
const BURSTS: [f64; SIDE_MIN - 1] = [4.0, 2.0];
/// Minimum correlation of the rates with those one period later.
const REPEATS_MIN: f64 = 0.65;
/// Minimum relative spread of rates that swing.
const SWING_MIN: f64 = 0.20;
/// Minimum number of periods in the run.
const PERIODS_MIN: usize = 3;
/// Minimum relative change of the rate; smaller ones are normal variation.
const CHANGE_MIN: f64 = 0.25;
/// Minimum fraction of the variance that a change must explain: noise of the same size explains about a third.
const EXPLAINED_MIN: f64 = 0.70;

/// With this number of intervals the phases have an answer for all.
const INTERVALS_MANY: usize = 60;
/// Smaller dips are normal variation, in percent of the rate.
const DIPS_MIN: f64 = 20.0;

/// Reports phases that differ, a drift or dips.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(seen) = RunFacts::of(result).filter(|seen| !seen.jobs().any(is_paced)) else { return Vec::new() };
    let phases = phases(result);
    let intervals = seen.monitored.map_or(0, |monitored| monitored.steady().len());
    let by_phases = of_phases(&phases);
    by_phases.or_else(|| if intervals < INTERVALS_MANY { judge(&seen) } else { None }).into_iter().collect()
}

/// The finding of the phases of a run against its average.
fn of_phases(phases: &[Phase]) -> Option<Note> {
    let is_named = |phase: &&Phase| match phase.kind {
        PhaseKind::Settled | PhaseKind::CannotTell => false,
        PhaseKind::Dips => phase.evidence.iter().any(|(name, percent)| name == "depth_percent" && *percent >= DIPS_MIN),
        PhaseKind::Burst | PhaseKind::WriteCache | PhaseKind::Throttled | PhaseKind::Settling | PhaseKind::Drifting => {
            true
        }
    };
    let lasting = lasting_phase(phases);
    let named = phases.iter().find(is_named);
    let (first, last) = (phases.first()?, lasting.or(phases.last())?);
    let mut evidence = vec![
        ("before_bytes_per_second", first.bytes_per_second),
        ("after_bytes_per_second", last.bytes_per_second),
        ("change_after_s", first.until.saturating_sub(first.from).as_secs_f64()),
        ("steady_s", phases.last()?.until.saturating_sub(first.from).as_secs_f64()),
        ("phases", float(phases.len() as u64)),
    ];
    let sentence = match (named, lasting) {
        (Some(named), _) => {
            evidence.extend(named.evidence.iter().map(|(name, value)| (name.as_str(), *value)));
            let neither = if named.kind == PhaseKind::Dips { "describes neither" } else { "describes no phase" };
            format!("{}; the average {neither}", named.sentence)
        }
        (None, Some(last)) => {
            let word = if first.iops > last.iops { "fast" } else { "slow" };
            let until = text::span(evidence[2].1);
            let (before, after) = (text::rate(first.bytes_per_second), text::rate(last.bytes_per_second));
            format!("{word} phase 0–{until} {before}, then {after}: the average describes neither")
        }
        (None, None) => return None,
    };
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

fn judge(seen: &RunFacts<'_>) -> Option<Note> {
    let steady = seen.monitored?.steady();
    let rates: Vec<f64> = steady
        .iter()
        .map(|(length, interval)| float(interval.bytes.iter().sum()) / length.as_secs_f64().max(1e-9))
        .collect();
    let begins = steady.first().map(|(length, interval)| interval.until.saturating_sub(*length))?;
    let Some(change) = change_point(&rates) else { return swing(&rates, steady.first()?.0) };
    let at = steady.get(change.at).map(|(length, interval)| interval.until.saturating_sub(*length))?;
    let at = at.saturating_sub(begins).as_secs_f64();
    let all = steady.iter().map(|(length, _)| length.as_secs_f64()).sum::<f64>();
    let (before, after) = (text::rate(change.before), text::rate(change.after));
    let sentence = if change.is_slope {
        format!("the rate went from {before} to {after} all the way: the average describes neither end")
    } else if change.before > change.after {
        format!("fast phase 0–{} {before}, then {after}: the average describes neither", text::span(at))
    } else {
        format!("slow phase 0–{} {before}, then {after}: the average describes neither", text::span(at))
    };
    let evidence = [
        ("before_bytes_per_second", change.before),
        ("after_bytes_per_second", change.after),
        ("change_after_s", at),
        ("steady_s", all),
        ("explained_percent", 100.0 * change.explained),
    ];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

/// A change of the rate, and its time.
struct Change {
    at: usize,
    before: f64,
    after: f64,
    explained: f64,
    is_slope: bool,
}

fn change_point(rates: &[f64]) -> Option<Change> {
    let count = rates.len();
    if count < INTERVALS_MIN {
        return None;
    }
    let all = squares(rates);
    let is_burst =
        |at: usize| BURSTS.get(at - 1).is_none_or(|factor| mean(&rates[..at]) >= factor * mean(&rates[at..]));
    let places = (1..=count - SIDE_MIN).filter(|&at| is_burst(at));
    let splits = places.map(|at| {
        let (before, after) = rates.split_at(at);
        (at, squares(before) + squares(after))
    });
    let (at, left) = splits.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (before, after) = (mean(&rates[..at]), mean(&rates[at..]));
    let (first, last, left_by_line) = line(rates);
    let is_slope = left_by_line < left;
    let (before, after, left) = if is_slope { (first, last, left_by_line) } else { (before, after, left) };
    let explained = if all > 0.0 { 1.0 - left / all } else { 0.0 };
    let change = (before - after).abs() / before.max(after).max(1.0);
    (change >= CHANGE_MIN && explained >= EXPLAINED_MIN).then_some(Change { at, before, after, explained, is_slope })
}

/// A rate that goes up and down in the same rhythm.
fn swing(rates: &[f64], interval: Nanos) -> Option<Note> {
    let count = rates.len();
    let (level, all) = (mean(rates), squares(rates));
    let spread = (all / float(count as u64)).sqrt() / level.max(1.0);
    if count < INTERVALS_MIN || spread < SWING_MIN {
        return None;
    }
    let repeats = |lag: usize| {
        let pairs = rates.iter().zip(&rates[lag..]);
        let together: f64 = pairs.map(|(one, later)| (one - level) * (later - level)).sum();
        together / all * float(count as u64) / float((count - lag) as u64)
    };
    let (lag, strength) = (2..=count / PERIODS_MIN)
        .map(|lag| (lag, repeats(lag)))
        .filter(|&(_, strength)| strength >= REPEATS_MIN)
        .max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?;
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[count / 10], sorted[count - 1 - count / 10]);
    let period = interval.as_secs_f64() * float(lag as u64);
    let sentence = format!(
        "the rate swings between {} and {} about every {}: the average describes neither",
        text::rate(low),
        text::rate(high),
        text::span(period)
    );
    let evidence = [
        ("low_bytes_per_second", low),
        ("high_bytes_per_second", high),
        ("period_s", period),
        ("repeats_percent", 100.0 * strength.min(1.0)),
    ];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len().max(1) as u64)
}

/// Sum of squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Least-squares line: its first value, its last value, and the residual sum of squares.
fn line(values: &[f64]) -> (f64, f64, f64) {
    let middle = float(values.len() as u64 - 1) / 2.0;
    let level = mean(values);
    let places = || (0..values.len()).map(|at| float(at as u64) - middle);
    let spread: f64 = places().map(|place| place * place).sum();
    let slope = places().zip(values).map(|(place, value)| place * value).sum::<f64>() / spread;
    let left = places().zip(values).map(|(place, value)| (value - level - slope * place).powi(2)).sum();
    (level - slope * middle, level + slope * middle, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    fn with_rates(rates: &[u64]) -> Option<String> {
        let mut result = watched_random_read();
        let monitored = result.monitored.as_mut().unwrap();
        let one = monitored.intervals[0].clone();
        monitored.intervals = (0_u64..)
            .zip(rates)
            .map(|(at, &rate)| model::Interval {
                until: measure::Nanos::from_secs(at + 1),
                bytes: [rate << 20, 0, 0],
                ios: [rate << 8, 0, 0],
                ..one.clone()
            })
            .collect();
        run(&result).into_iter().next().map(|note| note.sentence)
    }

    #[test]
    fn a_cliff_is_reported_with_both_rates() {
        let sentence = with_rates(&[9, 400, 410, 405, 395, 400, 400, 100, 101, 99, 100, 102]).unwrap();
        assert!(sentence.starts_with("fast phase 0–6 s 402 MiB/s, then 100 MiB/s"), "{sentence}");
    }

    #[test]
    fn a_slope_is_reported_as_a_slope() {
        let sentence = with_rates(&[0, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200]).unwrap();
        assert!(sentence.contains("all the way"), "{sentence}");
    }

    #[test]
    fn a_short_burst_at_the_start_is_reported() {
        let sentence = with_rates(&[300, 300, 300, 100, 101, 99, 100, 102, 100, 99, 101, 100]).unwrap();
        assert!(sentence.starts_with("fast phase 0–2 s 300 MiB/s, then 100 MiB/s"), "{sentence}");
        assert_eq!(with_rates(&[300, 130, 130, 100, 101, 99, 100, 102, 100, 99, 101, 100]), None);
        let sentence = with_rates(&[900, 900, 100, 101, 99, 100, 102, 100, 99, 101, 100]).unwrap();
        assert!(sentence.starts_with("fast phase 0–1 s 900 MiB/s, then 100 MiB/s"), "a single interval: {sentence}");
        assert_eq!(
            with_rates(&[300, 300, 100, 101, 99, 100, 102, 100, 99, 101, 100]),
            None,
            "too short for three times"
        );
    }

    #[test]
    fn saw_teeth_are_reported_with_their_period() {
        let teeth = [1, 40, 80, 120, 160, 40, 80, 120, 160, 40, 80, 120, 160, 40, 80, 120, 160];
        let sentence = with_rates(&teeth).unwrap();
        assert_eq!(
            sentence,
            "the rate swings between 40 MiB/s and 160 MiB/s about every 4 s: the average describes neither"
        );
    }

    #[test]
    fn phases_of_a_longer_run_are_named() {
        let noisy = |rate: u64, at: u64| rate * (1000 + at * 7919 % 13) / 1006;
        let rates = |of: fn(u64) -> u64| (0..122).map(|at| noisy(of(at), at)).collect::<Vec<u64>>();
        let sentence = with_rates(&rates(|at| if at < 41 { 3_000 } else { 300 })).unwrap();
        assert!(sentence.contains("then 76,8") && sentence.contains("credits are spent"), "{sentence}");
        let sentence = with_rates(&rates(|at| if at < 41 { 3_000 } else { 4_000 })).unwrap();
        assert!(sentence.starts_with("slow phase 0–40 s 2,999 MiB/s, then 4,000 MiB/s"), "{sentence}");
        let sentence = with_rates(&rates(|at| if at % 10 < 8 { 3_000 } else { 1_500 })).unwrap();
        assert!(sentence.starts_with("falls by 50 % every 10 s for 2 s"), "{sentence}");
        let sentence = with_rates(&rates(|at| 3_000 - 6 * at)).unwrap();
        assert!(sentence.contains("it drifts"), "{sentence}");
        assert_eq!(with_rates(&rates(|_| 3_000)), None);
    }

    #[test]
    fn noise_and_a_single_dip_are_silent() {
        let noise = [1, 100, 55, 140, 150, 60, 110, 145, 90, 52, 130, 70, 149, 100, 58, 120, 75];
        assert_eq!(with_rates(&noise), None, "it varies without a rhythm");
        assert_eq!(with_rates(&[0, 100, 130, 90, 120, 95, 125, 100, 135, 90, 128, 99]), None);
        assert_eq!(with_rates(&[0, 100, 100, 100, 20, 100, 100, 101, 100, 99, 100, 100]), None);
        assert_eq!(with_rates(&[100, 10, 100]), None);
    }
}
