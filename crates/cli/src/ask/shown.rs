//! The answer as text and as JSON.

use super::Question;
use super::rounds::{Found, Rate};
use crate::failure::Failure;
use analysis::question::{Answer, Number, Observed, Part, Rule, of_rounds, of_rules};
use analysis::thousands;
use formats::printable;
use measure::Direction;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use survey::ProfileRule;

/// Rounds of a question, to be shown.
pub(super) struct Report<'a> {
    pub(super) question: &'a Question,
    pub(super) path: &'a Path,
    pub(super) found: &'a Found,
}

/// A rule with what its rounds said.
struct Judged<'a> {
    written: &'a ProfileRule,
    rule: Rule,
    rounds: &'a [Observed],
    answer: Answer,
}

impl Report<'_> {
    fn judged(&self, test: usize) -> Vec<Judged<'_>> {
        let rules = self.question.profile.tests[test].rules.iter().zip(&self.found.rules[test]);
        let judge = |(written, rounds): (&'_ ProfileRule, &'_ Vec<Observed>)| {
            // It was read before anything was measured.
            let rule = written.rule(self.question.units).ok()?;
            let answers: Vec<Answer> = rounds.iter().map(|round| round.answer).collect();
            Some((rule, of_rounds(&answers)))
        };
        rules
            .filter_map(|(written, rounds)| {
                let (rule, answer) = judge((written, rounds))?;
                Some(Judged { written, rule, rounds, answer })
            })
            .collect()
    }

    /// The answer; `None` if the profile has no limits.
    pub(super) fn answer(&self) -> Option<Answer> {
        let tests = 0..self.question.profile.tests.len();
        let all: Vec<Answer> = tests
            .flat_map(|test| self.judged(test))
            .filter(|judged| !judged.written.advice)
            .map(|judged| judged.answer)
            .collect();
        (!all.is_empty()).then(|| of_rules(&all))
    }

    /// Everything as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (at, test) in self.question.profile.tests.iter().enumerate() {
            let _ = writeln!(text, "{}", test.name);
            for rates in &self.found.rates[at] {
                let _ = writeln!(text, "  {}", rates.iter().map(rate).collect::<Vec<_>>().join("; "));
            }
            for judged in self.judged(at) {
                let _ = writeln!(text, "  {}", judged.line());
                let _ = writeln!(text, "    {} ({})", judged.written.source, judged.written.date);
            }
        }
        for sentence in self.sentences() {
            text += &crate::width::wrapped(&sentence, "", crate::width::of_text(crate::width::of_stdout()));
        }
        printable::lines(&text).into_owned()
    }

    /// The findings, then the answer, in sentences.
    fn sentences(&self) -> Vec<String> {
        let mut all = self.found.findings.clone();
        all.extend(self.answers());
        all
    }

    /// The answer in sentences.
    pub(super) fn answers(&self) -> Vec<String> {
        let profile = &self.question.profile;
        let place = format!("on {}{}", self.path.display(), self.question.scale());
        let answer = match (self.answer(), &self.found.until) {
            _ if self.found.cut.is_some() => {
                let done: usize = self.found.rates.iter().map(Vec::len).sum();
                format!("No answer, {place}: it was ended after {done} of {} runs.", self.question.runs())
            }
            (None, _) => format!("No limit is published: these are the numbers {place}, without an answer."),
            (Some(Answer::Yes), None) => format!("Yes, {place}."),
            (Some(Answer::Yes), Some((seconds, sentence))) => {
                format!("Yes, {place}, for the first {seconds:.0} s: {sentence}")
            }
            (Some(Answer::No), _) => format!("No, {place}: {}.", self.missed(Answer::No)),
            (Some(Answer::CannotTell), _) => format!(
                "Cannot tell, {place}: {}. A longer --time helps, unless it is at the limit.",
                self.missed(Answer::CannotTell)
            ),
        };
        vec![format!("{} {answer}", profile.question), format!("Not asked: {}", profile.not_asked)]
    }

    /// The rows of a table: test, number, lowest and highest round, limit, answer and source.
    pub(super) fn rows(&self) -> Vec<[String; 7]> {
        let mut rows = Vec::new();
        for (at, test) in self.question.profile.tests.iter().enumerate() {
            for judged in self.judged(at) {
                let [low, high] = judged.ends().unwrap_or_default();
                let advice = if judged.written.advice { " (advice)" } else { "" };
                let source = format!("{} ({})", judged.written.source, judged.written.date);
                rows.push([
                    test.name.clone(),
                    judged.written.number.clone(),
                    low,
                    high,
                    format!("{}{advice}", limit(&judged.rule)),
                    word(judged.answer).to_owned(),
                    source,
                ]);
            }
            for direction in Direction::ALL {
                let rates = || self.found.rates[at].iter().flatten().filter(|rate| rate.direction == direction);
                let name = crate::capacity::name(direction);
                let mut row = |what: &str, values: Vec<f64>, shown: fn(f64) -> String| {
                    let ends = (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max));
                    if let (Some(low), Some(high)) = ends {
                        let blank = String::new;
                        rows.push([
                            test.name.clone(),
                            format!("{name} {what}"),
                            shown(low),
                            shown(high),
                            blank(),
                            blank(),
                            blank(),
                        ]);
                    }
                };
                row("iops", rates().map(|rate| rate.iops).collect(), |iops| format!("{}/s", thousands(iops)));
                row("bandwidth", rates().map(|rate| rate.bytes_per_second).collect(), megabytes);
                row("p99", rates().filter_map(|rate| rate.p99).collect(), crate::capacity::time);
            }
        }
        rows
    }

    /// The numbers whose rules have this answer.
    fn missed(&self, wanted: Answer) -> String {
        let mut all = Vec::new();
        for (at, test) in self.question.profile.tests.iter().enumerate() {
            let judged = self.judged(at).into_iter();
            let judged = judged.filter(|judged| judged.answer == wanted && !judged.written.advice);
            all.extend(judged.map(|judged| {
                let range = judged.range().unwrap_or_else(|| "not measured".to_owned());
                format!("{} of {} is {range}, and must be {}", judged.written.number, test.name, limit(&judged.rule))
            }));
        }
        all.join("; ")
    }

    /// Everything as JSON.
    pub(super) fn document(&self) -> Result<String, Failure> {
        let test = |at: usize| {
            let rounds = self.found.rates[at].iter().map(|rates| rates.iter().map(rate_document).collect::<Vec<_>>());
            json!({
                "name": self.question.profile.tests[at].name,
                "rounds": rounds.collect::<Vec<_>>(),
                "rules": self.judged(at).iter().map(Judged::document).collect::<Vec<_>>(),
            })
        };
        crate::streams::document(
            "ask",
            json!({
                "name": self.question.name,
                "question": self.question.profile.question,
                "target": self.path.display().to_string(),
                "units": self.question.units,
                "unit": self.question.profile.unit,
                "answer": self.answer().filter(|_| self.found.cut.is_none()).map(word),
                "seconds_until_spent": self.found.until.as_ref().map(|(seconds, _)| seconds),
                "tests": (0..self.question.profile.tests.len()).map(test).collect::<Vec<_>>(),
                "not_asked": self.question.profile.not_asked,
                "findings": self.found.findings,
                "sentences": self.sentences(),
            }),
        )
    }
}

