//! A timed pass: who is told when the first worker is done, what was reached by then, and what is left for after the
//! timed part.

use super::Drive;
use crate::worker::record::{Control, MARK, MarkRecord, Record};
use engine::{Engine, EngineError, Operation};
use job::plan::{Habits, JobPlan, Listed, Marks, PassPlan, Race, RecordOrder};
use load::{Misplaced, Request};
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

    /// What is done beside each record, and the list that the records come from, where there is one.
    pub(super) fn habits(&self) -> Option<(&'w Habits, &'w [Listed])> {
        let plan: &'w PassPlan = self.plan;
        let list: &[Listed] = if let RecordOrder::Listed(list) = &plan.order { list } else { &[] };
        plan.habits.as_deref().map(|habits| (habits, list))
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
    #[cold]
    pub(super) fn judge_marks(&mut self, slot: u32, request: &Request) {
        let Some(marks) = self.pass.as_ref().and_then(|pass| pass.plan.marks) else { return };
        if request.operation != Operation::Read || !E::SPEC.capabilities.work.moves_data() {
            return;
        }
        let Some((at, found)) = first_difference(marks, self.memory.slot(slot, request.length)) else { return };
        self.came_back_wrong(request, Misplaced { offset: request.offset + at, found, expected: marks.byte });
    }

    /// The same in the loop of a pass, where hardly any record is wrong.
    #[inline(always)]
    pub(super) fn look_at_marks(&mut self, request: &Request) {
        if request.operation == Operation::Read
            && let Some(marks) = self.pass.as_ref().and_then(|pass| pass.plan.marks.as_ref())
            && !begins_well(marks, self.memory.slot(0, request.length))
        {
            self.judge_marks(0, request);
        }
    }

    /// Whether a record that was read holds what its place says.
    pub(super) fn judge_places(&mut self, slot: u32, request: &Request) {
        let reads = request.operation == Operation::Read && E::SPEC.capabilities.work.moves_data();
        if self.job.buffers.placed.is_none() || !reads {
            return;
        }
        if let Some(wrong) = self.content.first_misplaced(self.memory.slot(slot, request.length), request) {
            self.came_back_wrong(request, wrong);
        }
    }

    #[cold]
    fn came_back_wrong(&mut self, request: &Request, wrong: Misplaced) {
        let Misplaced { offset, found, expected } = wrong;
        let path = self.path(request);
        let message = format!(
            "{path}: byte {offset} holds 0x{found:02x} where 0x{expected:02x} was expected: this was not written by this \
             test, or came back wrong"
        );
        self.tally.record.fault.keep_first(libc::EILSEQ, "verify", &message);
        self.ended_by_fault = true;
        self.load.stop();
    }
}

/// Whether every page begins as it must.
#[inline]
fn begins_well(marks: &Marks, block: &[u8]) -> bool {
    // As a rule there is one page, and eight bytes of it: a comparison of one word.
    let word = u64::from_ne_bytes([marks.byte; 8]);
    block.chunks(marks.page).all(|page| match page.first_chunk() {
        Some(first) if marks.bytes == 8 => u64::from_ne_bytes(*first) == word,
        _ => page[..marks.bytes.min(page.len())].iter().all(|&byte| byte == marks.byte),
    })
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
        assert!(begins_well(&marks, &block));
        block[4100] = 7;
        assert_eq!(first_difference(marks, &block), Some((4100, 7)));
        assert!(!begins_well(&marks, &block));
        assert!(begins_well(&marks, &block[..4096]) && !begins_well(&Marks { bytes: 4096, ..marks }, &block[..4096]));
        block[8] = 1;
        assert_eq!(first_difference(marks, &block[..4096]), None, "only the marks are looked at");
    }
}
