//! Sweeps: rows of measurements in the formats of fioparse.sh, its R matrix, and CSV.
//!
//! Owns the columns, their names and units, and both directions: the readers and the writers.

use model::measurement::{BUCKETS, PERCENTS};

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

pub use human::{Detail, Layout};
pub use label::{folder_of, label_of};
pub use of_reading::{LogKind, measurements};
#[cfg(feature = "parquet")]
pub use parquet::ParquetWriter;
pub(crate) use read::SweepReader;
#[cfg(feature = "workbook")]
pub use workbook::WorkbookWriter;
pub use write::{csv_head, csv_row, r_head, r_row, r_tail};

/// Column names of the R matrix for its latency buckets; the bucket edges are [`model::measurement::bucket_edge_ns`].
pub const BUCKET_NAMES: [&str; BUCKETS] = [
    "us50", "us100", "us250", "us500", "ms1", "ms2", "ms4", "ms10", "ms20", "ms50", "ms100", "ms250", "ms500", "s1",
    "s2", "s5",
];

/// Column names for [`model::measurement::PERCENTS`].
pub const PERCENTILE_NAMES: [&str; PERCENTS.len()] = ["p95_00", "p99_00", "p99_50", "p99_90", "p99_95", "p99_99"];
