//! What other tools print, as plain data: every number is in base units, and absent if the text does not state it.
//!
//! This module defines the types. A `RunResult` has what was counted; these have what was printed, which is rounded and
//! often less. Times are nanoseconds, sizes bytes, rates per second, and shares percent.

use measure::Direction;
use serde::Serialize;
use serde_with::skip_serializing_none;

/// A direction of a report; `Mixed` if reads, writes and trims were reported together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadKind {
    /// Reads.
    #[default]
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// All directions together.
    Mixed,
}

impl ReadKind {
    /// The direction, if it is one.
    pub const fn direction(self) -> Option<Direction> {
        match self {
            ReadKind::Read => Some(Direction::Read),
            ReadKind::Write => Some(Direction::Write),
            ReadKind::Trim => Some(Direction::Trim),
            ReadKind::Mixed => None,
        }
    }

    /// Name in fio's reports.
    pub const fn word(self) -> &'static str {
        match self {
            ReadKind::Read => "read",
            ReadKind::Write => "write",
            ReadKind::Trim => "trim",
            ReadKind::Mixed => "mixed",
        }
    }
}

impl From<Direction> for ReadKind {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Read => ReadKind::Read,
            Direction::Write => ReadKind::Write,
            Direction::Trim => ReadKind::Trim,
        }
    }
}

/// A report of fio.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadRun {
    /// Program name and version as printed.
    pub version: Option<String>,
    /// Name of the machine, if the report states it.
    pub host: Option<String>,
    /// Round of a survey that measured everything several times, from 1.
    pub round: Option<f64>,
    /// Number of started workers.
    pub started_workers: Option<f64>,
    /// Bytes of the files that were laid out before.
    pub laid_out_bytes: Option<f64>,
    /// The last progress line.
    pub progress: Option<ReadProgress>,
    /// End time in seconds since 1970, if it is printed as a number.
    pub ended_unix_s: Option<f64>,
    /// One block per job or group of jobs.
    pub jobs: Vec<ReadJob>,
    /// The lines per group and direction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ReadGroup>,
    /// Disk statistics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<ReadDisk>,
}

/// A progress line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadProgress {
    /// Number of running jobs.
    pub jobs: Option<f64>,
    /// Number of open files.
    pub files: Option<f64>,
    /// Progress in percent.
    pub percent: Option<f64>,
    /// Bytes per second of reads, writes and trims.
    pub bytes_per_second: Vec<f64>,
    /// I/Os per second of reads, writes and trims.
    pub iops: Vec<f64>,
    /// Remaining seconds.
    pub eta_s: Option<f64>,
}

/// One block of a report.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadJob {
    /// Its line, from 1.
    pub line: u64,
    /// Name of the job; absent if the block has no header.
    pub name: Option<String>,
    /// Number of the reporting group.
    pub group: Option<f64>,
    /// Number of workers in this block.
    pub workers: Option<f64>,
    /// errno of an error; 0 for none.
    pub errno: Option<f64>,
    /// The signal that killed a worker of this block.
    pub signal: Option<f64>,
    /// Process ID.
    pub pid: Option<f64>,
    /// End time, as printed.
    pub date: Option<String>,
    /// Description of the job, free text.
    pub description: Option<String>,
    /// Access pattern, such as `randread`.
    pub pattern: Option<String>,
    /// Name of the engine.
    pub engine: Option<String>,
    /// Queue depth.
    pub depth: Option<f64>,
    /// Smallest and largest block size in bytes, for reads, writes and trims as far as stated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_sizes: Vec<(f64, f64)>,
    /// Results of each direction.
    pub directions: Vec<ReadDirection>,
    /// Latency of fsync and similar calls.
    pub sync: Option<ReadLatency>,
    /// The coarse latency bins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latency_shares: Vec<LatencyShare>,
    /// CPU time in user mode, in percent of the runtime.
    pub user_percent: Option<f64>,
    /// CPU time in the kernel, in percent of the runtime.
    pub system_percent: Option<f64>,
    /// Context switches.
    pub switches: Option<f64>,
    /// Page faults that required I/O.
    pub major_faults: Option<f64>,
    /// Page faults that required no I/O.
    pub minor_faults: Option<f64>,
    /// Percentages of I/Os issued at depth 1, 2, 4, .. 64 and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depth_percent: Vec<f64>,
    /// Percentages of submit calls by size: 0, 4, 8, .. 64 and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submit_percent: Vec<f64>,
    /// Percentages of reap calls by size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub complete_percent: Vec<f64>,
    /// I/Os issued: reads, writes, trims, and syncs if stated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issued: Vec<f64>,
    /// Short ones among these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<f64>,
    /// Dropped ones among these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<f64>,
    /// Number of ignored errors.
    pub forgiven_errors: Option<f64>,
}

