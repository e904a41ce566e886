//! Surveys and the search for a knee as programs of a cluster: each test is a run of all members at once.

use super::knee::KneeArgs;
use super::member::TestMember;
use super::members::Surveyors;
use super::{SurveyArgs, knee};
use crate::failure::Failure;
use crate::members::lead::Members;
use crate::members::program::{self, Member, Needs, Program, Tests, UnusedOptions, Work};
use clap::{ArgMatches, Args, Command};
use survey::SurveyRequest;

/// The two kinds.
#[derive(Debug)]
pub(crate) enum Surveys {
    /// All tests.
    Whole,
    /// Until growth ends.
    Knee,
}

/// Why an option of results is not for a survey.
const OWN_FILE: &str = "the survey's own file has every test with its members";

impl Program for Surveys {
    fn command(&self) -> Command {
        match self {
            Surveys::Whole => SurveyArgs::augment_args(Command::new("survey")),
            Surveys::Knee => KneeArgs::augment_args(Command::new("knee")),
        }
    }

    fn unused(&self) -> UnusedOptions {
        UnusedOptions {
            by: "a survey",
            options: &[
                ("--shift", "each member reads its own file"),
                ("--spread", "each member has its own file, or the device of all"),
                ("--repeat", "survey has --repeat: it repeats each test"),
                ("--wear-out", "its tests last equally long for all"),
                ("--partial", "rows by different members do not compare"),
                ("--keep", OWN_FILE),
                ("--stream", OWN_FILE),
                ("--per", OWN_FILE),
                ("--page", "survey makes a page of its result, or plumb report"),
                ("--json", "give it to survey, after its name"),
                ("--output", "give it to survey, after its name"),
            ],
        }
    }

    fn work(&self, matches: &ArgMatches) -> Result<Work, Failure> {
        Ok(Work::Tests(match self {
            Surveys::Whole => Box::new(program::arguments::<SurveyArgs>(matches)?),
            Surveys::Knee => Box::new(program::arguments::<KneeArgs>(matches)?),
        }))
    }

    fn member(&self) -> Box<dyn Member> {
        Box::new(TestMember::default())
    }
}

/// The files and devices that a request names.
fn needs(request: SurveyRequest) -> Needs {
    let results = request.output.into_iter().chain(request.output_dir).collect();
    Needs { files: Vec::new(), targets: request.targets, results: Some(results) }
}

impl Tests for SurveyArgs {
    fn run_alone(&self) -> Option<Result<u8, Failure>> {
        self.dry_run.then(|| super::run(self))
    }

    fn needs(&self, _members: u32) -> Result<Needs, Failure> {
        let (request, config) = self.request_by_members()?;
        Ok(Needs { files: config.map(std::path::Path::to_owned).into_iter().collect(), ..needs(request) })
    }

    fn run(&self, members: &mut Members) -> Result<u8, Failure> {
        super::run_by(self, Some(Surveyors::new(members)))
    }
}

impl Tests for KneeArgs {
    fn needs(&self, _members: u32) -> Result<Needs, Failure> {
        Ok(needs(self.request_by_members()?))
    }

    fn run(&self, members: &mut Members) -> Result<u8, Failure> {
        knee::run_by(self, Surveyors::new(members))
    }
}
