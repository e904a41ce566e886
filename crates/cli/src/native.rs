//! plumb's own commands and their help.

use crate::failure::Failure;
use crate::features::Feature;
use crate::output::{Output, print_error};
use crate::{streams, survey};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;

/// The command line of `plumb`.
#[derive(Debug, Parser)]
#[command(
    name = "plumb",
    version,
    long_version = crate::features::version(),
    about = "Measures storage, and checks if the numbers are true",
    after_help = "\
Examples:
  plumb survey .                  how fast is the disk under this directory?
  plumb survey --quick /data      the same in under a minute
  plumb survey /dev/nvme0n1       read a device directly; nothing is written to it
  plumb fio.sh -w /data -f        the tests of fio.sh, with its options
  plumb knee /data                how many users until throughput stops growing?
  plumb capacity /data --slo 'p99<2ms'           how many I/Os per second keep this limit?
  plumb ask etcd /var/lib/etcd                   is this disk enough for etcd?
  plumb fio job.fio               run an fio job file as fio does
  plumb fio --name=a --rw=randread --size=1g --direct=1
  ln -s plumb fio                 called as `fio`, plumb is fio

  plumb iostat -dx 2              activity of the disks, every two seconds
  plumb watch                     the same live, with curves and processes
  plumb parse *.out               a table of the output of fio, iozone or iostat, of any version
  plumb grade data.csv            a report card of a sweep
  plumb check run.json            is this number true?
  plumb compare old.json new.json what changed, and is it more than noise?
  plumb gate new-*.json --against main-*.json    fail a build when storage got slower
  plumb versus --a /mnt/old --b /mnt/new -- job.fio    which one is faster? in turns, until decided
  plumb cluster --hosts 'node[1-4]' fio job.fio  the same job on four machines at once
  plumb durable /data --witness otherhost        what does a power cut lose?
  plumb why --pid 4711            where does the time of a program's I/O go?
  plumb fidelity a.parquet b.parquet             is the copy of a load like it?
  plumb calibrate                 how much of a latency is plumb's own?
  plumb explain run.json          the equations that a true result satisfies, with its numbers
  plumb model sweep.json          access time, transfer rate, and the best number of users
  plumb report a.json b.json      charts, checks and all numbers of results, as a page
  plumb plot data.csv             a chart of a sweep, as text or in a file

  plumb history /data             earlier runs of the same tests
  plumb trend /data               since when is it slower, and what changed then?
  plumb report last~1 last        any result in the store, by its ID or name

  source <(plumb --generate bash) complete commands and options in this shell
  plumb --generate man --page plumb-survey | man -l -

fio's own options: plumb fio --help; iostat's: plumb iostat --help; iozone's: plumb iozone -h",
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
struct Cli {
    #[command(flatten)]
    generate: crate::generate::GenerateArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    // No doc comment here: the text of `SurveyArgs` is used.
    Survey(Box<survey::SurveyArgs>),
    Parse(crate::parse::ParseArgs),
    Grade(crate::grade::GradeArgs),
    Knee(Box<survey::knee::KneeArgs>),
    Capacity(Box<crate::capacity::CapacityArgs>),
    Ask(crate::ask::AskArgs),
    Calibrate(crate::calibrate::CalibrateArgs),
    Check(crate::check::CheckArgs),
    Compare(crate::compare::CompareArgs),
    Gate(crate::gate::GateArgs),
    Versus(Box<crate::versus::VersusArgs>),
    Cluster(Box<crate::cluster::ClusterArgs>),
    Durable(Box<crate::durable::DurableArgs>),
    Fidelity(crate::fidelity::FidelityArgs),
    Explain(crate::explain::ExplainArgs),
    Model(crate::cost_model::ModelArgs),
    #[cfg(feature = "report")]
    Report(crate::report::ReportArgs),
    #[cfg(feature = "report")]
    Plot(crate::report::plot::PlotArgs),
    #[cfg(feature = "live")]
    Watch(crate::watch::WatchArgs),
    Why(crate::why::WhyArgs),
    #[cfg(feature = "store")]
    History(crate::store::history::HistoryArgs),
    #[cfg(feature = "store")]
    Trend(crate::store::trend::TrendArgs),
    #[cfg(feature = "store")]
    Store(crate::store::StoreArgs),
    // The dispatcher handles the following before clap does; the entries exist for the list of commands.
    /// Run fio command lines and job files as fio does
    #[command(
        disable_help_flag = true,
        after_help = "\
Examples:
  plumb fio job.fio
  plumb fio --name=a --rw=randread --size=1g --direct=1
  plumb fio --help                fio's own options
  plumb fio --cmdhelp=all         all job options"
    )]
    Fio(DropInArgs),
    /// Run iozone command lines as iozone does
    #[command(disable_help_flag = true)]
    Iozone(DropInArgs),
    /// Run fio.sh command lines: its set of tests, with its options
    #[command(name = "fio.sh", disable_help_flag = true)]
    FioSh(DropInArgs),
    /// Show the activity of disks and processors as iostat does
    #[command(disable_help_flag = true)]
    Iostat(DropInArgs),
}

