//! The survey's result on disk: native JSON with every test's RunResult, written again after each test.

use crate::failure::Failure;
use crate::output::Output;
use crate::safe_files::{self, AtomicFile, Durability};
use crate::streams::{Streams, is_stdout};
use cluster::Summary;
use model::{Grade, RunResult, SCHEMA, Surroundings};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use survey::{Access, FinishedTest, OpenTarget, Preconditioned, SurveyRequest, TargetKind};

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
    preconditioned: Option<&'rows Preconditioned>,
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
    request: Option<SurveyRequest>,
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
pub(crate) type Done = (RunResult, Option<Box<Summary>>);

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
pub(crate) fn read_earlier(path: &Path) -> Result<(SurveyRequest, Vec<(String, Done)>), Failure> {
    let text = sys::files::read_limited::read_text(path, crate::input::LARGEST)
        .map_err(|error| crate::input::unreadable(path, &error))?;
    let earlier: Earlier = serde_json::from_str(&text)
        .map_err(|error| Failure::at(path, format!("is not a survey that can be resumed: {error}")))?;
    let Earlier { command, request: Some(request), tests } = earlier else {
        return Err(Failure::at(path, "has no request; it was made by an earlier version"));
    };
    if command != "survey" {
        return Err(Failure::at(path, "is not a survey"));
    }
    let ended = tests.into_iter().filter(|test| !test.under_way);
    let result = |mut result: RunResult| {
        // Earlier versions stored the phases alone.
        result.lasting = analysis::regime::lasting(&result.phases);
        result
    };
    Ok((request, ended.map(|test| (test.key, (result(test.result), test.cluster))).collect()))
}

/// The place of the result. A file is created before anything is measured, so that no survey ends without a place for its
/// result.
#[derive(Debug)]
pub(crate) struct SurveyFile {
    /// `None` if the result goes to standard output only.
    file: Option<AtomicFile>,
    /// True if the result goes to standard output at the end.
    prints: bool,
}

impl SurveyFile {
    /// Creates the file `asked`, or a new numbered file in `directory` or the working directory; none for `-`.
    pub(crate) fn reserve(asked: Option<&Path>, directory: Option<&Path>, streams: &Streams) -> Result<Self, Failure> {
        if asked.is_some_and(is_stdout) {
            return Ok(SurveyFile { file: None, prints: true });
        }
        if let Some(directory) = directory {
            std::fs::create_dir_all(directory)
                .map_err(|error| Failure::at(directory, format!("cannot be made: {error}")))?;
        }
        let file = match asked {
            Some(path) => Self::at(path).map_err(|error| {
                let why = match error.kind() {
                    io::ErrorKind::AlreadyExists => safe_files::part_exists(path),
                    _ => error.to_string(),
                };
                Failure::at(path, format!("the result cannot be written there: {why}"))
            }),
            None => AtomicFile::numbered(directory.unwrap_or(Path::new(".")), "plumb-survey").map_err(|error| {
                Failure::new(format!("the result cannot be written here: {error}; name another place with --output"))
            }),
        };
        Ok(SurveyFile { file: Some(file?), prints: streams.json })
    }

    fn at(path: &Path) -> io::Result<AtomicFile> {
        if !safe_files::may_replace(path)? {
            return Err(io::Error::other(safe_files::FOREIGN));
        }
        AtomicFile::reserve(path)
    }

    /// The path of the file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(AtomicFile::path)
    }

    /// True if standard output is for the result alone.
    pub(crate) const fn prints(&self) -> bool {
        self.prints
    }

    /// Writes the survey so far with an atomic rename and flushes it to the medium.
    pub(crate) fn write(&mut self, survey: &SavedSurvey<'_>) -> Result<(), Failure> {
        self.put(survey, Durability::Synced)
    }

    /// Same as `write` during a test: not flushed, because the flush would be part of the I/O that the test measures.
    pub(crate) fn write_unsynced(&mut self, survey: &SavedSurvey<'_>) -> Result<(), Failure> {
        self.put(survey, Durability::Unsynced)
    }

    /// Writes the ended survey: to the file, then to standard output.
    pub(crate) fn finish(&mut self, survey: &SavedSurvey<'_>) -> Result<(), Failure> {
        self.write(survey)?;
        if self.prints { Output::stdout().write(&text(survey)?) } else { Ok(()) }
    }

    fn put(&mut self, survey: &SavedSurvey<'_>, durability: Durability) -> Result<(), Failure> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write(text(survey)?.as_bytes(), durability)
    }
}

fn text(survey: &SavedSurvey<'_>) -> Result<String, Failure> {
    Ok(serde_json::to_string(survey)? + "\n")
}
