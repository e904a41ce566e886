//! Statistics: what every completed I/O adds to its worker's record.

use super::latency_limits::LatencyLimits;
use super::life::Life;
use super::log::{Logged, Logs};
use crate::shared::control::Control;
use crate::shared::priorities::PriorityRecord;
use crate::shared::record::{Keeps, Mailbox, Record, coarse_bin};
use crate::shared::steady::Totals;
use load::Request;
use measure::{Direction, IntervalSampler, Nanos};
use model::{CpuUsage, JobError};
use plan::RecordPlan;

/// A worker's record, and which parts of it the job fills.
#[derive(Debug)]
pub(crate) struct Tally<'w> {
    /// The record to count into.
    pub(crate) record: &'w mut Record,
    /// The counters that the parent reads while the worker runs.
    pub(crate) control: &'w Control,
    histograms: WantedHistograms,
    sampling: Option<Sampling>,
    logs: Option<Box<Logs>>,
    judge: Option<Box<LatencyLimits>>,
    /// True if logs or latency limits inspect each I/O.
    observed: bool,
    /// The logs during a ramp, whose I/O is not logged.
    muted_logs: Option<Box<Logs>>,
    /// Latencies by priority, if the engine issues I/Os of more than one.
    pub(super) priorities: Option<&'w mut PriorityRecord>,
    /// The mailbox for a copy of a thread's record, which the parent may ask for.
    pub(super) mailbox: &'w Mailbox,
    /// CPU time of the kernel's polling thread when the measured part began.
    pub(super) kernel_cpu_before: Nanos,
}

/// The inputs of a tally.
pub(crate) struct TallySetup<'w> {
    /// The worker's record.
    pub(crate) record: &'w mut Record,
    /// The worker's control block.
    pub(crate) control: &'w Control,
    /// The mailbox for a copy of a thread's record.
    pub(crate) mailbox: &'w Mailbox,
    /// Latencies by priority, in runs with a job that has several.
    pub(crate) priorities: Option<&'w mut PriorityRecord>,
    /// Logs of the job.
    pub(crate) logs: Option<Box<Logs>>,
    /// Latency limits of the job.
    pub(crate) judge: Option<Box<LatencyLimits>>,
}

/// The latencies that are kept as histograms, for percentiles.
#[derive(Clone, Copy, Debug)]
struct WantedHistograms {
    completion: bool,
    total: bool,
    submission: bool,
}

/// I/Os that agree in everything that is counted. Timestamps are taken per call, so the I/Os that one call submitted
/// and one call reaped have equal latencies to the nanosecond: recording them together gives the same numbers for less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alike {
    pub(super) direction: Direction,
    /// Bytes of each.
    pub(super) bytes: u32,
    pub(super) life: Life,
    /// Number of I/Os so far.
    pub(super) count: u64,
}

impl Alike {
    /// An empty group; the first I/O replaces its values.
    pub(super) const NONE: Alike = {
        let life = Life { issued: Nanos::ZERO, accepted: Nanos::ZERO, reaped: Nanos::ZERO };
        Alike { direction: Direction::Read, bytes: 0, life, count: 0 }
    };

    /// True if an I/O with these values belongs to the group.
    #[inline]
    pub(super) fn includes(&self, direction: Direction, bytes: u32, life: Life) -> bool {
        // `reaped` is not compared: one call reaped all of them.
        let Life { issued, accepted, .. } = self.life;
        (issued, accepted, self.bytes, self.direction) == (life.issued, life.accepted, bytes, direction)
    }
}

/// Bandwidth and IOPS samples, taken by the worker between its I/Os.
#[derive(Debug)]
struct Sampling {
    bandwidth: [IntervalSampler; 3],
    iops: [IntervalSampler; 3],
    intervals: (Nanos, Nanos),
}

impl Sampling {
    fn start(intervals: (Nanos, Nanos), now: Nanos) -> Self {
        let (bandwidth, iops) = intervals;
        Sampling {
            bandwidth: [IntervalSampler::new(bandwidth, now); 3],
            iops: [IntervalSampler::new(iops, now); 3],
            intervals,
        }
    }
}

