//! The answer as text and as JSON.

use super::page::NumberRow;
use super::question::Question;
use super::rounds::{Rate, RoundResults};
use super::units::{Search, TrialAnswer};
use crate::failure::Failure;
use analysis::question::{Answer, FEWEST_INTERVALS, Number, Part, Rule, RuleObservation, of_rules};
use formats::printable;
use measure::Direction;
use measure::text;
use report::data::{LimitedRound, LimitedRule, Limits};
use serde_json::{Value, json};
use session::colour::Tone;
use std::fmt::Write;
use std::path::Path;
use survey::{ProfileRule, SentenceNumber};

/// The answers to the question of a profile, with their colours on a terminal.
pub(super) const ANSWERS: [(&str, Tone); 4] =
    [(" Yes,", Tone::Good), (" No,", Tone::Bad), (" Cannot tell,", Tone::Limited), (" No answer,", Tone::Limited)];

/// Rounds of a question, to be shown.
pub(super) struct Report<'a> {
    pub(super) question: &'a Question,
    pub(super) path: &'a Path,
    pub(super) found: &'a RoundResults,
    /// The search for a number of units, if it was asked for.
    pub(super) search: Option<&'a Search>,
}

/// A rule with what its rounds said.
struct RuleAnswer<'a> {
    written: &'a ProfileRule,
    rule: Rule,
    rounds: &'a [RuleObservation],
    answer: Answer,
    /// False if the numbers are not of the storage.
    is_of_storage: bool,
}

