//! The files of a run: which were there before, and which go away at its end.

use iozone::Settings;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of a run.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Each, and whether it was there before.
    seen: BTreeMap<PathBuf, bool>,
}

impl Files {
    /// A file is about to be used.
    pub(crate) fn use_file(&mut self, path: &Path) {
        if !self.seen.contains_key(path) {
            self.seen.insert(path.to_owned(), path.exists());
        }
    }

    /// The run is over: regular files go, unless they are to be kept.
    pub(crate) fn clean(&mut self, settings: &Settings) {
        if !settings.keep {
            self.seen.keys().for_each(|path| remove(path));
        }
    }

    /// A run that failed leaves nothing behind that it made.
    pub(crate) fn clean_after_failure(&mut self, settings: &Settings) {
        if !settings.keep {
            self.seen.iter().filter(|&(_, was_there)| !was_there).for_each(|(path, _)| remove(path));
        }
    }
}

/// Removes a regular file; a device that was named is kept.
fn remove(path: &Path) {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        // A file that cannot be removed is seen by everybody.
        let _ = std::fs::remove_file(path);
    }
}
