//! One load level of a test: its numbers, from a measured row of any tool or from a run of plumb.
//!
//! Owns the numbers that sentences, charts and cards have in common. Leaves the order of levels and their names to `report`.

use crate::{contradiction, interval, is_of_memory, measured};
use measure::Direction;
use model::reading::LatencyShare;
use model::{Grade, Measurement, Note, RunResult};
use serde::{Deserialize, Serialize};

/// Numbers of a test at one load, measured by plumb or by another tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its name in a sweep, for example `8 users`.
    pub label: String,
    /// Users, queue depth, block size in bytes, or the value of another option; a place in the order if the value is a word.
    pub load: f64,
    /// The value, if it is a word: `io_uring`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// Mean latency in nanoseconds.
    pub average_ns: f64,
    /// Mean of the latency that the percentiles are of, if known; the average may be of another (total, and they of completion).
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
    /// True if the data came from memory (page cache) instead of the device.
    #[serde(skip)]
    pub from_memory: bool,
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
            at_work: contradiction(iops, average_ns, asked).map(|busy| AtWork { busy, asked }),
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
        let busy = notes.iter().find(|note| note.check == "busy users" && note.grade > Grade::Trusted);
        let evidence = |id: &str| busy?.evidence.iter().find(|(name, _)| name == id).map(|&(_, value)| value);
        let at_work = evidence("users_busy").zip(evidence("users_asked")).map(|(busy, asked)| AtWork { busy, asked });
        Level { at_work, from_memory: is_of_memory(notes), ..self }
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
    /// The non-empty buckets; the last one, which is unbounded, ends at the maximum latency, or at twice its lower edge.
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
    /// (latency ratio − 1) ÷ (load ratio − 1): 0 if latency stays flat, 1 if the added load only queues. `None` if the
    /// levels are block sizes.
    pub queueing: Option<f64>,
}
