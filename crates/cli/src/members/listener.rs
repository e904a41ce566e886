//! What a member does with the leader's orders while it runs a task: reads them, and gives signs of life.

use super::now;
use crate::failure::Failure;
use crate::output::Output;
use cluster::{Answer, Beat, Instruction, Live, MemberEnd, MemberInterval, Stage, Task};
use measure::{Nanos, PerDirection};
use run::{Event, Observer, Progress, Request, Start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// Interval at which the workers' counters are read: how exactly amounts belong to a moment.
pub(crate) const PROGRESS: Nanos = Nanos::from_millis(25);

/// The last message of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    None,
    /// Amounts are wanted.
    Mark,
    Stop,
    Gone,
}

/// Makes what a client shows of a run, for each sign of life.
type Details<'a> = Box<dyn FnMut(&Progress) -> Live + Send + 'a>;
/// The lines that a client prints at an event.
type Lines<'a> = Box<dyn Fn(&Event<'_>) -> Option<String> + Send + 'a>;

/// Reads the leader's orders while the job runs, and gives signs of life.
pub(crate) struct Listener<'a> {
    task: &'a Task,
    /// Sent with each sign of life, if a client shows more of the run than its amounts.
    details: Option<Details<'a>>,
    lines: Option<Lines<'a>>,
    orders: &'a mut Orders,
    stage: Stage,
    /// The agreed start on this machine's clock.
    go: Option<Nanos>,
    message: Message,
    /// True if the leader has asked for the result so far.
    wants_report: bool,
    /// True once a client's trigger has fired.
    is_triggered: bool,
    /// Time of the next beat.
    due: Nanos,
    latest: Beat,
    /// I/Os to which all workers go on after their runtime, from its arrival until the run has it.
    until: Option<u64>,
    /// Once all workers have ended.
    pulse: Option<Pulse>,
}

impl<'a> Listener<'a> {
    pub(crate) fn new(task: &'a Task, orders: &'a mut Orders) -> Self {
        Listener {
            task,
            details: None,
            lines: None,
            orders,
            stage: Stage::LayingOut,
            go: None,
            message: Message::None,
            wants_report: false,
            is_triggered: false,
            due: now(),
            latest: Beat::default(),
            until: None,
            pulse: None,
        }
    }

    /// Sends these details with each sign of life while workers run, and these lines at events.
    pub(crate) fn for_client(self, details: Details<'a>, lines: Lines<'a>) -> Self {
        Listener { details: Some(details), lines: Some(lines), ..self }
    }

    /// True once a client's trigger has fired.
    pub(crate) fn is_triggered(&self) -> bool {
        self.is_triggered
    }

    /// The last message of the leader.
    pub(crate) fn message(&self) -> Message {
        self.message
    }

    /// Waits for the agreed start of a task without workers; `None` if the leader ends it before.
    pub(crate) fn wait_for_start(&mut self) -> Option<Nanos> {
        loop {
            match self.start() {
                Start::After(rest) if rest.is_zero() => break,
                Start::Now => break,
                Start::After(rest) => std::thread::sleep(rest.min(PROGRESS).as_duration()),
                Start::Wait if self.ends() => return None,
                Start::Wait => std::thread::sleep(PROGRESS.as_duration()),
            }
        }
        self.stage = Stage::Running;
        self.go
    }

    pub(crate) fn finished(&self, result: model::RunResult) -> MemberEnd {
        let started = self.go.filter(|_| self.stage == Stage::Running);
        MemberEnd { round: self.task.round, started, ended: now(), result }
    }

    /// Reads all orders that have arrived.
    pub(crate) fn listen(&mut self) {
        loop {
            match self.orders.look() {
                Ok(Input::Nothing) => return,
                Ok(Input::Instruction(Instruction::Go { at, round })) if round == self.task.round => self.go = Some(at),
                Ok(Input::Instruction(Instruction::Mark)) if self.message == Message::None => {
                    self.message = Message::Mark
                }
                Ok(Input::Instruction(Instruction::Until { ios, round })) if round == self.task.round => {
                    self.until = Some(ios)
                }
                Ok(Input::Instruction(Instruction::Report)) => self.wants_report = true,
                Ok(Input::Instruction(Instruction::Trigger)) => self.is_triggered = true,
                Ok(Input::Instruction(Instruction::Ping { number })) => {
                    let _ = say(&Answer::Pong { number, at: now() });
                }
                Ok(Input::Instruction(Instruction::Stop { .. } | Instruction::Bye)) => self.message = Message::Stop,
                Ok(Input::Instruction(_)) => {}
                // Orders that cannot be read are those of no leader.
                Ok(Input::End) | Err(_) => {
                    self.message = Message::Gone;
                    return;
                }
            }
        }
    }