/// The command line of a program that plumb replaces.
#[derive(Debug, clap::Args)]
struct DropInArgs {
    /// The program's own options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Command {
    fn run(&self) -> Result<u8, Failure> {
        match self {
            Command::Survey(args) => survey::run(args),
            Command::Parse(args) => crate::parse::run(args),
            Command::Grade(args) => crate::grade::run(args),
            Command::Knee(args) if args.iozone.is_empty() => survey::knee::run(args),
            Command::Knee(args) => crate::iozone::find_knee(&args.iozone, args.output.as_deref(), args.of_iozone()?),
            Command::Capacity(args) => crate::capacity::run(args),
            Command::Ask(args) => crate::ask::run(args),
            Command::Calibrate(args) => crate::calibrate::run(args),
            Command::Check(args) => crate::check::run(args),
            Command::Compare(args) => crate::compare::run(args),
            Command::Gate(args) => crate::gate::run(args),
            Command::Versus(args) => crate::versus::run(args),
            Command::Cluster(args) => crate::cluster::run(args),
            Command::Durable(args) => crate::durable::run(args),
            Command::Fidelity(args) => crate::fidelity::run(args),
            Command::Explain(args) => crate::explain::run(args),
            Command::Model(args) => crate::cost_model::run(args),
            #[cfg(feature = "report")]
            Command::Report(args) => crate::report::run(args),
            #[cfg(feature = "report")]
            Command::Plot(args) => crate::report::plot::run(args),
            #[cfg(feature = "live")]
            Command::Watch(args) => crate::watch::run(args),
            Command::Why(args) => crate::why::run(args),
            #[cfg(feature = "store")]
            Command::History(args) => crate::store::history::run(args),
            #[cfg(feature = "store")]
            Command::Trend(args) => crate::store::trend::run(args),
            #[cfg(feature = "store")]
            Command::Store(args) => crate::store::run(args),
            Command::Fio(DropInArgs { words }) => crate::fio::run(words),
            Command::Iozone(DropInArgs { words }) => crate::iozone::run(words),
            Command::FioSh(DropInArgs { words }) => survey::run_fio_sh(words),
            Command::Iostat(DropInArgs { words }) => crate::iostat::run(words),
        }
    }
}

/// The text of `plumb` alone: what to type first.
const FIRST_LINES: &str = "\
plumb survey .                     how fast is the disk under this directory?
plumb ask etcd /var/lib/etcd       is this disk enough for a program?
plumb fio job.fio                  run a job file as fio does
plumb watch                        see what the disks do now
plumb parse *.out                  read the output of fio, iozone or iostat
plumb check run.json               is this result true?
plumb compare old.json new.json    what changed, and is it more than noise?

plumb measures storage, and says whether to believe the numbers.
plumb --help lists all commands; plumb COMMAND --help has options and examples.
";

