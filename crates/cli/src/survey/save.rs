//! The survey's result on disk: native JSON with every test's RunResult, written again after each test and during it.

use crate::failure::Failure;
use crate::output::{Output, print_error};
use crate::result_file::{DocumentFile, SaveSchedule, under_way};
use crate::safe_files::Durability;
use cluster::Summary;
use measure::Nanos;
use model::{Grade, RunResult, SCHEMA, Surroundings};
use run::{Event, Observer, Request};
use serde::{Deserialize, Serialize};
use session::failure::report_stuck;
use session::progress::Display;
use std::collections::HashMap;
use std::path::Path;
use survey::{Access, FinishedTest, OpenTarget, PreconditionResult, SurveyRequest, SurveyTest, TargetKind};

/// A whole survey, as written to the file.
#[derive(Serialize)]
pub(crate) struct SavedSurvey<'rows> {
    schema: u32,
    program: String,
    command: &'static str,
    target: SavedTarget<'rows>,
    /// The request, so that the survey can be resumed.
    request: &'rows SurveyRequest,
    /// The writes of `--precondition=steady`.
    #[serde(skip_serializing_if = "Option::is_none")]
    preconditioned: Option<&'rows PreconditionResult>,
    tests_planned: usize,
    tests: Vec<SavedTest<'rows>>,
    sentences: &'rows [String],
    ended_by_signal: Option<i32>,
    /// Absent until all tests have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    surroundings: Option<Surroundings>,
}

#[derive(Serialize)]
struct SavedTarget<'rows> {
    /// Absolute path, because the result may be read from another directory.
    path: String,
    file_system: Option<&'rows str>,
    #[serde(rename = "nature")]
    kind: &'static str,
    size_bytes: u64,
    direct: bool,
    remarks: &'rows [String],
}

#[derive(Serialize)]
struct SavedTest<'rows> {
    test: &'rows str,
    key: String,
    users: u32,
    block_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_bytes: Option<u64>,
    options: &'rows [(String, String)],
    round: u32,
    grade: Grade,
    /// True if the test was saved before it finished; a resumed survey runs it again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    under_way: bool,
    /// The members that ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'rows Summary>,
    result: &'rows RunResult,
}

/// The parts of a result that are needed to resume its survey.
#[derive(Deserialize)]
struct Earlier {
    command: String,
    request: SurveyRequest,
    tests: Vec<EarlierTest>,
}

#[derive(Deserialize)]
struct EarlierTest {
    key: String,
    #[serde(default)]
    under_way: bool,
    #[serde(default)]
    cluster: Option<Box<Summary>>,
    result: RunResult,
}

/// A test that an earlier survey finished: its result, and the members that ran it.
#[derive(Debug)]
pub(crate) struct EndedTest {
    pub(crate) result: RunResult,
    pub(crate) members: Option<Box<Summary>>,
}

impl<'rows> SavedSurvey<'rows> {
    /// The survey with all tests finished so far.
    pub(crate) fn of(
        place: &'rows OpenTarget,
        request: &'rows SurveyRequest,
        planned: usize,
        rows: &'rows [FinishedTest],
    ) -> Self {
        SavedSurvey {
            schema: SCHEMA,
            program: format!("plumb {}", env!("CARGO_PKG_VERSION")),
            command: "survey",
            target: SavedTarget {
                path: std::path::absolute(&place.shown)
                    .map_or_else(|_| place.shown.clone(), |path| path.to_string_lossy().into_owned()),
                file_system: place.file_system.as_deref(),
                kind: match place.target.kind {
                    TargetKind::WorkFile => "work_file",
                    TargetKind::ForeignFile => "file",
                    TargetKind::Device => "device",
                },
                size_bytes: place.target.total(),
                direct: place.target.access == Access::Direct,
                remarks: &place.remarks,
            },
            request,
            preconditioned: place.preconditioned.as_ref(),
            tests_planned: planned,
            tests: rows.iter().map(test).collect(),
            sentences: &[],
            ended_by_signal: None,
            surroundings: None,
        }
    }

    /// The document.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// Adds a test that has not finished.
    pub(crate) fn and_under_way(mut self, row: &'rows FinishedTest) -> Self {
        self.tests.push(SavedTest { under_way: true, ..test(row) });
        self
    }

    /// Adds the concluding sentences, and the signal that ended the survey.
    pub(crate) fn ended(self, sentences: &'rows [String], signal: Option<i32>) -> Self {
        SavedSurvey { sentences, ended_by_signal: signal, ..self }
    }

    /// Adds the surroundings of the tests, which have just ended.
    pub(crate) fn in_surroundings(self) -> Self {
        let monitored = self.tests.iter().filter_map(|test| test.result.monitored.as_ref());
        let surroundings = Some(crate::result_file::surroundings(monitored));
        SavedSurvey { surroundings, ..self }
    }
}

fn test(row: &FinishedTest) -> SavedTest<'_> {
    SavedTest {
        test: row.test.id(),
        key: row.planned().key(),
        users: row.test.users,
        block_bytes: row.test.block,
        set_bytes: row.test.set,
        options: &row.test.extras,
        round: row.test.round,
        grade: analysis::grade(&row.result.notes),
        under_way: false,
        cluster: row.members.as_deref(),
        result: &row.result,
    }
}

/// Reads the request of an earlier survey and its finished results, by test key.
pub(crate) fn read_earlier(path: &Path) -> Result<(SurveyRequest, HashMap<String, EndedTest>), Failure> {
    let text = sys::files::read_limited::read_text(path, crate::input::LARGEST)
        .map_err(|error| crate::input::unreadable(path, &error))?;
    let earlier: Earlier = serde_json::from_str(&text)
        .map_err(|error| Failure::at(path, format!("is not a survey that can be resumed: {error}")))?;
    let Earlier { command, request, tests } = earlier;
    if command != "survey" {
        return Err(Failure::at(path, "is not a survey"));
    }
    let ended = tests.into_iter().filter(|test| !test.under_way);
    let done = ended.map(|test| (test.key, EndedTest { result: test.result, members: test.cluster }));
    Ok((request, done.collect()))
}

/// The observer of a running test: shows progress, and saves the test every few seconds and at a signal, so that an
/// interrupted survey keeps it.
pub(super) struct Autosave<'a> {
    pub(super) display: &'a mut Display,
    pub(super) file: &'a mut DocumentFile,
    pub(super) test: &'a SurveyTest,
    /// The survey with all finished tests.
    pub(super) survey: &'a (dyn Fn() -> SavedSurvey<'a> + Sync),
    pub(super) schedule: SaveSchedule,
    /// True if the last write failed; the write after the test reports the error.
    pub(super) failed: bool,
}

impl Observer for Autosave<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Save(so_far) => {
                let row = row(self.test, so_far.clone());
                // Not flushed, because the flush would be part of the I/O that the test measures.
                let text = (self.survey)().and_under_way(&row).text();
                self.failed = text.and_then(|text| self.file.write(&text, Durability::Unsynced)).is_err();
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
            let finished = finish(self.file, &survey);
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

/// Writes the ended survey: to the file, then to standard output.
pub(super) fn finish(file: &mut DocumentFile, survey: &SavedSurvey<'_>) -> Result<(), Failure> {
    let text = survey.text()?;
    file.write(&text, Durability::Synced)?;
    if file.prints { Output::stdout().write(&text) } else { Ok(()) }
}
