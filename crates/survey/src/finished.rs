//! A finished test of a survey: the test and its result.

use crate::test::SurveyTest;
use model::{JobResult, RunResult};

/// A finished test.
#[derive(Clone, Debug)]
pub struct FinishedTest {
    /// The test, with the users of all members.
    pub test: SurveyTest,
    /// The result, after the checks; of several members that of all.
    pub result: RunResult,
    /// The members of a cluster that ran the test; `None` if this process did.
    pub members: Option<Box<cluster::Summary>>,
}

impl FinishedTest {
    /// A test that this process ran.
    pub fn here(test: SurveyTest, result: RunResult) -> Self {
        FinishedTest { test, result, members: None }
    }

    /// A test that was run once by this process or by each of these members.
    pub fn new(planned: &SurveyTest, result: RunResult, members: Option<Box<cluster::Summary>>) -> Self {
        let test = planned.by(members.as_ref().map_or(1, |summary| summary.members));
        FinishedTest { test, result, members }
    }

    /// The test as it was planned: of members that of each.
    pub fn planned(&self) -> SurveyTest {
        let users = self.test.users / self.members.as_ref().map_or(1, |summary| summary.members.max(1));
        SurveyTest { users, ..self.test.clone() }
    }

    /// I/Os per second of all users, reads and writes together.
    pub fn iops(&self) -> f64 {
        let all = self.merged().unwrap_or_default();
        self.test.kind.directions().iter().filter_map(|direction| all.directions[*direction].iops()).sum()
    }

    /// All workers of the test merged into one.
    pub fn merged(&self) -> Option<JobResult> {
        let mut jobs = self.result.jobs.iter();
        let mut all = jobs.next()?.clone();
        jobs.for_each(|job| all.merge(job));
        Some(all)
    }
}
