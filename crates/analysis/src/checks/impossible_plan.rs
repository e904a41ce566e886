//! Impossible plan: settings with which a job cannot do what its options ask for.
//!
//! Direct contradictions are rejected before the run; this check is for settings that fio accepts but that leave no
//! usable result: a ramp that takes (nearly) all of the I/O, and a verification that the end of the job prevents.
//! Signals: ramp, runtime, I/Os and verified bytes of the jobs.

use super::note;
use crate::run_facts::{float, is_simulated, window};
use measure::{Direction, Nanos, text};
use model::{Grade, JobResult, Note, RunResult};
use plan::{Distribution, Mix, Order, Work, Workload};

/// A smaller part of the I/O is a remainder: the ramp took the rest.
const REMAINDER: f64 = 0.2;
/// A job that had this part of its runtime had what it asked for.
const WHOLE_RUNTIME: f64 = 0.95;
/// A smaller part of what was written is not what "verified" means.
const VERIFIED_MIN: f64 = 0.5;

/// The first job whose ramp prevented a measurement, and the first one whose verification did not come about or was
/// switched off.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    if result.ended_by_signal.is_some() {
        return Vec::new();
    }
    let in_order = || result.jobs.iter().filter(|job| job.error.is_none());
    let ramp = in_order().find_map(|job| ramp(result, job));
    let verification = in_order().find_map(|job| unverified(result, job)).or_else(|| verification_off(result));
    ramp.into_iter().chain(verification).collect()
}

/// A ramp that left little or nothing to measure.
fn ramp(result: &RunResult, job: &JobResult) -> Option<Note> {
    let workload = job.workload.as_ref()?;
    let (ramp, runtime) = (workload.ramp.as_secs_f64(), workload.runtime.map(Nanos::as_secs_f64));
    let length =
        if workload.ramp_bytes > 0 { text::rounded_size(float(workload.ramp_bytes)) } else { format!("{ramp} s") };
    let evidence = [
        ("ramp_s", ramp),
        ("ramp_bytes", float(workload.ramp_bytes)),
        ("runtime_s", runtime.unwrap_or(0.0)),
        ("measured_s", window(job).as_secs_f64()),
    ];
    let name = &job.echo.name;
    let has_ramp = ramp > 0.0 || workload.ramp_bytes > 0;
    if has_ramp && job.ios() == 0 {
        let sentence = format!("job `{name}` had done all its I/O within its ramp of {length}: nothing was measured");
        return Some(note(Grade::NotAStorageResult, sentence, &evidence));
    }
    if let Some(runtime) = runtime.filter(|&runtime| ramp > 0.0 && workload.ramp_bytes == 0 && ramp >= runtime) {
        let sentence =
            format!("job `{name}` warms up for {ramp} s and measures {runtime} s: ramp_time is as long as runtime");
        return Some(note(Grade::ValidWithLimits, sentence, &evidence));
    }
    let (share, left) = remainder(result, job, workload).filter(|_| has_ramp && !had_its_runtime(job))?;
    // fio, too, reports all of a job that ends in its ramp.
    if share <= 0.5 && all_is_measured(result) {
        let sentence = format!("job `{name}` ended within its ramp of {length}: its numbers are those of the ramp");
        return Some(note(Grade::ValidWithLimits, sentence, &evidence));
    }
    (share <= REMAINDER).then(|| {
        let sentence = format!(
            "job `{name}` warms up for {length}, which left {left} ({} of its I/O) to measure",
            text::percent(share)
        );
        note(Grade::ValidWithLimits, sentence, &evidence)
    })
}

/// The part of a job that was measured, with the length of the ramp as the rest, and its amount as text.
fn remainder(result: &RunResult, job: &JobResult, workload: &Workload) -> Option<(f64, String)> {
    let (ramp, measured, text) = match workload.ramp_bytes {
        0 => {
            let seconds = window(job).as_secs_f64();
            (workload.ramp.as_secs_f64(), seconds, text::span(seconds))
        }
        bytes => {
            // Workers that are reported together warm up together.
            let is_with = |other: &&JobResult| {
                std::ptr::eq(*other, job)
                    || (other.echo.group == job.echo.group && other.style.group_reporting && job.style.group_reporting)
            };
            let measured = float(result.jobs.iter().filter(is_with).map(bytes_of).fold(0, u64::saturating_add));
            (float(bytes), measured, text::rounded_size(measured))
        }
    };
    (ramp > 0.0).then(|| (measured / (ramp + measured), text))
}

