//! Zones: windows of a region, used one after another, and the zones of a zoned device emulated on an ordinary one.
//!
//! A window ([`Strided`]) is a smaller region: positions are chosen in it as in any other, until its amount is reached.
//! A zone ([`ZoneMap`]) moves each I/O to an allowed position: writes to its write pointer, reads below it.

use plan::{Gap, Strides, Zoned};

/// The windows of one region.
#[derive(Clone, Debug)]
pub(super) struct Strided {
    plan: Strides,
    start: u64,
    end: u64,
    /// Distance between the starts of two windows, in bytes.
    stride: u64,
    /// Bytes issued in the current window.
    done: u64,
}

impl Strided {
    pub(super) fn new(plan: Strides, start: u64, end: u64) -> Self {
        let skip = match plan.skip {
            Gap::Bytes(bytes) => bytes,
            Gap::Percent(percent) => {
                (end - start) / 100 * u64::from(percent) + (end - start) % 100 * u64::from(percent) / 100
            }
        };
        Strided { plan, start, end, stride: plan.window.max(1).saturating_add(skip), done: 0 }
    }

    /// The window that begins at `start`.
    pub(super) fn window(&self, start: u64) -> (u64, u64) {
        (start, start.saturating_add(self.plan.window).min(self.end))
    }

    /// The first window, with nothing issued in it yet.
    pub(super) fn first(&mut self) -> (u64, u64) {
        self.done = 0;
        self.window(self.start)
    }

    /// The window after the one that begins at `start`, once that one has reached its amount; the first follows the
    /// last.
    pub(super) fn next(&mut self, start: u64) -> Option<(u64, u64)> {
        if self.done < self.plan.amount {
            return None;
        }
        self.done = 0;
        let next = start.saturating_add(self.stride);
        Some(self.window(if next >= self.end { self.start } else { next }))
    }

    pub(super) fn issued(&mut self, bytes: u32) {
        self.done += u64::from(bytes);
    }

    /// The window at the end of the region, if it is smaller than the others.
    pub(super) fn tail(&self) -> Option<(u64, u64)> {
        let last = self.start + (self.end - self.start).saturating_sub(1) / self.stride * self.stride;
        let (start, end) = self.window(last);
        (end - start < self.plan.window && end > start).then_some((start, end))
    }

    /// True if the window that ends here is the last of the region.
    pub(super) const fn is_last(&self, window_end: u64) -> bool {
        window_end >= self.end
    }
}

/// The zones of one region with their write pointers.
#[derive(Clone, Debug)]
pub(super) struct ZoneMap {
    plan: Zoned,
    start: u64,
    /// Bytes written in each zone.
    written: Box<[u64]>,
    /// Zones that are partly written, if their number is limited.
    open: Vec<usize>,
    total: u64,
    /// Number of zone resets so far.
    resets: u64,
    /// Writes above the reset threshold since the last reset.
    since_reset: u64,
    least: u64,
    /// True for zones that were written in this pass and are to be read back, in a job that verifies.
    unverified: Option<Box<[bool]>>,
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

/// The direction of an I/O to a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl ZoneMap {
    pub(super) fn new(plan: Zoned, (start, end): (u64, u64), least: u32, rewrites: Rewrites) -> Self {
        let zones = usize::try_from((end - start) / plan.size.max(1)).unwrap_or(usize::MAX);
        let most = plan.open_most.map_or(0, |most| most as usize);
        ZoneMap {
            plan,
            start,
            written: vec![0; zones].into_boxed_slice(),
            open: Vec::with_capacity(most),
            total: 0,
            resets: 0,
            since_reset: 0,
            least: u64::from(least.max(1)),
            unverified: (rewrites == Rewrites::NextPass).then(|| vec![false; zones].into_boxed_slice()),
        }
    }

    /// Begins a pass: what the last one wrote has been verified.
    pub(super) fn begin_pass(&mut self) {
        if let Some(unverified) = &mut self.unverified {
            unverified.fill(false);
        }
    }

    /// Number of zone resets so far.
    pub(super) const fn resets(&self) -> u64 {
        self.resets
    }

    /// The position and length of an I/O that was meant for `offset`; `None` if no zone accepts it.
    pub(super) fn place(&mut self, access: Access, offset: u64, length: u32, course: Course) -> Option<(u64, u32)> {
        match access {
            Access::Write => self.write(offset, length, course),
            Access::Read if self.plan.reads_anywhere => Some((offset, length)),
            Access::Read => self.read(offset, length, course),
        }
    }

