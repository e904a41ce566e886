//! A member: carries out the leader's orders, which come through standard input, and answers on standard output.

use super::clock::{PROGRAM, now};
use super::job;
use super::joining;
use super::member_survey::{Filled, MemberSurvey};
use super::served::{self, Rights};
use super::states::{States, Trigger};
use super::trigger_command;
use crate::failure::Failure;
use crate::fio::eta;
use crate::iozone::member::OwnFile;
use crate::output::{Output, print_error};
use crate::safe_files::{AtomicFile, Durability};
use cluster::{
    Answer, Beat, Facts, Finished, LeaderCommand, Live, MemberResult, Order, PROTOCOL, Sampled, Stage, SurveyTask, Task,
};
use formats::fio::status_line::RateLimit;
use measure::{Nanos, PerDirection};
use monitor::Pace;
use plan::Plan;
use run::{Calibrating, Event, Monitoring, Observer, Progress, Request, RunOptions, Start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::path::Path;

/// Interval at which the workers' counters are read: how exactly amounts belong to a moment.
const PROGRESS: Nanos = Nanos::from_millis(25);
/// Length of the longest order in bytes: a task with its job files.
const LONGEST_ORDER: usize = 128 << 20;

/// Serves until the leader lets it go, or is gone.
pub(crate) fn serve(rights: &Rights, parent: Option<i32>) -> Result<u8, Failure> {
    if let Some(parent) = parent {
        // A server that is killed takes its members with it, and these their workers.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // It may have been killed before that.
        if rustix::process::getppid().map(rustix::process::Pid::as_raw_pid) != Some(parent) {
            return Ok(1);
        }
    }
    let mut orders = Orders::default();
    say(&Answer::Hello(Box::new(facts())))?;
    // Number of the latest round, and the time between two signs of life after it.
    let mut latest: Option<(u32, Nanos)> = None;
    let mut kept = Kept::default();
    loop {
        let received = match latest {
            None => orders.wait()?,
            Some((_, beat)) => orders.within(beat)?,
        };
        match received {
            Received::Order(Order::Ping { number }) => say(&Answer::Pong { number, at: now() })?,
            Received::Order(Order::Prepare(task)) if latest.is_none_or(|(round, _)| round < task.round) => {
                latest = Some((task.round, task.beat));
                match carry_out(&task, &mut kept, rights, &mut orders) {
                    Ok(Some(finished)) => {
                        let done = Answer::Done(Box::new(finished));
                        if let (Err(_), Answer::Done(finished)) = (say(&done), done) {
                            // The leader has gone meanwhile.
                            return if rights.keep_results() {
                                keep(&task, finished.result).map(|()| rights.status_without_leader())
                            } else {
                                Ok(rights.status_without_leader())
                            };
                        }
                    }
                    // The leader is gone.
                    Ok(None) => return Ok(rights.status_without_leader()),
                    Err(failure) => {
                        say(&Answer::Failed { why: failure.message().to_owned() })?;
                        return Ok(1);
                    }
                }
            }
            Received::Nothing => {
                let round = latest.map(|(round, _)| round).unwrap_or_default();
                say(&Answer::Beat(Beat { at: now(), round, stage: Stage::Resting, ..Beat::default() }))?;
            }
            Received::Order(
                Order::Prepare(_)
                | Order::Go { .. }
                | Order::Mark
                | Order::Until { .. }
                | Order::Report
                | Order::Trigger,
            ) => {}
            Received::Order(Order::Stop { .. } | Order::Bye) => return Ok(0),
            Received::End => return Ok(rights.status_without_leader()),
        }
    }
}

fn facts() -> Facts {
    let root = Path::new("/");
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let machine = run::machine(root);
    let mut named = machine.clone();
    crate::result_file::name_in(&mut named, None);
    // One that is bound to some processors has fewer than the machine.
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let is_processor = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    let online = u32::try_from(stat.lines().filter(is_processor).count()).unwrap_or(u32::MAX);
    Facts {
        protocol: PROTOCOL,
        program: PROGRAM.to_owned(),
        host: named.host.unwrap_or_default(),
        boot_id: boot_id.map(|text| text.trim().to_owned()),
        kernel: machine.kernel,
        architecture: std::env::consts::ARCH.to_owned(),
        cpus: online.max(machine.cpus),
        allowed_cpus: sys::processes::placement::affinity().unwrap_or_default(),
        link: sys::machine::link::link(root).map(|link| cluster::Link { device: link.device, megabits: link.megabits }),
    }
}

/// Runs a task. `None` if the leader is gone.
fn carry_out(task: &Task, kept: &mut Kept, rights: &Rights, orders: &mut Orders) -> Result<Option<Finished>, Failure> {
    let prepared = match &task.command {
        LeaderCommand::Iozone(child) => {
            rights.check_trusted()?;
            return crate::iozone::member::carry_out(task, child, &mut kept.child, orders);
        }
        LeaderCommand::Cluster => {
            rights.check_cluster()?;
            enter(task)?;
            let invocation = match rights.limits() {
                Some(allowed) => joining::with_remedy(job::untrusted_invocation(task, allowed))?,
                None => job::invocation(task)?,
            };
            let plan = job::plan(&invocation, task)?;
            Prepared { read_only: invocation.read_only, warnings: warnings(&invocation), plan, served: None }
        }
        LeaderCommand::Client(client) => {
            rights.check_trigger(client.trigger.as_ref().and_then(|trigger| trigger.command.as_deref()))?;
            let invocation = served::invocation(task, client.remote_config.as_deref(), rights)?;
            let (mut plan, logs) = served::plan(&invocation, rights)?;
            let states = States::aside(&mut plan, client)?;
            let (read_only, warnings) = (invocation.read_only, warnings(&invocation));
            Prepared { read_only, warnings, plan, served: Some(Served { invocation, logs, states }) }
        }
        LeaderCommand::Trigger { command } => {
            rights.check_trigger(Some(command))?;
            return trigger_command::carry_out(task, command, orders);
        }
        LeaderCommand::Survey(survey) => {
            rights.check_trusted()?;
            enter(task)?;
            match test_of(task, survey, kept, orders)? {
                Some(plan) => Prepared { read_only: false, warnings: Vec::new(), plan, served: None },
                None => return Ok(None),
            }
        }
    };
    let mut listener = Listener::new(task, Some(&prepared.plan), orders);
    listener.beat();
    if let Some(served) = &prepared.served {
        served::lines_before(&served.invocation, &prepared.plan).into_iter().for_each(|lines| listener.text(lines));
    }
    let calibration = if prepared.served.is_some() { Calibrating::Skipped } else { Calibrating::Brief };
    let options = RunOptions { read_only: prepared.read_only, calibration, ..options() };
    let options = match task.intervals {
        true => RunOptions { monitoring: Monitoring::Full, pace: Pace::Constant, ..options },
        false => options,
    };
    let run = run::execute(&prepared.plan, &options, &mut listener);
    let (message, finished) = (listener.message, listener.finished(model::RunResult::default()));
    let trigger = listener.trigger;
    let mut result = run?;
    result.environment.other_members = Some(task.others_on_host);
    complete(&mut result, prepared.warnings);
    if let Some(served) = &prepared.served {
        served.states.hand_over(trigger, &mut |answer| say(&answer))?;
    }
    if message == Message::Gone {
        return if rights.keep_results() { keep(task, result).map(|()| None) } else { Ok(None) };
    }
    if let Some(served) = &prepared.served {
        served.logs.send(&mut |answer| say(&answer))?;
    }
    Ok(Some(Finished { result, ..finished }))
}

/// A task that can be run.
struct Prepared {
    plan: Plan,
    read_only: bool,
    warnings: Vec<String>,
    served: Option<Served>,
}

/// The part of a task that only clients have.
struct Served {
    invocation: fio::Invocation,
    logs: served::Logs,
    states: States,
}

/// The state of a member from one round to the next.
#[derive(Default)]
struct Kept {
    survey: Option<MemberSurvey>,
    child: Option<OwnFile>,
}

fn options() -> RunOptions {
    RunOptions { progress_interval: Some(PROGRESS), ..RunOptions::default() }
}

/// The Plan of a survey's test, once its target is open and filled. `None` if the leader ended that.
fn test_of(task: &Task, survey: &SurveyTask, kept: &mut Kept, orders: &mut Orders) -> Result<Option<Plan>, Failure> {
    let finding = |remark: &String| say(&Answer::Finding(remark.clone()));
    if kept.survey.is_none() {
        let mut open = MemberSurvey::open(task, survey)?;
        open.remarks().iter().try_for_each(finding)?;
        let filled = open.fill(&mut |plan| {
            let mut filling = Filling(Listener::new(task, None, orders));
            let mut result = run::execute(plan, &options(), &mut filling)?;
            // To the writing, an order to end is a signal.
            let asked = filling.0.ends().then_some(rustix::process::Signal::TERM.as_raw());
            result.ended_by_signal = result.ended_by_signal.or(asked);
            Ok(result)
        })?;
        match filled {
            Filled::Whole(remarks) => remarks.iter().try_for_each(finding)?,
            Filled::Interrupted => return Ok(None),
        }
        kept.survey = Some(open);
    }
    kept.survey.as_ref().map(|open| open.plan(survey)).transpose()
}

/// Gives signs of life while files are written before the first test.
struct Filling<'a>(Listener<'a>);

