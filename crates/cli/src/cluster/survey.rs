//! `plumb cluster ... survey` and `knee`: each test is given to all members. The survey itself is that of one machine; `member_survey` is the members' end.

use super::carrier::Place;
use super::rounds::{self, InRounds, Origin};
use super::screen::Screen;
use super::shown::judge;
use super::{LeadArgs, START_WITHIN, Streamed, job};
use crate::failure::Failure;
use crate::knee::KneeArgs;
use crate::survey::SurveyArgs;
use crate::survey::members::{ByMembers, Members};
use cluster::{LeaderCommand, SurveyTask};
use measure::Nanos;
use model::RunResult;
use session::progress::UnderWay;
use survey::{SurveyRequest, SurveyTest, TestTime};

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

/// Refuses options of clusters that have no meaning for a survey.
pub(super) fn check(lead: &LeadArgs) -> Result<(), Failure> {
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
    Ok(())
}

fn by_members(lead: &LeadArgs, run: &mut dyn FnMut(&mut dyn Members) -> Result<u8, Failure>) -> Result<u8, Failure> {
    check(lead)?;
    rounds::with_members(lead, &mut |members, origin| {
        let mut surveyors = Surveyors {
            start_within: lead.start_within.unwrap_or(START_WITHIN),
            directory: lead.directory()?,
            face: Streamed { screen: Screen::new(&members.places), stream: None },
            members,
            origin,
            request: String::new(),
        };
        let status = run(&mut surveyors);
        surveyors.end();
        status
    })
}

/// The members of a survey, which are started with the first test.
struct Surveyors<'a> {
    members: InRounds<'a>,
    origin: Origin,
    start_within: Nanos,
    directory: String,
    request: String,
    face: Streamed,
}

impl Members for Surveyors<'_> {
    fn count(&self) -> u32 {
        u32::try_from(self.members.places.len()).unwrap_or(u32::MAX)
    }

    fn begin(&mut self, request: &SurveyRequest) -> Result<(), Failure> {
        self.request = serde_json::to_string(request)?;
        Ok(())
    }

    fn measure(&mut self, test: &SurveyTest, time: TestTime, under_way: UnderWay) -> Result<ByMembers, Failure> {
        self.face.screen.head(under_way);
        let TestTime { ramp, time } = time;
        let survey = SurveyTask { request: self.request.clone(), test: test.key(), ramp, time };
        let command = LeaderCommand::Survey(Box::new(survey));
        let tasks = job::tasks_of_places(&self.members.places, &self.directory, &command);
        let outcome = self.members.round(tasks, &mut self.face)?;
        let signal = outcome.signal;
        let names: Vec<String> = self.members.places.iter().map(Place::name).collect();
        let mut members = outcome.into_results(&names);
        cluster::name_neighbours(&mut members);
        let mut summary = cluster::summary(&members, self.origin.carrier, self.start_within);
        summary.library.clone_from(&self.origin.library);
        let lost = members.iter().find_map(|member| Some((member.name(), member.lost.as_ref()?)));
        if let (Some((name, loss)), None) = (lost, signal) {
            let test = test.describe();
            return Err(Failure::new(format!("cluster: {test}: {name}: {}; the tests before it are kept", loss.why)));
        }
        let mut result = RunResult { ended_by_signal: signal, ..cluster::over_all(&members, &summary) };
        judge(&mut result, &members, &summary);
        Ok(ByMembers { result, summary: Box::new(summary) })
    }

    fn end(&mut self) {
        self.members.end(&mut self.face);
    }
}
