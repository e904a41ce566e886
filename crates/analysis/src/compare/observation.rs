//! The tests of one result: the work and numbers of each, with intervals within the run, not between runs.

use super::surroundings;
use crate::not_storage::{self, NotStorage};
use crate::statistics::{percentile_shares, series_interval};
use measure::text::{SizeStyle, exact_size};
use measure::{Direction, Nanos, float};
use model::measurement::{AccessOrder, AccessPattern};
use model::reading::{ReadJob, ReadKind, ReadLatency};
use model::{DirectionResult, Interval, JobResult, LatencyCounts, LatencyStatistics, RunResult, samples_needed};
use plan::{Flushes, Mix, Pace};
use serde::Serialize;

/// A number that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// Mean latency.
    Mean,
    /// Percentile of the latency, in percent.
    Percentile(f64),
    /// Percentile of the response time of I/Os with a rate, in percent.
    Response(f64),
}

impl Metric {
    /// The numbers of every comparison.
    pub const USUAL: [Metric; 5] =
        [Metric::Iops, Metric::Mean, Metric::Percentile(50.0), Metric::Percentile(99.0), Metric::Percentile(99.9)];
    /// Those of jobs with a rate as well.
    pub const RESPONSES: [Metric; 3] = [Metric::Response(50.0), Metric::Response(99.0), Metric::Response(99.9)];
    /// The percentiles of a shift function.
    pub const SHIFT: [Metric; 11] = [
        Metric::Percentile(10.0),
        Metric::Percentile(20.0),
        Metric::Percentile(30.0),
        Metric::Percentile(40.0),
        Metric::Percentile(50.0),
        Metric::Percentile(60.0),
        Metric::Percentile(70.0),
        Metric::Percentile(80.0),
        Metric::Percentile(90.0),
        Metric::Percentile(99.0),
        Metric::Percentile(99.9),
    ];

    /// The numbers that a comparison can be asked for.
    pub fn asked_for() -> impl Iterator<Item = Metric> {
        Metric::USUAL.into_iter().chain(Metric::RESPONSES)
    }

    /// `iops`, `mean`, `p99.9`, `response-p99`.
    pub fn word(self) -> String {
        match self {
            Metric::Iops => "iops".to_owned(),
            Metric::Mean => "mean".to_owned(),
            Metric::Percentile(percent) => format!("p{percent}"),
            Metric::Response(percent) => format!("response-p{percent}"),
        }
    }

    /// Name in tables.
    pub fn title(self) -> String {
        if self == Metric::Iops { "IOPS".to_owned() } else { self.word() }
    }

    /// True if more of it is better.
    pub fn grows_better(self) -> bool {
        self == Metric::Iops
    }
}

/// Facts about a test that the file with its result states, and the result does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedFacts {
    /// ID of the test.
    pub test: Option<String>,
    /// Users.
    pub users: Option<u32>,
    /// Size of the data, if it was varied.
    pub set_bytes: Option<u64>,
    /// Options that were varied.
    pub options: Vec<(String, String)>,
}

/// The work that a test was asked to do. Two tests are compared if it is equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedWork {
    /// The access pattern.
    pub pattern: Option<AccessPattern>,
    /// The test's name, if it has no pattern.
    pub name: Option<String>,
    /// Direction of the I/Os.
    pub direction: Direction,
    /// Smallest and largest block size in bytes, if stated.
    pub block: Option<(u32, u32)>,
    /// Number of workers.
    pub users: u32,
    /// I/Os that each of them keeps in flight.
    pub depth: u32,
    /// Size of the data, if it was varied.
    pub set_bytes: Option<u64>,
    /// Options that were varied.
    pub options: Vec<(String, String)>,
}

impl RequestedWork {
    /// `random reads 8K ×16`.
    pub fn label(&self) -> String {
        let mut text = match (self.pattern, &self.name) {
            (Some(pattern), _) => self.words(pattern),
            (None, Some(name)) => name.clone(),
            (None, None) => self.direction.plural().to_owned(),
        };
        let size = |bytes: u32| exact_size(u64::from(bytes), SizeStyle::Table);
        if let Some((low, high)) = self.block {
            let block = if low == high { size(low) } else { format!("{}-{}", size(low), size(high)) };
            text.push_str(&format!(" {block}"));
        }
        text.push_str(&format!(" ×{}", self.users));
        if self.depth > 1 {
            text.push_str(&format!(", depth {}", self.depth));
        }
        if let Some(bytes) = self.set_bytes {
            text.push_str(&format!(", in {}", exact_size(bytes, SizeStyle::Spelled)));
        }
        self.options.iter().for_each(|(name, value)| text.push_str(&format!(", {name}={value}")));
        text
    }

