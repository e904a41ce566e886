//! Statistics: what every completed I/O adds to its worker's record.

use super::log::{Logged, Logs};
use super::slots::IoTimes;
use crate::shared::control::Control;
use crate::shared::priorities::PriorityRecord;
use crate::shared::record::{Keeps, Mailbox, Record, coarse_bin};
use crate::shared::steady::Totals;
use crate::shared::virtual_intervals::IntervalRecord;
use load::Request;
use measure::{Direction, IntervalSampler, Nanos};
use model::{CpuUsage, JobError};
use plan::{LatencyPlan, RecordPlan};

/// A worker's record, and which parts of it the job fills.
#[derive(Debug)]
pub(crate) struct Statistics<'w> {
    pub(crate) record: &'w mut Record,
    /// The counters that the parent reads while the worker runs.
    pub(crate) control: &'w Control,
    sampling: Option<Sampling>,
    pub(crate) logs: Option<Box<Logs>>,
    /// The logs during a ramp, whose I/O is not logged.
    muted_logs: Option<Box<Logs>>,
    /// The latency limits that each I/O is checked against.
    pub(crate) limits: Option<Box<LatencyLimits>>,
    /// Latencies by priority, if the engine issues I/Os of more than one.
    pub(crate) priorities: Option<&'w mut PriorityRecord>,
    /// Intervals, of a worker in virtual time whose run asks for them.
    pub(crate) intervals: Option<&'w mut IntervalRecord>,
    /// The mailbox for a copy of a thread's record, which the parent may ask for.
    pub(super) mailbox: &'w Mailbox,
    /// CPU time of the kernel's polling thread when the measured part began.
    pub(super) kernel_cpu_before: Nanos,
}

/// I/Os that agree in everything that is counted. Timestamps are taken per call, so the I/Os that one call submitted
/// and one call reaped have equal latencies to the nanosecond: recording them together gives the same numbers for less.
#[derive(Clone, Copy, Debug)]
pub(super) struct EqualIos {
    pub(super) direction: Direction,
    /// Bytes of each.
    pub(super) bytes: u32,
    pub(super) times: IoTimes,
    /// Number of I/Os.
    pub(super) count: u64,
}

/// Bandwidth and IOPS samples, taken by the worker between its I/Os.
#[derive(Debug)]
struct Sampling {
    bandwidth: [IntervalSampler; 3],
    iops: [IntervalSampler; 3],
    intervals: (Nanos, Nanos),
}

impl Sampling {
    fn start(bandwidth: Nanos, iops: Nanos, now: Nanos) -> Self {
        Sampling {
            bandwidth: [IntervalSampler::new(bandwidth, now); 3],
            iops: [IntervalSampler::new(iops, now); 3],
            intervals: (bandwidth, iops),
        }
    }
}

impl<'w> Statistics<'w> {
    /// Prepares for counting, without logs, limits, priorities and intervals; [`Statistics::begin`] starts it.
    pub(crate) fn new(record: &'w mut Record, control: &'w Control, mailbox: &'w Mailbox, plan: &RecordPlan) -> Self {
        let shortest = Nanos::from_millis(1);
        let (bandwidth, iops) = (plan.bandwidth_interval.max(shortest), plan.iops_interval.max(shortest));
        record.keeps = Keeps {
            completion: (plan.completion_percentiles && plan.completion_latency).into(),
            total: (plan.total_percentiles && plan.total_latency).into(),
            submission: (plan.submission_percentiles && plan.submission_latency).into(),
            total_moments: plan.total_latency.into(),
        };
        Statistics {
            record,
            control,
            sampling: plan.samples.then(|| Sampling::start(bandwidth, iops, Nanos::ZERO)),
            logs: None,
            muted_logs: None,
            limits: None,
            priorities: None,
            intervals: None,
            mailbox,
            kernel_cpu_before: Nanos::ZERO,
        }
    }

    /// Resets all counts; [`Statistics::begin`] starts them.
    pub(crate) fn clear(&mut self, usage: CpuUsage) {
        self.record.clear(usage);
    }

