//! Link ceiling: more bytes than the link to the device can carry did not come over it.
//!
//! Signals: bytes the workers moved, what sysfs says of the links (PCIe, SATA).

use super::note;
use crate::evidence::float;
use crate::limiter::seen::Seen;
use model::{Grade, Note, RunResult};

/// The name in notes.
pub(super) const ID: &str = "link ceiling";

/// Intervals and counters are read one after the other: a little more than a link carries is the edge of an interval.
const SLACK: f64 = 1.02;

/// Compares the faster direction with what all links below the targets carry.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    judge(result).into_iter().collect()
}

fn judge(result: &RunResult) -> Option<Note> {
    let seen = Seen::of(result)?;
    let devices = &seen.monitored?.devices;
    let leaves = || devices.iter().filter(|device| device.leaf);
    // One link that is not known may carry anything.
    let carried: Option<u64> = leaves().map(|device| device.link_bytes_per_second).sum();
    let carried = float(carried.filter(|&sum| sum > 0)?);
    let rate = seen.per_second(seen.steady.bytes[0].max(seen.steady.bytes[1]));
    (rate > SLACK * carried).then(|| {
        let sentence = format!(
            "{:.0} MB/s over a link that carries {:.0} MB/s is impossible: a cache answered",
            rate / 1e6,
            carried / 1e6
        );
        let evidence = [("bytes_per_second", rate), ("link_bytes_per_second", carried)];
        note(ID, Grade::NotAStorageResult, sentence, &evidence)
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
            "16 MB/s over a link that carries 10 MB/s is impossible: a cache answered"
        );
    }
}
