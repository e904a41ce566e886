//! A timed pass: who is told when the first worker is done, what was reached by then, and what is left for after the
//! timed part.

use super::Drive;
use crate::worker::record::{Control, MARK, MarkRecord, Record};
use engine::{Engine, EngineError, Operation};
use job::plan::{JobPlan, Marks, PassPlan, Race};
use load::Request;
use measure::{Clock, Direction};
use std::sync::atomic::Ordering::Relaxed;
use sys::SharedBlocks;

/// A pass under way.
#[derive(Debug)]
pub(super) struct Pass<'w> {
    plan: &'w PassPlan,
    controls: &'w SharedBlocks<Control>,
    own: usize,
}

impl<'w> Pass<'w> {
    /// The pass of a job that is one.
    pub(super) fn of(job: &'w JobPlan, own: usize, controls: &'w SharedBlocks<Control>) -> Option<Pass<'w>> {
        job.pass.as_deref().map(|plan| Pass { plan, controls, own })
    }

    /// Whether every block that was read is looked at.
    pub(super) fn judges_reads(&self) -> bool {
        self.plan.marks.is_some()
    }

    /// This worker is the first that is done, as far as it can see: the others hear of it.
    fn tell_rivals(&self) {
        if self.plan.race == Race::None {
            return;
        }
        for (_, control) in self.controls.iter().enumerate().filter(|(index, _)| *index != self.own) {
            control.stop.fetch_or(MARK, Relaxed);
        }
    }
}

impl<E: Engine, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// The records are done: ends what belongs to the timed part.
    pub(super) fn end_timed_part(&mut self) {
        let Some(pass) = &self.pass else { return };
        if !self.ended_by_fault && !self.tally.control.stop_requested() && self.tally.record.mark.present == 0 {
            pass.tell_rivals();
        }
    }

    /// The last of the timed part.
    pub(super) fn close_inside(&mut self) {
        if self.pass.as_ref().is_some_and(|pass| pass.plan.close_inside) {
            self.files.close();
        }
    }

    /// What is left when the time is taken.
    pub(super) fn after_timed_part(&mut self) -> Result<(), EngineError> {
        let wanted = self.pass.as_ref().is_some_and(|pass| pass.plan.flush_after && !pass.plan.close_inside);
        if !wanted || self.ended_by_fault {
            return Ok(());
        }
        let request = Request { operation: Operation::Sync, target: 0, offset: 0, length: 0 };
        let result = self.alone(&request)?;
        if result < 0 {
            self.fault(&request, result);
        }
        Ok(())
    }

    /// Another worker was first: notes how far this one is, and ends it where that is the rule.
    pub(super) fn mark(&mut self) {
        self.tally.control.stop.fetch_and(!MARK, Relaxed);
        let race = self.pass.as_ref().map_or(Race::None, |pass| pass.plan.race);
        if race == Race::None || self.tally.record.mark.present != 0 {
            return;
        }
        let at = self.clock.now().get();
        let amounts = Direction::ALL.map(|direction| self.tally.record.amounts(self.tally.control, direction));
        let (bytes, ios) = (amounts.map(|(bytes, _)| bytes), amounts.map(|(_, ios)| ios));
        self.tally.record.mark = MarkRecord { present: 1, at, bytes, ios };
        if race == Race::Stop {
            self.load.stop();
        }
    }

    /// Whether a record that was read begins its pages as it must.
    pub(super) fn judge_marks(&mut self, slot: u32, request: &Request) {
        let Some(marks) = self.pass.as_ref().and_then(|pass| pass.plan.marks) else { return };
        if request.operation != Operation::Read || !E::SPEC.capabilities.work.moves_data() {
            return;
        }
        let Some((at, found)) = first_difference(marks, self.memory.slot(slot, request.length)) else { return };
        let path = self.files.paths.get(request.target as usize).map(|path| path.display().to_string());
        let message = format!(
            "{}: byte {} holds 0x{found:02x} where 0x{:02x} was expected: this was not written by this test, or came \
             back wrong",
            path.unwrap_or_default(),
            request.offset + at,
            marks.byte,
        );
        self.tally.record.fault.keep_first(libc::EILSEQ, "verify", &message);
        self.ended_by_fault = true;
        self.load.stop();
    }
}

/// The first byte that is not as it must be: where, and what is there.
fn first_difference(marks: Marks, block: &[u8]) -> Option<(u64, u8)> {
    for (page, bytes) in block.chunks(marks.page).enumerate() {
        let marked = &bytes[..marks.bytes.min(bytes.len())];
        if let Some(at) = marked.iter().position(|&byte| byte != marks.byte) {
            return Some(((page * marks.page + at) as u64, marked[at]));
        }
    }
    None
}

impl Record {
    /// What was reached when another worker was first.
    pub(crate) fn marked(&self) -> Option<&MarkRecord> {
        (self.mark.present != 0).then_some(&self.mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_begins_wrong_is_found() {
        let marks = Marks { byte: b'_', bytes: 8, page: 4096 };
        let mut block = vec![0; 8192];
        block[..8].fill(b'_');
        block[4096..4104].fill(b'_');
        assert_eq!(first_difference(marks, &block), None);
        block[4100] = 7;
        assert_eq!(first_difference(marks, &block), Some((4100, 7)));
        block[8] = 1;
        assert_eq!(first_difference(marks, &block[..4096]), None, "only the marks are looked at");
    }
}
