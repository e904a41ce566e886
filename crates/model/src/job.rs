//! Results of one worker, and how to merge the workers of a group.

use crate::monitored::{Gain, gain};
use crate::{BlockLives, Calibration, LatencyGoal, SteadyResult};
use measure::{Direction, Histogram, Moments, Nanos, PerDirection, SampleStatistics};
use plan::{ContinueOnError, RecordPlan, Unified, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zerocopy::FromBytes;

/// Results of one worker, or of a group of workers after a merge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// Settings of the job, for reports.
    pub echo: Echo,
    /// The work it was asked to do; `None` if another tool's report does not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// Presentation of its numbers.
    pub style: ReportStyle,
    /// Number of merged workers; 1 for a single one.
    pub workers: u32,
    /// Process ID or thread ID.
    pub pid: u32,
    /// Start time, in milliseconds since 1970 UTC; of a job that did not start, the time at which that was known.
    pub started_unix_ms: u64,
    /// The error that ended it early.
    pub error: Option<JobError>,
    /// Number of I/O errors that did not end it.
    pub forgiven_errors: u64,
    /// The first of them, as errno.
    pub first_forgiven_errno: i32,
    /// Whole seconds from the start of the run to its end, at least 1.
    pub elapsed_s: u64,
    /// Whole seconds until the run ends; `None` if it is not known.
    pub remaining_s: Option<u64>,
    /// Results of reads, writes and trims.
    pub directions: PerDirection<DirectionResult>,
    /// Writes of an earlier run that `verify_only` walked through without I/O; they are in no other count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walked: Option<WalkedWrites>,
    /// Bytes read back and checked, with the ramp; `None` without verification, or if a report does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_bytes: Option<u64>,
    /// fsync and fdatasync.
    pub sync: SyncResult,
    /// Time of the measured part; the sum over workers for a group. The divisor of CPU percentages.
    pub runtime: Nanos,
    /// The measured part on the run's clock; of a group, from first start to last end. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredPart>,
    /// CPU time, context switches and page faults.
    pub cpu: CpuUsage,
    /// Queue depths.
    pub depth: DepthStatistics,
    /// Coarse latency bins of fio's text output, over all directions.
    pub latency_bins: LatencyBins,
    /// Latency target.
    #[serde(default)]
    pub latency_goal: LatencyGoal,
    /// Result of steady state detection; `None` if it was not asked for.
    pub steady: Option<SteadyResult>,
    /// Times of the pass, for a job that is one timed pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<PassResult>,
    /// State of its blocks; `None` if they were not tracked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockLives>,
    /// The tool's own share of its latencies; `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Box<Calibration>>,
}

/// The measured part of a job, in time since the start of the run's first workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredPart {
    /// Its start: after a ramp, and after the start of the job.
    pub from: Nanos,
    /// Its end.
    pub until: Nanos,
}

/// Writes that were walked through without I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkedWrites {
    /// Number of writes.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Times of one timed pass, on the run's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassResult {
    /// Start of the timed part.
    pub from: Nanos,
    /// End of the timed part.
    pub until: Nanos,
    /// Time at which the worker had closed its files.
    pub closed: Nanos,
    /// Progress at the time when another worker finished first; `None` if this one was first, or was not notified.
    pub mark: Option<PassMark>,
}

/// Progress of a worker at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassMark {
    /// The time, on the run's clock.
    pub at: Nanos,
    /// Bytes so far.
    pub bytes: u64,
    /// I/Os so far.
    pub ios: u64,
}

/// Settings of the job, for reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Echo {
    /// Name of the job.
    pub name: String,
    /// Description, free text.
    pub description: Option<String>,
    /// Reporting group.
    pub group: u32,
    /// Number in the whole run, from 1.
    pub number: u32,
    /// Number of the clone in its job, from 0.
    pub clone: u32,
    /// The job's own options as written.
    pub options: Vec<(String, String)>,
    /// Name of the engine.
    pub engine: String,
    /// Depth of the job file.
    pub iodepth: u32,
    /// True if O_DIRECT was asked for.
    pub direct: bool,
    /// Block sizes (smallest, largest) per direction in bytes.
    pub block_sizes: PerDirection<(u32, u32)>,
    /// Files or devices that it used.
    pub paths: Vec<String>,
    /// Size of the region that it used, in bytes.
    pub region_bytes: u64,
}

