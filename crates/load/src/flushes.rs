//! Which writes are known to be on stable storage: those that had completed when a sync of their file was submitted
//! that later succeeded. `verify_policy=fsynced` verifies these alone.

use super::Request;
use plan::{JobPlan, Operation, VerifyPolicy};
use std::collections::{BTreeMap, VecDeque};

/// The writes of a job and the syncs that followed them. Writes are numbered from 0, over all files.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    /// Number of writes issued so far.
    writes: u64,
    /// Writes in flight, and those that failed, by number.
    incomplete: BTreeMap<u64, Request>,
    /// Syncs in flight: the target, and the writes of it below this number that they make durable.
    syncs: VecDeque<(u32, u64)>,
    targets: BTreeMap<u32, Writes>,
}

/// The writes to one target.
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
                self.targets.entry(request.target).or_default().last = self.writes;
                self.incomplete.insert(self.writes, *request);
                self.writes += 1;
            }
            Operation::Sync | Operation::DataSync => self.syncs.push_back((request.target, self.complete_below())),
            Operation::Read | Operation::Trim => {}
        }
    }

    /// A write completed in full.
    pub(super) fn completed(&mut self, request: &Request) {
        let number = self.incomplete.iter().find(|(_, issued)| *issued == request).map(|(&number, _)| number);
        if let Some(number) = number {
            self.incomplete.remove(&number);
        }
    }

    /// A sync of this target succeeded. Returns the number below which the target's writes are durable.
    pub(super) fn synced(&mut self, target: u32) -> u64 {
        let found = self.syncs.iter().position(|&(synced, _)| synced == target);
        let below = found.and_then(|at| self.syncs.remove(at)).map_or(0, |(_, below)| below);
        let writes = self.targets.entry(target).or_default();
        writes.durable_below = writes.durable_below.max(below);
        writes.durable_below
    }

    /// A sync of this target failed: what it would have written out is in doubt.
    pub(super) fn sync_failed(&mut self, target: u32) {
        if let Some(at) = self.syncs.iter().position(|&(synced, _)| synced == target) {
            self.syncs.remove(at);
        }
    }

    /// Number of writes that are durable: all with lower numbers are, whatever their file.
    pub(super) fn durable(&self) -> u64 {
        let in_doubt = self.targets.values().filter(|writes| writes.last >= writes.durable_below);
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
