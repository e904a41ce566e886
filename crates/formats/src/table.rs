//! The row type of the table of formats ([`crate::FORMATS`]), and the functions that use the table: choices of
//! `--output-format`, detection of a file's format, and writing of results.

use crate::FORMATS;
use fio::{OutputFormat, TerseVersion};
use jiff::tz::TimeZone;
use model::RunResult;
use std::io;

/// Display settings of a result other than those set by the jobs.
#[derive(Clone, Debug)]
pub struct View {
    /// Time zone in which dates are printed.
    pub zone: TimeZone,
    /// Version of terse lines.
    pub terse_version: TerseVersion,
}

impl View {
    /// Settings with this time zone, and terse version 3.
    pub fn in_zone(zone: TimeZone) -> View {
        View { zone, terse_version: TerseVersion::default() }
    }
}

/// Formats a result as text.
pub type WriteFn = fn(&RunResult, &View) -> Result<String, FormatError>;
/// Reads a result from text; values that the text lacks keep their defaults.
pub type ReadFn = fn(&str) -> Result<RunResult, FormatError>;

/// One format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Name, also used in messages.
    pub name: &'static str,
    /// Its word after `--output-format`; `None` if it cannot be selected there.
    pub output: Option<OutputFormat>,
    /// The writer.
    pub write: Option<WriteFn>,
    /// The reader, if the format holds a result without rounding it; [`crate::results`] reads the others, too.
    pub read: Option<ReadFn>,
    /// True if bytes look like this format.
    pub sniff: fn(&[u8]) -> bool,
}

/// The choices of `--output-format`, for the parser of fio's command line.
pub fn output_formats() -> Vec<OutputFormat> {
    FORMATS.iter().filter_map(|format| format.output).collect()
}

/// Writes a result in the format with this `--output-format` word.
///
/// # Errors
/// There is no format with this word, or the format cannot represent a value of the result.
pub fn write(word: &str, result: &RunResult, view: &View) -> Result<String, FormatError> {
    let named = |format: &&Format| format.output.is_some_and(|output| output.word == word);
    let write = FORMATS.iter().find(named).and_then(|format| format.write);
    write.ok_or_else(|| FormatError::NotWritten(format!("no format is named {word}")))?(result, view)
}

/// Detects the format of bytes.
///
/// ```
/// let text = "{\n\"fio version\" : \"fio-3.33\",\n\"jobs\" : []\n}\n";
/// let format = formats::sniff(text.as_bytes()).expect("a known format");
/// assert_eq!(format.name, "fio-json");
/// let read = format.read.expect("JSON holds a result without rounding");
/// assert_eq!(read(text)?.environment.program, "fio-3.33");
/// # Ok::<(), formats::FormatError>(())
/// ```
pub fn sniff(bytes: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(bytes))
}

/// True if `text` occurs in the first 64 KiB.
pub(crate) fn has(bytes: &[u8], text: &str) -> bool {
    const LOOKED_AT: usize = 64 * 1024;
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    head.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Errors of reading or writing.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The text is not in this format.
    #[error("{format}, line {line}: {what}; what works is {works}")]
    Refused {
        /// The format that was expected.
        format: &'static str,
        /// Line number, from 1.
        line: usize,
        /// Description of the error.
        what: String,
        /// The accepted input.
        works: &'static str,
    },
    /// A result file with another schema number.
    #[error("result file with schema {found}; this plumb reads schema {known}")]
    Schema {
        /// Schema number of the file.
        found: u32,
        /// Schema number that this version reads.
        known: u32,
    },
    /// The format cannot represent a value of the result.
    #[error("result not written: {0}")]
    NotWritten(String),
    /// A line of a text trace, a record of a binary one or a row of a compressed log is invalid; the text says where.
    #[error("{0}")]
    Damaged(String),
    /// A trace could not be read.
    #[error("{name}: {source}")]
    Trace {
        /// Name of the trace.
        name: String,
        /// Cause.
        source: io::Error,
    },
    /// The input could not be read, or the output not be written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl FormatError {
    /// The errno for an invalid or unreadable trace: that of the failed read, or EINVAL.
    pub fn errno(&self) -> i32 {
        const EINVAL: i32 = 22;
        match self {
            FormatError::Trace { source, .. } => source.raw_os_error().unwrap_or(EINVAL),
            _ => EINVAL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_chosen_can_be_written() {
        let view = View::in_zone(TimeZone::UTC);
        for format in output_formats() {
            assert!(write(format.word, &RunResult::default(), &view).is_ok(), "{}", format.word);
        }
        assert!(write("native", &RunResult::default(), &view).is_err(), "it has no word for --output-format");
    }
}