/// Presentation of a job's numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportStyle {
    /// Merge the results of the workers in its group.
    pub group_reporting: bool,
    /// Show percentiles of completion latency.
    pub completion_percentiles: bool,
    /// Show percentiles of total latency.
    pub total_percentiles: bool,
    /// Show percentiles of submission latency.
    pub submission_percentiles: bool,
    /// Percentiles to show, ascending.
    pub percentiles: Vec<f64>,
    /// Decimal places of a percentile's name.
    pub percentile_digits: usize,
    /// 1024 or 1000: base of the units.
    pub unit_base: u32,
    /// Show rates in bits.
    pub bits: bool,
    /// Significant figures of numbers in text.
    pub significant_figures: usize,
    /// True if ignored errors are printed (continue_on_error was given).
    pub shows_errors: bool,
    /// True if the line of issued I/Os counts trims and syncs.
    pub counts_sync_depth: bool,
    /// Omit from reports.
    #[serde(default)]
    pub hidden: bool,
    /// Presentation of all directions together.
    #[serde(default)]
    pub unified: Unified,
}

impl ReportStyle {
    /// Returns the presentation for a job with this plan.
    pub fn of(record: &RecordPlan, forgiving: ContinueOnError) -> Self {
        ReportStyle {
            group_reporting: record.group_reporting,
            completion_percentiles: record.completion_percentiles,
            total_percentiles: record.total_percentiles,
            submission_percentiles: record.submission_percentiles,
            percentiles: record.percentiles.clone(),
            percentile_digits: record.percentile_digits,
            unit_base: record.unit_base,
            bits: record.bits,
            significant_figures: record.significant_figures,
            shows_errors: forgiving.read || forgiving.write || forgiving.verify,
            counts_sync_depth: true,
            unified: record.unified,
            hidden: !record.shown,
        }
    }
}

impl Default for ReportStyle {
    fn default() -> Self {
        Self::of(&RecordPlan::default(), ContinueOnError::default())
    }
}

/// Error that ended a job early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobError {
    /// errno.
    pub errno: i32,
    /// The operation that failed, such as `write` or `open`.
    pub operation: String,
    /// The error, with its file and offset.
    pub message: String,
    /// The signal that killed the worker, if one did.
    pub signal: Option<i32>,
}

/// Results of one direction of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionResult {
    /// Bytes completed.
    pub bytes: u64,
    /// I/Os issued in the measured part.
    pub ios: u64,
    /// I/Os that moved fewer bytes than requested and were continued.
    pub short_ios: u64,
    /// I/Os dropped by the engine.
    pub dropped_ios: u64,
    /// Zones that were reset, before they were written again or by a trim; `None` without zones (`zonemode=zbd`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_resets: Option<u64>,
    /// Time of the measured part; zero if there were no I/Os in this direction.
    pub runtime: Nanos,
    /// Submission latency: from issue until the kernel accepted the I/O; `None` if it was not measured.
    pub submission: Option<LatencyStatistics>,
    /// Completion latency: from acceptance until the I/O was reaped.
    pub completion: Option<LatencyStatistics>,
    /// Total latency: from issue until the I/O was reaped.
    pub total: Option<LatencyStatistics>,
    /// Response time: from the moment an I/O was due until it was reaped; `None` without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencyStatistics>,
    /// Lateness: from being due until issue; `None` without a rate. There was no room, or the tester was late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<LatencyStatistics>,
    /// I/Os issued more than 50 µs late though fewer than the depth were in flight; `None` without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_late: Option<u64>,
    /// Latency by I/O priority, if there are several (cmdprio): total if its percentiles are shown, else completion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityLatency>,
    /// Bandwidth samples in KiB/s.
    pub bandwidth_samples: SampleStatistics,
    /// IOPS samples.
    pub iops_samples: SampleStatistics,
    /// Smallest and largest average rate of a worker in bytes/s, after a merge.
    pub worker_rates: Option<(u64, u64)>,
    /// Rates as printed by another tool's report; `None` for results of this tool, whose rates follow from the counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated: Option<StatedRates>,
}

/// Rates as printed in a report, which may contradict the counts of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatedRates {
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// I/Os per second.
    pub iops: Option<f64>,
}

/// Statistics of one kind of latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyStatistics {
    /// Exact sums.
    #[serde(with = "crate::native::moments")]
    pub moments: Moments,
    /// Histogram, if percentiles were asked for. In the result of a survey the first worker of a group has that of all
    /// of its workers ([`crate::RunResult::gather`]), so percentiles are taken of the merged group.
    #[serde(default, with = "crate::native::histogram")]
    pub histogram: Option<Box<Histogram>>,
}

