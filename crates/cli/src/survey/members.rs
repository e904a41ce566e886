//! A survey that the members of a cluster run: each test is a run of all of them at once, and a row of the same table,
//! JSON and page. Each member opens its target, fills it, and makes the Plan of a test.

use crate::failure::Failure;
use crate::members::carrier::Place;
use crate::members::judge;
use crate::members::lead::Members;
use crate::members::listener::{Listener, Orders, say};
use crate::members::member::{PlanRun, enter, options, session};
use crate::members::program::{Member, Rights, tasks_of_places};
use crate::members::screen::Screen;
use crate::output::Verbosity;
use crate::survey::ResultArgs;
use cluster::{Answer, LeaderCommand, MemberEnd, MemberSummary, Reason, Summary, SurveyTask, Task};
use measure::{Nanos, text};
use model::RunResult;
use plan::Plan;
use run::{Event, Observer, Request};
use session::Run;
use session::arguments::SessionArgs;
use session::machine::{Machine, parser};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use survey::{FinishedTest, OpenTarget, Preparation, Reach, Setup, SurveyRequest, SurveyTest, TestTime};

/// The members that run the tests in place of this process. They are started with the first test.
pub(crate) struct Surveyors<'a> {
    members: &'a mut Members,
    request: String,
    screen: Screen,
}

impl<'a> Surveyors<'a> {
    pub(super) fn new(members: &'a mut Members) -> Self {
        let screen = Screen::new(&members.places, members.verbosity);
        Surveyors { members, request: String::new(), screen }
    }

    pub(super) fn verbosity(&self) -> Verbosity {
        self.members.verbosity
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.members.places.len()).unwrap_or(u32::MAX)
    }

    /// Takes the request that all of them have, before the first test.
    pub(super) fn begin(&mut self, request: &SurveyRequest) -> Result<(), Failure> {
        self.request = serde_json::to_string(request)?;
        Ok(())
    }

    /// Runs a test on all of them at once, and shows what is under way. A signal ends it, and is in the result.
    pub(super) fn measure(
        &mut self,
        test: &SurveyTest,
        time: TestTime,
        under_way: impl Display + 'static,
    ) -> Result<ByMembers, Failure> {
        self.screen.head(under_way);
        let TestTime { ramp, time } = time;
        let survey = SurveyTask { request: self.request.clone(), test: test.key(), ramp, time };
        let command = LeaderCommand::Survey(Box::new(survey));
        let tasks = tasks_of_places(&self.members.places, &self.members.directory, &command);
        let outcome = self.members.round(tasks, &mut self.screen)?;
        let signal = outcome.signal;
        let names: Vec<String> = self.members.places.iter().map(Place::name).collect();
        let mut members = outcome.into_results(&names);
        cluster::name_neighbours(&mut members);
        let origin = &self.members.origin;
        let mut summary = cluster::summary(&members, origin.carrier, self.members.start_within);
        summary.library.clone_from(&origin.library);
        let lost = members.iter().find_map(|member| Some((member.name(), member.lost.as_ref()?)));
        if let (Some((name, loss)), None) = (lost, signal) {
            let test = test.describe();
            return Err(Failure::new(format!("cluster: {test}: {name}: {}; the tests before it are kept", loss.why)));
        }
        let mut result = RunResult { ended_by_signal: signal, ..cluster::over_all(&members, &summary) };
        judge(&mut result, &members, &summary);
        Ok(ByMembers { result, summary: Box::new(summary) })
    }
}

impl Drop for Surveyors<'_> {
    /// Lets them exit.
    fn drop(&mut self) {
        self.members.end(&mut self.screen);
    }
}

pub(crate) struct ByMembers {
    /// The result of all, with the rates over all.
    pub(crate) result: RunResult,
    pub(crate) summary: Box<Summary>,
}

/// Refuses options that are of runs in this process.
pub(super) fn check(result: &ResultArgs) -> Result<(), Failure> {
    let args = &result.session;
    let one_machine = "it is of runs on one machine; the result has the intervals of no member";
    let given = args.publish.given().map(|option| (option, one_machine));
    let brief = "members measure plumb's own share before each run, as in all runs of a cluster";
    let layers = result.layers.then_some(("--layers", "it records one machine"));
    match given.or(args.no_calibrate.then_some(("--no-calibrate", brief))).or(layers) {
        Some((option, why)) => Err(Failure::new(format!("cluster: {option} is not for members: {why}"))),
        None => Ok(()),
    }
}

/// Refuses what a survey by members cannot do.
pub(super) fn check_request(request: &SurveyRequest) -> Result<(), Failure> {
    match request.precondition {
        survey::Precondition::Steady => Err(Failure::new(
            "cluster: --precondition=steady is not for members: each member would settle at another time; write the files twice with --precondition",
        )),
        _ => Ok(()),
    }
}

