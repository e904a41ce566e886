//! The zones of a zoned device, or zones that are emulated on an ordinary one: each I/O is moved to an allowed
//! position, writes to their zone's write pointer, reads below it; a trim resets its zone. All workers of a run see the
//! same zones ([`SharedZones`]). What only a zoned device needs is in `device_zones.rs`.

use super::ZoneAction;
use super::device_zones::OnDevice;
use super::shared_zones::{SharedZones, ZoneKind, ZoneState};
use measure::Direction;
use plan::Zoned;
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// The zones of one region, as one job uses them.
#[derive(Clone, Debug)]
pub(super) struct ZoneMap {
    pub(super) plan: Zoned,
    start: u64,
    /// Number of the region's first zone, and of its zones.
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) shared: SharedZones,
    /// Zones that this job has opened, if their number is limited.
    opened: Vec<usize>,
    /// Number of resets by this job.
    pub(super) resets: u64,
    pub(super) least: u64,
    /// Random writes go to a zone with room before one that is full is reset: the job limits its open zones, or
    /// verifies.
    avoids_full: bool,
    /// Zones whose data this job is to verify, in a job that verifies.
    pub(super) unverified: Option<Unverified>,
    /// Present if it is a zoned device.
    pub(super) device: Option<OnDevice>,
}

/// The answer to an I/O that was meant for an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Do it here, with this length.
    At(u64, u32),
    /// No zone accepts it.
    Nowhere,
    /// Its zone is taken: ask again.
    Busy,
    /// First act on the zone that begins here. A trim has this length.
    Act { offset: u64, length: u32, action: ZoneAction },
}

/// The write pointer of a zone after one of its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteEnd {
    /// It is where it was expected.
    Known,
    /// The write failed, and the device is to be asked.
    Lost,
}

/// The use of zones by a job, besides what their plan says.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZoneUse {
    pub(super) rewrites: Rewrites,
    /// Number of the worker, from 1, and of its I/Os in flight at most.
    pub(super) worker: u32,
    pub(super) depth: u32,
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
pub(super) struct Unverified {
    shared: SharedZones,
    /// Number of the region's first zone.
    first: usize,
    marked: Box<[bool]>,
}

impl Unverified {
    /// Marks a zone; false if it was marked before.
    pub(super) fn mark(&mut self, zone: usize) -> bool {
        let newly = !std::mem::replace(&mut self.marked[zone], true);
        if newly {
            self.shared.unverified(self.first + zone).fetch_add(1, AcqRel);
        }
        newly
    }

