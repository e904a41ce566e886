//! What was found in other people's output, as plain data: every number in base units, and absent where the text
//! does not state it.
//!
//! Owns the shapes. A [`crate::RunResult`] holds what was counted; a [`Reading`] holds what was printed, which is
//! rounded, and often less. Times are nanoseconds, sizes bytes, rates per second; shares are percent.

use serde::Serialize;

/// One thing found, and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The format it was in, as the table of formats names it.
    pub format: &'static str,
    /// Its first line, from 1.
    pub line: u64,
    /// What it is.
    #[serde(flatten)]
    pub found: Found,
}

/// The kinds of things.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A report of fio.
    Run(Box<ReadRun>),
    /// A row of a table of measurements: fioparse.sh's, an R matrix, a CSV file.
    Row(Box<Measurement>),
    /// A row of iozone's table.
    Iozone(Box<IozoneRow>),
    /// A block of iozone's throughput mode.
    Throughput(Box<IozoneThroughput>),
    /// A device line of iostat.
    Device(Box<IostatRow>),
    /// A processor line of iostat.
    Processors(Box<IostatRow>),
    /// All of one log file.
    Log(Box<LogSummary>),
}

/// Something that looked like a result and could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Its line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

/// A direction of a report; `Mixed` where reads, writes and trims were reported as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// All of them together.
    Mixed,
}

impl ReadKind {
    /// As fio spells it.
    pub const fn word(self) -> &'static str {
        match self {
            ReadKind::Read => "read",
            ReadKind::Write => "write",
            ReadKind::Trim => "trim",
            ReadKind::Mixed => "mixed",
        }
    }
}

/// A report of fio.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadRun {
    /// The program's name and version as printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Workers that were started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_workers: Option<f64>,
    /// Bytes of the files that were laid out before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub laid_out_bytes: Option<f64>,
    /// The last line of progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ReadProgress>,
    /// When it ended, seconds since 1970, where a number says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_unix_s: Option<f64>,
    /// A block per job or per group of jobs.
    pub jobs: Vec<ReadJob>,
    /// The lines per group and direction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ReadGroup>,
    /// What the disks did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<ReadDisk>,
}

/// A line of progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadProgress {
    /// Running jobs.
    pub jobs: Option<f64>,
    /// Open files.
    pub files: Option<f64>,
    /// How much is done.
    pub percent: Option<f64>,
    /// Bytes per second of reads, writes and trims.
    pub bytes_per_second: Vec<f64>,
    /// I/Os per second of reads, writes and trims.
    pub iops: Vec<f64>,
    /// Seconds left.
    pub eta_s: Option<f64>,
}

/// One block.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadJob {
    /// Its line.
    pub line: u64,
    /// Name of the job; absent for numbers that stand without their head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of the reporting group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<f64>,
    /// Workers in this block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<f64>,
    /// errno of what went wrong, 0 for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<f64>,
    /// Process id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<f64>,
    /// When it ended, as printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Free text of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The pattern, `randread`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Queue depth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<f64>,
    /// Smallest and largest block in bytes of reads, writes and trims, as far as stated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_sizes: Vec<(f64, f64)>,
    /// What each direction did.
    pub directions: Vec<ReadDirection>,
    /// Times of fsync and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<ReadLatency>,
    /// The coarse latency bins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latency_shares: Vec<LatencyShare>,
    /// Share of time in user mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_percent: Option<f64>,
    /// Share of time in the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_percent: Option<f64>,
    /// Context switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<f64>,
    /// Page faults that needed I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<f64>,
    /// Page faults that did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<f64>,
    /// Shares of I/Os issued at depth 1, 2, 4, .. 64 and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depth_percent: Vec<f64>,
    /// Shares of submit calls by size: 0, 4, 8, .. 64 and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submit_percent: Vec<f64>,
    /// Shares of reap calls by size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub complete_percent: Vec<f64>,
    /// I/Os issued: reads, writes, trims, and syncs where stated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issued: Vec<f64>,
    /// Of these, cut short.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<f64>,
    /// Of these, dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<f64>,
    /// Errors that were forgiven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgiven_errors: Option<f64>,
}

