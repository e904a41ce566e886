//! What a worker has to say while it runs: a ring of messages in shared memory, with the worker at one end and the
//! parent at the other. Only for what is rare: a mismatch, a forgiven error.

use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::Duration;
use zerocopy::FromBytes;

/// Messages that wait at most.
const ROOM: usize = 16;
/// Words of eight bytes per message.
const WORDS: usize = 126;
/// How long the worker waits for the parent to listen, in all, before it goes on and counts what is lost.
const PATIENCE: u32 = 2000;
const NAP: Duration = Duration::from_millis(1);

/// The ring.
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
    /// Says something; what does not fit into a message is cut. Waits while the parent has not heard the ones before.
    #[cold]
    pub(crate) fn tell(&self, text: &str) {
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

    /// Hears what was said since the last time.
    pub(crate) fn hear(&self, listen: &mut dyn FnMut(&str)) {
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
            listen(&format!("{lost} more messages like these were lost: they came faster than they could be told"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::SharedBlocks;

    #[test]
    fn messages_arrive_whole_and_in_order_however_many_there_are() {
        let blocks = SharedBlocks::<Notices>::new(1).unwrap();
        let notices = &blocks[0];
        let mut heard = Vec::new();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| (0..100).for_each(|number| notices.tell(&format!("message {number}"))));
            while !worker.is_finished() {
                notices.hear(&mut |text| heard.push(text.to_owned()));
            }
        });
        notices.hear(&mut |text| heard.push(text.to_owned()));
        assert_eq!(heard, (0..100).map(|number| format!("message {number}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let blocks = SharedBlocks::<Notices>::new(1).unwrap();
        let notices = &blocks[0];
        notices.tell(&"é".repeat(WORDS * 8));
        notices.hear(&mut |text| assert_eq!(text, "é".repeat(WORDS * 4)));
    }
}
