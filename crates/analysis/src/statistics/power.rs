//! How often `plumb gate` and `plumb compare` decide, compared with Welch's t test with the same error on the same
//! simulated runs: over changes, tolerances, noises and numbers of runs. `PLUMB_SEEDS` comparisons of each kind (1,000).
//! `cargo test -p analysis gate_and_compare -- --nocapture` prints the tables that docs/decisions.md repeats.

use super::simulated::{Noise, at_most, of_all, seeds};
use super::*;

const EFFECTS: [f64; 7] = [0.0, 0.01, 0.03, 0.05, 0.1, 0.15, 0.2];
const NOISES: [f64; 3] = [0.01, 0.02, 0.04];
const RUNS: [usize; 3] = [3, 5, 10];
const TOLERANCES: [f64; 2] = [0.05, 0.1];
/// By how much the share of decisions may be below that of Welch's test.
const LESS: f64 = 0.05;

/// One kind of comparison: the new side loses `effect`.
#[derive(Clone, Copy, Debug)]
struct Cell {
    effect: f64,
    noise: f64,
    runs: usize,
    tolerance: f64,
    /// Correlation of the two runs of a round.
    alike: f64,
    /// How runs are distributed.
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Normal,
    /// One of ten runs is a fifth slower.
    Outliers,
    /// Student's t with three degrees of freedom.
    HeavyTails,
}

impl Cell {
    fn deviation(self, noise: &mut Noise) -> f64 {
        match self.kind {
            Kind::Normal => self.noise * noise.normal(),
            Kind::Outliers if noise.uniform() < 0.1 => self.noise * noise.normal() - 0.223,
            Kind::Outliers => self.noise * noise.normal(),
            Kind::HeavyTails => {
                let squares: f64 = (0..3).map(|_| noise.normal().powi(2)).sum();
                self.noise * noise.normal() / (squares / 3.0).sqrt()
            }
        }
    }

    /// Rates of both sides.
    fn sides(self, noise: &mut Noise) -> [Vec<f64>; 2] {
        let mut sides = [Vec::new(), Vec::new()];
        for _ in 0..self.runs {
            let common = self.noise * noise.normal() * self.alike.sqrt();
            for (side, rates) in sides.iter_mut().enumerate() {
                let own = self.deviation(noise) * (1.0 - self.alike).sqrt();
                let lost = if side == 1 { self.effect.ln_1p() } else { 0.0 };
                rates.push(80_000.0 * (common + own - lost).exp());
            }
        }
        sides
    }
}

/// What a comparison of the same runs said.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    worse: u64,
    ok: u64,
    welch_worse: u64,
    welch_ok: u64,
}

type Rule = fn(&[f64], &[f64]) -> Option<Change>;

/// The gate's default: a rate that decides, and a percentile with twice the noise that does not.
fn gate(cell: Cell, rule: Rule) -> Counts {
    let mut counts = Counts::default();
    for seed in 1..=seeds() {
        let mut noise = Noise::new(seed);
        let [old, new] = cell.sides(&mut noise);
        let [old_tail, new_tail] = Cell { noise: 2.0 * cell.noise, ..cell }.sides(&mut noise);
        let numbers = [
            GateNumber { rank: Rank::First, change: rule(&old, &new) },
            GateNumber { rank: Rank::Second, change: rule(&old_tail, &new_tail) },
        ];
        let answer = of_all(&numbers, cell.tolerance);
        counts.worse += u64::from(answer == Answer::Worse);
        counts.ok += u64::from(answer == Answer::Ok);
        let Some(welch) = between_sets(&old, &new) else { continue };
        let (low, high) = welch.interval(ALPHA);
        counts.welch_worse += u64::from(high < -cell.tolerance.ln_1p());
        counts.welch_ok += u64::from(low > -cell.tolerance.ln_1p());
    }
    counts
}

fn share(count: u64) -> f64 {
    measure::float(count) / measure::float(seeds())
}

