//! The directory with the results: a native result for each run, and the conclusion.

use crate::failure::Failure;
use crate::safe_files::{AtomicFile, Durability};
use model::RunResult;
use std::path::{Path, PathBuf};

/// The directory, if there is one.
#[derive(Debug)]
pub(super) struct Folder {
    path: Option<PathBuf>,
}

impl Folder {
    /// No directory: the results are printed.
    pub(super) const fn none() -> Self {
        Folder { path: None }
    }

    /// Creates this directory, which may exist if it is empty, or the first free `plumb-versus-NNN`.
    pub(super) fn make(asked: Option<&Path>) -> Result<Self, Failure> {
        let failed = |path: &Path, error: &std::io::Error| {
            Failure::at(path, format!("cannot be made: {error}; name another directory with -o"))
        };
        if let Some(path) = asked {
            std::fs::create_dir_all(path).map_err(|error| failed(path, &error))?;
            let is_empty = std::fs::read_dir(path).map_err(|error| failed(path, &error))?.next().is_none();
            return match is_empty {
                true => Ok(Folder { path: Some(path.to_owned()) }),
                false => Err(Failure::at(path, "is not empty; name a new directory for the results")),
            };
        }
        for number in 1..=999_999 {
            let path = PathBuf::from(format!("plumb-versus-{number:03}"));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path: Some(path) }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&path, &error)),
            }
        }
        Err(Failure::new("all names up to plumb-versus-999999 are taken; name a directory with -o"))
    }

    /// The directory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Writes the results of a round, A and B.
    pub(super) fn round(&self, number: usize, results: [&RunResult; 2]) -> Result<(), Failure> {
        for (side, result) in ["a", "b"].into_iter().zip(results) {
            self.put(&format!("{side}-{number:03}.json"), &formats::native::write(result)?)?;
        }
        Ok(())
    }

    /// Writes the conclusion; removes a directory without results.
    pub(super) fn conclusion(&self, text: &str) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        // Fails if there is something in it.
        if std::fs::remove_dir(path).is_ok() { Ok(()) } else { self.put("versus.json", text) }
    }

    fn put(&self, name: &str, text: &str) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        AtomicFile::at(&path.join(name))?.write(text.as_bytes(), Durability::Synced)
    }
}
