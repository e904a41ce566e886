//! iozone's output formats: text and worksheets written, tables and reports read.
//!
//! Owns phrases, columns and tabs. Leaves the tests and their arithmetic to the crate `iozone`.

mod read;
mod read_report;
mod read_table;
pub mod sheet;
pub mod text;
#[cfg(feature = "workbook")]
pub mod workbook;

pub(crate) use read::IozoneReader;

const KIB: f64 = 1024.0;

/// The tests as readers know them, in the order of the table's columns: the word over the column, the name, and the
/// report's title.
const TESTS: &[(&str, &str, &str)] = &[
    ("write", "write", "Writer"),
    ("rewrite", "rewrite", "Re-writer"),
    ("read", "read", "Reader"),
    ("reread", "reread", "Re-Reader"),
    ("read", "random read", "Random read"),
    ("write", "random write", "Random write"),
    ("read", "backward read", "Backward read"),
    ("rewrite", "record rewrite", "Record rewrite"),
    ("read", "stride read", "Stride read"),
    ("fwrite", "fwrite", "Fwrite"),
    ("frewrite", "refwrite", "Re-Fwrite"),
    ("fread", "fread", "Fread"),
    ("freread", "refread", "Re-Fread"),
    ("pwrite", "pwrite", "Pwrite"),
    ("repwrite", "repwrite", "Re-Pwrite"),
    ("pread", "pread", "Pread"),
    ("repread", "repread", "Re-Pread"),
];
