//! Reader of terse lines, versions 2 to 5 → the values that each line contains; and the result of such a reading.

use super::{DISK_FIELDS, PERCENTILE_PLACES, TAIL_FIELDS, UNUSED_PLACE};
use crate::read_number::{percent, split_at, whole};
use crate::result_as_reading;
use fio::TerseVersion;
use measure::{Histogram, Nanos};
use model::reading::{
    Content, Damage, LatencyShare, ReadDirection, ReadDisk, ReadJob, ReadKind, ReadLatency, ReadRun, ReadSamples,
    Reading,
};
use model::{LatencyBins, Origin, RunResult};

/// Width of a bucket of fio's histograms, as a share of its latency.
const BUCKET: f64 = 1.0 / 64.0;
/// Fields of a line of version 3; a capacity hint.
const USUAL_FIELDS: usize = 136;
/// Fields of a direction before its percentiles, and after them before version 5.
const BEFORE_PERCENTILES: usize = 12;
const AFTER_PERCENTILES: usize = 9;
/// The percentiles of fio's default list, as a line has them.
const USUAL_PERCENTILES: [(&str, f64); 17] = [
    ("1.000000%=", 1.0),
    ("5.000000%=", 5.0),
    ("10.000000%=", 10.0),
    ("20.000000%=", 20.0),
    ("30.000000%=", 30.0),
    ("40.000000%=", 40.0),
    ("50.000000%=", 50.0),
    ("60.000000%=", 60.0),
    ("70.000000%=", 70.0),
    ("80.000000%=", 80.0),
    ("90.000000%=", 90.0),
    ("95.000000%=", 95.0),
    ("99.000000%=", 99.0),
    ("99.500000%=", 99.5),
    ("99.900000%=", 99.9),
    ("99.950000%=", 99.95),
    ("99.990000%=", 99.99),
];
/// Number of bins of depths.
const DEPTHS: usize = 7;
/// Fields of the tail that are not shares: switches and faults.
const PLACES_OF_COUNTS: std::ops::Range<usize> = 2..5;
/// Fields that version 5 adds to a direction: the number of bandwidth samples, and the IOPS samples.
const ADDED_SAMPLES: usize = 6;

/// True if a line near the start has the fields of a terse job line.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 64 * 1024;
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_AT)]);
    head.lines().any(|line| Fields::of(line).is_some())
}

/// Reads a line; `None` if it is not a job line.
pub(crate) fn reading(line: u64, text: &str) -> Option<Result<Reading, Damage>> {
    let damage = |what: String| Damage { line, what };
    let Some(fields) = Fields::of(text) else {
        return is_start(text)
            .then(|| Err(damage("a terse line that ends within its first direction, or is damaged there".to_owned())));
    };
    let read = read_line(line, &fields).map_err(damage);
    Some(read.map(|run| Reading::new("fio-terse", line, Content::Run(Box::new(run)))))
}

/// True for the start of a job line: in version 2, the name, the group, the error and two counts.
fn is_start(text: &str) -> bool {
    const LEAST_NUMBERS: usize = 4;
    let mut fields = text.split(';').skip(1);
    let Some(second) = fields.next() else { return false };
    let is_second_version = text.starts_with("2;") && !second.is_empty();
    second.starts_with("fio-")
        || is_second_version && fields.take_while(|field| whole(field).is_some()).count() >= LEAST_NUMBERS
}

/// Adds the description, which version 2 prints on the following line; returns false if this job cannot have one.
pub(crate) fn describe(reading: &mut Reading, text: &str) -> bool {
    let Content::Run(run) = &mut reading.found else { return false };
    match run.jobs.first_mut() {
        Some(job) if run.version.is_none() && job.description.is_none() => {
            job.description = Some(text.to_owned());
            true
        }
        _ => false,
    }
}

