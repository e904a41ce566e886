//! Writers of measurements: a table for people, CSV, R, Markdown. Each row is text on its own, so that any number of
//! them needs no memory.

use super::{BUCKET_NAMES, PERCENTILE_NAMES};
use crate::printable;
use model::reading::{Measurement, ReadKind};
use std::fmt::Write;

/// Which columns a table for people has beside the first ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// The histogram.
    pub buckets: bool,
    /// The percentiles.
    pub percentiles: bool,
}

/// The histogram's columns in a table for people: heading and the last of the buckets that are added up in it.
const SHOWN_BUCKETS: [(&str, usize); 10] = [
    ("50us", 0),
    ("1ms", 4),
    ("4ms", 6),
    ("10ms", 7),
    ("20ms", 8),
    ("50ms", 9),
    (".1s", 10),
    ("1s", 13),
    ("2s", 14),
    ("2s+", 15),
];
/// Headings of percentiles.
const SHOWN_PERCENTILES: [&str; 6] = ["95%", "99%", "99.5%", "99.9%", "99.95%", "99.99%"];
/// Bytes of a usual line of a CSV file.
const CSV_ROW: usize = 384;
/// What stands for something that is not known.
const ABSENT: &str = "-";

/// The two lines above a table for people.
pub fn table_head(detail: Detail) -> String {
    let mut names = format!(
        "{:>14} {:>5} {:>6} {:1} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "test", "users", "size", "", "MiB/s", "ms", "min", "max", "std", "IOPS"
    );
    let mut units = format!(
        "{:>14} {:>5} {:>6} {:1} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "", "", "", "", "mean", "ms", "ms", "ms", ""
    );
    if detail.buckets {
        for (name, _) in SHOWN_BUCKETS {
            let _ = write!(names, " {name:>5}");
            let _ = write!(units, " {:>5}", "%");
        }
    }
    if detail.percentiles {
        for name in SHOWN_PERCENTILES {
            let _ = write!(names, " {name:>9}");
            let _ = write!(units, " {:>9}", "ms");
        }
    }
    format!("{}\n{}\n", names.trim_end(), units.trim_end())
}

/// One line of the table for people.
pub fn table_row(row: &Measurement, detail: Detail) -> String {
    let fixed = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.3}"));
    let mut line = format!(
        "{:>14} {:>5} {:>6} {:1} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        printable::line(&row.name),
        row.users.map_or_else(|| ABSENT.to_owned(), plain),
        printable::line(row.block_size.as_deref().unwrap_or(ABSENT)),
        letter(row.kind),
        fixed(row.mib_per_second),
        fixed(row.mean_ms),
        fixed(row.min_ms),
        fixed(row.max_ms),
        fixed(row.deviation_ms),
        row.iops.map_or_else(
            || ABSENT.to_owned(),
            |iops| if iops < 10.0 { format!("{iops:.2}") } else { format!("{iops:.0}") }
        ),
    );
    if detail.buckets {
        let mut from = 0;
        for (_, last) in SHOWN_BUCKETS {
            let share = row.buckets.map(|buckets| buckets[from..=last].iter().sum::<f64>());
            from = last + 1;
            let _ = write!(line, " {:>5}", share.map_or_else(|| ABSENT.to_owned(), shown_share));
        }
    }
    if detail.percentiles {
        for value in row.percentiles_ms {
            let _ = write!(line, " {:>9}", fixed(value));
        }
    }
    if row.errno.is_some() {
        let _ = write!(line, "  errno {}", row.errno.map_or_else(String::new, plain));
    }
    line.push('\n');
    line
}

/// Blank for none, `<1` for little, else rounded.
fn shown_share(share: f64) -> String {
    if share <= 0.0 {
        String::new()
    } else if share < 0.5 {
        "<1".to_owned()
    } else {
        format!("{share:.0}")
    }
}

const fn letter(kind: Option<ReadKind>) -> &'static str {
    match kind {
        Some(ReadKind::Read) => "r",
        Some(ReadKind::Write) => "w",
        Some(ReadKind::Trim) => "t",
        Some(ReadKind::Mixed) => "m",
        None => " ",
    }
}

/// A number without needless zeros, at most six decimals: nanoseconds as milliseconds.
fn plain(value: f64) -> String {
    let mut text = String::new();
    push_plain(&mut text, value);
    text
}

