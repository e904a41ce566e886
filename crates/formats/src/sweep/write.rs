//! Writers of measurements for programs: CSV and R, row by row, so that memory does not grow.

use super::columns::{self, Column, ColumnNames, SourceRow};
use crate::printable;
use model::{Cell, Measurement};
use std::fmt::Write;
use std::sync::LazyLock;

/// Typical size of a CSV line in bytes; a capacity hint.
const CSV_ROW: usize = 384;
/// Columns of the R matrix after those of fio_scripts.
pub(super) const MORE_IN_R: [&str; 7] = ["depth", "engine", "system", "source", "host", "time", "round"];
/// Number of columns of the R matrix of fio_scripts.
pub(super) const MATRIX: usize = 31;

/// The first line of a CSV file: the columns of fio_scripts' CSV files, then plumb's additional ones.
pub fn csv_head(names: ColumnNames) -> String {
    let names: Vec<&str> = columns::all().map(|column| column.name(names)).collect();
    names.join(",") + "\n"
}

/// One line of a CSV file; unknown values are empty.
pub fn csv_row(row: &Measurement, source: &str, line: u64) -> String {
    let placed = SourceRow::new(row, source, line);
    let mut text = String::with_capacity(CSV_ROW);
    for (at, column) in columns::all().enumerate() {
        if at > 0 {
            text.push(',');
        }
        match column.cell(&placed) {
            Cell::Text(Some(word)) => text.push_str(&quoted(&word)),
            Cell::Number(Some(value)) => push_plain(&mut text, value),
            Cell::Text(None) | Cell::Number(None) => {}
        }
    }
    text.push('\n');
    text
}

/// First characters that make a spreadsheet evaluate a cell as a formula: `=cmd|'/C calc'!A0` runs a program.
pub(super) const COMPUTED: [char; 4] = ['=', '+', '-', '@'];

/// A text cell, quoted if needed; spreadsheets take one with a leading apostrophe as text, and the reader removes it.
fn quoted(text: &str) -> String {
    let mut text = printable::line(text);
    if text.len() > 1 && text.starts_with(COMPUTED) {
        text = format!("'{text}").into();
    }
    if text.contains([',', '"', ' ']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into_owned() }
}

/// The columns of the R matrix: those of fio_scripts, then those of plumb.
fn in_r() -> &'static [Column] {
    static IN_R: LazyLock<Vec<Column>> = LazyLock::new(|| {
        let of_scripts = columns::all().skip(1).take(MATRIX);
        of_scripts.chain(MORE_IN_R.into_iter().map(columns::named)).collect()
    });
    &IN_R
}

/// The R code before the rows of the matrix.
pub const fn r_head() -> &'static str {
    "m <- NULL\nm <- matrix(c(\n"
}

/// A row of the R matrix; the row at position 0 has no comma before it.
pub fn r_row(row: &Measurement, source: &str, position: usize) -> String {
    let placed = SourceRow::new(row, source, 0);
    let cell = |column: &Column| match column.cell(&placed) {
        Cell::Text(Some(word)) => r_text(&word),
        Cell::Number(Some(value)) => plain(value),
        Cell::Text(None) | Cell::Number(None) => "NA".to_owned(),
    };
    let cells: Vec<String> = in_r().iter().map(cell).collect();
    format!("{}{}\n", if position == 0 { "  " } else { ", " }, cells.join(", "))
}