/// The result of a line.
///
/// Counts that a line lacks are the smallest that yield its rates: exact for runs up to one second, otherwise too small
/// by at most one I/O per second, and so are the bins derived from them. The job's run time is that of its longest
/// direction. Before version 5, lines lack the number of bandwidth samples; it is set to the smallest number that can
/// have the printed deviation. A direction without an I/O count has no latencies. Latencies below 1 µs are in the first
/// µs bin.
pub(crate) fn result(printed: ReadRun) -> RunResult {
    let mut run = printed.clone();
    for direction in run.jobs.iter_mut().flat_map(|job| &mut job.directions) {
        let milliseconds = direction.runtime_ms.unwrap_or(0.0);
        // fio truncates rates to whole numbers.
        let least = |per_second: Option<f64>| (per_second.unwrap_or(0.0) * milliseconds / 1000.0).ceil();
        let latencies = [&mut direction.submission, &mut direction.completion, &mut direction.total];
        let mut fewest: f64 = 0.0;
        for latency in latencies.into_iter().flatten() {
            // fio truncates a rate below one per second to 0.
            fewest = fewest.max(if latency.deviation_ns > Some(0.0) { 2.0 } else { 1.0 });
            latency.percentiles.iter_mut().for_each(|(_, ns)| *ns = printed_as(*ns));
        }
        direction.ios = Some(least(direction.iops).max(fewest));
        direction.bytes = direction.bytes.map(|bytes| bytes.max(least(direction.bytes_per_second)));
    }
    RunResult { origin: Origin::Report(Box::new(printed)), ..result_as_reading::rebuilt(&run) }
}

/// The smallest bucket's latency that is not below this number of whole microseconds: it is printed as that.
fn printed_as(ns: f64) -> f64 {
    let least = Nanos(result_as_reading::count(Some(ns)));
    let (mut low, mut high) = (0, measure::BUCKETS - 1);
    while low < high {
        let middle = low.midpoint(high);
        if Histogram::bucket_value(middle) < least {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Histogram::bucket_value(low).as_f64()
}

/// A job line, split.
struct Fields<'line> {
    version: TerseVersion,
    /// The fields after the version.
    all: Vec<&'line str>,
    /// Index of the first direction's first percentile.
    first_percentile: usize,
}

impl<'line> Fields<'line> {
    /// `None` if this is not a job line.
    fn of(line: &'line str) -> Option<Self> {
        let (first, rest) = split_at(line, b';')?;
        let version = TerseVersion::of_word(first)?;
        let all = split(rest);
        let first_percentile = first_percentile(&all)?;
        Some(Fields { version, all, first_percentile })
    }
}

/// The fields of a line. They are so short that a search for the next semicolon would begin more often than it gains:
/// eight bytes are looked at together, and all semicolons among them are taken.
fn split(line: &str) -> Vec<&str> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = 0x7f * EACH;
    const SEMICOLONS: u64 = b';' as u64 * EACH;
    let mut fields = Vec::with_capacity(USUAL_FIELDS);
    let mut start = 0;
    let (words, rest) = line.as_bytes().as_chunks::<8>();
    for (at, word) in (0..).step_by(8).zip(words) {
        let other = u64::from_le_bytes(*word) ^ SEMICOLONS;
        // The highest bit of each byte that is a semicolon.
        let mut found = !(((other & LOW) + LOW) | other | LOW);
        while found != 0 {
            let end = at + found.trailing_zeros() as usize / 8;
            fields.push(&line[start..end]);
            start = end + 1;
            found &= found - 1;
        }
    }
    for (end, _) in (line.len() - rest.len()..).zip(rest).filter(|(_, byte)| **byte == b';') {
        fields.push(&line[start..end]);
        start = end + 1;
    }
    fields.push(&line[start..]);
    fields
}

/// Index of the first direction's first percentile: job names may contain semicolons, so only these mark their end.
fn first_percentile(fields: &[&str]) -> Option<usize> {
    // No number is read here that is read again later.
    let is_percentile = |field: &&str| {
        let begins = |text: &str| text.as_bytes().first().is_some_and(u8::is_ascii_digit);
        split_at(field, b'%')
            .is_some_and(|(percent, value)| begins(percent) && value.strip_prefix('=').is_some_and(begins))
    };
    fields.windows(PERCENTILE_PLACES).position(|places| places.iter().all(is_percentile))
}

