//! Verification in the worker's loop: flushes before a verify phase, checks data that was read back, and reports each
//! block that does not hold what was written.

use super::calls::Calls;
use super::faults;
use super::job_loop::Drive;
use super::verify::{dump, state_of, state_path};
use crate::WorkerState;
use engine::EngineError;
use load::{Expects, Request};
use measure::Clock;
use plan::{ContinueOnError, Operation};

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Ends the job at once if its verify threads could not be started.
    pub(super) fn begin_checks(&mut self) {
        if let Some(error) = self.checks.verify.as_mut().and_then(|checker| checker.trouble.take()) {
            self.statistics.record.fault.keep_first(error.errno, &error.operation, &error.message);
            self.ended_by_fault = true;
            self.load.stop();
        }
    }

    /// Begins a verify phase, when all writes due are complete: flushes them and drops them from the page cache, so
    /// that the data are read from the device. The time of the phase counts for the reads, not the writes.
    pub(super) fn begin_review(&mut self) -> Result<(), EngineError> {
        for target in 0..u32::try_from(self.files.open.paths.len()).unwrap_or(u32::MAX) {
            self.flush_for_review(target)?;
        }
        self.show(WorkerState::Verifying);
        let now = self.clock.now();
        if let Some(checker) = &mut self.checks.verify {
            checker.since = Some(now);
        }
        Ok(())
    }

    /// Flushes a target's file and drops it from the page cache. Direct I/O left nothing there to be flushed.
    pub(super) fn flush_for_review(&mut self, target: u32) -> Result<(), EngineError> {
        let request = Request::on_target(Operation::DataSync, self.files.open.file_of(target), target);
        let result = if self.job.files.direct { 0 } else { self.alone(&request)? };
        if result < 0 {
            self.fault(&request, result);
        } else if self.job.files.invalidate {
            self.files.open.drop_cache(target);
        }
        Ok(())
    }

    /// True during a verify phase.
    pub(super) fn is_reviewing(&self) -> bool {
        self.checks.verify.as_ref().is_some_and(|checker| checker.since.is_some())
    }

    /// Ends a verify phase: all blocks that were due have been read back.
    pub(super) fn end_review(&mut self) {
        if let Some(checker) = &mut self.checks.verify
            && let Some(threads) = &mut checker.threads
        {
            threads.finish(&mut checker.found);
            self.report_found();
        }
        let now = self.clock.now();
        if let Some(since) = self.checks.verify.as_mut().and_then(|checker| checker.since.take()) {
            // Reads among writes take all the time, as the writes do.
            if !self.load.reviews_among_writes() {
                self.statistics.record.reviewed += now.saturating_sub(since).get();
            }
            self.show(WorkerState::Running);
        }
    }

    /// Sets the content that the read in this slot must return, which a device that compares gets from the buffer.
    pub(super) fn expect(&mut self, slot: u32, request: &Request, expects: Expects) {
        if let Some(checker) = &mut self.checks.verify {
            checker.expected[slot as usize] = Some(expects);
            if checker.plan.compares {
                checker.pose(self.buffers.memory.slot(slot, request.length), request);
            }
        }
    }

    /// Checks a block that was read in full, if the job verifies reads.
    #[inline]
    pub(super) fn check_block(&mut self, slot: u32, request: &Request) {
        if self.checks.verify.is_some() && request.operation == Operation::Read {
            self.check_read(slot, request);
        }
    }

    #[cold]
    fn check_read(&mut self, slot: u32, request: &Request) {
        let Some(checker) = &mut self.checks.verify else { return };
        checker.check(slot, request, self.buffers.memory.slot(slot, request.length));
        if !checker.found.is_empty() {
            self.report_found();
        }
    }

    /// Reports mismatches, and ends the job unless it ignores them.
    fn report_found(&mut self) {
        let found = self.checks.verify.as_mut().map(|checker| std::mem::take(&mut checker.found));
        for (request, findings) in found.unwrap_or_default() {
            let path = self.path(&request);
            for finding in &findings {
                let mut text = finding.mismatch.describe(&path, request.offset, request.length);
                if let Some(dumped) = &finding.dumped {
                    text.push_str(&dump(dumped, &path, finding.mismatch.offset));
                }
                self.statistics.control.notices.send(&text);
            }
            let Some(first) = findings.first() else { continue };
            let limits = &self.job.limits;
            if limits.continue_on_error != ContinueOnError::default() {
                self.statistics.record.forgive(libc::EILSEQ);
            }
            if limits.continue_on_error.verify && faults::is_forgiven(&limits.ignored.verify, libc::EILSEQ) {
                continue;
            }
            let text = first.mismatch.describe(&path, request.offset, request.length);
            let message = text.lines().next().unwrap_or_default();
            self.statistics.record.fault.keep_first(libc::EILSEQ, "verify", message);
            self.ended_by_fault = true;
            self.load.stop();
        }
    }

    /// Saves the state file, which records how far the writes got, if the job asks for it (`verify_state_save`).
    pub(super) fn save_state(&mut self) {
        let Some(checker) = &self.checks.verify else { return };
        if !self.job.keeps_state() {
            return;
        }
        let mut state = state_of(self.job, checker.number);
        state.writes = self.load.durable_writes().unwrap_or(checker.writes);
        state.completed = checker.last_writes(state.writes);
        let name = load::verify::state::State::file_name(&state.name, state.index);
        let name = state_path(self.job, &name);
        if let Err(error) = sys::files::output_file::write(&name, &state.to_bytes(checker.plan.format)) {
            self.statistics.control.notices.send(&format!(
                "fio: {}: {error}: how far the writes came is not kept (verify_state_save=0 does not try)",
                name.display()
            ));
        }
    }
}
