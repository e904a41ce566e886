//! Per-job log files: one row per I/O, or one per window and direction.
//!
//! Owns which rows are logged, and when. Windows end exactly where they are due, between two completions, so that the
//! sum over all rows is the job's total. The columns are owned by `formats`; a thread writes the files (`stream`).

mod stream;

use super::slots::IoTimes;
use crate::error::{file_error, job_refusal};
use crate::shared::usage::clock_ms;
use formats::fio::log::{LogLayout, LogRow, Packer, fold, packed_priority};
use measure::{Direction, Histogram, Nanos};
use model::JobError;
use plan::{JobPlan, LogPlan, WindowValue};
use std::path::PathBuf;
use stream::{HistogramRow, Sink, Stream};

/// All logs of a worker.
#[derive(Debug)]
pub(crate) struct Logs {
    stream: Stream,
    logs: Vec<Log>,
    window: Window,
    histogram: Option<Box<HistogramLog>>,
    started: Nanos,
    /// Time zero of the log, in ms of the clock that `log_alternate_epoch` selects; 0 otherwise.
    epoch_ms: u64,
    epoch_clock: Option<u32>,
    keeps: WindowValue,
    priority: u16,
}

/// A log of rows, and the piece that is being filled.
#[derive(Debug)]
struct Log {
    kind: Kind,
    /// Index of its sink in the stream.
    sink: usize,
    rows: Vec<LogRow>,
    most: usize,
}

/// The window that is being filled.
#[derive(Debug, Default)]
struct Window {
    length: Nanos,
    began: Nanos,
    ends: Nanos,
    totals: [Totals; 3],
}

/// The histograms of the window that is being filled.
#[derive(Debug)]
struct HistogramLog {
    sink: usize,
    length: Nanos,
    ends: Nanos,
    /// Per direction: the latencies, their number, and the block size of the latest I/O.
    seen: [(Histogram, u64, u64); 3],
}

/// The content of a log, and its part of the file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bandwidth,
    Iops,
    Total,
    Submission,
    Completion,
    Histogram,
}

/// Sums over the I/Os of one direction in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    ios: u64,
    bytes: u64,
    total: Latencies,
    submission: Latencies,
    completion: Latencies,
}

/// Sum and maximum of latencies, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Latencies {
    sum: u64,
    largest: u64,
}

impl Latencies {
    fn record(&mut self, latency: u64) {
        self.sum += latency;
        self.largest = self.largest.max(latency);
    }

    /// The mean over `ios` I/Os, and the maximum.
    fn over(self, ios: u64) -> (u64, u64) {
        (self.sum / ios, self.largest)
    }
}

/// A completed I/O as it is passed to the logs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logged {
    pub(super) direction: Direction,
    pub(super) bytes: u64,
    pub(super) offset: u64,
    pub(super) times: IoTimes,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Kind::Bandwidth => "bw",
            Kind::Iops => "iops",
            Kind::Total => "lat",
            Kind::Submission => "slat",
            Kind::Completion => "clat",
            Kind::Histogram => "clat_hist",
        }
    }
}

/// The logs that a job asks for, with their file name stems. fio creates the file of submission latencies also for
/// synchronous engines and leaves it empty; plumb does the same for scripts that expect the file.
fn wanted(job: &JobPlan) -> Vec<(Kind, &String)> {
    let (plan, record) = (&job.record.logs, &job.record);
    let latency = |kind, measured: bool| plan.latency.as_ref().filter(|_| measured).map(|stem| (kind, stem));
    let all = [
        plan.bandwidth.as_ref().map(|stem| (Kind::Bandwidth, stem)),
        plan.iops.as_ref().map(|stem| (Kind::Iops, stem)),
        latency(Kind::Total, record.total_latency),
        latency(Kind::Completion, record.completion_latency),
        latency(Kind::Submission, record.submission_latency),
        plan.histogram.as_ref().map(|stem| (Kind::Histogram, stem)),
    ];
    all.into_iter().flatten().collect()
}

impl HistogramLog {
    /// Not inlined: its histograms need 14 pages of stack, which every worker without such a log would touch too.
    #[inline(never)]
    fn new(sink: usize, length: Nanos) -> Box<Self> {
        let seen = [(); 3].map(|()| (Histogram::new(), 0, 0));
        Box::new(HistogramLog { sink, length, ends: Nanos::MAX, seen })
    }
}

