//! The whole of a run.

use crate::{DeviceUsage, JobResult, LimitedBy, Monitored};
use serde::{Deserialize, Serialize};

/// Everything one invocation found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// When the run ended, milliseconds since 1970 UTC.
    pub ended_unix_ms: u64,
    /// Options that held for all jobs, as written.
    pub global_options: Vec<(String, String)>,
    /// One entry per worker, in the order of their numbers. Groups are merged by whoever shows them.
    pub jobs: Vec<JobResult>,
    /// What the disks under the files did while the run lasted.
    pub devices: Vec<DeviceUsage>,
    /// What the disks at the bottom of all stacks moved; `None` when nobody looked or there is no such disk.
    #[serde(default)]
    pub lowest_traffic: Option<LowestTraffic>,
    /// What was seen beside the jobs while they ran; `None` in foreign results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitored: Option<Monitored>,
    /// What held the run back, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<LimitedBy>,
    /// Where it ran.
    pub environment: Environment,
    /// What there is to say about it.
    pub notes: Vec<Note>,
    /// The signal that cut the run short.
    pub ended_by_signal: Option<i32>,
    /// How idle the CPUs were; `None` when nobody asked.
    #[serde(default)]
    pub cpu_idleness: Option<CpuIdleness>,
}

impl RunResult {
    /// Whether any job did an I/O.
    pub fn has_ios(&self) -> bool {
        self.jobs.iter().any(|job| job.ios() > 0)
    }
}

/// How idle the CPUs were while a run lasted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuIdleness {
    /// Percent of the time of all CPUs.
    pub system: f64,
    /// Percent of the time of each; empty unless asked for.
    pub cpus: Vec<f64>,
    /// Microseconds of the unit of work, by which a figure can be told from that of another machine.
    pub unit_mean_us: f64,
    /// Standard deviation of the unit.
    pub unit_deviation_us: f64,
}

/// What the disks at the bottom moved during a run: below partitions, dm, md and loop devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowestTraffic {
    /// Kernel names of the disks.
    pub disks: Vec<String>,
    /// Bytes read from them, by whomever.
    pub read_bytes: u64,
    /// Bytes written to them, by whomever.
    pub written_bytes: u64,
}

/// Where it ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// `plumb` and its version.
    pub program: String,
    /// The command that repeats the run.
    pub command: Vec<String>,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub processor: String,
    /// Online CPUs.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The clock that was used.
    pub clock: Option<ClockNote>,
    /// What the engines found out about the kernel: ring flags, fallbacks.
    pub engine_notes: Vec<String>,
    /// The file systems that hold the files of the run; devices used directly have no entry.
    #[serde(default)]
    pub file_systems: Vec<FileSystem>,
}

/// A file system that holds files of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// A file or directory on it.
    pub path: String,
    /// Its type, `ext4` or `tmpfs`.
    pub kind: String,
}

/// Which clock, and how well it kept time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockNote {
    /// `tsc` or `monotonic`.
    pub source: String,
    /// Drift against CLOCK_MONOTONIC over the run, parts per million.
    pub drift_ppm: Option<f64>,
    /// Why the TSC was not used.
    pub why_not_tsc: Option<String>,
}

/// How far a number can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The check could not be made, for lack of a signal. Never the same as passed.
    NotChecked,
    /// Nothing against it.
    Trusted,
    /// True within the limits that the sentence names.
    ValidWithLimits,
    /// Not a statement about storage.
    NotAStorageResult,
}

/// One judgement, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The check's id.
    pub check: String,
    /// Its verdict.
    pub grade: Grade,
    /// A sentence a person understands.
    pub sentence: String,
    /// The numbers behind it, with units in their names.
    pub evidence: Vec<(String, f64)>,
}
