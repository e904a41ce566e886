//! The record of a worker: its statistics, in memory that outlives it.
//!
//! The record has a fixed layout and no pointers. The parent reads all of it after the worker has ended, in whatever
//! way: what was measured before a SIGBUS is still there. While a process runs, the parent copies only single
//! histograms (`supervise::latency`); while a thread runs, nothing.

use super::block_record::BlockRecord;
use super::control::Control;
use super::steady::{Sample, Steadiness};
use measure::{Direction, Histogram, Moments, Nanos, SampleStatistics};
use model::{CpuUsage, DepthStatistics, LatencyBins};
use plan::{JobPlan, SteadyPlan};
use std::mem::offset_of;
use std::ops::Range;
use zerocopy::FromBytes;

/// A copy of a thread's record from its last progress report. The record itself is not shared while the thread runs.
pub(crate) type Mailbox = std::sync::Mutex<Option<Box<Record>>>;

/// The statistics of a worker. All zero bytes means nothing yet; [`Record::clear`] prepares it for counting.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Record {
    /// Completion latency per direction: from accepted to reaped.
    pub(crate) completion: [Moments; 3],
    /// Total latency: from issued to reaped.
    pub(crate) total: [Moments; 3],
    /// Submission latency: from issued to accepted.
    pub(crate) submission: [Moments; 3],
    /// Response time per direction, of I/Os with a rate: from due to reaped.
    pub(crate) response: [Moments; 3],
    /// Lateness per direction, of I/Os with a rate: from due to issued.
    pub(crate) lateness: [Moments; 3],
    /// I/Os with a rate that the worker issued late though there was room in the queue.
    pub(crate) sent_late: [u64; 3],
    /// Completion and total latencies that are not in any of the other fields yet.
    pub(crate) recent: [Recent; 3],
    /// Response times and lateness that are not in any of the other fields yet.
    recent_responses: [Recent; 3],
    /// The histograms that are kept; all zero bytes keep none.
    pub(crate) keeps: Keeps,
    /// Latency of fsync and fdatasync.
    pub(crate) sync: Moments,
    /// Coarse latency bins in one row: ns, µs, ms.
    pub(crate) bins: [u64; BINS],
    /// I/Os in flight at submission, in powers of two.
    pub(crate) level: [u64; 7],
    /// Number of I/Os per submit call.
    pub(crate) submit: [u64; 7],
    /// Number of I/Os per reap call.
    pub(crate) complete: [u64; 7],
    /// Time of the last measurement, in ns on the worker's clock.
    pub(crate) measured_until: u64,
    /// Nanoseconds of the measured part spent in verify phases.
    pub(crate) reviewed: u64,
    /// Start of the worker's I/O, in milliseconds since 1970 UTC.
    pub(crate) started_unix_ms: u64,
    /// I/Os that moved fewer bytes than requested and were continued.
    pub(crate) short_ios: [u64; 3],
    /// Zone resets at the start of the measured part; once `finished`, during the measured part.
    pub(crate) zone_resets: u64,
    /// Not zero if the job walks through writes without I/O; then their number and bytes.
    pub(crate) walked: [u64; 3],
    /// Not zero once the worker has verified all that it could; then the bytes that it checked.
    pub(crate) verified: [u64; 2],
    /// Bandwidth samples in KiB/s.
    pub(crate) bandwidth_samples: [SampleStatistics; 3],
    /// Samples in I/Os per second.
    pub(crate) iops_samples: [SampleStatistics; 3],
    /// CPU time and page faults at the start of the measured part; once `finished`, of the measured part.
    pub(crate) usage: CpuUsage,
    /// CPU usage of the engine's threads at the end, if the worker's own usage does not include it.
    pub(crate) helpers_usage: CpuUsage,
    /// Nanoseconds of CPU that a kernel thread spent for this worker alone, in the measured part.
    pub(crate) kernel_cpu: u64,
    /// The amounts at the last progress report.
    so_far: AmountsRecord,
    /// CPU usage of the measured part at the last progress report.
    pub(crate) usage_so_far: CpuUsage,
    /// I/O errors that did not end the job.
    pub(crate) forgiven_errors: u64,
    /// The first of them, as errno; 0 for none.
    first_forgiven_errno: i32,
    /// Process or thread id.
    pub(crate) pid: u32,
    /// The error that ended the job early.
    pub(crate) fault: Fault,
    /// Not zero once the worker has ended in order and `usage` is final.
    pub(crate) finished: u32,
    /// Not zero if the engine cannot observe when the kernel accepts an I/O; there is no submission latency then.
    pub(crate) blind_to_submission: u32,
    /// The current depth of a latency_target search; 0 without one.
    searched_depth: u32,
    /// A note of the engine about its set-up.
    pub(crate) note: Text<500>,
    /// The amounts at the moment when another worker finished the pass first.
    mark: AmountsRecord,
    /// Time at which a pass had closed its files, on the worker's clock.
    pub(crate) closed_at: u64,
    /// The last window of steady state detection. From here on a part is read only if it was written (`written_parts`).
    pub(crate) steady: SteadyRecord,
    /// The block lifetimes of a job that tracks them.
    pub(crate) blocks: BlockRecord,
    /// Histograms, on separate pages that are touched only if percentiles are wanted.
    pub(crate) histograms: Histograms,
}

