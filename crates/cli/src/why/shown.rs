//! The answer as text.

use super::answer::Answer;
use super::sentences;
use crate::streams::OutputArgs;
use crate::width;
use formats::printable;
use measure::{Nanos, float, text};
use observe::{Cost, Direction, Group, PARTS, Part, Reach, Slow};

/// Indent of lines that go on.
const INDENT: &str = "       ";
/// A part below this share of the time is not named in a line.
const SHOWN: f64 = 0.01;
/// Programs that are named.
const PROGRAMS: usize = 10;

/// A line with its heading; a heading is shown once.
struct Line {
    heading: &'static str,
    text: String,
}

/// The whole text.
pub(super) fn shown(answer: &Answer, written: &OutputArgs) -> String {
    let columns = width::of_stdout().filter(|_| written.output.is_none());
    let mut text = String::new();
    if !written.streams.quiet {
        let ended = answer.status().filter(|status| !status.success()).map(|status| format!(", {status}"));
        let time = text::time(answer.seen.cost.time.as_f64());
        text += &width::for_people(&format!("{}: {time}{}", answer.target, ended.unwrap_or_default()), "", columns);
        let mut last = "";
        for line in lines(answer) {
            let heading = if line.heading == last { "" } else { line.heading };
            last = line.heading;
            text += &width::for_people(&format!("{heading:<7}{}", line.text), INDENT, columns);
        }
        for remark in remarks(answer) {
            text += &width::for_people(&format!("! {remark}"), "  ", columns);
        }
    }
    for (at, sentence) in sentences::sentences(answer).iter().enumerate() {
        let heading = if written.streams.quiet || at > 0 { "" } else { "so" };
        let line = if written.streams.quiet { sentence.clone() } else { format!("{heading:<7}{sentence}") };
        text += &width::for_people(&line, INDENT, columns);
    }
    printable::lines(&text).into_owned()
}

/// The lines of the text as sentences, each with its heading.
pub(super) fn facts(answer: &Answer) -> Vec<String> {
    lines(answer).iter().map(|line| format!("{}: {}", line.heading, line.text)).collect()
}

fn lines(answer: &Answer) -> Vec<Line> {
    let groups = &answer.summary.groups;
    let mut lines: Vec<Line> =
        groups.iter().map(|group| Line { heading: "does", text: does(group, &answer.seen.cost) }).collect();
    for program in answer.summary.programs.iter().filter(|_| answer.is_device).take(PROGRAMS) {
        let share = text::percent(program.time.as_f64() / answer.summary.parts.sum().as_f64().max(1.0));
        let (count, bytes) = (text::grouped(float(program.count)), text::short_bytes(float(program.bytes)));
        lines.push(Line {
            heading: "who",
            text: format!("{}: {count} I/Os, {bytes}, {share} of the time", program.name),
        });
    }
    for group in groups {
        lines.extend(times(group));
    }
    lines.extend(groups.iter().filter(|group| group.count >= 100).map(slowest));
    lines.extend(answer.seen.limits.iter().map(|limit| Line { heading: "limit", text: sentences::limit(limit) }));
    lines.extend(waker(answer));
    lines.extend(answer.disks.iter().map(|disk| Line { heading: "disk", text: disk.line() }));
    lines.push(Line { heading: "cost", text: cost(answer) });
    lines
}

/// The name of what a group does, for one or many.
pub(super) fn noun(group: &Group, count: u64) -> String {
    let word = match group.direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Sync if group.reach == Reach::Block => "flush or discard",
        Direction::Sync => "sync",
        Direction::Fault => "page fault",
    };
    let plain = if word.ends_with("discard") { word.to_owned() } else { format!("{word}{}", text::plural(count)) };
    let calls: Vec<&str> = group.calls.iter().map(|call| call.name.as_str()).filter(|name| !name.is_empty()).collect();
    match group.reach {
        Reach::Block if !calls.is_empty() => format!("{plain} by {}", text::listed(&calls)),
        _ => plain,
    }
}

