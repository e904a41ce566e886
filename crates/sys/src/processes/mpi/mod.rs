//! Messages between processes that a launcher of MPI has started (mpirun, srun), through the MPI library of the site,
//! which is loaded at run time.
//!
//! No header and no compiler of an MPI is needed: three tables say how handles and statuses look in the three ABIs that
//! exist (`tables.rs`), and a library that fits none is refused by name before it is initialised. No call waits, so a
//! caller can sleep between them: a rank that waits inside of MPI uses a whole processor.

mod calls;
mod tables;

use calls::Calls;
use libloading::os::unix::Library;
use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::ffi::OsStr;
use tables::Abi;

/// Tag of all messages.
const TAG: i32 = 2406;

/// An MPI library that cannot be used, or a call of it that failed.
#[derive(Debug, thiserror::Error)]
pub enum MpiError {
    /// The dynamic loader's reason.
    #[error("{0}")]
    NotLoaded(String),
    /// Not an MPI, or one with an ABI that no table describes.
    #[error(
        "it calls itself `{0}`, which has none of the ABIs that are known here: Open MPI's, MPICH's (also of Intel MPI, Cray MPICH and MVAPICH), and the standard one of MPI 5"
    )]
    UnknownAbi(String),
    /// A call that MPI refused.
    #[error("{call}: {why}")]
    Call {
        /// The call.
        call: &'static str,
        /// MPI's text.
        why: String,
    },
    /// A message that is longer than MPI can count.
    #[error("a message of {0} bytes is longer than MPI can send")]
    TooLong(usize),
}

impl MpiError {
    /// The loader's own words, which name file and symbol.
    fn of(error: &libloading::Error) -> Self {
        let words = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        MpiError::NotLoaded(words)
    }
}

/// An MPI library that is loaded, and whose ABI is known. It is not initialised: the process may still start others.
pub struct Loaded {
    calls: Box<dyn Calls>,
    version: String,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("version", &self.version).finish_non_exhaustive()
    }
}

/// Loads a library by its name or path, and asks for its name.
///
/// # Errors
/// It cannot be loaded, or its ABI is unknown.
pub fn load(library: &OsStr) -> Result<Loaded, MpiError> {
    let flags = libc::RTLD_NOW | libc::RTLD_GLOBAL;
    // SAFETY: the initialisers of an MPI library are made to run in any program. Its plugins look for its symbols, so
    // they are global.
    let library = unsafe { Library::open(Some(library), flags) }.map_err(|error| MpiError::of(&error))?;
    let version = tables::version(&library)?;
    let abi = tables::abi(&library, &version)?;
    let calls: Box<dyn Calls> = match abi {
        Abi::Mpich(table) => Box::new(calls::Bound::new(library, table)?),
        Abi::OpenMpi(table) | Abi::Standard(table) => Box::new(calls::Bound::new(library, table)?),
    };
    Ok(Loaded { calls, version })
}

impl Loaded {
    /// Name and number: `Open MPI 4.1.4`, `MPICH 4.0.2`.
    pub fn name(&self) -> String {
        short_name(&self.version)
    }

    /// Initialises MPI. The launcher ends a process that was started after this as it likes: start others before.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn initialise(mut self) -> Result<World, MpiError> {
        self.calls.initialise()?;
        let (rank, size) = (self.calls.rank()?, self.calls.size()?);
        Ok(World { calls: self.calls, rank, size, sends: Vec::new(), arriving: VecDeque::new() })
    }
}

/// The words up to the number, without what was built when: `MPICH Version:\t4.0.2\nMPICH Release date ..`.
fn short_name(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default().split(',').next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().filter(|word| !["Version:", "Library"].contains(word)).collect();
    let bare = |word: &&str| match word.strip_prefix('v') {
        Some(number) if number.starts_with(|letter: char| letter.is_ascii_digit()) => number.to_owned(),
        _ => (*word).to_owned(),
    };
    words.iter().map(bare).collect::<Vec<_>>().join(" ")
}

/// A message that is sent; MPI reads it until the call has completed.
struct Sending {
    request: u64,
    _bytes: Vec<u8>,
}

