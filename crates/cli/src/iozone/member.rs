//! A member of a cluster: one child, led through standard input and told of through standard output.

use super::child_files;
use super::cluster::{Answer, Order, Task};
use super::latency::{self, Crew, Whose};
use crate::failure::Failure;
use crate::output::Output;
use iozone::{Pass, Scene};
use job::plan::Race;
use measure::Nanos;
use model::{PassMark, RunResult};
use run::{Observer, Progress, RunOptions, WorkerState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How often the leader's word and the state of the worker are looked at.
const LOOK: Nanos = Nanos::from_millis(5);
/// The longest order: thousands of words.
const LONGEST: usize = 1 << 20;

/// Does what the first line of standard input asks for; 0 whatever comes of it, because the leader is told.
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
            // The leader is gone.
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
    let Ok(settings) = iozone::read("iozone", &task.words) else {
        return failed("these words are no run for this version of plumb; use one version on all machines".to_owned());
    };
    let was_there = task.file.exists();
    let cpus = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
    let scene = Scene {
        file: task.file.clone(),
        is_there: was_there,
        size_kb: task.size_kb,
        record_kb: task.record_kb,
        latency_log: latency::stem(&settings, task.index),
        cpus,
    };
    let pass = Pass { test: task.test, number: task.pass };
    let mut plan = iozone::throughput_plan(&settings, pass, &vec![scene; task.count as usize]);
    plan.jobs = plan.jobs.into_iter().skip(task.index as usize).take(1).collect();
    let race = plan.jobs.first().and_then(|job| job.pass.as_ref()).map_or(Race::None, |pass| pass.race);
    say(&Answer::Ready)?;
    if line()?.as_deref() != Some("go") {
        return Ok(None);
    }
    let options = RunOptions {
        tell_to: None,
        system_root: PathBuf::from("/"),
        read_only: false,
        progress_interval: Some(LOOK),
        device_interval: Nanos::from_millis(500),
    };
    let mut listener =
        Listener { index: task.index, race, word: Word::None, began: None, seen: Seen::default(), marked: None };
    let start = super::began();
    match run::execute(&plan, &options, &mut listener) {
        Err(error) => failed(error.to_string()),
        Ok(mut result) => {
            if listener.word == Word::Gone {
                if !was_there {
                    // Nobody is left to be told.
                    let _ = std::fs::remove_file(&task.file);
                }
                return Ok(None);
            }
            listener.mark(&mut result);
            let crew = Crew { first: task.index, count: task.count };
            let mut kept = latency::convert(&settings, pass, &result.jobs, (Whose::Child, crew));
            if kept.is_ok() && child_files::are_wanted(&settings) {
                kept = child_files::write(&settings, pass, &start, (crew, &result.jobs));
            }
            if let Err(error) = kept {
                return failed(error.message().to_owned());
            }
            Ok(Some(Answer::Done { result: Box::new(result), was_there }))
        }
    }
}

/// What the leader has said since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    None,
    /// Another member is done.
    Stop,
    /// It is gone.
    Gone,
}

/// What the worker had done at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    elapsed: Nanos,
    bytes: u64,
    ios: u64,
}

/// Listens to the leader while the worker is at work.
struct Listener {
    /// Which child it is.
    index: u32,
    race: Race,
    word: Word,
    /// When the worker was first seen at work.
    began: Option<Nanos>,
    seen: Seen,
    marked: Option<Seen>,
}

impl Listener {
    /// Notes in the result what was reached when the leader's word came, where the worker went on.
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
    /// The remote shell carries it to the leader's standard error.
    fn finding(&mut self, text: &str) {
        let _ = writeln!(std::io::stderr(), "plumb: child {}: {}", self.index, formats::printable::lines(text));
    }

    fn progress(&mut self, progress: &Progress) {
        let Some(worker) = progress.workers.first() else { return };
        if worker.state == WorkerState::Running && self.began.is_none() {
            self.began = Some(progress.elapsed);
        }
        let (bytes, ios) = (worker.bytes.iter(), worker.ios.iter());
        self.seen = Seen {
            elapsed: progress.elapsed,
            bytes: bytes.map(|(_, bytes)| *bytes).sum(),
            ios: ios.map(|(_, ios)| *ios).sum(),
        };
    }

    fn wants_end(&mut self, _elapsed: Nanos) -> bool {
        if self.word == Word::None && is_waiting() {
            self.word = if line().ok().flatten().is_some() { Word::Stop } else { Word::Gone };
        }
        // The word may come before the first record. Each member has one, as each child of one machine has.
        let has_begun = self.seen.ios > 0;
        if self.word == Word::Stop && self.race == Race::Mark && has_begun && self.marked.is_none() {
            self.marked = Some(self.seen);
        }
        match self.word {
            Word::None => false,
            Word::Stop => self.race == Race::Stop && has_begun,
            Word::Gone => true,
        }
    }
}

/// Whether the leader has said something, or is gone.
fn is_waiting() -> bool {
    let stdin = std::io::stdin();
    let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0)
}

/// A line of the leader, read byte by byte: what follows it must stay where `is_waiting` sees it. `None` at the end.
fn line() -> Result<Option<String>, Failure> {
    let stdin = std::io::stdin();
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match rustix::io::read(&stdin, &mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) if byte[0] == b'\n' => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            Ok(_) if line.len() < LONGEST => line.push(byte[0]),
            Ok(_) => return Err(Failure::new("iozone --member: a line without end")),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Failure::new(format!("iozone --member: standard input: {error}"))),
        }
    }
}

fn say(answer: &Answer) -> Result<(), Failure> {
    let text = serde_json::to_string(answer).map_err(|error| Failure::new(error.to_string()))?;
    Output::stdout().write(&(text + "\n"))
}
