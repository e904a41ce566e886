//! A directory of a test, which is removed with it: files written, read and listed in one line each.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A temporary directory. Its functions fail the test with the name of the file.
#[derive(Debug)]
pub struct Place(tempfile::TempDir);

impl Place {
    /// Creates a directory below `parent`.
    ///
    /// # Panics
    /// It cannot be created.
    #[track_caller]
    pub fn below(parent: impl AsRef<Path>) -> Self {
        let parent = parent.as_ref();
        Place(tempfile::tempdir_in(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display())))
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Path of a file in it, as a word of a command.
    pub fn word(&self, name: &str) -> String {
        self.file(name).to_string_lossy().into_owned()
    }

    /// True if there is such a file or directory.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    /// Writes a file and returns its path.
    ///
    /// # Panics
    /// It cannot be written.
    #[track_caller]
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("{name}: {error}"));
        path
    }

    /// Creates a directory in it and returns its path.
    ///
    /// # Panics
    /// It cannot be created.
    #[track_caller]
    pub fn directory(&self, name: &str) -> PathBuf {
        let path = self.file(name);
        fs::create_dir(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        path
    }

    /// The bytes of a file.
    ///
    /// # Panics
    /// It cannot be read.
    #[track_caller]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The text of a file.
    ///
    /// # Panics
    /// It cannot be read, or is not text.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The document in a file.
    ///
    /// # Panics
    /// It cannot be read, or is not JSON.
    #[track_caller]
    pub fn json(&self, name: &str) -> Value {
        let text = self.read(name);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
    }

    /// The names of the files and directories in it, in order.
    ///
    /// # Panics
    /// It cannot be read.
    #[track_caller]
    pub fn names(&self) -> Vec<String> {
        names(self.path())
    }
}

impl AsRef<Path> for Place {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}

/// The names of the files and directories in a directory, in order.
///
/// # Panics
/// It cannot be read.
#[track_caller]
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