/// Parses the command line and runs the command.
pub(crate) fn run(words: &[OsString]) -> Result<u8, Failure> {
    if words.len() == 1 {
        Output::stdout().write(FIRST_LINES)?;
        return Ok(0);
    }
    match Cli::try_parse_from(words) {
        Ok(Cli { command: Some(command), .. }) => command.run(),
        Ok(Cli { generate, command: None }) => crate::generate::run(&generate, Cli::command()),
        Err(error) => show(&with_usual_names(error, words), words),
    }
}

/// The error with the usual name of an option that it suggests: an alias is in no usage.
fn with_usual_names(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(suggested)) = error.get(ContextKind::SuggestedArg) else { return error };
    let mut command = Cli::command();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        match command.find_subcommand(word) {
            Some(found) => command = found.clone(),
            None => break,
        }
    }
    let alias = suggested.trim_start_matches("--");
    let is_alias = |arg: &&clap::Arg| arg.get_all_aliases().unwrap_or_default().contains(&alias);
    let usual = command.get_arguments().find(is_alias).and_then(clap::Arg::get_long).map(|long| format!("--{long}"));
    if let Some(usual) = usual {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(usual));
    }
    error
}

/// Help and version go to standard output with status 0, mistakes to standard error with status 1; those of `plumb
/// gate` and others are 3, because 1 is an answer of a gate.
fn show(error: &clap::Error, words: &[OsString]) -> Result<u8, Failure> {
    if error.use_stderr() {
        // Errors are ignored: standard error may be closed.
        let _ = error.print();
        if let Some(why) = not_here(error) {
            print_error(&format!("plumb: {why}"));
        }
        return Ok(match words.get(1).and_then(|word| word.to_str()) {
            Some("gate") => crate::gate::status_of_mistake(words),
            Some("versus") => crate::versus::ERROR,
            Some("ask") => crate::ask::ERROR,
            Some("durable") => crate::durable::ERROR,
            Some("fidelity") => crate::fidelity::ERROR,
            _ => 1,
        });
    }
    let text = error.render();
    let coloured = std::io::IsTerminal::is_terminal(&std::io::stdout());
    Output::stdout().write(&if coloured { text.ansi().to_string() } else { text.to_string() })?;
    Ok(0)
}

/// The reason for which this build has not the command, or the command has not an option that other commands of plumb
/// have.
fn not_here(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => streams::not_of_all(text(ContextKind::InvalidArg)?).map(str::to_owned),
        ErrorKind::InvalidSubcommand => {
            let command = text(ContextKind::InvalidSubcommand)?;
            let instead = if command == "watch" { " (plumb iostat -x 1 prints the same numbers)" } else { "" };
            let refused = Feature::of_command(command)?.require(&format!("plumb {command}{instead}"));
            refused.err().map(|failure| failure.message().to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_commands_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_short_help_has_what_most_need_and_the_long_one_all() {
        let mut all = Cli::command();
        let survey = all.find_subcommand_mut("survey").unwrap();
        let (short, long) = (survey.render_help().to_string(), survey.render_long_help().to_string());
        assert!(short.lines().count() <= 50, "{short}");
        assert!(short.contains("--quick") && short.contains("plumb survey --help"), "{short}");
        for option in ["--stuck-after", "--overwrite", "--metrics-linger", "--no-store", "--untrusted", "--vary"] {
            assert!(!short.contains(option) && long.contains(option), "{option}");
        }
    }

    #[test]
    fn no_line_below_the_options_of_a_help_is_broken() {
        fn long_lines(command: &clap::Command) -> Vec<String> {
            let texts =
                [command.get_after_help(), command.get_after_long_help()].map(|text| text.map(ToString::to_string));
            let lines = texts.iter().flatten().flat_map(|text| text.lines());
            let long =
                lines.filter(|line| line.chars().count() > 100).map(|line| format!("{}: {line}", command.get_name()));
            long.chain(command.get_subcommands().flat_map(long_lines)).collect()
        }
        assert_eq!(long_lines(&Cli::command()), Vec::<String>::new());
    }
}
