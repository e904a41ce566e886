//! Parsers of single lines of fio's text report: their numbers in base units.

use super::{Priority, Target};
use crate::printable;
use crate::read_number::{
    Era, Heading, Pairs, Suffix, after_key, bytes, count, leading, percent, split_at, split_at_colon, trimmed, unit,
    whole,
};
use model::reading::{
    LatencyShare, PriorityTime, ReadDirection, ReadDisk, ReadGroup, ReadJob, ReadKind, ReadLatency, ReadProgress,
    ReadSamples,
};

/// Number of bins that the latencies of one job usually fill; a capacity hint.
const USUAL_SHARES: usize = 16;

/// Start of a line, shortened for a message.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = printable::line(text).chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("`{short}`")
}

/// The line without the name of the server that a client of fio puts before it: `<host> a: (g=0): ..`.
pub(super) fn without_host(text: &str) -> &str {
    let host = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    match host {
        Some((host, rest)) if !host.is_empty() && !host.contains([' ', '<', '/']) => rest.trim_start(),
        _ => text,
    }
}

/// A cut line without its last word, which may be a part of one. Whole lines end in `msec`, `%` or a bracket.
pub(super) fn without_broken_word(text: &str) -> &str {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '.';
    if text.ends_with("msec") || !text.ends_with(is_part) {
        return text;
    }
    text.trim_end_matches(is_part)
}

/// Parses the text after `NAME: (g=`; the second value is false if part of it is missing.
pub(super) fn announced(name: &str, rest: &str) -> (ReadJob, bool) {
    let group = leading(rest).map(|(group, _)| group);
    let mut job = ReadJob { name: Some(name.trim().to_owned()), group, ..ReadJob::default() };
    let value = |key: &str| {
        let rest = after_key(rest, key)?;
        let end = memchr::memchr2(b',', b' ', rest.as_bytes()).unwrap_or(rest.len());
        Some(rest[..end].trim())
    };
    job.pattern = value(" rw=").filter(|word| !word.is_empty()).map(str::to_owned);
    job.engine = value("ioengine=").map(str::to_owned);
    job.depth = value("iodepth=").and_then(whole);
    if let Some(sizes) = after_key(rest, "bs=") {
        let end = memchr::memchr_iter(b',', sizes.as_bytes()).find(|&at| sizes[at..].starts_with(", ioengine"));
        let sizes = &sizes[..end.unwrap_or(sizes.len())];
        let ranges = sizes.split(['/', ',']).filter(|range| !range.trim().is_empty());
        job.block_sizes = ranges.filter_map(block_range).collect();
    }
    let whole = job.pattern.is_some() && job.engine.is_some() && !job.block_sizes.is_empty();
    (job, whole)
}

/// Parses the line that announces a job of an engine without I/O: `NAME (noop): ioengine=cpuio, cpuload=50`.
pub(super) fn announced_without_io(text: &str) -> Option<ReadJob> {
    let (name, rest) = text.split_once(" (noop): ioengine=")?;
    let engine = rest.split(',').next().map(str::trim).filter(|engine| !engine.is_empty())?;
    Some(ReadJob { name: Some(name.trim().to_owned()), engine: Some(engine.to_owned()), ..ReadJob::default() })
}

/// `4K-4K`, `(R) 4096B-4096B` or `8K` in bytes.
fn block_range(text: &str) -> Option<(f64, f64)> {
    let text = text.trim().trim_start_matches(['(', 'R', 'W', 'T', ')', ' ']);
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    // `1M` is binary. Since fio 3 there is a B, and `1.05MB` of kb_base=1000 is decimal.
    let era = if text.ends_with('B') { Era::Decimal } else { Era::Binary };
    Some((bytes(low, era)?, bytes(high, era)?))
}

