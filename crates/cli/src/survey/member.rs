//! A member's end of a survey: opens the target, fills it, and makes the Plan of a test.

use crate::failure::Failure;
use crate::members::listener::Listener;
use crate::members::listener::{Orders, say};
use crate::members::member::{PlanRun, enter, options, session};
use crate::members::program::Member;
use crate::members::program::Rights;
use cluster::{Answer, Finished, LeaderCommand, SurveyTask, Task};
use measure::Nanos;
use model::RunResult;
use plan::Plan;
use run::{Event, Observer, Request};
use session::Run;
use session::arguments::SessionArgs;
use session::machine::{Machine, parser};
use std::path::{Path, PathBuf};
use survey::{OpenTarget, Preparation, Reach, Setup, SurveyRequest, TestTime};

/// The member. Its survey begins with the first test.
#[derive(Default)]
pub(super) struct TestMember {
    survey: Option<MemberSurvey>,
}

impl Member for TestMember {
    fn takes(&self, command: &LeaderCommand) -> bool {
        matches!(command, LeaderCommand::Survey(_))
    }

    fn carry_out(&mut self, task: &Task, rights: &Rights, orders: &mut Orders) -> Result<Option<Finished>, Failure> {
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
                let run = Run { title: None, plan, options: options(task) };
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
