//! The zones of a zoned device, emulated on an ordinary one: each I/O is moved to an allowed position, writes to their
//! zone's write pointer, reads below it; a trim resets its zone. All workers of a run see the same zones
//! ([`SharedZones`]).

use super::shared_zones::{SharedZones, ZoneState};
use measure::Direction;
use plan::Zoned;
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// The zones of one region, as one job uses them.
#[derive(Clone, Debug)]
pub(super) struct ZoneMap {
    plan: Zoned,
    start: u64,
    /// Number of the region's first zone, and of its zones.
    first: usize,
    count: usize,
    shared: SharedZones,
    /// Zones that this job has opened, if their number is limited.
    opened: Vec<usize>,
    /// Number of resets by this job.
    resets: u64,
    least: u64,
    /// Zones whose data this job is to verify, in a job that verifies.
    unverified: Option<Unverified>,
}

/// When a zone may be written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rewrites {
    /// As soon as no zone has room.
    Always,
    /// In the next pass, after this one has been verified.
    NextPass,
}

/// The order in which a job goes through its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// One block after another.
    Sequential,
    /// At random offsets.
    Random,
}

/// The zones that a job wrote in this pass and is to read back. No job writes them again before.
#[derive(Debug)]
struct Unverified {
    shared: SharedZones,
    /// Number of the region's first zone.
    first: usize,
    marked: Box<[bool]>,
}

impl Unverified {
    /// Marks a zone; false if it was marked before.
    fn mark(&mut self, zone: usize) -> bool {
        let newly = !std::mem::replace(&mut self.marked[zone], true);
        if newly {
            self.shared.unverified(self.first + zone).fetch_add(1, AcqRel);
        }
        newly
    }

    fn clear(&mut self, zone: usize) {
        if std::mem::take(&mut self.marked[zone]) {
            self.shared.unverified(self.first + zone).fetch_sub(1, AcqRel);
        }
    }

    fn clear_all(&mut self) {
        (0..self.marked.len()).for_each(|zone| self.clear(zone));
    }
}

/// A copy marks nothing: the marks are the job's, and are taken back once.
impl Clone for Unverified {
    fn clone(&self) -> Self {
        let marked = vec![false; self.marked.len()].into_boxed_slice();
        Unverified { shared: self.shared.clone(), first: self.first, marked }
    }
}

impl Drop for Unverified {
    fn drop(&mut self) {
        self.clear_all();
    }
}

/// The outcome of an attempt to place a write.
enum Attempt {
    Placed(u64, u64),
    /// No zone accepts it.
    NoZone,
    /// Another worker changed the zone meanwhile.
    Again,
}

impl ZoneMap {
    /// The zones of the region from `start` to `end`, in `shared` memory if other workers use the same file.
    pub(super) fn new(plan: Zoned, region: Range<u64>, least: u32, shared: Option<&SharedZones>) -> Self {
        let Range { start, end } = region;
        let number = |bytes: u64| usize::try_from(bytes / plan.size.max(1)).unwrap_or(usize::MAX);
        let slots = plan.open_most.map_or(0, |most| most as usize);
        let shared = shared.cloned().unwrap_or_else(|| SharedZones::private(number(end), slots));
        ZoneMap {
            plan,
            start,
            first: number(start),
            count: number(end - start),
            shared,
            opened: Vec::with_capacity(plan.opened_by_job_most.map_or(0, |most| most as usize)),
            resets: 0,
            least: u64::from(least.max(1)),
            unverified: None,
        }
    }

    /// Sets when a zone may be written again.
    pub(super) fn rewritten(mut self, rewrites: Rewrites) -> Self {
        self.unverified = (rewrites == Rewrites::NextPass).then(|| Unverified {
            shared: self.shared.clone(),
            first: self.first,
            marked: vec![false; self.count].into_boxed_slice(),
        });
        self
    }

    /// Begins a pass: what the last one wrote has been verified.
    pub(super) fn begin_pass(&mut self) {
        if let Some(unverified) = &mut self.unverified {
            unverified.clear_all();
        }
    }

    /// True if the remainder of a zone that is smaller than a block is written, too.
    pub(super) const fn writes_remainder(&self) -> bool {
        self.plan.writes_remainder
    }

    /// Number of resets by this job so far.
    pub(super) const fn resets(&self) -> u64 {
        self.resets
    }

    /// The position and length of an I/O that was meant for `offset`; `None` if no zone accepts it.
    pub(super) fn place(
        &mut self,
        direction: Direction,
        offset: u64,
        length: u32,
        course: Course,
    ) -> Option<(u64, u32)> {
        match direction {
            Direction::Write => self.write(offset, length, course),
            Direction::Read if self.plan.reads_anywhere => Some((offset, length)),
            Direction::Read => self.read(offset, length, course),
            Direction::Trim => self.trim(offset, length),
        }
    }