/// A message that arrives. MPI writes it until the call has completed.
struct Arriving {
    from: u32,
    /// `None` once it is whole.
    request: Option<u64>,
    bytes: Vec<u8>,
}

/// All processes that the launcher has started, seen from this one.
pub struct World {
    calls: Box<dyn Calls>,
    rank: u32,
    size: u32,
    sends: Vec<Sending>,
    /// In the order in which they were sent, for each sender.
    arriving: VecDeque<Arriving>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl World {
    /// Number of this process, from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Begins to send a message to another process.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn send(&mut self, to: u32, bytes: Vec<u8>) -> Result<(), MpiError> {
        let request = self.calls.send(&bytes, to)?;
        self.sends.push(Sending { request, _bytes: bytes });
        Ok(())
    }

    /// Moves all messages on. Returns one that is whole, with its sender.
    ///
    /// # Errors
    /// A call of MPI failed.
    pub fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>, MpiError> {
        while let Some((from, length)) = self.calls.probe()? {
            let mut bytes = vec![0; length];
            let request = self.calls.receive(&mut bytes, from)?;
            self.arriving.push_back(Arriving { from, request: Some(request), bytes });
        }
        for sending in std::mem::take(&mut self.sends) {
            if !self.calls.is_complete(sending.request)? {
                self.sends.push(sending);
            }
        }
        // A sender that is stopped in the middle of a message holds up its own only.
        let mut held = BTreeSet::new();
        for place in 0..self.arriving.len() {
            let message = &mut self.arriving[place];
            if let Some(request) = message.request
                && self.calls.is_complete(request)?
            {
                message.request = None;
            }
            if held.insert(message.from) && message.request.is_none() {
                return Ok(self.arriving.remove(place).map(|message| (message.from, message.bytes)));
            }
        }
        Ok(None)
    }

    /// True while a message is under way.
    pub fn is_busy(&self) -> bool {
        !self.sends.is_empty() || !self.arriving.is_empty()
    }

    /// Enters a barrier of all processes, which [`World::has_left_barrier`] asks for.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn enter_barrier(&mut self) -> Result<Barrier, MpiError> {
        self.calls.barrier().map(|request| Barrier { request: Some(request) })
    }

    /// True once all processes have entered the barrier.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn has_left_barrier(&mut self, barrier: &mut Barrier) -> Result<bool, MpiError> {
        if let Some(request) = barrier.request
            && self.calls.is_complete(request)?
        {
            barrier.request = None;
        }
        Ok(barrier.request.is_none())
    }

    /// Ends MPI in order. All processes have to do so.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn finalise(mut self) -> Result<(), MpiError> {
        self.calls.finalise()
    }

    /// Asks the launcher to end all processes. Does not return in any MPI that is known; if it does, the caller exits.
    pub fn abort(mut self, status: u8) {
        self.calls.abort(i32::from(status));
        // MPI may still write into messages that were not received.
        std::mem::forget(self);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // MPI may still read and write these: a process that ends in the middle of messages leaves them where they are.
        self.sends.drain(..).for_each(std::mem::forget);
        self.arriving.drain(..).for_each(std::mem::forget);
    }
}

/// A barrier that was entered.
#[derive(Debug)]
pub struct Barrier {
    request: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_are_their_first_words() {
        for (version, expected) in [
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI 4.1.4"),
            ("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7", "MPICH 4.0.2"),
            ("MPICH Version:      5.0.2\nMPICH Release", "MPICH 5.0.2"),
            ("Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel(R) MPI 2021.9 for Linux* OS"),
            ("", ""),
        ] {
            assert_eq!(short_name(version), expected);
        }
    }

    #[test]
    fn a_library_that_is_not_mpi_is_refused_by_what_is_missing() {
        let error = load(OsStr::new("libc.so.6")).unwrap_err().to_string();
        assert!(error.contains("MPI_Get_library_version"), "{error}");
        let error = load(OsStr::new("/does/not/exist.so")).unwrap_err().to_string();
        assert!(error.contains("/does/not/exist.so"), "{error}");
    }
}
