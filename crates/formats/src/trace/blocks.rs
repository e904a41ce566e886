//! Events of the block layer as text: blkparse's, and those of tracefs. Begins are joined with ends.
//!
//! An I/O begins where it is queued (`Q`, `block_bio_queue`), or where it is issued if the trace has no such event of
//! it. An end ends all that began within its sectors, because queued I/Os are merged.
//! Source: blkparse(1), the format files of the events below /sys/kernel/tracing/events/block.

use super::columns::{SECTOR, flags, thread};
use super::lines::{Words, decimal, whole, wrong};
use super::{Sink, Wrong};
use measure::Nanos;
use model::TraceIo;
use plan::Operation;
use std::collections::BTreeMap;

/// I/Os in flight that are kept, at most.
const MOST_IN_FLIGHT: usize = 1 << 16;

/// The program that the text is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// blkparse's lines.
    Blkparse,
    /// Lines of `trace` or `trace_pipe`.
    Tracefs,
}

/// State of a reader.
#[derive(Debug)]
pub(super) struct Blocks {
    dialect: Dialect,
    /// By device and first sector; the second number is the end.
    in_flight: BTreeMap<(u32, u64), (u64, TraceIo)>,
    /// blkparse's sums have begun.
    is_over: bool,
    /// The trace has events of the queue.
    has_queue: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Queued,
    Issued,
    Ended,
}

/// An event of the block layer.
struct Event<'line> {
    stage: Stage,
    at: Nanos,
    device: &'line [u8],
    thread: Option<u32>,
    flags: &'line [u8],
    /// First sector and number of sectors.
    sectors: Option<[u64; 2]>,
}

impl Blocks {
    pub(super) fn new(dialect: Dialect) -> Self {
        Blocks { dialect, in_flight: BTreeMap::new(), is_over: false, has_queue: false }
    }

    /// Takes a line.
    pub(super) fn line(&mut self, line: &[u8], to: &mut Sink) -> Result<(), Wrong> {
        let event = match self.dialect {
            Dialect::Blkparse if self.is_over || line.is_empty() => None,
            Dialect::Blkparse if line.starts_with(b"CPU") || line.starts_with(b"Total (") => {
                self.is_over = true;
                None
            }
            Dialect::Blkparse => of_blkparse(line)?,
            Dialect::Tracefs => {
                to.lost += lost(line).unwrap_or_default();
                of_tracefs(line)?
            }
        };
        match event {
            Some(event) => self.take(&event, to),
            None => Ok(()),
        }
    }

    fn take(&mut self, event: &Event<'_>, to: &mut Sink) -> Result<(), Wrong> {
        to.events += 1;
        let device = to.target(event.device)?;
        let [sector, count] = event.sectors.unwrap_or_default();
        let end = sector.checked_add(count).ok_or_else(|| Wrong("the sectors are out of range".to_owned()))?;
        if event.stage == Stage::Ended {
            self.ended(device, sector..end, event.at, to);
            return Ok(());
        }
        let Some(operation) = flags(event.flags) else { return Ok(()) };
        // A flush of no sectors is a sync. It is issued once more as a request.
        self.has_queue |= event.stage == Stage::Queued;
        let operation = if count == 0 && event.flags.contains(&b'F') { Operation::Sync } else { operation };
        let bytes = count.checked_mul(SECTOR).ok_or_else(|| Wrong("the size is out of range".to_owned()))?;
        let offset = sector.checked_mul(SECTOR).filter(|_| operation != Operation::Sync);
        let (begin, thread) = (event.at, event.thread);
        let io = TraceIo { begin, operation, offset, bytes, target: device, latency: None, thread };
        let Some(io) = super::checked(io)? else { return Ok(()) };
        if operation == Operation::Sync {
            to.order.extend((event.stage == Stage::Queued || !self.has_queue).then_some(io));
            return Ok(());
        }
        let before = self.in_flight.range(..=(device, sector)).next_back();
        let is_known = before.is_some_and(|((of, _), (before_end, _))| *of == device && *before_end > sector);
        if event.stage == Stage::Issued && is_known {
            return Ok(());
        }
        if self.in_flight.len() >= MOST_IN_FLIGHT {
            to.order.extend(std::mem::take(&mut self.in_flight).into_values().map(|(_, io)| io));
        }
        // What was there has lost its end.
        to.order.extend(self.in_flight.insert((device, sector), (end, io)).map(|(_, io)| io));
        Ok(())
    }

