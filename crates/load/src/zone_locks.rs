//! The zones of a zoned device that one worker has.
//!
//! Writes of a zone have to arrive in order, so a zone belongs to one worker from its first write in flight to the end
//! of the last. A worker that finds a zone taken goes on reaping its own I/Os and asks again; since it never waits
//! without letting its own end, no two wait for each other. It also says that it waits: then the other puts no more
//! writes behind those in flight, and leaves the zone to it for a while.

use super::shared_zones::{HELD, LOST, OWNER, SharedZones, WANTED, WriteOrder};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// How often a worker leaves a zone to those that wait, before it takes the zone again itself.
const POLITE: u32 = 8;

/// A write that has not ended.
#[derive(Clone, Copy, Debug)]
struct Flying {
    zone: usize,
    /// Its start in the zone.
    inside: u64,
}

/// The zones that a worker has, by their number on the device.
#[derive(Debug)]
pub(super) struct ZoneLocks {
    shared: SharedZones,
    worker: u64,
    held: Vec<usize>,
    flying: Vec<Flying>,
    left_to_others: u32,
}

impl ZoneLocks {
    /// A worker with up to `depth` I/Os in flight. Two writes of a zone are in flight at once only if their order
    /// is kept.
    pub(super) fn new(shared: SharedZones, worker: u32, depth: u32) -> Self {
        let room = depth as usize + 1;
        let (held, flying) = (Vec::with_capacity(room), Vec::with_capacity(room));
        ZoneLocks { shared, worker: u64::from(worker), held, flying, left_to_others: 0 }
    }

    /// Takes a zone for the next write; false if it has to wait.
    pub(super) fn take(&mut self, zone: usize) -> bool {
        loop {
            let found = self.shared.lock(zone).load(Acquire);
            let own = found & OWNER == self.worker;
            match (found & HELD > 0, own) {
                (true, true) => {
                    return !self.flies(zone) || (self.shared.order() == WriteOrder::Kept && found & WANTED == 0);
                }
                (true, false) => {
                    if found & WANTED > 0 || self.change(zone, found, found | WANTED) {
                        return false;
                    }
                }
                (false, true) if self.left_to_others < POLITE => {
                    self.left_to_others += 1;
                    return false;
                }
                (false, _) => {
                    if self.change(zone, found, HELD | self.worker | found & LOST) {
                        self.left_to_others = 0;
                        self.held.push(zone);
                        return true;
                    }
                }
            }
        }
    }

    /// Gives a zone back.
    pub(super) fn release(&mut self, zone: usize) {
        self.held.retain(|&held| held != zone);
        loop {
            let found = self.shared.lock(zone).load(Acquire);
            if found & HELD == 0 || found & OWNER != self.worker {
                return;
            }
            let waits = if found & WANTED > 0 { self.worker } else { 0 };
            if self.change(zone, found, found & LOST | waits) {
                return;
            }
        }
    }

    /// Gives a zone back, unless a write of it is in flight.
    pub(super) fn release_idle(&mut self, zone: usize) {
        if !self.flies(zone) {
            self.release(zone);
        }
    }

    fn change(&self, zone: usize, from: u64, to: u64) -> bool {
        self.shared.lock(zone).compare_exchange(from, to, AcqRel, Acquire).is_ok()
    }

    /// True if a write of this zone is in flight.
    pub(super) fn flies(&self, zone: usize) -> bool {
        self.flying.iter().any(|write| write.zone == zone)
    }

    /// A write begins here.
    pub(super) fn begin(&mut self, zone: usize, inside: u64) {
        self.flying.push(Flying { zone, inside });
    }

    /// A write of a zone that holds `written` bytes has ended; true if it was the last one in flight. False, too, for a
    /// write that is none of these.
    pub(super) fn end(&mut self, zone: usize, inside: u64, written: u64) -> bool {
        let Some(at) = self.flying.iter().position(|write| write.zone == zone && write.inside == inside) else {
            return false;
        };
        self.flying.swap_remove(at);
        let first = self.flying.iter().filter(|write| write.zone == zone).map(|write| write.inside).min();
        self.shared.settled(zone).store(first.unwrap_or(written), Release);
        first.is_none()
    }

    /// Only the device knows the write pointer of this zone.
    pub(super) fn lose(&self, zone: usize) {
        self.shared.lock(zone).fetch_or(LOST, AcqRel);
    }

    /// The device was asked for it.
    pub(super) fn find(&self, zone: usize) {
        self.shared.lock(zone).fetch_and(!LOST, AcqRel);
    }

    /// True if the device has to be asked for the write pointer of this zone.
    pub(super) fn is_lost(&self, zone: usize) -> bool {
        self.shared.lock(zone).load(Acquire) & LOST > 0
    }
}

/// A copy holds nothing.
impl Clone for ZoneLocks {
    fn clone(&self) -> Self {
        let depth = u32::try_from(self.flying.capacity()).unwrap_or(u32::MAX);
        let worker = u32::try_from(self.worker).unwrap_or(u32::MAX);
        ZoneLocks::new(self.shared.clone(), worker, depth)
    }
}

impl Drop for ZoneLocks {
    fn drop(&mut self) {
        while let Some(&zone) = self.held.last() {
            self.release(zone);
        }
    }
}
