//! fio's output formats, written and read: normal text, status line, JSON, terse lines and logs.
//!
//! Owns keys, fields, layout and rounding of each. Job options are in the crate `fio`, single I/Os in `iolog`.

pub mod clients;
pub(crate) mod failures;
mod group;
pub mod json;
pub mod log;
pub(crate) mod percent_rows;
pub mod status_line;
pub mod terse;
pub mod text;

/// Name of the block with which a client of fio sums up the jobs of its servers.
pub(crate) const CLIENTS_SUM: &str = "All clients";
