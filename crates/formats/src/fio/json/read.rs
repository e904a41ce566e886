//! Reader of fio's JSON of any generation: 2.x in KiB and µs, 3.x in ns, json+ with its bins.
//!
//! A document becomes a [`ReadRun`], which has what is printed and nothing else, and a result where one is asked for.
//! That adds what only a result can hold: options, latency target, steady state, tracked blocks and the key `plumb`.
//! Not in the document: process ids, the numbers of submit and reap calls (their bins then hold shares, see
//! [`model::DepthStatistics`]) and the time over which disks were sampled.

use super::write::UNKNOWN_ETA_S;
use crate::echoed::Echoes;
use crate::event::{Event, Sink};
use crate::fio::CLIENTS_SUM;
use crate::fio::failures::Failures;
use crate::result_as_reading::{self, longest};
use crate::tree::{Object, Tree};
use crate::{FormatError, echoed, from_printed, read_number};
use ::fio::EchoedJob;
use measure::Direction;
use model::reading::{
    Content, LatencyShare, PriorityTime, ReadDirection, ReadDisk, ReadJob, ReadKind, ReadLatency, ReadPriority,
    ReadRun, ReadSamples, Reading,
};
use model::{Echo, JobResult, Origin, ReportStyle, RunResult, Unified, WalkedWrites};
use plan::JobPlan;
use std::collections::HashMap;
use std::rc::Rc;

/// The last JSON document in fio's output: from a line that is `{` to the next line that is `}`. Programs print text
/// around it, and `--status-interval` prints one document per interval.
pub fn last_document(text: &str) -> Option<&str> {
    let end = last_line_start(text, "}")?;
    let start = last_line_start(&text[..end], "{")?;
    text.get(start..=end)
}

/// Byte offset of the last line that is exactly `line`.
fn last_line_start(text: &str, line: &str) -> Option<usize> {
    let mut end = text.len();
    loop {
        let start = text[..end].rfind(line)?;
        let rest = &text[start + line.len()..];
        let opens = start == 0 || text.as_bytes()[start - 1] == b'\n';
        if opens && (rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n")) {
            return Some(start);
        }
        end = start;
    }
}

/// Reads the last document in `text`; text before and after it is ignored. Without json+ bins, a histogram is rebuilt
/// from the percentiles: the coarsest one that yields exactly those percentiles.
///
/// # Errors
/// [`FormatError::Refused`]: no document, broken JSON, or a document without a list of jobs.
pub fn read(text: &str) -> Result<RunResult, FormatError> {
    const WORKS: &str = "the output of fio --output-format=json or json+";
    let refused = |line: usize, what: &str| FormatError::Refused {
        format: "fio-json",
        line,
        what: what.to_owned(),
        works: WORKS,
    };
    // Programs that store the document on one line leave no such lines; then the whole text must be the document.
    let document = last_document(text).unwrap_or_else(|| text.trim());
    let line_before = text[..document.as_ptr() as usize - text.as_ptr() as usize].lines().count();
    let root = Tree::of(document).map_err(|error| refused(line_before + error.line(), &error.to_string()))?;
    let list = list(&root).ok_or_else(|| refused(line_before + 1, "no list `jobs`"))?;
    if !list.iter().all(|entry| entry.as_object().is_some()) {
        return Err(refused(line_before + 1, "an entry of `jobs` is not an object"));
    }
    let (list, _) = without_sum(list);
    let entries = Entry::all(&root, list, &mut Echoes::default());
    Ok(result_of(&root, &entries, read_run(&root, &entries, 1)))
}

/// The result of a document in which this is printed.
fn result_of(root: &Tree<'_>, entries: &[Entry<'_>], run: ReadRun) -> RunResult {
    let settings = entries.iter().zip(&run.jobs).map(|(entry, job)| entry.settings(job));
    let mut result = result_as_reading::rebuilt_over(&run, settings);
    result.origin = Origin::Report(Box::new(run));
    for (job, entry) in result.jobs.iter_mut().zip(entries) {
        match get(entry.job, "latency_depth") {
            Some(_) if entry.covers_unlike => {}
            Some(depth) => job.echo.iodepth = result_as_reading::small(Some(depth)),
            // A job that did nothing, or failed before its engine was set up, has no depth.
            None if job.ios() == 0 => job.echo.iodepth = 0,
            // A document without this key: the depth of the options.
            None => {}
        }
        job.first_forgiven_errno = i32::try_from(whole(entry.job, "first_error")).unwrap_or(0);
        if let Some(mixed) = entry.job.get("mixed").and_then(Tree::as_object)
            && job.style.unified == Unified::Mixed
        {
            let reads = &mut job.directions.read;
            (reads.short_ios, reads.dropped_ios) = (whole(mixed, "short_ios"), whole(mixed, "drop_ios"));
        }
    }
    result.global_options = root.get("global options").map(pairs).unwrap_or_default();
    super::own::read_into(root, &mut result);
    result
}

