//! What the outside may see of a run while it lasts.

use measure::{Nanos, PerDirection};
use model::RunResult;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// How to run a plan, apart from what the plan says.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where /proc and /sys are read from; `/` outside of tests.
    pub system_root: PathBuf,
    /// Refuse everything that writes.
    pub read_only: bool,
    /// How often the observer is told of progress; `None` never.
    pub progress_interval: Option<Nanos>,
    /// How often the counters of the devices under the targets are read during the run.
    pub device_interval: Nanos,
    /// Where workers tell of themselves as their plans want it; shared by all of them.
    pub tell_to: Option<Arc<File>>,
}

/// Told of a run's events, from the main thread, between its other duties.
pub trait Observer {
    /// Files are about to be laid out for a job.
    fn layout(&mut self, job: &str, files: u32, bytes: u64) {
        let _ = (job, files, bytes);
    }
    /// So much of the layout is done, in bytes.
    fn layout_progress(&mut self, done: u64, total: u64) {
        let _ = (done, total);
    }
    /// Workers are about to start.
    fn starting(&mut self, threads: u32, processes: u32) {
        let _ = (threads, processes);
    }
    /// The state of things, once per interval.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }
    /// A worker found data that are not what was written, or forgives an error, or waits for an I/O that does not come
    /// back: what, in which file, where. Without a default, so that nobody swallows it unawares.
    fn finding(&mut self, text: &str);
    /// All workers have ended; told like progress, where that is told.
    fn ended(&mut self, progress: &Progress) {
        let _ = progress;
    }
    /// Whether a report of the run so far is wanted, `elapsed` after its start; asked some hundred times a second.
    /// SIGUSR1 asks for one as well.
    fn report_wanted(&mut self, elapsed: Nanos) -> bool {
        let _ = elapsed;
        false
    }
    /// The run so far: all numbers since its start.
    fn report(&mut self, so_far: &RunResult) {
        let _ = so_far;
    }
    /// Whether the run so far is to be kept, asked like `report_wanted`: what is left of a run that is killed.
    fn keeping_wanted(&mut self, elapsed: Nanos) -> bool {
        let _ = elapsed;
        false
    }
    /// The run so far, to be kept.
    fn keep(&mut self, so_far: &RunResult) {
        let _ = so_far;
    }
    /// A worker starts that runs a command of its own before or after its I/O, whose output goes to a file.
    fn command(&mut self, job: &str, when: &str, file: &str) {
        let _ = (job, when, file);
    }
    /// Asked again and again: whether all jobs shall end now, in order.
    fn wants_end(&mut self, elapsed: Nanos) -> bool {
        let _ = elapsed;
        false
    }
    /// A second request to end came, and workers are still stuck in I/O that nothing can interrupt: each is named by its
    /// job's error. This is what was found until now; whoever returns from here waits for those that are threads.
    fn abandoned(&mut self, result: &RunResult) {
        let _ = result;
    }
    /// Something a person should know that ends nothing: a fallback, a cap, an ignored wish.
    fn note(&mut self, text: &str) {
        let _ = text;
    }
}

/// A snapshot of a run.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Since the first worker started.
    pub elapsed: Nanos,
    /// Until the last worker ends, by what has been done so far; `None` while unknown.
    pub remaining: Option<Nanos>,
    /// Share of the run that is done, 0 to 1; `None` while unknown.
    pub done: Option<f64>,
    /// One entry per worker, in the order of their numbers.
    pub workers: Vec<WorkerProgress>,
}

/// A snapshot of a worker. Counters never fall, also not at the end of a ramp.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkerProgress {
    /// Index of its job in the plan.
    pub job_index: usize,
    /// Where in its life it is.
    pub state: WorkerState,
    /// Files it has open.
    pub open_files: u32,
    /// Bytes completed.
    pub bytes: PerDirection<u64>,
    /// I/Os completed.
    pub ios: PerDirection<u64>,
}

/// Where in its life a worker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum WorkerState {
    /// Not started yet.
    #[default]
    Waiting = 0,
    /// Started, getting ready.
    SettingUp,
    /// I/O that does not count yet.
    Ramping,
    /// Reading files into the cache before the job.
    PreReading,
    /// I/O that counts.
    Running,
    /// Reading back what was written.
    Verifying,
    /// Waiting in fsync.
    Flushing,
    /// Done with I/O, not collected yet.
    Finishing,
    /// Collected.
    Reaped,
}
