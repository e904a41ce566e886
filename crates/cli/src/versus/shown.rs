//! Text and JSON of the rounds: a line per round as it ends, then the numbers and two sentences.

use super::rounds::{Ending, Measurement, Pairing, Settings};
use super::sides::NAMES;
use crate::failure::{Cut, Failure};
use crate::output::{Output, Verbosity};
use crate::streams;
use analysis::compare::{
    ComparedTest, Goal, MetricRow, OrderEffect, Question, Round, Standing, share_of, turns_progress, turns_sentences,
};
use analysis::statistics::Decision;
use formats::printable;
use measure::text;
use model::RunResult;
use serde_json::{Value, json};
use session::colour::CHANGES;

pub(super) struct Screen {
    /// Nowhere, if standard output is for the document alone.
    pub(super) out: Output,
    pub(super) verbosity: Verbosity,
}

impl Screen {
    fn lines(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_painted(&printable::lines(text), &CHANGES)
    }

    /// Prints what is going to be measured.
    pub(super) fn begin(&mut self, settings: &Settings) -> Result<(), Failure> {
        if self.verbosity.is_quiet() { Ok(()) } else { self.lines(&heading(settings)) }
    }

    /// The line of a round that ended.
    pub(super) fn round(&mut self, rounds: &[Round], found: &Standing, goal: Goal) -> Result<(), Failure> {
        let Some(question) = found.questions.first().filter(|_| !self.verbosity.is_quiet()) else { return Ok(()) };
        let head = if rounds.len() == 1 { table_head(question) } else { String::new() };
        let text = round_line(rounds, found, goal).unwrap_or_default();
        self.lines(&(head + &text))
    }

    pub(super) fn end(
        &mut self,
        settings: &Settings,
        measured: &Measurement<'_>,
        ending: &Ending,
    ) -> Result<(), Failure> {
        let mut text = String::new();
        let Some(found) = &measured.standing else { return Ok(()) };
        for test in &found.tests {
            text.push_str(&format!("\n{}\n{}", test.label, table(&test.rows)));
        }
        text.push_str(&format!("\n{}", sentences(settings, measured, found).join("\n")));
        text.push('\n');
        if !self.verbosity.is_quiet() {
            text.push_str(&format!("{}\n", on_intervals(settings)));
        }
        remarks(measured, ending).iter().for_each(|remark| text.push_str(&format!("! {remark}\n")));
        if let (Some(path), false) = (measured.folder.path(), self.verbosity.is_quiet()) {
            let path = path.display();
            let accepted: Vec<String> = measured.accepted().iter().map(|check| analysis::check_word(check)).collect();
            let accept = if accepted.is_empty() { String::new() } else { format!("--accept {} ", accepted.join(",")) };
            text.push_str(&format!(
                "Results: {path}\nThe same numbers: plumb compare {accept}--old {path}/a-*.json --new {path}/b-*.json\n"
            ));
        }
        let text = if self.verbosity.is_quiet() { text.trim_start().to_owned() } else { text };
        self.lines(&text)
    }
}

fn heading(settings: &Settings) -> String {
    let limits = settings.limits;
    let mut text = String::new();
    for (side, name) in NAMES.iter().enumerate() {
        text.push_str(&format!("{name}: {}\n", settings.words.describe(side)));
    }
    if !settings.words.job().is_empty() {
        text.push_str(&format!("Job: {}\n", settings.words.job()));
    }
    let how = match (limits.may_end_early, limits.goal) {
        (false, _) => format!("{} rounds", limits.most),
        (_, Goal::Decided) => format!("Until it is decided, at most {} rounds", limits.most),
        (_, Goal::Known(share)) => {
            format!("Until B ÷ A is known to ±{}, at most {} rounds", text::chosen_percent(share), limits.most)
        }
    };
    let order = match settings.pairing {
        Pairing::InTurns => format!("random order from seed {}", settings.seed),
        Pairing::Together => "both at the same time".to_owned(),
    };
    text + &format!("{how}; {order}.\n")
}

fn table_head(question: &Question) -> String {
    let title = question.metric.title();
    let head = format!(
        "{:>5}  {:<5} {:>12} {:>12} {:>9}   so far",
        "round",
        "order",
        format!("A {title}"),
        format!("B {title}"),
        "B ÷ A"
    );
    format!("\n{}\n{}\n", question.test, head.trim_end())
}

/// The last round: its numbers of the first question, and the interval of all so far.
fn round_line(rounds: &[Round], found: &Standing, goal: Goal) -> Option<String> {
    let (last, question) = (rounds.last()?, found.questions.first()?);
    let numbers = last.sides.each_ref().map(|side| side.first()?.number(question.metric).ok());
    let order = match last.first {
        Some(0) => "A, B",
        Some(_) => "B, A",
        None => "both",
    };
    let shown = numbers.map(|number| number.map_or_else(|| "-".to_owned(), |number| question.metric.text(number)));
    let change = match numbers {
        [Some(a), Some(b)] => format!("{} %", text::signed(100.0 * (b / a - 1.0))),
        _ => "-".to_owned(),
    };
    let so_far = turns_progress(question, goal).filter(|_| rounds.len() > 1).unwrap_or_default();
    let settled = found.questions.iter().filter(|question| question.is_settled).count();
    let count = match found.questions.len() {
        1 => String::new(),
        all => format!("  {settled} of {all} settled"),
    };
    let line =
        format!("{:>5}  {order:<5} {:>12} {:>12} {change:>9}   {so_far}{count}", rounds.len(), shown[0], shown[1]);
    Some(format!("{}\n", line.trim_end()))
}

