//! A timed pass in the worker's loop: a separate loop for records with additional steps, the marks in data that is
//! read, the notice to the other workers, and the steps after the timed part.

use super::calls::Calls;
use super::job_loop::Drive;
use super::pass::{TimedPass, first_difference, has_marks};
use crate::shared::control::MARK;
use engine::EngineError;
use load::{Mismatch, Request};
use measure::Clock;
use model::JobError;
use plan::Operation;
use plan::{ExtraReads, Listed, Race, RecordExtras};
use std::sync::atomic::Ordering::Relaxed;
use sys::files::range_lock::RangeLock;

/// Distance between two stray reads, in bytes.
const PAGE: u64 = 4096;

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Reads the first record, if the plan says so. As late as possible: what comes after it takes the data out of the
    /// nearest caches.
    pub(super) fn prime(&mut self) -> Result<(), JobError> {
        if !self.checks.pass.as_ref().is_some_and(|pass| pass.plan.prime) {
            return Ok(());
        }
        self.files.open.prime(self.buffers.memory.slot(0, self.job.load.smallest()))
    }

    /// Ends a pass that could not be prepared, before its first record.
    pub(super) fn fail_to_begin(&mut self, error: &JobError) {
        self.statistics.record.fault.keep_first(error.errno, &error.operation, &error.message);
        self.ended_by_fault = true;
        self.load.stop();
    }

    /// Notifies the other workers that the records of this one are complete.
    pub(super) fn end_timed_part(&mut self) {
        let Some(pass) = &self.checks.pass else { return };
        if !self.ended_by_fault
            && !self.statistics.control.stop_requested()
            && self.statistics.record.marked().is_none()
        {
            pass.notify_other_workers();
        }
    }

    /// Closes the files inside the timed part, if the plan says so.
    pub(super) fn close_inside(&mut self) {
        if self.checks.pass.as_ref().is_some_and(|pass| pass.plan.close_inside) {
            self.files.open.close();
        }
    }

    /// Performs what follows the timed part, outside of the measured time.
    pub(super) fn after_timed_part(&mut self) -> Result<(), EngineError> {
        let wanted = self.checks.pass.as_ref().is_some_and(|pass| pass.plan.flush_after && !pass.plan.close_inside);
        if !wanted || self.ended_by_fault {
            return Ok(());
        }
        let request = Request::new(Operation::Sync, 0, 0, 0);
        let result = self.alone(&request)?;
        if result < 0 {
            self.fault(&request, result);
        }
        Ok(())
    }

    /// Handles the notice that another worker finished first: stores the amount reached so far, and stops if the pass
    /// ends with its first worker.
    pub(super) fn mark(&mut self) {
        self.statistics.control.stop.fetch_and(!MARK, Relaxed);
        let race = self.checks.pass.as_ref().map_or(Race::None, |pass| pass.plan.race);
        if race == Race::None || self.statistics.record.marked().is_some() {
            return;
        }
        self.statistics.record.mark(self.statistics.control, self.clock.now());
        if race == Race::Stop {
            self.load.stop();
        }
    }

    /// Checks that the pages of a record that was read start with the mark.
    #[cold]
    pub(super) fn check_marks(&mut self, slot: u32, request: &Request) {
        let Some(marks) = self.checks.pass.as_ref().and_then(|pass| pass.plan.marks) else { return };
        if request.operation != Operation::Read || !self.engine.spec().capabilities.work.moves_data() {
            return;
        }
        let Some((at, found)) = first_difference(marks, self.buffers.memory.slot(slot, request.length)) else { return };
        self.report_mismatch(request, Mismatch { offset: request.offset + at, found, expected: marks.byte });
    }

    /// The same check in the loop of a pass, inlined; a mismatch is rare and handled out of line.
    #[inline(always)]
    pub(super) fn check_marks_inline(&mut self, request: &Request) {
        if request.operation == Operation::Read
            && let Some(marks) = self.checks.pass.as_ref().and_then(|pass| pass.plan.marks.as_ref())
            && !has_marks(marks, self.buffers.memory.slot(0, request.length))
        {
            self.check_marks(0, request);
        }
    }

    /// Checks that a record that was read holds the data of its position.
    pub(super) fn check_positions(&mut self, slot: u32, request: &Request) {
        let reads = request.operation == Operation::Read && self.engine.spec().capabilities.work.moves_data();
        if self.job.buffers.placed.is_none() || !reads {
            return;
        }
        if let Some(wrong) =
            self.buffers.content.first_mismatch(self.buffers.memory.slot(slot, request.length), request)
        {
            self.report_mismatch(request, wrong);
        }
    }

    #[cold]
    fn report_mismatch(&mut self, request: &Request, wrong: Mismatch) {
        let Mismatch { offset, found, expected } = wrong;
        let path = self.path(request);
        let message = format!(
            "{path}: byte {offset} holds 0x{found:02x} where 0x{expected:02x} was expected: this was not written by this \
             test, or was read back wrong"
        );
        self.statistics.record.fault.keep_first(libc::EILSEQ, "verify", &message);
        self.ended_by_fault = true;
        self.load.stop();
    }
}

