//! Cache: checks if the requested bytes were transferred by the device, or served from memory.
//!
//! Signals: bytes requested by the jobs, sectors counted by the devices under their files, the type of file system.

use super::note;
use crate::run_facts::{RunFacts, busy_jobs, bytes_asked, bytes_at_devices, float, unseen_by_devices};
use measure::{Direction, Nanos, text};
use model::{Grade, Note, RunResult};

/// If the device transferred a smaller fraction of the bytes, some came from memory.
const LEAST_SHARE: f64 = 0.98;
/// If the device transferred a smaller fraction, the result is mostly that of memory.
const STORAGE_SHARE: f64 = 0.5;

/// Compares requested bytes with those of the devices, for reads and for writes.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let judged = [Direction::Read, Direction::Write].into_iter().filter_map(|direction| judge(result, direction));
    let mut notes: Vec<Note> = judged.collect();
    // A sentence that applies to both directions is reported once.
    notes.dedup_by(|second, first| second.sentence == first.sentence);
    notes
}

fn judge(result: &RunResult, direction: Direction) -> Option<Note> {
    let asked = bytes_asked(result, direction);
    // A report of another program names disks without the files on them.
    let uses_files = result.jobs.iter().any(|job| !job.echo.paths.is_empty())
        || (result.printed().is_some() && !result.devices.is_empty());
    if asked == 0 || !uses_files {
        return None;
    }
    let in_memory = result.environment.file_systems.iter().find(|held| is_memory(&held.kind));
    let layers_explain = super::backing::explains_missing_counters(result);
    if let Some(held) = in_memory.filter(|_| !layers_explain) {
        let sentence = format!("{} is {}: its files live in memory, no device took part", held.path, held.kind);
        let evidence = [("bytes_asked", asked as f64), ("bytes_at_device", 0.0)];
        return Some(note(Grade::NotAStorageResult, sentence, &evidence));
    }
    let unseen = unseen_by_devices(result);
    let Some((moved, unseen)) = bytes_at_devices(result, direction).zip(unseen) else {
        if layers_explain {
            return None;
        }
        let sentence = "the devices under the files were not sampled, or not often enough, so it is not known how much I/O reached a device".to_owned();
        return Some(note(Grade::NotChecked, sentence, &[("bytes_asked", asked as f64)]));
    };
    let share = moved as f64 / asked as f64;
    if share + unseen >= LEAST_SHARE {
        return hidden_by_others(result).filter(|_| direction == Direction::Read);
    }
    // The check of holes says it.
    if direction == Direction::Read && super::holes::reads_thin_volumes(result) {
        return None;
    }
    let grade = if share < STORAGE_SHARE { Grade::NotAStorageResult } else { Grade::ValidWithLimits };
    let evidence = [("bytes_asked", asked as f64), ("bytes_at_device", moved as f64), ("share_percent", 100.0 * share)];
    let sentence = sentence(result, direction, moved, share);
    let why = cached_loop(result).map(|name| {
        format!(
            "; {name} uses the page cache of its backing file, direct I/O or not (losetup --direct-io=on changes this)"
        )
    });
    Some(note(grade, sentence + &why.unwrap_or_default(), &evidence))
}

/// Reads that memory answered while the devices read as much for others: only the account of the workers shows it.
fn hidden_by_others(result: &RunResult) -> Option<Note> {
    /// Account and counters are read one after the other.
    const LEAST_OWN: f64 = 0.9;
    const LEAST_BYTES: u64 = 1_048_576;
    let seen = RunFacts::of(result).filter(|seen| seen.steady.bytes[0] >= LEAST_BYTES)?;
    let (asked, own) = (float(seen.steady.bytes[0]), float(seen.reads_of_workers()?));
    (own < LEAST_OWN * asked).then(|| {
        let missing = text::percent((1.0 - own / asked).clamp(0.0, if own > 0.0 { 0.9999 } else { 1.0 }));
        let grade = if own < STORAGE_SHARE * asked { Grade::NotAStorageResult } else { Grade::ValidWithLimits };
        let kind = if own < STORAGE_SHARE * asked { ": this is a memory number" } else { "" };
        let sentence = format!(
            "{missing} of the reads were answered by memory{kind}; what the device read meanwhile was for other programs"
        );
        note(grade, sentence, &[("bytes_asked", asked), ("bytes_at_device", own), ("share_percent", 100.0 * own / asked)])
    })
}

