//! Counts of a stream of I/Os, by which two streams are compared. Memory does not grow with the stream, but
//! for the blocks that locality samples.

use super::locality::Stack;
use measure::{Nanos, float};
use model::TraceIo;
use plan::Operation;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Streams of I/Os that follow one another, at most.
const STREAMS: usize = 16;
/// Different sizes that are counted, at most: further ones are rounded up to a power of two.
const SIZES: usize = 1 << 16;
/// I/Os in flight that are counted, at most.
const IN_FLIGHT: usize = 1 << 16;
/// Windows of bursts, as parts of the time of the original.
const WINDOWS: [u64; 5] = [10_000, 3_000, 1_000, 300, 100];

/// Scales that both sides are measured by.
#[derive(Clone, Copy, Debug)]
pub struct Ruler {
    /// Lengths of the windows whose I/Os are counted for bursts.
    pub windows: [Nanos; 5],
    /// Number of blocks of which locality follows one.
    pub sample: u64,
}

impl Ruler {
    /// The ruler for two traces, of the first look at each.
    pub fn of(original: &Extent, replay: &Extent) -> Self {
        // 200,000 touched blocks or more are enough, and a hundredth of a large trace is.
        let sample = original.blocks.max(replay.blocks).div_ceil(200_000).clamp(1, 100);
        Ruler { windows: WINDOWS.map(|parts| Nanos(original.last.get().div_ceil(parts).max(1))), sample }
    }
}

/// A first look at a trace: what must be known before it is counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// Number of I/Os.
    pub ios: u64,
    /// Begin of the last one.
    pub last: Nanos,
    /// Blocks that they touch, each time.
    pub blocks: u64,
    /// All have an end.
    pub has_ends: bool,
    /// All have a thread.
    pub has_threads: bool,
}

impl Extent {
    /// Adds an I/O.
    pub fn add(&mut self, io: &TraceIo) {
        self.has_ends = io.latency.is_some() && (self.has_ends || self.ios == 0);
        self.has_threads = io.thread.is_some() && (self.has_threads || self.ios == 0);
        self.ios += 1;
        self.last = io.begin;
        self.blocks += super::locality::blocks(io).count() as u64;
    }
}

/// Numbers on a scale of 64 steps per power of two, and how often each occurred.
#[derive(Clone, Debug, Default)]
pub(super) struct Bins {
    counts: Vec<u64>,
    total: u64,
}

impl Bins {
    const STEPS: u64 = 64;

    fn add(&mut self, value: u64) {
        let above = (value / Self::STEPS).checked_ilog2().map_or(0, |log| log + 1);
        let index =
            if above == 0 { value } else { u64::from(above) * Self::STEPS + (value >> (above - 1)) - Self::STEPS };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.total += 1;
    }

    /// Share of the bin.
    fn share(&self, index: usize) -> f64 {
        self.counts.get(index).map_or(0.0, |count| float(*count) / float(self.total.max(1)))
    }

    /// Lower end of the bin that the share is in.
    fn percentile(&self, share: f64) -> Option<f64> {
        let mut left = share * float(self.total);
        let index = self.counts.iter().position(|count| {
            left -= float(*count);
            left <= 0.0 && *count > 0
        })?;
        let (power, step) = (index as u64 / Self::STEPS, index as u64 % Self::STEPS);
        Some(if power == 0 { float(step) } else { float((Self::STEPS + step) << (power - 1).min(57)) })
    }

    fn bins(&self, other: &Bins) -> std::ops::Range<usize> {
        0..self.counts.len().max(other.counts.len())
    }
}

/// Largest difference of the shares at or below a value; `None` if a side is empty.
pub(super) fn largest_difference(a: &Bins, b: &Bins) -> Option<f64> {
    let mut sums = [0.0; 2];
    let differences = a.bins(b).map(|index| {
        sums = [sums[0] + a.share(index), sums[1] + b.share(index)];
        f64::abs(sums[0] - sums[1])
    });
    let largest = differences.fold(0.0, f64::max);
    (a.total > 0 && b.total > 0).then_some(largest)
}

/// Half of the sum of all differences of shares: the share that would have to change.
pub(super) fn total_variation(a: &Bins, b: &Bins) -> Option<f64> {
    let sum: f64 = a.bins(b).map(|index| f64::abs(a.share(index) - b.share(index))).sum();
    (a.total > 0 && b.total > 0).then_some(sum / 2.0)
}

/// The numbers of I/Os in windows of one length.
#[derive(Clone, Debug, Default)]
struct Windows {
    /// The window that is being counted, and its I/Os so far; `None` before the first whole one.
    open: Option<(u64, u64)>,
    /// Windows before this one are not whole.
    from: u64,
    count: u64,
    sum: u64,
    sum_of_squares: f64,
}