impl Observer for Filling<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Progress(progress) = event {
            self.0.latest.done = progress.done;
            self.0.beat_if_due();
        }
    }

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        self.0.listen();
        self.0.ends().then_some(Request::End)
    }
}

fn warnings(invocation: &fio::Invocation) -> Vec<String> {
    invocation.warnings.iter().map(|warning| warning.title.clone()).collect()
}

/// Goes to the directory of the members, once: its name may be relative.
fn enter(task: &Task) -> Result<(), Failure> {
    if task.round > 0 {
        return Ok(());
    }
    std::env::set_current_dir(&task.directory).map_err(|error| {
        let why = "name a directory that all members have with --directory";
        Failure::new(format!("{}: {error}; {why}", task.directory))
    })
}

/// Adds to a result what is known of the run as a whole.
fn complete(result: &mut model::RunResult, warnings: Vec<String>) {
    result.warnings = warnings;
    crate::result_file::name_host(result, None);
    analysis::judge(result);
    result.surroundings = Some(Box::new(crate::result_file::surroundings(&result.monitored)));
}

/// Writes the result of a member whose leader is gone. Without the leader's clock its times are not those of the others.
fn keep(task: &Task, result: model::RunResult) -> Result<(), Failure> {
    if !result.has_ios() {
        return Ok(());
    }
    let (rank, members, facts) = (task.rank, task.members, facts());
    let place = facts.host.clone();
    let (facts, result, sharing) = (Some(facts), Some(result), task.sharing);
    let member = MemberResult { rank, members, place, facts, sharing, result, ..MemberResult::default() };
    let Some(text) = member.to_document()? else { return Ok(()) };
    let mut file = AtomicFile::numbered(Path::new("."), &format!("plumb-cluster-member-{rank:03}"))?;
    file.write(text.as_bytes(), Durability::Synced)?;
    let kept = file.path().display();
    print_error(&format!("plumb: cluster: member {rank}: the leader is gone; the result of this member is in {kept}"));
    Ok(())
}

