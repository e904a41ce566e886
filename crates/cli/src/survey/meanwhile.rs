//! A test under way: shown, and kept in the survey's result every few seconds and at a signal, so that a survey that is
//! killed or cut short leaves it.

use super::progress::Display;
use super::save::{ResultFile, Survey};
use super::table::Row;
use crate::kept::{Beat, under_way};
use crate::left;
use measure::Nanos;
use model::RunResult;
use run::{Observer, Progress};
use survey::Test;

/// Shows a test and keeps what it has found so far.
pub(super) struct Meanwhile<'a> {
    display: &'a mut Display,
    file: &'a mut ResultFile,
    test: &'a Test,
    /// What was found before.
    survey: &'a dyn Fn() -> Survey<'a>,
    beat: Beat,
    /// The last write failed; the one after the test tells of it.
    failed: bool,
}

impl<'a> Meanwhile<'a> {
    /// Of `test`, after what `survey` holds.
    pub(super) fn new(
        display: &'a mut Display,
        file: &'a mut ResultFile,
        test: &'a Test,
        survey: &'a dyn Fn() -> Survey<'a>,
    ) -> Self {
        Meanwhile { display, file, test, survey, beat: Beat::new(), failed: false }
    }
}

impl Observer for Meanwhile<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.display.progress(progress);
    }

    fn note(&mut self, text: &str) {
        self.display.note(text);
    }

    fn keeping_wanted(&mut self, elapsed: Nanos) -> bool {
        !self.failed && self.beat.is_due(elapsed)
    }

    fn keep(&mut self, so_far: &RunResult) {
        let row = row(self.test, so_far.clone());
        self.failed = self.file.write_meanwhile(&(self.survey)().and_under_way(&row)).is_err();
    }

    fn finding(&mut self, text: &str) {
        self.display.finding(text);
    }

    fn abandoned(&mut self, result: &RunResult) {
        self.display.clear();
        left::behind(result, || {
            let row = row(self.test, result.clone());
            let survey = (self.survey)().and_under_way(&row).ended(&[], result.ended_by_signal);
            match self.file.write(&survey) {
                Ok(path) => left::say(&format!("the result, with the test under way: {}", path.display())),
                Err(failure) => left::say(failure.message()),
            }
        });
    }
}

/// What a test that has not ended found until then.
pub(super) fn row(test: &Test, mut result: RunResult) -> Row {
    result.notes.push(under_way());
    Row { test: test.clone(), result }
}

/// The same of one that a signal cut short; `None` where it had not moved anything yet.
pub(super) fn cut_short(test: &Test, result: RunResult) -> Option<Row> {
    result.has_ios().then(|| row(test, result))
}
