//! Records to results: what the workers left in shared memory becomes the model's plain data.

use crate::steady::Steadiness;
use crate::supervise::{End, Prepared, Shared, Watched, needs_files};
use crate::worker::PriorityRecord;
use crate::worker::record::{Control, Mailbox, Record};
use crate::worker::{cpu_usage, unix_ms, used_since};
use job::plan::{BlockSize, JobPlan, RecordPlan, WorkerPlan};
use job::{Plan, Submission};
use measure::{Direction, Histogram, Moments, Nanos, PerDirection};
use model::{
    CpuUsage, DirectionResult, Echo, Environment, JobError, JobResult, LatencyGoal, LatencyStatistics, PassMark,
    PassResult, ReportStyle, RunResult, SteadyResult, SyncResult,
};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// Puts the result of a run together.
pub(crate) fn assemble(
    plan: &Plan,
    workers: &[WorkerPlan<'_>],
    prepared: &[Prepared],
    shared: &Shared,
    watched: Watched,
    environment: impl FnOnce(Vec<String>) -> Environment,
) -> RunResult {
    let elapsed_s = watched.elapsed.as_millis_ceil().div_ceil(1000).max(1);
    let mut engine_notes: Vec<String> = Vec::new();
    let mut jobs = Vec::with_capacity(workers.len());
    for (index, worker) in workers.iter().enumerate() {
        // A worker that died on the way left its latest latencies where they were.
        let mut record = shared.records.snapshot(index).or_else(|| left_in(&shared.mailboxes[index]));
        if let Some(record) = &mut record {
            record.settle();
        }
        let found = Found {
            plan: *worker,
            prepared: &prepared[index],
            control: &shared.controls[index],
            record,
            priorities: shared.priorities.as_ref().and_then(|records| records.snapshot(index)),
            end: watched.ends[index],
            elapsed_s,
            remaining: watched.remaining,
            until: watched.until,
            asked_depth: plan.asked_depth(worker.job),
            settled: watched.settling.result(index),
        };
        let note = found.record.as_ref().map(|record| record.note.get()).unwrap_or_default();
        if !note.is_empty() && !engine_notes.contains(&note) {
            engine_notes.push(note);
        }
        jobs.push(found.job_result());
    }
    RunResult {
        ended_unix_ms: unix_ms(),
        global_options: plan.global_options.clone(),
        jobs,
        devices: watched.devices,
        lowest_traffic: watched.lowest_traffic,
        monitored: watched.monitored,
        limited_by: None,
        environment: environment(engine_notes),
        notes: Vec::new(),
        ended_by_signal: watched.signal,
        cpu_idleness: None,
    }
}

/// The record that a thread left when it was asked.
fn left_in(mailbox: &Mailbox) -> Option<Box<Record>> {
    mailbox.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// All that is known of one worker.
struct Found<'a> {
    plan: WorkerPlan<'a>,
    prepared: &'a Prepared,
    control: &'a Control,
    record: Option<Box<Record>>,
    priorities: Option<Box<PriorityRecord>>,
    end: Option<End>,
    elapsed_s: u64,
    remaining: Option<Nanos>,
    /// Until when it was seen, by the run's clock.
    until: Nanos,
    asked_depth: u32,
    /// What its group has come to, where it leads one that settles as one.
    settled: Option<SteadyResult>,
}

impl Found<'_> {
    fn job_result(&self) -> JobResult {
        let job = self.plan.job;
        let mut result = JobResult {
            echo: self.echo(),
            style: style(job),
            workers: 1,
            elapsed_s: self.elapsed_s,
            remaining_s: self.remaining.map(|remaining| remaining.get() / Nanos::SECOND.get()),
            error: self.error(),
            ..JobResult::default()
        };
        result.latency_goal = goal(job);
        result.steady.clone_from(&self.settled);
        let Some(record) = self.record.as_deref() else { return self.counted(result) };
        let measured = Nanos(record.measured_until.saturating_sub(record.measured_from));
        result.latency_goal.depth = (record.searched_depth > 0).then_some(record.searched_depth);
        if let (Some(plan), true) = (job.steady, record.steady.present != 0) {
            let window = &record.steady;
            result.steady = Some(Steadiness::restored(plan, window.samples(), window.attained != 0).result());
        }
        result.pid = record.pid;
        result.started_unix_ms = record.started_unix_ms;
        result.pass = job.pass.is_some().then(|| pass(record));
        if job.record.block_lives && record.finished != 0 {
            // Without trims there are no blocks to look at, as in fio.
            result.blocks = Some(record.blocks.found().unwrap_or_default());
        }
        result.forgiven_errors = record.forgiven_errors;
        result.first_forgiven_errno = record.first_forgiven_errno;
        for direction in Direction::ALL {
            result.directions[direction] = self.direction(record, direction, measured);
        }
        result.sync =
            SyncResult { count: record.sync.count(), latency: statistics(record.sync, &record.histograms.sync, true) };
        result.runtime = measured;
        result.cpu = self.cpu(record);
        result.depth = record.depth();
        if job.record.completion_latency {
            result.latency_bins = record.latency_bins();
        }
        result
    }

    /// With what the control block tells of a worker whose record cannot be read: a thread that has never been asked, or
    /// that is stuck and does not answer. Counts, no latencies.
    fn counted(&self, mut result: JobResult) -> JobResult {
        let from = self.control.measured_from.load(Relaxed);
        if from == 0 {
            return result;
        }
        result.pid = self.control.thread.load(Relaxed);
        result.runtime = self.until.saturating_sub(Nanos(from));
        for direction in Direction::ALL {
            let (bytes, ios) = self.control.measured(direction);
            let runtime = if bytes > 0 { result.runtime } else { Nanos::ZERO };
            result.directions[direction] = DirectionResult { bytes, ios, runtime, ..DirectionResult::default() };
        }
        result
    }

    /// Whether the record is that of a worker that goes on: as of when it was last asked.
    fn is_at_work(&self, record: &Record) -> bool {
        let is_left_thread =
            matches!(self.end, Some(End::Left)) && self.plan.job.isolation == job::plan::Isolation::Thread;
        record.finished == 0 && (self.end.is_none() || is_left_thread)
    }

    fn direction(&self, record: &Record, direction: Direction, measured: Nanos) -> DirectionResult {
        let at = direction as usize;
        let plan = &self.plan.job.record;
        let so_far = record.amounts_so_far(direction).filter(|_| self.is_at_work(record));
        let (bytes, ios) = so_far.unwrap_or_else(|| record.amounts(self.control, direction));
        DirectionResult {
            bytes,
            ios,
            short_ios: record.short_ios[at],
            dropped_ios: 0,
            zone_resets: if direction == Direction::Write && record.finished != 0 { record.zone_resets } else { 0 },
            runtime: if bytes > 0 { self.window(record, direction, measured) } else { Nanos::ZERO },
            submission: (plan.submission_latency && is_queued(self.plan.job) && record.blind_to_submission == 0).then(
                || statistics(record.submission[at], &record.histograms.submission[at], plan.submission_percentiles),
            ),
            completion: plan.completion_latency.then(|| {
                statistics(record.completion[at], &record.histograms.completion[at], plan.completion_percentiles)
            }),
            total: plan
                .total_latency
                .then(|| statistics(record.total[at], &record.histograms.total[at], plan.total_percentiles)),
            priorities: self
                .priorities
                .as_ref()
                .map(|found| found.found(direction, self.wants_percentiles()))
                .unwrap_or_default(),
            bandwidth_samples: record.bandwidth_samples[at],
            iops_samples: record.iops_samples[at],
            worker_rates: None,
            stated: None,
        }
    }

    /// Whether percentiles of the latency that is kept by priority are wanted.
    fn wants_percentiles(&self) -> bool {
        let plan = &self.plan.job.record;
        plan.total_percentiles || plan.completion_percentiles
    }

    /// The time in which a direction could move: where written blocks are read back, writes and these reads take turns.
    fn window(&self, record: &Record, direction: Direction, measured: Nanos) -> Nanos {
        let reviewed = Nanos(record.reviewed);
        match direction {
            _ if reviewed.is_zero() => measured,
            Direction::Read if self.plan.job.load.mix.contains(Direction::Read) => measured,
            Direction::Read => reviewed,
            Direction::Write | Direction::Trim => measured.saturating_sub(reviewed),
        }
    }

    /// CPU and faults of the measured part. A worker that was killed could not take its final account itself.
    fn cpu(&self, record: &Record) -> CpuUsage {
        match self.end {
            None | Some(End::Left) if record.finished == 0 => record.usage_so_far,
            Some(End::Killed(exit, _) | End::Exited(exit)) if record.finished == 0 => {
                used_since(cpu_usage(exit.usage), record.usage)
            }
            _ => record.usage,
        }
    }

    fn error(&self) -> Option<JobError> {
        if let Some(error) = &self.prepared.error {
            return Some(error.clone());
        }
        let job = self.plan.job;
        let failed = |errno, operation: &str, message: String, signal| {
            Some(JobError { errno, operation: operation.to_owned(), message, signal })
        };
        let fault = self.record.as_deref().map(|record| &record.fault).filter(|fault| fault.errno != 0);
        match self.end {
            Some(End::Killed(_, signal)) => {
                let message = format!("job `{}`: its worker was killed by signal {signal}{}", job.name, hint(signal));
                failed(libc::EINTR, "run", message, Some(signal))
            }
            Some(End::Left) => {
                let pid = self.control.thread.load(Relaxed);
                let name = &job.name;
                let message = format!(
                    "job `{name}`: left in the kernel: pid {pid}; its I/O does not come back, and nothing can end it before"
                );
                failed(libc::EINTR, "run", message, None)
            }
            _ if fault.is_some() => {
                let fault = fault?;
                failed(fault.errno, &fault.operation.get(), fault.message.get(), None)
            }
            Some(_) if self.record.as_deref().is_none_or(|record| record.finished == 0) => {
                let message =
                    format!("job `{}`: its worker ended before its work did: this is a bug in plumb", job.name);
                failed(libc::EIO, "run", message, None)
            }
            _ => None,
        }
    }

    fn did_start(&self) -> bool {
        match self.record.as_deref() {
            Some(record) => record.started_unix_ms > 0,
            None => self.control.measured_from.load(Relaxed) > 0,
        }
    }

    fn echo(&self) -> Echo {
        let job = self.plan.job;
        let sizes = |size: &BlockSize| (size.smallest(), size.largest());
        let blocks = &job.load.block_size;
        let files = &self.prepared.files;
        Echo {
            name: job.name.clone(),
            description: job.description.clone(),
            group: job.group,
            number: self.plan.number,
            clone: self.plan.clone,
            options: job.written.clone(),
            engine: job.engine.to_owned(),
            // A job that never did I/O had no depth: its report leaves out what hangs on one.
            iodepth: if self.did_start() { self.asked_depth } else { 0 },
            direct: job.files.direct,
            block_sizes: PerDirection {
                read: sizes(&blocks.read),
                write: sizes(&blocks.write),
                trim: sizes(&blocks.trim),
            },
            paths: if needs_files(job) {
                files.iter().map(|file| file.path.display().to_string()).collect()
            } else {
                Vec::new()
            },
            region_bytes: files.iter().map(|file| file.region.end - file.region.start).fold(0, u64::saturating_add),
        }
    }
}

