//! How often `plumb gate`, `gate --pairs`, `compare`, `versus` and `ask` decide, compared with Student's and Welch's t
//! tests and their equivalence form with the same error, on the same simulated runs: over changes, tolerances, noises
//! and numbers of runs.
//!
//! There are `PLUMB_SEEDS` comparisons of each kind (200). `cargo test -p analysis every_command -- --nocapture` prints
//! the table of which docs/decisions.md has a part.

use super::simulated::{Noise, of_all};
use super::*;
use crate::compare::{Verdict, verdict};
use crate::question::{self, Part, Rule, RuleObservation};

const EFFECTS: [f64; 6] = [0.0, 0.01, 0.03, 0.05, 0.1, 0.2];
const NOISES: [f64; 3] = [0.01, 0.02, 0.04];
const RUNS: [usize; 3] = [3, 5, 10];
const TOLERANCES: [f64; 3] = [0.02, 0.05, 0.1];
/// By how much the share of decisions may be below that of the t test.
const LESS: f64 = 0.05;
/// Comparisons of each kind.
const COMPARISONS: u64 = 200;

/// One kind of comparison: the new side loses `effect`.
#[derive(Clone, Copy, Debug)]
struct Cell {
    effect: f64,
    tolerance: f64,
    noise: f64,
    runs: usize,
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
            for (rates, lost) in sides.iter_mut().zip([0.0, self.effect.ln_1p()]) {
                let own = self.deviation(noise) * (1.0 - self.alike).sqrt();
                rates.push(80_000.0 * (common + own - lost).exp());
            }
        }
        sides
    }

    fn bound(self) -> f64 {
        self.tolerance.ln_1p()
    }
}

/// What was said of one comparison, by plumb or by a t test.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    /// Worse by more than the tolerance.
    worse: bool,
    /// The tolerance is not exceeded.
    within: bool,
    /// There is a change, of whatever size.
    differs: bool,
}

/// How often each was said.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    worse: u64,
    within: u64,
    differs: u64,
}

impl Counts {
    fn add(&mut self, said: Said) {
        self.worse += u64::from(said.worse);
        self.within += u64::from(said.within);
        self.differs += u64::from(said.differs);
    }
}

/// A command that decides, and the t test with the same error on the same runs.
#[derive(Clone, Copy)]
struct Command {
    name: &'static str,
    said: fn(Cell, &mut Noise) -> [Said; 2],
}

const COMMANDS: [Command; 5] = [
    Command { name: "gate", said: |cell, noise| gate(cell, noise, |_, old, new| between_sets(old, new)) },
    Command {
        name: "gate --pairs",
        said: |cell, noise| gate(cell, noise, |cell, old, new| between_rounds(old, new, cell.runs)),
    },
    Command { name: "compare", said: compare },
    Command { name: "versus", said: versus },
    Command { name: "ask", said: ask },
];

type Design = fn(Cell, &[f64], &[f64]) -> Option<Change>;

/// The gate's default: a rate that decides, and a percentile with twice the noise that does not.
fn gate(cell: Cell, noise: &mut Noise, design: Design) -> [Said; 2] {
    let [old, new] = cell.sides(noise);
    let [old_tail, new_tail] = Cell { noise: 2.0 * cell.noise, ..cell }.sides(noise);
    let numbers = [
        GateNumber { rank: Rank::First, change: design(cell, &old, &new) },
        GateNumber { rank: Rank::Second, change: design(cell, &old_tail, &new_tail) },
    ];
    let answer = of_all(&numbers, cell.tolerance);
    let plumb = Said { worse: answer == Answer::Worse, within: answer == Answer::Ok, differs: false };
    let Some(welch) = between_sets(&old, &new) else { return [plumb, Said::default()] };
    let (low, high) = welch.interval(ALPHA);
    [plumb, Said { worse: high < -cell.bound(), within: low > -cell.bound(), differs: false }]
}

/// Welch's test against the tolerance (2.5 %), its equivalence form (5 % a side), and against no change (5 %).
fn welch(cell: Cell, old: &[f64], new: &[f64]) -> Said {
    let Some(welch) = between_sets(old, new) else { return Said::default() };
    let ((low, high), (near_low, near_high)) = (welch.interval(ALPHA), welch.interval(2.0 * ALPHA));
    Said {
        worse: high < -cell.bound(),
        within: near_low > -cell.bound() && near_high < cell.bound(),
        differs: low > 0.0 || high < 0.0,
    }
}

