//! The survey's table: one row per test, every column with its unit, and no percentile without enough samples.

use analysis::percentile_as_fact;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use measure::text;
use measure::{Direction, Nanos};
use model::{DirectionResult, LatencyStatistics};
use survey::{FinishedTest, SurveyTest, TestKind, push_new, short_size};

/// Name, unit and minimum width of a column.
type Head = (&'static str, &'static str, u16);

const BEFORE: [Head; 3] = [("test", "", 5), ("users", "", 5), ("size", "", 5)];
const AFTER: [Head; 8] = [
    ("rate", "MiB/s", 5),
    ("IOPS", "1/s", 5),
    ("avg", "ms", 7),
    ("p50", "ms", 7),
    ("p95", "ms", 7),
    ("p99", "ms", 7),
    ("p99.9", "ms", 7),
    ("max", "ms", 7),
];

/// Columns that a narrow terminal does without, the first of them first.
const DISPENSABLE: [&str; 5] = ["p50", "p95", "p99.9", "max", "p99"];

/// Explanation of the second row of a test with phases that differ.
const AVERAGES: &str = "Where phases differ by more than 10 %, the first row has the last settled or\n\
                        last phase, and the rows of the averages over all phases follow.\n";

/// The columns of a table and its rows.
struct Content {
    heads: Vec<(String, &'static str, u16)>,
    rows: Vec<Vec<String>>,
}

/// The table as text. A row with notes has a `!`. It fits into 80 columns unless options are swept, and into a terminal
/// of `columns` by doing without some, which it names.
pub(crate) fn render(rows: &[FinishedTest], columns: Option<usize>) -> String {
    let mut content = Content::of(rows);
    let mut text = content.drawn();
    let width = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let mut left_out = Vec::new();
    for name in DISPENSABLE {
        if columns.is_none_or(|columns| width(&text) <= columns) {
            break;
        }
        content.remove(name);
        left_out.push(name);
        text = content.drawn();
    }
    if !left_out.is_empty() {
        text.push_str(&format!("Not shown here for lack of room: {}.\n", left_out.join(", ")));
    }
    if rows.iter().any(|row| row.result.lasting.is_some()) {
        text.push_str(AVERAGES);
    }
    text
}

impl Content {
    fn of(rows: &[FinishedTest]) -> Self {
        let swept = swept(rows);
        let heads = |heads: &[Head]| heads.iter().map(|&(name, unit, width)| (name.to_owned(), unit, width)).collect();
        let mut all: Vec<(String, &'static str, u16)> = heads(&BEFORE);
        all.extend(swept.iter().map(|name| (name.clone(), "", 4)));
        all.extend::<Vec<_>>(heads(&AFTER));
        let of_row = |row| -> Vec<Vec<String>> {
            let row: &FinishedTest = row;
            let averages = row.test.kind.directions().iter().map(|&direction| cells(row, direction, &swept));
            lasting(row, &swept).into_iter().chain(averages).collect()
        };
        Content { heads: all, rows: rows.iter().flat_map(of_row).collect() }
    }

    fn remove(&mut self, name: &str) {
        if let Some(at) = self.heads.iter().position(|head| head.0 == name) {
            self.heads.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }

    fn drawn(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        // Its own idea of the terminal would wrap cells.
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(self.heads.iter().map(|(name, unit, _)| Cell::new(format!("{name}\n{unit}"))));
        for row in &self.rows {
            table.add_row(row.iter().map(Cell::new));
        }
        for (index, (column, head)) in table.column_iter_mut().zip(&self.heads).enumerate() {
            column.set_padding((0, if index + 1 == self.heads.len() { 0 } else { 1 }));
            column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(head.2)));
        }
        let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        lines.insert(2.min(lines.len()), "─".repeat(width));
        lines.join("\n") + "\n"
    }
}

/// Names of swept options other than users and block sizes, without duplicates.
fn swept(rows: &[FinishedTest]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| push_new(&mut names, name.to_owned());
    for row in rows {
        if row.test.set.is_some() {
            add(SET);
        }
        let extras = row.test.extras.iter().filter(|_| row.test.kind != TestKind::LogWrite || !is_fio_sh(&row.test));
        extras.for_each(|(name, _)| add(name));
    }
    names
}

/// Name of the column with a swept working-set size.
const SET: &str = "of";

/// fio.sh's log writes differ from plumb's by two options that are the same in each row.
fn is_fio_sh(test: &SurveyTest) -> bool {
    test.extras.iter().all(|(name, _)| ["sync", "direct"].contains(&name.as_str()))
}

/// The row in one line: `12,000 IOPS, 93.8 MiB/s, average 0.667 ms`.
pub(crate) fn one_line(row: &FinishedTest) -> String {
    let said = |direction: Direction| {
        let cells = cells(row, direction, &[]);
        format!("{} IOPS, {} MiB/s, average {} ms", cells[4], cells[3], cells[5])
    };
    let averages =
        row.test.kind.directions().iter().map(|direction| said(*direction)).collect::<Vec<_>>().join("; writes: ");
    match &row.result.lasting {
        Some(lasting) => format!("{}: {averages}", lasting.sentence),
        None => averages,
    }
}

/// The row of the phase that lasts, reads and writes together; `None` if all phases have one rate.
fn lasting(row: &FinishedTest, swept: &[String]) -> Option<Vec<String>> {
    let lasting = row.result.lasting.as_ref()?;
    let mut cells = place(row, row.test.name.as_deref().unwrap_or(row.test.title()), swept);
    cells.extend([text::number(lasting.bytes_per_second / f64::from(1 << 20)), text::number(lasting.iops)]);
    let latency = |latency: Option<Nanos>| latency.map_or_else(absent, milliseconds);
    // The mean, p95, p99.9 and the maximum of a phase are not recorded.
    cells.extend([absent(), latency(lasting.p50), absent(), latency(lasting.p99), absent(), absent()]);
    Some(cells)
}

fn cells(row: &FinishedTest, direction: Direction, swept: &[String]) -> Vec<String> {
    let title = match (row.test.kind.is_mixed(), direction) {
        (true, Direction::Read) => format!("{} read", row.test.name.as_deref().unwrap_or("mix")),
        (true, _) => format!("{} write", row.test.name.as_deref().unwrap_or("mix")),
        (false, _) => row.test.title().to_owned(),
    };
    let title = if row.result.lasting.is_some() { format!("  {title}, average") } else { title };
    let mut cells = place(row, &title, swept);
    let merged = row.merged().unwrap_or_default();
    let direction = &merged.directions[direction];
    cells.extend(rates(direction));
    match &direction.total {
        Some(latency) => cells.extend(latencies(latency)),
        None => cells.extend(std::iter::repeat_n(absent(), 6)),
    }
    cells
}

/// The cells before the numbers.
fn place(row: &FinishedTest, title: &str, swept: &[String]) -> Vec<String> {
    let mark = if row.result.notes.is_empty() { "" } else { " !" };
    let mut cells = vec![format!("{title}{mark}"), row.test.users.to_string(), short_size(u64::from(row.test.block))];
    let value = |name: &String| match row.test.set {
        Some(set) if name == SET => short_size(set),
        _ => {
            let found = row.test.extras.iter().find(|(known, _)| known == name);
            found.map_or_else(absent, |(_, value)| value.clone())
        }
    };
    cells.extend(swept.iter().map(value));
    cells
}

fn rates(direction: &DirectionResult) -> [String; 2] {
    let of = |rate: Option<f64>| rate.map_or_else(absent, text::number);
    let mebibytes = direction.bytes_per_second().map(|bytes| measure::float(bytes) / f64::from(1 << 20));
    [of(mebibytes), of(direction.iops())]
}

fn latencies(latency: &LatencyStatistics) -> Vec<String> {
    let percentile = |percent| percentile_as_fact(latency, percent).map_or_else(absent, milliseconds);
    let mut cells = vec![latency.moments.mean().map_or_else(absent, |ns| text::number(ns / 1e6))];
    cells.extend([50.0, 95.0, 99.0, 99.9].map(percentile));
    cells.push(latency.moments.maximum().map_or_else(absent, milliseconds));
    cells
}

/// A latency in the unit of the table.
fn milliseconds(latency: Nanos) -> String {
    text::number(latency.as_f64() / 1e6)
}

/// The content of a cell without a value.
fn absent() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Histogram, Moments};
    use model::{JobResult, RunResult};

    fn row(users: u32, ios: u64, latency: Nanos) -> FinishedTest {
        let mut histogram = Histogram::new();
        histogram.record_many(latency, ios);
        let sum = u128::from(latency.get()) * u128::from(ios);
        let moments = Moments::from_parts(ios, latency.get(), latency.get(), sum, sum);
        let mut job = JobResult::default();
        job.directions.read = DirectionResult {
            bytes: ios * 8192,
            ios,
            runtime: Nanos::SECOND,
            total: Some(LatencyStatistics { moments, histogram: Some(Box::new(histogram)) }),
            ..DirectionResult::default()
        };
        let result = RunResult { jobs: vec![job], ..RunResult::default() };
        let test = SurveyTest::at(TestKind::RandomRead, 8192, users);
        FinishedTest::here(test, result)
    }

    #[test]
    fn percentiles_without_enough_samples_are_dashes() {
        let text = render(&[row(8, 12_000, Nanos::MILLISECOND)], None);
        let line = text.lines().last().unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[..6], ["rand", "read", "8", "8k", "93.8", "12,000"], "{text}");
        assert_eq!(cells[6], "1", "{text}");
        assert_eq!(cells[10], "–", "p99.9 needs 100,000 samples\n{text}");
        assert_ne!(cells[9], "–", "p99 needs 10,000\n{text}");
    }

    #[test]
    fn the_table_fits_eighty_columns_with_large_numbers() {
        let wide = row(64, 2_345_678, Nanos(1_693_000_000));
        let text = render(&[wide.clone(), wide], None);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns\n{text}", line.chars().count());
        }
    }

    #[test]
    fn what_is_swept_has_a_column_and_a_mix_two_rows() {
        let mut deep = row(1, 12_000, Nanos::MILLISECOND);
        deep.test.extras = vec![("iodepth".into(), "16".into())];
        let mut mixed = row(1, 12_000, Nanos::MILLISECOND);
        mixed.test.kind = TestKind::Mixed;
        let text = render(&[deep, mixed], None);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][3], "iodepth", "{text}");
        assert_eq!(lines[3][..5], ["rand", "read", "1", "8k", "16"], "{text}");
        assert_eq!(lines[4][..5], ["mix", "read", "1", "8k", "–"], "{text}");
        assert_eq!(lines[5][..2], ["mix", "write"], "{text}");
    }

    #[test]
    fn both_rates_of_a_row_are_over_the_same_time() {
        // 16,700 I/Os of 8 KiB a second are 130 MiB/s, as the sentence and the picture say; 131 was over the time in
        // ns.
        let runtime = Nanos(1_000_287_821);
        let read = DirectionResult { bytes: 136_945_664, ios: 16_717, runtime, ..DirectionResult::default() };
        assert_eq!(rates(&read), ["130", "16,700"]);
    }

    #[test]
    fn the_lasting_rate_is_above_the_average_in_table_and_progress() {
        let mut fallen = row(8, 12_000, Nanos::MILLISECOND);
        fallen.result.lasting = Some(model::Lasting {
            from: Nanos::from_secs(20),
            until: Nanos::from_secs(60),
            kind: model::PhaseKind::Settled,
            iops: 300.0,
            bytes_per_second: 300.0 * 8192.0,
            p50: Some(Nanos::from_millis(26)),
            p99: None,
            average_iops: 12_000.0,
            sentence: "300 IOPS (2.34 MiB/s) in the last settled phase (20–60 s)".into(),
        });
        let text = render(&[fallen.clone(), row(16, 9_000, Nanos::MILLISECOND)], Some(100));
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[3], ["rand", "read", "8", "8k", "2.34", "300", "–", "26", "–", "–", "–", "–"], "{text}");
        assert_eq!(lines[4][..7], ["rand", "read,", "average", "8", "8k", "93.8", "12,000"], "{text}");
        assert_eq!(lines[5][..5], ["rand", "read", "16", "8k", "70.3"], "{text}");
        assert!(text.contains("Where phases differ by more than 10 %"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let line = one_line(&fallen);
        assert!(line.starts_with("300 IOPS (2.34 MiB/s) in the last settled phase (20–60 s): 12,000 IOPS"), "{line}");
    }

    #[test]
    fn a_row_with_a_note_is_marked() {
        let mut noted = row(8, 12_000, Nanos::MILLISECOND);
        noted.result.notes.push(model::Note {
            check: "cache".into(),
            grade: model::Grade::NotChecked,
            sentence: String::new(),
            evidence: Vec::new(),
        });
        assert!(render(&[noted], None).contains("rand read !"));
    }

    #[test]
    fn a_table_is_as_wide_as_the_terminal() {
        let mut noted = row(64, 2_345_678, Nanos(1_693_000_000));
        noted.result.notes.push(model::Note {
            check: "cache".into(),
            grade: model::Grade::NotChecked,
            sentence: String::new(),
            evidence: Vec::new(),
        });
        let mut deep = row(1, 120_000, Nanos::MILLISECOND);
        deep.test.extras = vec![("iodepth".into(), "16".into())];
        for columns in [60, 80, 200] {
            let plain = render(&[row(1, 12_000, Nanos::MILLISECOND), noted.clone()], Some(columns));
            let swept = render(&[deep.clone(), noted.clone()], Some(columns));
            for line in plain.lines().chain(swept.lines()) {
                assert!(line.chars().count() <= columns, "{plain}{swept}");
            }
            insta::assert_snapshot!(format!("table_at_{columns}"), format!("{plain}\n{swept}"));
        }
    }
}
