//! What passes between the stream and its readers: lines in, events out.

use crate::read_number::trimmed;
use model::reading::{Damage, Reading};
use serde::Serialize;
use std::collections::BTreeMap;

/// Output of the parser.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A complete reading.
    Reading(Reading),
    /// A reading of a run that another reading has better or later.
    Repeated(Repeated),
    /// Damaged input.
    Damage(Damage),
}

/// A reading that does not count, because another one has the same run.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// The reading.
    pub reading: Reading,
    /// Its relation to the other one.
    pub repeat: Repeat,
    /// The line of the other one.
    pub line: u64,
}

/// The relation of a reading to the one that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// An interim report of `--status-interval`: later ones contain it.
    Interim,
    /// The same report in another format, which states less.
    OtherFormat,
    /// The same report once more.
    Again,
    /// The sum of the runs of several clients (`All clients`).
    Sum,
}

/// The readings of a text that do not count.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    /// By its own line: the relation, and the line of the one that replaces it.
    all: BTreeMap<u64, (Repeat, u64)>,
}

impl Repeats {
    /// Most that are remembered; further ones are not in the messages.
    const MOST: usize = 100_000;

    /// Adds one.
    pub fn add(&mut self, repeated: &Repeated) {
        if self.all.len() < Repeats::MOST {
            self.all.insert(repeated.reading.line, (repeated.repeat, repeated.line));
        }
    }

    /// A message for each run that has any: the first line of those, and the text.
    pub fn messages(&self) -> Vec<(u64, String)> {
        let mut groups: BTreeMap<(u64, Repeat), Vec<u64>> = BTreeMap::new();
        for (&own, &(repeat, line)) in &self.all {
            groups.entry((self.last(line), repeat)).or_default().push(own);
        }
        let message = |((line, repeat), own): (&(u64, Repeat), &Vec<u64>)| {
            let counted = |one: &str, many: &str| match own.len() {
                1 => format!("1 {one}"),
                count => format!("{count} {many}"),
            };
            let text = match repeat {
                Repeat::Interim => counted("interim report of the run", "interim reports of the run"),
                Repeat::OtherFormat => {
                    counted("report in another format of the run", "reports in other formats of the run")
                }
                Repeat::Again => counted("copy of the report", "copies of the report"),
                Repeat::Sum => "the sum over all clients, of the run".to_owned(),
            };
            (own[0], format!("{text} in line {line}, which is counted instead"))
        };
        groups.iter().map(message).collect()
    }

    /// The line of the run that counts in the end.
    fn last(&self, mut line: u64) -> u64 {
        for _ in 0..self.all.len() {
            match self.all.get(&line) {
                Some(&(_, next)) if next != line => line = next,
                _ => break,
            }
        }
        line
    }
}

impl Event {
    pub(crate) fn damage(line: u64, what: impl Into<String>) -> Event {
        Event::Damage(Damage { line, what: what.into() })
    }
}

pub(crate) type Sink<'sink> = dyn FnMut(Event) + 'sink;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'text> {
    /// From 1.
    pub(crate) number: u64,
    /// The line with its indentation.
    pub(crate) whole: &'text str,
    /// The line without surrounding blanks.
    pub(crate) text: &'text str,
    /// True for the last line of an input that does not end it: its last word may be cut.
    pub(crate) unended: bool,
}

impl<'text> Line<'text> {
    pub(crate) fn new(number: u64, whole: &'text str) -> Self {
        Line { number, whole, text: trimmed(whole), unended: false }
    }

    /// The first byte that is not blank; 0 for an empty line. Most readers reject a line by this byte.
    pub(crate) fn first(self) -> u8 {
        self.text.as_bytes().first().copied().unwrap_or(0)
    }
}
