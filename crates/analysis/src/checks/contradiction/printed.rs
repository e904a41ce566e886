//! Rules for the numbers of a report of another program: what no run can print.
//!
//! Owns what is impossible, and how far rounding goes, by the numbers of the text, not of the result made of it.

use super::super::MOST_BUSY_SHARE;
use measure::text;
use model::reading::{ReadDirection, ReadJob, ReadLatency, ReadRun};

/// A number that cannot be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Impossible {
    /// The part of the report, for example `job a, read`.
    pub(super) subject: String,
    /// Why it cannot be, with both numbers.
    pub(super) why: String,
    pub(super) stated: f64,
    /// The number that it contradicts.
    pub(super) against: f64,
}

/// A rule: the first thing in the job that breaks it.
type Rule = fn(&ReadRun, &ReadJob) -> Option<Impossible>;

const RULES: &[Rule] = &[
    negative_numbers,
    a_mean_outside_of_its_bounds,
    percentiles_out_of_order,
    percentiles_outside_of_their_bounds,
    a_mean_that_its_percentiles_exclude,
    parts_that_are_not_the_total,
    counts_that_disagree,
    blocks_larger_than_asked_for,
    a_group_that_is_not_the_sum_of_its_jobs,
    latency_shares,
    shares_of_calls,
    depths,
    more_in_flight_than_the_depths,
];

/// The numbers of a report that cannot be, at most one of each kind for each job; then that of its disks.
pub(super) fn impossible(run: &ReadRun) -> Vec<Impossible> {
    // Of I/Os that failed (continue_on_error), fio counts some in one number and not in another.
    let trusted = |job: &&ReadJob| job.forgiven_errors.is_none_or(|errors| errors == 0.0);
    let jobs = run.jobs.iter().filter(trusted).flat_map(|job| RULES.iter().filter_map(|rule| rule(run, job)));
    let disks = run.disks.iter().flat_map(|disk| [negative_disk(disk), idle_disk(disk)].into_iter().flatten());
    jobs.chain(disks).collect()
}

/// Rounding: a printed number has at least three digits, and fio prints minima and maxima in whole units.
const ROUNDED: f64 = 0.01;
/// The unit of small latencies: terse lines and fio 2 print microseconds.
const UNIT_NS: f64 = 1e3;
/// The unit of large latencies in texts.
const LARGE_UNIT_NS: f64 = 1e6;
/// A percentile is the upper edge of its bucket, of which each power of two has 64.
const BUCKET: f64 = 1.0 / 64.0;

/// True if a latency is above its bound by more than the rounding of both, and this share of the bound.
fn more(value: f64, bound: f64, share: f64) -> bool {
    let is_whole = |ns: f64| ns > 0.0 && ns % LARGE_UNIT_NS == 0.0;
    let unit = if is_whole(value) || is_whole(bound) { LARGE_UNIT_NS } else { UNIT_NS };
    value > bound * (1.0 + ROUNDED + share) + unit
}

fn subject(job: &ReadJob, direction: Option<&ReadDirection>) -> String {
    let name = job.name.as_deref().unwrap_or_default();
    direction.map_or_else(|| format!("job {name}"), |direction| format!("job {name}, {}", direction.kind.word()))
}

/// The latencies of a direction by the names that fio gives them.
fn latencies(direction: &ReadDirection) -> impl Iterator<Item = (&'static str, &ReadLatency)> {
    let all = [("slat", &direction.submission), ("clat", &direction.completion), ("lat", &direction.total)];
    all.into_iter().filter_map(|(name, latency)| Some((name, latency.as_ref()?)))
}

/// The first latency of a job in which something is found; those of flushes have no direction.
fn first_latency(
    job: &ReadJob,
    find: impl Fn(&str, &ReadLatency, Option<&ReadDirection>) -> Option<(String, f64, f64)>,
) -> Option<Impossible> {
    let of = |direction| latencies(direction).map(move |(name, latency)| (name, latency, Some(direction)));
    let flushes = job.sync.iter().map(|sync| ("sync", sync, None));
    job.directions.iter().flat_map(of).chain(flushes).find_map(|(name, latency, direction)| {
        let (why, stated, against) = find(name, latency, direction)?;
        Some(Impossible { subject: subject(job, direction), why, stated, against })
    })
}