/// Latency of the I/Os of one priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriorityLatency {
    /// Class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u16,
    /// Level within the class, 0 the highest.
    pub level: u16,
    /// Hint for the device.
    pub hint: u16,
    /// Their latency.
    pub latency: LatencyStatistics,
}

impl PriorityLatency {
    /// Decodes an I/O priority of the kernel (ioprio_set(2)): class, hint and level, from the top bits down.
    pub fn of_packed(value: u64, latency: LatencyStatistics) -> Self {
        let field = |shift: u32, mask: u64| u16::try_from((value >> shift) & mask).unwrap_or(0);
        PriorityLatency { class: field(13, 7), hint: field(3, 0x3ff), level: field(0, 7), latency }
    }

    fn is_like(&self, other: &PriorityLatency) -> bool {
        (self.class, self.level, self.hint) == (other.class, other.level, other.hint)
    }
}

/// Results of fsync and fdatasync.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SyncResult {
    /// Number of calls.
    pub count: u64,
    /// Their latency.
    pub latency: LatencyStatistics,
}

/// CPU time, context switches and page faults of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct CpuUsage {
    /// In user mode.
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
    /// Context switches.
    pub switches: u64,
    /// Page faults that required I/O.
    pub major_faults: u64,
    /// Page faults that required no I/O.
    pub minor_faults: u64,
}

gain!(CpuUsage: user, system, switches, major_faults, minor_faults);

impl std::ops::Add for CpuUsage {
    type Output = CpuUsage;

    fn add(self, other: CpuUsage) -> CpuUsage {
        self.plus(other)
    }
}

/// Queue depths at issue, and sizes of submit and reap calls, in the bins of fio's report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct DepthStatistics {
    /// I/Os by the number in flight at issue: 1, 2–3, 4–7, 8–15, 16–31, 32–63, ≥ 64.
    pub level: [u64; 7],
    /// Submit calls by the number of I/Os that they took: 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64.
    pub submit: [u64; 7],
    /// Reap calls by the number of completions that they returned: 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64.
    pub complete: [u64; 7],
    /// Number of submit calls; 0 with filled bins if another tool's result states only percentages.
    pub submits: u64,
    /// Number of reap calls; 0 with filled bins if another tool's result states only percentages.
    pub completes: u64,
}

/// fio's coarse latency bins; each counts the latencies below its bound that are not below the previous bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct LatencyBins {
    /// Bounds of 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000 ns.
    pub ns: [u64; 10],
    /// The same bounds in µs.
    pub us: [u64; 10],
    /// The same bounds in ms, then 2000 ms, then all others.
    pub ms: [u64; 12],
}

impl LatencyBins {
    /// Upper bounds of the first ten bins of each unit.
    pub const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

    /// Counts `count` I/Os with this latency.
    pub fn record(&mut self, latency: Nanos, count: u64) {
        let bin = |value: u64| Self::BOUNDS.iter().position(|&bound| value < bound);
        let ns = latency.get();
        if let Some(index) = bin(ns) {
            self.ns[index] = self.ns[index].saturating_add(count);
        } else if let Some(index) = bin(ns / 1_000) {
            self.us[index] = self.us[index].saturating_add(count);
        } else if let Some(index) = bin(ns / 1_000_000) {
            self.ms[index] = self.ms[index].saturating_add(count);
        } else {
            let last = if ns < 2_000_000_000 { 10 } else { 11 };
            self.ms[last] = self.ms[last].saturating_add(count);
        }
    }
}

gain!(LatencyBins: ns, us, ms);
gain!(DepthStatistics: level, submit, complete, submits, completes);
gain!(WalkedWrites: ios, bytes);

impl LatencyStatistics {
    /// Adds the latencies of `other`; with a histogram only if both have one, or the other part is empty.
    pub fn merge(&mut self, other: &LatencyStatistics) {
        self.histogram = match (self.histogram.take(), &other.histogram) {
            (Some(mut mine), Some(theirs)) => {
                mine.merge(theirs);
                Some(mine)
            }
            (None, Some(theirs)) if self.moments.count() == 0 => Some(theirs.clone()),
            (Some(mine), None) if other.moments.count() == 0 => Some(mine),
            _ => None,
        };
        self.moments.merge(&other.moments);
    }
}