impl<'w> Tally<'w> {
    /// Prepares for counting; [`Tally::begin`] starts it.
    pub(crate) fn new(setup: TallySetup<'w>, plan: &RecordPlan) -> Self {
        let TallySetup { record, control, mailbox, priorities, logs, judge } = setup;
        let histograms = WantedHistograms {
            completion: plan.completion_percentiles && plan.completion_latency,
            total: plan.total_percentiles && plan.total_latency,
            submission: plan.submission_percentiles && plan.submission_latency,
        };
        let shortest = Nanos::from_millis(1);
        let intervals = (plan.bandwidth_interval.max(shortest), plan.iops_interval.max(shortest));
        let sampling = plan.samples.then(|| Sampling::start(intervals, Nanos::ZERO));
        record.keeps = Keeps {
            completion: histograms.completion.into(),
            total: histograms.total.into(),
            total_moments: plan.total_latency.into(),
        };
        let observed = judge.is_some();
        Tally {
            record,
            control,
            histograms,
            sampling,
            logs,
            judge,
            observed,
            muted_logs: None,
            priorities,
            mailbox,
            kernel_cpu_before: Nanos::ZERO,
        }
    }

    /// Resets all counts and measures from `now` on.
    pub(crate) fn begin(&mut self, usage: CpuUsage, now: Nanos) {
        self.record.begin(self.control, usage, now);
        if let Some(sampling) = &mut self.sampling {
            *sampling = Sampling::start(sampling.intervals, now);
        }
        self.logs = self.logs.take().or_else(|| self.muted_logs.take());
        if let Some(logs) = &mut self.logs {
            logs.begin(now);
        }
        self.observed = self.logs.is_some() || self.judge.is_some();
    }

    /// Counts an I/O of a synchronous engine, which has no submission latency.
    #[inline(always)]
    pub(crate) fn synchronous<const LATENCY: bool>(&mut self, direction: Direction, bytes: u64, life: Life) {
        self.control.count(direction, bytes, 1);
        if LATENCY {
            let completion = life.reaped.saturating_sub(life.accepted);
            self.record.latencies(direction, completion, life.reaped.saturating_sub(life.issued));
        }
        if self.observed {
            self.observe(direction, life, 1);
        }
        self.record.measured_until = life.reaped.get();
    }

    /// Counts an I/O whose latency is not recorded: it failed, or its metadata engine made no system call for it.
    #[inline]
    pub(super) fn without_latency(&mut self, direction: Direction, bytes: u64, life: Life) {
        self.control.count(direction, bytes, 1);
        self.record.measured_until = life.reaped.get();
    }

    /// Records the latency of a metadata engine's system call.
    #[inline]
    pub(super) fn call_latency(&mut self, direction: Direction, life: Life) {
        let completion = life.reaped.saturating_sub(life.accepted);
        self.record.completion[direction as usize].record(completion);
        if self.histograms.completion {
            self.record.histograms.completion[direction as usize].record(completion);
        }
    }

    /// Counts I/Os of an asynchronous engine.
    ///
    /// All three latencies are recorded here, at completion, so that submission + completion = total also holds for the
    /// means.
    #[inline]
    pub(super) fn queued<const LATENCY: bool>(&mut self, alike: Alike) {
        let Alike { direction, bytes, mut life, count } = alike;
        if count == 0 {
            return;
        }
        let bytes = u64::from(bytes);
        self.control.count(direction, bytes * count, count);
        if self.record.blind_to_submission != 0 {
            life.accepted = life.issued;
        } else if LATENCY {
            let submission = life.accepted.saturating_sub(life.issued);
            self.record.submission[direction as usize].record_many(submission, count);
            if self.histograms.submission {
                self.record.histograms.submission[direction as usize].record_many(submission, count);
            }
        }
        if LATENCY {
            self.completion(direction, life, count);
        }
        if self.observed {
            self.observe(direction, life, count);
        }
        self.record.measured_until = life.reaped.get();
    }

    /// Drops the statistics by priority unless the engine issues I/Os of more than one.
    pub(super) fn keep_priorities_of(&mut self, priorities: &[u16]) {
        if priorities.len() < 2 {
            self.priorities = None;
        }
    }

    /// True if latencies are counted by priority.
    pub(super) fn has_priorities(&self) -> bool {
        self.priorities.is_some()
    }

    /// Resets the statistics by priority.
    pub(super) fn begin_priorities(&mut self, values: &[u16]) {
        if let Some(priorities) = &mut self.priorities {
            priorities.name(values);
            priorities.begin();
        }
    }

    /// True if there are logs.
    pub(super) fn has_logs(&self) -> bool {
        self.logs.is_some()
    }

    /// Logs a completed I/O.
    pub(super) fn log(&mut self, request: &Request, mut life: Life) {
        let (Some(logs), Some(direction)) = (&mut self.logs, request.direction()) else { return };
        if self.record.blind_to_submission != 0 {
            life.accepted = life.issued;
        }
        logs.record(&Logged { direction, bytes: u64::from(request.length), offset: request.offset, life });
    }

