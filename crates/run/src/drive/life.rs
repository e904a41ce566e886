//! The timestamps of one I/O.

use measure::Nanos;

/// The three timestamps of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    /// The load decided on it: submission latency and total latency start here.
    pub(crate) issued: Nanos,
    /// The kernel accepted it, or the call began: completion latency starts here.
    pub(crate) accepted: Nanos,
    /// It completed, as far as the loop could see.
    pub(crate) reaped: Nanos,
}