/// Reads the runs of documents.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    echoes: Echoes,
    /// Lines before the documents about workers that failed.
    pub(crate) failures: Failures,
    /// True if readings come with their results.
    pub(crate) gives_results: bool,
}

impl Reader {
    /// Reports the run in a document, and the sum over several clients.
    pub(crate) fn read(&mut self, root: &Tree<'_>, line: u64, sink: &mut Sink<'_>) {
        let Some(list) = list(root) else {
            sink(Event::damage(line, "a JSON document of fio without its list `jobs`"));
            return;
        };
        let (list, sum) = without_sum(list);
        let entries = Entry::all(root, list, &mut self.echoes);
        let mut run = read_run(root, &entries, line);
        self.failures.mark_killed(&mut run);
        if run.jobs.is_empty() {
            sink(Event::damage(line, "a JSON document of fio without a job"));
            return;
        }
        let result = self.gives_results.then(|| Box::new(result_of(root, &entries, run.clone())));
        report(run, result, line, sink);
        if !sum.is_empty() {
            let sum = read_run(root, &Entry::all(root, sum, &mut self.echoes), line);
            report(ReadRun { disks: Vec::new(), ..sum }, None, line, sink);
        }
    }
}

fn report(mut run: ReadRun, result: Option<Box<RunResult>>, line: u64, sink: &mut Sink<'_>) {
    for job in &mut run.jobs {
        // fio prints zeros for a direction without I/O.
        let number = |number: Option<f64>| number.is_some_and(|number| number != 0.0);
        let states_none = job.directions.is_empty();
        job.directions.retain(|direction| number(direction.bytes) || number(direction.ios));
        if states_none && !number(job.errno) {
            let name = job.name.as_deref().unwrap_or_default();
            sink(Event::damage(line, format!("the job `{name}` has no numbers")));
        }
    }
    sink(Event::Reading(Reading { result, ..Reading::new("fio-json", line, Content::Run(Box::new(run))) }));
}

/// The list of a client ends with the sum of its entries, which no job did.
fn without_sum<'list, 'text>(list: &'list [Tree<'text>]) -> (&'list [Tree<'text>], &'list [Tree<'text>]) {
    let is_sum = |entry: &Tree<'_>| entry.get("jobname").and_then(Tree::as_text) == Some(CLIENTS_SUM);
    let jobs = if list.len() > 1 && list.last().is_some_and(is_sum) { list.len() - 1 } else { list.len() };
    list.split_at(jobs)
}

/// The jobs of a document; `client_stats` in the output of a client.
fn list<'root, 'text>(root: &'root Tree<'text>) -> Option<&'root [Tree<'text>]> {
    root.get("jobs").or_else(|| root.get("client_stats")).and_then(Tree::as_list)
}

/// An entry of the list of jobs, and its options.
struct Entry<'document> {
    job: &'document Object<'document>,
    options: Vec<(String, String)>,
    echoed: Option<Rc<EchoedJob>>,
    /// The workers that it covers; `None` if that cannot be seen.
    workers: Option<f64>,
    /// True if it covers jobs that differ: the options are those of one of them.
    covers_unlike: bool,
}

