//! Measured load levels → sweep: labels, steps, sentences and the check for idle users.

use super::of_result;
use super::{AtWork, Bin, Level, Step, Sweep};
use analysis::{Load, Point, contradiction, queueing, sentences_over, thousands};
use measure::text::{SizeStyle, exact_size};
use measure::{Direction, Nanos};
use model::reading::LatencyShare;
use model::{Grade, Measurement, RunResult};

/// Parameter that varies over a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The load: number of users, or I/Os in flight.
    Load(Load),
    /// The block size in bytes: not a load, so no queueing is computed.
    BlockSize,
}

impl Axis {
    /// Label of a level: `8 users`, `128 KiB`.
    pub fn label(self, load: u64) -> String {
        match self {
            Axis::Load(of) => of.counted(u32::try_from(load).unwrap_or(u32::MAX)),
            Axis::BlockSize => size(load),
        }
    }

    /// Name in the plural: `users`.
    pub fn plural(self) -> &'static str {
        match self {
            Axis::Load(of) => of.plural(),
            Axis::BlockSize => "block size",
        }
    }
}

/// Formats a size like `8 KiB`; in bytes if it is not a multiple of a larger unit.
pub(crate) fn size(bytes: u64) -> String {
    exact_size(bytes, SizeStyle::Spelled)
}

/// Numbers of one level, measured by plumb or by another tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Users, queue depth, or block size in bytes.
    pub load: u64,
    /// Mean latency in nanoseconds.
    pub average_ns: f64,
    /// 95th percentile in nanoseconds, if known.
    pub p95_ns: Option<f64>,
    /// 99th percentile in nanoseconds.
    pub p99_ns: Option<f64>,
    /// 99.99th percentile in nanoseconds.
    pub p9999_ns: Option<f64>,
    /// Maximum latency in nanoseconds.
    pub max_ns: Option<f64>,
    /// Latency distribution.
    pub bins: Vec<Bin>,
    /// Throughput in bytes per second.
    pub rate: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Number of busy users, if it contradicts the requested number.
    pub at_work: Option<AtWork>,
    /// True if the data came from memory (page cache) instead of the device.
    pub from_memory: bool,
}

impl Measured {
    /// Builds a level from a measurement row of any tool; `None` without a mean latency, a throughput and IOPS.
    pub fn of_row(load: u64, row: &Measurement) -> Option<Self> {
        let positive = |ns: Option<f64>| ns.filter(|&ns| ns > 0.0);
        let (average_ns, iops) = (positive(row.mean_ns)?, row.iops?);
        let asked = row.users.unwrap_or(1.0) * row.depth.unwrap_or(1.0).max(1.0);
        let max_ns = positive(row.max_ns);
        Some(Measured {
            load,
            average_ns,
            p95_ns: positive(row.percentiles_ns[0]),
            p99_ns: positive(row.percentiles_ns[1]),
            p9999_ns: positive(row.percentiles_ns[5]),
            max_ns,
            bins: bins(&row.shares, max_ns),
            rate: row.bytes_per_second?,
            iops,
            at_work: contradiction(iops, average_ns, asked).map(|busy| AtWork { busy, asked }),
            from_memory: false,
        })
    }

    /// Builds the level measured by one run; `None` if the direction has no I/O or no latency was measured.
    pub fn of(load: u64, result: &RunResult, direction: Direction) -> Option<Self> {
        let mut level = Self::of_row(load, &of_result::measurement(&of_result::merged(result)?, direction)?)?;
        let notes = if result.notes.is_empty() { analysis::judge(result) } else { result.notes.clone() };
        let busy = notes.iter().find(|note| note.check == "busy users" && note.grade > Grade::Trusted);
        let evidence = |id: &str| busy?.evidence.iter().find(|(name, _)| name == id).map(|&(_, value)| value);
        // The checks know more than a row, such as rate limits and lock waits.
        level.at_work = evidence("users_busy").zip(evidence("users_asked")).map(|(busy, asked)| AtWork { busy, asked });
        level.from_memory = analysis::is_of_memory(&notes);
        Some(level)
    }
}

/// The non-empty buckets; the last one, which is unbounded, ends at the maximum latency, or at twice its lower edge.
fn bins(shares: &[LatencyShare], max_ns: Option<f64>) -> Vec<Bin> {
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

/// Levels of one workload, from which a sweep is made.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name of the system: a machine or a file.
    pub system: String,
    /// For example `random read 8 KiB`.
    pub workload: String,
    /// The workload in the plural, for sentences: `8 KiB random reads`.
    pub plural: String,
    /// Parameter that varies over the levels.
    pub axis: Axis,
    /// The latency target in nanoseconds.
    pub target_ns: f64,
    /// In any order.
    pub levels: Vec<Measured>,
    /// Remarks on the data, shown as footnotes.
    pub notes: Vec<String>,
}

/// Footnotes that explain the symbols of each chart.
const KEY: [&str; 2] = [
    "Bars in the top panel stand at their true latency edges; their width is the share of I/Os, a full column is 100 %. Marks: ● average, — p95, p99 and p99.99 (grey), — max (red).",
    "Queueing = (latency ratio − 1) ÷ (load ratio − 1): at 0 % latency stays flat, at 100 % it grows as fast as the load. Light red: slower; dark red: throughput falls; light blue: faster.",
];

