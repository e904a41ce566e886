//! Small set: a working set that fits into a cache measures the cache.
//!
//! Signals: regions and bytes of the jobs, memory size, and jobs that differ only in their region (a size sweep).

use super::note;
use crate::run_facts::{busy_jobs, bytes_asked, bytes_at_devices, float};
use measure::{Direction, text};
use model::{Bottom, Grade, JobResult, Monitored, Note, RunResult, TargetAccess, TargetFacts};
use plan::Workload;

/// A larger working set that is slower by this factor no longer fits into a cache.
const STEP: f64 = 1.5;
/// Disks have at least this much memory; how much, Linux does not say.
const SMALLEST_DRIVE_CACHE: u64 = 16 << 20;
/// A disk that turns has no less than this.
const SMALLEST_HARD_DISK_CACHE: u64 = 64 << 20;
/// Of a set that is read as often as this, three of four reads find what an earlier one brought.
const TIMES: f64 = 4.0;

/// Reports a step in a size sweep, otherwise reads of a working set that fits into memory, or into that of a disk.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let rows = result.reported_jobs();
    let found = step(&rows).or_else(|| in_memory(result)).or_else(|| in_the_drive(result));
    found.into_iter().collect()
}

/// True if two jobs differ only in the size of their region.
fn are_alike(job: &JobResult, other: &JobResult) -> bool {
    let setting = |job: &JobResult| {
        let blocks = job.echo.block_sizes[Direction::Read].max(job.echo.block_sizes[Direction::Write]);
        (job.echo.iodepth, job.workers, blocks, job.echo.direct)
    };
    let pattern = |job: &JobResult| {
        let Workload { mix, read_percent, order, step, .. } = job.workload.clone()?;
        Some((mix, read_percent, order, step))
    };
    job.echo.engine == other.echo.engine && setting(job) == setting(other) && pattern(job) == pattern(other)
}