impl<'document> Entry<'document> {
    /// The entries that are objects.
    fn all(root: &Tree<'_>, list: &'document [Tree<'document>], echoes: &mut Echoes) -> Vec<Self> {
        let global = root.get("global options").map(pairs).unwrap_or_default();
        let entry = |job: &'document Object<'document>| {
            let options = job.get("job options").map(pairs).unwrap_or_default();
            Entry { job, echoed: echoes.job(&global, &options), options, workers: None, covers_unlike: false }
        };
        let mut entries: Vec<Self> = list.iter().filter_map(Tree::as_object).map(entry).collect();
        let group = |entry: &Self| get(entry.job, "groupid").unwrap_or(0.0).to_bits();
        let mut in_group: HashMap<u64, usize> = HashMap::new();
        entries.iter().for_each(|entry| *in_group.entry(group(entry)).or_default() += 1);
        for entry in &mut entries {
            entry.workers = match in_group.get(&group(entry)) {
                Some(1) => entry.workers_of_group(),
                // Without group_reporting, each worker has an entry.
                _ => entry.echoed.as_ref().map(|_| 1.0),
            };
            entry.covers_unlike = entry.workers.is_none() && entry.contradicts_its_options();
        }
        entries
    }

    /// The workers of an entry that is alone in its group. With group_reporting it covers the clones of all jobs of the
    /// group, but fio echoes only the options of the first job, and not the word group_reporting if it was a flag of
    /// the command line (before 3.41). Its run time is the sum over its workers.
    fn workers_of_group(&self) -> Option<f64> {
        /// Workers do not start and end at the same time.
        const MORE: f64 = 1.15;
        const MORE_MS: f64 = 20.0;
        let plan = &self.echoed.as_ref()?.plan;
        let times =
            ["read", "write", "trim", "mixed"].map(|direction| get(self.job.get(direction)?.as_object()?, "runtime"));
        let times = times.into_iter().flatten();
        // What was written is read and verified afterwards.
        let each: f64 = if plan.verify.is_some() { times.sum() } else { times.fold(0.0, f64::max) };
        let clones = f64::from(plan.clones.max(1));
        let all = get(self.job, "job_runtime").filter(|_| each > 0.0)?;
        (all <= clones * (each * MORE + MORE_MS)).then_some(clones)
    }

    /// True if what was done cannot be what the options of one job say: with group_reporting, other jobs did it.
    fn contradicts_its_options(&self) -> bool {
        /// An I/O at the end of a file may be shorter.
        const SHORTER: f64 = 0.7;
        const LONGER: f64 = 1.05;
        const MOST_SHARE: f64 = 90.0;
        let Some(echoed) = self.echoed.as_deref().filter(|echoed| echoed.plan.verify.is_none()) else { return false };
        if get(self.job, "error") != Some(0.0) {
            return false;
        }
        let (pattern, sizes) = (echoed.workload.pattern(), echoed.plan.load.size_ranges());
        let kinds =
            [(Direction::Read, "read", true), (Direction::Write, "write", true), (Direction::Trim, "trim", false)];
        let of_direction = |&(direction, word, is_in_mix): &(Direction, &str, bool)| {
            let found = read_direction(self.job.get(word)?.as_object()?, direction.into());
            let (ios, bytes) = (found.ios.filter(|ios| *ios > 0.0)?, found.bytes?);
            let (low, high) = (f64::from(sizes[direction].0), f64::from(sizes[direction].1));
            let is_asked = pattern.contains(word) || (is_in_mix && pattern.contains("rw"));
            Some(!is_asked || bytes < ios * low * SHORTER || bytes > ios * high * LONGER)
        };
        // The bins of depths are powers of two.
        let asked = echoed.plan.depth.asked().clamp(1, 64);
        let levels = shares(self.job, "iodepth_level");
        let was_counted = levels.iter().sum::<f64>() > MOST_SHARE;
        let at_asked = levels.get(asked.ilog2() as usize).copied().filter(|_| was_counted);
        kinds.iter().any(|kind| of_direction(kind) == Some(true)) || at_asked.is_some_and(|share| share < MOST_SHARE)
    }

    /// The writes that `verify_only` walked through: fio counts them, with a runtime of zero.
    fn walked(&self) -> Option<WalkedWrites> {
        let only = self.echoed.as_ref().is_some_and(|job| job.workload.verifies_only);
        let writes = self.job.get("write").and_then(Tree::as_object).filter(|_| only)?;
        let (ios, bytes) = (whole(writes, "total_ios"), whole(writes, "io_bytes"));
        (ios > 0 && whole(writes, "runtime") == 0).then_some(WalkedWrites { ios, bytes })
    }

    /// The parts of a result that a reading lacks: what the job was asked to do, its times, and its goals.
    fn settings(&self, read: &ReadJob) -> JobResult {
        let (job, echoed) = (self.job, self.echoed.as_deref());
        let of_all = echoed.filter(|_| !self.covers_unlike);
        JobResult {
            echo: echoed.map_or_else(Echo::default, |job| echoed::echo(job, self.options.clone())),
            style: echoed.map_or_else(ReportStyle::default, echoed::style),
            workload: of_all.map(|job| job.workload.clone()),
            started_unix_ms: whole(job, "job_start"),
            elapsed_s: whole(job, "elapsed"),
            remaining_s: Some(whole(job, "eta")).filter(|&eta| eta != UNKNOWN_ETA_S),
            runtime: get(job, "job_runtime").map_or_else(|| longest(read), from_printed::milliseconds),
            walked: self.walked(),
            latency_goal: super::steer::read_goal(job),
            steady: super::steer::read_steady(job),
            blocks: super::steer::read_blocks(job),
            workers: echoed.map_or(1, |echoed| echoed.plan.clones.max(1)),
            ..JobResult::default()
        }
    }
}

/// Leaves what was done. fio computes latencies of writes that were not issued, too, and has them in its latency bins.
fn take_out_walked(job: &mut ReadJob) {
    for direction in job.directions.iter_mut().filter(|direction| direction.kind == ReadKind::Write) {
        let timed = direction.completion.as_ref().is_some_and(|latency| latency.max_ns > Some(0.0));
        if timed {
            job.latency_shares.clear();
        }
        *direction = ReadDirection { bytes: Some(0.0), ios: Some(0.0), ..ReadDirection::new(ReadKind::Write) };
    }
}

fn read_run(root: &Tree<'_>, entries: &[Entry<'_>], line: u64) -> ReadRun {
    let disks = root.get("disk_util").and_then(Tree::as_list);
    // The clients of one server have one name; a sum over several has none.
    let mut hosts = entries.iter().map(|entry| entry.job.get("hostname").and_then(Tree::as_text));
    let host = hosts.next().flatten().filter(|first| hosts.all(|other| other == Some(*first)));
    ReadRun {
        version: root.get("fio version").and_then(Tree::as_text).map(str::to_owned),
        host: host.map(str::to_owned),
        ended_unix_s: number(root.get("timestamp_ms")).map(|ms| ms / 1000.0).or_else(|| number(root.get("timestamp"))),
        jobs: entries.iter().map(|entry| read_job(entry, line)).collect(),
        disks: disks.into_iter().flatten().filter_map(Tree::as_object).map(read_disk).collect(),
        ..ReadRun::default()
    }
}

