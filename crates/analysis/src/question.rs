//! Is it enough? A rule is a limit on one number of a run; rounds of the run answer it with yes, no, or cannot tell.
//!
//! A round says yes if the whole interval of its number keeps the limit, and no if all of it misses it. For a
//! percentile the question is turned round: the share of I/Os beyond the limit, with its interval, against the share
//! that is allowed. docs/decisions.md has the rule.

use crate::capacity::Counts;
pub use crate::statistics::FEWEST_INTERVALS;
use crate::statistics::{ALPHA, between_pairs, series_interval};
use measure::{Direction, Histogram, Nanos};
use model::{DirectionResult, Interval, JobResult, LatencyCounts, LatencyStatistics, RunResult};
use std::borrow::Cow;

/// I/Os of which a rule counts a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes together.
    All,
    /// fsync and fdatasync.
    Sync,
}

/// Number that a rule limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A percentile of latency, like 99; the limit is a time that must not be reached.
    Percentile(f64),
    /// Mean latency, with a limit of the same kind.
    Mean,
    /// I/Os per second; the limit is the least that is enough.
    Iops,
    /// Bytes per second, with a limit of the same kind.
    Bandwidth,
}

/// A limit on a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// I/Os that it counts.
    pub part: Part,
    /// Number that it limits.
    pub number: Number,
    /// The limit: nanoseconds, I/Os per second or bytes per second.
    pub limit: f64,
}

/// Answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is enough.
    Yes,
    /// It is not.
    No,
    /// The numbers do not decide it.
    CannotTell,
}

/// Observation of one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleObservation {
    /// The number, in the unit of the limit; `None` without such I/Os, or too few of them.
    pub value: Option<f64>,
    /// Its 95 % interval; `None` if the round is too short for one.
    pub interval: Option<[f64; 2]>,
    /// Of a percentile: the share of I/Os beyond the limit.
    pub beyond: Option<f64>,
    /// Number of I/Os.
    pub ios: u64,
    /// Number of whole intervals of time in its steady part; [`FEWEST_INTERVALS`] are needed.
    pub intervals: usize,
    /// True if the number without its interval keeps the limit.
    pub keeps: bool,
    /// Answer of this round.
    pub answer: Answer,
}

/// Numerator of the largest share that N I/Os without one leave possible, with 95 %.
const NONE_SEEN: f64 = 3.0;

/// Answer of several rounds: yes if all say yes, no if more than half say no.
///
/// ```
/// use analysis::question::{Answer, of_rounds};
///
/// assert_eq!(of_rounds(&[Answer::Yes, Answer::Yes, Answer::CannotTell]), Answer::CannotTell);
/// assert_eq!(of_rounds(&[Answer::No, Answer::Yes, Answer::No]), Answer::No);
/// ```
pub fn of_rounds(rounds: &[Answer]) -> Answer {
    let count = |wanted: Answer| rounds.iter().filter(|&&answer| answer == wanted).count();
    match rounds.len() {
        0 => Answer::CannotTell,
        all if count(Answer::Yes) == all => Answer::Yes,
        all if 2 * count(Answer::No) > all => Answer::No,
        _ => Answer::CannotTell,
    }
}

/// Answer of several rules that must all be kept: no if one is missed.
pub fn of_rules(rules: &[Answer]) -> Answer {
    let has = |wanted: Answer| rules.contains(&wanted);
    match (has(Answer::No), has(Answer::CannotTell) || rules.is_empty()) {
        (true, _) => Answer::No,
        (false, true) => Answer::CannotTell,
        (false, false) => Answer::Yes,
    }
}

/// The answer where it is certain that a limit is kept, that it is missed, or neither.
const fn answer_of(certain: [bool; 2]) -> Answer {
    match certain {
        [true, _] => Answer::Yes,
        [_, true] => Answer::No,
        _ => Answer::CannotTell,
    }
}

