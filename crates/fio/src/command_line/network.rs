//! `--client`, `--server` and the options that go with them: which job files go to which server, and what a server lets
//! clients do.

use crate::command_line::invocation::Action;
use crate::error::{Place, Problem};
use measure::Nanos;
use std::path::PathBuf;

/// A server of a client, with its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerJobs {
    /// The address as it was given, or a file with one server a line.
    pub address: String,
    /// Job files on this machine, which are sent.
    pub files: Vec<String>,
    /// Job file on the server's machine.
    pub remote_config: Option<String>,
}

/// Consequence of a server that cannot be reached, or is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LostServer {
    /// The run ends, with an error.
    #[default]
    EndsAll,
    /// The others go on.
    IsLeftOut,
}

/// A run on servers (`--client`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientRequest {
    /// The servers in the order of the command line.
    pub servers: Vec<ServerJobs>,
    /// Options for the job files that are sent with them: `--section`, `--readonly`, `--warnings-fatal`.
    pub words: Vec<String>,
    /// Consequence of a lost server.
    pub lost: LostServer,
    /// Silence after which a server is given up; `None` for the default.
    pub silence: Option<Nanos>,
    /// File with the secret that the servers have, too.
    pub secret: Option<PathBuf>,
    /// Command that each server runs after the trigger (`--trigger-remote`).
    pub trigger_command: Option<String>,
}

/// Rights of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientTrust {
    /// All that `--untrusted` lets a job file do.
    #[default]
    Untrusted,
    /// Everything that the user of the server may do.
    Full,
}

/// A server for clients (`--server`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerRequest {
    /// The address as it was given; `None` for all addresses of the machine.
    pub address: Option<String>,
    /// File for the process ID of a server in the background.
    pub daemonize: Option<PathBuf>,
    /// Paths that untrusted clients may use.
    pub allowed: Vec<PathBuf>,
    /// File with the secret that trusted clients have, too.
    pub secret: Option<PathBuf>,
    /// Rights of clients without the secret.
    pub trust: ClientTrust,
}

/// The words of a command line on clients and servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkWords {
    pub(crate) servers: Vec<(ServerJobs, Place)>,
    pub(crate) lost: LostServer,
    pub(crate) silence: Option<Nanos>,
    pub(crate) secret: Option<PathBuf>,
    pub(crate) trigger_command: Option<String>,
    pub(crate) server: Option<(ServerRequest, Place)>,
    pub(crate) daemonize: Option<PathBuf>,
    pub(crate) allowed: Vec<PathBuf>,
    pub(crate) trust: ClientTrust,
    /// A job file on the machine of each server, named before the first of them.
    pub(crate) remote_config: Option<String>,
    /// Options that need `--client` or `--server`, with the one that they need.
    pub(crate) needs: Vec<(&'static str, Needs, Place)>,
}

/// The option with which another one has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Client,
    Server,
    Either,
}

/// The other words of a command line, which clients and servers treat in their own ways.
pub(crate) struct OtherWords<'a> {
    /// Job files that were named before the first server.
    pub(crate) files: Vec<String>,
    /// Place of the first job option.
    pub(crate) job_option: Option<&'a Place>,
    /// Options to send.
    pub(crate) sent: Vec<String>,
    /// An option that asks for something else than a run.
    pub(crate) instead: Option<&'static str>,
}

impl NetworkWords {
    /// The server whose jobs are named now.
    pub(crate) fn current(&mut self) -> Option<&mut ServerJobs> {
        self.servers.last_mut().map(|(server, _)| server)
    }

    /// The action of a client or server; `None` if the words are of neither.
    pub(crate) fn action(self, others: OtherWords<'_>) -> Option<Result<Action, Problem>> {
        let (has_client, has_server) = (!self.servers.is_empty(), self.server.is_some());
        let lacks = |needs: &Needs| match needs {
            Needs::Client => !has_client,
            Needs::Server => !has_server,
            Needs::Either => !has_client && !has_server,
        };
        if let Some((name, needs, place)) = self.needs.iter().find(|(_, needs, _)| lacks(needs)) {
            let with = match needs {
                Needs::Client => "--client",
                Needs::Server => "--server",
                Needs::Either => "--server or --client",
            };
            let what = format!("--{name} is an option of {with}, which is not given");
            return Some(Err(Problem::at(place.clone(), what, None)));
        }
        match (has_client, self.server.clone()) {
            (false, None) => None,
            (true, Some((_, place))) => {
                let what = "one command is either a --client or a --server";
                Some(Err(Problem::at(place, what, None)))
            }
            (true, None) => Some(self.client(others)),
            (false, Some((server, place))) => Some(self.serve(server, place, &others)),
        }
    }

    fn client(self, others: OtherWords<'_>) -> Result<Action, Problem> {
        if let Some(place) = others.job_option {
            let what = "job options on the command line are not sent to servers, by fio either";
            let help = Some("write them into a job file".to_owned());
            return Err(Problem::at(place.clone(), what, help));
        }
        let mut servers = Vec::with_capacity(self.servers.len());
        for (mut server, place) in self.servers {
            server.files.splice(0..0, others.files.iter().cloned());
            server.remote_config = server.remote_config.or_else(|| self.remote_config.clone());
            let given = (server.files.is_empty(), server.remote_config.is_some());
            let (what, help) = match given {
                (true, true) | (false, false) => {
                    servers.push(server);
                    continue;
                }
                (true, false) => (
                    format!("client={}: there is no job file for this server", server.address),
                    "name it after --client=HOST, or before the first --client for all servers",
                ),
                (false, true) => (
                    format!("client={}: it has both a job file and a --remote-config", server.address),
                    "give one of them",
                ),
            };
            return Err(Problem::at(place, what, Some(help.to_owned())));
        }
        if let Some(option) = others.instead {
            return Err(Problem::bare(format!("--{option} has no meaning with --client"), None));
        }
        let NetworkWords { lost, silence, secret, trigger_command, .. } = NetworkWords { servers: Vec::new(), ..self };
        Ok(Action::Client(ClientRequest { servers, words: others.sent, lost, silence, secret, trigger_command }))
    }

    fn serve(self, server: ServerRequest, place: Place, others: &OtherWords<'_>) -> Result<Action, Problem> {
        if others.job_option.is_some() || !others.files.is_empty() {
            let help = Some("leave the jobs out; the client names them".to_owned());
            return Err(Problem::at(place, "a --server gets its jobs from clients", help));
        }
        if let Some(option) = others.instead {
            return Err(Problem::bare(format!("--{option} has no meaning with --server"), None));
        }
        if let Some(option) = others.sent.first() {
            return Err(Problem::bare(
                format!("{option} has no meaning with --server: it is an option of job files"),
                None,
            ));
        }
        let NetworkWords { daemonize, allowed, secret, trust, .. } = self;
        Ok(Action::Server(ServerRequest { daemonize, allowed, secret, trust, ..server }))
    }
}