/// One direction of a block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadDirection {
    /// Which.
    pub kind: ReadKind,
    /// Bytes moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    /// I/Os per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// Time measured, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_ms: Option<f64>,
    /// I/Os, where the direction itself states them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ios: Option<f64>,
    /// Zones reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_resets: Option<f64>,
    /// Issue to accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<ReadLatency>,
    /// Accepted to reaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<ReadLatency>,
    /// Issue to reaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<ReadLatency>,
    /// The latencies of each priority, where there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<ReadPriority>,
    /// Samples of bandwidth, bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<ReadSamples>,
    /// Samples of I/Os per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops_samples: Option<ReadSamples>,
}

impl ReadDirection {
    /// A direction of which nothing is known yet.
    pub const fn new(kind: ReadKind) -> Self {
        ReadDirection {
            kind,
            bytes: None,
            bytes_per_second: None,
            iops: None,
            runtime_ms: None,
            ios: None,
            zone_resets: None,
            submission: None,
            completion: None,
            total: None,
            priorities: Vec::new(),
            bandwidth: None,
            iops_samples: None,
        }
    }
}

/// Which time of an I/O the latencies of a priority are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorityTime {
    /// Accepted to reaped.
    #[default]
    Completion,
    /// Issue to reaped.
    Total,
}

/// The I/Os of one priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadPriority {
    /// Class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: f64,
    /// Level within the class, 0 the highest.
    pub level: f64,
    /// Hint to the device, where it is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<f64>,
    /// Their share of the direction's I/Os in percent, where it is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// What was timed.
    pub time: PriorityTime,
    /// How long they took.
    pub latency: ReadLatency,
}

/// One kind of latency in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadLatency {
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<f64>,
    /// Smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<f64>,
    /// Largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<f64>,
    /// Mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// Standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation_ns: Option<f64>,
    /// (percent, ns), ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<(f64, f64)>,
    /// (ns, count) of every filled bin, where the report has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<(f64, f64)>,
}

/// Statistics of samples over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadSamples {
    /// Smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Mean in percent of the group's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent_of_group: Option<f64>,
    /// Mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<f64>,
}

/// A coarse latency bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyShare {
    /// Latencies below this many nanoseconds, and not below the bin before; absent for the last, which is open.
    pub below_ns: Option<f64>,
    /// Share of all I/Os.
    pub percent: f64,
}

/// One direction of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadGroup {
    /// Number of the group.
    pub group: Option<f64>,
    /// Which direction.
    pub kind: ReadKind,
    /// Bytes moved.
    pub bytes: Option<f64>,
    /// Bytes per second of all.
    pub bytes_per_second: Option<f64>,
    /// Bytes per second of the slowest and the fastest.
    pub range_bytes_per_second: Option<(f64, f64)>,
    /// Milliseconds of the shortest and the longest.
    pub runtime_ms: Option<(f64, f64)>,
}

/// What one disk did; pairs are reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadDisk {
    /// Kernel name.
    pub name: String,
    /// Finished requests.
    pub ios: Option<(f64, f64)>,
    /// Sectors of 512 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sectors: Option<(f64, f64)>,
    /// Merged requests.
    pub merges: Option<(f64, f64)>,
    /// Milliseconds spent.
    pub ticks_ms: Option<(f64, f64)>,
    /// Weighted milliseconds.
    pub in_queue_ms: Option<f64>,
    /// Share of time with a request in flight.
    pub utilisation_percent: Option<f64>,
}

/// Number of buckets of a [`Measurement`].
pub const BUCKETS: usize = 16;
/// Number of percentiles of a [`Measurement`].
pub const PERCENTILES: usize = 6;

/// One line of a sweep: what a number of users got. Latencies are milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measurement {
    /// Which machine, where a file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The test, `randread`; a job's name where the pattern is not stated.
    pub name: String,
    /// Processes or threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<f64>,
    /// Block size as written, `8K`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_size: Option<String>,
    /// Direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ReadKind>,
    /// MiB per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mib_per_second: Option<f64>,
    /// Mean latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<f64>,
    /// Smallest latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ms: Option<f64>,
    /// Largest latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ms: Option<f64>,
    /// Standard deviation of the latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation_ms: Option<f64>,
    /// I/Os per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// Shares in percent of latencies up to 50, 100, 250, 500 µs, 1, 2, 4, 10, 20, 50, 100, 250, 500 ms, 1, 2 s, and above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<[f64; BUCKETS]>,
    /// Shares that a table prints without saying which buckets they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unplaced_buckets: Vec<f64>,
    /// The 95, 99, 99.5, 99.9, 99.95 and 99.99 % points of the completion latency.
    pub percentiles_ms: [Option<f64>; PERCENTILES],
    /// Engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Queue depth of each user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<f64>,
    /// errno of what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<f64>,
}

