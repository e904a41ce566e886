//! iozone's output formats: text and worksheets written, tables and reports read.
//!
//! Owns phrases, columns and tabs. Leaves the tests and their arithmetic to the crate `iozone`.

mod read;
mod read_report;
pub mod sheet;
pub mod text;
#[cfg(feature = "workbook")]
pub mod workbook;

pub(crate) use read::IozoneReader;
