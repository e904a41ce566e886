//! The Plan: what is to be done, complete and checked. Front ends write it, `run` carries it out, it serialises.
//!
//! Nothing in here is a word any more: sizes are bytes, times are nanoseconds, modes are enums, and what was not
//! given has its default. Only a percentage of a file's size is still open, because the file may not exist yet.

use crate::engines::EngineOptions;
use measure::{BytesPerSecond, Direction, Nanos, PerDirection};
use std::path::PathBuf;

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
    /// What the buffers hold and where they live.
    pub buffers: BufferPlan,
    /// Where and how the worker runs.
    pub place: PlacePlan,
    /// Write-then-check; `None` does not verify.
    pub verify: Option<VerifyPlan>,
    /// What is measured and written beside the result.
    pub record: RecordPlan,
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
}

/// When a job ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Wall time after the ramp; `None` for no limit.
    pub runtime: Option<Nanos>,
    /// Start over at the end of the data until `runtime` is over.
    pub time_based: bool,
    /// Time of I/O before anything counts.
    pub ramp: Nanos,
    /// How often the amount is repeated.
    pub loops: u64,
    /// End after so many I/Os (per loop); `None` for no limit.
    pub ios: Option<u64>,
    /// When this job is done, end the others.
    pub exit_all: bool,
    /// When this job fails, end the others.
    pub exit_all_on_error: bool,
    /// Go on after the errors in these classes.
    pub continue_on_error: ContinueOnError,
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

/// An amount that may be relative to a file's real size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// So many bytes.
    Bytes(u64),
    /// So many hundredths of the file's or device's real size.
    Percent(u32),
}

/// Which files, how large, and how they come to be.
#[derive(Clone, Debug, PartialEq)]
pub struct FilePlan {
    /// Directories over which clones are spread; empty for the current one.
    pub directories: Vec<PathBuf>,
    /// Files shared by all clones; empty means generated names.
    pub names: Vec<PathBuf>,
    /// How many files each clone makes when `names` is empty.
    pub count: u32,
    /// Size of the region of all files together; `None` takes the files as they are.
    pub size: Option<Extent>,
    /// Amount of I/O, where it differs from `size`.
    pub io_size: Option<Extent>,
    /// Size per file, drawn from this range, instead of `size / count`.
    pub file_size: Option<(u64, u64)>,
    /// Where the region starts in each file.
    pub offset: Extent,
    /// How much later it starts for each next clone.
    pub offset_increment: Extent,
    /// Open with O_DIRECT.
    pub direct: bool,
    /// Open with O_SYNC or O_DSYNC.
    pub sync: SyncMode,
    /// How space is reserved when a file is made.
    pub allocate: Allocate,
    /// Drop the page cache of the file before the job.
    pub invalidate: bool,
    /// Read the file into the page cache before the job.
    pub pre_read: bool,
    /// Lay out the file in full before writing to it.
    pub overwrite: bool,
    /// Remove files at the end of the job.
    pub unlink: bool,
    /// Only lay out the files.
    pub create_only: bool,
    /// Flush files after layout.
    pub create_fsync: bool,
    /// What the kernel is told of the order in which the file is used.
    pub advice: AccessAdvice,
    /// Make files that do not exist.
    pub may_create: bool,
    /// Write to block devices that are mounted.
    pub may_write_mounted: bool,
}

/// O_SYNC behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Neither.
    #[default]
    None,
    /// O_SYNC.
    Sync,
    /// O_DSYNC.
    DataSync,
}

/// What the kernel is told of the order in which a file is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessAdvice {
    /// What the load is: random or sequential.
    #[default]
    ByLoad,
    /// Nothing.
    None,
    /// Sequential.
    Sequential,
    /// Random.
    Random,
    /// Used once only.
    NoReuse,
}

/// How space is reserved when a file is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocate {
    /// fallocate where the file system has it, else nothing.
    #[default]
    Native,
    /// Nothing.
    None,
    /// posix_fallocate.
    Posix,
    /// fallocate with FALLOC_FL_KEEP_SIZE.
    KeepSize,
    /// ftruncate.
    Truncate,
}

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// One direction only.
    Only(Direction),
    /// Reads and writes.
    ReadWrite,
    /// Each block trimmed, then written.
    TrimWrite,
}

impl Mix {
    /// Whether the mix contains this direction.
    pub const fn contains(self, direction: Direction) -> bool {
        match self {
            Mix::Only(only) => only as u8 == direction as u8,
            Mix::ReadWrite => matches!(direction, Direction::Read | Direction::Write),
            Mix::TrimWrite => matches!(direction, Direction::Trim | Direction::Write),
        }
    }
}

