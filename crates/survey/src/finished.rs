//! A finished test of a survey: the test and its result.

use crate::test::SurveyTest;
use model::{JobResult, RunResult};

/// A finished test.
#[derive(Clone, Debug)]
pub struct FinishedTest {
    /// The test.
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
