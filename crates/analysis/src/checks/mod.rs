//! The table of checks: one file and one row each.

mod amplification;
mod backing;
mod buffered_latency;
mod busy_users;
mod cache;
mod client_cpu;
mod compressible;
mod contents;
mod contradiction;
mod coordinated_omission;
mod depth;
mod errors;
mod file_properties;
mod flush_effect;
mod holes;
mod impossible_plan;
mod iozone_row;
pub(crate) mod late_sender;
mod limiter;
mod link_ceiling;
mod mixed_group;
mod neighbour;
mod no_flush;
mod not_steady;
mod nothing_moved;
mod overlap;
mod small_set;
mod split_merge;
mod throttled;
mod too_short;
mod tool_share;
mod two_latencies;

pub use iozone_row::check_iozone_row;

pub(crate) use busy_users::{LEAST_SHARE as LEAST_BUSY_SHARE, MOST_SHARE as MOST_BUSY_SHARE, found as busy_users_of};
pub(crate) use client_cpu::blames_tester;

use crate::not_storage::not_storage;
use model::{Grade, JobResult, Lasting, LimitedBy, Limiter, Measurement, Monitored, Note, Origin, RunResult};

// Names of checks that others know.
const BACKING: &str = "backing";
pub(crate) const BUSY_USERS: &str = "busy users";
const CACHE: &str = "cache";
pub(crate) const CLIENT_CPU: &str = "client CPU";
const CONTRADICTION: &str = "contradiction";
pub(crate) const NEIGHBOUR: &str = "neighbour";
pub(crate) const TOO_SHORT: &str = "too short";

/// Signals without which a check is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Numbers of the jobs.
    Own,
    /// Counters of the devices under the files.
    Devices,
    /// Samples of the machine during the run, which imported results lack.
    Samples,
    /// The layers under the targets, which imported results lack.
    Layers,
    /// The tool's own share of latencies, which imported results and runs without a calibration lack.
    Calibration,
}

/// One check of a result.
#[derive(Clone, Copy)]
pub struct Check {
    /// Name in notes and files.
    pub id: &'static str,
    /// Purpose in one line.
    pub why: &'static str,
    /// The step that removes the cause, as in `use direct=1`.
    pub advice: &'static str,
    /// The number of the evidence by which its notes compare, if there is one.
    pub measure: Option<&'static str>,
    /// Required signals.
    pub needs: Needs,
    /// Runs the check; returns no notes if nothing was found.
    pub run: fn(&RunResult) -> Vec<Note>,
}

