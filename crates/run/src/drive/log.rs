//! Logs beside the result: one row per I/O, or one per window and direction.
//!
//! A row is `time in ms, value, direction (0 read, 1 write, 2 trim), block size in bytes, priority class`, as fio's
//! readers expect. Values are ns for latencies, KiB/s for bandwidth, I/Os per second for IOPS. Rows are collected in
//! memory that is there from the start and written out when it is full.

use super::Life;
use job::plan::{JobPlan, LogPlan};
use measure::{Direction, Nanos};
use model::JobError;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// Rows that are kept before they are written out.
const ROWS: usize = 4096;

/// All logs of a worker.
#[derive(Debug)]
pub(crate) struct Logs {
    logs: Vec<Log>,
    window: Nanos,
    started: Nanos,
    /// When the present window ends.
    window_ends: Nanos,
    window_began: Nanos,
    totals: [Totals; 3],
    /// The first row that could not be written, and why.
    failure: Option<JobError>,
}

#[derive(Debug)]
struct Log {
    kind: Kind,
    path: PathBuf,
    file: File,
    rows: Vec<Row>,
}

/// What a log holds, and the name it has in its file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bandwidth,
    Iops,
    Total,
    Submission,
    Completion,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    at_ms: u64,
    value: u64,
    direction: Direction,
    block: u64,
}

/// Sums of one direction over a window.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    ios: u64,
    bytes: u64,
    total: u64,
    submission: u64,
    completion: u64,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Kind::Bandwidth => "bw",
            Kind::Iops => "iops",
            Kind::Total => "lat",
            Kind::Submission => "slat",
            Kind::Completion => "clat",
        }
    }
}