impl Logs {
    /// Creates the job's log files; `None` if it asks for none. `is_queued` is true for engines whose
    /// submission and completion have separate times.
    pub(crate) fn open(job: &JobPlan, number: u32, is_queued: bool) -> Result<Option<Box<Logs>>, JobError> {
        let plan = &job.record.logs;
        let wanted = wanted(job);
        if wanted.is_empty() {
            return Ok(None);
        }
        let sinks = wanted.iter().map(|&(kind, stem)| open_sink(kind, stem, job, number));
        let sinks = sinks.collect::<Result<Vec<_>, _>>()?;
        let most = rows_of_a_piece(plan);
        let stream = Stream::start(sinks, most, plan.cpus.clone()).map_err(|error| {
            job_refusal(job, libc::EAGAIN, "log thread", format_args!("no thread to write its logs: {error}"))
        })?;
        let kinds = wanted.iter().map(|&(kind, _)| kind).enumerate();
        let rows =
            kinds.clone().filter(|&(_, kind)| kind != Kind::Histogram && (is_queued || kind != Kind::Submission));
        let logs = rows.map(|(sink, kind)| Log { kind, sink, rows: stream.empty(), most }).collect();
        let histogram = kinds.clone().find(|&(_, kind)| kind == Kind::Histogram);
        let histogram = histogram.map(|(sink, _)| HistogramLog::new(sink, plan.histogram_interval));
        Ok(Some(Box::new(Logs {
            stream,
            logs,
            window: Window { length: plan.average, ends: Nanos::MAX, ..Window::default() },
            histogram,
            started: Nanos::ZERO,
            epoch_ms: 0,
            epoch_clock: plan.alternate_epoch.then_some(plan.epoch_clock),
            keeps: plan.window_value,
            priority: job.place.io_priority.map_or(0, |(class, level)| packed_priority(class, level)),
        })))
    }

    /// Sets the start of the log's time to `now`.
    pub(super) fn begin(&mut self, now: Nanos) {
        self.started = now;
        self.epoch_ms = self.epoch_clock.and_then(clock_ms).unwrap_or(0);
        let end = |length: Nanos| if length.is_zero() { Nanos::MAX } else { now.saturating_add(length) };
        (self.window.began, self.window.ends) = (now, end(self.window.length));
        if let Some(histogram) = &mut self.histogram {
            histogram.ends = end(histogram.length);
        }
    }

    /// The end of the next window.
    pub(super) fn next_end(&self) -> Nanos {
        self.window.ends.min(self.histogram.as_ref().map_or(Nanos::MAX, |histogram| histogram.ends))
    }

    /// Closes the windows that end at `moment`. Windows after it that end before `until` are skipped: no I/O completes
    /// in them.
    pub(super) fn close_due(&mut self, moment: Nanos, until: Nanos) {
        if moment >= self.window.ends {
            self.close_window(moment);
            if self.window.ends < until {
                self.close_window(last_multiple(self.started, self.window.length, until));
            }
        }
        if self.histogram.as_ref().is_some_and(|histogram| moment >= histogram.ends) {
            self.close_histograms(moment);
            if let Some(histogram) = self.histogram.as_mut().filter(|histogram| histogram.ends < until) {
                histogram.ends =
                    next_multiple(self.started, histogram.length, last_multiple(self.started, histogram.length, until));
            }
        }
    }

    /// Logs a completed I/O.
    pub(super) fn record(&mut self, io: &Logged) {
        let Logged { direction, bytes, offset, times } = *io;
        let total = times.reaped.saturating_sub(times.issued).get();
        let submission = times.accepted.saturating_sub(times.issued).get();
        let completion = times.reaped.saturating_sub(times.accepted).get();
        if let Some(histogram) = &mut self.histogram {
            let (latencies, count, block) = &mut histogram.seen[direction as usize];
            latencies.record(Nanos(completion));
            (*count, *block) = (*count + 1, bytes);
        }
        if !self.window.length.is_zero() {
            let totals = &mut self.window.totals[direction as usize];
            totals.ios += 1;
            totals.bytes += bytes;
            totals.total.record(total);
            totals.submission.record(submission);
            totals.completion.record(completion);
            return;
        }
        let at_ms = self.ms_of(times.reaped);
        let issued_ns = times.issued.saturating_sub(self.started).get();
        for log in &mut self.logs {
            let value = match log.kind {
                // Bytes per ms of the I/O's own latency. fio writes this value here too, but calls it KiB/s.
                Kind::Bandwidth => bytes.saturating_mul(1_000_000) / completion.max(1),
                Kind::Iops => 1,
                Kind::Total => total,
                Kind::Submission => submission,
                Kind::Completion | Kind::Histogram => completion,
            };
            let (block, priority) = (bytes, self.priority);
            // fio fills this column in these two logs only.
            let issued_ns = if matches!(log.kind, Kind::Submission | Kind::Completion) { issued_ns } else { 0 };
            let row = LogRow { at_ms, value, largest: 0, direction, block, offset, priority, issued_ns };
            log.push(row, &self.stream);
        }
    }

    /// Writes the remaining rows and waits until they are in the file. Errors: the first row that could not be written.
    pub(super) fn finish(mut self, now: Nanos) -> Result<(), JobError> {
        if !self.window.length.is_zero() && now > self.window.began {
            self.close_window(now);
        }
        self.close_histograms(now);
        self.stream.finish(self.logs.into_iter().map(|log| (log.sink, log.rows)))
    }