/// All checks, in the order in which their notes are printed.
pub const CHECKS: &[Check] = &[
    Check {
        id: "errors",
        why: "a run with errors or short I/Os is not the run that was asked for",
        advice: "repair what fails, then measure again",
        measure: None,
        needs: Needs::Own,
        run: errors::run,
    },
    Check {
        id: CONTRADICTION,
        why: "a rate that differs from its bytes or I/Os per time is of another run, or made up",
        advice: "use the report as it was printed",
        measure: None,
        needs: Needs::Own,
        run: contradiction::run,
    },
    Check {
        id: "impossible plan",
        why: "some options leave no time or I/O to measure",
        advice: "use a longer runtime, a shorter ramp, or a size in place of time_based",
        measure: None,
        needs: Needs::Own,
        run: impossible_plan::run,
    },
    Check {
        id: "nothing moved",
        why: "an engine that moves no data measures the tester",
        advice: "use an engine that does I/O",
        measure: None,
        needs: Needs::Own,
        run: nothing_moved::run,
    },
    Check {
        id: BACKING,
        why: "a device or file system can be memory, or hide what stores its data",
        advice: "use a target on a disk",
        measure: None,
        needs: Needs::Layers,
        run: backing::run,
    },
    Check {
        id: CACHE,
        why: "reads that memory answers say nothing about the device",
        advice: "use direct=1, or a file that is larger than memory",
        measure: Some("share_percent"),
        needs: Needs::Devices,
        run: cache::run,
    },
    Check {
        id: "holes",
        why: "reads of blocks that were never written reach no disk, also with O_DIRECT",
        advice: "write the whole file first",
        measure: Some("unwritten_percent"),
        needs: Needs::Samples,
        run: holes::run,
    },
    Check {
        id: "contents",
        why: "zeros and equal blocks need not be read from a medium",
        advice: "fill the target with data like yours first",
        measure: None,
        needs: Needs::Samples,
        run: contents::run,
    },
    Check {
        id: "link ceiling",
        why: "data that is faster than the link did not come over it",
        advice: "use direct=1, or a file that is larger than the cache",
        measure: Some("bytes_per_second"),
        needs: Needs::Samples,
        run: link_ceiling::run,
    },
    Check {
        id: "small set",
        why: "a working set that fits a cache is measured in the cache",
        advice: "use a size that is larger than memory",
        measure: Some("set_bytes"),
        needs: Needs::Samples,
        run: small_set::run,
    },
    Check {
        id: "overlap",
        why: "workers that read the same blocks in step find them in a cache",
        advice: "use offset_increment, or a file for each job",
        measure: Some("repeats_percent"),
        needs: Needs::Own,
        run: overlap::run,
    },
    Check {
        id: BUSY_USERS,
        why: "in a closed loop IOPS × latency is the number of users; if it is less, some did nothing",
        advice: "use time_based and equal sizes, so that all work to the end",
        measure: Some("users_busy"),
        needs: Needs::Own,
        run: busy_users::run,
    },
    Check {
        id: "depth",
        why: "the depth that was measured is not the depth that was asked for",
        advice: "use an engine that queues, with direct=1",
        measure: Some("depth_achieved"),
        needs: Needs::Own,
        run: depth::run,
    },
    Check {
        id: CLIENT_CPU,
        why: "a tester without processor time measures itself",
        advice: "use fewer jobs, larger blocks, or an idle machine",
        measure: Some("run_delay_percent"),
        needs: Needs::Own,
        run: client_cpu::run,
    },
    Check {
        id: "throttled",
        why: "a processor quota shows as latency",
        advice: "run without the quota",
        measure: Some("throttled_percent"),
        needs: Needs::Samples,
        run: throttled::run,
    },
    Check {
        id: "late sender",
        why: "an I/O that the tester issues late waits for the tester, and not for the storage",
        advice: "use an idle machine, more jobs at a lower rate each, or no verification",
        measure: Some("late_percent"),
        needs: Needs::Own,
        run: late_sender::run,
    },
    Check {
        id: "tool share",
        why: "what the tester takes of a short latency is not the storage's",
        advice: "compare only with runs of the same engine and depth, or subtract it (plumb explain)",
        measure: Some("tool_percent"),
        needs: Needs::Calibration,
        run: tool_share::run,
    },
    Check {
        id: "limiter",
        why: "a limit that was set says nothing about the device",
        advice: "remove the limit, or report it with the number",
        measure: None,
        needs: Needs::Samples,
        run: limiter::run,
    },
    Check {
        id: NEIGHBOUR,
        why: "other programs on the same disk take part of it",
        advice: "stop the other I/O, or measure when there is none",
        measure: Some("others_percent"),
        needs: Needs::Samples,
        run: neighbour::run,
    },
    Check {
        id: "not steady",
        why: "an average over two rates describes neither",
        advice: "use ramp_time and a longer run, and report both phases",
        measure: None,
        needs: Needs::Samples,
        run: not_steady::run,
    },
    Check {
        id: "two latencies",
        why: "a mean over two kinds of I/O describes neither",
        advice: "look at the percentiles, and find what the slow ones wait for",
        measure: Some("slow_time_percent"),
        needs: Needs::Own,
        run: two_latencies::run,
    },
    Check {
        id: "mixed group",
        why: "a mean over unlike jobs describes none of them",
        advice: "report the jobs one by one, or in groups of like jobs (new_group=1)",
        measure: None,
        needs: Needs::Own,
        run: mixed_group::run,
    },
    Check {
        id: "coordinated omission",
        why: "in a closed loop users send nothing during a stall, so few I/Os show it",
        advice: "measure at a fixed rate (rate_iops), and read its response time",
        measure: Some("stall_ms"),
        needs: Needs::Own,
        run: coordinated_omission::run,
    },
    Check {
        id: TOO_SHORT,
        why: "a percentile needs a hundred I/Os beyond it",
        advice: "use a longer run, or a shorter percentile_list",
        measure: Some("ios"),
        needs: Needs::Own,
        run: too_short::run,
    },
    Check {
        id: "no flush",
        why: "a write that was not flushed may be in memory",
        advice: "use end_fsync=1, fsync=N or sync=1",
        measure: Some("share_percent"),
        needs: Needs::Samples,
        run: no_flush::run,
    },
    Check {
        id: "buffered latency",
        why: "a buffered write ends in memory, and its latency is not that of the flush at the end",
        advice: "use direct=1, or sync=dsync, for the latency of a write to the disk",
        measure: Some("writing_percent"),
        needs: Needs::Own,
        run: buffered_latency::run,
    },
    Check {
        id: "flush effect",
        why: "a flush that does not reach the device makes nothing durable",
        advice: "use the mount's default options and fsync=N or end_fsync=1",
        measure: None,
        needs: Needs::Samples,
        run: flush_effect::run,
    },
    Check {
        id: "file properties",
        why: "attributes, mount options and shared blocks change what an I/O does",
        advice: "use an ordinary file on a mount with default options",
        measure: None,
        needs: Needs::Samples,
        run: file_properties::run,
    },
    Check {
        id: "amplification",
        why: "a device that moves extra bytes is slower for the bytes of the job",
        advice: "use aligned blocks of the size that the device works in",
        measure: Some("times"),
        needs: Needs::Samples,
        run: amplification::run,
    },
    Check {
        id: "split / merge",
        why: "a device that gets requests of another size does another workload",
        advice: "use blocks that the device takes at once",
        measure: Some("request_bytes"),
        needs: Needs::Samples,
        run: split_merge::run,
    },
    Check {
        id: "compressible",
        why: "a target that compresses is faster with simple data than with yours",
        advice: "write data like yours: refill_buffers, buffer_compress_percentage",
        measure: Some("simple_percent"),
        needs: Needs::Own,
        run: compressible::run,
    },
];

