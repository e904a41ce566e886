//! Tables as Parquet files, written and read in groups of rows. All columns may lack values, and none is nested.

use crate::FormatError;
use bytes::Bytes;
use parquet::basic::{Compression, Type};
use parquet::column::reader::{ColumnReader, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::{Cursor, Write};
use std::sync::Arc;

/// Rows of a group, at most: so memory does not grow with the number of rows.
pub const GROUP: usize = 65_536;

/// The values of a column in a group; `None` if unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Numbers.
    Real(Vec<Option<f64>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Words.
    Text(Vec<Option<String>>),
}

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Real,
    /// Whole numbers.
    Whole,
    /// Words.
    Text,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name, with its unit behind it.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
}

/// The schema of a table.
fn schema(table: &str, columns: &[TableColumn]) -> String {
    let words = columns.iter().map(|TableColumn { name, kind }| match kind {
        Kind::Real => format!(" optional double {name};"),
        Kind::Whole => format!(" optional int64 {name};"),
        Kind::Text => format!(" optional binary {name} (UTF8);"),
    });
    format!("message {table} {{{}}}", words.collect::<String>())
}

/// Writes a table.
pub struct TableWriter<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> TableWriter<W> {
    /// Creates a file with these columns. `head` is kept under the table's name.
    ///
    /// # Errors
    /// The beginning cannot be written.
    pub fn new(to: W, table: &str, columns: &[TableColumn], head: Option<String>) -> Result<Self, FormatError> {
        let schema = parse_message_type(&schema(table, columns))?;
        let head = head.map(|head| vec![KeyValue::new(table.to_owned(), head)]);
        let properties =
            WriterProperties::builder().set_compression(Compression::SNAPPY).set_key_value_metadata(head).build();
        Ok(TableWriter(SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?))
    }

    /// Adds a group of rows, column by column in their order.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn group(&mut self, columns: impl Iterator<Item = Cells>) -> Result<(), FormatError> {
        let mut group = self.0.next_row_group()?;
        for cells in columns {
            match cells {
                Cells::Real(cells) => column::<DoubleType, _>(&mut group, cells)?,
                Cells::Whole(cells) => column::<Int64Type, _>(&mut group, cells)?,
                Cells::Text(cells) => {
                    let cells = cells.into_iter().map(|cell| cell.map(|text| ByteArray::from(text.into_bytes())));
                    column::<ByteArrayType, _>(&mut group, cells.collect())?;
                }
            }
        }
        group.close()?;
        Ok(())
    }

    /// Writes the end of the file, and returns what it was written to.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> Result<W, FormatError> {
        Ok(self.0.into_inner()?)
    }
}

fn column<T: DataType<T = V>, V: Clone>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    cells: Vec<Option<V>>,
) -> Result<(), FormatError> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<V> = cells.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
    writer.close()?;
    Ok(())
}

/// Reads a table.
pub struct TableReader<R: ChunkReader + 'static> {
    file: SerializedFileReader<R>,
    head: String,
    columns: Vec<TableColumn>,
}