/// What iozone's heading says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IozoneHead {
    /// Version, `3.489`.
    pub version: Option<String>,
    /// When it began, as printed.
    pub began: Option<String>,
    /// Its command line.
    pub command: Option<String>,
    /// Record size in bytes.
    pub record_bytes: Option<f64>,
    /// File size in bytes.
    pub file_bytes: Option<f64>,
    /// Time resolution in seconds.
    pub resolution_s: Option<f64>,
    /// Processor cache in bytes.
    pub cache_bytes: Option<f64>,
    /// Cache line in bytes.
    pub cache_line_bytes: Option<f64>,
    /// Stride in records.
    pub stride_records: Option<f64>,
    /// Processes or threads.
    pub workers: Option<f64>,
    /// What the numbers are.
    pub unit: IozoneUnit,
}

/// What iozone's numbers are.
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
    /// What stands above.
    pub head: IozoneHead,
    /// File size in bytes.
    pub file_bytes: f64,
    /// Record size in bytes.
    pub record_bytes: f64,
    /// (test, value) of every filled column.
    pub values: Vec<(&'static str, f64)>,
    /// (test, processor time in percent of the elapsed), where a report has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processor_percent: Vec<(&'static str, f64)>,
}

/// A block of iozone's throughput mode; rates in the head's unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IozoneThroughput {
    /// What stands above.
    pub head: IozoneHead,
    /// The test, `initial writers`.
    pub test: String,
    /// Processes or threads; a report for spreadsheets does not say.
    pub workers: Option<f64>,
    /// Sum of the children's rates.
    pub children: Option<f64>,
    /// Rate of the whole.
    pub parent: Option<f64>,
    /// Slowest child.
    pub min: Option<f64>,
    /// Fastest child.
    pub max: Option<f64>,
    /// Mean child.
    pub mean: Option<f64>,
    /// Least moved by a child, in KiB (operations with -O).
    pub min_transfer: Option<f64>,
    /// (moved, rate) per child, where printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_child: Vec<(f64, f64)>,
    /// Seconds that passed, where printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// Seconds of processor time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_s: Option<f64>,
    /// The one in percent of the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_percent: Option<f64>,
}

/// A line of iostat: names of columns as printed, and their values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IostatRow {
    /// Device; empty for processors.
    pub device: String,
    /// When, as printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Names of the columns.
    #[serde(serialize_with = "as_list")]
    pub columns: std::sync::Arc<[String]>,
    /// Values under them.
    pub values: Vec<f64>,
}

fn as_list<S: serde::Serializer>(columns: &std::sync::Arc<[String]>, serializer: S) -> Result<S::Ok, S::Error> {
    columns.as_ref().serialize(serializer)
}

impl IostatRow {
    /// The value under the first of these names that there is.
    pub fn value(&self, names: &[&str]) -> Option<f64> {
        let at = self.columns.iter().position(|column| names.contains(&column.as_str()))?;
        self.values.get(at).copied()
    }
}

/// All of one log of fio.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LogSummary {
    /// Lines.
    pub rows: u64,
    /// First and last moment in milliseconds.
    pub span_ms: (f64, f64),
    /// What each direction's lines say: 0 reads, 1 writes, 2 trims.
    pub directions: Vec<LogDirection>,
    /// Whether these are histograms; then values are nanoseconds.
    pub histograms: bool,
}

/// One direction of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogDirection {
    /// Which.
    pub kind: ReadKind,
    /// Lines, or I/Os of a histogram.
    pub count: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Mean value.
    pub mean: f64,
    /// Sum of the block sizes.
    pub bytes: f64,
    /// (ns, count) of every filled bin of a histogram.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<(f64, f64)>,
}
