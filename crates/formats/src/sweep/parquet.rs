//! Measurements as a Parquet file, written in row groups, so that memory does not grow with the number of rows.

use super::{BUCKET_NAMES, PERCENTILE_NAMES};
use crate::FormatError;
use model::Measurement;
use model::measurement::{BUCKETS, PERCENTS, ms};
use model::reading::ReadKind;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

/// Rows per row group.
const GROUP: usize = 65_536;

/// A text column: name and value.
struct Text(&'static str, fn(&Measurement) -> Option<Cow<'_, str>>);
struct Number(&'static str, fn(&Measurement) -> Option<f64>);

const TEXTS: &[Text] = &[
    Text("system", |row| row.system.as_deref().map(Cow::Borrowed)),
    Text("name", |row| Some(Cow::Borrowed(row.test.as_str()))),
    Text("block_size", |row| row.block_text().map(Cow::Owned)),
    Text("direction", |row| row.kind.map(ReadKind::word).map(Cow::Borrowed)),
    Text("engine", |row| row.engine.as_deref().map(Cow::Borrowed)),
];
const NUMBERS: &[Number] = &[
    Number("users", |row| row.users),
    Number("depth", |row| row.depth),
    Number("mib_per_second", Measurement::mib_per_second),
    Number("iops", |row| row.iops),
    Number("mean_ms", |row| ms(row.mean_ns)),
    Number("min_ms", |row| ms(row.min_ns)),
    Number("max_ms", |row| ms(row.max_ns)),
    Number("deviation_ms", |row| ms(row.deviation_ns)),
    Number("errno", |row| row.errno),
];

/// Writes rows to a file as they arrive.
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Vec<(Measurement, String)>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Creates a file with the table's columns.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn new(to: W) -> Result<Self, FormatError> {
        let mut schema = String::from("message measurements {");
        for name in TEXTS.iter().map(|text| text.0).chain(["source"]) {
            schema += &format!(" optional binary {name} (UTF8);");
        }
        let names = NUMBERS.iter().map(|number| number.0);
        let tables = BUCKET_NAMES.into_iter().chain(PERCENTILE_NAMES);
        for name in names.chain(tables) {
            schema += &format!(" optional double {name};");
        }
        schema.push('}');
        let schema = parse_message_type(&schema)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
        Ok(ParquetWriter { file, rows: Vec::new() })
    }

    /// Adds a row of `source`.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub fn row(&mut self, row: &Measurement, source: &str) -> Result<(), FormatError> {
        self.rows.push((row.clone(), source.to_owned()));
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

fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    rows: &[(Measurement, String)],
) -> Result<(), FormatError> {
    let mut group = file.next_row_group()?;
    let texts = TEXTS.iter().map(|text| rows.iter().map(|(row, _)| text.1(row)).collect::<Vec<_>>());
    let sources: Vec<_> = rows.iter().map(|(_, source)| Some(Cow::Borrowed(source.as_str()))).collect();
    for column in texts.chain([sources]) {
        let levels: Vec<i16> = column.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<ByteArray> = column.into_iter().flatten().map(|text| ByteArray::from(text.as_ref())).collect();
        if let Some(mut writer) = group.next_column()? {
            writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            writer.close()?;
        }
    }
    let numbers = NUMBERS.iter().map(|number| rows.iter().map(|(row, _)| number.1(row)).collect::<Vec<_>>());
    let folded: Vec<_> = rows.iter().map(|(row, _)| row.buckets()).collect();
    let buckets = (0..BUCKETS).map(|at| folded.iter().map(|buckets| Some((*buckets)?[at])).collect::<Vec<_>>());
    let percentiles =
        (0..PERCENTS.len()).map(|at| rows.iter().map(|(row, _)| ms(row.percentiles_ns[at])).collect::<Vec<_>>());
    for column in numbers.chain(buckets).chain(percentiles) {
        let levels: Vec<i16> = column.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<f64> = column.into_iter().flatten().collect();
        if let Some(mut writer) = group.next_column()? {
            writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            writer.close()?;
        }
    }
    group.close()?;
    Ok(())
}
