//! Overlap: workers use the same blocks at a time. Their reads come from a cache; of their writes one copy is left.
//!
//! Signals: paths, regions, patterns and offsets of the jobs; the identity of the targets behind their names.

use super::note;
use crate::run_facts::{busy_jobs, float, is_sequential};
use measure::{Direction, text};
use model::{Grade, JobResult, Monitored, Note, RunResult, TargetIdentity};
use plan::{Extent, Start, Workload};

/// A smaller fraction of repeated reads does not affect the result.
const LEAST_SHARE: f64 = 0.10;

/// Reports the largest group of sequential workers on the same blocks, of readers and of writers.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    [Direction::Read, Direction::Write].into_iter().filter_map(|direction| largest(result, direction)).collect()
}

fn largest(result: &RunResult, direction: Direction) -> Option<Note> {
    let workers: Vec<&JobResult> = busy_jobs(result)
        .filter(|job| job.directions[direction].bytes > 0 && is_sequential(job))
        .filter(|job| job.workload.as_ref().is_none_or(|workload| in_step(workload, direction)))
        .collect();
    let mut worst: Option<(f64, Note)> = None;
    for leader in &workers {
        let crowd: Vec<&&JobResult> = workers.iter().filter(|job| same_place(result, job, leader)).collect();
        if let Some(found) = judge(&crowd, direction)
            && worst.as_ref().is_none_or(|known| known.0 < found.0)
        {
            worst = Some(found);
        }
    }
    worst.map(|(_, note)| note)
}

/// True if the clones of a job use the same offsets as each other, and possibly as other jobs.
fn in_step(workload: &Workload, direction: Direction) -> bool {
    let at_pointers = direction == Direction::Write && workload.writes_at_pointers;
    workload.start == Start::Together && is_none(workload.offset_increment) && !at_pointers
}

const fn is_none(extent: Extent) -> bool {
    matches!(extent, Extent::Bytes(0) | Extent::Percent(0))
}

fn same_place(result: &RunResult, job: &JobResult, other: &JobResult) -> bool {
    let offset = |job: &JobResult| {
        let offset = job.workload.as_ref().map(|workload| workload.offset);
        offset.filter(|offset| !is_none(*offset))
    };
    let same_file = |(one, other): (&String, &String)| one == other || is_one_file(result, one, other);
    let (paths, others) = (&job.echo.paths, &other.echo.paths);
    let same_files = paths.len() == others.len() && paths.iter().zip(others).all(same_file);
    !paths.is_empty() && same_files && offset(job) == offset(other)
}

/// True if both are names of the same bytes.
fn is_one_file(result: &RunResult, one: &str, other: &str) -> bool {
    let identity = |path: &str| identity(result.monitored.as_ref()?, path);
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

fn identity<'a>(monitored: &'a Monitored, path: &str) -> Option<&'a TargetIdentity> {
    monitored.targets.iter().find(|target| target.path == path)?.identity.as_ref()
}

/// The two names of the first file that has two, as part of a sentence.
fn names(crowd: &[&&JobResult]) -> String {
    let first = crowd.first().map(|job| job.echo.paths.as_slice()).unwrap_or_default();
    let pairs = crowd.iter().flat_map(|job| first.iter().zip(&job.echo.paths));
    let two = pairs.into_iter().find(|(one, other)| one != other);
    two.map_or(String::new(), |(one, other)| format!(" ({one} and {other} are the same bytes)"))
}

fn judge(crowd: &[&&JobResult], direction: Direction) -> Option<(f64, Note)> {
    let workers: u32 = crowd.iter().map(|job| job.workers.max(1)).fold(0, u32::saturating_add);
    // Imported results lack the size of the region.
    if workers < 2 || crowd.iter().any(|job| job.echo.region_bytes == 0) {
        return None;
    }
    let all: u64 = crowd.iter().map(|job| job.directions[direction].bytes).fold(0, u64::saturating_add);
    let each = |job: &JobResult| job.directions[direction].bytes / u64::from(job.workers.max(1));
    let new = crowd.iter().map(|job| each(job).min(job.echo.region_bytes)).max()?;
    let share = 1.0 - float(new) / float(all.max(1));
    let (verb, bytes) = if direction == Direction::Read { ("read", "read_bytes") } else { ("write", "written_bytes") };
    (share >= LEAST_SHARE).then(|| {
        let sentence = format!(
            "{workers} workers {verb} the same {}{}: {} repeats",
            text::rounded_size(float(new)),
            names(crowd),
            text::percent(share)
        );
        let evidence = [
            (bytes, float(all)),
            ("different_bytes", float(new)),
            ("workers", f64::from(workers)),
            ("repeats_percent", 100.0 * share),
        ];
        (share, note(Grade::ValidWithLimits, sentence, &evidence))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{closed_loop, workload};
    use measure::Nanos;
    use model::TargetFacts;
    use plan::{Distribution, Order};

    #[test]
    fn eight_sequential_readers_of_1_gb_repeat_seven_eighths() {
        let mut result = closed_loop(8, 8 << 17, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].echo.region_bytes = 1 << 30;
        assert_eq!(run(&result)[0].sentence, "8 workers read the same 1 GiB: 88 % repeats");
        workload(&mut result).offset_increment = Extent::Bytes(1 << 30);
        assert_eq!(run(&result), []);
    }

    #[test]
    fn writers_of_the_same_blocks_are_reported() {
        let mut result = closed_loop(4, 4 << 17, Nanos::MILLISECOND, Nanos::SECOND);
        let job = &mut result.jobs[0];
        job.echo.region_bytes = 1 << 30;
        job.directions.write = std::mem::take(&mut job.directions.read);
        assert_eq!(run(&result)[0].sentence, "4 workers write the same 1 GiB: 75 % repeats");
        workload(&mut result).writes_at_pointers = true;
        assert_eq!(run(&result), [], "each writes where the zone ends");
        workload(&mut result).writes_at_pointers = false;
        workload(&mut result).offset_increment = Extent::Bytes(1 << 30);
        assert_eq!(run(&result), []);
    }

    #[test]
    fn two_names_of_one_file_are_one_place() {
        let mut result = closed_loop(1, 1 << 17, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].echo.region_bytes = 1 << 30;
        result.jobs.push(result.jobs[0].clone());
        result.jobs[1].echo.paths = vec!["/dev/loop3".into()];
        assert_eq!(run(&result), [], "two files, as far as is known");
        let target = |path: &str, inode| TargetFacts {
            path: path.into(),
            identity: Some(TargetIdentity::File("8:1".into(), inode)),
            ..TargetFacts::default()
        };
        let targets = vec![target("a", 12), target("/dev/loop3", 12)];
        result.monitored = Some(Monitored { targets, ..Monitored::default() });
        let sentence = "2 workers read the same 1 GiB (a and /dev/loop3 are the same bytes): 50 % repeats";
        assert_eq!(run(&result)[0].sentence, sentence);
        result.monitored.as_mut().unwrap().targets[1].identity = Some(TargetIdentity::File("8:1".into(), 13));
        assert_eq!(run(&result), []);
    }

    #[test]
    fn one_reader_and_random_readers_are_silent() {
        let mut result = closed_loop(8, 8_000, Nanos::MILLISECOND, Nanos::SECOND);
        result.jobs[0].echo.region_bytes = 1 << 30;
        workload(&mut result).order = Order::Random(Distribution::Uniform);
        assert_eq!(run(&result), []);
        result.jobs[0].workers = 1;
        workload(&mut result).order = Order::Sequential;
        assert_eq!(run(&result), []);
    }
}