fn compare(cell: Cell, noise: &mut Noise) -> [Said; 2] {
    let [old, new] = cell.sides(noise);
    let change = if cell.alike > 0.0 { between_turns(&old, &new) } else { between_sets(&old, &new) };
    let found = change.map_or(Verdict::CannotTell, |change| verdict(&change, cell.bound()));
    let plumb = Said {
        worse: found == Verdict::Worse,
        within: matches!(found, Verdict::Same | Verdict::Slight),
        differs: !matches!(found, Verdict::Same | Verdict::CannotTell),
    };
    [plumb, welch(cell, &old, &new)]
}

/// Rounds until they decide, at most as many as the t test has runs a side.
fn versus(cell: Cell, noise: &mut Noise) -> [Said; 2] {
    let [old, new] = cell.sides(noise);
    let mut plumb = Said::default();
    for round in 2..=cell.runs {
        let Some(change) = between_rounds(&old[..round], &new[..round], cell.runs) else { continue };
        let found = decision(&change, cell.tolerance, 1);
        plumb = Said {
            worse: verdict(&change, cell.bound()) == Verdict::Worse,
            within: found == Decision::Same,
            differs: found == Decision::Differs,
        };
        if found != Decision::Open {
            break;
        }
    }
    [plumb, welch(cell, &old, &new)]
}

/// Deviation of a round's number by the noise within the round, which its own interval knows.
const WITHIN: f64 = 0.005;

/// A rate that misses a limit by `effect` (or keeps it by as much), in rounds; the t test has the rates of the rounds.
fn ask(cell: Cell, noise: &mut Noise) -> [Said; 2] {
    let rule = Rule { part: Part::Read, number: question::Number::Iops, limit: 80_000.0 };
    let mut rates = Vec::new();
    for _ in 0..cell.runs {
        let level = cell.deviation(noise) + WITHIN * noise.normal() - cell.effect.ln_1p();
        rates.push(rule.limit * level.exp());
    }
    let observe = |&rate: &f64| {
        let interval = [-2.0, 2.0].map(|deviations| rate * (deviations * WITHIN).exp());
        let answer = if interval[0] > rule.limit {
            question::Answer::Yes
        } else if interval[1] < rule.limit {
            question::Answer::No
        } else {
            question::Answer::CannotTell
        };
        let keeps = rate >= rule.limit;
        RuleObservation {
            value: Some(rate),
            interval: Some(interval),
            beyond: None,
            ios: 1,
            intervals: 60,
            keeps,
            answer,
        }
    };
    let found = rule.of_rounds(&rates.iter().map(observe).collect::<Vec<_>>());
    let plumb = Said { worse: found == question::Answer::No, within: found == question::Answer::Yes, differs: false };
    let limits = vec![rule.limit; rates.len()];
    let Some((low, high)) = between_pairs(&limits, &rates).map(|change| change.interval(ALPHA)) else {
        return [plumb, Said::default()];
    };
    [plumb, Said { worse: high < 0.0, within: low > 0.0, differs: false }]
}

fn counted(command: Command, cell: Cell, comparisons: u64) -> [Counts; 2] {
    let mut counts = [Counts::default(); 2];
    for seed in 1..=comparisons {
        let said = (command.said)(cell, &mut Noise::new(seed));
        counts.iter_mut().zip(said).for_each(|(counts, said)| counts.add(said));
    }
    counts
}