/// Numbers that count or measure something, with their names in reports.
fn numbers<'job>(run: &ReadRun, job: &'job ReadJob) -> Vec<(Option<&'job ReadDirection>, String, f64)> {
    let mut all = Vec::new();
    let own = [
        ("usr", job.user_percent),
        ("sys", job.system_percent),
        ("ctx", job.switches),
        ("depth", job.depth),
        ("jobs", job.workers),
    ];
    all.extend(own.into_iter().filter_map(|(name, value)| Some((None, name.to_owned(), value?))));
    // fio 2 prints negative numbers of faults.
    if run.version.as_deref().is_some_and(|version| !version.trim_start_matches("fio-").starts_with(['1', '2'])) {
        let faults = [("majf", job.major_faults), ("minf", job.minor_faults)];
        all.extend(faults.into_iter().filter_map(|(name, value)| Some((None, name.to_owned(), value?))));
    }
    for (name, list) in [("issued", &job.issued), ("short", &job.short), ("dropped", &job.dropped)] {
        all.extend(list.iter().map(|&value| (None, name.to_owned(), value)));
    }
    let shares = job.latency_shares.iter().map(|share| share.percent);
    let depths = [&job.depth_percent, &job.submit_percent, &job.complete_percent].into_iter().flatten().copied();
    all.extend(shares.chain(depths).map(|share| (None, "a share".to_owned(), share)));
    for direction in &job.directions {
        let moved = [
            ("io", direction.bytes),
            ("bw", direction.bytes_per_second),
            ("iops", direction.iops),
            ("run", direction.runtime_ms),
            ("the number of I/Os", direction.ios),
        ];
        all.extend(moved.into_iter().filter_map(|(name, value)| Some((Some(direction), name.to_owned(), value?))));
    }
    all
}

fn negative_latency(name: &str, latency: &ReadLatency) -> Option<(String, f64)> {
    let values = [
        ("min", latency.min_ns),
        ("max", latency.max_ns),
        ("mean", latency.mean_ns),
        ("deviation", latency.deviation_ns),
        ("count", latency.count),
    ];
    let named = values.into_iter().filter_map(|(of, value)| Some((format!("{name} {of}"), value?)));
    let points = latency.percentiles.iter().map(|&(percent, ns)| (format!("{name} p{percent}"), ns));
    named.chain(points).find(|(_, value)| *value < 0.0)
}

fn negative_numbers(run: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    let negative = |name: &str, value: f64| (format!("{name} is negative: {value}"), value, 0.0);
    if let Some((direction, name, value)) = numbers(run, job).into_iter().find(|(_, _, value)| *value < 0.0) {
        let (why, stated, against) = negative(&name, value);
        return Some(Impossible { subject: subject(job, direction), why, stated, against });
    }
    first_latency(job, |name, latency, _| {
        let (name, value) = negative_latency(name, latency)?;
        Some(negative(&name, value))
    })
}

fn negative_disk(disk: &model::reading::ReadDisk) -> Option<Impossible> {
    let pairs = [("ios", disk.ios), ("sectors", disk.sectors), ("merge", disk.merges), ("ticks", disk.ticks_ms)];
    let each = pairs.into_iter().flat_map(|(name, pair)| pair.into_iter().map(move |(a, b)| (name, a.min(b))));
    let single = [("in_queue", disk.in_queue_ms), ("util", disk.utilisation_percent)];
    let all = each.chain(single.into_iter().filter_map(|(name, value)| Some((name, value?))));
    let (name, value) = all.into_iter().find(|(_, value)| *value < 0.0)?;
    let why = format!("{name} is negative: {value}");
    Some(Impossible { subject: format!("disk {}", disk.name), why, stated: value, against: 0.0 })
}

