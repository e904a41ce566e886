//! A member's end of a survey: opens the target, fills it, and makes the Plan of a test.

use crate::failure::Failure;
use crate::survey::measure::{patient, write_passes};
use cluster::{SurveyTask, Task};
use model::RunResult;
use plan::Plan;
use session::machine::{Machine, parser};
use std::path::{Path, PathBuf};
use survey::{OpenTarget, Preparation, Reach, Setup, SurveyRequest, TestTime};

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
        let plan = test.plan(setup, &parser(), &Machine::here().surroundings())?;
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
