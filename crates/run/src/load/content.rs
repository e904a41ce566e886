//! What write buffers hold.

use super::Request;
use job::plan::BufferPlan;
use measure::Nanos;

/// Fills a worker's buffers.
#[derive(Debug)]
pub struct Content {
    idle: bool,
}

impl Content {
    /// Prepares the generators.
    pub fn new(plan: &BufferPlan, seed: u64) -> Content {
        let _ = (plan, seed);
        Content { idle: true }
    }

    /// Whether [`Content::before_write`] has nothing to do, ever.
    #[inline]
    pub const fn is_idle(&self) -> bool {
        self.idle
    }

    /// Fills a slot's buffer before the first I/O.
    pub fn prepare_start(&mut self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    /// Makes the buffer ready for a write; `buffer` is as long as the request.
    #[inline]
    pub fn before_write(&mut self, buffer: &mut [u8], request: &Request, now: Nanos) {
        let _ = (buffer, request, now);
    }
}
