//! Split / merge: requests at the disk do not have the requested block size.
//!
//! Signals: block sizes of the jobs, requests and sectors of the topmost devices, max_sectors_kb.

use super::note;
use crate::run_facts::RunFacts;
use crate::run_facts::{block_size, bytes_asked, float, size_text};
use measure::Direction;
use model::{DeviceGain, Grade, Note, RequestGain, RunResult};

pub(super) const ID: &str = "split / merge";

/// Requests between these multiples of the block size count as unchanged; the range allows for requests of the file
/// system.
const WHOLE: std::ops::RangeInclusive<f64> = 0.80..=1.25;
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
    let mostly_there = bytes >= bytes_asked(result, direction) / 2;
    if !mostly_there || (requests < REQUESTS_MIN && bytes < BYTES_MIN) || requests == 0 {
        return None;
    }
    let request = float(bytes) / float(requests);
    if WHOLE.contains(&(request / block)) {
        return None;
    }
    let limit = tops.iter().filter_map(|(facts, _)| facts.request_max_bytes).min();
    let (what, blocks) =
        if direction == Direction::Read { ("reads", size_text(block)) } else { ("writes", size_text(block)) };
    let sentence = if request < block {
        let cause = limit
            .filter(|&limit| float(limit) < block)
            .map_or_else(String::new, |limit| format!(" (it takes {} at once)", size_text(float(limit))));
        format!("your {blocks} {what} reach the disk as {} pieces{cause}", size_text((request / 512.0).round() * 512.0))
    } else {
        format!(
            "your {blocks} {what} reach the disk merged, as {} requests",
            size_text((request / 512.0).round() * 512.0)
        )
    };
    let evidence = [
        ("block_bytes", block),
        ("request_bytes", request),
        ("requests", float(requests)),
        ("request_max_bytes", limit.map_or(0.0, float)),
    ];
    Some(note(ID, Grade::ValidWithLimits, sentence, &evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    #[test]
    fn blocks_larger_than_a_request_arrive_in_pieces() {
        let mut result = watched_random_read();
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
    }
}