/// The lines about the members of each test, after the table.
pub(super) fn lines(rows: &[FinishedTest]) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(first) = rows.iter().find_map(|row| row.members.as_deref()) else { return lines };
    let (members, hosts) = (text::counted(first.members.into(), "member"), text::counted(first.hosts.into(), "host"));
    lines.push(format!(
        "By {members} on {hosts} ({}); users are those of all. Rates are those over all, from the first start to the last end:",
        first.library.as_ref().unwrap_or(&first.carrier)
    ));
    for row in rows {
        let Some(summary) = row.members.as_deref() else { continue };
        lines.push(format!("{}: {}", row.test.describe(), rates(summary)));
        lines.extend(summary.stragglers.iter().map(|slow| {
            let ranks: Vec<String> = slow.ranks.iter().map(u32::to_string).collect();
            let by = match slow.reason {
                Reason::Elapsed => "time",
                Reason::Rate => "rate",
                Reason::Tail => "p99.9",
            };
            format!("  slow: member {} on {}, by its {by}", ranks.join(", "), slow.host)
        }));
    }
    lines
}

/// The three rates, and the slowest and the fastest member.
fn rates(summary: &Summary) -> String {
    let mut parts = Vec::new();
    for found in &summary.rates {
        let name = found.direction.word();
        let Some(over_all) = found.over_all else {
            parts.push(format!("{name} {} in sum", text::rate(found.sum)));
            continue;
        };
        parts.push(format!("{name} {}", text::rate(over_all)));
        parts.extend(
            found.common_window.filter(|window| window.low > over_all && found.is_other(window.low)).map(|window| {
                format!("{} to {} while all were at work", text::rate(window.low), text::rate(window.high))
            }),
        );
        parts.extend(
            found.is_other(found.sum).then(|| format!("the members' own rates add up to {}", text::rate(found.sum))),
        );
    }
    let with_rate = |member: &MemberSummary| member.bytes_per_second.map(|rate| (rate, member.rank));
    let mut members: Vec<(f64, u32)> = summary.each.iter().filter_map(with_rate).collect();
    members.sort_by(|one, other| one.0.total_cmp(&other.0));
    if let (Some(lowest), Some(highest), true) = (members.first(), members.last(), members.len() > 1) {
        let of = |(rate, rank): &(f64, u32)| format!("{} ({rank})", text::rate(*rate));
        parts.push(format!("members {} to {}", of(lowest), of(highest)));
    }
    parts.join(", ")
}

/// The member. Its survey begins with the first test.
#[derive(Default)]
pub(super) struct TestMember {
    survey: Option<MemberSurvey>,
}

impl Member for TestMember {
    fn takes(&self, command: &LeaderCommand) -> bool {
        matches!(command, LeaderCommand::Survey(_))
    }

    fn carry_out(&mut self, task: &Task, rights: &Rights, orders: &mut Orders) -> Result<Option<MemberEnd>, Failure> {
        rights.check_trusted()?;
        enter(task)?;
        let Some(plan) = self.plan(task, orders)? else { return Ok(None) };
        PlanRun { plan, read_only: false, warnings: Vec::new() }.run(task, rights, orders)
    }
}

impl TestMember {
    /// The Plan of a test, once its target is open and filled. `None` if the leader ended that.
    fn plan(&mut self, task: &Task, orders: &mut Orders) -> Result<Option<Plan>, Failure> {
        let LeaderCommand::Survey(survey) = &task.command else {
            return Err(Failure::new("the leader sent the task of another program"));
        };
        let finding = |remark: &String| say(&Answer::Finding(remark.clone()));
        if self.survey.is_none() {
            let mut open = MemberSurvey::open(task, survey)?;
            open.open.remarks.iter().try_for_each(finding)?;
            let mut session = session(task, &SessionArgs { no_calibrate: true, ..SessionArgs::default() })?;
            let signal = open.prepared.fill(&open.open, &mut |plan| -> Result<RunResult, Failure> {
                let mut observer = FillObserver(Listener::new(task, orders));
                let run = Run { title: None, plan, options: options(task), layers: false };
                let mut result = session.execute(run, &mut observer)?;
                // To the writing, an order to end is a signal.
                let asked = observer.0.ends().then_some(rustix::process::Signal::TERM.as_raw());
                result.ended_by_signal = result.ended_by_signal.or(asked);
                Ok(result)
            })?;
            if signal.is_some() {
                return Ok(None);
            }
            open.open.set_filled()?.iter().try_for_each(finding)?;
            self.survey = Some(open);
        }
        self.survey.as_ref().map(|open| open.plan(survey)).transpose()
    }
}

/// Gives signs of life while files are written before the first test.
struct FillObserver<'a>(Listener<'a>);

impl Observer for FillObserver<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Progress(progress) = event {
            self.0.filling(progress.done);
        }
    }

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        self.0.listen();
        self.0.ends().then_some(Request::End)
    }
}

/// The survey of one member: its target is open, and stays so until it exits.
struct MemberSurvey {
    prepared: Preparation,
    open: OpenTarget,
}

impl MemberSurvey {
    /// Opens the target of a task. The work file has the member's prefix in its name.
    fn open(task: &Task, survey: &SurveyTask) -> Result<Self, Failure> {
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

    fn plan(&self, task: &SurveyTask) -> Result<Plan, Failure> {
        let unknown =
            || Failure::new(format!("there is no test `{}`; use one version of plumb on all machines", task.test));
        let test = self.prepared.suite.tests.iter().find(|test| test.key() == task.test).ok_or_else(unknown)?;
        let time = TestTime { ramp: task.ramp, time: task.time };
        let setup = Setup { time, ..self.prepared.setup(&self.open.target) };
        let plan = test.plan(setup, &parser(), &Machine::here().surroundings())?;
        Ok(self.prepared.request.patient(plan))
    }
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