/// The amounts of a worker at one moment.
#[derive(Clone, Copy, Debug, Default, FromBytes)]
#[repr(C)]
pub(crate) struct AmountsRecord {
    /// Not zero once it is valid.
    present: u64,
    /// The moment, on the worker's clock.
    pub(crate) at: u64,
    /// Bytes of the measured part until then.
    pub(crate) bytes: [u64; 3],
    /// I/Os of the measured part until then.
    pub(crate) ios: [u64; 3],
}

impl AmountsRecord {
    fn at(control: &Control, now: Nanos) -> Self {
        let amounts = Direction::ALL.map(|direction| control.measured(direction));
        let (bytes, ios) = (amounts.map(|(bytes, _)| bytes), amounts.map(|(_, ios)| ios));
        AmountsRecord { present: 1, at: now.get(), bytes, ios }
    }

    fn get(&self) -> Option<&Self> {
        (self.present != 0).then_some(self)
    }
}

/// The last window of steady state detection.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct SteadyRecord {
    /// Not zero once it is valid.
    present: u64,
    count: u64,
    /// Bytes per second, I/Os per second, mean latency in nanoseconds.
    samples: [[u64; 3]; MOST_INTERVALS],
}

#[expect(clippy::cast_possible_truncation, reason = "some thousands")]
const MOST_INTERVALS: usize = SteadyPlan::MOST_INTERVALS as usize;

impl SteadyRecord {
    /// Stores a window.
    pub(crate) fn keep(&mut self, found: &Steadiness) {
        (self.present, self.count) = (1, 0);
        for (slot, sample) in self.samples.iter_mut().zip(found.samples()) {
            *slot = [sample.bandwidth, sample.iops, sample.latency_ns];
            self.count += 1;
        }
    }

    /// The stored window; `None` if none was stored.
    pub(crate) fn samples(&self) -> Option<impl Iterator<Item = Sample>> {
        let count = usize::try_from(self.count).unwrap_or(MOST_INTERVALS);
        let sample = |&[bandwidth, iops, latency_ns]: &[u64; 3]| Sample { bandwidth, iops, latency_ns };
        (self.present != 0).then(|| self.samples.iter().take(count).map(sample))
    }
}

/// The latest latencies of one direction in ns, before they are added to moments, bins and histograms. Instructions
/// right after a system call are slow: a tight loop over many values costs a third of recording each value by itself.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Recent {
    length: u64,
    values: [[u64; Recent::ROOM]; 2],
}

impl Recent {
    const ROOM: usize = 64;

