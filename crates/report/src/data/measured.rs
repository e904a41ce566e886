//! From measured levels to a sweep: labels, steps, sentences and the busy-user check.

use super::{AtWork, Bin, Level, Step, Sweep};
use analysis::{Load, Point, percentile_as_fact, queueing, sentences_over, thousands};
use measure::{Direction, Histogram, Nanos};
use model::{Grade, RunResult};

/// What the levels of a sweep are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// More or fewer users, or I/Os in flight.
    Load(Load),
    /// Block sizes in bytes: no load, so nothing queues.
    BlockSize,
}

impl Axis {
    /// `8 users`, `128 KiB`.
    pub fn label(self, load: u64) -> String {
        match self {
            Axis::Load(of) => of.counted(u32::try_from(load).unwrap_or(u32::MAX)),
            Axis::BlockSize => size(load),
        }
    }

    /// `users`.
    pub fn plural(self) -> &'static str {
        match self {
            Axis::Load(of) => of.plural(),
            Axis::BlockSize => "block size",
        }
    }
}

/// `8 KiB`; sizes that no larger unit divides stay as they are.
pub(super) fn size(bytes: u64) -> String {
    let unit = [(30, "GiB"), (20, "MiB"), (10, "KiB")]
        .into_iter()
        .find(|&(shift, _)| bytes > 0 && bytes.trailing_zeros() >= shift);
    unit.map_or_else(|| format!("{bytes} B"), |(shift, name)| format!("{} {name}", bytes >> shift))
}

/// What was measured at one level, whoever measured it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Users, depth, or bytes of a block.
    pub load: u64,
    /// Mean latency in nanoseconds.
    pub average_ns: f64,
    /// Percentiles, where known.
    pub p95_ns: Option<f64>,
    /// 99 %.
    pub p99_ns: Option<f64>,
    /// 99.99 %.
    pub p9999_ns: Option<f64>,
    /// The slowest.
    pub max_ns: Option<f64>,
    /// Where the I/Os fell.
    pub bins: Vec<Bin>,
    /// Bytes per second.
    pub rate: f64,
    /// I/Os per second.
    pub iops: f64,
    /// How many were at work, where that contradicts the number asked for.
    pub at_work: Option<AtWork>,
    /// Whether it is a number of memory instead of a device.
    pub from_memory: bool,
}

/// Upper edges of the ladder in nanoseconds; above the last all is one.
const EDGES: [u64; 17] = [
    10_000,
    20_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_000_000,
    4_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
];

/// The ladder's share of each step, from a histogram; the open end goes to the slowest I/O.
pub(super) fn bins(histogram: &Histogram, slowest: f64) -> Vec<Bin> {
    let mut counts = [0_u64; EDGES.len() + 1];
    for (bucket, count) in histogram.iter() {
        let value = Histogram::bucket_value(bucket).get();
        counts[EDGES.iter().position(|&edge| value <= edge).unwrap_or(EDGES.len())] += count;
    }
    let total = histogram.total() as f64;
    let edge = |at: usize| EDGES.get(at).map_or(slowest.max(4e9), |&edge| edge as f64);
    let bin = |(at, count): (usize, u64)| Bin {
        from_ns: at.checked_sub(1).map_or(0.0, edge),
        to_ns: edge(at),
        share: count as f64 / total,
    };
    counts.into_iter().enumerate().filter(|&(_, count)| count > 0).map(bin).collect()
}

impl Measured {
    /// The level measured by one run; `None` when nothing moved in this direction or no latency was taken.
    pub fn of(load: u64, result: &RunResult, direction: Direction) -> Option<Self> {
        let notes = if result.notes.is_empty() { analysis::judge(result) } else { result.notes.clone() };
        let mut rows = result.jobs.iter();
        let mut all = rows.next()?.clone();
        rows.for_each(|job| all.merge(job));
        let moved = &all.directions[direction];
        let latency = moved.total.as_ref().or(moved.completion.as_ref())?;
        let fact = |percent| percentile_as_fact(latency, percent).map(Nanos::as_f64);
        let max_ns = latency.moments.maximum().map(Nanos::as_f64);
        let busy = notes.iter().find(|note| note.check == "busy users" && note.grade > Grade::Trusted);
        let evidence = |id: &str| busy?.evidence.iter().find(|(name, _)| name == id).map(|&(_, value)| value);
        let histogram = latency.histogram.as_ref();
        Some(Measured {
            load,
            average_ns: latency.moments.mean()?,
            p95_ns: fact(95.0),
            p99_ns: fact(99.0),
            p9999_ns: fact(99.99),
            max_ns,
            bins: histogram.map(|histogram| bins(histogram, max_ns.unwrap_or(0.0))).unwrap_or_default(),
            rate: moved.bytes as f64 / moved.runtime.as_secs_f64(),
            iops: moved.iops()?,
            at_work: evidence("users_busy").zip(evidence("users_asked")).map(|(busy, asked)| AtWork { busy, asked }),
            from_memory: notes.iter().any(|note| note.check == "cache" && note.grade == Grade::NotAStorageResult),
        })
    }
}

/// The levels of one workload, from which a sweep is made.
#[derive(Clone, Debug)]
pub struct Table {
    /// Whose: a machine, a file.
    pub system: String,
    /// `random read 8 KiB`.
    pub workload: String,
    /// In the plural, for sentences: `8 KiB random reads`.
    pub plural: String,
    /// What the levels are.
    pub axis: Axis,
    /// The latency to stay under, in nanoseconds.
    pub target_ns: f64,
    /// In any order.
    pub levels: Vec<Measured>,
    /// What is known about the data, in small type below.
    pub notes: Vec<String>,
}

/// What each picture says in small type.
const KEY: [&str; 2] = [
    "Bars in the top panel stand at their true latency edges; their width is the share of I/Os, a full column is 100 %. Marks: ● average, — p95, p99 and p99.99 (grey), — max (red).",
    "Queueing = (latency ratio − 1) ÷ (load ratio − 1): at 0 % latency stays flat, at 100 % it grows as fast as the load. Light red: slower; dark red: throughput falls; light blue: faster.",
];

impl Sweep {
    /// Draws up the picture of a table: what follows from its numbers is worked out here, once.
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

/// Why the numbers cannot be believed.
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

/// A number of users at work.
pub(super) fn amount(users: f64) -> String {
    if users < 9.95 { format!("{users:.1}") } else { format!("{users:.0}") }
}

/// Levels whose mean lies above the 95th percentile.
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
