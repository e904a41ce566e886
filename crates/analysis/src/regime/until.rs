//! When a run ends of itself: at a change of its rate, or once its rate is settled.
//!
//! Looks at the samples so far. Of many looks at noise some find a change by chance, so an answer counts once two more
//! looks have it, too. Over 300 intervals that vary by 8 %, 2 to 3 % of the runs without a change are ended, at a
//! correlation of neighbours of 0.5 and 0.8 (with one look more instead of two, 8 %; with a change of 8 intervals, 12
//! %).

use super::course::Course;
use super::pieces::{self, Shape};
use super::{DIFFERENT, FEWEST, of_course, rhythm};
use measure::{Nanos, text};
use model::{Monitored, PhaseKind, Until, UntilRegime};

/// Intervals between two looks.
const EVERY: usize = 10;
/// Two looks find one change if its place is within this number of intervals.
const SAME: usize = 2;
/// Fewest intervals after a change.
const AFTER: usize = 20;
/// Looks that find the same.
const LOOKS: u32 = 3;
/// Least time after which a rate is settled: a slow approach to its end looks flat in less.
const LEAST: Nanos = Nanos::from_secs(120);

/// Ends a run by its samples.
#[derive(Clone, Debug)]
pub struct RegimeWatch {
    until: Until,
    /// Intervals of the steady part at the next look.
    next: usize,
    /// Finding of the looks before, and how many had it.
    before: Option<(RegimeFinding, u32)>,
    found: Option<UntilRegime>,
}

#[derive(Clone, Debug, PartialEq)]
struct RegimeFinding {
    /// Time of the change; 0 for a settled rate.
    at: Nanos,
    sentence: String,
}

impl RegimeWatch {
    /// Waits for this.
    pub fn new(until: Until) -> Self {
        RegimeWatch { until, next: FEWEST, before: None, found: None }
    }

    /// Looks at the samples so far, if there are enough more of them. True if the run is to end.
    pub fn look(&mut self, samples: &Monitored) -> bool {
        if self.found.is_some() {
            return true;
        }
        // Counted first: a course is made of all intervals.
        if samples.intervals.len() < self.next {
            // Intervals were joined to longer ones, because there were too many.
            self.next = self.next.min(samples.intervals.len().saturating_add(EVERY));
            return false;
        }
        self.next = samples.intervals.len().saturating_add(EVERY);
        let Some(course) = Course::of_samples(samples) else { return false };
        let seen = match self.until {
            Until::Change => change(&course),
            Until::Settled => settled(&course),
        };
        let pace = course.steps.last().map_or(Nanos::ZERO, |step| step.length);
        let near = Nanos(pace.get().saturating_mul(SAME as u64));
        let is_same = |one: &RegimeFinding, other: &RegimeFinding| one.at.get().abs_diff(other.at.get()) <= near.get();
        self.before = seen.map(|now| {
            let looks = match &self.before {
                Some((before, looks)) if is_same(&now, before) => looks.saturating_add(1),
                _ => 1,
            };
            (now, looks)
        });
        if let Some((now, _)) = self.before.as_ref().filter(|(_, looks)| *looks >= LOOKS) {
            let after = course.steps.last().map_or(Nanos::ZERO, |step| step.until);
            self.found = Some(UntilRegime { until: self.until, reached: true, after, sentence: now.sentence.clone() });
        }
        self.found.is_some()
    }

    /// The answer at the end of a run with these samples.
    pub fn end(self, samples: Option<&Monitored>) -> UntilRegime {
        let after = samples.and_then(|samples| samples.intervals.last()).map_or(Nanos::ZERO, |last| last.until);
        let length = text::span(after.as_secs_f64());
        let until = self.until;
        self.found.unwrap_or_else(|| UntilRegime {
            until,
            reached: false,
            after,
            sentence: match until {
                Until::Change => format!("it ran to its end: no change of its rate was found in {length}"),
                Until::Settled => format!("it ran to its end: its rate had not settled after {length}"),
            },
        })
    }
}

/// The last change of level, if the rate did not settle with it: an approach at the begin is none.
fn change(course: &Course) -> Option<RegimeFinding> {
    let rates = course.rates();
    if rates.len() < FEWEST || rhythm::of(&rates).is_some() {
        return None;
    }
    let pieces = pieces::of(&rates);
    let [.., before, last] = pieces.as_slice() else { return None };
    let (level, now) = (course.stretch(before.from, before.to), course.stretch(last.from, last.to));
    let apart = (now.iops() - level.iops()).abs() > DIFFERENT * now.iops().max(level.iops());
    (before.shape == Shape::Level && apart && last.to - last.from >= AFTER).then(|| RegimeFinding {
        at: now.from(),
        sentence: format!(
            "it ended because its rate had changed at {}, from {} to {} IOPS",
            text::span(now.from().as_secs_f64()),
            text::number(level.iops()),
            text::number(now.iops())
        ),
    })
}

/// The last phase, if it is settled.
fn settled(course: &Course) -> Option<RegimeFinding> {
    let seen = course.stretch(0, course.steps.len()).seconds();
    if seen < LEAST.as_secs_f64() {
        return None;
    }
    let phases = of_course(course);
    let last = phases.last().filter(|last| last.kind == PhaseKind::Settled)?;
    let seconds = last.until.saturating_sub(last.from).as_secs_f64();
    Some(RegimeFinding {
        at: Nanos::ZERO,
        sentence: format!(
            "it ended because its rate was settled: {} IOPS in its last {}",
            text::number(last.iops),
            text::span(seconds)
        ),
    })
}