/// The line with fio's version: `fio-2.0.13`, `fio 1.59`, or just `2.0.8` in some builds.
pub(super) fn version(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("fio-").or_else(|| text.strip_prefix("fio ")) {
        let number = rest.strip_prefix("fio-").unwrap_or(rest);
        return (number.starts_with(|letter: char| letter.is_ascii_digit()) && !number.contains([' ', '=']))
            .then_some(text);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let is_number = |part: &str| (1..4).contains(&part.len());
    (text.split('.').count() >= 3 && text.split('.').all(is_number)).then_some(text)
}

/// `Starting 8 processes`, `Starting 2 threads and 1 process`.
pub(super) fn started(text: &str) -> Option<f64> {
    let (first, rest) = leading(text.strip_prefix("Starting ")?)?;
    let second = rest.split_once(" and ").and_then(|(_, rest)| leading(rest)).map_or(0.0, |(number, _)| number);
    Some(first + second)
}

/// `a: Laying out IO file(s) (1 file(s) / 3072MB)`: the job and the bytes.
pub(super) fn laid_out(text: &str) -> Option<(&str, f64)> {
    let mut colons = memchr::memchr_iter(b':', text.as_bytes());
    let (name, rest) = colons.find_map(|at| Some((&text[..at], text[at..].strip_prefix(": Laying out IO file")?)))?;
    let (_, size) = rest.rsplit_once('/')?;
    let era = if rest.starts_with("(s)") { Era::Binary } else { Era::Decimal };
    Some((name, bytes(size.trim_end_matches(')'), era)?))
}

/// `Jobs: 8 (f=8): [R..] [100.0% done] [89262K/0K/0K /s] [22.4K/0 /0 iops] [eta 00m:00s]`, and its later layouts.
pub(super) fn progress(text: &str) -> Option<ReadProgress> {
    let (jobs, rest) = leading(text.strip_prefix("Jobs: ")?)?;
    let files = rest.split_once("(f=").and_then(|(_, rest)| leading(rest)).map(|(files, _)| files);
    let mut found = ReadProgress { jobs: Some(jobs), files, ..ReadProgress::default() };
    for part in rest.split('[').skip(1) {
        let part = part.split(']').next().unwrap_or_default().trim();
        if let Some(eta) = part.strip_prefix("eta ") {
            found.eta_s = eta_seconds(eta);
        } else if part.as_bytes().get(1) == Some(&b'=') {
            match part.strip_suffix("IOPS") {
                Some(rates) => found.iops = lettered(rates, count),
                None => found.bytes_per_second = lettered(part, |rate| bytes(rate, Era::Decimal)),
            }
        } else if part.contains('i')
            && let Some((rates, _)) = part.split_once(" iops")
        {
            found.iops = rates.split('/').filter_map(|rate| count(rate.trim())).collect();
        } else if let Some(rates) = part.strip_suffix("/s") {
            found.bytes_per_second = rates.split('/').filter_map(|rate| progress_rate(rate.trim())).collect();
        } else if let Some(done) = part.split('%').next().and_then(whole).filter(|_| part.contains('%')) {
            found.percent = Some(done);
        }
    }
    Some(found)
}

fn progress_rate(text: &str) -> Option<f64> {
    bytes(text, Era::Binary)
}

/// The values of `r=1MiB/s,w=2MiB/s`.
fn lettered(list: &str, read: impl Fn(&str) -> Option<f64>) -> Vec<f64> {
    Pairs(list).filter_map(|(_, value)| read(value)).collect()
}

fn eta_seconds(text: &str) -> Option<f64> {
    let factor = |letter: &str| match letter {
        "d" => Some(86_400.0),
        "h" => Some(3600.0),
        "m" => Some(60.0),
        "s" => Some(1.0),
        _ => None,
    };
    text.split(':').map(|part| leading(part).and_then(|(value, letter)| Some(value * factor(letter.trim())?))).sum()
}

/// Parses the text after `NAME: (groupid=`; false if part of it is missing.
pub(super) fn job_head(job: &mut ReadJob, rest: &str) -> bool {
    job.group = leading(rest).map(|(group, _)| group);
    let number = |key: &str| after_key(rest, key).and_then(leading).map(|(number, _)| number);
    job.workers = number("jobs=");
    job.errno = number("err=");
    job.pid = number("pid=");
    if let Some(rest) = after_key(rest, "pid=") {
        job.date = split_at_colon(rest).map(|(_, date)| date.trim().to_owned()).filter(|date| !date.is_empty());
    }
    job.group.is_some() && job.workers.is_some() && job.errno.is_some()
}

/// The direction of a rate line and the text after it; group lines are upper case and do not match.
pub(super) fn rate_head(text: &str) -> Option<(ReadKind, &str)> {
    let (kind, rest) = match text.as_bytes().first()? {
        b'r' => (ReadKind::Read, text.strip_prefix("read")?),
        b'w' => (ReadKind::Write, text.strip_prefix("write")?),
        b't' => (ReadKind::Trim, text.strip_prefix("trim")?),
        b'm' => (ReadKind::Mixed, text.strip_prefix("mixed")?),
        _ => return None,
    };
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    (rest.starts_with("io=") || rest.starts_with("IOPS=")).then_some((kind, rest))
}

/// Fills in a rate line; returns its unit convention, `None` if the line is damaged.
pub(super) fn rate(direction: &mut ReadDirection, rest: &str) -> Option<Era> {
    if !rest.starts_with("IOPS=") {
        for (key, value) in Pairs(rest) {
            match key {
                "io" => direction.bytes = bytes(value, Era::Binary),
                "bw" => direction.bytes_per_second = bytes(value, Era::Binary),
                "iops" => direction.iops = count(value),
                "runt" => direction.runtime_ms = value.strip_suffix("msec").and_then(whole),
                _ => {}
            }
        }
        let all = direction.bytes.and(direction.bytes_per_second).and(direction.iops).and(direction.runtime_ms);
        return all.map(|_| Era::Binary);
    }
    direction.iops = rest[5..].split_once(',').and_then(|(iops, _)| count(iops));
    let (_, rates) = rest.split_once("BW=")?;
    let (bandwidth, rest) = rates.split_once(' ')?;
    direction.bytes_per_second = bytes(bandwidth, Era::Decimal);
    // `(18.6MB/s)(4096KiB/225msec)`: the same rate in other units, then amount and time.
    let (amount, rest) = rest.rsplit_once('(')?.1.split_once("msec)")?;
    let (moved, time) = amount.split_once('/')?;
    direction.bytes = bytes(moved, Era::Decimal);
    direction.runtime_ms = whole(time);
    direction.zone_resets = rest.strip_prefix("; ").and_then(leading).map(|(resets, _)| resets);
    let all = direction.bytes.and(direction.bytes_per_second).and(direction.iops).and(direction.runtime_ms);
    all.map(|_| Era::Decimal)
}

/// A line with latencies, or the heading of a percentile table.
pub(super) struct LatencyLine<'line> {
    pub(super) target: Target,
    pub(super) unit_ns: f64,
    pub(super) heads_percentiles: bool,
    /// Percentage of I/Os that have this priority, if the line has it.
    pub(super) percent: Option<f64>,
    pub(super) rest: &'line str,
}

