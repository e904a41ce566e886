//! Table of all numbers: a row per measurement; columns without any value are omitted.

use super::{Source, systems};
use crate::page::{Column, Numbers};
use model::Measurement;
use model::measurement::ms;
use serde_json::Value;

type Cell = fn(&Origin<'_>, &Measurement) -> Value;

/// The file, the system and the number of a row.
struct Origin<'a> {
    source: &'a Source,
    /// `None` if all rows are of one system.
    system: Option<&'a str>,
    /// Number of the row in its file.
    row: usize,
}

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn number(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).map_or(Value::Null, Value::from)
}

/// Columns: name in CSV, heading and unit.
const COLUMNS: &[(Column, Cell)] = &[
    (column("source", "source", ""), |origin, _| text(Some(&origin.source.name))),
    (column("system", "system", ""), |origin, row| text(row.system.as_deref().or(origin.system))),
    (column("test", "test", ""), |_, row| text(Some(row.test.as_str()))),
    (column("direction", "direction", ""), |_, row| text(row.kind.map(|kind| kind.word()))),
    (column("users", "users", ""), |_, row| number(row.users)),
    (column("depth", "depth", ""), |_, row| number(row.depth)),
    (column("block_size", "block", ""), |_, row| text(row.block_text().as_deref())),
    (column("data_bytes", "data", "bytes"), |origin, _| {
        origin.source.region_bytes(origin.row).map_or(Value::Null, Value::from)
    }),
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
    (column("response_p50_ms", "response p50", "ms"), |origin, _| number(ms(origin.source.response_ns(origin.row, 0)))),
    (column("response_p99_ms", "response p99", "ms"), |origin, _| number(ms(origin.source.response_ns(origin.row, 1)))),
    (column("tool_p50_us", "of it plumb, p50", "µs"), |origin, _| number(origin.source.tool_us(origin.row, 0))),
    (column("tool_p99_us", "of it plumb, p99", "µs"), |origin, _| number(origin.source.tool_us(origin.row, 1))),
    (column("deviation_ms", "deviation", "ms"), |_, row| number(ms(row.deviation_ns))),
    (column("engine", "engine", ""), |_, row| text(row.engine.as_deref())),
    (column("errno", "errno", ""), |_, row| number(row.errno)),
];

const fn column(id: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column { id, title, unit }
}

/// All rows of all sources.
pub(super) fn all(sources: &[Source]) -> Numbers {
    let names = systems::names(sources);
    let several = names.iter().any(|name| *name != names[0]);
    let mut origins: Vec<Origin<'_>> = Vec::new();
    for (source, name) in sources.iter().zip(&names) {
        let system = several.then_some(name.as_str());
        origins.extend((0..source.rows.len()).map(|row| Origin { source, system, row }));
    }
    let lines = || origins.iter().map(|origin| (origin, &origin.source.rows[origin.row]));
    let filled = |cell: Cell| lines().any(|(origin, row)| !cell(origin, row).is_null());
    let kept: Vec<&(Column, Cell)> = COLUMNS.iter().filter(|(_, cell)| filled(*cell)).collect();
    Numbers {
        columns: kept.iter().map(|(column, _)| *column).collect(),
        rows: lines().map(|(origin, row)| kept.iter().map(|(_, cell)| cell(origin, row)).collect()).collect(),
    }
}
