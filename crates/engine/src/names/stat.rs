//! `filestat` and `dirstat`: stat(2), lstat(2) or statx(2), chosen by `stat_type`.

use super::{NameCall, ON_FILES, ON_NEW_NAMES};
use plan::option::{Kind, OptionSpec, works};
use plan::{EngineOptions, EngineSpec};
use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::path::Path;

/// Value of `stat_type`.
#[derive(Clone, Copy, Debug)]
enum StatType {
    Stat,
    LinkStat,
    Statx,
}

impl StatType {
    fn chosen(options: &EngineOptions) -> StatType {
        match options.text("stat_type") {
            Some("lstat") => StatType::LinkStat,
            Some("statx") => StatType::Statx,
            _ => StatType::Stat,
        }
    }

    #[inline]
    fn call(self, path: &CStr) -> Result<(), Errno> {
        match self {
            StatType::Stat => rustix::fs::stat(path).map(drop),
            StatType::LinkStat => rustix::fs::lstat(path).map(drop),
            StatType::Statx => rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::ALL).map(drop),
        }
    }
}

/// Calls stat on files.
#[derive(Debug)]
pub(crate) struct StatFile(StatType);

impl NameCall for StatFile {
    const SPEC: EngineSpec = EngineSpec {
        name: "filestat",
        help: "Looks at files (stat(2), lstat(2) or statx(2)) that the layout made: one call per file",
        capabilities: ON_FILES,
        options: OPTIONS,
    };

    fn new(options: &EngineOptions) -> Self {
        StatFile(StatType::chosen(options))
    }

    #[inline]
    fn call(&self, path: &CStr) -> Result<(), Errno> {
        self.0.call(path)
    }
}

/// Calls stat on directories.
#[derive(Debug)]
pub(crate) struct StatDirectory(StatType);

impl NameCall for StatDirectory {
    const SPEC: EngineSpec = EngineSpec {
        name: "dirstat",
        help: "Looks at directories (stat(2), lstat(2) or statx(2)) that it made before: one call per directory",
        capabilities: ON_NEW_NAMES,
        options: OPTIONS,
    };

    fn new(options: &EngineOptions) -> Self {
        StatDirectory(StatType::chosen(options))
    }

    fn prepare(&self, path: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(path)
    }

    #[inline]
    fn call(&self, path: &CStr) -> Result<(), Errno> {
        self.0.call(path)
    }
}

const OPTIONS: &[OptionSpec] = &[works(
    "stat_type",
    Kind::Word(&[("stat", "stat(2)"), ("lstat", "lstat(2)"), ("statx", "statx(2)")]),
    Some("stat"),
    "The call that looks at a name",
)];
