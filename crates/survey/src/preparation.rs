//! Request → what is to be run: the inspected target, the tests with their times, and their order.

use crate::error::SurveyError;
use crate::job_plans::{Access, Setup, SurveyTarget, fill_plan};
use crate::preconditioning::Precondition;
use crate::request::{SurveyRequest, WarmUp};
use crate::suite::{Suite, suite};
use crate::target::{FoundTarget, OpenTarget};
use crate::test::{FinishedTest, SurveyTest, TestTime};
use crate::{conclusions, growth};
use fio::{Parser, Surroundings};
use measure::Nanos;
use model::RunResult;
use plan::Plan;
use std::collections::HashMap;

/// Measured time of each test with `quick`.
const QUICK_TIME: Nanos = Nanos::from_secs(4);
const DEFAULT_TIME: Nanos = Nanos::from_secs(30);
/// The default warm-up is the measured time divided by this.
const WARM_UP_PART: u64 = 10;

/// Extent of sweeps over users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// All levels.
    #[default]
    Whole,
    /// Until more users do not increase the throughput.
    UntilGrowthEnds,
}

/// A checked request: target inspected and tests selected, nothing written yet.
pub struct Preparation {
    /// The request, complete once the target is open.
    pub request: SurveyRequest,
    /// The target.
    pub found: FoundTarget,
    /// The tests.
    pub suite: Suite,
    /// Times of each test.
    pub time: TestTime,
    /// Warm-up before each test.
    pub warm_up: WarmUp,
    /// Extent of sweeps over users.
    pub reach: Reach,
}

impl Preparation {
    /// Inspects the target and selects the tests. `seed` orders shuffled tests if the request has no seed.
    ///
    /// # Errors
    /// The target or the tests are impossible; the message names them.
    pub fn new(mut request: SurveyRequest, reach: Reach, seed: u64) -> Result<Self, SurveyError> {
        if request.shuffle {
            request.seed = request.seed.or(Some(seed));
        }
        if request.budget.is_some() && request.precondition != Precondition::Steady {
            return Err(SurveyError("--budget limits the writes of --precondition=steady; give both".to_owned()));
        }
        let mut found = FoundTarget::look(&request)?;
        let mut suite = suite(&request, found.writes)?;
        // Usual sizes of log writes that zones do not take.
        if let Some(multiple) =
            found.zone_multiple().filter(|_| request.block_sizes.is_empty() && request.vary.is_empty())
        {
            suite.tests.retain(|test| test.block.is_multiple_of(multiple));
        }
        found.fit(&suite, &request)?;
        let time = match (request.time, request.quick) {
            (Some(seconds), _) => Nanos::from_secs(seconds),
            (None, true) => QUICK_TIME,
            (None, false) => DEFAULT_TIME,
        };
        let (warm_up, ramp) = match request.warm_up {
            Some(WarmUp::Steady) => (WarmUp::Steady, Nanos::ZERO),
            Some(WarmUp::Seconds(seconds)) => (WarmUp::Seconds(seconds), Nanos::from_secs(seconds)),
            None => (WarmUp::Seconds(0), Nanos(time.get() / WARM_UP_PART)),
        };
        Ok(Preparation { request, found, suite, time: TestTime { ramp, time }, warm_up, reach })
    }

    /// Builds every Plan and discards it, so that an invalid test is reported now and not an hour later.
    ///
    /// # Errors
    /// The first test that is impossible on the target.
    pub fn check(
        &self,
        target: &SurveyTarget,
        parser: &Parser,
        surroundings: &Surroundings<'_>,
    ) -> Result<(), SurveyError> {
        let mut tests = self.suite.tests.iter();
        tests.try_for_each(|test| test.plan(self.setup(target), parser, surroundings).map(|_| ()))
    }

    /// Writes the data of an open target by `write`, from start to end and as often as it is not yet written. Returns
    /// the signal that interrupted it.
    ///
    /// # Errors
    /// A file or device cannot be written; the message names it.
    pub fn fill<E: From<SurveyError>>(
        &self,
        open: &OpenTarget,
        write: &mut dyn FnMut(&Plan) -> Result<RunResult, E>,
    ) -> Result<Option<i32>, E> {
        let plan = self.request.patient(fill_plan(&open.target));
        for _ in u64::from(open.is_filled())..self.found.passes(&self.request) {
            let result = write(&plan)?;
            if result.ended_by_signal.is_some() {
                return Ok(result.ended_by_signal);
            }
            open.check_written(&result)?;
        }
        Ok(None)
    }

    /// Returns the values that all tests on this target share.
    pub fn setup<'a>(&'a self, target: &'a SurveyTarget) -> Setup<'a> {
        Setup { target, time: self.time, engine: &self.suite.engine }
    }

    /// Fixes the values in the request that a resumed survey must not determine again.
    pub fn settle(&mut self, open: &OpenTarget) {
        let request = &mut self.request;
        request.size = Some(open.target.size);
        request.time = Some(self.time.time.get() / 1_000_000_000);
        request.direct = Some(open.target.access == Access::Direct);
        for path in &mut request.targets {
            *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
        }
    }

    /// Returns true if `test` must be run after these tests.
    pub fn is_due(&self, test: &SurveyTest, finished: &[FinishedTest]) -> bool {
        let is_finished = finished.iter().any(|row| row.planned() == *test);
        !is_finished && (self.reach == Reach::Whole || !growth::is_over(finished, test))
    }

    /// Sorts finished tests into the order of the suite without shuffling.
    pub fn sort(&self, finished: &mut [FinishedTest]) {
        let plain = SurveyRequest { shuffle: false, ..self.request.clone() };
        let Ok(suite) = suite(&plain, self.found.writes) else { return };
        let once = suite.tests.len() / self.request.repeat.unwrap_or(1).max(1) as usize;
        let places: HashMap<String, (usize, u32)> =
            suite.tests.iter().enumerate().map(|(at, test)| (test.key(), (at % once.max(1), test.round))).collect();
        finished.sort_by_key(|row| places.get(&row.planned().key()).copied());
    }

    /// Returns the concluding sentences: first the rates that last where phases differ, then what the averages say. A
    /// result that is not of the storage counts only if the checks that say so are accepted.
    pub fn conclusions(&self, finished: &[FinishedTest], accepted: &[&str]) -> Vec<String> {
        let mut of_averages = match self.reach {
            Reach::Whole => conclusions::conclusions(finished, accepted),
            Reach::UntilGrowthEnds => growth::conclusions(finished, accepted),
        };
        let mut all = conclusions::lasting(finished);
        if let Some(first) = of_averages.first_mut().filter(|_| !all.is_empty()) {
            *first = format!("By averages over all phases: {first}");
        }
        all.append(&mut of_averages);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_measuring_ends_within_three_quarters_of_a_minute() {
        let request = SurveyRequest {
            quick: true,
            targets: vec!["/tmp".into()],
            size: Some(16 << 20),
            ..SurveyRequest::default()
        };
        let prepared = Preparation::new(request, Reach::Whole, 0).unwrap();
        let all = prepared.time.total().get() * prepared.suite.tests.len() as u64;
        assert!(all <= Nanos::from_secs(45).get(), "{all} ns");
    }

    #[test]
    fn a_budget_without_writes_that_it_could_end_is_refused() {
        for precondition in [Precondition::Off, Precondition::Twice] {
            let request = SurveyRequest { precondition, budget: Some(60), ..SurveyRequest::default() };
            let error = Preparation::new(request, Reach::Whole, 0).err().expect("an error");
            assert!(error.to_string().contains("--precondition=steady; give both"), "{error}");
        }
    }
}