/// The moments of a timed pass.
fn pass(record: &Record) -> PassResult {
    PassResult {
        from: Nanos(record.measured_from),
        until: Nanos(record.measured_until),
        closed: Nanos(record.closed_at),
        mark: record.marked().map(|mark| PassMark {
            at: Nanos(mark.at),
            bytes: mark.bytes.iter().sum(),
            ios: mark.ios.iter().sum(),
        }),
    }
}

fn goal(job: &JobPlan) -> LatencyGoal {
    let plan = &job.latency;
    LatencyGoal {
        target: plan.target,
        window: plan.window,
        percentile: (plan.percentile < 100.0).then_some(plan.percentile),
        depth: None,
    }
}

fn hint(signal: i32) -> &'static str {
    match signal {
        libc::SIGBUS => " (SIGBUS: a mapped file became shorter, or its device failed)",
        libc::SIGKILL => " (SIGKILL: from outside, or by the kernel for want of memory)",
        libc::SIGSEGV => " (SIGSEGV: this is a bug in plumb)",
        _ => "",
    }
}

fn statistics(moments: Moments, histogram: &Histogram, wanted: bool) -> LatencyStatistics {
    let histogram = (wanted && moments.count() > 0).then(|| Box::new(histogram.clone()));
    LatencyStatistics { moments, histogram }
}

