//! Verification in the loop: adds verify headers to blocks before they are written, checks blocks that were read back,
//! and describes each mismatch.

use super::verify_threads::VerifyThreads;
use crate::error::{file_error, refusal};
use crate::files::largest_block;
use load::verify::state::{State, WriteOrder};
use load::verify::{Expected, Mismatch, Verifier};
use load::{Expects, Request};
use measure::{Direction, Nanos};
use model::JobError;
use plan::{JobPlan, Mix, VerifyPlan};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The state of a job that verifies.
#[derive(Debug)]
pub(super) struct Verification {
    pub(super) plan: VerifyPlan,
    checker: BlockChecker,
    pub(super) number: u32,
    /// Number of writes so far.
    pub(super) writes: u64,
    /// File and offset of the last writes: a ring of `depth` entries, in which the next write goes to `writes` modulo
    /// its length.
    last: Box<[(u32, u64)]>,
    /// Per slot: the content that the read in flight must return.
    pub(super) expected: Box<[Option<Expects>]>,
    /// True if the job only reads: every block must have been written by an earlier job.
    checks_all_reads: bool,
    /// True if the engine moves real data; the null and sim engines return no data to check.
    moves_data: bool,
    /// Bytes that were checked.
    pub(super) checked_bytes: u64,
    pub(super) threads: Option<VerifyThreads>,
    /// Why the threads could not be started.
    pub(super) trouble: Option<JobError>,
    /// Mismatches that are not reported yet.
    pub(super) found: Vec<(Request, Vec<Finding>)>,
    /// Start of the verify phase in progress.
    pub(super) since: Option<Nanos>,
}

/// A block that does not hold what was written, with its bytes if they are to be dumped.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) mismatch: Mismatch,
    pub(super) dumped: Option<Dumped>,
}

#[derive(Debug)]
pub(super) struct Dumped {
    received: Vec<u8>,
    /// The expected data; `None` if the header is damaged, because the data are generated from it.
    pub(super) expected: Option<Vec<u8>>,
}

/// Checks blocks that were read back, in the loop or in a verify thread.
#[derive(Clone, Debug)]
pub(super) struct BlockChecker {
    verifier: Arc<Verifier>,
    /// True if the bytes of a bad block are dumped to files (`verify_dump`).
    dumps: bool,
}

impl BlockChecker {
    /// Returns the mismatches in a block. Allocates memory only for a mismatch.
    pub(super) fn check(&self, buffer: &mut [u8], request: &Request, expects: Option<Expects>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let sequence = match expects {
            Some(Expects::Anything) => return findings,
            Some(Expects::Zeros) => {
                if let Err(mismatch) = Mismatch::unless_zero(buffer, request.offset) {
                    let zeros = || Dumped { received: buffer.to_vec(), expected: Some(vec![0; buffer.len()]) };
                    findings.push(Finding { mismatch, dumped: self.dumps.then(zeros) });
                }
                return findings;
            }
            Some(Expects::Write(sequence)) => Some(sequence),
            None => None,
        };
        let expected = Expected { offset: request.offset, sequence };
        self.verifier.check_each(buffer, expected, &mut |mismatch, block| {
            let place = Expected { offset: mismatch.offset, sequence };
            let right = || self.verifier.regenerate(block, request.offset, place);
            let dumped = || Dumped { received: block.to_vec(), expected: (!mismatch.is_header()).then(right) };
            let dumped = self.dumps.then(dumped);
            findings.push(Finding { mismatch, dumped });
        });
        findings
    }
}

impl Verification {
    pub(super) fn new(job: &JobPlan, worker: u32, seed: u64) -> Option<Verification> {
        let plan = job.verify.as_ref()?;
        let checker = BlockChecker { verifier: Arc::new(Verifier::new(plan, worker, seed)), dumps: plan.dump };
        let largest = usize::try_from(largest_block(job)).unwrap_or(usize::MAX);
        let depth = job.depth.depth as usize;
        let started = (plan.threads > 0).then(|| VerifyThreads::start(plan, &checker, largest)).transpose();
        let (threads, trouble) = match started {
            Ok(threads) => (threads, None),
            Err(error) => (None, Some(error)),
        };
        Some(Verification {
            plan: plan.clone(),
            checker,
            number: worker,
            writes: 0,
            last: vec![(0, 0); depth.max(1)].into_boxed_slice(),
            expected: vec![None; depth].into_boxed_slice(),
            checks_all_reads: plan.check && job.load.mix == Mix::Only(Direction::Read),
            moves_data: job.work.moves_data(),
            checked_bytes: 0,
            threads,
            trouble,
            found: Vec::new(),
            since: None,
        })
    }

