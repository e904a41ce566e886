//! The formats: each view of a run as a pure function of [`model::RunResult`], and its reader beside it.
//!
//! Owns spelling and layout. Leaves numbers to `model`, charts to `report`, and printing to `cli`.

#![forbid(unsafe_code)]

pub mod exact;
pub mod fio_eta;
pub mod fio_json;
pub mod fio_log;
pub mod fio_terse;
pub mod fio_text;
mod group;
mod inverse;
pub mod iolog;
pub mod iostat;
mod iozone;
mod iozone_report;
pub mod iozone_sheet;
pub mod iozone_text;
pub mod local_time;
mod log_summary;
pub mod native;
mod number;
mod numeral;
pub mod printable;
pub mod results;
mod shares;
pub mod stream;
pub mod sweep;
mod table;

pub use table::{FORMATS, Format, FormatError, ReadFn, View, WriteFn, sniff};
