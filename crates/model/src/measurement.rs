//! A measurement: the numbers of one test with one number of users, in base units, from plumb or another tool.
//!
//! Has the type and the bounds of its latency ranges; its columns are in `columns`.

use crate::Lasting;
use crate::job::samples_needed;
use crate::reading::{LatencyShare, ReadKind};
use measure::Direction;
use measure::text::{SizeStyle, exact_size};
use plan::{Mix, RwPattern};

/// Upper bounds, in nanoseconds, of the latency ranges that are shown; the range above the last has no bound.
///
/// The R matrix of fio_scripts has the same ranges without the first two; charts have a colour for each.
pub const LATENCY_EDGES_NS: [f64; 17] =
    [1e4, 2e4, 5e4, 1e5, 2.5e5, 5e5, 1e6, 2e6, 4e6, 1e7, 2e7, 5e7, 1e8, 2.5e8, 5e8, 1e9, 2e9];

/// The percentiles of a [`Measurement`], those of the R matrix.
pub const PERCENTS: [f64; 6] = [95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Order in which an access pattern visits its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessOrder {
    /// In ascending order.
    Sequential,
    /// In random order.
    Random,
}

/// An access pattern, as in fio's option `rw`: an order, and reads, writes, trims or a mix of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessPattern {
    /// Sequential or random.
    pub order: AccessOrder,
    /// The direction; `Mixed` is reads and writes.
    pub kind: ReadKind,
}

impl AccessPattern {
    /// Returns the pattern with this name in fio's `rw`; `None` for other text and for trims before writes.
    pub fn from_word(word: &str) -> Option<Self> {
        let RwPattern { mix, random } = RwPattern::parse(word)?;
        let order = if random { AccessOrder::Random } else { AccessOrder::Sequential };
        let kind = match mix {
            Mix::Only(Direction::Read) => ReadKind::Read,
            Mix::Only(Direction::Write) => ReadKind::Write,
            Mix::Only(Direction::Trim) => ReadKind::Trim,
            Mix::ReadWrite => ReadKind::Mixed,
            Mix::TrimWrite => return None,
        };
        Some(AccessPattern { order, kind })
    }

    /// Name in fio's option `rw`, such as `randread`.
    pub fn word(self) -> &'static str {
        let mix = match self.kind {
            ReadKind::Read => Mix::Only(Direction::Read),
            ReadKind::Write => Mix::Only(Direction::Write),
            ReadKind::Trim => Mix::Only(Direction::Trim),
            ReadKind::Mixed => Mix::ReadWrite,
        };
        RwPattern { mix, random: self.order == AccessOrder::Random }.name()
    }
}

/// Name of a test: an access pattern, or another name (a job, a test of iozone, a device).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestName {
    /// An access pattern of fio.
    Pattern(AccessPattern),
    /// Any other name.
    Other(String),
}

impl TestName {
    /// The name in fio's reports and in tables.
    pub fn as_str(&self) -> &str {
        match self {
            TestName::Pattern(pattern) => pattern.word(),
            TestName::Other(name) => name,
        }
    }

    /// The access pattern, if the name is one.
    pub const fn pattern(&self) -> Option<AccessPattern> {
        match self {
            TestName::Pattern(pattern) => Some(*pattern),
            TestName::Other(_) => None,
        }
    }
}

impl Default for TestName {
    fn default() -> Self {
        TestName::Other(String::new())
    }
}

impl From<&str> for TestName {
    fn from(name: &str) -> Self {
        AccessPattern::from_word(name).map_or_else(|| TestName::Other(name.to_owned()), TestName::Pattern)
    }
}

