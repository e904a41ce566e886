//! The observer of a running test: shows progress, and saves the test in the survey's result every few seconds and at a
//! signal, so that an interrupted survey keeps it.

use super::progress::Display;
use super::save::{ResultFile, Survey};
use super::table::Row;
use crate::result_file::{Beat, under_way};
use crate::stuck_workers;
use measure::Nanos;
use model::RunResult;
use run::{Event, Observer, Request};
use survey::Test;

/// Shows the progress of a test and saves its result so far.
pub(super) struct Meanwhile<'a> {
    display: &'a mut Display,
    file: &'a mut ResultFile,
    test: &'a Test,
    /// The survey with all finished tests.
    survey: &'a dyn Fn() -> Survey<'a>,
    beat: Beat,
    /// True if the last write failed; the write after the test reports the error.
    failed: bool,
}

impl<'a> Meanwhile<'a> {
    /// Creates the observer of `test`; `survey` returns the finished tests.
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
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Save(so_far) => {
                let row = row(self.test, so_far.clone());
                self.failed = self.file.write_meanwhile(&(self.survey)().and_under_way(&row)).is_err();
            }
            Event::Abandoned(result) => self.abandon(result),
            other => self.display.event(other),
        }
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        (!self.failed && self.beat.is_due(elapsed)).then_some(Request::Save)
    }
}

impl Meanwhile<'_> {
    fn abandon(&mut self, result: &RunResult) {
        self.display.clear();
        stuck_workers::report_stuck(result, || {
            let row = row(self.test, result.clone());
            let survey = (self.survey)().and_under_way(&row).ended(&[], result.ended_by_signal);
            match self.file.write(&survey) {
                Ok(path) => {
                    stuck_workers::print_line(&format!("the result, with the test under way: {}", path.display()))
                }
                Err(failure) => stuck_workers::print_line(failure.message()),
            }
        });
    }
}

/// The row of a test that has not finished, with its result so far.
pub(super) fn row(test: &Test, mut result: RunResult) -> Row {
    result.notes.push(under_way());
    Row { test: test.clone(), result }
}

/// The row of a test that a signal interrupted; `None` if it has not completed any I/O.
pub(super) fn cut_short(test: &Test, result: RunResult) -> Option<Row> {
    result.has_ios().then(|| row(test, result))
}