/// Checks that are impossible on this result for lack of signals, as its notes or it itself say: not passed.
pub fn unchecked(result: &RunResult) -> Vec<&'static str> {
    let says_so = |check: &Check| {
        let mut notes = result.notes.iter().filter(|note| note.check == check.id);
        notes.any(|note| note.grade == Grade::NotChecked)
    };
    if let Origin::Members(members) = &result.origin {
        let is_missing = |check: &&Check| members.not_checked.iter().any(|id| id == check.id) || says_so(check);
        return CHECKS.iter().filter(is_missing).map(|check| check.id).collect();
    }
    let missing = |check: &&Check| match check.needs {
        Needs::Own => false,
        Needs::Devices => !result.was_monitored() && result.devices.is_empty() && result.lowest_traffic.is_none(),
        Needs::Samples => !result.was_monitored(),
        Needs::Calibration => {
            let is_known = |job: &JobResult| job.calibration.as_ref().is_some_and(|tool| tool.total_ns.is_some());
            !result.jobs.iter().filter(|job| job.ios() > 0).any(is_known)
        }
        Needs::Layers => {
            let without = |monitored: &Monitored| monitored.targets.iter().any(|target| target.layers.is_empty());
            !result.was_monitored() || result.monitored.as_ref().is_some_and(without)
        }
    };
    CHECKS.iter().filter(|check| missing(check) || says_so(check)).map(|check| check.id).collect()
}

/// True if a note reports a problem, as opposed to something unknown.
pub fn is_finding(note: &Note) -> bool {
    note.grade > Grade::Trusted
}

/// The step that removes the cause of a check's remarks.
pub fn advice(check: &str) -> Option<&'static str> {
    CHECKS.iter().find(|known| known.id == check).map(|known| known.advice)
}

