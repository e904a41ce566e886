//! The answer as text.

use super::answer::Answer;
use super::{disk, sentences};
use crate::streams::OutputArgs;
use crate::width;
use formats::printable;
use measure::{Nanos, float, text};
use model::IoGroup;
use observe::Part;
use session::layers::{self, Line};

/// Indent of lines that go on.
const INDENT: &str = "       ";
/// A wait below this share of the time has no line.
const SHOWN: f64 = 0.01;
/// Programs that are named.
const PROGRAMS: usize = 10;

/// The whole text.
pub(super) fn shown(answer: &Answer, written: &OutputArgs) -> String {
    let columns = width::of_stdout().filter(|_| written.output.is_none());
    let mut text = String::new();
    if !written.streams.quiet {
        let ended = answer.status().filter(|status| !status.success()).map(|status| format!(", {status}"));
        let time = text::time(answer.recorded.seen.cost.time.as_f64());
        text += &width::for_people(
            &format!("{}: {time}{}", answer.recorded.target, ended.unwrap_or_default()),
            "",
            columns,
        );
        for line in layers::headed(&lines(answer)) {
            text += &width::for_people(&line, INDENT, columns);
        }
        for remark in layers::remarks(&answer.recorded.seen, answer.recorded.is_full) {
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
    let groups: Vec<IoGroup> = answer.summary.groups.iter().map(layers::group).collect();
    let cost = &answer.recorded.seen.cost;
    let mut lines: Vec<Line> = groups.iter().map(|group| layers::does(group, cost.time)).collect();
    for program in answer.summary.programs.iter().filter(|_| answer.recorded.is_device).take(PROGRAMS) {
        let share = text::percent(program.time.as_f64() / answer.summary.parts.sum().as_f64().max(1.0));
        let (count, bytes) = (text::grouped(float(program.count)), text::short_bytes(float(program.bytes)));
        lines.push(Line {
            heading: "who",
            text: format!("{}: {count} I/Os, {bytes}, {share} of the time", program.name),
        });
    }
    lines.extend(groups.iter().flat_map(layers::times_of));
    lines.extend(groups.iter().filter_map(layers::slowest));
    lines.extend(answer.recorded.seen.limits.iter().map(|limit| layers::limited(&layers::limit(limit))));
    lines.extend(waker(answer));
    lines.extend(answer.recorded.disks.iter().map(|disk| Line { heading: "disk", text: disk::line(disk) }));
    lines.push(layers::costs(&layers::cost(cost), cost.time, answer.recorded.seen.ios.len() as u64));
    lines
}

/// The thread that ended most of the longest waits.
fn waker(answer: &Answer) -> Option<Line> {
    let mut times = std::collections::BTreeMap::new();
    for io in &answer.recorded.seen.ios {
        if let Some(name) =
            io.waker.and_then(|waker| answer.recorded.seen.names.get(&waker)).filter(|name| !name.is_empty())
        {
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
