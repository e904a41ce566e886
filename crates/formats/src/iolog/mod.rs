//! Traces of single I/Os (fio's iolog, blktrace), read one by one in memory that does not grow with the trace.
//!
//! Owns the formats of fio's iolog (versions 2 and 3) and blktrace's binary records. Leaves opening of the input, the
//! mapping of names to files, and the use of the I/Os to others.

mod adapt;
mod blktrace;
mod merge;
mod text;
mod write;

pub use adapt::Adapt;
pub use blktrace::{BYTES_PER_RECORD, Endian};
pub use merge::{MergeError, Trace, merge};
pub use write::{FileAction, file_line, header, is_writable_name, operation_line};

use measure::Nanos;
use plan::Operation;
use std::collections::HashMap;
use std::io::{self, BufRead};

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

/// Errors of reading a trace.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A line of a text trace is invalid.
    #[error("{name}:{line}: {what}")]
    Line {
        /// Name of the trace.
        name: String,
        /// Line number, from 1.
        line: u64,
        /// Description of the error, with a valid example.
        what: String,
    },
    /// A record of a binary trace is invalid.
    #[error("{name}: byte {offset}: {what}")]
    Byte {
        /// Name of the trace.
        name: String,
        /// Offset of the record in bytes, from 0.
        offset: u64,
        /// Description of the error, with a valid example.
        what: String,
    },
    /// The input could not be read.
    #[error("{name}: {source}")]
    Io {
        /// Name of the trace.
        name: String,
        /// Cause.
        source: io::Error,
    },
}

impl RecordError {
    /// The errno for this error: that of the failed read, or EINVAL.
    pub fn errno(&self) -> i32 {
        const EINVAL: i32 = 22;
        match self {
            RecordError::Io { source, .. } => source.raw_os_error().unwrap_or(EINVAL),
            _ => EINVAL,
        }
    }
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

    fn next(&self) -> Result<u32, String> {
        let full = || format!("it names more than {MOST_PLACES} files");
        u32::try_from(self.list.len()).ok().filter(|_| self.list.len() < MOST_PLACES).ok_or_else(full)
    }

    fn add_path(&mut self, name: &str) -> Result<u32, String> {
        if let Some(known) = self.path(name) {
            return Ok(known);
        }
        let index = self.next()?;
        self.list.push(Place::Path(name.to_owned()));
        self.paths.insert(name.to_owned(), index);
        Ok(index)
    }

    fn add_device(&mut self, major: u32, minor: u32) -> Result<u32, String> {
        if let Some(&known) = self.devices.get(&(major, minor)) {
            return Ok(known);
        }
        let index = self.next()?;
        self.list.push(Place::Device { major, minor });
        self.devices.insert((major, minor), index);
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
    pub fn new(name: impl Into<String>, mut input: R) -> Result<Self, RecordError> {
        let name = name.into();
        let failed = |source| RecordError::Io { name: name.clone(), source };
        let first = loop {
            match input.fill_buf() {
                Ok(bytes) => break bytes.first_chunk::<4>().copied(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
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
    pub fn next(&mut self) -> Result<Option<Event>, RecordError> {
        match &mut self.dialect {
            Dialect::Text(text) => text.next(&self.name, &mut self.input, &mut self.places),
            Dialect::Binary(binary) => binary.next(&self.name, &mut self.input, &mut self.places),
        }
    }
}

/// Checks offset and length of an I/O against the limits; returns the length.
fn bounded(operation: Operation, offset: u64, length: u64) -> Result<u32, String> {
    let most = match operation {
        Operation::Read | Operation::Write => MOST_BYTES,
        Operation::Trim => u32::MAX,
        Operation::Sync | Operation::DataSync => return Ok(0),
    };
    let length = u32::try_from(length).ok().filter(|&length| length <= most);
    let length = length.ok_or_else(|| format!("the length is above the most that is replayed, {most} bytes"))?;
    if length == 0 {
        return Err("the length is 0".to_owned());
    }
    let end = offset.checked_add(u64::from(length)).filter(|&end| i64::try_from(end).is_ok());
    end.map(|_| length).ok_or_else(|| "it ends beyond the largest offset, 2^63 - 1".to_owned())
}