    /// Measures from `now` on.
    pub(crate) fn begin(&mut self, now: Nanos) {
        self.record.begin(self.control, now);
        if let Some(sampling) = &mut self.sampling {
            *sampling = Sampling::start(sampling.intervals.0, sampling.intervals.1, now);
        }
        if let Some(intervals) = &mut self.intervals {
            intervals.begin(now);
        }
        self.logs = self.logs.take().or_else(|| self.muted_logs.take());
        if let Some(logs) = &mut self.logs {
            logs.begin(now);
        }
    }

    /// Counts an I/O of a synchronous engine, which has no submission latency.
    #[inline(always)]
    pub(crate) fn synchronous<const LATENCY: bool>(&mut self, direction: Direction, bytes: u64, times: IoTimes) {
        self.control.count(direction, bytes, 1);
        if LATENCY {
            let completion = times.reaped.saturating_sub(times.accepted);
            self.record.latencies(direction, completion, times.reaped.saturating_sub(times.issued));
        }
        if let Some(limits) = &mut self.limits {
            limits.count(direction, times, 1);
        }
        self.record.measured_until = times.reaped.get();
    }

    /// Counts an I/O whose latency is not recorded: it failed, or its metadata engine made no system call for it.
    #[inline]
    pub(super) fn without_latency(&mut self, direction: Direction, bytes: u64, times: IoTimes) {
        self.control.count(direction, bytes, 1);
        self.record.measured_until = times.reaped.get();
    }

    /// Records the latency of a metadata engine's system call.
    #[inline]
    pub(super) fn call_latency(&mut self, direction: Direction, times: IoTimes) {
        let completion = times.reaped.saturating_sub(times.accepted);
        self.record.completion[direction as usize].record(completion);
        if self.record.keeps.completion != 0 {
            self.record.histograms.completion[direction as usize].record(completion);
        }
    }

    /// Counts I/Os of an asynchronous engine.
    ///
    /// All three latencies are recorded here, at completion, so that submission + completion = total also holds for the
    /// means.
    // Forced inline: without link-time optimisation the compiler would not, and a call costs 10 to 20 instructions per
    // I/O.
    #[inline(always)]
    pub(super) fn queued<const LATENCY: bool>(&mut self, equal: EqualIos) {
        let EqualIos { direction, bytes, mut times, count } = equal;
        let bytes = u64::from(bytes);
        self.control.count(direction, bytes * count, count);
        if self.record.blind_to_submission != 0 {
            times.accepted = times.issued;
        } else if LATENCY {
            let submission = times.accepted.saturating_sub(times.issued);
            self.record.submission[direction as usize].record_many(submission, count);
            if self.record.keeps.submission != 0 {
                self.record.histograms.submission[direction as usize].record_many(submission, count);
            }
        }
        if LATENCY {
            self.completion(direction, times, count);
        }
        if let Some(limits) = &mut self.limits {
            limits.count(direction, times, count);
        }
        self.record.measured_until = times.reaped.get();
    }

    /// Logs a completed I/O.
    pub(super) fn log(&mut self, request: &Request, mut times: IoTimes) {
        let (Some(logs), Some(direction)) = (&mut self.logs, request.direction()) else { return };
        if self.record.blind_to_submission != 0 {
            times.accepted = times.issued;
        }
        logs.record(&Logged { direction, bytes: u64::from(request.length), offset: request.offset, times });
    }

    /// Logs nothing until [`Statistics::begin`] is called again.
    pub(crate) fn mute_logs(&mut self) {
        self.muted_logs = self.logs.take();
    }

    /// Writes out the rest of the logs. Errors: the first row that could not be written.
    pub(crate) fn finish_logs(&mut self, now: Nanos) -> Result<(), JobError> {
        self.logs.take().map_or(Ok(()), |logs| logs.finish(now))
    }

    // Forced inline: a call would keep the timestamps in memory instead of in registers.
    #[inline(always)]
    fn completion(&mut self, direction: Direction, times: IoTimes, count: u64) {
        let completion = times.reaped.saturating_sub(times.accepted);
        let total = times.reaped.saturating_sub(times.issued);
        let record = &mut *self.record;
        record.completion[direction as usize].record_many(completion, count);
        record.total[direction as usize].record_many(total, count);
        record.bins[coarse_bin(completion)] += count;
        if record.keeps.completion != 0 {
            record.histograms.completion[direction as usize].record_many(completion, count);
        }
        if record.keeps.total != 0 {
            record.histograms.total[direction as usize].record_many(total, count);
        }
    }

