//! A member that runs jobs of fio: those of `plumb cluster`, and those of a client, with its trigger.

use super::served::{self, Logs};
use super::states::States;
use super::tasks;
use crate::failure::Failure;
use crate::fio::live::status;
use crate::fio::watch::lines_of;
use crate::members::listener::{Listener, Message};
use crate::members::listener::{Orders, say};
use crate::members::member::{PlanRun, complete, enter, options, session, without_leader};
use crate::members::program::Member;
use crate::members::program::Rights;
use cluster::{Answer, ClientTask, LeaderCommand, Live, MemberEnd, Task};
use fio::Invocation;
use formats::fio::status_line::{LiveStatus, RateLimit};
use measure::Nanos;
use model::RunResult;
use plan::Plan;
use run::{Event, Progress, RunOptions};
use rustix::process::{Pid, Signal, kill_process};
use session::Run;
use session::arguments::SessionArgs;
use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};

pub(super) struct JobMember;

impl Member for JobMember {
    fn takes(&self, command: &LeaderCommand) -> bool {
        matches!(command, LeaderCommand::Cluster | LeaderCommand::Client(_) | LeaderCommand::Trigger { .. })
    }

    fn carry_out(&mut self, task: &Task, rights: &Rights, orders: &mut Orders) -> Result<Option<MemberEnd>, Failure> {
        match &task.command {
            LeaderCommand::Client(client) => run_for_client(task, client, rights, orders),
            LeaderCommand::Trigger { command } => {
                served::check_trigger(rights, Some(command))?;
                run_command(task, command, orders)
            }
            _ => run_for_cluster(task, rights, orders),
        }
    }
}

fn run_for_cluster(task: &Task, rights: &Rights, orders: &mut Orders) -> Result<Option<MemberEnd>, Failure> {
    rights.check_cluster()?;
    enter(task)?;
    let invocation = match rights.limits.as_deref() {
        Some(allowed) => with_remedy(tasks::untrusted_invocation(task, allowed))?,
        None => tasks::invocation(task)?,
    };
    let plan = tasks::plan(&invocation, task)?;
    let run = PlanRun { plan, read_only: invocation.read_only, warnings: warnings(&invocation) };
    run.run(task, rights, orders)
}

fn run_for_client(
    task: &Task,
    client: &ClientTask,
    rights: &Rights,
    orders: &mut Orders,
) -> Result<Option<MemberEnd>, Failure> {
    served::check_trigger(rights, client.trigger.as_ref().and_then(|trigger| trigger.command.as_deref()))?;
    let invocation = served::invocation(task, client.remote_config.as_deref(), rights)?;
    let (mut plan, logs): (Plan, Logs) = served::plan(&invocation, rights)?;
    let states = States::aside(&mut plan, client)?;
    let plan = &plan;
    let mut before: Option<Progress> = None;
    let details = move |progress: &Progress| {
        let status = status(plan, progress, before.as_ref());
        before = Some(progress.clone());
        live(&status, progress)
    };
    let lines = |event: &Event<'_>| lines_of(event, plan);
    let mut listener = Listener::new(task, orders).for_client(Box::new(details), Box::new(lines));
    listener.beat();
    let before = served::lines_before(&invocation, plan);
    if !before.is_empty() {
        let _ = say(&Answer::Text(before));
    }
    let mut session = session(task, &SessionArgs { no_calibrate: true, ..SessionArgs::default() })?;
    let options = RunOptions { read_only: invocation.read_only, ..options(task) };
    let run = session.execute(Run { title: None, plan, options, layers: false }, &mut listener);
    let finished = listener.finished(RunResult::default());
    let mut result = run?;
    complete(&mut session, &mut result, task, warnings(&invocation));
    states.hand_over(listener.is_triggered(), &mut |answer| say(&answer))?;
    if listener.message() == Message::Gone {
        return without_leader(task, rights, result);
    }
    logs.send(&mut |answer| say(&answer))?;
    Ok(Some(MemberEnd { result, ..finished }))
}

fn warnings(invocation: &Invocation) -> Vec<String> {
    invocation.warnings.iter().map(|warning| warning.title.clone()).collect()
}

/// Adds how the user of a member allows what its leader may not do.
fn with_remedy(read: Result<Invocation, Failure>) -> Result<Invocation, Failure> {
    read.map_err(|failure| {
        Failure::new(format!(
            "{}\nThis member lets a leader without the secret do what --untrusted lets a job file do. --secret-file FILE at both ends, or --trust-leader at \
             the member, lets it do all that the member's user may; --allow PATH lets it use a directory or device",
            failure.message().trim_end()
        ))
    })
}

/// The states of the workers, as they are sent.
fn live(status: &LiveStatus, progress: &Progress) -> Live {
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

/// Interval at which the end of the command and orders are looked for.
const LOOK: Nanos = Nanos::from_millis(20);

/// Runs the command; a failure is a sentence for the client. `None` if the leader is gone.
fn run_command(task: &Task, command: &str, orders: &mut Orders) -> Result<Option<MemberEnd>, Failure> {
    let mut listener = Listener::new(task, orders);
    if listener.wait_for_start().is_some() {
        let failed = match start(command).and_then(|child| wait(child, &mut listener)) {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("trigger-remote=`{command}` ended with {status}")),
            Err(error) => Some(format!("trigger-remote=`{command}` could not be run: {error}")),
        };
        if let Some(text) = failed {
            // No client is left if this fails.
            let _ = say(&Answer::Finding(text));
        }
    }
    let is_gone = listener.message() == Message::Gone;
    Ok((!is_gone).then(|| listener.finished(RunResult::default())))
}

/// Starts the command. Its output is the server's: that of this process is the connection.
fn start(command: &str) -> io::Result<Child> {
    let output = io::stderr().as_fd().try_clone_to_owned()?;
    Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::null()).stdout(output).spawn()
}

/// Waits for the end of the command with signs of life. An order to end is one for the command; without a leader the
/// server gives both a time.
fn wait(mut child: Child, listener: &mut Listener<'_>) -> io::Result<ExitStatus> {
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        listener.listen();
        if listener.message() == Message::Stop && !is_asked {
            is_asked = true;
            // It may have ended meanwhile.
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        }
        listener.beat_if_due();
        std::thread::sleep(LOOK.as_duration());
    }
}
