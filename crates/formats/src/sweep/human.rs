//! Tables of measurements for people: text and Markdown.

use super::columns::{self, Column, SourceRow};
use super::write::plain;
use crate::printable;
use model::Measurement;
use model::measurement::PERCENTS;
use std::fmt::Write;
use std::ops::Range;

/// Optional columns of the tables for people, and the width of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// The latency histogram.
    pub buckets: bool,
    /// The percentiles.
    pub percentiles: bool,
    /// The system of each row, for results of several files.
    pub systems: bool,
    /// The host, for results that state it.
    pub hosts: bool,
    /// The round, for surveys that measured everything several times.
    pub rounds: bool,
    /// The time at which the run ended, and the file.
    pub origins: bool,
    /// Columns of the terminal, for text; `None` for a table that is as wide as it is.
    pub width: Option<usize>,
}

/// How a value is written.
#[derive(Clone, Copy, Debug)]
enum Style {
    Word,
    Whole,
    /// The first letter of a direction.
    Letter,
    ThreeDecimals,
    Iops,
    /// The sum of the buckets from the first to the last of these.
    Share(usize, usize),
}

#[derive(Clone, Copy, Debug)]
struct TableColumn {
    width: usize,
    name: &'static str,
    unit: &'static str,
    column: Column,
    style: Style,
}

