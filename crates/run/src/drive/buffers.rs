//! The I/O buffers of a worker, and the contents of its writes.

use super::memory::Memory;
use super::verify::Verification;
use load::Request;
use load::content::Content;
use measure::Nanos;

/// The buffers, one per slot, and the generator of the data that writes put into them.
pub(super) struct Buffers<'w> {
    pub(super) memory: &'w mut Memory,
    pub(super) content: Content,
    /// True if the content never changes: buffers are filled once, at the start.
    content_is_idle: bool,
}

impl<'w> Buffers<'w> {
    pub(super) fn new(memory: &'w mut Memory, content: Content) -> Self {
        Buffers { memory, content_is_idle: content.is_idle(), content }
    }

    /// Fills the buffer of `slot` for a write: with a block that carries a verify header if the job verifies, otherwise
    /// as the job's buffer options say.
    #[inline]
    pub(super) fn fill(&mut self, slot: u32, request: &Request, verify: Option<&mut Verification>, now: Nanos) {
        if let Some(checker) = verify {
            checker.seal(self.memory.slot(slot, request.length), request, now);
        } else if !self.content_is_idle {
            self.content.before_write(self.memory.slot(slot, request.length), request, now);
        }
    }
}