    fn words(&self, pattern: AccessPattern) -> String {
        let order = match pattern.order {
            AccessOrder::Random => "random",
            AccessOrder::Sequential => "sequential",
        };
        let of_mix = if pattern.kind == ReadKind::Mixed { " of a mix" } else { "" };
        format!("{order} {}{of_mix}", self.direction.plural())
    }
}

/// Settings that must be equal, as far as both sides state them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Size of the region that is used, in bytes.
    pub region_bytes: Option<u64>,
    /// Calls and flags that make writes durable.
    pub flushes: Option<Flushes>,
    /// Rate limits and pauses.
    pub pace: Option<Pace>,
    /// Percentage of reads in a mix.
    pub read_percent: Option<u8>,
}

/// The numbers of one test in one result.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The work that was asked for.
    pub asked: RequestedWork,
    /// Name of the job or test.
    pub name: String,
    /// Number of the file that it is from.
    pub file: usize,
    /// End of the run, in milliseconds since 1970 UTC.
    pub ended_unix_ms: Option<u64>,
    /// Settings that must not differ.
    pub settings: Settings,
    /// Errors of the job.
    pub failed: Option<String>,
    /// Why its numbers are not of the storage.
    pub not_storage: Option<NotStorage>,
    /// Other programs that made the run slower: I/O on its disks, or processors that its workers waited for.
    pub disturbed: Option<String>,
    /// Facts of the job: engine, O_DIRECT, time.
    pub(super) facts: Vec<(String, String)>,
    /// The numbers, or the reason why one is not known.
    numbers: Vec<(Metric, Result<f64, Missing>)>,
    /// Interval of rate and percentiles within the run.
    within: Vec<(Metric, Within)>,
}

/// Reason why a number is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// The result does not state it.
    NotStated,
    /// Fewer than a hundred I/Os were slower.
    TooFew,
    /// There was no I/O.
    Nothing,
}

impl Missing {
    /// In words, after the number's name.
    pub fn words(self) -> &'static str {
        match self {
            Missing::NotStated => "is not stated",
            Missing::TooFew => "is not known: fewer than 100 I/Os were slower",
            Missing::Nothing => "is not known: no I/O was done",
        }
    }
}

impl Observation {
    /// The number.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub fn number(&self, metric: Metric) -> Result<f64, Missing> {
        let found = self.numbers.iter().find(|(known, _)| *known == metric);
        found.map_or(Err(Missing::NotStated), |(_, number)| *number)
    }

    /// True if both are of the same run: they ended at the same moment with the same numbers.
    pub(super) fn is_copy_of(&self, other: &Observation) -> bool {
        self.ended_unix_ms.is_some() && self.ended_unix_ms == other.ended_unix_ms && self.numbers == other.numbers
    }

    /// Interval of the number within the run.
    pub fn within(&self, metric: Metric) -> Option<Within> {
        self.within.iter().find(|(known, _)| *known == metric).map(|(_, within)| *within)
    }
}

/// The tests of a result, one per group of equal jobs and direction; all jobs are one test where `said` has facts.
pub fn observe(result: &RunResult, said: Option<&StatedFacts>, file: usize) -> Vec<Observation> {
    let mut found = Vec::new();
    let groups = groups(result, said);
    let is_alone = groups.len() == 1;
    for group in &groups {
        let Some(merged) = merged(result, group) else { continue };
        for direction in Direction::ALL {
            let moved = &merged.directions[direction];
            let failed = failure(result, group);
            if moved.ios == 0 && moved.bytes == 0 && (failed.is_none() || !is_asked(&merged, direction)) {
                continue;
            }
            let within = if is_alone { intervals_within(result, direction) } else { Vec::new() };
            found.push(Observation {
                asked: asked(&merged, direction, said),
                name: said.and_then(|said| said.test.clone()).unwrap_or_else(|| merged.echo.name.clone()),
                file,
                ended_unix_ms: Some(result.ended_unix_ms).filter(|&ended| ended > 0),
                settings: settings(&merged),
                failed,
                not_storage: not_storage::not_storage(&result.notes, &[]),
                disturbed: not_storage::disturbed(&result.notes)
                    .map(|note| format!("{}: {}", note.check, note.sentence)),
                facts: surroundings::of_job(&merged),
                numbers: numbers(result, group, moved, direction),
                within,
            });
        }
    }
    found
}