    /// Adds the values held here to a histogram of the kind that is kept.
    pub(crate) fn add_to(&self, keeps: Keeps, histogram: &mut Histogram) {
        let [completion, total] = self.values();
        histogram.record_all(if keeps.total != 0 { total } else { completion });
    }

    /// Adds the values of one I/O; true if there is no room for another.
    #[inline(always)]
    fn add(&mut self, values: [Nanos; 2]) -> bool {
        let at = self.length();
        // It is emptied when full, so there is always room.
        if at < Self::ROOM {
            self.values[0][at] = values[0].get();
            self.values[1][at] = values[1].get();
            self.length += 1;
        }
        at + 1 >= Self::ROOM
    }

    fn values(&self) -> [&[u64]; 2] {
        self.values.each_ref().map(|values| &values[..self.length()])
    }

    fn length(&self) -> usize {
        usize::try_from(self.length).map_or(Self::ROOM, |length| length.min(Self::ROOM))
    }
}

/// The latencies that are kept as histograms, for percentiles; nonzero means yes.
#[derive(Clone, Copy, Debug, Default, FromBytes)]
#[repr(C)]
pub(crate) struct Keeps {
    pub(crate) completion: u32,
    pub(crate) total: u32,
    pub(crate) submission: u32,
    /// Not for percentiles: nonzero if total latency is measured at all.
    pub(crate) total_moments: u32,
}

/// One histogram per kind of latency and direction.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Histograms {
    pub(crate) completion: [Histogram; 3],
    pub(crate) total: [Histogram; 3],
    pub(crate) submission: [Histogram; 3],
    pub(crate) response: [Histogram; 3],
    pub(crate) lateness: [Histogram; 3],
    /// Latency of fsync and fdatasync.
    pub(crate) sync: Histogram,
}

/// The error that ended a worker early.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Fault {
    /// 0 for no error.
    errno: i32,
    /// The failed operation, such as `write`.
    pub(crate) operation: Text<60>,
    /// The message, with file and offset.
    pub(crate) message: Text<996>,
}

impl Fault {
    /// The error number; `None` without an error.
    pub(crate) fn errno(&self) -> Option<i32> {
        Some(self.errno).filter(|&errno| errno != 0)
    }

    /// Stores the first error; later ones are its consequences.
    pub(crate) fn keep_first(&mut self, errno: i32, operation: &str, message: &str) {
        if self.errno == 0 {
            self.operation.set(operation);
            self.message.set(message);
            self.errno = if errno == 0 { libc::EIO } else { errno };
        }
    }
}

/// Text of at most `N` bytes in a fixed layout.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Text<const N: usize> {
    length: u32,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// Stores `text`, cut at a character boundary if it is too long.
    pub(crate) fn set(&mut self, text: &str) {
        let length = text.floor_char_boundary(N);
        self.bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.length = u32::try_from(length).unwrap_or(0);
    }

    /// The text.
    pub(crate) fn get(&self) -> String {
        let length = (self.length as usize).min(N);
        String::from_utf8_lossy(&self.bytes[..length]).into_owned()
    }
}

impl Record {
    /// Resets the statistics; called at the start and at the end of a ramp.
    ///
    /// Histograms are cleared only if they were written, so that unused ones get no pages.
    pub(crate) fn clear(&mut self, usage: CpuUsage) {
        self.merge_recent();
        let kinds = [
            (&mut self.completion, &mut self.histograms.completion),
            (&mut self.total, &mut self.histograms.total),
            (&mut self.submission, &mut self.histograms.submission),
            (&mut self.response, &mut self.histograms.response),
            (&mut self.lateness, &mut self.histograms.lateness),
        ];
        let kinds = kinds.into_iter().flat_map(|(moments, histograms)| moments.iter_mut().zip(histograms));
        for (moments, histogram) in kinds.chain([(&mut self.sync, &mut self.histograms.sync)]) {
            if moments.count() > 0 {
                histogram.clear();
            }
            *moments = Moments::new();
        }
        self.bins = [0; BINS];
        (self.level, self.submit, self.complete) = ([0; 7], [0; 7], [0; 7]);
        (self.short_ios, self.sent_late) = ([0; 3], [0; 3]);
        self.bandwidth_samples = [SampleStatistics::default(); 3];
        self.iops_samples = [SampleStatistics::default(); 3];
        self.so_far = AmountsRecord::default();
        (self.usage, self.reviewed) = (usage, 0);
    }

