//! I/Os that are planned ahead: of a load with one target, one direction or a random mix, no pause and no sync; with a
//! rate or in order, of one direction and one size.

use super::Load;
use crate::lfsr::Permutation;
use crate::next_offset::{self, BlockOrder};
use crate::pace::Pace;
use crate::walk::Walk;
use crate::{LoadSetup, Request};
use measure::{Direction, Nanos};
use plan::{Mix, Operation, Step, ZonePlan};

/// A load on one target, in one direction or a random mix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    /// `None` if each I/O is drawn as a read or a write.
    direction: Option<Direction>,
    /// The length of every I/O, or the greatest where it is drawn.
    length: u32,
    lengths: Lengths,
    random: bool,
    /// The direction whose rate says when each is due.
    paced: Option<Direction>,
}

/// How the length of an I/O is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    One,
    Drawn,
}

/// I/Os that are planned ahead. `left` of `planned` are not issued yet, or `left_at_rate` if each has to be due first,
/// so that those without a rate need no look at it; `settle` counts the issued ones.
#[derive(Clone, Debug)]
pub(super) struct PlainRun {
    left: u64,
    left_at_rate: u64,
    planned: u64,
    /// `None` if it is drawn per I/O.
    operation: Option<Operation>,
    length: u32,
    paced: Option<Direction>,
    kind: PlainKind,
}

#[derive(Clone, Debug)]
enum PlainKind {
    Sequential {
        offset: u64,
    },
    Free {
        start: u64,
        blocks: u64,
    },
    Permuted {
        start: u64,
        permutation: Permutation,
        used: u64,
    },
    /// Blocks of a distribution that is not uniform.
    Skewed,
    /// The length is drawn per I/O as well; these many bytes are issued.
    Drawn {
        bytes: u64,
    },
    /// The steps of a walk; the load ends after them.
    Walked(Box<Walk>),
}

impl Load {
    /// The I/O at `now` if it is planned already, and due: the part of [`Load::planned`] for a load with a rate.
    #[inline(always)]
    pub fn planned_at_rate(&mut self, now: Nanos) -> Option<Request> {
        let direction = self.run.paced.filter(|_| self.run.left_at_rate > 0 && now < self.deadline)?;
        let due = self.pace.take_due(direction, now, self.run.length)?;
        self.run.left_at_rate -= 1;
        self.run.left += 1;
        self.planned(now).map(|request| Request { due: Some(due), ..request })
    }

    /// The I/O at `now` if it is planned already, without a rate; otherwise `None`, and [`Load::next`] must be called.
    /// The I/O counts as issued.
    ///
    /// A separate function because a [`crate::Next`] is large: the loop takes most I/Os from here, in registers.
    #[inline(always)]
    pub fn planned(&mut self, now: Nanos) -> Option<Request> {
        if self.run.left == 0 || now >= self.deadline {
            return None;
        }
        self.run.left -= 1;
        let length = self.run.length;
        let offset = match &mut self.run.kind {
            PlainKind::Sequential { offset } => {
                let this = *offset;
                *offset += u64::from(length);
                this
            }
            PlainKind::Free { start, blocks } => *start + self.targets.draws.offset.below(*blocks) * u64::from(length),
            PlainKind::Permuted { start, permutation, used } => {
                *used += 1;
                *start + permutation.at(*used - 1) * u64::from(length)
            }
            PlainKind::Skewed => return Some(self.planned_skewed().rebuilt()),
            PlainKind::Drawn { .. } => return self.planned_length().map(|request| request.rebuilt()),
            PlainKind::Walked(walk) => return Some(walk.step().rebuilt()),
        };
        Some(Request::new(self.planned_operation(), 0, offset, length))
    }

    #[inline(always)]
    fn planned_operation(&mut self) -> Operation {
        match self.run.operation {
            Some(operation) => operation,
            None if self.mix_draws.below(100) < self.read_percent => Operation::Read,
            None => Operation::Write,
        }
    }

    // Not inlined: a draw takes longer than a call, and uniform loads are spared its registers.
    #[inline(never)]
    fn planned_skewed(&mut self) -> Request {
        let operation = self.planned_operation();
        let direction = operation.direction().unwrap_or(Direction::Read);
        let offset = self.targets.each[0].skewed_offset(direction, self.run.length, &mut self.targets.draws);
        Request::new(operation, 0, offset, self.run.length)
    }

    /// `None` where the pass has no block left: what follows is decided by [`Load::next`].
    #[inline(never)]
    fn planned_length(&mut self) -> Option<Request> {
        let drawn = if self.targets.only_is_used_up() { None } else { self.draw_block() };
        if drawn.is_none() {
            self.run.planned -= self.run.left + 1;
            self.run.left = 0;
        }
        drawn
    }

    fn draw_block(&mut self) -> Option<Request> {
        let operation = self.planned_operation();
        let (offset, length) = self.targets.draw_only(operation.direction().unwrap_or(Direction::Read))?;
        if let PlainKind::Drawn { bytes } = &mut self.run.kind {
            *bytes += u64::from(length);
        }
        Some(Request::new(operation, 0, offset, length))
    }

