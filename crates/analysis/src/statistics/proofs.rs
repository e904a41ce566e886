//! Promises of `plumb versus`, `plumb gate --pairs` and `plumb trend`, tried on simulated runs of one machine with
//! fixed seeds: `PLUMB_SEEDS` of them (1,000). `cargo test -p analysis the_promises -- --nocapture` prints the measured
//! shares, which docs/decisions.md repeats.
//!
//! The runs have the noise of the simulated device: a level that is an AR(1) process over runs, and a drift.

use super::simulated::{Noise, of_all, seeds};
use super::*;

/// Deviation of a run.
const SD: f64 = 0.03;
const MOST: usize = 15;
/// The tolerance of the gate, and that within which sides are the same.
const TOLERANCE: f64 = 0.05;

/// The noise of the runs of a machine, in units of [`SD`].
#[derive(Clone, Copy)]
enum Machine {
    /// Each run is independent.
    White,
    /// It becomes faster by this much from the first to the last run.
    Drifts(f64),
    /// Runs are alike with this correlation.
    Slow(f64),
}

/// Logarithms of the rates of consecutive runs.
fn runs(noise: &mut Noise, machine: Machine, count: usize) -> Vec<f64> {
    let own: Vec<f64> = (0..count).map(|_| noise.normal()).collect();
    let last = float(count - 1);
    let of_machine = match machine {
        Machine::White => own,
        Machine::Drifts(over) => own.iter().enumerate().map(|(at, own)| own + over * float(at) / last).collect(),
        Machine::Slow(correlation) => noise.slow(count, correlation),
    };
    of_machine.into_iter().map(|level| SD * level).collect()
}

/// Rates of both sides in turns, in random order within each round; B has this change, as a logarithm.
fn turns(noise: &mut Noise, machine: Machine, change: f64) -> [Vec<f64>; 2] {
    let runs = runs(noise, machine, 2 * MOST);
    let mut sides = [Vec::new(), Vec::new()];
    for pair in runs.chunks(2) {
        let first = usize::from(noise.normal() < 0.0);
        sides[first].push(pair[0]);
        sides[1 - first].push(pair[1]);
    }
    sides[1].iter_mut().for_each(|rate| *rate += change);
    sides.map(|side| side.into_iter().map(|level| 80_000.0 * level.exp()).collect())
}

/// The first decision of versus, and its round; `None` if 15 rounds do not decide.
fn decided([a, b]: &[Vec<f64>; 2]) -> Option<(Decision, usize)> {
    (4..=a.len()).find_map(|count| {
        let change = between_rounds(&a[..count], &b[..count], MOST)?;
        let found = decision(&change, TOLERANCE, 1);
        (found != Decision::Open).then_some((found, count))
    })
}

fn differs(noise: &mut Noise, machine: Machine, change: f64) -> bool {
    decided(&turns(noise, machine, change)).is_some_and(|(found, _)| found == Decision::Differs)
}

/// The first answer of a gate that is asked after each pair, of numbers that move together: a third is common noise.
fn gate(noise: &mut Noise, change: f64, metrics: usize) -> Answer {
    let [common_a, common_b] = turns(noise, Machine::White, 0.0);
    let with = |common: &[f64], own: Vec<f64>| -> Vec<f64> {
        common.iter().zip(own).map(|(common, own)| (common / 80_000.0).powf(0.577) * own.powf(0.816)).collect()
    };
    let mut pairs = Vec::new();
    for _ in 0..metrics {
        let [a, b] = turns(noise, Machine::White, change / 0.816);
        pairs.push([with(&common_a, a), with(&common_b, b)]);
    }
    let asked = |count: usize| {
        let of = |(at, [a, b]): (usize, &[Vec<f64>; 2])| GateNumber {
            rank: if at == 0 { Rank::First } else { Rank::Second },
            change: between_rounds(&a[..count], &b[..count], MOST),
        };
        of_all(&pairs.iter().enumerate().map(of).collect::<Vec<_>>(), TOLERANCE)
    };
    (4..=MOST).map(asked).find(|&found| found != Answer::CannotTell).unwrap_or(Answer::CannotTell)
}

/// True if the interval at which `--until 3%` stops holds the known ratio; also if 200 rounds do not reach it.
fn covers(ratios: impl FnMut() -> f64, truth: f64) -> bool {
    let mut measured: Vec<f64> = Vec::new();
    for ratio in std::iter::repeat_with(ratios).take(200) {
        measured.push(ratio);
        let Some(mean) = watched_mean(&measured).filter(|mean| mean.is_known_to(0.03)) else { continue };
        return (mean.estimate - truth.ln()).abs() <= mean.half();
    }
    true
}

/// Draws a ratio of two runs.
fn ratio(noise: &mut Noise) -> f64 {
    1.04 * (SD * (noise.normal() - noise.normal())).exp()
}

/// Draws a ratio of two runs with skewed noise: the logarithm of a run is a squared normal number.
fn skewed_ratio(noise: &mut Noise) -> f64 {
    1.04 * (SD * (noise.normal().powi(2) - noise.normal().powi(2))).exp()
}

