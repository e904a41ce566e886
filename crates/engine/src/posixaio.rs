//! `posixaio`: POSIX asynchronous I/O (aio_read(3), aio_write(3)). glibc implements it with its own threads, which do
//! one I/O at a time per descriptor.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, descriptors};
use crate::libaio::ASYNCHRONOUS;
use libc::aiocb;
use measure::{Nanos, SystemClock};
use plan::{Capabilities, EngineSpec};
use std::cell::UnsafeCell;
use std::os::fd::RawFd;

const NAME: &str = "posixaio";

/// The engine: aio_read, aio_write and aio_fsync.
#[derive(Debug)]
pub(crate) struct PosixAio {
    slots: Slots,
    descriptors: Box<[RawFd]>,
    /// One control block per slot; glibc keeps its address while the I/O is in flight.
    blocks: Box<[Block]>,
    /// Control blocks in flight, in order of submission.
    in_flight: Vec<*const aiocb>,
    /// Slots of the I/Os in `in_flight`.
    slots_in_flight: Vec<u32>,
    /// I/Os submitted since the last flush.
    fresh: u32,
}

/// A control block, which glibc's threads write while its I/O is in flight.
struct Block(UnsafeCell<aiocb>);

impl std::fmt::Debug for Block {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Block")
    }
}

impl Engine for PosixAio {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "POSIX asynchronous I/O (aio_read(3), aio_write(3)): the C library's threads",
        capabilities: Capabilities { one_per_file: true, ..ASYNCHRONOUS },
        options: &[],
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let depth = setup.depth as usize;
        Ok(PosixAio {
            slots: Slots::new(&setup),
            descriptors: descriptors(setup.targets),
            blocks: (0..depth).map(|_| Block(UnsafeCell::new(empty_block()))).collect(),
            in_flight: Vec::with_capacity(depth),
            slots_in_flight: Vec::with_capacity(depth),
            fresh: 0,
        })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        if io.operation == Operation::Trim {
            return Submitted::Done(Completion { slot: io.slot, result: call::without_data(descriptor, &io) });
        }
        let mut filled = empty_block();
        filled.aio_fildes = descriptor;
        filled.aio_offset = call::signed(io.offset);
        filled.aio_nbytes = io.length as usize;
        if io.length > 0 {
            filled.aio_buf = self.slots.address(&io).cast();
        }
        let block = self.blocks[io.slot as usize].0.get();
        // SAFETY: the block belongs to this slot, which has no I/O in flight, so glibc does not access it.
        unsafe { *block = filled };
        match start(block, io.operation) {
            0 => {
                self.in_flight.push(block);
                self.slots_in_flight.push(io.slot);
                self.fresh += 1;
                Submitted::Queued
            }
            // Out of resources: the caller reaps first, if I/Os are in flight.
            libc::EAGAIN if !self.in_flight.is_empty() => Submitted::Full,
            errno => Submitted::Done(Completion { slot: io.slot, result: -i64::from(errno) }),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        // glibc took them in submit.
        Ok(std::mem::take(&mut self.fresh))
    }

    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let mut count = self.take(max, done);
        while count < min.min(max) && !self.in_flight.is_empty() {
            // Those that are not taken now are there at the next call.
            match self.wait((min - count).max(self.least_asleep()), None) {
                0 => count += self.take(max - count, done),
                libc::EINTR => break,
                errno => return Err(broken(errno)),
            }
        }
        Ok(count)
    }

    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let count = self.take(max, done);
        if count > 0 || self.in_flight.is_empty() {
            return Ok(count);
        }
        match self.wait(1, Some(longest)) {
            0 => Ok(self.take(max, done)),
            libc::EINTR | libc::EAGAIN => Ok(0),
            errno => Err(broken(errno)),
        }
    }
}

impl PosixAio {
    /// Moves up to `max` completed I/Os to `done`; the others stay in order. Where they complete in order it looks no
    /// further than the first that has not: glibc's thread writes to the control blocks behind it.
    fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        let is_ordered = self.is_ordered();
        let (mut kept, mut seen, mut count) = (0, 0, 0);
        while seen < self.in_flight.len() && count < max {
            let (block, slot) = (self.in_flight[seen], self.slots_in_flight[seen]);
            if let Some(result) = outcome(block) {
                done.push(Completion { slot, result });
                count += 1;
            } else if is_ordered {
                break;
            } else {
                self.in_flight[kept] = block;
                self.slots_in_flight[kept] = slot;
                kept += 1;
            }
            seen += 1;
        }
        self.in_flight.drain(kept..seen);
        self.slots_in_flight.drain(kept..seen);
        count
    }

    /// True if the I/Os complete in the order of their submission: glibc does those of a descriptor so.
    fn is_ordered(&self) -> bool {
        cfg!(target_env = "gnu") && self.descriptors.len() == 1
    }

    /// I/Os that complete before a sleeper is woken, where the queue is full and its thread does them one after the
    /// other: an eighth of the depth. To wake the sleeper takes that thread as long as a tenth of an I/O, in which it
    /// does none.
    fn least_asleep(&self) -> u32 {
        let depth = self.blocks.len();
        #[expect(clippy::cast_possible_truncation, reason = "the depth was a u32")]
        if self.is_ordered() && self.in_flight.len() == depth { (depth / 8) as u32 } else { 1 }
    }

    /// The I/Os to wait for until `count` have completed: where they complete in order the last of them, because each
    /// one in the list costs a lock and an entry; all where any may complete next.
    fn awaited(&self, count: u32) -> &[*const aiocb] {
        if !self.is_ordered() {
            return &self.in_flight;
        }
        let last = (count as usize).clamp(1, self.in_flight.len());
        &self.in_flight[last - 1..last]
    }

    /// Waits until `count` I/Os have completed, or one where they do not complete in order; at most `longest`. Returns
    /// 0 or errno; EAGAIN on timeout.
    fn wait(&self, count: u32, longest: Option<Nanos>) -> i32 {
        let next = self.awaited(count);
        let span = longest.map(call::timespec);
        let span = span.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most the depth")]
        let count = next.len() as libc::c_int;
        // SAFETY: the list holds addresses of our blocks, which live as long as self; the timespec outlives the call.
        let result = unsafe { libc::aio_suspend(next.as_ptr(), count, span) };
        if result == 0 { 0 } else { call::errno() }
    }
}

