//! Intervals of workers in virtual time: a separate record, which exists only in runs that ask for it. A worker ends its
//! intervals itself, because the parent cannot follow a clock that is not its own.

use super::record::{Keeps, Record};
use measure::{Histogram, Nanos};
use model::{Interval, LATENCY_BUCKETS, LatencyCounts};
use zerocopy::FromBytes;

/// Most intervals of a worker: when they are reached, adjacent ones are merged, and later ones are twice as long.
const MOST: usize = 256;
/// Length of the first intervals.
const LENGTH: Nanos = Nanos::from_millis(500);

/// The intervals of a worker in its measured part.
#[derive(Debug, FromBytes)]
#[repr(C)]
pub(crate) struct IntervalRecord {
    count: u64,
    /// Length of an interval in ns; 0 before the first begins.
    length: u64,
    /// End of the current interval, in ns on the worker's clock.
    ends: u64,
    /// Bytes, I/Os and latencies at the end of the last interval.
    bytes: [u64; 3],
    ios: [u64; 3],
    then: [Histogram; 4],
    intervals: [Gains; MOST],
}

/// Increments of an interval.
#[derive(Clone, Debug, FromBytes)]
#[repr(C)]
struct Gains {
    bytes: [u64; 3],
    ios: [u64; 3],
    /// Latencies of reads, writes and trims, then of syncs.
    latencies: [[u64; LATENCY_BUCKETS]; 4],
}

impl Gains {
    const NONE: Gains = Gains { bytes: [0; 3], ios: [0; 3], latencies: [[0; LATENCY_BUCKETS]; 4] };

    fn add(&mut self, more: &Gains) {
        let add = |mine: &mut [u64], more: &[u64]| mine.iter_mut().zip(more).for_each(|(mine, more)| *mine += more);
        add(&mut self.bytes, &more.bytes);
        add(&mut self.ios, &more.ios);
        for (mine, more) in self.latencies.iter_mut().zip(&more.latencies) {
            add(mine, more);
        }
    }
}

impl IntervalRecord {
    /// Begins the first interval at `now`. What was counted before it is not of the measured part.
    pub(crate) fn begin(&mut self, now: Nanos) {
        let kept = self.kept();
        self.intervals[..kept].fill(Gains::NONE);
        self.then.iter_mut().filter(|then| then.total() > 0).for_each(Histogram::clear);
        (self.count, self.bytes, self.ios) = (0, [0; 3], [0; 3]);
        self.length = LENGTH.get();
        self.ends = now.get() + self.length;
    }

    /// End of the current interval.
    pub(crate) fn next_end(&self) -> Nanos {
        if self.length == 0 { Nanos::MAX } else { Nanos(self.ends) }
    }

    /// Ends the current interval, with the bytes and I/Os of the measured part so far.
    pub(crate) fn close(&mut self, amounts: [(u64, u64); 3], record: &Record) {
        // There is room: a full record is halved at once.
        let at = self.kept().min(MOST - 1);
        let gains = &mut self.intervals[at];
        for (direction, (bytes, ios)) in amounts.into_iter().enumerate() {
            gains.bytes[direction] = bytes.saturating_sub(self.bytes[direction]);
            gains.ios[direction] = ios.saturating_sub(self.ios[direction]);
            (self.bytes[direction], self.ios[direction]) = (bytes, ios);
        }
        for (kind, (then, counts)) in self.then.iter_mut().zip(&mut gains.latencies).enumerate() {
            let Some(now) = histogram(record, kind) else { continue };
            LatencyCounts::add_gain(now, then, counts);
            then.clone_from(now);
        }
        self.count += 1;
        if self.kept() == MOST {
            self.halve();
        }
        self.ends += self.length;
    }

    /// Merges adjacent intervals of a full record.
    fn halve(&mut self) {
        let half = self.kept() / 2;
        for at in 0..half {
            let (before, after) = self.intervals.split_at_mut(2 * at + 1);
            before[2 * at].add(&after[0]);
            self.intervals[at] = self.intervals[2 * at].clone();
        }
        self.intervals[half..].fill(Gains::NONE);
        self.count = half as u64;
        self.length *= 2;
    }

    /// Number of intervals.
    fn kept(&self) -> usize {
        usize::try_from(self.count).map_or(MOST, |count| count.min(MOST))
    }

    /// The intervals, as of one worker.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let interval = |(until, gains): (u64, &Gains)| {
            let [reads, writes, trims, sync_latencies] = gains.latencies.each_ref().map(LatencyCounts::of);
            Interval {
                until: Nanos(until * self.length),
                measuring: 1,
                bytes: gains.bytes,
                ios: gains.ios,
                latencies: [reads, writes, trims],
                sync_latencies,
                ..Interval::default()
            }
        };
        (1..).zip(&self.intervals[..self.kept()]).map(interval).collect()
    }
}

/// The latencies of a direction that are kept as a histogram: total, else completion latency; those of syncs last.
/// `None` without any.
fn histogram(record: &Record, kind: usize) -> Option<&Histogram> {
    if kind == record.completion.len() {
        return (record.sync.count() > 0).then_some(&record.histograms.sync);
    }
    match record.keeps {
        Keeps { total: 1.., .. } => (record.total[kind].count() > 0).then_some(&record.histograms.total[kind]),
        Keeps { completion: 1.., .. } => {
            (record.completion[kind].count() > 0).then_some(&record.histograms.completion[kind])
        }
        Keeps { .. } => None,
    }
}

/// The intervals of all workers together, up to the first end of one; none if their lengths differ.
pub(crate) fn together(workers: Vec<Vec<Interval>>) -> Vec<Interval> {
    let mut workers = workers.into_iter();
    let mut sum = workers.next().unwrap_or_default();
    for worker in workers {
        sum.truncate(worker.len());
        if sum.iter().zip(&worker).any(|(sum, more)| sum.until != more.until) {
            return Vec::new();
        }
        sum.iter_mut().zip(&worker).for_each(|(sum, more)| sum.append(more));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::machine::shared_memory::SharedRecords;

    #[test]
    fn a_full_record_is_halved_and_loses_no_io() {
        let (records, workers) =
            (SharedRecords::<IntervalRecord>::new(1).unwrap(), SharedRecords::<Record>::new(1).unwrap());
        let (mut record, mut worker) = (records.writer(0).unwrap(), workers.writer(0).unwrap());
        worker.keeps.completion = 1;
        assert_eq!(record.next_end(), Nanos::MAX);
        record.begin(Nanos::from_secs(1));
        let mut ios = 0;
        for interval in 1..=300_u64 {
            ios += interval;
            worker.completion[0].record_many(Nanos::from_micros(100), interval);
            worker.histograms.completion[0].record_many(Nanos::from_micros(100), interval);
            record.close([(4096 * ios, ios), (0, 0), (0, 0)], &worker);
        }
        let found = record.intervals();
        // 256 of half a second are 128 of a second, and 44 more followed.
        assert_eq!(
            (found.len(), found[127].until, found[171].until),
            (172, Nanos::from_secs(128), Nanos::from_secs(172))
        );
        assert_eq!((found[0].ios[0], found[171].ios[0], found[171].bytes[0]), (3, 300, 300 * 4096));
        let counted = |interval: &Interval| interval.latencies[0].total();
        assert_eq!((counted(&found[0]), found.iter().map(counted).sum::<u64>()), (3, ios));
        record.begin(Nanos::from_secs(500));
        assert_eq!((record.intervals(), record.next_end()), (Vec::new(), Nanos::from_millis(500_500)));
    }
}
