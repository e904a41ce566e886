//! Measures for how many units a disk is enough: `analysis::units` says which number is next, rounds answer it.

use super::question::Question;
use super::rounds::{self, RoundResults};
use super::shown::Report;
use analysis::question::{Answer, Number};
use analysis::units::{Size, UnitSearch, UnitStep};
use session::Session;
use std::path::Path;

/// Share of the time of a test that a look takes, and the fewest seconds of it.
const LOOK: u64 = 4;
const LEAST_LOOK: u64 = 5;
/// I/Os of which none may be beyond a percentile, times the share that is allowed, for a yes with 95 % and some to
/// spare.
const NEEDED: f64 = 3.5;

/// A number of units that was tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitTrial {
    pub(super) units: u32,
    /// Seconds of each test.
    pub(super) seconds: u64,
    pub(super) outcome: TrialAnswer,
}

/// Result at a number of units.
#[derive(Clone, Copy, Debug)]
pub(super) enum TrialAnswer {
    /// A look: if all limits were kept.
    Look(bool),
    Rounds(Answer),
}

/// The search for a number of units.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    pub(super) size: Size,
    pub(super) tried: Vec<UnitTrial>,
}

/// Measures a question: as it is, or for the largest number of units. Returns the question of the rounds that are
/// shown, which are those of the largest number that is enough, or else the last ones.
pub(super) fn measured(
    question: &Question,
    place: &Path,
    session: &mut Session,
) -> (Question, RoundResults, Option<Search>) {
    let Some(most) = question.profile.most.filter(|_| question.is_searched()) else {
        return (question.clone(), rounds::measure(question, place, session), None);
    };
    let (mut steps, mut search) = (UnitSearch::new(most), Search::default());
    let mut last = (question.clone(), RoundResults::default());
    let mut iops_of_a_unit = 0.0;
    loop {
        let step = steps.next_step();
        let asked = match step {
            UnitStep::Ended(size) => return (last.0, last.1, Some(Search { size, ..search })),
            UnitStep::Look(units) => Question { rounds: 1, time: look(question.time), ..question.with(units) },
            UnitStep::Rounds(units) => {
                let time = needed_of_all(question, iops_of_a_unit * f64::from(units)).max(question.time);
                Question { time, ..question.with(units) }
            }
        };
        let found = rounds::measure(&asked, place, session);
        let (units, seconds) = (asked.units(), asked.time);
        if found.cut.is_some() {
            return (asked, found, Some(search));
        }
        let outcome = if matches!(step, UnitStep::Look(_)) {
            iops_of_a_unit = slowest(&found) / measure::float(seconds) / f64::from(units);
            let keeps = keeps(&asked, &found);
            steps.observe_look(if keeps { Answer::Yes } else { Answer::No });
            TrialAnswer::Look(keeps)
        } else {
            let answer = Report { question: &asked, path: place, found: &found, search: None }.answer();
            let answer = answer.unwrap_or(Answer::CannotTell);
            steps.observe_rounds(answer);
            if answer == Answer::Yes || search.size.enough_for.is_none() {
                search.size.enough_for = (answer == Answer::Yes).then_some(units);
                last = (asked, found);
            }
            TrialAnswer::Rounds(answer)
        };
        search.tried.push(UnitTrial { units, seconds, outcome });
    }
}

/// Seconds of a look at a test that takes this time.
const fn look(time: u64) -> u64 {
    let look = time / LOOK;
    if look > LEAST_LOOK { look } else { LEAST_LOOK }
}

/// Seconds in which a test with this rate of I/Os can keep its rarest percentile.
fn needed_of_all(question: &Question, iops: f64) -> u64 {
    let rules = question.profile.tests.iter().flat_map(|test| &test.rules).filter(|rule| !rule.advice);
    let percentiles = rules.filter_map(|rule| match rule.rule(1).ok()?.number {
        Number::Percentile(percent) => Some(percent),
        _ => None,
    });
    percentiles.map(|percent| needed(percent, iops)).max().unwrap_or(0)
}

/// Seconds in which a test with this rate of I/Os can keep a percentile.
pub(super) fn needed(percent: f64, iops: f64) -> u64 {
    let seconds = NEEDED / (1.0 - percent / 100.0) / iops.max(1.0);
    measure::Nanos::from_secs_f64(seconds.min(86_400.0)).get().div_ceil(1_000_000_000)
}

/// I/Os of the rule that counts the fewest.
fn slowest(found: &RoundResults) -> f64 {
    let ios = found.rules.iter().flatten().flatten().map(|observed| observed.ios);
    measure::float(ios.min().unwrap_or(0))
}

/// True if all numbers of a look keep their limits.
fn keeps(question: &Question, found: &RoundResults) -> bool {
    let tests = question.profile.tests.iter().zip(&found.rules);
    let mut rules = tests.flat_map(|(test, rounds)| test.rules.iter().zip(rounds));
    rules.all(|(rule, rounds)| rule.advice || rounds.iter().all(|round| round.keeps))
}

impl Question {
    /// The same for a number of units.
    fn with(&self, units: u32) -> Self {
        Question { units: Some(units), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_a_quarter_and_rounds_fit_a_rare_percentile() {
        assert_eq!((look(60), look(8)), (15, 5));
        let (_, text) = survey::PROFILES.iter().find(|(name, _)| *name == "video-edit").unwrap();
        let question = Question {
            name: "video-edit".to_owned(),
            profile: survey::Profile::from_toml(text).unwrap(),
            units: None,
            time: 60,
            rounds: 3,
            added: Vec::new(),
        };
        // 3.5 in 10,000 of 30 frames per second and stream.
        assert_eq!((needed_of_all(&question, 30.0), needed(99.99, 600.0)), (1167, 59));
        assert!(question.is_searched() && !question.with(3).is_searched());
        assert_eq!(question.with(3).scale(), " for 3 streams");
    }
}
