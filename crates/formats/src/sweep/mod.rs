//! Sweeps: rows of measurements in the formats of fioparse.sh, its R matrix, and CSV.
//!
//! Owns the columns, their names and units, and both directions: the readers and the writers.

mod columns;
mod human;
mod label;
mod of_reading;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
#[cfg(feature = "workbook")]
mod workbook;
mod write;

pub use columns::ColumnNames;
pub use human::{Detail, Layout};
pub use label::{folder_of, label_of};
pub use of_reading::{LogKind, measurements};
#[cfg(feature = "parquet")]
pub use parquet::ParquetWriter;
pub(crate) use read::SweepReader;
#[cfg(feature = "workbook")]
pub use workbook::WorkbookWriter;
pub use write::{csv_head, csv_row, r_head, r_row, r_tail};