/// A loop device that caches what jobs with O_DIRECT ask of it.
fn cached_loop(result: &RunResult) -> Option<&str> {
    if busy_jobs(result).any(|job| !job.echo.direct) {
        return None;
    }
    let mut layers = result.monitored.iter().flat_map(|monitored| &monitored.targets).flat_map(|target| &target.layers);
    layers.find(|layer| layer.bypasses_page_cache == Some(false)).map(|layer| layer.name.as_str())
}

fn is_memory(kind: &str) -> bool {
    matches!(kind, "tmpfs" | "ramfs" | "hugetlbfs" | "devtmpfs")
}

fn sentence(result: &RunResult, direction: Direction, moved: u64, share: f64) -> String {
    let missing = text::percent((1.0 - share).clamp(0.0, if moved > 0 { 0.9999 } else { 1.0 }));
    let span = result.jobs.iter().map(|job| job.directions[direction].runtime).max().unwrap_or(Nanos::ZERO);
    let rate = match span.is_zero() {
        true => String::new(),
        false => format!("; the device delivered {}", text::rate(float(moved) / span.as_secs_f64())),
    };
    match direction {
        Direction::Read => {
            let kind = if share < STORAGE_SHARE { ": this is a memory number" } else { "" };
            format!("{missing} of the reads were answered by memory{kind}{rate}")
        }
        _ => {
            let rate = rate.replace("delivered", "took");
            format!("{missing} of the written bytes had not reached the device at the end of the run{rate}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, device};
    use model::FileSystem;

    fn check(result: &RunResult) -> Option<(Grade, String)> {
        let notes = run(result);
        assert!(notes.len() <= 1, "{notes:?}");
        notes.into_iter().next().map(|note| (note.grade, note.sentence))
    }

    fn with_share(percent: u64) -> RunResult {
        let mut result = clean_random_read();
        let asked = result.jobs[0].directions.read.bytes;
        result.devices = vec![device(asked / 512 * percent / 100, 0)];
        result
    }

    #[test]
    fn all_bytes_at_the_device_is_silent() {
        assert_eq!(check(&with_share(100)), None);
        assert_eq!(check(&with_share(98)), None);
        assert_eq!(check(&with_share(120)), None, "more is another check's business");
    }

    #[test]
    fn reads_from_memory_are_named_with_what_the_device_delivered() {
        // 8 users x 1,000 I/Os of 8 KiB in one second = 62.5 MiB requested.
        assert_eq!(
            check(&with_share(8)),
            Some((
                Grade::NotAStorageResult,
                "92 % of the reads were answered by memory: this is a memory number; the device delivered 5 MiB/s"
                    .into()
            ))
        );
        let (grade, sentence) = check(&with_share(90)).unwrap();
        assert_eq!(grade, Grade::ValidWithLimits);
        assert_eq!(sentence, "10 % of the reads were answered by memory; the device delivered 56.2 MiB/s");
    }

    #[test]
    fn nothing_at_the_device_is_all_memory() {
        let (grade, sentence) = check(&with_share(0)).unwrap();
        assert_eq!(grade, Grade::NotAStorageResult);
        assert!(sentence.starts_with("100 % of the reads"), "{sentence}");
    }

    #[test]
    fn a_little_from_the_device_never_reads_as_none() {
        let mut result = with_share(0);
        result.devices = vec![device(8, 0)];
        let (_, sentence) = check(&result).unwrap();
        assert!(sentence.starts_with("99.99 % of the reads"), "{sentence}");
    }

    #[test]
    fn stacked_devices_count_by_their_lowest_members() {
        let mut result = with_share(100);
        let mut lower = result.devices.remove(0);
        lower.sectors = lower.sectors.map(|[read, written]| [read / 10, written]);
        let upper = model::DeviceUsage {
            name: "dm-0".into(),
            members: vec![lower.clone()],
            ..with_share(100).devices.remove(0)
        };
        // As in reports: the members are listed again after the stacked device.
        result.devices = vec![upper, lower];
        assert!(check(&result).unwrap().1.starts_with("90 % of the reads"));
    }

    #[test]
    fn a_loop_over_a_cached_file_is_seen_through() {
        let mut result = with_share(100);
        let lowest = model::LowestTraffic { disks: vec!["sda".into()], read_bytes: 0, written_bytes: 0 };
        result.lowest_traffic = Some(lowest);
        assert!(check(&result).unwrap().1.starts_with("100 % of the reads"));
        let asked = result.jobs[0].directions.read.bytes;
        result.lowest_traffic.as_mut().unwrap().read_bytes = asked;
        assert_eq!(check(&result), None);
    }

    #[test]
    fn a_loop_device_that_caches_direct_reads_is_the_reason() {
        let mut result = crate::fixtures::watched_random_read();
        result.lowest_traffic = Some(model::LowestTraffic::default());
        let layer = model::Layer { name: "loop0".into(), bypasses_page_cache: Some(false), ..model::Layer::default() };
        result.monitored.as_mut().unwrap().targets[0].layers = vec![layer];
        assert!(!check(&result).unwrap().1.contains("loop0"), "a buffered job has its own page cache");
        result.jobs[0].echo.direct = true;
        assert!(check(&result).unwrap().1.contains("; loop0 uses the page cache of its backing file"));
        result.monitored.as_mut().unwrap().targets[0].layers[0].bypasses_page_cache = Some(true);
        assert!(!check(&result).unwrap().1.contains("loop0"));
    }

    #[test]
    fn a_neighbour_at_the_same_rate_does_not_hide_the_memory() {
        let with = |called: u64, read: u64| {
            let mut result = crate::fixtures::watched_random_read();
            for worker in result.monitored.as_mut().unwrap().intervals.iter_mut().flat_map(|seen| &mut seen.workers) {
                worker.io_bytes = Some([called * 8192, 0, read * 8192, 0]);
            }
            let neighbour =
                crate::limiter::limited_by(&result).is_some_and(|by| by.limiter == model::Limiter::Neighbour);
            (check(&result), neighbour)
        };
        assert_eq!((with(250, 250), with(250, 240)), ((None, false), (None, false)));
        assert_eq!(with(0, 0), (None, false), "calls of other threads are on their account");
        let (found, neighbour) = with(250, 0);
        let sentence = "100 % of the reads were answered by memory: this is a memory number; what the device read \
                        meanwhile was for other programs";
        assert_eq!((found, neighbour), (Some((Grade::NotAStorageResult, sentence.into())), true));
        assert_eq!(with(250, 200).0.unwrap().0, Grade::ValidWithLimits);
    }

    #[test]
    fn without_a_device_it_is_not_checked() {
        let mut result = clean_random_read();
        result.devices.clear();
        assert_eq!(check(&result).unwrap().0, Grade::NotChecked);
    }

    #[test]
    fn a_missing_signal_is_reported_once_for_reads_and_writes() {
        let mut result = clean_random_read();
        result.devices.clear();
        result.jobs[0].directions.write = result.jobs[0].directions.read.clone();
        assert_eq!(check(&result).unwrap().0, Grade::NotChecked);
    }

    #[test]
    fn a_memory_file_system_is_not_a_storage() {
        let mut result = clean_random_read();
        result.devices.clear();
        result.environment.file_systems.push(FileSystem { path: "/dev/shm".into(), kind: "tmpfs".into() });
        let (grade, sentence) = check(&result).unwrap();
        assert_eq!(grade, Grade::NotAStorageResult);
        assert_eq!(sentence, "/dev/shm is tmpfs: its files live in memory, no device took part");
    }

    #[test]
    fn an_engine_without_files_is_not_asked() {
        let mut result = clean_random_read();
        result.devices.clear();
        result.jobs[0].echo.paths.clear();
        assert_eq!(check(&result), None);
    }

    #[test]
    fn writes_still_in_memory_are_named() {
        let mut result = clean_random_read();
        let job = &mut result.jobs[0];
        job.directions.write = std::mem::take(&mut job.directions.read);
        let sectors = job.directions.write.bytes / 512;
        result.devices = vec![device(0, sectors * 7 / 10)];
        assert_eq!(
            check(&result),
            Some((
                Grade::ValidWithLimits,
                "30 % of the written bytes had not reached the device at the end of the run; the device took 43.8 MiB/s"
                    .into()
            ))
        );
        result.devices = vec![device(0, sectors)];
        assert_eq!(check(&result), None);
    }

    #[test]
    fn a_long_report_of_another_program_is_judged_by_its_disks() {
        let grade = |seconds: u64, percent: u64| {
            let mut result = crate::fixtures::printed(with_share(percent), Some(8.0), Some(1.0));
            result.jobs[0].echo.paths.clear();
            result.jobs[0].directions.read.runtime = Nanos::from_secs(seconds);
            check(&result).map(|(grade, _)| grade)
        };
        assert_eq!(grade(1, 10), Some(Grade::NotChecked), "disks are read four times a second");
        assert_eq!((grade(10, 95), grade(10, 10)), (None, Some(Grade::NotAStorageResult)));
        let mut result = crate::fixtures::printed(with_share(10), Some(8.0), Some(1.0));
        result.jobs[0].directions.read.runtime = Nanos::from_secs(10);
        result.devices[0].sectors = None;
        assert_eq!(check(&result).unwrap().0, Grade::NotChecked, "sectors that are not stated are not 0");
    }
}
