//! Two sides that are measured in turns: how they compare after each round, and when it is enough.

use super::rows::{ComparedTest, MetricRow, compare_usual, percent_of};
use super::{Design, Metric, Observation, Test, TestPair};
use crate::statistics::{ALPHA, Change, Decision, WatchedMean, decision, order_effect, rounds_to_decide, watched_mean};
use measure::text;

/// When enough rounds were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// When each question is answered: the sides differ, or are the same within the tolerance.
    Decided,
    /// When each ratio is known to this share.
    Known(f64),
}

/// Reason why two sides do not compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnsError {
    /// The sides have different tests.
    #[error("the sides have different tests: A has {a}, B has {b}")]
    OtherSides {
        /// The tests of A.
        a: String,
        /// The tests of B.
        b: String,
    },
    /// The tests of a side are not the same in all rounds.
    #[error("a side had other tests in one round than in another")]
    OtherRounds,
}

/// One run of each side.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The side that was measured first: 0 for A, 1 for B; `None` if both ran at the same time.
    pub first: Option<usize>,
    /// The tests of A and of B.
    pub sides: [Vec<Observation>; 2],
}

/// A number that has to be settled, after some rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The test, `random reads 8K ×16`.
    pub test: String,
    /// The number.
    pub metric: Metric,
    /// B ÷ A, if something is known of its noise.
    pub change: Option<Change>,
    /// B ÷ A with the interval of a goal of [`Goal::Known`].
    pub known: Option<WatchedMean>,
    /// The decision.
    pub decision: Decision,
    /// True if it needs no more rounds.
    pub is_settled: bool,
    /// Rounds in all after which it is settled, by the noise so far; `None` if 200 are not enough, or nothing is known.
    pub rounds: Option<usize>,
}

impl Question {
    /// The ends of its interval as logarithms; infinite if nothing is known.
    pub fn interval(&self, goal: Goal) -> (f64, f64) {
        let of_known = |mean: WatchedMean| (mean.estimate - mean.half(), mean.estimate + mean.half());
        let found = match goal {
            Goal::Decided => self.change.map(|change| change.interval(ALPHA)),
            Goal::Known(_) => self.known.map(of_known),
        };
        found.unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
    }

    /// The estimate of B ÷ A as a logarithm.
    pub fn estimate(&self) -> Option<f64> {
        self.change.map(|change| change.estimate).or(self.known.map(|mean| mean.estimate))
    }
}

/// The effect of the order on a number.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderEffect {
    /// The test.
    pub test: String,
    /// The number.
    pub metric: Metric,
    /// Second ÷ first.
    pub change: Change,
}

impl OrderEffect {
    /// A remark.
    pub fn sentence(&self) -> String {
        let (low, high) = self.change.interval(ALPHA);
        format!(
            "{}: what ran second in a round had {} % {} ({} to {} %): the target remembers the run before. It cancels in the \
             answer; a longer --rest makes it smaller",
            self.test,
            text::signed(percent_of(self.change.estimate)),
            self.metric.title(),
            text::signed(percent_of(low)),
            text::signed(percent_of(high))
        )
    }
}

/// How the sides compare after some rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// All numbers of all tests, A as the old and B as the new side.
    pub tests: Vec<ComparedTest>,
    /// The numbers that have to be settled.
    pub questions: Vec<Question>,
    /// Effects of the order that are certain.
    pub order: Vec<OrderEffect>,
    /// Remarks on the tests.
    pub notes: Vec<String>,
}

impl Standing {
    /// True if every question is settled.
    pub fn is_settled(&self) -> bool {
        !self.questions.is_empty() && self.questions.iter().all(|question| question.is_settled)
    }

    /// Rounds after which every question is settled, as far as it can be known.
    pub fn rounds(&self) -> Option<usize> {
        let open = self.questions.iter().filter(|question| !question.is_settled);
        open.map(|question| question.rounds).try_fold(0, |most, rounds| Some(most.max(rounds?)))
    }
}

