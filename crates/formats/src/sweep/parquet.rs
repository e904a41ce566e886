//! Measurements as a Parquet file, written in row groups, so that memory does not grow with the number of rows.

use super::columns::{self, Column, ColumnNames, SourceRow};
use crate::FormatError;
use crate::columnar::{Cells, GROUP, Kind, TableColumn, TableWriter};
use model::Measurement;
use std::io::Write;

/// A row with its file and line, until its group is written.
struct Pending {
    row: Measurement,
    source: String,
    line: u64,
}

/// Writes rows to a file as they arrive.
pub struct ParquetWriter<W: Write + Send> {
    file: TableWriter<W>,
    rows: Vec<Pending>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Creates a file with the table's columns.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn new(to: W) -> Result<Self, FormatError> {
        let column = |column: Column| {
            let kind = if column.is_number() { Kind::Real } else { Kind::Text };
            TableColumn { name: column.name(ColumnNames::Units).to_owned(), kind }
        };
        let columns: Vec<TableColumn> = columns::all().map(column).collect();
        Ok(ParquetWriter { file: TableWriter::new(to, "measurements", &columns, None)?, rows: Vec::new() })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub fn row(&mut self, row: &Measurement, source: &str, line: u64) -> Result<(), FormatError> {
        self.rows.push(Pending { row: row.clone(), source: source.to_owned(), line });
        if self.rows.len() >= GROUP { self.flush() } else { Ok(()) }
    }

    /// Writes the remaining rows and the file footer.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub fn finish(mut self) -> Result<(), FormatError> {
        self.flush()?;
        self.file.finish().map(drop)
    }

    fn flush(&mut self) -> Result<(), FormatError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let placed: Vec<SourceRow<'_>> =
            rows.iter().map(|from| SourceRow::new(&from.row, &from.source, from.line)).collect();
        self.file.group(columns::all().map(|column| {
            if column.is_number() {
                Cells::Real(placed.iter().map(|placed| column.number(placed)).collect())
            } else {
                let text = |placed| column.text(placed).map(|text| text.as_ref().to_owned());
                Cells::Text(placed.iter().map(text).collect())
            }
        }))
    }
}