fn push_plain(text: &mut String, value: f64) {
    if value == 0.0 {
        text.push('0');
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

/// A number with at least so many digits.
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

/// Whole part and millionths of a number for which rounding them is beyond doubt; tables have thousands, and the exact
/// way is ten times slower.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "between 0 and 10^12"
)]
fn in_millionths(value: f64) -> Option<(u64, u64)> {
    const MILLION: u64 = 1_000_000;
    let scaled = value * 1e6;
    // So far the product is off by less than 10^-4: it rounds as the exact one does unless it lies that near to a half.
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

/// The numbers of a row behind name, users and size, in the order of the R matrix.
fn numbers(row: &Measurement) -> impl Iterator<Item = Option<f64>> {
    let first = [row.mib_per_second, row.mean_ms, row.min_ms, row.max_ms, row.deviation_ms, row.iops];
    let buckets = row.buckets.map_or([None; BUCKET_NAMES.len()], |buckets| buckets.map(Some));
    first.into_iter().chain(buckets).chain(row.percentiles_ms)
}

/// The names behind `name`, `users` and `bs`.
fn names() -> Vec<&'static str> {
    let first = ["MB", "lat", "min", "max", "std", "iops"];
    let buckets = BUCKET_NAMES.iter().map(|&(name, _)| name);
    first.into_iter().chain(buckets).chain(PERCENTILE_NAMES.iter().map(|&(name, _)| name)).collect()
}

/// The first line of a CSV file: the columns that fio_scripts' CSV files have, then ours.
pub fn csv_head() -> String {
    format!("system,name,users,bs,{},direction,depth,engine,errno,source,line\n", names().join(","))
}

/// One line of a CSV file; what is not known is empty.
pub fn csv_row(row: &Measurement, source: &str, line: u64) -> String {
    let mut text = String::with_capacity(CSV_ROW);
    let number = |text: &mut String, value: Option<f64>| {
        text.push(',');
        if let Some(value) = value {
            push_plain(text, value);
        }
    };
    text.push_str(&quoted(row.system.as_deref().unwrap_or_default()));
    text.push(',');
    text.push_str(&quoted(&row.name));
    number(&mut text, row.users);
    text.push(',');
    text.push_str(&quoted(row.block_size.as_deref().unwrap_or_default()));
    for value in numbers(row) {
        number(&mut text, value);
    }
    text.push(',');
    text.push_str(row.kind.map_or("", ReadKind::word));
    number(&mut text, row.depth);
    text.push(',');
    text.push_str(&quoted(row.engine.as_deref().unwrap_or_default()));
    number(&mut text, row.errno);
    let _ = writeln!(text, ",{},{line}", quoted(source));
    text
}

/// What a cell must not begin with, or a spreadsheet computes it: `=cmd|'/C calc'!A0` runs a program.
pub(super) const COMPUTED: [char; 4] = ['=', '+', '-', '@'];

/// A cell of text, in quotes where it needs them; an apostrophe tells spreadsheets that it is text, and our reader takes
/// it off again.
fn quoted(text: &str) -> String {
    let mut text = printable::line(text);
    if text.len() > 1 && text.starts_with(COMPUTED) {
        text = format!("'{text}").into();
    }
    if text.contains([',', '"', ' ']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into_owned() }
}

/// What stands before the rows of the R matrix.
pub const fn r_head() -> &'static str {
    "m <- NULL\nm <- matrix(c(\n"
}

/// A row of the R matrix; `first` is the row without a comma before it.
pub fn r_row(row: &Measurement, position: usize) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "NA".to_owned(), plain);
    let text = |text: &str| {
        let text = printable::line(text).replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{text}\"")
    };
    let mut cells =
        vec![text(&row.name), number(row.users), row.block_size.as_deref().map_or_else(|| "NA".to_owned(), text)];
    cells.extend(numbers(row).map(number));
    format!("{}{}\n", if position == 0 { "  " } else { ", " }, cells.join(", "))
}