/// Whether the job's engine tells submission and completion apart.
fn is_queued(job: &JobPlan) -> bool {
    if job.depth.offload {
        return false;
    }
    let submission = engine::ENGINES.iter().find(|engine| engine.name == job.engine);
    match submission.map(|engine| engine.capabilities.submission) {
        Some(Submission::Asynchronous) => true,
        Some(Submission::ByDepth) => job.depth.depth > 1,
        Some(Submission::Synchronous) | None => false,
    }
}

fn style(job: &JobPlan) -> ReportStyle {
    let plan: &RecordPlan = &job.record;
    let forgiving = job.limits.continue_on_error;
    ReportStyle {
        group_reporting: plan.group_reporting,
        completion_percentiles: plan.completion_percentiles,
        total_percentiles: plan.total_percentiles,
        submission_percentiles: plan.submission_percentiles,
        percentiles: plan.percentiles.clone(),
        percentile_digits: plan.percentile_digits,
        unit_base: plan.unit_base,
        bits: plan.bits,
        significant_figures: plan.significant_figures,
        shows_errors: forgiving.read || forgiving.write || forgiving.verify,
        counts_sync_depth: true,
        unified: match plan.unified {
            job::plan::Unified::None => model::Unified::None,
            job::plan::Unified::Mixed => model::Unified::Mixed,
            job::plan::Unified::Both => model::Unified::Both,
        },
        hidden: !plan.shown,
    }
}