/// `99.900000%=12` as (99.9, 12 µs in ns).
fn percentile(field: &str) -> Option<(f64, f64)> {
    let (percent, value) = split_at(field, b'%')?;
    Some((whole(percent)?, whole(value.strip_prefix('=')?)? * 1e3))
}

/// The same for the percentile that fio has at this place without `percentile_list`, which saves reading it.
fn usual_percentile(at: usize, field: &str) -> Option<(f64, f64)> {
    let (text, percent) = USUAL_PERCENTILES.get(at)?;
    Some((*percent, whole(field.strip_prefix(text)?)? * 1e3))
}

fn read_line(line: u64, fields: &Fields<'_>) -> Result<ReadRun, String> {
    let Fields { version, all: fields, first_percentile } = fields;
    let (version, fields) = (*version, &fields[..]);
    let head = usize::from(version > TerseVersion::V2);
    // The group number and the error are between the name and the first direction.
    let start = first_percentile.checked_sub(BEFORE_PERCENTILES).unwrap_or_default();
    let name = start.checked_sub(2).and_then(|end| fields.get(head..end)).filter(|name| !name.is_empty());
    let name = name.ok_or("a terse line without name, group and error")?.join(";");
    let (directions, tail) = directions(version, &fields[start..]).ok_or("the line ends too early")?;
    check_numbers(&directions)?;
    check_tail(tail)?;
    let mut job = ReadJob {
        line,
        name: Some(name),
        group: whole(fields[start - 2]),
        errno: whole(fields[start - 1]),
        ..ReadJob::default()
    };
    let kinds: &[ReadKind] = match directions.len() {
        1 => &[ReadKind::Mixed],
        _ => &[ReadKind::Read, ReadKind::Write, ReadKind::Trim],
    };
    job.directions.extend(directions.iter().zip(kinds).filter_map(|(block, &kind)| read_direction(block, kind)));
    let mut run = ReadRun::default();
    if head == 1 {
        run.version = fields.first().map(|version| (*version).to_owned());
    }
    read_tail(tail, &mut job, &mut run)?;
    run.jobs.push(job);
    Ok(run)
}

/// The fields of each direction (one for all with `unified_rw_reporting=mixed`), and the rest. `None` if too few.
fn directions<'line, 'text>(
    version: TerseVersion,
    fields: &'line [&'text str],
) -> Option<(Vec<&'line [&'text str]>, &'line [&'text str])> {
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
    // With unified_rw_reporting=both, the sum of the directions follows them.
    directions.truncate(expected);
    (matches!(directions.len(), count if count == 1 || count == expected) && tail.len() >= TAIL_FIELDS)
        .then_some((directions, tail))
}

/// Refuses what no run moves; only the page faults of old versions can be negative.
fn check_numbers(directions: &[&[&str]]) -> Result<(), String> {
    let counts = directions.iter().flat_map(|block| &block[..BEFORE_PERCENTILES]);
    let negative = counts.copied().find(|field| whole(field).is_some_and(|number| number < 0.0));
    negative.map_or(Ok(()), |field| Err(format!("a terse line with a number below 0: {field}")))
}

