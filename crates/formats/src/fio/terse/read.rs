//! Reader of terse lines of any version → RunResult; values that a line lacks keep their defaults.

use super::{DISK_FIELDS, PERCENTILE_PLACES, TAIL_FIELDS, UNUSED_PLACE};
use crate::FormatError;
use crate::fio::percent_rows::{LEAST_DEPTH_SHARE, LEAST_LATENCY_SHARE};
use crate::from_printed::{self, LARGEST, LONGEST_MS, histogram_of_percentiles, rounded, share_of};
use fio::TerseVersion;
use measure::{Direction, Histogram, Nanos, SampleStatistics};
use model::{
    CpuUsage, DepthStatistics, DeviceUsage, DirectionResult, JobError, JobResult, LatencyBins, LatencyStatistics,
    ReportStyle, RunResult,
};

/// Fields of a direction before its percentiles, and after them before version 5.
pub(super) const BEFORE_PERCENTILES: usize = 12;
pub(super) const AFTER_PERCENTILES: usize = 9;
/// Fields that version 5 adds to a direction: the number of bandwidth samples, and the IOPS samples.
pub(super) const ADDED_SAMPLES: usize = 6;
/// The accepted input, for error messages.
const WORKS: &str = "the output of fio --output-format=terse, versions 2 to 5";

/// True if a line near the start has the fields of a terse job line.
pub fn looks_like(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 64 * 1024;
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_AT)]);
    head.lines().any(|line| fields_of(line).is_some())
}

/// Reads every job line in `text`; other lines are ignored, as fio prints messages and other formats between them.
///
/// Counts that a line lacks are the smallest that yield its rates: exact for runs up to one second, otherwise too small
/// by at most one I/O per second, and so are the bins derived from them. The job's run time is that of its longest
/// direction. Before version 5, lines lack the number of bandwidth samples; it is set to the smallest number that can
/// have the printed deviation. A direction without an I/O count has no latencies. Latencies below 1 µs are in the first
/// µs bin. All other missing values keep their defaults.
///
/// Errors: there is no such line, a line is truncated, or the directions are reported as one, which a result cannot
/// store.
pub fn read(text: &str) -> Result<RunResult, FormatError> {
    let mut result = RunResult::default();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let Some((version, fields)) = fields_of(line) else {
            continue;
        };
        let number = u32::try_from(result.jobs.len() + 1).unwrap_or(u32::MAX);
        let mut job = read_line(version, &fields, &mut result).map_err(|what| refused(index + 1, what))?;
        job.echo.number = number;
        if version == TerseVersion::V2
            && let Some((_, second)) = lines.next_if(|(_, next)| next.starts_with(';'))
        {
            job.echo.description = Some(second[1..].to_owned());
        }
        result.jobs.push(job);
    }
    if result.jobs.is_empty() { Err(refused(1, "no line of a job".to_owned())) } else { Ok(result) }
}

fn refused(line: usize, what: String) -> FormatError {
    FormatError::Refused { format: "fio-terse", line, what, works: WORKS }
}

/// The version and the fields after it, if this is a job line.
pub(super) fn fields_of(line: &str) -> Option<(TerseVersion, Vec<&str>)> {
    let (first, rest) = line.split_once(';')?;
    let version = TerseVersion::of_word(first)?;
    let fields: Vec<&str> = rest.split(';').collect();
    first_percentile(&fields)?;
    Some((version, fields))
}

/// Index of the first direction's first percentile. A job name may contain semicolons; only the percentiles mark where
/// it ends.
pub(super) fn first_percentile(fields: &[&str]) -> Option<usize> {
    let is_percentile = |field: &&str| percentile(field).is_some();
    fields.windows(PERCENTILE_PLACES).position(|places| places.iter().all(is_percentile))
}

/// `99.900000%=12` as (99.9, 12).
pub(super) fn percentile(field: &str) -> Option<(f64, u64)> {
    let (percent, value) = field.split_once("%=")?;
    let percent = percent.parse().ok().filter(|percent: &f64| percent.is_finite())?;
    Some((percent, value.parse::<u64>().ok()?.min(LARGEST / 1000)))
}

