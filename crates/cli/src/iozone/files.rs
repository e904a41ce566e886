//! The files of a run: which of them existed before, and which are removed at the end.

use iozone::Settings;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of a run.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Each file, and true if it existed before.
    seen: BTreeMap<PathBuf, bool>,
}

impl Files {
    /// Records a file before it is used for the first time.
    pub(crate) fn use_file(&mut self, path: &Path) {
        if !self.seen.contains_key(path) {
            self.seen.insert(path.to_owned(), path.exists());
        }
    }

    /// Removes the regular files at the end of a run, unless they are kept (`-w`).
    pub(crate) fn clean(&mut self, settings: &Settings) {
        if !settings.keep {
            self.seen.keys().for_each(|path| remove(path));
        }
    }

    /// Removes the files that the run created, after a failure.
    pub(crate) fn clean_after_failure(&mut self, settings: &Settings) {
        if !settings.keep {
            self.seen.iter().filter(|&(_, was_there)| !was_there).for_each(|(path, _)| remove(path));
        }
    }
}

/// Removes a regular file; a device is never removed.
fn remove(path: &Path) {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        // Errors are ignored: a file that cannot be removed remains visible in its directory.
        let _ = std::fs::remove_file(path);
    }
}
