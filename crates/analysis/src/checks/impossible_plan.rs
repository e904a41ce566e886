//! Impossible plan: words that cannot give the number they ask for.
//!
//! What contradicts itself outright is refused before the run; what fio's words allow and no number survives is told here.
//! Signals: options of the jobs, I/Os that came about.

use super::note;
use crate::evidence::{option, seconds};
use model::{Grade, JobResult, Note, RunResult};

/// The name in notes.
pub(super) const ID: &str = "impossible plan";

/// Jobs that could not measure what they were to measure.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    result.jobs.iter().find_map(|job| judge(job, result)).into_iter().collect()
}

fn judge(job: &JobResult, result: &RunResult) -> Option<Note> {
    let time = |names: &[&str]| option(job, result, names).and_then(seconds);
    let (ramp, runtime) = (time(&["ramp_time"]).unwrap_or(0.0), time(&["runtime"]));
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
    use crate::fixtures::clean_random_read;

    #[test]
    fn a_ramp_as_long_as_the_run_is_told() {
        let mut result = clean_random_read();
        result.jobs[0].echo.options = vec![("ramp_time".into(), "500ms".into()), ("runtime".into(), "10".into())];
        assert_eq!(run(&result), []);
        result.jobs[0].echo.options[0].1 = "10s".into();
        assert!(run(&result)[0].sentence.contains("warms up for 10 s and measures 10 s"));
        result.jobs[0].directions = Default::default();
        assert_eq!(run(&result)[0].grade, Grade::NotAStorageResult);
    }
}