/// The fields not yet read.
struct Fields<'line> {
    rest: &'line [&'line str],
}

impl<'line> Fields<'line> {
    /// Takes the next field; empty after the last one.
    fn next(&mut self) -> &'line str {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                first
            }
            None => "",
        }
    }

    /// Parses a number with an optional `%`; 0 if it is not a number: fio prints `-nan` for 0/0.
    fn float(&mut self) -> f64 {
        let field = self.next();
        let number = field.strip_suffix('%').unwrap_or(field).parse::<f64>();
        number.ok().filter(|number| number.is_finite()).unwrap_or(0.0)
    }

    fn whole(&mut self) -> u64 {
        self.next().parse::<u64>().unwrap_or(0).min(LARGEST)
    }

    fn floats<const COUNT: usize>(&mut self) -> [f64; COUNT] {
        std::array::from_fn(|_| self.float())
    }
}

fn read_line(version: TerseVersion, fields: &[&str], result: &mut RunResult) -> Result<JobResult, String> {
    let mut head = 0;
    if version > TerseVersion::V2 {
        fields.first().copied().unwrap_or_default().clone_into(&mut result.environment.program);
        head = 1;
    }
    // The group number and the error are between the name and the first direction.
    let start = first_percentile(fields).and_then(|at| at.checked_sub(BEFORE_PERCENTILES)).unwrap_or_default();
    let name = start.checked_sub(2).and_then(|end| fields.get(head..end)).filter(|name| !name.is_empty());
    let name = name.ok_or("no name, group and error before the first direction")?.join(";");
    let blocks = blocks(version, &fields[start..])?;
    let mut fields = Fields { rest: &fields[start - 2..] };
    let mut job = JobResult { workers: 1, ..JobResult::default() };
    job.echo.name = name;
    job.echo.group = u32::try_from(fields.whole()).unwrap_or(u32::MAX);
    let errno = fields.next().parse::<i32>().unwrap_or(0);
    let mut style = ReportStyle { completion_percentiles: false, ..ReportStyle::default() };
    for (index, block) in blocks.directions.iter().enumerate() {
        job.directions[Direction::ALL[index]] = read_direction(&mut Fields { rest: block }, &mut style);
    }
    job.style = style;
    fields.rest = blocks.tail;
    read_tail(&mut fields, &mut job);
    if version > TerseVersion::V2 {
        result.devices = read_disks(&mut fields);
    }
    read_end(&mut fields, &mut job);
    if errno != 0 && job.forgiven_errors == 0 {
        job.error = Some(JobError { errno, operation: String::new(), message: String::new(), signal: None });
    }
    Ok(job)
}

/// The fields of each direction, and those after them.
pub(super) struct Blocks<'line> {
    pub(super) directions: Vec<&'line [&'line str]>,
    pub(super) tail: &'line [&'line str],
}