    fn ms_of(&self, moment: Nanos) -> u64 {
        self.epoch_ms + moment.saturating_sub(self.started).get() / 1_000_000
    }

    /// Writes one row per log and direction that had I/O; the next window ends at a multiple of its length.
    fn close_window(&mut self, now: Nanos) {
        let elapsed_ns = u128::from(now.saturating_sub(self.window.began).get().max(1));
        let per_second =
            |amount: u64| u64::try_from(u128::from(amount) * 1_000_000_000 / elapsed_ns).unwrap_or(u64::MAX);
        let at_ms = self.ms_of(now);
        for direction in Direction::ALL {
            let totals = std::mem::take(&mut self.window.totals[direction as usize]);
            if totals.ios == 0 {
                continue;
            }
            for log in &mut self.logs {
                let rate = |value: u64| (value, value);
                let (mean, largest) = match log.kind {
                    Kind::Bandwidth => rate(per_second(totals.bytes) / 1024),
                    Kind::Iops => rate(per_second(totals.ios)),
                    Kind::Total => totals.total.over(totals.ios),
                    Kind::Submission => totals.submission.over(totals.ios),
                    Kind::Completion | Kind::Histogram => totals.completion.over(totals.ios),
                };
                let value = if self.keeps == WindowValue::Largest { largest } else { mean };
                let priority = self.priority;
                let row = LogRow { at_ms, value, largest, direction, block: 0, offset: 0, priority, issued_ns: 0 };
                log.push(row, &self.stream);
            }
        }
        self.window.began = now;
        self.window.ends = next_multiple(self.started, self.window.length, now);
    }

    fn close_histograms(&mut self, now: Nanos) {
        let at_ms = self.ms_of(now);
        let Some(histogram) = &mut self.histogram else { return };
        for direction in Direction::ALL {
            let (latencies, count, block) = &mut histogram.seen[direction as usize];
            if *count == 0 {
                continue;
            }
            let mut bins = self.stream.empty_bins();
            fold(latencies, &mut bins);
            latencies.clear();
            *count = 0;
            self.stream.histogram(histogram.sink, HistogramRow { at_ms, direction, block: *block, bins });
        }
        if !histogram.length.is_zero() {
            histogram.ends = next_multiple(self.started, histogram.length, now);
        }
    }
}

/// The first multiple of `length` after `started` that is later than `now`.
fn next_multiple(started: Nanos, length: Nanos, now: Nanos) -> Nanos {
    let passed = now.saturating_sub(started).get() / length.get().max(1);
    started.saturating_add(Nanos((passed + 1).saturating_mul(length.get())))
}

/// The last multiple of `length` after `started` that is earlier than `until`.
fn last_multiple(started: Nanos, length: Nanos, until: Nanos) -> Nanos {
    let passed = until.saturating_sub(started).get().saturating_sub(1) / length.get().max(1);
    started.saturating_add(Nanos(passed * length.get()))
}

/// Bytes of a row in memory, to convert the size of a piece from bytes to rows.
const ROW_BYTES: u64 = 32;
/// Rows of a piece at most, whatever size is set for compressed pieces.
const MOST_ROWS: u64 = 1 << 16;

fn rows_of_a_piece(plan: &LogPlan) -> usize {
    let rows = plan.piece.map_or(u64::from(plan.entries), |bytes| bytes / ROW_BYTES);
    usize::try_from(rows.clamp(1, MOST_ROWS)).unwrap_or(1024)
}

fn open_sink(kind: Kind, stem: &str, job: &JobPlan, number: u32) -> Result<Sink, JobError> {
    let plan = &job.record.logs;
    let stem = if stem.is_empty() { &job.name } else { stem };
    let number = if plan.per_job { format!(".{number}") } else { String::new() };
    // Histograms are always text: fio does not compress them either.
    let packed = plan.packed && kind != Kind::Histogram;
    let path = PathBuf::from(format!("{stem}_{}{number}.log{}", kind.word(), if packed { ".fz" } else { "" }));
    // With per_job_logs=0 all workers share one file and append to it.
    let file =
        if plan.per_job { sys::files::output_file::create(&path) } else { sys::files::output_file::append(&path) };
    let file = file.map_err(|error| file_error("create log", &path, error, ""))?;
    let layout = LogLayout {
        largest: plan.window_value == WindowValue::Both,
        offset: plan.offset,
        priority: plan.priority,
        issued: plan.issue_time,
    };
    let piece = usize::try_from(plan.piece.unwrap_or(u64::from(plan.entries) * ROW_BYTES)).unwrap_or(usize::MAX);
    let packer = packed.then(|| Packer::new(layout, piece));
    Ok(Sink { path, file, layout, packer, coarseness: plan.coarseness })
}

impl Log {
    fn push(&mut self, row: LogRow, stream: &Stream) {
        self.rows.push(row);
        if self.rows.len() >= self.most {
            self.rows = stream.exchange(self.sink, std::mem::take(&mut self.rows));
        }
    }
}
