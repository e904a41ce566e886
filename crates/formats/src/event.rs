//! What passes between the stream and its readers: lines in, events out.

use crate::read_number::trimmed;
use model::reading::{Damage, Reading};

/// Output of the parser.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A complete reading.
    Reading(Reading),
    /// Damaged input.
    Damage(Damage),
}

impl Event {
    pub(crate) fn damage(line: u64, what: impl Into<String>) -> Event {
        Event::Damage(Damage { line, what: what.into() })
    }
}

/// Receives events.
pub(crate) type Sink<'sink> = dyn FnMut(Event) + 'sink;

/// A line and its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'text> {
    /// From 1.
    pub(crate) number: u64,
    /// The line with its indentation.
    pub(crate) whole: &'text str,
    /// The line without surrounding blanks.
    pub(crate) text: &'text str,
}

impl<'text> Line<'text> {
    pub(crate) fn new(number: u64, whole: &'text str) -> Self {
        Line { number, whole, text: trimmed(whole) }
    }

    /// The first byte that is not blank; 0 for an empty line. Most readers reject a line by this byte.
    pub(crate) fn first(self) -> u8 {
        self.text.as_bytes().first().copied().unwrap_or(0)
    }
}
