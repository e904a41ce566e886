//! The Plan: what is to be done, complete and checked. Front ends write it, `run` carries it out, it serialises.
//!
//! Nothing in here is a word any more: sizes are bytes, times are nanoseconds, modes are enums, and what was not
//! given has its default. Only a percentage of a file's size is still open, because the file may not exist yet.

mod buffers;
mod files;
mod handling;
mod load;
mod pace;
mod pass;
mod place;
mod record;
mod replay;
mod steer;
mod tell;
mod verify;
mod zones;

pub use buffers::{BufferPlan, Fill, Memory, PlacedBytes, PlacedCheck, WorkingSet};
pub use files::{AccessAdvice, Allocate, Extent, FilePlan, SyncMode};
pub use handling::{FileHandling, FileLock, FileService, FileType, WriteHint};
pub use load::{BlockSize, Distribution, Generator, LoadPlan, Mix, RangeSync, Step};
pub use pace::{DepthPlan, PacePlan, ThinkCount};
pub use pass::{Access, Birth, Habits, Listed, MapAdvice, Marks, PassPlan, Race, RecordOrder, Strays};
pub use place::{CgroupPlan, ClockChoice, MemoryPolicy, PlacePlan};
pub use record::{LogPlan, PERCENTILES, RecordPlan, Unified, WindowValue};
pub use replay::{Hold, MergePlan, ReplayPlan, Skip, Timing};
pub use steer::{FlowPlan, LatencyPlan, SteadyCriterion, SteadyMeasure, SteadyPlan};
pub use tell::{Subject, TellPlan};
pub use verify::{Digest, Pattern, TrimPlan, VerifyFormat, VerifyMethod, VerifyPlan, VerifyPolicy};
pub use zones::{Gap, Strides, ZonePlan, Zoned};

use crate::engines::{EngineOptions, Work};
use measure::Nanos;
/// Everything one invocation runs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The jobs in the order of their text; clones are not yet spread out.
    pub jobs: Vec<JobPlan>,
    /// Options of global sections as written, for the echo in JSON.
    pub global_options: Vec<(String, String)>,
}

/// One `[section]` of a job file, or its equal from another front end.
#[derive(Clone, Debug)]
pub struct JobPlan {
    /// The job's name.
    pub name: String,
    /// Free text printed with the result.
    pub description: Option<String>,
    /// Where it was written, for messages: `mix.fio:12` or `command line`.
    pub origin: String,
    /// The job's own options as written, main names, in the order of their text; for the echo in JSON.
    pub written: Vec<(String, String)>,
    /// How many workers do this job.
    pub clones: u32,
    /// Process or thread.
    pub isolation: Isolation,
    /// The reporting group, from 0.
    pub group: u32,
    /// When it may start.
    pub start: StartPlan,
    /// When it must end, and whom it takes along.
    pub limits: Limits,
    /// The engine's name, as in its `EngineSpec`.
    pub engine: &'static str,
    /// What one I/O of that engine is.
    pub work: Work,
    /// Values of the engine's own options.
    pub engine_options: EngineOptions,
    /// Which files or devices.
    pub files: FilePlan,
    /// Which I/Os, in which order.
    pub load: LoadPlan,
    /// How many at once, and how they are submitted and reaped.
    pub depth: DepthPlan,
    /// How fast.
    pub pace: PacePlan,
    /// Latencies to keep.
    pub latency: LatencyPlan,
    /// Ends when its numbers have settled; `None` waits for nothing.
    pub steady: Option<SteadyPlan>,
    /// What the buffers hold and where they live.
    pub buffers: BufferPlan,
    /// Where and how the worker runs.
    pub place: PlacePlan,
    /// Write-then-check; `None` does not verify.
    pub verify: Option<VerifyPlan>,
    /// What lies around the job, where it is one timed pass.
    pub pass: Option<Box<PassPlan>>,
    /// Recorded I/Os take the place of the load; `None` draws them.
    pub replay: Option<ReplayPlan>,
    /// What is measured and written beside the result.
    pub record: RecordPlan,
}

impl JobPlan {
    /// One worker, a process, that reads 4 KiB blocks in order: fio's defaults, before any word.
    pub fn with_defaults(name: impl Into<String>, origin: impl Into<String>, engine: &'static str) -> Self {
        JobPlan {
            name: name.into(),
            description: None,
            origin: origin.into(),
            written: Vec::new(),
            clones: 1,
            isolation: Isolation::Process,
            group: 0,
            start: StartPlan::default(),
            limits: Limits::default(),
            engine,
            work: Work::Data,
            engine_options: EngineOptions::default(),
            files: FilePlan::default(),
            load: LoadPlan::default(),
            depth: DepthPlan::default(),
            pace: PacePlan::default(),
            latency: LatencyPlan::default(),
            steady: None,
            buffers: BufferPlan::default(),
            place: PlacePlan::default(),
            verify: None,
            pass: None,
            replay: None,
            record: RecordPlan::default(),
        }
    }
}

