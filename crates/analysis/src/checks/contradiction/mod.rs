//! Contradiction: printed numbers that do not match the others of the same report.
//!
//! Signals: rates that an imported report prints in addition to its counts (plumb's own results have no such rates:
//! they are computed from the counts), and all other numbers as printed.

mod printed;

use super::note;
use crate::identities::{Identity, contradictions};
use crate::run_facts::{busy_jobs, float, is_sequential, unseen_by_devices};
use measure::{Direction, text};
use model::{DirectionResult, Grade, JobResult, Note, RunResult};
use plan::Step;

/// The largest contradiction of the rates of each row, then whatever no run can print.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let printed = result.printed().into_iter().flat_map(printed::impossible);
    let disks =
        [Direction::Read, Direction::Write].into_iter().filter_map(|direction| too_few_requests(result, direction));
    rates(result).into_iter().chain(printed.map(|found| note_of_printed(&found))).chain(disks).collect()
}

/// Each direct I/O, and each read at random, is at least one request of a disk, merged ones included; of others, a
/// request has a few megabytes at most. The check of the cache has the bytes themselves, where a report states them.
fn too_few_requests(result: &RunResult, direction: Direction) -> Option<Note> {
    const LEAST_SHARE: f64 = 0.95;
    const STORAGE_SHARE: f64 = 0.5;
    const LARGEST_REQUEST: f64 = 4_194_304.0;
    let at = usize::from(direction == Direction::Write);
    let is_open = result.devices.is_empty() || result.devices.iter().any(|device| device.sectors.is_some());
    if is_open || result.printed().is_none() {
        return None;
    }
    let unseen = unseen_by_devices(result)?;
    let sum = |of: fn(&DirectionResult) -> u64| {
        float(result.jobs.iter().map(|job| of(&job.directions[direction])).fold(0, u64::saturating_add))
    };
    let (ios, bytes) = (sum(|of| of.ios), sum(|of| of.bytes));
    let is_direct = busy_jobs(result).all(|job| job.echo.direct);
    // Steps (rw=randread:8) follow each other.
    let is_step = |job: &JobResult| job.workload.as_ref().is_some_and(|workload| workload.step != Step::Plain);
    let is_alone = |job: &JobResult| !is_sequential(job) && !is_step(job);
    let each_is_one = is_direct || (direction == Direction::Read && busy_jobs(result).all(is_alone));
    let least = if each_is_one { ios } else { bytes / LARGEST_REQUEST };
    let requests = result.devices.iter().map(|device| device.ios[at].saturating_add(device.merges[at]));
    let requests = float(requests.fold(0, u64::saturating_add));
    (requests < least * (LEAST_SHARE - unseen)).then(|| {
        let done = match direction {
            Direction::Read => "memory answered",
            _ => "the rest was in memory at the end",
        };
        let sentence = format!(
            "{} {}{}s were done, and the disks completed {} requests: {done}, or the report is not of one run",
            text::number(ios),
            if is_direct { "direct " } else { "" },
            direction.word(),
            text::number(requests)
        );
        let is_storage = !is_direct && requests >= STORAGE_SHARE * least;
        let grade = if is_storage { Grade::ValidWithLimits } else { Grade::NotAStorageResult };
        note(grade, sentence, &[("ios_asked", ios), ("requests", requests)])
    })
}

fn note_of_printed(found: &printed::Impossible) -> Note {
    let sentence = format!("{}: {}", found.subject, found.why);
    note(Grade::NotAStorageResult, sentence, &[("stated", found.stated), ("against", found.against)])
}

fn rates(result: &RunResult) -> Vec<Note> {
    let apart = |identity: &Identity| identity.apart().unwrap_or_default();
    let worst = |found: Vec<Identity>| found.into_iter().max_by(|a, b| apart(a).total_cmp(&apart(b)));
    result
        .reported_jobs()
        .iter()
        .filter_map(|job| worst(contradictions(job)))
        .map(|identity| note_of(&identity))
        .collect()
}

