//! fio's iolog, a text: version 2 with wait lines, version 3 with a timestamp in microseconds on each line.

use super::{At, Event, LONGEST_LINE, Operation, Places, bounded, unreadable};
use crate::{FormatError, printable};
use measure::Nanos;
use std::io::{self, BufRead};

/// State of a text reader.
#[derive(Debug)]
pub(super) struct Text {
    version: Version,
    line: u64,
    /// The current line.
    buffer: Vec<u8>,
    /// Version 2: sum of all waits read, in µs.
    waited_us: u64,
    /// Version 3: start time of the current recording; a file may hold several, one appended to another.
    base_us: u64,
    latest_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

impl Version {
    /// The version in a header line; `None` for any other line.
    fn of_header(line: &str, at: At<'_>) -> Option<Result<Version, FormatError>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["fio", "version", number, "iolog"] = words.as_slice() else { return None };
        Some(match *number {
            "2" => Ok(Version::Two),
            "3" => Ok(Version::Three),
            other => Err(at.wrong(format!("version {} is not readable; versions 2 and 3 are", quoted(other)))),
        })
    }
}

impl Text {
    pub(super) fn open(name: &str, input: &mut impl BufRead) -> Result<Text, FormatError> {
        let mut text = Text {
            version: Version::Three,
            line: 0,
            buffer: Vec::with_capacity(256),
            waited_us: 0,
            base_us: 0,
            latest_us: 0,
        };
        let no_header = "is not a record of I/Os: it begins neither with `fio version 3 iolog` (or 2) nor with blktrace's \
                         magic number (make one with write_iolog=, or with blktrace and blkparse -d)";
        let is_there = match text.read_line(name, input) {
            // A first line that is too long means that this is not an iolog.
            Err(FormatError::Damaged(_)) => return Err(text.at(name).wrong(no_header)),
            other => other?,
        };
        if !is_there {
            return Err(text.at(name).wrong(format!("the file is empty; it {no_header}")));
        }
        let (line, at) = (std::str::from_utf8(&text.buffer).ok(), text.at(name));
        text.version = line.and_then(|line| Version::of_header(line, at)).ok_or_else(|| at.wrong(no_header))??;
        Ok(text)
    }

    pub(super) fn next(
        &mut self,
        name: &str,
        input: &mut impl BufRead,
        places: &mut Places,
    ) -> Result<Option<Event>, FormatError> {
        while self.read_line(name, input)? {
            let (buffer, at) = (std::mem::take(&mut self.buffer), self.at(name));
            let line = std::str::from_utf8(&buffer).map_err(|_| at.wrong("the line is not UTF-8 text"))?;
            let found = self.understand(line.trim(), at, places)?;
            self.buffer = buffer;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn at<'name>(&self, name: &'name str) -> At<'name> {
        At::Line(name, self.line.max(1))
    }

