//! The caller's side of a run: its options, its events, and the requests that it polls for.

use measure::{Nanos, PerDirection};
use model::{Interval, Monitored, RunResult};
use monitor::Pace;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of a run that are not part of the plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Directory that holds `proc` and `sys`; `/` outside of tests.
    pub system_root: PathBuf,
    /// Refuse a plan that writes.
    pub read_only: bool,
    /// Interval of [`Event::Progress`]; `None` sends neither that nor [`Event::Ended`].
    pub progress_interval: Option<Nanos>,
    /// The recording in addition to the numbers of the jobs.
    pub monitoring: Monitoring,
    /// Measurement of the tool's own share of latencies before the run.
    pub calibration: Calibrating,
    /// Interval at which the counters of the devices below the files are read.
    pub device_interval: Nanos,
    /// How that interval goes on in a long run.
    pub pace: Pace,
    /// Intervals of workers in virtual time.
    pub virtual_intervals: VirtualIntervals,
    /// File for the workers' debug lines, where their plans ask for some; shared by all workers.
    pub debug_log: Option<Arc<File>>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            system_root: PathBuf::from("/"),
            read_only: false,
            progress_interval: None,
            monitoring: Monitoring::Full,
            calibration: Calibrating::Skipped,
            device_interval: Nanos::from_millis(500),
            pace: Pace::default(),
            virtual_intervals: VirtualIntervals::Skipped,
            debug_log: None,
        }
    }
}

/// Intervals of workers in virtual time, of which the monitor sees nothing: they take as long as their computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VirtualIntervals {
    /// None.
    #[default]
    Skipped,
    /// [`RunResult::virtual_intervals`], of half a second each; longer ones in long runs.
    Kept,
}

/// Measurement of the tool's own share of latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calibrating {
    /// None.
    #[default]
    Skipped,
    /// In less than 100 ms.
    Brief,
    /// In about half a second per set-up.
    Thorough,
}

/// Recording in addition to the numbers of the jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Monitoring {
    /// Devices, processors, control groups and workers over time, and a description of the machine.
    #[default]
    Full,
    /// Nothing. For callers that show the numbers of the jobs alone: in a run of a millisecond the rest takes longer
    /// than its I/O.
    Off,
}

/// The caller's end of a run. Its methods are called one at a time, from the thread that called [`crate::execute`];
/// during a pass that this thread does itself ([`crate::Runner::run_in_succession`]) also from another one, which has
/// no files open but standard input, output and error.
pub trait Observer: Send {
    /// Something happened. Has no default, so that no caller drops findings by accident.
    fn event(&mut self, event: Event<'_>);

    /// The next request of the caller, `elapsed` after the start of the run. Called in each turn of the event loop,
    /// every 10 ms or more often, until it returns `None` or the same request again.
    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        let _ = elapsed;
        None
    }

    /// The start of the first workers, once they are set up. Called in each turn of the event loop until they start.
    fn start(&mut self) -> Start {
        Start::Now
    }

    /// True if the layout of files is to end early, so that no worker starts. Called every 50 ms or more often during a
    /// layout.
    fn ends_layout(&mut self) -> bool {
        false
    }
}

/// Start of the first workers of a run, which may have to begin together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As soon as they are set up.
    Now,
    /// After this time from now.
    After(Nanos),
    /// Not known yet.
    Wait,
}

/// Events of a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Files are about to be laid out for a job.
    Layout {
        /// The job's name.
        job: &'a str,
        /// Number of files.
        files: u32,
        /// Bytes of all files.
        bytes: u64,
    },
    /// A job with zones uses less of a file than it asks for: whole zones only. Once per file and region of a job.
    WholeZones {
        /// The file.
        path: &'a Path,
        /// Start and end of what it asks for, in bytes.
        asked: (u64, u64),
        /// Start and end of what it uses.
        used: (u64, u64),
    },
    /// A job draws offsets among more blocks of a file than 32 bits can number, so it draws 64. Once per file of a job.
    WideOffsets {
        /// The file.
        path: &'a Path,
    },
    /// Progress of the layout, in bytes.
    LayoutProgress {
        /// Bytes laid out.
        done: u64,
        /// Bytes to lay out.
        total: u64,
    },
    /// Workers are about to start.
    Starting {
        /// Workers that are threads.
        threads: u32,
        /// Workers that are processes.
        processes: u32,
    },
    /// A job has a command to run before or after its I/O, whose output goes to a file. Once per job.
    Command {
        /// The job's name.
        job: &'a str,
        /// `prerun` or `postrun`.
        when: &'a str,
        /// The output file.
        file: &'a str,
    },
    /// The state of all workers, once per interval.
    Progress(&'a Progress),
    /// A verification mismatch, an ignored error or stuck I/O: one message with file and offset.
    Finding(&'a str),
    /// The recorder has ended an interval; the last one comes when all workers have ended. Nothing without
    /// [`Monitoring::Full`].
    Sampled {
        /// Everything that it recorded so far.
        so_far: &'a Monitored,
        /// The interval. In `so_far` it may be merged with others.
        latest: &'a Interval,
    },
    /// All numbers since the start, after [`Request::Report`] or SIGUSR1.
    Report(&'a RunResult),
    /// All numbers since the start, after [`Request::Save`].
    Save(&'a RunResult),
    /// The runtime of all workers has passed, and those that did not reach the end of their job wait for
    /// [`Request::GoOnUntil`]: the measured I/Os of each worker. Sent once.
    OutOfTime(&'a [u64]),
    /// All workers are asked to end before their time: a signal or [`Request::End`] came. Sent once.
    Ending,
    /// All workers have ended.
    Ended(&'a Progress),
    /// A second request to end came, and workers are stuck in I/O that cannot be interrupted; each is named by its
    /// job's error. The result holds everything up to now. If the observer returns, the run waits for the stuck
    /// threads.
    Abandoned(&'a RunResult),
}

/// Requests of the caller to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send [`Event::Report`].
    Report,
    /// Send [`Event::Save`]: a copy that survives if the run is killed.
    Save,
    /// Workers that wait after their runtime go on until each has done this number of measured I/Os.
    GoOnUntil(u64),
    /// End all jobs, in order. Further requests of this kind have no effect.
    End,
}

/// A snapshot of a run.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Since the first worker started.
    pub elapsed: Nanos,
    /// Estimated time until the last worker ends; `None` while unknown.
    pub remaining: Option<Nanos>,
    /// Completed share of the run, 0 to 1; `None` while unknown.
    pub done: Option<f64>,
    /// One entry per worker, in the order of their numbers.
    pub workers: Vec<WorkerProgress>,
}

/// A snapshot of a worker. Counters never decrease, not even at the end of a ramp.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkerProgress {
    /// Index of its job in the plan.
    pub job_index: usize,
    /// State of the worker.
    pub state: WorkerState,
    /// Number of open files.
    pub open_files: u32,
    /// Bytes completed.
    pub bytes: PerDirection<u64>,
    /// I/Os completed.
    pub ios: PerDirection<u64>,
}

/// State of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum WorkerState {
    /// Not started yet.
    #[default]
    Waiting = 0,
    /// Opening files and allocating buffers.
    SettingUp,
    /// In the ramp: I/O that is not measured.
    Ramping,
    /// Reading files into the page cache (`pre_read`).
    PreReading,
    /// Measured I/O.
    Running,
    /// Reading back and verifying.
    Verifying,
    /// In fsync at the end of a pass.
    Flushing,
    /// I/O has ended; not reaped yet.
    Finishing,
    /// Reaped.
    Reaped,
}
