//! What a zoned device needs beyond emulated zones: its zones are reset, finished and asked for by steps of the load,
//! which the loop carries out, and a zone belongs to one worker while its writes are in flight.

use super::shared_zones::{SharedZones, ZoneKind};
use super::zone_locks::ZoneLocks;
use super::zones::{Claim, Course, Placement, Rewrites, WriteEnd, ZoneMap, ZoneUse};
use super::{Request, ZoneAction};
use measure::Direction;
use std::sync::atomic::Ordering::Release;

/// A worker's view of the zones of a device.
#[derive(Clone, Debug)]
pub(super) struct OnDevice {
    pub(super) locks: ZoneLocks,
    /// The zone that is being acted on, and why.
    step: Option<(usize, Why)>,
    /// The zone of the write that waited for a step.
    chosen: Option<usize>,
    /// The plan wants a reset before the write that waits for its zone.
    reset_due: bool,
    /// Zones with less room than a block, to be finished: as long as they are open no others can be opened.
    finishing: Vec<usize>,
    /// The zones before this one hold nothing that was written before the job. Of a job that verifies its writes.
    cleared: Option<usize>,
}

/// Why a zone is acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It is written next.
    Write,
    /// It held data when the job began.
    Begin,
    /// It has less room than a block.
    Remainder,
    /// The job trims it.
    Trim,
}

impl OnDevice {
    pub(super) fn new(shared: &SharedZones, of: ZoneUse) -> Self {
        OnDevice {
            locks: ZoneLocks::new(shared.clone(), of.worker, of.depth),
            step: None,
            chosen: None,
            reset_due: false,
            finishing: Vec::with_capacity(of.depth as usize + 1),
            cleared: (of.rewrites == Rewrites::NextPass).then_some(0),
        }
    }
}

impl ZoneMap {
    fn device(&mut self) -> Option<(&mut OnDevice, usize)> {
        let first = self.first;
        self.device.as_mut().map(|device| (device, first))
    }

    /// True if a worker may write to a zone now.
    fn take(&mut self, zone: usize) -> bool {
        self.device().is_some_and(|(device, first)| device.locks.take(first + zone))
    }

    fn flies(&self, zone: usize) -> bool {
        self.device.as_ref().is_some_and(|device| device.locks.flies(self.first + zone))
    }

    fn release_idle(&mut self, zone: usize) {
        if let Some((device, first)) = self.device() {
            device.locks.release_idle(first + zone);
        }
    }

    fn act(&mut self, zone: usize, why: Why, action: ZoneAction) -> Placement {
        if let Some((device, _)) = self.device() {
            device.step = Some((zone, why));
        }
        Placement::Act { offset: self.start_of(zone), length: 0, action }
    }

    /// The action before the next I/O in this direction, if there is one: zones that are full but for less than a block
    /// are finished, and a job that verifies its writes begins with empty zones.
    pub(super) fn before_any(&mut self, direction: Direction) -> Option<Placement> {
        let device = self.device.as_ref()?;
        if let Some(&zone) = device.finishing.last() {
            return Some(self.act(zone, Why::Remainder, ZoneAction::Finish));
        }
        let mut zone = device.cleared.filter(|_| direction != Direction::Trim)?;
        while zone < self.count {
            let holds = self.kind(zone) == ZoneKind::Sequential && self.state(zone).written() > 0;
            if holds && !self.is_unverified(zone) {
                if !self.take(zone) {
                    return Some(Placement::Busy);
                }
                if self.state(zone).written() > 0 && !self.is_unverified(zone) {
                    return Some(self.act(zone, Why::Begin, ZoneAction::Reset));
                }
                self.release_idle(zone);
            }
            zone += 1;
            self.device()?.0.cleared = Some(zone);
        }
        self.device()?.0.cleared = None;
        None
    }

    /// Places a write.
    pub(super) fn write_on_device(&mut self, offset: u64, length: u32, course: Course) -> Placement {
        loop {
            let chosen = self.device.as_mut().and_then(|device| device.chosen.take());
            let Some(zone) = chosen.or_else(|| self.zone_for_write(offset, course)) else { return Placement::Nowhere };
            if self.kind(zone) != ZoneKind::Sequential {
                return self.write_anywhere(zone, offset, length);
            }
            let before = self.state(zone);
            if !self.take(zone) {
                return Placement::Busy;
            }
            if self.device.as_ref().is_some_and(|device| device.locks.is_lost(self.first + zone)) {
                return self.act(zone, Why::Write, ZoneAction::Report);
            }
            let state = self.state(zone);
            if state != before {
                self.release_idle(zone);
                continue;
            }
            let (full, keeps) = (self.room(zone, state) == 0, self.is_unverified(zone));
            if full && keeps {
                self.release_idle(zone);
                return Placement::Nowhere;
            }
            // A zone that was reset for this write is not reset again.
            if full || (chosen.is_none() && !keeps && self.wants_reset()) {
                if self.flies(zone) {
                    return Placement::Busy;
                }
                return self.act(zone, Why::Write, ZoneAction::Reset);
            }
            if self.claim(zone) == Claim::Refused {
                self.release_idle(zone);
                return self.finish_filled().unwrap_or(Placement::Busy);
            }
            return self.begin_write(zone, u64::from(length));
        }
    }

