//! From records to results: converts what the workers left in shared memory into the model's data.

use super::event_loop::RunState;
use super::prepare::WorkerInput;
use super::workers::{RunInputs, WorkerEnd};
use crate::Monitoring;
use crate::environment::describe_machine;
use crate::error::refusal;
use crate::files::total_bytes;
use crate::shared::capabilities::{is_queued, needs_files, spec};
use crate::shared::control::Control;
use crate::shared::priorities::PriorityRecord;
use crate::shared::record::Record;
use crate::shared::steady::Steadiness;
use crate::shared::usage::{cpu_usage, used_since};
use crate::shared::virtual_intervals::{self, IntervalRecord};
use crate::worker::start_ms;
use measure::{Direction, Histogram, Moments, Nanos, unix_ms};
use model::{
    CpuUsage, DirectionResult, Echo, Environment, Interval, JobError, JobResult, LatencyGoal, LatencyStatistics,
    MeasuredPart, PassMark, PassResult, PriorityLatency, ReportStyle, RunResult, SyncResult, WalkedWrites,
};
use plan::{JobPlan, WorkerPlan, Workload, ZonePlan};
use std::path::Path;
use std::sync::PoisonError;

impl RunInputs<'_> {
    /// The result of the run in this state. The environment has the file systems of `files`.
    pub(super) fn result(&self, state: RunState, files: &[&Path]) -> RunResult {
        let mut engine_notes: Vec<String> = Vec::new();
        let mut jobs = Vec::with_capacity(self.workers.len());
        for index in 0..self.workers.len() {
            let worker = WorkerInResult::new(self, &state, index);
            let note = worker.record.as_ref().map(|record| record.note.get()).unwrap_or_default();
            if !note.is_empty() && !engine_notes.contains(&note) {
                engine_notes.push(note);
            }
            let mut job = worker.job_result();
            let share = self.shares.get(worker.plan.job_index).and_then(Option::as_ref);
            job.calibration =
                share.filter(|_| job.ios() > 0).map(|share| Box::new(share.of_run(worker.plan.job, &job)));
            jobs.push(job);
        }
        RunResult {
            ended_unix_ms: unix_ms(),
            global_options: self.plan.global_options.clone(),
            jobs,
            devices: state.devices,
            lowest_traffic: state.lowest_traffic,
            monitored: state.monitored,
            virtual_intervals: self.virtual_intervals(),
            environment: match self.options.monitoring {
                Monitoring::Full => describe_machine(&self.options.system_root, &self.clock, engine_notes, files),
                Monitoring::Off => Environment::default(),
            },
            ended_by_signal: state.signal,
            ..RunResult::default()
        }
    }
}

impl RunInputs<'_> {
    /// Intervals in virtual time of all workers together; none unless the run asks for them.
    fn virtual_intervals(&self) -> Vec<Interval> {
        let Some(records) = &self.shared.intervals else { return Vec::new() };
        let of = |index| {
            records
                .finished(index)
                .map(IntervalRecord::intervals)
                .or_else(|| records.snapshot(index).map(|copy| copy.intervals()))
        };
        virtual_intervals::together((0..self.workers.len()).map(|index| of(index).unwrap_or_default()).collect())
    }
}

/// All data of one worker.
struct WorkerInResult<'a> {
    plan: WorkerPlan<'a>,
    prepared: &'a WorkerInput,
    control: &'a Control,
    record: Option<WorkerRecord<'a>>,
    priorities: Option<Box<PriorityRecord>>,
    state: &'a RunState,
    index: usize,
}

/// The record of a worker, where it was left or copied.
enum WorkerRecord<'a> {
    /// The record itself, which is complete. A copy is large: made between two short passes, it would take their data
    /// out of the caches.
    Whole(&'a Record),
    Copy(Box<Record>),
}

impl std::ops::Deref for WorkerRecord<'_> {
    type Target = Record;

    fn deref(&self) -> &Record {
        match self {
            WorkerRecord::Whole(record) => record,
            WorkerRecord::Copy(record) => record,
        }
    }
}