/// One direction of a block.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadDirection {
    /// The direction.
    pub kind: ReadKind,
    /// Bytes moved.
    pub bytes: Option<f64>,
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Measured time in milliseconds.
    pub runtime_ms: Option<f64>,
    /// Number of I/Os, if stated for the direction.
    pub ios: Option<f64>,
    /// Zone resets.
    pub zone_resets: Option<f64>,
    /// Submission latency: from issue until the kernel accepted the I/O.
    pub submission: Option<ReadLatency>,
    /// Completion latency: from acceptance until the I/O was reaped.
    pub completion: Option<ReadLatency>,
    /// Total latency: from issue until the I/O was reaped.
    pub total: Option<ReadLatency>,
    /// Latencies by I/O priority, if there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<ReadPriority>,
    /// Bandwidth samples in bytes per second.
    pub bandwidth: Option<ReadSamples>,
    /// IOPS samples.
    pub iops_samples: Option<ReadSamples>,
}

impl ReadDirection {
    /// An empty direction.
    pub fn new(kind: ReadKind) -> Self {
        ReadDirection { kind, ..ReadDirection::default() }
    }
}

/// The kind of latency that is reported by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorityTime {
    /// From acceptance by the kernel until the I/O was reaped.
    #[default]
    Completion,
    /// From issue until the I/O was reaped.
    Total,
}

/// The I/Os of one priority.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadPriority {
    /// Class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: f64,
    /// Level within the class, 0 the highest.
    pub level: f64,
    /// Hint for the device, if stated.
    pub hint: Option<f64>,
    /// Percentage of the direction's I/Os, if stated.
    pub percent: Option<f64>,
    /// Kind of latency.
    pub time: PriorityTime,
    /// Their latency.
    pub latency: ReadLatency,
}

/// One kind of latency in nanoseconds.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadLatency {
    /// Number of I/Os.
    pub count: Option<f64>,
    /// Smallest.
    pub min_ns: Option<f64>,
    /// Largest.
    pub max_ns: Option<f64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation.
    pub deviation_ns: Option<f64>,
    /// (percent, ns), ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<(f64, f64)>,
    /// (ns, count) of each non-empty bin, if the report has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<(f64, f64)>,
}

/// Statistics of samples over time.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadSamples {
    /// Smallest.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Mean in percent of the group's mean.
    pub percent_of_group: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub deviation: Option<f64>,
    /// Number of samples.
    pub count: Option<f64>,
}

/// A coarse latency bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyShare {
    /// Upper bound in nanoseconds; the previous bin has the lower bound. Absent for the last bin, which has no bound.
    pub below_ns: Option<f64>,
    /// Percentage of all I/Os.
    pub percent: f64,
}

/// One direction of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadGroup {
    /// Number of the group.
    pub group: Option<f64>,
    /// The direction.
    pub kind: ReadKind,
    /// Bytes moved.
    pub bytes: Option<f64>,
    /// Bytes per second of the whole group.
    pub bytes_per_second: Option<f64>,
    /// Bytes per second of the slowest and the fastest job.
    pub range_bytes_per_second: Option<(f64, f64)>,
    /// Runtime in milliseconds of the shortest and the longest job.
    pub runtime_ms: Option<(f64, f64)>,
}

/// Statistics of one disk; pairs are reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadDisk {
    /// Kernel name.
    pub name: String,
    /// Completed requests.
    pub ios: Option<(f64, f64)>,
    /// Sectors of 512 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sectors: Option<(f64, f64)>,
    /// Merged requests.
    pub merges: Option<(f64, f64)>,
    /// Milliseconds that requests took in total.
    pub ticks_ms: Option<(f64, f64)>,
    /// Milliseconds weighted by the number of requests in flight.
    pub in_queue_ms: Option<f64>,
    /// Percentage of time with a request in flight.
    pub utilisation_percent: Option<f64>,
}