    /// Starts to measure at `now`.
    pub(crate) fn begin(&mut self, control: &Control, now: Nanos) {
        control.begin(now);
        self.measured_until = now.get();
    }

    /// Counts the latencies of one I/O: first into [`Recent`], and from there into the statistics together with others.
    #[inline(always)]
    pub(crate) fn latencies(&mut self, direction: Direction, completion: Nanos, total: Nanos) {
        if self.recent[direction as usize].add([completion, total]) {
            self.merge_recent();
        }
    }

    /// Counts the response time and lateness of one I/O with a rate, in the same way.
    #[inline(always)]
    pub(crate) fn response(&mut self, direction: Direction, response: Nanos, lateness: Nanos) {
        if self.recent_responses[direction as usize].add([response, lateness]) {
            self.merge_recent();
        }
    }

    /// True for the record of a worker that has ended in order, if all its latencies are in its statistics.
    pub(crate) fn is_settled(&self) -> bool {
        self.finished != 0 && self.recent.iter().chain(&self.recent_responses).all(|recent| recent.length == 0)
    }

    /// Moves the latest latencies into the statistics. Must be called before the record is read.
    #[inline(never)]
    pub(crate) fn merge_recent(&mut self) {
        for direction in 0..3 {
            self.merge_latencies(direction);
            self.merge_responses(direction);
        }
    }

    #[inline(always)]
    fn merge_latencies(&mut self, direction: usize) {
        let recent = &mut self.recent[direction];
        if recent.length == 0 {
            return;
        }
        let [completion, total] = recent.values();
        self.completion[direction].record_all(completion);
        if self.keeps.total_moments != 0 {
            self.total[direction].record_all(total);
        }
        // In one loop where both are kept: each waits for its own last store.
        let mut histogram = (self.keeps.completion != 0).then_some(&mut self.histograms.completion[direction]);
        for &latency in completion {
            self.bins[coarse_bin(Nanos(latency))] += 1;
            if let Some(histogram) = &mut histogram {
                histogram.record(Nanos(latency));
            }
        }
        if self.keeps.total != 0 {
            self.histograms.total[direction].record_all(total);
        }
        recent.length = 0;
    }

    #[inline(always)]
    fn merge_responses(&mut self, direction: usize) {
        let recent = &mut self.recent_responses[direction];
        if recent.length == 0 {
            return;
        }
        let [response, lateness] = recent.values();
        self.response[direction].record_all(response);
        self.lateness[direction].record_all(lateness);
        let of_lateness = &mut self.histograms.lateness[direction];
        self.histograms.response[direction].record_both(response, of_lateness, lateness);
        recent.length = 0;
    }

    /// Brings the record up to date for a progress report at `now`; the worker goes on.
    pub(crate) fn publish(&mut self, control: &Control, now: Nanos) {
        self.merge_recent();
        self.measured_until = now.get();
        self.so_far = AmountsRecord::at(control, now);
    }

    /// The amounts of the measured part at the last progress report; `None` without one.
    pub(crate) fn so_far(&self) -> Option<&AmountsRecord> {
        self.so_far.get()
    }

    /// The part that every worker writes.
    pub(crate) const HEAD: Range<usize> = 0..offset_of!(Record, steady);

