//! Measured levels → sweep: labels, steps, sentences and the check for idle users.

use super::Sweep;
use analysis::grade_title;
use analysis::{AtWork, Elsewhere, Level, Load, Rank, Rounds, Step, best_value, queueing, sentences_over};
use measure::text::{self, SizeStyle, exact_size};
use model::Grade;

/// Parameter that varies over a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The load: number of users, or depth.
    Load(Load),
    /// The block size in bytes: not a load, so no queueing is computed.
    BlockSize,
    /// The size of the data in bytes.
    DataSize,
    /// Another option, by its name: `ioengine`, `rwmixread`.
    Option(String),
}

impl Default for Axis {
    fn default() -> Self {
        Axis::Load(Load::Users)
    }
}

impl Axis {
    /// Label of a level whose value is a number: `8 users`, `depth 8`, `128 KiB`, `rwmixread=70`.
    pub fn label(&self, load: u64) -> String {
        match self {
            Axis::Load(of) => of.counted(u32::try_from(load).unwrap_or(u32::MAX)),
            Axis::BlockSize | Axis::DataSize => size(load),
            Axis::Option(name) => format!("{name}={load}"),
        }
    }

    /// Its name, under the axis: `users`, `depth`.
    pub fn plural(&self) -> &str {
        match self {
            Axis::Load(of) => of.plural(),
            Axis::BlockSize => BLOCK_SIZE,
            Axis::DataSize => "size of the data",
            Axis::Option(name) => name,
        }
    }

    /// The levels from the first to the last: `1–64 users`, `4 KiB to 1 MiB`.
    pub(crate) fn range(&self, first: &Level, last: &Level) -> String {
        match self {
            _ if first.load == last.load => self.name_of(first),
            Axis::Load(Load::Users) => format!("{}–{}", first.load, self.label(last.count())),
            Axis::Load(Load::Depth) => format!("depth {}–{}", first.load, last.load),
            Axis::Option(_) if first.word.is_some() => format!("{} to {}", self.name_of(first), self.name_of(last)),
            Axis::Option(name) => format!("{name}={} to {}", first.load, last.load),
            Axis::BlockSize => format!("{} to {}", size(first.count()), size(last.count())),
            Axis::DataSize => format!("{} to {} of data", size(first.count()), size(last.count())),
        }
    }

    pub(super) fn name_of(&self, level: &Level) -> String {
        level.word.clone().unwrap_or_else(|| self.label(level.count()))
    }
}

/// Name of the axis of block sizes.
const BLOCK_SIZE: &str = "block size";

/// Formats a size like `8 KiB`; in bytes if it is not a multiple of a larger unit.
pub(crate) fn size(bytes: u64) -> String {
    exact_size(bytes, SizeStyle::Spelled)
}

/// Levels of one workload, from which a sweep is made.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Name of the system: a machine or a file.
    pub system: String,
    /// For example `random read 8 KiB`.
    pub workload: String,
    /// The workload in the plural, for sentences: `8 KiB random reads`.
    pub plural: String,
    /// Parameter that varies over the levels.
    pub axis: Axis,
    /// The latency target in nanoseconds, if one was asked for.
    pub target_ns: Option<f64>,
    /// In any order.
    pub levels: Vec<Level>,
    /// If the result holds more of this test.
    pub elsewhere: Elsewhere,
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
        table.levels.sort_by(|one, other| one.load.total_cmp(&other.load));
        table.levels.dedup_by(|one, other| one.load == other.load);
        let measured = &table.levels;
        let level = |(at, level): (usize, &Level)| Level {
            label: table.axis.name_of(level),
            step: measured.get(at + 1).and_then(|next| step(&table.axis, level, next)),
            rounds: Rounds::of(&level.rates),
            ..level.clone()
        };
        let range = match (measured.first(), measured.last()) {
            (Some(first), Some(last)) => format!(" · {}", table.axis.range(first, last)),
            _ => String::new(),
        };
        let mut notes = table.notes.clone();
        let queueing_is_drawn = matches!(table.axis, Axis::Load(_));
        let keys = match measured.len() {
            1 => 0,
            _ if queueing_is_drawn => 2,
            _ => 1,
        };
        notes.extend(KEY.iter().take(keys).map(|&line| line.to_owned()));
        notes.extend(of_rounds(measured));
        notes.extend(odd_means(&table.axis, measured).into_iter().flatten());
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

