//! Metadata engines: each creates, stats or removes a file or directory, once per file and pass.
//!
//! A pass over a file has one I/O for each block of its size. The first makes the call and is timed; the others are
//! only counted, as in fio. With one block per file, the usual setup, each I/O is a call.

use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Submitted};
use measure::SystemClock;
use plan::option::{Kind, OptionSpec};
use plan::{Capabilities, EngineOptions, EngineSpec, Submission, Work, options};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A call on a path, and its engine.
struct NameCall {
    spec: EngineSpec,
    /// Creates the directories that the call needs and that the layout does not create.
    prepare: fn(&Path) -> io::Result<()>,
    /// Makes the call.
    call: fn(&CStr, Stat) -> Result<(), Errno>,
}

/// Value of `stat_type`.
#[derive(Clone, Copy, Debug)]
enum Stat {
    Path,
    Link,
    Statx,
}

/// Capabilities of a metadata engine that creates its files, or creates what it needs.
const ON_NEW_NAMES: Capabilities = Capabilities::new(Submission::Synchronous, Work::Metadata);

/// Capabilities of a metadata engine whose files must exist.
const ON_FILES: Capabilities = Capabilities { needs_files: true, ..ON_NEW_NAMES };

const STAT_TYPES: Kind = Kind::Word(&[("stat", "stat(2)"), ("lstat", "lstat(2)"), ("statx", "statx(2)")]);

const STAT_OPTIONS: &[OptionSpec] = options! {
    "stat_type": STAT_TYPES, "stat"; "The call that looks at a name";
};

/// The calls, by the number of their engine, [`Names`].
const CALLS: [NameCall; 6] = [
    NameCall {
        spec: EngineSpec {
            name: "filecreate",
            help: "Makes files (open(2) with O_CREAT) and moves no data: one call per file",
            capabilities: ON_NEW_NAMES,
            options: &[],
        },
        prepare: |_| Ok(()),
        call: |path, _| {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map(drop)
        },
    },
    NameCall {
        spec: EngineSpec {
            name: "filestat",
            help: "Looks at files (stat(2), lstat(2) or statx(2)) that the layout made: one call per file",
            capabilities: ON_FILES,
            options: STAT_OPTIONS,
        },
        prepare: |_| Ok(()),
        call: look_at,
    },
    NameCall {
        spec: EngineSpec {
            name: "filedelete",
            help: "Removes files (unlink(2)) that the layout made: one call per file",
            capabilities: ON_FILES,
            options: &[],
        },
        // Only its driver can recreate a device node, and other programs may use a pipe or socket.
        prepare: |path| match std::fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() && !found.is_symlink() => {
                Err(io::Error::other("is not a regular file, and is not removed"))
            }
            _ => Ok(()),
        },
        call: |path, _| rustix::fs::unlink(path),
    },
    NameCall {
        spec: EngineSpec {
            name: "dircreate",
            help: "Makes directories (mkdir(2)): one call per directory",
            capabilities: ON_NEW_NAMES,
            options: &[],
        },
        prepare: |_| Ok(()),
        call: |path, _| rustix::fs::mkdir(path, Mode::from_raw_mode(0o700)),
    },
    NameCall {
        spec: EngineSpec {
            name: "dirstat",
            help: "Looks at directories (stat(2), lstat(2) or statx(2)) that it made before: one call per directory",
            capabilities: ON_NEW_NAMES,
            options: STAT_OPTIONS,
        },
        prepare: |path| std::fs::create_dir_all(path),
        call: look_at,
    },
    NameCall {
        spec: EngineSpec {
            name: "dirdelete",
            help: "Removes directories (rmdir(2)) that it made before: one call per directory",
            capabilities: ON_NEW_NAMES,
            options: &[],
        },
        prepare: |path| std::fs::create_dir_all(path),
        call: |path, _| rustix::fs::rmdir(path),
    },
];

fn look_at(path: &CStr, stat: Stat) -> Result<(), Errno> {
    match stat {
        Stat::Path => rustix::fs::stat(path).map(drop),
        Stat::Link => rustix::fs::lstat(path).map(drop),
        Stat::Statx => rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::ALL).map(drop),
    }
}

fn stat_type(options: &EngineOptions) -> Stat {
    match options.text("stat_type") {
        Some("lstat") => Stat::Link,
        Some("statx") => Stat::Statx,
        _ => Stat::Path,
    }
}

/// The engine of one of the [`CALLS`], a constant, so that its call is direct.
#[derive(Debug)]
pub(crate) struct Names<const CALL: usize> {
    stat: Stat,
    names: Box<[Name]>,
    made_call: bool,
}

/// A path, and the progress of the current pass over its file.
#[derive(Debug)]
struct Name {
    path: CString,
    size: u64,
    passed: u64,
}

impl<const CALL: usize> Engine for Names<CALL> {
    type Clock = SystemClock;

    const SPEC: EngineSpec = CALLS[CALL].spec;

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let mut names = Vec::with_capacity(setup.targets.len());
        for target in setup.targets {
            let failed = |error: io::Error| EngineError {
                engine: Self::SPEC.name,
                operation: "prepare",
                message: format!("{}: {error}", target.path.display()),
                errno: error.raw_os_error().unwrap_or(libc::EINVAL),
            };
            (CALLS[CALL].prepare)(&target.path).map_err(failed)?;
            let path = CString::new(target.path.as_os_str().as_bytes()).map_err(|error| failed(error.into()))?;
            names.push(Name { path, size: target.size, passed: 0 });
        }
        Ok(Names { stat: stat_type(setup.options), names: names.into(), made_call: false })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let done = |result| Submitted::Done(Completion { slot: io.slot, result });
        // No file is open that could be synced.
        let (Operation::Read | Operation::Write) = io.operation else { return done(0) };
        let name = &mut self.names[io.target as usize];
        self.made_call = name.passed == 0;
        if self.made_call
            && let Err(error) = (const { CALLS[CALL].call })(&name.path, self.stat)
        {
            return done(-i64::from(error.raw_os_error()));
        }
        name.passed += u64::from(io.length);
        if name.passed >= name.size {
            name.passed = 0;
        }
        done(i64::from(io.length))
    }

    #[inline]
    fn made_call(&self) -> bool {
        self.made_call
    }
}
