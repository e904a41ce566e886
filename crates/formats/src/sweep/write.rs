//! Writers of measurements: text table, CSV, R, Markdown. Each row is formatted independently, so memory does not grow
//! with the number of rows.

use super::{BUCKET_NAMES, PERCENTILE_NAMES};
use crate::printable;
use model::Measurement;
use model::measurement::{BUCKETS, PERCENTS, ms};
use model::reading::ReadKind;
use std::fmt::Write;

/// Optional columns of the text table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// The latency histogram.
    pub buckets: bool,
    /// The percentiles.
    pub percentiles: bool,
    /// The system of each row, for results of several files.
    pub systems: bool,
}

/// Histogram columns of the text table: heading, and the last of the buckets summed in it.
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
/// Headings of the percentile columns.
const SHOWN_PERCENTILES: [&str; PERCENTS.len()] = ["95%", "99%", "99.5%", "99.9%", "99.95%", "99.99%"];
/// Typical size of a CSV line in bytes; a capacity hint.
const CSV_ROW: usize = 384;
/// Columns of the R matrix after those of fio_scripts: a number, then words.
pub(super) const MORE_IN_R: [&str; 4] = ["depth", "engine", "system", "source"];
/// Cell for an unknown value.
const ABSENT: &str = "-";

/// The columns of the text table and the Markdown table: width in text, name and unit.
fn columns(detail: Detail) -> Vec<(usize, &'static str, &'static str)> {
    let mut columns = vec![(14, "test", "")];
    if detail.systems {
        columns.push((14, "system", ""));
    }
    columns.extend([(5, "users", ""), (5, "depth", ""), (6, "size", ""), (1, "", ""), (9, "MiB/s", "")]);
    columns.extend([(9, "ms", "mean"), (9, "min", "ms"), (9, "max", "ms"), (9, "std", "ms"), (9, "IOPS", "")]);
    if detail.buckets {
        columns.extend(SHOWN_BUCKETS.map(|(name, _)| (5, name, "%")));
    }
    if detail.percentiles {
        columns.extend(SHOWN_PERCENTILES.map(|name| (9, name, "ms")));
    }
    columns
}

/// A line of the text table: cells at the right of their columns.
fn aligned<'cells>(detail: Detail, cells: impl Iterator<Item = &'cells str>) -> String {
    let cells = columns(detail).into_iter().zip(cells).map(|((width, ..), cell)| format!("{cell:>width$}"));
    cells.collect::<Vec<_>>().join(" ")
}

/// The two heading lines of the text table.
pub fn table_head(detail: Detail) -> String {
    let names = aligned(detail, columns(detail).into_iter().map(|(_, name, _)| name));
    let units = aligned(detail, columns(detail).into_iter().map(|(_, _, unit)| unit));
    format!("{}\n{}\n", names.trim_end(), units.trim_end())
}

/// One line of the text table.
pub fn table_row(row: &Measurement, detail: Detail) -> String {
    // A blank in a name would be two cells.
    let cells = cells(row, detail, |text| printable::line(text).replace(' ', "_"));
    let mut line = aligned(detail, cells.iter().map(String::as_str));
    if let Some(errno) = row.errno {
        let _ = write!(line, "  errno {}", plain(errno));
    }
    line.push('\n');
    line
}