    /// Plans the first I/Os ahead as well, for a load whose time begins with its first I/O: deciding on it is not to
    /// take any of that time.
    pub fn plan_first(&mut self) {
        if self.run.planned == 0 {
            self.plan_ahead();
        }
    }

    /// Plans as many I/Os ahead as can be issued before anything else has to be decided.
    pub(super) fn plan_ahead(&mut self) {
        let Some(Plain { direction, length, lengths, random, paced }) = self.rules.plain else { return };
        let blocks_of = |bytes: u64| bytes / u64::from(length);
        let target = &mut self.targets.each[0];
        let (start, end) = (target.start(), target.end());
        let position = direction.map_or(start, |direction| target.position(direction));
        let (possible, kind) = match target.order_mut() {
            _ if !random => (blocks_of(end.saturating_sub(position)), PlainKind::Sequential { offset: position }),
            BlockOrder::Free | BlockOrder::Skewed(_) | BlockOrder::Mapped { .. } if lengths == Lengths::Drawn => {
                (u64::MAX, PlainKind::Drawn { bytes: 0 })
            }
            BlockOrder::Free => (u64::MAX, PlainKind::Free { start, blocks: blocks_of(end - start) }),
            BlockOrder::Permuted { permutation, used, blocks } => {
                (*blocks - *used, PlainKind::Permuted { start, permutation: permutation.clone(), used: *used })
            }
            BlockOrder::Skewed(_) => (u64::MAX, PlainKind::Skewed),
            BlockOrder::Register(_) | BlockOrder::Mapped { .. } | BlockOrder::Listed | BlockOrder::Sprandom(_) => {
                return;
            }
        };
        let planned = possible.min(self.limits.ios_left(length));
        let [left, left_at_rate] = if paced.is_some() { [0, planned] } else { [planned, 0] };
        self.run =
            PlainRun { left, left_at_rate, planned, operation: direction.map(Operation::of), length, paced, kind };
    }

    /// Counts the I/Os that were planned ahead and issued since.
    pub(super) fn settle(&mut self) {
        let done = self.run.planned - self.run.left - self.run.left_at_rate;
        (self.run.planned, self.run.left, self.run.left_at_rate) = (0, 0, 0);
        let Some(Plain { direction, length, .. }) = self.rules.plain else { return };
        let bytes = match &mut self.run.kind {
            PlainKind::Drawn { bytes } => std::mem::take(bytes),
            _ => done.saturating_mul(u64::from(length)),
        };
        self.limits.count(done, bytes);
        self.passes.ios += done;
        let target = &mut self.targets.each[0];
        match (&self.run.kind, target.order_mut()) {
            (PlainKind::Permuted { used, .. }, BlockOrder::Permuted { used: kept, .. }) if done > 0 => *kept = *used,
            (PlainKind::Sequential { offset }, _) if done > 0 => {
                if let Some(direction) = direction {
                    target.advance_to(direction, *offset);
                }
            }
            _ => {}
        }
    }
}

impl PlainRun {
    pub(super) const fn empty() -> Self {
        let kind = PlainKind::Sequential { offset: 0 };
        PlainRun { left: 0, left_at_rate: 0, planned: 0, operation: None, length: 0, paced: None, kind }
    }

    /// All steps of a walk.
    pub(super) fn walked(walk: Box<Walk>) -> Self {
        let (left, operation) = (walk.left(), Some(walk.operation()));
        PlainRun { left, planned: left, operation, kind: PlainKind::Walked(walk), ..PlainRun::empty() }
    }
}

impl Plain {
    /// The I/O shape that can be planned ahead; `None` if each I/O must be decided.
    pub(super) fn of(setup: &LoadSetup<'_>, pace: &Pace) -> Option<Plain> {
        let load = &setup.job.load;
        let random = load.random;
        let direction = match load.mix {
            Mix::Only(direction) => Some(direction),
            Mix::ReadWrite if random => None,
            // Sequential reads and writes have separate positions, and each trim is followed by its write.
            Mix::ReadWrite | Mix::TrimWrite => return None,
        };
        let moving = |moves: Direction| direction.is_none_or(|only| only == moves);
        let all_random = Direction::ALL.into_iter().all(|each| !moving(each) || load.percent_random[each] >= 100);
        if setup.regions.len() != 1
            || load.step != Step::Plain
            || (random && !all_random)
            || load.zones != ZonePlan::None
        {
            return None;
        }
        // In a mix with rates, one direction goes while the other waits.
        if !pace.is_free() && direction.is_none() {
            return None;
        }
        let paced = direction.filter(|&direction| pace.has_rate(direction));
        let aligned = |length: &u32| load.align.iter().all(|(_, align)| align.is_none_or(|align| align == *length));
        let (length, lengths) = match next_offset::single_size(load) {
            Some(length) if random && !aligned(&length) => return None,
            Some(length) => (length, Lengths::One),
            None if random && paced.is_none() => (load.largest(), Lengths::Drawn),
            None => return None,
        };
        Some(Plain { direction, length, lengths, random, paced })
    }
}
