//! What is measured and written beside the result.

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
    /// Count what the disks did.
    pub disk_usage: bool,
    /// 1024 or 1000: which units come first in text.
    pub unit_base: u32,
    /// Rates in text as bits rather than bytes.
    pub bits: bool,
    /// Digits of numbers in text.
    pub significant_figures: usize,
    /// Logs to write.
    pub logs: LogPlan,
    /// A record of every I/O is appended to this file.
    pub iolog: Option<PathBuf>,
}

/// Which per-interval or per-I/O logs to write; stems of file names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogPlan {
    /// Bandwidth.
    pub bandwidth: Option<String>,
    /// Latencies.
    pub latency: Option<String>,
    /// IOPS.
    pub iops: Option<String>,
    /// Average over so long; zero logs every I/O.
    pub average: Nanos,
    /// Number in the file's name.
    pub per_job: bool,
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
            disk_usage: true,
            unit_base: 1024,
            bits: false,
            significant_figures: 4,
            logs: LogPlan { per_job: true, ..LogPlan::default() },
            iolog: None,
        }
    }
}
