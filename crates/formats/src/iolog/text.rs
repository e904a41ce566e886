//! fio's iolog, a text: version 2 with wait lines, version 3 with a timestamp in microseconds on each line.

use super::{Event, LONGEST_LINE, Operation, Places, RecordError, bounded};
use crate::printable;
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
    fn of_header(line: &str) -> Option<Result<Version, String>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["fio", "version", number, "iolog"] = words.as_slice() else { return None };
        Some(match *number {
            "2" => Ok(Version::Two),
            "3" => Ok(Version::Three),
            other => Err(format!("version {} is not readable; versions 2 and 3 are", quoted(other))),
        })
    }
}

impl Text {
    /// Reads the header.
    pub(super) fn open(name: &str, input: &mut impl BufRead) -> Result<Text, RecordError> {
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
            Err(RecordError::Line { .. }) => return Err(text.wrong(name, no_header.to_owned())),
            other => other?,
        };
        if !is_there {
            return Err(text.wrong(name, format!("the file is empty; it {no_header}")));
        }
        let header = std::str::from_utf8(&text.buffer).ok().and_then(Version::of_header);
        text.version = match header {
            Some(Ok(version)) => version,
            Some(Err(what)) => return Err(text.wrong(name, what)),
            None => return Err(text.wrong(name, no_header.to_owned())),
        };
        Ok(text)
    }

    pub(super) fn next(
        &mut self,
        name: &str,
        input: &mut impl BufRead,
        places: &mut Places,
    ) -> Result<Option<Event>, RecordError> {
        while self.read_line(name, input)? {
            let buffer = std::mem::take(&mut self.buffer);
            let found = match std::str::from_utf8(&buffer) {
                Ok(line) => self.understand(line.trim(), places),
                Err(_) => Err("the line is not UTF-8 text".to_owned()),
            };
            self.buffer = buffer;
            match found {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(what) => return Err(self.wrong(name, what)),
            }
        }
        Ok(None)
    }

    fn wrong(&self, name: &str, what: String) -> RecordError {
        RecordError::Line { name: name.to_owned(), line: self.line.max(1), what }
    }

    /// Reads the next line, without its newline; `false` at the end.
    fn read_line(&mut self, name: &str, input: &mut impl BufRead) -> Result<bool, RecordError> {
        self.buffer.clear();
        self.line += 1;
        loop {
            let bytes = match input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(RecordError::Io { name: name.to_owned(), source }),
            };
            if bytes.is_empty() {
                return Ok(!self.buffer.is_empty());
            }
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let part = end.unwrap_or(bytes.len());
            if self.buffer.len() + part > LONGEST_LINE {
                return Err(self.wrong(name, format!("the line is longer than {LONGEST_LINE} bytes")));
            }
            self.buffer.extend_from_slice(&bytes[..part]);
            input.consume(part + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Parses one line into an I/O; `None` for headers and for lines about files and waits.
    fn understand(&mut self, line: &str, places: &mut Places) -> Result<Option<Event>, String> {
        if line.is_empty() {
            return Ok(None);
        }
        if let Some(header) = Version::of_header(line) {
            if header? != self.version {
                return Err("a record of another version begins here; give each its own file".to_owned());
            }
            self.base_us = self.latest_us;
            return Ok(None);
        }
        let (stamp_us, rest) = match self.version {
            Version::Two => (self.waited_us, line),
            Version::Three => stamped(line)?,
        };
        let at_us = match self.version {
            Version::Two => stamp_us,
            Version::Three => self.base_us.checked_add(stamp_us).ok_or("the time is out of range")?,
        };
        if at_us > u64::MAX / 1000 {
            return Err("the time is out of range: it is in microseconds, from 0 on".to_owned());
        }
        self.latest_us = self.latest_us.max(at_us);
        if let Some((file, action)) = rest.rsplit_once(char::is_whitespace)
            && let "add" | "open" | "close" = action
        {
            return about_file(file.trim_end(), action, places).map(|()| None);
        }
        self.operation(rest, Nanos::from_micros(at_us), places)
    }

    fn operation(&mut self, rest: &str, at: Nanos, places: &mut Places) -> Result<Option<Event>, String> {
        let form = || format!("{} is not `FILE ACTION OFFSET LENGTH`, nor `FILE add`, `open` or `close`", quoted(rest));
        // Parsed from the end, because a file name may contain blanks.
        let mut words = rest.rsplit(char::is_whitespace).filter(|word| !word.is_empty());
        let (last, before) = (words.next().ok_or_else(form)?, words.next().ok_or_else(form)?);
        if before == "wait" {
            return self.wait(last).map(|()| None);
        }
        let action = words.next().ok_or_else(form)?;
        if action == "wait" {
            return self.wait(before).map(|()| None);
        }
        let operation = match action {
            "read" => Operation::Read,
            "write" => Operation::Write,
            "trim" => Operation::Trim,
            "sync" => Operation::Sync,
            "datasync" => Operation::DataSync,
            _ if number(last).is_err() || number(before).is_err() => return Err(form()),
            other => {
                return Err(format!(
                    "{} is not an action; those are read, write, trim, sync, datasync, add, open and close",
                    quoted(other)
                ));
            }
        };
        let numbers = start_of(rest, action);
        let file = rest[..numbers].trim_end();
        if file.is_empty() {
            return Err(form());
        }
        let place = places.path(file).ok_or_else(|| format!("the file {} was not added before", quoted(file)))?;
        let (offset, length) = (number(before)?, number(last)?);
        let length = bounded(operation, offset, length)?;
        Ok(Some(Event { at, place, operation, offset, length }))
    }

    fn wait(&mut self, microseconds: &str) -> Result<(), String> {
        if self.version == Version::Three {
            return Err("version 3 has no `wait`: its lines begin with their time".to_owned());
        }
        self.waited_us = self.waited_us.checked_add(number(microseconds)?).ok_or("the waits are out of range")?;
        Ok(())
    }
}

fn about_file(file: &str, action: &str, places: &mut Places) -> Result<(), String> {
    if file.is_empty() {
        return Err(format!("`{action}` names no file"));
    }
    if action == "add" {
        return places.add_path(file).map(drop);
    }
    places.path(file).map(drop).ok_or_else(|| format!("the file {} was not added before", quoted(file)))
}

/// The timestamp at the start of a line, and the rest.
fn stamped(line: &str) -> Result<(u64, &str), String> {
    let (stamp, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let stamp = stamp.parse().map_err(|_| {
        format!("{} is not a time in microseconds; in version 3 each line begins with one", quoted(stamp))
    })?;
    Ok((stamp, rest.trim_start()))
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{} is not a number of bytes or microseconds", quoted(word)))
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
