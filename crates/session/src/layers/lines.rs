//! Lines about I/Os and their parts, of `plumb why` and of runs.

use crate::width;
use analysis::parts::{self, noun};
use formats::printable;
use measure::{Nanos, float, text};
use model::{GroupLimit, IoGroup, Layers, RecordingCost, SomeIos};
use observe::Seen;

/// A part below this share of the time is not named in a line.
const SHOWN: f64 = 0.01;
/// Width of the headings.
const HEADING: usize = 7;

/// A line with its heading; a heading is shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// A word.
    pub heading: &'static str,
    /// The text after it.
    pub text: String,
}

/// The lines with their headings, those of one heading below each other.
pub fn headed(lines: &[Line]) -> Vec<String> {
    let mut last = "";
    let headed = lines.iter().map(|line| {
        let heading = if line.heading == last { "" } else { line.heading };
        last = line.heading;
        format!("{heading:<HEADING$}{}", line.text)
    });
    headed.collect()
}

/// The text about a run, in lines of at most this many columns.
pub fn shown(layers: &Layers, columns: Option<usize>) -> String {
    let mut text = "\nTime of the I/Os by part:\n".to_owned();
    let indent = " ".repeat(HEADING);
    headed(&of_run(layers)).iter().for_each(|line| text += &width::for_people(line, &indent, columns));
    let remarks = layers.remarks.iter();
    remarks.for_each(|remark| text += &width::for_people(&format!("! {remark}"), "  ", columns));
    printable::lines(&text).into_owned()
}

fn of_run(layers: &Layers) -> Vec<Line> {
    let groups = &layers.groups;
    let mut lines: Vec<Line> = groups.iter().map(|group| does(group, layers.recorded)).collect();
    lines.extend(groups.iter().flat_map(times_of));
    lines.extend(groups.iter().filter_map(slowest));
    lines.extend(layers.limits.iter().map(limited));
    lines.push(costs(&layers.cost, layers.recorded, layers.ios));
    lines
}

/// Number, size, rate, depth and order of a group.
pub fn does(group: &IoGroup, recorded: Nanos) -> Line {
    let is_block = group.is_of_block_layer();
    let mut line = format!("{} {}", text::grouped(float(group.count)), noun(group, group.count));
    if group.is_of_syncs() && !is_block {
        let calls: Vec<String> =
            group.calls.iter().map(|call| format!("{} {}", text::grouped(float(call.count)), call.name)).collect();
        line = text::listed_up_to(&calls, 4);
    }
    if let (Some(bytes), Some(count)) = (group.frequent_bytes, group.frequent_count) {
        let of = text::rounded_size(float(bytes));
        line += &match count == group.count {
            true => format!(" of {of}"),
            false => format!(", {} of {of}", text::percent(float(count) / float(group.count))),
        };
    }
    line += &format!(", {} per second", text::number(float(group.count) * 1e9 / recorded.as_f64().max(1.0)));
    line += &match group.p99_depth {
        1 => ", one at a time".to_owned(),
        most => format!(", {} at a time (p99 {most})", text::number(group.mean_depth)),
    };
    if let Some(share) = group.sequential_share {
        line += &format!(", {} sequential", text::percent(share));
    }
    if group.from_memory > 0 {
        line += &format!(", {} from memory", text::percent(float(group.from_memory) / float(group.count)));
    }
    if group.failed > 0 {
        line += &format!(", {} failed", text::grouped(float(group.failed)));
    }
    if is_block {
        line += "; seen from the block layer's queue to completion";
    }
    Line { heading: "does", text: line }
}

/// Where the time of usual and of slow I/Os goes.
pub fn times_of(group: &IoGroup) -> Vec<Line> {
    let mean = |ios: &SomeIos| text::time(ios.time.as_f64() / float(ios.count.max(1)));
    let middle = format!("a usual {} takes {}: {}", noun(group, 1), mean(&group.middle), shares(&group.middle));
    let mut lines = vec![Line { heading: "time", text: middle }];
    if group.count >= 100 {
        let text = format!("the slowest 1 of 100 take {}: {}", mean(&group.slowest), shares(&group.slowest));
        lines.push(Line { heading: "time", text });
    }
    lines
}

