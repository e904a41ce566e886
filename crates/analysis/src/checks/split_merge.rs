//! Split / merge: requests at the disk do not have the requested block size.
//!
//! Only of direct I/O, as the kernel merges the other. Not of flushed writes on a file system with its journal.
//!
//! Signals: block sizes of the jobs, requests and sectors of the topmost devices, max_sectors_kb.

use super::note;
use crate::run_facts::{RunFacts, block_size, bytes_asked, float, flushes, on_files};
use measure::{Direction, text};
use model::{DeviceGain, Grade, Note, RequestGain, RunResult};

/// Requests between these multiples of the block size count as unchanged; the range allows for those of the file
/// system.
const WHOLE: std::ops::RangeInclusive<f64> = 0.80..=1.25;
/// Pieces of at least this size are what disks take at once, and virtual disks and loop devices too.
const PIECES_LARGE: f64 = 131_072.0;
/// With fewer flushes per request than this, the journal does not change the mean.
const FLUSHES_FEW: f64 = 0.01;
/// With more bytes at the device than this multiple of those asked for, requests of others are among them.
const OWN: f64 = 1.25;
/// Minimum number of requests for a meaningful mean size.
const REQUESTS_MIN: u64 = 100;
/// Minimum bytes that are enough with fewer, larger requests.
const BYTES_MIN: u64 = 4 << 20;

/// Compares reads and writes separately with the requests at the topmost devices.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    [Direction::Read, Direction::Write].into_iter().filter_map(|direction| judge(result, direction)).collect()
}

