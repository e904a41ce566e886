//! The zones of one file or device, as all workers of a run see them: write pointers, open zones, and which zones hold
//! data that a job is still to verify.
//!
//! The state is in words of shared memory, which start as zeros: all zones are empty when a run starts. There is no
//! lock, because a worker that is killed would keep it: each change is one compare-and-exchange of a zone's word. The
//! word counts the zone's resets too, so that a zone that another worker has reset and filled again is not taken for
//! the one that was looked at.
//!
//! A zone of a zoned device belongs to one worker while its writes are in flight (`zone_locks.rs`), because they have
//! to arrive in order. Of a worker that was killed the supervisor takes them back ([`SharedZones::abandon`]).

use plan::ZONE_BYTES_MAX;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Memory that all workers of a run share, of zeros at first.
pub trait SharedWords: Debug + Send + Sync {
    /// Word `index`, which is less than the number of words that [`SharedZones::words`] asked for.
    fn word(&self, index: usize) -> &AtomicU64;
}

impl SharedWords for Box<[AtomicU64]> {
    fn word(&self, index: usize) -> &AtomicU64 {
        &self[index]
    }
}

/// Writes above the reset threshold since the last reset.
const SINCE_RESET: usize = 0;
/// Number of words before the slots of open zones.
const HEAD: usize = 1;
/// Words per zone: its state; the number of jobs that wrote to it and have not verified that yet; and of a zoned device
/// the worker that has it, the bytes that are written for certain, and what the device says of it.
const PER_ZONE: usize = 5;

/// A zone of a zoned device, as the device reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceZone {
    /// Bytes from its start that can be written.
    pub capacity: u64,
    /// Bytes from its start that are written.
    pub written: u64,
    /// How it is written.
    pub kind: ZoneKind,
}

/// How a zone of a zoned device is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneKind {
    /// At its write pointer.
    Sequential,
    /// Anywhere.
    Conventional,
    /// Not at all: it is read-only or offline.
    Unusable,
}

/// A zoned device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonedDevice {
    /// Size of its zones.
    pub zone_size: u64,
    /// Number of zones that its limits allow to be open; `None` without a limit.
    pub open_most: Option<u32>,
}

/// The zones of a file or device.
#[derive(Clone, Debug)]
pub struct SharedZones {
    words: Arc<dyn SharedWords>,
    /// Slots for open zones: the largest limit of all jobs.
    slots: usize,
    /// The zoned device; `None` if the zones are emulated.
    device: Option<ZonedDevice>,
    order: WriteOrder,
}

/// The order in which the writes of a worker arrive at a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// That in which its engine was given them.
    Kept,
    /// Any, as when threads do them.
    Any,
}

/// Write pointer of a zone, in bytes from its start, and how often it was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ZoneState(u64);

/// Position of a zone's kind in the word with its capacity.
const KIND_SHIFT: u32 = 60;

/// In the word of a zone's worker: its number, which stays after it gave the zone back if another waits for it.
pub(super) const OWNER: u64 = u32::MAX as u64;
/// The worker has the zone.
pub(super) const HELD: u64 = 1 << 32;
/// Another waits for it.
pub(super) const WANTED: u64 = 1 << 33;
/// A write failed, or its worker was killed: only the device knows the write pointer.
pub(super) const LOST: u64 = 1 << 34;

/// The lowest bits of a state are the bytes written.
const WRITTEN_BITS: u32 = ZONE_BYTES_MAX.trailing_zeros();

impl ZoneState {
    pub(super) const fn written(self) -> u64 {
        self.0 & (ZONE_BYTES_MAX - 1)
    }

    /// The state after a write of `bytes` at the write pointer.
    pub(super) const fn after(self, bytes: u64) -> ZoneState {
        ZoneState(self.0 + bytes)
    }

    /// The state after the device was asked for its write pointer.
    pub(super) const fn at(self, written: u64) -> ZoneState {
        ZoneState(self.reset().0 | written)
    }

    /// The state after a reset.
    pub(super) const fn reset(self) -> ZoneState {
        ZoneState((self.0 >> WRITTEN_BITS).wrapping_add(1) << WRITTEN_BITS)
    }
}

impl SharedZones {
    /// Number of words for this number of zones, of which up to `slots` may be open; 0 without a limit.
    pub const fn words(zones: usize, slots: usize) -> usize {
        HEAD.saturating_add(slots).saturating_add(zones.saturating_mul(PER_ZONE))
    }

    /// The zones in this memory, all empty.
    pub fn new(words: Arc<dyn SharedWords>, slots: usize) -> Self {
        SharedZones { words, slots, device: None, order: WriteOrder::Any }
    }

