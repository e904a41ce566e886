//! Merges several traces into one, ordered by time (`merge_blktrace_file`).

use super::blktrace::{Binary, Endian, Queued};
use super::{At, unreadable};
use crate::FormatError;
use std::io::{self, BufRead, Write};

/// One of the input traces.
pub struct Trace<'a> {
    /// Name used in messages.
    pub name: String,
    /// Opens the trace at its start.
    pub open: Box<dyn Fn() -> io::Result<Box<dyn BufRead>> + 'a>,
    /// Time scale in percent: at 50 the trace takes half as long (`merge_blktrace_scalars`).
    pub scalar: f64,
    /// Number of repetitions (`merge_blktrace_iters`).
    pub rounds: u64,
}

/// Writes all queue records of `traces` to `out` as one little-endian trace that starts at time 0; returns the number
/// of I/Os. Records with equal times keep the order of `traces`. A repetition starts at the time of the last I/O of the
/// one before.
///
/// # Errors
/// An input trace is damaged, or `out` cannot be written ([`FormatError::Io`]).
pub fn merge(traces: &[Trace<'_>], out: &mut dyn Write) -> Result<u64, FormatError> {
    let mut runs = traces.iter().map(Run::start).collect::<Result<Vec<_>, _>>()?;
    let mut count: u64 = 0;
    loop {
        let pending = runs.iter().enumerate().filter_map(|(index, run)| Some((run.head?.time_ns, index)));
        let Some((_, index)) = pending.min() else { break };
        let Some(head) = runs[index].head.take() else { break };
        #[expect(clippy::cast_possible_truncation, reason = "the sequence number wraps in traces of the kernel, too")]
        let record = head.record(count as u32 + 1);
        out.write_all(&record)?;
        count += 1;
        runs[index].advance()?;
    }
    out.flush()?;
    Ok(count)
}

/// An input trace being read.
struct Run<'a, 'b> {
    trace: &'a Trace<'b>,
    input: Box<dyn BufRead>,
    binary: Binary,
    first_ns: Option<u64>,
    /// Scaled start time of the current repetition.
    base_ns: u64,
    latest_ns: u64,
    rounds_left: u64,
    /// I/Os read in the current repetition.
    found: u64,
    /// The next I/O, with scaled time.
    head: Option<Queued>,
}

impl<'a, 'b> Run<'a, 'b> {
    fn start(trace: &'a Trace<'b>) -> Result<Self, FormatError> {
        let (input, binary) = open(trace)?;
        let rounds_left = trace.rounds.max(1);
        let (base_ns, latest_ns, found) = (0, 0, 0);
        let mut run = Run { trace, input, binary, first_ns: None, base_ns, latest_ns, rounds_left, found, head: None };
        run.advance()?;
        Ok(run)
    }

    fn advance(&mut self) -> Result<(), FormatError> {
        loop {
            if let Some(queued) = self.binary.next_queued(&self.trace.name, &mut self.input)? {
                let first = *self.first_ns.get_or_insert(queued.time_ns);
                let since = queued.time_ns.saturating_sub(first);
                let time_ns = self.base_ns.saturating_add(scaled(since, self.trace.scalar));
                self.latest_ns = self.latest_ns.max(time_ns);
                self.found += 1;
                self.head = Some(Queued { time_ns, ..queued });
                return Ok(());
            }
            self.rounds_left -= 1;
            if self.rounds_left == 0 || self.found == 0 {
                return Ok(());
            }
            (self.input, self.binary) = open(self.trace)?;
            (self.first_ns, self.base_ns, self.found) = (None, self.latest_ns, 0);
        }
    }
}

fn open(trace: &Trace<'_>) -> Result<(Box<dyn BufRead>, Binary), FormatError> {
    let mut input = (trace.open)().map_err(unreadable(&trace.name))?;
    let first = input.fill_buf().map_err(unreadable(&trace.name))?.first_chunk::<4>().copied();
    let endian = first.and_then(Endian::of_magic).ok_or_else(|| {
        let what = "this is not a trace of blktrace, and only those can be merged (make one with blkparse -d)";
        At::Byte(&trace.name, 0).wrong(what)
    })?;
    Ok((input, Binary::new(endian)))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time of 104 days in nanoseconds is exact in a double; the product of two positives saturates"
)]
fn scaled(nanoseconds: u64, percent: f64) -> u64 {
    (nanoseconds as f64 * percent / 100.0).round() as u64
}
