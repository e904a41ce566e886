//! The Plan: a complete and checked description of the work. Front ends create it, `run` executes it; it can be
//! serialised.
//!
//! It contains values instead of text: sizes are bytes, times are nanoseconds, modes are enums, and options that were
//! not given have their defaults. Only percentages of a file's size are unresolved, because the file may not exist yet.

#![forbid(unsafe_code)]

mod buffers;
mod engine;
mod files;
mod load;
pub mod option;
mod pace;
mod pass;
mod place;
mod placement;
mod record;
mod replay;
mod verify;
mod workload;

pub use buffers::{BufferPlan, Fill, Memory, PlacedBytes, PlacedCheck, WorkingSet};
pub use engine::{Capabilities, DEFAULT_ENGINE, EngineOptions, EngineSpec, KeepsFiles, KeepsOrder, Submission, Work};
pub use files::{
    AccessAdvice, Allocate, Extent, FileHandling, FileLock, FilePlan, FileService, FileType, LaidOutBy, Part, SyncMode,
    WriteHint,
};
pub use load::{
    BlockSize, Distribution, Gap, Generator, LoadPlan, Mix, Operation, RangeSync, RwPattern, SprandomPlan, Step,
    Strides, ZONE_BYTES_MAX, ZonePlan, Zoned,
};
pub use option::{Placing, WrittenOption, WrittenValue};
pub use pace::{
    DepthPlan, FlowPlan, LatencyPlan, PacePlan, RateStep, SteadyCriterion, SteadyMeasure, SteadyPlan, ThinkCount,
};
pub use pass::{Access, Creation, ExtraReads, Listed, MapAdvice, Marks, PassPlan, Race, RecordExtras, RecordOrder};
pub use place::{CgroupPlan, ClockChoice, MemoryPolicy, PlacePlan};
pub use placement::{PlacementChoice, PlacementKind, PlacementPlan};
pub use record::{DebugPlan, LogPlan, PERCENTILES, RecordPlan, Subject, Unified, WindowValue};
pub use replay::{Hold, MergePlan, ReplayPlan, Skip, Timing};
pub use verify::{Digest, Pattern, TrimPlan, VerifyFormat, VerifyMethod, VerifyPlan, VerifyPolicy};
pub use workload::{CacheStart, Contents, Filling, Flushes, Order, Pace, Start, Workload};

use measure::Nanos;
use smart_default::SmartDefault;

/// All jobs of one invocation.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Jobs in the order of the job file; clones are not expanded yet.
    pub jobs: Vec<JobPlan>,
    /// Options of global sections as written, repeated in the JSON output.
    pub global_options: Vec<(String, String)>,
}

/// One `[section]` of a job file, or its equivalent from another front end.
///
/// ```
/// use measure::{Nanos, PerDirection};
/// use plan::{BlockSize, JobPlan, Plan};
///
/// let mut job = JobPlan::with_defaults("lookup", "an example", "psync");
/// job.load.random = true;
/// job.load.block_size = PerDirection::all(BlockSize::Fixed(8192));
/// job.limits.runtime = Some(Nanos::from_secs(10));
/// let plan = Plan { jobs: vec![job], ..Plan::default() };
/// assert_eq!(plan.jobs[0].load.size_ranges().read, (8192, 8192));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JobPlan {
    /// The job's name.
    pub name: String,
    /// Free text printed with the result.
    pub description: Option<String>,
    /// Source of the job, for messages: `mix.fio:12` or `command line`.
    pub origin: String,
    /// The job's own options as written, with main names and in order; repeated in the JSON output.
    pub written: Vec<(String, String)>,
    /// Number of workers (`numjobs`).
    pub clones: u32,
    /// Workers are processes or threads.
    pub isolation: Isolation,
    /// Number of clones that take turns on one process or thread and share its queue (`jobs_per_thread`); 1 if each
    /// clone has both to itself.
    pub jobs_per_thread: u32,
    /// Reporting group, from 0.
    pub group: u32,
    /// Conditions for its start.
    pub start: StartPlan,
    /// Conditions for its end, and for ending other jobs.
    pub limits: Limits,
    /// Name of the engine, as in its `EngineSpec`.
    pub engine: &'static str,
    /// Kind of work of the engine.
    pub work: Work,
    /// Values of the engine's own options.
    pub engine_options: EngineOptions,
    /// Files or devices.
    pub files: FilePlan,
    /// Selection and order of the I/Os.
    pub load: LoadPlan,
    /// I/Os in flight, and batches of submission and reaping.
    pub depth: DepthPlan,
    /// Placement of its writes by the device; `None` for none.
    pub placement: Option<PlacementPlan>,
    /// Rate limits and pauses.
    pub pace: PacePlan,
    /// Latency limits and targets.
    pub latency: LatencyPlan,
    /// End at steady state; `None` for no detection.
    pub steady: Option<SteadyPlan>,
    /// Contents and memory of the buffers.
    pub buffers: BufferPlan,
    /// CPUs, priority, memory policy and clock of the worker.
    pub place: PlacePlan,
    /// Verification of written data; `None` for none.
    pub verify: Option<VerifyPlan>,
    /// Steps around the timed part, for jobs that are one timed pass.
    pub pass: Option<Box<PassPlan>>,
    /// Replay of recorded I/Os instead of the load; `None` for none.
    pub replay: Option<ReplayPlan>,
    /// Measurements and log files.
    pub record: RecordPlan,
}

