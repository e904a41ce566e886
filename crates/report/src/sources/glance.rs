//! Terminal summary of a run.

use super::native::test_of;
use crate::data::{Level, Sweep, Table};
use crate::terminal;
use measure::Direction;
use model::{Interval, RunResult};
use serde_json::Value;

/// Most columns of the sparkline over time, and those of the numbers before it.
const OVER_TIME: (usize, usize) = (48, 34);

/// For each direction with I/O: rates with a sparkline over time, and the latency histogram. Empty if nothing was
/// measured. As wide as a terminal of this many columns.
pub fn glance(result: &RunResult, columns: usize) -> String {
    let Some(test) = test_of(1, &Value::Null, result.clone()) else { return String::new() };
    let level = |direction| Some((direction, Level::of(test.users as f64, result, direction, &result.notes)?));
    let levels: Vec<(Direction, Level)> = Direction::ALL.into_iter().filter_map(level).collect();
    let several = levels.len() > 1;
    let drawn = levels.into_iter().map(|(direction, level)| {
        let of = if several { format!(", {}s", direction.word()) } else { String::new() };
        let table = Table {
            system: result.jobs.first().map(|job| job.echo.name.clone()).unwrap_or_default(),
            workload: format!("{}{of}", test.workload),
            levels: vec![level],
            ..Table::default()
        };
        terminal::sketch_over_time(&Sweep::of(table), &over_time(result, direction, columns), columns)
    });
    drawn.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// IOPS per interval, with intervals merged to at most as many values as there is room for.
fn over_time(result: &RunResult, direction: Direction, columns: usize) -> Vec<f64> {
    let most = columns.saturating_sub(OVER_TIME.1).clamp(6, OVER_TIME.0);
    let intervals: &[Interval] = result.monitored.as_ref().map_or(&[], |monitored| &monitored.intervals);
    let mut from = 0.0;
    let mut rates = Vec::new();
    for together in intervals.chunks(intervals.len().div_ceil(most).max(1)) {
        let Some(until) = together.last().map(|last| last.until.as_secs_f64()) else { continue };
        let ios: u64 = together.iter().map(|interval| interval.ios[direction as usize]).fold(0, u64::saturating_add);
        // The last interval may be only a few milliseconds long, with too few I/Os for a rate.
        if until - from >= 0.2 {
            rates.push(ios as f64 / (until - from));
        }
        from = until;
    }
    rates
}
