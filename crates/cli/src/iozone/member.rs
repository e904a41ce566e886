//! A member of a cluster: runs one child, controlled through standard input, and writes its answers to standard output.

use super::child_files;
use super::cluster::{Answer, Order, Task};
use super::latency::{self, ChildRange, Whose};
use crate::failure::Failure;
use crate::output::Output;
use iozone::{Pass, Scene, Test};
use measure::Nanos;
use model::{PassMark, RunResult};
use plan::Race;
use run::{Event, Observer, Progress, Request, RunOptions, WorkerState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::path::Path;

/// Interval at which standard input and the worker's progress are polled.
const POLL_INTERVAL: Nanos = Nanos::from_millis(5);
/// Maximum length of a request in bytes.
const LONGEST_REQUEST: usize = 1 << 20;

/// Processes the request in the first line of standard input. The status is 0 even after a failure, which the answer
/// contains.
pub(crate) fn serve() -> Result<u8, Failure> {
    let line =
        line()?.ok_or_else(|| Failure::new("iozone --member: started by plumb itself, on the machines of -+m"))?;
    let order: Order =
        serde_json::from_str(&line).map_err(|error| Failure::new(format!("iozone --member: {error}")))?;
    let answer = match order {
        Order::Remove { directory, file } => {
            let path = Path::new(&directory).join(file);
            let gone = if path.is_file() { std::fs::remove_file(&path) } else { Ok(()) };
            gone.map_or_else(|error| Answer::Failed { why: format!("{}: {error}", path.display()) }, |()| Answer::Ready)
        }
        Order::Run(task) => match carry_out(&task)? {
            Some(answer) => answer,
            // The leader has exited.
            None => return Ok(0),
        },
    };
    say(&answer).map(|()| 0)
}

fn carry_out(task: &Task) -> Result<Option<Answer>, Failure> {
    let failed = |why: String| Ok(Some(Answer::Failed { why }));
    if let Err(error) = std::env::set_current_dir(&task.directory) {
        return failed(format!("{}: {error}", task.directory));
    }
    let (Ok(settings), Some(test)) = (iozone::read("iozone", &task.words), Test::of_number(task.test.into())) else {
        return failed("this version of plumb cannot run these words; use one version on all machines".to_owned());
    };
    let was_there = task.file.exists();
    let cpus = crate::fio::Machine::here().cpus;
    let scene = Scene {
        file: task.file.clone(),
        is_there: was_there,
        size_kb: task.size_kb,
        record_kb: task.record_kb,
        latency_log: latency::stem(&settings, task.index),
        measures_latency: true,
        cpus,
    };
    let pass = Pass { test, number: task.pass };
    let mut plan = iozone::throughput_plan(&settings, pass, &vec![scene; task.count as usize]);
    plan.jobs = plan.jobs.into_iter().skip(task.index as usize).take(1).collect();
    let race = plan.jobs.first().and_then(|job| job.pass.as_ref()).map_or(Race::None, |pass| pass.race);
    say(&Answer::Ready)?;
    if line()?.as_deref() != Some("go") {
        return Ok(None);
    }
    let options = RunOptions { progress_interval: Some(POLL_INTERVAL), ..RunOptions::default() };
    let mut listener = Listener {
        index: task.index,
        race,
        message: Message::None,
        began: None,
        reached: Reached::default(),
        marked: None,
    };
    let start = super::began();
    match run::execute(&plan, &options, &mut listener) {
        Err(error) => failed(error.to_string()),
        Ok(mut result) => {
            if listener.message == Message::Gone {
                if !was_there {
                    // There is no leader to report an error to.
                    let _ = std::fs::remove_file(&task.file);
                }
                return Ok(None);
            }
            listener.mark(&mut result);
            let range = ChildRange { first: task.index, count: task.count };
            let mut kept = latency::convert(&settings, pass, &result.jobs, (Whose::Child, range));
            if kept.is_ok() && child_files::are_wanted(&settings) {
                kept = child_files::write(&settings, pass, &start, (range, &result.jobs));
            }
            if let Err(error) = kept {
                return failed(error.message().to_owned());
            }
            Ok(Some(Answer::Done { result: Box::new(result), was_there }))
        }
    }
}

/// The last message from the leader since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    None,
    /// Another member has finished.
    Stop,
    /// The leader has exited.
    Gone,
}

/// Progress of the worker.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    elapsed: Nanos,
    bytes: u64,
    ios: u64,
}

/// Reads the leader's messages while the worker runs.
struct Listener {
    /// Number of the child.
    index: u32,
    race: Race,
    message: Message,
    /// Time at which the worker was first seen running.
    began: Option<Nanos>,
    reached: Reached,
    marked: Option<Reached>,
}

impl Listener {
    /// Sets the result's mark to the progress at the time of the leader's message, if the worker continued after it.
    fn mark(&self, result: &mut RunResult) {
        let (Some(marked), Some(began)) = (self.marked, self.began) else { return };
        for pass in result.jobs.iter_mut().filter_map(|job| job.pass.as_mut()) {
            let at = pass.from.saturating_add(marked.elapsed.saturating_sub(began));
            if at < pass.until && pass.mark.is_none() {
                pass.mark = Some(PassMark { at, bytes: marked.bytes, ios: marked.ios });
            }
        }
    }
}

impl Observer for Listener {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Progress(progress) => self.progress(progress),
            // The remote shell forwards it to the leader's standard error.
            Event::Finding(text) => {
                let _ = writeln!(std::io::stderr(), "plumb: child {}: {}", self.index, formats::printable::lines(text));
            }
            _ => {}
        }
    }

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        if self.message == Message::None && is_waiting() {
            self.message = if line().ok().flatten().is_some() { Message::Stop } else { Message::Gone };
        }
        // The message may arrive before this worker has finished its first record. It is then deferred until the first
        // record is done, because every child completes at least one.
        let has_begun = self.reached.ios > 0;
        if self.message == Message::Stop && self.race == Race::Mark && has_begun && self.marked.is_none() {
            self.marked = Some(self.reached);
        }
        let ends = match self.message {
            Message::None => false,
            Message::Stop => self.race == Race::Stop && has_begun,
            Message::Gone => true,
        };
        ends.then_some(Request::End)
    }
}

impl Listener {
    fn progress(&mut self, progress: &Progress) {
        let Some(worker) = progress.workers.first() else { return };
        if worker.state == WorkerState::Running && self.began.is_none() {
            self.began = Some(progress.elapsed);
        }
        let (bytes, ios) = (worker.bytes.iter(), worker.ios.iter());
        self.reached = Reached {
            elapsed: progress.elapsed,
            bytes: bytes.map(|(_, bytes)| *bytes).sum(),
            ios: ios.map(|(_, ios)| *ios).sum(),
        };
    }
}

/// True if the leader has sent data or has exited.
fn is_waiting() -> bool {
    let stdin = std::io::stdin();
    let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0)
}

/// Reads a line byte by byte: bytes after it must stay in the pipe, because `is_waiting` polls the pipe. `None` at the
/// end of the input.
fn line() -> Result<Option<String>, Failure> {
    let stdin = std::io::stdin();
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match rustix::io::read(&stdin, &mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) if byte[0] == b'\n' => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            Ok(_) if line.len() < LONGEST_REQUEST => line.push(byte[0]),
            Ok(_) => return Err(Failure::new("iozone --member: a line without end")),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Failure::new(format!("iozone --member: standard input: {error}"))),
        }
    }
}

fn say(answer: &Answer) -> Result<(), Failure> {
    let text = serde_json::to_string(answer)?;
    Output::stdout().write(&(text + "\n"))
}
