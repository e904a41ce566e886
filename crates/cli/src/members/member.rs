//! A member: carries out the leader's orders, each task by the program that it is of.

use super::PROGRAM;
use super::listener::{Input, Orders, say};
use super::listener::{Listener, Message, PROGRESS};
use super::now;
use super::program::Rights;
use super::program::{Member, Program};
use crate::failure::Failure;
use crate::output::print_error;
use crate::safe_files::{AtomicFile, Durability};
use cluster::{Answer, Beat, Facts, Instruction, LeaderCommand, MemberEnd, MemberResult, PROTOCOL, Stage, Task};
use measure::Nanos;
use model::RunResult;
use monitor::Pace;
use plan::Plan;
use run::{Monitoring, RunOptions};
use session::arguments::SessionArgs;
use session::{Run, Session};
use std::path::Path;

/// Serves until the leader lets it go, or is gone.
pub(crate) fn serve(programs: &[&dyn Program], rights: &Rights, parent: Option<i32>) -> Result<u8, Failure> {
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
    let mut members: Vec<Box<dyn Member>> = programs.iter().map(|program| program.member()).collect();
    loop {
        let received = match latest {
            None => orders.wait()?,
            Some((_, beat)) => orders.within(beat)?,
        };
        match received {
            Input::Instruction(Instruction::Ping { number }) => say(&Answer::Pong { number, at: now() })?,
            Input::Instruction(Instruction::Prepare(task)) if latest.is_none_or(|(round, _)| round < task.round) => {
                latest = Some((task.round, task.beat));
                match carry_out(&task, &mut members, rights, &mut orders) {
                    Ok(Some(finished)) => {
                        let done = Answer::Done(Box::new(finished));
                        if let (Err(_), Answer::Done(finished)) = (say(&done), done) {
                            // The leader has gone meanwhile.
                            return without_leader(&task, rights, finished.result).map(|_| u8::from(rights.is_joined));
                        }
                    }
                    // The leader is gone.
                    Ok(None) => return Ok(u8::from(rights.is_joined)),
                    Err(failure) => {
                        say(&Answer::Failed { why: failure.message().to_owned() })?;
                        return Ok(1);
                    }
                }
            }
            Input::Nothing => {
                let round = latest.map(|(round, _)| round).unwrap_or_default();
                say(&Answer::Beat(Beat { at: now(), round, stage: Stage::Resting, ..Beat::default() }))?;
            }
            Input::Instruction(
                Instruction::Prepare(_)
                | Instruction::Go { .. }
                | Instruction::Mark
                | Instruction::Until { .. }
                | Instruction::Alive { .. }
                | Instruction::Report
                | Instruction::Trigger,
            ) => {}
            Input::Instruction(Instruction::Stop { .. } | Instruction::Bye) => return Ok(0),
            Input::End => return Ok(u8::from(rights.is_joined)),
        }
    }
}

fn facts() -> Facts {
    let root = Path::new("/");
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let machine = run::machine(root);
    let mut named = machine.clone();
    crate::result_file::name_host(&mut named, None);
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
fn carry_out(
    task: &Task,
    members: &mut [Box<dyn Member>],
    rights: &Rights,
    orders: &mut Orders,
) -> Result<Option<MemberEnd>, Failure> {
    let member = members.iter_mut().find(|member| member.takes(&task.command));
    let member = member.ok_or_else(|| Failure::new("the leader sent the task of another program"))?;
    member.carry_out(task, rights, orders)
}

/// The session of a member's run. The command line in its result is the words of its task.
pub(crate) fn session(task: &Task, args: &SessionArgs) -> Result<Session, Failure> {
    let program = if matches!(task.command, LeaderCommand::Iozone(_)) { "iozone" } else { "fio" };
    let begin = ["plumb", program].map(str::to_owned);
    let words = begin.into_iter().chain(task.words.iter().cloned());
    Ok(Session::drop_in(args)?.by_command(if task.words.is_empty() { Vec::new() } else { words.collect() }))
}

pub(crate) fn options(task: &Task) -> RunOptions {
    let options = RunOptions { progress_interval: Some(PROGRESS), ..RunOptions::default() };
    match task.intervals {
        true => RunOptions { monitoring: Monitoring::Full, pace: Pace::Constant, ..options },
        false => options,
    }
}

/// Goes to the directory of the members, once: its name may be relative.
pub(crate) fn enter(task: &Task) -> Result<(), Failure> {
    if task.round > 0 {
        return Ok(());
    }
    std::env::set_current_dir(&task.directory).map_err(|error| {
        let why = "name a directory that all members have with --directory";
        Failure::new(format!("{}: {error}; {why}", task.directory))
    })
}

/// A plan that a member runs, with what the words of its task say beyond it.
pub(crate) struct PlanRun {
    pub(crate) plan: Plan,
    pub(crate) read_only: bool,
    pub(crate) warnings: Vec<String>,
}

impl PlanRun {
    /// Runs the plan, and judges its result. `None` if the leader is gone.
    pub(crate) fn run(self, task: &Task, rights: &Rights, orders: &mut Orders) -> Result<Option<MemberEnd>, Failure> {
        let mut listener = Listener::new(task, orders);
        listener.beat();
        let mut session = session(task, &SessionArgs::default())?;
        let options = RunOptions { read_only: self.read_only, ..options(task) };
        let run = session.execute(Run { title: None, plan: &self.plan, options, layers: false }, &mut listener);
        let finished = listener.finished(RunResult::default());
        let mut result = run?;
        complete(&mut session, &mut result, task, self.warnings);
        match listener.message() {
            Message::Gone => without_leader(task, rights, result),
            _ => Ok(Some(MemberEnd { result, ..finished })),
        }
    }
}

/// Adds to a result what is known of the run as a whole.
pub(crate) fn complete(session: &mut Session, result: &mut RunResult, task: &Task, warnings: Vec<String>) {
    result.environment.other_members = Some(task.others_on_host);
    result.warnings = warnings;
    session.conclude(result);
    result.surroundings = Some(Box::new(crate::result_file::surroundings(&result.monitored)));
}

/// The end of a task whose leader is gone: the result stays here, if it may.
pub(crate) fn without_leader(task: &Task, rights: &Rights, result: RunResult) -> Result<Option<MemberEnd>, Failure> {
    if rights.client.is_none() {
        keep(task, result)?;
    }
    Ok(None)
}

/// Writes the result of a member whose leader is gone. Without the leader's clock its times are not those of the
/// others.
fn keep(task: &Task, result: RunResult) -> Result<(), Failure> {
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
