//! Readers of measurement tables: fioparse.sh's text table, its R matrix, data frames printed by R, CSV files.

use super::columns::{self, ColumnNames};
use super::human::{SHOWN_BUCKETS, SHOWN_PERCENTILES};
use super::write::{COMPUTED, MATRIX, MORE_IN_R};
use crate::event::{Event, Line, Sink};
use crate::read_number::{contains, count, leading, percent, whole};
use measure::text::binary_size;
use model::measurement::{BUCKETS, MIB, bucket_edge_ns, ns_of_ms};
use model::reading::{Content, LatencyShare, ReadKind, Reading};
use model::{MeasuredColumn, Measurement};
use std::borrow::Cow;

/// The table that is open.
#[derive(Debug, Default)]
enum Table {
    #[default]
    None,
    /// Rows inside `matrix(c(`.
    Matrix,
    /// A data frame printed by R: a row number, then the 31 columns.
    Frame,
    /// CSV with these columns.
    Csv(Vec<String>),
    /// fioparse.sh's text table with these headings.
    Human(Vec<String>),
}

/// State of the reader between lines.
#[derive(Debug, Default)]
pub(crate) struct SweepReader {
    table: Table,
    first_line: u64,
    rows: u64,
}

impl SweepReader {
    /// True while a table is open, so that a line may be one of its rows.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.table, Table::None)
    }

    /// Consumes a line if it belongs to such a table; returns true if it did.
    pub(crate) fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let Line { number, text, .. } = line;
        if self.heading(number, text) {
            return true;
        }
        if !self.is_open() {
            return false;
        }
        if text.is_empty() {
            // R and fioparse.sh print no empty lines inside a table; CSV files end with one.
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
                sink(Event::Reading(Reading::new("sweep", number, Content::Row(Box::new(row)))));
                true
            }
            None => self.not_a_row(number, text, sink),
        }
    }

    /// Handles a line that is not a row: text ends the table, a line that begins like a row is reported as damaged.
    fn not_a_row(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        // Under the headings of plumb's table stand their units.
        if self.rows == 0 && matches!(self.table, Table::Human(_)) && text.split_whitespace().all(is_unit) {
            return true;
        }
        let like_a_row = match &self.table {
            Table::Matrix => true,
            Table::Csv(_) => text.contains(','),
            Table::Frame => text.starts_with(|letter: char| letter.is_ascii_digit()),
            Table::Human(columns) => {
                let users = columns.iter().position(|column| column == "users").unwrap_or(1);
                text.split_whitespace().nth(users).and_then(whole).is_some()
            }
            Table::None => false,
        };
        if like_a_row {
            sink(Event::damage(number, "damaged row of a table of measurements"));
        } else {
            self.close(sink);
        }
        like_a_row
    }

    /// Ends the input.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_>) {
        if matches!(self.table, Table::Matrix) {
            sink(Event::damage(self.first_line, "the R matrix that begins here has no end"));
        }
        self.close(sink);
    }

    fn close(&mut self, sink: &mut Sink<'_>) {
        if !matches!(self.table, Table::None) && self.rows == 0 {
            sink(Event::damage(self.first_line, "a heading of a table of measurements without a row"));
        }
        *self = SweepReader::default();
    }

    fn heading(&mut self, number: u64, text: &str) -> bool {
        let table = if text.ends_with('(') && text.contains("matrix(c(") {
            Table::Matrix
        } else if HEADINGS.iter().any(|begin| text.starts_with(begin))
            || (text.starts_with("name ") && is_frame_heading(text))
        {
            Table::Frame
        } else if contains(text, "name,users,block_size,", "mib_per_second,mean_ms")
            || contains(text, "name,users,bs,", "MB,lat")
        {
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

/// True for the words in the second heading line of a table.
fn is_unit(word: &str) -> bool {
    matches!(word, "mean" | "ms" | "%")
}

/// How the heading of a data frame that R printed begins, with names of plumb and of fio_scripts.
const HEADINGS: [&str; 2] = ["name users block_size mib_per_second mean_ms", "name users bs MB lat"];

/// Names of the columns of the matrix of fio_scripts.
fn matrix_names(names: ColumnNames) -> impl Iterator<Item = &'static str> {
    columns::all().skip(1).take(MATRIX).map(move |column| column.name(names))
}

/// True for the names of all columns of the matrix.
fn is_frame_heading(text: &str) -> bool {
    let is = |names| text.split_whitespace().eq(matrix_names(names));
    is(ColumnNames::Units) || is(ColumnNames::FioScripts)
}

fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('"').trim()
}

/// Parses a number or `NA`; the outer `None` means damage.
#[expect(clippy::option_option, reason = "damage and absence are different things")]
fn cell(text: &str) -> Option<Option<f64>> {
    match text.trim() {
        "" | "NA" => Some(None),
        text => whole(text).map(Some),
    }
}

