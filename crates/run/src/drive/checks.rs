//! Checks of the data that reads return, and everything else that must see each completed I/O.

use super::pass::TimedPass;
use super::statistics::Statistics;
use super::verify::Verification;
use crate::shared::control::Control;
use plan::JobPlan;
use sys::machine::shared_memory::SharedBlocks;

/// The checks of one worker.
pub(super) struct Checks<'w> {
    /// Present if the job verifies.
    pub(super) verify: Option<Verification>,
    /// Present if the job is one timed pass.
    pub(super) pass: Option<TimedPass<'w>>,
    /// True if each I/O that completed in full must be inspected: `shows_each` or `paced`.
    pub(super) each_io: bool,
    /// True if it is inspected for verification, logs, priorities, debug lines, zones, or checks of marks and position
    /// patterns.
    pub(super) shows_each: bool,
    /// True if response times are recorded: the job has a rate, and its latencies are measured.
    pub(super) paced: bool,
    /// True if the inspection takes time, as a checksum does, which is part of no I/O's latency.
    pub(super) takes_time: bool,
    /// True if only the timed pass inspects its records; they then take the loop with one clock read per I/O.
    pub(super) pass_only: bool,
}

impl<'w> Checks<'w> {
    pub(super) fn new(
        job: &'w JobPlan,
        number: u32,
        seed: u64,
        statistics: &Statistics<'_>,
        own: usize,
        controls: &'w SharedBlocks<Control>,
    ) -> Self {
        let verify = Verification::new(job, number, seed);
        let pass = TimedPass::of(job, own, controls);
        let traced = verify.is_some()
            || statistics.logs.is_some()
            || statistics.priorities.is_some()
            || job.record.debug.follows_ios();
        let placed = job.buffers.placed.is_some();
        let shows_each = traced || placed || pass.as_ref().is_some_and(TimedPass::checks_reads);
        let paced = job.pace.has_rate() && (job.record.total_latency || job.record.completion_latency);
        Checks {
            takes_time: verify.is_some() || placed,
            verify,
            each_io: shows_each || paced,
            shows_each,
            paced,
            pass_only: !traced && !placed && !paced && pass.is_some(),
            pass,
        }
    }

    /// Inspects each I/O, whatever else wants it.
    pub(super) fn show_each(&mut self) {
        (self.each_io, self.shows_each, self.pass_only) = (true, true, false);
    }
}