    /// The parts beyond [`Record::HEAD`] that a worker with this job has written, by its head.
    pub(crate) fn written_parts(&self, job: &JobPlan) -> Vec<Range<usize>> {
        let of = |start: usize, length: usize| start..start + length;
        let histogram = |moments: &Moments, kind: usize, at: usize| {
            let start = offset_of!(Record, histograms) + kind + at * size_of::<Histogram>();
            (moments.count() > 0).then(|| start..start + size_of::<Histogram>())
        };
        let kinds = [
            (&self.completion[..], offset_of!(Histograms, completion)),
            (&self.total, offset_of!(Histograms, total)),
            (&self.submission, offset_of!(Histograms, submission)),
            (&self.response, offset_of!(Histograms, response)),
            (&self.lateness, offset_of!(Histograms, lateness)),
            (std::slice::from_ref(&self.sync), offset_of!(Histograms, sync)),
        ];
        let histograms = kinds.into_iter().flat_map(|(moments, kind)| {
            moments.iter().enumerate().filter_map(move |(at, moments)| histogram(moments, kind, at))
        });
        let steady = job.steady.as_ref().map(|_| of(offset_of!(Record, steady), size_of::<SteadyRecord>()));
        let blocks = job.record.block_lives.then(|| of(offset_of!(Record, blocks), size_of::<BlockRecord>()));
        let parts: Vec<Range<usize>> = histograms.chain(steady).chain(blocks).collect();
        let is_within = |part: &Range<usize>| Record::HEAD.end <= part.start && part.end <= size_of::<Record>();
        assert!(parts.iter().all(is_within), "{parts:?}: beyond its end is the record of another worker");
        parts
    }

    /// True if each histogram that is kept has as many latencies as are counted next to it.
    pub(crate) fn counts_agree(&self) -> bool {
        let kept = &self.histograms;
        let pairs = [(&self.response, &kept.response), (&self.lateness, &kept.lateness)];
        let completion = (self.keeps.completion != 0).then_some((&self.completion, &kept.completion));
        // A page of a histogram that is empty is not to be touched.
        let is_same =
            |(moments, histogram): (&Moments, &Histogram)| moments.count() == 0 || moments.count() == histogram.total();
        let mut all = pairs.into_iter().chain(completion);
        all.all(|(moments, histograms)| moments.iter().zip(histograms).all(is_same))
    }

    /// Stores the amounts at the moment when another worker finished first.
    pub(crate) fn mark(&mut self, control: &Control, now: Nanos) {
        self.mark = AmountsRecord::at(control, now);
    }

    /// The amounts at the moment when another worker finished first; `None` if none did.
    pub(crate) fn marked(&self) -> Option<&AmountsRecord> {
        self.mark.get()
    }

    /// Sets the current depth of a latency_target search.
    pub(crate) fn search_at(&mut self, depth: u32) {
        self.searched_depth = depth;
    }

    /// The current depth of a latency_target search; `None` without one.
    pub(crate) fn searched_depth(&self) -> Option<u32> {
        Some(self.searched_depth).filter(|&depth| depth > 0)
    }

    /// Errno of the first I/O error that did not end the job; `None` without one.
    pub(crate) fn first_forgiven_errno(&self) -> Option<i32> {
        Some(self.first_forgiven_errno).filter(|&errno| errno != 0)
    }

    /// Counts an I/O error that does not end the job.
    pub(crate) fn forgive(&mut self, errno: i32) {
        if self.forgiven_errors == 0 {
            self.first_forgiven_errno = errno;
        }
        self.forgiven_errors += 1;
    }

    /// Counts a submit call that took `count` I/Os, with `in_flight` in flight afterwards.
    #[inline]
    pub(crate) fn submitted(&mut self, count: u32, in_flight: u32) {
        self.submit[call_bin(count)] += 1;
        self.level[level_bin(in_flight)] += u64::from(count);
    }

    /// Counts a reap call that returned `count` I/Os.
    #[inline]
    pub(crate) fn reaped(&mut self, count: u32) {
        self.complete[call_bin(count)] += 1;
    }

    /// The depth statistics in the model's types.
    pub(crate) fn depth(&self) -> DepthStatistics {
        DepthStatistics {
            level: self.level,
            submit: self.submit,
            complete: self.complete,
            submits: self.submit.iter().sum(),
            completes: self.complete.iter().sum(),
        }
    }

