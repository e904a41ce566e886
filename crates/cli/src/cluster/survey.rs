//! `plumb cluster ... survey` and `knee`: each test is given to all members. The survey itself is that of one machine; `member_survey` is the members' end.

use super::carrier::{Arrival, Connection, Place};
use super::lead::{After, Led};
use super::screen::Screen;
use super::{Carrier, LeadArgs, PROGRAM, Reached, START_WITHIN, Streamed, job, lead, now};
use crate::failure::Failure;
use crate::knee::KneeArgs;
use crate::survey::SurveyArgs;
use crate::survey::members::{ByMembers, Members};
use cluster::{Leader, LeaderCommand, OnLoss, Outcome, Rounds, Settings, SurveyTask, Task};
use measure::Nanos;
use model::RunResult;
use std::sync::mpsc::{Receiver, Sender};
use survey::{SurveyRequest, SurveyTest, TestTime};
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
        ("--wear-out", lead.wear_out, "its tests last equally long for all"),
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
    /// The carrier, until it has started them.
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
