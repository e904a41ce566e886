//! Nothing moved: the engine gives no data to any storage.
//!
//! Signals: the kind of work of the jobs' engines, the I/Os of the jobs.

use super::note;
use crate::run_facts::is_busy;
use model::{Grade, JobResult, Note, RunResult};
use plan::Work;

/// One note per engine without data. Next to jobs with data it is a limit of the sum; background work is meant so.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let alone = concerned(result).all(|job| idle_work(job).is_some());
    let grade = if alone { Grade::NotAStorageResult } else { Grade::ValidWithLimits };
    let mut notes: Vec<Note> = Vec::new();
    for job in concerned(result) {
        let Some(does) = idle_work(job).filter(|_| alone || work(job) != Work::Background) else { continue };
        let sentence = format!("engine `{}` {does}: none of its bytes went to or came from storage", job.echo.engine);
        if notes.iter().all(|known| known.sentence != sentence) {
            notes.push(note(grade, sentence, &[]));
        }
    }
    notes
}

/// Jobs with I/O, and those of engines that have none: a text of fio states no I/O of theirs.
fn concerned(result: &RunResult) -> impl Iterator<Item = &JobResult> {
    result.jobs.iter().filter(|job| is_busy(job) || (work(job) == Work::Background && job.error.is_none()))
}

fn work(job: &JobResult) -> Work {
    job.workload.as_ref().map_or(Work::Data, |workload| workload.work)
}

/// The work of an engine that moves no data.
fn idle_work(job: &JobResult) -> Option<&'static str> {
    match work(job) {
        Work::Data | Work::Stream => None,
        Work::Null => Some("drops every I/O"),
        Work::Allocation => Some("only changes the space of files"),
        Work::Metadata => Some("only makes, looks up or removes names of files"),
        Work::Background => Some("does no I/O"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean_random_read, workload};

    #[test]
    fn an_engine_that_drops_its_ios_is_named_once() {
        let mut result = clean_random_read();
        assert_eq!(run(&result), []);
        result.jobs[0].echo.engine = "dropper".into();
        workload(&mut result).work = Work::Null;
        result.jobs.push(result.jobs[0].clone());
        let notes = run(&result);
        assert_eq!((notes.len(), notes[0].grade), (1, Grade::NotAStorageResult));
        assert_eq!(
            notes[0].sentence,
            "engine `dropper` drops every I/O: none of its bytes went to or came from storage"
        );
        result.jobs[1] = clean_random_read().jobs.remove(0);
        assert_eq!(run(&result)[0].grade, Grade::ValidWithLimits, "the other job moved data");
        workload(&mut result).work = Work::Background;
        assert_eq!(run(&result), [], "it is meant to run next to others");
        result.jobs.truncate(1);
        assert_eq!(run(&result)[0].grade, Grade::NotAStorageResult);
        // As a text of fio has it: without any I/O.
        result.jobs[0].directions = Default::default();
        assert_eq!(
            run(&result)[0].sentence,
            "engine `dropper` does no I/O: none of its bytes went to or came from storage"
        );
        workload(&mut result).work = Work::Data;
        assert_eq!(run(&result), []);
    }
}