/// The last message of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    None,
    /// Amounts are wanted.
    Mark,
    Stop,
    Gone,
}

/// A result so far that the leader has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportWanted {
    Yes,
    No,
}

/// Reads the leader's orders while the job runs, and gives signs of life.
pub(crate) struct Listener<'a> {
    task: &'a Task,
    /// The plan, for what a client shows of it.
    plan: Option<&'a Plan>,
    orders: &'a mut Orders,
    stage: Stage,
    /// The agreed start on this machine's clock.
    go: Option<Nanos>,
    message: Message,
    report: ReportWanted,
    trigger: Trigger,
    /// Time of the next beat.
    due: Nanos,
    latest: Beat,
    /// The progress at the beat before.
    before: Option<Progress>,
    /// I/Os to which all workers go on after their runtime, from its arrival until the run has it.
    until: Option<u64>,
}

impl<'a> Listener<'a> {
    pub(crate) fn new(task: &'a Task, plan: Option<&'a Plan>, orders: &'a mut Orders) -> Self {
        Listener {
            task,
            plan,
            orders,
            stage: Stage::LayingOut,
            go: None,
            message: Message::None,
            report: ReportWanted::No,
            trigger: Trigger::NotFired,
            due: now(),
            latest: Beat::default(),
            before: None,
            until: None,
        }
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

    /// The end of the task.
    pub(crate) fn finished(&self, result: model::RunResult) -> Finished {
        let started = self.go.filter(|_| self.stage == Stage::Running);
        Finished { round: self.task.round, started, ended: now(), result }
    }

    /// Reads all orders that have arrived.
    pub(crate) fn listen(&mut self) {
        loop {
            match self.orders.look() {
                Ok(Received::Nothing) => return,
                Ok(Received::Order(Order::Go { at, round })) if round == self.task.round => self.go = Some(at),
                Ok(Received::Order(Order::Mark)) if self.message == Message::None => self.message = Message::Mark,
                Ok(Received::Order(Order::Until { ios, round })) if round == self.task.round => self.until = Some(ios),
                Ok(Received::Order(Order::Report)) => self.report = ReportWanted::Yes,
                Ok(Received::Order(Order::Trigger)) => self.trigger = Trigger::Fired,
                Ok(Received::Order(Order::Ping { number })) => {
                    let _ = say(&Answer::Pong { number, at: now() });
                }
                Ok(Received::Order(Order::Stop { .. } | Order::Bye)) => self.message = Message::Stop,
                Ok(Received::Order(_)) => {}
                // Orders that cannot be read are those of no leader.
                Ok(Received::End) | Err(_) => {
                    self.message = Message::Gone;
                    return;
                }
            }
        }
    }

    pub(crate) fn ends(&self) -> bool {
        matches!(self.message, Message::Stop | Message::Gone) || self.trigger == Trigger::Fired
    }

    /// A sign of life. One that cannot be written is not an error: the end of the input follows.
    fn beat(&mut self) {
        let at = now();
        self.due = at.saturating_add(self.task.beat);
        let _ = say(&Answer::Beat(Beat { at, round: self.task.round, stage: self.stage, ..self.latest }));
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
            if let (true, Some(plan)) = (self.is_served(), self.plan) {
                let live = live(&eta::status(plan, progress, self.before.as_ref()), progress);
                let _ = say(&Answer::Live(Box::new(live)));
                self.before = Some(progress.clone());
            }
        }
    }