    fn write(&mut self, offset: u64, length: u32, course: Course) -> Option<(u64, u32)> {
        let mut zone = self.zone_of(offset)?;
        // Offsets beyond a zone's capacity are skipped.
        if course == Course::Sequential && offset - self.start_of(zone) >= self.plan.capacity {
            zone += 1;
            self.written.get(zone)?;
        }
        zone = self.among_open(zone);
        if self.room(zone) == 0 && course == Course::Random {
            zone = self.another(zone);
        }
        let keeps = self.is_unverified(zone);
        if self.room(zone) == 0 && keeps {
            return None;
        }
        if self.room(zone) == 0 {
            self.reset(zone);
        } else if !keeps && self.plan.reset_threshold.is_some_and(|share| self.share_written() >= share) {
            self.since_reset += 1;
            if self.since_reset >= self.writes_per_reset() {
                self.since_reset = 0;
                self.reset(zone);
            }
        }
        let offset = self.start_of(zone) + self.written[zone];
        let room = self.room(zone);
        let length = match u64::from(length) {
            length if length <= room => length,
            _ if room < self.least => room,
            _ => room - room % self.least,
        };
        self.written[zone] += length;
        self.total += length;
        if let Some(unverified) = &mut self.unverified {
            unverified[zone] = true;
        }
        self.keep_open(zone);
        Some((offset, u32::try_from(length).unwrap_or(u32::MAX)))
    }

    /// A zone for a random write to one that is full: the next with room, or the next that may be reset.
    fn another(&self, zone: usize) -> usize {
        let mut others = (zone + 1..self.written.len()).chain(0..=zone);
        let with_room = others.clone().find(|&other| self.room(other) > 0);
        with_room.or_else(|| others.find(|&other| !self.is_unverified(other))).unwrap_or(zone)
    }

    /// True if this pass wrote to the zone, and reads it back.
    fn is_unverified(&self, zone: usize) -> bool {
        self.unverified.as_ref().is_some_and(|unverified| unverified[zone])
    }

    /// Number of writes above the threshold per reset: the integer part of 1 / zone_reset_frequency, so that 0.34
    /// resets at every second write, as in fio.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; beyond u64 it saturates")]
    fn writes_per_reset(&self) -> u64 {
        (1.0 / self.plan.reset_frequency).max(1.0) as u64
    }

    /// Bytes that may still be written to a zone: none if the remainder is less than a block, unless remainders are
    /// written.
    fn room(&self, zone: usize) -> u64 {
        let room = self.plan.capacity - self.written[zone].min(self.plan.capacity);
        if room < self.least && !self.plan.writes_remainder { 0 } else { room }
    }

    fn read(&mut self, offset: u64, length: u32, course: Course) -> Option<(u64, u32)> {
        let zone = self.zone_of(offset)?;
        let inside = offset - self.start_of(zone);
        let holds = |&zone: &usize| self.written[zone] >= self.least;
        let (zone, inside) = match course {
            Course::Sequential if inside + self.least <= self.written[zone] => (zone, inside),
            Course::Sequential => ((zone + 1..self.written.len()).find(holds)?, 0),
            Course::Random => {
                let found = (zone..self.written.len()).find(holds).or_else(|| (0..zone).rev().find(holds))?;
                let blocks = self.written[found] / self.least;
                (found, inside / self.least % blocks * self.least)
            }
        };
        let held = self.written[zone] - inside;
        let length = u64::from(length).min(held - held % self.least);
        Some((self.start_of(zone) + inside, u32::try_from(length).unwrap_or(u32::MAX)))
    }

    /// If no more zones may be opened, selects one that is open instead.
    fn among_open(&self, zone: usize) -> usize {
        let full = self.plan.open_most.is_some_and(|most| self.open.len() >= most as usize);
        if full && !self.open.contains(&zone) { self.open[zone * self.open.len() / self.written.len()] } else { zone }
    }

    fn keep_open(&mut self, zone: usize) {
        if self.plan.open_most.is_none() {
            return;
        }
        let place = self.open.iter().position(|&open| open == zone);
        match (place, self.room(zone)) {
            (Some(place), 0) => _ = self.open.remove(place),
            (None, 1..) => self.open.push(zone),
            _ => {}
        }
    }

    fn reset(&mut self, zone: usize) {
        self.resets += 1;
        self.total -= self.written[zone];
        self.written[zone] = 0;
    }

    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
    fn share_written(&self) -> f64 {
        self.total as f64 / (self.plan.capacity * self.written.len() as u64) as f64
    }

    fn zone_of(&self, offset: u64) -> Option<usize> {
        let zone = usize::try_from((offset - self.start) / self.plan.size.max(1)).ok()?;
        (zone < self.written.len()).then_some(zone)
    }

    fn start_of(&self, zone: usize) -> u64 {
        self.start + zone as u64 * self.plan.size
    }
}
