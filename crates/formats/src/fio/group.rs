//! Totals of the jobs in one reporting group (`group_reporting`, `new_group`).

use measure::{Direction, Nanos, PerDirection};
use model::{DeviceUsage, DirectionResult, JobResult, LatencyStatistics, RunResult, Unified, WalkedWrites};
use std::borrow::Cow;

/// The numbers in a row: those of one direction, or the sum of all directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowPart {
    /// One direction.
    One(Direction),
    /// The sum of all directions (`unified_rw_reporting`).
    Mixed,
}

impl RowPart {
    /// The word used in JSON keys and report lines.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            RowPart::One(direction) => direction.word(),
            RowPart::Mixed => "mixed",
        }
    }
}

/// The numbers that a row shows, in order: the three directions, their sum, or both (`unified_rw_reporting=both`).
pub(crate) fn shown(row: &JobResult) -> Vec<(RowPart, Cow<'_, DirectionResult>)> {
    let directions =
        Direction::ALL.iter().map(|&direction| (RowPart::One(direction), Cow::Borrowed(&row.directions[direction])));
    let mixed = || (RowPart::Mixed, Cow::Owned(row.mixed()));
    match row.style.unified {
        Unified::None => directions.collect(),
        Unified::Mixed => vec![mixed()],
        Unified::Both => directions.chain(std::iter::once(mixed())).collect(),
    }
}

impl Group {
    /// An empty group with the number and style of a row.
    fn of(row: &JobResult) -> Group {
        Group { number: row.echo.group, sums: PerDirection::default(), mixed: None, style: row.style.clone() }
    }
}

/// The sum over one reporting group, per direction.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The group's number.
    pub(crate) number: u32,
    /// Sums per direction; `None` for a direction without I/O.
    pub(crate) sums: PerDirection<Option<GroupSum>>,
    /// Sum over all directions, of the jobs with `unified_rw_reporting`.
    pub(crate) mixed: Option<GroupSum>,
    /// Display settings of the last job in the group; they apply to the group's lines.
    pub(crate) style: model::ReportStyle,
}

/// One direction of a group. Rates in bytes per second, times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupSum {
    pub(crate) bytes: u64,
    pub(crate) slowest: u64,
    pub(crate) fastest: u64,
    pub(crate) shortest_ms: u64,
    pub(crate) longest_ms: u64,
}

impl GroupSum {
    /// Total bytes divided by the longest run time: the group's throughput.
    pub(crate) fn bytes_per_second(&self) -> u64 {
        let per_second = u128::from(self.bytes) * 1000 / u128::from(self.longest_ms.max(1));
        u64::try_from(per_second).unwrap_or(u64::MAX)
    }

    fn add(&mut self, bytes: u64, rate: u64, runtime_ms: u64) {
        let first = self.longest_ms == 0;
        self.bytes += bytes;
        self.slowest = if first { rate } else { self.slowest.min(rate) };
        self.fastest = self.fastest.max(rate);
        self.shortest_ms = if first { runtime_ms } else { self.shortest_ms.min(runtime_ms) };
        self.longest_ms = self.longest_ms.max(runtime_ms);
    }
}

pub(crate) fn of_rows(rows: &[JobResult]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let index = groups.iter().position(|group| group.number == row.echo.group).unwrap_or_else(|| {
            groups.push(Group::of(row));
            groups.len() - 1
        });
        let group = &mut groups[index];
        group.style = row.style.clone();
        for (kind, found) in shown(row) {
            if let Some(rate) = found.bytes_per_second() {
                let sum = match kind {
                    RowPart::One(direction) => &mut group.sums[direction],
                    RowPart::Mixed => &mut group.mixed,
                };
                sum.get_or_insert_default().add(found.bytes, rate, found.runtime.as_millis_ceil());
            }
        }
    }
    groups.sort_by_key(|group| group.number);
    groups
}

/// Rounding of the bandwidths when a row's is printed as a percentage of its group's: fio rounds in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Divisor {
    /// Group bandwidth in bytes per second, the row's mean truncated to whole KiB/s: text and JSON.
    Exact,
    /// Group bandwidth truncated to whole KiB/s, the row's mean unrounded: terse.
    WholeKib,
}

/// A row's mean bandwidth as a percentage of its group's bandwidth, at most 100; 0 without samples.
pub(crate) fn percent_of_group(
    row: &JobResult,
    kind: RowPart,
    found: &DirectionResult,
    groups: &[Group],
    divisor: Divisor,
) -> f64 {
    let group = groups.iter().find(|group| group.number == row.echo.group);
    let sum = group.and_then(|group| match kind {
        RowPart::One(direction) => group.sums[direction],
        RowPart::Mixed => group.mixed,
    });
    let Some(sum) = sum else { return 0.0 };
    let mean = found.bandwidth_samples.mean;
    let (mean, all) = match divisor {
        // fio truncates the mean to whole KiB/s before it divides.
        Divisor::Exact => (mean.trunc(), sum.bytes_per_second() as f64 / 1024.0),
        Divisor::WholeKib => (mean, (sum.bytes_per_second() >> 10) as f64),
    };
    if all > 0.0 { (100.0 * mean / all).min(100.0) } else { 0.0 }
}

// Writes that `verify_only` walks through without I/O: fio's formats count them as if they were done.
//
// A result holds them separately from what was done; the writers add them here, and the reader of JSON takes them out.

/// The rows of a report in fio's formats: with the writes that were walked through, which took no time.
pub(crate) fn printed_rows(result: &RunResult) -> Vec<JobResult> {
    let mut rows = result.reported_jobs();
    for row in &mut rows {
        if let Some(walked) = row.walked {
            add_walked(row, walked);
        }
    }
    rows
}

fn add_walked(row: &mut JobResult, walked: WalkedWrites) {
    let style = &row.style;
    let percentiles = [style.completion_percentiles, style.total_percentiles];
    let writes = &mut row.directions.write;
    writes.ios = writes.ios.saturating_add(walked.ios);
    writes.bytes = writes.bytes.saturating_add(walked.bytes);
    for (latency, shown) in [&mut writes.completion, &mut writes.total].into_iter().zip(percentiles) {
        let Some(latency) = latency else { continue };
        let mut in_no_time = LatencyStatistics::default();
        in_no_time.moments.record_many(Nanos::ZERO, walked.ios);
        if shown {
            in_no_time.histogram.get_or_insert_default().record_many(Nanos::ZERO, walked.ios);
        }
        latency.merge(&in_no_time);
    }
}

/// The I/Os of a row that were done.
pub(crate) fn ios_done(row: &JobResult) -> u64 {
    row.ios().saturating_sub(row.walked.map_or(0, |walked| walked.ios))
}

/// The devices with those below them, each once: those of a run are in the list, too.
pub(crate) fn each_once(devices: &[DeviceUsage]) -> Vec<&DeviceUsage> {
    fn add<'a>(found: &mut Vec<&'a DeviceUsage>, device: &'a DeviceUsage) {
        if !found.iter().any(|known| known.name == device.name) {
            found.push(device);
            device.members.iter().for_each(|member| add(found, member));
        }
    }
    let mut found = Vec::new();
    devices.iter().for_each(|device| add(&mut found, device));
    found
}
