//! plumb's own commands and their help.

use crate::failure::Failure;
use crate::output::Output;
use crate::{survey, watch};
use clap::{Parser, Subcommand};
use std::ffi::OsString;

/// Measure storage, and know whether the number is true.
#[derive(Debug, Parser)]
#[command(
    name = "plumb",
    version,
    long_version = crate::features::version(),
    about = "Measures storage, and says whether the number is true",
    after_help = "\
Examples:
  plumb survey .                  how fast is the disk under this directory?
  plumb survey --quick /data      the same in under a minute
  plumb survey /dev/nvme0n1       read a device directly; nothing is written to it
  plumb fio.sh -w /data -f        the runs of fio.sh, by its own letters
  plumb knee /data                how many threads until throughput stops growing?
  plumb fio job.fio               run an fio job file as fio does
  plumb fio --name=a --rw=randread --size=1g --direct=1
  ln -s plumb fio                 called as `fio`, plumb is fio

  plumb iostat -dx 2              what the disks do, every two seconds
  plumb watch                     the same live, with curves and processes
  plumb parse *.out               a table of what fio, iozone or iostat ever printed
  plumb grade data.csv            a report card of a sweep
  plumb check run.json            is this number true?
  plumb explain run.json          both sides of every identity, with the numbers put in
  plumb model sweep.json          access time, transfer rate, and where more users stop helping
  plumb report a.json b.json      pictures, checks and all numbers of results, as a page
  plumb plot data.csv             a picture of a sweep, in letters or into a file

fio's own options: plumb fio --help; iostat's: plumb iostat --help; iozone's: plumb iozone -h",
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    // No doc comment here: the text of `survey::Args` is used.
    Survey(Box<survey::Args>),
    Parse(crate::parse::Args),
    Grade(crate::grade::Args),
    Knee(Box<crate::knee::Args>),
    Check(crate::check::Args),
    Explain(crate::explain::Args),
    Model(crate::cost_model::Args),
    Report(crate::report::Args),
    Plot(crate::report::plot::Args),
    Watch(watch::Args),
    /// Run fio command lines and job files as fio does
    // The dispatcher handles this before clap does; the entry exists for the list of commands.
    #[command(
        disable_help_flag = true,
        after_help = "\
Examples:
  plumb fio job.fio
  plumb fio --name=a --rw=randread --size=1g --direct=1
  plumb fio --help                fio's own options
  plumb fio --cmdhelp=all         all job options"
    )]
    Fio {
        /// fio's own words
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Run iozone command lines as iozone does
    // The dispatcher handles this before clap does.
    #[command(disable_help_flag = true)]
    Iozone {
        /// iozone's own words
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Run what fio.sh runs, by its own letters
    // The dispatcher handles this before clap does.
    #[command(name = "fio.sh", disable_help_flag = true)]
    FioSh {
        /// fio.sh's own words
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Show what disks and processors do, as iostat does
    // The dispatcher handles this before clap does.
    #[command(disable_help_flag = true)]
    Iostat {
        /// iostat's own words
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

/// Parses the command line and runs the command.
pub(crate) fn run(words: &[OsString]) -> Result<u8, Failure> {
    match Cli::try_parse_from(words) {
        Ok(Cli { command: Command::Survey(args) }) => survey::run(&args),
        Ok(Cli { command: Command::Parse(args) }) => crate::parse::run(&args),
        Ok(Cli { command: Command::Grade(args) }) => crate::grade::run(&args),
        Ok(Cli { command: Command::Knee(args) }) => crate::knee::run(&args),
        Ok(Cli { command: Command::Check(args) }) => crate::check::run(&args),
        Ok(Cli { command: Command::Explain(args) }) => crate::explain::run(&args),
        Ok(Cli { command: Command::Model(args) }) => crate::cost_model::run(&args),
        Ok(Cli { command: Command::Report(args) }) => crate::report::run(&args),
        Ok(Cli { command: Command::Plot(args) }) => crate::report::plot::run(&args),
        Ok(Cli { command: Command::Watch(args) }) => watch::run(&args),
        Ok(Cli { command: Command::Fio { words } }) => crate::fio::run(&words),
        Ok(Cli { command: Command::Iozone { words } }) => crate::iozone::run(&words),
        Ok(Cli { command: Command::FioSh { words } }) => survey::run_fio_sh(&words),
        Ok(Cli { command: Command::Iostat { words } }) => crate::iostat::run(&words),
        Err(error) => show(&error),
    }
}

/// Help and version go to standard output with status 0, mistakes to standard error with status 1.
fn show(error: &clap::Error) -> Result<u8, Failure> {
    if error.use_stderr() {
        // Errors are ignored: standard error may be closed.
        let _ = error.print();
        return Ok(1);
    }
    let text = error.render();
    let coloured = std::io::IsTerminal::is_terminal(&std::io::stdout());
    Output::stdout().write(&if coloured { text.ansi().to_string() } else { text.to_string() })?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_of_commands_is_sound() {
        Cli::command().debug_assert();
    }
}
