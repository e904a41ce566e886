//! plumb's own result on disk while a run lasts: what a killed run leaves.
//!
//! Written beside its place and renamed into it, so that whoever looks finds a whole document. Not flushed to the medium
//! in between: a flush would be measured by the run it is written for.

use crate::failure::Failure;
use crate::output::is_block_device;
use measure::Nanos;
use model::{Grade, Note, RunResult};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Between two writes of a run that goes on.
pub(crate) const EVERY: Nanos = Nanos::from_secs(5);

/// When the next one is due.
#[derive(Debug)]
pub(crate) struct Beat {
    next: Nanos,
}

impl Beat {
    /// The first one is due one interval after the start.
    pub(crate) fn new() -> Self {
        Beat { next: EVERY }
    }

    /// Whether one is due `elapsed` after the start of the run.
    pub(crate) fn is_due(&mut self, elapsed: Nanos) -> bool {
        let due = elapsed >= self.next;
        if due {
            self.next = elapsed.saturating_add(EVERY);
        }
        due
    }
}

/// A result file of `plumb fio --result`.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    beat: Beat,
}

impl Kept {
    /// Makes sure that it can be written, before anything is measured.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        if is_block_device(path) {
            return Err(Failure::new(format!("{shown}: is a block device; results go to a file")));
        }
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Failure::new(format!("{shown}: is no regular file; results go to a file")));
        }
        if !replaceable(path).map_err(|error| Failure::new(format!("{shown}: cannot be read: {error}")))? {
            return Err(Failure::new(format!("{shown}: is there and no result of plumb; name another file")));
        }
        let kept = Kept { path: path.to_owned(), beat: Beat::new() };
        replace(path, "").map_err(|error| Failure::new(format!("{shown}: cannot be written: {error}")))?;
        Ok(kept)
    }

    /// Whether the run so far is to be written, `elapsed` after its start.
    pub(crate) fn is_due(&mut self, elapsed: Nanos) -> bool {
        self.beat.is_due(elapsed)
    }

    /// Writes the run so far.
    pub(crate) fn so_far(&self, result: &RunResult) -> Result<(), Failure> {
        let mut result = result.clone();
        result.notes.push(under_way());
        self.write(&result)
    }

    /// Writes a result.
    pub(crate) fn write(&self, result: &RunResult) -> Result<(), Failure> {
        let text = formats::native::write(result).map_err(|error| Failure::new(error.to_string()))?;
        replace(&self.path, &text).map_err(|error| Failure::writing(&self.path.display().to_string(), &error))
    }
}

/// What speaks against the numbers of a run that had not ended.
pub(crate) fn under_way() -> Note {
    Note {
        check: "under_way".to_owned(),
        grade: Grade::ValidWithLimits,
        sentence: "the run had not ended when this was written: its numbers are those until then".to_owned(),
        evidence: Vec::new(),
    }
}

/// Whether nothing is at `path`, or an earlier result.
fn replaceable(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
        Ok(file) => file.take(64).read_to_end(&mut head)?,
    };
    let head = String::from_utf8_lossy(&head);
    Ok(head.is_empty() || (head.starts_with("{\n  \"schema\": ") && head.contains("\"program\": \"plumb")))
}

/// A file with this text in place of what was there, in one step for whoever looks.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_due_every_five_seconds_however_late_a_look_is() {
        let mut beat = Beat::new();
        let due: Vec<u64> =
            [1, 4, 5, 6, 9, 12, 13, 17].into_iter().filter(|&s| beat.is_due(Nanos::from_secs(s))).collect();
        assert_eq!(due, [5, 12, 17]);
    }

    #[test]
    fn a_run_so_far_says_that_it_is_one_and_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.json");
        let kept = Kept::create(&path).unwrap();
        let mut result = RunResult::default();
        result.environment.program = "plumb 0.1.0".to_owned();
        kept.so_far(&result).unwrap();
        let read = formats::native::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read.notes, [under_way()]);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
        assert!(Kept::create(&path).is_ok(), "a result takes the place of an earlier one");
        let thesis = directory.path().join("thesis");
        std::fs::write(&thesis, "{ mine }").unwrap();
        assert!(Kept::create(&thesis).is_err(), "and of nothing else");
    }

    #[test]
    fn a_result_goes_to_regular_files_only() {
        let failure = Kept::create(Path::new("/dev/null")).unwrap_err();
        assert!(format!("{failure:?}").contains("/dev/null"), "{failure:?}");
    }
}
