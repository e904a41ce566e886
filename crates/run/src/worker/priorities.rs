//! Latencies by I/O priority, for workers whose I/Os do not all have the same: a record of its own, that exists only in
//! runs with such a worker.

use measure::{Direction, Histogram, Moments, Nanos};
use model::{LatencyStatistics, PriorityLatency};
use zerocopy::FromBytes;

/// How many priorities a worker's I/Os may have.
const MOST: usize = 16;

/// What a worker found per priority and direction.
#[derive(Debug, FromBytes)]
#[repr(C)]
pub(crate) struct PriorityRecord {
    /// The priorities, as the kernel packs them; zeros beyond the last.
    values: [u64; MOST],
    moments: [[Moments; 3]; MOST],
    histograms: [[Histogram; 3]; MOST],
}

impl PriorityRecord {
    /// Notes which priorities there are.
    pub(crate) fn name(&mut self, values: &[u16]) {
        for (slot, &value) in self.values.iter_mut().zip(values) {
            *slot = u64::from(value);
        }
    }

    /// Forgets what was counted.
    pub(crate) fn begin(&mut self) {
        for (moments, histograms) in self.moments.iter_mut().zip(&mut self.histograms) {
            for (moments, histogram) in moments.iter_mut().zip(histograms) {
                if moments.count() > 0 {
                    histogram.clear();
                }
                *moments = Moments::new();
            }
        }
    }

    /// Counts an I/O of the priority with this index.
    pub(crate) fn record(&mut self, index: usize, direction: Direction, latency: Nanos) {
        let index = index.min(MOST - 1);
        self.moments[index][direction as usize].record(latency);
        self.histograms[index][direction as usize].record(latency);
    }

    /// What one direction has, in the model's shape; the priorities that occurred.
    pub(crate) fn found(&self, direction: Direction, with_histograms: bool) -> Vec<PriorityLatency> {
        let at = direction as usize;
        let occurred = (0..MOST).filter(|&index| self.moments[index][at].count() > 0);
        let latency = |index: usize| LatencyStatistics {
            moments: self.moments[index][at],
            histogram: with_histograms.then(|| Box::new(self.histograms[index][at].clone())),
        };
        occurred.map(|index| PriorityLatency::of_packed(self.values[index], latency(index))).collect()
    }
}