/// A disk that was idle has no requests that took time.
fn idle_disk(disk: &model::reading::ReadDisk) -> Option<Impossible> {
    /// `util=0.00%` is less than this, and so much time rounds to it in the longest run.
    const ROUNDED_PERCENT: f64 = 0.005;
    const LEAST_MS: f64 = 100.0;
    const LEAST_REQUESTS: f64 = 100.0;
    let (requests, ticks) = (disk.ios.map(|(read, written)| read + written)?, disk.in_queue_ms?);
    let is_idle = disk.utilisation_percent? < ROUNDED_PERCENT && requests >= LEAST_REQUESTS && ticks >= LEAST_MS;
    is_idle.then(|| Impossible {
        subject: format!("disk {}", disk.name),
        why: format!("it did {} requests in {} of time, and was idle", text::number(requests), text::time(ticks * 1e6)),
        stated: 0.0,
        against: ticks,
    })
}

fn a_mean_outside_of_its_bounds(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    first_latency(job, |name, latency, _| {
        let mean = latency.mean_ns?;
        let (min, max) = (latency.min_ns.unwrap_or(0.0), latency.max_ns.unwrap_or(f64::INFINITY));
        if more(min, max, 0.0) {
            let why =
                format!("the shortest {name} of {} is longer than the longest of {}", text::time(min), text::time(max));
            return Some((why, min, max));
        }
        let (side, bound) = match () {
            () if more(mean, max, 0.0) => ("longest", max),
            () if more(min, mean, 0.0) => ("shortest", min),
            () => return None,
        };
        let beyond = if side == "longest" { "above" } else { "below" };
        Some((
            format!("the mean {name} of {} is {beyond} the {side} of {}", text::time(mean), text::time(bound)),
            mean,
            bound,
        ))
    })
}

fn percentiles_out_of_order(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    first_latency(job, |name, latency, _| {
        let mut points = latency.percentiles.clone();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let falls = |pair: &&[(f64, f64)]| pair[1].1 < pair[0].1;
        let pair = points.windows(2).find(falls)?;
        let ((low, at_low), (high, at_high)) = (pair[0], pair[1]);
        let why = format!("p{high} of {name}, {}, is below p{low}, {}", text::time(at_high), text::time(at_low));
        Some((why, at_high, at_low))
    })
}

fn percentiles_outside_of_their_bounds(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    first_latency(job, |name, latency, direction| {
        // Some tables have percentiles without their longest: no completion is longer than the total.
        let longest = latency.max_ns.or_else(|| direction?.total.as_ref()?.max_ns);
        let beyond = |&(_, ns): &(f64, f64)| longest.is_some_and(|longest| more(ns, longest, BUCKET));
        if let (Some(&(percent, ns)), Some(longest)) = (latency.percentiles.iter().find(|point| beyond(point)), longest)
        {
            let why =
                format!("p{percent} of {name}, {}, is beyond the longest, {}", text::time(ns), text::time(longest));
            return Some((why, ns, longest));
        }
        let shortest = latency.min_ns?;
        let below = |&(_, ns): &(f64, f64)| more(shortest, ns, BUCKET);
        let &(percent, ns) = latency.percentiles.iter().find(|point| below(point))?;
        let why = format!("p{percent} of {name}, {}, is below the shortest, {}", text::time(ns), text::time(shortest));
        Some((why, ns, shortest))
    })
}

/// Percentiles leave little room for a mean: it is not that of the same I/Os if it is outside, as a mean of means is.
fn a_mean_that_its_percentiles_exclude(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    /// With fewer, the share of an I/O is as large as what is looked for.
    const LEAST_IOS: f64 = 1_000.0;
    /// The longest latency that the histogram of fio has is 17 s.
    const LONGEST_NS: f64 = 10e9;
    first_latency(job, |name, latency, direction| {
        let (mean, min, max) = (latency.mean_ns?, latency.min_ns?, latency.max_ns?);
        let ios = latency.count.or_else(|| ios_of(job, direction?)).filter(|ios| *ios >= LEAST_IOS)?;
        let mut points = latency.percentiles.clone();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        if points.len() < 2 || max > LONGEST_NS {
            return None;
        }
        let unit = |ns: f64| if ns > 0.0 && ns % LARGE_UNIT_NS == 0.0 { LARGE_UNIT_NS } else { UNIT_NS };
        let edges = |ns: f64| ((ns * (1.0 - BUCKET) - unit(ns)).max(min), (ns * (1.0 + BUCKET) + unit(ns)).min(max));
        let (mut from, mut least, mut most) = ((0.0, min), 0.0, 0.0);
        for (percent, ns) in points.into_iter().chain([(100.0, max)]) {
            let share = (percent - from.0).max(0.0) / 100.0;
            least += share * edges(from.1).0;
            most += share * edges(ns).1;
            from = (percent, ns);
        }
        // Each percentile may be one I/O away.
        let edge = (max - min).max(0.0) / ios;
        let (least, most) = ((least - edge) * (1.0 - ROUNDED), (most + edge) * (1.0 + ROUNDED));
        let bound = if mean < least - UNIT_NS { least } else { most };
        (!(least - UNIT_NS..=most + UNIT_NS).contains(&mean)).then(|| {
            let side = if mean < bound { "least" } else { "most" };
            let (stated, bound_text) = (text::time(mean), text::time(bound));
            (format!("the mean {name} is {stated}, and by its percentiles at {side} {bound_text}"), mean, bound)
        })
    })
}