impl<'a> WorkerInResult<'a> {
    fn new(run: &RunInputs<'a>, state: &'a RunState, index: usize) -> Self {
        let shared = run.shared;
        let priorities = shared.priorities.as_ref().and_then(|records| records.snapshot(index));
        let record = match shared.records.finished(index).filter(|record| record.is_settled()) {
            Some(record) => {
                debug_assert!(record.counts_agree(), "worker {index} has latencies in one statistic only");
                Some(WorkerRecord::Whole(record))
            }
            None => Self::copy(run, state, index).map(WorkerRecord::Copy),
        };
        let (plan, control) = (run.workers[index], &shared.controls[index]);
        WorkerInResult { plan, prepared: &run.prepared[index], control, record, priorities, state, index }
    }

    /// A copy of the record of a worker that has died, goes on, or has left latencies that are not in its statistics
    /// yet.
    fn copy(run: &RunInputs<'a>, state: &RunState, index: usize) -> Option<Box<Record>> {
        let shared = run.shared;
        // A thread that is still running has left a copy of its record in its mailbox.
        let copy = || shared.mailboxes[index].lock().unwrap_or_else(PoisonError::into_inner).clone();
        let job = run.workers[index].job;
        let kept = shared.records.snapshot_of(index, Record::HEAD, |record| record.written_parts(job));
        let mut record = kept.or_else(copy);
        // A worker that died has not moved its latest latencies into the statistics. One that goes on has done so for
        // its progress report, and what came later is not part of that.
        let is_unreaped = state.ends[index].is_none();
        let goes_on = |record: &Record| is_unreaped && record.finished == 0 && record.so_far().is_some();
        if let Some(record) = record.as_mut().filter(|record| !goes_on(record)) {
            record.merge_recent();
        }
        record
    }

    fn end(&self) -> Option<WorkerEnd> {
        self.state.ends[self.index]
    }

    fn job_result(&self) -> JobResult {
        let job = self.plan.job;
        let mut result = JobResult {
            echo: self.echo(),
            workload: spec(job).map(|engine| Workload::of(job, engine)),
            style: ReportStyle::of(&job.record, job.limits.continue_on_error),
            workers: 1,
            elapsed_s: self.state.elapsed.as_millis_ceil().div_ceil(1000).max(1),
            remaining_s: self.state.remaining.map(|remaining| remaining.get() / Nanos::SECOND.get()),
            error: self.error(),
            started_unix_ms: self.skipped_unix_ms(),
            ..JobResult::default()
        };
        result.latency_goal = goal(job);
        result.steady = self.state.groups.result(self.index);
        let Some(record) = self.record.as_deref() else { return self.counted(result) };
        let measured = Nanos(record.measured_until).saturating_sub(self.control.measured_from().unwrap_or_default());
        result.latency_goal.depth = record.searched_depth();
        if let (Some(plan), Some(window)) = (job.steady, record.steady.samples()) {
            result.steady = Some(Steadiness::restored(plan, window).result());
        }
        result.pid = record.pid;
        if record.started_unix_ms > 0 {
            result.started_unix_ms = record.started_unix_ms;
        }
        result.pass = job.pass.is_some().then(|| self.pass(record));
        if job.record.block_lives && record.finished != 0 {
            // Without trims there are no blocks to track, as in fio.
            result.blocks = Some(record.blocks.found().unwrap_or_default());
        }
        result.forgiven_errors = record.forgiven_errors;
        result.first_forgiven_errno = record.first_forgiven_errno().unwrap_or(0);
        for direction in Direction::ALL {
            result.directions[direction] = self.direction(record, direction, measured);
        }
        result.walked = match record.walked {
            [0, ..] => None,
            [_, ios, bytes] => Some(WalkedWrites { ios, bytes }),
        };
        result.verified_bytes = match record.verified {
            [0, _] => None,
            [_, bytes] => Some(bytes),
        };
        let latency = statistics(record.sync, Some(&record.histograms.sync));
        result.sync = SyncResult { count: record.sync.count(), latency };
        result.runtime = measured;
        result.measured = self.measured_part(measured).filter(|_| record.measured_until > 0);
        result.cpu = self.cpu(record);
        result.depth = record.depth();
        if job.record.completion_latency {
            result.latency_bins = record.latency_bins();
        }
        result
    }

