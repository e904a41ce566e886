//! `plumb cluster ... survey` and `knee`: the leader's end, which gives each test to all members, and the members' end, which opens the target, fills it
//! and makes the Plan of a test. The survey itself is that of one machine.

use super::carrier::{Arrival, Connection, Place};
use super::lead::{After, Led};
use super::screen::Screen;
use super::{Carrier, LeadArgs, PROGRAM, Reached, START_WITHIN, Streamed, job, lead, now};
use crate::failure::Failure;
use crate::fio::Machine;
use crate::knee::KneeArgs;
use crate::survey::SurveyArgs;
use crate::survey::measure::{patient, write_passes};
use crate::survey::members::{ByMembers, Members};
use cluster::{Leader, LeaderCommand, OnLoss, Outcome, Rounds, Settings, SurveyTask, Task};
use fio::Parser;
use measure::Nanos;
use model::RunResult;
use plan::Plan;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};
use survey::{OpenTarget, Preparation, Reach, Setup, SurveyRequest, SurveyTest, TestTime};
use sys::processes::signals::Watch;

/// Runs a survey by all members.
pub(super) fn survey(lead: &LeadArgs, args: &SurveyArgs) -> Result<u8, Failure> {
    if args.dry_run {
        return crate::survey::run(args);
    }
    by_members(lead, &mut |members| crate::survey::run_by(args, Some(members)))
}

/// Looks for the knee of all members together.
pub(super) fn knee(lead: &LeadArgs, args: &KneeArgs) -> Result<u8, Failure> {
    by_members(lead, &mut |members| crate::knee::run_by(args, members))
}

fn by_members(lead: &LeadArgs, run: &mut dyn FnMut(&mut dyn Members) -> Result<u8, Failure>) -> Result<u8, Failure> {
    let the_result = "the survey's own file has every test with its members";
    let given = [
        ("--shift", lead.shift.is_some(), "each member reads its own file"),
        ("--spread", lead.spread.is_some(), "each member has its own file, or the device of all"),
        ("--repeat", lead.repeat.is_some(), "survey has --repeat: it repeats each test"),
        ("--partial", lead.partial, "rows by different members do not compare"),
        ("--keep", lead.keep.is_some(), the_result),
        ("--stream", lead.stream.is_some(), the_result),
        ("--per", lead.per.is_some(), the_result),
        ("--page", lead.page.is_some(), "survey makes a page of its result, or plumb report"),
        ("--json", lead.json, "give it to survey, after its name"),
        ("--output", lead.output.is_some(), "give it to survey, after its name"),
    ];
    if let Some((option, _, why)) = given.iter().find(|(_, is_given, _)| *is_given) {
        return Err(Failure::new(format!("cluster: {option} is not for a survey: {why}")));
    }
    if let Some(library) = lead.mpi.as_deref().filter(|_| !lead.relayed) {
        return super::relayed::become_relay(library);
    }
    if lead.quiet {
        crate::output::keep_quiet();
    }
    let Some(reached) = lead.reach()? else { return Ok(0) };
    let Reached { places, carrier, name, library, arrivals: (sender, arrivals) } = reached;
    let signals = lead::signals()?;
    let mut members = Surveyors {
        settings: Settings {
            program: PROGRAM.to_owned(),
            silence: lead.silence(),
            on_loss: OnLoss::Stop,
            rounds: Rounds::Several,
        },
        start_within: lead.start_within.unwrap_or(START_WITHIN),
        directory: lead.directory()?,
        face: Streamed { screen: Screen::new(&places), stream: None },
        places,
        origin: (name, library),
        start: Some((carrier, sender)),
        arrivals: &arrivals,
        signals: &signals,
        request: String::new(),
        led: None,
    };
    let status = run(&mut members);
    members.end();
    status
}

/// The members of a survey, which are started with the first test.
struct Surveyors<'a> {
    settings: Settings,
    start_within: Nanos,
    directory: String,
    places: Vec<Place>,
    /// Name of the carrier, and the MPI library.
    origin: (&'static str, Option<String>),
    /// What starts them, until it has.
    start: Option<(Carrier, Sender<Arrival>)>,
    arrivals: &'a Receiver<Arrival>,
    signals: &'a Watch,
    request: String,
    led: Option<Led<'a>>,
    face: Streamed,
}

impl Surveyors<'_> {
    fn tasks(&self, test: &SurveyTest, TestTime { ramp, time }: TestTime) -> Vec<Task> {
        let survey = SurveyTask { request: self.request.clone(), test: test.key(), ramp, time };
        job::tasks_of_places(&self.places, &self.directory, &LeaderCommand::Survey(Box::new(survey)))
    }

    /// One test by all.
    fn round(&mut self, tasks: Vec<Task>) -> Result<(Outcome, After), Failure> {
        let mut led = match (self.led.take(), self.start.take()) {
            (Some(mut led), _) => {
                led.again(tasks, &mut self.face);
                led
            }
            (None, Some((carrier, sender))) => {
                let leader = Leader::new(self.settings.clone(), tasks, now());
                let connections: Vec<Connection> = carrier.connections(&self.places, &sender)?;
                Led::new(leader, connections, (self.arrivals, self.signals))
            }
            (None, None) => return Err(Failure::new("cluster: the members have ended")),
        };
        let found = led.round(&mut self.face);
        self.led = (found.1 == After::Resting).then_some(led);
        Ok(found)
    }
}