fn pairs(value: &Tree<'_>) -> Vec<(String, String)> {
    let entries = value.as_object().into_iter().flat_map(Object::iter);
    entries.map(|(name, value)| (name.to_owned(), value.as_text().unwrap_or_default().to_owned())).collect()
}

fn number(value: Option<&Tree<'_>>) -> Option<f64> {
    value.and_then(Tree::as_number).filter(|value| value.is_finite())
}

fn get(object: &Object<'_>, key: &str) -> Option<f64> {
    number(object.get(key))
}

/// A whole number; a missing or negative value is 0.
fn whole(object: &Object<'_>, key: &str) -> u64 {
    result_as_reading::count(get(object, key))
}

fn read_job(entry: &Entry<'_>, line: u64) -> ReadJob {
    let Entry { job, echoed, covers_unlike, .. } = entry;
    let echoed = echoed.as_ref().filter(|_| !covers_unlike);
    let plan = echoed.map(|echoed| &echoed.plan);
    let mut found = ReadJob {
        line,
        name: job.get("jobname").and_then(Tree::as_text).map(str::to_owned),
        group: get(job, "groupid"),
        workers: entry.workers,
        errno: get(job, "error"),
        description: job.get("desc").and_then(Tree::as_text).map(str::to_owned),
        pattern: echoed.map(|echoed| echoed.workload.pattern().to_owned()),
        engine: echoed.map(|echoed| echoed.engine.clone()),
        depth: get(job, "latency_depth")
            .filter(|_| !covers_unlike)
            .or_else(|| plan.map(|plan| f64::from(plan.depth.asked()))),
        block_sizes: plan.map(block_sizes).unwrap_or_default(),
        user_percent: get(job, "usr_cpu"),
        system_percent: get(job, "sys_cpu"),
        switches: get(job, "ctx"),
        major_faults: get(job, "majf"),
        minor_faults: get(job, "minf"),
        depth_percent: shares(job, "iodepth_level"),
        submit_percent: shares(job, "iodepth_submit"),
        complete_percent: shares(job, "iodepth_complete"),
        forgiven_errors: get(job, "total_err"),
        ..ReadJob::default()
    };
    for (key, unit) in [("latency_ns", 1.0), ("latency_us", 1e3), ("latency_ms", 1e6)] {
        let bins = job.get(key).and_then(Tree::as_object).into_iter().flat_map(Object::iter);
        found.latency_shares.extend(bins.filter_map(|(bound, share)| {
            let below_ns = read_number::whole(bound).map(|bound| bound * unit);
            let percent = number(Some(share)).filter(|share| *share > 0.0)?;
            (below_ns.is_some() || bound == ">=2000").then_some(LatencyShare { below_ns, percent })
        }));
    }
    let kinds = [ReadKind::Read, ReadKind::Write, ReadKind::Trim, ReadKind::Mixed];
    found.directions =
        kinds.into_iter().filter_map(|kind| Some(read_direction(job.get(kind.word())?.as_object()?, kind))).collect();
    let resets = get(job, "zone_resets");
    for found in &mut found.directions {
        found.zone_resets = resets.filter(|_| matches!(found.kind, ReadKind::Write | ReadKind::Trim));
    }
    if entry.walked().is_some() {
        take_out_walked(&mut found);
    }
    let moved =
        |kind: ReadKind, key: &str| job.get(kind.word()).and_then(Tree::as_object).and_then(|object| get(object, key));
    found.issued = totals(kinds, |kind| moved(kind, "total_ios"));
    if let (Some(_), [_, writes, ..]) = (entry.walked(), &mut found.issued[..]) {
        *writes = 0.0;
    }
    found.short = totals(kinds, |kind| moved(kind, "short_ios"));
    found.dropped = totals(kinds, |kind| moved(kind, "drop_ios"));
    if let Some(sync) = job.get("sync").and_then(Tree::as_object) {
        let count = get(sync, "total_ios").unwrap_or(0.0);
        if found.issued.len() == 3 {
            found.issued.push(count);
        }
        found.sync = latency(sync, ["lat_ns", "lat"]);
    }
    found
}