fn note_of(identity: &Identity) -> Note {
    let (left, right) = (identity.left.unwrap_or_default(), identity.right.unwrap_or_default());
    let (unit, apart) = (identity.unit, 100.0 * identity.apart().unwrap_or_default());
    let sentence = format!(
        "{}: {} does not hold: {} {unit} against {} = {} {unit}; the printed numbers are not of one run",
        identity.subject,
        identity.equation,
        text::number(left),
        identity.numbers,
        text::number(right)
    );
    let evidence = [("stated", left), ("computed", right), ("apart_percent", apart)];
    note(Grade::NotAStorageResult, sentence, &evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, printed, workload};
    use model::StatedRates;
    use plan::{Distribution, Order};

    fn check(bytes_per_second: Option<f64>, iops: Option<f64>) -> Option<String> {
        let mut result = clean_random_read();
        result.jobs[0].directions.read.stated = Some(StatedRates { bytes_per_second, iops });
        run(&result).into_iter().next().map(|note| note.sentence)
    }

    #[test]
    fn rates_that_follow_from_counts_are_silent_when_rounded() {
        assert_eq!(run(&clean_random_read()), []);
        for (bytes_per_second, iops) in [(Some(65_536_000.0), Some(8_000.0)), (Some(64e6), None), (None, Some(8_100.0))]
        {
            assert_eq!(check(bytes_per_second, iops), None);
        }
    }

    #[test]
    fn a_printed_rate_that_its_bytes_deny_is_reported_with_both() {
        let sentence = check(Some(131_072_000.0), Some(8_000.0)).unwrap();
        assert!(
            sentence.contains("io = bw × runtime does not hold: 65,536,000 B against 131072000 B/s × 1.000 s"),
            "{sentence}"
        );
        assert!(check(None, Some(16_000.0)).unwrap().contains("issued = iops × runtime"));
    }

    #[test]
    fn ios_that_no_disk_completed_are_reported_with_both() {
        let check = |is_direct: bool, seconds: u64, requests: u64| {
            let mut result = printed(clean_random_read(), Some(8.0), Some(1.0));
            result.jobs[0].echo.direct = is_direct;
            result.jobs[0].directions.read.runtime = measure::Nanos::from_secs(seconds);
            (result.devices[0].sectors, result.devices[0].ios) = (None, [requests, 0]);
            run(&result).into_iter().next().map(|note| (note.grade, note.sentence))
        };
        assert_eq!((check(true, 10, 8_000), check(true, 10, 16_000), check(true, 1, 800)), (None, None, None));
        assert_eq!(check(true, 2, 5_700), None, "a quarter may be missing of two seconds");
        for seconds in [2, 10] {
            let (_, sentence) = check(true, seconds, 800).unwrap();
            assert!(
                sentence.starts_with("8,000 direct reads were done, and the disks completed 800 requests"),
                "{sentence}"
            );
        }
        let of_sequence = |requests: u64| check(false, 10, requests);
        assert_eq!(of_sequence(800), None, "reads in a row are merged");
        assert!(of_sequence(0).unwrap().1.starts_with("8,000 reads were done, and the disks completed 0 requests"));
    }

    #[test]
    fn reads_at_random_are_a_request_each_also_without_direct() {
        let check = |step: Step, requests: u64| {
            let mut result = printed(clean_random_read(), Some(8.0), Some(1.0));
            let workload = workload(&mut result);
            (workload.order, workload.step) = (Order::Random(Distribution::Uniform), step);
            result.jobs[0].directions.read.runtime = measure::Nanos::from_secs(10);
            (result.devices[0].sectors, result.devices[0].ios) = (None, [requests, 0]);
            run(&result).into_iter().next().map(|note| note.grade)
        };
        assert_eq!(check(Step::Plain, 7_900), None);
        assert_eq!(check(Step::Plain, 5_000), Some(Grade::ValidWithLimits));
        assert_eq!(check(Step::Plain, 800), Some(Grade::NotAStorageResult));
        assert_eq!(check(Step::Run(8), 800), None, "some are in a row");
    }

    #[test]
    fn a_text_may_lack_the_carry_of_its_last_digit() {
        let check = |is_outline: bool, bytes_per_second: f64| {
            let mut result = clean_random_read();
            workload(&mut result).is_outline = is_outline;
            result.jobs[0].directions.read.stated =
                Some(StatedRates { bytes_per_second: Some(bytes_per_second), iops: None });
            run(&result).len()
        };
        // 62.5 MiB/s.
        assert_eq!((check(true, 60e6), check(false, 60e6), check(true, 55e6)), (0, 1, 1));
    }
}