fn judge(result: &RunResult, direction: Direction) -> Option<Note> {
    let block = f64::from(block_size(result, direction)?);
    let seen = RunFacts::of(result)?;
    let monitored = seen.monitored?;
    if seen.jobs().any(|job| !job.echo.direct) {
        return None;
    }
    let whole = monitored.whole();
    let gain_of = |gain: &DeviceGain| if direction == Direction::Read { gain.reads } else { gain.writes };
    let tops: Vec<(&model::DeviceFacts, RequestGain)> = monitored
        .devices
        .iter()
        .zip(&whole.devices)
        .filter(|(facts, _)| facts.top)
        .map(|(facts, gain)| (facts, gain_of(gain)))
        .collect();
    let requests: u64 = tops.iter().map(|(_, gain)| gain.ios).fold(0, u64::saturating_add);
    let bytes: u64 = tops.iter().map(|(_, gain)| gain.sectors.saturating_mul(512)).fold(0, u64::saturating_add);
    // Data served from memory has no requests at the device; check `cache` reports that.
    let asked = bytes_asked(result, direction);
    let are_own = (asked / 2..).contains(&bytes) && float(bytes) <= OWN * float(asked);
    if !are_own || (requests < REQUESTS_MIN && bytes < BYTES_MIN) || requests == 0 {
        return None;
    }
    let request = float(bytes) / float(requests);
    let is_large = request < block && request >= PIECES_LARGE;
    let flushes = if direction == Direction::Write { flushes(result) } else { 0 };
    let has_journal = on_files(monitored) && float(flushes) > FLUSHES_FEW * float(requests);
    // Kernels count the flush of a disk with a cache as a write, too: of no bytes.
    let with_data = float(requests.saturating_sub(flushes).max(1));
    let is_whole = [request, float(bytes) / with_data].iter().any(|request| WHOLE.contains(&(request / block)));
    if is_whole || is_large || has_journal {
        return None;
    }
    let limit = tops.iter().filter_map(|(facts, _)| facts.request_max_bytes).min();
    let (what, blocks) = if direction == Direction::Read {
        ("reads", text::rounded_size(block))
    } else {
        ("writes", text::rounded_size(block))
    };
    let sentence = if request < block {
        let cause = limit
            .filter(|&limit| float(limit) < block)
            .map_or_else(String::new, |limit| format!(" (it takes {} at once)", text::rounded_size(float(limit))));
        format!(
            "your {blocks} {what} reach the disk as {} pieces{cause}",
            text::rounded_size((request / 512.0).round() * 512.0)
        )
    } else {
        format!(
            "your {blocks} {what} reach the disk merged, as {} requests",
            text::rounded_size((request / 512.0).round() * 512.0)
        )
    };
    let evidence = [
        ("block_bytes", block),
        ("request_bytes", request),
        ("requests", float(requests)),
        ("request_max_bytes", limit.map_or(0.0, float)),
    ];
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_read, watched_random_write};

    #[test]
    fn blocks_larger_than_a_request_arrive_in_pieces() {
        let mut result = watched_random_read();
        result.jobs[0].echo.direct = true;
        result.jobs[0].echo.block_sizes[Direction::Read] = (8192, 8192);
        assert_eq!(run(&result), []);
        result.jobs[0].echo.block_sizes[Direction::Read] = (32_768, 32_768);
        result.monitored.as_mut().unwrap().devices[0].request_max_bytes = Some(8192);
        assert_eq!(
            run(&result)[0].sentence,
            "your 32 KiB reads reach the disk as 8 KiB pieces (it takes 8 KiB at once)"
        );
        result.jobs[0].echo.block_sizes[Direction::Read] = (512, 512);
        assert_eq!(run(&result)[0].sentence, "your 512 B reads reach the disk merged, as 8 KiB requests");
        result.jobs[0].echo.direct = false;
        assert_eq!(run(&result), [], "the page cache reads ahead");
    }

    #[test]
    fn requests_of_others_are_not_those_of_this_run() {
        let mut result = watched_random_read();
        result.jobs[0].echo.direct = true;
        result.jobs[0].echo.block_sizes[Direction::Read] = (8192, 8192);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].reads.sectors *= 2;
        }
        assert_eq!(run(&result), [], "twice the bytes that were asked for");
        result.jobs[0].directions.read.bytes *= 2;
        assert!(run(&result)[0].sentence.ends_with("merged, as 16 KiB requests"));
    }

    #[test]
    fn flushes_that_are_counted_as_writes_are_no_pieces() {
        let mut result = watched_random_write();
        let job = &mut result.jobs[0];
        job.echo.direct = true;
        job.echo.block_sizes[Direction::Write] = (16_384, 16_384);
        let mut requests = 0;
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].writes = std::mem::take(&mut interval.devices[0].reads);
            interval.bytes = [0, interval.bytes[0], 0];
            requests += interval.devices[0].writes.ios;
        }
        assert_eq!(run(&result)[0].sentence, "your 16 KiB writes reach the disk as 8 KiB pieces");
        result.jobs[0].sync.count = requests / 2;
        assert_eq!(run(&result), [], "a write of 16 KiB and a flush each");
    }

    #[test]
    fn large_pieces_and_journals_are_no_news() {
        let mut result = watched_random_read();
        let job = &mut result.jobs[0];
        job.echo.direct = true;
        job.echo.block_sizes[Direction::Read] = (1 << 20, 1 << 20);
        job.directions.read.bytes = 20_000 * 8192;
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].reads.ios = interval.devices[0].reads.sectors / 512;
        }
        assert_eq!(run(&result), [], "pieces of 256 KiB");

        let mut result = watched_random_write();
        let job = &mut result.jobs[0];
        job.echo.direct = true;
        job.echo.block_sizes[Direction::Write] = (32_768, 32_768);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].writes = std::mem::take(&mut interval.devices[0].reads);
            interval.bytes = [0, interval.bytes[0], 0];
        }
        assert_eq!(run(&result).len(), 1, "8 KiB requests");
        result.monitored.as_mut().unwrap().targets[0].mount = Some(model::MountFacts::default());
        assert_eq!(run(&result).len(), 1, "nothing was flushed");
        result.jobs[0].sync.count = 20_000;
        assert_eq!(run(&result), []);
    }
}
