//! One worker's reading of its record while it runs.

use super::source::Reading;
use super::survey::Replayed;
use engine::Operation;
use formats::iolog::{self, Adapt, Event, Reader, RecordError};
use job::plan::{Hold, ReplayPlan};
use load::{RecordFailure, Recorded, Recording, Request};
use std::collections::VecDeque;
use std::io::BufReader;

/// I/Os held in memory: 32 MiB of them, or a small piece where the job wants it so.
const AHEAD: usize = 1 << 20;
const PIECE: usize = 1 << 12;

/// I/Os read in one go while a replay pauses: some 100 µs.
const GULP: usize = 512;

/// Gives the I/Os of a record to the load.
#[derive(Debug)]
pub(crate) struct Player {
    plan: ReplayPlan,
    replayed: Replayed,
    reader: Reader<BufReader<Reading>>,
    held: VecDeque<Recorded>,
    /// How many are held at most.
    room: usize,
    /// The record is read to its end.
    over: bool,
}

impl Player {
    /// Reads on to the first I/Os.
    ///
    /// # Errors
    /// When the record cannot be read, or is no longer what it was when it was looked at.
    pub(crate) fn new(plan: &ReplayPlan, replayed: &Replayed) -> Result<Player, RecordFailure> {
        let room = if plan.hold == Hold::Pieces { PIECE } else { AHEAD };
        let (plan, replayed) = (plan.clone(), replayed.clone());
        let reader = open(&replayed)?;
        let mut player = Player { plan, replayed, reader, held: VecDeque::new(), room, over: false };
        player.read_on(room)?;
        Ok(player)
    }

    /// Reads until so many are held, or the record is over.
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
    fn next(&mut self) -> Result<Option<Recorded>, RecordFailure> {
        if self.held.is_empty() {
            self.read_on(self.room.min(PIECE))?;
        }
        Ok(self.held.pop_front())
    }

    fn rest(&mut self) {
        if !self.over && self.held.len() + GULP <= self.room {
            // What is wrong is found again, and told, when the I/O at that place is asked for.
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

fn open(replayed: &Replayed) -> Result<Reader<BufReader<Reading>>, RecordFailure> {
    Reader::new(replayed.source.name.clone(), replayed.source.read()).map_err(failure)
}

fn failure(error: RecordError) -> RecordFailure {
    RecordFailure { errno: error.errno(), operation: "read_iolog", message: error.to_string() }
}

/// The I/O on its file, within what was seen when the record was looked at.
fn recorded(replayed: &Replayed, event: Event) -> Result<Recorded, RecordFailure> {
    let operation = match event.operation {
        iolog::Operation::Read => Operation::Read,
        iolog::Operation::Write => Operation::Write,
        iolog::Operation::Trim => Operation::Trim,
        iolog::Operation::Sync => Operation::Sync,
        iolog::Operation::DataSync => Operation::DataSync,
    };
    let target = replayed.targets.get(event.place as usize).copied();
    let fits = operation == Operation::Trim || event.length <= replayed.largest;
    let Some(target) = target.filter(|_| fits) else {
        let message = format!("{}: the record changed since it was looked at", replayed.source.name);
        return Err(RecordFailure { errno: libc::EINVAL, operation: "read_iolog", message });
    };
    Ok(Recorded { at: event.at, request: Request { operation, target, offset: event.offset, length: event.length } })
}