impl Members for Surveyors<'_> {
    fn count(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    fn begin(&mut self, request: &SurveyRequest) -> Result<(), Failure> {
        self.request = serde_json::to_string(request)?;
        Ok(())
    }

    fn measure(&mut self, test: &SurveyTest, time: TestTime) -> Result<ByMembers, Failure> {
        let (outcome, _) = self.round(self.tasks(test, time))?;
        let signal = outcome.signal;
        let names: Vec<String> = self.places.iter().map(Place::name).collect();
        let mut members = outcome.into_results(&names);
        cluster::name_neighbours(&mut members);
        let mut summary = cluster::summary(&members, self.origin.0, self.start_within);
        summary.library.clone_from(&self.origin.1);
        let lost = members.iter().find_map(|member| Some((member.name(), member.lost.as_ref()?)));
        if let (Some((name, loss)), None) = (lost, signal) {
            let test = test.describe();
            return Err(Failure::new(format!("cluster: {test}: {name}: {}; the tests before it are kept", loss.why)));
        }
        let result = RunResult { ended_by_signal: signal, ..cluster::over_all(&members, &summary) };
        Ok(ByMembers { result, summary: Box::new(summary) })
    }

    fn end(&mut self) {
        if let Some(led) = self.led.take() {
            led.dismiss(&mut self.face);
        }
    }
}

/// The survey of one member: its target is open, and stays so until it exits.
pub(super) struct MemberSurvey {
    prepared: Preparation,
    open: OpenTarget,
}

impl MemberSurvey {
    /// Opens the target of a task. The work file has the member's prefix in its name.
    pub(super) fn open(task: &Task, survey: &SurveyTask) -> Result<Self, Failure> {
        let mut request: SurveyRequest = serde_json::from_str(&survey.request)
            .map_err(|error| Failure::new(format!("the survey cannot be read: {error}")))?;
        let looked = Preparation::new(request.clone(), Reach::Whole, 0)?;
        if looked.found.makes_files() {
            request.targets.iter_mut().for_each(|target| *target = own_file(target, &task.prefix));
        }
        let prepared = Preparation::new(request, Reach::Whole, 0)?;
        let open = OpenTarget::open(&prepared.found, &prepared.request)?;
        Ok(MemberSurvey { prepared, open })
    }

    /// The remarks on the target.
    pub(super) fn remarks(&self) -> &[String] {
        &self.open.remarks
    }

    /// Writes what is not yet written, by `write`.
    pub(super) fn fill(
        &mut self,
        write: &mut dyn FnMut(&Plan) -> Result<RunResult, Failure>,
    ) -> Result<Filled, Failure> {
        let Preparation { found, request, .. } = &self.prepared;
        let filled = write_passes(&self.open, found.passes(request), &mut |target| {
            write(&patient(survey::fill_plan(target), request))
        })?;
        if filled.is_some() {
            return Ok(Filled::Interrupted);
        }
        Ok(Filled::Whole(self.open.set_filled()?))
    }

    /// The Plan of a test.
    pub(super) fn plan(&self, task: &SurveyTask) -> Result<Plan, Failure> {
        let unknown =
            || Failure::new(format!("there is no test `{}`; use one version of plumb on all machines", task.test));
        let test = self.prepared.suite.tests.iter().find(|test| test.key() == task.test).ok_or_else(unknown)?;
        let time = TestTime { ramp: task.ramp, time: task.time };
        let setup = Setup { time, ..self.prepared.setup(&self.open.target) };
        let plan = test.plan(setup, &Parser::new(engine::ENGINES), &Machine::here().surroundings())?;
        Ok(patient(plan, &self.prepared.request))
    }
}

/// How the writing before the first test ended.
pub(super) enum Filled {
    /// With remarks on the files.
    Whole(Vec<String>),
    Interrupted,
}

/// `DIR/plumb-survey.node1.0.dat`, or `DIR/name.node1.0.dat` for a name that was given.
fn own_file(target: &Path, prefix: &str) -> PathBuf {
    let (directory, name) = match target.is_dir() {
        true => (target, "plumb-survey.dat".as_ref()),
        false => (target.parent().unwrap_or(Path::new("")), target.file_name().unwrap_or_default()),
    };
    let name = Path::new(name);
    let stem = name.file_stem().unwrap_or_default().to_string_lossy();
    let extension = name.extension().unwrap_or("dat".as_ref()).to_string_lossy();
    directory.join(format!("{stem}.{prefix}{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_has_a_file_with_its_prefix() {
        let place = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let own = |path: &Path| own_file(path, "node1.3.");
        assert_eq!(own(place.path()), place.path().join("plumb-survey.node1.3.dat"));
        assert_eq!(own(&place.path().join("x.bin")), place.path().join("x.node1.3.bin"));
        assert_eq!(own(Path::new("y.dat")), Path::new("y.node1.3.dat"));
    }
}