/// Compares the sides over these rounds, of at most `planned`. `decisive` are the numbers that have to be settled.
///
/// # Errors
/// The sides have different tests, or one had other tests in another round.
pub fn standing(
    rounds: &[Round],
    planned: usize,
    decisive: &[Metric],
    goal: Goal,
    tolerance: f64,
) -> Result<Standing, TurnsError> {
    let matched = matched(rounds)?;
    let mut tests = compare_usual(&matched, decisive, tolerance, Design::Rounds { planned });
    let mut found = Standing { tests: Vec::new(), questions: Vec::new(), order: Vec::new(), notes: Vec::new() };
    let count = matched.len() * decisive.len();
    for (test, compared) in matched.iter().zip(&mut tests) {
        compared.label = if matched.len() > 1 { named(test) } else { label(test) };
        found.notes.extend(other_blocks(test));
        for &metric in decisive {
            let rows = &compared.rows;
            let Some(row) = rows.iter().find(|row| row.metric == metric) else { continue };
            found.questions.push(question(test, &compared.label, row, goal, tolerance, count));
            found.order.extend(order(rounds, test, &compared.label, metric));
        }
    }
    found.tests = tests;
    Ok(found)
}

fn question(test: &TestPair, label: &str, row: &MetricRow, goal: Goal, tolerance: f64, count: usize) -> Question {
    let known = ratios(test, row.metric).and_then(|ratios| watched_mean(&ratios));
    let decided = row.change.map_or(Decision::Open, |change| decision(&change, tolerance, count));
    let (is_settled, rounds) = match goal {
        Goal::Decided => {
            (decided != Decision::Open, row.change.and_then(|change| rounds_to_decide(&change, tolerance, count)))
        }
        Goal::Known(share) => {
            (known.is_some_and(|mean| mean.is_known_to(share)), known.and_then(|mean| mean.rounds_to(share)))
        }
    };
    Question {
        test: label.to_owned(),
        metric: row.metric,
        change: row.change,
        known,
        decision: decided,
        is_settled,
        rounds,
    }
}

/// B ÷ A in each round.
fn ratios(test: &TestPair, metric: Metric) -> Option<Vec<f64>> {
    let (a, b) = (test.old.numbers(metric).ok()?, test.new.numbers(metric).ok()?);
    Some(b.iter().zip(&a).map(|(b, a)| b / a).collect())
}

fn order(rounds: &[Round], test: &TestPair, label: &str, metric: Metric) -> Option<OrderEffect> {
    let (a, b) = (test.old.numbers(metric).ok()?, test.new.numbers(metric).ok()?);
    let orders: Option<Vec<usize>> = rounds.iter().map(|round| round.first).collect();
    let in_order = orders?.into_iter().zip(a.into_iter().zip(b));
    let (first, second): (Vec<f64>, Vec<f64>) =
        in_order.map(|(first, (a, b))| if first == 0 { (a, b) } else { (b, a) }).unzip();
    Some(OrderEffect { test: label.to_owned(), metric, change: order_effect(&first, &second)? })
}

/// The tests of both sides, in their order: what they were asked may differ, that is what is compared.
fn matched(rounds: &[Round]) -> Result<Vec<TestPair>, TurnsError> {
    let Some(first) = rounds.first() else { return Ok(Vec::new()) };
    let names = |tests: &[Observation]| match tests {
        [] => "no test with I/O".to_owned(),
        tests => tests.iter().map(|test| test.asked.label()).collect::<Vec<_>>().join(", "),
    };
    let [a, b] = &first.sides;
    let alike = |(a, b): (&Observation, &Observation)| a.asked.direction == b.asked.direction;
    if a.len() != b.len() || !a.iter().zip(b).all(alike) || a.is_empty() {
        return Err(TurnsError::OtherSides { a: names(a), b: names(b) });
    }
    let is_same = |round: &Round| round.sides.iter().zip(&first.sides).all(|(one, other)| one.len() == other.len());
    if !rounds.iter().all(is_same) {
        return Err(TurnsError::OtherRounds);
    }
    let side = |side: usize, at: usize| {
        let runs: Vec<Observation> = rounds.iter().map(|round| round.sides[side][at].clone()).collect();
        Test { asked: runs[0].asked.clone(), name: None, runs }
    };
    Ok((0..a.len()).map(|at| TestPair { old: side(0, at), new: side(1, at) }).collect())
}

/// The label of a test: that of both sides if it is the same.
fn label(test: &TestPair) -> String {
    let [a, b] = [&test.old, &test.new].map(|side| side.asked.label());
    if a == b { a } else { format!("{a} against {b}") }
}

/// The label after the name of the job, for one of several tests.
fn named(test: &TestPair) -> String {
    match test.old.runs.first().map(|run| run.name.as_str()) {
        Some(name) if !name.is_empty() => format!("{name}: {}", label(test)),
        _ => label(test),
    }
}

