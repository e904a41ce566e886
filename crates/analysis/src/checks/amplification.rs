//! Amplification: more bytes at the device than requested, or reads caused by a write-only test.
//!
//! Signals: bytes requested, sectors of the topmost devices, I/O caused by the workers (/proc/PID/io).

use super::note;
use crate::limiter::device::page_reads_below;
use crate::run_facts::{RunFacts, float, flushes, on_files};
use measure::text;
use model::{DeviceGain, Grade, Note, RunResult};

/// A device that read more than this multiple of the requested bytes has amplification.
const MOST_SHARE: f64 = 1.05;
/// And a device that wrote more than this: extents and their journal are a tenth of small writes to a new file.
const MOST_WRITTEN: f64 = 1.25;
/// Less than this many bytes is file system metadata.
const LEAST_BYTES: f64 = 1_048_576.0;
/// A flush makes a file system write its journal: this many bytes at most are the price of the flush, and no news.
const JOURNAL_BYTES: f64 = 65_536.0;

/// Compares the topmost devices with the requested bytes over the whole run, because writeback is delayed.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    judge(result).into_iter().collect()
}

fn judge(result: &RunResult) -> Option<Note> {
    let seen = RunFacts::of(result)?;
    let monitored = seen.monitored?;
    let whole = monitored.whole();
    let at_top = |count: fn(&DeviceGain) -> u64| -> f64 {
        let pairs = monitored.devices.iter().zip(&whole.devices).filter(|(facts, _)| facts.top);
        pairs.map(|(_, gain)| 512.0 * float(count(gain))).sum()
    };
    let caused = |at: usize| -> f64 {
        whole.workers.iter().filter_map(|worker| worker.io_bytes).map(|account| float(account[at])).sum()
    };
    let (read, written) = (float(whole.bytes[0]), float(whole.bytes[1]));
    let (device_read, device_written) = (at_top(|gain| gain.reads.sectors), at_top(|gain| gain.writes.sectors));
    let evidence = [
        ("asked_read_bytes", read),
        ("asked_write_bytes", written),
        ("device_read_bytes", device_read),
        ("device_write_bytes", device_written),
        ("caused_read_bytes", caused(2)),
        ("journal_bytes_at_most", JOURNAL_BYTES * float(flushes(result))),
    ];
    // Reads that the workers did not cause belong to another process.
    let own_reads = device_read.min(caused(2));
    let journal = JOURNAL_BYTES * float(flushes(result));
    let (below, written_meanwhile) = (float(page_reads_below(&seen)), float(seen.steady.bytes[1]));
    let (sentence, times) = if below > LEAST_BYTES && below > (MOST_SHARE - 1.0) * written_meanwhile {
        let share = text::percent(below / written_meanwhile);
        let sentence =
            format!("write-only test caused {share} device reads below the loop device: misaligned or sub-page writes");
        (sentence, 1.0 + below / written_meanwhile)
    } else if read == 0.0 && written > 0.0 && own_reads > LEAST_BYTES && own_reads / written > MOST_SHARE - 1.0 {
        let share = text::percent(own_reads / written);
        let sentence = format!("write-only test caused {share} device reads: misaligned or sub-page writes");
        (sentence, 1.0 + own_reads / written)
    } else if read > 0.0 && own_reads > MOST_SHARE * read && own_reads - read > LEAST_BYTES {
        let times = own_reads / read;
        (format!("the device read {times:.1} times what was asked for: read-ahead or larger blocks below"), times)
    } else if written > 0.0
        && on_files(monitored)
        && device_written > MOST_WRITTEN * written
        && device_written - written > LEAST_BYTES + journal
    {
        let times = device_written / written;
        let cause = "larger blocks below, a stack that copies, or other programs";
        (format!("the device wrote {times:.1} times what was asked for: {cause}"), times)
    } else {
        return None;
    };
    let evidence: Vec<(&str, f64)> = evidence.into_iter().chain([("times", times)]).collect();
    Some(note(Grade::ValidWithLimits, sentence, &evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;
    use model::MountFacts;

    #[test]
    fn reads_of_a_write_only_test_are_reported() {
        let mut result = watched_random_read();
        assert_eq!(run(&result), []);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.bytes = [0, 2_000 * 8192, 0];
            interval.devices[0].reads.sectors = 9_920;
        }
        assert_eq!(run(&result)[0].sentence, "write-only test caused 31 % device reads: misaligned or sub-page writes");
    }

    #[test]
    fn writes_of_parts_of_pages_read_below_a_loop_device() {
        let with = |is_cached: bool, first_byte: u64, in_parts: bool| {
            let mut result = watched_random_read();
            crate::fixtures::workload(&mut result).writes_parts_of_pages = in_parts;
            let monitored = result.monitored.as_mut().unwrap();
            monitored.devices[0].top = false;
            let top =
                model::DeviceFacts { name: "loop0".into(), top: true, below: vec!["sda".into()], ..Default::default() };
            monitored.devices.push(top);
            let (bypasses_page_cache, first_byte) = (Some(!is_cached), Some(first_byte));
            let layer = model::Layer { name: "loop0".into(), bypasses_page_cache, first_byte, ..Default::default() };
            monitored.targets[0].layers.push(layer);
            for interval in &mut monitored.intervals {
                interval.bytes = [0, 2_000 * 4096, 0];
                interval.workers.iter_mut().for_each(|worker| worker.io_bytes = None);
                let writes = model::RequestGain { ios: 2_000, sectors: 16_000, ..Default::default() };
                interval.devices[0].reads = model::RequestGain { ios: 2_000, sectors: 16_000, ..Default::default() };
                interval.devices[0].writes = writes;
                interval.devices.push(DeviceGain { writes, ..Default::default() });
            }
            let others = super::super::neighbour::run(&result).len();
            (run(&result).into_iter().next().map(|note| note.sentence), others)
        };
        let said = "write-only test caused 100 % device reads below the loop device: misaligned or sub-page writes";
        assert_eq!(with(true, 512, false), (Some(said.into()), 0));
        assert_eq!(with(true, 0, true), (Some(said.into()), 0));
        assert_eq!(with(true, 4096, false), (None, 1), "another program reads");
        assert_eq!(with(false, 512, true), (None, 1), "without a page cache nothing is read");
    }

    #[test]
    fn a_device_that_writes_twice_is_reported_on_files_only() {
        let mut result = watched_random_read();
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.bytes = [2_000 * 8192, 100 * 8192, 0];
            interval.devices[0].writes.sectors = 3_200;
        }
        assert_eq!(run(&result), [], "on a device it is a neighbour");
        result.monitored.as_mut().unwrap().targets[0].mount = Some(MountFacts::default());
        assert!(run(&result)[0].sentence.starts_with("the device wrote 2.0 times"));
        let written = |result: &mut RunResult, sectors| {
            for interval in &mut result.monitored.as_mut().unwrap().intervals {
                interval.devices[0].writes.sectors = sectors;
            }
        };
        written(&mut result, 2_000 * 16);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.bytes[1] = 1_800 * 8192;
        }
        assert_eq!(run(&result), [], "extents and journal, 11 %");
        written(&mut result, 2_400 * 16);
        assert!(run(&result)[0].sentence.starts_with("the device wrote 1.3 times"));
        result.jobs[0].sync.count = 2_000;
        assert_eq!(run(&result), [], "each flush makes the file system write its journal");
    }
}