    fn write(&mut self, offset: u64, length: u32, course: Course) -> Option<(u64, u32)> {
        loop {
            match self.attempt(offset, u64::from(length), course) {
                Attempt::Placed(offset, length) => return Some((offset, u32::try_from(length).unwrap_or(u32::MAX))),
                Attempt::NoZone => return None,
                Attempt::Again => std::hint::spin_loop(),
            }
        }
    }

    fn attempt(&mut self, offset: u64, length: u64, course: Course) -> Attempt {
        let Some(zone) = self.zone_for_write(offset, course) else { return Attempt::NoZone };
        let state = self.state(zone);
        let (full, keeps) = (self.room(state) == 0, self.is_unverified(zone));
        if full && keeps {
            return Attempt::NoZone;
        }
        let resets = full || (!keeps && self.is_above_threshold() && self.shared.is_reset_due(self.writes_per_reset()));
        let empty = if resets { state.reset() } else { state };
        let room = self.room(empty);
        let length = match length {
            length if length <= room => length,
            _ if room < self.least => room,
            _ => room - room % self.least,
        };
        // Marked and opened before the write counts, so that no other worker resets the zone or opens too many.
        let newly = self.unverified.as_mut().is_some_and(|unverified| unverified.mark(zone));
        let slot = self.claim(zone);
        if slot == Claim::Refused || !self.shared.change(self.first + zone, state, empty.after(length)) {
            if let (true, Some(unverified)) = (newly, &mut self.unverified) {
                unverified.clear(zone);
            }
            if let Claim::Taken(slot) = slot {
                self.shared.release(slot, self.first + zone);
            }
            return Attempt::Again;
        }
        self.resets += u64::from(resets);
        self.keep_open(zone, empty.after(length));
        Attempt::Placed(self.start_of(zone) + empty.written(), length)
    }

    /// The zone that a write goes to if it was meant for `offset`.
    fn zone_for_write(&self, offset: u64, course: Course) -> Option<usize> {
        let mut zone = self.zone_of(offset)?;
        if course == Course::Sequential {
            // Offsets that no block fits behind are skipped.
            let inside = offset - self.start_of(zone);
            let block = if self.plan.writes_remainder { 1 } else { self.least };
            zone += usize::from(inside + block > self.plan.capacity);
            return if zone < self.count { self.among_open(zone) } else { None };
        }
        let zone = self.among_open(zone)?;
        Some(if self.room(self.state(zone)) == 0 { self.another(zone) } else { zone })
    }

    /// A zone for a random write to one that is full: the next with room, or the next that may be reset.
    fn another(&self, zone: usize) -> usize {
        let mut others = (zone + 1..self.count).chain(0..=zone);
        let with_room = others.clone().find(|&other| self.room(self.state(other)) > 0);
        with_room.or_else(|| others.find(|&other| !self.is_unverified(other))).unwrap_or(zone)
    }

    /// True if a job wrote to the zone in this pass and reads it back.
    fn is_unverified(&self, zone: usize) -> bool {
        self.shared.unverified(self.first + zone).load(Acquire) > 0
    }

    /// Number of writes above the threshold per reset: the integer part of 1 / zone_reset_frequency, so that 0.34
    /// resets at every second write, as in fio.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; beyond u64 it saturates")]
    fn writes_per_reset(&self) -> u64 {
        (1.0 / self.plan.reset_frequency).max(1.0) as u64
    }

    fn is_above_threshold(&self) -> bool {
        let all = self.plan.capacity * self.count as u64;
        let written = || (0..self.count).map(|zone| self.state(zone).written()).sum::<u64>();
        self.plan.reset_threshold.is_some_and(|share| written() as f64 / all as f64 >= share)
    }

    /// Bytes that may still be written to a zone: none if the remainder is less than a block, unless remainders are
    /// written.
    fn room(&self, state: ZoneState) -> u64 {
        let room = self.plan.capacity.saturating_sub(state.written());
        if room < self.least && !self.plan.writes_remainder { 0 } else { room }
    }