fn matrix_row(cells: &[&str]) -> Option<Measurement> {
    // An earlier plumb wrote the first four of its columns.
    if ![MATRIX, MATRIX + 4, MATRIX + MORE_IN_R.len()].contains(&cells.len()) {
        return None;
    }
    let named: Vec<(&str, &str)> =
        matrix_names(ColumnNames::Units).chain(MORE_IN_R).zip(cells.iter().copied()).collect();
    row_of(&named)
}

/// Parses a row of a data frame: its number, then the columns.
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
    // A row may omit the columns after the last percentile.
    if cells.len() < columns.len().min(MATRIX) || cells.len() > columns.len() {
        return None;
    }
    let named: Vec<(&str, &str)> =
        columns.iter().map(String::as_str).zip(cells.iter().map(|cell| as_text(cell.trim()))).collect();
    row_of(&named)
}

/// A cell without the leading apostrophe that stops spreadsheets from evaluating it.
fn as_text(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| rest.len() > 1 && rest.starts_with(COMPUTED)).unwrap_or(cell)
}

/// Splits R code at commas; a quoted cell may contain commas, and quotes escaped by a backslash.
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

/// Splits a CSV line at commas; a quoted cell may contain commas and doubled quotes.
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
        let column = model::measured_column(name);
        match column.map_or(name, |column| column.name) {
            "system" => row.system = words(text),
            "name" => row.test = words(text).unwrap_or_default().as_str().into(),
            "users" => row.users = cell(text)?,
            "block_size" => row.block = block(text),
            "mib_per_second" => row.bytes_per_second = cell(text)?.map(|mib| mib * MIB),
            "mean_ms" => row.mean_ns = cell(text)?.map(ns_of_ms),
            "min_ms" => row.min_ns = cell(text)?.map(ns_of_ms),
            "max_ms" => row.max_ns = cell(text)?.map(ns_of_ms),
            "deviation_ms" => row.deviation_ns = cell(text)?.map(ns_of_ms),
            "iops" => row.iops = cell(text)?,
            "direction" => row.kind = kind(text),
            "engine" => row.engine = words(text),
            "depth" => row.depth = cell(text)?,
            "errno" => row.errno = cell(text)?,
            "host" => row.host = words(text),
            "time" => row.time = words(text),
            "round" => row.round = cell(text)?,
            _ => {
                if let Some(at) = column.and_then(MeasuredColumn::share) {
                    buckets[at] = cell(text)?;
                } else if let Some(at) = column.and_then(MeasuredColumn::percentile) {
                    row.percentiles_ns[at] = cell(text)?.map(ns_of_ms);
                }
            }
        }
    }
    if buckets.iter().any(Option::is_some) {
        row.set_buckets(&buckets.map(|share| share.unwrap_or(0.0)));
    }
    Some(row)
}

fn kind(text: &str) -> Option<ReadKind> {
    [ReadKind::Read, ReadKind::Write, ReadKind::Trim, ReadKind::Mixed].into_iter().find(|kind| kind.word() == text)
}

/// Parses smallest and largest block: `8K`, `4K-16K`, `512B`; `None` for any other text.
fn block(text: &str) -> Option<(u64, u64)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    Some((binary_size(low)?, binary_size(high)?))
}

/// Cell for an unknown value.
const ABSENT: &str = "-";

/// Parses a whole number or `-`; the outer `None` means damage.
#[expect(clippy::option_option, reason = "damage and absence are different things")]
fn optional(text: &str) -> Option<Option<f64>> {
    if text == ABSENT { Some(None) } else { whole(text).map(Some) }
}

/// Parses a row of fioparse.sh's table or of plumb's.
fn human_row(columns: &[String], text: &str) -> Option<Measurement> {
    let (text, percentiles) = match text.split_once(',') {
        Some((text, percentiles)) => (text, Some(percentiles)),
        None => (text, None),
    };
    let (text, errno) = match text.rsplit_once("  errno ") {
        Some((text, errno)) => (text, Some(whole(errno)?)),
        None => (text, None),
    };
    let mut cells = text.split_whitespace();
    let mut row = Measurement { errno, test: cells.next()?.into(), ..Measurement::default() };
    let known = |text: &str| Some(text.to_owned()).filter(|text| text != ABSENT);
    for name in columns.iter().skip(1).map(String::as_str).take_while(|&name| name != "size") {
        match name {
            "system" => row.system = known(cells.next()?),
            "host" => row.host = known(cells.next()?),
            "round" => row.round = optional(cells.next()?)?,
            "time" => row.time = known(cells.next()?),
            "source" => drop(cells.next()?),
            "users" => row.users = optional(cells.next()?)?,
            "depth" => row.depth = optional(cells.next()?)?,
            _ => {}
        }
    }
    row.block = block(cells.next()?);
    let direction = cells.next()?;
    row.kind = match direction {
        "r" => Some(ReadKind::Read),
        "w" => Some(ReadKind::Write),
        "t" => Some(ReadKind::Trim),
        "m" => Some(ReadKind::Mixed),
        ABSENT => None,
        _ => return None,
    };
    const SHOWN: [&str; 7] = ["MB", "MiB/s", "ms", "min", "max", "std", "IOPS"];
    let mut end = end_in(direction, text);
    let first = columns.iter().skip(3).map(String::as_str).take_while(|&name| name != "50us");
    for column in first.filter(|name| SHOWN.contains(name)) {
        let cell = cells.next()?;
        end = end_in(cell, text);
        let value = if cell == ABSENT { None } else { Some(count(cell)?) };
        match column {
            "MB" | "MiB/s" => row.bytes_per_second = value.map(|mib| mib * MIB),
            "ms" => row.mean_ns = value.map(ns_of_ms),
            "min" => row.min_ns = value.map(ns_of_ms),
            "max" => row.max_ns = value.map(ns_of_ms),
            "std" => row.deviation_ns = value.map(ns_of_ms),
            _ => row.iops = value,
        }
    }
    behind_iops(&mut row, columns, &text[end..])?;
    for (slot, text) in row.percentiles_ns.iter_mut().zip(percentiles.into_iter().flat_map(|all| all.split(','))) {
        *slot = leading(text).map(|(ms, _)| ns_of_ms(ms));
    }
    Some(row)
}