/// Histogram columns of the text table: heading, and the last of the buckets summed in it.
pub(super) const SHOWN_BUCKETS: [(&str, usize); 10] = [
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
pub(super) const SHOWN_PERCENTILES: [&str; PERCENTS.len()] = ["95%", "99%", "99.5%", "99.9%", "99.95%", "99.99%"];
/// Cell for an unknown value.
const ABSENT: &str = "-";
/// Columns that a narrow terminal does without, the first of them first.
const DISPENSABLE: [&str; 5] = ["std", "min", "max", "MiB/s", "depth"];

/// The columns of a table, chosen once.
#[derive(Clone, Debug)]
pub struct Layout {
    columns: Vec<TableColumn>,
    /// Where a row goes on in a separate line: at the histogram and the percentiles, on a terminal too narrow for them.
    breaks: Vec<usize>,
}

impl Layout {
    /// The columns for this detail.
    pub fn new(detail: Detail) -> Self {
        let mut shown = Vec::new();
        let mut add = |width, name, unit, column, style| {
            shown.push(TableColumn { width, name, unit, column: columns::named(column), style });
        };
        add(14, "test", "", "name", Style::Word);
        for (wanted, width, name, style) in [
            (detail.systems, 14, "system", Style::Word),
            (detail.hosts, 10, "host", Style::Word),
            (detail.rounds, 5, "round", Style::Whole),
            (detail.origins, 20, "time", Style::Word),
            (detail.origins, 20, "source", Style::Word),
        ] {
            if wanted {
                add(width, name, "", name, style);
            }
        }
        add(5, "users", "", "users", Style::Whole);
        add(5, "depth", "", "depth", Style::Whole);
        add(6, "size", "", "block_size", Style::Word);
        add(1, "", "", "direction", Style::Letter);
        add(9, "MiB/s", "", "mib_per_second", Style::ThreeDecimals);
        for (name, unit, column) in
            [("ms", "mean", "mean_ms"), ("min", "ms", "min_ms"), ("max", "ms", "max_ms"), ("std", "ms", "deviation_ms")]
        {
            add(9, name, unit, column, Style::ThreeDecimals);
        }
        add(9, "IOPS", "", "iops", Style::Iops);
        if detail.buckets {
            let mut from = 0;
            let shares: Vec<&str> = columns::shares().collect();
            for (name, last) in SHOWN_BUCKETS {
                add(5, name, "%", shares[from], Style::Share(from, last));
                from = last + 1;
            }
        }
        if detail.percentiles {
            for (name, column) in SHOWN_PERCENTILES.into_iter().zip(columns::percentiles()) {
                add(9, name, "ms", column, Style::ThreeDecimals);
            }
        }
        let mut layout = Layout { columns: shown, breaks: Vec::new() };
        layout.fit(detail.width);
        layout
    }

    /// Leaves out columns until the table fits. If it never does, the histogram and the percentiles get separate lines.
    fn fit(&mut self, width: Option<usize>) {
        let Some(width) = width else { return };
        let all = self.columns.clone();
        self.leave_out(width);
        if self.width() > width {
            self.columns = all;
            self.break_lines();
            self.leave_out(width);
        }
    }

    fn leave_out(&mut self, width: usize) {
        for name in DISPENSABLE {
            if self.width() <= width {
                return;
            }
            let is_broken = !self.breaks.is_empty();
            self.columns.retain(|shown| shown.name != name);
            if is_broken {
                self.break_lines();
            }
        }
    }

    fn break_lines(&mut self) {
        let first = |is: fn(&TableColumn) -> bool| self.columns.iter().position(is);
        let histogram = first(|shown| matches!(shown.style, Style::Share(..)));
        let percentiles = first(|shown| SHOWN_PERCENTILES.contains(&shown.name));
        self.breaks = [histogram, percentiles].into_iter().flatten().collect();
    }

    /// Width of the longest line of a row.
    fn width(&self) -> usize {
        let of = |line: Range<usize>| self.columns[line].iter().map(|shown| shown.width + 1).sum::<usize>();
        self.lines().map(of).max().unwrap_or(0).saturating_sub(1)
    }

    /// The columns of each line of a row.
    fn lines(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = self.breaks.iter().copied().chain([self.columns.len()]);
        let starts = [0].into_iter().chain(self.breaks.iter().copied());
        starts.zip(ends).map(|(start, end)| start..end)
    }

    /// A line of the text table: cells at the right of their columns.
    fn aligned(&self, line: Range<usize>, cells: &[impl AsRef<str>]) -> String {
        let cells = self.columns[line.clone()].iter().zip(&cells[line]);
        let cells = cells.map(|(shown, cell)| format!("{:>width$}", cell.as_ref(), width = shown.width));
        cells.collect::<Vec<_>>().join(" ")
    }

    /// The two heading lines of the text table, for each line of a row.
    pub fn table_head(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|shown| shown.name).collect();
        let units: Vec<&str> = self.columns.iter().map(|shown| shown.unit).collect();
        let heads = self.lines().flat_map(|line| [self.aligned(line.clone(), &names), self.aligned(line, &units)]);
        heads.map(|head| format!("{}\n", head.trim_end())).collect()
    }

    /// One row of the text table.
    pub fn table_row(&self, row: &Measurement, source: &str) -> String {
        // A blank in a name would be two cells.
        let cells = self.cells(&SourceRow::new(row, source, 0), |text| printable::line(text).replace(' ', "_"));
        let mut line = self.lines().map(|line| self.aligned(line, &cells)).collect::<Vec<_>>().join("\n");
        if let Some(errno) = row.errno {
            let _ = write!(line, "  errno {}", plain(errno));
        }
        line.push('\n');
        line
    }

    /// The heading of a Markdown table.
    pub fn markdown_head(&self) -> String {
        let named = |shown: &TableColumn| match (shown.name, shown.unit) {
            (name, "mean") => format!("mean {name}"),
            (name, "") => name.to_owned(),
            (name, unit) => format!("{name} {unit}"),
        };
        let names: Vec<String> = self.columns.iter().map(named).collect();
        let rule = |shown: &TableColumn| match shown.style {
            Style::Word | Style::Letter => "---|",
            _ => "--:|",
        };
        format!("| {} |\n|{}\n", names.join(" | "), self.columns.iter().map(rule).collect::<String>())
    }

    /// A row of a Markdown table.
    pub fn markdown_row(&self, row: &Measurement, source: &str) -> String {
        format!("| {} |\n", self.cells(&SourceRow::new(row, source, 0), markdown_text).join(" | "))
    }

    /// The cells of a row; `text` makes names safe to print.
    fn cells(&self, placed: &SourceRow<'_>, text: fn(&str) -> String) -> Vec<String> {
        self.columns.iter().map(|shown| shown.cell(placed, text)).collect()
    }
}

