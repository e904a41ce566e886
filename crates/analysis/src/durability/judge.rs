//! What is there of the acknowledged writes of each way, and the answer.

use super::log::{Acknowledged, Acknowledgements};
use super::ways::{Place, Promise, SECTOR, Shape, Way, held};
use measure::Nanos;
use std::io;

/// The records that a power cut has left.
pub trait Survivors {
    /// The bytes of a record; fewer where its file ends before, none where there is no such file.
    ///
    /// # Errors
    /// If they cannot be read.
    fn record(&mut self, way: Way, place: &Place) -> io::Result<Vec<u8>>;

    /// Numbers at the ends of the names of the way's files.
    fn numbers(&self, way: Way) -> Vec<u64>;
}

/// How a record was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// No sector of it is there, nor of a later one.
    Whole,
    /// Some of its sectors are there.
    Torn,
    /// It cannot be read.
    Unreadable,
}

/// A record that was acknowledged and is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its number, from 1.
    pub number: u64,
    /// Its place.
    pub place: Place,
    /// How it was lost.
    pub loss: Loss,
    /// Time from its acknowledgement to the last one of the run.
    pub age: Nanos,
    /// True if a later record of the way is there.
    pub is_before_kept: bool,
}

/// The records that a way has kept and lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The way.
    pub way: Way,
    /// Acknowledged records.
    pub acknowledged: u64,
    /// Those of them that no later record has replaced.
    pub judged: u64,
    /// Those of the judged ones that are not there, by number.
    pub lost: Vec<Lost>,
    /// Records that were never acknowledged and are there in part.
    pub torn_in_flight: u64,
}

impl Kept {
    /// Number of records that were lost in this way.
    pub fn count(&self, loss: Loss) -> u64 {
        self.lost.iter().filter(|lost| lost.loss == loss).count() as u64
    }

    /// Number of lost records of which a later one is there.
    pub fn reordered(&self) -> u64 {
        self.lost.iter().filter(|lost| lost.is_before_kept).count() as u64
    }

    /// True if the way has not kept what it promises.
    pub fn is_broken(&self) -> bool {
        match self.way.promise() {
            Promise::Nothing => false,
            Promise::Kept => !self.lost.is_empty(),
            Promise::Whole => !self.lost.is_empty() || self.torn_in_flight > 0,
        }
    }
}

/// Content of the place of a record.
enum Found {
    /// Its sectors: the number of the record that each one is of.
    Sectors(Vec<Option<u64>>),
    Unreadable,
}

/// Compares what a way has acknowledged with what is there.
///
/// # Errors
/// If what is there cannot be found out, for another reason than a record that the medium cannot read.
pub fn kept(acks: &Acknowledgements, way: Way, survivors: &mut dyn Survivors) -> io::Result<Kept> {
    let nothing = Acknowledged::default();
    let of_way = acks.ways.get(&way).unwrap_or(&nothing);
    let mut kept = Kept { way, acknowledged: of_way.count, judged: 0, lost: Vec::new(), torn_in_flight: 0 };
    let Some((&last, _)) = of_way.recent.last_key_value() else { return Ok(kept) };
    let mut found = Vec::new();
    for number in way.judged(last) {
        found.push((number, read(acks, way, number, survivors)?));
    }
    let reached = reached(acks, way, last, &found, survivors)?;
    let mut is_after = false;
    for (number, found) in found.iter().rev() {
        let number = *number;
        // The writer was at the record after the last that is known, which may have been written over an old one.
        let is_replaced = way.is_replaced(number, reached.saturating_add(1));
        let loss = lost(number, found);
        is_after |= loss.is_none();
        kept.torn_in_flight += u64::from(is_torn_in_flight(number, last, found, way));
        let Some(at) = of_way.recent.get(&number).filter(|_| !is_replaced) else { continue };
        kept.judged += 1;
        if let Some(loss) = loss {
            let age = acks.last.saturating_sub(*at);
            let place = way.place(number, acks.started.record);
            kept.lost.push(Lost { number, place, loss, age, is_before_kept: is_after });
        }
    }
    kept.lost.reverse();
    Ok(kept)
}

