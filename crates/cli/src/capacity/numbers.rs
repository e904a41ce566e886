//! Result of a trial → counts of each limit, percentiles and what the checks found.

use super::slo::Slo;
use analysis::capacity::{Counts, Regime};
use measure::Histogram;
use model::{LatencyStatistics, Layers, LimitedBy, Limiter, Phase, PhaseKind, RunResult};

/// Numbers of a run.
#[derive(Clone, Debug)]
pub(crate) struct TrialNumbers {
    pub(crate) done: f64,
    /// Counts of each limit.
    pub(crate) counts: Vec<Counts>,
    /// Response time at the percentile of each limit; `None` where there are too few I/Os.
    pub(crate) at_limits: Vec<Option<f64>>,
    /// Share of the I/Os that the tester sent late by more than a tenth of the shortest limit.
    pub(crate) late: f64,
    /// Response times at p50, p99 and p99.9; `None` where there are too few I/Os.
    pub(crate) percentiles: [Option<f64>; 3],
    /// Mean response time in nanoseconds.
    pub(crate) mean: Option<f64>,
    /// Bottleneck of the run, except the rate of the trial itself.
    pub(crate) limited_by: Option<LimitedBy>,
    /// Phases of the run; none of a short one.
    pub(crate) phases: Vec<Phase>,
    /// Where the time of its I/Os went, if it was recorded.
    pub(crate) layers: Option<Box<Layers>>,
}

const PERCENTS: [f64; 3] = [50.0, 99.0, 99.9];

impl TrialNumbers {
    /// Takes the numbers from a result that was judged: response times, or total latency of a run without a rate.
    pub(super) fn of(result: &RunResult, slos: &[Slo]) -> Self {
        let mut all = LatencyStatistics::default();
        let mut by_limit = vec![LatencyStatistics::default(); slos.len()];
        let mut seconds = 0.0_f64;
        for (direction, found) in result.jobs.iter().flat_map(|job| job.directions.iter()) {
            let Some(times) = found.response.as_ref().or(found.total.as_ref()) else { continue };
            merge(&mut all, times);
            let own = slos.iter().zip(&mut by_limit);
            own.filter(|(slo, _)| slo.direction.is_none_or(|wanted| wanted == direction))
                .for_each(|(_, sum)| merge(sum, times));
            seconds = seconds.max(found.runtime.as_secs_f64());
        }
        let total = all.histogram.as_ref().map_or(0.0, |histogram| measure::float(histogram.total()));
        let known = |times: &LatencyStatistics, percent: f64| {
            analysis::percentile_as_fact(times, percent).map(|found| found.as_f64())
        };
        let limits = || slos.iter().zip(&by_limit);
        TrialNumbers {
            done: if seconds > 0.0 { total / seconds } else { 0.0 },
            counts: limits()
                .map(|(slo, own)| {
                    own.histogram.as_deref().map_or_else(Counts::default, |found| Counts::of(found, slo.limit))
                })
                .collect(),
            at_limits: limits().map(|(slo, own)| known(own, slo.percent)).collect(),
            late: slos.iter().map(|slo| analysis::capacity::late_share(result, slo.limit)).fold(0.0, f64::max),
            percentiles: PERCENTS.map(|percent| known(&all, percent)),
            mean: all.moments.mean(),
            limited_by: analysis::limited_by_part(result)
                .or_else(|| result.limited_by.clone().filter(|limit| limit.limiter != Limiter::Cap))
                .or_else(|| analysis::limited_by_group(result)),
            phases: result.phases.clone(),
            layers: result.layers.clone(),
        }
    }

    /// The phases as the search sees them.
    pub(crate) fn regime(&self) -> Regime {
        let spent = [PhaseKind::Burst, PhaseKind::WriteCache, PhaseKind::Throttled];
        if self.phases.len() > 1 && self.phases.iter().any(|phase| spent.contains(&phase.kind)) {
            Regime::Spent
        } else if analysis::regime::lasting(&self.phases).is_some() {
            Regime::Several
        } else {
            Regime::One
        }
    }
}

fn merge(sum: &mut LatencyStatistics, times: &LatencyStatistics) {
    let Some(histogram) = times.histogram.as_deref() else { return };
    sum.histogram.get_or_insert_with(|| Box::new(Histogram::new())).merge(histogram);
    sum.moments.merge(&times.moments);
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;

    #[test]
    fn phases_of_one_rate_are_one_regime() {
        let phase = |kind, iops| Phase {
            from: Nanos::ZERO,
            until: Nanos::from_secs(30),
            kind,
            iops,
            iops_low: None,
            iops_high: None,
            bytes_per_second: 0.0,
            p50: None,
            p99: None,
            variation: 0.0,
            bytes_before: 0,
            sentence: String::new(),
            like: Vec::new(),
            evidence: Vec::new(),
        };
        let regime = |phases: &[(PhaseKind, f64)]| {
            let phases = phases.iter().map(|&(kind, iops)| phase(kind, iops)).collect();
            TrialNumbers { phases, ..TrialNumbers::of(&RunResult::default(), &[]) }.regime()
        };
        assert_eq!(regime(&[]), Regime::One);
        assert_eq!(regime(&[(PhaseKind::Settled, 100.0), (PhaseKind::Drifting, 95.0)]), Regime::One);
        assert_eq!(regime(&[(PhaseKind::Settled, 100.0), (PhaseKind::Settled, 50.0)]), Regime::Several);
        assert_eq!(regime(&[(PhaseKind::Burst, 100.0), (PhaseKind::Settled, 50.0)]), Regime::Spent);
    }

    #[test]
    fn the_rate_of_the_trial_is_not_a_limit_of_the_target() {
        let limited = |limiter| {
            let found = LimitedBy { limiter, share_percent: 100.0, sentence: String::new(), evidence: Vec::new() };
            let result = RunResult { limited_by: Some(found), ..RunResult::default() };
            TrialNumbers::of(&result, &[]).limited_by.map(|found| found.limiter)
        };
        assert_eq!((limited(Limiter::Cap), limited(Limiter::Device)), (None, Some(Limiter::Device)));
    }
}
