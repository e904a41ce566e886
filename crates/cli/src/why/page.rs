//! The page of an answer: bars of parts by percentile, the slow I/Os over time and as a table, the facts and sentences.

use super::answer::Answer;
use super::{sentences, shown};
use crate::failure::Failure;
use crate::pages;
use measure::{float, text};
use model::IoGroup;
use observe::{Group, Io};
use report::data::{Parts, RecordedIos, SlowIo};
use report::page::{Numbers, Page, Place};
use serde_json::Value;
use session::layers;
use std::cmp::Reverse;
use std::path::Path;

/// Slow I/Os in the picture, at most.
const DOTS: usize = 2000;
/// Intervals of the line of I/Os in flight.
const INTERVALS: usize = 240;
/// Slow I/Os in the table, at most.
const ROWS: usize = 200;

/// The columns of the table: id, title, unit.
const COLUMNS: [(&str, &str, &str); 10] = [
    ("begin_s", "begin", "s"),
    ("program", "program", ""),
    ("thread", "thread", ""),
    ("call", "call", ""),
    ("file", "file", ""),
    ("offset_bytes", "offset", "bytes"),
    ("bytes", "size", "bytes"),
    ("depth", "depth", ""),
    ("time_ms", "time", "ms"),
    ("parts", "parts", ""),
];

/// True for a file that is a page.
pub(super) fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "html" || extension == "pdf")
}

/// Writes the page.
pub(super) fn write(path: &Path, answer: &Answer) -> Result<(), Failure> {
    crate::drawing::drawn(path, &page(answer)?)
}

fn page(answer: &Answer) -> Result<Page, Failure> {
    let mut sentences = sentences::sentences(answer);
    let first = if sentences.is_empty() { String::new() } else { sentences.remove(0) };
    let recorded = text::time(answer.recorded.seen.cost.time.as_f64());
    let title = format!("{} · {recorded}", answer.recorded.target);
    let slow = slow(answer);
    let picture = (!slow.is_empty()).then(|| parts(answer, &title, &slow));
    let picture = picture.map(|data| pages::picture("parts", &title, "Where the time goes", data)).transpose()?;
    sentences.extend(shown::facts(answer));
    let mut facts = vec![("recorded", recorded)];
    facts.extend(answer.recorded.host.clone().map(|host| ("host", host)));
    facts.push(("ended", pages::moment(answer.recorded.ended_unix_ms, pages::SECONDS)));
    Ok(Page {
        places: vec![Place { system: answer.recorded.target.clone(), facts }],
        sentences,
        pictures: picture.into_iter().collect(),
        numbers: table(answer, &slow),
        remarks: layers::remarks(&answer.recorded.seen, answer.recorded.is_full),
        ..pages::begun(format!("Why: {}", answer.recorded.target), first)
    })
}

/// A slow I/O with its number in the recording.
struct Slow<'io> {
    io: &'io Io,
    number: usize,
}

/// The slowest 1 of 100 of each group, the slowest first.
fn slow(answer: &Answer) -> Vec<Slow<'_>> {
    let is_of = |io: &Io, group: &Group| {
        io.direction == group.direction && io.reach == group.reach && io.time >= group.slowest.least
    };
    let ios = answer.recorded.seen.ios.iter().enumerate().map(|(number, io)| Slow { io, number });
    let mut slow: Vec<Slow<'_>> =
        ios.filter(|slow| answer.summary.groups.iter().any(|group| is_of(slow.io, group))).collect();
    slow.sort_by_key(|slow| Reverse(slow.io.time));
    slow
}

fn begin(answer: &Answer, io: &Io) -> f64 {
    io.begin.saturating_sub(answer.recorded.seen.begun).as_f64() / 1e9
}

fn parts(answer: &Answer, title: &str, slow: &[Slow<'_>]) -> Parts {
    let seen = &answer.recorded.seen;
    let groups: Vec<IoGroup> = answer.summary.groups.iter().map(layers::group).collect();
    let ios: Vec<RecordedIos<'_>> = groups.iter().map(|group| RecordedIos { before: String::new(), group }).collect();
    let bars = Parts::of(title, &ios);
    let dot = |slow: &Slow<'_>| {
        let (io, largest) = (slow.io, slow.io.parts.largest());
        let call = if io.call.is_empty() { io.direction.name() } else { io.call };
        SlowIo {
            at_s: begin(answer, io),
            time_ns: io.time.as_f64(),
            part: bars.parts.iter().position(|part| part == largest.name()).unwrap_or_default(),
            says: format!(
                "{call}, {}: {}\n{} {}",
                text::rounded_size(float(io.bytes)),
                text::time(io.time.as_f64()),
                largest.name(),
                text::time(io.parts[largest].as_f64())
            ),
        }
    };
    let all = text::grouped(float(slow.len() as u64));
    let dots = match slow.len() > DOTS {
        true => format!("Dots: the slowest {DOTS} of the {all} I/Os that are the slowest 1 of 100 of their kind."),
        false => "Dots: the slowest 1 of 100 of each kind.".to_owned(),
    };
    let slow = slow.iter().take(DOTS).map(dot).collect();
    Parts {
        sentences: sentences::sentences(answer),
        slow,
        depth: observe::in_flight(&seen.ios, seen.begun, seen.cost.time, INTERVALS),
        until_s: seen.cost.time.as_f64() / 1e9,
        notes: [
            bars.notes,
            vec![
                dots + " Their colour is their largest part.",
                format!("The line: mean number of I/Os in flight in each of {INTERVALS} equal intervals."),
            ],
        ]
        .concat(),
        ..bars
    }
}

fn table(answer: &Answer, slow: &[Slow<'_>]) -> Numbers {
    let depths = observe::depths(&answer.recorded.seen.ios);
    let row = |slow: &Slow<'_>| {
        let io = slow.io;
        let name = io.program.as_ref().or_else(|| answer.recorded.seen.names.get(&io.thread));
        let file = io.file.and_then(|file| answer.recorded.seen.files.get(file)?.as_ref());
        vec![
            Value::from(begin(answer, io)),
            Value::from(name.cloned().unwrap_or_default()),
            Value::from(io.thread.0),
            Value::from(io.call),
            file.map_or(Value::Null, |file| Value::from(file.path.as_str())),
            Value::from(io.offset),
            Value::from(io.bytes),
            Value::from(depths[slow.number]),
            Value::from(io.time.as_f64() / 1e6),
            Value::from(layers::shares(&layers::some(&observe::Slow::of(&[io])))),
        ]
    };
    pages::numbers(&COLUMNS, slow.iter().take(ROWS).map(row).collect())
}