/// An I/O that waits before it is submitted (a fixed rate, a thread that submits) has a total of more than both parts.
fn parts_that_are_not_the_total(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    /// Parts and total may be of a few I/Os more or less (ramp_time).
    const APART: f64 = 0.05;
    job.directions.iter().find_map(|direction| {
        let mean = |latency: &Option<ReadLatency>| latency.as_ref()?.mean_ns;
        let total = mean(&direction.total)?;
        let parts = mean(&direction.completion)? + mean(&direction.submission).unwrap_or(0.0);
        (parts > total * (1.0 + APART) + 2.0 * UNIT_NS).then(|| Impossible {
            subject: subject(job, Some(direction)),
            why: format!("submission and completion take {}, both together {}", text::time(parts), text::time(total)),
            stated: total,
            against: parts,
        })
    })
}

/// I/Os that are in flight at the edges of the measured part may be in one count and not in the other.
fn at_the_edges(job: &ReadJob) -> f64 {
    /// Where the report does not state the users.
    const MANY: f64 = 1024.0;
    job.workers.zip(job.depth).map_or(MANY, |(workers, depth)| workers * depth)
}

fn counts_that_disagree(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    let edges = at_the_edges(job);
    let apart = |one: f64, other: f64| (one - other).abs() > ROUNDED * one.max(other) + edges;
    first_latency(job, |name, latency, direction| {
        let in_bins: f64 = latency.bins.iter().map(|&(_, count)| count).sum();
        if let Some(count) = latency.count.filter(|count| !latency.bins.is_empty() && apart(*count, in_bins)) {
            let (count, bins) = (text::number(count), text::number(in_bins));
            return Some((format!("{name} has {count} I/Os, and {bins} in its bins"), latency.count?, in_bins));
        }
        let (count, ios) = (latency.count.filter(|count| *count > 0.0)?, direction?.ios?);
        let why = || format!("{} I/Os were done, and {name} is of {}", text::number(ios), text::number(count));
        apart(count, ios).then(|| (why(), count, ios))
    })
}

/// I/Os of a direction; a text states those that were issued.
fn ios_of(job: &ReadJob, direction: &ReadDirection) -> Option<f64> {
    let at = direction.kind as usize;
    direction.ios.or(job.issued.get(at).copied().filter(|_| at < 3))
}

fn blocks_larger_than_asked_for(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    /// Bytes of a text have three digits at worst.
    const PRINTED: f64 = 0.05;
    let edges = at_the_edges(job);
    job.directions.iter().find_map(|direction| {
        let at = direction.kind as usize;
        let (bytes, ios) = (direction.bytes?, ios_of(job, direction)?);
        let &(_, largest) = job.block_sizes.get(at).or(job.block_sizes.last())?;
        let most = (ios + edges) * largest;
        (largest > 0.0 && at < 3 && bytes > most * (1.0 + PRINTED)).then(|| Impossible {
            subject: subject(job, Some(direction)),
            why: format!("{} I/Os of at most {largest} B are not {} B", text::number(ios), text::number(bytes)),
            stated: bytes,
            against: most,
        })
    })
}

