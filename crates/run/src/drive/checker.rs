//! Verification in the loop: seals blocks before they are written and judges blocks that were read back.

use super::Drive;
use crate::WorkerState;
use engine::{Engine, EngineError, Operation};
use job::plan::{ContinueOnError, JobPlan, Mix};
use load::Request;
use load::verify::{Expected, Mismatch, Verifier};
use measure::{Clock, Direction, Nanos};

/// What a job that verifies keeps between its I/Os.
#[derive(Debug)]
pub(super) struct Checker {
    verifier: Verifier,
    /// Writes sealed so far.
    writes: u64,
    /// Per slot: the write that is being read back.
    expected: Box<[Option<u64>]>,
    /// The job only reads: every block must be one that some job wrote.
    judges_all_reads: bool,
    /// The engine moves real data; what null and sim bring back was never written.
    moves_data: bool,
    /// When the review that is on began.
    since: Option<Nanos>,
}

impl Checker {
    pub(super) fn new<E: Engine>(job: &JobPlan, worker: u32, seed: u64) -> Option<Checker> {
        let plan = job.verify.as_ref()?;
        Some(Checker {
            verifier: Verifier::new(plan, worker, seed),
            writes: 0,
            expected: vec![None; job.depth.depth as usize].into_boxed_slice(),
            judges_all_reads: plan.check && job.load.mix == Mix::Only(Direction::Read),
            moves_data: E::SPEC.capabilities.work.moves_data(),
            since: None,
        })
    }

    /// Puts a sealed block into a buffer that is about to be written.
    pub(super) fn seal(&mut self, buffer: &mut [u8], request: &Request, now: Nanos) {
        self.writes += 1;
        self.verifier.seal(buffer, request.offset, self.writes, now);
    }

    fn judge(&mut self, slot: u32, request: &Request, buffer: &[u8]) -> Result<(), Mismatch> {
        let sequence = self.expected[slot as usize].take();
        if !self.moves_data || (sequence.is_none() && !self.judges_all_reads) {
            return Ok(());
        }
        self.verifier.check(buffer, Expected { offset: request.offset, sequence })
    }
}

impl<E: Engine, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Writes are over for now: flush them and drop them from the cache, so that what is read back comes from the
    /// device. The time of a review is the reads', not the writes'.
    pub(super) fn begin_review(&mut self) -> Result<(), EngineError> {
        for target in 0..u32::try_from(self.files.paths.len()).unwrap_or(u32::MAX) {
            let request = Request { operation: Operation::DataSync, target, offset: 0, length: 0 };
            let result = self.alone(&request)?;
            if result < 0 {
                self.fault(&request, result);
            } else if self.job.files.invalidate {
                self.files.drop_cache(target);
            }
        }
        self.show(WorkerState::Verifying);
        let now = self.clock.now();
        if let Some(checker) = &mut self.checker {
            checker.since = Some(now);
        }
        Ok(())
    }

    /// The blocks that were due are read back.
    pub(super) fn end_review(&mut self) {
        let now = self.clock.now();
        if let Some(since) = self.checker.as_mut().and_then(|checker| checker.since.take()) {
            self.tally.record.reviewed += now.saturating_sub(since).get();
            self.show(WorkerState::Running);
        }
    }

    /// The read that goes into this slot brings back write number `sequence`.
    pub(super) fn expect(&mut self, slot: u32, sequence: u64) {
        if let Some(checker) = &mut self.checker {
            checker.expected[slot as usize] = Some(sequence);
        }
    }

    /// Judges a block that was read whole, where this job judges it.
    #[inline]
    pub(super) fn judge_block(&mut self, slot: u32, request: &Request) {
        if self.checker.is_some() && request.operation == Operation::Read {
            self.judge_read(slot, request);
        }
    }

    #[cold]
    fn judge_read(&mut self, slot: u32, request: &Request) {
        let Some(checker) = &mut self.checker else { return };
        let buffer = self.memory.slot(slot, request.length);
        let Err(mismatch) = checker.judge(slot, request, buffer) else { return };
        let path = self.files.paths.get(request.target as usize).map(|path| path.display().to_string());
        let message = format!(
            "{}: {mismatch} (requested block: offset={}, length={})",
            path.unwrap_or_default(),
            request.offset,
            request.length
        );
        let forgiving = self.job.limits.continue_on_error;
        if forgiving != ContinueOnError::default() {
            self.tally.count_error(libc::EILSEQ);
        }
        if forgiving.verify {
            return;
        }
        self.tally.record.fault.keep_first(libc::EILSEQ, "verify", &message);
        self.ended_by_fault = true;
        self.load.stop();
    }
}
