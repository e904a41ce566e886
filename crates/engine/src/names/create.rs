//! `filecreate` and `dircreate`: open(2) with O_CREAT, and mkdir(2).

use super::{NameCall, ON_NEW_NAMES};
use plan::{EngineOptions, EngineSpec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;

/// open(2) with O_CREAT, then close(2).
#[derive(Debug)]
pub(crate) struct MakeFile;

impl NameCall for MakeFile {
    const SPEC: EngineSpec = EngineSpec {
        name: "filecreate",
        help: "Makes files (open(2) with O_CREAT) and moves no data: one call per file",
        capabilities: ON_NEW_NAMES,
        options: &[],
    };

    fn new(_options: &EngineOptions) -> Self {
        MakeFile
    }

    #[inline]
    fn call(&self, path: &CStr) -> Result<(), Errno> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map(drop)
    }
}

/// mkdir(2).
#[derive(Debug)]
pub(crate) struct MakeDirectory;

impl NameCall for MakeDirectory {
    const SPEC: EngineSpec = EngineSpec {
        name: "dircreate",
        help: "Makes directories (mkdir(2)): one call per directory",
        capabilities: ON_NEW_NAMES,
        options: &[],
    };

    fn new(_options: &EngineOptions) -> Self {
        MakeDirectory
    }

    #[inline]
    fn call(&self, path: &CStr) -> Result<(), Errno> {
        rustix::fs::mkdir(path, Mode::from_raw_mode(0o700))
    }
}
