//! fio's normal text: the lines at the start of a run, the block of each job, group and disk lines.
//!
//! Owns layout, units and rounding, and the reader of reports of every generation. Leaves merging of workers to `model`, and printing to the caller.

mod disk;
mod group_lines;
mod job_block;
mod latency;
mod read;
mod start;

pub(crate) use disk::Members;
pub(crate) use job_block::cpu_percent;
pub(crate) use read::TextReader;
pub use read::read;
pub use start::{error_line, job_lines, layout_line, starting_line, version_line};

use crate::{View, group};
use model::RunResult;

/// The report after a run, from the blank line before the first job block to the last disk line.
pub fn write(result: &RunResult, view: &View) -> String {
    let rows = result.reported_jobs();
    let groups = group::of_rows(&rows);
    let mut text = String::from("\n");
    for row in &rows {
        job_block::write(&mut text, row, &groups, &job_block::When { unix_ms: result.ended_unix_ms, zone: &view.zone });
    }
    for group in &groups {
        group_lines::write(&mut text, group);
    }
    disk::write(&mut text, &result.devices);
    text
}