    /// Ends what lies within the sectors.
    fn ended(&mut self, device: u32, sectors: std::ops::Range<u64>, at: Nanos, to: &mut Sink) {
        // An I/O that was split ends with its last part.
        let first = self.in_flight.range(..=(device, sectors.start)).next_back();
        let mut from = first.map_or((device, sectors.start), |(key, _)| *key);
        if from.0 != device {
            from = (device, sectors.start);
        }
        loop {
            let mut within = self.in_flight.range(from..(device, sectors.end.max(from.1)));
            let Some((key, _)) = within.find(|(_, (end, _))| *end > sectors.start && *end <= sectors.end) else {
                break;
            };
            let key = *key;
            if let Some((_, mut io)) = self.in_flight.remove(&key) {
                io.latency = Some(at.saturating_sub(io.begin));
                to.order.push(io);
            }
            from = key;
        }
    }

    /// Gives out what has no end.
    pub(super) fn finish(&mut self, to: &mut Sink) {
        to.order.extend(std::mem::take(&mut self.in_flight).into_values().map(|(_, io)| io));
    }
}

/// `  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]`
fn of_blkparse(line: &[u8]) -> Result<Option<Event<'_>>, Wrong> {
    let words = Words::of(line, None);
    let [device, _, _, time, thread_word, action, flags, rest @ ..] = words.all() else {
        return Err(wrong(line, "is not a line of blkparse: DEVICE CPU NUMBER TIME PID ACTION FLAGS ..."));
    };
    let at = decimal(time, 1_000_000_000).map(Nanos).ok_or_else(|| wrong(time, "is not a time of blkparse"))?;
    let thread = Some(thread(thread_word)?);
    let stage = match *action {
        b"Q" => Stage::Queued,
        b"D" => Stage::Issued,
        b"C" => Stage::Ended,
        _ => return Ok(None),
    };
    Ok(Some(Event { stage, at, device, thread, flags, sectors: sectors(rest)? }))
}

/// `fio-1234    [001] d..1.  1234.567890: block_rq_issue: 8,0 R 4096 () 123456 + 8 none,0,0 [fio]`
fn of_tracefs(line: &[u8]) -> Result<Option<Event<'_>>, Wrong> {
    const STAGES: [(&[u8], Stage); 3] = [
        (b"block_bio_queue: ", Stage::Queued),
        (b"block_rq_issue: ", Stage::Issued),
        (b"block_rq_complete: ", Stage::Ended),
    ];
    if line.starts_with(b"#") || line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let place = |(name, _): &(&[u8], Stage)| memchr::memmem::find(line, name);
    let Some((at, (name, stage))) = STAGES.iter().find_map(|row| Some((place(row)?, row))) else {
        return match memchr::memmem::find(line, b": ") {
            Some(_) => Ok(None),
            None if lost(line).is_some() => Ok(None),
            None => Err(wrong(line, "is not a line of tracefs: TASK-PID [CPU] FLAGS TIME: EVENT: ...")),
        };
    };
    let head = line[..at].trim_ascii_end();
    let head = head.strip_suffix(b"block:").unwrap_or(head).trim_ascii_end();
    let head = head.strip_suffix(b":").unwrap_or(head);
    let stamp = head.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    let at_ns = decimal(stamp, 1_000_000_000).ok_or_else(|| wrong(stamp, "is not a time of tracefs"))?;
    let task = line.split(|byte| *byte == b'[').next().unwrap_or_default().trim_ascii_end();
    let digits = task.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let thread = thread(&task[task.len() - digits..]).ok();
    let words = Words::of(&line[at + name.len()..], None);
    let [device, flags, rest @ ..] = words.all() else {
        return Err(wrong(line, "is cut off: no device and operation"));
    };
    Ok(Some(Event { stage: *stage, at: Nanos(at_ns), device, thread, flags, sectors: sectors(rest)? }))
}

/// The numbers on both sides of the plus.
fn sectors(words: &[&[u8]]) -> Result<Option<[u64; 2]>, Wrong> {
    let Some(plus) = words.iter().position(|word| *word == b"+") else { return Ok(None) };
    let number = |at: Option<usize>| {
        let word = at.and_then(|at| words.get(at)).copied().unwrap_or_default();
        whole(word).ok_or_else(|| wrong(word, "is not a number of sectors"))
    };
    let (first, count) = (number(plus.checked_sub(1))?, number(plus.checked_add(1))?);
    // A flush has the largest number as its sector.
    Ok(Some(if count == 0 { [0, 0] } else { [first, count] }))
}

/// `CPU:1 [LOST 123 EVENTS]`
fn lost(line: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(line, b"[LOST ")?;
    whole(line[at + 6..].split(|byte| *byte == b' ').next()?)
}