impl<'a> Report<'a> {
    fn judged(&self, test: usize) -> Vec<RuleAnswer<'a>> {
        let rules = self.question.profile.tests[test].rules.iter().zip(&self.found.rules[test]);
        let answered = |(written, rounds): (&'a ProfileRule, &'a Vec<RuleObservation>)| {
            // It was read before anything was measured.
            let rule = written.rule(self.question.units()).ok()?;
            let is_of_storage = self.is_of_storage();
            Some(RuleAnswer { written, rule, rounds, answer: rule.of_rounds(rounds), is_of_storage })
        };
        rules.filter_map(answered).collect()
    }

    /// False if a finding says that the numbers are not of the storage: then there is no answer.
    fn is_of_storage(&self) -> bool {
        self.found.findings.refused.is_empty()
    }

    /// The answer that is given: none of numbers that are not of the storage, or of some rounds.
    fn given(&self) -> Option<Answer> {
        self.answer().filter(|_| self.found.cut.is_none() && self.is_of_storage())
    }

    /// The answer; `None` if the profile has no limits. To a number of units: yes if there is one.
    pub(super) fn answer(&self) -> Option<Answer> {
        let Some(search) = self.search else { return self.answer_of_rounds() };
        Some(match (search.size.enough_for, search.size.too_many) {
            (Some(_), _) => Answer::Yes,
            (None, Some(1)) => Answer::No,
            (None, _) => Answer::CannotTell,
        })
    }

    fn answer_of_rounds(&self) -> Option<Answer> {
        let tests = 0..self.question.profile.tests.len();
        let all: Vec<Answer> = tests
            .flat_map(|test| self.judged(test))
            .filter(|judged| !judged.written.advice)
            .map(|judged| judged.answer)
            .collect();
        (!all.is_empty()).then(|| of_rules(&all))
    }

    pub(super) fn text(&self) -> String {
        let mut text: String = self.tried().map(|line| format!("{line}\n")).collect();
        if self.search.is_some() {
            let _ = writeln!(text, "The rounds{}:", self.question.scale());
        }
        for (at, test) in self.question.profile.tests.iter().enumerate() {
            let _ = writeln!(text, "{}", test.name);
            for rates in &self.found.rates[at] {
                let _ = writeln!(text, "  {}", rates.iter().map(rate).collect::<Vec<_>>().join("; "));
            }
            for judged in self.judged(at) {
                let _ = write!(text, "  {}", on_terminal(&judged.line(), "    "));
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
        let mut all = self.findings();
        all.extend(self.answers());
        all
    }

    /// The findings that the numbers are not of the storage, accepted or not.
    pub(super) fn findings(&self) -> Vec<String> {
        [&self.found.findings.refused[..], &self.found.findings.accepted].concat()
    }

    pub(super) fn answers(&self) -> Vec<String> {
        let profile = &self.question.profile;
        let place = format!("on {}{}", self.path.display(), self.question.scale());
        let answer = match (self.answer_of_rounds(), &self.found.until) {
            _ if !self.is_of_storage() => {
                format!("No answer, {place}: the numbers are not of the storage (NOT A STORAGE RESULT says why).")
            }
            _ if self.search.is_some() && self.found.cut.is_none() => self.number_of_units(),
            _ if self.found.cut.is_some() => {
                let done: usize = self.found.rates.iter().map(Vec::len).sum();
                format!("No answer, {place}: it was ended after {done} of {} runs.", self.question.runs())
            }
            (None, _) => {
                let first = self.sentences_of_tests().into_iter().next();
                let first = first.unwrap_or_else(|| "the numbers are above".to_owned());
                format!("On {}, {first}.", self.path.display())
            }
            (Some(Answer::Yes), None) => format!("Yes, {place}."),
            (Some(Answer::Yes), Some((seconds, sentence))) => {
                format!("Yes, {place}, for the first {}: {sentence}", text::span(*seconds))
            }
            (Some(Answer::No), _) => format!("No, {place}: {}.", self.missed(Answer::No)),
            (Some(Answer::CannotTell), _) => format!(
                "Cannot tell, {place}: {}. A longer --time helps, unless it is at the limit.",
                self.missed(Answer::CannotTell)
            ),
        };
        let mut all = vec![format!("{} {answer}", profile.question)];
        if self.found.cut.is_none() && self.is_of_storage() {
            let has_limits = self.answer_of_rounds().is_some();
            let more = self.sentences_of_tests().into_iter().skip(usize::from(!has_limits));
            all.extend(more.map(|sentence| format!("{sentence}.")));
            all.extend((!has_limits).then(|| "No limit is published, so there is no yes or no.".to_owned()));
        }
        all.extend(self.rates_are_enough_for().filter(|_| self.is_of_storage()));
        all.push(format!("Not covered: {}", profile.not_asked));
        all
    }

    /// The sentences of the tests, with their numbers.
    fn sentences_of_tests(&self) -> Vec<String> {
        (0..self.question.profile.tests.len()).filter_map(|test| self.sentence_of(test)).collect()
    }

    fn sentence_of(&self, test: usize) -> Option<String> {
        let (test, values) = (&self.question.profile.tests[test], &self.found.sentences[test]);
        let numbers = test.numbers().unwrap_or_default();
        let range = |(number, values): (&SentenceNumber, &Vec<f64>)| range_of(number.number, values);
        test.filled_sentence(numbers.iter().zip(values).map(range))
    }

    /// The numbers of units that were tried, a line each.
    fn tried(&self) -> impl Iterator<Item = String> + '_ {
        self.search.into_iter().flat_map(|search| &search.tried).map(|tried| {
            let what = match tried.outcome {
                TrialAnswer::Look(true) => "a look: keeps its limits".to_owned(),
                TrialAnswer::Look(false) => "a look: misses a limit".to_owned(),
                TrialAnswer::Rounds(answer) => {
                    format!("{}: {}", text::counted(u64::from(self.question.rounds), "round"), word(answer))
                }
            };
            format!("  {}, {} s: {what}", self.question.counted(tried.units), tried.seconds)
        })
    }

    /// The number of units in words.
    fn number_of_units(&self) -> String {
        let size = self.search.map(|search| search.size).unwrap_or_default();
        let (on, counted) = (self.path.display(), |units: u32| self.question.counted(units));
        let at_most = self.question.profile.most.unwrap_or(1);
        match (size.enough_for, size.too_many) {
            (Some(yes), Some(no)) => {
                let spent = self.found.until.as_ref();
                let spent = spent.map(|(seconds, why)| format!(" Only for the first {}: {why}", text::span(*seconds)));
                format!("{}, on {on}: it is too little for {no}.{}", counted(yes), spent.unwrap_or_default())
            }
            (Some(yes), None) if yes == at_most => {
                format!("At least {}, on {on}: no larger number was tried.", counted(yes))
            }
            (Some(yes), None) => format!("At least {}, on {on}: the rounds above it cannot tell.", counted(yes)),
            (None, Some(1)) => format!("Not even 1, on {on}: {}.", self.missed(Answer::No)),
            (None, _) => format!(
                "Cannot tell, on {on}: no number had a yes in all rounds. A longer --time helps, if the disk is calm."
            ),
        }
    }

    /// The number of units for which the rates of the slowest and the fastest round are enough.
    fn units_of_rates(&self) -> Option<[f64; 2]> {
        let units = f64::from(self.question.units());
        let mut found: Option<[f64; 2]> = None;
        self.question.profile.unit.as_ref().filter(|_| self.question.profile.most.is_none())?;
        for judged in (0..self.question.profile.tests.len()).flat_map(|test| self.judged(test)) {
            let values = || judged.rounds.iter().filter_map(|round| round.value);
            let ends = values().reduce(f64::min).zip(values().reduce(f64::max));
            if let Some((low, high)) = ends.filter(|_| !judged.rule.is_time() && !judged.written.advice) {
                let of = |value: f64| (value / judged.rule.limit * units).floor();
                let [known_low, known_high] = found.unwrap_or([f64::INFINITY; 2]);
                found = Some([known_low.min(of(low)), known_high.min(of(high))]);
            }
        }
        found
    }

    fn rates_are_enough_for(&self) -> Option<String> {
        let [low, high] = self.units_of_rates()?.map(text::number);
        let unit = self.question.profile.unit.as_deref().unwrap_or_default();
        let range = if low == high { low } else { format!("{low} to {high}") };
        Some(format!("By its rates alone, this is enough for {range} {unit}s, by the slowest and the fastest round."))
    }

    fn search_document(&self) -> Option<Value> {
        let search = self.search?;
        let tried = search.tried.iter().map(|tried| {
            let (stage, answer) = match tried.outcome {
                TrialAnswer::Look(true) => ("look", "yes"),
                TrialAnswer::Look(false) => ("look", "no"),
                TrialAnswer::Rounds(answer) => ("rounds", word(answer)),
            };
            json!({"units": tried.units, "seconds": tried.seconds, "stage": stage, "answer": answer})
        });
        Some(json!({
            "enough_for": search.size.enough_for,
            "too_many": search.size.too_many,
            "tried": tried.collect::<Vec<_>>(),
        }))
    }

    /// All numbers with limits, and the rates of all tests.
    pub(super) fn rows(&self) -> Vec<NumberRow> {
        let mut rows = Vec::new();
        for (at, test) in self.question.profile.tests.iter().enumerate() {
            for judged in self.judged(at) {
                let advice = if judged.written.advice { " (advice)" } else { "" };
                let source = format!("{} ({})", judged.written.source, judged.written.date);
                rows.push(NumberRow {
                    test: test.name.clone(),
                    number: judged.written.number.clone(),
                    ends: judged.ends().unwrap_or_default(),
                    limit: format!("{}{advice}", limit(&judged.rule)),
                    answer: judged.answer_word().to_owned(),
                    source,
                });
            }
            for direction in Direction::ALL {
                let rates = || self.found.rates[at].iter().flatten().filter(|rate| rate.direction == direction);
                let name = direction.word();
                let mut row = |what: &str, values: Vec<f64>, shown: fn(f64) -> String| {
                    let ends = (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max));
                    if let (Some(low), Some(high)) = ends {
                        let (test, number, ends) =
                            (test.name.clone(), format!("{name} {what}"), [low, high].map(shown));
                        rows.push(NumberRow { test, number, ends, ..NumberRow::default() });
                    }
                };
                row("iops", rates().map(|rate| rate.iops).collect(), |iops| format!("{}/s", text::number(iops)));
                row("bandwidth", rates().map(|rate| rate.bytes_per_second).collect(), text::decimal_rate);
                row("p99", rates().filter_map(|rate| rate.p99).collect(), text::time);
            }
        }
        rows
    }

    pub(super) fn limits(&self, title: &str, answer: &str) -> Limits {
        let tests = self.question.profile.tests.iter().enumerate();
        let rules = tests.flat_map(|(at, test)| self.judged(at).into_iter().map(|judged| judged.limited(&test.name)));
        Limits {
            title: title.to_owned(),
            sentences: vec![answer.to_owned()],
            rules: rules.collect(),
            notes: self.findings(),
        }
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

    pub(super) fn document(&self) -> Result<String, Failure> {
        let test = |at: usize| {
            let rounds = self.found.rates[at].iter().map(|rates| rates.iter().map(rate_document).collect::<Vec<_>>());
            json!({
                "name": self.question.profile.tests[at].name,
                "rounds": rounds.collect::<Vec<_>>(),
                "sentence": self.sentence_of(at).filter(|_| self.is_of_storage()),
                "rules": self.judged(at).iter().map(RuleAnswer::document).collect::<Vec<_>>(),
            })
        };
        crate::streams::document(
            "ask",
            json!({
                "name": self.question.name,
                "question": self.question.profile.question,
                "target": self.path.display().to_string(),
                "place": crate::pages::place_document(&self.found.place, &self.path.display().to_string()),
                "units": self.question.units(),
                "unit": self.question.profile.unit,
                "search": self.search_document(),
                "rates_are_enough_for": self.units_of_rates().filter(|_| self.is_of_storage()),
                "answer": self.given().map(word),
                "seconds_until_spent": self.found.until.as_ref().map(|(seconds, _)| seconds),
                "tests": (0..self.question.profile.tests.len()).map(test).collect::<Vec<_>>(),
                "not_asked": self.question.profile.not_asked,
                "findings": self.found.findings.refused,
                "accepted": self.found.findings.accepted,
                "sentences": self.sentences(),
            }),
        )
    }
}