/// True if the jobs reported all bytes that they transferred.
fn all_is_measured(result: &RunResult) -> bool {
    /// Rounds away I/Os that ended between the last sample and the end.
    const ALL: f64 = 0.999;
    let Some(monitored) = &result.monitored else { return false };
    let whole = float(monitored.whole().bytes.iter().copied().fold(0, u64::saturating_add));
    let measured = float(result.jobs.iter().map(bytes_of).fold(0, u64::saturating_add));
    whole > 0.0 && measured >= ALL * whole
}

fn bytes_of(job: &JobResult) -> u64 {
    job.directions.iter().map(|(_, direction)| direction.bytes).fold(0, u64::saturating_add)
}

fn had_its_runtime(job: &JobResult) -> bool {
    let runtime = job.workload.as_ref().and_then(|workload| workload.runtime);
    runtime.is_some_and(|runtime| window(job).as_secs_f64() >= WHOLE_RUNTIME * runtime.as_secs_f64())
}

/// Blocks that could be verified, in a job with do_verify=0: a run without an error says nothing about the data.
fn verification_off(result: &RunResult) -> Option<Note> {
    let is_off = |job: &&JobResult| {
        job.workload.as_ref().is_some_and(|workload| workload.verification_off && workload.work == Work::Data)
    };
    // Another job of the run may read them.
    if result.jobs.iter().any(|job| job.verified_bytes.is_some_and(|bytes| bytes > 0)) {
        return None;
    }
    let job = result.jobs.iter().filter(is_off).find(|job| bytes_of(job) > 0 && !is_simulated(job))?;
    let name = &job.echo.name;
    let sentence = match job.directions.write.bytes {
        0 => format!("job `{name}` has verify and do_verify=0: what it read was not verified"),
        _ => format!(
            "job `{name}` has verify and do_verify=0: what it wrote was not read back, and nothing was verified"
        ),
    };
    Some(note(Grade::ValidWithLimits, sentence, &[("verified_bytes", 0.0)]))
}

/// Writes to be verified of which none or only a part was read back.
fn unverified(result: &RunResult, job: &JobResult) -> Option<Note> {
    let workload = job.workload.as_ref().filter(|workload| workload.verifies && workload.work == Work::Data)?;
    let (written, read) = (job.directions.write.bytes, job.directions.read.bytes);
    if written.saturating_add(read) == 0 || is_simulated(job) {
        return None;
    }
    // A report of another program does not state what was checked, but that a job that only writes read nothing.
    let only_writes = result.printed().is_some() && workload.mix == Mix::Only(Direction::Write) && read == 0;
    let checked = job.verified_bytes.or(only_writes.then_some(0))?;
    let cause = match workload.runtime {
        Some(runtime) if time_of(job) >= WHOLE_RUNTIME * runtime.as_secs_f64() => {
            format!(": its runtime of {} s ended first", runtime.as_secs_f64())
        }
        _ => String::new(),
    };
    let name = &job.echo.name;
    let evidence = [("written_bytes", float(written)), ("verified_bytes", float(checked))];
    if checked == 0 {
        let sentence = if written > 0 {
            format!(
                "job `{name}` wrote {} to be verified, and none of it was{cause}",
                text::rounded_size(float(written))
            )
        } else {
            format!("job `{name}` read {} to be verified, and none of it was{cause}", text::rounded_size(float(read)))
        };
        return Some(note(Grade::ValidWithLimits, sentence, &evidence));
    }
    // What was written twice is verified once.
    let evenly = !matches!(&workload.order, Order::Random(distribution) if *distribution != Distribution::Uniform);
    let region = job.echo.region_bytes.saturating_mul(u64::from(job.workers.max(1)));
    let due = float(if region > 0 { written.min(region) } else { written });
    let share = float(checked) / due.max(1.0);
    (evenly && !cause.is_empty() && written > 0 && share < VERIFIED_MIN).then(|| {
        let sentence = format!(
            "job `{name}` wrote {} to be verified, and {} of it was{cause}",
            text::rounded_size(float(written)),
            text::percent(share)
        );
        note(Grade::ValidWithLimits, sentence, &evidence)
    })
}

