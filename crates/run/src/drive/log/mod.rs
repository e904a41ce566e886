//! Logs beside the result: one row per I/O, or one per window and direction.
//!
//! Owns what is logged when. Windows end exactly where they are due, between two completions, so that the sum over
//! all rows is the job's total. Leaves columns to `formats`, and writing to a thread (`stream`).

mod stream;

use super::Life;
use formats::fio_log::{LogLayout, LogRow, Packer, fold, packed_priority};
use job::plan::{BlockSize, JobPlan, LogPlan, WindowValue};
use measure::{Direction, Histogram, Nanos};
use model::JobError;
use std::path::PathBuf;
use stream::{HistogramRow, Sink, Stream, log_error};

/// All logs of a worker.
#[derive(Debug)]
pub(crate) struct Logs {
    stream: Stream,
    logs: Vec<Log>,
    window: Window,
    histogram: Option<Box<HistogramLog>>,
    started: Nanos,
    /// What times count from, in ms of another clock.
    epoch_ms: u64,
    epoch_clock: Option<u32>,
    keeps: WindowValue,
    priority: u16,
    /// The size of all blocks of a direction, where they have one.
    fixed_blocks: [u64; 3],
}

/// A log of rows, and the piece that it is filling.
#[derive(Debug)]
struct Log {
    kind: Kind,
    /// Which sink of the stream.
    sink: usize,
    rows: Vec<LogRow>,
    most: usize,
}

/// The window that is open.
#[derive(Debug, Default)]
struct Window {
    length: Nanos,
    began: Nanos,
    ends: Nanos,
    totals: [Totals; 3],
}

/// Histograms of the window that is open.
#[derive(Debug)]
struct HistogramLog {
    sink: usize,
    length: Nanos,
    ends: Nanos,
    /// Per direction: the latencies, how many, and the latest size.
    seen: [(Histogram, u64, u64); 3],
}

/// What a log holds, and the name it has in its file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bandwidth,
    Iops,
    Total,
    Submission,
    Completion,
    Histogram,
}

/// Sums of one direction over a window.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    ios: u64,
    bytes: u64,
    total: Latencies,
    submission: Latencies,
    completion: Latencies,
}

/// The sum and the largest of some latencies.
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

    /// Mean and largest.
    fn over(self, ios: u64) -> (u64, u64) {
        (self.sum / ios, self.largest)
    }
}

/// A completed I/O, as logs see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logged {
    pub(super) direction: Direction,
    pub(super) bytes: u64,
    pub(super) offset: u64,
    pub(super) life: Life,
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

/// Whether the engine tells submission and completion apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    /// It does.
    Yes,
    /// It completes an I/O where it takes it.
    No,
}

/// The logs that a job wants, with their stems. fio makes the file of submission latencies for synchronous engines,
/// too, and leaves it empty; so do we, for who expects it.
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

