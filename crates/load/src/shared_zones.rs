//! The zones of one file or device, as all workers of a run see them: write pointers, open zones, and which zones hold
//! data that a job is still to verify.
//!
//! The state is in words of shared memory, which start as zeros: all zones are empty when a run starts. There is no
//! lock, because a worker that is killed would keep it: each change is one compare-and-exchange of a zone's word. The
//! word counts the zone's resets too, so that a zone that another worker has reset and filled again is not taken for
//! the one that was looked at.

use plan::ZONE_BYTES_MAX;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

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
/// Words per zone: its state, and the number of jobs that wrote to it and have not verified that yet.
const PER_ZONE: usize = 2;

/// The zones of a file or device.
#[derive(Clone, Debug)]
pub struct SharedZones {
    words: Arc<dyn SharedWords>,
    /// Slots for open zones: the largest limit of all jobs.
    slots: usize,
}

/// Write pointer of a zone, in bytes from its start, and how often it was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ZoneState(u64);

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
        SharedZones { words, slots }
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

    pub(super) const fn slots(&self) -> usize {
        self.slots
    }
}