impl Windows {
    /// Leaves a window that has begun out: what follows is another part.
    fn restart(&mut self, begin: Nanos, length: Nanos) {
        self.open = None;
        self.from = begin.get().div_ceil(length.get());
    }

    fn add(&mut self, begin: Nanos, length: Nanos) {
        let window = begin.get() / length.get();
        if window < self.from {
            return;
        }
        match &mut self.open {
            Some((open, count)) if *open == window => *count += 1,
            Some((open, count)) => {
                let (empty, done) = (window - *open - 1, *count);
                (*open, *count) = (window, 1);
                self.count += 1 + empty;
                self.sum += done;
                self.sum_of_squares += float(done) * float(done);
            }
            None => {
                // Windows from the begin to the first I/O are empty.
                self.count += window - self.from;
                self.open = Some((window, 1));
            }
        }
    }

    /// Variance of the counts divided by their mean: 1 for arrivals at random, 0 for regular ones. A hundredth at least,
    /// so that regular loads are not compared by their last I/O.
    fn dispersion(&self) -> Option<f64> {
        let mean = float(self.sum) / float(self.count);
        let variance = self.sum_of_squares / float(self.count) - mean * mean;
        (self.count >= 10 && self.sum > 0).then(|| (variance / mean).max(0.01))
    }
}

/// All that is counted of a stream.
#[derive(Clone, Debug)]
pub struct Counts {
    ruler: Ruler,
    ios: u64,
    mix: FxHashMap<(Operation, u64), u64>,
    /// Target, end and number of I/Os of the streams, the last used one first.
    streams: Vec<(u32, u64, u64)>,
    /// Number of I/Os in runs whose length has this many binary digits.
    runs: [u64; 65],
    pub(super) locality: Stack,
    before: Option<Nanos>,
    pub(super) gaps: Bins,
    windows: [Windows; 5],
    ends: BinaryHeap<Reverse<Nanos>>,
    pub(super) depths: Bins,
    depth_sum: u64,
    latencies: Bins,
}

impl Counts {
    /// Nothing yet.
    pub fn new(ruler: Ruler) -> Self {
        Counts {
            ruler,
            ios: 0,
            mix: FxHashMap::default(),
            streams: Vec::with_capacity(STREAMS + 1),
            runs: [0; 65],
            locality: Stack::new(ruler.sample),
            before: None,
            gaps: Bins::default(),
            windows: Default::default(),
            ends: BinaryHeap::new(),
            depths: Bins::default(),
            depth_sum: 0,
            latencies: Bins::default(),
        }
    }

    /// The next I/O begins another part: the gap before it is none.
    fn restart(&mut self, begin: Nanos) {
        self.before = None;
        for (windows, length) in self.windows.iter_mut().zip(self.ruler.windows) {
            windows.restart(begin, length);
        }
    }

    /// Adds an I/O; they come in the order of their begins.
    pub fn add(&mut self, io: &TraceIo) {
        self.ios += 1;
        let key = (io.operation, io.bytes);
        let is_full = self.mix.len() >= SIZES && !self.mix.contains_key(&key);
        let key = if is_full { (io.operation, io.bytes.next_power_of_two()) } else { key };
        *self.mix.entry(key).or_default() += 1;
        if let Some(offset) = io.offset {
            self.follow(io.target, offset, offset.saturating_add(io.bytes));
        }
        self.locality.add(io);
        if let Some(before) = self.before {
            self.gaps.add(io.begin.saturating_sub(before).get());
        }
        self.before = Some(io.begin);
        for (windows, length) in self.windows.iter_mut().zip(self.ruler.windows) {
            windows.add(io.begin, length);
        }
        if let (Some(end), Some(latency)) = (io.end(), io.latency) {
            while self.ends.peek().is_some_and(|Reverse(first)| *first <= io.begin) || self.ends.len() >= IN_FLIGHT {
                self.ends.pop();
            }
            self.ends.push(Reverse(end));
            let depth = self.ends.len() as u64;
            self.depths.add(depth);
            self.depth_sum += depth;
            self.latencies.add(latency.get());
        }
    }

    /// An I/O at the end of one of the streams belongs to it.
    fn follow(&mut self, target: u32, offset: u64, end: u64) {
        let at = self.streams.iter().position(|stream| (stream.0, stream.1) == (target, offset));
        let count = at.map_or(0, |at| self.streams.remove(at).2);
        self.streams.insert(0, (target, end, count + 1));
        if self.streams.len() > STREAMS
            && let Some((.., count)) = self.streams.pop()
        {
            self.run(count);
        }
    }

