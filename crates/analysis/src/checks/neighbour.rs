//! Neighbour: I/O of other programs on the same disks.
//!
//! Signals: the devices' counters compared with the I/O requested and caused by the workers (/proc/PID/io), at each
//! level down to the lowest devices.

use super::note;
use crate::limiter::device::others_share;
use crate::run_facts::RunFacts;
use model::{Grade, Note, RunResult};

/// Name of the check in notes.
pub(super) const ID: &str = "neighbour";

/// A smaller fraction of foreign traffic is normal background activity.
const LEAST_SHARE: f64 = 0.10;
/// Fewer foreign bytes per second do not affect the result.
const LEAST_BYTES_PER_SECOND: f64 = 262_144.0;

/// Reports the fraction of the traffic that the workers did not cause.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    judge(result).into_iter().collect()
}

fn judge(result: &RunResult) -> Option<Note> {
    let seen = RunFacts::of(result)?;
    let monitored = seen.monitored?;
    // File systems write journals and trees from kernel threads, whose I/O is not charged to the workers, so additional
    // writes may be caused by this run.
    let on_files = monitored.targets.iter().any(|target| target.mount.is_some());
    if on_files && seen.jobs().any(|job| job.directions.write.bytes > 0) {
        return None;
    }
    let (share, own, at_device) = others_share(&seen);
    let moved = seen.devices().map(|(_, gain)| gain.reads.sectors + gain.writes.sectors).max().unwrap_or(0);
    let others_per_second = share * seen.per_second(512 * moved);
    (share >= LEAST_SHARE && others_per_second >= LEAST_BYTES_PER_SECOND).then(|| {
        let sentence = format!("other programs made {:.0} % of this disk's traffic", 100.0 * share);
        let evidence =
            [("own_bytes", own), ("device_bytes", at_device), ("others_bytes_per_second", others_per_second)];
        note(ID, Grade::ValidWithLimits, sentence, &evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    #[test]
    fn traffic_that_is_not_ours_is_told_with_its_share() {
        let mut result = watched_random_read();
        assert_eq!(run(&result), []);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].writes.sectors = 9_000;
        }
        assert_eq!(run(&result)[0].sentence, "other programs made 22 % of this disk's traffic");
    }
}