fn merged(result: &RunResult, group: &[usize]) -> Option<JobResult> {
    let mut jobs = group.iter().map(|&at| &result.jobs[at]);
    let mut all = jobs.next()?.clone();
    jobs.for_each(|job| all.merge(job));
    Some(all)
}

/// The jobs of each test, by their index.
fn groups(result: &RunResult, said: Option<&StatedFacts>) -> Vec<Vec<usize>> {
    let shown = || (0..result.jobs.len()).filter(|&at| !result.jobs[at].style.hidden);
    if said.is_some() {
        return vec![shown().collect()];
    }
    let like = |job: &JobResult| (job.echo.name.clone(), job.echo.block_sizes, job.echo.iodepth, pattern(job));
    let is_like = |a: &JobResult, b: &JobResult| like(a) == like(b);
    let mut found: Vec<Vec<usize>> = Vec::new();
    for at in shown() {
        match found.iter_mut().find(|group| is_like(&result.jobs[group[0]], &result.jobs[at])) {
            Some(group) => group.push(at),
            None => found.push(vec![at]),
        }
    }
    found
}

fn pattern(job: &JobResult) -> Option<AccessPattern> {
    let workload = job.workload.as_ref().filter(|_| job.pass.is_none())?;
    AccessPattern::from_word(workload.pattern())
}

/// True if the job was to do I/O in this direction.
fn is_asked(job: &JobResult, direction: Direction) -> bool {
    match job.workload.as_ref().map(|workload| workload.mix) {
        Some(Mix::Only(only)) => only == direction,
        Some(Mix::ReadWrite) => direction != Direction::Trim,
        Some(Mix::TrimWrite) => direction != Direction::Read,
        None => direction == Direction::Read,
    }
}

fn asked(job: &JobResult, direction: Direction, said: Option<&StatedFacts>) -> RequestedWork {
    let nothing = StatedFacts::default();
    let said = said.unwrap_or(&nothing);
    let pattern = pattern(job);
    let name = said.test.as_ref().unwrap_or(&job.echo.name);
    RequestedWork {
        pattern,
        name: (pattern.is_none() && !name.is_empty()).then(|| name.replace('_', " ")),
        direction,
        block: Some(job.echo.block_sizes[direction]).filter(|sizes| sizes.1 > 0),
        users: said.users.unwrap_or(job.workers).max(1),
        depth: job.echo.iodepth.max(1),
        set_bytes: said.set_bytes,
        options: said.options.clone(),
    }
}

fn settings(job: &JobResult) -> Settings {
    // Of another program's report only the pattern may be known.
    let stated = job.workload.as_ref().filter(|workload| !workload.is_outline);
    Settings {
        region_bytes: Some(job.echo.region_bytes).filter(|&bytes| bytes > 0),
        flushes: stated.map(|workload| workload.flushes),
        pace: stated.map(|workload| workload.pace.clone()),
        read_percent: stated.filter(|workload| workload.mix == Mix::ReadWrite).map(|workload| workload.read_percent),
    }
}

fn failure(result: &RunResult, group: &[usize]) -> Option<String> {
    let of = |job: &JobResult| match &job.error {
        Some(error) if !error.message.is_empty() => Some(error.message.clone()),
        Some(error) => Some(format!("error {}", error.errno)),
        None if job.forgiven_errors > 0 => Some(format!("{} I/O errors", job.forgiven_errors)),
        None => None,
    };
    group.iter().find_map(|&at| of(&result.jobs[at]))
}

fn numbers(
    result: &RunResult,
    group: &[usize],
    moved: &DirectionResult,
    direction: Direction,
) -> Vec<(Metric, Result<f64, Missing>)> {
    let missing = if moved.ios == 0 { Missing::Nothing } else { Missing::NotStated };
    let stated = moved.stated.and_then(|stated| stated.iops).filter(|_| group.len() == 1);
    let rate = stated.or_else(|| moved.iops()).filter(|&rate| rate > 0.0).ok_or(missing);
    let mean = moved.latency().and_then(|latency| latency.moments.mean());
    let mut found = vec![(Metric::Iops, rate), (Metric::Mean, mean.filter(|&mean| mean > 0.0).ok_or(missing))];
    let printed: Option<Vec<&ReadJob>> =
        result.printed().map(|run| group.iter().filter_map(|&at| run.jobs.get(at)).collect());
    for metric in Metric::SHIFT.into_iter() {
        let Metric::Percentile(percent) = metric else { continue };
        let is_known = printed.as_ref().is_none_or(|jobs| is_printed(jobs, percent, direction));
        found.push((metric, percentile(moved.latency_distribution().filter(|_| is_known), percent, missing)));
    }
    for metric in Metric::RESPONSES {
        let Metric::Response(percent) = metric else { continue };
        found.push((metric, percentile(moved.response.as_ref(), percent, Missing::NotStated)));
    }
    found
}

