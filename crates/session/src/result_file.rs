//! plumb's own result on disk during a run, so that a killed run leaves a result.
//!
//! Interim writes are not flushed to the medium: the flush would be part of the I/O that the run measures.

use crate::failure::Failure;
use crate::output::Output;
use crate::safe_files::{self, AtomicFile, Durability};
use crate::streams::{Streams, is_stdout};
use measure::Nanos;
use model::{Environment, Grade, Monitored, Note, RunResult, Surroundings};
use monitor::Places;
use std::path::Path;

/// Time between two writes during a run.
pub const SAVE_INTERVAL: Nanos = Nanos::from_secs(5);

/// Schedule of the interim writes.
#[derive(Debug)]
pub struct SaveSchedule {
    next: Nanos,
}

impl Default for SaveSchedule {
    /// Starts a schedule; the first write is due one interval after the start.
    fn default() -> Self {
        SaveSchedule { next: SAVE_INTERVAL }
    }
}

impl SaveSchedule {
    /// Returns true if a write is due `elapsed` after the start of the run.
    pub fn is_due(&mut self, elapsed: Nanos) -> bool {
        let due = elapsed >= self.next;
        if due {
            self.next = elapsed.saturating_add(SAVE_INTERVAL);
        }
        due
    }
}

/// The place of the result of `plumb fio --result`.
#[derive(Debug)]
pub struct ResultFile {
    /// `None` for standard output, which gets the result at the end only.
    file: Option<AtomicFile>,
    schedule: SaveSchedule,
}

impl ResultFile {
    /// Checks that the file can be written, before anything is measured; `-` is standard output.
    pub fn reserve(path: &Path) -> Result<Self, Failure> {
        let schedule = SaveSchedule::default();
        if is_stdout(path) {
            return Ok(ResultFile { file: None, schedule });
        }
        safe_files::check(path)?;
        Ok(ResultFile { file: Some(AtomicFile::at(path)?), schedule })
    }

    /// Returns true if the result so far should be written, `elapsed` after the start of the run.
    pub fn is_due(&mut self, elapsed: Nanos) -> bool {
        self.file.is_some() && self.schedule.is_due(elapsed)
    }

    /// Writes the result so far, with a note that says so.
    pub fn so_far(&mut self, result: &RunResult) -> Result<(), Failure> {
        let mut result = result.clone();
        result.notes.push(under_way());
        self.put(&result, Durability::Unsynced)
    }

    /// Writes the final result and flushes it to the medium.
    pub fn write(&mut self, result: &RunResult) -> Result<(), Failure> {
        self.put(result, Durability::Synced)
    }

    fn put(&mut self, result: &RunResult, durability: Durability) -> Result<(), Failure> {
        let text = formats::native::write(result)?;
        match &mut self.file {
            Some(file) => file.write(text.as_bytes(), durability),
            None => Output::stdout().write(&text),
        }
    }
}

/// The place of a command's document: a file, and standard output if that was asked for.
#[derive(Debug)]
pub struct DocumentFile {
    /// `None` if the document goes to standard output only.
    file: Option<AtomicFile>,
    /// True if standard output is for the document alone, which is printed at the end.
    pub prints: bool,
}

impl DocumentFile {
    /// Creates the file `asked`, or the first free `STEM-NNN.json` in `directory`, before anything is measured; none
    /// for `-`.
    pub fn reserve(asked: Option<&Path>, directory: &Path, stem: &str, streams: &Streams) -> Result<Self, Failure> {
        let file = match asked {
            Some(path) if is_stdout(path) => return Ok(DocumentFile { file: None, prints: true }),
            Some(path) => {
                if path.extension().is_some_and(|end| end == "html" || end == "pdf") {
                    return Err(Failure::new(format!(
                        "--output {}: the result is JSON, and its page has the same name with .html; write --output {}",
                        path.display(),
                        path.with_extension("json").display()
                    )));
                }
                safe_files::check(path)?;
                AtomicFile::at(path)?
            }
            None => AtomicFile::numbered(directory, stem).map_err(|error| {
                Failure::new(format!("the result cannot be written here: {error}; name another place with --output"))
            })?,
        };
        Ok(DocumentFile { file: Some(file), prints: streams.json })
    }

    /// The path of the file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(AtomicFile::path)
    }

    /// Writes the document so far with an atomic rename.
    pub fn write(&mut self, text: &str, durability: Durability) -> Result<(), Failure> {
        self.file.as_mut().map_or(Ok(()), |file| file.write(text.as_bytes(), durability))
    }
}

/// Gives the machine in an environment another name: `given`, or that of the environment variable `PLUMB_HOST`. An
/// empty name records none.
pub fn name_host(environment: &mut Environment, given: Option<String>) {
    if let Some(name) = given.or_else(|| std::env::var("PLUMB_HOST").ok()) {
        environment.host = Some(name).filter(|name| !name.is_empty());
    }
}

/// The surroundings of runs that have just ended, for the document with their results.
pub fn surroundings<'runs>(monitored: impl IntoIterator<Item = &'runs Monitored>) -> Surroundings {
    let mut places = Places::default();
    monitored.into_iter().for_each(|monitored| places.add(monitored));
    surroundings_of(&places)
}

/// The surroundings of runs in these places.
pub fn surroundings_of(places: &Places) -> Surroundings {
    places.surroundings(Path::new("/"), std::env::current_dir().ok().as_deref())
}

/// The note in a result that was written before its run ended.
pub fn under_way() -> Note {
    Note {
        check: "under_way".to_owned(),
        grade: Grade::ValidWithLimits,
        sentence: "the run had not ended when this was written: its numbers are those until then".to_owned(),
        evidence: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_due_every_five_seconds_however_late_a_look_is() {
        let mut schedule = SaveSchedule::default();
        let due: Vec<u64> =
            [1, 4, 5, 6, 9, 12, 13, 17].into_iter().filter(|&s| schedule.is_due(Nanos::from_secs(s))).collect();
        assert_eq!(due, [5, 12, 17]);
    }

    #[test]
    fn a_name_of_a_page_is_refused_for_a_result() {
        let named = |name: &str| DocumentFile::reserve(Some(Path::new(name)), Path::new("."), "x", &Streams::default());
        let message = named("/nowhere/a.html").unwrap_err().message().to_owned();
        assert!(message.ends_with("write --output /nowhere/a.json"), "{message}");
        assert!(named("/nowhere/a.pdf").unwrap_err().message().contains("the result is JSON"));
    }

    #[test]
    fn a_run_so_far_says_that_it_is_one_and_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.json");
        let mut kept = ResultFile::reserve(&path).unwrap();
        let mut result = RunResult::default();
        result.environment.program = "plumb 0.1.0".to_owned();
        kept.so_far(&result).unwrap();
        let read = formats::native::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read.notes, [under_way()]);
        drop(kept);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no other file is left");
        assert!(ResultFile::reserve(&path).is_ok(), "a result takes the place of an earlier one");
        assert!(formats::native::read(&std::fs::read_to_string(&path).unwrap()).is_ok(), "when it is there");
        let thesis = directory.path().join("thesis");
        std::fs::write(&thesis, "{ mine }").unwrap();
        assert!(ResultFile::reserve(&thesis).is_err(), "and of nothing else");
    }

    #[test]
    fn a_result_goes_to_regular_files_only() {
        let failure = ResultFile::reserve(Path::new("/dev/null")).unwrap_err();
        assert!(format!("{failure:?}").contains("/dev/null"), "{failure:?}");
    }
}