    /// Completes a result from the control block, for a worker whose record cannot be read: a thread that was never
    /// asked for a report, or that is stuck. It has counts, but no latencies.
    fn counted(&self, mut result: JobResult) -> JobResult {
        let Some(from) = self.control.measured_from() else { return result };
        result.pid = self.control.thread().unwrap_or(0);
        result.runtime = self.state.until.saturating_sub(from);
        result.measured = self.measured_part(result.runtime);
        for direction in Direction::ALL {
            let (bytes, ios) = self.control.measured(direction);
            let runtime = if bytes > 0 { result.runtime } else { Nanos::ZERO };
            result.directions[direction] = DirectionResult { bytes, ios, runtime, ..DirectionResult::default() };
        }
        result
    }

    /// The measured part since the start of the first workers. Its length is exact on simulated clocks, too, which
    /// begin at 0.
    fn measured_part(&self, length: Nanos) -> Option<MeasuredPart> {
        let from = self.control.measured_from()?.saturating_sub(self.state.from);
        Some(MeasuredPart { from, until: from.saturating_add(length) })
    }

    /// True if the record is of a worker that is still running: as of its last progress report.
    fn is_at_work(&self, record: &Record) -> bool {
        let is_left_thread =
            matches!(self.end(), Some(WorkerEnd::Abandoned)) && self.plan.job.isolation == plan::Isolation::Thread;
        record.finished == 0 && (self.end().is_none() || is_left_thread)
    }

    fn direction(&self, record: &Record, direction: Direction, measured: Nanos) -> DirectionResult {
        let at = direction as usize;
        let (plan, histograms) = (&self.plan.job.record, &record.histograms);
        let by_priority = |found: &PriorityRecord| {
            // The latency that is kept by priority is total or completion latency.
            let wanted = plan.total_percentiles || plan.completion_percentiles;
            let latency = |(value, moments, histogram)| {
                PriorityLatency::of_packed(value, statistics(moments, wanted.then_some(histogram)))
            };
            found.found(direction).map(latency).collect()
        };
        let so_far =
            record.so_far().filter(|_| self.is_at_work(record)).map(|amounts| (amounts.bytes[at], amounts.ios[at]));
        let is_open = record.response[at].count() > 0;
        let (bytes, ios) = so_far.unwrap_or_else(|| self.control.measured(direction));
        DirectionResult {
            bytes,
            ios,
            short_ios: record.short_ios[at],
            dropped_ios: 0,
            zone_resets: (matches!(self.plan.job.load.zones, ZonePlan::Zoned(_)) && direction != Direction::Read)
                .then_some(if record.finished != 0 { record.zone_resets } else { 0 }),
            runtime: if bytes > 0 { self.window(record, direction, measured) } else { Nanos::ZERO },
            submission: (plan.submission_latency && is_queued(self.plan.job) && record.blind_to_submission == 0).then(
                || {
                    let wanted = plan.submission_percentiles.then_some(&histograms.submission[at]);
                    statistics(record.submission[at], wanted)
                },
            ),
            completion: plan.completion_latency.then(|| {
                let wanted = plan.completion_percentiles.then_some(&histograms.completion[at]);
                statistics(record.completion[at], wanted)
            }),
            total: plan.total_latency.then(|| {
                let wanted = plan.total_percentiles.then_some(&histograms.total[at]);
                statistics(record.total[at], wanted)
            }),
            response: is_open.then(|| statistics(record.response[at], Some(&histograms.response[at]))),
            lateness: is_open.then(|| statistics(record.lateness[at], Some(&histograms.lateness[at]))),
            sent_late: is_open.then_some(record.sent_late[at]),
            priorities: self.priorities.as_deref().map(by_priority).unwrap_or_default(),
            bandwidth_samples: record.bandwidth_samples[at],
            iops_samples: record.iops_samples[at],
            worker_rates: None,
            stated: None,
        }
    }