fn r_text(text: &str) -> String {
    format!("\"{}\"", printable::line(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// The R code after the rows: column names, and conversion of the numeric columns.
pub fn r_tail(name: Option<&str>, names: ColumnNames) -> String {
    let names: Vec<String> = in_r().iter().map(|column| format!("\"{}\"", column.name(names))).collect();
    let words = (1..).zip(in_r()).filter(|(_, column)| !column.is_number());
    let words: Vec<String> = words.map(|(place, _): (usize, _)| place.to_string()).collect();
    let words = words.join(", ");
    let mut tail = format!(
        "),nrow={})\nm <- t(m)\ncolnames(m) <- c({})\nm <- data.frame(m, stringsAsFactors = FALSE)\n\
         m[-c({words})] <- lapply(m[-c({words})], as.numeric)\n",
        names.len(),
        names.join(",")
    );
    if let Some(name) = name {
        let _ = writeln!(tail, "testtype <- {}", r_text(name));
    }
    tail
}

/// A number with at most six decimals, without trailing zeros: nanoseconds as milliseconds.
pub(super) fn plain(value: f64) -> String {
    let mut text = String::new();
    push_plain(&mut text, value);
    text
}

fn push_plain(text: &mut String, value: f64) {
    if value == 0.0 {
        text.push('0');
        return;
    }
    if let Some(whole) = as_whole(value) {
        push_digits(text, whole, 1);
        return;
    }
    if let Some((whole, millionths)) = in_millionths(value) {
        push_digits(text, whole, 1);
        if millionths > 0 {
            text.push('.');
            push_digits(text, millionths, 6);
            text.truncate(text.trim_end_matches('0').len());
        }
        return;
    }
    let exact = format!("{value:.6}");
    text.push_str(match exact.trim_end_matches('0').trim_end_matches('.') {
        "" | "-0" => "0",
        short => short,
    });
}

/// Appends a number with at least `least` digits.
fn push_digits(text: &mut String, mut number: u64, least: usize) {
    const MOST: usize = 20;
    let mut digits = [b'0'; MOST];
    let mut at = MOST;
    while number > 0 || at > MOST - least {
        at -= 1;
        digits[at] = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
    text.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// A number without decimals, as most rates are.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "compared with what it came from")]
fn as_whole(value: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = value as u64;
    ((0.0..EXACT).contains(&value) && whole as f64 == value).then_some(whole)
}

/// Whole part and millionths if the fast rounding is certain to be correct; exact formatting is ten times slower.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10^12")]
fn in_millionths(value: f64) -> Option<(u64, u64)> {
    const MILLION: u64 = 1_000_000;
    let scaled = value * 1e6;
    // Up to 10^12 the product is off by less than 10^-4: it rounds like the exact value unless that near a half.
    if !(0.0..1e12).contains(&scaled) {
        return None;
    }
    let below = scaled as u64;
    let part = scaled - below as f64;
    ((part - 0.5).abs() > 1e-3).then(|| {
        let millionths = below + u64::from(part > 0.5);
        (millionths / MILLION, millionths % MILLION)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::parse;
    use crate::sweep::measurements;

    #[test]
    fn no_cell_of_csv_is_computed_and_names_are_read_back() {
        for name in ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1:A9)", "'quoted'", "-", "plain"] {
            let row = Measurement { test: name.into(), users: Some(2.0), ..Measurement::default() };
            let text = csv_row(&row, "x", 1);
            let cell = text.trim_start_matches([',', '"']);
            assert_eq!(cell.starts_with(COMPUTED), name == "-", "{text}");
            let (readings, damages) = parse(format!("{}{text}", csv_head(ColumnNames::Units)).as_bytes());
            assert!(damages.is_empty(), "{name}: {damages:?}");
            let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
            assert_eq!(rows.iter().map(|row| row.test.as_str()).collect::<Vec<_>>(), [name]);
        }
    }

    #[test]
    fn csv_and_r_are_read_back_with_their_origin() {
        let row = Measurement {
            system: Some("disk_a".to_owned()),
            test: "randread".into(),
            users: Some(1.0),
            depth: Some(16.0),
            host: Some("db1, rack 2".to_owned()),
            time: Some("2026-11-23T12:33:00Z".to_owned()),
            round: Some(2.0),
            ..Measurement::default()
        };
        let texts = [ColumnNames::Units, ColumnNames::FioScripts].into_iter().flat_map(|names| {
            let csv = format!("{}{}", csv_head(names), csv_row(&row, "a.json", 7));
            [csv, format!("{}{}{}", r_head(), r_row(&row, "a.json", 0), r_tail(None, names))]
        });
        for text in texts {
            let (readings, damages) = parse(text.as_bytes());
            assert!(damages.is_empty(), "{text}{damages:?}");
            let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
            assert_eq!(rows, std::slice::from_ref(&row), "{text}");
        }
    }

    /// Exact formatting: all decimals of the float, rounded to six.
    fn exact(value: f64) -> String {
        let text = format!("{value:.6}");
        match text.trim_end_matches('0').trim_end_matches('.') {
            "" | "-0" => "0".to_owned(),
            short => short.to_owned(),
        }
    }

    #[test]
    fn numbers_are_spelled_as_if_exactly_rounded() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (10.253, "10.253"),
            (0.036, "0.036"),
            (1e12, "1000000000000"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (1e20, "100000000000000000000"),
            (-3.0, "-3"),
            (1_234_567.25, "1234567.25"),
            (-2.5, "-2.5"),
            (0.000_000_4, "0"),
            (99.999_999_9, "100"),
        ] {
            assert_eq!(plain(value), text, "{value}");
        }
        let mut words = measure::SplitMix::new(42);
        for round in 0..200_000u32 {
            let digits = f64::from(u32::try_from(words.next_word() >> 34).expect("30 bits"));
            // Sevenths, hundredths, and numbers close to a half of the last decimal.
            let value = match round % 3 {
                0 => digits / 7.0 / f64::from(1 + round % 1000),
                1 => digits / 100.0,
                _ => (digits + 0.5) / 1e6,
            };
            assert_eq!(plain(value), exact(value), "{value:?}");
        }
    }
}
