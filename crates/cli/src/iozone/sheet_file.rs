//! The file of iozone's `-b`: iozone's spreadsheet text, or a workbook if the name ends in .xlsx.

use crate::failure::Failure;
use crate::features::Feature;
use formats::iozone::sheet;
use formats::iozone::text::{Table, ThroughputTable};
#[cfg(feature = "workbook")]
use formats::iozone::workbook;
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
    check(path)?;
    #[cfg(feature = "workbook")]
    if is_workbook(path) {
        return write(path, &workbook::tables(command, tables).map_err(|error| Failure::at(path, error))?);
    }
    write(path, &sheet::biff(&format!("{command} "), tables))
}

/// Writes the tables of throughput mode: one value per test and number of children.
pub(super) fn write_throughput(
    path: &Path,
    command: &str,
    children: &[u32],
    tables: &[ThroughputTable<'_>],
) -> Result<(), Failure> {
    check(path)?;
    #[cfg(feature = "workbook")]
    if is_workbook(path) {
        let bytes = workbook::throughput(command, children, tables).map_err(|error| Failure::at(path, error))?;
        return write(path, &bytes);
    }
    // Only a workbook has the numbers of children.
    let _ = children;
    write(path, &sheet::throughput_biff(&format!("{command} "), tables))
}

fn is_workbook(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xlsx"))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    sys::files::output_file::write(path, bytes).map_err(|error| Failure::writing(&path.display().to_string(), &error))
}