fn read(acks: &Acknowledgements, way: Way, number: u64, survivors: &mut dyn Survivors) -> io::Result<Found> {
    let size = acks.started.record;
    match survivors.record(way, &way.place(number, size)) {
        Ok(bytes) => {
            let sectors = bytes.chunks(SECTOR).enumerate().map(|(index, sector)| {
                let other = held(acks.started.run, way, index, sector)?;
                way.is_same_place(other, number).then_some(other)
            });
            let mut sectors: Vec<Option<u64>> = sectors.collect();
            sectors.resize(usize::try_from(size).unwrap_or(0).div_ceil(SECTOR), None);
            Ok(Found::Sectors(sectors))
        }
        // The medium cannot read it: EIO, ENODATA, EBADMSG, EILSEQ, EUCLEAN.
        Err(error) if matches!(error.raw_os_error(), Some(5 | 61 | 74 | 84 | 117)) => Ok(Found::Unreadable),
        Err(error) => Err(error),
    }
}

/// The last record that the writer is known to have begun: acknowledgements of it may have been on their way.
fn reached(
    acks: &Acknowledgements,
    way: Way,
    last: u64,
    found: &[(u64, Found)],
    survivors: &mut dyn Survivors,
) -> io::Result<u64> {
    let sectors = |found: &Found| match found {
        Found::Sectors(sectors) => sectors.iter().flatten().copied().max(),
        Found::Unreadable => None,
    };
    let mut reached = found.iter().filter_map(|(_, found)| sectors(found)).max().unwrap_or(last).max(last);
    // A file of a later record, which may have been lost from it.
    if let Some(newest) = survivors.numbers(way).into_iter().max() {
        reached = reached.max(way.first_of_file(newest));
    }
    while way.shape() == Shape::Growing
        && let Some(number) = sectors(&read(acks, way, reached.saturating_add(1), survivors)?)
        && number > reached
    {
        reached = number;
    }
    Ok(reached)
}

/// How a record was lost; `None` if it or a later one is there, or parts of both: the later one was in flight.
fn lost(number: u64, found: &Found) -> Option<Loss> {
    let Found::Sectors(sectors) = found else { return Some(Loss::Unreadable) };
    let is_there = |sector: &Option<u64>| sector.is_some_and(|held| held >= number);
    match sectors.iter().filter(|sector| is_there(sector)).count() {
        0 => Some(Loss::Whole),
        count if count < sectors.len() => Some(Loss::Torn),
        _ => None,
    }
}

/// True if a part of a later, unacknowledged record is at the place of this one.
fn is_torn_in_flight(number: u64, last: u64, found: &Found, way: Way) -> bool {
    let Found::Sectors(sectors) = found else { return false };
    let is_in_place = matches!(way.shape(), Shape::Slots | Shape::Renamed);
    let later = sectors.iter().filter(|sector| sector.is_some_and(|held| held > last.max(number))).count();
    is_in_place && later > 0 && later < sectors.len()
}

/// Kind of the cut, as far as this machine shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Its kernel has started again.
    Rebooted,
    /// The storage alone lost its power, as the user says.
    StorageOnly,
    /// Its kernel has run all the time.
    None,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All is there that was promised.
    Yes,
    /// Something is not there.
    No,
    /// It cannot be said; the reason, and what would help.
    CannotTell(String),
}

/// The answer to what the ways have kept.
pub fn answer(acks: &Acknowledgements, cut: Cut, kept: &[Kept]) -> Answer {
    let cannot = |why: String| Answer::CannotTell(why);
    if cut == Cut::None {
        return cannot(
            "the kernel that wrote still runs, and its memory answers the reads; cut the power of the machine, or give \
             --storage-only if only the storage lost its power"
                .to_owned(),
        );
    }
    if kept.iter().any(Kept::is_broken) {
        return Answer::No;
    }
    if let Some(why) = &acks.ended {
        return cannot(format!("the writer was ended before the cut ({why}), and what follows may have flushed all"));
    }
    let judged: u64 = kept.iter().filter(|kept| kept.way.promise() != Promise::Nothing).map(|kept| kept.judged).sum();
    match judged {
        0 => cannot("no write was acknowledged that had to be kept; cut later, or name such a --way".to_owned()),
        _ => Answer::Yes,
    }
}