fn step(axis: &Axis, here: &Level, there: &Level) -> Option<Step> {
    let believed = here.at_work.is_none() && there.at_work.is_none() && here.rate > 0.0 && here.average_ns > 0.0;
    let is_number = here.word.is_none() && here.load > 0.0;
    let load_ratio = there.load / here.load;
    let share = || queueing(there.average_ns / here.average_ns, load_ratio);
    (believed && is_number).then(|| Step {
        load_ratio,
        rate_ratio: there.rate / here.rate,
        queueing: if matches!(axis, Axis::Load(_)) { share() } else { None },
    })
}

/// How the options begin whose values are the share of reads in a mix.
const SHARES: &str = "rwmix";

/// The rates at the ends of a sweep over the share of reads.
fn of_shares(what: &str, levels: &[(String, Level)]) -> Vec<String> {
    let [first, .., last] = levels else { return Vec::new() };
    let at = |(name, level): &(String, Level)| {
        format!("{} IOPS ({}) with {name}", text::number(level.iops), text::rate(level.rate))
    };
    vec![format!("{}: {}, {}.", text::capitalised(what), at(first), at(last))]
}

fn tell(table: &Table) -> Vec<String> {
    let named =
        || table.levels.iter().map(|level| (in_a_sentence(&table.axis, level), level.clone())).collect::<Vec<_>>();
    match &table.axis {
        Axis::Load(load) => sentences_over(*load, &table.plural, &table.levels, table.elsewhere),
        Axis::BlockSize => {
            [Rank::Bytes, Rank::Ios].into_iter().filter_map(|rank| best_value(&table.plural, rank, &named())).collect()
        }
        // The shares of a mix are what was asked for: none of them is the best.
        Axis::Option(name) if name.starts_with(SHARES) => of_shares(&table.plural, &named()),
        Axis::DataSize | Axis::Option(_) => best_value(&table.plural, Rank::Ios, &named()).into_iter().collect(),
    }
}

fn in_a_sentence(axis: &Axis, level: &Level) -> String {
    match axis {
        Axis::BlockSize => format!("blocks of {}", axis.name_of(level)),
        Axis::DataSize => format!("{} of data", size(level.count())),
        Axis::Load(_) | Axis::Option(_) => axis.name_of(level),
    }
}

/// Remark on levels that were measured in several rounds.
fn of_rounds(levels: &[Level]) -> Option<String> {
    let most = levels.iter().map(|level| level.rates.len()).max().filter(|&most| most > 1)?;
    Some(format!(
        "Up to {most} rounds: the numbers of a level are those of its median round; the red mark at its throughput is the 95 % interval of the mean over the rounds."
    ))
}

/// Reason for which the numbers are not credible.
fn flag(levels: &[Level]) -> Option<String> {
    if let Some(check) = levels.iter().find_map(|level| level.not_storage.as_ref()) {
        return Some(format!("{}: {check}. Do not compare these points.", grade_title(Grade::NotAStorageResult)));
    }
    let odd: Vec<AtWork> = levels.iter().filter_map(|level| level.at_work).collect();
    let of = |at: &AtWork| format!("{} of {}", text::number(at.busy), text::number(at.asked));
    let all: Vec<String> = odd.iter().map(of).collect();
    let only = if odd.iter().any(|at| at.busy > at.asked) { "" } else { "only " };
    (!all.is_empty()).then(|| {
        let all = all.join(", ");
        format!(
            "Busy-user check failed: IOPS × latency says that {only}{all} were at work. Do not compare these points."
        )
    })
}

