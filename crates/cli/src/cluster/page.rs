//! A page with the numbers of all members and a picture of them over time.

use super::repeat::Repetitions;
use super::shown::Report;
use crate::failure::Failure;
use crate::pages;
use cluster::MemberResult;
use measure::Nanos;
use model::{Note, RunResult};
use report::data::{Line, Panel, Series, Unit};
use report::page::{Page, Picture};
use serde_json::{Value, json};
use std::path::Path;

/// Members with a line in the picture.
const LINES: usize = 16;

/// The columns of the table: id, title, unit.
const COLUMNS: [(&str, &str, &str); 10] = [
    ("member", "member", ""),
    ("host", "host", ""),
    ("late", "start after the first", "ms"),
    ("elapsed", "elapsed", "s"),
    ("bytes", "bytes", "MiB"),
    ("ios", "I/Os", ""),
    ("rate", "rate", "MiB/s"),
    ("p50", "p50", "µs"),
    ("p99", "p99", "µs"),
    ("lost", "without a result", ""),
];

pub(super) fn write(path: &Path, shown: &Report<'_>, merged: &RunResult) -> Result<(), Failure> {
    let lines = shown.lines(merged);
    let [head, rest @ ..] = &lines[..] else { return Ok(()) };
    let title = format!("{} members of a cluster", shown.summary.members);
    let verdict = verdict(shown, merged);
    let page = Page {
        sentences: std::iter::once(head).chain(rest).cloned().collect(),
        pictures: picture(shown.members, &title, head)?.into_iter().collect(),
        numbers: pages::numbers(&COLUMNS, rows(shown)),
        ..pages::begun(title, verdict)
    };
    crate::drawing::drawn(path, &page)
}

/// How far the numbers can be relied on: by what is missing, else by the findings.
fn verdict(shown: &Report<'_>, merged: &RunResult) -> String {
    if let Some(missing) = shown.incomplete() {
        return missing;
    }
    let notes: Vec<Note> = shown.notes(merged).into_iter().cloned().collect();
    analysis::verdict_line(&analysis::by_check(&[&notes]), &analysis::unchecked(merged), 1, "")
}

/// Writes the page of a run that was repeated: the members of each repetition.
pub(super) fn write_repeated(path: &Path, all: &Repetitions<'_>) -> Result<(), Failure> {
    let sentences = all.sentences();
    let members = all.runs.first().map_or(0, |run| run.summary.members);
    let title = format!("{} repetitions by {members} members of a cluster", all.runs.len());
    let (mut pictures, mut numbered) = (Vec::new(), Vec::new());
    for (number, run) in (1..).zip(all.runs) {
        let title = format!("Repetition {number}");
        let head = format!("{title}: {}", run.shown(None, None).head());
        pictures.extend(picture(&run.members, &title, &head)?);
        let rows = rows(&run.shown(None, None)).into_iter();
        numbered.extend(rows.map(|row| std::iter::once(json!(number)).chain(row).collect::<Vec<_>>()));
    }
    let columns: Vec<_> = std::iter::once(("repetition", "repetition", "")).chain(COLUMNS).collect();
    let page = Page {
        sentences: all.paragraphs(),
        pictures,
        numbers: pages::numbers(&columns, numbered),
        ..pages::begun(title, sentences.first().cloned().unwrap_or_default())
    };
    crate::drawing::drawn(path, &page)
}

fn rows(shown: &Report<'_>) -> Vec<Vec<Value>> {
    let mib = |bytes: f64| json!((bytes / (1 << 20) as f64 * 10.0).round() / 10.0);
    let micros = |ns: u64| json!((measure::float(ns) / 100.0).round() / 10.0);
    let row = |member: &cluster::MemberSummary| {
        vec![
            json!(member.rank),
            json!(member.host),
            member.start_late_ns.map_or(Value::Null, |late| json!((late.as_f64() / 1e3).round() / 1e3)),
            member.elapsed_s.map_or(Value::Null, |elapsed| json!((elapsed * 1e3).round() / 1e3)),
            mib(measure::float(member.bytes)),
            json!(member.ios),
            member.bytes_per_second.map_or(Value::Null, mib),
            member.latency_ns.and_then(|latency| latency[0]).map_or(Value::Null, micros),
            member.latency_ns.and_then(|latency| latency[1]).map_or(Value::Null, micros),
            member.lost.as_ref().map_or(Value::Null, |why| json!(why)),
        ]
    };
    shown.summary.each.iter().map(row).collect()
}

/// The rate of each member over time, on one clock; none without samples.
fn picture(members: &[MemberResult], title: &str, head: &str) -> Result<Option<Picture>, Failure> {
    let Some(begin) = members.iter().filter_map(|member| member.started.or(member.go)).min() else { return Ok(None) };
    let mut shown: Vec<&MemberResult> = members.iter().filter(|member| member.samples.len() > 1).collect();
    if shown.is_empty() {
        return Ok(None);
    }
    let more = shown.len().saturating_sub(LINES);
    shown.truncate(LINES);
    let line = |member: &&MemberResult, of: Amounts| Line { name: member.name(), points: points(member, begin, of) };
    let panel = |name: &str, unit: Unit, of: Amounts| Panel {
        name: name.to_owned(),
        unit,
        lines: shown.iter().map(|member| line(member, of)).collect(),
    };
    let ends = members.iter().filter_map(|member| {
        let loss = member.lost.as_ref()?;
        Some(format!(
            "{}: {} at {}",
            member.name(),
            loss.why,
            measure::text::time(loss.at.saturating_sub(begin).as_f64())
        ))
    });
    let mut notes: Vec<String> = ends.collect();
    if more > 0 {
        notes.push(format!("the other {more} members are in the table"));
    }
    let data = Series {
        title: title.to_owned(),
        sentences: vec![head.to_owned()],
        panels: vec![
            panel("bandwidth", Unit::Rate, |sample| sample.bytes),
            panel("IOPS", Unit::Count, |sample| sample.ios),
        ],
        notes,
        ..Series::default()
    };
    pages::picture("series", title, "Members over time", data).map(Some)
}

/// The amounts of a sample, by direction.
type Amounts = fn(&cluster::Sample) -> [u64; 3];

/// Rates between samples, at the end of each.
fn points(member: &MemberResult, begin: Nanos, of: Amounts) -> Vec<(f64, Option<f64>)> {
    let amount = |sample| measure::float(of(sample).iter().fold(0, |sum: u64, part| sum.saturating_add(*part)));
    let pairs = member.samples.iter().zip(member.samples.iter().skip(1));
    let after_start = pairs.filter(|(before, _)| before.at >= begin);
    after_start
        .map(|(before, after)| {
            let seconds = after.at.saturating_sub(before.at).as_secs_f64();
            let rate = (seconds > 0.0).then(|| (amount(after) - amount(before)).max(0.0) / seconds);
            (after.at.saturating_sub(begin).as_secs_f64(), rate)
        })
        .collect()
}
