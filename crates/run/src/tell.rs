//! What a worker tells of itself while it works (`--debug`): lines of fio's shape, `subject pid text`, each written
//! at once.
//!
//! It sees I/Os as a witness of the load, so the loop of a job that tells nothing does not know of it.

use crate::files::PlannedFile;
use crate::replay::Recorder;
use crate::worker::WorkerSetup;
use engine::Operation;
use formats::printable;
use job::plan::{LoadPlan, Step, Subject, TellPlan, WorkerPlan};
use load::{RecordFailure, Request, Witness};
use measure::{ClockSource, Direction, Nanos};
use std::fmt::Arguments;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// A worker's voice.
#[derive(Clone, Debug)]
pub(crate) struct Teller {
    to: Arc<File>,
    tells: TellPlan,
    pid: u32,
}

impl Teller {
    /// The voice of a worker; `None` where nobody wants to hear it.
    pub(crate) fn of(setup: &WorkerSetup<'_>) -> Option<Teller> {
        let tells = setup.plan.job.record.tells;
        let to = setup.tell_to.filter(|_| tells.is_of(setup.plan.number))?;
        Some(Teller { to: Arc::clone(to), tells, pid: sys::placement::thread_id() })
    }

    /// Tells of a group that settles as one, by the plan of its first worker.
    pub(crate) fn say_of_group(leader: &WorkerPlan<'_>, to: Option<&Arc<File>>, text: &str) {
        let tells = leader.job.record.tells;
        if let Some(to) = to.filter(|_| tells.is_of(leader.number)) {
            let teller = Teller { to: Arc::clone(to), tells, pid: sys::placement::thread_id() };
            teller.say(Subject::SteadyState, format_args!("{text}"));
        }
    }

    /// One line, where the subject is wanted.
    pub(crate) fn say(&self, subject: Subject, text: Arguments<'_>) {
        if self.tells.has(subject) {
            // Names of files and jobs may be a stranger's.
            let text = text.to_string();
            let line = format!("{:<8} {:<5} {}\n", subject.word(), self.pid, printable::line(&text));
            // Whoever closed it does not want to hear any more.
            let _ = (&*self.to).write_all(line.as_bytes());
        }
    }

    /// The worker's turn has come.
    pub(crate) fn begin(&self, setup: &WorkerSetup<'_>) {
        self.say(Subject::Process, format_args!("jobs pid={} started", self.pid));
        self.runstate("NOT_CREATED", "SETTING_UP");
        let source = match setup.clock.report().source {
            ClockSource::Tsc => "the processor's counter",
            ClockSource::Monotonic => "CLOCK_MONOTONIC",
        };
        self.say(Subject::Time, format_args!("clock is {source}"));
    }

    /// The seeds of what is drawn at random.
    pub(crate) fn seeds(&self, seeds: &[u64]) {
        self.say(Subject::Random, format_args!("FIO_RAND_NR_OFFS={}", seeds.len()));
        for (index, seed) in seeds.iter().enumerate() {
            self.say(Subject::Random, format_args!("rand_seeds[{index}]={seed}"));
        }
    }

    fn runstate(&self, before: &str, after: &str) {
        self.say(Subject::Process, format_args!("pid={}: runstate {before} -> {after}", self.pid));
    }

    /// A witness that tells of what it sees, and hands it on to the recorder, if there is one. The files come with the
    /// number of those that are open already, from the first on.
    pub(crate) fn beside(
        self,
        recorder: Option<Box<Recorder>>,
        (files, opened): (&[PlannedFile], usize),
        load: &LoadPlan,
    ) -> Telling {
        let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        for name in &names[..opened.min(names.len())] {
            self.say(Subject::File, format_args!("fd open {name}"));
        }
        let draws = load.random.then(|| Draws::of(load));
        Telling { teller: self, recorder, names, in_flight: Vec::new(), issued: 0, draws }
    }
}

/// Which I/Os of a random job are where chance put them.
#[derive(Debug)]
struct Draws {
    /// Places are counted in blocks of this size.
    block: u64,
    /// Every I/O is drawn; otherwise one that goes on where the last of its direction ended, or does it again, is not.
    all: bool,
    /// Begin and end of the last I/O by direction.
    last: [(u64, u64); 3],
}

