//! The survey's result on disk: native JSON with every test's RunResult, written anew after each test.

use super::here;
use super::table::Row;
use super::target::Place;
use crate::failure::Failure;
use model::{Grade, RunResult, SCHEMA};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use survey::{Access, Nature, Wishes};

/// A whole survey, as it is written.
#[derive(Serialize)]
pub(crate) struct Survey<'rows> {
    schema: u32,
    program: String,
    command: &'static str,
    target: Target<'rows>,
    /// What was asked, so that it can be gone on with.
    request: &'rows Wishes,
    tests_planned: usize,
    tests: Vec<Test<'rows>>,
    sentences: &'rows [String],
    ended_by_signal: Option<i32>,
}

#[derive(Serialize)]
struct Target<'rows> {
    /// Absolute: who reads the result is elsewhere.
    path: PathBuf,
    file_system: Option<&'rows str>,
    nature: &'static str,
    size_bytes: u64,
    direct: bool,
    remarks: &'rows [String],
}

#[derive(Serialize)]
struct Test<'rows> {
    test: &'static str,
    key: String,
    users: u32,
    block_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_bytes: Option<u64>,
    options: &'rows [(String, String)],
    round: u32,
    grade: Grade,
    /// Written while it was measured; a survey that is gone on with measures it anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    under_way: bool,
    result: &'rows RunResult,
}