    /// Reads the next line, without its newline; `false` at the end.
    fn read_line(&mut self, name: &str, input: &mut impl BufRead) -> Result<bool, FormatError> {
        self.buffer.clear();
        self.line += 1;
        loop {
            let bytes = match input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(unreadable(name)(source)),
            };
            if bytes.is_empty() {
                return Ok(!self.buffer.is_empty());
            }
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let part = end.unwrap_or(bytes.len());
            if self.buffer.len() + part > LONGEST_LINE {
                return Err(self.at(name).wrong(format!("the line is longer than {LONGEST_LINE} bytes")));
            }
            self.buffer.extend_from_slice(&bytes[..part]);
            input.consume(part + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Parses one line into an I/O; `None` for headers and for lines about files and waits.
    fn understand(&mut self, line: &str, at: At<'_>, places: &mut Places) -> Result<Option<Event>, FormatError> {
        if line.is_empty() {
            return Ok(None);
        }
        if let Some(header) = Version::of_header(line, at) {
            if header? != self.version {
                return Err(at.wrong("a record of another version begins here; give each its own file"));
            }
            self.base_us = self.latest_us;
            return Ok(None);
        }
        let (stamp_us, rest) = match self.version {
            Version::Two => (self.waited_us, line),
            Version::Three => stamped(line, at)?,
        };
        let at_us = match self.version {
            Version::Two => stamp_us,
            Version::Three => self.base_us.checked_add(stamp_us).ok_or_else(|| at.wrong("the time is out of range"))?,
        };
        if at_us > u64::MAX / 1000 {
            return Err(at.wrong("the time is out of range: it is in microseconds, from 0 on"));
        }
        self.latest_us = self.latest_us.max(at_us);
        if let Some((file, action)) = rest.rsplit_once(char::is_whitespace)
            && let "add" | "open" | "close" = action
        {
            return about_file(file.trim_end(), action, at, places).map(|()| None);
        }
        let event = self.operation(rest, at, places)?;
        Ok(event.map(|event| Event { at: Nanos::from_micros(at_us), ..event }))
    }

    /// Parses an I/O, at time 0; `None` for a wait.
    fn operation(&mut self, rest: &str, at: At<'_>, places: &Places) -> Result<Option<Event>, FormatError> {
        let form = || {
            at.wrong(format!("{} is not `FILE ACTION OFFSET LENGTH`, nor `FILE add`, `open` or `close`", quoted(rest)))
        };
        // Parsed from the end, because a file name may contain blanks.
        let mut words = rest.rsplit(char::is_whitespace).filter(|word| !word.is_empty());
        let (last, before) = (words.next().ok_or_else(form)?, words.next().ok_or_else(form)?);
        if before == "wait" {
            return self.wait(last, at).map(|()| None);
        }
        let action = words.next().ok_or_else(form)?;
        if action == "wait" {
            return self.wait(before, at).map(|()| None);
        }
        let operation = match action {
            "read" => Operation::Read,
            "write" => Operation::Write,
            "trim" => Operation::Trim,
            "sync" => Operation::Sync,
            "datasync" => Operation::DataSync,
            _ if number(last, at).is_err() || number(before, at).is_err() => return Err(form()),
            other => {
                return Err(at.wrong(format!(
                    "{} is not an action; those are read, write, trim, sync, datasync, add, open and close",
                    quoted(other)
                )));
            }
        };
        let numbers = start_of(rest, action);
        let file = rest[..numbers].trim_end();
        if file.is_empty() {
            return Err(form());
        }
        let place = known(file, at, places)?;
        let (offset, length) = (number(before, at)?, number(last, at)?);
        let length = bounded(operation, offset, length, at)?;
        Ok(Some(Event { at: Nanos::ZERO, place, operation, offset, length }))
    }

    fn wait(&mut self, microseconds: &str, at: At<'_>) -> Result<(), FormatError> {
        if self.version == Version::Three {
            return Err(at.wrong("version 3 has no `wait`: its lines begin with their time"));
        }
        let sum = self.waited_us.checked_add(number(microseconds, at)?);
        self.waited_us = sum.ok_or_else(|| at.wrong("the waits are out of range"))?;
        Ok(())
    }
}

fn about_file(file: &str, action: &str, at: At<'_>, places: &mut Places) -> Result<(), FormatError> {
    if file.is_empty() {
        return Err(at.wrong(format!("`{action}` names no file")));
    }
    match action {
        "add" => places.add_path(file, at).map(drop),
        _ => known(file, at, places).map(drop),
    }
}

/// The index of a file that was added before.
fn known(file: &str, at: At<'_>, places: &Places) -> Result<u32, FormatError> {
    places.path(file).ok_or_else(|| at.wrong(format!("the file {} was not added before", quoted(file))))
}

/// The timestamp at the start of a line, and the rest.
fn stamped<'line>(line: &'line str, at: At<'_>) -> Result<(u64, &'line str), FormatError> {
    let (stamp, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let stamp = stamp.parse().map_err(|_| {
        at.wrong(format!("{} is not a time in microseconds; in version 3 each line begins with one", quoted(stamp)))
    })?;
    Ok((stamp, rest.trim_start()))
}

fn number(word: &str, at: At<'_>) -> Result<u64, FormatError> {
    word.parse().map_err(|_| at.wrong(format!("{} is not a number of bytes or microseconds", quoted(word))))
}

/// Byte offset of `part`, a subslice of `whole`.
fn start_of(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

/// Untrusted text, shortened and without control characters.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    let dots = if short.len() < text.len() { "..." } else { "" };
    format!("`{}{dots}`", printable::line(&short))
}
