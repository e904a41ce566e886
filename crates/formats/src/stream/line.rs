//! A line of text, as the readers get it.

use crate::numeral::trimmed;

/// A line and its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'text> {
    /// From 1.
    pub(crate) number: u64,
    /// As it stands, indented.
    pub(crate) whole: &'text str,
    /// Without the blanks around it.
    pub(crate) text: &'text str,
}

impl<'text> Line<'text> {
    pub(crate) fn new(number: u64, whole: &'text str) -> Self {
        Line { number, whole, text: trimmed(whole) }
    }

    /// The first byte that is not blank; 0 for an empty line. It tells nearly all readers that a line is not theirs.
    pub(crate) fn first(self) -> u8 {
        self.text.as_bytes().first().copied().unwrap_or(0)
    }
}
