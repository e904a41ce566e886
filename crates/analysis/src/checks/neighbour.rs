//! Neighbour: I/O of other programs on the same disks.
//!
//! Signals: the devices' counters compared with the I/O requested and caused by the workers (/proc/PID/io), at each
//! level down to the lowest devices; only reads of them if the run writes to a file system.

use super::note;
use crate::limiter::device::others;
use crate::run_facts::RunFacts;
use model::{Grade, Note, RunResult};

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
    seen.monitored?;
    let found = others(&seen)?;
    let share = found.share;
    let others_per_second = seen.per_second(found.bytes);
    (share >= LEAST_SHARE && others_per_second >= LEAST_BYTES_PER_SECOND).then(|| {
        if let Some(others) = seen.other_members() {
            let are = if others == 1 { "member of this run is" } else { "members of this run are" };
            let sentence = format!(
                "{others} other {are} on this machine: their traffic on this disk cannot be separated from that of other programs"
            );
            return note(Grade::NotChecked, sentence, &[("other_members", f64::from(others)), ("others_percent", 100.0 * share)]);
        }
        let evidence = [
            ("own_bytes", found.own),
            ("device_bytes", found.top),
            ("others_bytes_per_second", others_per_second),
            ("others_percent", 100.0 * share),
        ];
        note(Grade::ValidWithLimits, found.sentence(), &evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    #[test]
    fn traffic_of_others_is_reported_with_its_share() {
        let mut result = watched_random_read();
        assert_eq!(run(&result), []);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].writes.sectors = 9_000;
        }
        assert_eq!(run(&result)[0].sentence, "other programs made 22 % of the traffic of sda");
    }

    #[test]
    fn other_members_of_the_same_run_are_not_accused() {
        let mut result = watched_random_read();
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].writes.sectors = 9_000;
        }
        result.environment.other_members = Some(0);
        assert_eq!(run(&result)[0].grade, Grade::ValidWithLimits, "the only member of this machine");
        result.environment.other_members = Some(2);
        let found = &run(&result)[0];
        assert!(found.sentence.starts_with("2 other members of this run are on this machine"), "{}", found.sentence);
        assert_eq!(found.grade, Grade::NotChecked);
        assert_ne!(crate::limiter::limited_by(&result).map(|limit| limit.limiter), Some(model::Limiter::Neighbour));
    }

    #[test]
    fn a_run_that_writes_to_a_file_system_is_compared_by_its_reads() {
        let mut result = watched_random_read();
        result.jobs[0].directions.write.bytes = 20_000 * 8192;
        let monitored = result.monitored.as_mut().unwrap();
        monitored.targets[0].mount = Some(model::MountFacts::default());
        for interval in &mut monitored.intervals {
            interval.bytes[1] = 2_000 * 8192;
            interval.devices[0].writes.sectors = 40_000;
        }
        assert_eq!(run(&result), [], "journals and trees");
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.devices[0].reads.sectors += 24_000;
        }
        assert_eq!(run(&result)[0].sentence, "other programs made 25 % of the traffic of sda");
    }
}
