//! What one worker found, and how workers of a group become one.

use crate::{BlockLives, LatencyGoal, SteadyResult};
use measure::{Direction, Histogram, Moments, Nanos, PerDirection, SampleStatistics};
use serde::{Deserialize, Serialize};
use zerocopy::FromBytes;

/// What one worker, or a group of workers merged, found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// The job's words, for reports.
    pub echo: Echo,
    /// How its numbers are to be shown.
    pub style: ReportStyle,
    /// Number of workers merged in here; 1 for a single one.
    pub workers: u32,
    /// Process id (or thread id).
    pub pid: u32,
    /// When it started, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// What ended it early.
    pub error: Option<JobError>,
    /// I/O errors that did not end it.
    pub forgiven_errors: u64,
    /// The first of them, as errno.
    pub first_forgiven_errno: i32,
    /// Whole seconds from the start of the run to its end, at least 1.
    pub elapsed_s: u64,
    /// Whole seconds that the run will still take; `None` while nobody knows.
    #[serde(default)]
    pub remaining_s: Option<u64>,
    /// Reads, writes, trims.
    pub directions: PerDirection<DirectionResult>,
    /// fsync and fdatasync.
    pub sync: SyncResult,
    /// Time of the measured part; of a group the sum over workers. The divisor of CPU percentages.
    pub runtime: Nanos,
    /// CPU and faults.
    pub cpu: CpuUsage,
    /// Queue depths.
    pub depth: DepthStatistics,
    /// The coarse latency bins of fio's text, over all directions.
    pub latency_bins: LatencyBins,
    /// The latency it was to keep.
    #[serde(default)]
    pub latency_goal: LatencyGoal,
    /// Whether its numbers settled; `None` where nobody asked.
    #[serde(default)]
    pub steady: Option<SteadyResult>,
    /// Its moments, where it was one timed pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<PassResult>,
    /// What became of its blocks; `None` where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockLives>,
}

/// The moments of one timed pass, on the run's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassResult {
    /// The timed part began.
    pub from: Nanos,
    /// The timed part ended.
    pub until: Nanos,
    /// The worker had closed its files.
    pub closed: Nanos,
    /// What was reached when another worker was done first; `None` where this one was, or nobody told it.
    pub mark: Option<PassMark>,
}

/// What a worker had reached at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassMark {
    /// When, on the run's clock.
    pub at: Nanos,
    /// Bytes by then.
    pub bytes: u64,
    /// I/Os by then.
    pub ios: u64,
}

/// The job's words, for reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Echo {
    /// Name of the job.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// Reporting group.
    pub group: u32,
    /// Number over the whole run, from 1.
    pub number: u32,
    /// Clone of the job, from 0.
    pub clone: u32,
    /// The job's own options as written.
    pub options: Vec<(String, String)>,
    /// Engine.
    pub engine: String,
    /// Asked-for depth.
    pub iodepth: u32,
    /// Whether O_DIRECT was asked for.
    pub direct: bool,
    /// Block sizes (smallest, largest) per direction in bytes.
    pub block_sizes: PerDirection<(u32, u32)>,
    /// The files or devices it used.
    pub paths: Vec<String>,
    /// Bytes of the region it worked on.
    pub region_bytes: u64,
}

/// How a job's numbers are to be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportStyle {
    /// Merge with the workers of its group.
    pub group_reporting: bool,
    /// Percentiles of completion latency.
    pub completion_percentiles: bool,
    /// Percentiles of total latency.
    pub total_percentiles: bool,
    /// Percentiles of submission latency.
    pub submission_percentiles: bool,
    /// Which percentiles, ascending.
    pub percentiles: Vec<f64>,
    /// Digits after the point of a percentile's name.
    pub percentile_digits: usize,
    /// 1024 or 1000.
    pub unit_base: u32,
    /// Rates as bits.
    pub bits: bool,
    /// Digits of numbers in text.
    pub significant_figures: usize,
    /// Whether forgiven errors are printed (continue_on_error was given).
    pub shows_errors: bool,
    /// Whether trims may occur: the issued line counts them.
    pub counts_sync_depth: bool,
    /// Left out of reports.
    #[serde(default)]
    pub hidden: bool,
    /// What is shown of all directions together.
    #[serde(default)]
    pub unified: Unified,
}

/// What is shown of reads, writes and trims together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unified {
    /// Nothing: each direction by itself.
    #[default]
    None,
    /// Only the sum of all.
    Mixed,
    /// Each by itself, and the sum.
    Both,
}

impl Default for ReportStyle {
    fn default() -> Self {
        ReportStyle {
            group_reporting: false,
            completion_percentiles: true,
            total_percentiles: false,
            submission_percentiles: false,
            percentiles: vec![
                1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99,
            ],
            percentile_digits: 2,
            unit_base: 1024,
            bits: false,
            significant_figures: 4,
            shows_errors: false,
            counts_sync_depth: true,
            unified: Unified::None,
            hidden: false,
        }
    }
}