fn table(rows: &[MetricRow]) -> String {
    let head = ["", "A", "B", "B ÷ A", "95 % interval", "B is", "visible from"];
    analysis::compare::table(head, rows.iter().map(MetricRow::cells))
}

fn sentences(settings: &Settings, measured: &Measurement<'_>, found: &Standing) -> [String; 2] {
    turns_sentences(found, settings.limits.goal, settings.tolerance, measured.rounds.len(), measured.seconds())
}

/// How the numbers are meant.
fn on_intervals(settings: &Settings) -> String {
    let words: Vec<String> = settings.metrics.iter().map(|metric| metric.title()).collect();
    format!(
        "Intervals: 95 %, for all looks together; tolerance {}. Decided by {}.",
        text::chosen_percent(settings.tolerance),
        words.join(", ")
    )
}

fn remarks(measured: &Measurement<'_>, ending: &Ending) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let rounds = text::counted(measured.rounds.len() as u64, "complete round");
    match ending {
        Ending::Cut(Cut::Signal(signal)) => found.push(format!("Cut short by signal {signal} after {rounds}.")),
        Ending::Cut(_) => found.push(format!("Ended by an error after {rounds}.")),
        Ending::Time => found.push(format!("--max-time is over after {rounds}.")),
        Ending::Settled | Ending::Rounds => {}
    }
    let standing = measured.standing.iter();
    found.extend(standing.clone().flat_map(|found| &found.notes).cloned());
    found.extend(standing.flat_map(|found| &found.order).map(OrderEffect::sentence));
    found.extend(measured.findings.accepted.iter().cloned());
    found
}

/// The JSON document; with the result of each run if they are not in a directory.
pub(super) fn document(settings: &Settings, measured: &Measurement<'_>, ending: &Ending) -> Result<String, Failure> {
    let standing = measured.standing.as_ref();
    let sentences = standing.map(|found| sentences(settings, measured, found).to_vec()).unwrap_or_default();
    let goal = match settings.limits.goal {
        Goal::Decided => Value::from("decided"),
        Goal::Known(share) => Value::from(share),
    };
    let mut parts = json!({
        "verdict": verdict(settings.limits.goal, standing),
        "ended": ended(ending),
        "until": goal,
        "tolerance": settings.tolerance,
        "rounds": measured.rounds.len(),
        "seed": settings.seed,
        "together": settings.pairing == Pairing::Together,
        "sides": { "a": settings.words.describe(0), "b": settings.words.describe(1), "job": settings.words.job() },
        "first": measured.rounds.iter().map(|round| round.first.map(|first| ["a", "b"][first])).collect::<Vec<_>>(),
        "questions": standing.iter().flat_map(|found| &found.questions).map(|one| question(one, settings.limits.goal)).collect::<Vec<_>>(),
        "pairs": standing.iter().flat_map(|found| &found.tests).flat_map(ComparedTest::documents).collect::<Vec<_>>(),
        "sentences": sentences,
        "notes": remarks(measured, ending),
        "results": measured.folder.path().map(|path| path.display().to_string()),
    });
    if measured.folder.path().is_none() {
        let native = |result: &RunResult| -> Result<Value, Failure> {
            Ok(serde_json::from_str(&formats::native::write(result)?)?)
        };
        let side =
            |side: usize| measured.results.iter().map(|round| native(&round[side])).collect::<Result<Vec<_>, _>>();
        parts["a"] = Value::from(side(0)?);
        parts["b"] = Value::from(side(1)?);
    }
    streams::document("versus", parts)
}

fn question(question: &Question, goal: Goal) -> Value {
    let (low, high) = question.interval(goal);
    json!({
        "test": question.test,
        "metric": question.metric.word(),
        "change": question.estimate().and_then(share_of),
        "low": share_of(low).filter(|_| low.is_finite()),
        "high": share_of(high),
        "settled": question.is_settled,
        "decision": decision(question.decision),
        "rounds_to_settle": question.rounds,
    })
}

fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Differs => "differs",
        Decision::Same => "same",
        Decision::Open => "cannot_tell",
    }
}

/// The verdict over all questions: one that differs makes the sides differ.
fn verdict(goal: Goal, found: Option<&Standing>) -> &'static str {
    let Some(found) = found.filter(|found| found.is_settled()) else { return "cannot_tell" };
    match goal {
        Goal::Known(_) => "known",
        Goal::Decided if found.questions.iter().any(|one| one.decision == Decision::Differs) => "differs",
        Goal::Decided => "same",
    }
}

fn ended(ending: &Ending) -> &'static str {
    match ending {
        Ending::Settled => "settled",
        Ending::Rounds => "rounds",
        Ending::Time => "time",
        Ending::Cut(Cut::Signal(_)) => "signal",
        Ending::Cut(_) => "error",
    }
}
