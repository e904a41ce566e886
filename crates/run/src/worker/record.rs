//! What a worker writes while it runs, in memory that outlives it: its control block and its record.
//!
//! Both have a fixed layout and no pointers. The parent reads the block at any time and the record when the worker
//! has ended, however it ended: what was measured before a SIGBUS is still there.

use super::lives::BlockRecord;
use super::notices::Notices;
use crate::steady::{Sample, Steadiness};
use job::plan::SteadyPlan;
use measure::{Direction, Histogram, Moments, Nanos, SampleStatistics};
use model::{CpuUsage, DepthStatistics, LatencyBins};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use zerocopy::FromBytes;

/// What parent and worker tell each other while both live.
#[derive(Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Control {
    /// Where in its life the worker is, a [`crate::WorkerState`].
    pub(crate) state: AtomicU32,
    /// How far the worker may go, a [`Gate`].
    pub(crate) gate: AtomicU32,
    /// Not zero once the worker is set up, or failed to be.
    pub(crate) ready: AtomicU32,
    /// What the worker has to look at before its next I/O: [`STOP`], [`ATTENTION`], [`SIGNALLED`].
    pub(crate) stop: AtomicU32,
    /// Files that are open.
    pub(crate) open_files: AtomicU32,
    /// The worker's thread; 0 before it runs.
    pub(crate) thread: AtomicU32,
    /// Not zero once the worker is done with everything; its process only has to end.
    pub(crate) left: AtomicU32,
    /// In the first worker's block: how often a worker rang for the parent.
    pub(crate) bell: AtomicU32,
    /// Sum of completion latencies, as far as the worker tells it.
    pub(crate) latency_ns: AtomicU64,
    /// Bytes completed per direction since the start; never falls.
    pub(crate) bytes: [AtomicU64; 3],
    /// I/Os completed per direction since the start; never falls.
    pub(crate) ios: [AtomicU64; 3],
    /// When the measured part began, on the worker's clock; 0 before that. This and the next two are in the record as well,
    /// which the parent may not read while it is a thread's.
    pub(crate) measured_from: AtomicU64,
    /// Bytes completed when the measured part began.
    pub(crate) bytes_before: [AtomicU64; 3],
    /// I/Os completed when the measured part began.
    pub(crate) ios_before: [AtomicU64; 3],
    /// What the worker has to say while it runs.
    pub(crate) notices: Notices,
}

/// The worker shall end in order.
pub(crate) const STOP: u32 = 1;
/// The worker has reins, and looks at them before each I/O.
pub(crate) const ATTENTION: u32 = 2;
/// A signal reached the worker's process.
pub(crate) const SIGNALLED: u32 = 4;
/// Another worker is done first: this one shall note how far it is, then take this back.
pub(crate) const MARK: u32 = 16;
/// The worker shall bring its record up to date, then take this back.
pub(crate) const REPORT: u32 = 8;

/// How far a worker may go; zero, before any of these, is a closed gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub(crate) enum Gate {
    /// Open files, get memory, then say ready.
    SetUp = 1,
    /// Do I/O.
    Go = 2,
}

impl Control {
    /// Whether the worker shall end in order.
    #[inline]
    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.load(Relaxed) & STOP != 0
    }

    /// Whether the worker shall bring its record up to date.
    #[inline]
    pub(crate) fn report_wanted(&self) -> bool {
        self.stop.load(Relaxed) & REPORT != 0
    }

    /// Whether there is anything to look at before the next I/O.
    #[inline]
    pub(crate) fn wants_attention(&self) -> bool {
        self.stop.load(Relaxed) != 0
    }

    /// The measured part begins at `now`, with so many bytes and I/Os per direction done before it.
    fn begin(&self, (bytes, ios): (&[u64; 3], &[u64; 3]), now: Nanos) {
        self.bytes_before.iter().zip(bytes).for_each(|(before, &bytes)| before.store(bytes, Relaxed));
        self.ios_before.iter().zip(ios).for_each(|(before, &ios)| before.store(ios, Relaxed));
        self.measured_from.store(now.get(), Relaxed);
    }

    /// Bytes and I/Os of a direction in the measured part.
    pub(crate) fn measured(&self, direction: Direction) -> (u64, u64) {
        let at = direction as usize;
        let since = |now: &[AtomicU64; 3], before: &[AtomicU64; 3]| {
            now[at].load(Relaxed).saturating_sub(before[at].load(Relaxed))
        };
        (since(&self.bytes, &self.bytes_before), since(&self.ios, &self.ios_before))
    }

    /// Counts `ios` completed I/Os of `bytes` in all. The worker is the only writer, so a load and a store do.
    #[inline]
    pub(crate) fn count(&self, direction: Direction, bytes: u64, ios: u64) {
        let (all_bytes, all_ios) = (&self.bytes[direction as usize], &self.ios[direction as usize]);
        all_bytes.store(all_bytes.load(Relaxed) + bytes, Relaxed);
        all_ios.store(all_ios.load(Relaxed) + ios, Relaxed);
    }
}