/// The time of a worker from its first write to its last read of a verification.
fn time_of(job: &JobResult) -> f64 {
    let each = job.runtime.as_secs_f64() / f64::from(job.workers.max(1));
    each.max(window(job).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, printed, watched_random_write, workload};

    fn sentence(result: &RunResult) -> Option<String> {
        run(result).into_iter().next().map(|note| note.sentence)
    }

    #[test]
    fn a_ramp_as_long_as_the_run_is_a_finding() {
        let mut result = clean_random_read();
        workload(&mut result).ramp = Nanos::from_millis(500);
        workload(&mut result).runtime = Some(Nanos::SECOND);
        assert_eq!(run(&result), []);
        workload(&mut result).runtime = Some(Nanos::from_secs(10));
        workload(&mut result).ramp = Nanos::from_secs(10);
        assert!(run(&result)[0].sentence.contains("warms up for 10 s and measures 10 s"));
        result.jobs[0].directions = Default::default();
        assert_eq!(run(&result)[0].grade, Grade::NotAStorageResult);
        result.ended_by_signal = Some(2);
        assert_eq!(run(&result), [], "a person ended it");
    }

    #[test]
    fn a_ramp_with_a_remainder_is_a_finding_in_time_and_bytes() {
        let mut result = clean_random_read();
        workload(&mut result).ramp = Nanos::from_secs(3);
        assert_eq!(sentence(&result), None, "a quarter was measured");
        workload(&mut result).ramp = Nanos::from_secs(9);
        assert_eq!(
            sentence(&result).unwrap(),
            "job `reads` warms up for 9 s, which left 1 s (10 % of its I/O) to measure"
        );
        workload(&mut result).ramp = Nanos::ZERO;
        workload(&mut result).ramp_bytes = 8_000 * 8192;
        assert_eq!(sentence(&result), None, "half was measured");
        workload(&mut result).ramp_bytes = 1 << 30;
        assert_eq!(
            sentence(&result).unwrap(),
            "job `reads` warms up for 1 GiB, which left 62.5 MiB (5.8 % of its I/O) to measure"
        );
        workload(&mut result).runtime = Some(Nanos::SECOND);
        assert_eq!(sentence(&result), None, "it measured for the time that it was asked to");
        result.jobs[0].directions = Default::default();
        assert!(sentence(&result).unwrap().contains("within its ramp of 1 GiB: nothing was measured"));
    }

    #[test]
    fn a_job_that_ends_within_its_ramp_reports_the_ramp() {
        let mut result = crate::fixtures::watched_random_read();
        workload(&mut result).ramp = Nanos::from_secs(40);
        assert_eq!(
            sentence(&result).unwrap(),
            "job `reads` ended within its ramp of 40 s: its numbers are those of the ramp"
        );
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.bytes[0] *= 5;
        }
        assert!(sentence(&result).unwrap().ends_with("which left 10 s (20 % of its I/O) to measure"));
        workload(&mut result).ramp = Nanos::from_millis(1);
        assert_eq!(sentence(&result), None);
    }

    #[test]
    fn writes_that_were_to_be_verified_and_were_not_are_a_finding() {
        let mut result = watched_random_write();
        workload(&mut result).verifies = true;
        assert_eq!(sentence(&result), None, "how much was verified is not known");
        result.jobs[0].verified_bytes = Some(20_000 * 8192);
        assert_eq!(sentence(&result), None);
        result.jobs[0].verified_bytes = Some(0);
        assert_eq!(sentence(&result).unwrap(), "job `reads` wrote 156 MiB to be verified, and none of it was");
        workload(&mut result).runtime = Some(Nanos::from_secs(10));
        assert!(sentence(&result).unwrap().ends_with("none of it was: its runtime of 10 s ended first"));
        result.jobs[0].verified_bytes = Some(2_000 * 8192);
        assert!(sentence(&result).unwrap().ends_with("10 % of it was: its runtime of 10 s ended first"));
        result.jobs[0].echo.region_bytes = 250 * 8192;
        assert_eq!(sentence(&result), None, "each block was written ten times");
        result.jobs[0].verified_bytes = Some(0);
        workload(&mut result).verifies = false;
        assert_eq!(sentence(&result), None, "nothing was to be verified");
    }

    #[test]
    fn a_verification_that_is_switched_off_verified_nothing() {
        let mut result = watched_random_write();
        workload(&mut result).verification_off = true;
        assert_eq!(
            sentence(&result).unwrap(),
            "job `reads` has verify and do_verify=0: what it wrote was not read back, and nothing was verified"
        );
        let mut reader = result.jobs[0].clone();
        reader.verified_bytes = Some(4_096);
        result.jobs.push(reader);
        assert_eq!(sentence(&result), None, "another job read blocks back");
        result.jobs.pop();
        workload(&mut result).verification_off = false;
        assert_eq!(sentence(&result), None);
    }

    #[test]
    fn a_report_of_a_writer_that_read_nothing_verified_nothing() {
        let mut result = printed(watched_random_write(), Some(8.0), Some(1.0));
        workload(&mut result).verifies = true;
        assert_eq!(sentence(&result), None, "the mix is one of reads");
        workload(&mut result).mix = Mix::Only(Direction::Write);
        assert!(sentence(&result).unwrap().ends_with("none of it was"));
    }
}
