//! Golden tables of `crates/analysis/tests/golden/statistics.py` (mpmath): 20 inputs of each rule, nine digits.

use super::*;

const TABLE: &str = include_str!("../../tests/golden/statistics.txt");

/// The rows of a rule: its lists of inputs, and its values.
fn rows(rule: &str) -> Vec<(Vec<Vec<f64>>, Vec<f64>)> {
    let numbers = |text: &str| -> Vec<f64> { text.split_whitespace().map(|word| word.parse().unwrap()).collect() };
    let of_rule = TABLE.lines().filter_map(|line| line.strip_prefix(rule)?.strip_prefix(' '));
    let split = of_rule.map(|line| line.split_once('|').unwrap());
    let found: Vec<_> =
        split.map(|(inputs, values)| (inputs.split('/').map(numbers).collect(), numbers(values))).collect();
    assert_eq!(found.len(), 20, "{rule}");
    found
}

fn same(rule: &str, found: &[f64], expected: &[f64]) {
    let near = |found: f64, expected: f64| found == expected || (found - expected).abs() <= 1e-9 * expected.abs();
    let all =
        found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| near(*found, *expected));
    assert!(all, "{rule}: {found:?} is not {expected:?}");
}

fn numbers_of(change: &Change) -> [f64; 5] {
    let halves = [change.half(ALPHA), change.half(ALPHA / 5.0)];
    [change.estimate, halves[0], halves[1], change.probability(), change.smallest_visible()]
}

#[test]
fn the_interval_of_a_series_is_that_of_the_golden_table() {
    for (inputs, expected) in rows("M1") {
        let found = series_interval(&inputs[0]).unwrap();
        same("M1", &[found.mean, found.half, found.effective], &expected);
    }
}

#[test]
fn the_shares_of_a_percentile_are_those_of_the_golden_table() {
    for (inputs, expected) in rows("M2") {
        let counts: Vec<(f64, f64)> = inputs[1].iter().copied().zip(inputs[2].iter().copied()).collect();
        let found = percentile_shares(inputs[0][0], &counts).unwrap();
        same("M2", &[found.low, found.high.unwrap_or(-1.0)], &expected);
    }
}

#[test]
fn the_change_between_sets_and_pairs_is_in_the_golden_table() {
    type Rule = fn(&[f64], &[f64]) -> Option<Change>;
    let rules: [(&str, Rule); 4] =
        [("M3sets", between_sets), ("M3one", between_sets), ("M3pairs", between_pairs), ("M3turns", between_turns)];
    for (rule, function) in rules {
        for (inputs, expected) in rows(rule) {
            let found = function(&inputs[0], &inputs[1]).unwrap();
            same(rule, &numbers_of(&found), &expected);
        }
    }
    for (inputs, expected) in rows("M4") {
        let planned = (1..=99).find(|&count| float(count) == inputs[0][0]).unwrap();
        same("M4", &numbers_of(&between_rounds(&inputs[1], &inputs[2], planned).unwrap()), &expected);
    }
}

#[test]
fn the_answer_of_a_gate_is_that_of_the_golden_table() {
    for (inputs, expected) in rows("M6") {
        let change = between_sets(&inputs[2], &inputs[3]).unwrap();
        let (tolerance, metrics) = (inputs[0][0], (1..=18).find(|&count| float(count) == inputs[1][0]).unwrap());
        let number = GateNumber { rank: Rank::First, change: Some(change) };
        let code = match answers(&vec![number; metrics], tolerance)[0] {
            Answer::Ok => 0.0,
            Answer::Worse => 1.0,
            Answer::CannotTell => 2.0,
        };
        let to_go = runs_to_settle(&change, tolerance).unwrap_or(0);
        same("M6", &[code, float(to_go)], &expected);
    }
}

#[test]
fn the_width_after_each_round_is_that_of_the_golden_table() {
    for (inputs, expected) in rows("M5") {
        let share = inputs[0][0];
        let found = watched_mean(&inputs[1]).unwrap();
        let is_known = if found.is_known_to(share) { 1.0 } else { 0.0 };
        same("M5", &[found.estimate, found.half(), is_known, float(found.rounds_to(share).unwrap_or(0))], &expected);
    }
}

#[test]
fn the_drift_of_the_last_half_is_that_of_the_golden_table() {
    for (inputs, expected) in rows("M8") {
        let found = drift_of_last_half(&inputs[0]).unwrap();
        let code = match found.trend() {
            Trend::Settled => 0.0,
            Trend::Drifting => 1.0,
            Trend::CannotTell => 2.0,
        };
        same("M8", &[found.share, found.half, code], &expected);
    }
}

#[test]
fn the_rate_that_a_share_reaches_is_in_the_golden_table() {
    for (inputs, expected) in rows("M10") {
        let counts = inputs[1].iter().zip(&inputs[2]).zip(&inputs[3]);
        let trials: Vec<_> = counts.map(|((&rate, &ios), &over)| RateTrial { rate, ios, over }).collect();
        let found = crossing(&trials, inputs[0][0]);
        let numbers = |found: Crossing| vec![found.rate, found.low, found.high, found.slope, found.dispersion];
        same("M10", &found.map_or(vec![-1.0], numbers), &expected);
    }
}
