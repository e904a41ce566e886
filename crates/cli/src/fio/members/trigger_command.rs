//! `plumb fio --client --trigger-remote=COMMAND` on a server: the command runs after the round that the trigger has ended, at one moment on all servers.

use crate::failure::Failure;
use crate::members::listener::{Listener, Message};
use crate::members::orders::{Orders, say};
use cluster::{Answer, Finished, Task};
use measure::Nanos;
use model::RunResult;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Interval at which the end of the command and orders are looked for.
const LOOK: Nanos = Nanos::from_millis(20);

/// Runs the command; a failure is a sentence for the client. `None` if the leader is gone.
pub(super) fn carry_out(task: &Task, command: &str, orders: &mut Orders) -> Result<Option<Finished>, Failure> {
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

/// Waits for the end of the command with signs of life. An order to end is one for the command; without a leader the server gives both a time.
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
