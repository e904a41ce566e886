//! One load level of a test: its numbers, from a measured row of any tool or from a run of plumb.
//!
//! Owns the numbers that sentences, charts and cards have in common, the interval of a level over its rounds, and the
//! effect of more load: queueing, busy users, the knee. Leaves the order of levels and their names to `report`.
//!
//! Sources: Student's t distribution for the mean of a few rounds; Little's law; Kleinrock's power (rate ÷ latency).

use crate::checks::{LEAST_BUSY_SHARE, MOST_BUSY_SHARE, busy_users_of};
use crate::statistics::student::quantile;
use crate::{measured, not_storage};
use measure::Direction;
use model::measurement::BusyUsers;
use model::reading::LatencyShare;
use model::{Measurement, Note, RunResult};
use serde::{Deserialize, Serialize};

/// Numbers of a test at one load, measured by plumb or by another tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its name in a sweep, for example `8 users`.
    pub label: String,
    /// Users, queue depth, block size in bytes, or value of another option; a place in the order if that is a word.
    pub load: f64,
    /// The value, if it is a word: `io_uring`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// Mean latency in nanoseconds.
    pub average_ns: f64,
    /// Mean of the latency that the percentiles are of, if known; the average may be of total, they of completion.
    #[serde(skip)]
    pub percentiles_mean_ns: Option<f64>,
    /// 95th percentile in nanoseconds, if known.
    pub p95_ns: Option<f64>,
    /// 99th percentile in nanoseconds.
    pub p99_ns: Option<f64>,
    /// 99.99th percentile in nanoseconds.
    pub p9999_ns: Option<f64>,
    /// Maximum latency in nanoseconds.
    pub max_ns: Option<f64>,
    /// Latency distribution; ascending, the shares sum to at most 1.
    pub bins: Vec<Bin>,
    /// Throughput in bytes per second.
    pub rate: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Change from this level of a sweep to the next; `None` for the last level, or if the numbers are not credible.
    pub step: Option<Step>,
    /// Number of busy users, if IOPS × latency contradicts the requested number (Little's law).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_work: Option<AtWork>,
    /// The check that found that the numbers are not of the storage, if one did.
    #[serde(skip)]
    pub not_storage: Option<String>,
    /// I/Os per second of each round, if there were several; the other numbers are those of the median round.
    #[serde(skip)]
    pub rates: Vec<f64>,
    /// The interval of these rounds, for a chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
}

impl Level {
    /// Builds a level from a measured row of any tool; `None` without a mean latency, a throughput and IOPS.
    pub fn of_row(load: f64, row: &Measurement) -> Option<Self> {
        let positive = |ns: Option<f64>| ns.filter(|&ns| ns > 0.0);
        let (average_ns, iops) = (positive(row.mean_ns)?, row.iops?);
        let asked = row.users.unwrap_or(1.0) * row.depth.unwrap_or(1.0).max(1.0);
        let max_ns = positive(row.max_ns);
        Some(Level {
            load,
            average_ns,
            percentiles_mean_ns: positive(row.percentiles_mean_ns),
            p95_ns: positive(row.percentiles_ns[0]),
            p99_ns: positive(row.percentiles_ns[1]),
            p9999_ns: positive(row.percentiles_ns[5]),
            max_ns,
            bins: Bin::of_shares(&row.shares, max_ns),
            rate: row.bytes_per_second?,
            iops,
            at_work: match row.busy_users {
                Some(found) => AtWork::of(found),
                None => contradiction(iops, average_ns, asked).map(|busy| AtWork { busy, asked }),
            },
            ..Level::default()
        })
    }

    /// Builds a level from a run with these remarks; `None` if the direction has no I/O or no latency was measured.
    pub fn of(load: f64, result: &RunResult, direction: Direction, notes: &[Note]) -> Option<Self> {
        let row = measured::measurement(&measured::merged(result)?, direction)?;
        Self::of_row(load, &row).map(|level| level.with_notes(notes))
    }

