//! Engines that call on names: make, look at, or remove a file or a directory, once per file and pass.
//!
//! A pass over a file is as many I/Os as its size holds blocks; the first makes the call and is timed, the others count
//! only, as fio counts. With one block per file, which is what one measures with, every I/O is a call.

mod create;
mod delete;
mod stat;

pub(crate) use create::{MakeDirectory, MakeFile};
pub(crate) use delete::{RemoveDirectory, RemoveFile};
pub(crate) use stat::{StatDirectory, StatFile};

use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Submitted};
use job::{Capabilities, EngineOptions, EngineSpec, Submission, Work};
use measure::SystemClock;
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is done to a name.
pub(crate) trait NameCall: Sized {
    /// Name, help, abilities, options of its engine.
    const SPEC: EngineSpec;

    /// Chooses the call.
    fn new(options: &EngineOptions) -> Self;

    /// Makes what the call needs and the layout does not make: directories.
    fn prepare(&self, path: &Path) -> std::io::Result<()> {
        let _ = path;
        Ok(())
    }

    /// The call.
    fn call(&self, path: &CStr) -> Result<(), Errno>;
}

/// Abilities of an engine on names that makes them, or makes what it needs, itself.
const ON_NEW_NAMES: Capabilities = Capabilities {
    submission: Submission::Synchronous,
    work: Work::Names,
    needs_files: false,
    trim: false,
    virtual_time: false,
};

/// Abilities of an engine on names of files that must be there.
const ON_FILES: Capabilities = Capabilities { needs_files: true, ..ON_NEW_NAMES };

/// An engine around a call.
#[derive(Debug)]
pub(crate) struct Names<C> {
    call: C,
    names: Box<[Name]>,
    made_call: bool,
}

/// A name, and how far this pass over its file has come.
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
        // There is nothing open that could be synchronised.
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
