//! Jobs of fio by members: `tasks` makes them from fio's words, `member` runs them. What only a client of
//! `plumb fio --server` has is in `served` and `states`.

mod member;
mod served;
pub(super) mod states;
pub(super) mod tasks;

use crate::failure::Failure;
use crate::input;
use crate::members::carrier::Place;
use crate::members::program::{self, Member, Program, Share, UnusedOptions, Work};
use clap::{ArgMatches, Args, Command};
use cluster::Task;
use member::JobMember;
use plan::Plan;
use std::ffi::OsString;

/// Jobs of fio as the program of a cluster.
#[derive(Debug)]
pub(crate) struct Jobs;

/// Run an fio command line or job files on all members
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb cluster --hosts 'node[1-4]' fio job.fio
  plumb cluster --local 2 fio --name=a --rw=randread --size=1g --filename='f.${PLUMB_RANK}'
  plumb fio --help                fio's own options")]
struct JobArgs {
    /// fio's own options, or job files
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Program for Jobs {
    fn command(&self) -> Command {
        JobArgs::augment_args(Command::new("fio"))
    }

    fn unused(&self) -> UnusedOptions {
        UnusedOptions { by: "fio", options: &[] }
    }

    fn work(&self, matches: &ArgMatches) -> Result<Work, Failure> {
        let args: JobArgs = program::arguments(matches)?;
        Ok(Work::Job(Box::new(Job { words: input::words(&args.words)? })))
    }

    fn member(&self) -> Box<dyn Member> {
        Box::new(JobMember)
    }
}

struct Job {
    words: Vec<String>,
}

impl program::Job for Job {
    fn tasks(&self, places: &[Place], share: &Share) -> Result<Vec<Task>, Failure> {
        let mut tasks = tasks::tasks(&self.words, places, share.shift, &share.directory)?;
        if let Some(sharing) = share.spread {
            tasks::spread(sharing, &mut tasks)?;
        }
        if share.wears_out {
            tasks.iter_mut().for_each(|task| task.wears_out = true);
            tasks.first().map_or(Ok(()), |task| self.plan(task).map(|_| ()))?;
        }
        Ok(tasks)
    }

    fn plan(&self, task: &Task) -> Result<Plan, Failure> {
        tasks::plan(&tasks::invocation(task)?, task)
    }
}
