//! M9 against values that Python computed from the definitions, and against histories of which the truth is known.

use super::*;
use measure::SplitMix;

const GOLDEN: &str = include_str!("../../tests/golden/history.txt");

fn close(found: f64, expected: &str) {
    let expected: f64 = expected.parse().expect("a number");
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{found} is not {expected}");
}

#[test]
fn twenty_histories_give_the_values_that_python_computed() {
    let (mut values, mut open, mut cases) = (Vec::new(), Vec::new(), 0);
    for line in GOLDEN.lines() {
        let (kind, rest) = line.split_once(' ').expect("a kind");
        let words: Vec<&str> = rest.split(' ').collect();
        match kind {
            "values" => {
                cases += 1;
                values = words.iter().map(|word| word.parse().expect("a number")).collect::<Vec<f64>>();
                open = history_changes(&values, Chance::OneInFiveHundred).expect("enough values");
                open.reverse();
            }
            "division" => {
                let division = largest_division(&values).expect("enough values");
                assert_eq!(division.at.to_string(), words[0]);
                close(division.t, words[1]);
                close(critical(values.len(), Chance::OneInHundred).expect("known"), words[2]);
                close(critical(values.len(), Chance::OneInFiveHundred).expect("known"), words[3]);
            }
            "change" => {
                let change = open.pop().expect("a change");
                assert_eq!(change.at.to_string(), words[0]);
                for (found, expected) in
                    [change.before, change.after, change.low, change.high].into_iter().zip(&words[1..])
                {
                    close(found, expected);
                }
            }
            _ => {
                assert_eq!(open, [], "case {cases}");
                let (name, before, runs) = match newest(&values) {
                    Newest::Unusual { before, runs } => ("unusual", before, runs),
                    Newest::Changed { before, runs } => ("changed", before, runs),
                    Newest::Usual | Newest::TooFew => ("usual", 0.0, 0),
                };
                assert_eq!((name, runs.to_string().as_str()), (words[0], words[2]), "case {cases}");
                close(before, words[1]);
            }
        }
    }
    assert_eq!(cases, 20);
}

/// A number with mean 0 and standard deviation 1 (Box and Muller).
fn normal(random: &mut SplitMix) -> f64 {
    let radius = (-2.0 * (1.0 - random.fraction()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.fraction()).cos()
}

/// A history of a rate with a standard deviation of 3 %; one run in twenty is much slower if there are outliers.
fn history(random: &mut SplitMix, runs: usize, outliers: f64) -> Vec<f64> {
    let value = |random: &mut SplitMix| {
        let usual = normal(random);
        if random.fraction() < outliers { -6.0 * normal(random).abs() } else { usual }
    };
    (0..runs).map(|_| 11.0 + 0.03 * value(random)).collect()
}

#[test]
fn of_1000_histories_without_a_change_3_percent_have_one() {
    for outliers in [0.0, 0.05] {
        let found = (0..1000_u64)
            .filter(|&seed| {
                let values = history(&mut SplitMix::new(seed * 7919), 60, outliers);
                !history_changes(&values, Chance::OneInFiveHundred).expect("60 values").is_empty()
            })
            .count();
        assert!(found <= 30, "{found} of 1000 with {outliers} of outliers");
    }
}

#[test]
fn a_shift_of_5_deviations_is_found_by_the_third_run() {
    let right = (0..1000_u64)
        .filter(|&seed| {
            let mut values = history(&mut SplitMix::new(seed * 104_729 + 1), 23, 0.0);
            values[20..].iter_mut().for_each(|value| *value -= 5.0 * 0.03);
            let found = history_changes(&values, Chance::OneInFiveHundred).expect("23 values");
            found.iter().any(|change| change.at.abs_diff(20) <= 1)
        })
        .count();
    assert!(right >= 950, "{right} of 1000");
}

#[test]
fn the_newest_run_is_rarely_called_changed_without_a_change() {
    let verdicts: Vec<Newest> =
        (0..1000_u64).map(|seed| newest(&history(&mut SplitMix::new(seed * 31 + 5), 40, 0.0))).collect();
    let unusual = verdicts.iter().filter(|verdict| matches!(verdict, Newest::Unusual { .. })).count();
    let changed = verdicts.iter().filter(|verdict| matches!(verdict, Newest::Changed { .. })).count();
    // 1 % of 1,000 with three deviations of such a count, and one in ten thousand.
    assert!((1..=20).contains(&unusual) && changed <= 2, "{unusual} unusual, {changed} changed");
}

#[test]
fn too_few_odd_and_constant_values_give_no_answer_or_no_change() {
    let nothing: [&[f64]; 4] = [&[], &[1.0; 7], &[1.0, 2.0, f64::NAN, 1.0, 1.0, 1.0, 1.0, 1.0], &[f64::INFINITY; 9]];
    for values in nothing {
        assert_eq!(history_changes(values, Chance::OneInHundred), None);
        assert_eq!(newest(values), Newest::TooFew);
    }
    assert_eq!(history_changes(&[11.0; 50], Chance::OneInHundred), Some(Vec::new()));
    assert_eq!(newest(&[11.0; 50]), Newest::Usual);
    // Two exact levels: the largest t there is.
    let mut steps = vec![11.0; 10];
    steps.extend([11.5; 5]);
    let found = history_changes(&steps, Chance::OneInFiveHundred).expect("15 values");
    assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [10]);
    // A step below 3 % does not count, however sure it is.
    let small: Vec<f64> = steps.iter().map(|value| 11.0 + (value - 11.0) / 25.0).collect();
    assert_eq!(history_changes(&small, Chance::OneInFiveHundred), Some(Vec::new()));
    assert_eq!(critical(7, Chance::OneInHundred), None);
    assert_eq!(critical(10_000, Chance::OneInHundred), Some(3.72));
}

#[test]
fn of_a_long_history_the_newest_400_runs_are_looked_at() {
    let mut values = vec![11.0; 700];
    values.iter_mut().enumerate().for_each(|(at, value)| *value += 0.001 * f64::from(u8::from(at % 2 == 0)));
    values[..100].iter_mut().for_each(|value| *value += 1.0);
    assert_eq!(history_changes(&values, Chance::OneInFiveHundred), Some(Vec::new()));
    values[600..].iter_mut().for_each(|value| *value += 0.2);
    let found = history_changes(&values, Chance::OneInFiveHundred).expect("enough");
    assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [600]);
}