    /// The coarse bins in the model's types.
    pub(crate) fn latency_bins(&self) -> LatencyBins {
        let mut bins = LatencyBins::default();
        bins.ns.copy_from_slice(&self.bins[..10]);
        bins.us.copy_from_slice(&self.bins[10..20]);
        bins.ms.copy_from_slice(&self.bins[20..]);
        bins
    }
}

/// The bin of a depth: 1, 2–3, 4–7, 8–15, 16–31, 32–63, ≥ 64.
#[inline]
fn level_bin(in_flight: u32) -> usize {
    (in_flight.clamp(1, 64)).ilog2() as usize
}

/// The bin of a call's size: 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64.
#[inline]
fn call_bin(count: u32) -> usize {
    match count {
        0 => 0,
        1..=4 => 1,
        5..=64 => ((count - 1) >> 2).ilog2() as usize + 2,
        _ => 6,
    }
}

/// Number of coarse bins: ten of nanoseconds, ten of microseconds, twelve of milliseconds.
pub(crate) const BINS: usize = 32;

/// Upper bounds of all bins except the last, in nanoseconds.
const BOUNDS: [u64; BINS - 1] = {
    let mut bounds = [2_000_000_000; BINS - 1];
    let mut index = 0;
    while index < 30 {
        let unit = [1, 1_000, 1_000_000][index / 10];
        bounds[index] = LatencyBins::BOUNDS[index % 10] * unit;
        index += 1;
    }
    bounds
};

/// Per power of two: the number of bounds at or below it, and the (at most two) bounds between it and the next power.
const OCTAVES: [(u64, u64, u64); 64] = {
    let mut octaves = [(0, u64::MAX, u64::MAX); 64];
    let mut exponent = 0;
    while exponent < 64 {
        let mut index = 0;
        while index < BOUNDS.len() {
            let bound = BOUNDS[index];
            if bound <= 1 << exponent {
                octaves[exponent].0 += 1;
            } else if bound.ilog2() as usize == exponent {
                if octaves[exponent].1 == u64::MAX {
                    octaves[exponent].1 = bound;
                } else {
                    octaves[exponent].2 = bound;
                }
            }
            index += 1;
        }
        exponent += 1;
    }
    octaves
};

/// The coarse bin of a latency: a table lookup and two comparisons. The bins cannot be derived from the histogram
/// afterwards, because bounds such as 750 ns and 10 µs are inside its buckets.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 32")]
pub(crate) fn coarse_bin(latency: Nanos) -> usize {
    let ns = latency.get();
    let (below, first, second) = OCTAVES[(ns | 1).ilog2() as usize];
    ((below + u64::from(ns >= first) + u64::from(ns >= second)) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn coarse_bins_agree_with_the_model_around_every_bound() {
        let around = BOUNDS.iter().flat_map(|&bound| [bound - 1, bound, bound + 1]);
        for ns in around.chain([0, 3, 777, 12_345, 5_000_000_000, u64::MAX]) {
            let mut expected = LatencyBins::default();
            expected.record(Nanos(ns), 1);
            let mut bins = [0; BINS];
            bins[coarse_bin(Nanos(ns))] = 1;
            assert_eq!([&expected.ns[..], &expected.us[..], &expected.ms[..]].concat(), bins, "{ns} ns");
        }
    }
    #[test]
    fn call_sizes_and_depths_fall_into_the_bins_of_the_report() {
        let call =
            [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (16, 3), (17, 4), (32, 4), (33, 5), (64, 5), (65, 6)];
        for (count, bin) in call {
            assert_eq!(call_bin(count), bin, "{count} in a call");
        }
        for (depth, bin) in
            [(1, 0), (2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (31, 4), (32, 5), (63, 5), (64, 6), (900, 6)]
        {
            assert_eq!(level_bin(depth), bin, "depth {depth}");
        }
    }

    #[test]
    fn text_is_cut_at_a_character() {
        let mut text = Text::<4> { length: 0, bytes: [0; 4] };
        text.set("abcé");
        assert_eq!(text.get(), "abc");
    }
}
