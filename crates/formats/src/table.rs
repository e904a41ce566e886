//! The table of formats: a row per format, from which `--output-format`, `plumb parse` and sniffing follow.

use crate::{fio_json, fio_terse, fio_text, native};
use jiff::tz::TimeZone;
use model::RunResult;

/// How a result is to be shown, apart from what the jobs themselves ask for.
#[derive(Clone, Debug)]
pub struct View {
    /// Whose local time dates are in.
    pub zone: TimeZone,
}

/// Turns a result into text.
pub type WriteFn = fn(&RunResult, &View) -> Result<String, FormatError>;
/// Turns text into a result, as far as the text goes.
pub type ReadFn = fn(&str) -> Result<RunResult, FormatError>;

/// One format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name in commands.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The writer, where there is one.
    pub write: Option<WriteFn>,
    /// The reader, where there is one.
    pub read: Option<ReadFn>,
    /// Whether bytes look like this format.
    pub sniff: fn(&[u8]) -> bool,
}

/// Every format. The first whose `sniff` agrees reads a file of unknown kind.
pub const FORMATS: &[Format] = &[
    Format {
        name: "native",
        help: "plumb's own JSON: everything a run found, without loss",
        write: Some(|result, _| native::write(result)),
        read: Some(native::read),
        sniff: |bytes| has(bytes, "\"schema\"") && has(bytes, "\"result\""),
    },
    Format {
        name: "fio-json",
        help: "fio's JSON (--output-format=json)",
        write: Some(|result, view| Ok(fio_json::write(result, view))),
        read: Some(fio_json::read),
        sniff: |bytes| has(bytes, "\"fio version\""),
    },
    Format {
        name: "fio-json+",
        help: "fio's JSON with latency bins (--output-format=json+)",
        write: Some(|result, view| Ok(fio_json::write_with_bins(result, view))),
        read: Some(fio_json::read),
        sniff: |bytes| has(bytes, "\"fio version\"") && has(bytes, "\"bins\""),
    },
    Format {
        name: "fio-terse",
        help: "fio's lines of fields; versions 2 to 5 are read, 3 is written (--output-format=terse)",
        write: Some(|result, _| Ok(fio_terse::write(result, job::TerseVersion::V3))),
        read: Some(fio_terse::read),
        sniff: fio_terse::looks_like,
    },
    Format {
        name: "fio-text",
        help: "fio's report for people (--output-format=normal)",
        write: Some(|result, view| Ok(fio_text::write(result, view))),
        read: Some(fio_text::read),
        sniff: |bytes| has(bytes, "Run status group") || has(bytes, ": (groupid="),
    },
];

/// The format that bytes look like, if any.
pub fn sniff(bytes: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(bytes))
}

/// Whether `text` occurs near the start; a report's first lines give it away.
fn has(bytes: &[u8], text: &str) -> bool {
    const LOOKED_AT: usize = 64 * 1024;
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    head.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Why a result could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The text is not in this format.
    #[error("{format}, line {line}: {what}; what works is {works}")]
    Refused {
        /// The format that was tried.
        format: &'static str,
        /// Line of the text, from 1.
        line: usize,
        /// What is wrong.
        what: String,
        /// What would be right.
        works: &'static str,
    },
    /// A result file of another time.
    #[error("result file with schema {found}; this plumb reads schema {known}")]
    Schema {
        /// The file's number.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The result has a value that the format cannot hold.
    #[error("result not written: {0}")]
    NotWritten(String),
}
