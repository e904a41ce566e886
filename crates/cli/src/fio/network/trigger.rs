//! The trigger of a client: it ends the jobs of all servers, whose verify states are written here before any command runs.

use super::client::Server;
use crate::cluster::lead::{Face, Led};
use crate::cluster::now;
use crate::cluster::states::{LARGEST_STATE, is_name};
use crate::failure::Failure;
use crate::fio::trigger::{Fired, Trigger};
use crate::output::print_error;
use crate::safe_files::{AtomicFile, Durability};
use cluster::{Answer, Leader, LeaderCommand, Order, Task, VerifyState};
use fio::TriggerRequest;
use formats::printable;
use std::path::{Path, PathBuf};

/// How the name of a state begins where it was written.
const LOCAL: &str = "local-";

/// The file of a server's state, with the server's name in front as in fio.
fn path(name: &str, server: &str) -> Option<PathBuf> {
    let rest = name.strip_prefix(LOCAL).filter(|_| is_name(name))?;
    Some(PathBuf::from(format!("{server}-{rest}")))
}

/// Writes a server's state, so that a power failure of the server right after it does not lose it.
pub(super) fn write(state: &VerifyState, server: &str) -> Result<(), Failure> {
    let path = path(&state.name, server).ok_or_else(|| {
        Failure::new(format!(
            "server {server} sent a verify state `{}`, which is not the name of one",
            printable::line(&state.name)
        ))
    })?;
    AtomicFile::at(&path)?.write(&state.bytes, Durability::Synced)
}

/// The states of a server's jobs that are in the current directory, by their names on the server.
pub(super) fn states_of(server: &str) -> Result<Vec<VerifyState>, Failure> {
    let mut states = Vec::new();
    for entry in std::fs::read_dir(".")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(server).and_then(|rest| rest.strip_prefix('-')) else { continue };
        let name_there = format!("{LOCAL}{rest}");
        if is_name(&name_there) {
            let path = Path::new(&name);
            let bytes =
                sys::files::read_limited::read(path, LARGEST_STATE).map_err(|error| Failure::at(path, error))?;
            states.push(VerifyState { name: name_there, bytes });
        }
    }
    states.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(states)
}

/// The commands that follow a trigger.
pub(super) struct Commands<'a> {
    pub(super) servers: &'a [Server],
    /// That of the client, with its trigger.
    pub(super) here: &'a TriggerRequest,
    /// That of each server.
    pub(super) there: Option<&'a str>,
}

impl Commands<'_> {
    /// Runs the command of the servers at one moment, and that of the client at the same time. One that fails is named and has no exit status, as in fio. The
    /// result is the signal that has ended it.
    pub(super) fn run(&self, led: Option<Led<'_>>) -> Option<i32> {
        let mut face = CommandFace { servers: self.servers, waiting: Some(Trigger::new(self.here)), local: None };
        let signal = match (self.there, led) {
            (Some(command), Some(led)) => led.last_round(self.tasks(command), &mut face).signal,
            _ => None,
        };
        face.start();
        if let Some(failed) = face.local.and_then(Fired::wait) {
            print_error(&format!("fio: {failed}"));
        }
        signal
    }

    /// Runs none, and lets the servers go.
    pub(super) fn leave_out(&self, led: Option<Led<'_>>) -> Option<i32> {
        if let Some(led) = led {
            led.dismiss(&mut CommandFace { servers: self.servers, waiting: None, local: None });
        }
        None
    }

    fn tasks(&self, command: &str) -> Vec<Task> {
        let members = u32::try_from(self.servers.len()).unwrap_or(u32::MAX);
        let command = LeaderCommand::Trigger { command: command.to_owned() };
        let task =
            |rank| Task { rank, members, beat: crate::cluster::job::BEAT, command: command.clone(), ..Task::default() };
        (0..members).map(task).collect()
    }
}

/// The view of servers that run their commands.
struct CommandFace<'a> {
    servers: &'a [Server],
    /// The client's trigger, until its command is started.
    waiting: Option<Trigger<'a>>,
    local: Option<Fired>,
}

impl CommandFace<'_> {
    fn start(&mut self) {
        if let Some(trigger) = self.waiting.take() {
            self.local = trigger.start();
        }
    }
}

impl Face for CommandFace<'_> {
    fn heard(&mut self, _rank: usize, _answer: &Answer) {}

    fn say(&mut self, rank: usize, text: &str) {
        let name = self.servers[rank].address.name();
        print_error(&format!("fio: client <{name}>: after the trigger: {}", printable::lines(text.trim_end())));
    }

    fn draw(&mut self, leader: &Leader) {
        if leader.go().is_some_and(|go| now() >= go) {
            self.start();
        }
    }

    fn clear(&mut self) {}

    fn order(&mut self, _leader: &Leader) -> Option<Order> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_named_after_its_server_and_is_in_no_other_directory() {
        for (name, expected) in [
            ("local-w-0-verify.state", Some("node1-w-0-verify.state")),
            ("local-mnt.a-1-verify.state", Some("node1-mnt.a-1-verify.state")),
            ("local-/../w-0-verify.state", None),
            ("node1-w-0-verify.state", None),
        ] {
            assert_eq!(path(name, "node1"), expected.map(PathBuf::from), "{name}");
        }
    }
}
