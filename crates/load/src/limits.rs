//! The amount of I/O: limits by bytes, I/Os and loops.

use super::Region;
use plan::{Extent, JobPlan, Mix, Step, ZonePlan};

/// The amount of I/O and how much of it is issued. The runtime is handled elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Bytes of all loops together.
    bytes: Option<u64>,
    ios: Option<u64>,
    /// Bytes of one loop.
    loop_bytes: u64,
    loops: u64,
    /// True if passes are repeated until the amount of a loop is reached. With gaps between blocks or zones, a pass
    /// that ends with the last block is complete.
    fills_up: bool,
    issued_bytes: u64,
    issued_ios: u64,
}

impl Limits {
    pub(super) fn new(job: &JobPlan, regions: &[Region]) -> Self {
        // A block is trimmed and written: twice the bytes and twice the I/Os.
        let times = if job.load.mix == Mix::TrimWrite { 2 } else { 1 };
        let loops = job.limits.loops.max(1);
        let loop_bytes = bytes_per_loop(job, regions).saturating_mul(times);
        // A time-based job runs until its time is over, whatever was issued by then (fio ignores number_ios, too).
        let counted = !is_time_based(job);
        Limits {
            bytes: counted.then(|| loop_bytes.saturating_mul(loops)),
            ios: job.limits.ios.filter(|_| counted).map(|ios| ios.saturating_mul(times).saturating_mul(loops)),
            loop_bytes,
            loops,
            fills_up: job.files.io_size.is_some()
                || !matches!(job.load.step, Step::Skip(_)) && job.load.zones == ZonePlan::None,
            issued_bytes: 0,
            issued_ios: 0,
        }
    }

    pub(super) fn count(&mut self, ios: u64, bytes: u64) {
        self.issued_ios += ios;
        self.issued_bytes += bytes;
    }

    /// True if the limit is reached.
    pub(super) fn reached(&self) -> bool {
        self.bytes.is_some_and(|bytes| self.issued_bytes >= bytes) || self.ios.is_some_and(|ios| self.issued_ios >= ios)
    }

    /// True if another pass follows after this number of passes: one for each loop, and more while the amount of one
    /// loop is short of at least a block of `largest` bytes. So an `io_size` larger than the region counts once for all
    /// loops, as in fio.
    pub(super) fn wants_another_pass(&self, passes: u64, largest: u32) -> bool {
        let short = self.loop_bytes.saturating_sub(self.issued_bytes);
        self.bytes.is_none() || passes < self.loops || (self.fills_up && short >= u64::from(largest))
    }

    /// Number of I/Os of `length` bytes that may be issued before [`Limits::reached`].
    pub(super) fn ios_left(&self, length: u32) -> u64 {
        let by_bytes =
            self.bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(self.issued_bytes).div_ceil(u64::from(length)));
        let by_ios = self.ios.map_or(u64::MAX, |ios| ios.saturating_sub(self.issued_ios));
        by_bytes.min(by_ios)
    }
}

/// True if the job starts over until its time is over.
pub(super) fn is_time_based(job: &JobPlan) -> bool {
    job.limits.time_based && job.limits.runtime.is_some()
}

/// The amount of one loop in bytes: `io_size` if given, otherwise the region; with `filesize`, a smaller `size` limits
/// it.
fn bytes_per_loop(job: &JobPlan, regions: &[Region]) -> u64 {
    let region: u64 = regions.iter().map(|region| region.end.saturating_sub(region.start)).fold(0, u64::saturating_add);
    match (job.files.io_size, job.files.size) {
        (Some(Extent::Bytes(bytes)), _) => bytes,
        (Some(Extent::Percent(percent)), _) => {
            region / 100 * u64::from(percent) + region % 100 * u64::from(percent) / 100
        }
        (None, Some(Extent::Bytes(bytes))) if job.files.file_size.is_some() => bytes.min(region),
        _ => region,
    }
}
