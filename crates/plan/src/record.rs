//! Measurements and log files of a job.

use measure::Nanos;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;
use std::path::PathBuf;

/// Measurements and log files of a job.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct RecordPlan {
    /// Merge the results of all workers in the reporting group.
    pub group_reporting: bool,
    /// Measure total latency.
    #[default(true)]
    pub total_latency: bool,
    /// Measure completion latency.
    #[default(true)]
    pub completion_latency: bool,
    /// Measure submission latency.
    #[default(true)]
    pub submission_latency: bool,
    /// Sample bandwidth and IOPS.
    #[default(true)]
    pub samples: bool,
    /// Compute percentiles of completion latency.
    #[default(true)]
    pub completion_percentiles: bool,
    /// Compute percentiles of total latency.
    pub total_percentiles: bool,
    /// Compute percentiles of submission latency.
    pub submission_percentiles: bool,
    /// Percentiles to compute, ascending.
    #[default(PERCENTILES.to_vec())]
    pub percentiles: Vec<f64>,
    /// Decimal places for printing them.
    #[default(2)]
    pub percentile_digits: usize,
    /// Interval of bandwidth samples.
    #[default(Nanos::from_millis(500))]
    pub bandwidth_interval: Nanos,
    /// Interval of IOPS samples.
    #[default(Nanos::from_millis(500))]
    pub iops_interval: Nanos,
    /// Include the job in reports.
    #[default(true)]
    pub shown: bool,
    /// Collect disk statistics.
    #[default(true)]
    pub disk_usage: bool,
    /// 1024 or 1000: the units that text output shows first.
    #[default(1024)]
    pub unit_base: u32,
    /// Print rates in bits instead of bytes.
    pub bits: bool,
    /// Significant figures of numbers in text output.
    #[default(4)]
    pub significant_figures: usize,
    /// Presentation of all directions together in reports.
    #[default(Unified::None)]
    pub unified: Unified,
    /// Logs to write.
    #[default(LogPlan { per_job: true, ..LogPlan::default() })]
    pub logs: LogPlan,
    /// File to which each I/O is logged.
    pub iolog: Option<PathBuf>,
    /// Debug output during the run.
    pub debug: DebugPlan,
    /// Directory of verify state files; `None` for the current directory.
    pub states_in: Option<PathBuf>,
    /// Track the state of each block, for jobs that trim.
    pub block_lives: bool,
}

/// Presentation of reads, writes and trims together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unified {
    /// Each direction separately.
    #[default]
    None,
    /// Only the sum.
    Mixed,
    /// Each direction, and the sum.
    Both,
}

/// Logs per interval or per I/O. The texts are prefixes of file names.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct LogPlan {
    /// Bandwidth.
    pub bandwidth: Option<String>,
    /// Latencies.
    pub latency: Option<String>,
    /// IOPS.
    pub iops: Option<String>,
    /// Histograms of completion latency.
    pub histogram: Option<String>,
    /// Averaging interval; zero logs each I/O.
    pub average: Nanos,
    /// Interval between histograms; zero for one at the end.
    pub histogram_interval: Nanos,
    /// 2 to this power adjacent bins of a histogram are merged.
    pub coarseness: u32,
    /// Value of a window that is logged.
    #[default(WindowValue::Average)]
    pub window_value: WindowValue,
    /// Log offsets.
    pub offset: bool,
    /// Log I/O priorities in full.
    pub priority: bool,
    /// Log issue times.
    pub issue_time: bool,
    /// Add the job number to file names.
    pub per_job: bool,
    /// Rows that are collected before they are passed to the writer.
    #[default(1024)]
    pub entries: u32,
    /// Bytes of rows that are passed on, or compressed, at once; replaces `entries`.
    pub piece: Option<u64>,
    /// CPUs of the writer thread; empty for all.
    pub cpus: Vec<u32>,
    /// Compress the log files.
    pub packed: bool,
    /// Log times of another clock instead of times since the start.
    pub alternate_epoch: bool,
    /// That clock, as an ID of clock_gettime(2).
    pub epoch_clock: u32,
}

/// Value of a window that is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowValue {
    /// The mean.
    #[default]
    Average,
    /// The largest value.
    Largest,
    /// Both, in two columns.
    Both,
}

impl LogPlan {
    /// True if any log is written.
    pub fn wants_any(&self) -> bool {
        [&self.bandwidth, &self.latency, &self.iops, &self.histogram].iter().any(|stem| stem.is_some())
    }
}

/// fio's default for `percentile_list`.
pub const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Subject of debug messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Subject {
    /// Start and end of workers.
    Process,
    /// Opened files.
    File,
    /// Issue and completion of each I/O.
    Io,
    /// Parsed options.
    Parse,
    /// Verified blocks.
    Verify,
    /// Seeds of the random generators.
    Random,
    /// Waits for rate limits.
    Rate,
    /// Clock, and start and end of the measurement.
    Time,
    /// Samples of steady state detection.
    SteadyState,
}

impl Subject {
    /// All subjects, in the order of the help.
    pub const ALL: [Subject; 9] = [
        Subject::Process,
        Subject::File,
        Subject::Io,
        Subject::Parse,
        Subject::Verify,
        Subject::Random,
        Subject::Rate,
        Subject::Time,
        Subject::SteadyState,
    ];

    /// Name in options, and at the start of each line.
    pub const fn word(self) -> &'static str {
        match self {
            Subject::Process => "process",
            Subject::File => "file",
            Subject::Io => "io",
            Subject::Parse => "parse",
            Subject::Verify => "verify",
            Subject::Random => "random",
            Subject::Rate => "rate",
            Subject::Time => "time",
            Subject::SteadyState => "steadystate",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// Subjects and workers of the debug output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DebugPlan {
    subjects: u16,
    /// Number of the only worker to report on, from 1 over the whole run; `None` for all.
    pub worker: Option<u32>,
}

impl DebugPlan {
    /// Adds a subject.
    pub const fn add(&mut self, subject: Subject) {
        self.subjects |= subject.bit();
    }

    /// True if messages on this subject are printed.
    pub const fn has(self, subject: Subject) -> bool {
        self.subjects & subject.bit() != 0
    }

    /// True if any messages on this worker are printed.
    pub fn is_of(self, worker: u32) -> bool {
        self.subjects != 0 && self.worker.is_none_or(|only| only == worker)
    }

    /// True if the completion of each I/O is reported.
    pub const fn follows_ios(self) -> bool {
        self.has(Subject::Io)
    }
}
