//! Mixed group: jobs with blocks of different sizes are reported as one.
//!
//! Signals: group_reporting, and the block sizes and I/Os of the jobs.

use super::note;
use crate::run_facts::busy_jobs;
use measure::{Direction, text};
use model::{Grade, JobResult, Note, RunResult};

/// Sizes that differ by less than this factor have about the same latency.
const APART: u32 = 4;

/// The first group and direction whose jobs have different block sizes.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let mut grouped: Vec<&JobResult> = busy_jobs(result).filter(|job| job.style.group_reporting).collect();
    grouped.sort_by_key(|job| job.echo.group);
    let groups = grouped.chunk_by(|one, other| one.echo.group == other.echo.group);
    let mut found = groups.flat_map(|jobs| [Direction::Read, Direction::Write].map(|direction| judge(jobs, direction)));
    found.find_map(|note| note).into_iter().collect()
}

fn judge(jobs: &[&JobResult], direction: Direction) -> Option<Note> {
    let sizes = jobs.iter().filter(|job| job.directions[direction].ios > 0).map(|job| job.echo.block_sizes[direction]);
    let sizes: Vec<(u32, u32)> = sizes.filter(|&(low, _)| low > 0).collect();
    let least = *sizes.iter().min_by_key(|&&(_, high)| high)?;
    let most = *sizes.iter().max_by_key(|&&(low, _)| low)?;
    (most.0 >= least.1.saturating_mul(APART)).then(|| {
        let (least, most) = (f64::from(least.1), f64::from(most.0));
        let what = if direction == Direction::Read { "reads" } else { "writes" };
        let (small, large) = (text::rounded_size(least), text::rounded_size(most));
        let sentence = format!(
            "the group has jobs with {what} of {small} and of {large}: its mean latency and its IOPS describe neither"
        );
        note(Grade::ValidWithLimits, sentence, &[("smallest_bytes", least), ("largest_bytes", most)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::clean_random_read;

    #[test]
    fn small_and_large_blocks_in_one_group_are_reported() {
        let mut result = clean_random_read();
        result.jobs.append(&mut clean_random_read().jobs);
        for (job, size) in result.jobs.iter_mut().zip([4_096, 1 << 20]) {
            job.echo.block_sizes[Direction::Read] = (size, size);
        }
        assert_eq!(run(&result), [], "each job has its own lines");
        result.jobs.iter_mut().for_each(|job| job.style.group_reporting = true);
        assert_eq!(
            run(&result)[0].sentence,
            "the group has jobs with reads of 4 KiB and of 1 MiB: its mean latency and its IOPS describe neither"
        );
        result.jobs[1].echo.block_sizes[Direction::Read] = (8_192, 8_192);
        assert_eq!(run(&result), []);
        result.jobs[1].echo.block_sizes[Direction::Read] = (1 << 20, 1 << 20);
        result.jobs[1].echo.group = 1;
        assert_eq!(run(&result), [], "two groups");
    }
}
