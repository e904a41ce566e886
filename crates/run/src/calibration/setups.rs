//! The set-ups of jobs whose cost is measured, each as small jobs that do nothing.

use crate::observer::Calibrating;
use crate::shared::capabilities::{has, is_queued, spec};
use engine::calibration::{AFTER_NS, EMPTY_READS, NOPS, SLEEPS, TIMEOUTS, VIRTUAL_SLEEPS};
use measure::{Direction, Nanos, PerDirection};
use plan::option::{Effect, Value};
use plan::{BlockSize, BufferPlan, DepthPlan, EngineSpec, Extent, JobPlan, Memory, Mix, PlacePlan, Submission, Work};

/// Number of set-ups of a run that are measured briefly, so that it takes less than 100 ms.
pub(super) const MOST: usize = 4;

/// Largest block of the small jobs: the time to prepare larger buffers is not that of the loop.
const LARGEST_BLOCK: u32 = 64 << 10;

/// Largest number of I/Os in a batch of the small jobs.
const LARGEST_BATCH: u32 = 1024;

/// Times after which a worker is woken up.
const WAITS: [Nanos; 2] = [Nanos(100_000), Nanos(1_000_000)];

/// The part of a job that decides the cost of the tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setup {
    /// Jobs whose I/Os do nothing, at batches of 1 and at the largest batch; or why there are none.
    pub(super) loops: Result<Vec<Small>, String>,
    /// Jobs whose I/Os are waits.
    pub(super) waits: Vec<Small>,
    /// True if the I/Os that do nothing are not those of the job's engine.
    pub(super) borrowed: bool,
    /// True for an engine in virtual time.
    pub(super) is_virtual: bool,
}

/// The engine of I/Os that do nothing.
#[derive(Clone, Copy, Debug)]
struct Nothing {
    engine: &'static str,
    borrowed: bool,
}

impl Setup {
    pub(super) fn of(job: &JobPlan) -> Setup {
        let nothing = nothing_for(job);
        let is_virtual = spec(job).is_some_and(|engine| engine.capabilities.virtual_time);
        let waits_by = match &nothing {
            _ if is_virtual => VIRTUAL_SLEEPS,
            Ok(Nothing { engine: NOPS, .. }) => TIMEOUTS,
            _ => SLEEPS,
        };
        Setup {
            borrowed: nothing.as_ref().is_ok_and(|nothing| nothing.borrowed),
            loops: nothing.map(|nothing| loops(job, nothing.engine)),
            waits: WAITS.map(|after| wait(job, waits_by, after)).into(),
            is_virtual,
        }
    }

    /// The jobs that measure it.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Small> {
        self.loops.iter().flatten().chain(&self.waits)
    }
}

/// A small job whose I/Os do nothing, or wait.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Small {
    pub(super) job: JobPlan,
    /// Time that an I/O waits.
    after: Nanos,
    /// Latency that its I/Os show although they take no time: the shortest service of the simulated device.
    pub(super) least: Nanos,
}

const SIM_SERVICE: &str = "sim_service_time";

/// The engine that does nothing on the same way to the kernel.
fn nothing_for(job: &JobPlan) -> Result<Nothing, String> {
    let Some(EngineSpec { name, capabilities, .. }) = spec(job) else {
        return Err(format!("there is no engine `{}`", job.engine));
    };
    let own = |engine| Ok(Nothing { engine, borrowed: false });
    let borrowed = |engine| Ok(Nothing { engine, borrowed: true });
    if job.shares_threads() {
        return Err(
            "jobs that take turns on a thread share its calls: the loop of one job does not stand for them".to_owned()
        );
    }
    if has(job, Effect::Polls) {
        return Err("there is no I/O that does nothing on a ring that is polled".to_owned());
    }
    match (*name, capabilities.work, capabilities.submission) {
        (_, Work::Background, _) => Err(format!("{name} does no I/O")),
        _ if job.depth.offload => borrowed(EMPTY_READS),
        (_, Work::Null, _) => own(name),
        // These copy memory and make no call.
        ("mmap" | "page_fault", ..) => own("null"),
        ("io_uring", ..) => own(NOPS),
        ("io_uring_cmd", ..) => borrowed(NOPS),
        (_, _, Submission::Synchronous) => own(EMPTY_READS),
        _ => borrowed(EMPTY_READS),
    }
}

