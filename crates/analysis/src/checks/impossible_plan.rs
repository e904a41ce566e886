//! Impossible plan: settings with which a job cannot measure its result.
//!
//! Direct contradictions are rejected before the run; this check is for settings that fio accepts but that leave no
//! usable result.
//! Signals: ramp time, runtime and I/Os of the jobs.

use super::note;
use measure::Nanos;
use model::{Grade, JobResult, Note, RunResult};

pub(super) const ID: &str = "impossible plan";

/// The first job whose settings prevented a measurement.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    result.jobs.iter().find_map(judge).into_iter().collect()
}

fn judge(job: &JobResult) -> Option<Note> {
    let workload = job.workload.as_ref()?;
    let (ramp, runtime) = (workload.ramp.as_secs_f64(), workload.runtime.map(Nanos::as_secs_f64));
    let evidence = [("ramp_s", ramp), ("runtime_s", runtime.unwrap_or(0.0))];
    let name = &job.echo.name;
    if ramp > 0.0 && job.ios() == 0 && job.error.is_none() {
        let sentence = format!("job `{name}` had done all its I/O within its ramp of {ramp} s: nothing was measured");
        return Some(note(ID, Grade::NotAStorageResult, sentence, &evidence));
    }
    let runtime = runtime?;
    (ramp > 0.0 && ramp >= runtime).then(|| {
        let sentence =
            format!("job `{name}` warms up for {ramp} s and measures {runtime} s: ramp_time is as long as runtime");
        note(ID, Grade::ValidWithLimits, sentence, &evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, workload};

    #[test]
    fn a_ramp_as_long_as_the_run_is_a_finding() {
        let mut result = clean_random_read();
        workload(&mut result).ramp = Nanos::from_millis(500);
        workload(&mut result).runtime = Some(Nanos::from_secs(10));
        assert_eq!(run(&result), []);
        workload(&mut result).ramp = Nanos::from_secs(10);
        assert!(run(&result)[0].sentence.contains("warms up for 10 s and measures 10 s"));
        result.jobs[0].directions = Default::default();
        assert_eq!(run(&result)[0].grade, Grade::NotAStorageResult);
    }
}
