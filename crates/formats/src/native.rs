//! plumb's own JSON: `{"schema": 1, "program": .., "result": ..}`, the whole RunResult without loss; with many jobs
//! schema 3, which does not repeat what they have in common.

mod dense;

use crate::{FormatError, echoed};
use model::{RunResult, SCHEMA};
use serde::{Deserialize, Serialize};

/// Advice in messages.
const WORKS: &str = "a file written by plumb itself";

#[derive(Serialize)]
struct Written<'result> {
    schema: u32,
    program: &'result str,
    result: &'result RunResult,
}

#[derive(Deserialize)]
struct Head {
    schema: u32,
}

#[derive(Deserialize)]
struct Read {
    result: RunResult,
}

/// Writes a result file, with a trailing newline.
///
/// # Errors
/// Serialization fails. NaN and infinity are written as null, which the reader rejects.
pub fn write(result: &RunResult) -> Result<String, FormatError> {
    let written = Written { schema: SCHEMA, program: &result.environment.program, result };
    let text = match result.jobs.len() {
        0..=dense::MOST_PLAIN => serde_json::to_string_pretty(&written).map(|text| text + "\n"),
        _ => dense::write(result),
    };
    text.map_err(|error| FormatError::NotWritten(error.to_string()))
}

/// Reads a result file.
///
/// # Errors
/// The text is not JSON, has another schema number, or a field is missing or misplaced; the message says where.
pub fn read(text: &str) -> Result<RunResult, FormatError> {
    let refused = |error: serde_json::Error| FormatError::Refused {
        format: "native",
        line: error.line(),
        what: error.to_string(),
        works: WORKS,
    };
    let head: Head = serde_json::from_str(text).map_err(refused)?;
    match head.schema {
        SCHEMA => serde_json::from_str::<Read>(text).map(|read| echoed::complete(read.result)).map_err(refused),
        dense::SCHEMA => dense::read(text),
        found => Err(FormatError::Schema { found, known: SCHEMA }),
    }
}

/// Reads a result embedded in another plumb document. It is read from text like any other: a second reader of all its
/// fields, one for values, would make the program half a megabyte larger.
///
/// # Errors
/// A missing or misplaced field.
pub fn of_value(value: &impl Serialize) -> serde_json::Result<RunResult> {
    serde_json::from_str(&serde_json::to_string(value)?).map(echoed::complete)
}
