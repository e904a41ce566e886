//! Steady state: checks that the samples of a window are close to their mean, or that their trend is flat.
//!
//! Only the computation. The samples are taken by a worker, or by the parent for a group that is reported as one.

use measure::Nanos;
use model::SteadyResult;
use plan::{SteadyCriterion, SteadyMeasure, SteadyPlan};
use std::collections::VecDeque;

/// Totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) bytes: u64,
    pub(crate) ios: u64,
    /// Sum of completion latencies in ns.
    pub(crate) latency_ns: u64,
}

/// Rates of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Bytes per second.
    pub(crate) bandwidth: u64,
    /// I/Os per second.
    pub(crate) iops: u64,
    /// Mean completion latency in ns.
    pub(crate) latency_ns: u64,
}

/// The window of samples and its state.
#[derive(Clone, Debug)]
pub(crate) struct Steadiness {
    plan: SteadyPlan,
    window: VecDeque<Sample>,
    /// Start of the current interval; `None` before the first.
    began: Option<(Nanos, Totals)>,
    due: Nanos,
    attained: bool,
}

/// The distance of a window from steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Distance {
    /// In the unit of the measure.
    own: f64,
    /// In the unit of the limit: the same, or percent of the mean.
    criterion: f64,
}

impl Steadiness {
    /// Detection that starts at `now`.
    pub(crate) fn new(plan: SteadyPlan, now: Nanos) -> Self {
        let window = VecDeque::with_capacity(plan.intervals());
        Steadiness { plan, window, began: None, due: now.saturating_add(plan.ramp), attained: false }
    }

    /// Time at which the next totals are due; `Nanos::MAX` once steady state is reached.
    pub(crate) fn due(&self) -> Nanos {
        if self.attained { Nanos::MAX } else { self.due }
    }

    /// Takes the totals at `now`, when they are due; true once the window is steady.
    pub(crate) fn sample(&mut self, now: Nanos, totals: Totals) -> bool {
        let before = self.began.replace((now, totals));
        self.due = now.saturating_add(self.plan.interval);
        let Some((began, before)) = before else { return false };
        if self.window.len() == self.plan.intervals() {
            self.window.pop_front();
        }
        self.window.push_back(sample(before, totals, now.saturating_sub(began)));
        self.attained = self.is_steady();
        self.attained
    }

    fn is_steady(&self) -> bool {
        let full = self.window.len() == self.plan.intervals();
        full && self.distance().criterion < self.plan.limit.max(f64::MIN_POSITIVE)
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let measure = self.plan.measure;
        self.window.iter().map(move |sample| match measure {
            SteadyMeasure::Iops => sample.iops as f64,
            SteadyMeasure::Bandwidth => sample.bandwidth as f64,
            SteadyMeasure::Latency => sample.latency_ns as f64,
        })
    }

    fn distance(&self) -> Distance {
        let count = self.window.len() as f64;
        if self.window.is_empty() {
            return Distance::default();
        }
        let mean = self.values().sum::<f64>() / count;
        let own = match self.plan.criterion {
            SteadyCriterion::Deviation => self.values().map(|value| (value - mean).abs()).fold(0.0, f64::max),
            SteadyCriterion::Slope => {
                // The slope of the least-squares line through (index, value).
                let middle = (count - 1.0) / 2.0;
                let (mut with, mut of) = (0.0, 0.0);
                for (index, value) in self.values().enumerate() {
                    let x = index as f64 - middle;
                    with += x * (value - mean);
                    of += x * x;
                }
                if of > 0.0 { with / of } else { 0.0 }
            }
        };
        let relative = if mean > 0.0 { 100.0 * own.abs() / mean } else { 0.0 };
        Distance { own, criterion: if self.plan.relative { relative } else { own.abs() } }
    }

    /// The last sample and the distance from steady state, as text for `--debug=steadystate`.
    pub(crate) fn describe(&self) -> String {
        let last = self.window.back().copied().unwrap_or_default();
        format!(
            "bw={}, iops={}, lat={}, window={}/{}, distance={:.6}, limit={:.6}, attained={}",
            last.bandwidth,
            last.iops,
            last.latency_ns,
            self.window.len(),
            self.plan.intervals(),
            self.distance().criterion,
            self.plan.limit,
            u8::from(self.attained)
        )
    }

