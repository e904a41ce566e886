//! The amount of I/O: limits by bytes, I/Os and loops.

use super::Region;
use measure::Direction;
use plan::{Distribution, Extent, JobPlan, Mix, Step, ZonePlan};

/// The amount of I/O and how much of it is issued. The runtime is handled elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Bytes of all loops together.
    bytes: Option<u64>,
    ios: Option<u64>,
    /// Bytes of one loop.
    loop_bytes: u64,
    loops: u64,
    filling: Filling,
    /// True if blocks are verified when the last pass has written them, and not after each pass.
    verifies_last_pass: bool,
    issued_bytes: u64,
    issued_ios: u64,
    /// Bytes of written blocks that were read back.
    reviewed_bytes: u64,
}

/// Passes beyond the first, while the amount of a loop is not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// None. With gaps between blocks or zones, a pass that ends with the last block is complete.
    Nothing,
    /// By what was issued.
    ByIssued,
    /// By what was read back, too: a job that verifies each block that it wrote once, because of a random map, reads it
    /// back after each pass (as in fio).
    ByIssuedAndReviewed,
}

impl Limits {
    /// The limits of a job; `zone` is the size that the zones of its device have.
    pub(super) fn new(job: &JobPlan, regions: &[Region], zone: u64) -> Self {
        // A block is trimmed and written: twice the bytes and twice the I/Os.
        let times = if job.load.mix == Mix::TrimWrite { 2 } else { 1 };
        let until_all_written = job.load.sprandom.is_some();
        let loops = if until_all_written { 1 } else { job.limits.loops.max(1) };
        let loop_bytes = bytes_per_loop(job, regions, zone).saturating_mul(times);
        // A time-based job runs until its time is over, whatever was issued by then (fio ignores number_ios, too).
        let counted = !is_time_based(job);
        let filling = filling(job);
        Limits {
            bytes: counted.then(|| if until_all_written { u64::MAX } else { loop_bytes.saturating_mul(loops) }),
            ios: job.limits.ios.filter(|_| counted).map(|ios| ios.saturating_mul(times).saturating_mul(loops)),
            loop_bytes: if until_all_written { 0 } else { loop_bytes },
            loops,
            filling,
            verifies_last_pass: (job.files.io_size.is_some() && filling != Filling::ByIssuedAndReviewed)
                || matches!(job.load.distribution, Distribution::Sequence(_))
                || job.verify.as_ref().is_some_and(|plan| plan.only),
            issued_bytes: 0,
            issued_ios: 0,
            reviewed_bytes: 0,
        }
    }

    pub(super) fn count(&mut self, ios: u64, bytes: u64) {
        self.issued_ios += ios;
        self.issued_bytes += bytes;
    }

    /// Counts a block that is read back.
    pub(super) fn count_review(&mut self, bytes: u32) {
        self.reviewed_bytes += u64::from(bytes);
    }

    /// Allows this number of further I/Os and no more, within the limits that there are.
    pub(super) fn allow(&mut self, further: u64) {
        let most = self.issued_ios.saturating_add(further);
        self.ios = Some(self.ios.map_or(most, |ios| ios.min(most)));
    }

    /// True if the amount is reached.
    pub(super) fn reached(&self) -> bool {
        self.bytes.is_some_and(|bytes| self.issued_bytes >= bytes)
    }

    /// True if the number of I/Os is reached.
    pub(super) fn ios_reached(&self) -> bool {
        self.ios.is_some_and(|ios| self.issued_ios >= ios)
    }

    /// True if another pass follows after this number of passes: one for each loop, and more while the amount of one
    /// loop is short of at least a block of `largest` bytes. So an `io_size` larger than the region counts once for all
    /// loops, as in fio.
    pub(super) fn wants_another_pass(&self, passes: u64, largest: u32) -> bool {
        let done = match self.filling {
            Filling::Nothing => u64::MAX,
            Filling::ByIssued => self.issued_bytes,
            Filling::ByIssuedAndReviewed => self.issued_bytes.saturating_add(self.reviewed_bytes),
        };
        let is_short = self.loop_bytes.saturating_sub(done) >= u64::from(largest);
        self.bytes.is_none() || passes < self.loops || is_short
    }

    /// True if what a pass wrote is verified at its end; false if the next pass writes the same blocks before. `passes`
    /// and `largest` are those of [`Limits::wants_another_pass`].
    pub(super) fn verifies_after(&self, passes: u64, largest: u32) -> bool {
        !(self.verifies_last_pass && self.wants_another_pass(passes, largest))
    }

    /// Number of I/Os of `length` bytes that may be issued before [`Limits::reached`].
    pub(super) fn ios_left(&self, length: u32) -> u64 {
        let by_bytes =
            self.bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(self.issued_bytes).div_ceil(u64::from(length)));
        let by_ios = self.ios.map_or(u64::MAX, |ios| ios.saturating_sub(self.issued_ios));
        by_bytes.min(by_ios)
    }
}

/// How the amount of a loop is reached that is larger than what a pass does.
fn filling(job: &JobPlan) -> Filling {
    if job.load.sequence_strides && matches!(job.load.distribution, Distribution::Sequence(_)) {
        return Filling::Nothing;
    }
    if job.files.io_size.is_none() {
        let gaps = matches!(job.load.step, Step::Skip(_)) || job.load.zones != ZonePlan::None;
        return if gaps { Filling::Nothing } else { Filling::ByIssued };
    }
    let zoned = matches!(job.load.zones, ZonePlan::Zoned(_));
    let mapped = job.load.random && job.load.cover_all && job.load.distribution == Distribution::Uniform;
    match job.verify.as_ref().filter(|_| (zoned || mapped) && job.load.mix.contains(Direction::Write)) {
        // The first pass is what verify_only walks through, so it is all that a job without a check writes.
        Some(plan) if mapped && (plan.only || !plan.check) => Filling::Nothing,
        Some(plan) if plan.only || !plan.check => Filling::ByIssued,
        Some(_) if zoned => Filling::Nothing,
        Some(_) => Filling::ByIssuedAndReviewed,
        None => Filling::ByIssued,
    }
}

/// True if the job starts over until its time is over.
pub(super) fn is_time_based(job: &JobPlan) -> bool {
    job.limits.time_based && job.limits.runtime.is_some()
}

/// The amount of one loop in bytes: `io_size` if given, otherwise the region; with `filesize`, a smaller `size` limits
/// it.
fn bytes_per_loop(job: &JobPlan, regions: &[Region], zone: u64) -> u64 {
    let region: u64 = regions.iter().map(|region| region.end.saturating_sub(region.start)).fold(0, u64::saturating_add);
    match (job.files.io_size, job.files.size) {
        (Some(Extent::Bytes(bytes)), _) => bytes,
        (Some(Extent::Zones(zones)), _) => zones.saturating_mul(zone),
        (Some(Extent::Percent(percent)), _) => {
            region / 100 * u64::from(percent) + region % 100 * u64::from(percent) / 100
        }
        (None, Some(Extent::Bytes(bytes))) if job.files.file_size.is_some() => bytes.min(region),
        _ => region,
    }
}