impl TableColumn {
    fn cell(&self, placed: &SourceRow<'_>, text: fn(&str) -> String) -> String {
        let number = |spelled: fn(f64) -> String| self.column.number(placed).map_or_else(|| ABSENT.to_owned(), spelled);
        match self.style {
            Style::Word => text(self.column.text(placed).as_deref().unwrap_or(ABSENT)),
            Style::Letter => placed.row.kind.map_or(ABSENT, |kind| &kind.word()[..1]).to_owned(),
            Style::Whole => number(plain),
            Style::ThreeDecimals => number(|value| format!("{value:.3}")),
            Style::Iops => number(|iops| if iops < 10.0 { format!("{iops:.2}") } else { format!("{iops:.0}") }),
            Style::Share(from, last) => {
                let share = placed.buckets().map(|buckets| buckets[from..=last].iter().sum::<f64>());
                share.map_or_else(|| ABSENT.to_owned(), shown_share)
            }
        }
    }
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
    use model::reading::ReadKind;

    fn full() -> Measurement {
        Measurement {
            system: Some("disk_a".to_owned()),
            test: "randread".into(),
            users: Some(4.0),
            depth: Some(16.0),
            block: Some((4096, 4096)),
            kind: Some(ReadKind::Read),
            iops: Some(1234.0),
            host: Some("db1".to_owned()),
            time: Some("2026-11-23T12:33:00Z".to_owned()),
            round: Some(2.0),
            ..Measurement::default()
        }
    }

    #[test]
    fn the_text_table_is_read_back_with_all_of_its_columns() {
        for bits in 0..16 {
            let on = |bit: u32| bits & (1 << bit) != 0;
            let detail = Detail { systems: on(0), hosts: on(1), rounds: on(2), origins: on(3), ..Detail::default() };
            let mut row = full();
            row.system = row.system.filter(|_| detail.systems);
            row.host = row.host.filter(|_| detail.hosts);
            row.round = row.round.filter(|_| detail.rounds);
            row.time = row.time.filter(|_| detail.origins);
            let layout = Layout::new(detail);
            let text = format!("{}{}", layout.table_head(), layout.table_row(&row, "a b.json"));
            let (readings, damages) = parse(text.as_bytes());
            assert!(damages.is_empty(), "{text}{damages:?}");
            let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
            assert_eq!(rows, [row], "{text}");
        }
    }

    #[test]
    fn histogram_and_percentiles_have_own_lines_if_it_is_narrow() {
        let detail = |width| Detail { buckets: true, percentiles: true, width: Some(width), ..Detail::default() };
        let row = Measurement { percentiles_ns: [Some(1e6); PERCENTS.len()], ..full() };
        for (width, lines, kept) in [(60, 3, "depth"), (80, 3, "max"), (200, 1, "depth")] {
            let layout = Layout::new(detail(width));
            let (head, shown) = (layout.table_head(), layout.table_row(&row, "a"));
            assert_eq!((head.lines().count(), shown.lines().count()), (2 * lines, lines), "{head}{shown}");
            assert!((head.clone() + &shown).lines().all(|line| line.chars().count() <= width), "{head}{shown}");
            assert!(head.contains(kept) && shown.contains("1.000"), "{head}{shown}");
        }
    }

    #[test]
    fn a_narrow_terminal_has_fewer_columns_and_is_read_back() {
        for (width, gone) in [(60, vec!["std", "min", "max", "MiB/s"]), (80, vec!["std", "min"]), (200, vec![])] {
            let layout = Layout::new(Detail { width: Some(width), ..Detail::default() });
            let row = Measurement { system: None, host: None, time: None, round: None, ..full() };
            let text = format!("{}{}", layout.table_head(), layout.table_row(&row, "a"));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            for name in ["test", "users", "depth", "size", "MiB/s", "ms", "min", "max", "std", "IOPS"] {
                let heads: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
                assert_eq!(heads.contains(&name), !gone.contains(&name), "{name} at {width}\n{text}");
            }
            let (readings, damages) = parse(text.as_bytes());
            assert!(damages.is_empty(), "{text}{damages:?}");
            let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
            assert_eq!(rows, [row], "{text}");
        }
    }
}
