//! One line of text, as passed to the readers.

use crate::read_number::trimmed;

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