/// True if a note is shown to a person: each finding, and that the storage under the files could not be seen.
pub fn is_shown(note: &Note) -> bool {
    is_finding(note) || (note.grade == Grade::NotChecked && note.check == BACKING)
}

/// Why a report card does not grade a result, if so: its latencies are those of the tester in part, the tester was the
/// limit, or it is not a result of the storage.
fn no_grade(notes: &[Note], limited_by: Option<&LimitedBy>) -> Option<String> {
    if let Some(found) = notes.iter().find(|note| note.check == CLIENT_CPU && is_finding(note)) {
        return Some(found.sentence.clone());
    }
    let tester = limited_by.filter(|limit| limit.limiter == Limiter::ClientCpu);
    let tester = tester.map(|limit| format!("the tester was the limit: {}", limit.sentence));
    let finding = || not_storage(notes, &[]).map(|found| found.note.sentence);
    tester.or_else(|| finding().map(|sentence| format!("this is not a storage result: {sentence}")))
}

/// Marks a row of a run that was checked: why it has no grade, which users were busy, and the rate that lasts.
pub fn mark(row: &mut Measurement, notes: &[Note], limited_by: Option<&LimitedBy>, lasting: Option<&Lasting>) {
    row.no_grade = no_grade(notes, limited_by).or(row.no_grade.take());
    row.busy_users = Some(busy_users::found(notes));
    row.lasting = lasting.cloned();
}

/// Display name of a grade.
pub fn grade_title(grade: Grade) -> &'static str {
    match grade {
        Grade::NotChecked => "NOT CHECKED",
        Grade::Trusted => "TRUSTED",
        Grade::ValidWithLimits => "VALID WITH LIMITS",
        Grade::NotAStorageResult => "NOT A STORAGE RESULT",
    }
}

/// Notes of all checks. A clean result has none.
///
/// What the run itself found stays if its samples are not in the result: fio's JSON has the remarks of the run, without
/// the samples that they were made from and with rounded times, and the result of several members has those about each.
/// The printed rates are held against their counts again.
///
/// ```
/// use model::{Grade, JobError, JobResult, RunResult};
///
/// let error = JobError { errno: 5, operation: "read".into(), message: "a.dat: I/O error".into(), signal: None };
/// let job = JobResult { error: Some(error), ..JobResult::default() };
/// let notes = analysis::check(&RunResult { jobs: vec![job], ..RunResult::default() });
/// assert_eq!(notes[0].check, "errors");
/// assert!(analysis::grade(&notes) > Grade::Trusted);
/// ```
pub fn check(result: &RunResult) -> Vec<Note> {
    let is_made_here = |id: &str| match result.is_judged() {
        true => id == CONTRADICTION,
        false => CHECKS.iter().any(|check| check.id == id),
    };
    // What a run says of itself (it had not ended, it was never steady) no check can find again.
    let own = result.notes.iter().filter(|note| !is_made_here(&note.check));
    let made = CHECKS.iter().filter(|check| is_made_here(check.id)).flat_map(|check| check.notes(result));
    made.chain(own.cloned()).collect()
}

/// The grade of a result with these notes: the worst; not checked if there are no findings but gaps.
pub fn grade(notes: &[Note]) -> Grade {
    let worst = notes.iter().map(|note| note.grade).max().unwrap_or(Grade::Trusted);
    let unchecked = notes.iter().any(|note| note.grade == Grade::NotChecked);
    if worst <= Grade::Trusted && unchecked { Grade::NotChecked } else { worst }
}

/// A remark; [`Check::notes`] adds the name of its check.
fn note(grade: Grade, sentence: String, evidence: &[(&str, f64)]) -> Note {
    let evidence = evidence.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    Note { check: String::new(), grade, sentence, evidence }
}