/// What stands behind the rows: names, and columns of numbers that are numbers.
pub fn r_tail(name: Option<&str>) -> String {
    let columns: Vec<String> =
        ["name", "users", "bs"].into_iter().chain(names()).map(|name| format!("\"{name}\"")).collect();
    let mut tail = format!(
        "),nrow={})\nm <- t(m)\ncolnames(m) <- c({})\nm <- data.frame(m, stringsAsFactors = FALSE)\n\
         m[-c(1, 3)] <- lapply(m[-c(1, 3)], as.numeric)\n",
        columns.len(),
        columns.join(",")
    );
    if let Some(name) = name {
        let name = printable::line(name).replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(tail, "testtype <- \"{name}\"");
    }
    tail
}

/// The head of a Markdown table.
pub fn markdown_head(detail: Detail) -> String {
    let mut names = vec!["test", "users", "size", "", "MiB/s", "mean ms", "min ms", "max ms", "std ms", "IOPS"];
    let percent: Vec<String> = SHOWN_BUCKETS.iter().map(|(name, _)| format!("{name} %")).collect();
    let ms: Vec<String> = SHOWN_PERCENTILES.iter().map(|name| format!("{name} ms")).collect();
    if detail.buckets {
        names.extend(percent.iter().map(String::as_str));
    }
    if detail.percentiles {
        names.extend(ms.iter().map(String::as_str));
    }
    let rule: String = (0..names.len()).map(|at| if matches!(at, 0 | 2 | 3) { "---|" } else { "--:|" }).collect();
    format!("| {} |\n|{rule}\n", names.join(" | "))
}

/// A row of a Markdown table.
pub fn markdown_row(row: &Measurement, detail: Detail) -> String {
    let cells = table_cells(row, detail);
    format!("| {} |\n", cells.join(" | "))
}

/// Foreign words as nothing but text: no tag, link, image or emphasis, whatever shows the table.
fn markdown_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in printable::line(text).chars() {
        match letter {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '|' => shown.extend(['\\', letter]),
            _ => shown.push(letter),
        }
    }
    shown
}

fn table_cells(row: &Measurement, detail: Detail) -> Vec<String> {
    let fixed = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.3}"));
    let mut cells = vec![
        markdown_text(&row.name),
        row.users.map_or_else(|| ABSENT.to_owned(), plain),
        markdown_text(row.block_size.as_deref().unwrap_or(ABSENT)),
        letter(row.kind).trim().to_owned(),
        fixed(row.mib_per_second),
        fixed(row.mean_ms),
        fixed(row.min_ms),
        fixed(row.max_ms),
        fixed(row.deviation_ms),
        row.iops.map_or_else(|| ABSENT.to_owned(), |iops| format!("{iops:.0}")),
    ];
    if detail.buckets {
        let mut from = 0;
        for (_, last) in SHOWN_BUCKETS {
            let share = row.buckets.map(|buckets| buckets[from..=last].iter().sum::<f64>());
            from = last + 1;
            cells.push(share.map_or_else(|| ABSENT.to_owned(), shown_share));
        }
    }
    if detail.percentiles {
        cells.extend(row.percentiles_ms.map(fixed));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::parse;
    use crate::sweep::measurements;

    #[test]
    fn no_cell_of_csv_is_computed_and_names_come_back() {
        for name in ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1:A9)", "'quoted'", "-", "plain"] {
            let row = Measurement { name: name.to_owned(), users: Some(2.0), ..Measurement::default() };
            let text = csv_row(&row, "x", 1);
            let cell = text.trim_start_matches([',', '"']);
            assert_eq!(cell.starts_with(COMPUTED), name == "-", "{text}");
            let (readings, damages) = parse(format!("{}{text}", csv_head()).as_bytes());
            assert!(damages.is_empty(), "{name}: {damages:?}");
            let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
            assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), [name]);
        }
    }

    /// The exact way: all decimals that a float has, rounded to six.
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
            (-2.5, "-2.5"),
            (0.000_000_4, "0"),
            (99.999_999_9, "100"),
        ] {
            assert_eq!(plain(value), text, "{value}");
        }
        let mut state = 42u64;
        for round in 0..200_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let digits = f64::from(u32::try_from(state >> 34).expect("30 bits"));
            // Sevenths, hundredths, and numbers that lie near to a half of the last decimal.
            let value = match round % 3 {
                0 => digits / 7.0 / f64::from(1 + round % 1000),
                1 => digits / 100.0,
                _ => (digits + 0.5) / 1e6,
            };
            assert_eq!(plain(value), exact(value), "{value:?}");
        }
    }
}
