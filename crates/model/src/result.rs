//! Result of a whole run.

use crate::reading::ReadRun;
use crate::{DeviceUsage, Interval, JobResult, Lasting, Layers, Monitored, Phase, Surroundings, UntilRegime};
use measure::Nanos;
use serde::{Deserialize, Serialize};

/// All results of one invocation.
///
/// ```
/// use model::{JobResult, RunResult};
///
/// let mut worker = JobResult { workers: 1, ..JobResult::default() };
/// worker.style.group_reporting = true;
/// worker.directions.read.ios = 1000;
/// let run = RunResult { jobs: vec![worker.clone(), worker], ..RunResult::default() };
/// let rows = run.reported_jobs();
/// assert_eq!((rows.len(), rows[0].workers, rows[0].ios()), (1, 2, 2000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// End time of the run, in milliseconds since 1970 UTC.
    pub ended_unix_ms: u64,
    /// Options of global sections, as written.
    pub global_options: Vec<(String, String)>,
    /// One entry per worker, in the order of their numbers. Reports merge the groups.
    pub jobs: Vec<JobResult>,
    /// Activity of the disks that contain the files, during the run.
    pub devices: Vec<DeviceUsage>,
    /// Traffic of the disks at the bottom of all stacks; `None` if it was not monitored or there is no such disk.
    pub lowest_traffic: Option<LowestTraffic>,
    /// Monitoring data; `None` in results of other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitored: Option<Monitored>,
    /// Intervals of the measured part of a run in virtual time, of all workers together; empty unless they were asked
    /// for. They are not stored.
    #[serde(skip)]
    pub virtual_intervals: Vec<Interval>,
    /// Its origin.
    #[serde(default, rename = "judged_by_members", skip_serializing_if = "Origin::is_not_stored")]
    pub origin: Origin,
    /// Bottleneck of the run, if one was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<LimitedBy>,
    /// Phases of the run in order; empty without samples, and for runs of less than 15 intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// The rate that describes the run better than its average; `None` if its phases have one rate within 10 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<Lasting>,
    /// How it ended, if it waited for a change of its rate, or for a settled one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_regime: Option<UntilRegime>,
    /// Where the time of its I/Os went, if that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<Box<Layers>>,
    /// Machine and software that it ran on.
    pub environment: Environment,
    /// Which machine and devices it was, and their settings; `None` within a survey, which states them once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Box<Surroundings>>,
    /// Findings of the checks.
    pub notes: Vec<Note>,
    /// Doubts about the options of the run, from before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Signal that ended the run early.
    pub ended_by_signal: Option<i32>,
    /// Idle time of the CPUs; `None` if it was not asked for.
    pub cpu_idleness: Option<CpuIdleness>,
}

impl RunResult {
    /// The intervals, with their lengths, in which all workers were in their measured part: in virtual time if the run
    /// has some of it, else those of the monitor.
    pub fn steady(&self) -> Vec<(Nanos, &Interval)> {
        if self.virtual_intervals.is_empty() {
            return self.monitored.as_ref().map(Monitored::steady).unwrap_or_default();
        }
        let ends = self.virtual_intervals.iter().map(|interval| interval.until);
        let starts = std::iter::once(Nanos::ZERO).chain(ends.clone());
        let lengths = starts.zip(ends).map(|(start, end)| end.saturating_sub(start));
        lengths.zip(&self.virtual_intervals).collect()
    }

    /// True if samples of the devices were taken during the run, whether or not they are in this document.
    pub fn was_monitored(&self) -> bool {
        self.monitored.is_some() || self.is_judged()
    }

    /// True if the run was judged by samples that are not in this document, so that its remarks cannot be found again.
    pub fn is_judged(&self) -> bool {
        matches!(self.origin, Origin::Members(_) | Origin::JudgedReport(_) | Origin::Side)
    }

    /// The report that this result was read from, as printed; `None` for a result that plumb measured.
    pub fn printed(&self) -> Option<&ReadRun> {
        match &self.origin {
            Origin::Report(printed) | Origin::JudgedReport(printed) => Some(printed),
            Origin::Measured | Origin::Members(_) | Origin::Side => None,
        }
    }

    /// True if any job did an I/O.
    pub fn has_ios(&self) -> bool {
        self.jobs.iter().any(|job| job.ios() > 0)
    }
}

/// Origin of a result: it says whether the checks that need samples can be made again.
///
/// Only [`Origin::Members`] is stored, as `judged_by_members`; all else that is read is [`Origin::Measured`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Option<JudgedByMembers>", into = "Option<JudgedByMembers>")]
pub enum Origin {
    /// A run of plumb. Its samples are in the result, if any were taken.
    #[default]
    Measured,
    /// Runs of several members, each judged by its own samples, which are not here; the notes have the findings.
    Members(JudgedByMembers),
    /// A report, as printed. Fields of the result have a default for what it does not state, and are within bounds
    /// where it is not. If plumb wrote it, it may have the samples.
    Report(Box<ReadRun>),
    /// A report of plumb without the samples by which the run was judged (fio's JSON).
    JudgedReport(Box<ReadRun>),
    /// One of two sides that ran at the same time. What was sampled is of both, and in neither.
    Side,
}

