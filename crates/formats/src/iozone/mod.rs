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

const KIB: f64 = 1024.0;

/// The tests as readers know them: the end of the table's column, the name, and the report's title.
const TESTS: &[(usize, &str, &str)] = &[
    (33, "write", "Writer"),
    (42, "rewrite", "Re-writer"),
    (51, "read", "Reader"),
    (60, "reread", "Re-Reader"),
    (69, "random read", "Random read"),
    (78, "random write", "Random write"),
    (87, "backward read", "Backward read"),
    (97, "record rewrite", "Record rewrite"),
    (107, "stride read", "Stride read"),
    (116, "fwrite", "Fwrite"),
    (125, "refwrite", "Re-Fwrite"),
    (134, "fread", "Fread"),
    (143, "refread", "Re-Fread"),
    (152, "pwrite", "Pwrite"),
    (161, "repwrite", "Re-Pwrite"),
    (170, "pread", "Pread"),
    (178, "repread", "Re-Pread"),
];
