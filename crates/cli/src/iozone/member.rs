//! A member of a cluster of iozone's: runs one child of a test, or removes its file.

use super::child_files::{self, ChildRange, Whose, began};
use crate::failure::Failure;
use crate::input;
use crate::members::carrier::Place;
use crate::members::lead::Members;
use crate::members::lead::NoView;
use crate::members::listener::Orders;
use crate::members::listener::{Listener, Message};
use crate::members::member::session;
use crate::members::program::{self, Member, Needs, Program, Rights, Tests, UnusedOptions, Work};
use clap::{ArgMatches, Args, Command};
use cluster::{IozoneTask, IozoneWork, LeaderCommand, MemberEnd, Task};
use iozone::{Pass, Scene, Settings, Sizes, Test};
use measure::Nanos;
use model::{PassMark, RunResult};
use plan::{Plan, Race};
use run::{Event, Observer, Progress, Request, RunOptions, Start, WorkerState};
use session::Run;
use session::arguments::SessionArgs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Interval at which the leader's orders and the worker's progress are polled.
const POLL_INTERVAL: Nanos = Nanos::from_millis(5);

/// The member, with the file of its child if it is to be removed at the end.
#[derive(Default)]
pub(super) struct ChildMember {
    file: Option<OwnFile>,
}

impl Member for ChildMember {
    fn takes(&self, command: &LeaderCommand) -> bool {
        matches!(command, LeaderCommand::Iozone(_))
    }

    fn carry_out(&mut self, task: &Task, rights: &Rights, orders: &mut Orders) -> Result<Option<MemberEnd>, Failure> {
        rights.check_trusted()?;
        match &task.command {
            LeaderCommand::Iozone(child) => carry_out(task, child, &mut self.file, orders),
            _ => Err(Failure::new("the leader sent the task of another program")),
        }
    }
}

/// Carries out a task. `None` if the leader is gone.
fn carry_out(
    task: &Task,
    child: &IozoneTask,
    own: &mut Option<OwnFile>,
    orders: &mut Orders,
) -> Result<Option<MemberEnd>, Failure> {
    let file = PathBuf::from(&child.file);
    match child.work {
        IozoneWork::Remove => {
            let path = Path::new(&task.directory).join(file);
            if path.is_file() {
                std::fs::remove_file(&path).map_err(|error| Failure::at(&path, error))?;
            }
            let mut listener = Listener::new(task, orders);
            listener.wait_for_start();
            Ok(Some(listener.finished(RunResult::default())))
        }
        IozoneWork::Test { test, pass, size_kb, record_kb } => {
            // Its name may be relative.
            if task.round == 0 {
                std::env::set_current_dir(&task.directory)
                    .map_err(|error| Failure::new(format!("{}: {error}", task.directory)))?;
            }
            if child.removes && own.is_none() && !file.exists() {
                *own = Some(OwnFile(std::path::absolute(&file)?));
            }
            let (Ok(settings), Some(test)) = (iozone::read("iozone", &task.words), Test::of_number(test.into())) else {
                let why = "this version of plumb cannot run these words; use one version on all machines";
                return Err(Failure::new(why));
            };
            let sizes = Sizes { file_kb: size_kb, record_kb };
            run_child(task, &settings, Pass { test, number: pass }, &file, sizes, orders)
        }
    }
}

/// A file that is removed when its member exits.
struct OwnFile(PathBuf);

impl Drop for OwnFile {
    fn drop(&mut self) {
        // It may not have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn run_child(
    task: &Task,
    settings: &Settings,
    pass: Pass,
    file: &Path,
    sizes: Sizes,
    orders: &mut Orders,
) -> Result<Option<MemberEnd>, Failure> {
    let (index, count) = (task.rank, task.members);
    let was_there = file.exists();
    let scene = Scene {
        file: file.to_owned(),
        is_there: was_there,
        sizes,
        latency_log: child_files::latency_stem(settings, index),
        measures_latency: true,
        cpus: session::machine::Machine::here().cpus,
    };
    let mut plan = iozone::throughput_plan(settings, pass, &vec![scene; count as usize]);
    plan.jobs = plan.jobs.into_iter().skip(index as usize).take(1).collect();
    let options = RunOptions { progress_interval: Some(POLL_INTERVAL), ..RunOptions::default() };
    let mut child = Child::new(Listener::new(task, orders), &plan);
    let start = began();
    let mut session = session(task, &SessionArgs { no_calibrate: true, ..SessionArgs::default() })?;
    let mut result = session.execute(Run { title: None, plan: &plan, options, layers: false }, &mut child)?;
    let finished = child.listener.finished(RunResult::default());
    let is_gone = child.listener.message() == Message::Gone;
    let range = ChildRange { first: index, count };
    if is_gone || finished.started.is_none() {
        if !was_there {
            // What the layout made; there may be no leader to report an error to.
            let _ = std::fs::remove_file(file);
        }
        // Also of a child that has to end before its first I/O.
        child_files::convert_latencies(settings, pass, &result.jobs, Whose::Child, range)?;
        return Ok((!is_gone).then_some(MemberEnd { result, ..finished }));
    }
    child.mark(&mut result);
    child_files::convert_latencies(settings, pass, &result.jobs, Whose::Child, range)?;
    if child_files::are_wanted(settings) {
        child_files::write(settings, pass, &start, range, &result.jobs)?;
    }
    Ok(Some(MemberEnd { result, ..finished }))
}

/// Progress of the worker.
#[derive(Clone, Copy, Debug, Default)]
struct Amounts {
    elapsed: Nanos,
    bytes: u64,
    ios: u64,
}

/// One child: a member that ends, or marks its amounts, when another one has finished.
struct Child<'a> {
    listener: Listener<'a>,
    race: Race,
    others: Others,
    /// Time at which the worker was first seen running.
    began: Option<Nanos>,
    reached: Amounts,
    marked: Option<Amounts>,
}

