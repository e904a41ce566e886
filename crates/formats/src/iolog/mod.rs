//! Records of single I/Os, as fio and blktrace write them: read one by one, however long the record is.
//!
//! Owns the spelling of fio's iolog (versions 2 and 3) and of blktrace's binary records. Leaves to others where the
//! bytes come from, which file a name leads to, and what is done with the I/Os.

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
use std::collections::HashMap;
use std::io::{self, BufRead};

/// What a recorded I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Device to memory.
    Read,
    /// Memory to device.
    Write,
    /// Discard the range.
    Trim,
    /// fsync.
    Sync,
    /// fdatasync.
    DataSync,
}

/// One recorded I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, counted from the start of the record.
    pub at: Nanos,
    /// Which of [`Reader::places`].
    pub place: u32,
    /// What it does.
    pub operation: Operation,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// How many bytes; 0 for syncs.
    pub length: u32,
}

/// What a recorded I/O was done on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A file by its name.
    Path(String),
    /// A block device by its numbers.
    Device {
        /// The driver's number.
        major: u32,
        /// The device's number within its driver.
        minor: u32,
    },
}

/// Longest line of a text that is read; a path has at most 4096 bytes.
const LONGEST_LINE: usize = 8192;

/// Files that one record may name.
const MOST_PLACES: usize = 16_384;

/// Bytes of a single read or write: each one in flight has a buffer of the largest size.
const MOST_BYTES: u32 = 256 << 20;

/// A record that cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A line of a text is wrong.
    #[error("{name}:{line}: {what}")]
    Line {
        /// The record's name.
        name: String,
        /// Counted from 1.
        line: u64,
        /// What was found, and what would work.
        what: String,
    },
    /// A binary record is wrong.
    #[error("{name}: byte {offset}: {what}")]
    Byte {
        /// The record's name.
        name: String,
        /// Where it starts, counted from 0.
        offset: u64,
        /// What was found, and what would work.
        what: String,
    },
    /// The record could not be read.
    #[error("{name}: {source}")]
    Io {
        /// The record's name.
        name: String,
        /// Why.
        source: io::Error,
    },
}

impl RecordError {
    /// The errno that stands for it: that of the read, or EINVAL.
    pub fn errno(&self) -> i32 {
        const EINVAL: i32 = 22;
        match self {
            RecordError::Io { source, .. } => source.raw_os_error().unwrap_or(EINVAL),
            _ => EINVAL,
        }
    }
}

/// The files that a record has named so far.
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

/// Reads a record event by event. Memory: a line and the files' names.
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
    /// Looks at the first bytes: fio's text begins with `fio version`, blktrace's records with a magic number.
    ///
    /// # Errors
    /// When it is neither, or of a version that cannot be read.
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

    /// The files named so far, in the order of their first mention.
    pub fn places(&self) -> &[Place] {
        &self.places.list
    }

    /// The next I/O; `None` at the end.
    ///
    /// # Errors
    /// Where the record is damaged, with the line or byte.
    #[expect(clippy::should_implement_trait, reason = "an iterator could not lend its places meanwhile")]
    pub fn next(&mut self) -> Result<Option<Event>, RecordError> {
        match &mut self.dialect {
            Dialect::Text(text) => text.next(&self.name, &mut self.input, &mut self.places),
            Dialect::Binary(binary) => binary.next(&self.name, &mut self.input, &mut self.places),
        }
    }
}

/// Whether these numbers can be an I/O at all.
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