/// The lines per group at the end of a text. They are compared at the first job of the group.
fn a_group_that_is_not_the_sum_of_its_jobs(run: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    /// Both are printed with three digits at worst, and fio does not carry: 11.97 MiB is printed as 11.0MiB.
    const PRINTED: f64 = 0.1;
    let jobs = || run.jobs.iter().filter(|other| other.group == job.group);
    if job.group.is_none() || jobs().next().is_none_or(|first| first.line != job.line) {
        return None;
    }
    run.groups.iter().filter(|group| group.group == job.group).find_map(|group| {
        let of = |job: &ReadJob| job.directions.iter().find(|found| found.kind == group.kind).map(|found| found.bytes);
        // A job whose amount could not be read leaves the sum open.
        let sum = jobs().filter_map(of).sum::<Option<f64>>().filter(|sum| *sum > 0.0)?;
        let stated = group.bytes?;
        ((stated - sum).abs() > PRINTED * stated.max(sum) + 1024.0).then(|| Impossible {
            subject: format!("group {}, {}", job.group.unwrap_or(0.0), group.kind.word()),
            why: format!("it moved {} B, and its jobs {} B", text::number(stated), text::number(sum)),
            stated,
            against: sum,
        })
    })
}

/// Each I/O is in one bin. Terse lines leave the bins below 1 µs out.
fn latency_shares(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    /// Of each bin: a share that rounds to nothing is printed as the smallest one.
    const ROUNDED_SHARE: f64 = 0.02;
    const SEARCHED: f64 = 90.0;
    let sum: f64 = job.latency_shares.iter().map(|share| share.percent).sum();
    let ios: f64 = job.directions.iter().filter_map(|direction| direction.ios).sum();
    // I/Os in flight at the end of a ramp are in the bins, and not in the number of I/Os.
    let edges = if ios > 0.0 { 100.0 * at_the_edges(job) / ios } else { ROUNDED * 100.0 };
    let most = 100.0 + edges.min(100.0) + ROUNDED_SHARE * job.latency_shares.len() as f64;
    // A search for a latency target (latency_target) starts over with each depth, and leaves I/Os out. A terse line,
    // which states no number of I/Os, has no bins below 1 µs.
    let least = if job.issued.is_empty() { 0.0 } else { SEARCHED };
    let is_sum = sum == 0.0 || (least..=most).contains(&sum);
    (!is_sum).then(|| sum_of_shares(job, "the shares of the latencies", sum))
}

/// Each call submits or reaps one number of I/Os.
fn shares_of_calls(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    let each = [("the sizes of submissions", &job.submit_percent), ("the sizes of completions", &job.complete_percent)];
    each.into_iter().find_map(|(name, shares)| {
        let sum: f64 = shares.iter().sum();
        // Shares are printed as at least 0.1 %. Engines that make no such calls have zeros.
        let rounded = 0.5 + 0.1 * shares.len() as f64;
        (sum > 0.0 && (sum - 100.0).abs() > rounded).then(|| sum_of_shares(job, name, sum))
    })
}

/// Each I/O has one depth. Flushes and the I/Os of a ramp are counted here, and not among the I/Os: then it is more. Those
/// in flight at the end of a ramp are counted at their completion, and not here: then it is less.
fn depths(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    let sum: f64 = job.depth_percent.iter().sum();
    let ios: f64 = job.directions.iter().filter_map(|direction| direction.ios).sum();
    let edges = if ios > 0.0 { (100.0 * at_the_edges(job) / ios).min(50.0) } else { 0.0 };
    (sum > 0.0 && sum < 99.0 - edges - 0.1 * job.depth_percent.len() as f64)
        .then(|| sum_of_shares(job, "the shares of the depths", sum))
}