/// The cells of a row; `text` makes names safe to print.
fn cells(row: &Measurement, detail: Detail, text: fn(&str) -> String) -> Vec<String> {
    let fixed = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.3}"));
    let iops = |iops: f64| if iops < 10.0 { format!("{iops:.2}") } else { format!("{iops:.0}") };
    let mut cells = vec![text(row.test.as_str())];
    if detail.systems {
        cells.push(text(row.system.as_deref().unwrap_or(ABSENT)));
    }
    cells.extend([
        row.users.map_or_else(|| ABSENT.to_owned(), plain),
        row.depth.map_or_else(|| ABSENT.to_owned(), plain),
        text(row.block_text().as_deref().unwrap_or(ABSENT)),
        row.kind.map_or("", |kind| &kind.word()[..1]).to_owned(),
        fixed(row.mib_per_second()),
        fixed(ms(row.mean_ns)),
        fixed(ms(row.min_ns)),
        fixed(ms(row.max_ns)),
        fixed(ms(row.deviation_ns)),
        row.iops.map_or_else(|| ABSENT.to_owned(), iops),
    ]);
    if detail.buckets {
        let (buckets, mut from) = (row.buckets(), 0);
        for (_, last) in SHOWN_BUCKETS {
            let share = buckets.map(|buckets| buckets[from..=last].iter().sum::<f64>());
            from = last + 1;
            cells.push(share.map_or_else(|| ABSENT.to_owned(), shown_share));
        }
    }
    if detail.percentiles {
        cells.extend(row.percentiles_ns.map(|value| fixed(ms(value))));
    }
    cells
}

/// Formats a share: blank for 0, `<1` below 1 %, otherwise rounded.
fn shown_share(share: f64) -> String {
    if share <= 0.0 {
        String::new()
    } else if share < 0.5 {
        "<1".to_owned()
    } else {
        format!("{share:.0}")
    }
}

/// A number with at most six decimals, without trailing zeros: nanoseconds as milliseconds.
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

/// Whole part and millionths of a number if the fast rounding is certain to be correct; tables have thousands of
/// numbers, and exact formatting is ten times slower.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "between 0 and 10^12"
)]
fn in_millionths(value: f64) -> Option<(u64, u64)> {
    const MILLION: u64 = 1_000_000;
    let scaled = value * 1e6;
    // Up to 10^12 the product is off by less than 10^-4: it rounds like the exact value unless it is that close to a
    // half.
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

/// The numeric columns after name, users and size, in the order of the R matrix.
fn numbers(row: &Measurement) -> impl Iterator<Item = Option<f64>> {
    let first = [row.mib_per_second(), ms(row.mean_ns), ms(row.min_ns), ms(row.max_ns), ms(row.deviation_ns), row.iops];
    let buckets = row.buckets().map_or([None; BUCKETS], |buckets| buckets.map(Some));
    first.into_iter().chain(buckets).chain(row.percentiles_ns.map(ms))
}

/// The column names after `name`, `users` and `bs`.
fn names() -> Vec<&'static str> {
    let first = ["MB", "lat", "min", "max", "std", "iops"];
    first.into_iter().chain(BUCKET_NAMES).chain(PERCENTILE_NAMES).collect()
}

/// The first line of a CSV file: the columns of fio_scripts' CSV files, then plumb's additional ones.
pub fn csv_head() -> String {
    format!("system,name,users,bs,{},direction,depth,engine,errno,source,line\n", names().join(","))
}

/// One line of a CSV file; unknown values are empty.
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
    text.push_str(&quoted(row.test.as_str()));
    number(&mut text, row.users);
    text.push(',');
    text.push_str(&quoted(&row.block_text().unwrap_or_default()));
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

/// First characters that make a spreadsheet evaluate a cell as a formula: `=cmd|'/C calc'!A0` runs a program.
pub(super) const COMPUTED: [char; 4] = ['=', '+', '-', '@'];

/// A text cell, quoted if needed; a leading apostrophe makes spreadsheets treat it as text, and the CSV reader removes
/// it.
fn quoted(text: &str) -> String {
    let mut text = printable::line(text);
    if text.len() > 1 && text.starts_with(COMPUTED) {
        text = format!("'{text}").into();
    }
    if text.contains([',', '"', ' ']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into_owned() }
}

/// The R code before the rows of the matrix.
pub const fn r_head() -> &'static str {
    "m <- NULL\nm <- matrix(c(\n"
}

