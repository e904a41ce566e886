//! The observer of a running test: shows progress, and saves the test in the survey's result every few seconds and at a
//! signal, so that an interrupted survey keeps it.

use super::save::{SavedSurvey, SurveyFile};
use crate::output::print_error;
use crate::result_file::{SaveSchedule, under_way};
use measure::Nanos;
use model::RunResult;
use run::{Event, Observer, Request};
use session::failure::report_stuck;
use session::progress::Display;
use survey::{FinishedTest, SurveyTest};

/// Shows the progress of a test and saves its result so far.
pub(super) struct Autosave<'a> {
    display: &'a mut Display,
    file: &'a mut SurveyFile,
    test: &'a SurveyTest,
    /// The survey with all finished tests.
    survey: &'a (dyn Fn() -> SavedSurvey<'a> + Sync),
    schedule: SaveSchedule,
    /// True if the last write failed; the write after the test reports the error.
    failed: bool,
}

impl<'a> Autosave<'a> {
    /// Creates the observer of `test`; `survey` returns the finished tests.
    pub(super) fn new(
        display: &'a mut Display,
        file: &'a mut SurveyFile,
        test: &'a SurveyTest,
        survey: &'a (dyn Fn() -> SavedSurvey<'a> + Sync),
    ) -> Self {
        Autosave { display, file, test, survey, schedule: SaveSchedule::default(), failed: false }
    }
}

impl Observer for Autosave<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Save(so_far) => {
                let row = row(self.test, so_far.clone());
                self.failed = self.file.write_unsynced(&(self.survey)().and_under_way(&row)).is_err();
            }
            Event::Abandoned(result) => self.abandon(result),
            other => self.display.event(other),
        }
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        (!self.failed && self.schedule.is_due(elapsed)).then_some(Request::Save)
    }
}

impl Autosave<'_> {
    fn abandon(&mut self, result: &RunResult) {
        self.display.clear();
        report_stuck(result, || {
            let row = row(self.test, result.clone());
            let survey = (self.survey)().and_under_way(&row).ended(&[], result.ended_by_signal);
            let finished = self.file.finish(&survey);
            print_error(&match (finished, self.file.path()) {
                (Ok(()), Some(path)) => format!("plumb: the result, with the interrupted test: {}", path.display()),
                (Ok(()), None) => "plumb: the result has the interrupted test".to_owned(),
                (Err(failure), _) => format!("plumb: {}", failure.message()),
            });
        });
    }
}

/// The row of a test that has not finished, with its result so far.
fn row(test: &SurveyTest, mut result: RunResult) -> FinishedTest {
    result.notes.push(under_way());
    FinishedTest::here(test.clone(), result)
}

/// The row of a test that a signal interrupted; `None` if it has not completed any I/O.
pub(super) fn interrupted(test: &SurveyTest, result: RunResult) -> Option<FinishedTest> {
    result.has_ios().then(|| row(test, result))
}
