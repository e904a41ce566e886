//! Sweeps: lines of measurements as fioparse.sh, its R matrix and CSV files of both have them.
//!
//! Owns the columns, their names and units, and both directions: the reader of all of these and the writers.

mod of_reading;
mod parquet;
mod read;
mod write;

pub use of_reading::{LogKind, measurements};
pub use parquet::ParquetWriter;
pub(crate) use read::SweepReader;
pub use write::{Detail, csv_head, csv_row, markdown_head, markdown_row, r_head, r_row, r_tail, table_head, table_row};

/// The 16 buckets of the R matrix: name, and upper edge in nanoseconds; the last one is open.
pub const BUCKET_NAMES: [(&str, f64); model::reading::BUCKETS] = [
    ("us50", 5e4),
    ("us100", 1e5),
    ("us250", 2.5e5),
    ("us500", 5e5),
    ("ms1", 1e6),
    ("ms2", 2e6),
    ("ms4", 4e6),
    ("ms10", 1e7),
    ("ms20", 2e7),
    ("ms50", 5e7),
    ("ms100", 1e8),
    ("ms250", 2.5e8),
    ("ms500", 5e8),
    ("s1", 1e9),
    ("s2", 2e9),
    ("s5", f64::INFINITY),
];

/// The 6 percentiles of the R matrix.
pub const PERCENTILE_NAMES: [(&str, f64); model::reading::PERCENTILES] =
    [("p95_00", 95.0), ("p99_00", 99.0), ("p99_50", 99.5), ("p99_90", 99.9), ("p99_95", 99.95), ("p99_99", 99.99)];

/// The bucket that a latency below `ns` (`None`: the open bin) falls into.
fn bucket_below(ns: Option<f64>) -> usize {
    ns.map_or(BUCKET_NAMES.len() - 1, |ns| {
        BUCKET_NAMES.iter().position(|&(_, edge)| ns <= edge).unwrap_or(BUCKET_NAMES.len() - 1)
    })
}
