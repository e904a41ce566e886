//! A directory of a test, which is removed with it: files written, read and listed in one line each.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
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
    pub fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Path of a file in it, as a word of a command.
    pub fn word(&self, name: impl AsRef<Path>) -> String {
        self.file(name).to_string_lossy().into_owned()
    }

    /// True if there is such a file or directory.
    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        self.file(name).exists()
    }

    /// Writes a file and returns its path.
    ///
    /// # Panics
    /// It cannot be written.
    #[track_caller]
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Writes a program that can be executed and returns its path.
    ///
    /// # Panics
    /// It cannot be written.
    #[track_caller]
    pub fn program(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, text);
        let executable = PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, executable).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Creates a directory in it and returns its path.
    ///
    /// # Panics
    /// It cannot be created.
    #[track_caller]
    pub fn directory(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.file(name);
        fs::create_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// The bytes of a file.
    ///
    /// # Panics
    /// It cannot be read.
    #[track_caller]
    pub fn bytes(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.file(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The text of a file.
    ///
    /// # Panics
    /// It cannot be read, or is not text.
    #[track_caller]
    pub fn read(&self, name: impl AsRef<Path>) -> String {
        let name = name.as_ref();
        String::from_utf8(self.bytes(name)).unwrap_or_else(|error| panic!("{}: {error}", name.display()))
    }

    /// The document in a file.
    ///
    /// # Panics
    /// It cannot be read, or is not JSON.
    #[track_caller]
    pub fn json(&self, name: impl AsRef<Path>) -> Value {
        let name = name.as_ref();
        let text = self.read(name);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", name.display()))
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
