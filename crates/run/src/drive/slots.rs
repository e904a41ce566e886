//! The I/Os in flight: the request of each slot, which slots are free, and which wait for the next submit call.

use engine::Completion;
use load::Request;
use measure::Nanos;
use plan::Operation;

/// The three timestamps of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IoTimes {
    /// The load decided on it: submission latency and total latency start here.
    pub(crate) issued: Nanos,
    /// The kernel accepted it, or the call began: completion latency starts here.
    pub(crate) accepted: Nanos,
    /// It completed, as far as the loop could see.
    pub(crate) reaped: Nanos,
}

/// The I/O that occupies a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The request of the load.
    pub(super) request: Request,
    /// Bytes transferred so far, after a short transfer.
    pub(super) moved: u32,
    /// Time at which the load decided on it.
    pub(super) issued: Nanos,
    /// Time at which the kernel first accepted it.
    pub(super) accepted: Nanos,
}

const IDLE: Slot =
    Slot { request: Request::new(Operation::Read, 0, 0, 0), moved: 0, issued: Nanos::ZERO, accepted: Nanos::ZERO };

/// All slots of a worker. Everything is allocated at the start: the hot path allocates nothing.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Box<[Slot]>,
    free: Vec<u32>,
    queued: Vec<u32>,
    done: Vec<Completion>,
    /// Number of slots in use: the current depth.
    usable: usize,
    /// Slots beyond the current depth.
    held: Vec<u32>,
}

impl Slots {
    pub(super) fn new(depth: u32) -> Self {
        let room = depth as usize;
        Slots {
            slots: vec![IDLE; room].into_boxed_slice(),
            free: (0..depth).rev().collect(),
            queued: Vec::with_capacity(room),
            done: Vec::with_capacity(room),
            usable: room,
            held: Vec::with_capacity(room),
        }
    }

    /// True if every slot is busy.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Number of busy slots, including those that wait for a submit call.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most the depth, a u32")]
    pub(super) fn busy(&self) -> u32 {
        (self.usable - self.free.len()) as u32
    }

    /// Uses only `depth` of the slots from now on. Nothing may be in flight.
    pub(super) fn use_only(&mut self, depth: u32) {
        self.free.append(&mut self.held);
        self.usable = (depth as usize).clamp(1, self.slots.len());
        self.held.extend(self.free.drain(self.usable..));
    }

    /// True if an I/O in flight or queued shares a byte with `request`.
    pub(super) fn overlaps(&self, request: &Request) -> bool {
        let end = request.offset.saturating_add(u64::from(request.length));
        let touches = |slot: u32| {
            let other = &self.slots[slot as usize].request;
            let other_end = other.offset.saturating_add(u64::from(other.length));
            other.target == request.target && other.offset < end && request.offset < other_end
        };
        let idle = |slot: &u32| self.free.contains(slot) || self.held.contains(slot);
        (0..self.slots.len()).filter_map(|slot| u32::try_from(slot).ok()).any(|slot| touches(slot) && !idle(&slot))
    }

    /// Takes a free slot; the caller has checked that there is one.
    #[inline]
    pub(super) fn take(&mut self, request: Request, issued: Nanos) -> u32 {
        let slot = self.free.pop().expect("the loop asks for a slot only when one is free");
        // `accepted` is set when the kernel accepts it.
        let place = &mut self.slots[slot as usize];
        (place.request, place.moved, place.issued) = (request, 0, issued);
        slot
    }

    /// Makes the slot free again.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Makes the slots of these I/Os free again.
    #[inline]
    pub(super) fn release_all(&mut self, done: &[Completion]) {
        // Not `extend`, which is 500 bytes of code in a loop that is to be short.
        for completion in done {
            self.free.push(completion.slot);
        }
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Sets the number of bytes of the slot's request that have been transferred.
    pub(super) fn set_moved(&mut self, slot: u32, moved: u32) {
        self.slots[slot as usize].moved = moved;
    }

    /// Appends a slot that the engine has queued.
    #[inline]
    pub(super) fn queue(&mut self, slot: u32) {
        self.queued.push(slot);
    }

    /// Number of slots that wait for a submit call.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most the depth, a u32")]
    pub(super) fn queued(&self) -> u32 {
        self.queued.len() as u32
    }

    /// Marks the first `count` queued slots as accepted by the kernel at `now`. The rest of a short transfer keeps its
    /// first timestamp.
    #[inline]
    pub(super) fn accept(&mut self, count: u32, now: Nanos) {
        let count = count as usize;
        for &slot in &self.queued[..count] {
            let slot = &mut self.slots[slot as usize];
            if slot.moved == 0 {
                slot.accepted = now;
            }
        }
        if count == self.queued.len() {
            self.queued.clear();
        } else {
            self.queued.drain(..count);
        }
    }

    /// Marks a slot as accepted that was performed at once and never waited for a submit call.
    pub(super) fn accept_alone(&mut self, slot: u32, now: Nanos) {
        let slot = &mut self.slots[slot as usize];
        if slot.moved == 0 {
            slot.accepted = now;
        }
    }

    /// Lends the empty list for completions; return it with [`Slots::give_back`].
    #[inline]
    pub(super) fn take_done(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.done)
    }

    /// Returns the list for the next call, so that its memory is reused.
    #[inline]
    pub(super) fn give_back(&mut self, mut done: Vec<Completion>) {
        done.clear();
        self.done = done;
    }
}