    /// The zones of a zoned device in this memory. Their states are those of the report, in its order. The zones in
    /// `open` are partly written; there are slots for all of them.
    pub fn of_device(
        words: Arc<dyn SharedWords>,
        slots: usize,
        device: ZonedDevice,
        report: &[DeviceZone],
        open: &[usize],
    ) -> Self {
        let zones = SharedZones { words, slots, device: Some(device), order: WriteOrder::Any };
        for (index, zone) in report.iter().enumerate() {
            zones.zone(index).store(zone.written & (ZONE_BYTES_MAX - 1), Release);
            zones.settled(index).store(zone.written, Release);
            zones.facts(index).store(zone.capacity & (ZONE_BYTES_MAX - 1) | (zone.kind as u64) << KIND_SHIFT, Release);
        }
        open.iter().for_each(|&zone| _ = zones.claim(zone, slots));
        zones
    }

    /// The zoned device; `None` if the zones are emulated.
    pub const fn device(&self) -> Option<ZonedDevice> {
        self.device
    }

    /// The same zones, for a worker whose writes arrive in this order.
    pub fn ordered(&self, order: WriteOrder) -> Self {
        SharedZones { order, ..self.clone() }
    }

    pub(super) const fn order(&self) -> WriteOrder {
        self.order
    }

    /// Frees the zones of a worker that was killed. What it wrote last is asked of the device before the next write.
    pub fn abandon(&self, worker: u32, zones: usize) {
        for zone in 0..zones {
            let found = self.lock(zone).load(Acquire);
            if found & HELD > 0 && found & OWNER == u64::from(worker) {
                self.lock(zone).store(LOST, Release);
            }
        }
    }

    /// Zones that no other worker sees.
    pub(super) fn private(zones: usize, slots: usize) -> Self {
        let words: Box<[AtomicU64]> = (0..Self::words(zones, slots)).map(|_| AtomicU64::new(0)).collect();
        SharedZones::new(Arc::new(words), slots)
    }

    fn zone(&self, zone: usize) -> &AtomicU64 {
        self.words.word(HEAD + self.slots + zone * PER_ZONE)
    }

    pub(super) fn state(&self, zone: usize) -> ZoneState {
        ZoneState(self.zone(zone).load(Acquire))
    }

    /// Changes a zone; false if another worker changed it first.
    pub(super) fn change(&self, zone: usize, from: ZoneState, to: ZoneState) -> bool {
        self.zone(zone).compare_exchange(from.0, to.0, AcqRel, Acquire).is_ok()
    }

    /// Counts a write above the reset threshold; true for every `every`th.
    pub(super) fn is_reset_due(&self, every: u64) -> bool {
        let since = self.words.word(SINCE_RESET);
        let due = since.fetch_add(1, Relaxed) + 1 >= every;
        if due {
            since.store(0, Relaxed);
        }
        due
    }

    /// Number of jobs that wrote to a zone and have not verified that yet.
    pub(super) fn unverified(&self, zone: usize) -> &AtomicU64 {
        self.words.word(HEAD + self.slots + zone * PER_ZONE + 1)
    }

    /// The open zone in slot `slot`.
    pub(super) fn open(&self, slot: usize) -> Option<usize> {
        let kept = self.words.word(HEAD + slot).load(Acquire);
        usize::try_from(kept).ok()?.checked_sub(1)
    }

    /// Puts a zone into the first of `most` slots that is free; `None` if none is.
    pub(super) fn claim(&self, zone: usize, most: usize) -> Option<usize> {
        let kept = zone as u64 + 1;
        (0..most).find(|slot| self.words.word(HEAD + slot).compare_exchange(0, kept, AcqRel, Acquire).is_ok())
    }

    /// Frees a slot, if this zone is in it.
    pub(super) fn release(&self, slot: usize, zone: usize) {
        // If another zone is in it by now, there is nothing to free.
        let _ = self.words.word(HEAD + slot).compare_exchange(zone as u64 + 1, 0, AcqRel, Acquire);
    }

    /// Frees the slots of a zone that is not open any more.
    pub(super) fn close(&self, zone: usize) {
        for slot in (0..self.slots).filter(|&slot| self.open(slot) == Some(zone)) {
            self.release(slot, zone);
        }
    }

    fn extra(&self, zone: usize, word: usize) -> &AtomicU64 {
        self.words.word(HEAD + self.slots + zone * PER_ZONE + word)
    }

    /// The worker that has a zone of a device.
    pub(super) fn lock(&self, zone: usize) -> &AtomicU64 {
        self.extra(zone, 2)
    }

    /// Bytes of a zone of a device that are written: no write below is in flight.
    pub(super) fn settled(&self, zone: usize) -> &AtomicU64 {
        self.extra(zone, 3)
    }

    fn facts(&self, zone: usize) -> &AtomicU64 {
        self.extra(zone, 4)
    }

    /// Capacity and kind of a zone of a device.
    pub(super) fn of_report(&self, zone: usize) -> (u64, ZoneKind) {
        let facts = self.facts(zone).load(Acquire);
        let kind = match facts >> KIND_SHIFT {
            0 => ZoneKind::Sequential,
            1 => ZoneKind::Conventional,
            _ => ZoneKind::Unusable,
        };
        (facts & (ZONE_BYTES_MAX - 1), kind)
    }

    pub(super) const fn slots(&self) -> usize {
        self.slots
    }
}