    fn run(&mut self, count: u64) {
        self.runs[(u64::BITS - count.leading_zeros()) as usize] += count;
    }

    /// Ends the streams. Nothing is added afterwards.
    pub fn finish(&mut self) {
        for (.., count) in std::mem::take(&mut self.streams) {
            self.run(count);
        }
    }

    /// Number of I/Os.
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// Latency in ns at or below which this share of I/Os ended, if it is known.
    pub fn latency(&self, share: f64) -> Option<f64> {
        self.latencies.percentile(share)
    }

    /// Mean number of I/Os in flight, seen by one that begins, with itself.
    pub fn depth(&self) -> Option<f64> {
        (self.depths.total > 0).then(|| float(self.depth_sum) / float(self.depths.total))
    }

    /// Total variation of operations and sizes.
    pub(super) fn mix_distance(&self, other: &Counts) -> Option<f64> {
        let share = |of: &Counts, key| of.mix.get(key).map_or(0.0, |count| float(*count) / float(of.ios));
        let keys = self.mix.keys().chain(other.mix.keys().filter(|key| !self.mix.contains_key(key)));
        let sum: f64 = keys.map(|key| f64::abs(share(self, key) - share(other, key))).sum();
        (self.ios > 0 && other.ios > 0).then_some(sum / 2.0)
    }

    /// Total variation of the lengths of runs, each weighed by its I/Os.
    pub(super) fn run_distance(&self, other: &Counts) -> Option<f64> {
        let total = |of: &Counts| float(of.runs.iter().sum());
        let (a, b) = (total(self), total(other));
        let sum: f64 = self.runs.iter().zip(other.runs).map(|(x, y)| f64::abs(float(*x) / a - float(y) / b)).sum();
        (a > 0.0 && b > 0.0).then_some(sum / 2.0)
    }

    /// For each window the distance of the dispersions, if both are known: 1 if one is 16 times the other.
    pub(super) fn burst_distances(&self, other: &Counts) -> [Option<f64>; 5] {
        std::array::from_fn(|at| {
            let ratio = self.windows[at].dispersion()? / other.windows[at].dispersion()?;
            Some((ratio.log2().abs() / 4.0).min(1.0))
        })
    }
}

/// The counts of an original, of its odd and of its even twentieths.
#[derive(Clone, Debug)]
pub struct Halved {
    /// All of it.
    pub all: Counts,
    pub(super) halves: [Counts; 2],
    per_part: u64,
    part: Option<u64>,
}

impl Halved {
    /// Nothing yet of a trace with this number of I/Os.
    pub fn new(ruler: Ruler, ios: u64) -> Self {
        let counts = || Counts::new(ruler);
        Halved { all: counts(), halves: [counts(), counts()], per_part: ios.div_ceil(20).max(1), part: None }
    }

    /// Adds an I/O; they come in the order of their begins.
    pub fn add(&mut self, io: &TraceIo) {
        let part = self.all.ios / self.per_part;
        let half = &mut self.halves[usize::from(part % 2 == 1)];
        if self.part != Some(part) {
            half.restart(io.begin);
            self.part = Some(part);
        }
        half.add(io);
        self.all.add(io);
    }

    /// Ends the streams. Nothing is added afterwards.
    pub fn finish(&mut self) {
        self.all.finish();
        self.halves.iter_mut().for_each(Counts::finish);
    }

    /// The windows of bursts.
    pub(super) fn windows(&self) -> [Nanos; 5] {
        self.all.ruler.windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_keep_their_order_and_lie_within_a_64th() {
        let mut last = 0;
        for value in (0..64_u64).chain((6..58).flat_map(|power| [1 << power, (1 << power) * 3 / 2])) {
            let mut bins = Bins::default();
            bins.add(value);
            let index = bins.counts.len();
            assert!(index > last, "{value}");
            last = index;
            let found = bins.percentile(0.5).unwrap();
            assert!((found - float(value)).abs() <= float(value) / 64.0, "{value}: {found}");
        }
    }

    #[test]
    fn arrivals_of_a_clock_have_no_dispersion_and_bursts_have_it() {
        let of = |moments: &mut dyn Iterator<Item = u64>| {
            let mut windows = Windows::default();
            moments.for_each(|at| windows.add(Nanos(at), Nanos(100)));
            windows.dispersion().unwrap()
        };
        assert!((of(&mut (0..1000).map(|at| at * 10)) - 0.01).abs() < 1e-9);
        // 100 at once in each tenth window: mean 10, variance 900.
        let bursts = of(&mut (0..2001).map(|at| at / 100 * 1000));
        assert!((bursts - 90.0).abs() < 1.0, "{bursts}");
    }
}