/// A worker's record as of the last time it was asked, for workers that are threads: their own is theirs alone.
pub(crate) type Mailbox = std::sync::Mutex<Option<Box<Record>>>;

/// What a worker found. All zero bytes is "nothing yet"; [`Record::begin`] makes it ready for counting.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Record {
    /// Accepted to reaped, per direction.
    pub(crate) completion: [Moments; 3],
    /// Issue to reaped.
    pub(crate) total: [Moments; 3],
    /// Issue to accepted.
    pub(crate) submission: [Moments; 3],
    /// Completion and total latencies that are in none of the other fields yet.
    pub(crate) recent: [Recent; 3],
    /// Which histograms are kept; zero bytes keep none.
    pub(crate) keeps: Keeps,
    /// fsync and fdatasync.
    pub(crate) sync: Moments,
    /// The coarse bins in one row: ns, µs, ms.
    pub(crate) bins: [u64; BINS],
    /// I/Os in flight at submission, by powers of two.
    pub(crate) level: [u64; 7],
    /// Sizes of submit calls.
    pub(crate) submit: [u64; 7],
    /// Sizes of reap calls.
    pub(crate) complete: [u64; 7],
    /// When the measured part began, on the worker's clock.
    pub(crate) measured_from: u64,
    /// The last moment at which something was measured.
    pub(crate) measured_until: u64,
    /// Nanoseconds of the measured part in which written blocks were read back.
    pub(crate) reviewed: u64,
    /// When the worker's I/O began, milliseconds since 1970 UTC.
    pub(crate) started_unix_ms: u64,
    /// Bytes in the control block when the measured part began.
    pub(crate) bytes_before: [u64; 3],
    /// I/Os in the control block when the measured part began.
    pub(crate) ios_before: [u64; 3],
    /// I/Os that moved less than asked and were continued.
    pub(crate) short_ios: [u64; 3],
    /// Zones reset when the measured part began, then (once `finished`) in the measured part.
    pub(crate) zone_resets: u64,
    /// Bandwidth samples in KiB/s.
    pub(crate) bandwidth_samples: [SampleStatistics; 3],
    /// Samples in I/Os per second.
    pub(crate) iops_samples: [SampleStatistics; 3],
    /// CPU and faults when the measured part began, then (once `finished`) of the measured part.
    pub(crate) usage: CpuUsage,
    /// What threads of the engine's own had used at the end, where the worker's own account does not hold it.
    pub(crate) helpers_usage: CpuUsage,
    /// Nanoseconds of CPU that a thread of the kernel spent for this worker alone, in the measured part.
    pub(crate) kernel_cpu: u64,
    /// Bytes in the control block when the parent last asked.
    pub(crate) bytes_so_far: [u64; 3],
    /// I/Os in the control block when the parent last asked.
    pub(crate) ios_so_far: [u64; 3],
    /// CPU and faults of the measured part when the parent last asked.
    pub(crate) usage_so_far: CpuUsage,
    /// I/O errors that did not end the job.
    pub(crate) forgiven_errors: u64,
    /// The first of them, as errno.
    pub(crate) first_forgiven_errno: i32,
    /// Process or thread id.
    pub(crate) pid: u32,
    /// What ended the job early.
    pub(crate) fault: Fault,
    /// Not zero once the worker ended in order and `usage` is final.
    pub(crate) finished: u32,
    /// Not zero where the engine cannot see when the kernel accepts an I/O: no submission latency then.
    pub(crate) blind_to_submission: u32,
    /// The depth at which a search for a latency stands; 0 without one.
    pub(crate) searched_depth: u32,
    /// What the engine says of itself.
    pub(crate) note: Text<500>,
    /// The last window of a job that waits for steady state.
    pub(crate) steady: SteadyRecord,
    /// What was reached when another worker of a pass was done first.
    pub(crate) mark: MarkRecord,
    /// When a pass had closed its files, on the worker's clock; 0 where that is not asked for.
    pub(crate) closed_at: u64,
    /// What became of the blocks of a job that watches them.
    pub(crate) blocks: BlockRecord,
    /// Histograms, on pages of their own: touched only where percentiles are wanted.
    pub(crate) histograms: Histograms,
}