impl Drop for PosixAio {
    /// Waits for the I/Os in flight, because glibc's threads write to control blocks and buffers until then.
    fn drop(&mut self) {
        let mut done = Vec::new();
        while !self.in_flight.is_empty() && matches!(self.wait(1, None), 0 | libc::EINTR) {
            self.take(u32::MAX, &mut done);
        }
    }
}

/// An empty control block, without a notification: one of zeros asks for a signal per I/O (`SIGEV_SIGNAL` is 0), which
/// is three system calls of glibc's thread.
fn empty_block() -> aiocb {
    // SAFETY: aiocb is a C structure of integers and pointers, for which zeros are valid.
    let mut block: aiocb = unsafe { std::mem::zeroed() };
    block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
    block
}

/// Starts the I/O that the control block describes. Returns 0 or errno.
fn start(block: *mut aiocb, operation: Operation) -> i32 {
    let result = match operation {
        // SAFETY: the block and the buffer it points to stay in place until the I/O is reaped; the worker waits for
        // that before it uses the slot again, and `drop` before both are freed.
        Operation::Read => unsafe { libc::aio_read(block) },
        // SAFETY: as for the read.
        Operation::Write => unsafe { libc::aio_write(block) },
        // SAFETY: as for the read, without a buffer.
        Operation::DataSync => unsafe { libc::aio_fsync(libc::O_DSYNC, block) },
        // SAFETY: as for the read, without a buffer.
        Operation::Sync | Operation::Trim => unsafe { libc::aio_fsync(libc::O_SYNC, block) },
    };
    if result == 0 { 0 } else { call::errno() }
}

/// Returns the result of an I/O; `None` while it is in progress. A result can be read only once: aio_return(3) frees
/// it.
fn outcome(block: *const aiocb) -> Option<i64> {
    // SAFETY: the block is one of ours in flight.
    let errno = unsafe { libc::aio_error(block) };
    match errno {
        libc::EINPROGRESS => None,
        // SAFETY: as above, and the I/O has completed, so glibc no longer uses the block.
        0 => Some(unsafe { libc::aio_return(block.cast_mut()) } as i64),
        errno => Some(-i64::from(errno)),
    }
}

fn broken(errno: i32) -> EngineError {
    let message = std::io::Error::from_raw_os_error(errno).to_string();
    EngineError { engine: NAME, operation: "aio_suspend", message, errno }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::JobFacts;
    use plan::EngineOptions;

    /// Index of the block that a worker waits for which has that many I/Os in flight in one file.
    fn awaited(depth: u32, in_flight: usize) -> usize {
        let options = EngineOptions::default();
        let setup = Setup {
            options: &options,
            job: JobFacts::default(),
            targets: &[],
            depth,
            buffers: std::ptr::null_mut(),
            buffer_stride: 0,
            clock: SystemClock::start(),
        };
        let mut engine = PosixAio::open(setup).unwrap();
        engine.descriptors = [0].into();
        engine.in_flight = engine.blocks.iter().take(in_flight).map(|block| block.0.get().cast_const()).collect();
        let (first, list) = (engine.in_flight[0], engine.awaited(engine.least_asleep()).to_vec());
        assert_eq!(list.len(), 1);
        // Nothing is in flight that `drop` could wait for.
        engine.in_flight.clear();
        (list[0] as usize - first as usize) / size_of::<Block>()
    }

    #[test]
    fn a_full_queue_sleeps_until_an_eighth_is_done() {
        assert_eq!([awaited(32, 32), awaited(16, 16), awaited(8, 8)], [3, 1, 0]);
    }

    #[test]
    fn a_queue_with_room_and_a_short_one_wait_for_the_first() {
        assert_eq!([awaited(32, 31), awaited(7, 7), awaited(1, 1)], [0, 0, 0]);
    }

    #[test]
    fn no_signal_is_asked_for() {
        assert_eq!(empty_block().aio_sigevent.sigev_notify, libc::SIGEV_NONE);
    }
}