/// Header of iozone's output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IozoneHead {
    /// Version, such as `3.489`.
    pub version: Option<String>,
    /// Start time, as printed.
    pub began: Option<String>,
    /// Command line.
    pub command: Option<String>,
    /// Record size in bytes.
    pub record_bytes: Option<f64>,
    /// File size in bytes.
    pub file_bytes: Option<f64>,
    /// Time resolution in seconds.
    pub resolution_s: Option<f64>,
    /// CPU cache size in bytes.
    pub cache_bytes: Option<f64>,
    /// CPU cache line size in bytes.
    pub cache_line_bytes: Option<f64>,
    /// Stride in records.
    pub stride_records: Option<f64>,
    /// Number of processes or threads.
    pub workers: Option<f64>,
    /// Unit of the numbers.
    pub unit: IozoneUnit,
}

/// Unit of iozone's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IozoneUnit {
    /// KiB per second.
    #[default]
    KibPerSecond,
    /// Operations per second.
    OperationsPerSecond,
    /// Microseconds per operation.
    MicrosecondsPerOperation,
}

/// A row of iozone's table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IozoneRow {
    /// Header above the table.
    pub head: IozoneHead,
    /// File size in bytes.
    pub file_bytes: f64,
    /// Record size in bytes.
    pub record_bytes: f64,
    /// (test, value) of each non-empty column.
    pub values: Vec<(&'static str, f64)>,
    /// (test, CPU time in percent of the elapsed time), if the report has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processor_percent: Vec<(&'static str, f64)>,
}

/// A block of iozone's throughput mode; rates are in the unit of the header.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IozoneThroughput {
    /// Header above the block.
    pub head: IozoneHead,
    /// Name of the test, such as `initial writers`.
    pub test: String,
    /// Number of processes or threads; a report for spreadsheets does not state it.
    pub workers: Option<f64>,
    /// Sum of the children's rates.
    pub children: Option<f64>,
    /// Rate of all children together, as seen by the parent.
    pub parent: Option<f64>,
    /// Rate of the slowest child.
    pub min: Option<f64>,
    /// Rate of the fastest child.
    pub max: Option<f64>,
    /// Mean rate of the children.
    pub mean: Option<f64>,
    /// Smallest amount moved by a child, in KiB (operations with -O).
    pub min_transfer: Option<f64>,
    /// (amount, rate) per child, if printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_child: Vec<(f64, f64)>,
    /// Wall-clock time in seconds, if printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// CPU time in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_s: Option<f64>,
    /// CPU time in percent of the wall-clock time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_percent: Option<f64>,
}

/// A line of iostat: names of columns as printed, and their values.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IostatRow {
    /// Device; empty for CPUs.
    pub device: String,
    /// Time, as printed.
    pub date: Option<String>,
    /// Names of the columns.
    #[serde(serialize_with = "as_list")]
    pub columns: std::sync::Arc<[String]>,
    /// Values of the columns.
    pub values: Vec<f64>,
}

fn as_list<S: serde::Serializer>(columns: &std::sync::Arc<[String]>, serializer: S) -> Result<S::Ok, S::Error> {
    columns.as_ref().serialize(serializer)
}

impl IostatRow {
    /// Returns the value of the first column that has one of these names.
    pub fn value(&self, names: &[&str]) -> Option<f64> {
        let at = self.columns.iter().position(|column| names.contains(&column.as_str()))?;
        self.values.get(at).copied()
    }
}

/// Summary of one fio log file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LogSummary {
    /// Number of lines.
    pub rows: u64,
    /// First and last time in milliseconds.
    pub span_ms: (f64, f64),
    /// Summary of each direction: 0 reads, 1 writes, 2 trims.
    pub directions: Vec<LogDirection>,
    /// True for histogram logs, whose values are nanoseconds.
    pub histograms: bool,
}

/// One direction of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogDirection {
    /// The direction.
    pub kind: ReadKind,
    /// Number of lines, or of I/Os in a histogram log.
    pub count: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Mean value.
    pub mean: f64,
    /// Sum of the block sizes.
    pub bytes: f64,
    /// (ns, count) of each non-empty bin of a histogram log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<(f64, f64)>,
}