    fn is_served(&self) -> bool {
        self.task.command != LeaderCommand::Cluster
    }

    /// Lines of fio's text, for a client.
    fn text(&self, lines: String) {
        if self.is_served() && !lines.is_empty() {
            let _ = say(&Answer::Text(lines));
        }
    }
}

/// The states of the workers, as they are sent.
fn live(status: &formats::fio::status_line::LiveStatus, progress: &Progress) -> Live {
    let limits = match status.limit {
        None => [0, 0],
        Some(RateLimit::Bandwidth(_, bytes)) => [bytes.get(), 0],
        Some(RateLimit::Iops(_, ios)) => [0, ios],
    };
    Live {
        workers: status.workers.iter().map(|activity| activity.letter()).collect(),
        open_files: status.open_files,
        limits,
        remaining: progress.remaining,
    }
}

impl Observer for Listener<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Progress(progress) => self.progress(progress),
            Event::Ended(progress) => {
                self.progress(progress);
                self.beat();
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
                let sampled = Sampled { began_unix_ms: so_far.began_unix_ms, devices, interval: latest.clone() };
                let _ = say(&Answer::Interval(Box::new(sampled)));
            }
            // It would wait for threads that never end; the leader gives it up.
            Event::Abandoned(result) => {
                let round = self.task.round;
                let finished = Finished { round, started: self.go, ended: now(), result: result.clone() };
                let _ = say(&Answer::Done(Box::new(finished)));
                std::process::exit(1);
            }
            other => {
                let lines =
                    self.plan.map_or_else(Vec::new, |plan| served::lines_of(&other, plan).into_iter().collect());
                lines.into_iter().for_each(|lines| self.text(lines));
            }
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
        let wanted = std::mem::replace(&mut self.report, ReportWanted::No);
        (wanted == ReportWanted::Yes).then_some(Request::Report)
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

/// The orders in standard input, line by line.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    read: Vec<u8>,
    /// Length of the part of `read` that has no line end.
    searched: usize,
}

/// The content of the input.
enum Received {
    Order(Order),
    /// Nothing yet.
    Nothing,
    /// The leader has closed it.
    End,
}

impl Orders {
    /// Waits for an order.
    fn wait(&mut self) -> Result<Received, Failure> {
        self.next(None)
    }

    /// Waits for an order for this time.
    fn within(&mut self, time: Nanos) -> Result<Received, Failure> {
        let (seconds, rest) = (time.get() / Nanos::SECOND.get(), time.get() % Nanos::SECOND.get());
        let timeout = Timespec {
            tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(rest).unwrap_or_default(),
        };
        self.next(Some(&timeout))
    }

    /// Takes an order that has arrived.
    fn look(&mut self) -> Result<Received, Failure> {
        self.next(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    fn next(&mut self, timeout: Option<&Timespec>) -> Result<Received, Failure> {
        loop {
            if let Some(end) = self.read[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=self.searched + end).collect();
                self.searched = 0;
                let text = String::from_utf8_lossy(&line);
                return cluster::order(text.trim()).map(Received::Order).map_err(|error| {
                    Failure::new(format!(
                        "cluster member: {error}; plumb starts members itself: plumb cluster --hosts LIST fio ..."
                    ))
                });
            }
            self.searched = self.read.len();
            if self.read.len() > LONGEST_ORDER {
                return Err(Failure::new("cluster member: a line without end"));
            }
            let stdin = std::io::stdin();
            let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut asked, timeout) {
                Ok(0) => return Ok(Received::Nothing),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut bytes = [0; 1 << 16];
            match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) => return Ok(Received::End),
                Ok(count) => self.read.extend_from_slice(&bytes[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

pub(super) fn say(answer: &Answer) -> Result<(), Failure> {
    Output::stdout().write(&cluster::line(answer)?)
}