fn end_in(cell: &str, text: &str) -> usize {
    cell.as_ptr() as usize - text.as_ptr() as usize + cell.len()
}

/// Parses the cells behind the IOPS: shares, and in plumb's table percentiles. The cell of a share of 0 is blank. A
/// text whose blanks were squeezed does not say which are; its shares keep their order but are of no bucket.
fn behind_iops(row: &mut Measurement, columns: &[String], rest: &str) -> Option<()> {
    let names: Vec<&str> = columns.iter().map(String::as_str).skip_while(|&name| name != "IOPS").skip(1).collect();
    let is_share = |name: &&str| SHOWN_BUCKETS.iter().any(|(bucket, _)| bucket == name);
    let shares = names.iter().take_while(|name| is_share(name)).count();
    let cells: Vec<&str> = rest.split_whitespace().collect();
    let percentiles = if let Some((placed, behind)) = by_position(rest, shares) {
        set_shares(row, &placed);
        behind.split_whitespace().collect()
    } else if cells.len() == names.len() || cells.len() == shares {
        let (buckets, percentiles) = cells.split_at(shares);
        if buckets.iter().all(|&cell| cell != ABSENT) {
            set_shares(row, &buckets.iter().map(|cell| share(cell)).collect::<Option<Vec<f64>>>()?);
        }
        percentiles.to_vec()
    } else {
        row.unplaced_shares = cells.iter().map(|cell| share(cell)).collect::<Option<_>>()?;
        Vec::new()
    };
    for (name, cell) in names[shares..].iter().zip(percentiles) {
        if let Some(at) = SHOWN_PERCENTILES.iter().position(|known| known == name) {
            row.percentiles_ns[at] = if cell == ABSENT { None } else { Some(ns_of_ms(count(cell)?)) };
        }
    }
    Some(())
}

/// Parses a share; `<1` of plumb's table is the `0` of fioparse.sh's.
fn share(cell: &str) -> Option<f64> {
    if cell == "<1" { Some(0.0) } else { percent(cell) }
}

/// Width of a cell of a share with the blank before it.
const SHARE_WIDTH: usize = 6;

/// The shares in cells of equal width, a blank cell for 0, and the text behind; `None` if blanks were squeezed. In
/// fioparse.sh's table the first cell is wider by a blank.
fn by_position(rest: &str, shares: usize) -> Option<(Vec<f64>, &str)> {
    ["", " "].into_iter().find_map(|more| placed(rest.strip_prefix(more)?, shares))
}

fn placed(rest: &str, shares: usize) -> Option<(Vec<f64>, &str)> {
    let (text, behind) = rest.split_at_checked(shares * SHARE_WIDTH).unwrap_or((rest.trim_end(), ""));
    let text = text.trim_end();
    if text.is_empty() || !text.is_ascii() || text.len() % SHARE_WIDTH != 0 {
        return None;
    }
    let cell = |at: usize| {
        let cell = text.get(at * SHARE_WIDTH..(at + 1) * SHARE_WIDTH).unwrap_or("      ");
        let word = cell.trim_start();
        match word {
            "" => Some(0.0),
            word => share(word).filter(|_| cell.starts_with(' ') && !word.contains(' ')),
        }
    };
    (0..shares).map(cell).collect::<Option<Vec<f64>>>().map(|placed| (placed, behind))
}

/// Sets the shares of the ranges that the text tables show.
fn set_shares(row: &mut Measurement, shares: &[f64]) {
    let share = |(&percent, (_, last)): (&f64, (&str, usize))| LatencyShare { below_ns: bucket_edge_ns(last), percent };
    row.shares = shares.iter().zip(SHOWN_BUCKETS).map(share).collect();
}
