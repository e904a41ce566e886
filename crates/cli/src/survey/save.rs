//! The survey's result on disk: native JSON with every test's RunResult.

use super::table::Row;
use super::target::Place;
use super::{Nature, here, suite};
use crate::failure::Failure;
use model::{Grade, RunResult, SCHEMA};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A whole survey, as it is written.
#[derive(Serialize)]
pub(crate) struct Survey<'rows> {
    schema: u32,
    program: String,
    command: &'static str,
    target: Target<'rows>,
    tests: Vec<Test<'rows>>,
    sentences: &'rows [String],
    ended_by_signal: Option<i32>,
}

#[derive(Serialize)]
struct Target<'rows> {
    path: &'rows str,
    file_system: Option<&'rows str>,
    nature: &'static str,
    size_bytes: u64,
    direct: bool,
    remarks: &'rows [String],
}

#[derive(Serialize)]
struct Test<'rows> {
    test: &'static str,
    users: u32,
    block_bytes: u32,
    grade: Grade,
    result: &'rows RunResult,
}

impl<'rows> Survey<'rows> {
    /// Everything that was found.
    pub(crate) fn of(place: &'rows Place, rows: &'rows [Row], sentences: &'rows [String], signal: Option<i32>) -> Self {
        Survey {
            schema: SCHEMA,
            program: format!("plumb {}", env!("CARGO_PKG_VERSION")),
            command: "survey",
            target: Target {
                path: &place.shown,
                file_system: place.file_system.as_deref(),
                nature: match place.target.nature {
                    Nature::WorkFile => "work_file",
                    Nature::Device => "device",
                },
                size_bytes: place.target.size,
                direct: place.target.access == suite::Access::Direct,
                remarks: &place.remarks,
            },
            tests: rows
                .iter()
                .map(|row| Test {
                    test: row.test.kind.id(),
                    users: row.test.users,
                    block_bytes: row.test.kind.block_size(),
                    grade: analysis::grade(&row.result.notes),
                    result: &row.result,
                })
                .collect(),
            sentences,
            ended_by_signal: signal,
        }
    }
}

/// The file the result will go to; made before anything is measured, so that a survey never ends without a place
/// for its result, and removed again if nothing was written.
#[derive(Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    part: PathBuf,
    file: File,
}

impl ResultFile {
    /// Makes sure that `asked`, or a new name here, can be written.
    pub(crate) fn reserve(asked: Option<&Path>) -> Result<Self, Failure> {
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
            None => Self::numbered(here()).map_err(|error| {
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
        Ok(ResultFile { path: path.to_owned(), part, file })
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

    /// Writes the survey and makes it last; its path.
    pub(crate) fn write(&mut self, survey: &Survey<'_>) -> Result<&Path, Failure> {
        let written = serde_json::to_vec(survey).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            self.file.write_all(&text)?;
            self.file.sync_all()?;
            std::fs::rename(&self.part, &self.path)
        });
        match written {
            Ok(()) => Ok(&self.path),
            Err(error) => Err(Failure::writing(&self.path.display().to_string(), &error)),
        }
    }
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
        // Gone already once the result was renamed into place.
        let _ = std::fs::remove_file(&self.part);
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
        let failure = ResultFile::reserve(Some(&path)).unwrap_err();
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