/// Smallest and largest block of reads, writes and trims; trailing directions equal to the one before are omitted.
fn block_sizes(plan: &JobPlan) -> Vec<(f64, f64)> {
    let sizes = plan.load.size_ranges();
    let mut found: Vec<_> = sizes.iter().map(|(_, &(low, high))| (f64::from(low), f64::from(high))).collect();
    while let [.., before, last] = found[..]
        && before == last
    {
        found.pop();
    }
    found
}

/// Totals of reads, writes and trims; empty if reads or writes are missing.
fn totals(kinds: [ReadKind; 4], count: impl Fn(ReadKind) -> Option<f64>) -> Vec<f64> {
    match (count(kinds[0]), count(kinds[1])) {
        (Some(reads), Some(writes)) => vec![reads, writes, count(kinds[2]).unwrap_or(0.0)],
        _ => Vec::new(),
    }
}

/// The shares in the order of their bins, `>=64` last: programs that write fio's document again sort its keys as words.
fn shares(job: &Object<'_>, key: &str) -> Vec<f64> {
    let bins = job.get(key).and_then(Tree::as_object).into_iter().flat_map(Object::iter);
    let order = |name: &str| name.strip_prefix(">=").map_or_else(|| read_number::whole(name), |_| Some(f64::INFINITY));
    let mut found: Vec<(f64, f64)> =
        bins.filter_map(|(name, share)| Some((order(name)?, number(Some(share))?))).collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    found.into_iter().map(|(_, share)| share).collect()
}