impl<'w, E: Calls, const LATENCY: bool> Drive<'w, E, LATENCY> {
    /// The extra steps of each record; `None` for most passes.
    pub(super) fn extras(&self) -> Option<(&'w RecordExtras, &'w [Listed])> {
        self.checks.pass.as_ref().and_then(TimedPass::extras)
    }

    /// Runs one record at a time, each with its additional steps.
    pub(super) fn run_with_extras(&mut self) -> Result<(), EngineError> {
        let Some((extras, list)) = self.extras() else { return Ok(()) };
        let (mut records, slots) = (0, u64::from(self.buffers.memory.slots()));
        let mut now = self.clock.now();
        while let Some((request, present)) = self.next_alone(now)? {
            now = present;
            if request.direction().is_some() {
                self.before_record(extras, list, records);
                now = self.clock.now();
                records += 1;
            }
            let slot = u32::try_from(u64::saturating_sub(records, 1) % slots).unwrap_or(0);
            if extras.locks
                && let Err(error) = self.lock_bytes(&request, taken(&request))
            {
                self.fault(&request, -i64::from(error.raw_os_error().unwrap_or(libc::EIO)));
                continue;
            }
            let done = self.perform_alone(slot, &request, now);
            if extras.locks {
                // Releasing a lock that is held does not fail.
                let _ = self.lock_bytes(&request, RangeLock::Released);
            }
            now = done?;
        }
        self.count_calls();
        Ok(())
    }

    /// Performs the steps before the record with this number.
    fn before_record(&mut self, extras: &RecordExtras, list: &[Listed], number: u64) {
        if let Some(reads) = extras.extra_reads.filter(|reads| number.is_multiple_of(reads.every.max(1))) {
            self.read_elsewhere(reads);
        }
        let listed = usize::try_from(number).ok().and_then(|number| list.get(number));
        if let Some(compute) = listed.map(|listed| listed.compute).filter(|time| extras.computes && !time.is_zero()) {
            self.spin_until(self.clock.now().saturating_add(compute));
        }
    }

    /// Reads pages elsewhere, without the engine. The data are not checked.
    fn read_elsewhere(&mut self, reads: ExtraReads) {
        let bytes = reads.bytes.min(self.job.load.largest());
        for page in 0..u64::from(reads.count) {
            // A failed stray read is not an error of the pass.
            let _ = self.files.open.peek(0, page * PAGE, self.buffers.memory.slot(0, bytes));
        }
    }

    fn lock_bytes(&self, request: &Request, lock: RangeLock) -> std::io::Result<()> {
        self.files.open.lock_bytes(request.target, lock, request.offset, u64::from(request.length))
    }
}

/// The lock that a request needs.
fn taken(request: &Request) -> RangeLock {
    if request.operation == Operation::Read { RangeLock::Shared } else { RangeLock::Exclusive }
}