impl JobPlan {
    /// True if the clones take turns on a thread.
    pub fn shares_threads(&self) -> bool {
        self.jobs_per_thread > 1
    }

    /// Number of files that are open at a time, of `files` that a worker has. An engine that opens none has them all.
    pub fn open_at_once(&self, files: usize) -> usize {
        let most = self.files.handling.open_at_once.filter(|_| self.work != Work::Metadata);
        most.map_or(files, |most| (most as usize).min(files))
    }

    /// True if each worker keeps in a state file how far its writes came.
    pub fn keeps_state(&self) -> bool {
        let writes = self.load.mix.contains(measure::Direction::Write);
        self.verify.as_ref().is_some_and(|plan| plan.state_save && !plan.only && writes)
    }

    /// One worker process that reads 4 KiB blocks sequentially: fio's defaults.
    pub fn with_defaults(name: impl Into<String>, origin: impl Into<String>, engine: &'static str) -> Self {
        JobPlan {
            name: name.into(),
            description: None,
            origin: origin.into(),
            written: Vec::new(),
            clones: 1,
            isolation: Isolation::Process,
            jobs_per_thread: 1,
            group: 0,
            start: StartPlan::default(),
            limits: Limits::default(),
            engine,
            work: Work::Data,
            engine_options: EngineOptions::default(),
            files: FilePlan::default(),
            load: LoadPlan::default(),
            depth: DepthPlan::default(),
            placement: None,
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

/// Kind of worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// A forked process: a crash affects only this job.
    Process,
    /// A thread of the main process.
    Thread,
}

/// Conditions for the start of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartPlan {
    /// Wait for all jobs before it.
    pub stonewall: bool,
    /// Wait for all clones of the job with this name.
    pub wait_for: Option<String>,
    /// Then wait for a delay; the bounds of a range from which each clone draws (equal for a fixed delay).
    pub delay: (Nanos, Nanos),
    /// Shell command to run before the I/O.
    pub before: Option<String>,
    /// Shell command to run after the I/O.
    pub after: Option<String>,
    /// Clock for the start time in reports, as an ID of clock_gettime(2).
    pub clock_id: Option<u32>,
}

/// Conditions for the end of a job.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct Limits {
    /// Wall-clock time after the ramp; `None` for no limit.
    pub runtime: Option<Nanos>,
    /// Repeat the I/O until `runtime` has passed.
    pub time_based: bool,
    /// Time of I/O before the measurement starts.
    pub ramp: Nanos,
    /// Bytes of I/O before the measurement starts; excludes `ramp`.
    pub ramp_bytes: u64,
    /// Number of times that the I/O is repeated.
    #[default(1)]
    pub loops: u64,
    /// Number of I/Os per loop; `None` for no limit.
    pub ios: Option<u64>,
    /// The end of this job ends the others.
    pub exit_all: bool,
    /// Jobs that it ends.
    #[default(ExitScope::Group)]
    pub exit_scope: ExitScope,
    /// A failure of this job ends the others.
    pub exit_all_on_error: bool,
    /// Continue after errors in these classes.
    pub continue_on_error: ContinueOnError,
    /// Errors that are ignored in these classes.
    pub ignored: IgnoredErrors,
    /// Print each error, including ignored ones.
    pub error_dump: bool,
    /// Report I/Os that have not completed after this time; `None` for never.
    #[default(Some(Nanos::from_secs(30)))]
    pub stuck_after: Option<Nanos>,
    /// The step after `runtime` has passed.
    pub after_runtime: AfterRuntime,
}

/// The step of a worker whose runtime has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterRuntime {
    /// It ends.
    #[default]
    End,
    /// It waits, with nothing in flight, until its caller names a number of I/Os, and goes on to that.
    WaitForOthers,
}

/// Ignored errors, as errno, per class. An empty class ignores the errors of the medium, EIO and EILSEQ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoredErrors {
    /// In reads.
    pub read: Vec<i32>,
    /// In writes and trims.
    pub write: Vec<i32>,
    /// In verification.
    pub verify: Vec<i32>,
}

/// Jobs that end with a job that ends others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitScope {
    /// The jobs of its group.
    #[default]
    Group,
    /// The jobs up to the next stonewall; later ones still run.
    Stonewall,
    /// All jobs.
    All,
}

/// Classes of I/O errors that do not end a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContinueOnError {
    /// Failed reads.
    pub read: bool,
    /// Failed writes (and trims).
    pub write: bool,
    /// Failed verifications; never with verify_fatal.
    pub verify: bool,
}

/// One worker: a clone of a job.
#[derive(Clone, Copy, Debug)]
pub struct WorkerPlan<'plan> {
    /// The job.
    pub job: &'plan JobPlan,
    /// The job's index in the plan.
    pub job_index: usize,
    /// Number of the clone in its job, from 0.
    pub clone: u32,
    /// Number in the whole run, from 1; used in log names and seeds.
    pub number: u32,
}

impl Plan {
    /// Returns all workers in the order of their numbers.
    pub fn workers(&self) -> impl Iterator<Item = WorkerPlan<'_>> {
        let clones = self
            .jobs
            .iter()
            .enumerate()
            .flat_map(|(job_index, job)| (0..job.clones).map(move |clone| (job, job_index, clone)));
        (1..).zip(clones).map(|(number, (job, job_index, clone))| WorkerPlan { job, job_index, clone, number })
    }
}
