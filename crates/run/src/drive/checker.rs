//! Verification in the loop: seals blocks before they are written, judges blocks that were read back, and names each
//! that is not what was written.

use super::checkers::Checkers;
use super::{Drive, faults};
use crate::WorkerState;
use crate::files::largest_block;
use crate::worker::state;
use engine::{Engine, EngineError, Operation};
use job::plan::{ContinueOnError, JobPlan, Mix, VerifyPlan};
use load::verify::{Expected, Mismatch, Verifier};
use load::{Expects, Request};
use measure::{Clock, Direction, Nanos};
use model::JobError;
use std::path::Path;
use std::sync::Arc;

/// What a job that verifies keeps between its I/Os.
#[derive(Debug)]
pub(super) struct Checker {
    plan: VerifyPlan,
    verifier: Arc<Verifier>,
    number: u32,
    /// Writes sealed so far.
    writes: u64,
    /// File and offset of the last writes, as many as the depth; the newest at `writes`.
    last: Box<[(u32, u64)]>,
    /// Per slot: what is being read back must hold this.
    expected: Box<[Option<Expects>]>,
    /// The job only reads: every block must be one that some job wrote.
    judges_all_reads: bool,
    /// The engine moves real data; what null and sim bring back was never written.
    moves_data: bool,
    threads: Option<Checkers>,
    /// Why there are no threads though there should be.
    trouble: Option<JobError>,
    /// What threads found and the loop has not told yet.
    found: Vec<(Request, Vec<Finding>)>,
    /// When the review that is on began.
    since: Option<Nanos>,
}

/// A block that is not what was written, with its bytes where they are to be dumped.
#[derive(Debug)]
pub(super) struct Finding {
    mismatch: Mismatch,
    dumped: Option<Dumped>,
}

#[derive(Debug)]
struct Dumped {
    received: Vec<u8>,
    /// What should have been; `None` where the header is wrong, and with it what would tell.
    expected: Option<Vec<u8>>,
}

/// Judges a block that was read back. Allocates only where something is wrong.
pub(super) fn judge(
    verifier: &Verifier,
    buffer: &mut [u8],
    request: &Request,
    expects: Option<Expects>,
    dump: bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let sequence = match expects {
        Some(Expects::Anything) => return findings,
        Some(Expects::Zeros) => {
            if let Err(mismatch) = Mismatch::unless_zero(buffer, request.offset) {
                let zeros = || Dumped { received: buffer.to_vec(), expected: Some(vec![0; buffer.len()]) };
                findings.push(Finding { mismatch, dumped: dump.then(zeros) });
            }
            return findings;
        }
        Some(Expects::Write(sequence)) => Some(sequence),
        None => None,
    };
    let expected = Expected { offset: request.offset, sequence };
    verifier.check_each(buffer, expected, &mut |mismatch, block| {
        let place = Expected { offset: mismatch.offset, sequence };
        let right = || verifier.regenerate(block, request.offset, place);
        let dumped = || Dumped { received: block.to_vec(), expected: (!mismatch.is_header()).then(right) };
        let dumped = dump.then(dumped);
        findings.push(Finding { mismatch, dumped });
    });
    findings
}

impl Checker {
    pub(super) fn new(job: &JobPlan, worker: u32, seed: u64) -> Option<Checker> {
        let plan = job.verify.as_ref()?;
        let verifier = Arc::new(Verifier::new(plan, worker, seed));
        let largest = usize::try_from(largest_block(job)).unwrap_or(usize::MAX);
        let depth = job.depth.depth as usize;
        let started = (plan.threads > 0).then(|| Checkers::start(plan, &verifier, largest)).transpose();
        let (threads, trouble) = match started {
            Ok(threads) => (threads, None),
            Err(error) => (None, Some(error)),
        };
        Some(Checker {
            plan: plan.clone(),
            verifier,
            number: worker,
            writes: 0,
            last: vec![(0, 0); depth.max(1)].into_boxed_slice(),
            expected: vec![None; depth].into_boxed_slice(),
            judges_all_reads: plan.check && job.load.mix == Mix::Only(Direction::Read),
            moves_data: job.work.moves_data(),
            threads,
            trouble,
            found: Vec::new(),
            since: None,
        })
    }

    /// Puts a sealed block into a buffer that is about to be written.
    pub(super) fn seal(&mut self, buffer: &mut [u8], request: &Request, now: Nanos) {
        let slots = self.last.len() as u64;
        self.last[usize::try_from(self.writes % slots).unwrap_or(0)] = (request.target, request.offset);
        self.writes += 1;
        self.verifier.seal(buffer, request.offset, self.writes, now);
    }

