//! Readers of tables of measurements: fioparse.sh's for people, its R matrix, the data frame that R prints, CSV files.

use super::write::COMPUTED;
use super::{BUCKET_NAMES, PERCENTILE_NAMES};
use crate::numeral::{contains, count, leading, percent, whole};
use crate::stream::{Event, Line, Sink};
use model::reading::{BUCKETS, Found, Measurement, PERCENTILES, ReadKind, Reading};
use std::borrow::Cow;

/// The columns of the R matrix.
const MATRIX: usize = 31;

/// The table whose rows come next.
#[derive(Debug, Default)]
enum Table {
    #[default]
    None,
    /// Rows of `matrix(c(`.
    Matrix,
    /// A data frame as R prints it: a row number, then the 31 columns.
    Frame,
    /// CSV with these columns.
    Csv(Vec<String>),
    /// fioparse.sh's table with these headings.
    Human(Vec<String>),
}

/// The reader's state between lines.
#[derive(Debug, Default)]
pub(crate) struct SweepReader {
    table: Table,
    first_line: u64,
    rows: u64,
}

impl SweepReader {
    /// Whether a line that is no heading may be one of these tables'.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.table, Table::None)
    }

    /// Takes a line if it belongs to such a table.
    pub(crate) fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let Line { number, text, .. } = line;
        if self.heading(number, text) {
            return true;
        }
        if !self.is_open() {
            return false;
        }
        if text.is_empty() {
            // R and fioparse.sh print no empty lines inside; the CSV files end with one.
            if !matches!(self.table, Table::Matrix) {
                self.close(sink);
            }
            return false;
        }
        let row = match &self.table {
            Table::None => return false,
            Table::Matrix => {
                let row = text.trim_start_matches(',').trim_end_matches(',').trim();
                if row.starts_with(')') {
                    self.close(sink);
                    return true;
                }
                let cells = r_cells(row);
                matrix_row(&cells.iter().map(|cell| cell.trim()).collect::<Vec<_>>())
            }
            Table::Csv(columns) => csv_row(columns, text),
            Table::Human(columns) => human_row(columns, text),
            Table::Frame => frame_row(text),
        };
        match row {
            Some(row) => {
                self.rows += 1;
                sink(Event::Reading(Reading { format: "sweep", line: number, found: Found::Row(Box::new(row)) }));
                true
            }
            None => self.not_a_row(number, text, sink),
        }
    }

    /// Prose ends a table; what begins like a row is a damaged one.
    fn not_a_row(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        let like_a_row = match self.table {
            Table::Matrix => true,
            Table::Csv(_) => text.contains(','),
            Table::Frame => text.starts_with(|letter: char| letter.is_ascii_digit()),
            Table::Human(_) => text.split_whitespace().nth(1).and_then(whole).is_some(),
            Table::None => false,
        };
        if like_a_row {
            sink(Event::damage(number, "damaged row of a table of measurements".to_owned()));
        } else {
            self.close(sink);
        }
        like_a_row
    }

    /// Nothing more comes.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_>) {
        if matches!(self.table, Table::Matrix) {
            sink(Event::damage(self.first_line, "the R matrix that begins here has no end".to_owned()));
        }
        self.close(sink);
    }

    fn close(&mut self, sink: &mut Sink<'_>) {
        if !matches!(self.table, Table::None) && self.rows == 0 {
            sink(Event::damage(self.first_line, "a heading of a table of measurements without a row".to_owned()));
        }
        *self = SweepReader::default();
    }

    fn heading(&mut self, number: u64, text: &str) -> bool {
        let table = if text.ends_with('(') && text.contains("matrix(c(") {
            Table::Matrix
        } else if text.starts_with("name users bs MB lat")
            || (text.starts_with("name ") && text.split_whitespace().eq(frame_heading()))
        {
            Table::Frame
        } else if contains(text, "name,users,bs,", "MB,lat") {
            Table::Csv(text.split(',').map(|name| unquoted(name).to_owned()).collect())
        } else if text.starts_with("test") && text.contains("users") && text.contains("size") && text.contains("IOPS") {
            Table::Human(text.split([' ', ',']).filter(|name| !name.is_empty()).map(str::to_owned).collect())
        } else {
            return false;
        };
        *self = SweepReader { table, first_line: number, rows: 0 };
        true
    }
}

fn frame_heading() -> impl Iterator<Item = &'static str> {
    let first = ["name", "users", "bs", "MB", "lat", "min", "max", "std", "iops"];
    first.into_iter().chain(BUCKET_NAMES.map(|(name, _)| name)).chain(PERCENTILE_NAMES.map(|(name, _)| name))
}

fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('"').trim()
}

/// A number or `NA`; the outer `None` is damage.
#[expect(clippy::option_option, reason = "damage and absence are different things")]
fn cell(text: &str) -> Option<Option<f64>> {
    match text.trim() {
        "" | "NA" => Some(None),
        text => whole(text).map(Some),
    }
}

fn matrix_row(cells: &[&str]) -> Option<Measurement> {
    if cells.len() != MATRIX {
        return None;
    }
    let named: Vec<(&str, &str)> = frame_heading().zip(cells.iter().copied()).collect();
    row_of(&named)
}

