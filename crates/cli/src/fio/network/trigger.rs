//! The trigger of a client: it ends the jobs of all servers, whose verify states are written here before any command
//! runs.

use super::client::Server;
use crate::failure::Failure;
use crate::fio::members::states::{LARGEST_STATE, is_name};
use crate::fio::trigger::{CommandProcess, Trigger};
use crate::members::lead::{Connections, View};
use crate::members::now;
use crate::members::program::BEAT;
use crate::output::print_error;
use crate::safe_files::{AtomicFile, Durability};
use cluster::{Leader, LeaderCommand, Task, VerifyState};
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
    /// Runs the command of the servers at one moment, and that of the client at the same time. One that fails is named
    /// and has no exit status, as in fio. The result is the signal that has ended it.
    pub(super) fn run(&self, connections: Option<Connections>) -> Option<i32> {
        let mut view = CommandView { servers: self.servers, waiting: Some(Trigger::new(self.here)), local: None };
        let signal = match (self.there, connections) {
            (Some(command), Some(connections)) => connections.last_round(self.tasks(command), &mut view).signal,
            _ => None,
        };
        view.start();
        if let Some(failed) = view.local.and_then(CommandProcess::wait) {
            print_error(&format!("fio: {failed}"));
        }
        signal
    }

    /// Runs none, and lets the servers go.
    pub(super) fn leave_out(&self, connections: Option<Connections>) -> Option<i32> {
        if let Some(connections) = connections {
            connections.dismiss(&mut CommandView { servers: self.servers, waiting: None, local: None });
        }
        None
    }

    fn tasks(&self, command: &str) -> Vec<Task> {
        let members = u32::try_from(self.servers.len()).unwrap_or(u32::MAX);
        let command = LeaderCommand::Trigger { command: command.to_owned() };
        let task = |rank| Task { rank, members, beat: BEAT, command: command.clone(), ..Task::default() };
        (0..members).map(task).collect()
    }
}

/// The view of servers that run their commands.
struct CommandView<'a> {
    servers: &'a [Server],
    /// The client's trigger, until its command is started.
    waiting: Option<Trigger<'a>>,
    local: Option<CommandProcess>,
}

impl CommandView<'_> {
    fn start(&mut self) {
        if let Some(trigger) = self.waiting.take() {
            self.local = trigger.start();
        }
    }
}

impl View for CommandView<'_> {
    fn say(&mut self, rank: usize, text: &str) {
        let name = self.servers[rank].address.name();
        print_error(&format!("fio: client <{name}>: after the trigger: {}", printable::lines(text.trim_end())));
    }

    fn draw(&mut self, leader: &Leader) {
        if leader.go().is_some_and(|go| now() >= go) {
            self.start();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_named_after_its_server_in_its_own_directory() {
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
