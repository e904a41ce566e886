//! plumb's own JSON: `{"schema": 1, "program": .., "result": ..}`, the whole RunResult without loss.

use crate::FormatError;
use model::{RunResult, SCHEMA};
use serde::{Deserialize, Serialize};

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

/// The result file, ending with a line break.
///
/// Errors: a float that JSON cannot hold (not a number, infinite) is written as null and refused when read back.
pub fn write(result: &RunResult) -> Result<String, FormatError> {
    let written = Written { schema: SCHEMA, program: &result.environment.program, result };
    serde_json::to_string_pretty(&written)
        .map(|text| text + "\n")
        .map_err(|error| FormatError::NotWritten(error.to_string()))
}

/// The result in a result file.
///
/// Errors: text that is not JSON, another schema, a missing or misplaced field; each says where.
pub fn read(text: &str) -> Result<RunResult, FormatError> {
    let refused = |error: serde_json::Error| FormatError::Refused {
        format: "native",
        line: error.line(),
        what: error.to_string(),
        works: "a file written by plumb itself",
    };
    let head: Head = serde_json::from_str(text).map_err(refused)?;
    if head.schema != SCHEMA {
        return Err(FormatError::Schema { found: head.schema, known: SCHEMA });
    }
    serde_json::from_str::<Read>(text).map(|read| read.result).map_err(refused)
}