pub(super) fn blocks<'line>(version: TerseVersion, fields: &'line [&'line str]) -> Result<Blocks<'line>, String> {
    let added = if version == TerseVersion::V5 { ADDED_SAMPLES } else { 0 };
    let length = BEFORE_PERCENTILES + PERCENTILE_PLACES + AFTER_PERCENTILES + added;
    let expected = if version == TerseVersion::V3 { 2 } else { 3 };
    let (mut directions, mut tail) = (Vec::new(), fields);
    while let Some((block, rest)) = tail.split_at_checked(length)
        && percentile(block[BEFORE_PERCENTILES]).is_some()
    {
        directions.push(block);
        tail = rest;
    }
    if directions.len() == 1 {
        return Err("directions are reported as one (unified_rw_reporting=mixed), a result holds each".to_owned());
    }
    // With unified_rw_reporting=both, the sum of the directions follows them.
    directions.truncate(expected);
    if directions.len() < expected || tail.len() < TAIL_FIELDS {
        return Err("the line ends too early".to_owned());
    }
    Ok(Blocks { directions, tail })
}

fn read_direction(fields: &mut Fields<'_>, style: &mut ReportStyle) -> DirectionResult {
    let (kib, kib_per_second, iops, milliseconds) = (fields.whole(), fields.whole(), fields.whole(), fields.whole());
    let milliseconds = milliseconds.min(LONGEST_MS);
    // Smallest count that yields the rate, which fio truncates to a whole number.
    let least = |per_second: u64| {
        let amount = (u128::from(per_second) * u128::from(milliseconds)).div_ceil(1000);
        u64::try_from(amount).unwrap_or(LARGEST).min(LARGEST)
    };
    let ios = least(iops).max(fewest_ios(fields.rest));
    let bytes = kib.saturating_mul(1024).min(LARGEST).max(least(kib_per_second.saturating_mul(1024)));
    let submission = read_latency(fields, ios);
    let mut completion = read_latency(fields, ios);
    let places = fields.rest.iter().take(PERCENTILE_PLACES).filter(|field| **field != UNUSED_PLACE);
    let mut percentiles: Vec<(f64, u64)> = places.filter_map(|field| percentile(field)).collect();
    fields.rest = fields.rest.get(PERCENTILE_PLACES..).unwrap_or_default();
    let mut total = read_latency(fields, ios);
    percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
    if !percentiles.is_empty() {
        style.percentiles = percentiles.iter().map(|&(percent, _)| percent).collect();
        // The percentiles are those of the latency that was measured; if both were, most likely completion latency.
        let of_total = completion.is_none() && total.is_some();
        style.total_percentiles |= of_total;
        style.completion_percentiles |= !of_total;
        if let Some(statistics) = if of_total { &mut total } else { &mut completion } {
            statistics.histogram = Some(histogram(&percentiles, statistics));
        }
    }
    let [bandwidth_samples, iops_samples] = read_samples(fields);
    DirectionResult {
        bytes,
        ios,
        runtime: Nanos::from_millis(milliseconds),
        submission,
        completion,
        total,
        bandwidth_samples,
        iops_samples,
        ..DirectionResult::default()
    }
}

/// Smallest I/O count that fits these latencies: fio truncates a rate below one per second to 0.
fn fewest_ios(fields: &[&str]) -> u64 {
    let total = BEFORE_PERCENTILES - 4 + PERCENTILE_PLACES;
    let mut fewest = 0;
    for start in [0, 4, total] {
        let [_, maximum, mean, deviation] = Fields { rest: fields.get(start..).unwrap_or_default() }.floats();
        fewest = fewest.max(if deviation > 0.0 { 2 } else { u64::from(maximum > 0.0 || mean > 0.0) });
    }
    fewest
}

/// `None` if nothing was measured: fio prints zeros there.
fn read_latency(fields: &mut Fields<'_>, count: u64) -> Option<LatencyStatistics> {
    const NANOS: u64 = 1000;
    let bounds = [fields.whole(), fields.whole()].map(|micros| micros.min(LARGEST / NANOS) * NANOS);
    let [mean, deviation] = fields.floats().map(|micros: f64| micros * 1000.0);
    if count == 0 || (bounds == [0, 0] && mean <= 0.0) {
        return None;
    }
    // fio truncates the maximum to whole microseconds, but not the mean.
    let maximum = bounds[1].max(rounded(mean.ceil()).min(LARGEST));
    let moments = from_printed::moments(count, [bounds[0], maximum], [mean, deviation]);
    Some(LatencyStatistics { moments, histogram: None })
}

fn histogram(percentiles: &[(f64, u64)], statistics: &LatencyStatistics) -> Box<Histogram> {
    let in_nanos: Vec<(f64, u64)> =
        percentiles.iter().map(|&(percent, micros)| (percent, latency_of_micros(micros))).collect();
    let most = statistics.moments.maximum().map_or(0, Nanos::get);
    histogram_of_percentiles(&in_nanos, statistics.moments.count(), most)
}

/// The smallest latency that represents a histogram bucket and is printed as this number of whole microseconds.
fn latency_of_micros(micros: u64) -> u64 {
    let least = Nanos(micros.saturating_mul(1000));
    let (mut low, mut high) = (0, measure::BUCKETS - 1);
    while low < high {
        let middle = low.midpoint(high);
        if Histogram::bucket_value(middle) < least {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Histogram::bucket_value(low).get()
}

/// Bandwidth and IOPS samples; before version 5, lines lack the number of bandwidth samples and have no IOPS samples.
fn read_samples(fields: &mut Fields<'_>) -> [SampleStatistics; 2] {
    let bounds = [fields.whole(), fields.whole()];
    let _percent_of_group = fields.next();
    let shape: [f64; 2] = fields.floats();
    let fewest = match shape {
        [_, deviation] if deviation > 0.0 => 2,
        [mean, _] if mean > 0.0 => 1,
        _ => 0,
    };
    if fields.rest.is_empty() {
        return [from_printed::samples(fewest, bounds, shape), SampleStatistics::default()];
    }
    let bandwidth = from_printed::samples(fields.whole(), bounds, shape);
    let (bounds, shape) = ([fields.whole(), fields.whole()], fields.floats());
    [bandwidth, from_printed::samples(fields.whole(), bounds, shape)]
}

fn read_tail(fields: &mut Fields<'_>, job: &mut JobResult) {
    let longest = job.directions.iter().map(|(_, direction)| direction.runtime).max();
    job.runtime = longest.unwrap_or_default();
    job.cpu = CpuUsage {
        user: share_of(job.runtime, fields.float()),
        system: share_of(job.runtime, fields.float()),
        switches: fields.whole(),
        major_faults: fields.whole(),
        minor_faults: fields.whole(),
    };
    let ios = job.ios();
    let level = from_printed::counts(&fields.floats(), ios, LEAST_DEPTH_SHARE);
    job.depth = DepthStatistics { level, ..DepthStatistics::default() };
    job.latency_bins = LatencyBins {
        us: from_printed::counts(&fields.floats(), ios, LEAST_LATENCY_SHARE),
        ms: from_printed::counts(&fields.floats(), ios, LEAST_LATENCY_SHARE),
        ..LatencyBins::default()
    };
}

/// Reads disks: a name followed by eight numbers, the last of which is a percentage.
fn read_disks(fields: &mut Fields<'_>) -> Vec<DeviceUsage> {
    let mut disks = Vec::new();
    while let Some((disk, rest)) = fields.rest.split_at_checked(DISK_FIELDS) {
        let counts = disk[1..DISK_FIELDS - 1].iter().all(|field| field.parse::<u64>().is_ok());
        if !counts || !disk[DISK_FIELDS - 1].ends_with('%') {
            break;
        }
        fields.rest = rest;
        disks.push(read_disk(&mut Fields { rest: disk }));
    }
    disks
}

fn read_disk(fields: &mut Fields<'_>) -> DeviceUsage {
    DeviceUsage {
        name: fields.next().to_owned(),
        ios: [fields.whole(), fields.whole()],
        merges: [fields.whole(), fields.whole()],
        ticks_ms: [fields.whole(), fields.whole()],
        in_queue_ms: fields.whole(),
        stated_utilisation_percent: Some(fields.float()),
        ..DeviceUsage::default()
    }
}

/// Reads the tolerated errors, then the description; each is present only if the job has it. A description that begins
/// with two numbers is read as errors: the line does not distinguish them.
fn read_end(fields: &mut Fields<'_>, job: &mut JobResult) {
    if let [total, first, rest @ ..] = fields.rest
        && let (Ok(total), Ok(first)) = (total.parse::<u64>(), first.parse::<i32>())
    {
        (job.forgiven_errors, job.first_forgiven_errno) = (total.min(LARGEST), first);
        job.style.shows_errors = true;
        fields.rest = rest;
    }
    if !fields.rest.is_empty() {
        job.echo.description = Some(fields.rest.join(";"));
    }
}