/// Jobs that do nothing with the batches of a job: 1, and the most that it allows.
fn loops(job: &JobPlan, engine: &'static str) -> Vec<Small> {
    let most = match spec(job) {
        // Only an engine with a queue has batches.
        _ if engine == EMPTY_READS || !is_queued(job) => 1,
        _ => job.depth.batch.max(job.depth.reap_max).min(job.depth.depth).clamp(1, LARGEST_BATCH),
    };
    let mut batches = vec![1, most];
    batches.dedup();
    batches.into_iter().map(|batch| nothing(job, engine, batch)).collect()
}

/// A job that does nothing, with this number of I/Os in flight that are submitted and reaped together.
fn nothing(job: &JobPlan, engine: &'static str, batch: u32) -> Small {
    let mut small = small(job, engine);
    small.name = format!("{engine}, {batch} at a time");
    small.depth = DepthPlan { depth: batch, batch, reap_min: 1, reap_max: batch, low: batch, ..DepthPlan::default() };
    let mut least = Nanos::ZERO;
    if spec(job).is_some_and(|engine| engine.capabilities.virtual_time) {
        least = Nanos(1);
        small.engine_options.set(SIM_SERVICE, Value::Integer(1));
    } else if engine == job.engine {
        small.engine_options = job.engine_options.clone();
    }
    Small { job: small, after: Nanos::ZERO, least }
}

/// A job whose I/Os end `after` a time.
fn wait(job: &JobPlan, engine: &'static str, after: Nanos) -> Small {
    let mut small = small(job, engine);
    small.name = format!("{engine}, {} µs", after.get() / 1000);
    small.load.mix = Mix::Only(Direction::Read);
    small.engine_options.set(AFTER_NS, Value::Integer(i64::try_from(after.get()).unwrap_or(i64::MAX)));
    Small { job: small, after, least: Nanos::ZERO }
}

/// A job with the processors, buffers and measurements of another, and without its files.
fn small(job: &JobPlan, engine: &'static str) -> JobPlan {
    let mut small = JobPlan::with_defaults("", "calibration", engine);
    small.work = Work::Null;
    small.isolation = job.isolation;
    small.start.stonewall = true;
    // Writes cost more: their buffers are prepared.
    let direction = if job.load.mix.contains(Direction::Write) { Direction::Write } else { Direction::Read };
    small.load.mix = Mix::Only(direction);
    small.load.random = job.load.random;
    let block = job.load.block_size[direction].smallest().clamp(512, LARGEST_BLOCK);
    small.load.block_size = PerDirection::all(BlockSize::Fixed(block));
    small.buffers = BufferPlan { placed: None, working_set: None, memory: Memory::Malloc, ..job.buffers.clone() };
    let place = &job.place;
    small.place = PlacePlan {
        cpus: place.cpus.clone(),
        split_cpus: place.split_cpus,
        nodes: place.nodes.clone(),
        nice: place.nice,
        clock: place.clock,
        ..PlacePlan::default()
    };
    small.record.total_percentiles = true;
    small.record.completion_percentiles = true;
    small.record.submission_latency = job.record.submission_latency;
    small.record.disk_usage = false;
    small
}

/// Gives a job its number of I/Os, and an end if they take long.
pub(super) fn limited(small: &Small, effort: Calibrating) -> JobPlan {
    let mut job = small.job.clone();
    let (ios, milliseconds) = match (effort, small.after.get()) {
        (Calibrating::Thorough, 0) => (50_000, 200),
        (Calibrating::Thorough, _) => (200, 400),
        (_, 0) => (4_000, 3),
        (_, 1..=100_000) => (40, 8),
        _ => (8, 12),
    };
    job.limits.ios = Some(ios);
    job.limits.runtime = Some(Nanos::from_millis(milliseconds));
    job.files.size = Some(Extent::Bytes(ios * u64::from(job.load.largest())));
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_jobs_of_the_most_set_ups_end_within_70_ms() {
        let engines = ["io_uring", "psync", "libaio", "null"];
        assert_eq!(engines.len(), MOST);
        let mut jobs: Vec<Small> = Vec::new();
        for engine in engines {
            let mut job = JobPlan::with_defaults("a", "test", engine);
            (job.depth.depth, job.depth.batch) = (32, 32);
            for small in Setup::of(&job).jobs() {
                if !jobs.contains(small) {
                    jobs.push(small.clone());
                }
            }
        }
        let limit = |small: Small| limited(&small, Calibrating::Brief).limits.runtime.unwrap();
        let all: Nanos = jobs.into_iter().map(limit).sum();
        assert!(all <= Nanos::from_millis(70), "{all:?}");
    }
}