impl Sweep {
    /// Builds the sweep of a table; all derived numbers are computed here, once.
    pub fn of(mut table: Table) -> Sweep {
        table.levels.sort_by_key(|level| level.load);
        table.levels.dedup_by_key(|level| level.load);
        let measured = &table.levels;
        let step = |at: usize| step(table.axis, &measured[at], measured.get(at + 1)?);
        let level = |(at, from): (usize, &Measured)| Level {
            label: table.axis.label(from.load),
            load: from.load as f64,
            average_ns: from.average_ns,
            p95_ns: from.p95_ns,
            p99_ns: from.p99_ns,
            p9999_ns: from.p9999_ns,
            max_ns: from.max_ns,
            bins: from.bins.clone(),
            rate: from.rate,
            iops: from.iops,
            step: step(at),
            at_work: from.at_work,
        };
        let range = match (measured.first(), measured.last()) {
            (Some(first), Some(last)) if first.load < last.load => match table.axis {
                Axis::Load(_) => format!(" · {}–{}", first.load, table.axis.label(last.load)),
                Axis::BlockSize => format!(" · {} to {}", size(first.load), size(last.load)),
            },
            (Some(one), _) => format!(" · {}", table.axis.label(one.load)),
            _ => String::new(),
        };
        let mut notes = table.notes.clone();
        notes.extend(KEY.iter().take(if table.axis == Axis::BlockSize { 1 } else { 2 }).map(|&line| line.to_owned()));
        notes.extend(odd_means(table.axis, measured));
        Sweep {
            title: format!("{} · {}{range}", table.system, table.workload),
            sentences: tell(&table),
            flag: flag(measured),
            load: table.axis.plural().to_owned(),
            target_ns: table.target_ns,
            levels: measured.iter().enumerate().map(level).collect(),
            notes,
        }
    }
}

fn step(axis: Axis, here: &Measured, there: &Measured) -> Option<Step> {
    let believed = here.at_work.is_none() && there.at_work.is_none() && here.rate > 0.0 && here.average_ns > 0.0;
    let load_ratio = there.load as f64 / here.load as f64;
    let share = || queueing(there.average_ns / here.average_ns, load_ratio);
    believed.then(|| Step {
        load_ratio,
        rate_ratio: there.rate / here.rate,
        queueing: if axis == Axis::BlockSize { None } else { share() },
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nanoseconds; saturates")]
fn tell(table: &Table) -> Vec<String> {
    let Axis::Load(load) = table.axis else { return tell_sizes(&table.levels) };
    let point = |level: &Measured| Point {
        users: u32::try_from(level.load).unwrap_or(u32::MAX),
        iops: level.iops,
        bytes_per_second: level.rate,
        mean_ns: level.average_ns,
        p99: level.p99_ns.map(|ns| Nanos(ns as u64)),
        all_busy: level.at_work.is_none(),
        from_memory: level.from_memory,
    };
    sentences_over(load, &table.plural, &table.levels.iter().map(point).collect::<Vec<_>>())
}

fn tell_sizes(levels: &[Measured]) -> Vec<String> {
    let mib = |level: &Measured| thousands(level.rate / f64::from(1 << 20));
    let Some(best) = levels.iter().max_by(|one, other| one.rate.total_cmp(&other.rate)) else { return Vec::new() };
    let near = levels.iter().find(|level| level.rate >= 0.9 * best.rate).unwrap_or(best);
    let reached = if near.load == best.load {
        String::new()
    } else {
        format!("; {} already reaches 90 % of it", size(near.load))
    };
    let first = format!("The highest throughput is {} MiB/s with blocks of {}{reached}.", mib(best), size(best.load));
    let most_ios = levels.iter().max_by(|one, other| one.iops.total_cmp(&other.iops)).unwrap_or(best);
    vec![
        first,
        format!("The most I/Os are {} per second with blocks of {}.", thousands(most_ios.iops), size(most_ios.load)),
    ]
}

/// Reason for which the numbers are not credible.
fn flag(levels: &[Measured]) -> Option<String> {
    let odd: Vec<AtWork> = levels.iter().filter_map(|level| level.at_work).collect();
    let (first, rest) = odd.split_first()?;
    let of = |at: &AtWork| format!("{} of {:.0}", amount(at.busy), at.asked);
    let all: Vec<String> = std::iter::once(first).chain(rest).map(of).collect();
    Some(
        format!(
            "Busy-user check failed: IOPS × latency says that only {} were at work. Do not compare these points.",
            all.join(", ")
        )
        .replace("only ", if odd.iter().any(|at| at.busy > at.asked) { "" } else { "only " }),
    )
}

/// Formats a number of busy users.
pub(super) fn amount(users: f64) -> String {
    if users < 9.95 { format!("{users:.1}") } else { format!("{users:.0}") }
}

/// Remark on levels whose mean is above the 95th percentile.
fn odd_means(axis: Axis, levels: &[Measured]) -> Option<String> {
    let odd: Vec<String> = levels
        .iter()
        .filter(|level| level.p95_ns.is_some_and(|p95| level.average_ns > p95))
        .map(|level| axis.label(level.load))
        .collect();
    (!odd.is_empty()).then(|| {
        format!(
            "The average lies above p95 at {}: a few very slow I/Os carry it; read p99 and max there.",
            odd.join(", ")
        )
    })
}