    pub(crate) fn ends(&self) -> bool {
        matches!(self.message, Message::Stop | Message::Gone) || self.is_triggered
    }

    /// A sign of life. One that cannot be written is not an error: the end of the input follows.
    pub(crate) fn beat(&mut self) {
        let at = now();
        self.due = at.saturating_add(self.task.beat);
        let _ = say(&Answer::Beat(Beat { at, round: self.task.round, stage: self.stage, ..self.latest }));
    }

    /// A share of the files is written before the first run.
    pub(crate) fn filling(&mut self, done: Option<f64>) {
        self.latest.done = done;
        self.beat_if_due();
    }

    pub(crate) fn beat_if_due(&mut self) {
        if now() >= self.due {
            self.beat();
        }
    }

    fn progress(&mut self, progress: &Progress) {
        if self.go.is_none_or(|go| now() < go) {
            return;
        }
        self.stage = Stage::Running;
        let sum = |get: fn(&run::WorkerProgress) -> PerDirection<u64>| {
            let zero = [0_u64; 3];
            progress.workers.iter().map(get).fold(zero, |sum, of| {
                [sum[0].saturating_add(of.read), sum[1].saturating_add(of.write), sum[2].saturating_add(of.trim)]
            })
        };
        let (bytes, ios) = (sum(|worker| worker.bytes), sum(|worker| worker.ios));
        let is_first = self.latest.stage != Stage::Running;
        self.latest = Beat { stage: Stage::Running, bytes, ios, done: progress.done, ..self.latest };
        let is_wanted = self.message == Message::Mark || is_first;
        if self.message == Message::Mark {
            self.message = Message::None;
        }
        // Amounts belong to the moment at which they were read.
        if is_wanted || now() >= self.due {
            self.beat();
            if let Some(details) = &mut self.details {
                let _ = say(&Answer::Live(Box::new(details(progress))));
            }
        }
    }
}

impl Observer for Listener<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Some(lines) = self.lines.as_ref().and_then(|lines| lines(&event)) {
            let _ = say(&Answer::Text(lines));
        }
        match event {
            Event::Progress(progress) => self.progress(progress),
            Event::Ended(progress) => {
                self.progress(progress);
                self.beat();
                let beat = Beat { round: self.task.round, stage: self.stage, ..self.latest };
                self.pulse = Pulse::begin(beat, self.task.beat);
            }
            Event::Report(so_far) => {
                let _ = say(&Answer::Report(Box::new(so_far.clone())));
            }
            Event::LayoutProgress { done, total } => {
                self.latest.done = (total > 0).then(|| measure::float(done) / measure::float(total));
                self.beat_if_due();
            }
            Event::OutOfTime(ios) => {
                (self.stage, self.latest.out_of_time) = (Stage::Running, ios.iter().max().copied());
                self.beat();
            }
            Event::Finding(text) => {
                let _ = say(&Answer::Finding(text.to_owned()));
            }
            Event::Sampled { so_far, latest } if self.task.intervals => {
                let devices = so_far.devices.iter().map(|device| device.name.clone()).collect();
                let sampled = MemberInterval { began_unix_ms: so_far.began_unix_ms, devices, interval: latest.clone() };
                let _ = say(&Answer::Interval(Box::new(sampled)));
            }
            // It would wait for threads that never end; the leader gives it up.
            Event::Abandoned(result) => {
                let round = self.task.round;
                let finished = MemberEnd { round, started: self.go, ended: now(), result: result.clone() };
                let _ = say(&Answer::Done(Box::new(finished)));
                std::process::exit(1);
            }
            _ => {}
        }
    }

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        self.listen();
        if self.ends() {
            return Some(Request::End);
        }
        if let Some(ios) = self.until.take() {
            self.latest.out_of_time = None;
            return Some(Request::GoOnUntil(ios));
        }
        std::mem::take(&mut self.wants_report).then_some(Request::Report)
    }

    fn start(&mut self) -> Start {
        if self.stage == Stage::LayingOut {
            (self.stage, self.latest) = (Stage::Ready, Beat::default());
            let _ = say(&Answer::Ready { round: self.task.round });
        }
        self.listen();
        self.beat_if_due();
        match self.go.filter(|_| !self.ends()) {
            Some(at) => Start::After(at.saturating_sub(now())),
            None => Start::Wait,
        }
    }

    fn ends_layout(&mut self) -> bool {
        self.listen();
        self.beat_if_due();
        self.ends()
    }
}