/// Which I/Os, in which order.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPlan {
    /// What moves.
    pub mix: Mix,
    /// Offsets are drawn rather than counted up.
    pub random: bool,
    /// Share of reads in a read-write mix, 0–100.
    pub read_percent: u8,
    /// Sizes of single I/Os.
    pub block_size: PerDirection<BlockSize>,
    /// Sizes need not be multiples of the smallest.
    pub unaligned_sizes: bool,
    /// How random offsets are spread over the region.
    pub distribution: Distribution,
    /// What follows an I/O, where it is not simply the next block or the next draw.
    pub step: Step,
    /// Share of I/Os that are random rather than sequential, 0–100, in a random job.
    pub percent_random: PerDirection<u8>,
    /// Each block once per pass (the random map); off with norandommap.
    pub cover_all: bool,
    /// Where random numbers come from.
    pub generator: Generator,
    /// The seed; `None` takes one from the system.
    pub seed: Option<u64>,
    /// Start the same sequence again in each loop.
    pub repeat_per_loop: bool,
    /// fsync after so many writes; 0 never.
    pub fsync_every: u64,
    /// fdatasync after so many writes; 0 never.
    pub fdatasync_every: u64,
    /// fsync at the end of the job.
    pub end_fsync: bool,
    /// fsync whenever a file is closed.
    pub fsync_on_close: bool,
}

/// What follows an I/O (`rw=...:N`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// The next block, or the next draw.
    #[default]
    Plain,
    /// Sequential: so many bytes further (or back) than the next block.
    Skip(i64),
    /// Random: so many consecutive blocks per draw.
    Run(u32),
    /// Random: the same block so many times per draw.
    Repeat(u32),
}

/// Sizes of single I/Os in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// Always this.
    Fixed(u32),
    /// Between the two, in multiples of the first.
    Range(u32, u32),
    /// Sizes with their shares in percent; the shares sum to 100.
    Split(Vec<(u32, u8)>),
}

impl BlockSize {
    /// The smallest size that may occur.
    pub fn smallest(&self) -> u32 {
        match self {
            BlockSize::Fixed(size) | BlockSize::Range(size, _) => *size,
            BlockSize::Split(parts) => parts.iter().map(|&(size, _)| size).min().unwrap_or(0),
        }
    }

    /// The largest size that may occur.
    pub fn largest(&self) -> u32 {
        match self {
            BlockSize::Fixed(size) | BlockSize::Range(_, size) => *size,
            BlockSize::Split(parts) => parts.iter().map(|&(size, _)| size).max().unwrap_or(0),
        }
    }
}

/// How random offsets are spread.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Every block alike.
    #[default]
    Uniform,
    /// Zipf with this exponent, and the centre as a share of the region (scattered when absent).
    Zipf(f64, Option<f64>),
    /// Pareto with this shape, and the centre.
    Pareto(f64, Option<f64>),
    /// Normal with this deviation in percent, and the centre.
    Normal(f64, Option<f64>),
    /// Shares of I/O (percent) for shares of the region (percent), per direction.
    Zoned(PerDirection<Vec<(u8, u8)>>),
    /// Shares of I/O (percent) for sizes of the region (bytes), per direction.
    ZonedAbsolute(PerDirection<Vec<(u8, u64)>>),
}

/// Which generator draws random offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// Three-component Tausworthe, 32 bits, or its 64-bit form where the region needs it.
    #[default]
    Tausworthe,
    /// The 64-bit form always.
    Tausworthe64,
    /// A linear-feedback shift register: a permutation without a map.
    Lfsr,
}

/// How many I/Os at once, and how they are submitted and reaped. Every field is at least what its comment says;
/// the words' special cases (0 means depth) are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthPlan {
    /// In flight at most; at least 1.
    pub depth: u32,
    /// Submitted in one go; 1 to `depth`.
    pub batch: u32,
    /// Reaped in one go at least; 0 polls without waiting.
    pub reap_min: u32,
    /// Reaped in one go at most; at least `reap_min`.
    pub reap_max: u32,
    /// Once full, drain to this many before filling again; 1 to `depth`.
    pub low: u32,
}

/// How fast.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacePlan {
    /// Bytes per second; excludes `iops`.
    pub rate: PerDirection<Option<BytesPerSecond>>,
    /// I/Os per second; excludes `rate`.
    pub iops: PerDirection<Option<u64>>,
    /// Draw gaps from an exponential distribution instead of keeping them equal.
    pub poisson: bool,
    /// Pause after every `think_blocks` blocks.
    pub think: Nanos,
    /// How much of the pause is spent burning CPU.
    pub think_spin: Nanos,
    /// Blocks between pauses; at least 1.
    pub think_blocks: u64,
    /// Do not catch up for time lost in pauses.
    pub rate_ignores_think: bool,
}