/// What a worker had reached at one moment.
#[derive(Clone, Copy, Debug, Default, FromBytes)]
#[repr(C)]
pub(crate) struct MarkRecord {
    /// Not zero once it is filled in.
    pub(crate) present: u64,
    /// When, on the worker's clock.
    pub(crate) at: u64,
    /// Bytes of the measured part by then.
    pub(crate) bytes: [u64; 3],
    /// I/Os of the measured part by then.
    pub(crate) ios: [u64; 3],
}

/// The last window of a job that waits for steady state.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct SteadyRecord {
    /// Not zero once it is filled in.
    pub(crate) present: u32,
    /// Not zero if the window was steady.
    pub(crate) attained: u32,
    count: u64,
    /// Bytes per second, I/Os per second, mean latency in nanoseconds.
    samples: [[u64; 3]; MOST_INTERVALS],
}

#[expect(clippy::cast_possible_truncation, reason = "some thousands")]
const MOST_INTERVALS: usize = SteadyPlan::MOST_INTERVALS as usize;

impl SteadyRecord {
    /// Keeps a window.
    pub(crate) fn keep(&mut self, found: &Steadiness) {
        (self.present, self.attained, self.count) = (1, u32::from(found.due() == Nanos::MAX), 0);
        for (slot, sample) in self.samples.iter_mut().zip(found.samples()) {
            *slot = [sample.bandwidth, sample.iops, sample.latency_ns];
            self.count += 1;
        }
    }

    /// The window that was kept.
    pub(crate) fn samples(&self) -> impl Iterator<Item = Sample> {
        let count = usize::try_from(self.count).unwrap_or(MOST_INTERVALS);
        let sample = |&[bandwidth, iops, latency_ns]: &[u64; 3]| Sample { bandwidth, iops, latency_ns };
        self.samples.iter().take(count).map(sample)
    }
}

/// The last few latencies of one direction, in nanoseconds, not yet in moments, bins and histograms: right after a
/// system call every instruction is dear, and a tight loop over many values pays a third of what each alone would.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Recent {
    length: u64,
    completion: [u64; Recent::ROOM],
    total: [u64; Recent::ROOM],
}

impl Recent {
    const ROOM: usize = 64;

    /// Adds what waits here to a histogram of what is kept.
    pub(crate) fn pour_into(&self, keeps: Keeps, histogram: &mut Histogram) {
        let kept = if keeps.total != 0 { &self.total } else { &self.completion };
        histogram.record_all(&kept[..self.length()]);
    }

    fn length(&self) -> usize {
        usize::try_from(self.length).map_or(Self::ROOM, |length| length.min(Self::ROOM))
    }
}

/// Which kinds of latency are kept as histograms, for percentiles; not zero is yes.
#[derive(Clone, Copy, Debug, Default, FromBytes)]
#[repr(C)]
pub(crate) struct Keeps {
    pub(crate) completion: u32,
    pub(crate) total: u32,
    /// Not for percentiles: whether anybody asks for total latency at all.
    pub(crate) total_moments: u32,
}

/// One histogram per kind of latency and direction.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Histograms {
    /// Of completion latency.
    pub(crate) completion: [Histogram; 3],
    /// Of total latency.
    pub(crate) total: [Histogram; 3],
    /// Of submission latency.
    pub(crate) submission: [Histogram; 3],
    /// Of fsync and fdatasync.
    pub(crate) sync: Histogram,
}

/// What ended a worker early.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Fault {
    /// errno; 0 while nothing went wrong.
    pub(crate) errno: i32,
    /// What was being done, `write`.
    pub(crate) operation: Text<60>,
    /// What happened, to which file, at which offset.
    pub(crate) message: Text<996>,
}

