//! The part of a job's plan that is stored in the result, for checks and readers of the result.
//!
//! The result also has the engine's name, the depth, block sizes, files and the size of their region, as used in the
//! run.

use crate::option::Effect;
use crate::{
    Distribution, EngineSpec, Extent, Fill, JobPlan, Mix, PacePlan, RateStep, RwPattern, Step, SyncMode, Work, ZonePlan,
};
use measure::{BytesPerSecond, Nanos, PerDirection};
use serde::{Deserialize, Serialize};

/// The work that a job was asked to do. The default is fio's: sequential reads without a rate limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Workload {
    /// I/O directions.
    pub mix: Mix,
    /// Percentage of reads in a read-write mix.
    pub read_percent: u8,
    /// Order of offsets.
    pub order: Order,
    /// Modifier of the order of I/Os.
    pub step: Step,
    /// Rate limits and pauses.
    pub pace: Pace,
    /// Start of the region in each file.
    pub offset: Extent,
    /// Increment of `offset` from each clone of the job to the next.
    pub offset_increment: Extent,
    /// State of the files' page cache at the start.
    pub cache_start: CacheStart,
    /// Contents of the written data.
    pub contents: Contents,
    /// Calls and flags that make writes durable.
    pub flushes: Flushes,
    /// The job writes nothing: it verifies the data of an earlier one.
    pub verifies_only: bool,
    /// True if blocks that are written are to be read back and checked, and in a job that only reads, those that are
    /// read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verifies: bool,
    /// True if blocks hold what a verification needs, and the plan says to read none of them back (`do_verify=0`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verification_off: bool,
    /// Writes may begin or end within a page of 4 KiB, by their sizes, alignment or offset.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub writes_parts_of_pages: bool,
    /// Writes go to the write pointers of zones, which the jobs of a device share: no two workers write one block.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub writes_at_pointers: bool,
    /// I/O before the measured part.
    pub ramp: Nanos,
    /// Bytes of I/O before the measured part, of all workers that are reported together; 0 for none.
    #[serde(skip_serializing_if = "is_zero")]
    pub ramp_bytes: u64,
    /// Maximum time of the measured part; `None` for no limit.
    pub runtime: Option<Nanos>,
    /// Start of the job, relative to the jobs before it.
    pub start: Start,
    /// Number of completions that a worker waits for at a time; at most 1 without batches.
    pub reap_min: u32,
    /// The engine does the I/Os of a file one after another, whatever the depth is.
    pub one_per_file: bool,
    /// Workers poll for completions on the CPU.
    pub polls: bool,
    /// Time is simulated: nothing was measured on this machine.
    pub virtual_time: bool,
    /// Kind of work of one I/O.
    #[serde(skip_serializing_if = "is_of_data")]
    pub work: Work,
    /// Of another program's report only the pattern and the engine are known; all else has its default. Not stored.
    #[serde(skip)]
    pub is_outline: bool,
}

fn writes_parts_of_pages(job: &JobPlan) -> bool {
    const PAGE: u64 = 4096;
    let is_part = |bytes: u64| !bytes.is_multiple_of(PAGE);
    let begins_within = |place: Extent| matches!(place, Extent::Bytes(bytes) if is_part(bytes));
    let (load, files) = (&job.load, &job.files);
    let step = load.align.write.map_or(0, u64::from);
    load.unaligned_sizes
        || is_part(u64::from(load.block_size.write.smallest()))
        || is_part(step)
        || begins_within(files.offset)
        || begins_within(files.offset_increment)
}

fn is_of_data(work: &Work) -> bool {
    *work == Work::Data
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// Order of offsets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Ascending.
    Sequential,
    /// Drawn from a distribution.
    Random(Distribution),
}

/// Rate limits and pauses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// Bytes per second of each worker.
    pub rate: PerDirection<Option<BytesPerSecond>>,
    /// I/Os per second of each worker.
    pub iops: PerDirection<Option<u64>>,
    /// I/Os per second of each worker over time; empty without a profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<RateStep>,
    /// Pause between I/Os; zero for none.
    pub think: Nanos,
    /// Weight of the job in a flow; `None` without a flow.
    pub flow: Option<u32>,
}

/// State of the files' page cache at the start of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheStart {
    /// Empty: it was dropped.
    #[default]
    Dropped,
    /// Unchanged.
    Kept,
    /// Filled: the files were read, as far as memory allows.
    Filled,
}

/// Contents of the written data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Contents {
    /// Fill of the buffers.
    pub filling: Filling,
    /// Percentage of bytes that compress to nothing.
    pub compressible_percent: u8,
    /// Percentage of blocks that repeat an earlier one.
    pub repeated_percent: u8,
    /// A buffer is filled once and written unchanged again and again (`scramble_buffers=0`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
}

/// Fill of the buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filling {
    /// Random bytes.
    #[default]
    Random,
    /// Zeros.
    Zeros,
    /// One pattern, repeated.
    Pattern,
}