/// A percentile of these times, or `missing` without a distribution.
fn percentile(times: Option<&LatencyStatistics>, percent: f64, missing: Missing) -> Result<f64, Missing> {
    let Some((times, histogram)) = times.and_then(|times| Some((times, times.histogram.as_deref()?))) else {
        return Err(missing);
    };
    if histogram.total() < samples_needed(percent) {
        return Err(Missing::TooFew);
    }
    let value = histogram.percentile(percent).ok_or(missing)?;
    // The middle of a bucket may be above the largest latency.
    let value = times.moments.maximum().map_or(value, |largest| value.min(largest)).as_f64();
    Some(value).filter(|&value| value > Nanos::ZERO.as_f64()).ok_or(missing)
}

/// True if the report has this percentile: in a list, or by the bins of all jobs. A rebuilt one has only its list.
fn is_printed(jobs: &[&ReadJob], percent: f64, direction: Direction) -> bool {
    let kind = direction.into();
    let has_bins = |job: &&&ReadJob| latency(job, kind).is_some_and(|latency| !latency.bins.is_empty());
    if !jobs.is_empty() && jobs.iter().filter(has_bins).count() == jobs.len() {
        return true;
    }
    let [job] = jobs else { return false };
    latency(job, kind)
        .is_some_and(|latency| latency.percentiles.iter().any(|(known, _)| (known - percent).abs() < 1e-9))
}

/// The latency with percentiles or bins.
fn latency(job: &ReadJob, kind: ReadKind) -> Option<&ReadLatency> {
    let read = job.directions.iter().find(|read| read.kind == kind || read.kind == ReadKind::Mixed)?;
    let both = [&read.total, &read.completion].into_iter().flatten();
    both.into_iter().find(|latency| !latency.percentiles.is_empty() || !latency.bins.is_empty())
}

/// Ends of an interval within a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Within {
    /// Lower end.
    pub low: f64,
    /// Upper end; `None` if the run cannot bound the number above.
    pub high: Option<f64>,
}

/// The intervals of the rate and of those percentiles that have one. Empty without samples.
fn intervals_within(result: &RunResult, direction: Direction) -> Vec<(Metric, Within)> {
    let Some(slot) = Direction::ALL.iter().position(|&known| known == direction) else { return Vec::new() };
    let Some(monitored) = &result.monitored else { return Vec::new() };
    let steady = monitored.steady();
    let seconds = |length: measure::Nanos| length.as_secs_f64().max(1e-9);
    let rates: Vec<f64> =
        steady.iter().map(|(length, interval)| float(interval.ios[slot]) / seconds(*length)).collect();
    let mut found = Vec::new();
    // A run that is shorter than its own fluctuations has no interval.
    if let Some(rate) = series_interval(&rates).filter(|rate| rate.half <= rate.mean / 2.0) {
        let within = Within { low: rate.mean - rate.half, high: Some(rate.mean + rate.half) };
        found.push((Metric::Iops, within));
    }
    let intervals: Vec<&Interval> = steady.iter().map(|(_, interval)| *interval).collect();
    for metric in Metric::USUAL {
        let Metric::Percentile(percent) = metric else { continue };
        found.extend(percentile_within(&intervals, slot, percent).map(|within| (metric, within)));
    }
    found
}

fn percentile_within(intervals: &[&Interval], slot: usize, percent: f64) -> Option<Within> {
    let mut all = LatencyCounts::default();
    intervals.iter().for_each(|interval| all.add(&interval.latencies[slot]));
    if all.total() < model::samples_needed(percent) {
        return None;
    }
    let value = all.percentile(percent)?;
    let counts: Vec<(f64, f64)> = intervals
        .iter()
        .map(|interval| &interval.latencies[slot])
        .map(|counts| (float(counts.total()), float(counts.slower_than(value))))
        .collect();
    let bounds = percentile_shares(percent / 100.0, &counts)?;
    let at = |share: f64| all.percentile(100.0 * share).map(measure::Nanos::as_f64);
    Some(Within { low: at(bounds.low)?, high: bounds.high.and_then(at) })
}