impl<'line> LatencyLine<'line> {
    /// `clat (usec): min=..`, `lat percentiles (nsec):`; lines of bins (`lat (usec) : 50=..`) do not match.
    pub(super) fn of(text: &'line str) -> Option<Self> {
        let (target, rest) = match text.as_bytes().first()? {
            b'c' => (Target::Completion, text.strip_prefix("clat ")?),
            b'l' => (Target::Total, text.strip_prefix("lat ")?),
            b's' => match text.strip_prefix("slat ") {
                Some(rest) => (Target::Submission, rest),
                None => (Target::Sync, text.strip_prefix("sync ")?),
            },
            _ => return None,
        };
        let (target, percent, rest) = match rest.strip_prefix("prio ") {
            Some(rest) => priority(target, rest)?,
            None => (target, None, rest),
        };
        let (rest, heads_percentiles) = match rest.strip_prefix("percentiles ") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (name, rest) = rest.strip_prefix('(')?.split_once(')')?;
        let unit_ns = unit_ns(name)?;
        let rest = rest.trim_start().strip_prefix(':')?.trim_start();
        (heads_percentiles || rest.starts_with("min=")).then_some(LatencyLine {
            target,
            unit_ns,
            heads_percentiles,
            percent,
            rest,
        })
    }
}