/// By Little's law no more I/Os were in flight than the deepest queue that was seen more than now and then.
fn more_in_flight_than_the_depths(_: &ReadRun, job: &ReadJob) -> Option<Impossible> {
    /// Largest depth of each share; the last has no end.
    const ENDS: [f64; 6] = [1.0, 3.0, 7.0, 15.0, 31.0, 63.0];
    /// A share that is printed as the smallest one is of next to nothing.
    const SELDOM_PERCENT: f64 = 0.5;
    /// If other threads submit (io_submit_mode=offload), the depths are theirs, and I/Os wait for them this long.
    const OFFLOADED: f64 = 0.1;
    let deepest = job.depth_percent.iter().rposition(|&share| share > SELDOM_PERCENT)?;
    let most = ENDS.get(deepest)? * job.workers?;
    let (mut busy_ns, mut window_ns) = (0.0, 0.0_f64);
    for direction in job.directions.iter().filter(|direction| ios_of(job, direction) != Some(0.0)) {
        let mean = |latency: &Option<ReadLatency>| latency.as_ref()?.mean_ns;
        let (submission, completion) = (mean(&direction.submission)?, mean(&direction.completion)?);
        if submission > OFFLOADED * completion {
            return None;
        }
        busy_ns += ios_of(job, direction)? * completion;
        window_ns = window_ns.max(direction.runtime_ms? * LARGE_UNIT_NS);
    }
    let in_flight = busy_ns / window_ns;
    let asked = job.workers? * job.depth?;
    (window_ns > 0.0 && asked > most && in_flight > MOST_BUSY_SHARE * most).then(|| Impossible {
        subject: subject(job, None),
        why: format!(
            "IOPS × latency says that {} I/Os were in flight, and by the depths there were at most {}",
            text::number(in_flight),
            text::number(most)
        ),
        stated: in_flight,
        against: most,
    })
}