/// Calls and flags that make writes durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flushes {
    /// Writes between two calls of fsync; 0 for none.
    pub fsync_every: u64,
    /// Writes between two calls of fdatasync; 0 for none.
    pub fdatasync_every: u64,
    /// Writes between two calls of sync_file_range; 0 for none.
    pub range_every: u64,
    /// Each write is durable before it completes (O_SYNC, O_DSYNC, FUA).
    pub by_each_write: bool,
    /// A file is flushed when it is closed.
    pub at_close: bool,
    /// Files or their file systems are flushed at the end of the job.
    pub at_end: bool,
}

/// Start of a job, relative to the jobs before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// At the same time.
    #[default]
    Together,
    /// After they have ended.
    AfterOthers,
}

impl Workload {
    /// Name of the access pattern, such as `randread`.
    pub fn pattern(&self) -> &'static str {
        RwPattern { mix: self.mix, random: !self.is_sequential() }.name()
    }

    /// The workload of a job with this engine.
    pub fn of(job: &JobPlan, engine: &EngineSpec) -> Self {
        let (load, files, buffers) = (&job.load, &job.files, &job.buffers);
        let durable = engine.has(Effect::DurableWrites, &job.engine_options);
        Workload {
            mix: load.mix,
            read_percent: load.read_percent,
            order: if load.random { Order::Random(load.distribution.clone()) } else { Order::Sequential },
            step: load.step,
            pace: Pace::of(&job.pace),
            offset: files.offset,
            offset_increment: files.offset_increment,
            cache_start: match (files.pre_read, files.invalidate) {
                (true, _) => CacheStart::Filled,
                (false, true) => CacheStart::Dropped,
                (false, false) => CacheStart::Kept,
            },
            contents: Contents {
                filling: match buffers.fill {
                    Fill::Random => Filling::Random,
                    Fill::Zero => Filling::Zeros,
                    Fill::Pattern(_) => Filling::Pattern,
                },
                compressible_percent: buffers.compress_percent,
                repeated_percent: buffers.dedupe_percent,
                unchanged: !buffers.refill && !buffers.scramble && buffers.placed.is_none() && job.verify.is_none(),
            },
            flushes: Flushes {
                fsync_every: load.fsync_every,
                fdatasync_every: load.fdatasync_every,
                range_every: load.range_sync.map_or(0, |range| range.every),
                by_each_write: files.sync != SyncMode::None || durable,
                at_close: load.fsync_on_close,
                at_end: load.end_fsync || load.end_syncfs,
            },
            verifies_only: job.verify.as_ref().is_some_and(|verify| verify.only),
            verifies: job.verify.as_ref().is_some_and(|verify| verify.check),
            verification_off: job.verify.as_ref().is_some_and(|verify| !verify.check),
            writes_parts_of_pages: writes_parts_of_pages(job),
            writes_at_pointers: matches!(job.load.zones, ZonePlan::Zoned(_)),
            ramp: job.limits.ramp,
            ramp_bytes: job.limits.ramp_bytes,
            runtime: job.limits.runtime,
            start: match (job.start.stonewall, &job.start.wait_for) {
                (false, None) => Start::Together,
                _ => Start::AfterOthers,
            },
            reap_min: job.depth.reap_min,
            one_per_file: engine.capabilities.one_per_file,
            polls: engine.has(Effect::Polls, &job.engine_options),
            virtual_time: engine.capabilities.virtual_time,
            work: engine.capabilities.work,
            is_outline: false,
        }
    }

    /// True if offsets ascend.
    pub fn is_sequential(&self) -> bool {
        self.order == Order::Sequential
    }
}

impl Default for Workload {
    fn default() -> Self {
        let none = EngineSpec::UNKNOWN;
        Workload::of(&JobPlan::with_defaults("", "", none.name), &none)
    }
}

impl Pace {
    fn of(plan: &PacePlan) -> Self {
        Pace {
            rate: plan.rate,
            iops: plan.iops,
            profile: plan.profile.clone(),
            think: plan.think,
            flow: plan.flow.map(|flow| flow.weight),
        }
    }

    /// True if the job limits its rate, so that idle workers are intended.
    pub fn is_limited(&self) -> bool {
        *self != Pace::default()
    }
}

impl Flushes {
    /// The smallest number of writes after which a flush comes, if flushes come by the number of writes alone.
    pub fn only_period(&self) -> Option<u64> {
        let periods = [self.fsync_every, self.fdatasync_every, self.range_every];
        let period = periods.into_iter().filter(|&every| every > 0).min();
        period.filter(|_| !(self.by_each_write || self.at_close || self.at_end))
    }

    /// True if sync_file_range is the only call that they consist of.
    pub fn only_ranges(&self) -> bool {
        self.only_period().is_some() && self.fsync_every == 0 && self.fdatasync_every == 0
    }

    /// True if writes are made durable before the job ends.
    pub fn any(&self) -> bool {
        *self != Flushes::default()
    }
}
