//! The control block of a worker: what the worker and its parent read and write while both run.
//!
//! It is in memory that both map. Every field is an atomic. It has a single writer at a time, except for `stop` and
//! `wakeups`, which are changed by atomic read-modify-write operations. The counters are Relaxed: a progress report may
//! be a few I/Os old, but each value in it is valid. Where a value publishes other memory (`gate`, `ready`, `exiting`,
//! REPORT, and `state` when I/O has ended), the store is Release and the load Acquire.

use measure::{Direction, Nanos};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;
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

/// Messages in the ring.
const ROOM: usize = 16;
/// Size of a message in words of eight bytes.
const WORDS: usize = 126;
/// Number of 1 ms sleeps while the ring is full; 2 s in total. Then the worker goes on and counts the message as lost.
const PATIENCE: u32 = 2000;
const NAP: Duration = Duration::from_millis(1);

/// Messages of a worker while it runs: a ring in shared memory with one writer, the worker, and one reader, the parent.
/// Only for rare events: a verify mismatch, an ignored error.
///
/// `written` is changed only by the worker and `read` only by the parent. The worker fills a message with Relaxed
/// stores and then stores `written` with Release; the parent loads `written` with Acquire, so it sees complete
/// messages. In the other direction `read` is stored with Release after a message was copied, so that the worker never
/// overwrites one that is being read.
#[derive(Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Notices {
    written: AtomicU32,
    read: AtomicU32,
    lost: AtomicU32,
    reserved: u32,
    messages: [Message; ROOM],
}

#[derive(Debug, FromBytes)]
#[repr(C)]
struct Message {
    length: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl Notices {
    /// The bytes that are to be zero in an empty ring; the rest holds messages that were read.
    pub(super) const HEAD: usize = offset_of!(Notices, messages);

    /// Writes a message; text that does not fit is cut. Waits while the ring is full.
    #[cold]
    pub(crate) fn send(&self, text: &str) {
        let written = self.written.load(Relaxed);
        let mut naps = 0;
        while written.wrapping_sub(self.read.load(Acquire)) as usize >= ROOM {
            if naps == PATIENCE {
                self.lost.fetch_add(1, Relaxed);
                return;
            }
            naps += 1;
            std::thread::sleep(NAP);
        }
        let message = &self.messages[written as usize % ROOM];
        let bytes = &text.as_bytes()[..text.floor_char_boundary(WORDS * 8)];
        for (word, part) in message.words.iter().zip(bytes.chunks(8)) {
            let mut eight = [0; 8];
            eight[..part.len()].copy_from_slice(part);
            word.store(u64::from_le_bytes(eight), Relaxed);
        }
        message.length.store(bytes.len() as u64, Relaxed);
        self.written.store(written.wrapping_add(1), Release);
    }

    /// Passes all new messages to `listen`.
    pub(crate) fn receive(&self, listen: &mut dyn FnMut(&str)) {
        let written = self.written.load(Acquire);
        let mut read = self.read.load(Relaxed);
        while read != written {
            let message = &self.messages[read as usize % ROOM];
            let length = usize::try_from(message.length.load(Relaxed)).unwrap_or(0).min(WORDS * 8);
            let mut bytes: Vec<u8> = message.words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
            bytes.truncate(length);
            listen(&String::from_utf8_lossy(&bytes));
            read = read.wrapping_add(1);
            self.read.store(read, Release);
        }
        let lost = self.lost.swap(0, Relaxed);
        if lost > 0 {
            listen(&format!("{lost} more messages like these were lost: they came faster than they could be reported"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::machine::shared_memory::SharedBlocks;

    #[test]
    fn messages_arrive_whole_and_in_order_however_many_there_are() {
        let blocks = SharedBlocks::<Notices>::new(1).unwrap();
        let notices = &blocks[0];
        let mut received = Vec::new();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| (0..100).for_each(|number| notices.send(&format!("message {number}"))));
            while !worker.is_finished() {
                notices.receive(&mut |text| received.push(text.to_owned()));
            }
        });
        notices.receive(&mut |text| received.push(text.to_owned()));
        assert_eq!(received, (0..100).map(|number| format!("message {number}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let blocks = SharedBlocks::<Notices>::new(1).unwrap();
        let notices = &blocks[0];
        notices.send(&"é".repeat(WORDS * 8));
        notices.receive(&mut |text| assert_eq!(text, "é".repeat(WORDS * 4)));
    }
}
