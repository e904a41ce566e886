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
    /// Parses a list of members, one per line.
    ///
    /// # Errors
    /// Number of the first invalid line.
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
