//! The control block of a worker: what the worker and its parent read and write while both run.
//!
//! It is in memory that both map. Every field is an atomic. It has a single writer at a time, except for `stop` and
//! `wakeups`, which are changed by atomic read-modify-write operations. The counters are Relaxed: a progress report may
//! be a few I/Os old, but each value in it is valid. Where a value publishes other memory (`gate`, `ready`, `exiting`,
//! REPORT, and `state` when I/O has ended), the store is Release and the load Acquire.

use super::notices::Notices;
use measure::{Direction, Nanos};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use zerocopy::FromBytes;

/// The shared variables of a worker and its parent.
#[derive(Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Control {
    /// State of the worker, a [`crate::WorkerState`].
    pub(crate) state: AtomicU32,
    /// The point up to which the worker may proceed, a [`Gate`].
    pub(crate) gate: AtomicU32,
    /// Not zero once set-up has ended, successfully or not.
    pub(crate) ready: AtomicU32,
    /// Requests that the worker checks before its next I/O: [`STOP`], [`ATTENTION`], [`SIGNALLED`], [`MARK`],
    /// [`REPORT`], [`GIVE_WAY`].
    pub(crate) stop: AtomicU32,
    pub(crate) open_files: AtomicU32,
    /// Thread id of the worker; 0 before it runs.
    thread: AtomicU32,
    /// Not zero once the worker has finished everything except for the exit of its process.
    pub(crate) exiting: AtomicU32,
    /// In the first worker's block only: the wake-up counter of the parent (see `wakeup`).
    pub(crate) wakeups: AtomicU32,
    /// Sum of completion latencies in ns; updated only while the parent determines steady state.
    pub(crate) latency_ns: AtomicU64,
    /// Bytes completed per direction since the start; never decreases.
    pub(crate) bytes: [AtomicU64; 3],
    /// I/Os completed per direction since the start; never decreases.
    pub(crate) ios: [AtomicU64; 3],
    /// Start of the measured part, in ns on the worker's clock, plus 1; 0 before it.
    measured_from: AtomicU64,
    /// Bytes completed before the measured part.
    bytes_before: [AtomicU64; 3],
    /// I/Os completed before the measured part.
    ios_before: [AtomicU64; 3],
    /// Measured I/Os when the runtime had passed, plus 1, while the worker waits for the number of the others; 0
    /// otherwise.
    pub(crate) out_of_time: AtomicU64,
    /// Measured I/Os to which the worker goes on after its runtime, plus 1; 0 while not known.
    pub(crate) until_ios: AtomicU64,
    /// Messages of the worker while it runs.
    pub(crate) notices: Notices,
}

/// The worker is to end in order.
pub(crate) const STOP: u32 = 1;
/// The worker has constraints, and checks them before each I/O.
pub(crate) const ATTENTION: u32 = 2;
/// A signal reached the worker's process.
pub(crate) const SIGNALLED: u32 = 4;
/// Another worker has finished first: the worker stores its amounts, then clears this bit.
pub(crate) const MARK: u32 = 16;
/// The worker is to bring its record up to date, then clear this bit.
pub(crate) const REPORT: u32 = 8;

/// The worker begins at one moment with others that may wait for its processor: after its first I/O it lets them begin,
/// and clears this bit.
pub(crate) const GIVE_WAY: u32 = 32;

/// The points up to which a worker may proceed; zero, less than any of these, is a closed gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub(crate) enum Gate {
    /// Open files, allocate buffers, then set `ready`.
    SetUp = 1,
    /// Do I/O.
    Go = 2,
}

impl Control {
    /// The bytes that are zero in the block of a worker that has not begun: all but the places of its messages, which
    /// are most of it.
    pub(crate) const HEAD: Range<usize> = 0..offset_of!(Control, notices) + Notices::HEAD;

    /// True if the worker is to end in order.
    #[inline]
    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.load(Relaxed) & STOP != 0
    }

    /// True if the worker is to bring its record up to date.
    #[inline]
    pub(crate) fn report_wanted(&self) -> bool {
        self.stop.load(Relaxed) & REPORT != 0
    }

    /// True if any request is pending. One load per I/O covers all of them.
    #[inline]
    pub(crate) fn wants_attention(&self) -> bool {
        self.stop.load(Relaxed) != 0
    }

    /// Sets the thread id of the worker, which runs from now on.
    pub(crate) fn set_thread(&self, thread: u32) {
        self.thread.store(thread, Relaxed);
    }

    /// Thread id of the worker; `None` before it runs.
    pub(crate) fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Relaxed)).filter(|&thread| thread != 0)
    }

    /// Starts the measured part at `now`: bytes and I/Os completed so far are not part of it.
    pub(super) fn begin(&self, now: Nanos) {
        let now_before = [(&self.bytes, &self.bytes_before), (&self.ios, &self.ios_before)];
        for (now, before) in now_before.into_iter().flat_map(|(now, before)| now.iter().zip(before)) {
            before.store(now.load(Relaxed), Relaxed);
        }
        self.measured_from.store(now.get().saturating_add(1), Relaxed);
    }

    /// Start of the measured part, on the worker's clock; `None` before it.
    pub(crate) fn measured_from(&self) -> Option<Nanos> {
        self.measured_from.load(Relaxed).checked_sub(1).map(Nanos)
    }

    /// Bytes and I/Os of a direction in the measured part.
    pub(crate) fn measured(&self, direction: Direction) -> (u64, u64) {
        let at = direction as usize;
        let since = |now: &[AtomicU64; 3], before: &[AtomicU64; 3]| {
            now[at].load(Relaxed).saturating_sub(before[at].load(Relaxed))
        };
        (since(&self.bytes, &self.bytes_before), since(&self.ios, &self.ios_before))
    }

    /// I/Os of all directions in the measured part.
    pub(crate) fn measured_ios(&self) -> u64 {
        Direction::ALL.into_iter().map(|direction| self.measured(direction).1).fold(0, u64::saturating_add)
    }

    /// Bytes and I/Os completed since the start, by direction.
    pub(crate) fn amounts(&self) -> ([u64; 3], [u64; 3]) {
        let all = |counters: &[AtomicU64; 3]| counters.each_ref().map(|each| each.load(Relaxed));
        (all(&self.bytes), all(&self.ios))
    }

    /// Counts `ios` completed I/Os of `bytes` in total. The worker is the only writer, so a load and a store are
    /// enough, without an atomic read-modify-write.
    #[inline]
    pub(crate) fn count(&self, direction: Direction, bytes: u64, ios: u64) {
        let (all_bytes, all_ios) = (&self.bytes[direction as usize], &self.ios[direction as usize]);
        all_bytes.store(all_bytes.load(Relaxed) + bytes, Relaxed);
        all_ios.store(all_ios.load(Relaxed) + ios, Relaxed);
    }
}
