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
    let text = format!("{value:.6}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "" | "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// The numbers of a row behind name, users and size, in the order of the R matrix.
fn numbers(row: &Measurement) -> Vec<Option<f64>> {
    let mut numbers = vec![row.mib_per_second, row.mean_ms, row.min_ms, row.max_ms, row.deviation_ms, row.iops];
    numbers.extend((0..BUCKET_NAMES.len()).map(|at| row.buckets.map(|buckets| buckets[at])));
    numbers.extend(row.percentiles_ms);
    numbers
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
    let number = |value: Option<f64>| value.map(plain).unwrap_or_default();
    let mut cells = vec![
        quoted(row.system.as_deref().unwrap_or_default()),
        quoted(&row.name),
        number(row.users),
        quoted(row.block_size.as_deref().unwrap_or_default()),
    ];
    cells.extend(numbers(row).into_iter().map(number));
    cells.push(row.kind.map_or("", ReadKind::word).to_owned());
    cells.push(number(row.depth));
    cells.push(quoted(row.engine.as_deref().unwrap_or_default()));
    cells.push(number(row.errno));
    cells.push(quoted(source));
    cells.push(line.to_string());
    cells.join(",") + "\n"
}

/// A cell of text, in quotes where it needs them.
fn quoted(text: &str) -> String {
    let text = printable::line(text);
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
    cells.extend(numbers(row).into_iter().map(number));
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

fn table_cells(row: &Measurement, detail: Detail) -> Vec<String> {
    let fixed = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.3}"));
    let escaped = |text: &str| printable::line(text).replace('|', "\\|");
    let mut cells = vec![
        escaped(&row.name),
        row.users.map_or_else(|| ABSENT.to_owned(), plain),
        escaped(row.block_size.as_deref().unwrap_or(ABSENT)),
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