impl Draws {
    fn of(load: &LoadPlan) -> Draws {
        let percents = load.percent_random;
        let all = load.step == Step::Plain && Direction::ALL.iter().all(|&direction| percents[direction] == 100);
        Draws { block: u64::from(load.smallest()).max(1), all, last: [(u64::MAX, u64::MAX); 3] }
    }

    /// The block that was drawn for this I/O; `None` where none was.
    fn place(&mut self, request: &Request) -> Option<u64> {
        let last = &mut self.last[request.direction()? as usize];
        let (begin, end) = std::mem::replace(last, (request.offset, request.offset + u64::from(request.length)));
        let drawn = self.all || (request.offset != begin && request.offset != end);
        drawn.then_some(request.offset / self.block)
    }
}

/// A worker's voice during its I/O.
#[derive(Debug)]
pub(crate) struct Telling {
    teller: Teller,
    recorder: Option<Box<Recorder>>,
    names: Vec<String>,
    /// I/Os that have not come back, with their numbers.
    in_flight: Vec<(u64, Request)>,
    issued: u64,
    /// Of a job whose places are drawn.
    draws: Option<Draws>,
}

impl Telling {
    fn io(&self, what: &str, number: u64, request: &Request) {
        let Request { operation, target, offset, length } = *request;
        let direction = match operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Trim => 2,
            Operation::Sync => 3,
            Operation::DataSync => 4,
        };
        let name = self.names.get(target as usize).map_or("", String::as_str);
        let text =
            format_args!("{what}: io_u {number:#x}: off={offset:#x},len={length:#x},ddir={direction},file={name}");
        self.teller.say(Subject::Io, text);
    }

    fn take_up(&mut self, request: &Request) {
        self.issued += 1;
        if self.teller.tells.follows_ios() {
            self.in_flight.push((self.issued, *request));
            self.io("queue", self.issued, request);
        }
    }

    fn go_on(&mut self, now: Nanos, request: &Request) {
        self.take_up(request);
        if let Some(recorder) = &mut self.recorder {
            recorder.issued(now, request);
        }
    }
}

impl Witness for Telling {
    fn begin(&mut self, now: Nanos) {
        self.teller.runstate("SETTING_UP", "RUNNING");
        self.teller.say(Subject::Time, format_args!("measuring begins at {} nsec", now.get()));
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(now);
        }
    }

    fn issued(&mut self, now: Nanos, request: &Request) {
        if let Some(place) = self.draws.as_mut().and_then(|draws| draws.place(request)) {
            self.teller.say(Subject::Random, format_args!("off rand {place}"));
        }
        self.go_on(now, request);
    }

    fn reviewed(&mut self, now: Nanos, request: &Request) {
        let Request { offset, length, .. } = *request;
        let number = self.issued + 1;
        let text = format_args!("get_next_verify: ret io_u {number:#x}: off={offset:#x},len={length:#x}");
        self.teller.say(Subject::Verify, text);
        self.go_on(now, request);
    }

    fn completed(&mut self, request: &Request) {
        if let Some(index) = self.in_flight.iter().position(|(_, one)| one == request) {
            let (number, request) = self.in_flight.remove(index);
            self.io("complete", number, &request);
        }
    }

    fn failed(&mut self, request: &Request) {
        if let Some(recorder) = &mut self.recorder {
            recorder.failed(request);
        }
    }

    fn waits(&mut self, now: Nanos, until: Nanos) {
        let wait = until.saturating_sub(now).get() / 1000;
        self.teller.say(Subject::Rate, format_args!("wait {wait} usec"));
    }

    fn told(&mut self, text: &str) {
        self.teller.say(Subject::SteadyState, format_args!("{text}"));
    }

    fn finish(&mut self, now: Nanos) -> Result<(), RecordFailure> {
        self.teller.say(Subject::Time, format_args!("measuring ends at {} nsec", now.get()));
        self.teller.runstate("RUNNING", "FINISHING");
        for name in &self.names {
            self.teller.say(Subject::File, format_args!("fd close {name}"));
        }
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.finish(now))
    }
}