/// `2/3 (usec): ..`, `1/0/4 (58.62% of IOs) percentiles ..`: class, level and hint; the percentage; the remaining text.
fn priority(target: Target, text: &str) -> Option<(Target, Option<f64>, &str)> {
    let time = match target {
        Target::Completion => PriorityTime::Completion,
        Target::Total => PriorityTime::Total,
        Target::Submission | Target::Sync | Target::Priority(_) => return None,
    };
    let (numbers, rest) = text.split_once(' ')?;
    let mut fields = numbers.split('/').map(|field| field.parse::<u16>().ok());
    let (class, level) = (fields.next()??, fields.next()??);
    let hint = match fields.next() {
        Some(hint) => Some(hint?),
        None => None,
    };
    let (percent, rest) = match rest.strip_prefix('(').and_then(|rest| rest.split_once("% of IOs) ")) {
        Some((percent, rest)) => (Some(count(percent)?), rest),
        None => (None, rest),
    };
    Some((Target::Priority(Priority { time, class, level, hint }), percent, rest))
}

fn unit_ns(name: &str) -> Option<f64> {
    match name.trim() {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        "sec" => Some(1e9),
        _ => None,
    }
}

/// True for what fio prints where it divided by 0.
fn is_nan(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    ["nan", "inf"].iter().any(|word| text.starts_with(word))
}

/// `min=36 , max=10252 , avg=281.03, stdev=206.24`; `None` if a value is missing or damaged, but not for a `nan`.
pub(super) fn moments(line: &LatencyLine<'_>) -> Option<ReadLatency> {
    let mut found = ReadLatency::default();
    let mut named = 0;
    let heading = Heading { unit: line.unit_ns, suffix: Suffix::Multiplies };
    for (key, value) in Pairs(line.rest) {
        let slot = match key {
            "min" => &mut found.min_ns,
            "max" => &mut found.max_ns,
            "avg" => &mut found.mean_ns,
            "stdev" => &mut found.deviation_ns,
            _ => continue,
        };
        *slot = heading.value(value);
        named += usize::from(slot.is_some() || is_nan(value));
    }
    (named == 4).then_some(found)
}

/// Splits a line at `],`.
pub(super) fn pairs_in_brackets(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let bytes = text.as_bytes();
        let end = memchr::memchr_iter(b']', bytes).find(|&at| bytes.get(at + 1) == Some(&b','));
        rest = end.map(|at| &text[at + 2..]);
        Some(end.map_or(text, |at| &text[..at]))
    })
}

/// ` 1.00th=[   69`, with or without the closing bracket.
pub(super) fn percentile(pair: &str) -> Option<(f64, f64)> {
    let bytes = pair.as_bytes();
    let at = memchr::memchr_iter(b'[', bytes).find(|&at| bytes[..at].ends_with(b"th="))?;
    let (percent, value) = (&pair[..at - "th=".len()], &pair[at + 1..]);
    Some((whole(trimmed(percent))?, whole(trimmed(value).trim_end_matches(']'))?))
}