    pub(super) fn clear(&mut self, zone: usize) {
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
    pub(super) fn new(
        mut plan: Zoned,
        region: Range<u64>,
        least: u32,
        shared: Option<&SharedZones>,
        of: ZoneUse,
    ) -> Self {
        let Range { start, end } = region;
        let device = shared.and_then(SharedZones::device);
        let avoids_full = plan.open_most.is_some() || of.rewrites == Rewrites::NextPass;
        if let Some(device) = device {
            plan.size = device.zone_size;
            plan.open_most = plan.open_most.or(device.open_most.filter(|_| !plan.ignores_limits));
        }
        let number = |bytes: u64| usize::try_from(bytes / plan.size.max(1)).unwrap_or(usize::MAX);
        let slots = plan.open_most.map_or(0, |most| most as usize);
        let shared = shared.cloned().unwrap_or_else(|| SharedZones::private(number(end), slots));
        let (first, count) = (number(start), number(end - start));
        let unverified = (of.rewrites == Rewrites::NextPass).then(|| Unverified {
            shared: shared.clone(),
            first,
            marked: vec![false; count].into_boxed_slice(),
        });
        ZoneMap {
            plan,
            start,
            first,
            count,
            opened: Vec::with_capacity(plan.opened_by_job_most.map_or(0, |most| most as usize)),
            resets: 0,
            least: u64::from(least.max(1)),
            avoids_full,
            unverified,
            device: device.map(|_| OnDevice::new(&shared, of)),
            shared,
        }
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

    /// Places an I/O that was meant for `offset`.
    pub(super) fn place(&mut self, direction: Direction, offset: u64, length: u32, course: Course) -> Placement {
        if let Some(first) = self.before_any(direction) {
            return first;
        }
        let placed = match direction {
            Direction::Write if self.device.is_some() => return self.write_on_device(offset, length, course),
            Direction::Write => self.write(offset, length, course),
            Direction::Read if self.plan.reads_anywhere => Some((offset, length)),
            Direction::Read => self.read(offset, length, course),
            Direction::Trim if self.device.is_some() => return self.trim_on_device(offset, length, course),
            Direction::Trim => return self.trim(offset, length),
        };
        placed.map_or(Placement::Nowhere, |(offset, length)| Placement::At(offset, length))
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
        let (full, keeps) = (self.room(zone, state) == 0, self.is_unverified(zone));
        if full && keeps {
            return Attempt::NoZone;
        }
        let resets = full || (!keeps && self.is_reset_due());
        let empty = if resets { state.reset() } else { state };
        let length = self.cut(length, self.room(zone, empty));
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

    /// The length of a write of `length` bytes to a zone with this room.
    pub(super) const fn cut(&self, length: u64, room: u64) -> u64 {
        match length {
            length if length <= room => length,
            _ if room < self.least => room,
            _ => room - room % self.least,
        }
    }

    /// The zone that a write goes to if it was meant for `offset`.
    pub(super) fn zone_for_write(&self, offset: u64, course: Course) -> Option<usize> {
        let mut zone = self.zone_of(offset)?;
        if course == Course::Sequential {
            // Offsets that no block fits behind are skipped.
            let inside = offset - self.start_of(zone);
            let block = if self.plan.writes_remainder { 1 } else { self.least };
            zone += usize::from(inside + block > self.capacity(zone));
            zone = (zone..self.count).find(|&zone| self.kind(zone) != ZoneKind::Unusable)?;
            return self.among_open(zone);
        }
        let zone = self.among_open(zone)?;
        let is_full = self.room(zone, self.state(zone)) == 0;
        // Another job may verify it, whatever this one does.
        Some(if is_full && (self.avoids_full || self.is_unverified(zone)) { self.another(zone) } else { zone })
    }

    /// A zone for a random write to one that is full: the next with room, or the next that may be reset.
    fn another(&self, zone: usize) -> usize {
        let others = (zone + 1..self.count).chain(0..=zone);
        let mut others = others.filter(|&other| self.kind(other) == ZoneKind::Sequential);
        let with_room = others.clone().find(|&other| self.room(other, self.state(other)) > 0);
        with_room.or_else(|| others.find(|&other| !self.is_unverified(other))).unwrap_or(zone)
    }

    /// Bytes of a zone that can be written.
    pub(super) fn capacity(&self, zone: usize) -> u64 {
        if self.device.is_some() { self.shared.of_report(self.first + zone).0 } else { self.plan.capacity }
    }

    pub(super) fn kind(&self, zone: usize) -> ZoneKind {
        if self.device.is_some() { self.shared.of_report(self.first + zone).1 } else { ZoneKind::Sequential }
    }

    /// True if a job wrote to the zone in this pass and reads it back.
    pub(super) fn is_unverified(&self, zone: usize) -> bool {
        self.shared.unverified(self.first + zone).load(Acquire) > 0
    }

    /// Number of writes above the threshold per reset: the integer part of 1 / zone_reset_frequency, so that 0.34
    /// resets at every second write, as in fio.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; beyond u64 it saturates")]
    fn writes_per_reset(&self) -> u64 {
        (1.0 / self.plan.reset_frequency).max(1.0) as u64
    }

    /// True if the plan wants a reset before this write, whose zone is not full.
    pub(super) fn is_reset_due(&self) -> bool {
        self.is_above_threshold() && self.shared.is_reset_due(self.writes_per_reset())
    }

    fn is_above_threshold(&self) -> bool {
        let Some(share) = self.plan.reset_threshold else { return false };
        let zones = (0..self.count).filter(|&zone| self.kind(zone) == ZoneKind::Sequential);
        let written: u64 = zones.map(|zone| self.state(zone).written()).sum();
        // Of the region, not of what can be written of it, as in fio.
        let all = self.plan.size * self.count as u64;
        written as f64 / all as f64 >= share
    }

    /// Bytes that may still be written to a zone: none if the remainder is less than a block, unless remainders are
    /// written.
    pub(super) fn room(&self, zone: usize, state: ZoneState) -> u64 {
        let room = self.capacity(zone).saturating_sub(state.written());
        if room < self.least && !self.plan.writes_remainder { 0 } else { room }
    }

    fn read(&self, offset: u64, length: u32, course: Course) -> Option<(u64, u32)> {
        let zone = self.zone_of(offset)?;
        let inside = offset - self.start_of(zone);
        let written = |zone: usize| self.readable(zone);
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

    /// Bytes from the start of a zone that can be read.
    pub(super) fn readable(&self, zone: usize) -> u64 {
        let written = self.state(zone).written();
        match self.kind(zone) {
            ZoneKind::Conventional => self.capacity(zone),
            _ if self.device.is_some() => written.min(self.shared.settled(self.first + zone).load(Acquire)),
            _ => written,
        }
    }

    /// Sets the zone of a trim back, if it holds data. An ordinary device has nothing to do.
    fn trim(&mut self, offset: u64, length: u32) -> Placement {
        let Some(zone) = self.zone_of(offset) else { return Placement::Nowhere };
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
        Placement::Act { offset: self.start_of(zone), length, action: ZoneAction::SetBack }
    }

    /// If no more zones may be opened, selects one that is open instead; `None` if none of those is in the region.
    fn among_open(&self, zone: usize) -> Option<usize> {
        if self.kind(zone) == ZoneKind::Conventional {
            return Some(zone);
        }
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
        let all = self.slots(most);
        let is_free = (0..most).any(|slot| self.shared.open(slot).is_none());
        if is_free || (0..all).any(|slot| self.shared.open(slot) == Some(self.first + zone)) {
            return Some(zone);
        }
        let from = zone * all / self.count;
        let mut filled = None;
        let found = (from..all).chain(0..from).find_map(|slot| {
            let open = self.shared.open(slot)?;
            let own = open.checked_sub(self.first).filter(|&own| own < self.count)?;
            if self.room(own, self.state(own)) > 0 {
                return Some(own);
            }
            if self.device.is_some() {
                filled = Some(own);
                return None;
            }
            // A worker that filled it is about to free the slot, or was killed before it could.
            self.shared.release(slot, open);
            Some(zone)
        });
        // The zones of a device that are full to the last block are finished first.
        found.or(filled)
    }

    /// Number of slots that may hold an open zone: those of a limit of `most`, or all of a device, which may have had
    /// more open zones when the run began.
    const fn slots(&self, most: usize) -> usize {
        if self.device.is_some() { self.shared.slots() } else { most }
    }

    /// The number of zones that may be open.
    fn limit(&self) -> Option<usize> {
        self.plan.open_most.map(|most| (most as usize).min(self.shared.slots()))
    }

    fn is_open(&self, zone: usize) -> bool {
        let state = self.state(zone);
        state.written() > 0 && self.room(zone, state) > 0
    }

    /// Takes a slot for a zone, if the number of open zones is limited.
    pub(super) fn claim(&self, zone: usize) -> Claim {
        let Some(most) = self.limit() else { return Claim::NotNeeded };
        let zone = self.first + zone;
        if (0..self.slots(most)).any(|slot| self.shared.open(slot) == Some(zone)) {
            return Claim::NotNeeded;
        }
        self.shared.claim(zone, most).map_or(Claim::Refused, Claim::Taken)
    }

    pub(super) fn keep_open(&mut self, zone: usize, state: ZoneState) {
        let full = self.room(zone, state) == 0;
        // A zone of a device is open until its last write has ended.
        if full && self.plan.open_most.is_some() && self.device.is_none() {
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

    pub(super) fn state(&self, zone: usize) -> ZoneState {
        self.shared.state(self.first + zone)
    }

    /// The zone of the region that holds `offset`.
    pub(super) fn zone_of(&self, offset: u64) -> Option<usize> {
        let zone = usize::try_from((offset - self.start) / self.plan.size.max(1)).ok()?;
        (zone < self.count).then_some(zone)
    }

    pub(super) fn start_of(&self, zone: usize) -> u64 {
        self.start + zone as u64 * self.plan.size
    }
}

/// The slot of a zone that is about to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It is open, or as many zones as there are may be.
    NotNeeded,
    /// This one, taken now.
    Taken(usize),
    /// Another worker opened the last zone that may be open.
    Refused,
}
