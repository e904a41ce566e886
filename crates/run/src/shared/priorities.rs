//! Latencies by I/O priority, for workers whose I/Os have more than one: a separate record, which exists only in runs
//! with such a worker.

use measure::{Direction, Histogram, Moments, Nanos};
use zerocopy::FromBytes;

/// Largest number of priorities of a worker.
const MOST: usize = 16;

/// Latencies of a worker per priority and direction.
#[derive(Debug, FromBytes)]
#[repr(C)]
pub(crate) struct PriorityRecord {
    /// The priorities as the kernel packs them (ioprio); zeros after the last.
    values: [u64; MOST],
    moments: [[Moments; 3]; MOST],
    histograms: [[Histogram; 3]; MOST],
}

impl PriorityRecord {
    /// Sets the list of priorities, and resets the statistics.
    pub(crate) fn begin(&mut self, values: &[u16]) {
        for (slot, &value) in self.values.iter_mut().zip(values) {
            *slot = u64::from(value);
        }
        for (moments, histograms) in self.moments.iter_mut().zip(&mut self.histograms) {
            for (moments, histogram) in moments.iter_mut().zip(histograms) {
                if moments.count() > 0 {
                    histogram.clear();
                }
                *moments = Moments::new();
            }
        }
    }

    /// Counts an I/O whose priority has this index.
    pub(crate) fn record(&mut self, index: usize, direction: Direction, latency: Nanos) {
        let index = index.min(MOST - 1);
        self.moments[index][direction as usize].record(latency);
        self.histograms[index][direction as usize].record(latency);
    }

    /// The latencies of one direction, for each priority that occurred.
    pub(crate) fn found(&self, direction: Direction) -> impl Iterator<Item = (u64, Moments, &Histogram)> {
        let at = direction as usize;
        let all = self.values.iter().zip(self.moments.iter().zip(&self.histograms));
        let all = all.map(move |(&value, (moments, histograms))| (value, moments[at], &histograms[at]));
        all.filter(|(_, moments, _)| moments.count() > 0)
    }
}