/// What ended a job early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobError {
    /// errno.
    pub errno: i32,
    /// The operation that failed, `write` or `open`.
    pub operation: String,
    /// What happened to which file at which offset.
    pub message: String,
    /// The signal that killed the worker, if one did.
    pub signal: Option<i32>,
}

/// One direction of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionResult {
    /// Bytes completed.
    pub bytes: u64,
    /// I/Os issued in the measured part.
    pub ios: u64,
    /// I/Os that moved less than asked and were continued.
    pub short_ios: u64,
    /// I/Os dropped by the engine.
    pub dropped_ios: u64,
    /// Zones reset before they were written again (`zonemode=zbd`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub zone_resets: u64,
    /// Time of the measured part; zero when nothing moved in this direction.
    pub runtime: Nanos,
    /// Issue to accepted by the kernel; `None` when not measured.
    pub submission: Option<LatencyStatistics>,
    /// Accepted to reaped.
    pub completion: Option<LatencyStatistics>,
    /// Issue to reaped.
    pub total: Option<LatencyStatistics>,
    /// The same latency by I/O priority, where a job's I/Os do not all have the same (cmdprio): total latency where
    /// its percentiles are shown, else completion latency.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityLatency>,
    /// Samples in KiB/s.
    pub bandwidth_samples: SampleStatistics,
    /// Samples in I/Os per second.
    pub iops_samples: SampleStatistics,
    /// Smallest and largest average rate of a single worker in bytes/s, once workers are merged.
    pub worker_rates: Option<(u64, u64)>,
    /// The rates as a foreign report prints them; `None` for what was measured here, where rates follow from counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<StatedRates>,
}

/// Rates as a report prints them, which its own counts may contradict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatedRates {
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// I/Os per second.
    pub iops: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Statistics of one kind of latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyStatistics {
    /// Exact moments.
    #[serde(with = "crate::native::moments")]
    pub moments: Moments,
    /// Histogram, where percentiles were asked for.
    #[serde(with = "crate::native::histogram")]
    pub histogram: Option<Box<Histogram>>,
}

/// Latency of the I/Os of one priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriorityLatency {
    /// Class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u16,
    /// Level within the class, 0 the highest.
    pub level: u16,
    /// Hint to the device.
    pub hint: u16,
    /// How long they took.
    pub latency: LatencyStatistics,
}

impl PriorityLatency {
    /// The latency of a priority as the kernel packs it (ioprio_set(2)): class, hint, level from the top.
    pub fn of_packed(value: u64, latency: LatencyStatistics) -> Self {
        let field = |shift: u32, mask: u64| u16::try_from((value >> shift) & mask).unwrap_or(0);
        PriorityLatency { class: field(13, 7), hint: field(3, 0x3ff), level: field(0, 7), latency }
    }

    fn is_like(&self, other: &PriorityLatency) -> bool {
        (self.class, self.level, self.hint) == (other.class, other.level, other.hint)
    }
}

/// fsync, fdatasync.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SyncResult {
    /// How many.
    pub count: u64,
    /// How long each took.
    pub latency: LatencyStatistics,
}

/// CPU time and faults of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct CpuUsage {
    /// In user mode.
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
    /// Context switches.
    pub switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl std::ops::Add for CpuUsage {
    type Output = CpuUsage;

    fn add(self, other: CpuUsage) -> CpuUsage {
        CpuUsage {
            user: self.user + other.user,
            system: self.system + other.system,
            switches: self.switches + other.switches,
            major_faults: self.major_faults + other.major_faults,
            minor_faults: self.minor_faults + other.minor_faults,
        }
    }
}

/// Queue depths at issue, and sizes of submit and reap calls. Bins: see fio's report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct DepthStatistics {
    /// I/Os issued while so many were in flight: 1, 2–3, 4–7, 8–15, 16–31, 32–63, ≥ 64.
    pub level: [u64; 7],
    /// Submit calls that took 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64.
    pub submit: [u64; 7],
    /// Reap calls that returned 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64.
    pub complete: [u64; 7],
    /// Submit calls; 0 beside filled bins where a foreign result states only shares.
    pub submits: u64,
    /// Reap calls; 0 beside filled bins where a foreign result states only shares.
    pub completes: u64,
}

/// fio's coarse latency bins; each counts latencies below its bound and not below the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromBytes)]
#[repr(C)]
pub struct LatencyBins {
    /// Below 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000 ns.
    pub ns: [u64; 10],
    /// The same in µs.
    pub us: [u64; 10],
    /// The same in ms, then below 2000 ms, then the rest.
    pub ms: [u64; 12],
}

impl LatencyBins {
    /// Upper bounds of the first ten bins of each unit.
    pub const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

    /// Counts one latency.
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