    fn judge(&mut self, slot: u32, request: &Request, buffer: &mut [u8]) {
        let expects = self.expected[slot as usize].take();
        if !self.moves_data || (expects.is_none() && !self.judges_all_reads) {
            return;
        }
        if let Some(threads) = &mut self.threads {
            threads.hand_over(buffer, *request, expects, &mut self.found);
            return;
        }
        let findings = judge(&self.verifier, buffer, request, expects, self.plan.dump);
        if !findings.is_empty() {
            self.found.push((*request, findings));
        }
    }

    /// The last writes, the newest first.
    fn last_writes(&self) -> Vec<(u64, u64)> {
        let slots = self.last.len() as u64;
        let kept = self.writes.min(slots);
        let at = |back: u64| self.last[usize::try_from((self.writes - 1 - back) % slots).unwrap_or(0)];
        (0..kept).map(at).map(|(target, offset)| (u64::from(target), offset)).collect()
    }
}

impl<E: Engine, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Ends the job at once where its threads could not be started.
    pub(super) fn begin_checks(&mut self) {
        if let Some(error) = self.checker.as_mut().and_then(|checker| checker.trouble.take()) {
            self.tally.record.fault.keep_first(error.errno, &error.operation, &error.message);
            self.ended_by_fault = true;
            self.load.stop();
        }
    }

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
        if let Some(checker) = &mut self.checker
            && let Some(threads) = &mut checker.threads
        {
            threads.finish(&mut checker.found);
            self.tell_found();
        }
        let now = self.clock.now();
        if let Some(since) = self.checker.as_mut().and_then(|checker| checker.since.take()) {
            self.tally.record.reviewed += now.saturating_sub(since).get();
            self.show(WorkerState::Running);
        }
    }

    /// The read that goes into this slot brings back a block that must hold this.
    pub(super) fn expect(&mut self, slot: u32, expects: Expects) {
        if let Some(checker) = &mut self.checker {
            checker.expected[slot as usize] = Some(expects);
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
        checker.judge(slot, request, self.memory.slot(slot, request.length));
        if !checker.found.is_empty() {
            self.tell_found();
        }
    }

    /// Names what was found, and ends the job where it is not forgiven.
    fn tell_found(&mut self) {
        let found = self.checker.as_mut().map(|checker| std::mem::take(&mut checker.found));
        for (request, findings) in found.unwrap_or_default() {
            let path = self.path(&request);
            for finding in &findings {
                let mut text = finding.mismatch.describe(&path, (request.offset, request.length));
                if let Some(dumped) = &finding.dumped {
                    text.push_str(&dump(dumped, &path, finding.mismatch.offset));
                }
                self.tally.control.notices.tell(&text);
            }
            let Some(first) = findings.first() else { continue };
            let limits = &self.job.limits;
            if limits.continue_on_error != ContinueOnError::default() {
                self.tally.count_error(libc::EILSEQ);
            }
            if limits.continue_on_error.verify && faults::is_forgiven(&limits.ignored.verify, libc::EILSEQ) {
                continue;
            }
            let text = first.mismatch.describe(&path, (request.offset, request.length));
            let message = text.lines().next().unwrap_or_default();
            self.tally.record.fault.keep_first(libc::EILSEQ, "verify", message);
            self.ended_by_fault = true;
            self.load.stop();
        }
    }

    /// Leaves the file that says how far the writes came, where the job wants it.
    pub(super) fn save_state(&mut self) {
        let Some(checker) = &self.checker else { return };
        let writes = self.job.load.mix.contains(Direction::Write);
        if !checker.plan.state_save || checker.plan.only || !writes {
            return;
        }
        let mut state = state::describe(self.job, checker.number);
        (state.writes, state.completed) = (checker.writes, checker.last_writes());
        let name = load::verify::state::State::file_name(&state.name, state.index);
        let name = state::path(self.job, &name);
        if let Err(error) = sys::aside::write(&name, &state.to_bytes(checker.plan.format)) {
            self.tally.control.notices.tell(&format!(
                "fio: {}: {error}: how far the writes came is not kept (verify_state_save=0 does not try)",
                name.display()
            ));
        }
    }
}

/// Writes the bytes of a bad block into the current directory and says where.
fn dump(dumped: &Dumped, path: &str, offset: u64) -> String {
    let name = Path::new(path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut text = String::new();
    let mut put = |kind: &str, bytes: &[u8]| {
        let file = format!("{name}.{offset}.{kind}");
        let said = match sys::aside::write(Path::new(&file), bytes) {
            Ok(()) => format!("\n       {kind} data dumped as {file}"),
            Err(error) => format!("\n       {kind} data could not be dumped as {file}: {error}"),
        };
        text.push_str(&said);
    };
    match &dumped.expected {
        Some(expected) => {
            put("received", &dumped.received);
            put("expected", expected);
        }
        None => put("hdr_fail", &dumped.received),
    }
    text
}