impl Check {
    fn notes(&self, result: &RunResult) -> Vec<Note> {
        (self.run)(result).into_iter().map(|note| Note { check: self.id.to_owned(), ..note }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, watched_random_read};
    use model::JudgedByMembers;

    #[test]
    fn a_clean_run_stays_silent() {
        assert_eq!(check(&clean_random_read()), []);
        assert_eq!(check(&watched_random_read()), []);
    }

    #[test]
    fn what_a_run_says_of_itself_stays_when_it_is_judged_again() {
        let mut result = clean_random_read();
        result.notes = vec![
            Note { check: "under_way".into(), ..note(Grade::ValidWithLimits, "it had not ended".into(), &[]) },
            Note { check: "cache".into(), ..note(Grade::ValidWithLimits, "old".into(), &[]) },
        ];
        let again = check(&result);
        assert_eq!(again.iter().map(|note| note.check.as_str()).collect::<Vec<_>>(), ["under_way"]);
        assert_eq!(check(&RunResult { notes: again.clone(), ..clean_random_read() }), again);
    }

    #[test]
    fn what_a_result_does_not_have_is_not_checked() {
        assert_eq!(unchecked(&watched_random_read()), Vec::<&str>::new());
        let foreign = unchecked(&clean_random_read());
        assert!(foreign.contains(&"holes") && !foreign.contains(&"cache") && !foreign.contains(&"busy users"));
        assert!(unchecked(&RunResult::default()).contains(&"cache"));
        let mut earlier = watched_random_read();
        earlier.monitored.as_mut().unwrap().targets[0].layers.clear();
        assert_eq!(unchecked(&earlier), ["backing"]);
    }

    #[test]
    fn what_members_found_stays_and_unchecked_stays_unchecked() {
        let mut all = clean_random_read();
        all.notes = vec![Note {
            check: "cache".into(),
            ..note(Grade::NotAStorageResult, "members 0, 2: memory answered".into(), &[])
        }];
        assert!(check(&all).is_empty() && unchecked(&all).contains(&"throttled"));
        all.origin = Origin::Members(JudgedByMembers { not_checked: vec!["holes".to_owned()] });
        assert_eq!(check(&all), all.notes);
        assert_eq!(unchecked(&all), ["holes"]);
    }

    #[test]
    fn an_unreadable_signal_is_never_a_pass() {
        let with = |grades: &[Grade]| {
            let notes: Vec<Note> =
                grades.iter().map(|&grade| Note { check: "x".into(), ..note(grade, String::new(), &[]) }).collect();
            grade(&notes)
        };
        assert_eq!(with(&[]), Grade::Trusted);
        assert_eq!(with(&[Grade::NotChecked]), Grade::NotChecked);
        assert_eq!(with(&[Grade::NotChecked, Grade::Trusted]), Grade::NotChecked);
        assert_eq!(with(&[Grade::ValidWithLimits, Grade::NotChecked]), Grade::ValidWithLimits);
        assert_eq!(with(&[Grade::NotAStorageResult, Grade::ValidWithLimits]), Grade::NotAStorageResult);
    }

    /// With what the monitor and the samples of contents take (the bench `cost` has the first, in a run of 10 s), all
    /// checks stay below 0.3 % of a processor in that time. `--nocapture` prints each.
    #[test]
    fn all_checks_of_a_run_take_less_than_a_thousandth_of_a_cpu() {
        const TIMES: u32 = 100;
        let result = watched_random_read();
        let mut all = std::time::Duration::ZERO;
        for check in CHECKS {
            let started = std::time::Instant::now();
            (0..TIMES).for_each(|_| drop(std::hint::black_box((check.run)(&result))));
            let each = started.elapsed() / TIMES;
            println!("{:<20} {:>9.1} µs", check.id, each.as_secs_f64() * 1e6);
            all += each;
        }
        println!("{:<20} {:>9.1} µs", "all", all.as_secs_f64() * 1e6);
        assert!(all < std::time::Duration::from_millis(10), "{all:?} of 10 s");
    }

    #[test]
    fn every_check_has_its_own_id() {
        for (index, check) in CHECKS.iter().enumerate() {
            assert!(CHECKS[..index].iter().all(|other| other.id != check.id), "{}", check.id);
        }
    }
}