/// The first latency between two for which something holds, to a thousandth; the last one if it holds nowhere. The ends
/// of the interval of a percentile are found so: the latencies which, as a limit, a round would leave undecided.
fn first(from: Nanos, to: Nanos, holds: impl Fn(Nanos) -> bool) -> Nanos {
    if holds(from) {
        return from;
    }
    let (mut low, mut high) = (from, to);
    while high.as_f64() > low.as_f64() * 1.001 + 1.0 {
        let middle = Nanos(low.0 + (high.0 - low.0) / 2);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

impl Rule {
    /// Answer of several rounds: that of [`of_rounds`], if the numbers of the rounds bear it out.
    ///
    /// What differs from round to round is in no round's interval. So the 95 % interval of the mean of the numbers'
    /// logarithms (Student's t with n − 1 degrees of freedom, [`between_pairs`]) must keep the limit for a yes, and
    /// miss it for a no. Both are wrong in at most 2.5 % at the limit, whatever the noise between rounds. One round is
    /// not checked so.
    pub fn of_rounds(&self, rounds: &[RuleObservation]) -> Answer {
        let found = of_rounds(&rounds.iter().map(|round| round.answer).collect::<Vec<_>>());
        let values: Option<Vec<f64>> = rounds.iter().map(|round| round.value).collect();
        let Some(change) = values.and_then(|values| between_pairs(&vec![self.limit; values.len()], &values)) else {
            return found;
        };
        let (low, high) = change.interval(ALPHA);
        let is_kept = if self.is_time() { high < 0.0 } else { low > 0.0 };
        let is_missed = if self.is_time() { low > 0.0 } else { high < 0.0 };
        match found {
            Answer::Yes if !is_kept => Answer::CannotTell,
            Answer::No if !is_missed => Answer::CannotTell,
            found => found,
        }
    }

    /// Judges a round.
    pub fn observe(&self, result: &RunResult) -> RuleObservation {
        let times = self.times(result);
        let ios = times.histogram.as_ref().map_or(0, |histogram| histogram.total());
        let steady = result.steady();
        let found = match self.number {
            Number::Percentile(percent) => self.percentile(&times, &steady, percent),
            Number::Mean => {
                let means: Vec<f64> =
                    steady.iter().filter_map(|(_, interval)| self.latencies(interval).mean()).collect();
                self.of_series(times.moments.mean(), &means)
            }
            Number::Iops | Number::Bandwidth => {
                let rates: Vec<f64> =
                    steady.iter().map(|(length, interval)| self.rate_within(*length, interval)).collect();
                self.of_series(Some(self.rate(result)), &rates)
            }
        };
        let answer = if ios == 0 { Answer::CannotTell } else { found.answer };
        RuleObservation { ios, intervals: steady.len(), keeps: ios > 0 && found.keeps, answer, ..found }
    }

    /// True if the number must stay below the limit.
    pub const fn is_time(&self) -> bool {
        matches!(self.number, Number::Percentile(_) | Number::Mean)
    }

    /// A mean or rate, with the interval of its series.
    fn of_series(&self, value: Option<f64>, series: &[f64]) -> RuleObservation {
        let half = series_interval(series).map(|found| found.half);
        let interval = value.zip(half).map(|(value, half)| [value - half, value + half]);
        let answer = interval.map_or(Answer::CannotTell, |[low, high]| {
            answer_of(if self.is_time() {
                [high < self.limit, low > self.limit]
            } else {
                [low >= self.limit, high < self.limit]
            })
        });
        let keeps = value.is_some_and(|value| if self.is_time() { value < self.limit } else { value >= self.limit });
        RuleObservation { value, interval, beyond: None, ios: 0, intervals: 0, keeps, answer }
    }

    /// The share beyond the limit against the share that is allowed.
    fn percentile(&self, times: &LatencyStatistics, steady: &[(Nanos, &Interval)], percent: f64) -> RuleObservation {
        let allowed = 1.0 - percent / 100.0;
        let value = crate::percentile_as_fact(times, percent);
        let none = RuleObservation {
            value: value.map(Nanos::as_f64),
            interval: None,
            beyond: None,
            ios: 0,
            intervals: 0,
            keeps: false,
            answer: Answer::CannotTell,
        };
        let Some(histogram) = times.histogram.as_deref() else { return none };
        let limit = Nanos::from_secs_f64(self.limit / 1e9);
        let share = Counts::of(histogram, limit).share();
        let found = RuleObservation { beyond: Some(share), keeps: share <= allowed, ..none };
        let against = |limit: Nanos| self.against(histogram, steady, limit, allowed);
        let Some(certain) = against(limit) else { return found };
        let ends = times.moments.minimum().zip(value).zip(times.moments.maximum());
        let interval = ends.map(|((least, value), most)| {
            let kept = |limit: Nanos| against(limit).is_some_and(|[kept, _]| kept);
            let not_missed = |limit: Nanos| against(limit).is_none_or(|[_, missed]| !missed);
            [first(least, value, not_missed), first(value, most, kept)].map(Nanos::as_f64)
        });
        RuleObservation { interval, answer: answer_of(certain), ..found }
    }

    /// True if the share of I/Os beyond a limit is certain to be allowed, and true if it is certain not to be.
    fn against(
        &self,
        histogram: &Histogram,
        steady: &[(Nanos, &Interval)],
        limit: Nanos,
        allowed: f64,
    ) -> Option<[bool; 2]> {
        let counts = Counts::of(histogram, limit);
        let least = if counts.over > 0.0 { 0.0 } else { NONE_SEEN / counts.ios.max(1.0) };
        let (share, half) = (counts.share(), self.half_of_share(steady, limit)?.max(least));
        Some([share + half < allowed, share - half > allowed])
    }

    /// Half of the width of the interval of the share of I/Os beyond a latency.
    fn half_of_share(&self, steady: &[(Nanos, &Interval)], latency: Nanos) -> Option<f64> {
        let of_interval = |(_, interval): &(Nanos, &Interval)| {
            let counts = self.latencies(interval);
            let total = counts.total();
            (total > 0).then(|| measure::float(counts.slower_than(latency)) / measure::float(total))
        };
        let shares: Vec<f64> = steady.iter().filter_map(of_interval).collect();
        series_interval(&shares).map(|found| found.half)
    }

    /// Latencies of all jobs together; response times of jobs with a rate.
    fn times(&self, result: &RunResult) -> LatencyStatistics {
        let mut all = LatencyStatistics::default();
        let mut add = |times: [Option<&LatencyStatistics>; 3]| {
            // The first one that has percentiles.
            let found = times.into_iter().flatten().find_map(|found| Some((found, found.histogram.as_deref()?)));
            if let Some((found, histogram)) = found {
                all.histogram.get_or_insert_with(|| Box::new(Histogram::new())).merge(histogram);
                all.moments.merge(&found.moments);
            }
        };
        for job in &result.jobs {
            if self.part == Part::Sync {
                add([Some(&job.sync.latency), None, None]);
            }
            for direction in self.directions() {
                let found = &job.directions[*direction];
                add([found.response.as_ref(), found.total.as_ref(), found.completion.as_ref()]);
            }
        }
        all
    }

    /// Directions of the I/Os; none for syncs.
    const fn directions(&self) -> &'static [Direction] {
        match self.part {
            Part::Read => &[Direction::Read],
            Part::Write => &[Direction::Write],
            Part::All => &[Direction::Read, Direction::Write],
            Part::Sync => &[],
        }
    }

    /// Their places in an interval.
    fn slots(&self) -> impl Iterator<Item = usize> {
        self.directions().iter().filter_map(|own| Direction::ALL.iter().position(|known| known == own))
    }

    fn latencies<'a>(&self, interval: &'a Interval) -> Cow<'a, LatencyCounts> {
        let mut slots = self.slots().map(|slot| &interval.latencies[slot]);
        let first = Cow::Borrowed(slots.next().unwrap_or(&interval.sync_latencies));
        slots.fold(first, |mut sum, more| {
            sum.to_mut().add(more);
            sum
        })
    }

    /// The rate of a run, of all jobs together: bytes per second, or I/Os per second for any other number.
    pub fn rate(&self, result: &RunResult) -> f64 {
        let per_second = |amount: u64, time: Nanos| measure::float(amount) / time.as_secs_f64().max(1e-9);
        let of_job = |job: &JobResult| -> f64 {
            if self.part == Part::Sync {
                let time = job.directions.iter().map(|(_, found)| found.runtime).max().unwrap_or(Nanos::ZERO);
                return per_second(job.sync.count, time);
            }
            let amount =
                |found: &DirectionResult| if self.number == Number::Bandwidth { found.bytes } else { found.ios };
            let own = self.directions().iter().map(|direction| &job.directions[*direction]);
            own.filter(|found| found.ios > 0).map(|found| per_second(amount(found), found.runtime)).sum()
        };
        result.jobs.iter().map(of_job).sum()
    }

    fn rate_within(&self, length: Nanos, interval: &Interval) -> f64 {
        let amount = match (self.part, self.number) {
            (Part::Sync, _) => interval.sync_latencies.total(),
            (_, Number::Bandwidth) => self.slots().map(|slot| interval.bytes[slot]).sum(),
            _ => self.slots().map(|slot| interval.ios[slot]).sum(),
        };
        measure::float(amount) / length.as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::SplitMix;
    use model::Monitored;

    const SECONDS: u64 = 30;
    /// Mean service time in nanoseconds: 500 I/Os per interval.
    const MEAN: f64 = 1e6;

    /// A run of random reads with exponential service times and a sync of the same kind, one at a time.
    fn run(seed: u64) -> RunResult {
        let mut random = SplitMix::new(seed);
        let (mut all, mut then) = (Histogram::new(), Histogram::new());
        let mut total = LatencyStatistics::default();
        let mut monitored = Monitored::default();
        let (mut now, mut counted, mut ios) = (0.0, 0_u64, 0_u64);
        for half in 1..=2 * SECONDS {
            let until = Nanos::from_millis(500 * half);
            while now < until.as_f64() {
                let time = -(1.0 - random.fraction()).ln() * MEAN;
                now += time;
                let time = Nanos::from_secs_f64(time / 1e9);
                all.record(time);
                total.moments.record(time);
                ios += 1;
            }
            let mut interval = Interval { until, measuring: 1, ..Interval::default() };
            interval.ios[0] = ios - counted;
            interval.bytes[0] = 4096 * (ios - counted);
            interval.latencies[0] = LatencyCounts::gained(&all, &then);
            interval.sync_latencies = interval.latencies[0].clone();
            monitored.intervals.push(interval);
            (counted, then) = (ios, all.clone());
        }
        total.histogram = Some(Box::new(all));
        let mut job =
            JobResult { sync: model::SyncResult { count: ios, latency: total.clone() }, ..JobResult::default() };
        job.directions.read = DirectionResult {
            ios,
            bytes: 4096 * ios,
            runtime: Nanos::from_secs(SECONDS),
            total: Some(total),
            ..DirectionResult::default()
        };
        RunResult { jobs: vec![job], monitored: Some(monitored), ..RunResult::default() }
    }

    /// The answers of three rounds, for these seeds, to a limit this many times the true number.
    fn answers(part: Part, number: Number, times: f64, seeds: std::ops::Range<u64>) -> Vec<Answer> {
        let truth = match number {
            Number::Percentile(percent) => -(1.0 - percent / 100.0).ln() * MEAN,
            Number::Mean => MEAN,
            Number::Iops => 1e9 / MEAN,
            Number::Bandwidth => 4096e9 / MEAN,
        };
        let rule = Rule { part, number, limit: truth * times };
        let rounds = |seed: u64| (0..3).map(move |round| rule.observe(&run(1000 * seed + round)));
        seeds.map(|seed| rule.of_rounds(&rounds(seed).collect::<Vec<_>>())).collect()
    }

    #[test]
    fn disks_a_fifth_on_either_side_of_a_limit_are_answered_rightly() {
        for (part, number) in [(Part::Read, Number::Percentile(99.0)), (Part::Sync, Number::Percentile(99.0))] {
            assert_eq!(answers(part, number, 1.2, 0..20), [Answer::Yes; 20], "{number:?}");
            assert_eq!(answers(part, number, 0.8, 0..20), [Answer::No; 20], "{number:?}");
        }
        for (number, enough, little) in
            [(Number::Mean, 1.2, 0.8), (Number::Iops, 0.8, 1.2), (Number::Bandwidth, 0.8, 1.2)]
        {
            let rates = matches!(number, Number::Iops | Number::Bandwidth);
            assert!(!rates || answers(Part::All, number, enough, 0..3) == [Answer::Yes; 3], "{number:?}");
            assert_eq!(answers(Part::Read, number, enough, 0..20), [Answer::Yes; 20], "{number:?}");
            assert_eq!(answers(Part::Read, number, little, 0..20), [Answer::No; 20], "{number:?}");
        }
    }

    #[test]
    fn at_the_limit_nothing_is_said() {
        for number in [Number::Percentile(99.0), Number::Iops] {
            let found = answers(Part::Read, number, 1.0, 100..140);
            let unsaid = found.iter().filter(|&&answer| answer == Answer::CannotTell).count();
            assert!(unsaid >= 38, "{number:?}: {unsaid} of 40");
        }
    }

    #[test]
    fn an_interval_holds_the_limit_where_a_round_cannot_tell() {
        let mut seen = [0; 3];
        for (seed, times) in (0..30).flat_map(|seed| [0.85, 0.95, 1.0, 1.05, 1.15].map(|times| (seed, times))) {
            let limit = -(0.01_f64).ln() * MEAN * times;
            let found = Rule { part: Part::Read, number: Number::Percentile(99.0), limit }.observe(&run(seed));
            let [low, high] = found.interval.unwrap();
            let (is_below, is_above) = (high < limit * 1.002, low > limit * 0.998);
            let (at, fits) = match found.answer {
                Answer::Yes => (0, is_below),
                Answer::No => (1, is_above),
                Answer::CannotTell => (2, low < limit * 1.002 && high > limit * 0.998),
            };
            assert!(fits, "{seed} {times}: {found:?}");
            seen[at] += 1;
        }
        assert!(seen.iter().all(|&count| count > 10), "{seen:?}");
    }

    #[test]
    fn a_short_run_and_one_without_such_ios_do_not_decide() {
        let mut short = run(1);
        short.monitored.as_mut().unwrap().intervals.truncate(14);
        let rule = Rule { part: Part::Read, number: Number::Percentile(99.0), limit: 1e9 };
        assert_eq!(rule.observe(&short).answer, Answer::CannotTell);
        let writes = Rule { part: Part::Write, ..rule };
        let none = writes.observe(&run(1));
        assert_eq!((none.value, none.ios, none.keeps, none.answer), (None, 0, false, Answer::CannotTell));
        let syncs = Rule { part: Part::Sync, number: Number::Iops, limit: 100.0 };
        let reads = Rule { part: Part::Read, ..syncs };
        assert_eq!(syncs.observe(&run(1)), reads.observe(&run(1)), "as many syncs as reads");
        assert_eq!(rule.observe(&run(1)).answer, Answer::Yes);
    }

    #[test]
    fn a_run_in_virtual_time_is_judged_by_its_own_intervals() {
        let rule = Rule { part: Part::Read, number: Number::Percentile(99.0), limit: 8e6 };
        let monitored = rule.observe(&run(7));
        let mut simulated = run(7);
        simulated.virtual_intervals = simulated.monitored.take().unwrap().intervals;
        let own = rule.observe(&simulated);
        // The monitor cuts the first one, whose beginning it does not know.
        assert_eq!((monitored.intervals, own.intervals), (59, 60));
        assert_eq!((own.answer, own.value), (Answer::Yes, monitored.value));
        simulated.virtual_intervals.clear();
        assert_eq!(rule.observe(&simulated).answer, Answer::CannotTell);
    }

    #[test]
    fn rounds_that_differ_too_much_cannot_tell() {
        let rule = Rule { part: Part::Read, number: Number::Iops, limit: 1000.0 };
        let of = |rates: &[f64]| {
            let round = |&rate: &f64| {
                let answer = if rate > rule.limit { Answer::Yes } else { Answer::No };
                let interval = Some([rate * 0.999, rate * 1.001]);
                let keeps = rate > rule.limit;
                RuleObservation { value: Some(rate), interval, beyond: None, ios: 1, intervals: 60, keeps, answer }
            };
            rule.of_rounds(&rates.iter().map(round).collect::<Vec<_>>())
        };
        assert_eq!(of(&[1100.0, 1110.0, 1090.0]), Answer::Yes);
        assert_eq!(of(&[1010.0, 1150.0, 1020.0]), Answer::CannotTell, "one round makes the difference");
        assert_eq!(of(&[900.0, 910.0, 890.0]), Answer::No);
        assert_eq!(of(&[990.0, 850.0, 980.0]), Answer::CannotTell);
        assert_eq!(of(&[990.0, 900.0, 1005.0]), Answer::CannotTell);
        assert_eq!((of(&[1010.0]), of(&[990.0]), of(&[])), (Answer::Yes, Answer::No, Answer::CannotTell));
        let time = Rule { number: Number::Mean, ..rule };
        let rounds = [900.0, 910.0, 890.0].map(|value| RuleObservation {
            value: Some(value),
            interval: None,
            beyond: None,
            ios: 1,
            intervals: 60,
            keeps: true,
            answer: Answer::Yes,
        });
        assert_eq!(time.of_rounds(&rounds), Answer::Yes);
    }

    #[test]
    fn one_rule_that_is_missed_is_enough_for_no() {
        use Answer::{CannotTell, No, Yes};
        assert_eq!(of_rules(&[Yes, No, CannotTell]), No);
        assert_eq!(of_rules(&[Yes, CannotTell]), CannotTell);
        assert_eq!((of_rules(&[Yes, Yes]), of_rules(&[])), (Yes, CannotTell));
        assert_eq!((of_rounds(&[No]), of_rounds(&[Yes]), of_rounds(&[])), (No, Yes, CannotTell));
        assert_eq!((of_rounds(&[CannotTell, No, Yes]), of_rounds(&[No, No, Yes])), (CannotTell, No));
        assert_eq!((of_rounds(&[No, Yes]), of_rounds(&[No, No, Yes, Yes])), (CannotTell, CannotTell));
    }
}
