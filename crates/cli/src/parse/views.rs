//! Output formats of `plumb parse`: each takes readings one by one and writes them.

use super::Format;
use crate::failure::Failure;
use crate::features::Feature;
use crate::output::Output;
use crate::streams::{OutputArgs, is_stdout};
use crate::width;
use formats::stream::{Repeat, Repeated};
#[cfg(feature = "parquet")]
use formats::sweep::ParquetWriter;
#[cfg(feature = "workbook")]
use formats::sweep::WorkbookWriter;
use formats::sweep::{self, ColumnNames, Detail, Layout, folder_of, label_of};
use model::Measurement;
use model::reading::{Content, Damage, Reading};
use serde::Serialize;
#[cfg(any(feature = "parquet", feature = "workbook"))]
use std::fs::File;
use std::path::Path;

/// Bytes of text that are collected before a write.
const ENOUGH: usize = 64 * 1024;
/// Maximum number of damage messages kept for the end of a JSON document; more are only counted.
const MOST_DAMAGES: usize = 10_000;

/// Names in an output format.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Names<'args> {
    /// Name of the test, the variable `testtype` in R.
    pub(super) test: Option<&'args str>,
    /// Names of the columns.
    pub(super) columns: ColumnNames,
}

/// The writer of one output format.
pub(super) struct View {
    format: Format,
    detail: Detail,
    /// The columns of a table for people, chosen at its first row.
    layout: Option<Layout>,
    name: Option<String>,
    columns: ColumnNames,
    to: Target,
    rows: usize,
    damages: Vec<String>,
    more_damages: u64,
}

enum Target {
    Text {
        output: Output,
        pending: String,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetWriter<File>>),
    #[cfg(feature = "workbook")]
    Workbook(Box<WorkbookWriter>, File),
}

impl Target {
    /// Opens the output of a format.
    fn of(format: Format, written: &OutputArgs) -> Result<Target, Failure> {
        let (what, feature) = match format {
            Format::Parquet => ("a Parquet file", Feature::Parquet),
            Format::Xlsx => ("a workbook", Feature::Workbook),
            _ => return Ok(Target::Text { output: written.open()?, pending: String::new() }),
        };
        feature.require(if format == Format::Xlsx { "--format xlsx" } else { "--format parquet" })?;
        let Some(path) = written.output.as_deref().filter(|path| !is_stdout(path)) else {
            return Err(Failure::new(format!("{what} is not text: say where it goes with --output FILE")));
        };
        match format {
            #[cfg(feature = "parquet")]
            Format::Parquet => Ok(Target::Parquet(Box::new(ParquetWriter::new(crate::safe_files::stream(path)?)?))),
            #[cfg(feature = "workbook")]
            Format::Xlsx => Ok(Target::Workbook(Box::new(WorkbookWriter::new()?), crate::safe_files::stream(path)?)),
            _ => Err(Failure::at(path, "is in no format of this build")),
        }
    }
}

/// A reading in JSON, with its source.
#[derive(Serialize)]
struct Sourced<'reading, T: Serialize> {
    source: &'reading str,
    #[serde(flatten)]
    what: &'reading T,
}

/// A reading that does not count.
#[derive(Serialize)]
struct Superseded<'reading> {
    repeat: Repeat,
    /// The line of the reading that counts instead.
    counts: u64,
    #[serde(flatten)]
    reading: &'reading Reading,
}

impl View {
    /// Writes the text before the first reading.
    pub(super) fn begin(
        format: Format,
        mut detail: Detail,
        names: &Names<'_>,
        written: &OutputArgs,
    ) -> Result<View, Failure> {
        let to = Target::of(format, written)?;
        if matches!(&to, Target::Text { output, .. } if output.is_stdout()) {
            detail.width = width::of_stdout();
        }
        let mut view = View {
            format,
            detail,
            layout: None,
            name: names.test.map(str::to_owned),
            columns: names.columns,
            to,
            rows: 0,
            damages: Vec::new(),
            more_damages: 0,
        };
        match format {
            Format::R => view.text(sweep::r_head())?,
            Format::Csv => view.text(&sweep::csv_head(names.columns))?,
            Format::Json => {
                let program = format!("plumb {}", env!("CARGO_PKG_VERSION"));
                view.text(&format!("{{\"parse_schema\": 1, \"program\": \"{program}\", \"readings\": ["))?;
            }
            Format::Table | Format::Markdown | Format::Parquet | Format::Xlsx | Format::Openmetrics => {}
        }
        Ok(view)
    }