    /// The time in which a direction could do I/O: writes and the reads of verify phases alternate.
    fn window(&self, record: &Record, direction: Direction, measured: Nanos) -> Nanos {
        let reviewed = Nanos(record.reviewed);
        match direction {
            _ if reviewed.is_zero() => measured,
            Direction::Read if self.plan.job.load.mix.contains(Direction::Read) => measured,
            Direction::Read => reviewed,
            Direction::Write | Direction::Trim => measured.saturating_sub(reviewed),
        }
    }

    /// CPU usage of the measured part. For a worker that was killed it is computed from the usage that wait4(2)
    /// returned.
    fn cpu(&self, record: &Record) -> CpuUsage {
        match self.end() {
            None | Some(WorkerEnd::Abandoned) if record.finished == 0 => record.usage_so_far,
            // What the process used is that of all its workers.
            Some(_) if record.finished == 0 && self.plan.job.shares_threads() => record.usage_so_far,
            Some(WorkerEnd::Killed(exit, _) | WorkerEnd::Exited(exit)) if record.finished == 0 => {
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
        let fault = self.record.as_deref().and_then(|record| Some((record.fault.errno()?, &record.fault)));
        match self.end() {
            Some(WorkerEnd::Killed(_, signal)) => {
                let message = format!("job `{}`: its worker was killed by signal {signal}{}", job.name, hint(signal));
                Some(JobError { signal: Some(signal), ..refusal(libc::EINTR, "run", message) })
            }
            Some(WorkerEnd::Abandoned) => {
                let pid = self.control.thread().unwrap_or(0);
                let name = &job.name;
                let message = format!(
                    "job `{name}`: left in the kernel: pid {pid}; its I/O does not complete, and nothing can end it before"
                );
                Some(refusal(libc::EINTR, "run", message))
            }
            _ if fault.is_some() => {
                let (errno, fault) = fault?;
                Some(refusal(errno, &fault.operation.get(), fault.message.get()))
            }
            Some(_) if self.record.as_deref().is_none_or(|record| record.finished == 0) => {
                let message =
                    format!("job `{}`: its worker ended before its work did: this is a bug in plumb", job.name);
                Some(refusal(libc::EIO, "run", message))
            }
            _ => None,
        }
    }

    /// The timestamps of a timed pass.
    fn pass(&self, record: &Record) -> PassResult {
        PassResult {
            from: self.control.measured_from().unwrap_or_default(),
            until: Nanos(record.measured_until),
            closed: Nanos(record.closed_at),
            mark: record.marked().map(|mark| PassMark {
                at: Nanos(mark.at),
                bytes: mark.bytes.iter().sum(),
                ios: mark.ios.iter().sum(),
            }),
        }
    }

    /// The time of a job that has no start: it only laid out its files, or failed before. fio states one, too.
    fn skipped_unix_ms(&self) -> u64 {
        let is_skipped = self.plan.job.files.create_only || self.prepared.error.is_some();
        if is_skipped { start_ms(self.plan.job).unwrap_or_default() } else { 0 }
    }

    fn did_start(&self) -> bool {
        match self.record.as_deref() {
            Some(record) => record.started_unix_ms > 0,
            None => self.control.measured_from().is_some(),
        }
    }

    fn echo(&self) -> Echo {
        let job = self.plan.job;
        let files = &self.prepared.files;
        Echo {
            name: job.name.clone(),
            description: job.description.clone(),
            group: job.group,
            number: self.plan.number,
            clone: self.plan.clone,
            options: job.written.clone(),
            engine: job.engine.to_owned(),
            // A job that did no I/O had no depth: its report omits the fields that depend on one.
            iodepth: if self.did_start() { job.depth.asked() } else { 0 },
            direct: job.files.direct,
            block_sizes: job.load.size_ranges(),
            paths: if needs_files(job) {
                files.iter().map(|file| file.path.display().to_string()).collect()
            } else {
                Vec::new()
            },
            region_bytes: total_bytes(files),
        }
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

/// The statistics of a latency, with its histogram if percentiles are wanted and there are any.
fn statistics(moments: Moments, histogram: Option<&Histogram>) -> LatencyStatistics {
    let histogram = histogram.filter(|_| moments.count() > 0).map(|histogram| Box::new(histogram.clone()));
    LatencyStatistics { moments, histogram }
}