/// How a worker is set apart from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// A forked process: a crash is that job's result.
    Process,
    /// A thread of the main process.
    Thread,
}

/// When a job may start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartPlan {
    /// Wait for everything before it.
    pub stonewall: bool,
    /// Wait for all clones of the job with this name.
    pub wait_for: Option<String>,
    /// Then wait so long; the two ends of a range from which each clone draws (equal for a fixed delay).
    pub delay: (Nanos, Nanos),
    /// A shell command to run before the I/O.
    pub before: Option<String>,
    /// A shell command to run after it.
    pub after: Option<String>,
    /// The clock of the start in reports, a number of clock_gettime(2).
    pub clock_id: Option<u32>,
}

/// When a job ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Wall time after the ramp; `None` for no limit.
    pub runtime: Option<Nanos>,
    /// Start over at the end of the data until `runtime` is over.
    pub time_based: bool,
    /// Time of I/O before anything counts.
    pub ramp: Nanos,
    /// Bytes of I/O before anything counts; excludes `ramp`.
    pub ramp_bytes: u64,
    /// How often the amount is repeated.
    pub loops: u64,
    /// End after so many I/Os (per loop); `None` for no limit.
    pub ios: Option<u64>,
    /// When this job is done, end the others.
    pub exit_all: bool,
    /// Whom it takes along.
    pub exit_scope: ExitScope,
    /// When this job fails, end the others.
    pub exit_all_on_error: bool,
    /// Go on after the errors in these classes.
    pub continue_on_error: ContinueOnError,
    /// Which errors are forgiven in these classes.
    pub ignored: IgnoredErrors,
    /// Tell of every error, also of those that are forgiven.
    pub error_dump: bool,
    /// Tell of an I/O that has not come back for so long; `None` never.
    pub stuck_after: Option<Nanos>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            runtime: None,
            time_based: false,
            ramp: Nanos::ZERO,
            ramp_bytes: 0,
            loops: 1,
            ios: None,
            exit_all: false,
            exit_scope: ExitScope::Group,
            exit_all_on_error: false,
            continue_on_error: ContinueOnError::default(),
            ignored: IgnoredErrors::default(),
            error_dump: false,
            stuck_after: Some(Nanos::from_secs(30)),
        }
    }
}

/// Errors that are forgiven, as errno, per class; none in a class stands for those of the medium, EIO and EILSEQ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoredErrors {
    /// Of reads.
    pub read: Vec<i32>,
    /// Of writes and trims.
    pub write: Vec<i32>,
    /// Of checks.
    pub verify: Vec<i32>,
}

/// Whom a job takes along that ends the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitScope {
    /// The jobs of its group.
    #[default]
    Group,
    /// The jobs up to the next stonewall; those behind it run.
    Stonewall,
    /// All jobs.
    All,
}

/// Which I/O errors do not end a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContinueOnError {
    /// Failed reads.
    pub read: bool,
    /// Failed writes (and trims).
    pub write: bool,
    /// Failed verifications; never with verify_fatal.
    pub verify: bool,
}

/// One worker: a job and which clone of it.
#[derive(Clone, Copy, Debug)]
pub struct WorkerPlan<'plan> {
    /// The job.
    pub job: &'plan JobPlan,
    /// The job's index in the plan.
    pub job_index: usize,
    /// Clone of the job, from 0.
    pub clone: u32,
    /// Number over the whole run, from 1; used in log names and seeds.
    pub number: u32,
}

impl Plan {
    /// The depth as the words give it, for reports: a synchronous engine keeps one I/O in flight, but fio shows the
    /// user's number.
    pub fn asked_depth(&self, job: &JobPlan) -> u32 {
        let written = |options: &[(String, String)]| {
            let depth = options.iter().rev().find(|(name, _)| name == "iodepth");
            depth.and_then(|(_, value)| value.parse().ok())
        };
        written(&job.written).or_else(|| written(&self.global_options)).unwrap_or(job.depth.depth)
    }

    /// All workers in the order of their numbers.
    pub fn workers(&self) -> impl Iterator<Item = WorkerPlan<'_>> {
        let clones = self
            .jobs
            .iter()
            .enumerate()
            .flat_map(|(job_index, job)| (0..job.clones).map(move |clone| (job, job_index, clone)));
        (1..).zip(clones).map(|(number, (job, job_index, clone))| WorkerPlan { job, job_index, clone, number })
    }
}
