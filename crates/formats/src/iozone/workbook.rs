//! iozone's tables as workbooks (.xlsx).

use super::text::{Quantity, Table, ThroughputTable};
use crate::FormatError;
use rust_xlsxwriter::{Workbook, XlsxError};

/// A workbook with one sheet per table.
///
/// # Errors
/// A table does not fit into a sheet.
pub fn tables(command: &str, tables: &[Table]) -> Result<Vec<u8>, FormatError> {
    let mut book = Workbook::new();
    for table in tables {
        let sheet = book.add_worksheet();
        sheet.set_name(match table.quantity {
            Quantity::Rate => table.name.clone(),
            Quantity::Processor => format!("{} CPU %", table.name),
        })?;
        sheet.write(0, 0, command)?;
        sheet.write(1, 0, "file kB \\ record kB")?;
        for (column, &record) in (1..).zip(&table.records_kb) {
            sheet.write(1, column, record)?;
        }
        for (row, (size, values)) in (2..).zip(&table.rows) {
            sheet.write(row, 0, *size)?;
            for (column, &value) in (1..).zip(values) {
                sheet.write(row, column, value)?;
            }
        }
    }
    Ok(book.save_to_buffer()?)
}

/// A workbook of throughput mode, a sheet per table: a column per number of children, a row per test.
///
/// # Errors
/// The table does not fit into a sheet.
pub fn throughput(command: &str, children: &[u32], tables: &[ThroughputTable<'_>]) -> Result<Vec<u8>, FormatError> {
    let mut book = Workbook::new();
    for table in tables {
        let sheet = book.add_worksheet();
        sheet.set_name(table.head[0].split(" report").next().unwrap_or_default())?;
        let mut row = 0;
        for line in std::iter::once(command).chain(table.head.iter().map(|line| line.trim_end())) {
            sheet.write(row, 0, line)?;
            row += 1;
        }
        for (column, &count) in (1..).zip(children) {
            sheet.write(row, column, count)?;
        }
        for (row, (name, values)) in (row + 1..).zip(&table.rows) {
            sheet.write(row, 0, *name)?;
            for (column, &value) in (1..).zip(values) {
                sheet.write(row, column, value)?;
            }
        }
    }
    Ok(book.save_to_buffer()?)
}

impl From<XlsxError> for FormatError {
    fn from(error: XlsxError) -> Self {
        FormatError::NotWritten(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workbook_is_a_zip_archive() {
        let rows = vec![(64, vec![1_722_886.0, 2_133_730.0])];
        let table = Table { name: "Writer".into(), records_kb: vec![4, 8], rows, ..Table::default() };
        assert!(tables("iozone", &[table]).unwrap().starts_with(b"PK"));
    }
}
