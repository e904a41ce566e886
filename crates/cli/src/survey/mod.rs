//! `plumb survey`: "how fast is this disk, and is that true?".
//!
//! Creates work files (or reads devices), runs a suite of tests, checks each result, and prints a table and two
//! sentences. The crate `survey` defines the tests; this module runs, observes, saves and prints them.

mod args;
mod fio_sh;
pub(crate) mod knee;
mod measure;
mod members;
mod remarks;
mod save;
mod screen;
mod table;

use crate::failure::{Failure, signal_status};
use crate::members::lead::Members;
use crate::members::program::{self, Member, Needs, Program, Tests, UnusedOptions, Work};
use crate::output::Output;
use crate::result_file::DocumentFile;
use crate::streams::is_stdout;
use crate::width;
pub(crate) use args::{IoArgs, Numbers, ResultArgs, SurveyArgs, tests_named};
use clap::{ArgMatches, Args, Command};
pub(crate) use fio_sh::run as run_fio_sh;
use formats::printable;
use knee::KneeArgs;
use measure::{Findings, SurveyRun, check, check_layers};
use members::{Surveyors, TestMember};
use remarks::Extent;
use screen::Screen;
use session::Session;
use session::arguments::SessionArgs;
use session::keep::{KeepPolicy, keep_file};
use session::machine::seed_from_clock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use survey::{FinishedTest, OpenTarget, Preparation, Reach, SurveyRequest};

/// A survey to run, with the results of earlier tests if it is resumed.
struct SurveyOrder<'a> {
    request: SurveyRequest,
    done: HashMap<String, save::EndedTest>,
    output: Option<PathBuf>,
    /// Work files that an earlier survey kept are written again.
    recreate: bool,
    reach: Reach,
    remarks: Extent,
    result: ResultArgs,
    keeping: KeepPolicy,
    /// The members that run it in place of this process.
    members: Option<Surveyors<'a>>,
}

impl SurveyOrder<'_> {
    fn new(request: SurveyRequest) -> Self {
        let output = request.output.clone();
        SurveyOrder {
            request,
            done: HashMap::new(),
            output,
            recreate: false,
            reach: Reach::Whole,
            remarks: Extent::FirstFive,
            result: ResultArgs::default(),
            keeping: KeepPolicy::Unasked,
            members: None,
        }
    }
}

/// Called after each finished test with its row, its Plan and the equivalent fio options.
type EachTest<'each> = &'each mut dyn FnMut(&FinishedTest, &plan::Plan, &[(String, String)]) -> Result<(), Failure>;

/// Runs a survey. Returns 0, or 1 if a test failed, or 128 + signal if a signal interrupted it.
pub(crate) fn run(args: &SurveyArgs) -> Result<u8, Failure> {
    run_by(args, None)
}

/// The same by members.
fn run_by(args: &SurveyArgs, members: Option<Surveyors<'_>>) -> Result<u8, Failure> {
    if members.is_some() {
        members::check(&args.result)?;
    }
    let order = match &args.resume {
        Some(path) => {
            let (request, done) = save::read_earlier(path)?;
            args.check_trust(&request, path)?;
            let output = Some(path.clone());
            SurveyOrder { done, output, ..SurveyOrder::new(request) }
        }
        None => SurveyOrder::new(args.request()?),
    };
    if args.dry_run {
        return Output::stdout().write(&printable::lines(&outline(order.request)?)).map(|()| 0);
    }
    let remarks = if args.remarks { Extent::All } else { Extent::FirstFive };
    conduct(SurveyOrder { remarks, result: args.result.clone(), members, ..order }, &mut |_, _, _| Ok(()))
}

/// Runs a survey over users that ends when throughput stops growing; the user counts of the request are the levels, in
/// ascending order.
pub(crate) fn find_knee(
    request: SurveyRequest,
    result: ResultArgs,
    members: Option<Surveyors<'_>>,
) -> Result<u8, Failure> {
    let order = SurveyOrder { reach: Reach::UntilGrowthEnds, result, members, ..SurveyOrder::new(request) };
    conduct(order, &mut |_, _, _| Ok(()))
}

fn outline(request: SurveyRequest) -> Result<String, Failure> {
    let prepared = Preparation::new(request, Reach::Whole, seed_from_clock())?;
    check(&prepared, &prepared.found.outlined(&prepared.request))?;
    Ok(screen::outline(&prepared, width::of_text(width::of_stdout())))
}

/// Runs a survey, calls `each` after every test, then saves and prints the results.
fn conduct(order: SurveyOrder<'_>, each: EachTest<'_>) -> Result<u8, Failure> {
    // A survey file or the result of an earlier survey may have these.
    let (strict, host) = (order.request.strict.clone(), order.request.host.clone());
    let mut args = SessionArgs { strict, host, ..order.result.session.clone() };
    args.streams.quiet |= order.members.as_ref().is_some_and(|members| members.verbosity().is_quiet());
    let mut session = Session::open(&args)?;
    let conducted = conduct_in(&mut session, order, each);
    session.close(conducted)
}