/// Numbers of one test with one number of users: a row of a sweep. Times are nanoseconds, with fractions for means and
/// rounded texts; rates are bytes and I/Os per second.
///
/// In JSON it has the columns of the tables: `mean_ms`, `mib_per_second`, `block_size`.
///
/// ```
/// use model::Measurement;
/// use model::measurement::TestName;
///
/// let test = TestName::from("randread");
/// let row = Measurement { test, block: Some((8192, 8192)), mean_ns: Some(0.5e6), ..Measurement::default() };
/// assert_eq!(row.block_text().as_deref(), Some("8K"));
/// assert_eq!(model::measurement::ms(row.mean_ns), Some(0.5));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Machine, if the file names it.
    pub system: Option<String>,
    /// Name of the test.
    pub test: TestName,
    /// Number of processes or threads.
    pub users: Option<f64>,
    /// Smallest and largest block size in bytes.
    pub block: Option<(u64, u64)>,
    /// Direction.
    pub kind: Option<ReadKind>,
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// Mean latency.
    pub mean_ns: Option<f64>,
    /// Smallest latency.
    pub min_ns: Option<f64>,
    /// Largest latency.
    pub max_ns: Option<f64>,
    /// Standard deviation of the latency.
    pub deviation_ns: Option<f64>,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Percentages of the I/Os by latency, ascending; every bound is one of [`LATENCY_EDGES_NS`]. Empty if not known.
    pub shares: Vec<LatencyShare>,
    /// Percentages that a table prints without naming their latency ranges.
    pub unplaced_shares: Vec<f64>,
    /// Latencies at the percentiles [`PERCENTS`].
    pub percentiles_ns: [Option<f64>; PERCENTS.len()],
    /// Number of I/Os that the percentiles are of, if it is stated.
    pub percentiles_count: Option<f64>,
    /// Mean of the latency that the percentiles are of: fio's are of completion, `mean_ns` is of total latency.
    pub percentiles_mean_ns: Option<f64>,
    /// Name of the engine.
    pub engine: Option<String>,
    /// Queue depth of each user.
    pub depth: Option<f64>,
    /// errno of a failure.
    pub errno: Option<f64>,
    /// Why the row says nothing of the storage, if so: a check found it, or the machine that measured was the limit.
    pub no_grade: Option<String>,
    /// The users that a check of the whole run found busy, with the times of flushes; `None` if there was no run.
    pub busy_users: Option<BusyUsers>,
    /// The rate of the phase that lasts, if the run had phases that differ: the other numbers are averages over them.
    pub lasting: Option<Lasting>,
    /// Name of the machine, if the result states it.
    pub host: Option<String>,
    /// End of the run: `2026-11-23T12:33:00Z`, without the Z if the zone is not known, or as printed.
    pub time: Option<String>,
    /// Round of a survey that measured everything several times.
    pub round: Option<f64>,
}

/// Users of a closed loop that were busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BusyUsers {
    /// As many as were asked for, or it is not known.
    Fit,
    /// Another number.
    Odd {
        /// Busy users.
        busy: f64,
        /// Requested users: users × depth.
        asked: f64,
    },
}

/// Number of ranges in the R matrix: those of [`LATENCY_EDGES_NS`] from 50 µs, and the one without a bound.
pub const BUCKETS: usize = LATENCY_EDGES_NS.len() - FINER_STEPS + 1;
/// Number of ranges below 50 µs that are one range in the R matrix.
const FINER_STEPS: usize = 2;

/// Upper bound of a range of the R matrix; `None` for the last, which has none.
pub fn bucket_edge_ns(bucket: usize) -> Option<f64> {
    LATENCY_EDGES_NS.get(bucket + FINER_STEPS).copied()
}

/// Range of the R matrix for latencies below a bound; `None` stands for no bound.
pub fn bucket_below(edge_ns: Option<f64>) -> usize {
    let edges = &LATENCY_EDGES_NS[FINER_STEPS..];
    edge_ns.and_then(|ns| edges.iter().position(|&edge| ns <= edge)).unwrap_or(BUCKETS - 1)
}

impl Measurement {
    /// The percentages in the ranges of the R matrix; `None` if no percentages are known.
    pub fn buckets(&self) -> Option<[f64; BUCKETS]> {
        let mut buckets = [0.0; BUCKETS];
        for share in &self.shares {
            buckets[bucket_below(share.below_ns)] += share.percent;
        }
        (!self.shares.is_empty()).then_some(buckets)
    }