fn sum_of_shares(job: &ReadJob, name: &str, sum: f64) -> Impossible {
    // 100.4 % is `100 %` in whole numbers.
    let beyond = if (100.0..100.5).contains(&sum) { "more than " } else { "" };
    let why = format!("{name} add up to {beyond}{}", text::percent(sum / 100.0));
    Impossible { subject: subject(job, None), why, stated: sum, against: 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::{LatencyShare, ReadDisk, ReadKind};

    /// A report of 1,000 reads of 4 KiB at depth 8, as fio prints it.
    fn genuine() -> ReadRun {
        let latency = |min: f64, mean: f64, max: f64| ReadLatency {
            count: Some(1_000.0),
            min_ns: Some(min),
            max_ns: Some(max),
            mean_ns: Some(mean),
            deviation_ns: Some(1e3),
            ..ReadLatency::default()
        };
        let percentiles = vec![(50.0, 90e3), (99.0, 300e3), (99.9, 402e3)];
        let bins = vec![(90e3, 600.0), (300e3, 400.0)];
        let read = ReadDirection {
            bytes: Some(4_096_000.0),
            ios: Some(1_000.0),
            runtime_ms: Some(12.5),
            submission: Some(latency(2e3, 5e3, 9e3)),
            completion: Some(ReadLatency { percentiles, bins, ..latency(20e3, 100e3, 400e3) }),
            total: Some(latency(25e3, 105e3, 404e3)),
            ..ReadDirection::new(ReadKind::Read)
        };
        let job = ReadJob {
            name: Some("a".into()),
            workers: Some(1.0),
            depth: Some(8.0),
            block_sizes: vec![(4096.0, 4096.0)],
            directions: vec![read],
            latency_shares: vec![
                LatencyShare { below_ns: Some(100e3), percent: 60.0 },
                LatencyShare { below_ns: Some(500e3), percent: 40.0 },
            ],
            depth_percent: vec![0.1, 0.1, 0.1, 99.9],
            submit_percent: vec![0.0, 100.0],
            issued: vec![1_000.0, 0.0, 0.0, 0.0],
            ..ReadJob::default()
        };
        ReadRun { jobs: vec![job], ..ReadRun::default() }
    }

    type Change = fn(&mut ReadJob);

    fn completion(job: &mut ReadJob) -> &mut ReadLatency {
        job.directions[0].completion.as_mut().unwrap()
    }

    #[test]
    fn a_genuine_report_is_silent_and_each_change_of_it_is_found() {
        assert_eq!(impossible(&genuine()), []);
        let changes: [(Change, &str); 15] = [
            (|job| completion(job).percentiles[1].1 = 80e3, "p99 of clat, 80 µs, is below p50, 90 µs"),
            (|job| completion(job).percentiles[2].1 = 500e3, "is beyond the longest, 400 µs"),
            (|job| completion(job).percentiles[0].1 = 10e3, "is below the shortest, 20 µs"),
            (|job| completion(job).mean_ns = Some(500e3), "is above the longest of 400 µs"),
            (|job| completion(job).mean_ns = Some(15e3), "is below the shortest of 20 µs"),
            (|job| completion(job).count = Some(500.0), "clat has 500 I/Os, and 1,000 in its bins"),
            (|job| job.directions[0].ios = Some(2_000.0), "2,000 I/Os were done, and slat is of 1,000"),
            (|job| job.directions[0].submission.as_mut().unwrap().max_ns = Some(-1.0), "slat max is negative: -1"),
            (|job| job.directions[0].total.as_mut().unwrap().mean_ns = Some(50e3), "both together 50 µs"),
            (|job| job.directions[0].bytes = Some(8_192_000.0), "are not 8,192,000 B"),
            (|job| job.latency_shares[0].percent = 190.0, "the shares of the latencies add up to 230 %"),
            (|job| job.depth_percent = vec![25.0], "the shares of the depths add up to 25 %"),
            (|job| completion(job).mean_ns = Some(250e3), "the mean clat is 250 µs, and by its percentiles at most"),
            (|job| completion(job).mean_ns = Some(50e3), "the mean clat is 50 µs, and by its percentiles at least"),
            (|job| job.depth_percent = vec![100.0], "8 I/Os were in flight, and by the depths there were at most 1"),
        ];
        for (change, says) in changes {
            let mut run = genuine();
            change(&mut run.jobs[0]);
            let found = impossible(&run);
            assert!(found.iter().any(|found| found.why.contains(says)), "{says}: {found:?}");
        }
    }

    #[test]
    fn an_idle_disk_has_no_requests_that_took_time() {
        let disk = |requests: f64, utilisation_percent: f64| {
            let mut run = genuine();
            run.disks = vec![ReadDisk {
                ios: Some((requests, 0.0)),
                in_queue_ms: Some(800.0),
                utilisation_percent: Some(utilisation_percent),
                ..ReadDisk::default()
            }];
            impossible(&run).len()
        };
        assert_eq!((disk(1_000.0, 80.0), disk(10.0, 0.0), disk(1_000.0, 0.0)), (0, 0, 1));
    }

    fn in_whole_milliseconds(job: &mut ReadJob) {
        job.directions[0].total = None;
        let found = completion(job);
        (found.min_ns, found.mean_ns, found.max_ns) = (Some(4.6e6), Some(5e6), Some(120e6));
        found.percentiles = vec![(50.0, 4e6), (99.0, 8e6)];
    }

    #[test]
    fn what_genuine_reports_do_is_allowed() {
        let allowed: [(Change, &str); 10] = [
            (in_whole_milliseconds, "percentiles in another unit than the shortest"),
            (
                |job| (completion(job).min_ns, completion(job).mean_ns) = (Some(89e3), Some(95e3)),
                "a shortest at its bucket",
            ),
            (|job| completion(job).percentiles[2].1 = 406e3, "the upper edge of the bucket of the longest"),
            (|job| completion(job).count = Some(1_007.0), "in flight at the end of the ramp"),
            (|job| job.depth_percent = vec![100.0, 0.0, 0.0, 100.0], "flushes are counted among the depths"),
            (|job| job.submit_percent = vec![0.0; 7], "an engine without such calls"),
            (
                |job| job.directions[0].total.as_mut().unwrap().mean_ns = Some(300e3),
                "it waited before it was submitted",
            ),
            (|job| (job.issued, job.latency_shares[0].percent) = (Vec::new(), 0.0), "a terse line has no small bins"),
            (|job| job.minor_faults = Some(-5.0), "fio 2 printed negative faults"),
            (
                |job| (job.forgiven_errors, completion(job).count) = (Some(9.0), Some(500.0)),
                "failed I/Os are in one number and not in another",
            ),
        ];
        for (change, why) in allowed {
            let mut run = genuine();
            change(&mut run.jobs[0]);
            run.jobs[0].directions[0].ios = Some(1_000.0);
            assert_eq!(impossible(&run), [], "{why}");
        }
    }
}
