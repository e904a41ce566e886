//! Table of all numbers: a row per measurement; columns without any value are omitted.

use super::{Source, systems};
use crate::data::of_measurements::MeasuredRow;
use crate::page::{Column, Numbers};
use model::Measurement;
use model::measurement::ms;
use serde_json::Value;

type Cell = fn(&Line<'_>, &Measurement) -> Value;

/// A row with its file and its system.
struct Line<'a> {
    source: &'a Source,
    /// `None` if all rows are of one system.
    system: Option<&'a str>,
    row: &'a MeasuredRow,
}

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn number(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).map_or(Value::Null, Value::from)
}

/// Columns: name in CSV, heading and unit.
const COLUMNS: &[(Column, Cell)] = &[
    (column("source", "source", ""), |line, _| text(Some(&line.source.name))),
    (column("system", "system", ""), |line, row| text(row.system.as_deref().or(line.system))),
    (column("name", "test", ""), |_, row| text(Some(row.test.as_str()))),
    (column("direction", "direction", ""), |_, row| text(row.kind.map(|kind| kind.word()))),
    (column("users", "users", ""), |_, row| number(row.users)),
    (column("depth", "depth", ""), |_, row| number(row.depth)),
    (column("block_size", "block", ""), |_, row| text(row.block_text().as_deref())),
    (column("data_bytes", "data", "bytes"), |line, _| line.row.region_bytes.map_or(Value::Null, Value::from)),
    (column("lasting_mib_per_second", "lasting rate", "MiB/s"), |_, row| {
        number(row.lasting.as_ref().map(|lasting| lasting.bytes_per_second / f64::from(1 << 20)))
    }),
    (column("lasting_iops", "lasting IOPS", "1/s"), |_, row| number(row.lasting.as_ref().map(|lasting| lasting.iops))),
    (column("mib_per_second", "rate", "MiB/s"), |_, row| number(row.mib_per_second())),
    (column("iops", "IOPS", "1/s"), |_, row| number(row.iops)),
    (column("mean_ms", "mean", "ms"), |_, row| number(ms(row.mean_ns))),
    (column("min_ms", "min", "ms"), |_, row| number(ms(row.min_ns))),
    (column("p95_ms", "p95", "ms"), |_, row| number(ms(row.percentiles_ns[0]))),
    (column("p99_ms", "p99", "ms"), |_, row| number(ms(row.percentiles_ns[1]))),
    (column("p99_5_ms", "p99.5", "ms"), |_, row| number(ms(row.percentiles_ns[2]))),
    (column("p99_9_ms", "p99.9", "ms"), |_, row| number(ms(row.percentiles_ns[3]))),
    (column("p99_95_ms", "p99.95", "ms"), |_, row| number(ms(row.percentiles_ns[4]))),
    (column("p99_99_ms", "p99.99", "ms"), |_, row| number(ms(row.percentiles_ns[5]))),
    (column("max_ms", "max", "ms"), |_, row| number(ms(row.max_ns))),
    (column("response_p50_ms", "response p50", "ms"), |line, _| number(ms(line.row.response_ns[0]))),
    (column("response_p99_ms", "response p99", "ms"), |line, _| number(ms(line.row.response_ns[1]))),
    (column("tool_p50_us", "plumb's share, p50", "µs"), |line, _| number(line.row.tool_us[0])),
    (column("tool_p99_us", "plumb's share, p99", "µs"), |line, _| number(line.row.tool_us[1])),
    (column("deviation_ms", "deviation", "ms"), |_, row| number(ms(row.deviation_ns))),
    (column("engine", "engine", ""), |_, row| text(row.engine.as_deref())),
    (column("errno", "errno", ""), |_, row| number(row.errno)),
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
        lines.extend(source.rows.iter().map(|row| Line { source, system, row }));
    }
    let filled = |cell: Cell| lines.iter().any(|line| !cell(line, &line.row.numbers).is_null());
    let kept: Vec<&(Column, Cell)> = COLUMNS.iter().filter(|(_, cell)| filled(*cell)).collect();
    Numbers {
        columns: kept.iter().map(|(column, _)| *column).collect(),
        rows: lines.iter().map(|line| kept.iter().map(|(_, cell)| cell(line, &line.row.numbers)).collect()).collect(),
    }
}