fn read_direction(object: &Object<'_>, kind: ReadKind) -> ReadDirection {
    // Up to fio 2.x `io_bytes` was in KiB; 3.x counts bytes and adds `io_kbytes` in KiB.
    let modern = object.has("io_kbytes") || object.has("slat_ns") || object.has("clat_ns");
    let io = get(object, "io_bytes");
    let moved = if modern { io } else { io.map(|kib| kib * 1024.0) };
    let ios = get(object, "total_ios");
    let kib = |key: &str| get(object, key).map(|kib| kib * 1024.0);
    let samples = |[min, max, mean, deviation, count]: [&str; 5], unit: f64| {
        let value = |key: &str| get(object, key).map(|value| value * unit);
        let (min, max, mean, deviation) = (value(min), value(max), value(mean), value(deviation));
        ReadSamples { min, max, mean, deviation, count: get(object, count), percent_of_group: None }
    };
    let bandwidth = samples(["bw_min", "bw_max", "bw_mean", "bw_dev", "bw_samples"], 1024.0);
    let bandwidth = ReadSamples { percent_of_group: get(object, "bw_agg"), ..bandwidth };
    let iops_samples = samples(["iops_min", "iops_max", "iops_mean", "iops_stddev", "iops_samples"], 1.0);
    // Without samples, drop the section: the text report has no line for it either.
    let taken = |samples: ReadSamples| {
        (samples.max.unwrap_or(0.0) > 0.0 || samples.count.unwrap_or(0.0) > 0.0).then_some(samples)
    };
    ReadDirection {
        bytes: moved,
        bytes_per_second: get(object, "bw_bytes").or_else(|| kib("bw")),
        iops: get(object, "iops"),
        runtime_ms: get(object, "runtime"),
        ios,
        submission: latency(object, ["slat_ns", "slat"]),
        completion: latency(object, ["clat_ns", "clat"]),
        total: latency(object, ["lat_ns", "lat"]),
        priorities: object
            .get("prios")
            .and_then(Tree::as_list)
            .into_iter()
            .flatten()
            .filter_map(|of| read_priority(of.as_object()?, ios))
            .collect(),
        bandwidth: taken(bandwidth),
        iops_samples: taken(iops_samples),
        ..ReadDirection::new(kind)
    }
}

/// Latencies of one priority; its share is its part of the I/O count.
fn read_priority(object: &Object<'_>, ios: Option<f64>) -> Option<ReadPriority> {
    let completion = latency(object, ["clat_ns", "clat"]).map(|latency| (PriorityTime::Completion, latency));
    let (time, latency) = completion.or_else(|| Some((PriorityTime::Total, latency(object, ["lat_ns", "lat"])?)))?;
    Some(ReadPriority {
        class: get(object, "prioclass")?,
        level: get(object, "prio")?,
        hint: get(object, "priohint"),
        percent: latency.count.zip(ios).filter(|(_, ios)| *ios > 0.0).map(|(count, ios)| 100.0 * count / ios),
        time,
        latency,
    })
}

/// `NAME_ns` of fio 3.x, or `NAME` in µs of older versions; `None` if nothing was measured.
fn latency(object: &Object<'_>, [in_ns, in_us]: [&str; 2]) -> Option<ReadLatency> {
    let (found, unit) = match object.get(in_ns) {
        Some(found) => (found, 1.0),
        None => (object.get(in_us)?, 1e3),
    };
    let found = found.as_object()?;
    let value = |key: &str| get(found, key).map(|value| value * unit);
    if get(found, "N").map_or_else(|| value("max").unwrap_or(0.0) == 0.0, |count| count == 0.0) {
        return None;
    }
    let pairs = |key: &str, of_key: f64, of_value: f64| -> Vec<(f64, f64)> {
        let entries = found.get(key).and_then(Tree::as_object).into_iter().flat_map(Object::iter);
        let mut pairs: Vec<(f64, f64)> = entries
            .filter_map(|(name, value)| Some((read_number::whole(name)? * of_key, number(Some(value))? * of_value)))
            .collect();
        pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
        pairs
    };
    let mut percentiles = pairs("percentile", 1.0, unit);
    // Old versions print unused entries of the percentile list as 0.
    percentiles.retain(|&(percent, _)| percent > 0.0);
    Some(ReadLatency {
        count: get(found, "N"),
        min_ns: value("min"),
        max_ns: value("max"),
        mean_ns: value("mean"),
        deviation_ns: value("stddev"),
        percentiles,
        bins: pairs("bins", unit, 1.0),
    })
}

fn read_disk(disk: &Object<'_>) -> ReadDisk {
    let pair = |reads: &str, writes: &str| Some((get(disk, reads)?, get(disk, writes)?));
    ReadDisk {
        name: disk.get("name").and_then(Tree::as_text).unwrap_or_default().to_owned(),
        ios: pair("read_ios", "write_ios"),
        sectors: pair("read_sectors", "write_sectors"),
        merges: pair("read_merges", "write_merges"),
        ticks_ms: pair("read_ticks", "write_ticks"),
        in_queue_ms: get(disk, "in_queue"),
        utilisation_percent: get(disk, "util"),
    }
}