/// What is read of a survey that is gone on with.
#[derive(Deserialize)]
struct Earlier {
    command: String,
    request: Option<Wishes>,
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
    /// Everything that was found so far.
    pub(crate) fn of(place: &'rows Place, request: &'rows Wishes, planned: usize, rows: &'rows [Row]) -> Self {
        Survey {
            schema: SCHEMA,
            program: format!("plumb {}", env!("CARGO_PKG_VERSION")),
            command: "survey",
            target: Target {
                path: std::path::absolute(&place.shown).unwrap_or_else(|_| PathBuf::from(&place.shown)),
                file_system: place.file_system.as_deref(),
                nature: match place.target.nature {
                    Nature::WorkFile => "work_file",
                    Nature::ForeignFile => "file",
                    Nature::Device => "device",
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

    /// With a test that has not ended.
    pub(crate) fn and_under_way(mut self, row: &'rows Row) -> Self {
        self.tests.push(Test { under_way: true, ..test(row) });
        self
    }

    /// With what was concluded, and what cut it short.
    pub(crate) fn ended(self, sentences: &'rows [String], signal: Option<i32>) -> Self {
        Survey { sentences, ended_by_signal: signal, ..self }
    }
}

fn test(row: &Row) -> Test<'_> {
    Test {
        test: row.test.kind.id(),
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

/// What an earlier survey was asked, and the results it has, by their tests' keys.
pub(crate) fn read_earlier(path: &Path) -> Result<(Wishes, Vec<(String, RunResult)>), Failure> {
    let failure = |what: &dyn std::fmt::Display| Failure::new(format!("{}: {what}", path.display()));
    let text = std::fs::read(path).map_err(|error| failure(&format!("cannot be read: {error}")))?;
    let earlier: Earlier = serde_json::from_slice(&text)
        .map_err(|error| failure(&format!("is no survey that can be gone on with: {error}")))?;
    let Earlier { command, request: Some(request), tests } = earlier else {
        return Err(failure(&"does not say what was asked; it was made by an earlier version"));
    };
    if command != "survey" {
        return Err(failure(&"is no survey"));
    }
    let ended = tests.into_iter().filter(|test| !test.under_way);
    Ok((request, ended.map(|test| (test.key, test.result)).collect()))
}

/// The file the result will go to; made sure of before anything is measured, so that a survey never ends without a
/// place for its result.
#[derive(Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    part: PathBuf,
    /// Made and not yet renamed into place.
    pending: Option<File>,
}

impl ResultFile {
    /// Makes sure that `asked`, or a new name in `directory` or here, can be written.
    pub(crate) fn reserve(asked: Option<&Path>, directory: Option<&Path>) -> Result<Self, Failure> {
        if let Some(directory) = directory {
            std::fs::create_dir_all(directory)
                .map_err(|error| Failure::new(format!("{}: cannot be made: {error}", directory.display())))?;
        }
        match asked {
            Some(path) => Self::at(path).map_err(|error| {
                let why = match error.kind() {
                    io::ErrorKind::AlreadyExists => {
                        format!("{} is there: remove it unless another survey is writing it", part_of(path).display())
                    }
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
        if !replaceable(path)? {
            return Err(io::Error::other("it is there and no result of plumb; name another file"));
        }
        // New, or not at all: what lies there under this name is somebody's.
        let part = part_of(path);
        let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
        Ok(ResultFile { path: path.to_owned(), part, pending: Some(file) })
    }

    fn numbered(directory: &Path) -> io::Result<Self> {
        for number in 1..=999_999 {
            let path = directory.join(format!("plumb-survey-{number:03}.json"));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            match Self::at(&path) {
                // Another survey is about to write this one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other,
            }
        }
        Err(io::Error::other("all names up to plumb-survey-999999.json are taken"))
    }

    /// Writes the survey and makes it last, in one step for whoever looks; its path.
    pub(crate) fn write(&mut self, survey: &Survey<'_>) -> Result<&Path, Failure> {
        self.put(survey, Lasting::Synced)
    }

    /// The same while a test is measured: not flushed, for that would be measured, too.
    pub(crate) fn write_meanwhile(&mut self, survey: &Survey<'_>) -> Result<&Path, Failure> {
        self.put(survey, Lasting::Unsynced)
    }

    fn put(&mut self, survey: &Survey<'_>, lasting: Lasting) -> Result<&Path, Failure> {
        let written = serde_json::to_vec(survey).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            let mut file = match self.pending.take() {
                Some(file) => file,
                None => OpenOptions::new().write(true).create_new(true).open(&self.part)?,
            };
            let renamed = file
                .write_all(&text)
                .and_then(|()| if lasting == Lasting::Synced { file.sync_all() } else { Ok(()) })
                .and_then(|()| std::fs::rename(&self.part, &self.path));
            if renamed.is_err() {
                self.pending = Some(file);
            }
            renamed
        });
        match written {
            Ok(()) => Ok(&self.path),
            Err(error) => Err(Failure::writing(&self.path.display().to_string(), &error)),
        }
    }
}

/// Whether a written result must outlive a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    Synced,
    Unsynced,
}

/// The name under which a result is written before it takes its own.
fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// Whether a result may take the place of what is at `path`: nothing, an empty file, or an earlier survey. Never a
/// device (a rename would replace /dev/null by a file) and never somebody else's data.
fn replaceable(path: &Path) -> io::Result<bool> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() || found.len() == 0 {
        return Ok(found.is_file());
    }
    let mut head = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    Ok(head.starts_with("{\"schema\":") && head.contains(",\"program\":\"plumb "))
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        // Gone already where the result was renamed into place; then one of this name is somebody else's.
        if self.pending.is_some() {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unused_result_file_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        drop(ResultFile::at(&directory.path().join("r.json")).unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_under_the_name_of_the_unfinished_result_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (path, part) = (directory.path().join("r.json"), directory.path().join("r.json.part"));
        std::fs::write(&part, "my thesis\n").unwrap();
        let failure = ResultFile::reserve(Some(&path), None).unwrap_err();
        assert!(format!("{failure:?}").contains("r.json.part"), "{failure:?}");
        assert_eq!(std::fs::read_to_string(&part).unwrap(), "my thesis\n");
    }

    #[test]
    fn only_results_of_plumb_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.json");
        assert!(replaceable(&path).unwrap(), "nothing is there");
        for (text, expected) in [
            ("", true),
            ("{\"schema\":1,\"program\":\"plumb 0.1.0\",\"command\":\"survey\"}\n", true),
            ("{\"schema\":1,\"program\":\"other\"}\n", false),
            ("my thesis\n", false),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(replaceable(&path).unwrap(), expected, "{text}");
        }
        assert!(!replaceable(Path::new("/dev/null")).unwrap(), "a rename would replace the device");
        assert!(replaceable(directory.path()).is_err());
    }

    #[test]
    fn numbers_go_on_after_those_that_are_taken() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("plumb-survey-001.json"), "").unwrap();
        let first = ResultFile::numbered(directory.path()).unwrap();
        let second = ResultFile::numbered(directory.path()).unwrap();
        assert!(first.path.ends_with("plumb-survey-002.json"), "{first:?}");
        assert!(second.path.ends_with("plumb-survey-003.json"), "{second:?}");
    }
}