/// What is wrong with the decisions of a command: it decides less often than the t test, or wrongly more often than it
/// may. Four deviations of the count are allowed for: of some thousand counts a few are beyond three by chance.
fn faults(command: Command, cell: Cell, comparisons: u64) -> Vec<String> {
    let [plumb, test] = counted(command, cell, comparisons);
    let share = |count: u64| measure::float(count) / measure::float(comparisons);
    println!(
        "{:<14} {:>5.0} % {:>5.0} % {:>4.0} % {:>5} {}",
        command.name,
        100.0 * cell.effect,
        100.0 * cell.tolerance,
        100.0 * cell.noise,
        cell.runs,
        [[plumb.worse, test.worse], [plumb.within, test.within], [plumb.differs, test.differs]]
            .map(|both| format!("  {:>5.1} {:>5.1}", 100.0 * share(both[0]), 100.0 * share(both[1])))
            .concat()
    );
    let mut found = Vec::new();
    let mut weaker = |what: &str, plumb: u64, test: u64| {
        if share(plumb) + LESS + 4.0 * (LESS * (1.0 - LESS) / measure::float(comparisons)).sqrt() < share(test) {
            found.push(format!("{}: {what} is weaker: {cell:?} {plumb} {test}", command.name));
        }
    };
    let mut wrong = Vec::new();
    match command.name {
        "versus" => {
            // It ends at the first decision, and below the tolerance both are right.
            weaker("differs or the same", plumb.differs + plumb.within, test.within.max(test.differs));
            if cell.effect > cell.tolerance {
                weaker("differs", plumb.differs, test.differs);
            }
        }
        // Rounds whose own intervals hold the limit do not decide.
        "ask" if cell.effect <= 2.0 * WITHIN => {}
        "ask" => {
            weaker("worse", plumb.worse, test.worse);
        }
        _ => {
            weaker("worse", plumb.worse, test.worse);
            weaker("within", plumb.within, test.within);
            weaker("differs", plumb.differs, test.differs);
        }
    }
    // At a limit without a tolerance nothing is said; elsewhere nothing that is not so.
    let at_tolerance = if command.name == "ask" { 0.0 } else { cell.tolerance };
    if cell.effect == 0.0 && at_tolerance > 0.0 {
        wrong.push(("nothing changed, worse", plumb.worse, 0.01));
        wrong.push(("nothing changed, differs", plumb.differs, 0.05));
    } else if cell.effect <= at_tolerance {
        wrong.push(("at most the tolerance, worse", plumb.worse, 0.025));
    }
    if cell.effect >= at_tolerance {
        // Two one-sided tests have 5 % a side.
        let error = if command.name.starts_with("gate") || command.name == "ask" { 0.025 } else { 0.05 };
        wrong.push(("at least the tolerance, within", plumb.within, error));
    }
    let bound = |nominal: f64| nominal + 4.0 * (nominal * (1.0 - nominal) / measure::float(comparisons)).sqrt();
    for (what, count, nominal) in wrong {
        if share(count) > bound(nominal) {
            found.push(format!("{}: {what}: {cell:?} {count} of {comparisons}", command.name));
        }
    }
    found
}

fn heading() {
    println!(
        "\n{:<14} {:>7} {:>7} {:>6} {:>5}{:>14}{:>14}{:>14}\n{:45}{}",
        "",
        "loss",
        "toler.",
        "noise",
        "runs",
        "worse, %",
        "within, %",
        "differs, %",
        "",
        format!("  {:>5} {:>5}", "plumb", "t").repeat(3)
    );
}

fn normal(effect: f64, tolerance: f64, noise: f64, runs: usize) -> Cell {
    Cell { effect, tolerance, noise, runs, alike: 0.0, kind: Kind::Normal }
}

#[test]
fn every_command_decides_as_often_as_the_t_test() {
    let comparisons = std::env::var("PLUMB_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(COMPARISONS);
    heading();
    let mut found = Vec::new();
    for command in COMMANDS {
        for (at, tolerance) in TOLERANCES.into_iter().enumerate() {
            // Without a tolerance there is one table.
            if command.name == "ask" && at > 0 {
                continue;
            }
            for noise in NOISES {
                for runs in RUNS {
                    for effect in EFFECTS {
                        found.extend(faults(command, normal(effect, tolerance, noise, runs), comparisons));
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn runs_in_turns_decide_as_often_as_sets_and_more_if_alike() {
    heading();
    let mut found = Vec::new();
    for command in COMMANDS.into_iter().filter(|command| ["gate --pairs", "compare", "versus"].contains(&command.name))
    {
        for (alike, runs) in [(0.3, 3), (0.6, 5), (0.9, 5)] {
            for effect in [0.0, 0.05, 0.1] {
                let cell = Cell { alike, ..normal(effect, 0.05, 0.02, runs) };
                found.extend(faults(command, cell, COMPARISONS));
                let [plumb, _] = counted(command, cell, COMPARISONS);
                if effect == 0.1 && alike == 0.9 && plumb.worse + plumb.differs < COMPARISONS * 98 / 100 {
                    found.push(format!("{}: {cell:?} {plumb:?}", command.name));
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn runs_that_are_not_normal_are_not_called_worse_more_often() {
    heading();
    let mut found = Vec::new();
    for kind in [Kind::Outliers, Kind::HeavyTails] {
        for effect in [0.0, 0.05, 0.1] {
            for command in &COMMANDS[..4] {
                found.extend(faults(*command, Cell { kind, ..normal(effect, 0.05, 0.02, 5) }, COMPARISONS));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
