//! Syncs after a number of writes: fsync(2), fdatasync(2) and sync_file_range(2).

use super::{Next, Request};
use plan::{JobPlan, Operation, VerifyPolicy};
use std::collections::{BTreeMap, VecDeque};

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
    /// Per file: first byte and end of the range written since the last sync.
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
        let file = ranges.due.take()?;
        let (first, end) = ranges.written[file as usize].take()?;
        let request = Request::new(Operation::DataSync, file, first, 0);
        Some(Next::SyncRange { request, length: end - first })
    }

    /// Counts a write; the file it went to is the one to be synced.
    pub(super) fn written(&mut self, write: &Request) {
        if let Some(ranges) = &mut self.ranges {
            let (offset, end) = (write.offset, write.offset + u64::from(write.length));
            let range = ranges.written[write.file as usize].get_or_insert((offset, end));
            *range = (range.0.min(offset), range.1.max(end));
            ranges.left -= 1;
            if ranges.left == 0 {
                ranges.left = ranges.every;
                ranges.due = Some(write.file);
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
                self.due = self.due.or(Some(Request::new(operation, write.file, write.offset, 0)));
            }
        }
    }
}

/// The writes of a job and the syncs that followed them. Writes are numbered from 0, over all files.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    /// Number of writes issued so far.
    writes: u64,
    /// Writes in flight, and those that failed, by number.
    incomplete: BTreeMap<u64, Request>,
    /// Syncs in flight: the file, and the writes of it below this number that they make durable.
    syncs: VecDeque<(u32, u64)>,
    files: BTreeMap<u32, Writes>,
}

/// The writes to one file.
#[derive(Clone, Copy, Debug, Default)]
struct Writes {
    /// All below this number are durable.
    durable_below: u64,
    /// Number of the last one.
    last: u64,
}

impl Flushes {
    /// Follows the writes of a job; `None` if it need not be known which are durable.
    pub(super) fn of(job: &JobPlan) -> Option<Box<Flushes>> {
        let plan = job.verify.as_ref().filter(|plan| !plan.only)?;
        (plan.policy == VerifyPolicy::Synced).then(Box::default)
    }

    /// A write or sync was issued.
    pub(super) fn issued(&mut self, request: &Request) {
        match request.operation {
            Operation::Write => {
                self.files.entry(request.file).or_default().last = self.writes;
                self.incomplete.insert(self.writes, *request);
                self.writes += 1;
            }
            Operation::Sync | Operation::DataSync => self.syncs.push_back((request.file, self.complete_below())),
            Operation::Read | Operation::Trim => {}
        }
    }

    /// A write completed in full.
    pub(super) fn completed(&mut self, request: &Request) {
        let number = self.incomplete.iter().find(|(_, issued)| request.is(issued)).map(|(&number, _)| number);
        if let Some(number) = number {
            self.incomplete.remove(&number);
        }
    }

    /// A sync of this file succeeded. Returns the number below which the file's writes are durable.
    pub(super) fn synced(&mut self, file: u32) -> u64 {
        let found = self.syncs.iter().position(|&(synced, _)| synced == file);
        let below = found.and_then(|at| self.syncs.remove(at)).map_or(0, |(_, below)| below);
        let writes = self.files.entry(file).or_default();
        writes.durable_below = writes.durable_below.max(below);
        writes.durable_below
    }

    /// A sync of this file failed: what it would have written out is in doubt.
    pub(super) fn sync_failed(&mut self, file: u32) {
        if let Some(at) = self.syncs.iter().position(|&(synced, _)| synced == file) {
            self.syncs.remove(at);
        }
    }

    /// Number of writes that are durable: all with lower numbers are, whatever their file.
    pub(super) fn durable(&self) -> u64 {
        let in_doubt = self.files.values().filter(|writes| writes.last >= writes.durable_below);
        in_doubt.map(|writes| writes.durable_below).min().unwrap_or(self.writes)
    }

    fn complete_below(&self) -> u64 {
        self.incomplete.first_key_value().map_or(self.writes, |(&number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(operation: Operation, target: u32, offset: u64) -> Request {
        Request::new(operation, target, offset, if operation == Operation::Write { 4 } else { 0 })
    }

    #[test]
    fn writes_in_flight_when_a_sync_is_submitted_are_not_durable() {
        let mut flushes = Flushes::default();
        (0..4).for_each(|at| flushes.issued(&io(Operation::Write, 0, at * 4)));
        [0, 1, 3].iter().for_each(|at| flushes.completed(&io(Operation::Write, 0, at * 4)));
        flushes.issued(&io(Operation::Sync, 0, 0));
        flushes.completed(&io(Operation::Write, 0, 8));
        assert_eq!(flushes.durable(), 0, "the sync has not returned");
        flushes.synced(0);
        assert_eq!(flushes.durable(), 2);
        flushes.issued(&io(Operation::DataSync, 0, 0));
        flushes.sync_failed(0);
        assert_eq!(flushes.durable(), 2);
        flushes.issued(&io(Operation::DataSync, 0, 0));
        flushes.synced(0);
        assert_eq!(flushes.durable(), 4);
    }

    #[test]
    fn a_sync_of_one_file_promises_nothing_about_another() {
        let mut flushes = Flushes::default();
        for (number, target) in [0, 1, 0, 1].into_iter().enumerate() {
            let write = io(Operation::Write, target, number as u64 * 4);
            flushes.issued(&write);
            flushes.completed(&write);
        }
        for (target, durable) in [(0, 0), (1, 4)] {
            flushes.issued(&io(Operation::Sync, target, 0));
            flushes.synced(target);
            assert_eq!(flushes.durable(), durable, "file {target} was synced");
        }
    }
}