fn step(rows: &[JobResult]) -> Option<Note> {
    let rate = |job: &JobResult| job.directions.iter().filter_map(|(_, direction)| direction.iops()).sum::<f64>();
    let mut steps =
        rows.iter().flat_map(|small| rows.iter().map(move |large| (small, large))).filter(|(small, large)| {
            let fits =
                small.echo.region_bytes > 0 && large.echo.region_bytes >= small.echo.region_bytes.saturating_mul(2);
            fits && rate(large) > 0.0 && rate(small) > STEP * rate(large) && are_alike(small, large)
        });
    let (small, large) = steps.next()?;
    let row = |job: &JobResult| {
        format!("{}: {} IOPS", text::rounded_size(float(job.echo.region_bytes)), text::number(rate(job)))
    };
    let sentence = format!("{}; {}: the smaller set fits a cache", row(small), row(large));
    let evidence = [
        ("small_bytes", float(small.echo.region_bytes)),
        ("small_iops", rate(small)),
        ("large_bytes", float(large.echo.region_bytes)),
        ("large_iops", rate(large)),
    ];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

fn in_memory(result: &RunResult) -> Option<Note> {
    let monitored = result.monitored.as_ref()?;
    let memory = monitored.group_limits.as_ref().and_then(|limits| limits.memory_bytes).unwrap_or(u64::MAX);
    let memory = memory.min(Some(result.environment.memory_bytes).filter(|&bytes| bytes > 0)?);
    let set: u64 = monitored.targets.iter().map(|target| target.region_bytes).fold(0, u64::saturating_add);
    let buffered = |job: &&JobResult| !job.echo.direct && !job.echo.paths.is_empty();
    let read: u64 =
        busy_jobs(result).filter(buffered).map(|job| job.directions.read.bytes).fold(0, u64::saturating_add);
    // A single pass does not read any block twice, so it cannot hit the cache.
    if set == 0 || set > memory || float(read) <= 1.1 * float(set) {
        return None;
    }
    let times = float(read) / float(set);
    let sentence = format!(
        "the set of {} fits into {} of memory and was read {times:.1} times: a larger one will be slower",
        text::rounded_size(float(set)),
        text::rounded_size(float(memory))
    );
    let evidence = [("set_bytes", float(set)), ("memory_bytes", float(memory)), ("read_bytes", float(read))];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

/// Direct reads that came from a disk, of a set that the smallest cache of a disk holds, over and over.
fn in_the_drive(result: &RunResult) -> Option<Note> {
    let reads = |job: &&JobResult| job.directions.read.bytes > 0 && !job.echo.paths.is_empty();
    if busy_jobs(result).filter(reads).any(|job| !job.echo.direct) {
        return None;
    }
    let (set, cache) = set_on_disks(result.monitored.as_ref()?)?;
    let read = bytes_asked(result, Direction::Read);
    let times = float(read) / float(set.max(1));
    let is_of_disk = bytes_at_devices(result, Direction::Read).is_none_or(|moved| float(moved) >= float(read) / 2.0);
    (set > 0 && set <= cache && times >= TIMES && is_of_disk).then(|| {
        let sentence = format!(
            "{} were read {} times: the disk may have answered from its own cache; a larger set may be slower",
            text::rounded_size(float(set)),
            text::number(times)
        );
        let evidence = [("set_bytes", float(set)), ("cache_bytes_at_least", float(cache)), ("read_bytes", float(read))];
        note(Grade::ValidWithLimits, sentence, &evidence)
    })
}

/// Bytes that jobs read of targets that are not in memory, and the cache that each disk of their kind has.
fn set_on_disks(monitored: &Monitored) -> Option<(u64, u64)> {
    let is_read = |target: &&TargetFacts| target.access != Some(TargetAccess::Writes);
    let targets = || monitored.targets.iter().filter(is_read);
    if targets().flat_map(|target| &target.layers).any(|layer| layer.bottom == Some(Bottom::Memory)) {
        return None;
    }
    let set = targets().map(|target| target.region_bytes).fold(0, u64::saturating_add);
    let mut leaves = monitored.devices.iter().filter(|device| device.leaf).peekable();
    leaves.peek()?;
    // A virtual disk may say that it turns.
    let turns = monitored.hypervisor.is_none() && leaves.all(|device| device.rotational == Some(true));
    Some((set, if turns { SMALLEST_HARD_DISK_CACHE } else { SMALLEST_DRIVE_CACHE }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{closed_loop, watched_random_read};
    use measure::Nanos;

    #[test]
    fn a_step_in_a_size_sweep_is_shown_with_both_rates() {
        let mut result = closed_loop(1, 410_000, Nanos(2_400), Nanos::SECOND);
        let mut large = closed_loop(1, 96_000, Nanos(10_400), Nanos::SECOND);
        result.jobs[0].echo.region_bytes = 32 << 30;
        large.jobs[0].echo.region_bytes = 256 << 30;
        result.jobs.append(&mut large.jobs);
        assert_eq!(
            run(&result)[0].sentence,
            "32 GiB: 410,000 IOPS; 256 GiB: 96,000 IOPS: the smaller set fits a cache"
        );
        result.jobs[1].echo.iodepth = 4;
        assert_eq!(run(&result), [], "not alike");
    }

    #[test]
    fn buffered_reads_of_what_memory_holds_are_a_finding() {
        let mut result = watched_random_read();
        result.environment.memory_bytes = 8 << 30;
        assert!(run(&result)[0].sentence.contains("fits into 8 GiB of memory"));
        result.jobs[0].echo.direct = true;
        assert_eq!(run(&result), []);
    }

    #[test]
    fn a_few_blocks_over_and_over_may_be_of_the_drives_cache() {
        let with = |set: u64, change: fn(&mut RunResult)| {
            let mut result = watched_random_read();
            result.jobs[0].echo.direct = true;
            result.monitored.as_mut().unwrap().targets[0].region_bytes = set;
            change(&mut result);
            run(&result).into_iter().next().map(|note| note.sentence)
        };
        let said =
            "1 MiB were read 156 times: the disk may have answered from its own cache; a larger set may be slower";
        assert_eq!(with(1 << 20, |_| {}).as_deref(), Some(said));
        assert_eq!(with(32 << 20, |_| {}), None, "an honest set");
        assert_eq!(with(64 << 20, |_| {}), None, "read twice");
        fn of(result: &mut RunResult) -> &mut Monitored {
            result.monitored.as_mut().unwrap()
        }
        assert_eq!(with(1 << 20, |result| of(result).targets[0].layers[0].bottom = Some(Bottom::Memory)), None);
        assert_eq!(with(1 << 20, |result| result.devices.clear()).as_deref(), Some(said), "not known");
        assert_eq!(
            with(1 << 20, |result| result.devices = vec![crate::fixtures::device(8, 0)]),
            None,
            "memory answered"
        );
        let turns = |result: &mut RunResult| of(result).devices[0].rotational = Some(true);
        assert!(with(32 << 20, turns).unwrap().starts_with("32 MiB were read 4.88 times"));
    }
}