/// A row of a data frame: its number, then the columns.
fn frame_row(text: &str) -> Option<Measurement> {
    let cells: Vec<&str> = text.split_whitespace().collect();
    let (number, cells) = cells.split_first()?;
    whole(number).and_then(|_| matrix_row(cells))
}

fn csv_row(columns: &[String], text: &str) -> Option<Measurement> {
    let cells: Vec<Cow<'_, str>> = if memchr::memchr(b'"', text.as_bytes()).is_none() {
        text.split(',').map(Cow::Borrowed).collect()
    } else {
        csv_cells(text).into_iter().map(Cow::Owned).collect()
    };
    // A row may leave out what stands behind the last percentile.
    if cells.len() < columns.len().min(MATRIX) || cells.len() > columns.len() {
        return None;
    }
    let named: Vec<(&str, &str)> =
        columns.iter().map(String::as_str).zip(cells.iter().map(|cell| as_text(cell.trim()))).collect();
    row_of(&named)
}

/// A cell without the apostrophe that keeps spreadsheets from computing it.
fn as_text(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| rest.len() > 1 && rest.starts_with(COMPUTED)).unwrap_or(cell)
}

/// Cells of R code with commas between them; a quoted cell may hold commas, and quotes behind a backslash.
fn r_cells(text: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quoted => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    cells.push(cell);
    cells
}

/// Cells with commas between them; a quoted cell may hold commas and doubled quotes.
fn csv_cells(text: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    cells.push(cell);
    cells
}

fn row_of(named: &[(&str, &str)]) -> Option<Measurement> {
    let mut row = Measurement::default();
    let mut buckets = [None; BUCKETS];
    for &(name, text) in named {
        let words = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty() && text != "NA");
        match name {
            "system" => row.system = words(text),
            "name" => row.name = words(text).unwrap_or_default(),
            "users" => row.users = cell(text)?,
            "bs" => row.block_size = words(text),
            "MB" => row.mib_per_second = cell(text)?,
            "lat" => row.mean_ms = cell(text)?,
            "min" => row.min_ms = cell(text)?,
            "max" => row.max_ms = cell(text)?,
            "std" => row.deviation_ms = cell(text)?,
            "iops" => row.iops = cell(text)?,
            "direction" => row.kind = kind(text),
            "engine" => row.engine = words(text),
            "depth" => row.depth = cell(text)?,
            "errno" => row.errno = cell(text)?,
            _ => {
                if let Some(at) = BUCKET_NAMES.iter().position(|(bucket, _)| *bucket == name) {
                    buckets[at] = cell(text)?;
                } else if let Some(at) = PERCENTILE_NAMES.iter().position(|(percentile, _)| *percentile == name) {
                    row.percentiles_ms[at] = cell(text)?;
                }
            }
        }
    }
    if buckets.iter().any(Option::is_some) {
        row.buckets = Some(buckets.map(|share| share.unwrap_or(0.0)));
    }
    Some(row)
}

fn kind(text: &str) -> Option<ReadKind> {
    [ReadKind::Read, ReadKind::Write, ReadKind::Trim, ReadKind::Mixed].into_iter().find(|kind| kind.word() == text)
}

/// A row of fioparse.sh's table. Blank cells of the histogram leave no trace once blanks are squeezed, so shares
/// are kept in their order and not called anything.
fn human_row(columns: &[String], text: &str) -> Option<Measurement> {
    let (text, percentiles) = match text.split_once(',') {
        Some((text, percentiles)) => (text, Some(percentiles)),
        None => (text, None),
    };
    let mut cells = text.split_whitespace();
    let mut row =
        Measurement { name: cells.next()?.to_owned(), users: Some(whole(cells.next()?)?), ..Measurement::default() };
    row.block_size = Some(cells.next()?.to_owned()).filter(|size| size != "-");
    let direction = cells.next()?;
    row.kind = match direction {
        "r" => Some(ReadKind::Read),
        "w" => Some(ReadKind::Write),
        "t" => Some(ReadKind::Trim),
        "m" => Some(ReadKind::Mixed),
        _ => return None,
    };
    for column in columns.iter().skip(3).take_while(|name| name.as_str() != "50us") {
        let slot = match column.as_str() {
            "MB" | "MiB/s" => &mut row.mib_per_second,
            "ms" => &mut row.mean_ms,
            "min" => &mut row.min_ms,
            "max" => &mut row.max_ms,
            "std" => &mut row.deviation_ms,
            "IOPS" => &mut row.iops,
            _ => continue,
        };
        let text = cells.next()?;
        *slot = if text == "-" { None } else { Some(count(text)?) };
    }
    for share in cells {
        row.unplaced_buckets.push(percent(share)?);
    }
    row.percentiles_ms = [None; PERCENTILES];
    for (slot, text) in row.percentiles_ms.iter_mut().zip(percentiles.unwrap_or_default().split(',')) {
        *slot = leading(text).map(|(value, _)| value);
    }
    Some(row)
}
