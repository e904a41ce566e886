//! Traces of I/Os as plain data: one I/O of any trace, the level at which it was recorded, and the clock of its moments.

use measure::Nanos;
use plan::Operation;

/// One I/O of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceIo {
    /// Its begin, since the first I/O of the trace.
    pub begin: Nanos,
    /// Operation.
    pub operation: Operation,
    /// Offset in its target in bytes, if known.
    pub offset: Option<u64>,
    /// Length in bytes; 0 for syncs.
    pub bytes: u64,
    /// Number of its file or device, in the order of their first mention.
    pub target: u32,
    /// Time from its begin to its end, if known.
    pub latency: Option<Nanos>,
    /// Thread that began it, if known.
    pub thread: Option<u32>,
}

impl TraceIo {
    /// Moment of its end, if known.
    pub fn end(&self) -> Option<Nanos> {
        self.latency.map(|latency| self.begin.saturating_add(latency))
    }
}

/// Where I/Os are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// System calls of programs.
    Call,
    /// The block layer and what is below it.
    Device,
}

impl Level {
    /// Its word on command lines and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Call => "call",
            Level::Device => "device",
        }
    }
}

/// Precision of the moments of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceClock {
    /// Greatest common divisor of the first gaps; `None` if all moments are equal.
    pub resolution: Option<Nanos>,
    /// Share of these gaps that are 0.
    pub zero_gaps: f64,
}

impl TraceClock {
    /// Its tick, if more than a tenth of the gaps are 0 and the resolution is 1 ms or more: nothing is known of arrivals
    /// below it. A clock that stands still has an endless tick.
    pub fn coarse_tick(&self) -> Option<Nanos> {
        match self.resolution {
            _ if self.zero_gaps <= 0.1 => None,
            None => Some(Nanos::MAX),
            Some(resolution) => (resolution >= Nanos::MILLISECOND).then_some(resolution),
        }
    }
}
