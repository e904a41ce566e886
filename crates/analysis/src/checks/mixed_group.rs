//! Mixed group: unlike jobs are reported as one.
//!
//! Signals: group_reporting; block sizes, depths, engines, order and `direct` of the jobs that moved data, by direction.

use super::note;
use crate::run_facts::{busy_jobs, is_sequential};
use measure::{Direction, text};
use model::{Grade, JobResult, Note, RunResult};

/// Sizes and depths that differ by less than this factor have about the same latency.
const APART: u32 = 4;

/// The first group whose jobs are unlike: in one direction, or one in each.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let mut grouped: Vec<&JobResult> = busy_jobs(result).filter(|job| job.style.group_reporting).collect();
    grouped.sort_by_key(|job| job.echo.group);
    let mut groups = grouped.chunk_by(|one, other| one.echo.group == other.echo.group);
    groups
        .find_map(|jobs| Direction::ALL.into_iter().find_map(|way| judge(jobs, way)).or_else(|| apart(jobs)))
        .into_iter()
        .collect()
}

/// Jobs that move data in this direction in unlike ways.
fn judge(jobs: &[&JobResult], direction: Direction) -> Option<Note> {
    let jobs: Vec<&JobResult> = jobs.iter().copied().filter(|job| job.directions[direction].ios > 0).collect();
    let sizes = jobs.iter().map(|job| job.echo.block_sizes[direction]);
    let sizes: Vec<(u32, u32)> = sizes.filter(|&(low, _)| low > 0).collect();
    let least = sizes.iter().min_by_key(|&&(_, high)| high).map_or(0, |size| size.1);
    let most = sizes.iter().max_by_key(|&&(low, _)| low).map_or(0, |size| size.0);
    let depths = || jobs.iter().map(|job| job.echo.iodepth.max(1));
    let (shallow, deep) = (depths().min()?, depths().max()?);
    let what = direction.plural();
    let differs = |of: fn(&JobResult) -> bool| jobs.iter().any(|job| of(job)) && jobs.iter().any(|job| !of(job));
    let (how, evidence): (String, [(&str, f64); 2]) = if least > 0 && most >= least.saturating_mul(APART) {
        let (small, large) = (f64::from(least), f64::from(most));
        let how = format!("{what} of {} and of {}", text::rounded_size(small), text::rounded_size(large));
        (how, [("smallest_bytes", small), ("largest_bytes", large)])
    } else if deep >= shallow.saturating_mul(APART) {
        let how = format!("{what} at depth {shallow} and at depth {deep}");
        (how, [("smallest_depth", f64::from(shallow)), ("largest_depth", f64::from(deep))])
    } else if differs(|job| job.echo.direct) {
        (format!("{what} with and without direct=1"), [("jobs", jobs.len() as f64), ("workers", workers(&jobs))])
    } else if jobs.iter().all(|job| job.workload.is_some()) && differs(is_sequential) {
        (format!("{what} in order and at random"), [("jobs", jobs.len() as f64), ("workers", workers(&jobs))])
    } else {
        let mut engines: Vec<&str> = jobs.iter().map(|job| job.echo.engine.as_str()).collect();
        engines.sort_unstable();
        engines.dedup();
        let [one, other, ..] = engines[..] else { return None };
        let how = format!("{what} by the engines {one} and {other}");
        (how, [("jobs", jobs.len() as f64), ("workers", workers(&jobs))])
    };
    let sentence = format!("the group has jobs with {how}: its mean latency and its IOPS describe neither");
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

fn workers(jobs: &[&JobResult]) -> f64 {
    jobs.iter().map(|job| f64::from(job.workers.max(1))).sum()
}

/// Jobs of which some read and others write, in unlike ways: their latencies and rates stand apart, and only what has no
/// direction is of both.
fn apart(jobs: &[&JobResult]) -> Option<Note> {
    let only = |direction: Direction| {
        let is_only =
            |job: &&&JobResult| job.directions.iter().all(|(way, found)| (found.ios > 0) == (way == direction));
        jobs.iter().find(is_only).copied()
    };
    let (reader, writer) = only(Direction::Read).zip(only(Direction::Write))?;
    let size = |job: &JobResult, direction| job.echo.block_sizes[direction];
    let (read, written) = (size(reader, Direction::Read), size(writer, Direction::Write));
    let are_apart = |one: u32, other: u32| one.max(other) >= one.min(other).max(1).saturating_mul(APART);
    let depths = (reader.echo.iodepth.max(1), writer.echo.iodepth.max(1));
    (are_apart(depths.0, depths.1) || are_apart(read.1, written.1)).then(|| {
        let described = |direction: Direction, (_, high): (u32, u32), depth: u32| {
            format!("{} of {} at depth {depth}", direction.plural(), text::rounded_size(f64::from(high)))
        };
        let sentence = format!(
            "the group has jobs with {} and with {}: its depths and its processor time describe neither",
            described(Direction::Read, read, depths.0),
            described(Direction::Write, written, depths.1),
        );
        let evidence = [("read_depth", f64::from(depths.0)), ("write_depth", f64::from(depths.1))];
        note(Grade::ValidWithLimits, sentence, &evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::clean_random_read;
    use plan::{Distribution, Order};

    /// Two jobs of a group, changed.
    fn group(change: impl Fn(&mut [JobResult])) -> RunResult {
        let mut result = clean_random_read();
        result.jobs.append(&mut clean_random_read().jobs);
        result.jobs.iter_mut().for_each(|job| job.style.group_reporting = true);
        change(&mut result.jobs);
        result
    }

    fn sentence(change: impl Fn(&mut [JobResult])) -> Option<String> {
        run(&group(change)).into_iter().next().map(|note| note.sentence)
    }

    fn sized(jobs: &mut [JobResult], sizes: [u32; 2]) {
        for (job, size) in jobs.iter_mut().zip(sizes) {
            job.echo.block_sizes[Direction::Read] = (size, size);
        }
    }

    #[test]
    fn small_and_large_blocks_in_one_group_are_reported() {
        assert_eq!(
            sentence(|jobs| sized(jobs, [4_096, 1 << 20])).unwrap(),
            "the group has jobs with reads of 4 KiB and of 1 MiB: its mean latency and its IOPS describe neither"
        );
        assert_eq!(sentence(|jobs| sized(jobs, [4_096, 8_192])), None);
        let mut result = group(|jobs| sized(jobs, [4_096, 1 << 20]));
        result.jobs[1].echo.group = 1;
        assert_eq!(run(&result), [], "two groups");
        result.jobs[1].echo.group = 0;
        result.jobs.iter_mut().for_each(|job| job.style.group_reporting = false);
        assert_eq!(run(&result), [], "each job has its own lines");
    }

    #[test]
    fn jobs_of_another_depth_engine_order_or_cache_are_reported() {
        let said = |change: fn(&mut JobResult)| sentence(|jobs| change(&mut jobs[1]));
        let neither = |how: &str| {
            Some(format!("the group has jobs with reads {how}: its mean latency and its IOPS describe neither"))
        };
        assert_eq!(said(|job| job.echo.iodepth = 32), neither("at depth 1 and at depth 32"));
        assert_eq!(said(|job| job.echo.iodepth = 2), None, "nearly the same latency");
        assert_eq!(said(|job| job.echo.engine = "libaio".into()), neither("by the engines libaio and psync"));
        assert_eq!(said(|job| job.echo.direct = true), neither("with and without direct=1"));
        let random = |job: &mut JobResult| {
            job.workload.as_mut().unwrap().order = Order::Random(Distribution::Uniform);
        };
        assert_eq!(said(random), neither("in order and at random"));
    }

    #[test]
    fn readers_and_writers_stand_apart_unless_they_are_unlike() {
        let writer = |jobs: &mut [JobResult], depth: u32| {
            sized(jobs, [4_096, 4_096]);
            let job = &mut jobs[1];
            job.directions.write = std::mem::take(&mut job.directions.read);
            (job.echo.block_sizes[Direction::Write], job.echo.iodepth) = ((4_096, 4_096), depth);
        };
        assert_eq!(sentence(|jobs| writer(jobs, 1)), None, "each has its own lines");
        assert_eq!(
            sentence(|jobs| writer(jobs, 16)).unwrap(),
            "the group has jobs with reads of 4 KiB at depth 1 and with writes of 4 KiB at depth 16: its depths and its \
             processor time describe neither"
        );
    }

    #[test]
    fn like_jobs_in_one_group_are_silent() {
        assert_eq!(sentence(|_| ()), None);
        assert_eq!(sentence(|jobs| jobs[1].echo.name = "another".into()), None);
        assert_eq!(sentence(|jobs| jobs[1].echo.paths = vec!["/dev/other".into()]), None, "disks of an array");
        let idle = |jobs: &mut [JobResult]| {
            jobs[1].directions = Default::default();
            jobs[1].echo.iodepth = 64;
        };
        assert_eq!(sentence(idle), None, "a job without I/O has no part in it");
    }
}