/// Names the direction that a job lacks whose report ends within it.
pub(super) fn missing(job: &ReadJob) -> Option<String> {
    const BOTH: [(&str, ReadKind, ReadKind); 5] = [
        ("rw", ReadKind::Read, ReadKind::Write),
        ("readwrite", ReadKind::Read, ReadKind::Write),
        ("randrw", ReadKind::Read, ReadKind::Write),
        ("trimwrite", ReadKind::Write, ReadKind::Trim),
        ("randtrimwrite", ReadKind::Write, ReadKind::Trim),
    ];
    let pattern = job.pattern.as_deref()?;
    let &(_, first, second) = BOTH.iter().find(|(name, ..)| *name == pattern)?;
    let has = |kind: ReadKind| {
        job.directions.iter().any(|direction| direction.kind == kind || direction.kind == ReadKind::Mixed)
    };
    let lacking = [first, second].into_iter().find(|&kind| !has(kind)).filter(|_| job.issued.is_empty())?;
    let name = job.name.as_deref().unwrap_or_default();
    Some(format!("the {}s of the job `{name}` ({pattern}) are missing", lacking.word()))
}

/// True if the job has what this line states: lines of two reports are mixed.
pub(super) fn is_second(job: &ReadJob, text: &str) -> bool {
    match text.as_bytes() {
        [b'c', b'p', b'u', ..] => job.user_percent.is_some(),
        [b'I', b'O', b' ', b'd', ..] => !job.depth_percent.is_empty(),
        [b'i', b's', b's', ..] => !job.issued.is_empty(),
        _ => false,
    }
}

/// Parses other lines of a job block than rates, latencies, percentiles: `None` if it is none, false if damaged.
pub(super) fn job_line(job: &mut ReadJob, text: &str) -> Option<bool> {
    let (head, rest) = split_at(text, b':')?;
    let head = trimmed(head);
    let rest = trimmed(rest);
    match head {
        "cpu" => Some(processor(job, rest)),
        "IO depths" => Some(shares(&mut job.depth_percent, rest)),
        "submit" => Some(shares(&mut job.submit_percent, rest)),
        "complete" => Some(shares(&mut job.complete_percent, rest)),
        "issued" | "issued rwt" | "issued rwts" => Some(issued(job, rest)),
        "errors" => {
            job.forgiven_errors = Pairs(rest).find(|(key, _)| *key == "total").and_then(|(_, value)| whole(value));
            Some(job.forgiven_errors.is_some())
        }
        "latency" => {
            let depth = Pairs(rest).find(|(key, _)| *key == "depth").and_then(|(_, value)| whole(value));
            job.depth = job.depth.or(depth);
            Some(depth.is_some())
        }
        "Description" => {
            job.description = Some(rest.trim_start_matches('[').trim_end_matches(']').to_owned());
            Some(true)
        }
        "lat (nsec)" | "lat (usec)" | "lat (msec)" => Some(latency_shares(job, head, rest)),
        "iops" => Some(samples(job, rest, None)),
        _ if head.starts_with("fsync/") => Some(true),
        _ => {
            let (name, rest_of_head) = head.split_once('(')?;
            let name = name.trim();
            if name != "bw" {
                return None;
            }
            let unit_name = rest_of_head.trim_end_matches(')').trim();
            // An upper-case KB is 1024 bytes in all versions that print it; kB, KiB and MiB are unambiguous.
            let era = if unit_name.starts_with('k') || unit_name == "MB/s" { Era::Decimal } else { Era::Binary };
            Some(match unit(unit_name, era) {
                Some(factor) => samples(job, rest, Some(factor)),
                None => false,
            })
        }
    }
}

fn processor(job: &mut ReadJob, rest: &str) -> bool {
    for (key, value) in Pairs(rest) {
        match key {
            "usr" => job.user_percent = percent(value),
            "sys" => job.system_percent = percent(value),
            "ctx" => job.switches = whole(value),
            "majf" => job.major_faults = whole(value),
            "minf" => job.minor_faults = whole(value),
            _ => {}
        }
    }
    job.user_percent.and(job.system_percent).and(job.switches).and(job.major_faults).and(job.minor_faults).is_some()
}