impl Origin {
    fn is_not_stored(&self) -> bool {
        !matches!(self, Origin::Members(_))
    }
}

impl From<Option<JudgedByMembers>> for Origin {
    fn from(members: Option<JudgedByMembers>) -> Self {
        members.map_or(Origin::Measured, Origin::Members)
    }
}

impl From<Origin> for Option<JudgedByMembers> {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Members(members) => Some(members),
            Origin::Measured | Origin::Report(_) | Origin::JudgedReport(_) | Origin::Side => None,
        }
    }
}

/// The checks of several members on their own results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedByMembers {
    /// Checks for which some member lacked what they need.
    pub not_checked: Vec<String>,
}

/// Idle time of the CPUs during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuIdleness {
    /// Percentage of the time of all CPUs.
    pub system: f64,
    /// Percentage of the time of each CPU; empty unless asked for.
    pub cpus: Vec<f64>,
    /// Mean time of the calibration loop in microseconds, which makes figures of different machines comparable.
    pub unit_mean_us: f64,
    /// Standard deviation of that time.
    pub unit_deviation_us: f64,
}

/// Traffic during a run of the disks below partitions, dm, md and loop devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowestTraffic {
    /// Kernel names of the disks.
    pub disks: Vec<String>,
    /// Bytes read from them, by any process.
    pub read_bytes: u64,
    /// Bytes written to them, by any process.
    pub written_bytes: u64,
}

/// Machine and software of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// `plumb` and its version.
    pub program: String,
    /// Command that repeats the run.
    pub command: Vec<String>,
    /// Name of the machine; `None` if it is not known, or if the user does not want it in the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub processor: String,
    /// Number of online CPUs.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Clock of the run.
    pub clock: Option<ClockNote>,
    /// Notes of the engines about the kernel: ring flags, fallbacks.
    pub engine_notes: Vec<String>,
    /// File systems that contain files of the run; devices that are used directly have no entry.
    #[serde(default)]
    pub file_systems: Vec<FileSystem>,
    /// Number of other members of the same run on this machine; `None` for a run that is not one of a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_members: Option<u32>,
}

/// A file system that contains files of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// A file or directory on it.
    pub path: String,
    /// Type, such as `ext4` or `tmpfs`.
    pub kind: String,
}

/// Clock of a run, and its accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockNote {
    /// `tsc` or `monotonic`.
    pub source: String,
    /// Drift relative to CLOCK_MONOTONIC over the run, in parts per million.
    pub drift_ppm: Option<f64>,
    /// Reason why the TSC was not used.
    pub why_not_tsc: Option<String>,
}

/// Grade of a result: how far it can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The check could not be made, for lack of a signal. Not the same as passed.
    NotChecked,
    /// The check found nothing.
    Trusted,
    /// Valid within the limits that the sentence states.
    ValidWithLimits,
    /// The numbers do not describe the storage.
    NotAStorageResult,
}

/// Finding of one check, with evidence.
///
/// ```
/// use model::{Grade, Note};
///
/// let evidence = vec![("ios".to_owned(), 12.0)];
/// let sentence = "12 I/Os are too few for a p99".to_owned();
/// let note = Note { check: "too short".to_owned(), grade: Grade::ValidWithLimits, sentence, evidence };
/// assert!(note.grade > Grade::Trusted && note.grade < Grade::NotAStorageResult);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// ID of the check.
    pub check: String,
    /// Its grade.
    pub grade: Grade,
    /// Explanation in one sentence.
    pub sentence: String,
    /// Supporting numbers, with units in their names.
    pub evidence: Vec<(String, f64)>,
}

// Bottleneck of a run.

/// Kinds of bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// The CPUs of the machine that runs the benchmark.
    ClientCpu,
    /// The queue depth: more I/Os in flight would be faster.
    Depth,
    /// The link to the device.
    Link,
    /// A configured limit: of a control group, of the plan, or of the device's service level.
    Cap,
    /// The device, which is busy all the time.
    Device,
    /// Flushes that the workers wait for.
    Flush,
    /// The process or machine that serves the file system (FUSE, network).
    Server,
    /// Locks of the file system that workers wait for.
    FileSystemLock,
    /// I/O of other processes on the same device.
    Neighbour,
}

impl Limiter {
    /// Name for use in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Limiter::ClientCpu => "client CPU",
            Limiter::Depth => "depth",
            Limiter::Link => "link",
            Limiter::Cap => "cap",
            Limiter::Device => "device",
            Limiter::Flush => "flush",
            Limiter::Server => "file-system server",
            Limiter::FileSystemLock => "file-system lock",
            Limiter::Neighbour => "neighbour",
        }
    }
}

/// The bottleneck that was found in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitedBy {
    /// Kind of bottleneck.
    pub limiter: Limiter,
    /// Percentage; the sentence says of what.
    pub share_percent: f64,
    /// Explanation in one sentence.
    pub sentence: String,
    /// Supporting numbers, with units in their names.
    pub evidence: Vec<(String, f64)>,
}