/// A line, wrapped on a terminal with room for an indent of two; it stays one for programs that read it.
pub(super) fn on_terminal(line: &str, indent: &str) -> String {
    match crate::width::of_stdout() {
        None => format!("{line}\n"),
        terminal => crate::width::wrapped(line, indent, crate::width::of_text(terminal).saturating_sub(2)),
    }
}

/// `2 of 300 beyond`: what rounds have instead of a percentile for which they have too few I/Os.
fn beyond(rounds: &[RuleObservation]) -> Option<String> {
    let counts = rounds.iter().filter_map(|round| Some((round.beyond? * measure::float(round.ios), round.ios)));
    let (beyond, all) = counts.reduce(|one, other| (one.0 + other.0, one.1 + other.1))?;
    Some(format!("{} of {} beyond", text::grouped(beyond), text::number(measure::float(all))))
}

impl RuleAnswer<'_> {
    /// Its answer in words; none of numbers that are not of the storage.
    fn answer_word(&self) -> &'static str {
        if self.is_of_storage { word(self.answer) } else { "not judged" }
    }

    /// The number with its limit and answer in a line.
    fn line(&self) -> String {
        let ios: u64 = self.rounds.iter().map(|round| round.ios).sum();
        let range = self.range().unwrap_or_else(|| "not measured".to_owned());
        let one = if self.answer == Answer::No { Answer::No } else { Answer::Yes };
        let agree = self.rounds.iter().filter(|round| round.answer == one).count();
        let strength = if self.written.advice { "advised" } else { "wanted" };
        let (number, limit) = (&self.written.number, limit(&self.rule));
        let part = if self.rule.part == Part::Sync { "syncs" } else { "I/Os" };
        let counted = format!("{} {part}", text::number(measure::float(ios)));
        let said = if self.is_of_storage {
            format!("{agree} of {} rounds say {}; ", self.rounds.len(), word(one))
        } else {
            String::new()
        };
        let why = self.reason().map_or_else(String::new, |why| format!("; {why}"));
        format!("{number} {range}, {strength} {limit}: {} ({said}{counted}{why})", self.answer_word())
    }

    /// The reason for an answer that its rounds do not give.
    fn reason(&self) -> Option<String> {
        let count = |of: fn(&RuleObservation) -> bool| self.rounds.iter().filter(|&round| of(round)).count();
        let of_all = |count: usize| format!("{count} of {} rounds", self.rounds.len());
        let (yes, no) = (count(|round| round.answer == Answer::Yes), count(|round| round.answer == Answer::No));
        let counts = [
            count(|round| round.ios == 0),
            count(|round| round.intervals < FEWEST_INTERVALS),
            count(|round| round.value.is_none()),
            count(|round| round.interval.is_none()),
        ];
        (self.is_of_storage && self.answer == Answer::CannotTell).then(|| match counts {
            _ if self.rounds.is_empty() => "nothing was measured".to_owned(),
            [none @ (1..), ..] => format!("{} had none of them", of_all(none)),
            [_, short @ (1..), ..] => {
                let fewest = self.rounds.iter().map(|round| round.intervals).min().unwrap_or(0);
                format!("{} too short: {fewest} whole half seconds, and {FEWEST_INTERVALS} are needed", of_all(short))
            }
            [_, _, few @ (1..), _] => format!("{} had too few for {}", of_all(few), self.written.number),
            [.., uneven @ (1..)] => format!("{} too uneven for an interval", of_all(uneven)),
            _ if yes > 0 && no > 0 => "the rounds differ".to_owned(),
            _ if yes == self.rounds.len() || 2 * no > self.rounds.len() => {
                "the rounds differ too much for so few of them".to_owned()
            }
            _ => format!("the interval of {} holds the limit", of_all(self.rounds.len() - yes - no)),
        })
    }

    /// Its rounds in a picture. Twice as good is half of a latency, or twice a rate.
    fn limited(&self, test: &str) -> LimitedRule {
        let times = |value: f64| if self.rule.is_time() { self.rule.limit / value } else { value / self.rule.limit };
        let known = |value: Option<f64>| value.map(times).filter(|times| times.is_finite() && *times > 0.0);
        let round = |round: &RuleObservation| {
            let ends = round.interval.map(|ends| if self.rule.is_time() { [ends[1], ends[0]] } else { ends });
            let beyond = || beyond(std::slice::from_ref(round)).unwrap_or_else(|| "not measured".to_owned());
            LimitedRound {
                value: round.value.map_or_else(beyond, |value| number(self.rule.number, value)),
                times: known(round.value),
                low: known(ends.map(|[low, _]| low)),
                high: known(ends.map(|[_, high]| high)),
                answer: word(if self.is_of_storage { round.answer } else { Answer::CannotTell }).to_owned(),
            }
        };
        LimitedRule {
            label: format!("{test}: {} {}", self.written.number, limit(&self.rule)),
            answer: word(self.answer).to_owned(),
            is_advice: self.written.advice,
            rounds: self.rounds.iter().map(round).collect(),
        }
    }

    /// The smallest and the largest number of the rounds.
    fn range(&self) -> Option<String> {
        let Some([low, high]) = self.ends() else {
            return beyond(self.rounds).map(|beyond| format!("not known ({beyond} the limit)"));
        };
        Some(if low == high { low } else { format!("{low} to {high}") })
    }

    fn ends(&self) -> Option<[String; 2]> {
        let values = || self.rounds.iter().filter_map(|round| round.value);
        let ends = [values().reduce(f64::min)?, values().reduce(f64::max)?];
        Some(ends.map(|value| number(self.rule.number, value)))
    }

    fn document(&self) -> Value {
        let round = |round: &RuleObservation| {
            let RuleObservation { value, interval, beyond, ios, intervals, answer, .. } = round;
            json!({
                "value": value,
                "interval": interval,
                "beyond": beyond,
                "ios": ios,
                "intervals": intervals,
                "answer": word(*answer),
            })
        };
        json!({
            "number": self.written.number,
            "unit": match self.rule.number { Number::Iops => "per_second", Number::Bandwidth => "bytes_per_second", _ => "ns" },
            "limit": self.rule.limit,
            "is_advice": self.written.advice,
            "answer": self.is_of_storage.then(|| word(self.answer)),
            "reason": self.reason(),
            "rounds": self.rounds.iter().map(round).collect::<Vec<_>>(),
            "source": self.written.source,
            "date": self.written.date,
        })
    }
}