fn merge_latency(mine: &mut Option<LatencyStatistics>, theirs: &Option<LatencyStatistics>) {
    match (mine, theirs) {
        (_, None) => {}
        (Some(mine), Some(theirs)) => mine.merge(theirs),
        (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
    }
}

impl DirectionResult {
    /// Average rate in bytes per second; `None` if no time was measured.
    pub fn bytes_per_second(&self) -> Option<u64> {
        let milliseconds = self.runtime.as_millis_ceil();
        (milliseconds > 0)
            .then(|| u64::try_from(u128::from(self.bytes) * 1000 / u128::from(milliseconds)).unwrap_or(u64::MAX))
    }

    /// Average I/Os per second; `None` if no time was measured.
    pub fn iops(&self) -> Option<f64> {
        let milliseconds = self.runtime.as_millis_ceil();
        (milliseconds > 0).then(|| self.ios as f64 * 1000.0 / milliseconds as f64)
    }

    /// The latency that a mean is taken from: total, or completion if arrivals were not timed.
    pub fn latency(&self) -> Option<&LatencyStatistics> {
        self.total.as_ref().or(self.completion.as_ref())
    }

    /// The latency that percentiles and shares are taken from: total, or completion if only that has a histogram
    /// (fio keeps percentiles of completion latency unless it is asked for others).
    pub fn latency_distribution(&self) -> Option<&LatencyStatistics> {
        let both = [self.total.as_ref(), self.completion.as_ref()];
        both.into_iter().flatten().find(|latency| latency.histogram.is_some())
    }

    /// Adds a worker that ran at the same time.
    pub fn merge(&mut self, other: &DirectionResult) {
        let rates = |direction: &DirectionResult| {
            direction.worker_rates.or_else(|| direction.bytes_per_second().map(|rate| (rate, rate)))
        };
        self.worker_rates = match (rates(self), rates(other)) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        // The rates printed for one of them do not apply to the sum.
        self.stated = None;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ios = self.ios.saturating_add(other.ios);
        self.short_ios = self.short_ios.saturating_add(other.short_ios);
        self.dropped_ios = self.dropped_ios.saturating_add(other.dropped_ios);
        self.zone_resets = self.zone_resets.plus(other.zone_resets);
        self.runtime = self.runtime.max(other.runtime);
        merge_latency(&mut self.submission, &other.submission);
        merge_latency(&mut self.completion, &other.completion);
        merge_latency(&mut self.total, &other.total);
        merge_latency(&mut self.response, &other.response);
        merge_latency(&mut self.lateness, &other.lateness);
        self.sent_late = self.sent_late.plus(other.sent_late);
        for theirs in &other.priorities {
            match self.priorities.iter_mut().find(|mine| mine.is_like(theirs)) {
                Some(mine) => mine.latency.merge(&theirs.latency),
                None => self.priorities.push(theirs.clone()),
            }
        }
        self.bandwidth_samples.add_concurrent(&other.bandwidth_samples);
        self.iops_samples.add_concurrent(&other.iops_samples);
    }
}

impl JobResult {
    /// Adds a worker of the same reporting group. Associative; settings and process ID of the first are kept.
    pub fn merge(&mut self, other: &JobResult) {
        self.workers = self.workers.saturating_add(other.workers);
        self.error = self.error.take().or_else(|| other.error.clone());
        if self.forgiven_errors == 0 {
            self.first_forgiven_errno = other.first_forgiven_errno;
        }
        self.forgiven_errors = self.forgiven_errors.saturating_add(other.forgiven_errors);
        self.elapsed_s = self.elapsed_s.max(other.elapsed_s);
        for direction in Direction::ALL {
            self.directions[direction].merge(&other.directions[direction]);
        }
        self.walked = self.walked.plus(other.walked);
        self.verified_bytes = self.verified_bytes.plus(other.verified_bytes);
        self.sync.count = self.sync.count.saturating_add(other.sync.count);
        self.sync.latency.merge(&other.sync.latency);
        self.runtime = self.runtime.saturating_add(other.runtime);
        self.measured = match (self.measured, other.measured) {
            (Some(mine), Some(theirs)) => {
                Some(MeasuredPart { from: mine.from.min(theirs.from), until: mine.until.max(theirs.until) })
            }
            (mine, theirs) => mine.or(theirs),
        };
        self.cpu = self.cpu.plus(other.cpu);
        self.depth = self.depth.plus(other.depth);
        self.latency_bins = self.latency_bins.plus(other.latency_bins);
        if let Some(theirs) = &other.blocks {
            self.blocks.get_or_insert_default().merge(theirs);
        }
        self.merge_calibration(other.calibration.as_deref());
    }

    /// Adds the calibration of another worker.
    pub(crate) fn merge_calibration(&mut self, other: Option<&Calibration>) {
        match (&mut self.calibration, other) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(Box::new(theirs.clone())),
            (_, None) => {}
        }
    }

    /// All directions merged: counts, histograms and concurrent rates are added.
    pub fn mixed(&self) -> DirectionResult {
        let mut mixed = self.directions.read.clone();
        mixed.merge(&self.directions.write);
        mixed.merge(&self.directions.trim);
        // The merge computed these from the directions; those of the workers are not known for the sum.
        mixed.worker_rates = None;
        mixed
    }

    /// The errno that reports show: of the error that ended the job, or of the first ignored error; 0 for none.
    pub fn errno(&self) -> i32 {
        self.error.as_ref().map_or(self.first_forgiven_errno, |error| error.errno)
    }

    /// Number of I/Os issued in all directions.
    pub fn ios(&self) -> u64 {
        self.directions.iter().map(|(_, direction)| direction.ios).fold(0, u64::saturating_add)
    }
}

