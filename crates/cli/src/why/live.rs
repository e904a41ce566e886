//! What is recorded, while it is recorded: the lines of `--stream`, and a line on the terminal, once per second.

use super::WhyArgs;
use super::answer::Answer;
use super::document;
use crate::failure::Failure;
use measure::{Nanos, float, text, unix_ms};
use observe::{Cost, Io, Recording, Seen, Summary};
use serde_json::{Value, json};
use session::layers;
use session::progress::Display;
use session::publish::LineStream;
use std::time::{Duration, Instant};

/// Time between two lines.
const SECOND: Duration = Duration::from_secs(1);

/// The lines of a recording that goes on.
pub(super) struct Live {
    stream: Option<LineStream>,
    display: Option<Display>,
    limit: Option<Nanos>,
    begun: Instant,
    /// Number of I/Os in the lines so far, with their costs and the end of the last one.
    ios: usize,
    cost: Cost,
    until: Duration,
}

impl Live {
    /// Opens the stream. Where a command is recorded, the terminal is the command's.
    pub(super) fn open(args: &WhyArgs) -> Result<Self, Failure> {
        let verbosity = args.written.streams.verbosity();
        let display = args.command.is_empty().then(|| Display::new(Nanos::ZERO, verbosity));
        Ok(Live {
            stream: args.stream.as_deref().map(LineStream::open).transpose()?,
            display,
            limit: None,
            begun: Instant::now(),
            ios: 0,
            cost: Cost::default(),
            until: Duration::ZERO,
        })
    }

    /// The recording of this target has begun.
    pub(super) fn begin(&mut self, target: &str, limit: Option<Nanos>) -> Result<(), Failure> {
        (self.limit, self.begun) = (limit, Instant::now());
        let host = sys::machine::host::name(std::path::Path::new("/"));
        let head = json!({ "target": target, "host": host, "asked_ns": limit, "unix_ms": unix_ms() });
        self.stream.as_mut().map_or(Ok(()), |stream| stream.first("recording", head))
    }

    /// Says what ended since the last line, if that was a second ago.
    pub(super) fn step(&mut self, recording: &Recording) {
        let elapsed = self.begun.elapsed();
        if elapsed >= self.until + SECOND && (self.stream.is_some() || self.display.is_some()) {
            let new = recording.ios().get(self.ios..).unwrap_or_default();
            self.second(new, recording.so_far(), elapsed);
        }
    }

    /// The last line of a part of a second, then the answer.
    pub(super) fn end(mut self, answer: &Answer) -> Result<(), Failure> {
        let Seen { ios, cost, .. } = &answer.recorded.seen;
        let elapsed = self.begun.elapsed().max(self.until);
        if let Some(display) = self.display.take().as_mut() {
            display.clear();
        }
        self.second(ios.get(self.ios..).unwrap_or_default(), cost.clone(), elapsed);
        let Some(mut stream) = self.stream else { return Ok(()) };
        stream.line("answer", serde_json::from_str(&document::document(answer)?)?);
        stream.finish()
    }

    fn second(&mut self, ios: &[Io], cost: Cost, elapsed: Duration) {
        let length = Nanos::from_secs_f64((elapsed - self.until).as_secs_f64());
        let summary = Summary::of(ios, length);
        let shown = self.shown(ios, &summary);
        if let Some(display) = &mut self.display {
            display.say(&shown);
        }
        if let Some(stream) = &mut self.stream {
            stream.line("second", line(&summary, [self.until, elapsed], [&self.cost, &cost]));
        }
        (self.ios, self.cost, self.until) = (self.ios + ios.len(), cost, elapsed);
    }

    /// `12 s of 30 s: 1,280 I/Os per second, device 71 %`.
    fn shown(&self, ios: &[Io], summary: &Summary) -> String {
        let elapsed = self.begun.elapsed();
        let length = elapsed.saturating_sub(self.until);
        let of = self.limit.map(|limit| format!(" of {}", text::time(limit.as_f64()))).unwrap_or_default();
        let rate = text::number(float(ios.len() as u64) / length.as_secs_f64().max(1e-9));
        let (largest, sum) = (summary.parts.largest(), summary.parts.sum());
        let share = text::percent(summary.parts[largest].as_f64() / sum.as_f64().max(1.0));
        let part = if ios.is_empty() { String::new() } else { format!(", {} {share}", largest.name()) };
        let passed = text::time(Nanos::from_secs(elapsed.as_secs()).as_f64());
        format!("recording: {passed}{of}: {rate} I/Os per second{part}")
    }
}

/// The I/Os that ended in this time, and the events that were read in it.
fn line(summary: &Summary, [from, until]: [Duration; 2], [before, after]: [&Cost; 2]) -> Value {
    let ns = |time: Duration| Nanos::from_secs_f64(time.as_secs_f64());
    let group = |group: &observe::Group| {
        let all = layers::group(group);
        json!({
            "direction": all.direction, "reach": all.reach, "count": all.count, "bytes": all.bytes,
            "time_ns": { "p50": all.times.get("p50"), "p99": all.times.get("p99") }, "parts_ns": all.parts,
        })
    };
    json!({
        "unix_ms": unix_ms(),
        "from": ns(from),
        "until": ns(until),
        "ios": summary.groups.iter().map(|group| group.count).sum::<u64>(),
        "bytes": summary.groups.iter().map(|group| group.bytes).sum::<u64>(),
        "groups": summary.groups.iter().map(group).collect::<Vec<_>>(),
        "parts_ns": layers::times(&summary.parts),
        "events": after.events.saturating_sub(before.events),
        "events_lost": after.lost.saturating_sub(before.lost),
    })
}