impl Fault {
    /// Keeps the first thing that went wrong; later ones are its consequences.
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
    /// Takes as much of `text` as there is room for.
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
    /// Forgets what was counted and starts to measure at `now`; at the start and at the end of a ramp.
    ///
    /// Histograms are cleared only where they were written, so that the pages of the others stay untouched.
    pub(crate) fn begin(&mut self, control: &Control, usage: CpuUsage, now: Nanos) {
        self.settle();
        for direction in 0..3 {
            let written = |moments: &Moments| moments.count() > 0;
            if written(&self.completion[direction]) {
                self.histograms.completion[direction].clear();
            }
            if written(&self.total[direction]) {
                self.histograms.total[direction].clear();
            }
            if written(&self.submission[direction]) {
                self.histograms.submission[direction].clear();
            }
        }
        if self.sync.count() > 0 {
            self.histograms.sync.clear();
        }
        self.recent.iter_mut().for_each(|recent| recent.length = 0);
        self.completion = [Moments::new(); 3];
        self.total = [Moments::new(); 3];
        self.submission = [Moments::new(); 3];
        self.sync = Moments::new();
        self.bins = [0; BINS];
        (self.level, self.submit, self.complete) = ([0; 7], [0; 7], [0; 7]);
        self.short_ios = [0; 3];
        self.bandwidth_samples = [SampleStatistics::default(); 3];
        self.iops_samples = [SampleStatistics::default(); 3];
        self.bytes_before = control.bytes.each_ref().map(|bytes| bytes.load(Relaxed));
        self.ios_before = control.ios.each_ref().map(|ios| ios.load(Relaxed));
        control.begin((&self.bytes_before, &self.ios_before), now);
        self.usage = usage;
        (self.measured_from, self.measured_until, self.reviewed) = (now.get(), now.get(), 0);
    }

    /// Counts the latencies of one I/O: at once into [`Recent`], into all else together with others.
    #[inline(always)]
    pub(crate) fn latencies(&mut self, direction: Direction, completion: Nanos, total: Nanos) {
        let recent = &mut self.recent[direction as usize];
        let at = recent.length();
        // Settled when full, so there is always room.
        if at < Recent::ROOM {
            recent.completion[at] = completion.get();
            recent.total[at] = total.get();
            recent.length += 1;
        }
        if at + 1 >= Recent::ROOM {
            self.settle();
        }
    }

    /// Puts the latest latencies where the others are. Before the record is read, by whoever reads it.
    #[inline(never)]
    pub(crate) fn settle(&mut self) {
        for direction in 0..3 {
            let recent = &mut self.recent[direction];
            let length = recent.length();
            let (completion, total) = (&recent.completion[..length], &recent.total[..length]);
            self.completion[direction].record_all(completion);
            if self.keeps.total_moments != 0 {
                self.total[direction].record_all(total);
            }
            for &latency in completion {
                self.bins[coarse_bin(Nanos(latency))] += 1;
            }
            if self.keeps.completion != 0 {
                self.histograms.completion[direction].record_all(completion);
            }
            if self.keeps.total != 0 {
                self.histograms.total[direction].record_all(total);
            }
            recent.length = 0;
        }
    }

    /// Bytes and I/Os of a direction in the measured part, as the control block counts them.
    pub(crate) fn amounts(&self, control: &Control, direction: Direction) -> (u64, u64) {
        let at = direction as usize;
        self.measured(at, control.bytes[at].load(Relaxed), control.ios[at].load(Relaxed))
    }

    /// The same when the parent last asked; `None` where it never did.
    pub(crate) fn amounts_so_far(&self, direction: Direction) -> Option<(u64, u64)> {
        let at = direction as usize;
        let asked = self.ios_so_far.iter().any(|&ios| ios > 0);
        asked.then(|| self.measured(at, self.bytes_so_far[at], self.ios_so_far[at]))
    }

    fn measured(&self, at: usize, bytes: u64, ios: u64) -> (u64, u64) {
        (bytes.saturating_sub(self.bytes_before[at]), ios.saturating_sub(self.ios_before[at]))
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

    /// The depth statistics as the model has them.
    pub(crate) fn depth(&self) -> DepthStatistics {
        DepthStatistics {
            level: self.level,
            submit: self.submit,
            complete: self.complete,
            submits: self.submit.iter().sum(),
            completes: self.complete.iter().sum(),
        }
    }

    /// The coarse bins as the model has them.
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

/// Upper bounds of all bins but the last, in nanoseconds.
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

/// Per power of two: how many bounds lie at or below it, and the (at most two) bounds inside.
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

/// The coarse bin of a latency: a table lookup and two comparisons. The bins cannot be had from the histogram
/// afterwards, because bounds like 750 ns and 10 µs lie inside its buckets.
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

    /// Subtlety 23 of the specification.
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

    /// Subtlety 20 of the specification.
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