    /// The result so far.
    pub(crate) fn result(&self) -> SteadyResult {
        let distance = self.distance();
        let slope = self.plan.criterion == SteadyCriterion::Slope;
        let of = |get: fn(&Sample) -> u64| self.window.iter().map(get).collect();
        SteadyResult {
            name: self.plan.name().to_owned(),
            limit: self.plan.limit,
            relative: self.plan.relative,
            duration: self.plan.duration,
            interval: self.plan.interval,
            attained: self.attained,
            criterion: distance.criterion,
            max_deviation: if slope { 0.0 } else { distance.own },
            slope: if slope { distance.own } else { 0.0 },
            bandwidth: of(|sample| sample.bandwidth),
            iops: of(|sample| sample.iops),
            latency_ns: if self.plan.measure == SteadyMeasure::Latency {
                of(|sample| sample.latency_ns)
            } else {
                Vec::new()
            },
        }
    }

    /// The samples of the window, for the record of a worker.
    pub(crate) fn samples(&self) -> impl Iterator<Item = Sample> {
        self.window.iter().copied()
    }

    /// Restores the state from a window that was stored in a record.
    pub(crate) fn restored(plan: SteadyPlan, samples: impl Iterator<Item = Sample>) -> Self {
        let mut steadiness = Steadiness { window: samples.collect(), ..Steadiness::new(plan, Nanos::ZERO) };
        steadiness.attained = steadiness.is_steady();
        steadiness
    }
}

fn sample(before: Totals, now: Totals, elapsed: Nanos) -> Sample {
    let per_second = |after: u64, before: u64| {
        let moved = u128::from(after.saturating_sub(before)) * u128::from(Nanos::SECOND.get());
        u64::try_from(moved / u128::from(elapsed.get().max(1))).unwrap_or(u64::MAX)
    };
    let ios = now.ios.saturating_sub(before.ios);
    Sample {
        bandwidth: per_second(now.bytes, before.bytes),
        iops: per_second(now.ios, before.ios),
        latency_ns: now.latency_ns.saturating_sub(before.latency_ns).checked_div(ios).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(criterion: SteadyCriterion, limit: f64, relative: bool) -> SteadyPlan {
        SteadyPlan {
            measure: SteadyMeasure::Iops,
            criterion,
            limit,
            relative,
            duration: Nanos::from_secs(4),
            ramp: Nanos::ZERO,
            interval: Nanos::SECOND,
        }
    }

    /// The second at which these IOPS are found steady, if they are, and the result.
    fn settles(plan: SteadyPlan, iops: &[u64]) -> (Option<usize>, SteadyResult) {
        let mut steadiness = Steadiness::new(plan, Nanos::ZERO);
        let mut totals = Totals::default();
        assert!(!steadiness.sample(Nanos::ZERO, totals));
        for (second, ios) in (1..).zip(iops) {
            totals.ios += ios;
            totals.bytes += ios * 4096;
            if steadiness.sample(Nanos(second * 1_000_000_000), totals) {
                return (usize::try_from(second).ok(), steadiness.result());
            }
        }
        (None, steadiness.result())
    }

    // The largest distance of a sample from the mean of the window, in percent of the mean if the limit is a
    // percentage.
    #[test]
    fn a_window_is_steady_when_all_samples_are_near_the_mean() {
        let (second, found) = settles(plan(SteadyCriterion::Deviation, 5.0, true), &[500, 900, 990, 1010, 1000, 1000]);
        assert_eq!(second, Some(6));
        assert_eq!((found.max_deviation, found.criterion, found.slope), (10.0, 1.0, 0.0));
        assert_eq!(found.iops, [990, 1010, 1000, 1000]);
        assert_eq!(found.bandwidth[0], 990 * 4096);
        assert!(found.latency_ns.is_empty() && found.attained);
    }

    #[test]
    fn a_level_line_is_steady_however_far_its_samples_jump() {
        let jumping = [800, 1200, 1200, 800];
        let (second, found) = settles(plan(SteadyCriterion::Slope, 0.1, true), &jumping);
        assert_eq!((second, found.slope), (Some(4), 0.0));
        assert_eq!(settles(plan(SteadyCriterion::Deviation, 10.0, true), &jumping).0, None);
    }

    #[test]
    fn a_climb_is_never_steady_and_its_slope_is_reported() {
        let (second, found) = settles(plan(SteadyCriterion::Slope, 9.0, false), &[100, 110, 120, 130, 140]);
        assert_eq!((second, found.slope, found.criterion, found.attained), (None, 10.0, 10.0, false));
        assert_eq!(found.iops, [110, 120, 130, 140]);
    }
}