impl Judged<'_> {
    /// The number with its limit and answer in a line.
    fn line(&self) -> String {
        let ios: u64 = self.rounds.iter().map(|round| round.ios).sum();
        let range = self.range().unwrap_or_else(|| "not measured".to_owned());
        let yes = self.rounds.iter().filter(|round| round.answer == Answer::Yes).count();
        let strength = if self.written.advice { "advised" } else { "wanted" };
        format!(
            "{} {range}, {strength} {}: {} ({yes} of {} rounds say yes; {} {})",
            self.written.number,
            limit(&self.rule),
            word(self.answer),
            self.rounds.len(),
            thousands(measure::float(ios)),
            if self.rule.part == Part::Sync { "syncs" } else { "I/Os" },
        )
    }

    /// The smallest and the largest number of the rounds.
    fn range(&self) -> Option<String> {
        let [low, high] = self.ends()?;
        Some(if low == high { low } else { format!("{low} to {high}") })
    }

    fn ends(&self) -> Option<[String; 2]> {
        let values = || self.rounds.iter().filter_map(|round| round.value);
        let ends = [values().reduce(f64::min)?, values().reduce(f64::max)?];
        Some(ends.map(|value| number(&self.rule, value)))
    }

    fn document(&self) -> Value {
        let round = |round: &Observed| json!({"value": round.value, "ios": round.ios, "answer": word(round.answer)});
        json!({
            "number": self.written.number,
            "unit": match self.rule.number { Number::Iops => "per_second", Number::Bandwidth => "bytes_per_second", _ => "ns" },
            "limit": self.rule.limit,
            "is_advice": self.written.advice,
            "answer": word(self.answer),
            "rounds": self.rounds.iter().map(round).collect::<Vec<_>>(),
            "source": self.written.source,
            "date": self.written.date,
        })
    }
}

/// A limit in words: `below 10 ms`, `500/s or more`.
pub(super) fn limit(rule: &Rule) -> String {
    let number = number(rule, rule.limit);
    if rule.is_time() { format!("below {number}") } else { format!("{number} or more") }
}

/// A number of a rule with its unit.
fn number(rule: &Rule, value: f64) -> String {
    match rule.number {
        Number::Iops => format!("{}/s", thousands(value)),
        Number::Bandwidth => megabytes(value),
        Number::Percentile(_) | Number::Mean => crate::capacity::time(value),
    }
}

fn megabytes(bytes: f64) -> String {
    format!("{} MB/s", thousands(bytes / 1e6))
}

fn rate(rate: &Rate) -> String {
    let p99 = rate.p99.map(|p99| format!(", p99 {}", crate::capacity::time(p99))).unwrap_or_default();
    let iops = thousands(rate.iops);
    format!("{} {iops} IOPS, {}{p99}", crate::capacity::name(rate.direction), megabytes(rate.bytes_per_second))
}

fn rate_document(rate: &Rate) -> Value {
    json!({
        "direction": crate::capacity::name(rate.direction),
        "iops": rate.iops,
        "bytes_per_second": rate.bytes_per_second,
        "p99_ns": rate.p99,
    })
}

const fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::CannotTell => "cannot tell",
    }
}
