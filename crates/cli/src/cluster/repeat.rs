//! Repetitions of a run (`--repeat`): the table of highest, lowest, mean and standard deviation, the sentence, and the
//! JSON.

use super::page;
use super::shown::{Completeness, Per, Report, table};
use crate::failure::Failure;
use crate::output::Output;
use crate::streams::Form;
use cluster::{MemberResult, RepeatedRates, Summary, repeated};
use formats::printable;
use measure::text;
use model::SCHEMA;
use serde_json::json;
use std::path::Path;

/// Columns; names have none.
const HEADS: [&str; 11] =
    ["", "runs", "max MiB/s", "min", "mean", "std dev", "max IOPS", "min", "mean", "std dev", "mean s"];

/// One run of the members.
pub(super) struct Run {
    pub(super) members: Vec<MemberResult>,
    pub(super) summary: Summary,
    pub(super) completeness: Completeness,
    /// True if a signal ended it, so that its rate is not one of the table.
    pub(super) is_interrupted: bool,
}

impl Run {
    /// The view of it.
    pub(super) fn shown<'a>(&'a self, kept: Option<&'a Path>, per: Option<Per>) -> Report<'a> {
        Report { members: &self.members, summary: &self.summary, completeness: self.completeness, kept, per }
    }

    /// True if some members have a result, and others none.
    pub(super) fn is_lost_in_part(&self) -> bool {
        !self.summary.complete && self.members.iter().any(|member| member.result.is_some())
    }

    fn is_counted(&self) -> bool {
        !self.is_interrupted
            && self.completeness != Completeness::Incomplete
            && self.summary.each.iter().all(|member| member.error.is_none())
    }
}

/// The views next to the rates of all members.
pub(super) struct Views<'a> {
    pub(super) page: Option<&'a Path>,
    /// The directory with the members' results.
    pub(super) kept: Option<&'a Path>,
    /// The rows of the table, if one is wanted.
    pub(super) per: Option<Per>,
}

/// All repetitions of a run.
pub(super) struct Repetitions<'a> {
    pub(super) runs: &'a [Run],
    /// How many were asked for.
    pub(super) of: u32,
}

impl Repetitions<'_> {
    /// Writes all to the output, and the page: of a run that was not repeated its report, otherwise those of all
    /// repetitions with their table.
    pub(super) fn write(&self, out: &mut Output, form: Form, views: Views<'_>) -> Result<(), Failure> {
        let Views { page, kept, per } = views;
        if let ([run], 1) = (self.runs, self.of) {
            return run.shown(kept, per).write(out, form, page);
        }
        match form {
            Form::Text => out.write(&(printable::lines(&self.lines(kept, per).join("\n")) + "\n"))?,
            Form::Json => out.write(&self.document()?)?,
        }
        page.map_or(Ok(()), |path| page::write_repeated(path, self))
    }

    fn counted(&self) -> Vec<&Summary> {
        self.runs.iter().filter(|run| run.is_counted()).map(|run| &run.summary).collect()
    }

    /// The report of each repetition, the table of all, and a sentence.
    pub(super) fn lines(&self, kept: Option<&Path>, per: Option<Per>) -> Vec<String> {
        let mut lines = Vec::new();
        for (title, report) in self.reports(kept, per) {
            lines.push(title);
            lines.extend(report);
            lines.push(String::new());
        }
        lines.extend(rates_table(&repeated(&self.counted())));
        lines.extend(self.sentences());
        lines
    }

    /// The same for a page, where columns of text do not stand below each other: the table in sentences, then the
    /// reports.
    pub(super) fn paragraphs(&self) -> Vec<String> {
        let mut paragraphs: Vec<String> = repeated(&self.counted()).iter().map(in_words).collect();
        paragraphs.extend(self.missing());
        for (title, report) in self.reports(None, None) {
            paragraphs.extend(report.into_iter().map(|line| format!("{title}: {line}")));
        }
        paragraphs
    }

    /// The name of each repetition, and its report.
    fn reports(&self, kept: Option<&Path>, per: Option<Per>) -> Vec<(String, Vec<String>)> {
        let numbered = (1_u32..).zip(self.runs);
        let report = |(number, run): (u32, &Run)| {
            let shown = run.shown(kept, per);
            let how = if run.is_interrupted { ", ended by a signal" } else { "" };
            (format!("repetition {number} of {}{how}", self.of), shown.lines(&shown.merged()))
        };
        numbered.map(report).collect()
    }

    /// A sentence for each row of the table, and if repetitions are missing.
    pub(super) fn sentences(&self) -> Vec<String> {
        repeated(&self.counted()).iter().map(sentence).chain(self.missing()).collect()
    }

    fn missing(&self) -> Option<String> {
        let (counted, of) = (self.counted().len(), self.of as usize);
        (counted < of).then(|| match counted {
            0 => format!("INCOMPLETE: none of {of} repetitions came to its end"),
            counted => format!("INCOMPLETE: {counted} of {of} repetitions came to their end; the table is of these"),
        })
    }

    /// plumb's own JSON: a list of results, as that of a survey, each with its members next to it.
    pub(super) fn document(&self) -> Result<String, Failure> {
        let mut tests = Vec::new();
        for (number, run) in (1_u32..).zip(self.runs) {
            let shown = run.shown(None, None);
            tests.push(json!({
                "test": "repetition", "round": number, "counted": run.is_counted(),
                "cluster": shown.summary_as_json()?, "result": shown.merged(),
            }));
        }
        let (program, counted) = (crate::pages::MADE_BY, self.counted());
        let document = json!({
            "schema": SCHEMA, "program": program, "command": "cluster", "tests_planned": self.of,
            "repetitions": { "asked": self.of, "counted": counted.len(), "rates": repeated(&counted) },
            "tests": tests,
        });
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }
}