/// The other children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    AtWork,
    /// One of them has finished.
    Finished,
}

impl<'a> Child<'a> {
    fn new(listener: Listener<'a>, plan: &Plan) -> Self {
        let race = plan.jobs.first().and_then(|job| job.pass.as_ref()).map_or(Race::None, |pass| pass.race);
        Child { listener, race, others: Others::AtWork, began: None, reached: Amounts::default(), marked: None }
    }

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

    fn progress(&mut self, progress: &Progress) {
        let Some(worker) = progress.workers.first() else { return };
        if worker.state == WorkerState::Running && self.began.is_none() {
            self.began = Some(progress.elapsed);
        }
        let (bytes, ios) = (worker.bytes.iter(), worker.ios.iter());
        self.reached = Amounts {
            elapsed: progress.elapsed,
            bytes: bytes.map(|(_, bytes)| *bytes).sum(),
            ios: ios.map(|(_, ios)| *ios).sum(),
        };
    }

    /// Takes note of the leader's message that another child has finished, before it is answered.
    fn note(&mut self) {
        if self.listener.message() == Message::Mark {
            self.others = Others::Finished;
        }
    }
}

impl Observer for Child<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Progress(progress) = &event {
            self.progress(progress);
        }
        self.listener.event(event);
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        let asked = self.listener.request(elapsed);
        self.note();
        // The message may arrive before this worker has finished its first record. It is then deferred until the first
        // record is done, because every child completes at least one.
        let is_late = self.others == Others::Finished && self.reached.ios > 0;
        if is_late && self.race == Race::Mark && self.marked.is_none() {
            self.marked = Some(self.reached);
        }
        asked.or((is_late && self.race == Race::Stop).then_some(Request::End))
    }

    fn start(&mut self) -> Start {
        let start = self.listener.start();
        self.note();
        start
    }

    fn ends_layout(&mut self) -> bool {
        self.listener.ends_layout()
    }
}

#[derive(Debug)]
pub(crate) struct Throughput;

/// Run iozone's throughput tests with a member for each child
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb cluster --hosts 'node[1-4]' iozone -i 0 -i 1 -s 1g          a member for each child
  plumb iozone -h                 iozone's own options")]
struct IozoneArgs {
    /// iozone's own options; -t is the number of members
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Why an option of results is not for iozone.
const OWN_OUTPUT: &str = "its output is iozone's; its own options say where results go";

impl Program for Throughput {
    fn command(&self) -> Command {
        IozoneArgs::augment_args(Command::new("iozone"))
    }

    fn unused(&self) -> UnusedOptions {
        UnusedOptions {
            by: "iozone",
            options: &[
                ("--shift", "children of iozone have their own files"),
                ("--spread", "children of iozone have their own files"),
                ("--repeat", OWN_OUTPUT),
                ("--wear-out", "children of iozone end together, or mark their amounts, as its options say"),
                ("--partial", "a test of iozone has the children that it was asked for"),
                ("--keep", OWN_OUTPUT),
                ("--stream", OWN_OUTPUT),
                ("--per", "iozone's -C shows each child"),
                ("--page", OWN_OUTPUT),
                ("--json", "give it to iozone, after its name"),
                ("--output", OWN_OUTPUT),
                ("--start-within", OWN_OUTPUT),
            ],
        }
    }

    fn work(&self, matches: &ArgMatches) -> Result<Work, Failure> {
        let args: IozoneArgs = program::arguments(matches)?;
        Ok(Work::Tests(Box::new(Children { words: input::words(&args.words)? })))
    }

    fn member(&self) -> Box<dyn Member> {
        Box::new(ChildMember::default())
    }
}

struct Children {
    words: Vec<String>,
}

impl Tests for Children {
    fn needs(&self, members: u32) -> Result<Needs, Failure> {
        super::check_words(&self.words, members)?;
        Ok(Needs::default())
    }

    fn run(&self, members: &mut Members) -> Result<u8, Failure> {
        let child = |place: &Place| iozone::Member {
            host: place.host(),
            directory: members.directory.clone(),
            program: String::new(),
            file: None,
        };
        let children: Vec<iozone::Member> = members.places.iter().map(child).collect();
        let status = super::run_by(&self.words, children, members);
        members.end(&mut NoView);
        status
    }
}