    /// Sets the percentages from those of the R matrix.
    pub fn set_buckets(&mut self, buckets: &[f64; BUCKETS]) {
        let share = |(bucket, &percent)| LatencyShare { below_ns: bucket_edge_ns(bucket), percent };
        self.shares = buckets.iter().enumerate().map(share).collect();
    }

    /// Block size as in tables: `8K`, `4K-16K`, `512B`.
    pub fn block_text(&self) -> Option<String> {
        let size = |bytes| exact_size(bytes, SizeStyle::Table);
        self.block.map(|(low, high)| if low == high { size(low) } else { format!("{}-{}", size(low), size(high)) })
    }

    /// The row without the percentiles for which it has too few I/Os; all of them if the number is not stated.
    pub fn with_facts_only(mut self) -> Self {
        let Some(count) = self.percentiles_count else { return self };
        for (percent, found) in PERCENTS.into_iter().zip(&mut self.percentiles_ns) {
            *found = found.filter(|_| count >= samples_needed(percent) as f64);
        }
        self
    }

    /// MiB per second.
    pub fn mib_per_second(&self) -> Option<f64> {
        self.bytes_per_second.map(|rate| rate / MIB)
    }
}

/// Bytes in a MiB.
pub const MIB: f64 = 1_048_576.0;

/// Converts nanoseconds to the milliseconds of tables.
pub fn ms(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| ns / NS_PER_MS)
}

/// Converts the milliseconds of a table to nanoseconds. A value with up to six decimals is a whole number of
/// nanoseconds, which the product of two floats can miss by its last bit; this rounds it.
pub fn ns_of_ms(ms: f64) -> f64 {
    let ns = ms * NS_PER_MS;
    let whole = ns.round();
    if (ns - whole).abs() <= whole.abs() * f64::EPSILON { whole } else { ns }
}

const NS_PER_MS: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_of_a_table_are_read_back_as_they_were() {
        for text in ["5.943", "0.036", "10.253", "0.000001", "123456.789012", "0.1", "4503599.627371"] {
            let read: f64 = text.parse().expect("a number");
            assert_eq!(ms(Some(ns_of_ms(read))), Some(read), "{text}");
        }
    }

    #[test]
    fn percentiles_of_too_few_ios_are_left_out() {
        let all = [Some(1e6); PERCENTS.len()];
        let row = |count| Measurement { percentiles_ns: all, percentiles_count: count, ..Measurement::default() };
        let kept = |count| row(count).with_facts_only().percentiles_ns.map(|found| found.is_some());
        assert_eq!(kept(None), [true; 6]);
        assert_eq!(kept(Some(1_999.0)), [false; 6]);
        assert_eq!(kept(Some(10_000.0)), [true, true, false, false, false, false]);
        assert_eq!(kept(Some(1e6)), [true; 6]);
    }

    #[test]
    fn a_pattern_is_known_by_its_word_and_any_other_name_is_kept() {
        for word in ["read", "write", "trim", "rw", "randread", "randwrite", "randtrim", "randrw"] {
            let name = TestName::from(word);
            assert!(name.pattern().is_some(), "{word}");
            assert_eq!(name.as_str(), word);
        }
        assert_eq!(TestName::from("readwrite").as_str(), "rw");
        for name in ["", "trimwrite", "read:8", "initial writers", "nvme0n1"] {
            assert_eq!(TestName::from(name), TestName::Other(name.to_owned()));
        }
    }

    #[test]
    fn shares_below_50_us_are_one_step_of_the_r_matrix() {
        let share = |below_ns, percent| LatencyShare { below_ns, percent };
        let shares = vec![share(Some(1e4), 10.0), share(Some(5e4), 20.0), share(Some(1e5), 30.0), share(None, 40.0)];
        let row = Measurement { shares, ..Measurement::default() };
        let buckets = row.buckets().expect("there are shares");
        assert_eq!((buckets[0], buckets[1], buckets[BUCKETS - 1]), (30.0, 30.0, 40.0));
        assert_eq!(
            (BUCKETS, bucket_edge_ns(0), bucket_edge_ns(14), bucket_edge_ns(15)),
            (16, Some(5e4), Some(2e9), None)
        );
    }
}