    fn merge(&mut self, other: &LatencyBins) {
        add(&mut self.ns, &other.ns);
        add(&mut self.us, &other.us);
        add(&mut self.ms, &other.ms);
    }
}

fn add(mine: &mut [u64], theirs: &[u64]) {
    for (a, b) in mine.iter_mut().zip(theirs) {
        *a = (*a).saturating_add(*b);
    }
}

impl LatencyStatistics {
    /// Adds what `other` has seen. Percentiles of a part are not those of the whole: where one of both kept no histogram
    /// of what it saw, the sum has none.
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
    /// Average rate in bytes per second; `None` when no time was measured.
    pub fn bytes_per_second(&self) -> Option<u64> {
        let milliseconds = self.runtime.as_millis_ceil();
        (milliseconds > 0)
            .then(|| u64::try_from(u128::from(self.bytes) * 1000 / u128::from(milliseconds)).unwrap_or(u64::MAX))
    }

    /// Average I/Os per second; `None` when no time was measured.
    #[expect(clippy::cast_precision_loss, reason = "counts of a run")]
    pub fn iops(&self) -> Option<f64> {
        let milliseconds = self.runtime.as_millis_ceil();
        (milliseconds > 0).then(|| self.ios as f64 * 1000.0 / milliseconds as f64)
    }

    /// Adds a worker that ran beside this one.
    pub fn merge(&mut self, other: &DirectionResult) {
        let rates = |direction: &DirectionResult| {
            direction.worker_rates.or_else(|| direction.bytes_per_second().map(|rate| (rate, rate)))
        };
        self.worker_rates = match (rates(self), rates(other)) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        // What was printed of one is not what would be printed of both.
        self.stated = None;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ios = self.ios.saturating_add(other.ios);
        self.short_ios = self.short_ios.saturating_add(other.short_ios);
        self.dropped_ios = self.dropped_ios.saturating_add(other.dropped_ios);
        self.zone_resets = self.zone_resets.saturating_add(other.zone_resets);
        self.runtime = self.runtime.max(other.runtime);
        merge_latency(&mut self.submission, &other.submission);
        merge_latency(&mut self.completion, &other.completion);
        merge_latency(&mut self.total, &other.total);
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
    /// Adds a worker of the same reporting group. Associative; the first one's words and pid stay.
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
        self.sync.count = self.sync.count.saturating_add(other.sync.count);
        self.sync.latency.merge(&other.sync.latency);
        self.runtime = self.runtime.saturating_add(other.runtime);
        self.cpu.user = self.cpu.user.saturating_add(other.cpu.user);
        self.cpu.system = self.cpu.system.saturating_add(other.cpu.system);
        self.cpu.switches = self.cpu.switches.saturating_add(other.cpu.switches);
        self.cpu.major_faults = self.cpu.major_faults.saturating_add(other.cpu.major_faults);
        self.cpu.minor_faults = self.cpu.minor_faults.saturating_add(other.cpu.minor_faults);
        add(&mut self.depth.level, &other.depth.level);
        add(&mut self.depth.submit, &other.depth.submit);
        add(&mut self.depth.complete, &other.depth.complete);
        self.depth.submits = self.depth.submits.saturating_add(other.depth.submits);
        self.depth.completes = self.depth.completes.saturating_add(other.depth.completes);
        self.latency_bins.merge(&other.latency_bins);
        if let Some(theirs) = &other.blocks {
            self.blocks.get_or_insert_default().merge(theirs);
        }
    }

    /// All directions as one: counts and histograms added, the rates side by side.
    pub fn mixed(&self) -> DirectionResult {
        let mut mixed = self.directions.read.clone();
        mixed.merge(&self.directions.write);
        mixed.merge(&self.directions.trim);
        // Of the directions; those of the workers are not known for their sum.
        mixed.worker_rates = None;
        mixed
    }

    /// The errno that reports show: of what ended the job, or of the first error that was forgiven; 0 for neither.
    pub fn errno(&self) -> i32 {
        self.error.as_ref().map_or(self.first_forgiven_errno, |error| error.errno)
    }

    /// I/Os issued in all directions.
    pub fn ios(&self) -> u64 {
        self.directions.iter().map(|(_, direction)| direction.ios).fold(0, u64::saturating_add)
    }
}

impl crate::RunResult {
    /// The rows of a report: workers of a group with group_reporting merged into its first, the rest as they are.
    pub fn reported_jobs(&self) -> Vec<JobResult> {
        let mut rows: Vec<JobResult> = Vec::new();
        for job in self.jobs.iter().filter(|job| !job.style.hidden) {
            let merged = rows
                .iter_mut()
                .find(|row| job.style.group_reporting && row.style.group_reporting && row.echo.group == job.echo.group);
            match merged {
                Some(row) => row.merge(job),
                None => rows.push(job.clone()),
            }
        }
        rows
    }
}
