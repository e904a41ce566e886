//! Types of setting values: modes, units, contents of records, and cluster machines.

use std::path::PathBuf;

/// A cluster member: where one child runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Machine name for the remote shell.
    pub host: String,
    /// Working directory.
    pub directory: String,
    /// Path of plumb there, or of a link to it named iozone.
    pub program: String,
    /// Its file; `None` for a generated name.
    pub file: Option<PathBuf>,
}

impl Member {
    /// Parses a list of members, one per line. The error names the first line that is none.
    pub(crate) fn all(path: &str, text: &str) -> Result<Vec<Member>, String> {
        let mut members = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words.as_slice() {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                [host, directory, program, ref file @ ..] if file.len() < 2 && !host.starts_with('-') => {
                    members.push(Member {
                        host: host.to_owned(),
                        directory: directory.to_owned(),
                        program: program.to_owned(),
                        file: file.first().map(PathBuf::from),
                    });
                }
                _ => {
                    return Err(format!(
                        "{path}:{number}: `{line}`: a line is host, directory, path of plumb and, if need be, a file"
                    ));
                }
            }
        }
        Ok(members)
    }
}

/// Mode of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Given sizes and records, or the defaults; one row each.
    #[default]
    Single,
    /// A matrix of file and record sizes.
    Auto,
    /// Several children at once.
    Throughput,
}

/// When mapped files are flushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mapping {
    /// Once, after all records are written.
    #[default]
    AtEnd,
    /// After each record.
    EachRecord,
}

/// POSIX asynchronous I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asynchronous {
    /// I/Os in flight.
    pub depth: u32,
}

/// Contents of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// iozone's pattern byte at the start of each page only.
    #[default]
    Marks,
    /// This byte throughout the record, all of it verified.
    Full(u8),
}

/// Unit of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// kB/s, with 1024 bytes per kB.
    #[default]
    Rate,
    /// Operations per second.
    Operations,
    /// Microseconds per operation.
    Microseconds,
}

/// Report tables after the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// True to print them as text.
    pub text: bool,
    /// Worksheet file: .xlsx if the name ends so, otherwise BIFF.
    pub sheet: Option<PathBuf>,
}

/// Columns shown in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShownColumns {
    /// All columns.
    #[default]
    All,
    /// The first two tests only: the obsolete option -A.
    FirstTwoTests,
}

/// A test; `-i` selects it by its number.
///
/// ```
/// use iozone::Test;
/// assert_eq!(Test::of_number(3), Some(Test::Backward));
/// assert_eq!(Test::Backward.number(), 3);
/// assert_eq!(Test::of_number(12), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// Write and rewrite a file.
    Write,
    /// Read and reread a file.
    Read,
    /// Random reads and random writes.
    Random,
    /// Read backwards.
    Backward,
    /// Rewrite the same record repeatedly.
    Rewrite,
    /// Read with a stride.
    Stride,
    /// fwrite(3).
    Fwrite,
    /// fread(3).
    Fread,
    /// Random readers and random writers at the same time.
    Mix,
    /// pwrite(2).
    Pwrite,
    /// pread(2).
    Pread,
    /// Number 11: iozone accepts the number, but has no such test. A run of it measures nothing.
    Nothing,
}

impl Test {
    /// All tests, by number.
    const ALL: [Test; 12] = [
        Test::Write,
        Test::Read,
        Test::Random,
        Test::Backward,
        Test::Rewrite,
        Test::Stride,
        Test::Fwrite,
        Test::Fread,
        Test::Mix,
        Test::Pwrite,
        Test::Pread,
        Test::Nothing,
    ];

    /// Returns the test with this number.
    pub fn of_number(number: i64) -> Option<Test> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Number of the test.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// True if it uses stdio.
    pub(crate) fn is_stdio(self) -> bool {
        matches!(self, Test::Fwrite | Test::Fread)
    }
}