/// Gives signs of life from a thread, once there are no workers: on a slow machine the result takes a while.
struct Pulse {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// `None` without a thread for it: the result may still be made in time.
    fn begin(beat: Beat, every: Nanos) -> Option<Self> {
        let (stop, stopped) = channel::<()>();
        let work = move || {
            while stopped.recv_timeout(every.as_duration()) == Err(RecvTimeoutError::Timeout) {
                let _ = say(&Answer::Beat(Beat { at: now(), ..beat }));
            }
        };
        let thread = std::thread::Builder::new().spawn(work).ok()?;
        Some(Pulse { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It says nothing after this: the result follows.
            let _ = thread.join();
        }
    }
}

/// Time between two tasks in which a leader that says nothing is not gone.
const PAUSE: Nanos = Nanos::from_secs(60);
/// Length of the longest order in bytes: a task with its job files.
const LONGEST_ORDER: usize = 128 << 20;

/// The orders in standard input, line by line.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    read: Vec<u8>,
    /// Length of the part of `read` that has no line end.
    searched: usize,
    /// Time of the latest order, and the silence after which the leader is gone, if it has said one.
    heard: Nanos,
    silence: Option<Nanos>,
}

pub(crate) enum Input {
    Instruction(Instruction),
    Nothing,
    /// The leader has closed it.
    End,
}

impl Orders {
    /// Waits for an instruction. A leader that says nothing for too long is gone: a connection to a machine without power
    /// or network may never end.
    pub(crate) fn wait(&mut self) -> Result<Input, Failure> {
        self.next(None, Nanos::ZERO)
    }

    /// The same for some time, between two tasks: the leader may have other work there.
    pub(crate) fn within(&mut self, time: Nanos) -> Result<Input, Failure> {
        self.next(Some(now().saturating_add(time)), PAUSE)
    }

    /// Takes an instruction that has arrived.
    pub(crate) fn look(&mut self) -> Result<Input, Failure> {
        self.next(Some(Nanos::ZERO), Nanos::ZERO)
    }

    fn next(&mut self, until: Option<Nanos>, least_silence: Nanos) -> Result<Input, Failure> {
        loop {
            if let Some(end) = self.read[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=self.searched + end).collect();
                self.searched = 0;
                let instruction = cluster::instruction(String::from_utf8_lossy(&line).trim()).map_err(|error| {
                    let remedy = "plumb starts members itself: plumb cluster --hosts LIST fio ...";
                    Failure::new(format!("cluster member: {error}; {remedy}"))
                })?;
                self.heard = now();
                if let Instruction::Alive { silence } = instruction {
                    self.silence = Some(silence);
                }
                return Ok(Input::Instruction(instruction));
            }
            self.searched = self.read.len();
            if self.read.len() > LONGEST_ORDER {
                return Err(Failure::new("cluster member: a line without end"));
            }
            let stdin = std::io::stdin();
            let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
            let alone = self.silence.map(|silence| self.heard.saturating_add(silence.max(least_silence)));
            let wake = [until, alone].into_iter().flatten().min();
            match poll(&mut asked, wake.map(time_until).as_ref()) {
                Ok(0) if alone.is_some_and(|at| now() >= at) => return Ok(Input::End),
                Ok(0) if until.is_some_and(|at| now() >= at) => return Ok(Input::Nothing),
                Ok(0) => continue,
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut bytes = [0; 1 << 16];
            match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) => return Ok(Input::End),
                Ok(count) => self.read.extend_from_slice(&bytes[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn time_until(at: Nanos) -> Timespec {
    let left = at.saturating_sub(now()).get();
    let (seconds, rest) = (left / Nanos::SECOND.get(), left % Nanos::SECOND.get());
    Timespec { tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX), tv_nsec: i64::try_from(rest).unwrap_or_default() }
}

/// Sends an answer to the leader.
pub(crate) fn say(answer: &Answer) -> Result<(), Failure> {
    Output::stdout().write(&cluster::line(answer)?)
}
