//! Messages of a worker while it runs: a ring in shared memory with one writer, the worker, and one reader, the parent.
//! Only for rare events: a verify mismatch, an ignored error.
//!
//! `written` is changed only by the worker and `read` only by the parent. The worker fills a message with Relaxed
//! stores and then stores `written` with Release; the parent loads `written` with Acquire, so it sees complete
//! messages. In the other direction `read` is stored with Release after a message was copied, so that the worker never
//! overwrites one that is being read.

use std::mem::offset_of;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::Duration;
use zerocopy::FromBytes;

/// Messages in the ring.
const ROOM: usize = 16;
/// Size of a message in words of eight bytes.
const WORDS: usize = 126;
/// Number of 1 ms sleeps while the ring is full; 2 s in total. Then the worker goes on and counts the message as lost.
const PATIENCE: u32 = 2000;
const NAP: Duration = Duration::from_millis(1);

/// The ring of messages.
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