    fn read(&self, offset: u64, length: u32, course: Course) -> Option<(u64, u32)> {
        let zone = self.zone_of(offset)?;
        let inside = offset - self.start_of(zone);
        let written = |zone: usize| self.state(zone).written();
        let holds = |&zone: &usize| written(zone) >= self.least;
        let (zone, inside) = match course {
            Course::Sequential if inside + self.least <= written(zone) => (zone, inside),
            Course::Sequential => ((zone + 1..self.count).find(holds)?, 0),
            Course::Random => {
                let found = (zone..self.count).find(holds).or_else(|| (0..zone).rev().find(holds))?;
                // Another worker may reset the zone at any time; then its first block is read.
                let blocks = (written(found) / self.least).max(1);
                (found, inside / self.least % blocks * self.least)
            }
        };
        let held = written(zone).saturating_sub(inside).max(self.least);
        let length = u64::from(length).min(held - held % self.least);
        Some((self.start_of(zone) + inside, u32::try_from(length).unwrap_or(u32::MAX)))
    }

    /// Resets the zone of a trim, if it holds data.
    fn trim(&mut self, offset: u64, length: u32) -> Option<(u64, u32)> {
        let zone = self.zone_of(offset)?;
        loop {
            let state = self.state(zone);
            if state.written() == 0 {
                break;
            }
            if self.shared.change(self.first + zone, state, state.reset()) {
                self.resets += 1;
                self.shared.close(self.first + zone);
                if let Some(unverified) = &mut self.unverified {
                    unverified.clear(zone);
                }
                break;
            }
        }
        Some((self.start_of(zone), length))
    }

    /// If no more zones may be opened, selects one that is open instead; `None` if none of those is in the region.
    fn among_open(&self, zone: usize) -> Option<usize> {
        self.among_all(self.among_own(zone))
    }

    /// One of the zones that this job has opened, if it may open no more.
    fn among_own(&self, zone: usize) -> usize {
        let Some(most) = self.plan.opened_by_job_most else { return zone };
        let is_open = |&&zone: &&usize| self.is_open(zone);
        let open = self.opened.iter().filter(is_open).count();
        if open < most as usize || self.opened.contains(&zone) {
            return zone;
        }
        self.opened.iter().filter(is_open).nth(zone * open / self.count).copied().unwrap_or(zone)
    }

    /// One of the zones that are open, if no job may open another.
    fn among_all(&self, zone: usize) -> Option<usize> {
        let Some(most) = self.limit() else { return Some(zone) };
        let in_slots = || (0..most).map(|slot| self.shared.open(slot));
        if in_slots().any(|open| open.is_none() || open == Some(self.first + zone)) {
            return Some(zone);
        }
        let from = zone * most / self.count;
        (from..most).chain(0..from).find_map(|slot| {
            let open = self.shared.open(slot)?;
            let own = open.checked_sub(self.first).filter(|&own| own < self.count)?;
            if self.room(self.state(own)) > 0 {
                return Some(own);
            }
            // A worker that filled it is about to free the slot, or was killed before it could.
            self.shared.release(slot, open);
            Some(zone)
        })
    }

    /// The number of zones that may be open.
    fn limit(&self) -> Option<usize> {
        self.plan.open_most.map(|most| (most as usize).min(self.shared.slots()))
    }

    fn is_open(&self, zone: usize) -> bool {
        let state = self.state(zone);
        state.written() > 0 && self.room(state) > 0
    }

    /// Takes a slot for a zone, if the number of open zones is limited.
    fn claim(&self, zone: usize) -> Claim {
        let Some(most) = self.limit() else { return Claim::NotNeeded };
        let zone = self.first + zone;
        if (0..most).any(|slot| self.shared.open(slot) == Some(zone)) {
            return Claim::NotNeeded;
        }
        self.shared.claim(zone, most).map_or(Claim::Refused, Claim::Taken)
    }

    fn keep_open(&mut self, zone: usize, state: ZoneState) {
        let full = self.room(state) == 0;
        if full && self.plan.open_most.is_some() {
            self.shared.close(self.first + zone);
        }
        if self.plan.opened_by_job_most.is_some() {
            let (shared, first) = (&self.shared, self.first);
            self.opened.retain(|&open| open != zone && shared.state(first + open).written() > 0);
            if !full {
                self.opened.push(zone);
            }
        }
    }

    fn state(&self, zone: usize) -> ZoneState {
        self.shared.state(self.first + zone)
    }

    /// The zone of the region that holds `offset`.
    fn zone_of(&self, offset: u64) -> Option<usize> {
        let zone = usize::try_from((offset - self.start) / self.plan.size.max(1)).ok()?;
        (zone < self.count).then_some(zone)
    }

    fn start_of(&self, zone: usize) -> u64 {
        self.start + zone as u64 * self.plan.size
    }
}

/// The slot of a zone that is about to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// It is open, or as many zones as there are may be.
    NotNeeded,
    /// This one, taken now.
    Taken(usize),
    /// Another worker opened the last zone that may be open.
    Refused,
}
