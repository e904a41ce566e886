//! iozone as the program of a cluster: its throughput tests with a member for each child.

use super::member::ChildMember;
use crate::failure::Failure;
use crate::input;
use crate::members::carrier::Place;
use crate::members::lead::Members;
use crate::members::lead::NoView;
use crate::members::program::{self, Member, Needs, Program, Tests, UnusedOptions, Work};
use clap::{ArgMatches, Args, Command};
use std::ffi::OsString;

/// Throughput tests.
#[derive(Debug)]
pub(crate) struct Throughput;

/// Run iozone's throughput tests with a member for each child
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb cluster --hosts 'node[1-4]' iozone -i 0 -i 1 -s 1g          a member for each child
  plumb iozone -h                 iozone's own options")]
struct IozoneArgs {
    /// iozone's own options; -t is the number of members
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Why an option of results is not for iozone.
const OWN_OUTPUT: &str = "its output is iozone's; its own options say where results go";

impl Program for Throughput {
    fn command(&self) -> Command {
        IozoneArgs::augment_args(Command::new("iozone"))
    }

    fn unused(&self) -> UnusedOptions {
        UnusedOptions {
            by: "iozone",
            options: &[
                ("--shift", "children of iozone have their own files"),
                ("--spread", "children of iozone have their own files"),
                ("--repeat", OWN_OUTPUT),
                ("--wear-out", "children of iozone end together, or mark their amounts, as its options say"),
                ("--partial", "a test of iozone has the children that it was asked for"),
                ("--keep", OWN_OUTPUT),
                ("--stream", OWN_OUTPUT),
                ("--per", "iozone's -C shows each child"),
                ("--page", OWN_OUTPUT),
                ("--json", "give it to iozone, after its name"),
                ("--output", OWN_OUTPUT),
                ("--start-within", OWN_OUTPUT),
            ],
        }
    }

    fn work(&self, matches: &ArgMatches) -> Result<Work, Failure> {
        let args: IozoneArgs = program::arguments(matches)?;
        Ok(Work::Tests(Box::new(Children { words: input::words(&args.words)? })))
    }

    fn member(&self) -> Box<dyn Member> {
        Box::new(ChildMember::default())
    }
}

/// The words of iozone's tests.
struct Children {
    words: Vec<String>,
}

impl Tests for Children {
    fn needs(&self, members: u32) -> Result<Needs, Failure> {
        super::check_words(&self.words, members)?;
        Ok(Needs::default())
    }

    fn run(&self, members: &mut Members) -> Result<u8, Failure> {
        let child = |place: &Place| iozone::Member {
            host: place.host(),
            directory: members.directory.clone(),
            program: String::new(),
            file: None,
        };
        let children: Vec<iozone::Member> = members.places.iter().map(child).collect();
        let status = super::run_by(&self.words, children, members);
        members.end(&mut NoView);
        status
    }
}
