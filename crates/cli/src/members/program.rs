//! The programs whose work members do: each one makes tasks of its words, is a member that carries them out, and either
//! leaves the merge of the results to `plumb cluster`, or merges them itself.

use super::carrier::Place;
use super::lead::Members;
use super::listener::Orders;
use crate::failure::Failure;
use clap::{ArgMatches, Command, FromArgMatches};
use cluster::{LeaderCommand, MemberEnd, Sharing, Task};
use measure::Nanos;
use plan::Plan;
use std::path::PathBuf;

/// A program whose work members do.
pub(crate) trait Program: std::fmt::Debug + Sync {
    /// Its command line, below `plumb cluster`.
    fn command(&self) -> Command;
    /// The options of `plumb cluster` that it has no use for.
    fn unused(&self) -> UnusedOptions;
    /// The work that its words describe.
    fn work(&self, matches: &ArgMatches) -> Result<Work, Failure>;
    /// The other end: what carries out its tasks in a member.
    fn member(&self) -> Box<dyn Member>;
}

/// The arguments of a program's command line.
pub(crate) fn arguments<A: FromArgMatches>(matches: &ArgMatches) -> Result<A, Failure> {
    A::from_arg_matches(matches).map_err(|error| Failure::new(error.to_string()))
}

/// Options of `plumb cluster` that a program has no use for.
pub(crate) struct UnusedOptions {
    /// The program, in a sentence.
    pub(crate) by: &'static str,
    /// Each option with the reason.
    pub(crate) options: &'static [(&'static str, &'static str)],
}

/// The work of all members.
pub(crate) enum Work {
    /// One task by each, which `plumb cluster` repeats; it merges the results.
    Job(Box<dyn Job>),
    /// Tests one after the other; the program merges the results of each.
    Tests(Box<dyn Tests>),
}

/// A job of all members.
pub(crate) trait Job {
    /// The task of each member. A mistake in the words is found here, before anything is started.
    fn tasks(&self, places: &[Place], share: &Share) -> Result<Vec<Task>, Failure>;
    /// The plan that a member makes of its task.
    fn plan(&self, task: &Task) -> Result<Plan, Failure>;
}

/// How members share a job.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) shift: Shift,
    pub(crate) spread: Option<Sharing>,
    /// True if all go on until every worker has done as many I/Os as the fastest one.
    pub(crate) wears_out: bool,
    pub(crate) directory: String,
}

/// Tests that members run together.
pub(crate) trait Tests {
    /// Does what needs no members, if that is all; returns the exit status.
    fn run_alone(&self) -> Option<Result<u8, Failure>> {
        None
    }
    /// Refuses words that this number of members cannot carry out; what they need is returned.
    fn needs(&self, members: u32) -> Result<Needs, Failure>;
    /// Runs the tests. Returns the exit status.
    fn run(&self, members: &mut Members) -> Result<u8, Failure>;
}

/// Files that tests read and write, as their words name them.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Files that the leader reads.
    pub(crate) files: Vec<PathBuf>,
    /// Files, directories and devices that are measured.
    pub(crate) targets: Vec<PathBuf>,
    /// Files and directories of results; `None` if results are only printed.
    pub(crate) results: Option<Vec<PathBuf>>,
}

/// One process of many: carries out the tasks of a program, from the first one to the last.
pub(crate) trait Member {
    /// True for a task of its program.
    fn takes(&self, command: &LeaderCommand) -> bool;
    /// Carries out a task. `None` if the leader is gone.
    fn carry_out(&mut self, task: &Task, rights: &Rights, orders: &mut Orders) -> Result<Option<MemberEnd>, Failure>;
}

/// The member whose number is in `${PLUMB_SHIFTED_RANK}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shift {
    /// This number of members on.
    By(u32),
    /// The least number of members on by which all come to another host.
    ToOtherHosts,
}

impl Default for Shift {
    fn default() -> Self {
        Shift::By(0)
    }
}

/// Rights of the leader of this member. By default it has started it by a shell of the same user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    /// The address of the client for which a server has started it, with which names of files begin.
    pub(crate) client: Option<String>,
    /// True if it has joined its leader.
    pub(crate) is_joined: bool,
    /// Absolute paths that a client or leader without trust may use, next to what `--untrusted` lets a job file do;
    /// `None` for all that the user may do.
    pub(crate) limits: Option<Vec<String>>,
}

impl Rights {
    /// Refuses the tasks of `plumb cluster` that come to a server.
    pub(crate) fn check_cluster(&self) -> Result<(), Failure> {
        match self.client {
            None => Ok(()),
            Some(_) => Err(Failure::new("a server of fio runs the jobs of fio --client only")),
        }
    }

    /// Refuses the tasks of `plumb cluster` whose words are not those of fio, unless the leader is trusted.
    pub(crate) fn check_trusted(&self) -> Result<(), Failure> {
        self.check_cluster()?;
        match self.limits {
            None => Ok(()),
            Some(_) => Err(Failure::new(
                "this member does not trust its leader, and does nothing but jobs of fio for it; --secret-file FILE at both ends, or --trust-leader at the member, lifts that",
            )),
        }
    }
}

/// Time between two signs of life of a member.
pub(crate) const BEAT: Nanos = Nanos::from_millis(500);
/// Directory of a member that works where it was started.
pub(crate) const HERE: &str = ".";

/// The tasks of members that make their plans from other words than fio's.
pub(crate) fn tasks_of_places(places: &[Place], directory: &str, command: &LeaderCommand) -> Vec<cluster::Task> {
    let hosts: Vec<String> = places.iter().map(Place::host).collect();
    let members = u32::try_from(places.len()).unwrap_or(u32::MAX);
    let task = |(rank, host): (u32, &String)| cluster::Task {
        rank,
        members,
        others_on_host: others_on(&hosts, host),
        directory: directory.to_owned(),
        prefix: format!("{host}.{rank}."),
        beat: BEAT,
        command: command.clone(),
        ..cluster::Task::default()
    };
    (0..members).zip(&hosts).map(task).collect()
}

/// The number of members on a host, without one.
pub(crate) fn others_on(hosts: &[String], host: &str) -> u32 {
    u32::try_from(hosts.iter().filter(|other| *other == host).count()).unwrap_or(u32::MAX) - 1
}