    /// Puts a pattern with its header into a buffer that is about to be written.
    pub(super) fn seal(&mut self, buffer: &mut [u8], request: &Request, now: Nanos) {
        let slots = self.last.len() as u64;
        self.last[usize::try_from(self.writes % slots).unwrap_or(0)] = (request.file, request.offset);
        self.writes += 1;
        self.checker.verifier.seal(buffer, request.offset, self.writes, now);
    }

    /// Puts what was written, a pattern without a header, into a buffer.
    pub(super) fn pose(&self, buffer: &mut [u8], request: &Request) {
        self.checker.verifier.seal(buffer, request.offset, 0, Nanos::ZERO);
    }

    pub(super) fn check(&mut self, slot: u32, request: &Request, buffer: &mut [u8]) {
        let expects = self.expected[slot as usize].take();
        if !self.moves_data || (expects.is_none() && !self.checks_all_reads) {
            return;
        }
        if expects != Some(Expects::Anything) {
            self.checked_bytes += u64::from(request.length);
        }
        if let Some(threads) = &mut self.threads {
            threads.hand_over(buffer, *request, expects, &mut self.found);
            return;
        }
        let findings = self.checker.check(buffer, request, expects);
        if !findings.is_empty() {
            self.found.push((*request, findings));
        }
    }

    /// The last writes with numbers, from 0, below `end`, as file and offset, the newest first.
    pub(super) fn last_writes(&self, end: u64) -> Vec<(u64, u64)> {
        let slots = self.last.len() as u64;
        let at = |number: u64| self.last[usize::try_from(number % slots).unwrap_or(0)];
        (self.writes.saturating_sub(slots)..end.min(self.writes))
            .rev()
            .map(at)
            .map(|(target, offset)| (u64::from(target), offset))
            .collect()
    }
}

/// Writes the bytes of a bad block to files in the current directory; returns lines for the message that name the
/// files.
pub(super) fn dump(dumped: &Dumped, path: &str, offset: u64) -> String {
    let name = Path::new(path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut text = String::new();
    let mut put = |kind: &str, bytes: &[u8]| {
        let file = format!("{name}.{offset}.{kind}");
        let said = match sys::files::output_file::write(Path::new(&file), bytes) {
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

/// Size limit of a state file in bytes: far more than the deepest job writes.
const LARGEST: u64 = 64 << 20;

/// The saved writes of an earlier run of this job, if the job asks for them (`verify_state_load`). Fails if there is no
/// such file, or if it cannot be used.
pub(crate) fn load_state(job: &JobPlan, number: u32) -> Result<Option<State>, JobError> {
    if !job.verify.as_ref().is_some_and(|plan| plan.state_load) {
        return Ok(None);
    }
    let name = State::file_name(&job.name, u64::from(number) - 1);
    let advice =
        " (verify_state_load reads what a job of this name and number left in the current directory or --aux-path)";
    let name = state_path(job, &name);
    let bytes =
        sys::files::read_limited::read(&name, LARGEST).map_err(|error| file_error("read", &name, error, advice))?;
    let wrong = |what: String| refusal(libc::EINVAL, "read", format!("state file {}: {what}", name.display()));
    let state = State::from_bytes(&bytes).map_err(|error| wrong(error.to_string()))?;
    match state.order {
        WriteOrder::Foreign if job.load.random => {
            Err(wrong("fio drew the random order of its writes, and plumb draws another from the same seed".to_owned()))
        }
        WriteOrder::Ours(seed) if job.load.random && Some(seed) != job.load.seed => {
            Err(wrong(format!("its writes were drawn from the seed {seed}; give randseed={seed}")))
        }
        _ => Ok(Some(state)),
    }
}

/// The path of a state file with this name: in the directory of `--aux-path`, or in the current directory.
pub(super) fn state_path(job: &JobPlan, name: &str) -> PathBuf {
    job.record.states_in.as_ref().map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
}

/// The state of this worker, without its writes.
pub(super) fn state_of(job: &JobPlan, number: u32) -> State {
    let seed = job.load.seed.unwrap_or(0);
    State {
        index: u64::from(number) - 1,
        name: job.name.clone(),
        depth: job.depth.depth,
        order: if job.load.random { WriteOrder::Ours(seed) } else { WriteOrder::Sequential },
        ..State::default()
    }
}