/// Mean of each part, the largest first. Those that are left out are summed up.
pub fn shares(ios: &SomeIos) -> String {
    let mean = |time: Nanos| text::time(time.as_f64() / float(ios.count.max(1)));
    let sum = ios.time.as_f64().max(1.0);
    let is_shown = |time: &Nanos| time.as_f64() / sum >= SHOWN;
    let mut shown: Vec<_> = ios.parts.0.iter().filter(|(_, time)| is_shown(time)).collect();
    shown.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let rest: Nanos = ios.parts.0.iter().map(|(_, time)| *time).filter(|time| !is_shown(time)).sum();
    let mut words: Vec<String> = shown.iter().map(|(part, time)| format!("{part} {}", mean(*time))).collect();
    if !rest.is_zero() {
        words.push(format!("rest {}", mean(rest)));
    }
    words.join(", ")
}

/// The slowest of 100 or more, and their largest parts.
pub fn slowest(group: &IoGroup) -> Option<Line> {
    let slow = &group.slowest;
    let largest = slow.largest.0.iter();
    let most: Vec<String> =
        largest.map(|(part, count)| format!("{} in {part}", text::grouped(float(*count)))).collect();
    let text = format!(
        "{} {} take {} or more; most of the time of {}",
        text::grouped(float(slow.count)),
        noun(group, slow.count),
        text::time(slow.least.as_f64()),
        text::listed(&most)
    );
    (group.count >= 100).then_some(Line { heading: "slow", text })
}

/// Cost and loss of the recording.
pub fn costs(cost: &RecordingCost, recorded: Nanos, ios: u64) -> Line {
    let time = recorded.as_f64().max(1.0);
    let events = match ios {
        0 => format!("{} events", text::grouped(float(cost.events))),
        ios => format!("{} events per I/O", text::number(float(cost.events) / float(ios))),
    };
    let text = format!(
        "plumb used {} of a processor; {events}{}, {} lost; {} of the time recorded",
        text::percent(cost.processor.as_f64() / time),
        way(cost),
        text::grouped(float(cost.lost)),
        text::percent((1.0 - cost.unrecorded.as_f64() / time).max(0.0))
    );
    Line { heading: "cost", text }
}

/// The way by which the events were read, and why it was not the other one.
pub fn way(cost: &RecordingCost) -> String {
    match (cost.events_by.as_deref(), &cost.not_by_bpf) {
        (Some("bpf"), _) => " by BPF".to_owned(),
        (Some(way), None) => format!(" by {way}"),
        (Some(way), Some(why)) => format!(" by {way} (no BPF: {why})"),
        (None, _) => String::new(),
    }
}

/// A limit with its group, device and rates.
pub fn limited(limit: &GroupLimit) -> Line {
    Line { heading: "limit", text: parts::limit(limit) }
}

/// Everything that is not in the numbers above.
pub fn remarks(seen: &Seen, is_full: bool) -> Vec<String> {
    let calls = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", text::counted(count, "call")));
    let requests = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", text::counted(count, "request")));
    let outside = (seen.outside > 0).then(|| {
        let count = text::counted(seen.outside, "I/O");
        format!("{count} of the block layer outside of calls that are recorded, not followed")
    });
    let parts = ["writeback/", "filemap/", "io_uring/", "iomap/"];
    let missing = |name: &&String| parts.iter().any(|part| name.starts_with(part));
    let missing: Vec<&str> = seen.missing.iter().filter(missing).map(String::as_str).collect();
    let mut remarks: Vec<String> = [
        outside,
        calls(seen.not_followed, "of sendfile, splice, copy_file_range or commands of io_uring, not followed"),
        calls(seen.unknown, "left out: the descriptor was gone before it was known what it is"),
        calls(seen.cost.broken, "left out: some of their events were lost"),
        calls(seen.open_calls, "left out: not ended yet"),
        requests(seen.ended_before, "complete before the program asked: the time ends there"),
        requests(seen.unclear, "left out: handed over together and not separable, or without an end for 5 minutes"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !missing.is_empty() {
        remarks.push(format!("this kernel has no events {}", text::listed(&missing)));
    }
    if is_full {
        remarks.push(format!("the recording ended at {} I/Os", text::grouped(float(seen.ios.len() as u64))));
    }
    remarks
}