impl crate::RunResult {
    /// Rows of a report: workers of a group with group_reporting are merged into the first, others unchanged.
    pub fn reported_jobs(&self) -> Vec<JobResult> {
        let mut rows: Vec<JobResult> = Vec::new();
        let mut of_groups: BTreeMap<u32, usize> = BTreeMap::new();
        for job in self.jobs.iter().filter(|job| !job.style.hidden) {
            let group = job.style.group_reporting.then_some(job.echo.group);
            match group.map(|group| *of_groups.entry(group).or_insert(rows.len())).and_then(|row| rows.get_mut(row)) {
                Some(row) => row.merge(job),
                None => rows.push(job.clone()),
            }
        }
        rows
    }
}

// Minimum number of samples for a reliable percentile.

/// Number of samples that the percentile `percent` needs, 100 ÷ (1 − p): a hundred of them are above it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "percentiles below 100 keep it far below 2^53"
)]
pub fn samples_needed(percent: f64) -> u64 {
    let beyond = (1.0 - percent / 100.0).max(1e-9);
    // Subtracting a tenth of a sample absorbs the binary error of 1 − 0.999.
    (100.0 / beyond - 0.1).ceil() as u64
}

/// The percentile, if there are enough samples; `None` otherwise.
pub fn percentile_as_fact(latency: &LatencyStatistics, percent: f64) -> Option<Nanos> {
    let histogram = latency.histogram.as_ref()?;
    let settled = histogram.total() >= samples_needed(percent);
    let value = settled.then(|| histogram.percentile(percent))??;
    // The middle of a histogram bucket may be above the maximum latency.
    Some(latency.moments.maximum().map_or(value, |maximum| value.min(maximum)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Histogram, Moments};

    fn latencies(count: u64) -> LatencyStatistics {
        let mut histogram = Histogram::new();
        histogram.record_many(Nanos(100), count);
        LatencyStatistics { moments: Moments::new(), histogram: Some(Box::new(histogram)) }
    }

    #[test]
    fn a_hundred_samples_must_lie_beyond_a_percentile() {
        for (percent, needed) in [(50.0, 200), (90.0, 1_000), (95.0, 2_000), (99.0, 10_000), (99.9, 100_000)] {
            assert_eq!(samples_needed(percent), needed, "p{percent}");
            assert_eq!(percentile_as_fact(&latencies(needed - 1), percent), None, "p{percent}");
            assert_eq!(percentile_as_fact(&latencies(needed), percent), Some(Nanos(100)), "p{percent}");
        }
    }

    #[test]
    fn no_percentile_is_above_the_maximum() {
        let mut seen = LatencyStatistics::default();
        let histogram = seen.histogram.insert(Box::new(Histogram::new()));
        histogram.record_many(Nanos(850_000), 10_000);
        seen.moments.record(Nanos(850_000));
        assert!(seen.histogram.as_ref().unwrap().percentile(99.0) != Some(Nanos(850_000)));
        assert!(percentile_as_fact(&seen, 99.0) <= Some(Nanos(850_000)));
    }

    #[test]
    fn without_a_histogram_there_is_no_percentile() {
        let bare = LatencyStatistics { moments: Moments::new(), histogram: None };
        assert_eq!(percentile_as_fact(&bare, 50.0), None);
    }
}
