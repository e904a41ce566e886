//! fio's normal text output: the lines at the start of a run, the job blocks, group and disk lines.
//!
//! Owns layout, units and rounding, and the reader of reports of fio 1.5x to 3.42. Leaves merging to `model`.

mod disk;
mod group_lines;
mod job_block;
mod latency;
mod read;
mod start;

pub(crate) use disk::mean_of;
pub(crate) use job_block::cpu_percent;
pub(crate) use read::TextReader;
pub use start::{
    burner_lines, error_line, job_lines, layout_line, starting_line, version_line, whole_zones_lines,
    wide_offsets_lines,
};

use crate::View;
use crate::fio::{group, walked};
use model::{CpuIdleness, JobResult, RunResult};

/// The report after a run, from the blank line before the first job block to the last disk line.
pub fn write(result: &RunResult, view: &View) -> String {
    let rows = walked::rows(result);
    let groups = group::of_rows(&rows);
    let mut text = String::from("\n");
    for row in &rows {
        job_block::write(&mut text, row, &groups, &job_block::When { unix_ms: result.ended_unix_ms, zone: &view.zone });
    }
    for group in &groups {
        group_lines::write(&mut text, group);
    }
    disk::write(&mut text, &result.devices);
    if let Some(found) = &result.cpu_idleness {
        text.push('\n');
        text.push_str(&idleness(found));
    }
    text
}

/// The block of one row, for the sum of several servers.
pub(crate) fn block(row: &JobResult, ended_unix_ms: u64, view: &View) -> String {
    let mut text = String::new();
    let groups = group::of_rows(std::slice::from_ref(row));
    job_block::write(&mut text, row, &groups, &job_block::When { unix_ms: ended_unix_ms, zone: &view.zone });
    text
}

/// The CPU idleness lines (`--idle-prof`); CPUs that were not measured are omitted.
pub fn idleness(found: &CpuIdleness) -> String {
    let mut text = format!("CPU idleness:\n  system: {:.2}%\n", found.system);
    if !found.cpus.is_empty() {
        let cpus: Vec<String> = found.cpus.iter().map(|idle| format!("{idle:.2}%")).collect();
        text.push_str(&format!("  percpu: {}\n", cpus.join(", ")));
    }
    text + &unit_of_work(found)
}

/// The line with the unit work time of `--idle-prof`.
pub fn unit_of_work(found: &CpuIdleness) -> String {
    format!("  unit work: mean={:.2}us, stddev={:.2}\n", found.unit_mean_us, found.unit_deviation_us)
}
