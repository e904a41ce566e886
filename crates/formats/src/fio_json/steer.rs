//! The latency goal of a job, its steady state and the idle CPUs of a run in fio's JSON.

use measure::Nanos;
use model::{JobResult, RunResult, SteadyResult};
use serde_json::{Map, Value, json};

/// Appends the keys about the latency a job was to keep.
pub(super) fn put_goal(job: &mut Map<String, Value>, row: &JobResult) {
    if row.echo.iodepth == 0 {
        return;
    }
    let goal = &row.latency_goal;
    let target = goal.target.map_or(0, Nanos::get);
    let window = if goal.target.is_some() { goal.window.get() / 1000 } else { 0 };
    let pairs = [
        ("latency_depth", json!(goal.depth.unwrap_or(row.echo.iodepth))),
        ("latency_target", json!(target)),
        ("latency_target_ns", json!(target)),
        ("latency_percentile", json!(goal.percentile.unwrap_or(100.0))),
        ("latency_window", json!(window)),
        ("latency_window_us", json!(window)),
    ];
    job.extend(pairs.map(|(key, value)| (key.to_owned(), value)));
}

/// Appends the section about steady state.
pub(super) fn put_steady(job: &mut Map<String, Value>, row: &JobResult) {
    let Some(found) = &row.steady else { return };
    let percent = if found.relative { "%" } else { "" };
    let mut data = Map::new();
    data.insert("bw_mean".into(), json!(SteadyResult::mean(&found.bandwidth)));
    data.insert("iops_mean".into(), json!(SteadyResult::mean(&found.iops)));
    if !found.latency_ns.is_empty() {
        data.insert("lat_mean".into(), json!(SteadyResult::mean(&found.latency_ns)));
        data.insert("lat_ns".into(), json!(found.latency_ns));
    }
    data.insert("iops".into(), json!(found.iops));
    data.insert("bw".into(), json!(found.bandwidth));
    let section = json!({
        "ss": format!("{}:{:.6}{percent}", found.name, found.limit),
        "duration": found.duration.get() / Nanos::SECOND.get(),
        "attained": u8::from(found.attained),
        "criterion": format!("{:.6}{percent}", found.criterion),
        "max_deviation": found.max_deviation,
        "slope": found.slope,
        "data": data,
    });
    job.insert("steadystate".into(), section);
}

/// Appends the section about idle CPUs.
pub(super) fn put_idleness(root: &mut Map<String, Value>, result: &RunResult) {
    let Some(found) = &result.cpu_idleness else { return };
    let mut section = Map::new();
    section.insert("system".into(), json!(found.system));
    for (cpu, idle) in found.cpus.iter().enumerate() {
        section.insert(format!("cpu-{cpu}"), json!(idle));
    }
    section.insert("unit_mean".into(), json!(found.unit_mean_us));
    section.insert("unit_stddev".into(), json!(found.unit_deviation_us));
    root.insert("cpu_idleness".into(), Value::Object(section));
}