impl Logs {
    /// Creates the job's log files; `None` when it wants none. `queued` engines tell submission apart.
    ///
    /// # Errors
    /// When a file cannot be created.
    pub(crate) fn open(job: &JobPlan, number: u32, queued: Queued) -> Result<Option<Box<Logs>>, JobError> {
        let plan = &job.record.logs;
        let mut wanted = Vec::new();
        if let Some(stem) = &plan.bandwidth {
            wanted.push((Kind::Bandwidth, stem));
        }
        if let Some(stem) = &plan.iops {
            wanted.push((Kind::Iops, stem));
        }
        if let Some(stem) = &plan.latency {
            wanted.extend([(Kind::Total, stem), (Kind::Completion, stem)]);
            // fio makes the file for synchronous engines, too, and leaves it empty; so do we, for who expects it.
            wanted.push((Kind::Submission, stem));
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let open = |(kind, stem): (Kind, &String)| Log::open(kind, stem, plan, job, number);
        let mut logs = wanted.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        if queued == Queued::No {
            logs.retain(|log| log.kind != Kind::Submission);
        }
        Ok(Some(Box::new(Logs {
            logs,
            window: plan.average,
            started: Nanos::ZERO,
            window_ends: Nanos::MAX,
            window_began: Nanos::ZERO,
            totals: [Totals::default(); 3],
            failure: None,
        })))
    }

    /// Time counts from `now`.
    pub(super) fn begin(&mut self, now: Nanos) {
        (self.started, self.window_began) = (now, now);
        self.window_ends = if self.window.is_zero() { Nanos::MAX } else { now.saturating_add(self.window) };
    }

    /// Logs a completed I/O.
    pub(super) fn record(&mut self, direction: Direction, bytes: u64, life: Life) {
        let total = life.reaped.saturating_sub(life.issued).get();
        let submission = life.accepted.saturating_sub(life.issued).get();
        let completion = life.reaped.saturating_sub(life.accepted).get();
        if self.window.is_zero() {
            let at_ms = life.reaped.saturating_sub(self.started).get() / 1_000_000;
            for log in &mut self.logs {
                let value = match log.kind {
                    // Bytes per millisecond of its own latency: what fio writes here, though it calls it KiB/s.
                    Kind::Bandwidth => bytes.saturating_mul(1_000_000) / completion.max(1),
                    Kind::Iops => 1,
                    Kind::Total => total,
                    Kind::Submission => submission,
                    Kind::Completion => completion,
                };
                log.push(Row { at_ms, value, direction, block: bytes }, &mut self.failure);
            }
            return;
        }
        let totals = &mut self.totals[direction as usize];
        totals.ios += 1;
        totals.bytes += bytes;
        totals.total += total;
        totals.submission += submission;
        totals.completion += completion;
        if life.reaped >= self.window_ends {
            self.close_window(life.reaped);
        }
    }

    /// Writes out what is left.
    ///
    /// # Errors
    /// The first row that could not be written.
    pub(super) fn finish(mut self, now: Nanos) -> Result<(), JobError> {
        if !self.window.is_zero() {
            self.close_window(now);
        }
        for log in &mut self.logs {
            log.write_out(&mut self.failure);
        }
        self.failure.map_or(Ok(()), Err)
    }

    /// One row per log and direction that did something; the next window ends at a multiple of its length.
    fn close_window(&mut self, now: Nanos) {
        let elapsed_ns = u128::from(now.saturating_sub(self.window_began).get().max(1));
        let at_ms = now.saturating_sub(self.started).get() / 1_000_000;
        for direction in Direction::ALL {
            let totals = std::mem::take(&mut self.totals[direction as usize]);
            if totals.ios == 0 {
                continue;
            }
            let per_second =
                |amount: u64| u64::try_from(u128::from(amount) * 1_000_000_000 / elapsed_ns).unwrap_or(u64::MAX);
            for log in &mut self.logs {
                let value = match log.kind {
                    Kind::Bandwidth => per_second(totals.bytes) / 1024,
                    Kind::Iops => per_second(totals.ios),
                    Kind::Total => totals.total / totals.ios,
                    Kind::Submission => totals.submission / totals.ios,
                    Kind::Completion => totals.completion / totals.ios,
                };
                log.push(Row { at_ms, value, direction, block: 0 }, &mut self.failure);
            }
        }
        let window = self.window.get();
        let passed = now.saturating_sub(self.started).get() / window;
        self.window_began = now;
        self.window_ends = self.started.saturating_add(Nanos((passed + 1).saturating_mul(window)));
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

impl Log {
    fn open(kind: Kind, stem: &str, plan: &LogPlan, job: &JobPlan, number: u32) -> Result<Log, JobError> {
        let stem = if stem.is_empty() { &job.name } else { stem };
        let word = kind.word();
        let path = PathBuf::from(if plan.per_job {
            format!("{stem}_{word}.{number}.log")
        } else {
            format!("{stem}_{word}.log")
        });
        let mut options = OpenOptions::new();
        options.create(true);
        if plan.per_job {
            options.write(true).truncate(true);
        } else {
            options.append(true);
        }
        let file = options.open(&path).map_err(|error| log_error("create log", &path, &error))?;
        Ok(Log { kind, path, file, rows: Vec::with_capacity(ROWS) })
    }

    fn push(&mut self, row: Row, failure: &mut Option<JobError>) {
        self.rows.push(row);
        if self.rows.len() == ROWS {
            self.write_out(failure);
        }
    }

    #[cold]
    fn write_out(&mut self, failure: &mut Option<JobError>) {
        let mut text = Vec::with_capacity(self.rows.len() * 32);
        for Row { at_ms, value, direction, block } in self.rows.drain(..) {
            // Writing to a vector cannot fail.
            let _ = writeln!(text, "{at_ms}, {value}, {}, {block}, 0", direction as u8);
        }
        if failure.is_none()
            && let Err(error) = self.file.write_all(&text)
        {
            *failure = Some(log_error("write log", &self.path, &error));
        }
    }
}

fn log_error(operation: &str, path: &std::path::Path, error: &std::io::Error) -> JobError {
    JobError {
        errno: error.raw_os_error().unwrap_or(libc::EIO),
        operation: operation.to_owned(),
        message: format!("{operation} {}: {error}", path.display()),
        signal: None,
    }
}