    /// End of the next log window; `Nanos::MAX` without logs.
    pub(super) fn next_log_end(&self) -> Nanos {
        self.logs.as_ref().map_or(Nanos::MAX, |logs| logs.next_end())
    }

    /// Closes the log windows that end at `moment`; no I/O completes before `until`.
    pub(super) fn close_log_windows(&mut self, moment: Nanos, until: Nanos) {
        if let Some(logs) = &mut self.logs {
            logs.close_due(moment, until);
        }
    }

    /// Logs nothing until [`Tally::begin`] is called again.
    pub(crate) fn mute_logs(&mut self) {
        self.muted_logs = self.logs.take();
        self.observed = self.judge.is_some();
    }

    /// Passes `count` equal I/Os to the latency limits.
    fn observe(&mut self, direction: Direction, life: Life, count: u64) {
        if let Some(judge) = &mut self.judge {
            judge.see(direction, life.reaped.saturating_sub(life.issued), count);
        }
    }

    /// The first I/O that took longer than max_latency: direction, latency, and the limit.
    pub(super) fn too_long(&self) -> Option<(Direction, Nanos, Nanos)> {
        self.judge.as_ref()?.too_long()
    }

    /// I/Os checked since [`Tally::forget_judged`], and how many missed the target.
    pub(super) fn judged(&self) -> (u64, u64) {
        self.judge.as_ref().map_or((0, 0), |judge| judge.count())
    }

    /// Resets the counts of checked I/Os.
    pub(super) fn forget_judged(&mut self) {
        if let Some(judge) = &mut self.judge {
            judge.forget();
        }
    }

    /// Writes out the rest of the logs.
    ///
    /// # Errors
    /// The first row that could not be written.
    pub(crate) fn finish_logs(&mut self, now: Nanos) -> Result<(), JobError> {
        self.logs.take().map_or(Ok(()), |logs| logs.finish(now))
    }

    // Forced inline: a call would keep the timestamps in memory instead of in registers.
    #[inline(always)]
    fn completion(&mut self, direction: Direction, life: Life, count: u64) {
        let completion = life.reaped.saturating_sub(life.accepted);
        let total = life.reaped.saturating_sub(life.issued);
        let record = &mut *self.record;
        record.completion[direction as usize].record_many(completion, count);
        record.total[direction as usize].record_many(total, count);
        record.bins[coarse_bin(completion)] += count;
        if self.histograms.completion {
            record.histograms.completion[direction as usize].record_many(completion, count);
        }
        if self.histograms.total {
            record.histograms.total[direction as usize].record_many(total, count);
        }
    }

    /// Counts an fsync or fdatasync.
    pub(crate) fn synchronised(&mut self, life: Life) {
        let latency = life.reaped.saturating_sub(life.issued);
        self.record.sync.record(latency);
        self.record.histograms.sync.record(latency);
        self.record.measured_until = life.reaped.get();
    }

    /// Time of the next sample; `Nanos::MAX` without samples.
    pub(crate) fn next_sample(&self) -> Nanos {
        let Some(sampling) = &self.sampling else { return Nanos::MAX };
        let samplers = sampling.bandwidth.iter().chain(&sampling.iops);
        samplers.map(IntervalSampler::next_due).min().unwrap_or(Nanos::MAX)
    }

    /// Takes the samples that are due at `now`; no I/O completes before `until`.
    pub(crate) fn sample(&mut self, now: Nanos, until: Nanos) {
        let Some(sampling) = &mut self.sampling else { return };
        let record = &mut *self.record;
        for (direction, moved) in Direction::ALL.into_iter().enumerate() {
            let (bytes, ios) = self.control.measured(moved);
            let (bandwidth, iops) = (&mut sampling.bandwidth[direction], &mut sampling.iops[direction]);
            if bandwidth.due(now) {
                if let Some(rates) = bandwidth.close(now, bytes, ios) {
                    record.bandwidth_samples[direction].record(rates.kib_per_second);
                }
                bandwidth.skip_idle(until);
            }
            if iops.due(now) {
                if let Some(rates) = iops.close(now, bytes, ios) {
                    record.iops_samples[direction].record(rates.iops);
                }
                iops.skip_idle(until);
            }
        }
    }

    /// All bytes and I/Os, and the sum of latencies of the measured part.
    pub(super) fn totals(&mut self) -> Totals {
        self.record.settle();
        let (bytes, ios) = self.control.amounts();
        let latency: u128 = self.record.completion.iter().map(measure::Moments::sum).sum();
        Totals {
            bytes: bytes.iter().sum(),
            ios: ios.iter().sum(),
            latency_ns: u64::try_from(latency).unwrap_or(u64::MAX),
        }
    }
}