fn conduct_in(session: &mut Session, order: SurveyOrder<'_>, each: EachTest<'_>) -> Result<u8, Failure> {
    let SurveyOrder { request, done, output, recreate, reach, remarks, result, keeping, mut members } = order;
    let request = members.as_ref().map_or(Ok(request.clone()), |members| shared(request, members.count()))?;
    let args = result.session;
    let mut prepared = Preparation::new(request, reach, seed_from_clock())?;
    check(&prepared, &prepared.found.outlined(&prepared.request))?;
    if result.layers {
        check_layers(&prepared)?;
    }
    let directory = prepared.request.output_dir.as_deref().unwrap_or(Path::new("."));
    if output.as_deref().is_none_or(|path| !is_stdout(path)) {
        std::fs::create_dir_all(directory)
            .map_err(|error| Failure::at(directory, format!("cannot be made: {error}")))?;
    }
    let mut file = DocumentFile::reserve(output.as_deref(), directory, "plumb-survey", &args.streams)?;
    args.publish.check_stdout(file.prints.then_some("--json, -o -"))?;
    let mut open = match &mut members {
        Some(members) => {
            members.begin(&prepared.request)?;
            OpenTarget::of_members(&prepared.found, &prepared.request)
        }
        None => OpenTarget::open(&prepared.found, &prepared.request)?,
    };
    check(&prepared, &open.target)?;
    if recreate {
        open.work_files.iter_mut().try_for_each(survey::WorkFile::forget)?;
    }
    prepared.settle(&open);
    let mut screen =
        Screen::new(if file.prints { Output::nowhere() } else { session.stdout() }, remarks, session.verbosity());
    screen.begin(&open, &prepared, &done)?;
    let mut run = SurveyRun::new(&prepared, done, session);
    (run.members, run.layers) = (members, result.layers);
    let mut found = run.measure_all(&mut open, &mut file, each);
    run.clear();
    let published = run.finish();
    prepared.sort(&mut found.rows);
    let sentences = prepared.conclusions(&found.rows, args.accept.checks());
    // Save before printing: a closed pipe would end the command.
    let saved = save_all(&mut file, &open, &prepared, &found, &sentences);
    screen.result(&open, &prepared.suite, &found, &sentences)?;
    let (planned, is_saved) = saved?;
    if let (Some(path), true) = (file.path(), is_saved) {
        let page = if result.no_report { String::new() } else { crate::drawing::after_survey(path) };
        screen.end(path, &page, planned, &found)?;
        if is_whole(&prepared, &found) {
            screen.unless_quiet(&keep_file(path, &args.store, keeping))?;
        }
    }
    found.failure.take().map_or(published, Err)?;
    drop(run);
    found.rows.iter().for_each(|row| session.count(&row.result.notes));
    Ok(status(&found))
}

/// The request of each of `members`: without a size they share what one survey would use.
fn shared(request: SurveyRequest, members: u32) -> Result<SurveyRequest, Failure> {
    const MIB: u64 = 1 << 20;
    members::check_request(&request)?;
    if request.size.is_some() {
        return Ok(request);
    }
    let alone = Preparation::new(request.clone(), Reach::Whole, 0)?.found;
    if !alone.makes_files() {
        return Ok(request);
    }
    let share = alone.size / u64::from(members.max(1)) / MIB * MIB;
    Ok(SurveyRequest { size: Some(share.max(16 * MIB)), ..request })
}

/// True if the survey did all of its tests: what was interrupted does not compare with the runs before it.
fn is_whole(prepared: &Preparation, found: &Findings) -> bool {
    let complete = prepared.reach == Reach::UntilGrowthEnds || found.rows.len() >= prepared.suite.tests.len();
    complete && !found.rows.is_empty() && found.signal.is_none() && found.failure.is_none()
}

/// Saves the results, if there are any. Returns the number of planned tests, and true if there was something to save.
fn save_all(
    file: &mut DocumentFile,
    open: &OpenTarget,
    prepared: &Preparation,
    found: &Findings,
    sentences: &[String],
) -> Result<(usize, bool), Failure> {
    // A sweep that ended early is complete.
    let planned = match prepared.reach {
        Reach::Whole => prepared.suite.tests.len(),
        Reach::UntilGrowthEnds => found.rows.len(),
    };
    if found.rows.is_empty() && found.under_way.is_none() {
        return Ok((planned, false));
    }
    let mut survey = save::SavedSurvey::of(open, &prepared.request, planned, &found.rows);
    if let Some(row) = &found.under_way {
        survey = survey.and_under_way(row);
    }
    save::finish(file, &survey.ended(sentences, found.signal).in_surroundings()).map(|()| (planned, true))
}

fn status(found: &Findings) -> u8 {
    let failed = found.rows.iter().any(|row| row.result.jobs.iter().any(|job| job.error.is_some()));
    found.signal.map_or(u8::from(failed), signal_status)
}

/// Surveys and the search for a knee as programs of a cluster.
#[derive(Debug)]
pub(crate) enum Surveys {
    Whole,
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
        self.dry_run.then(|| run(self))
    }

    fn needs(&self, _members: u32) -> Result<Needs, Failure> {
        let (request, config) = self.request_by_members()?;
        Ok(Needs { files: config.map(std::path::Path::to_owned).into_iter().collect(), ..needs(request) })
    }

    fn run(&self, members: &mut Members) -> Result<u8, Failure> {
        run_by(self, Some(Surveyors::new(members)))
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