/// What buffers hold and where they live.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferPlan {
    /// What is in them.
    pub fill: Fill,
    /// Fill anew before every write.
    pub refill: bool,
    /// Change a little in every 512 bytes before every write, to defeat deduplication.
    pub scramble: bool,
    /// Share of bytes that compress to nothing, 0–100, in chunks of `compress_chunk`.
    pub compress_percent: u8,
    /// Size of the pieces within which `compress_percent` holds.
    pub compress_chunk: u32,
    /// Share of buffers that repeat an earlier one, 0–100.
    pub dedupe_percent: u8,
    /// Which memory.
    pub memory: Memory,
    /// Alignment beyond a page; 0 for a page.
    pub align: u32,
    /// Size of a huge page, where `memory` wants them.
    pub huge_page: u64,
}

/// What buffers hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Random bytes.
    #[default]
    Random,
    /// Zeros.
    Zero,
    /// These bytes, repeated.
    Pattern(Vec<u8>),
}

/// Which memory buffers come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Private anonymous pages.
    #[default]
    Malloc,
    /// A System V shared memory segment, huge pages if true.
    Shm(bool),
    /// mmap, huge pages if true, of a file if given.
    Mmap(bool, Option<PathBuf>),
    /// Shared mmap of a file or of anonymous memory.
    MmapShared(Option<PathBuf>),
}

/// Where and how a worker runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacePlan {
    /// CPUs the worker may use; empty for all.
    pub cpus: Vec<u32>,
    /// Give each clone one CPU of `cpus` instead of all of them.
    pub split_cpus: bool,
    /// Change of the nice value.
    pub nice: i32,
    /// I/O priority class (0–3) and level (0–7); `None` leaves it alone.
    pub io_priority: Option<(u8, u8)>,
    /// Pin this much memory before the run.
    pub lock_memory: u64,
}

/// Write, then read back and compare.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyPlan {
    /// The check.
    pub method: VerifyMethod,
    /// Run the check phase.
    pub check: bool,
    /// Bytes per header; `None` for one per block.
    pub interval: Option<u32>,
    /// Pattern of the payload.
    pub pattern: Vec<u8>,
    /// Check so many blocks after as many were written, instead of at the end.
    pub backlog: Option<u64>,
}

/// How blocks are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyMethod {
    /// A header with a digest over the payload.
    Digest(Digest),
    /// Only the header.
    Meta,
    /// The pattern, without a header.
    Pattern,
    /// The pattern behind a header.
    PatternHeader,
    /// Read back, compare nothing.
    Null,
}

/// The digests that fio knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the algorithms' own")]
pub enum Digest {
    Md5,
    Crc7,
    Crc16,
    Crc32,
    Crc32c,
    Crc64,
    Sha1,
    Sha256,
    Sha512,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    XxHash,
}

/// What is measured and written beside the result.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordPlan {
    /// Merge all workers of the reporting group into one.
    pub group_reporting: bool,
    /// Measure total latency.
    pub total_latency: bool,
    /// Measure completion latency.
    pub completion_latency: bool,
    /// Measure submission latency.
    pub submission_latency: bool,
    /// Take bandwidth and IOPS samples.
    pub samples: bool,
    /// Percentiles of completion latency.
    pub completion_percentiles: bool,
    /// Percentiles of total latency.
    pub total_percentiles: bool,
    /// Percentiles of submission latency.
    pub submission_percentiles: bool,
    /// Which percentiles, ascending.
    pub percentiles: Vec<f64>,
    /// Digits after the point to print them with.
    pub percentile_digits: usize,
    /// Interval of bandwidth samples.
    pub bandwidth_interval: Nanos,
    /// Interval of IOPS samples.
    pub iops_interval: Nanos,
    /// Count what the disks did.
    pub disk_usage: bool,
    /// 1024 or 1000: which units come first in text.
    pub unit_base: u32,
    /// Rates in text as bits rather than bytes.
    pub bits: bool,
    /// Digits of numbers in text.
    pub significant_figures: usize,
    /// Logs to write.
    pub logs: LogPlan,
}

/// Which per-interval or per-I/O logs to write; stems of file names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogPlan {
    /// Bandwidth.
    pub bandwidth: Option<String>,
    /// Latencies.
    pub latency: Option<String>,
    /// IOPS.
    pub iops: Option<String>,
    /// Average over so long; zero logs every I/O.
    pub average: Nanos,
    /// Number in the file's name.
    pub per_job: bool,
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
