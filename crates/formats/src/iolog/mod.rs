//! Traces of single I/Os (fio's iolog, blktrace), read one by one in memory that does not grow with the trace.
//!
//! Owns the formats of fio's iolog (versions 2 and 3) and blktrace's binary records. Leaves opening of the input, the
//! mapping of names to files, and the use of the I/Os to others.

mod blktrace;
mod merge;
mod text;

use crate::FormatError;
pub use blktrace::{BYTES_PER_RECORD, Endian};
use measure::Nanos;
pub use merge::{Trace, merge};
use plan::{Operation, ReplayPlan, Timing};
use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, BufRead, Write};

/// One recorded I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time since the start of the trace.
    pub at: Nanos,
    /// Index into [`Reader::places`].
    pub place: u32,
    /// Operation.
    pub operation: Operation,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes; 0 for syncs.
    pub length: u32,
}

/// Target of a recorded I/O.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A file by name.
    Path(String),
    /// A block device by number.
    Device {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32,
    },
}

/// Longest accepted line in bytes; a path has at most 4096 (`PATH_MAX`).
const LONGEST_LINE: usize = 8192;

/// Most files that one trace may name.
const MOST_PLACES: usize = 16_384;

/// Largest accepted read or write in bytes: each I/O in flight has a buffer of the largest size.
const MOST_BYTES: u32 = 256 << 20;

/// The place that is being read, for messages.
#[derive(Clone, Copy)]
enum At<'name> {
    /// A line of a text trace, from 1.
    Line(&'name str, u64),
    /// A record of a binary trace, by its offset in bytes.
    Byte(&'name str, u64),
}

impl At<'_> {
    fn wrong(self, what: impl Display) -> FormatError {
        match self {
            At::Line(name, line) => FormatError::Damaged(format!("{name}:{line}: {what}")),
            At::Byte(name, offset) => FormatError::Damaged(format!("{name}: byte {offset}: {what}")),
        }
    }
}

/// The error of an input that cannot be read.
fn unreadable(name: &str) -> impl Fn(io::Error) -> FormatError {
    |source| FormatError::Trace { name: name.to_owned(), source }
}

/// The files that the trace has named up to this point.
#[derive(Clone, Debug, Default)]
struct Places {
    list: Vec<Place>,
    paths: HashMap<String, u32>,
    devices: HashMap<(u32, u32), u32>,
}

impl Places {
    fn path(&self, name: &str) -> Option<u32> {
        self.paths.get(name).copied()
    }

    fn add_path(&mut self, name: &str, at: At<'_>) -> Result<u32, FormatError> {
        if let Some(known) = self.path(name) {
            return Ok(known);
        }
        let index = self.add(Place::Path(name.to_owned()), at)?;
        self.paths.insert(name.to_owned(), index);
        Ok(index)
    }

    fn add_device(&mut self, major: u32, minor: u32, at: At<'_>) -> Result<u32, FormatError> {
        if let Some(&known) = self.devices.get(&(major, minor)) {
            return Ok(known);
        }
        let index = self.add(Place::Device { major, minor }, at)?;
        self.devices.insert((major, minor), index);
        Ok(index)
    }

    fn add(&mut self, place: Place, at: At<'_>) -> Result<u32, FormatError> {
        let index = u32::try_from(self.list.len()).ok().filter(|_| self.list.len() < MOST_PLACES);
        let index = index.ok_or_else(|| at.wrong(format!("it names more than {MOST_PLACES} files")))?;
        self.list.push(place);
        Ok(index)
    }
}

/// Reads a trace event by event. Memory: one line and the file names.
#[derive(Debug)]
pub struct Reader<R> {
    name: String,
    input: R,
    places: Places,
    dialect: Dialect,
}

#[derive(Debug)]
enum Dialect {
    Text(text::Text),
    Binary(blktrace::Binary),
}

impl<R: BufRead> Reader<R> {
    /// Detects the format by the first bytes: `fio version` for fio's text, a magic number for blktrace.
    ///
    /// # Errors
    /// The input is neither, or has an unsupported version.
    pub fn new(name: impl Into<String>, mut input: R) -> Result<Self, FormatError> {
        let name = name.into();
        let first = loop {
            match input.fill_buf() {
                Ok(bytes) => break bytes.first_chunk::<4>().copied(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(&name)(error)),
            }
        };
        let dialect = match first.and_then(Endian::of_magic) {
            Some(endian) => Dialect::Binary(blktrace::Binary::new(endian)),
            None => Dialect::Text(text::Text::open(&name, &mut input)?),
        };
        Ok(Reader { name, input, places: Places::default(), dialect })
    }