    /// With what the checks found: they know more than a row, such as rate limits and lock waits.
    #[must_use]
    pub fn with_notes(self, notes: &[Note]) -> Self {
        let at_work = AtWork::of(busy_users_of(notes));
        Level { at_work, not_storage: not_storage(notes, &[]).map(|found| found.note.check), ..self }
    }

    /// The load as a whole number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; saturates")]
    pub const fn count(&self) -> u64 {
        self.load as u64
    }
}

/// Rounds of one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// Their number.
    pub count: usize,
    /// Lower end of the 95 % interval of the mean IOPS.
    pub low_iops: f64,
    /// Upper end of the interval.
    pub high_iops: f64,
}

impl Rounds {
    /// The interval over these IOPS; `None` with fewer than two rounds.
    pub fn of(rates: &[f64]) -> Option<Rounds> {
        let found = interval(rates)?;
        Some(Rounds { count: rates.len(), low_iops: found.low.max(0.0), high_iops: found.high })
    }
}

/// Busy and requested number of users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtWork {
    /// Busy users: IOPS × mean latency.
    pub busy: f64,
    /// Requested users: users × depth.
    pub asked: f64,
}

impl AtWork {
    fn of(found: BusyUsers) -> Option<Self> {
        match found {
            BusyUsers::Odd { busy, asked } => Some(AtWork { busy, asked }),
            BusyUsers::Fit => None,
        }
    }
}

/// One latency bucket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Lower edge in nanoseconds; 0 for the first bucket.
    pub from_ns: f64,
    /// Upper edge in nanoseconds.
    pub to_ns: f64,
    /// Fraction of all I/Os.
    pub share: f64,
}

impl Bin {
    /// The non-empty buckets; the last one, without bound, ends at the maximum latency, or at twice its lower edge.
    pub fn of_shares(shares: &[LatencyShare], max_ns: Option<f64>) -> Vec<Bin> {
        let open = max_ns.unwrap_or(0.0).max(4e9);
        let mut from_ns = 0.0;
        let mut bins = Vec::new();
        for share in shares {
            let to_ns = share.below_ns.unwrap_or(open);
            if share.percent > 0.0 {
                bins.push(Bin { from_ns, to_ns, share: share.percent / 100.0 });
            }
            from_ns = to_ns;
        }
        bins
    }
}

/// Change from one load level to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Ratio of the loads: next level ÷ this level.
    pub load_ratio: f64,
    /// Ratio of the throughputs: next level ÷ this level.
    pub rate_ratio: f64,
    /// (latency ratio − 1) ÷ (load ratio − 1): 0 for flat latency, 1 if the load only queues. `None` of block sizes.
    pub queueing: Option<f64>,
}

/// Share of intervals that contain the true mean.
const CONFIDENCE: f64 = 0.95;

/// Rates between which the mean lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How the rounds of two levels compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// One of them was measured in a single round, which has no interval.
    OneRound,
    /// Their intervals overlap.
    WithinNoise,
    /// Their intervals are apart.
    BeyondNoise,
}

/// The 95 % confidence interval of the mean of these rates, one per round; `None` with fewer than two rounds.
pub fn interval(rates: &[f64]) -> Option<RateInterval> {
    if rates.len() < 2 {
        return None;
    }
    let count = crate::run_facts::float(rates.len() as u64);
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let quantile = quantile(0.5 + CONFIDENCE / 2.0, count - 1.0)?;
    let half = quantile * (variance / count).sqrt();
    half.is_finite().then_some(RateInterval { low: mean - half, high: mean + half })
}

/// Compares the rates of two levels, each with one rate per round.
pub fn difference(one: &[f64], other: &[f64]) -> Difference {
    match (interval(one), interval(other)) {
        (Some(a), Some(b)) if a.low > b.high || b.low > a.high => Difference::BeyondNoise,
        (Some(_), Some(_)) => Difference::WithinNoise,
        _ => Difference::OneRound,
    }
}

