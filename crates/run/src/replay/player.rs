//! Reads a worker's I/O log while the worker runs.

use super::log_contents::ReplayLog;
use super::source::SourceReader;
use formats::FormatError;
use formats::iolog::{Adapt, Event, Reader};
use load::{RecordFailure, Recording, Request, TimedRequest};
use plan::{Hold, Operation, ReplayPlan};
use std::collections::VecDeque;
use std::io::BufReader;

/// I/Os held in memory: 32 MiB of them, or a small piece if the job asks for it (`read_iolog_chunked`).
const AHEAD: usize = 1 << 20;
const PIECE: usize = 1 << 12;

/// I/Os read at a time while a replay pauses: about 100 µs of work.
const GULP: usize = 512;

/// Supplies the I/Os of a log to the load.
#[derive(Debug)]
pub(crate) struct Player {
    plan: ReplayPlan,
    replayed: ReplayLog,
    reader: Reader<BufReader<SourceReader>>,
    held: VecDeque<TimedRequest>,
    /// Largest number of I/Os held.
    room: usize,
    /// True if the log has been read to its end.
    over: bool,
}

impl Player {
    /// Opens the log and reads its first I/Os. Fails if the log cannot be read, or has changed since it was examined.
    pub(crate) fn new(plan: &ReplayPlan, replayed: &ReplayLog) -> Result<Player, RecordFailure> {
        let room = if plan.hold == Hold::Pieces { PIECE } else { AHEAD };
        let (plan, replayed) = (plan.clone(), replayed.clone());
        let reader = open(&replayed)?;
        let mut player = Player { plan, replayed, reader, held: VecDeque::new(), room, over: false };
        player.read_on(room)?;
        Ok(player)
    }

    /// Reads until `wanted` I/Os are held, or the log ends.
    fn read_on(&mut self, wanted: usize) -> Result<(), RecordFailure> {
        let adapt = Adapt::new(&self.plan);
        while !self.over && self.held.len() < wanted {
            match self.reader.next().map_err(failure)? {
                None => self.over = true,
                Some(event) => {
                    if let Some(event) = adapt.apply(event) {
                        self.held.push_back(recorded(&self.replayed, event)?);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Recording for Player {
    fn next(&mut self) -> Result<Option<TimedRequest>, RecordFailure> {
        if self.held.is_empty() {
            self.read_on(self.room.min(PIECE))?;
        }
        Ok(self.held.pop_front())
    }

    fn rest(&mut self) {
        if !self.over && self.held.len() + GULP <= self.room {
            // An error is found again, and reported, when the I/O at that position is requested.
            let _ = self.read_on(self.held.len() + GULP);
        }
    }

    fn rewind(&mut self) -> Result<(), RecordFailure> {
        self.reader = open(&self.replayed)?;
        self.held.clear();
        self.over = false;
        self.read_on(self.room)
    }
}

fn open(replayed: &ReplayLog) -> Result<Reader<BufReader<SourceReader>>, RecordFailure> {
    Reader::new(replayed.source.name.clone(), replayed.source.read()).map_err(failure)
}

fn failure(error: FormatError) -> RecordFailure {
    RecordFailure { errno: error.errno(), operation: "read_iolog", message: error.to_string() }
}

/// The I/O on its target, checked against what was found when the log was examined.
fn recorded(replayed: &ReplayLog, event: Event) -> Result<TimedRequest, RecordFailure> {
    let operation = event.operation;
    let target = replayed.targets.get(event.place as usize).copied();
    let fits = operation == Operation::Trim || event.length <= replayed.largest;
    let Some(target) = target.filter(|_| fits) else {
        let message = format!("{}: the record changed since it was looked at", replayed.source.name);
        return Err(RecordFailure { errno: libc::EINVAL, operation: "read_iolog", message });
    };
    Ok(TimedRequest { at: event.at, request: Request::new(operation, target, event.offset, event.length) })
}