fn does(group: &Group, recorded: &Cost) -> String {
    let count = text::grouped(float(group.count));
    let mut line = format!("{count} {}", noun(group, group.count));
    if group.direction == Direction::Sync && group.reach == Reach::Call {
        let calls: Vec<String> = group.calls.iter().map(|call| format!("{} {}", call.count, call.name)).collect();
        line = text::listed_up_to(&calls, 4);
    }
    if let Some(size) = group.size {
        let of = text::rounded_size(float(size.bytes));
        line += &match size.count == group.count {
            true => format!(" of {of}"),
            false => format!(", {} of {of}", text::percent(float(size.count) / float(group.count))),
        };
    }
    line += &format!(", {} per second", text::number(float(group.count) * 1e9 / recorded.time.as_f64().max(1.0)));
    line += &match group.depth_p99 {
        1 => ", one at a time".to_owned(),
        most => format!(", {} at a time (p99 {most})", text::number(group.depth)),
    };
    if let Some(share) = group.sequential {
        line += &format!(", {} sequential", text::percent(share));
    }
    if group.cached > 0 {
        line += &format!(", {} from memory", text::percent(float(group.cached) / float(group.count)));
    }
    if group.failed > 0 {
        line += &format!(", {} failed", text::grouped(float(group.failed)));
    }
    if group.reach == Reach::Block {
        line += "; seen from the block layer's queue to completion";
    }
    line
}

fn times(group: &Group) -> Vec<Line> {
    let mean = |slow: &Slow| text::time(slow.time.as_f64() / float(slow.count.max(1)));
    let middle = format!("a usual {} takes {}: {}", noun(group, 1), mean(&group.middle), parts(&group.middle));
    let mut lines = vec![Line { heading: "time", text: middle }];
    if group.count >= 100 {
        let text = format!("the slowest 1 of 100 take {}: {}", mean(&group.slowest), parts(&group.slowest));
        lines.push(Line { heading: "time", text });
    }
    lines
}

/// Mean of each part, the largest first. Those that are left out are summed up.
pub(super) fn parts(slow: &Slow) -> String {
    let mean = |time: Nanos| time.as_f64() / float(slow.count.max(1));
    let sum = slow.time.as_f64().max(1.0);
    let mut shown: Vec<Part> = PARTS.into_iter().filter(|part| slow.parts[*part].as_f64() / sum >= SHOWN).collect();
    shown.sort_by_key(|part| std::cmp::Reverse(slow.parts[*part]));
    let rest: Nanos = PARTS.iter().filter(|part| !shown.contains(part)).map(|part| slow.parts[*part]).sum();
    let mut words: Vec<String> =
        shown.iter().map(|part| format!("{} {}", part.name(), text::time(mean(slow.parts[*part])))).collect();
    if !rest.is_zero() {
        words.push(format!("rest {}", text::time(mean(rest))));
    }
    words.join(", ")
}

fn slowest(group: &Group) -> Line {
    let slow = &group.slowest;
    let most: Vec<String> = slow
        .largest
        .iter()
        .map(|largest| format!("{} in {}", text::grouped(float(largest.count)), largest.part.name()))
        .collect();
    let text = format!(
        "{} {} take {} or more; most of the time of {}",
        text::grouped(float(slow.count)),
        noun(group, slow.count),
        text::time(slow.least.as_f64()),
        text::listed(&most)
    );
    Line { heading: "slow", text }
}

/// The thread that ended most of the longest waits.
fn waker(answer: &Answer) -> Option<Line> {
    let mut times = std::collections::BTreeMap::new();
    for io in &answer.seen.ios {
        if let Some(name) = io.waker.and_then(|waker| answer.seen.names.get(&waker)).filter(|name| !name.is_empty()) {
            *times.entry(name.as_str()).or_insert(Nanos::ZERO) += io.parts[Part::Wait];
        }
    }
    let longest = times.into_iter().max_by_key(|one| one.1)?;
    let is_much = longest.1.as_f64() >= SHOWN * answer.summary.parts.sum().as_f64();
    is_much.then(|| Line {
        heading: "wait",
        text: format!("{} ended {} of lock or other wait", longest.0, text::time(longest.1.as_f64())),
    })
}

fn cost(answer: &Answer) -> String {
    let (cost, ios) = (&answer.seen.cost, answer.seen.ios.len() as u64);
    let time = cost.time.as_f64().max(1.0);
    let events = match ios {
        0 => format!("{} events", text::grouped(float(cost.events))),
        ios => format!("{} events per I/O", text::number(float(cost.events) / float(ios))),
    };
    format!(
        "plumb used {} of a processor; {events}, {} lost; {} of the time recorded",
        text::percent(cost.processor.as_f64() / time),
        text::grouped(float(cost.lost)),
        text::percent((1.0 - cost.unrecorded.as_f64() / time).max(0.0))
    )
}

/// Everything that is not in the numbers above.
pub(super) fn remarks(answer: &Answer) -> Vec<String> {
    let seen = &answer.seen;
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
    if answer.is_full {
        remarks.push(format!("the recording ended at {} I/Os", text::grouped(float(seen.ios.len() as u64))));
    }
    remarks
}