impl Logs {
    /// Creates the job's log files; `None` when it wants none. `queued` engines tell submission apart.
    ///
    /// # Errors
    /// When a file cannot be created.
    pub(crate) fn open(job: &JobPlan, number: u32, queued: Queued) -> Result<Option<Box<Logs>>, JobError> {
        let plan = &job.record.logs;
        let wanted = wanted(job);
        if wanted.is_empty() {
            return Ok(None);
        }
        let sinks = wanted.iter().map(|&(kind, stem)| open_sink(kind, stem, job, number));
        let sinks = sinks.collect::<Result<Vec<_>, _>>()?;
        let most = rows_of_a_piece(plan);
        let stream = Stream::start(sinks, most, plan.cpus.clone()).map_err(|error| {
            let message = format!("job `{}` ({}): no thread to write its logs: {error}", job.name, job.origin);
            JobError { errno: libc::EAGAIN, operation: "log thread".to_owned(), message, signal: None }
        })?;
        let kinds = wanted.iter().map(|&(kind, _)| kind).enumerate();
        let rows = kinds
            .clone()
            .filter(|&(_, kind)| kind != Kind::Histogram && !(kind == Kind::Submission && queued == Queued::No));
        let logs = rows.map(|(sink, kind)| Log { kind, sink, rows: stream.empty(), most }).collect();
        let histogram = kinds.clone().find(|&(_, kind)| kind == Kind::Histogram).map(|(sink, _)| {
            let seen = [(); 3].map(|()| (Histogram::new(), 0, 0));
            Box::new(HistogramLog { sink, length: plan.histogram_interval, ends: Nanos::MAX, seen })
        });
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
            fixed_blocks: Direction::ALL.map(|direction| match job.load.block_size[direction] {
                BlockSize::Fixed(size) => u64::from(size),
                _ => 0,
            }),
        })))
    }

    /// Time counts from `now`.
    pub(super) fn begin(&mut self, now: Nanos) {
        self.started = now;
        self.epoch_ms = self.epoch_clock.map_or(0, clock_ms);
        let end = |length: Nanos| if length.is_zero() { Nanos::MAX } else { now.saturating_add(length) };
        (self.window.began, self.window.ends) = (now, end(self.window.length));
        if let Some(histogram) = &mut self.histogram {
            histogram.ends = end(histogram.length);
        }
    }

    /// When the next window ends.
    pub(super) fn next_end(&self) -> Nanos {
        self.window.ends.min(self.histogram.as_ref().map_or(Nanos::MAX, |histogram| histogram.ends))
    }

    /// Closes the windows that end at `moment`, and those behind it that are over before `until`: in them nothing is done.
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
        let Logged { direction, bytes, offset, life } = *io;
        let total = life.reaped.saturating_sub(life.issued).get();
        let submission = life.accepted.saturating_sub(life.issued).get();
        let completion = life.reaped.saturating_sub(life.accepted).get();
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
        let at_ms = self.ms_of(life.reaped);
        let issued_ns = life.issued.saturating_sub(self.started).get();
        for log in &mut self.logs {
            let value = match log.kind {
                // Bytes per millisecond of its own latency: what fio writes here, though it calls it KiB/s.
                Kind::Bandwidth => bytes.saturating_mul(1_000_000) / completion.max(1),
                Kind::Iops => 1,
                Kind::Total => total,
                Kind::Submission => submission,
                Kind::Completion | Kind::Histogram => completion,
            };
            let (block, priority) = (bytes, self.priority);
            let row = LogRow { at_ms, value, largest: value, direction, block, offset, priority, issued_ns };
            log.push(row, &self.stream);
        }
    }

    /// Writes out what is left.
    ///
    /// # Errors
    /// The first row that could not be written.
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

    /// One row per log and direction that did something; the next window ends at a multiple of its length.
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
                let rate = |value: u64| ((value, value), self.fixed_blocks[direction as usize]);
                let ((mean, largest), block) = match log.kind {
                    Kind::Bandwidth => rate(per_second(totals.bytes) / 1024),
                    Kind::Iops => rate(per_second(totals.ios)),
                    Kind::Total => (totals.total.over(totals.ios), 0),
                    Kind::Submission => (totals.submission.over(totals.ios), 0),
                    Kind::Completion | Kind::Histogram => (totals.completion.over(totals.ios), 0),
                };
                let value = if self.keeps == WindowValue::Largest { largest } else { mean };
                let priority = self.priority;
                let row = LogRow { at_ms, value, largest, direction, block, offset: 0, priority, issued_ns: 0 };
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

/// The first multiple of `length` after `started` that lies behind `now`.
fn next_multiple(started: Nanos, length: Nanos, now: Nanos) -> Nanos {
    let passed = now.saturating_sub(started).get() / length.get().max(1);
    started.saturating_add(Nanos((passed + 1).saturating_mul(length.get())))
}

/// The last multiple of `length` after `started` that lies before `until`.
fn last_multiple(started: Nanos, length: Nanos, until: Nanos) -> Nanos {
    let passed = until.saturating_sub(started).get().saturating_sub(1) / length.get().max(1);
    started.saturating_add(Nanos(passed * length.get()))
}

/// Milliseconds on one of the system's clocks; the words were checked for those that exist.
fn clock_ms(clock: u32) -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let clock = match clock {
        1 => ClockId::Monotonic,
        4 => ClockId::MonotonicRaw,
        5 => ClockId::RealtimeCoarse,
        6 => ClockId::MonotonicCoarse,
        7 => ClockId::Boottime,
        _ => ClockId::Realtime,
    };
    let time = clock_gettime(clock);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(time.tv_sec).saturating_mul(1000) + part(time.tv_nsec) / 1_000_000
}

/// Bytes of a packed row, by which a piece's size is counted in rows.
const ROW_BYTES: u64 = 32;
/// A piece holds no more rows than this, however large the pieces that are compressed.
const MOST_ROWS: u64 = 1 << 16;

fn rows_of_a_piece(plan: &LogPlan) -> usize {
    let rows = plan.piece.map_or(u64::from(plan.entries), |bytes| bytes / ROW_BYTES);
    usize::try_from(rows.clamp(1, MOST_ROWS)).unwrap_or(1024)
}

fn open_sink(kind: Kind, stem: &str, job: &JobPlan, number: u32) -> Result<Sink, JobError> {
    let plan = &job.record.logs;
    let stem = if stem.is_empty() { &job.name } else { stem };
    let number = if plan.per_job { format!(".{number}") } else { String::new() };
    // Histograms are text in any case, as with fio, which leaves them out of its compressed logs.
    let packed = plan.packed && kind != Kind::Histogram;
    let path = PathBuf::from(format!("{stem}_{}{number}.log{}", kind.word(), if packed { ".fz" } else { "" }));
    // One log for all workers of all jobs: each writes behind the others.
    let file = if plan.per_job { sys::aside::create(&path) } else { sys::aside::append(&path) };
    let file = file.map_err(|error| log_error("create log", &path, &error))?;
    let layout = LogLayout {
        largest: plan.window_value == WindowValue::Both && !plan.average.is_zero(),
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
