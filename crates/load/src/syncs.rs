//! Syncs after a number of writes: fsync(2), fdatasync(2) and sync_file_range(2).

use super::{Next, Request};
use plan::{JobPlan, Operation};

/// Counters for fsync and fdatasync after a number of writes.
#[derive(Clone, Debug)]
pub(super) struct Syncs {
    every: [u64; 2],
    left: [u64; 2],
    due: Option<Request>,
    ranges: Option<Ranges>,
}

/// Counters for sync_file_range(2) after a number of writes, and the range that these wrote.
#[derive(Clone, Debug)]
struct Ranges {
    every: u64,
    left: u64,
    /// Per target: first byte and end of the range written since the last sync.
    written: Vec<Option<(u64, u64)>>,
    due: Option<u32>,
}

impl Syncs {
    const OPERATIONS: [Operation; 2] = [Operation::Sync, Operation::DataSync];

    pub(super) fn new(job: &JobPlan, targets: usize) -> Self {
        let every = [job.load.fsync_every, job.load.fdatasync_every];
        let ranges = job.load.range_sync.map(|plan| {
            let every = plan.every.max(1);
            Ranges { every, left: every, written: vec![None; targets], due: None }
        });
        Syncs { every, left: every, due: None, ranges }
    }

    pub(super) const fn is_off(&self) -> bool {
        self.every[0] == 0 && self.every[1] == 0 && self.ranges.is_none()
    }

    /// The next sync that is due.
    pub(super) fn take_due(&mut self) -> Option<Next> {
        if let Some(sync) = self.due.take() {
            return Some(Next::Issue(sync));
        }
        let ranges = self.ranges.as_mut()?;
        let target = ranges.due.take()?;
        let (first, end) = ranges.written[target as usize].take()?;
        Some(Next::SyncRange { target, offset: first, length: end - first })
    }

    /// Counts a write; the file it went to is the one to be synced.
    pub(super) fn written(&mut self, write: &Request) {
        if let Some(ranges) = &mut self.ranges {
            let (offset, end) = (write.offset, write.offset + u64::from(write.length));
            let range = ranges.written[write.target as usize].get_or_insert((offset, end));
            *range = (range.0.min(offset), range.1.max(end));
            ranges.left -= 1;
            if ranges.left == 0 {
                ranges.left = ranges.every;
                ranges.due = Some(write.target);
            }
        }
        for (index, operation) in Self::OPERATIONS.into_iter().enumerate() {
            if self.every[index] == 0 {
                continue;
            }
            self.left[index] -= 1;
            if self.left[index] == 0 {
                self.left[index] = self.every[index];
                // fsync includes what fdatasync does, so one of them is enough.
                self.due = self.due.or(Some(Request::new(operation, write.target, write.offset, 0)));
            }
        }
    }
}