fn check(what: &str, cell: Cell, counts: Counts) {
    let Counts { worse, ok, welch_worse, welch_ok } = counts;
    println!(
        "{what:<14} {:>5.0} % {:>5.0} % {:>4.0} % {:>5}   {:>5.1} {:>5.1}   {:>5.1} {:>5.1}",
        100.0 * cell.effect,
        100.0 * cell.tolerance,
        100.0 * cell.noise,
        cell.runs,
        100.0 * share(worse),
        100.0 * share(welch_worse),
        100.0 * share(ok),
        100.0 * share(welch_ok),
    );
    assert!(share(worse) >= share(welch_worse) - LESS, "{what}: worse is weaker than Welch: {cell:?} {counts:?}");
    // With a real change the second number may be worse.
    assert!(share(ok) >= share(welch_ok) - LESS, "{what}: ok is weaker than Welch: {cell:?} {counts:?}");
}

fn heading() {
    println!(
        "\n{:<14} {:>7} {:>7} {:>6} {:>5}   {:>11}   {:>11}\n{:45}{:>5} {:>5}   {:>5} {:>5}",
        "", "loss", "toler.", "noise", "runs", "worse, %", "ok, %", "", "gate", "Welch", "gate", "Welch"
    );
}

fn normal(effect: f64, noise: f64, runs: usize, tolerance: f64) -> Cell {
    Cell { effect, noise, runs, tolerance, alike: 0.0, kind: Kind::Normal }
}

#[test]
fn gate_and_compare_decide_as_often_as_welchs_test() {
    heading();
    for tolerance in TOLERANCES {
        for noise in NOISES {
            for runs in RUNS {
                for effect in EFFECTS {
                    let cell = normal(effect, noise, runs, tolerance);
                    let counts = gate(cell, between_sets);
                    check("sets", cell, counts);
                    if effect == 0.0 {
                        at_most(0.01, counts.worse, "nothing changed, called worse");
                    } else if effect <= tolerance {
                        at_most(0.025, counts.worse, "a loss up to the tolerance, called worse");
                    } else if effect == 0.1 {
                        at_most(0.025, counts.ok, "a loss beyond the tolerance, called ok");
                    }
                }
            }
        }
    }
}

#[test]
fn runs_in_turns_decide_as_often_as_sets_and_more_if_alike() {
    heading();
    for (alike, runs) in [(0.0, 3), (0.0, 5), (0.0, 10), (0.6, 5), (0.9, 5)] {
        for effect in [0.0, 0.05, 0.1] {
            let cell = Cell { alike, ..normal(effect, 0.02, runs, 0.05) };
            let counts = gate(cell, between_turns);
            check(&format!("turns, r = {alike}"), cell, counts);
            // Runs in turns pay for the choice with their part of the error; with three there is little to choose by.
            at_most(if runs < 5 { 0.028 } else { 0.025 }, if effect < 0.1 { counts.worse } else { 0 }, "called worse");
        }
    }
}

#[test]
fn five_pairs_asked_at_any_time_find_nearly_what_sets_find() {
    for (pairs, least_worse, least_ok) in [(5, 0.7, 0.75), (10, 0.95, 0.95)] {
        for effect in [0.0, 0.05, 0.1] {
            let counts = gate(normal(effect, 0.02, pairs, 0.05), between_looks);
            let [worse, ok] = [counts.worse, counts.ok].map(share);
            println!("looks, {pairs} pairs, {effect}: worse {:.1} %, ok {:.1} %", 100.0 * worse, 100.0 * ok);
            match effect {
                0.1 => assert!(worse > least_worse, "{counts:?}"),
                0.05 => at_most(0.0125, counts.worse, "at the tolerance, called worse at this look"),
                _ => assert!(ok > least_ok, "{counts:?}"),
            }
        }
    }
}

#[test]
fn runs_that_are_not_normal_are_not_called_worse_more_often() {
    heading();
    for kind in [Kind::Outliers, Kind::HeavyTails] {
        for effect in [0.0, 0.05, 0.1] {
            let cell = Cell { kind, ..normal(effect, 0.02, 5, 0.05) };
            let counts = gate(cell, between_sets);
            check(&format!("{kind:?}"), cell, counts);
            at_most(0.025, if effect < 0.1 { counts.worse } else { 0 }, "runs that are not normal, called worse");
        }
    }
}