/// A row of the R matrix: the columns of fio_scripts, then those of plumb; the row at position 0 has no comma before it.
pub fn r_row(row: &Measurement, source: &str, position: usize) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "NA".to_owned(), plain);
    let text = |text: &str| {
        let text = printable::line(text).replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{text}\"")
    };
    let mut cells = vec![
        text(row.test.as_str()),
        number(row.users),
        row.block_text().map_or_else(|| "NA".to_owned(), |size| text(&size)),
    ];
    cells.extend(numbers(row).map(number));
    cells.push(number(row.depth));
    cells.extend(
        [row.engine.as_deref(), row.system.as_deref(), Some(source)]
            .map(|word| word.map_or_else(|| "NA".to_owned(), text)),
    );
    format!("{}{}\n", if position == 0 { "  " } else { ", " }, cells.join(", "))
}

/// The R code after the rows: column names, and conversion of the numeric columns.
pub fn r_tail(name: Option<&str>) -> String {
    let all = ["name", "users", "bs"].into_iter().chain(names()).chain(MORE_IN_R);
    let columns: Vec<String> = all.map(|name| format!("\"{name}\"")).collect();
    let count = columns.len();
    let mut tail = format!(
        "),nrow={})\nm <- t(m)\ncolnames(m) <- c({})\nm <- data.frame(m, stringsAsFactors = FALSE)\n\
         m[-c(1, 3, {engine}:{count})] <- lapply(m[-c(1, 3, {engine}:{count})], as.numeric)\n",
        count,
        columns.join(","),
        engine = count - 2
    );
    if let Some(name) = name {
        let name = printable::line(name).replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(tail, "testtype <- \"{name}\"");
    }
    tail
}

/// The heading of a Markdown table.
pub fn markdown_head(detail: Detail) -> String {
    let named = |(_, name, unit): (usize, &str, &str)| match (name, unit) {
        (name, "mean") => format!("mean {name}"),
        (name, "") => name.to_owned(),
        (name, unit) => format!("{name} {unit}"),
    };
    let names: Vec<String> = columns(detail).into_iter().map(named).collect();
    let is_text = |name: &str| matches!(name, "test" | "system" | "size" | "");
    let rule: String = (0..names.len()).map(|at| if is_text(names[at].as_str()) { "---|" } else { "--:|" }).collect();
    format!("| {} |\n|{rule}\n", names.join(" | "))
}

/// A row of a Markdown table.
pub fn markdown_row(row: &Measurement, detail: Detail) -> String {
    format!("| {} |\n", cells(row, detail, markdown_text).join(" | "))
}

/// Escapes untrusted text so that no Markdown renderer treats it as a tag, link, image or emphasis.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::parse;
    use crate::sweep::measurements;

    #[test]
    fn no_cell_of_csv_is_computed_and_names_come_back() {
        for name in ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1:A9)", "'quoted'", "-", "plain"] {
            let row = Measurement { test: name.into(), users: Some(2.0), ..Measurement::default() };
            let text = csv_row(&row, "x", 1);
            let cell = text.trim_start_matches([',', '"']);
            assert_eq!(cell.starts_with(COMPUTED), name == "-", "{text}");
            let (readings, damages) = parse(format!("{}{text}", csv_head()).as_bytes());
            assert!(damages.is_empty(), "{name}: {damages:?}");
            let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
            assert_eq!(rows.iter().map(|row| row.test.as_str()).collect::<Vec<_>>(), [name]);
        }
    }

    #[test]
    fn the_text_table_is_read_back_with_its_systems_and_depths() {
        for systems in [false, true] {
            let row = Measurement {
                system: systems.then(|| "disk_a".to_owned()),
                test: "randread".into(),
                users: Some(4.0),
                depth: Some(16.0),
                block: Some((4096, 4096)),
                kind: Some(ReadKind::Read),
                iops: Some(1234.0),
                ..Measurement::default()
            };
            let detail = Detail { systems, ..Detail::default() };
            let text = format!("{}{}", table_head(detail), table_row(&row, detail));
            let (readings, damages) = parse(text.as_bytes());
            assert!(damages.is_empty(), "{text}{damages:?}");
            let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
            assert_eq!(rows, [row], "{text}");
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
