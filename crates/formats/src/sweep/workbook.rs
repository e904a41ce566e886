//! Measurements as a workbook (.xlsx): one sheet, a column for each of the table of columns.

use super::columns::{self, ColumnNames, SourceRow};
use crate::FormatError;
use model::{Cell, Measurement};
use rust_xlsxwriter::Workbook;

/// Rows of a sheet, with the heading.
const MOST_ROWS: u32 = 1 << 20;

/// Collects rows, because a workbook is an archive that is written at once.
pub struct WorkbookWriter {
    book: Workbook,
    next: u32,
}

impl WorkbookWriter {
    /// A workbook with the heading.
    ///
    /// # Errors
    /// The heading does not fit.
    pub fn new() -> Result<Self, FormatError> {
        let mut book = Workbook::new();
        let sheet = book.add_worksheet();
        sheet.set_name("measurements")?;
        sheet.set_freeze_panes(1, 2)?;
        for (at, column) in (0..).zip(columns::all()) {
            sheet.write_string(0, at, column.name(ColumnNames::Units))?;
        }
        Ok(WorkbookWriter { book, next: 1 })
    }

    /// Adds a row. Text is written as text: a spreadsheet does not evaluate it.
    ///
    /// # Errors
    /// The sheet is full, or a text is too long for a cell.
    pub fn row(&mut self, row: &Measurement, source: &str, line: u64) -> Result<(), FormatError> {
        if self.next >= MOST_ROWS {
            let most = MOST_ROWS - 1;
            return Err(FormatError::NotWritten(format!("a sheet has {most} rows; use --format csv or parquet")));
        }
        let placed = SourceRow::new(row, source, line);
        let sheet = self.book.worksheet_from_index(0)?;
        for (at, column) in (0..).zip(columns::all()) {
            match column.cell(&placed) {
                Cell::Text(Some(text)) => sheet.write_string(self.next, at, text.as_ref())?,
                Cell::Number(Some(value)) => sheet.write_number(self.next, at, value)?,
                Cell::Text(None) | Cell::Number(None) => continue,
            };
        }
        self.next += 1;
        Ok(())
    }

    /// The file.
    ///
    /// # Errors
    /// It cannot be packed.
    pub fn finish(mut self) -> Result<Vec<u8>, FormatError> {
        Ok(self.book.save_to_buffer()?)
    }
}