fn other_blocks(test: &TestPair) -> Option<String> {
    let [a, b] = [&test.old, &test.new].map(|side| side.asked.block);
    let differ = a.is_some() && b.is_some() && a != b;
    differ.then(|| format!("{}: the block sizes differ, so IOPS count different amounts of data", label(test)))
}

/// The two sentences that end the comparison: the answer, and how sure it can be. `seconds` is the time of a round.
pub fn turns_sentences(found: &Standing, goal: Goal, tolerance: f64, rounds: usize, seconds: f64) -> [String; 2] {
    let is_one = found.questions.len() == 1;
    let mut answers: Vec<String> = Vec::new();
    for question in &found.questions {
        let answer = answer(question, goal, tolerance);
        answers.push(if is_one { answer } else { format!("{}: {answer}", question.test) });
    }
    if answers.is_empty() {
        return ["Nothing was compared.".to_owned(), "No round was complete.".to_owned()];
    }
    [text::capitalised(&format!("{}.", answers.join("; "))), rest(found, goal, rounds, seconds)]
}

fn answer(question: &Question, goal: Goal, tolerance: f64) -> String {
    let (low, high) = question.interval(goal);
    let title = question.metric.title();
    let Some(estimate) = question.estimate() else { return format!("cannot tell: {title} have no interval yet") };
    let ends = match low.is_finite() && high.is_finite() {
        true => format!(" ({} to {} %)", text::signed(percent_of(low)), text::signed(percent_of(high))),
        false => String::new(),
    };
    let number = format!("{title} {} %{ends}", text::signed(percent_of(estimate)));
    let within = text::chosen_percent(tolerance);
    match (goal, question.decision) {
        (Goal::Known(share), _) if question.is_settled => {
            format!("B ÷ A is known to ±{}: {number}", text::chosen_percent(share))
        }
        (Goal::Known(share), _) => format!("B ÷ A is not known to ±{}: {number}", text::chosen_percent(share)),
        (Goal::Decided, Decision::Differs) => {
            let is_better = (estimate > 0.0) == question.metric.grows_better();
            let small = low.abs().max(high.abs()) < tolerance.ln_1p();
            let less = if small { format!(", by less than {within}") } else { String::new() };
            format!("B is {}{less}: {number}", if is_better { "faster" } else { "slower" })
        }
        (Goal::Decided, Decision::Same) => format!("A and B are the same within {within}: {number}"),
        (Goal::Decided, Decision::Open) => format!("cannot tell if A and B differ: {number}"),
    }
}

fn rest(found: &Standing, goal: Goal, rounds: usize, seconds: f64) -> String {
    if found.is_settled() {
        let changes = found.questions.iter().filter_map(|question| question.change);
        let visible = changes.map(|change| change.smallest_visible()).fold(0.0, f64::max);
        return match (goal, visible) {
            (Goal::Known(_), _) => {
                format!("The interval holds although it was looked at after each of the {rounds} rounds.")
            }
            (_, 0.0) => format!("All {rounds} rounds were equal, so any change would have been seen."),
            (_, visible) if visible.is_finite() => {
                format!("{rounds} rounds with this noise show a change of {}.", text::percent(visible.exp_m1()))
            }
            _ => format!("It took {rounds} rounds."),
        };
    }
    match found.rounds() {
        Some(needed) if needed > rounds => {
            let more = (needed - rounds) as u64;
            format!(
                "About {} would settle it, {}.",
                text::counted(more, "more round"),
                text::span(seconds * measure::float(more))
            )
        }
        _ if rounds < 4 => "It takes at least four rounds, five for a width.".to_owned(),
        _ => {
            "200 rounds would not settle it: the difference is at the tolerance, or the noise is too large.".to_owned()
        }
    }
}

/// The change so far for a line of progress: `+4.6 % (+2.9 to +6.3)`; `None` before there is an estimate.
pub fn turns_progress(question: &Question, goal: Goal) -> Option<String> {
    let (low, high) = question.interval(goal);
    let estimate = text::signed(percent_of(question.estimate()?)) + " %";
    let has_ends = low.is_finite() && high.is_finite() && percent_of(high) < 1000.0;
    Some(if has_ends {
        format!("{estimate} ({} to {})", text::signed(percent_of(low)), text::signed(percent_of(high)))
    } else {
        estimate
    })
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
