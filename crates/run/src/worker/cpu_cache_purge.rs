//! Evicts the data of I/Os from the processor's caches before each I/O.

use load::{RecordFailure, Request, Witness};
use measure::Nanos;

/// Memory that is written before each I/O.
#[derive(Debug)]
pub(crate) struct Purge {
    memory: Box<[u8]>,
    turn: u8,
}

impl Purge {
    pub(crate) fn new(bytes: usize) -> Purge {
        Purge { memory: vec![0; bytes].into_boxed_slice(), turn: 0 }
    }
}

impl Witness for Purge {
    fn begin(&mut self, _now: Nanos) {}

    fn issued(&mut self, _now: Nanos, _request: &Request) {
        self.turn = self.turn.wrapping_add(1);
        self.memory.fill(std::hint::black_box(self.turn));
        std::hint::black_box(&mut self.memory);
    }

    fn finish(&mut self, _now: Nanos) -> Result<(), RecordFailure> {
        Ok(())
    }
}
