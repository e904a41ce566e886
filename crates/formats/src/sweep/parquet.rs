//! Measurements as a Parquet file, written in row groups, so that memory does not grow with the number of rows.

use super::columns::{self, Column, ColumnNames, SourceRow};
use crate::FormatError;
use model::Measurement;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

const GROUP: usize = 65_536;

/// A row with its file and line, until its group is written.
struct Pending {
    row: Measurement,
    source: String,
    line: u64,
}

/// Writes rows to a file as they arrive.
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Vec<Pending>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Creates a file with the table's columns.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn new(to: W) -> Result<Self, FormatError> {
        let column = |column: Column| {
            let name = column.name(ColumnNames::Units);
            if column.is_number() {
                format!(" optional double {name};")
            } else {
                format!(" optional binary {name} (UTF8);")
            }
        };
        let columns: String = columns::all().map(column).collect();
        let schema = parse_message_type(&format!("message measurements {{{columns}}}"))?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
        Ok(ParquetWriter { file, rows: Vec::new() })
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
        self.file.close()?;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), FormatError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() { Ok(()) } else { write_group(&mut self.file, &rows) }
    }
}

impl From<ParquetError> for FormatError {
    fn from(error: ParquetError) -> Self {
        FormatError::NotWritten(error.to_string())
    }
}

fn write_group<W: Write + Send>(file: &mut SerializedFileWriter<W>, rows: &[Pending]) -> Result<(), FormatError> {
    let placed: Vec<SourceRow<'_>> =
        rows.iter().map(|from| SourceRow::new(&from.row, &from.source, from.line)).collect();
    let mut group = file.next_row_group()?;
    for column in columns::all() {
        let Some(mut writer) = group.next_column()? else { continue };
        if column.is_number() {
            let cells: Vec<Option<f64>> = placed.iter().map(|placed| column.number(placed)).collect();
            let values: Vec<f64> = cells.iter().flatten().copied().collect();
            writer.typed::<DoubleType>().write_batch(&values, Some(&levels(&cells)), None)?;
        } else {
            let cells: Vec<_> = placed.iter().map(|placed| column.text(placed)).collect();
            let values: Vec<ByteArray> = cells.iter().flatten().map(|text| ByteArray::from(text.as_ref())).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels(&cells)), None)?;
        }
        writer.close()?;
    }
    group.close()?;
    Ok(())
}

/// 1 for each cell that is there.
fn levels<T>(cells: &[Option<T>]) -> Vec<i16> {
    cells.iter().map(|cell| i16::from(cell.is_some())).collect()
}
