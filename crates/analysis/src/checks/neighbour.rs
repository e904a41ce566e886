//! Neighbour: I/O of other programs on the same disks.
//!
//! Signals: the devices' counters compared with the I/O requested and caused by the workers (/proc/PID/io), at each
//! level down to the lowest devices; only reads of them if the run writes to a file system. Flushes of the topmost
//! devices compared with those that the workers asked for.

use super::note;
use crate::limiter::device::others;
use crate::run_facts::{RunFacts, float, is_pass, is_synchronous, window};
use measure::text;
use model::{DeviceFacts, DeviceGain, Grade, JobResult, Note, RunResult};

/// A smaller fraction of foreign traffic is normal background activity.
const LEAST_SHARE: f64 = 0.10;
/// Fewer foreign bytes per second do not affect the result.
const LEAST_BYTES_PER_SECOND: f64 = 262_144.0;

/// Fewer foreign flushes per second do not affect the result, unless they take this fraction of the time.
const LEAST_FLUSHES: f64 = 50.0;
const LEAST_FLUSHING: f64 = 0.05;
/// Background flushes (a journal every few seconds) are fewer than these, and than this fraction of the run's own.
const BACKGROUND: f64 = 10.0;
const OF_OWN: f64 = 0.25;

/// Reports the fraction of the traffic that the workers did not cause, and flushes that they did not ask for.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    judge(result).into_iter().chain(flushes(result)).collect()
}

/// Flushes of others: few bytes, but a journal has one commit at a time, and a disk one flush.
fn flushes(result: &RunResult) -> Option<Note> {
    let seen = RunFacts::of(result)?;
    if seen.other_members().is_some() || is_pass(result) {
        return None;
    }
    let tops = || seen.devices().filter(|(facts, _)| facts.top);
    let counted: Option<Vec<(u64, u64)>> = tops().map(|(_, gain): (&DeviceFacts, &DeviceGain)| gain.flushes).collect();
    let (count, ms) = counted?.into_iter().fold((0, 0), |(count, ms), (more, time)| (count + more, ms + time));
    let (done, own) = (float(count) / seen.seconds, own_flushes(&seen));
    let foreign = done - own;
    let is_often = foreign >= LEAST_FLUSHES || (foreign > 0.0 && float(ms) / 1e3 / seen.seconds >= LEAST_FLUSHING);
    (is_often && foreign > BACKGROUND && foreign >= OF_OWN * own).then(|| {
        let names: Vec<String> = tops().map(|(facts, _)| facts.name.clone()).collect();
        let waits = if own > 0.0 { ": their commits are in the flushes of this run" } else { "" };
        let sentence = format!(
            "other programs flushed {} {} times per second or more{waits}",
            text::listed(&names),
            text::number(foreign.round())
        );
        let evidence = [
            ("flushes_per_second", done),
            ("own_flushes_per_second_at_most", own),
            ("others_percent", 100.0 * foreign / done),
        ];
        note(Grade::ValidWithLimits, sentence, &evidence)
    })
}

/// The most flushes per second of devices that the workers' calls can be. A file system flushes before and after the
/// commit of its journal: two for a call. Where nothing but times changes in a file, the kernel has a new time for it
/// with each tick at most, and a call without a commit is one flush.
fn own_flushes(seen: &RunFacts<'_>) -> f64 {
    const TICKS: f64 = 1_000.0;
    const OTHERS: f64 = 1.1;
    let targets = || seen.monitored.iter().flat_map(|monitored| &monitored.targets);
    let by_target = targets().any(is_synchronous);
    let per_second = |job: &JobResult| {
        let each = by_target || job.workload.as_ref().is_some_and(|workload| workload.flushes.by_each_write);
        let calls = job.sync.count.saturating_add(if each { job.directions.write.ios } else { 0 });
        float(calls) / window(job).as_secs_f64().max(1e-3)
    };
    let calls: f64 = seen.jobs().map(per_second).sum();
    let is_in_place = |target: &model::TargetFacts| {
        let kind = target.mount.as_ref().map_or("", |mount| mount.kind.as_str());
        ["", "ext4", "xfs"].contains(&kind) && target.past_end_bytes == Some(0) && target.unwritten_bytes == Some(0)
    };
    let in_place = targets().all(is_in_place);
    OTHERS * (calls + if in_place { calls.min(TICKS) } else { calls })
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
    fn flushes_that_no_worker_asked_for_are_of_others() {
        // In each of ten seconds.
        let with = |counted: u64, own: u64, in_place: bool| {
            let mut result = watched_random_read();
            result.jobs[0].sync.count = 10 * own;
            let monitored = result.monitored.as_mut().unwrap();
            if in_place {
                (monitored.targets[0].past_end_bytes, monitored.targets[0].unwritten_bytes) = (Some(0), Some(0));
            }
            for interval in &mut monitored.intervals {
                interval.devices[0].flushes = Some((counted, counted / 100));
            }
            run(&result).into_iter().next().map(|note| note.sentence)
        };
        assert_eq!(with(200, 0, false).as_deref(), Some("other programs flushed sda 200 times per second or more"));
        assert_eq!((with(40, 0, false), with(2_200, 1_000, false)), (None, None));
        let both = with(4_000, 1_000, false).unwrap();
        assert!(
            both.ends_with("1,800 times per second or more: their commits are in the flushes of this run"),
            "{both}"
        );
        assert_eq!(with(10_000, 5_000, false), None, "a commit with each call");
        assert!(with(10_000, 5_000, true).is_some(), "times change a thousand times per second");
        let mut attribute = crate::fixtures::watched_random_write();
        let monitored = attribute.monitored.as_mut().unwrap();
        monitored.targets[0].attributes.push(model::FileAttribute::Synchronous);
        monitored.intervals.iter_mut().for_each(|interval| interval.devices[0].flushes = Some((3_800, 40)));
        assert!(
            run(&attribute).iter().all(|note| !note.sentence.contains("flushed")),
            "each of 2,000 writes is flushed"
        );
        let mut member = watched_random_read();
        member.environment.other_members = Some(1);
        member.monitored.as_mut().unwrap().intervals[3].devices[0].flushes = Some((9_000, 10));
        assert_eq!(run(&member), [], "members of the same run flush, too");
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
