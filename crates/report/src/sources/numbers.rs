//! Table of all numbers: a row per measurement; columns without any value are omitted.

use super::{Source, systems};
use crate::data::of_measurements::MeasuredRow;
use crate::page::{Column, Numbers};
use model::measurement::ms;
use model::{Cell, RowOfCells, measured_column};
use serde_json::Value;

/// A value that is not of a measured row alone.
type Own = fn(&Line<'_>) -> Value;

/// A row with its file and its system.
struct Line<'a> {
    source: &'a Source,
    /// `None` if all rows are of one system.
    system: Option<&'a str>,
    row: &'a MeasuredRow,
    cells: RowOfCells<'a>,
}

impl Line<'_> {
    /// The value of a column: its own, or that of measured rows by this name.
    fn value(&self, column: &Column, own: Option<Own>) -> Value {
        let measured = || measured_column(column.id).map(|found| found.cell(&self.cells));
        match own.map(|own| own(self)) {
            Some(value) => value,
            None => match measured() {
                Some(Cell::Text(word)) => text(word.as_deref()),
                Some(Cell::Number(value)) => number(value),
                None => Value::Null,
            },
        }
    }
}

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn number(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).map_or(Value::Null, Value::from)
}

/// Columns: name in all formats, heading and unit, and the value of those that a measured row does not have.
const COLUMNS: &[(Column, Option<Own>)] = &[
    (column("source", "source", ""), Some(|line| text(Some(&line.source.name)))),
    (column("system", "system", ""), Some(|line| text(line.row.numbers.system.as_deref().or(line.system)))),
    (column("name", "test", ""), None),
    (column("direction", "direction", ""), None),
    (column("users", "users", ""), None),
    (column("depth", "depth", ""), None),
    (column("block_size", "block", ""), None),
    (column("data_bytes", "data", "bytes"), Some(|line| line.row.region_bytes.map_or(Value::Null, Value::from))),
    (
        column("lasting_mib_per_second", "lasting rate", "MiB/s"),
        Some(|line| {
            number(line.row.numbers.lasting.as_ref().map(|lasting| lasting.bytes_per_second / f64::from(1 << 20)))
        }),
    ),
    (
        column("lasting_iops", "lasting IOPS", "1/s"),
        Some(|line| number(line.row.numbers.lasting.as_ref().map(|lasting| lasting.iops))),
    ),
    (column("mib_per_second", "rate", "MiB/s"), None),
    (column("iops", "IOPS", "1/s"), None),
    (column("mean_ms", "mean", "ms"), None),
    (column("min_ms", "min", "ms"), None),
    (column("p95_ms", "p95", "ms"), None),
    (column("p99_ms", "p99", "ms"), None),
    (column("p99_5_ms", "p99.5", "ms"), None),
    (column("p99_9_ms", "p99.9", "ms"), None),
    (column("p99_95_ms", "p99.95", "ms"), None),
    (column("p99_99_ms", "p99.99", "ms"), None),
    (column("max_ms", "max", "ms"), None),
    (column("response_p50_ms", "response p50", "ms"), Some(|line| number(ms(line.row.response_ns[0])))),
    (column("response_p99_ms", "response p99", "ms"), Some(|line| number(ms(line.row.response_ns[1])))),
    (column("tool_p50_us", "plumb's share, p50", "µs"), Some(|line| number(line.row.tool_us[0]))),
    (column("tool_p99_us", "plumb's share, p99", "µs"), Some(|line| number(line.row.tool_us[1]))),
    (column("deviation_ms", "deviation", "ms"), None),
    (column("engine", "engine", ""), None),
    (column("errno", "errno", ""), None),
];

const fn column(id: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column { id, title, unit }
}

pub(super) fn all(sources: &[Source]) -> Numbers {
    let names = systems::names(sources);
    let several = names.iter().any(|name| *name != names[0]);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (source, name) in sources.iter().zip(&names) {
        let system = several.then_some(name.as_str());
        let line = |row| Line { source, system, row, cells: RowOfCells::new(&row.numbers) };
        lines.extend(source.rows.iter().map(line));
    }
    let filled = |(column, own): &&(Column, Option<Own>)| lines.iter().any(|line| !line.value(column, *own).is_null());
    let kept: Vec<&(Column, Option<Own>)> = COLUMNS.iter().filter(filled).collect();
    let values = |line: &Line<'_>| kept.iter().map(|(column, own)| line.value(column, *own)).collect();
    Numbers { columns: kept.iter().map(|(column, _)| *column).collect(), rows: lines.iter().map(values).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_its_own_value_is_one_of_measured_rows() {
        for (column, own) in COLUMNS {
            assert!(own.is_some() || measured_column(column.id).is_some_and(|found| found.name == column.id));
        }
    }
}
