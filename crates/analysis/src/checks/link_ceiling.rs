//! Link ceiling: throughput above the maximum of the link to the device cannot have come from the device.
//!
//! Signals: bytes transferred by the workers, link speeds from sysfs (PCIe, SATA).

use super::note;
use crate::run_facts::{RunFacts, float};
use measure::text;
use model::{Grade, Note, RunResult};

/// Counters are read one after the other, so an interval may show slightly more than the link's maximum.
const SLACK: f64 = 1.02;

/// Compares the faster direction (the sum, where links are half duplex) with the bandwidth of all links below.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    judge(result).into_iter().collect()
}

fn judge(result: &RunResult) -> Option<Note> {
    let seen = RunFacts::of(result)?;
    let devices = &seen.monitored?.devices;
    let leaves = || devices.iter().filter(|device| device.leaf);
    // If the speed of any link is unknown, the total is unknown.
    let carried: Option<u64> = leaves().map(|device| device.link_bytes_per_second).sum();
    let carried = float(carried.filter(|&sum| sum > 0)?);
    let [read, written, _] = seen.steady.bytes;
    let most = if leaves().all(|device| device.link_half_duplex) { read + written } else { read.max(written) };
    let rate = seen.per_second(most);
    (rate > SLACK * carried).then(|| {
        let sentence = format!(
            "{} over a link that carries {} is impossible: a cache answered",
            text::decimal_rate(rate),
            text::decimal_rate(carried)
        );
        let evidence = [("bytes_per_second", rate), ("link_bytes_per_second", carried)];
        note(Grade::NotAStorageResult, sentence, &evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    #[test]
    fn more_than_a_link_carries_is_impossible() {
        let mut result = watched_random_read();
        result.monitored.as_mut().unwrap().devices[0].link_bytes_per_second = Some(600_000_000);
        assert_eq!(run(&result), []);
        result.monitored.as_mut().unwrap().devices[0].link_bytes_per_second = Some(10_000_000);
        assert_eq!(
            run(&result)[0].sentence,
            "16.4 MB/s over a link that carries 10 MB/s is impossible: a cache answered"
        );
        let monitored = result.monitored.as_mut().unwrap();
        monitored.devices[0].link_bytes_per_second = Some(20_000_000);
        monitored.intervals.iter_mut().for_each(|interval| interval.bytes[1] = interval.bytes[0]);
        assert_eq!(run(&result), []);
        result.monitored.as_mut().unwrap().devices[0].link_half_duplex = true;
        assert!(run(&result)[0].sentence.starts_with("32.8 MB/s over a link that carries 20 MB/s"));
    }
}
