//! What is measured and written beside the result.

use super::tell::TellPlan;
use measure::Nanos;
use std::path::PathBuf;

/// What is measured and written beside the result.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordPlan {
    /// Merge all workers of the reporting group into one.
    pub group_reporting: bool,
    /// Measure total latency.
    pub total_latency: bool,
    /// Measure completion latency.
    pub completion_latency: bool,
    /// Measure submission latency.
    pub submission_latency: bool,
    /// Take bandwidth and IOPS samples.
    pub samples: bool,
    /// Percentiles of completion latency.
    pub completion_percentiles: bool,
    /// Percentiles of total latency.
    pub total_percentiles: bool,
    /// Percentiles of submission latency.
    pub submission_percentiles: bool,
    /// Which percentiles, ascending.
    pub percentiles: Vec<f64>,
    /// Digits after the point to print them with.
    pub percentile_digits: usize,
    /// Interval of bandwidth samples.
    pub bandwidth_interval: Nanos,
    /// Interval of IOPS samples.
    pub iops_interval: Nanos,
    /// Show the job in reports.
    pub shown: bool,
    /// Count what the disks did.
    pub disk_usage: bool,
    /// 1024 or 1000: which units come first in text.
    pub unit_base: u32,
    /// Rates in text as bits rather than bytes.
    pub bits: bool,
    /// Digits of numbers in text.
    pub significant_figures: usize,
    /// What reports show of all directions together.
    pub unified: Unified,
    /// Logs to write.
    pub logs: LogPlan,
    /// A record of every I/O is appended to this file.
    pub iolog: Option<PathBuf>,
    /// What is told of the run while it lasts.
    pub tells: TellPlan,
    /// Where state files of verify lie; `None` for the current directory.
    pub states_in: Option<PathBuf>,
    /// Watch what becomes of each block, where the job trims.
    pub block_lives: bool,
}

/// What reports show of reads, writes and trims together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Nothing: each direction by itself.
    #[default]
    None,
    /// Only the sum of all.
    Mixed,
    /// Each by itself, and the sum.
    Both,
}

/// Which per-interval or per-I/O logs to write; stems of file names.
#[derive(Clone, Debug, PartialEq)]
pub struct LogPlan {
    /// Bandwidth.
    pub bandwidth: Option<String>,
    /// Latencies.
    pub latency: Option<String>,
    /// IOPS.
    pub iops: Option<String>,
    /// Histograms of completion latency.
    pub histogram: Option<String>,
    /// Average over so long; zero logs every I/O.
    pub average: Nanos,
    /// A histogram every so long; zero only at the end.
    pub histogram_interval: Nanos,
    /// Two to this power bins of a histogram are summed into one.
    pub coarseness: u32,
    /// What a row keeps of a window.
    pub window_value: WindowValue,
    /// Offsets too.
    pub offset: bool,
    /// Priorities in full.
    pub priority: bool,
    /// Moments of issue too.
    pub issue_time: bool,
    /// Number in the file's name.
    pub per_job: bool,
    /// Rows that are collected before they are handed over to be written.
    pub entries: u32,
    /// Bytes of rows that are handed over, or compressed, at once; takes the place of `entries`.
    pub piece: Option<u64>,
    /// CPUs of the thread that writes; empty for all.
    pub cpus: Vec<u32>,
    /// Compressed on disk.
    pub packed: bool,
    /// Times of another clock rather than since the start.
    pub alternate_epoch: bool,
    /// Which clock that is, a number of clock_gettime(2).
    pub epoch_clock: u32,
}

/// What a row keeps of a window.
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
    /// Whether any log is written.
    pub fn wants_any(&self) -> bool {
        [&self.bandwidth, &self.latency, &self.iops, &self.histogram].iter().any(|stem| stem.is_some())
    }
}

impl Default for LogPlan {
    fn default() -> Self {
        LogPlan {
            bandwidth: None,
            latency: None,
            iops: None,
            histogram: None,
            average: Nanos::ZERO,
            histogram_interval: Nanos::ZERO,
            coarseness: 0,
            window_value: WindowValue::Average,
            offset: false,
            priority: false,
            issue_time: false,
            per_job: false,
            entries: 1024,
            piece: None,
            cpus: Vec::new(),
            packed: false,
            alternate_epoch: false,
            epoch_clock: 0,
        }
    }
}

/// fio's percentiles where `percentile_list` says nothing.
pub const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

impl Default for RecordPlan {
    fn default() -> Self {
        RecordPlan {
            group_reporting: false,
            total_latency: true,
            completion_latency: true,
            submission_latency: true,
            samples: true,
            completion_percentiles: true,
            total_percentiles: false,
            submission_percentiles: false,
            percentiles: PERCENTILES.to_vec(),
            percentile_digits: 2,
            bandwidth_interval: Nanos::from_millis(500),
            iops_interval: Nanos::from_millis(500),
            shown: true,
            disk_usage: true,
            unit_base: 1024,
            bits: false,
            significant_figures: 4,
            unified: Unified::None,
            logs: LogPlan { per_job: true, ..LogPlan::default() },
            iolog: None,
            tells: TellPlan::default(),
            states_in: None,
            block_lives: false,
        }
    }
}
