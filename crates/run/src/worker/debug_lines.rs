//! Debug messages of a worker (`--debug`): lines in fio's format, `subject pid text`, each written at once.
//!
//! It observes I/Os as a witness of the load, so the loop of a job without debug messages has no code for it.

use super::WorkerSetup;
use crate::files::PlannedFile;
use formats::printable;
use load::{RecordFailure, Request, Witness};
use measure::{ClockSource, Direction, Nanos};
use plan::{DebugPlan, LoadPlan, Operation, Step, Subject, WorkerPlan};
use std::fmt::Arguments;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// The debug log of a worker.
#[derive(Clone, Debug)]
pub(crate) struct DebugLog {
    to: Arc<File>,
    debug: DebugPlan,
    pid: u32,
}

impl DebugLog {
    /// The debug log of a worker; `None` if none is requested for it.
    pub(crate) fn of(setup: &WorkerSetup<'_>) -> Option<DebugLog> {
        DebugLog::of_worker(&setup.plan, setup.debug_log_to)
    }

    fn of_worker(worker: &WorkerPlan<'_>, to: Option<&Arc<File>>) -> Option<DebugLog> {
        let debug = worker.job.record.debug;
        let to = to.filter(|_| debug.is_of(worker.number))?;
        Some(DebugLog { to: Arc::clone(to), debug, pid: sys::processes::placement::thread_id() })
    }

    /// Writes a line about the steady state of a group, if its first worker has debug messages.
    pub(crate) fn group_line(leader: &WorkerPlan<'_>, to: Option<&Arc<File>>, text: &str) {
        if let Some(debug_log) = DebugLog::of_worker(leader, to) {
            debug_log.say(Subject::SteadyState, format_args!("{text}"));
        }
    }

    /// Writes a line if its subject is enabled.
    pub(crate) fn say(&self, subject: Subject, text: Arguments<'_>) {
        if self.debug.has(subject) {
            // Names of files and jobs are untrusted: control characters are escaped.
            let text = text.to_string();
            let line = format!("{:<8} {:<5} {}\n", subject.word(), self.pid, printable::line(&text));
            // A reader that has closed the pipe does not want the rest.
            let _ = (&*self.to).write_all(line.as_bytes());
        }
    }

    /// Logs the start of the worker.
    pub(crate) fn begin(&self, setup: &WorkerSetup<'_>) {
        self.say(Subject::Process, format_args!("jobs pid={} started", self.pid));
        self.runstate("NOT_CREATED", "SETTING_UP");
        let source = match setup.clock.report().source {
            ClockSource::Tsc => "the processor's counter",
            ClockSource::Monotonic => "CLOCK_MONOTONIC",
        };
        self.say(Subject::Time, format_args!("clock is {source}"));
    }

    /// Logs the seeds of the random generators.
    pub(crate) fn seeds(&self, seeds: &[u64]) {
        self.say(Subject::Random, format_args!("FIO_RAND_NR_OFFS={}", seeds.len()));
        for (index, seed) in seeds.iter().enumerate() {
            self.say(Subject::Random, format_args!("rand_seeds[{index}]={seed}"));
        }
    }

    fn runstate(&self, before: &str, after: &str) {
        self.say(Subject::Process, format_args!("pid={}: runstate {before} -> {after}", self.pid));
    }

    /// Returns a witness that logs I/Os. The first `opened` of the files are already open.
    pub(crate) fn witness(self, files: &[PlannedFile], opened: usize, load: &LoadPlan) -> IoLines {
        let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        for name in &names[..opened.min(names.len())] {
            self.say(Subject::File, format_args!("fd open {name}"));
        }
        let draws = load.random.then(|| Draws::of(load));
        IoLines { debug_log: self, names, in_flight: Vec::new(), issued: 0, draws }
    }
}