/// The table, line by line; none without rates.
fn rates_table(rates: &[RepeatedRates]) -> Vec<String> {
    let row = |found: &RepeatedRates| {
        let mib = |rate: f64| text::number(rate / f64::from(1 << 20));
        let (bytes, ios) = (found.bytes_per_second, found.iops);
        let or_none =
            |deviation: Option<f64>, shown: &dyn Fn(f64) -> String| deviation.map_or_else(|| "-".to_owned(), shown);
        [
            found.direction.word().to_owned(),
            found.repetitions.to_string(),
            mib(bytes.max),
            mib(bytes.min),
            mib(bytes.mean),
            or_none(bytes.deviation, &mib),
            text::number(ios.max),
            text::number(ios.min),
            text::number(ios.mean),
            or_none(ios.deviation, &text::number),
            or_none(found.mean_s, &text::number),
        ]
    };
    if rates.is_empty() { Vec::new() } else { table(&HEADS, rates.iter().map(row)) }
}

/// `write: 3,400 MiB/s on average of 4 repetitions, with a standard deviation of 1.2 % of it`.
fn sentence(found: &RepeatedRates) -> String {
    let rate = found.bytes_per_second;
    let mean = format!("{}: {}", found.direction.word(), text::rate(rate.mean));
    match rate.deviation {
        None => format!("{mean} in one repetition; how much others differ is not known"),
        Some(deviation) => {
            let (count, share) = (found.repetitions, text::percent(deviation / rate.mean.max(f64::MIN_POSITIVE)));
            format!("{mean} on average of {count} repetitions, with a standard deviation of {share} of it")
        }
    }
}

/// `read: 134.3 to 135.5 MiB/s, 134.9 on average; 34,387 to 34,691 IOPS, 34,528 on average`.
fn in_words(found: &RepeatedRates) -> String {
    let (bytes, ios) = (found.bytes_per_second, found.iops);
    let mib = |rate: f64| text::number(rate / f64::from(1 << 20));
    format!(
        "{}: {} to {} MiB/s, {} on average; {} to {} IOPS, {} on average",
        found.direction.word(),
        mib(bytes.min),
        mib(bytes.max),
        mib(bytes.mean),
        text::number(ios.min),
        text::number(ios.max),
        text::number(ios.mean)
    )
}
