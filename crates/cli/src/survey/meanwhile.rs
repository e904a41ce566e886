//! A test under way: shown, and kept in the survey's result every few seconds, so that a killed survey leaves it.

use super::progress::Display;
use super::save::{ResultFile, Survey};
use super::table::Row;
use crate::kept::{Beat, under_way};
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
        let mut result = so_far.clone();
        result.notes.push(under_way());
        let row = Row { test: self.test.clone(), result };
        self.failed = self.file.write_meanwhile(&(self.survey)().and_under_way(&row)).is_err();
    }
}
