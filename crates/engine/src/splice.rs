//! `splice`: moves data between files and memory through a pipe with splice(2) and vmsplice(2).
//!
//! A write passes the pages of the buffer to the kernel, which moves them into the file. A read moves the pages of the
//! file into the pipe, and reads the pipe with read(2), a copy, because pages cannot be moved into user memory.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, descriptors};
use crate::psync::SYNCHRONOUS;
use measure::SystemClock;
use plan::{Capabilities, EngineSpec};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

const NAME: &str = "splice";

/// The files, and the pipe that all data passes through.
#[derive(Debug)]
pub(crate) struct Splice {
    slots: Slots,
    descriptors: Box<[RawFd]>,
    pipe: Pipe,
}

/// A pipe, which is empty between I/Os.
#[derive(Debug)]
pub(crate) struct Pipe {
    output: OwnedFd,
    input: OwnedFd,
}

impl Engine for Splice {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "splice(2) and vmsplice(2): through a pipe, without a copy on the way to the file",
        capabilities: Capabilities { unrecorded: Some("uses splice(2), which is not followed"), ..SYNCHRONOUS },
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        Ok(Splice { slots: Slots::new(&setup), descriptors: descriptors(setup.targets), pipe: Pipe::new(NAME)? })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let at = Some(call::signed(io.offset));
        let result = match io.operation {
            Operation::Read => self.pipe.read(descriptor, at, self.slots.address(&io), io.length as usize),
            Operation::Write => self.pipe.write(descriptor, at, self.slots.address(&io), io.length as usize),
            _ => call::without_data(descriptor, &io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl Pipe {
    pub(crate) fn new(engine: &'static str) -> Result<Pipe, EngineError> {
        let made = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        made.map(|(output, input)| Pipe { output, input }).map_err(|error| EngineError {
            engine,
            operation: "pipe",
            message: std::io::Error::from(error).to_string(),
            errno: error.raw_os_error(),
        })
    }

    /// Reads from `descriptor`, at an offset if it has one, to `memory`. Returns bytes or -errno.
    pub(crate) fn read(&mut self, descriptor: RawFd, at: Option<i64>, memory: *mut u8, length: usize) -> i64 {
        let (output, input) = (self.output.as_raw_fd(), self.input.as_raw_fd());
        let mut done = 0;
        while done < length {
            let got = splice(descriptor, at.map(|at| at + done as i64), input, None, length - done);
            if got <= 0 {
                return if done > 0 { done as i64 } else { got };
            }
            let mut left = usize::try_from(got).unwrap_or(0);
            while left > 0 {
                // SAFETY: the slot's buffer is the worker's until the engine is dropped and nothing else uses it while
                // this I/O is in flight; `done + left` is at most the I/O's length.
                let taken = call::finish(|| unsafe { libc::read(output, memory.add(done).cast(), left) });
                let Ok(taken_bytes @ 1..) = usize::try_from(taken) else {
                    self.empty(left);
                    return if done > 0 { done as i64 } else { taken };
                };
                (done, left) = (done + taken_bytes, left - taken_bytes);
            }
        }
        done as i64
    }

    /// Writes `memory` to `descriptor`. Returns bytes or -errno. The pages are passed on, not copied: a file has copied
    /// them when the call returns, whereas a socket may still refer to them when the buffer is filled again.
    pub(crate) fn write(&mut self, descriptor: RawFd, at: Option<i64>, memory: *mut u8, length: usize) -> i64 {
        let (output, input) = (self.output.as_raw_fd(), self.input.as_raw_fd());
        let mut done = 0;
        while done < length {
            let vector = libc::iovec { iov_base: memory.wrapping_add(done).cast(), iov_len: length - done };
            // SAFETY: the iovec outlives the call, and its memory is the slot's buffer, which lives as long as the
            // engine; data that the pipe still holds when this function fails is only read.
            let given =
                call::finish(|| unsafe { libc::vmsplice(input, &raw const vector, 1, libc::SPLICE_F_NONBLOCK) });
            let Ok(mut left @ 1..) = usize::try_from(given) else {
                return if done > 0 { done as i64 } else { given };
            };
            while left > 0 {
                let put = splice(output, None, descriptor, at.map(|at| at + done as i64), left);
                let Ok(put_bytes @ 1..) = usize::try_from(put) else {
                    self.empty(left);
                    return if done > 0 { done as i64 } else { put };
                };
                (done, left) = (done + put_bytes, left - put_bytes);
            }
        }
        done as i64
    }

    /// Discards the data that a failed call left in the pipe.
    #[cold]
    fn empty(&mut self, mut left: usize) {
        let mut waste = [0u8; 4096];
        while left > 0 {
            let length = left.min(waste.len());
            match rustix::io::read(&self.output, &mut waste[..length]) {
                Ok(taken @ 1..) => left -= taken,
                _ => break,
            }
        }
    }
}

/// splice(2) between two descriptors, one of which is a pipe. Returns bytes or -errno.
#[inline]
fn splice(from: RawFd, from_at: Option<i64>, to: RawFd, to_at: Option<i64>, length: usize) -> i64 {
    call::finish(|| {
        let (mut from_at, mut to_at) = (from_at, to_at);
        let from_at = from_at.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let to_at = to_at.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: both offsets are null or point to locals that outlive the call.
        unsafe { libc::splice(from, from_at, to, to_at, length, 0) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_read_that_failed_leaves_nothing_for_the_next() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 4096], 0).unwrap();
        file.write_all_at(&[2; 4096], 4096).unwrap();
        let (mut pipe, mut memory) = (Pipe::new("splice").unwrap(), [0_u8; 4096]);
        let failed = pipe.read(file.as_raw_fd(), Some(0), std::ptr::null_mut(), 4096);
        assert_eq!(failed, -i64::from(libc::EFAULT));
        assert_eq!(pipe.read(file.as_raw_fd(), Some(4096), memory.as_mut_ptr(), 4096), 4096);
        assert!(memory.iter().all(|&byte| byte == 2), "{:?}", &memory[..8]);
    }
}
