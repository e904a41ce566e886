//! Latency target of a job, its steady state, and the CPU idleness of a run in fio's JSON.

use crate::tree::{Object, Tree};
use measure::{Direction, Nanos};
use model::{BlockLives, JobResult, LatencyGoal, RunResult, SteadyResult};
use serde_json::{Map, Value, json};

/// Appends the keys of the latency target (`latency_target`, `latency_window`, ...).
pub(super) fn put_goal(job: &mut Map<String, Value>, row: &JobResult) {
    // A job that failed before it had a depth, or that only verified (fio sets them when it starts to do I/O).
    if row.echo.iodepth == 0 || row.walked.is_some() {
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

/// Appends the number of zone resets of a job that wrote or trimmed zones.
pub(super) fn put_zone_resets(job: &mut Map<String, Value>, row: &JobResult) {
    let moved = [Direction::Write, Direction::Trim].map(|direction| &row.directions[direction]);
    let resets = moved.into_iter().filter(|found| found.ios > 0).find_map(|found| found.zone_resets);
    if let Some(resets) = resets {
        job.insert("zone_resets".into(), json!(resets));
    }
}

/// Appends the steady state section.
pub(super) fn put_steady(job: &mut Map<String, Value>, row: &JobResult) {
    let Some(found) = row.steady.as_ref().map(SteadyResult::in_fios_terms) else { return };
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

/// Appends the CPU idleness section (`--idle-prof`).
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

/// Reads the latency target from a job's keys; fio before 3.42 omits some of them.
pub(super) fn read_goal(job: &Object<'_>) -> LatencyGoal {
    let whole = |key: &str| job.get(key).and_then(Tree::as_whole).unwrap_or(0);
    let target = whole("latency_target_ns").max(whole("latency_target"));
    if target == 0 {
        return LatencyGoal::default();
    }
    let percentile = job.get("latency_percentile").and_then(Tree::as_number).filter(|&percent| percent < 100.0);
    LatencyGoal {
        target: Some(Nanos(target)),
        window: Nanos::from_micros(whole("latency_window_us").max(whole("latency_window"))),
        percentile,
        depth: u32::try_from(whole("latency_depth")).ok().filter(|&depth| depth > 0),
    }
}

/// Reads the steady state section; `None` if it is missing.
pub(super) fn read_steady(job: &Object<'_>) -> Option<SteadyResult> {
    let section = job.get("steadystate")?.as_object()?;
    let (name, limit) = section.get("ss")?.as_text()?.split_once(':')?;
    let number = |text: &str| text.trim_end_matches('%').parse::<f64>().unwrap_or(0.0);
    let float = |key: &str| section.get(key).and_then(Tree::as_number).unwrap_or(0.0);
    let whole = |key: &str| section.get(key).and_then(Tree::as_whole).unwrap_or(0);
    let samples = |key: &str| -> Vec<u64> {
        let list = section.get("data").and_then(|data| data.get(key)).and_then(Tree::as_list);
        list.into_iter().flatten().filter_map(Tree::as_whole).collect()
    };
    Some(SteadyResult {
        name: name.to_owned(),
        limit: number(limit),
        relative: limit.ends_with('%'),
        duration: Nanos(whole("duration").saturating_mul(Nanos::SECOND.get())),
        interval: Nanos::ZERO,
        attained: whole("attained") != 0,
        criterion: section.get("criterion").and_then(Tree::as_text).map_or(0.0, number),
        max_deviation: float("max_deviation"),
        slope: float("slope"),
        bandwidth: samples("bw"),
        iops: samples("iops"),
        latency_ns: samples("lat_ns"),
    })
}

// The trim block states of a job (`block_states` of fio's JSON).

/// Appends the section if any block was tracked.
pub(super) fn put_blocks(job: &mut Map<String, Value>, row: &JobResult) {
    let Some(found) = row.blocks.as_ref().filter(|found| !found.is_empty()) else { return };
    let values = found.percentiles(&row.style.percentiles).unwrap_or_default();
    let named =
        row.style.percentiles.iter().zip(values).map(|(percent, trims)| (format!("{percent:.6}"), json!(trims)));
    let states = found.states().map(|(state, count)| (state.to_owned(), json!(count)));
    let section = json!({
        "percentiles": named.collect::<Map<_, _>>(),
        "states": states.into_iter().collect::<Map<_, _>>(),
    });
    job.insert("block".to_owned(), section);
}

/// Reads the section; `None` if it is missing. fio writes only percentiles, so counts per block are lost.
pub(super) fn read_blocks(job: &Object<'_>) -> Option<BlockLives> {
    let states = job.get("block")?.get("states")?;
    let count = |state: &str| states.get(state).and_then(Tree::as_whole).unwrap_or(0);
    Some(BlockLives {
        unwritten: count("unwritten"),
        trimmed: count("trimmed"),
        written: count("written"),
        trim_failures: count("trim failure"),
        write_failures: count("write failure"),
        ..BlockLives::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_about_goal_and_steady_state_is_read_back() {
        let goal = LatencyGoal {
            target: Some(Nanos::from_micros(500)),
            window: Nanos::from_millis(20),
            percentile: Some(99.5),
            depth: Some(7),
        };
        let steady = SteadyResult {
            name: "lat_slope".to_owned(),
            limit: 0.25,
            relative: true,
            duration: Nanos::from_secs(3),
            interval: Nanos::ZERO,
            attained: true,
            criterion: 0.125,
            max_deviation: 0.0,
            slope: -12.5,
            bandwidth: vec![4096, 8192, 4096],
            iops: vec![1, 2, 1],
            latency_ns: vec![100, 90, 80],
        };
        let mut row = JobResult { latency_goal: goal, steady: Some(steady.clone()), ..JobResult::default() };
        row.echo.iodepth = 32;
        let mut job = Map::new();
        put_goal(&mut job, &row);
        put_steady(&mut job, &row);
        let text = Value::Object(job.clone()).to_string();
        let tree = Tree::of(&text).unwrap();
        let read = tree.as_object().unwrap();
        assert_eq!((read_goal(read), read_steady(read)), (goal, Some(steady)));
        assert_eq!(job["latency_target"], job["latency_target_ns"]);
        assert_eq!((read_goal(&Object::default()), read_steady(&Object::default())), (LatencyGoal::default(), None));
    }

    #[test]
    fn states_are_read_back_and_percentiles_follow_the_jobs_list() {
        let lives = BlockLives {
            unwritten: 1,
            trimmed: 2,
            written: 3,
            trim_failures: 4,
            write_failures: 1,
            lifetimes: [(7, 4), (900, 1)].into(),
        };
        let mut row = JobResult { blocks: Some(lives.clone()), ..JobResult::default() };
        row.style.percentiles = vec![50.0, 99.9];
        let mut job = Map::new();
        put_blocks(&mut job, &row);
        assert_eq!(job["block"]["percentiles"], json!({"50.000000": 7, "99.900000": 900}));
        let text = Value::Object(job).to_string();
        let tree = Tree::of(&text).unwrap();
        assert_eq!(read_blocks(tree.as_object().unwrap()), Some(BlockLives { lifetimes: [].into(), ..lives }));
        row.blocks = Some(BlockLives::default());
        let mut job = Map::new();
        put_blocks(&mut job, &row);
        assert!(job.is_empty() && read_blocks(&Object::default()).is_none());
    }
}