    /// Writes a reading of a file whose system has this name, if the user gave one.
    pub(super) fn reading(&mut self, path: &Path, system: Option<&str>, reading: &Reading) -> Result<(), Failure> {
        let source = path.display().to_string();
        if self.format == Format::Json {
            return self.json_row(&Sourced { source: &source, what: reading });
        }
        for row in sweep::measurements(reading, crate::input::log_kind(path)) {
            // Where a report prints percentiles of too few I/Os, they are no facts in any table.
            let row = with_system(row.with_facts_only(), system, &source, reading);
            let text = self.row_as_text(&row, &source, reading.line);
            self.rows += 1;
            match &mut self.to {
                #[cfg(feature = "parquet")]
                Target::Parquet(file) => file.row(&row, &source, reading.line)?,
                #[cfg(feature = "workbook")]
                Target::Workbook(book, _) => book.row(&row, &source, reading.line)?,
                Target::Text { .. } => self.text(&text)?,
            }
        }
        Ok(())
    }

    /// A row in a format of text, with the heading before the first one; empty in others.
    fn row_as_text(&mut self, row: &Measurement, source: &str, line: u64) -> String {
        match self.format {
            Format::Table | Format::Markdown => {}
            Format::R => return sweep::r_row(row, source, self.rows),
            Format::Csv => return sweep::csv_row(row, source, line),
            Format::Parquet | Format::Xlsx | Format::Json | Format::Openmetrics => return String::new(),
        }
        let mut text = String::new();
        let is_text = self.format == Format::Table;
        let layout = self.layout.get_or_insert_with(|| {
            // A table is written row by row, so its columns are those that its first row needs.
            let (hosts, rounds) = (row.host.is_some(), row.round.is_some());
            let width = self.detail.width.filter(|_| is_text);
            let layout = Layout::new(Detail { hosts, rounds, width, ..self.detail });
            text = if is_text { layout.table_head() } else { layout.markdown_head() };
            layout
        });
        text + &if is_text { layout.table_row(row, source) } else { layout.markdown_row(row, source) }
    }

    /// Writes a reading that does not count; only JSON output contains it, with its relation to the one that counts.
    pub(super) fn repeated(&mut self, path: &Path, repeated: &Repeated) -> Result<(), Failure> {
        if self.format != Format::Json {
            return Ok(());
        }
        let source = path.display().to_string();
        let what = Superseded { repeat: repeated.repeat, counts: repeated.line, reading: &repeated.reading };
        self.json_row(&Sourced { source: &source, what: &what })
    }

    fn json_row(&mut self, row: &impl Serialize) -> Result<(), Failure> {
        let comma = if self.rows > 0 { ",\n" } else { "\n" };
        self.rows += 1;
        self.text(&format!("{comma}{}", json(row)?))
    }

    /// Records damage; only JSON output contains it.
    pub(super) fn damage(&mut self, path: &Path, damage: &Damage) -> Result<(), Failure> {
        if self.format != Format::Json {
            return Ok(());
        }
        if self.damages.len() < MOST_DAMAGES {
            self.damages.push(json(&Sourced { source: &path.display().to_string(), what: damage })?);
        } else {
            self.more_damages += 1;
        }
        Ok(())
    }

    /// Writes the text after the last reading.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        match self.format {
            Format::R => {
                let tail = sweep::r_tail(self.name.as_deref(), self.columns);
                self.text(&tail)?;
            }
            Format::Json => {
                let damages = self.damages.join(",\n");
                let more = self.more_damages;
                self.text(&format!("\n], \"damages\": [\n{damages}\n], \"more_damages\": {more}}}\n"))?;
            }
            Format::Table | Format::Csv | Format::Markdown | Format::Parquet | Format::Xlsx | Format::Openmetrics => {}
        }
        match self.to {
            Target::Text { mut output, pending } => output.write(&pending),
            #[cfg(feature = "workbook")]
            Target::Workbook(book, mut file) => {
                let bytes = book.finish()?;
                std::io::Write::write_all(&mut file, &bytes).map_err(|error| Failure::writing("the workbook", &error))
            }
            #[cfg(feature = "parquet")]
            Target::Parquet(file) => file.finish().map_err(Failure::from),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Failure> {
        let (output, pending) = match &mut self.to {
            Target::Text { output, pending } => (output, pending),
            #[cfg(feature = "parquet")]
            Target::Parquet(_) => return Ok(()),
            #[cfg(feature = "workbook")]
            Target::Workbook(..) => return Ok(()),
        };
        pending.push_str(text);
        if pending.len() >= ENOUGH {
            output.write(pending)?;
            pending.clear();
        }
        Ok(())
    }
}

/// The row with its system: the given name, otherwise what the row states, otherwise the label or folder of the file of
/// a run.
fn with_system(mut row: Measurement, given: Option<&str>, source: &str, reading: &Reading) -> Measurement {
    let of_file =
        || if matches!(reading.found, Content::Run(_)) { label_of(source).or_else(|| folder_of(source)) } else { None };
    row.system = given.map(str::to_owned).or_else(|| row.system.take()).or_else(of_file);
    row
}

fn json(what: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(what).map_err(|error| Failure::new(format!("the results cannot be written as JSON: {error}")))
}