/// Remarks on levels with a mean above the 95th percentile: few slow I/Os, or percentiles of a part of it.
fn odd_means(axis: &Axis, levels: &[Level]) -> [Option<String>; 2] {
    let above = |level: &Level, mean_ns: f64| level.p95_ns.is_some_and(|p95| mean_ns > p95 + grain_ns(p95));
    let same_latency = |level: &Level| above(level, level.percentiles_mean_ns.unwrap_or(level.average_ns));
    let named = |is_named: &dyn Fn(&Level) -> bool| {
        let odd: Vec<String> = levels.iter().filter(|level| is_named(level)).map(|level| axis.name_of(level)).collect();
        (!odd.is_empty()).then(|| odd.join(", "))
    };
    let few = named(&same_latency);
    let part = named(&|level| above(level, level.average_ns) && !same_latency(level));
    [
        few.map(|odd| {
            format!("The average lies above p95 at {odd}: a few very slow I/Os carry it; read p99 and max there.")
        }),
        part.map(|odd| {
            format!(
                "The average lies above p95 at {odd}: the percentiles are of the completion latency, without the submission, which took the \
                 difference."
            )
        }),
    ]
}

/// How far a 95th percentile may lie below the latency that it stands for: a bucket of the histogram, of which each
/// power of two has 64, and the last place that a report prints, whole milliseconds or microseconds.
fn grain_ns(p95_ns: f64) -> f64 {
    let last_place = [1e6, 1e3].into_iter().find(|unit| p95_ns % unit == 0.0).unwrap_or(0.0);
    p95_ns / 64.0 + last_place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_a_mix_do_not_compete() {
        let level = |load: f64, iops: f64| Level { load, iops, rate: iops * 8192.0, ..Level::default() };
        let table = Table {
            system: "/data".to_owned(),
            workload: "random mix, reads 8 KiB".to_owned(),
            plural: "8 KiB reads of random mixes".to_owned(),
            axis: Axis::Option("rwmixread".to_owned()),
            levels: vec![level(80.0, 8_000.0), level(20.0, 2_000.0)],
            ..Table::default()
        };
        assert_eq!(
            Sweep::of(table).sentences,
            ["8 KiB reads of random mixes: 2,000 IOPS (15.6 MiB/s) with rwmixread=20, 8,000 IOPS (62.5 MiB/s) with \
              rwmixread=80."]
        );
    }

    /// The remarks on a level with these means and percentile in microseconds.
    fn remarks(average: f64, of_percentiles: Option<f64>, p95: f64) -> Vec<&'static str> {
        let level = Level {
            load: 2.0,
            average_ns: average * 1e3,
            percentiles_mean_ns: of_percentiles.map(|us| us * 1e3),
            p95_ns: Some(p95 * 1e3),
            ..Level::default()
        };
        let said = odd_means(&Axis::default(), &[level]);
        let kinds = ["a few very slow I/Os", "without the submission"];
        let which = said.iter().flatten().filter_map(|text| kinds.into_iter().find(|kind| text.contains(kind)));
        assert!(
            said.iter().flatten().all(|text| text.starts_with("The average lies above p95 at 2 users: ")),
            "{said:?}"
        );
        which.collect()
    }

    #[test]
    fn an_average_above_p95_is_remarked_on_only_beyond_a_bucket() {
        let (few, part) = ("a few very slow I/Os", "without the submission");
        // The middle of the bucket that has 100 µs is 99.84 µs.
        assert!(remarks(100.0, Some(100.0), 99.84).is_empty());
        assert!(remarks(101.3, Some(101.3), 99.84).is_empty(), "a bucket is 1.56 µs");
        assert_eq!(remarks(101.5, Some(101.5), 99.84), [few]);
        // Whole microseconds and milliseconds of a report.
        assert!(remarks(102.5, None, 100.0).is_empty());
        assert_eq!(remarks(102.6, None, 100.0), [few]);
        assert!(remarks(12_900.0, None, 12_000.0).is_empty());
        assert_eq!(remarks(13_200.0, None, 12_000.0), [few]);
        // libaio on a buffered file: nearly all of the latency is in submission.
        assert_eq!(remarks(101.0, Some(1.0), 2.04), [part]);
    }
}