/// Refuses a tail that is another part of a line, which was cut, or has shares that cannot be.
fn check_tail(tail: &[&str]) -> Result<(), String> {
    /// Of the processor: a job may have many threads. Of the depths: flushes are counted, too.
    const MOST_PERCENT: f64 = 1e5;
    const ROUNDED: f64 = 0.5;
    for (at, field) in tail.iter().take(TAIL_FIELDS).enumerate() {
        let is_share = !PLACES_OF_COUNTS.contains(&at);
        let most = if at < PLACES_OF_COUNTS.end + DEPTHS { MOST_PERCENT } else { 100.0 + ROUNDED };
        let is_right = match percent(field) {
            Some(share) if is_share => field.ends_with('%') && (0.0..=most).contains(&share),
            // Old versions print negative numbers of faults.
            Some(count) => !field.ends_with('%') && (at > PLACES_OF_COUNTS.start || count >= 0.0),
            None => field.contains("nan") && field.ends_with('%') == is_share,
        };
        if !is_right {
            let belongs = if is_share { "a share in percent" } else { "a count" };
            return Err(format!(
                "the terse line ends too early, or is damaged: `{field}` is in the place of {belongs}"
            ));
        }
    }
    Ok(())
}

/// `None` for a direction without I/O.
fn read_direction(block: &[&str], kind: ReadKind) -> Option<ReadDirection> {
    let number = |at: usize| block.get(at).and_then(|field| whole(field));
    let is_zero = |at: usize| number(at).is_none_or(|moved| moved <= 0.0);
    // Writes without a rate and a runtime are those that `verify_only` walks through.
    let walked = kind == ReadKind::Write && [1, 2, 3].into_iter().all(is_zero);
    if walked || [0, 2, 3].into_iter().all(is_zero) {
        return None;
    }
    let latency = |at: usize| -> Option<ReadLatency> {
        let value = |at: usize| number(at).map(|us| us * 1e3);
        let found = ReadLatency {
            min_ns: value(at),
            max_ns: value(at + 1),
            mean_ns: value(at + 2),
            deviation_ns: value(at + 3),
            ..ReadLatency::default()
        };
        (found.max_ns > Some(0.0) || found.mean_ns > Some(0.0)).then_some(found)
    };
    let places = block.get(BEFORE_PERCENTILES..BEFORE_PERCENTILES + PERCENTILE_PLACES).unwrap_or_default();
    let used = places.iter().filter(|place| **place != UNUSED_PLACE);
    let mut percentiles: Vec<(f64, f64)> = Vec::with_capacity(PERCENTILE_PLACES);
    percentiles
        .extend(used.enumerate().filter_map(|(at, place)| usual_percentile(at, place).or_else(|| percentile(place))));
    percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
    let after = BEFORE_PERCENTILES + PERCENTILE_PLACES;
    let (mut completion, mut total) = (latency(8), latency(after));
    // A line does not say of which latency its percentiles are: of the total with `lat_percentiles`. No completion
    // takes longer than the longest, give or take a bucket and a µs, which is the unit.
    let most = percentiles.last().map_or(0.0, |(_, ns)| *ns);
    let longest = |latency: &Option<ReadLatency>| latency.as_ref().and_then(|latency| latency.max_ns);
    let of_total = longest(&completion).is_some_and(|longest| most > (longest + 1e3) * (1.0 + BUCKET));
    let fit_total = longest(&total).is_some_and(|longest| most <= (longest + 1e3) * (1.0 + BUCKET));
    let measured = if of_total && fit_total { total.as_mut() } else { completion.as_mut().or(total.as_mut()) };
    if let Some(measured) = measured {
        measured.percentiles = percentiles;
    }
    let at = after + 4;
    let samples = |[min, max, mean, deviation, count]: [usize; 5], unit: f64| {
        let value = |at: usize| number(at).map(|value| value * unit);
        let (min, max, mean, deviation) = (value(min), value(max), value(mean), value(deviation));
        ReadSamples { min, max, mean, deviation, count: number(count), percent_of_group: None }
    };
    let bandwidth = samples([at, at + 1, at + 3, at + 4, at + 5], 1024.0);
    let bandwidth = ReadSamples { percent_of_group: block.get(at + 2).and_then(|share| percent(share)), ..bandwidth };
    let iops_samples = samples([at + 6, at + 7, at + 8, at + 9, at + 10], 1.0);
    let taken = |samples: ReadSamples| (samples.max > Some(0.0) || samples.count > Some(0.0)).then_some(samples);
    Some(ReadDirection {
        bytes: number(0).map(|kib| kib * 1024.0),
        bytes_per_second: number(1).map(|kib| kib * 1024.0),
        iops: number(2),
        runtime_ms: number(3),
        submission: latency(4),
        completion,
        total,
        bandwidth: taken(bandwidth),
        iops_samples: taken(iops_samples),
        ..ReadDirection::new(kind)
    })
}