    /// The files named up to this point, in the order of their first mention.
    pub fn places(&self) -> &[Place] {
        &self.places.list
    }

    /// Reads the next I/O; `None` at the end.
    ///
    /// # Errors
    /// The trace is damaged; the error has the line or byte.
    #[expect(clippy::should_implement_trait, reason = "an iterator could not lend its places meanwhile")]
    pub fn next(&mut self) -> Result<Option<Event>, FormatError> {
        match &mut self.dialect {
            Dialect::Text(text) => text.next(&self.name, &mut self.input, &mut self.places),
            Dialect::Binary(binary) => binary.next(&self.name, &mut self.input, &mut self.places),
        }
    }
}

/// Checks offset and length of an I/O against the limits; returns the length.
fn bounded(operation: Operation, offset: u64, length: u64, at: At<'_>) -> Result<u32, FormatError> {
    let most = match operation {
        Operation::Read | Operation::Write => MOST_BYTES,
        Operation::Trim => u32::MAX,
        Operation::Sync | Operation::DataSync => return Ok(0),
    };
    let length = u32::try_from(length).ok().filter(|&length| length <= most);
    let length =
        length.ok_or_else(|| at.wrong(format!("the length is above the most that is replayed, {most} bytes")))?;
    if length == 0 {
        return Err(at.wrong("the length is 0"));
    }
    let end = offset.checked_add(u64::from(length)).filter(|&end| i64::try_from(end).is_ok());
    end.map(|_| length).ok_or_else(|| at.wrong("it ends beyond the largest offset, 2^63 - 1"))
}

// Writer of fio's iolog, version 3; lines are appended to the caller's buffer.

/// Action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// Declares the file (`add`).
    Add,
    /// It is opened.
    Open,
    /// It is closed.
    Close,
}

/// Appends the header line.
pub fn header(text: &mut Vec<u8>) {
    text.extend_from_slice(b"fio version 3 iolog\n");
}

/// True if a file name can be written to an iolog: it has no line break, and no blank at its start or end.
pub fn is_writable_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.contains(['\n', '\r'])
}

/// Appends a line for a file action.
pub fn file_line(text: &mut Vec<u8>, at: Nanos, name: &str, action: FileAction) {
    let word = match action {
        FileAction::Add => "add",
        FileAction::Open => "open",
        FileAction::Close => "close",
    };
    // Writing to a vector cannot fail.
    let _ = writeln!(text, "{} {name} {word}", at.get() / 1000);
}

/// Appends a line for an I/O.
pub fn operation_line(text: &mut Vec<u8>, at: Nanos, name: &str, operation: Operation, offset: u64, length: u32) {
    let word = match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Trim => "trim",
        Operation::Sync => "sync",
        Operation::DataSync => "datasync",
    };
    // Writing to a vector cannot fail.
    let _ = writeln!(text, "{} {name} {word} {offset} {length}", at.get() / 1000);
}

// Changes that a job makes to replayed I/Os: filtering, redirection, scaling of offsets and times.

/// The changes of one job (`replay_skip`, `replay_scale`, ...).
#[derive(Clone, Copy, Debug)]
pub struct Adapt<'a> {
    plan: &'a ReplayPlan,
}

impl<'a> Adapt<'a> {
    /// Creates the changes that this plan requests.
    pub fn new(plan: &'a ReplayPlan) -> Self {
        Adapt { plan }
    }

    /// Returns the I/O as it is to be replayed; `None` if it is skipped.
    pub fn apply(&self, event: Event) -> Option<Event> {
        let skip = &self.plan.skip;
        let skipped = match event.operation {
            Operation::Read => skip.moves.read,
            Operation::Write => skip.moves.write,
            Operation::Trim => skip.moves.trim,
            Operation::Sync | Operation::DataSync => skip.syncs,
        };
        if skipped {
            return None;
        }
        let place = if self.plan.redirect.is_some() { 0 } else { event.place };
        let offset = event.offset / self.plan.scale.max(1);
        let offset = offset - offset % self.plan.align.max(1);
        Some(Event { at: self.moment(event.at), place, offset, ..event })
    }

    fn moment(&self, at: Nanos) -> Nanos {
        match self.plan.timing {
            Timing::None => Nanos::ZERO,
            Timing::Percent(100) => at,
            Timing::Percent(percent) => {
                let scaled = u128::from(at.get()) * 100 / u128::from(percent.max(1));
                Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
            }
        }
    }
}