/// Index of the round in the middle: its numbers stand for all of them. Of an even number, the lower one.
pub fn median_round(rates: &[f64]) -> Option<usize> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|&a, &b| rates[a].total_cmp(&rates[b]));
    order.get(rates.len().checked_sub(1)? / 2).copied()
}

/// Fraction of the added load that only queued: (latency ratio − 1) ÷ (load ratio − 1). 0 if latency stays flat, 1 if
/// it grows in proportion to the load. `None` if the load did not grow or there is no latency to compare.
pub fn queueing(latency_ratio: f64, load_ratio: f64) -> Option<f64> {
    let share = crate::report_card::queueing(latency_ratio, load_ratio);
    (load_ratio > 1.0 && latency_ratio > 0.0 && share.is_finite()).then_some(share)
}

/// Number of busy users, if it contradicts the requested number.
///
/// In a closed loop, IOPS × mean latency is the number of busy users (Little's law). `None` if it matches.
pub fn contradiction(iops: f64, mean_ns: f64, asked: f64) -> Option<f64> {
    let busy = iops * mean_ns / 1e9;
    let fits = (LEAST_BUSY_SHARE..=MOST_BUSY_SHARE).contains(&(busy / asked));
    (asked > 0.0 && busy.is_finite() && !fits).then_some(busy)
}

/// The level beyond which more load adds more latency than throughput: the maximum of rate ÷ latency.
///
/// Takes (rate, latency) of each level; of equal ones the first is chosen. `None` with fewer than three levels.
pub fn knee(levels: &[(f64, f64)]) -> Option<usize> {
    let power = |&(rate, latency): &(f64, f64)| if latency > 0.0 { rate / latency } else { 0.0 };
    let best = levels.iter().map(power).fold(0.0, f64::max);
    (levels.len() >= 3 && best > 0.0).then(|| levels.iter().position(|level| power(level) >= best))?
}

/// Minimum factor that counts as growth.
const GROWTH: f64 = 1.05;
/// Number of further levels without growth that end a sweep: a single one may be an outlier.
const PROOFS: usize = 2;

/// A level with less than this part of the rates on both sides of it stalled, and so may a last one below the level
/// before it: one pause of a second is enough for that.
const STALL: f64 = 0.8;

/// True if the level stalled: its rate is not that of the load.
pub fn has_stalled(rates: &[f64], at: usize) -> bool {
    let is_below = |other: Option<&f64>| other.is_none_or(|other| rates[at] < other * STALL);
    at > 0 && is_below(rates.get(at - 1)) && is_below(rates.get(at + 1))
}

