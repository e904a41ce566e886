//! Output formats of `plumb parse`: each takes readings one by one and writes them.

use super::{Format, output};
use crate::failure::Failure;
use crate::features::Feature;
use crate::output::Output;
use formats::stream::{Repeat, Repeated};
#[cfg(feature = "parquet")]
use formats::sweep::ParquetWriter;
use formats::sweep::{self, Detail, folder_of, label_of};
use model::Measurement;
use model::reading::{Damage, Found, Reading};
use serde::Serialize;
#[cfg(feature = "parquet")]
use std::fs::File;
use std::path::Path;

/// Bytes of text that are collected before a write.
const ENOUGH: usize = 64 * 1024;
/// Maximum number of damage messages kept for the end of a JSON document; more are only counted.
const MOST_DAMAGES: usize = 10_000;

/// The writer of one output format.
pub(super) struct View {
    format: Format,
    detail: Detail,
    name: Option<String>,
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
        detail: Detail,
        name: Option<&str>,
        path: Option<&Path>,
    ) -> Result<View, Failure> {
        if format == Format::Parquet {
            Feature::Parquet.require("--format parquet")?;
        }
        let to = match (format, path) {
            (Format::Parquet, None) => {
                return Err(Failure::new("a Parquet file is not text: say where it goes with --output FILE"));
            }
            #[cfg(feature = "parquet")]
            (Format::Parquet, Some(path)) => {
                let file = crate::safe_files::stream(path)?;
                Target::Parquet(Box::new(ParquetWriter::new(file)?))
            }
            _ => Target::Text { output: output(path)?, pending: String::new() },
        };
        let mut view =
            View { format, detail, name: name.map(str::to_owned), to, rows: 0, damages: Vec::new(), more_damages: 0 };
        match format {
            Format::R => view.text(sweep::r_head())?,
            Format::Csv => view.text(&sweep::csv_head())?,
            Format::Json => {
                let program = format!("plumb {}", env!("CARGO_PKG_VERSION"));
                view.text(&format!("{{\"parse_schema\": 1, \"program\": \"{program}\", \"readings\": ["))?;
            }
            Format::Table | Format::Markdown | Format::Parquet => {}
        }
        Ok(view)
    }

    /// Writes a reading of a file whose system has this name, if the user gave one.
    pub(super) fn reading(&mut self, path: &Path, system: Option<&str>, reading: &Reading) -> Result<(), Failure> {
        let source = path.display().to_string();
        if self.format == Format::Json {
            let text = json(&Sourced { source: &source, what: reading })?;
            let comma = if self.rows > 0 { ",\n" } else { "\n" };
            self.rows += 1;
            return self.text(&format!("{comma}{text}"));
        }
        for row in sweep::measurements(reading, super::log_kind(path)) {
            let row = with_system(row, system, &source, reading);
            let text = match self.format {
                Format::Table => {
                    let head = if self.rows == 0 { sweep::table_head(self.detail) } else { String::new() };
                    head + &sweep::table_row(&row, self.detail)
                }
                Format::Markdown => {
                    let head = if self.rows == 0 { sweep::markdown_head(self.detail) } else { String::new() };
                    head + &sweep::markdown_row(&row, self.detail)
                }
                Format::R => sweep::r_row(&row, &source, self.rows),
                Format::Csv => sweep::csv_row(&row, &source, reading.line),
                Format::Parquet | Format::Json => String::new(),
            };
            self.rows += 1;
            match &mut self.to {
                #[cfg(feature = "parquet")]
                Target::Parquet(file) => file.row(&row, &source)?,
                Target::Text { .. } => self.text(&text)?,
            }
        }
        Ok(())
    }

    /// Writes a reading that does not count; only JSON output contains it, with its relation to the one that counts.
    pub(super) fn repeated(&mut self, path: &Path, repeated: &Repeated) -> Result<(), Failure> {
        if self.format != Format::Json {
            return Ok(());
        }
        let source = path.display().to_string();
        let what = Superseded { repeat: repeated.repeat, counts: repeated.line, reading: &repeated.reading };
        let text = json(&Sourced { source: &source, what: &what })?;
        let comma = if self.rows > 0 { ",\n" } else { "\n" };
        self.rows += 1;
        self.text(&format!("{comma}{text}"))
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
                let tail = sweep::r_tail(self.name.as_deref());
                self.text(&tail)?;
            }
            Format::Json => {
                let damages = self.damages.join(",\n");
                let more = self.more_damages;
                self.text(&format!("\n], \"damages\": [\n{damages}\n], \"more_damages\": {more}}}\n"))?;
            }
            Format::Table | Format::Csv | Format::Markdown | Format::Parquet => {}
        }
        match self.to {
            Target::Text { mut output, pending } => output.write(&pending),
            #[cfg(feature = "parquet")]
            Target::Parquet(file) => file.finish().map_err(Failure::from),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Failure> {
        let (output, pending) = match &mut self.to {
            Target::Text { output, pending } => (output, pending),
            #[cfg(feature = "parquet")]
            Target::Parquet(_) => return Ok(()),
        };
        pending.push_str(text);
        if pending.len() >= ENOUGH {
            output.write(pending)?;
            pending.clear();
        }
        Ok(())
    }
}

/// The row with its system: the given name, otherwise what the row states, otherwise the label or folder of the file of a run.
fn with_system(mut row: Measurement, given: Option<&str>, source: &str, reading: &Reading) -> Measurement {
    let of_file =
        || if matches!(reading.found, Found::Run(_)) { label_of(source).or_else(|| folder_of(source)) } else { None };
    row.system = given.map(str::to_owned).or_else(|| row.system.take()).or_else(of_file);
    row
}

fn json(what: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(what).map_err(|error| Failure::new(format!("the results cannot be written as JSON: {error}")))
}
