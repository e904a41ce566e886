//! Event times of a worker, and how often it reads the clock.

use super::pause::WakeDelay;
use super::statistics::Statistics;
use measure::{Clock, Nanos};
use plan::Limits;

/// Times of the next events of a worker.
#[derive(Debug)]
pub(super) struct Timing {
    /// The earliest of all events: a sample, the end of the ramp, a constraint to check. The loop compares only this
    /// number with the clock per I/O.
    pub(super) next_event: Nanos,
    /// The end of the ramp; `None` once the measured part has begun.
    pub(super) ramp_ends: Option<Nanos>,
    /// The next bandwidth or IOPS sample, or end of a log's window.
    pub(super) next_sample: Nanos,
    pub(super) stride: Stride,
    /// The end of the last record of a pass; `None` while it goes on, and for other jobs.
    pub(super) last_record_ended: Option<Nanos>,
    /// Time after the last I/O in which the worker only waited for others.
    pub(super) waited: Nanos,
    pub(super) wake_delay: WakeDelay,
}

impl Timing {
    /// A state in which no event is due and the clock is read after each I/O.
    pub(super) fn new() -> Self {
        Timing {
            next_event: Nanos::MAX,
            ramp_ends: None,
            next_sample: Nanos::MAX,
            stride: Stride::default(),
            last_record_ended: None,
            waited: Nanos::ZERO,
            wake_delay: WakeDelay::default(),
        }
    }

    /// Sets the end of a ramp that begins at `now`; a ramp given in bytes has no end time.
    pub(super) fn begin_ramp(&mut self, limits: &Limits, now: Nanos) {
        self.ramp_ends = match limits.ramp_bytes {
            0 => (!limits.ramp.is_zero()).then(|| now.saturating_add(limits.ramp)),
            _ => Some(Nanos::MAX),
        };
    }

    /// Sets the time of the next sample or end of a log window; never in a ramp, whose I/O is not counted.
    pub(super) fn schedule_sample(&mut self, statistics: &Statistics<'_>) {
        self.next_sample = match self.ramp_ends {
            Some(_) => Nanos::MAX,
            None => statistics.next_sample(),
        };
    }

    /// Sets the next event; constraints are due at `constraints_due`.
    pub(super) fn schedule_event(&mut self, constraints_due: Nanos) {
        self.next_event = self.ramp_ends.unwrap_or(Nanos::MAX).min(self.next_sample).min(constraints_due);
    }
}

/// Number of I/Os between two clock reads when no latency is measured. It doubles up to 64 while they fit into 50 µs,
/// so that time limits and samples stay accurate, and is 1 if a single I/O takes longer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stride {
    length: u32,
    left: u32,
}

impl Default for Stride {
    fn default() -> Self {
        Stride { length: 1, left: 1 }
    }
}

impl Stride {
    /// For a pass, whose end is read anyway: three more reads are 2 % of the time of one over 64 KiB.
    pub(super) fn of_pass() -> Self {
        Stride { length: Self::FIRST_OF_PASS, left: Self::FIRST_OF_PASS }
    }

    const FIRST_OF_PASS: u32 = 16;
    const LONGEST: u32 = 64;
    const SPAN: Nanos = Nanos::from_micros(50);

    /// The time after an I/O, or the last one read if a read is not due.
    #[inline]
    pub(super) fn now<C: Clock>(&mut self, clock: &C, before: Nanos) -> Nanos {
        self.left -= 1;
        if self.left > 0 {
            return before;
        }
        let now = clock.now();
        let span = now.saturating_sub(before);
        self.length = if span < Self::SPAN { (self.length * 2).min(Self::LONGEST) } else { 1 };
        self.left = self.length;
        now
    }

    /// Starts again with one read per I/O, after the clock was read elsewhere.
    pub(super) fn restart(&mut self) {
        *self = Stride::default();
    }
}