/// Index of the level at which a rate stops growing: the first one that no later level exceeds by 5 %, of which
/// there are two at least. Levels that stalled do not count. `None` if it still grows, or there are too few levels. Levels must be in
/// ascending order of load.
pub fn growth_ends(rates: &[f64]) -> Option<usize> {
    let steady: Vec<usize> = (0..rates.len()).filter(|&at| !has_stalled(rates, at)).collect();
    let stops = |place: usize| {
        let (at, later) = (steady[place], &steady[place + 1..]);
        rates[at] > 0.0 && later.iter().all(|&later| rates[later] < rates[at] * GROWTH)
    };
    (0..steady.len().saturating_sub(PROOFS)).find(|&place| stops(place)).map(|place| steady[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_three_rounds_is_that_of_students_t() {
        let found = interval(&[90.0, 100.0, 110.0]).unwrap();
        // t(0.975; 2) = 4.30265, standard error 10 ÷ √3.
        assert!((found.low - (100.0 - 24.841)).abs() < 0.01 && (found.high - 124.841).abs() < 0.01, "{found:?}");
        assert_eq!(interval(&[100.0]), None);
        assert_eq!(interval(&[]), None);
    }

    #[test]
    fn rates_differ_only_where_their_intervals_are_apart() {
        let (slow, fast) = ([100.0, 101.0, 102.0], [200.0, 201.0, 202.0]);
        assert_eq!(difference(&slow, &fast), Difference::BeyondNoise);
        assert_eq!(difference(&fast, &slow), Difference::BeyondNoise);
        assert_eq!(difference(&[100.0, 150.0, 60.0], &[110.0, 170.0, 55.0]), Difference::WithinNoise);
        assert_eq!(difference(&slow, &[300.0]), Difference::OneRound);
    }

    #[test]
    fn the_median_round_has_as_many_above_as_below() {
        assert_eq!(median_round(&[3.0, 1.0, 2.0]), Some(2));
        assert_eq!(median_round(&[4.0, 1.0]), Some(1));
        assert_eq!(median_round(&[]), None);
    }

    #[test]
    fn flat_latency_has_no_queueing_latency_in_step_is_all_queueing() {
        assert_eq!(queueing(1.0, 8.0), Some(0.0));
        assert_eq!(queueing(8.0, 8.0), Some(1.0));
        assert_eq!(queueing(2.0, 3.0), Some(0.5));
        assert!(queueing(0.5, 2.0).unwrap() < 0.0);
    }

    #[test]
    fn without_more_load_or_latency_there_is_no_queueing() {
        for (latency, load) in [(2.0, 1.0), (2.0, 0.5), (0.0, 2.0), (f64::NAN, 2.0), (f64::INFINITY, 2.0)] {
            assert_eq!(queueing(latency, load), None, "{latency} {load}");
        }
    }

    #[test]
    fn users_that_were_not_at_work_are_counted() {
        assert_eq!(contradiction(8_000.0, 1e6, 8.0), None);
        assert_eq!(contradiction(4_000.0, 1e6, 8.0), Some(4.0));
        assert_eq!(contradiction(16_000.0, 1e6, 8.0), Some(16.0));
    }

    #[test]
    fn growth_ends_where_two_levels_bring_less_than_5_percent() {
        assert_eq!(growth_ends(&[100.0, 200.0, 390.0, 400.0, 405.0]), Some(2));
        assert_eq!(growth_ends(&[100.0, 200.0, 390.0, 400.0]), None, "one level proves nothing");
        assert_eq!(growth_ends(&[100.0, 99.0, 180.0, 181.0, 150.0]), Some(2), "a hiccup ends nothing");
        assert_eq!(growth_ends(&[100.0, 100.0, 100.0]), Some(0));
        assert_eq!(growth_ends(&[0.0, 0.0, 0.0]), None);
        assert_eq!(growth_ends(&[]), None);
    }

    #[test]
    fn a_level_that_stalled_proves_nothing() {
        assert_eq!(growth_ends(&[100.0, 200.0, 12.0, 196.0]), None, "one level is left as a proof");
        assert_eq!(growth_ends(&[100.0, 200.0, 12.0, 196.0, 201.0]), Some(1));
        assert_eq!(growth_ends(&[100.0, 200.0, 12.0, 390.0, 395.0, 400.0]), Some(3));
        assert_eq!(growth_ends(&[100.0, 200.0, 205.0, 12.0]), None, "the last level may have stalled");
        assert_eq!(growth_ends(&[100.0, 200.0, 150.0, 140.0]), Some(1), "a rate that falls and stays low");
        assert!(has_stalled(&[100.0, 12.0], 1) && !has_stalled(&[12.0, 100.0], 0));
    }

    #[test]
    fn the_knee_is_where_rate_over_latency_peaks() {
        assert_eq!(knee(&[(18_883.0, 50.0), (67_558.0, 115.0), (65_711.0, 239.0), (73_634.0, 778.0)]), Some(1));
        assert_eq!(knee(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(knee(&[(0.0, 0.0); 4]), None);
    }
}
