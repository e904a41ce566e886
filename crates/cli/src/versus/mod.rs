//! `plumb versus`: which of two is faster? Measures both in turns, until it is decided.
//!
//! Owns the command line and the exit status. `sides` makes the plans, `rounds` measures and keeps the results, `shown`
//! prints; `analysis::compare` judges.

mod rounds;
mod shown;
mod sides;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::streams::is_stdout;
use analysis::compare::{Goal, Metric};
use rounds::{Ending, Folder, Limits, Measurement};
use session::Session;
use session::arguments::SessionArgs;
use session::machine::seed_from_clock;
use shown::Screen;
use sides::Words;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Measure two alternatives in turns until it is decided which one is faster
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb versus --a ioengine=psync --b ioengine=io_uring -- \\
    --name=r --rw=randread --size=1g --direct=1 --runtime=10 --time_based
  plumb versus --a /mnt/old --b /mnt/new -- job.fio             two file systems, the same job
  plumb versus --a old.fio --b new.fio                          two job files
  plumb versus --until 3% --a bs=4k --b bs=8k -- job.fio        how large is the difference, to 3 %?
  plumb versus --before-a 'echo none >/sys/block/sda/queue/scheduler' \\
               --before-b 'echo mq-deadline >/sys/block/sda/queue/scheduler' -- job.fio

A side is a directory, a file or device, a job file, or options of fio that are added to each job.
After -- follows the job: fio's options or a job file; {round} and {run} in it are numbers. A round
is a run of each side, in random order. Devices and files are written only where plumb fio would
write to them.
More: docs/versus.md
Exit status: 0 decided: the sides differ, or are the same within the tolerance; with --until 3%:
known; 2 not decided after the last round; 3 an error, or a result that is not of the storage;
4 with --strict if a check found a problem; 128 + signal after a signal")]
pub(crate) struct VersusArgs {
    /// Side A: a directory, file, device, job file, or options like 'ioengine=psync bs=4k' [default: the job as it is]
    #[arg(long, value_name = "SIDE", allow_hyphen_values = true)]
    a: Option<String>,
    /// Side B
    #[arg(long, value_name = "SIDE", allow_hyphen_values = true)]
    b: Option<String>,
    /// Shell command before each run of A; its output goes to standard error
    #[arg(long, value_name = "COMMAND")]
    before_a: Option<String>,
    /// Shell command before each run of B
    #[arg(long, value_name = "COMMAND")]
    before_b: Option<String>,
    /// Measure until it is decided, or until B ÷ A is known to a share like 3%
    #[arg(long, value_name = "decided|SHARE", value_parser = goal, default_value = "decided")]
    until: Goal,
    /// Make exactly this number of rounds
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=999), conflicts_with_all = ["until", "max_rounds"])]
    rounds: Option<u32>,
    /// Make at most this number of rounds [default: 15; 30 with --until SHARE]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=999))]
    max_rounds: Option<u32>,
    /// Start no round that would end after this time, like 10m
    #[arg(long, value_name = "TIME", value_parser = survey::seconds, default_value = "1h")]
    max_time: u64,
    /// Largest difference that counts as the same, like 5% or 0.5%
    #[arg(long, default_value = "5%", value_parser = input::share, value_name = "SHARE")]
    tolerance: f64,
    /// Numbers that have to be decided: iops, mean, p50, p99, p99.9, and of jobs with a rate response-p50,
    /// response-p99, response-p99.9; the others are shown
    #[arg(long, value_delimiter = ',', value_parser = input::metric, value_name = "LIST", default_value = "iops")]
    numbers: Vec<Metric>,
    /// Time between two runs; 0 for none
    #[arg(long, value_name = "TIME", value_parser = survey::patience, default_value = "1s")]
    rest: u64,
    /// Run both sides at the same time; only on different disks
    #[arg(long, conflicts_with_all = ["before_a", "before_b"])]
    together: bool,
    /// Seed of the order, to repeat it [default: from the clock]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// New directory for the result of each run; - prints them on standard output, and makes no directory
    /// [default: plumb-versus-NNN in the current directory]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    session: SessionArgs,
    /// The job: fio's options, or job files
    #[arg(last = true, value_name = "JOB")]
    job: Vec<OsString>,
}

/// Exit status if the rounds did not decide it.
const NOT_DECIDED: u8 = 2;
/// Exit status after an error, also in the command line.
pub(crate) const ERROR: u8 = 3;

fn goal(text: &str) -> Result<Goal, String> {
    match text {
        "decided" => Ok(Goal::Decided),
        share => input::share(share)
            .map(Goal::Known)
            .map_err(|_| format!("{share} is neither `decided` nor a share like 3%")),
    }
}

/// Measures both sides and prints which one is faster.
pub(crate) fn run(args: &VersusArgs) -> Result<u8, Failure> {
    let failed = |failure: Failure| {
        // Without a message, the reader of the output closed the pipe.
        let status = if failure.message().is_empty() { 1 } else { ERROR };
        failure.with_status(status)
    };
    let mut session = Session::open(&args.session).map_err(failed)?;
    let measured = measure(args, &mut session).map_err(failed);
    session.close(measured).map_err(failed)
}

fn measure(args: &VersusArgs, session: &mut Session) -> Result<u8, Failure> {
    let words = Words::new([args.a.as_deref(), args.b.as_deref()], input::words(&args.job)?)?;
    let before = [args.before_a.clone(), args.before_b.clone()];
    if words.has_untrusted() && before.iter().any(Option::is_some) {
        return Err(Failure::new("--before-a and --before-b run commands, which --untrusted forbids; leave one out"));
    }
    let prints = args.output.as_deref().is_some_and(is_stdout);
    args.session.publish.check_stdout(prints.then_some("-o -"))?;
    let settings = rounds::Settings {
        words,
        before,
        limits: args.limits(),
        metrics: args.numbers.clone(),
        tolerance: args.tolerance,
        rest: Duration::from_secs(args.rest),
        seed: args.seed.unwrap_or_else(seed_from_clock),
        pairing: if args.together { rounds::Pairing::Together } else { rounds::Pairing::InTurns },
    };
    let verbosity = session.verbosity();
    settings.check(verbosity)?;
    let folder = if prints { Folder::none() } else { Folder::make(args.output.as_deref())? };
    let is_json = args.session.streams.json || prints;
    let mut screen = Screen { verbosity, out: if is_json { Output::nowhere() } else { session.stdout() } };
    screen.begin(&settings)?;
    let mut out = session.stdout();
    let mut measurement = Measurement::new(&settings, session, folder);
    let ending = measurement.all(&mut screen);
    measurement.clear();
    let document = shown::document(&settings, &measurement, &ending)?;
    let saved = measurement.folder.conclusion(&document);
    screen.end(&settings, &measurement, &ending)?;
    if is_json {
        out.write(&document)?;
    }
    saved?;
    match ending {
        Ending::Settled => Ok(0),
        Ending::Rounds | Ending::Time if measurement.is_settled() => Ok(0),
        Ending::Rounds | Ending::Time => {
            verbosity.remark("plumb: not settled");
            Ok(NOT_DECIDED)
        }
        Ending::Cut(cut) => cut.outcome(),
    }
}

impl VersusArgs {
    fn limits(&self) -> Limits {
        let usual = if self.until == Goal::Decided { 15 } else { 30 };
        let most = self.rounds.or(self.max_rounds).unwrap_or(usual);
        Limits {
            goal: self.until,
            most: most as usize,
            may_end_early: self.rounds.is_none(),
            time: Duration::from_secs(self.max_time),
        }
    }
}