/// A history of 60 runs without a change, or the last three slower.
fn history(noise: &mut Noise, shift: f64) -> bool {
    let mut values = runs(noise, Machine::White, if shift == 0.0 { 60 } else { 23 });
    values.iter_mut().skip(20).for_each(|value| *value += shift * SD);
    let found = history_changes(&values, Chance::OneInFiveHundred).unwrap_or_default();
    match shift {
        0.0 => !found.is_empty(),
        _ => found.iter().any(|change| change.at.abs_diff(20) <= 1),
    }
}

/// A bound on a share.
#[derive(Clone, Copy, Debug)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

use Bound::{AtLeast, AtMost};

/// Each promise: its words, its bound, and one case of it.
type Promise = (&'static str, Bound, fn(&mut Noise) -> bool);

/// Two deviations of the difference of a pair.
const EFFECT: f64 = 2.0 * SD * std::f64::consts::SQRT_2;

fn at_tolerance() -> f64 {
    -TOLERANCE.ln_1p()
}

const PROMISES: &[Promise] = &[
    ("versus, A against A: differs", AtMost(0.044), |noise| differs(noise, Machine::White, 0.0)),
    ("versus, two deviations: decided within 15 rounds", AtLeast(0.97), |noise| differs(noise, Machine::White, EFFECT)),
    ("versus, two deviations: decided within 7 rounds", AtLeast(0.5), |noise| {
        decided(&turns(noise, Machine::White, EFFECT)).is_some_and(|(_, rounds)| rounds <= 7)
    }),
    ("versus, machine drifts by 3 deviations: differs", AtMost(0.05), |noise| {
        differs(noise, Machine::Drifts(3.0), 0.0)
    }),
    ("versus, correlation 0.9 between runs: differs", AtMost(0.05), |noise| differs(noise, Machine::Slow(0.9), 0.0)),
    ("compare, the same drift as AAAA BBBB: differs", AtLeast(0.25), |noise| {
        let rates: Vec<f64> = runs(noise, Machine::Drifts(3.0), 20).iter().map(|level| level.exp()).collect();
        between_sets(&rates[..10], &rates[10..]).is_some_and(|change| change.probability() < ALPHA)
    }),
    ("compare, the same correlation as AAAA BBBB: differs", AtLeast(0.25), |noise| {
        let rates: Vec<f64> = runs(noise, Machine::Slow(0.9), 20).iter().map(|level| level.exp()).collect();
        between_sets(&rates[..10], &rates[10..]).is_some_and(|change| change.probability() < ALPHA)
    }),
    ("gate, unchanged: worse", AtMost(0.01), |noise| gate(noise, 0.0, 1) == Answer::Worse),
    ("gate, unchanged: ok within 15 rounds", AtLeast(0.75), |noise| gate(noise, 0.0, 1) == Answer::Ok),
    ("gate, exactly at the tolerance: worse", AtMost(0.025), |noise| gate(noise, at_tolerance(), 1) == Answer::Worse),
    ("gate, exactly at the tolerance: ok", AtMost(0.025), |noise| gate(noise, at_tolerance(), 1) == Answer::Ok),
    ("gate, 18 numbers at the tolerance: worse", AtMost(0.025), |noise| {
        gate(noise, at_tolerance(), 18) == Answer::Worse
    }),
    ("gate, 18 numbers unchanged: worse", AtMost(0.01), |noise| gate(noise, 0.0, 18) == Answer::Worse),
    ("--until 3%: holds the known ratio", AtLeast(0.93), |noise| covers(|| ratio(noise), 1.04)),
    ("--until 3%, skewed noise: holds it", AtLeast(0.93), |noise| covers(|| skewed_ratio(noise), 1.04)),
    ("trend, 60 runs without a change: has one", AtMost(0.03), |noise| history(noise, 0.0)),
    ("trend, 5 deviations: found by the third run", AtLeast(0.95), |noise| history(noise, -5.0)),
];

#[test]
fn the_promises_hold() {
    let all = seeds();
    println!("\n{:<54} {:>9} {:>9}", format!("share of {all} seeds"), "promised", "measured");
    let mut broken = Vec::new();
    for (what, bound, case) in PROMISES {
        let cases = (1..=all).filter(|&seed| case(&mut Noise::new(seed))).count() as u64;
        let share = measure::float(cases) / measure::float(all);
        // Three deviations of the count are allowed for.
        let slack = |bound: f64| 3.0 * (bound * (1.0 - bound) / measure::float(all)).sqrt();
        let (shown, holds) = match *bound {
            AtMost(bound) => (format!("≤ {:.1} %", 100.0 * bound), share <= bound + slack(bound)),
            AtLeast(bound) => (format!("≥ {:.1} %", 100.0 * bound), share >= bound - slack(bound)),
        };
        println!("{what:<54} {shown:>9} {:>7.1} %", 100.0 * share);
        if !holds {
            broken.push(format!("{what}: {share:.4}, promised {shown}"));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