fn read_tail(fields: &[&str], job: &mut ReadJob, run: &mut ReadRun) -> Result<(), String> {
    let share = |at: usize| fields.get(at).and_then(|field| percent(field));
    let number = |at: usize| fields.get(at).and_then(|field| whole(field));
    job.user_percent = share(0);
    job.system_percent = share(1);
    job.switches = number(2);
    job.major_faults = number(3);
    job.minor_faults = number(4);
    job.depth_percent = (5..12).map(|at| share(at).unwrap_or(0.0)).collect();
    let bounds = LatencyBins::BOUNDS.map(result_as_reading::float);
    let micro = bounds.iter().map(|bound| Some(bound * 1e3));
    let milli = bounds.iter().map(|bound| Some(bound * 1e6)).chain([Some(2e9), None]);
    for (at, below_ns) in (12..).zip(micro.chain(milli)) {
        if let Some(percent) = share(at).filter(|percent| *percent > 0.0) {
            job.latency_shares.push(LatencyShare { below_ns, percent });
        }
    }
    let mut rest = fields.get(TAIL_FIELDS..).unwrap_or_default();
    if run.version.is_some() {
        while let Some((disk, after)) = rest.split_at_checked(DISK_FIELDS)
            && disk[DISK_FIELDS - 1].ends_with('%')
        {
            run.disks.push(read_disk(disk));
            rest = after;
        }
    }
    if let (true, [name, numbers @ ..]) = (run.version.is_some(), rest)
        && whole(name).is_none()
        && (2..DISK_FIELDS).contains(&numbers.len())
        && numbers.iter().take(numbers.len() - 1).all(|field| whole(field).is_some())
        && numbers.last().is_some_and(|field| field.is_empty() || whole(field).is_some())
    {
        return Err(format!("the terse line ends within its disk `{name}`"));
    }
    // Errors are two numbers; anything else is a description.
    if let [total, first, ..] = rest
        && let (Some(total), Some(_)) = (whole(total), whole(first))
    {
        job.forgiven_errors = Some(total);
        rest = &rest[2..];
    }
    if !rest.is_empty() {
        job.description = Some(rest.join(";")).filter(|text| !text.is_empty());
    }
    Ok(())
}

fn read_disk(fields: &[&str]) -> ReadDisk {
    let pair = |at: usize| Some((whole(fields.get(at)?)?, whole(fields.get(at + 1)?)?));
    ReadDisk {
        name: fields.first().map(|name| (*name).to_owned()).unwrap_or_default(),
        ios: pair(1),
        sectors: None,
        merges: pair(3),
        ticks_ms: pair(5),
        in_queue_ms: fields.get(7).and_then(|field| whole(field)),
        utilisation_percent: fields.get(8).and_then(|field| percent(field)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_usual_percentile_is_read_at_its_place_only() {
        for (at, (text, percent)) in USUAL_PERCENTILES.iter().enumerate() {
            let field = format!("{text}1234");
            assert_eq!(usual_percentile(at, &field), percentile(&field));
            assert_eq!(percentile(&field), Some((*percent, 1_234_000.0)));
            assert_eq!(usual_percentile(at + 1, &field), None);
        }
        assert_eq!(usual_percentile(0, "1.000000%=x"), None);
    }

    proptest! {
        #[test]
        fn a_line_has_the_fields_that_are_between_its_semicolons(line in "[;:<a»Ļ漢]{0,40}") {
            prop_assert_eq!(split(&line), line.split(';').collect::<Vec<_>>());
        }
    }
}