/// A limit in words: `below 10 ms`, `500/s or more`.
pub(super) fn limit(rule: &Rule) -> String {
    let number = number(rule.number, rule.limit);
    if rule.is_time() { format!("below {number}") } else { format!("{number} or more") }
}

/// A number with its unit.
fn number(kind: Number, value: f64) -> String {
    match kind {
        Number::Iops => format!("{}/s", text::number(value)),
        Number::Bandwidth => text::decimal_rate(value),
        Number::Percentile(_) | Number::Mean => text::time(value),
    }
}

/// A number of a sentence: the smallest and the largest of the rounds; the sentence itself says `per second`.
fn range_of(kind: Number, values: &[f64]) -> String {
    let shown = |value: f64| if kind == Number::Iops { text::number(value) } else { number(kind, value) };
    let ends = values.iter().copied().reduce(f64::min).zip(values.iter().copied().reduce(f64::max));
    match ends.map(|(low, high)| [low, high].map(shown)) {
        None => "not known (too few I/Os)".to_owned(),
        Some([low, high]) if low == high => low,
        Some([low, high]) => format!("{low} to {high}"),
    }
}

fn rate(rate: &Rate) -> String {
    let p99 = rate.p99.map(|p99| format!(", p99 {}", text::time(p99))).unwrap_or_default();
    let iops = text::number(rate.iops);
    format!("{} {iops} IOPS, {}{p99}", rate.direction.word(), text::decimal_rate(rate.bytes_per_second))
}

fn rate_document(rate: &Rate) -> Value {
    json!({
        "direction": rate.direction.word(),
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