/// Splits at commas.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (part, behind) = split_at(text, b',').map_or((text, None), |(part, behind)| (part, Some(behind)));
        rest = behind;
        Some(part)
    })
}

fn behind_last_equal(pair: &str) -> Option<(&str, &str)> {
    let at = pair.bytes().rposition(|byte| byte == b'=')?;
    Some((&pair[..at], &pair[at + 1..]))
}

/// `1=100.0%, 2=0.0%, .., >=64=0.0%`: the values in order.
fn shares(slot: &mut Vec<f64>, rest: &str) -> bool {
    const BINS: usize = 7;
    // `>=64=` has two equal signs: the value is after the last one.
    slot.clear();
    slot.reserve_exact(BINS);
    slot.extend(parts(rest).filter_map(|pair| percent(behind_last_equal(pair)?.1)));
    slot.len() == BINS
}

/// `total=r=1684486/w=0/d=0, short=r=0/..`, `total=r=.. dropped=..`, `total=0,512,0,63 short=0,0,0,0 dropped=0,0,0,0`.
fn issued(job: &mut ReadJob, rest: &str) -> bool {
    let numbers = |key: &str| -> Vec<f64> {
        let Some(list) = after_key(rest, key) else { return Vec::new() };
        let list = split_at(list, b' ').map_or(list, |(list, _)| list.strip_suffix(',').unwrap_or(list));
        list.split(['/', ','])
            .map_while(|item| whole(behind_last_equal(item).map_or(item, |(_, value)| value)))
            .collect()
    };
    job.issued = numbers("total=");
    job.short = numbers("short=");
    job.dropped = numbers("dropped=");
    job.issued.len() >= 3 && job.short.len() >= 3
}

/// `50=0.01%, 100=9.80%` of `lat (usec)`, in order of the bins.
fn latency_shares(job: &mut ReadJob, head: &str, rest: &str) -> bool {
    let name = head.trim_start_matches("lat (").trim_end_matches(')');
    let Some(unit) = unit_ns(name) else { return false };
    let before = job.latency_shares.len();
    if before == 0 {
        job.latency_shares.reserve(USUAL_SHARES);
    }
    let mut whole_line = true;
    for pair in parts(rest) {
        let Some((bound, share)) = behind_last_equal(pair) else {
            whole_line = false;
            continue;
        };
        let bound = trimmed(bound);
        let below_ns = whole(bound).map(|bound| bound * unit);
        match percent(share) {
            Some(percent) if below_ns.is_some() || bound == ">=2000" => {
                job.latency_shares.push(LatencyShare { below_ns, percent });
            }
            _ => whole_line = false,
        }
    }
    whole_line && job.latency_shares.len() > before
}

/// `min=10136, max=17056, per=12.52%, avg=14061.48, stdev=1019.32, samples=9`.
fn samples(job: &mut ReadJob, rest: &str, factor: Option<f64>) -> bool {
    let Some(direction) = job.directions.last_mut() else { return false };
    let mut found = ReadSamples::default();
    let heading = Heading { unit: factor.unwrap_or(1.0), suffix: Suffix::Multiplies };
    let mut named = 0;
    for (key, value) in Pairs(rest) {
        let slot = match key {
            "min" => &mut found.min,
            "max" => &mut found.max,
            "avg" => &mut found.mean,
            _ => {
                match key {
                    "per" => found.percent_of_group = percent(value),
                    "stdev" => found.deviation = heading.value(value),
                    "samples" => found.count = whole(value),
                    _ => {}
                }
                continue;
            }
        };
        *slot = heading.value(value);
        named += usize::from(slot.is_some() || is_nan(value));
    }
    let whole = named == 3;
    let slot = if factor.is_some() { &mut direction.bandwidth } else { &mut direction.iops_samples };
    *slot = Some(found);
    whole
}

