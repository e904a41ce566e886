//! The survey's result on disk: native JSON with every test's RunResult, written again after each test.

use super::here;
use super::table::Row;
use crate::failure::Failure;
use crate::safe_files::{self, Lasting, Whole};
use model::{Grade, RunResult, SCHEMA};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use survey::OpenTarget;
use survey::{Access, SurveyRequest, TargetKind};

/// A whole survey, as written to the file.
#[derive(Serialize)]
pub(crate) struct Survey<'rows> {
    schema: u32,
    program: String,
    command: &'static str,
    target: Target<'rows>,
    /// The request, so that the survey can be resumed.
    request: &'rows SurveyRequest,
    tests_planned: usize,
    tests: Vec<Test<'rows>>,
    sentences: &'rows [String],
    ended_by_signal: Option<i32>,
}

#[derive(Serialize)]
struct Target<'rows> {
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
struct Test<'rows> {
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
    result: RunResult,
}

impl<'rows> Survey<'rows> {
    /// The survey with all tests finished so far.
    pub(crate) fn of(
        place: &'rows OpenTarget,
        request: &'rows SurveyRequest,
        planned: usize,
        rows: &'rows [Row],
    ) -> Self {
        Survey {
            schema: SCHEMA,
            program: format!("plumb {}", env!("CARGO_PKG_VERSION")),
            command: "survey",
            target: Target {
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
            tests_planned: planned,
            tests: rows.iter().map(test).collect(),
            sentences: &[],
            ended_by_signal: None,
        }
    }

    /// Adds a test that has not finished.
    pub(crate) fn and_under_way(mut self, row: &'rows Row) -> Self {
        self.tests.push(Test { under_way: true, ..test(row) });
        self
    }

    /// Adds the concluding sentences, and the signal that ended the survey.
    pub(crate) fn ended(self, sentences: &'rows [String], signal: Option<i32>) -> Self {
        Survey { sentences, ended_by_signal: signal, ..self }
    }
}

fn test(row: &Row) -> Test<'_> {
    Test {
        test: row.test.id(),
        key: row.test.key(),
        users: row.test.users,
        block_bytes: row.test.block,
        set_bytes: row.test.set,
        options: &row.test.extras,
        round: row.test.round,
        grade: analysis::grade(&row.result.notes),
        under_way: false,
        result: &row.result,
    }
}

/// Reads the request of an earlier survey and its finished results, by test key.
pub(crate) fn read_earlier(path: &Path) -> Result<(SurveyRequest, Vec<(String, RunResult)>), Failure> {
    let failure = |what: &dyn std::fmt::Display| Failure::new(format!("{}: {what}", path.display()));
    let text = sys::files::read_limited::read(path, crate::check::LARGEST)
        .map_err(|error| failure(&format!("cannot be read: {error}")))?;
    let earlier: Earlier = serde_json::from_slice(&text)
        .map_err(|error| failure(&format!("is not a survey that can be resumed: {error}")))?;
    let Earlier { command, request: Some(request), tests } = earlier else {
        return Err(failure(&"does not say what was asked; it was made by an earlier version"));
    };
    if command != "survey" {
        return Err(failure(&"is not a survey"));
    }
    let ended = tests.into_iter().filter(|test| !test.under_way);
    Ok((request, ended.map(|test| (test.key, test.result)).collect()))
}

/// The result file. It is created before anything is measured, so that no survey ends without a place for its result.
#[derive(Debug)]
pub(crate) struct ResultFile(Whole);

impl ResultFile {
    /// Creates the file `asked`, or a new numbered file in `directory` or the working directory.
    pub(crate) fn reserve(asked: Option<&Path>, directory: Option<&Path>) -> Result<Self, Failure> {
        if let Some(directory) = directory {
            std::fs::create_dir_all(directory)
                .map_err(|error| Failure::new(format!("{}: cannot be made: {error}", directory.display())))?;
        }
        match asked {
            Some(path) => Self::at(path).map_err(|error| {
                let why = match error.kind() {
                    io::ErrorKind::AlreadyExists => safe_files::in_the_way(path),
                    _ => error.to_string(),
                };
                Failure::new(format!("{}: the result cannot be written there: {why}", path.display()))
            }),
            None => Self::numbered(directory.unwrap_or(here())).map_err(|error| {
                Failure::new(format!("the result cannot be written here: {error}; name another place with --output"))
            }),
        }
    }

    fn at(path: &Path) -> io::Result<Self> {
        if !safe_files::may_replace(path)? {
            return Err(io::Error::other(safe_files::FOREIGN));
        }
        Whole::reserve(path).map(ResultFile)
    }

    fn numbered(directory: &Path) -> io::Result<Self> {
        for number in 1..=999_999 {
            let path = directory.join(format!("plumb-survey-{number:03}.json"));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            match Self::at(&path) {
                // Another survey has reserved this name and is writing its temporary file.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other,
            }
        }
        Err(io::Error::other("all names up to plumb-survey-999999.json are taken"))
    }

    /// Writes the survey with an atomic rename and flushes it to the medium. Returns its path.
    pub(crate) fn write(&mut self, survey: &Survey<'_>) -> Result<&Path, Failure> {
        self.put(survey, Lasting::Synced)
    }

    /// Same as `write` during a test: not flushed, because the flush would be part of the I/O that the test measures.
    pub(crate) fn write_meanwhile(&mut self, survey: &Survey<'_>) -> Result<&Path, Failure> {
        self.put(survey, Lasting::Unsynced)
    }

    fn put(&mut self, survey: &Survey<'_>, lasting: Lasting) -> Result<&Path, Failure> {
        let written = serde_json::to_vec(survey).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            self.0.put(&text, lasting)
        });
        match written {
            Ok(()) => Ok(self.0.path()),
            Err(error) => Err(Failure::writing(&self.0.path().display().to_string(), &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_after_those_that_are_taken() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("plumb-survey-001.json"), "").unwrap();
        let first = ResultFile::numbered(directory.path()).unwrap();
        let second = ResultFile::numbered(directory.path()).unwrap();
        assert!(first.0.path().ends_with("plumb-survey-002.json"), "{first:?}");
        assert!(second.0.path().ends_with("plumb-survey-003.json"), "{second:?}");
    }
}
