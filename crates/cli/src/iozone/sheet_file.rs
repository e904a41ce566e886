//! The file of iozone's `-b`: iozone's spreadsheet text, or a workbook if the name ends in .xlsx.

use crate::failure::Failure;
use crate::features::Feature;
use formats::iozone::sheet::{self, ThroughputRow};
use formats::iozone::text::Table;
use std::path::Path;

/// Checks that tables can be written to this file.
///
/// # Errors
/// If the name is that of a workbook and this build cannot write one.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    if is_workbook(path) { Feature::Workbook.require(&path.display().to_string()) } else { Ok(()) }
}

/// Writes the tables of all tests outside of throughput mode.
pub(super) fn write_tables(path: &Path, command: &str, tables: &[Table]) -> Result<(), Failure> {
    let bytes = if is_workbook(path) {
        workbook::tables(path, command, tables)?
    } else {
        sheet::biff(&format!("{command} "), tables)
    };
    write(path, &bytes)
}

/// Writes the table of throughput mode: its head, and one value per test and number of children.
pub(super) fn write_throughput(
    path: &Path,
    command: &str,
    head: &[String],
    children: &[u32],
    rows: &[ThroughputRow<'_>],
) -> Result<(), Failure> {
    let bytes = if is_workbook(path) {
        workbook::throughput(path, command, head, children, rows)?
    } else {
        let head: Vec<String> = head.iter().map(|line| line.trim_end().to_owned()).collect();
        sheet::throughput_biff(&format!("{command} "), &head, rows)
    };
    write(path, &bytes)
}

fn is_workbook(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xlsx"))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    sys::files::output_file::write(path, bytes).map_err(|error| Failure::writing(&path.display().to_string(), &error))
}

#[cfg(feature = "workbook")]
mod workbook {
    use super::{Failure, Path, Table, ThroughputRow};
    use formats::FormatError;
    use formats::iozone::workbook;

    pub(super) fn tables(path: &Path, command: &str, tables: &[Table]) -> Result<Vec<u8>, Failure> {
        workbook::tables(command, tables).map_err(|error| failed(path, &error))
    }

    pub(super) fn throughput(
        path: &Path,
        command: &str,
        head: &[String],
        children: &[u32],
        rows: &[ThroughputRow<'_>],
    ) -> Result<Vec<u8>, Failure> {
        workbook::throughput(command, head, children, rows).map_err(|error| failed(path, &error))
    }

    fn failed(path: &Path, error: &FormatError) -> Failure {
        Failure::at(path, format!("{error}"))
    }
}

/// `check` refuses a workbook before the run. These functions refuse it again, so that no code path writes another
/// format.
#[cfg(not(feature = "workbook"))]
mod workbook {
    use super::{Failure, Path, Table, ThroughputRow, check};

    pub(super) fn tables(path: &Path, _command: &str, _tables: &[Table]) -> Result<Vec<u8>, Failure> {
        check(path).map(|()| Vec::new())
    }

    pub(super) fn throughput(
        path: &Path,
        _command: &str,
        _head: &[String],
        _children: &[u32],
        _rows: &[ThroughputRow<'_>],
    ) -> Result<Vec<u8>, Failure> {
        check(path).map(|()| Vec::new())
    }
}