/// Determines which I/Os of a random job are at random offsets.
#[derive(Debug)]
struct Draws {
    /// Unit of the logged positions, in bytes.
    block: u64,
    /// True if every offset is random; otherwise an I/O that continues at the end of the last one of its direction, or
    /// repeats it, is not.
    all: bool,
    /// Start and end of the last I/O by direction.
    last: [(u64, u64); 3],
}

impl Draws {
    fn of(load: &LoadPlan) -> Draws {
        let percents = load.percent_random;
        let all = load.step == Step::Plain && Direction::ALL.iter().all(|&direction| percents[direction] == 100);
        Draws { block: u64::from(load.smallest()).max(1), all, last: [(u64::MAX, u64::MAX); 3] }
    }

    /// The block number that was drawn for this I/O; `None` if it was not random.
    fn place(&mut self, request: &Request) -> Option<u64> {
        let last = &mut self.last[request.direction()? as usize];
        let (begin, end) = std::mem::replace(last, (request.offset, request.offset + u64::from(request.length)));
        let drawn = self.all || (request.offset != begin && request.offset != end);
        drawn.then_some(request.offset / self.block)
    }
}

/// A witness that logs I/Os.
#[derive(Debug)]
pub(crate) struct IoLines {
    debug_log: DebugLog,
    names: Vec<String>,
    /// I/Os in flight, with their numbers.
    in_flight: Vec<(u64, Request)>,
    issued: u64,
    /// Present for a job with random offsets.
    draws: Option<Draws>,
}

impl IoLines {
    fn io(&self, what: &str, number: u64, request: &Request) {
        let Request { operation, file, offset, length, .. } = *request;
        let direction = match operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Trim => 2,
            Operation::Sync => 3,
            Operation::DataSync => 4,
        };
        let name = self.names.get(file as usize).map_or("", String::as_str);
        let text =
            format_args!("{what}: io_u {number:#x}: off={offset:#x},len={length:#x},ddir={direction},file={name}");
        self.debug_log.say(Subject::Io, text);
    }

    fn queued(&mut self, request: &Request) {
        self.issued += 1;
        if self.debug_log.debug.follows_ios() {
            self.in_flight.push((self.issued, *request));
            self.io("queue", self.issued, request);
        }
    }
}

impl Witness for IoLines {
    fn begin(&mut self, now: Nanos) {
        self.debug_log.runstate("SETTING_UP", "RUNNING");
        self.debug_log.say(Subject::Time, format_args!("measuring begins at {} nsec", now.get()));
    }

    fn issued(&mut self, _now: Nanos, request: &Request) {
        if let Some(place) = self.draws.as_mut().and_then(|draws| draws.place(request)) {
            self.debug_log.say(Subject::Random, format_args!("off rand {place}"));
        }
        self.queued(request);
    }

    fn reviewed(&mut self, _now: Nanos, request: &Request) {
        let Request { offset, length, .. } = *request;
        let number = self.issued + 1;
        let text = format_args!("get_next_verify: ret io_u {number:#x}: off={offset:#x},len={length:#x}");
        self.debug_log.say(Subject::Verify, text);
        self.queued(request);
    }

    fn completed(&mut self, request: &Request) {
        if let Some(index) = self.in_flight.iter().position(|(_, issued)| request.is(issued)) {
            let (number, request) = self.in_flight.remove(index);
            self.io("complete", number, &request);
        }
    }

    fn waits(&mut self, now: Nanos, until: Nanos) {
        let wait = until.saturating_sub(now).get() / 1000;
        self.debug_log.say(Subject::Rate, format_args!("wait {wait} usec"));
    }

    fn note(&mut self, text: &str) {
        self.debug_log.say(Subject::SteadyState, format_args!("{text}"));
    }

    fn finish(&mut self, now: Nanos) -> Result<(), RecordFailure> {
        self.debug_log.say(Subject::Time, format_args!("measuring ends at {} nsec", now.get()));
        self.debug_log.runstate("RUNNING", "FINISHING");
        for name in &self.names {
            self.debug_log.say(Subject::File, format_args!("fd close {name}"));
        }
        Ok(())
    }
}
