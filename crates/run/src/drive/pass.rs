//! A timed pass: notifying the other workers when the first one finishes, checking marks in the data, and the options
//! of each record.

use crate::shared::control::{Control, MARK};
use plan::{JobPlan, Listed, Marks, PassPlan, Race, RecordExtras, RecordOrder};
use std::sync::atomic::Ordering::Relaxed;
use sys::machine::shared_memory::SharedBlocks;

/// A timed pass in progress.
#[derive(Debug)]
pub(super) struct TimedPass<'w> {
    pub(super) plan: &'w PassPlan,
    controls: &'w SharedBlocks<Control>,
    own: usize,
}

impl<'w> TimedPass<'w> {
    /// The pass of a job, if the job is one.
    pub(super) fn of(job: &'w JobPlan, own: usize, controls: &'w SharedBlocks<Control>) -> Option<TimedPass<'w>> {
        job.pass.as_deref().map(|plan| TimedPass { plan, controls, own })
    }

    /// True if every block that was read is checked for marks.
    pub(super) fn checks_reads(&self) -> bool {
        self.plan.marks.is_some()
    }

    /// The extra steps of each record, and the list that gives the records, if the pass follows one.
    pub(super) fn extras(&self) -> Option<(&'w RecordExtras, &'w [Listed])> {
        let plan: &'w PassPlan = self.plan;
        let list: &[Listed] = if let RecordOrder::Listed(list) = &plan.order { list } else { &[] };
        plan.extras.as_deref().map(|extras| (extras, list))
    }

    /// Notifies all other workers that this one has finished. Each worker notes the amount that it has reached by then;
    /// several that finish at once may all send the notice, and a worker acts on the first only.
    pub(super) fn notify_other_workers(&self) {
        if self.plan.race == Race::None {
            return;
        }
        for (_, control) in self.controls.iter().enumerate().filter(|(index, _)| *index != self.own) {
            control.stop.fetch_or(MARK, Relaxed);
        }
    }
}

/// True if every page starts with the mark.
#[inline]
pub(super) fn has_marks(marks: &Marks, block: &[u8]) -> bool {
    // Usually one page and a mark of eight bytes: a comparison of one word.
    let word = u64::from_ne_bytes([marks.byte; 8]);
    block.chunks(marks.page).all(|page| match page.first_chunk() {
        Some(first) if marks.bytes == 8 => u64::from_ne_bytes(*first) == word,
        _ => page[..marks.bytes.min(page.len())].iter().all(|&byte| byte == marks.byte),
    })
}

/// The first byte that differs from the mark: its offset in the block, and its value.
pub(super) fn first_difference(marks: Marks, block: &[u8]) -> Option<(u64, u8)> {
    for (page, bytes) in block.chunks(marks.page).enumerate() {
        let marked = &bytes[..marks.bytes.min(bytes.len())];
        if let Some(at) = marked.iter().position(|&byte| byte != marks.byte) {
            return Some(((page * marks.page + at) as u64, marked[at]));
        }
    }
    None
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
        assert!(has_marks(&marks, &block));
        block[4100] = 7;
        assert_eq!(first_difference(marks, &block), Some((4100, 7)));
        assert!(!has_marks(&marks, &block));
        assert!(has_marks(&marks, &block[..4096]) && !has_marks(&Marks { bytes: 4096, ..marks }, &block[..4096]));
        block[8] = 1;
        assert_eq!(first_difference(marks, &block[..4096]), None, "only the marks are looked at");
    }
}
