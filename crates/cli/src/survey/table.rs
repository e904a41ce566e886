//! The survey's table: one row per test, every column with its unit, no percentile without the samples for it.

use super::suite::{Test, short_size};
use analysis::{percentile_as_fact, thousands};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table, Width, presets};
use measure::Nanos;
use model::{DirectionResult, JobResult, LatencyStatistics, RunResult};

/// A finished test.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What was done.
    pub(crate) test: Test,
    /// What was found, judged.
    pub(crate) result: RunResult,
}

impl Row {
    /// All workers of the test as one.
    pub(crate) fn merged(&self) -> Option<JobResult> {
        let mut jobs = self.result.jobs.iter();
        let mut all = jobs.next()?.clone();
        jobs.for_each(|job| all.merge(job));
        Some(all)
    }
}

const HEADS: [(&str, &str); 11] = [
    ("test", ""),
    ("users", ""),
    ("size", ""),
    ("rate", "MiB/s"),
    ("IOPS", "1/s"),
    ("avg", "ms"),
    ("p50", "ms"),
    ("p95", "ms"),
    ("p99", "ms"),
    ("p99.9", "ms"),
    ("max", "ms"),
];

/// The table as text; fits 80 columns. A row with notes carries a `!`.
pub(crate) fn render(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(HEADS.iter().map(|(name, unit)| cell(format!("{name}\n{unit}"))));
    for row in rows {
        table.add_row(cells(row).into_iter().map(cell));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index + 1 == HEADS.len() { 0 } else { 1 }));
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(if index > 4 { 7 } else { 5 })));
    }
    let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    lines.insert(2.min(lines.len()), "─".repeat(width));
    lines.join("\n") + "\n"
}

/// The row in a few words: `12,000 IOPS, 93.8 MiB/s, average 0.667 ms`.
pub(crate) fn one_line(row: &Row) -> String {
    let cells = cells(row);
    format!("{} IOPS, {} MiB/s, average {} ms", cells[4], cells[3], cells[5])
}

fn cell(text: String) -> Cell {
    Cell::new(text)
}

fn cells(row: &Row) -> Vec<String> {
    let mark = if row.result.notes.is_empty() { "" } else { " !" };
    let mut cells = vec![
        format!("{}{mark}", row.test.kind.title()),
        row.test.users.to_string(),
        short_size(u64::from(row.test.kind.block_size())),
    ];
    let merged = row.merged().unwrap_or_default();
    let direction = &merged.directions[row.test.kind.direction()];
    cells.extend(rates(direction));
    match &direction.total {
        Some(latency) => cells.extend(latencies(latency)),
        None => cells.extend(std::iter::repeat_n(absent(), 6)),
    }
    cells
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn rates(direction: &DirectionResult) -> [String; 2] {
    let seconds = direction.runtime.as_secs_f64();
    if seconds <= 0.0 {
        return [absent(), absent()];
    }
    let mebibytes = direction.bytes as f64 / f64::from(1 << 20) / seconds;
    let mebibytes = if mebibytes < 100.0 { format!("{mebibytes:.1}") } else { thousands(mebibytes) };
    [mebibytes, direction.iops().map_or_else(absent, thousands)]
}

fn latencies(latency: &LatencyStatistics) -> Vec<String> {
    let percentile = |percent| percentile_as_fact(latency, percent).map_or_else(absent, |value| span(value.as_f64()));
    let mut cells = vec![latency.moments.mean().map_or_else(absent, span)];
    cells.extend([50.0, 95.0, 99.0, 99.9].map(percentile));
    cells.push(latency.moments.maximum().map_or_else(absent, |value: Nanos| span(value.as_f64())));
    cells
}

/// What stands where there is no fact.
fn absent() -> String {
    "–".to_owned()
}

/// Milliseconds with three digits that count, at most four after the point.
fn span(nanoseconds: f64) -> String {
    let milliseconds = nanoseconds / 1e6;
    let digits = match milliseconds {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        value if value >= 0.9995 => 2,
        value if value >= 0.09995 => 3,
        _ => 4,
    };
    format!("{milliseconds:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::super::suite::Kind;
    use super::*;
    use measure::{Histogram, Moments};

    fn row(users: u32, ios: u64, latency: Nanos) -> Row {
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
        Row { test: Test { kind: Kind::RandomRead, users }, result }
    }

    #[test]
    fn spans_have_three_digits_that_count() {
        for (nanoseconds, text) in [
            (12_300.0, "0.0123"),
            (115_000.0, "0.115"),
            (999_960.0, "1.00"),
            (1_234_567.0, "1.23"),
            (12_345_678.0, "12.3"),
            (1_693_000_000.0, "1693"),
        ] {
            assert_eq!(span(nanoseconds), text);
        }
    }

    #[test]
    fn percentiles_without_enough_samples_are_dashes() {
        let text = render(&[row(8, 12_000, Nanos::MILLISECOND)]);
        let line = text.lines().last().unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[..6], ["rand", "read", "8", "8k", "93.8", "12,000"], "{text}");
        assert_eq!(cells[6], "1.00", "{text}");
        assert_eq!(cells[10], "–", "p99.9 needs 100,000 samples\n{text}");
        assert_ne!(cells[9], "–", "p99 needs 10,000\n{text}");
    }

    #[test]
    fn the_table_fits_eighty_columns_with_large_numbers() {
        let wide = row(64, 2_345_678, Nanos(1_693_000_000));
        let text = render(&[wide.clone(), wide]);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns\n{text}", line.chars().count());
        }
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
        assert!(render(&[noted]).contains("rand read !"));
    }
}
