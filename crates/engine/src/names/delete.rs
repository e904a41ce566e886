//! `filedelete` and `dirdelete`: unlink(2) and rmdir(2).

use super::{NameCall, ON_FILES, ON_NEW_NAMES};
use plan::{EngineOptions, EngineSpec};
use rustix::io::Errno;
use std::ffi::CStr;
use std::path::Path;

/// unlink(2).
#[derive(Debug)]
pub(crate) struct RemoveFile;

impl NameCall for RemoveFile {
    const SPEC: EngineSpec = EngineSpec {
        name: "filedelete",
        help: "Removes files (unlink(2)) that the layout made: one call per file",
        capabilities: ON_FILES,
        options: &[],
    };

    fn new(_options: &EngineOptions) -> Self {
        RemoveFile
    }

    /// Refuses everything except regular files and links: only its driver can recreate a device node, and other
    /// programs may use a pipe or socket.
    fn prepare(&self, path: &Path) -> std::io::Result<()> {
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() && !found.is_symlink() => {
                Err(std::io::Error::other("is not a regular file, and is not removed"))
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn call(&self, path: &CStr) -> Result<(), Errno> {
        rustix::fs::unlink(path)
    }
}

/// rmdir(2).
#[derive(Debug)]
pub(crate) struct RemoveDirectory;

impl NameCall for RemoveDirectory {
    const SPEC: EngineSpec = EngineSpec {
        name: "dirdelete",
        help: "Removes directories (rmdir(2)) that it made before: one call per directory",
        capabilities: ON_NEW_NAMES,
        options: &[],
    };

    fn new(_options: &EngineOptions) -> Self {
        RemoveDirectory
    }

    fn prepare(&self, path: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(path)
    }

    #[inline]
    fn call(&self, path: &CStr) -> Result<(), Errno> {
        rustix::fs::rmdir(path)
    }
}