impl<R: ChunkReader + 'static> TableReader<R> {
    /// Opens a file; `None` if it is a Parquet file without such a table.
    ///
    /// # Errors
    /// It is not a Parquet file, or is damaged.
    pub fn open(from: R, table: &str) -> Result<Option<Self>, FormatError> {
        let file = SerializedFileReader::new(from).map_err(damaged)?;
        let facts = file.metadata().file_metadata().key_value_metadata();
        let head = facts.into_iter().flatten().find(|fact| fact.key == table).and_then(|fact| fact.value.clone());
        let Some(head) = head else { return Ok(None) };
        let columns = file.metadata().file_metadata().schema_descr().columns().iter().map(|column| {
            let is_flat =
                column.path().parts().len() == 1 && column.max_rep_level() == 0 && column.max_def_level() == 1;
            let kind = match column.physical_type() {
                Type::DOUBLE => Some(Kind::Real),
                Type::INT64 => Some(Kind::Whole),
                Type::BYTE_ARRAY => Some(Kind::Text),
                _ => None,
            };
            let kind = kind.filter(|_| is_flat).ok_or_else(|| not_ours(column.name()))?;
            Ok(TableColumn { name: column.name().to_owned(), kind })
        });
        let columns = columns.collect::<Result<_, FormatError>>()?;
        Ok(Some(TableReader { file, head, columns }))
    }

    /// The text that was kept under the table's name.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Its columns, in their order.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.file.num_row_groups()
    }

    /// One column of a group, by its name; `None` if there is no such column.
    ///
    /// # Errors
    /// It is damaged.
    pub fn column(&self, group: usize, name: &str) -> Result<Option<Cells>, FormatError> {
        let Some(at) = self.columns.iter().position(|column| column.name == name) else { return Ok(None) };
        let rows = self.file.get_row_group(group).map_err(damaged)?;
        let count = usize::try_from(rows.metadata().num_rows()).ok().filter(|rows| *rows <= GROUP);
        let count = count.ok_or_else(|| FormatError::Damaged(format!("group {group} of rows has another size")))?;
        cells(rows.as_ref(), at, self.columns[at].kind, count).map(Some)
    }

    /// The columns of a group.
    ///
    /// # Errors
    /// It is damaged.
    pub fn group(&self, at: usize) -> Result<Vec<Cells>, FormatError> {
        let group = self.file.get_row_group(at).map_err(damaged)?;
        let rows = usize::try_from(group.metadata().num_rows()).ok().filter(|rows| *rows <= GROUP);
        let rows = rows.ok_or_else(|| FormatError::Damaged(format!("group {at} of rows has another size")))?;
        let of_column = |(at, column): (usize, &TableColumn)| cells(group.as_ref(), at, column.kind, rows);
        self.columns.iter().enumerate().map(of_column).collect()
    }
}

/// A file in memory, for [`TableReader`].
pub struct InMemory(pub Vec<u8>);

impl Length for InMemory {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for InMemory {
    type T = Cursor<Vec<u8>>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(self.0.len());
        Ok(Cursor::new(self.0[start..].to_vec()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = usize::try_from(start).ok().and_then(|start| Some((start, start.checked_add(length)?)));
        let part = end.and_then(|(start, end)| self.0.get(start..end));
        part.map(Bytes::copy_from_slice).ok_or_else(|| ParquetError::EOF("the file is cut off".to_owned()))
    }
}

fn cells(group: &dyn RowGroupReader, at: usize, kind: Kind, rows: usize) -> Result<Cells, FormatError> {
    let reader = group.get_column_reader(at).map_err(damaged)?;
    Ok(match kind {
        Kind::Real => Cells::Real(values::<DoubleType>(reader, rows)?),
        Kind::Whole => Cells::Whole(values::<Int64Type>(reader, rows)?),
        Kind::Text => {
            let text = |bytes: ByteArray| String::from_utf8_lossy(bytes.data()).into_owned();
            let found = values::<ByteArrayType>(reader, rows)?;
            Cells::Text(found.into_iter().map(|cell| cell.map(text)).collect())
        }
    })
}

fn values<T: DataType>(reader: ColumnReader, rows: usize) -> Result<Vec<Option<T::T>>, FormatError> {
    let mut reader = get_typed_column_reader::<T>(reader);
    let (mut levels, mut found) = (Vec::new(), Vec::new());
    loop {
        let left = rows.saturating_sub(levels.len());
        let (read, ..) = reader.read_records(left, Some(&mut levels), None, &mut found).map_err(damaged)?;
        if read == 0 || left == 0 {
            break;
        }
    }
    if levels.len() != rows {
        return Err(FormatError::Damaged("a column has too few rows".to_owned()));
    }
    let mut found = found.into_iter();
    Ok(levels.into_iter().map(|level| if level == 1 { found.next() } else { None }).collect())
}

impl From<ParquetError> for FormatError {
    fn from(error: ParquetError) -> Self {
        FormatError::NotWritten(error.to_string())
    }
}

fn not_ours(column: &str) -> FormatError {
    FormatError::Damaged(format!("column {column} has another type"))
}

fn damaged(error: ParquetError) -> FormatError {
    FormatError::Damaged(error.to_string())
}
