//! Lines of a text as slices of one buffer, and the numbers and words in them, without allocation.

use super::Wrong;
use crate::printable;
use std::io::{self, ErrorKind, Read};

/// Size of the buffer, which is the longest line.
const BUFFER: usize = 1 << 20;

/// Reads lines.
pub(super) struct Lines<'input> {
    input: Box<dyn Read + 'input>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Number of the line that was returned last, from 1.
    pub(super) number: u64,
}

impl<'input> Lines<'input> {
    pub(super) fn new(input: Box<dyn Read + 'input>) -> Self {
        Lines { input, buffer: vec![0; BUFFER], start: 0, end: 0, number: 0 }
    }

    /// The next line, without its end; `None` behind the last one.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = self.start;
        let line = loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let line = self.start..searched + length;
                self.start = line.end + 1;
                break line;
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            searched = self.end;
            if self.end == BUFFER {
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    "a line is longer than 1 MiB, so it is not a text trace",
                ));
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) if self.end == 0 => return Ok(None),
                Ok(0) => {
                    let line = 0..self.end;
                    (self.start, self.end) = (0, 0);
                    break line;
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        self.number += 1;
        let line = &self.buffer[line];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }
}

/// The words of a line, as many as there may be columns.
pub(super) struct Words<'line> {
    list: [&'line [u8]; MOST_WORDS],
    count: usize,
}

/// Most words of a line that are looked at.
pub(super) const MOST_WORDS: usize = 40;

impl<'line> Words<'line> {
    /// Splits at a separator, or at blanks.
    pub(super) fn of(line: &'line [u8], separator: Option<u8>) -> Self {
        let mut words = Words { list: [&[]; MOST_WORDS], count: 0 };
        let is_end = |byte: u8| separator.map_or(byte == b' ' || byte == b'\t', |separator| byte == separator);
        let mut start = 0;
        for at in 0..=line.len() {
            if at < line.len() && !is_end(line[at]) {
                continue;
            }
            let word = &line[start..at];
            start = at + 1;
            if words.count < MOST_WORDS && (separator.is_some() || !word.is_empty()) {
                words.list[words.count] = word.trim_ascii();
                words.count += 1;
            }
        }
        words
    }

    pub(super) fn all(&self) -> &[&'line [u8]] {
        &self.list[..self.count]
    }
}

/// A whole number.
pub(super) fn whole(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 20 {
        return None;
    }
    word.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { sum.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A number with decimals, times a unit: digits below 1 are cut off.
pub(super) fn decimal(word: &[u8], unit: u64) -> Option<u64> {
    let point = word.iter().position(|byte| *byte == b'.').unwrap_or(word.len());
    let mut sum = whole(&word[..point])?.checked_mul(unit)?;
    let mut place = unit;
    for byte in word.get(point + 1..).unwrap_or_default() {
        let digit = u64::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            return None;
        }
        place /= 10;
        sum = sum.checked_add(digit * place)?;
    }
    Some(sum)
}

/// Untrusted text, shortened and without control characters.
pub(super) fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(240)]);
    let short: String = text.chars().take(60).collect();
    let dots = if short.len() < text.len() { "..." } else { "" };
    format!("`{}{dots}`", printable::line(&short))
}

/// An error about a word.
pub(super) fn wrong(word: &[u8], what: &str) -> Wrong {
    Wrong(format!("{} {what}", quoted(word)))
}