    /// Finishes a zone that was open when the run began, and has less room than a block: it keeps others from being
    /// opened.
    fn finish_filled(&mut self) -> Option<Placement> {
        let open = (0..self.shared.slots()).filter_map(|slot| self.shared.open(slot)?.checked_sub(self.first));
        let mut filled = open.filter(|&zone| zone < self.count && self.room(zone, self.state(zone)) == 0);
        let zone = filled.next()?;
        if !self.take(zone) || self.flies(zone) {
            return None;
        }
        Some(self.act(zone, Why::Remainder, ZoneAction::Finish))
    }

    /// True if the plan wants a reset before this write. Asked once per write, however often it waits.
    fn wants_reset(&mut self) -> bool {
        let due = self.device.as_ref().is_some_and(|device| device.reset_due) || self.is_reset_due();
        if let Some((device, _)) = self.device() {
            device.reset_due = due;
        }
        due
    }

    fn begin_write(&mut self, zone: usize, length: u64) -> Placement {
        let state = self.state(zone);
        let length = self.cut(length, self.room(zone, state));
        if let Some(unverified) = &mut self.unverified {
            unverified.mark(zone);
        }
        // No other worker changes the zone.
        self.shared.change(self.first + zone, state, state.after(length));
        if let Some((device, first)) = self.device() {
            device.locks.begin(first + zone, state.written());
            device.reset_due = false;
        }
        self.keep_open(zone, state.after(length));
        Placement::At(self.start_of(zone) + state.written(), u32::try_from(length).unwrap_or(u32::MAX))
    }

    /// Places a write in a conventional zone: where it was meant to be, up to the end of the zone.
    fn write_anywhere(&self, zone: usize, offset: u64, length: u32) -> Placement {
        let inside = offset.saturating_sub(self.start_of(zone));
        let (inside, room) = match self.capacity(zone).checked_sub(inside) {
            Some(room @ 1..) => (inside, room),
            _ => (0, self.capacity(zone)),
        };
        match self.kind(zone) {
            ZoneKind::Unusable => Placement::Nowhere,
            _ => {
                Placement::At(self.start_of(zone) + inside, u32::try_from(room).map_or(length, |room| room.min(length)))
            }
        }
    }

    /// Places a trim: it resets its zone. A random one goes to a zone that holds data.
    pub(super) fn trim_on_device(&mut self, offset: u64, length: u32, course: Course) -> Placement {
        let Some(mut zone) = self.zone_of(offset) else { return Placement::Nowhere };
        if course == Course::Random && self.kind(zone) == ZoneKind::Sequential {
            let holds = |&zone: &usize| self.kind(zone) == ZoneKind::Sequential && self.state(zone).written() > 0;
            let found = (zone..self.count).chain(0..zone).find(holds);
            let Some(found) = found else { return Placement::Nowhere };
            zone = found;
        }
        match self.kind(zone) {
            ZoneKind::Unusable => return Placement::Nowhere,
            ZoneKind::Conventional => return Placement::At(self.start_of(zone), length),
            ZoneKind::Sequential => {}
        }
        if !self.take(zone) || self.flies(zone) {
            return Placement::Busy;
        }
        self.act(zone, Why::Trim, ZoneAction::Trim);
        Placement::Act { offset: self.start_of(zone), length, action: ZoneAction::Trim }
    }

    /// Notes the result of the last [`Placement::Act`]: what the device reported as written, or errno.
    pub(super) fn acted(&mut self, action: ZoneAction, result: Result<u64, i32>) {
        let Some((zone, why)) = self.device().and_then(|(device, _)| device.step.take()) else { return };
        let (number, state) = (self.first + zone, self.state(zone));
        match (action, result) {
            (ZoneAction::Reset | ZoneAction::Trim, Ok(_)) => {
                self.resets += u64::from(why != Why::Trim || state.written() > 0);
                self.shared.settled(number).store(0, Release);
                self.shared.change(number, state, state.reset());
                self.shared.close(number);
                if let (Why::Trim, Some(unverified)) = (why, &mut self.unverified) {
                    unverified.clear(zone);
                }
            }
            (ZoneAction::Finish, Ok(_)) => self.shared.close(number),
            (ZoneAction::Report, Ok(written)) => {
                self.shared.change(number, state, state.at(written.min(self.capacity(zone))));
                self.shared.settled(number).store(written, Release);
            }
            _ => {}
        }
        let Some((device, _)) = self.device() else { return };
        if action == ZoneAction::Report && result.is_ok() {
            device.locks.find(number);
        }
        if why == Why::Remainder {
            device.finishing.pop();
        }
        if why == Why::Write && result.is_ok() {
            device.reset_due = false;
            device.chosen = Some(zone);
        } else {
            device.locks.release_idle(number);
        }
    }

    /// A write has ended.
    pub(super) fn ended(&mut self, request: &Request, end: WriteEnd) {
        let Some(zone) = self.zone_of(request.offset) else { return };
        let (inside, state) = (request.offset - self.start_of(zone), self.state(zone));
        let (room, capacity) = (self.room(zone, state), self.capacity(zone));
        let limited = self.plan.open_most.is_some();
        let Some((device, first)) = self.device() else { return };
        if end == WriteEnd::Lost {
            device.locks.lose(first + zone);
        }
        if !device.locks.end(first + zone, inside, state.written()) {
            return;
        }
        if room == 0 && limited && state.written() < capacity && end == WriteEnd::Known {
            return device.finishing.push(zone);
        }
        device.locks.release(first + zone);
        if room == 0 && limited {
            self.shared.close(first + zone);
        }
    }
}
