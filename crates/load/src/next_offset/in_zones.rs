//! A target with zones: where its I/Os go, which of them wait, and what is done to its zones.

use super::{Offer, Target, Zones};
use crate::zones::{Course, Placement, Rewrites, WriteEnd, ZoneUse};
use crate::{LoadSetup, Request, ZoneAction};
use measure::Direction;

/// Where an I/O was meant to go, before its zone decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meant {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) course: Course,
}

/// The use that a job makes of its zones.
pub(super) fn zone_use(setup: &LoadSetup<'_>) -> ZoneUse {
    let job = setup.job;
    let checks = job.verify.is_some() && job.load.mix.contains(Direction::Write);
    ZoneUse {
        rewrites: if checks { Rewrites::NextPass } else { Rewrites::Always },
        worker: setup.number,
        depth: job.depth.depth,
    }
}

impl Target {
    /// Number of zone resets so far.
    pub(in super::super) fn zone_resets(&self) -> u64 {
        match self.zones.as_deref() {
            Some(Zones::Zoned(map, _)) => map.resets(),
            _ => 0,
        }
    }

    /// The trimmed block that waits for its write.
    pub(in super::super) fn take_trimmed(&mut self) -> Option<Offer> {
        let (offset, length) = self.trimmed?;
        let offer = match self.zones.as_deref_mut() {
            Some(Zones::Zoned(zones, _)) => offered(zones.place(Direction::Write, offset, length, Course::Sequential)),
            _ => Offer::Bytes { offset, length },
        };
        if !matches!(offer, Offer::Busy | Offer::Act { .. }) {
            self.trimmed = None;
        }
        (offer != Offer::Over).then_some(offer)
    }

    /// True if its zones are those of a zoned device.
    pub(in super::super) fn is_on_zoned_device(&self) -> bool {
        matches!(self.zones.as_deref(), Some(Zones::Zoned(zones, _)) if zones.device.is_some())
    }

    /// Size of its zones.
    pub(in super::super) fn zone_size(&self) -> u64 {
        match self.zones.as_deref() {
            Some(Zones::Zoned(zones, _)) => zones.plan.size,
            _ => 0,
        }
    }

    /// Notes the result of the last [`Offer::Act`].
    pub(in super::super) fn acted(&mut self, action: ZoneAction, result: Result<u64, i32>) {
        if let Some(Zones::Zoned(zones, _)) = self.zones.as_deref_mut() {
            zones.acted(action, result);
        }
    }

    /// Notes that a write has ended.
    pub(in super::super) fn write_ended(&mut self, request: &Request, end: WriteEnd) {
        if let Some(Zones::Zoned(zones, _)) = self.zones.as_deref_mut() {
            zones.ended(request, end);
        }
    }

    /// The I/O in this direction that waits for its zone.
    pub(super) fn waiting(&mut self, direction: Direction) -> Option<Meant> {
        match self.zones.as_deref_mut() {
            Some(Zones::Zoned(_, waiting)) => waiting.take_if(|(waits, _)| *waits == direction).map(|(_, meant)| meant),
            _ => None,
        }
    }

    /// True if the remainder of a zone that is smaller than a block is written, too.
    pub(super) fn writes_remainder(&self) -> bool {
        matches!(self.zones.as_deref(), Some(Zones::Zoned(zones, _)) if zones.writes_remainder())
    }

    /// Moves an I/O to the position that its zone requires.
    pub(super) fn in_zone(&mut self, offer: Offer, direction: Direction, course: Course) -> Offer {
        let Offer::Bytes { offset, length } = offer else { return offer };
        match self.zones.as_deref_mut() {
            Some(Zones::Strided { windows, .. }) => {
                windows.issued(length);
                offer
            }
            Some(Zones::Zoned(zones, waiting)) => {
                let offer = offered(zones.place(direction, offset, length, course));
                let waits = match offer {
                    Offer::Act { action, .. } => !action.is_trim(),
                    _ => offer == Offer::Busy,
                };
                *waiting = waits.then_some((direction, Meant { offset, length, course }));
                offer
            }
            None => offer,
        }
    }
}

fn offered(placement: Placement) -> Offer {
    match placement {
        Placement::At(offset, length) => Offer::Bytes { offset, length },
        Placement::Nowhere => Offer::Over,
        Placement::Busy => Offer::Busy,
        Placement::Act { offset, length, action } => Offer::Act { offset, length, action },
    }
}
