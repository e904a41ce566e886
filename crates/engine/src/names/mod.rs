//! Metadata engines: each creates, stats or removes a file or directory, once per file and pass.
//!
//! A pass over a file has one I/O for each block of its size. The first makes the call and is timed; the others are
//! only counted, as in fio. With one block per file, the usual setup, each I/O is a call.

mod create;
mod delete;
mod stat;

pub(crate) use create::{MakeDirectory, MakeFile};
pub(crate) use delete::{RemoveDirectory, RemoveFile};
pub(crate) use stat::{StatDirectory, StatFile};

use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Submitted};
use measure::SystemClock;
use plan::{Capabilities, EngineOptions, EngineSpec, Submission, Work};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A call on a path.
pub(crate) trait NameCall: Sized + 'static {
    /// Name, help, capabilities and options of its engine.
    const SPEC: EngineSpec;

    /// Selects the call from the options.
    fn new(options: &EngineOptions) -> Self;

    /// Creates the directories that the call needs and that the layout does not create.
    fn prepare(&self, path: &Path) -> std::io::Result<()> {
        let _ = path;
        Ok(())
    }

    /// Makes the call.
    fn call(&self, path: &CStr) -> Result<(), Errno>;
}

/// Capabilities of a metadata engine that creates its files, or creates what it needs.
const ON_NEW_NAMES: Capabilities = Capabilities::new(Submission::Synchronous, Work::Metadata);

/// Capabilities of a metadata engine whose files must exist.
const ON_FILES: Capabilities = Capabilities { needs_files: true, ..ON_NEW_NAMES };

/// The engine for one kind of call.
#[derive(Debug)]
pub(crate) struct Names<C> {
    call: C,
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

impl<C: NameCall> Engine for Names<C> {
    type Clock = SystemClock;

    const SPEC: EngineSpec = C::SPEC;

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let call = C::new(setup.options);
        let mut names = Vec::with_capacity(setup.targets.len());
        for target in setup.targets {
            let failed = |error: std::io::Error| EngineError {
                engine: C::SPEC.name,
                operation: "prepare",
                message: format!("{}: {error}", target.path.display()),
                errno: error.raw_os_error().unwrap_or(libc::EINVAL),
            };
            call.prepare(&target.path).map_err(failed)?;
            let path = CString::new(target.path.as_os_str().as_bytes()).map_err(|error| failed(error.into()))?;
            names.push(Name { path, size: target.size, passed: 0 });
        }
        Ok(Names { call, names: names.into(), made_call: false })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let done = |result| Submitted::Done(Completion { slot: io.slot, result });
        // No file is open that could be synced.
        let (Operation::Read | Operation::Write) = io.operation else { return done(0) };
        let name = &mut self.names[io.target as usize];
        self.made_call = name.passed == 0;
        if self.made_call
            && let Err(error) = self.call.call(&name.path)
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