/// Keys of a group line up to fio 2.
const OLD_GROUP_KEYS: [&str; 6] = ["io", "aggrb", "minb", "maxb", "mint", "maxt"];

/// `READ: io=.., aggrb=..` or `READ: bw=.. (..), ..`; the second value is true if the line is complete.
pub(super) fn group(text: &str, number: Option<f64>) -> Option<(ReadGroup, bool)> {
    const HEADS: [(&str, ReadKind); 4] =
        [("READ", ReadKind::Read), ("WRITE", ReadKind::Write), ("TRIM", ReadKind::Trim), ("MIXED", ReadKind::Mixed)];
    let (head, rest) = text.split_once(':')?;
    let &(_, kind) = HEADS.iter().find(|(word, _)| *word == head.trim())?;
    let mut found = ReadGroup { group: number, kind, ..ReadGroup::default() };
    if rest.trim_start().starts_with("io=") {
        let rate = |value| bytes(value, Era::Binary);
        let time = |value: &str| whole(value.strip_suffix("msec")?);
        let mut values: [Option<&str>; OLD_GROUP_KEYS.len()] = [None; OLD_GROUP_KEYS.len()];
        for (key, value) in Pairs(rest) {
            if let Some(at) = OLD_GROUP_KEYS.iter().position(|known| *known == key) {
                values[at].get_or_insert(value);
            }
        }
        let [amount, all, least, most, shortest, longest] = values;
        found.bytes = amount.and_then(rate);
        found.bytes_per_second = all.and_then(rate);
        found.range_bytes_per_second = least.and_then(rate).zip(most.and_then(rate));
        found.runtime_ms = shortest.and_then(time).zip(longest.and_then(time));
    } else {
        let first = |text: &str| bytes(text.split(" (").next().unwrap_or_default(), Era::Decimal);
        let after = |key: &str| after_key(rest, key);
        found.bytes_per_second = after("bw=").and_then(first);
        found.bytes = after("io=").and_then(|rest| first(rest.split(", ").next().unwrap_or_default()));
        let range = after("bw=").and_then(|rest| rest.split_once("), ")).map(|(_, rest)| rest);
        found.range_bytes_per_second = range
            .and_then(|rest| rest.split(" (").next().unwrap_or_default().split_once('-'))
            .and_then(|(low, high)| Some((bytes(low, Era::Decimal)?, bytes(high, Era::Decimal)?)));
        found.runtime_ms = after("run=")
            .and_then(|rest| rest.strip_suffix("msec")?.split_once('-'))
            .and_then(|(low, high)| Some((whole(low)?, whole(high)?)));
    }
    let all = found.bytes.and(found.bytes_per_second).and(found.range_bytes_per_second).and(found.runtime_ms).is_some();
    Some((found, all))
}

/// `vda: ios=15286/104, merge=0/0, ticks=2195/18, in_queue=2220, util=55.06%`; true if the line is complete.
pub(super) fn disk(text: &str) -> Option<(ReadDisk, bool)> {
    let (name, rest) = split_at_colon(text)?;
    if !rest.trim_start().starts_with("ios=") {
        return None;
    }
    let mut found = ReadDisk { name: name.trim().to_owned(), ..ReadDisk::default() };
    let pair = |value: &str| split_at(value, b'/').and_then(|(reads, writes)| Some((whole(reads)?, whole(writes)?)));
    for (key, value) in Pairs(rest) {
        match key {
            "ios" => found.ios = pair(value),
            "sectors" => found.sectors = pair(value),
            "merge" => found.merges = pair(value),
            "ticks" => found.ticks_ms = pair(value),
            "in_queue" => found.in_queue_ms = whole(value),
            "util" => found.utilisation_percent = percent(value),
            _ => {}
        }
    }
    let all = found.ios.and(found.merges).and(found.ticks_ms).is_some() && found.in_queue_ms.is_some();
    let all = all && found.utilisation_percent.is_some();
    Some((found, all))
}