    /// Counts an fsync or fdatasync.
    pub(crate) fn synchronised(&mut self, times: IoTimes) {
        let latency = times.reaped.saturating_sub(times.issued);
        self.record.sync.record(latency);
        self.record.histograms.sync.record(latency);
        self.record.measured_until = times.reaped.get();
    }

    /// Time of the next sample or end of a log window; `Nanos::MAX` without any.
    pub(crate) fn next_sample(&self) -> Nanos {
        let samplers = self.sampling.iter().flat_map(|sampling| sampling.bandwidth.iter().chain(&sampling.iops));
        let logs = self.logs.iter().map(|logs| logs.next_end());
        let intervals = self.intervals.iter().map(|intervals| intervals.next_end());
        samplers.map(IntervalSampler::next_due).chain(logs).chain(intervals).min().unwrap_or(Nanos::MAX)
    }

    /// Takes the samples and closes the log windows that are due at `now`; no I/O completes before `until`.
    pub(crate) fn sample(&mut self, now: Nanos, until: Nanos) {
        if let Some(logs) = &mut self.logs {
            logs.close_due(now, until);
        }
        self.close_intervals(now);
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

    /// Ends the intervals in virtual time that are due at `now`.
    fn close_intervals(&mut self, now: Nanos) {
        while self.intervals.as_ref().is_some_and(|intervals| intervals.next_end() <= now) {
            self.record.merge_recent();
            let amounts = Direction::ALL.map(|direction| self.control.measured(direction));
            if let Some(intervals) = &mut self.intervals {
                intervals.close(amounts, self.record);
            }
        }
    }

    /// All bytes and I/Os, and the sum of latencies of the measured part.
    pub(super) fn totals(&mut self) -> Totals {
        self.record.merge_recent();
        let (bytes, ios) = self.control.amounts();
        let latency: u128 = self.record.completion.iter().map(measure::Moments::sum).sum();
        Totals {
            bytes: bytes.iter().sum(),
            ios: ios.iter().sum(),
            latency_ns: u64::try_from(latency).unwrap_or(u64::MAX),
        }
    }
}

/// The limits that latencies are compared with, and counts since the last reset.
#[derive(Debug)]
pub(crate) struct LatencyLimits {
    most: [Nanos; 3],
    target: Nanos,
    /// I/Os since the last reset, and those of them that missed the target.
    seen: u64,
    missed: u64,
    too_long: Option<(Direction, Nanos)>,
}

impl LatencyLimits {
    /// The limits of a job that has some.
    pub(crate) fn of(plan: &LatencyPlan) -> Option<Box<LatencyLimits>> {
        let most = [plan.most.read, plan.most.write, plan.most.trim].map(|most| most.unwrap_or(Nanos::MAX));
        let target = plan.target.unwrap_or(Nanos::MAX);
        plan.judges().then(|| Box::new(LatencyLimits { most, target, seen: 0, missed: 0, too_long: None }))
    }

    /// Checks the total latency of `count` equal I/Os.
    #[inline]
    pub(super) fn count(&mut self, direction: Direction, times: IoTimes, count: u64) {
        let total = times.reaped.saturating_sub(times.issued);
        self.seen += count;
        if total > self.target {
            self.missed += count;
        }
        if total > self.most[direction as usize] && self.too_long.is_none() {
            self.too_long = Some((direction, total));
        }
    }

    /// The first I/O that took longer than max_latency: its direction, its latency, and the limit.
    pub(crate) fn too_long(&self) -> Option<(Direction, Nanos, Nanos)> {
        self.too_long.map(|(direction, latency)| (direction, latency, self.most[direction as usize]))
    }

    /// I/Os since the last [`LatencyLimits::forget`], and how many of them missed the target.
    pub(super) fn counted(&self) -> (u64, u64) {
        (self.seen, self.missed)
    }

    /// Resets both counts.
    pub(super) fn forget(&mut self) {
        (self.seen, self.missed) = (0, 0);
    }
}
