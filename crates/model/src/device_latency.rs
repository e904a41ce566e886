//! Percentiles of the times of a device's I/Os in an interval: in its queue, and in the device.

use measure::{Histogram, Nanos, float};
use serde::Serialize;

/// Times of the I/Os of a device that ended in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceLatency {
    /// Reads.
    pub read: OperationLatency,
    /// Writes.
    pub write: OperationLatency,
}

/// Times of the I/Os of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OperationLatency {
    /// Number of I/Os that ended.
    pub ios: u64,
    /// From the queue of the block layer to the driver. A device without requests has no queue.
    #[serde(rename = "queue_ns")]
    pub queue: LatencyPercentiles,
    /// From the driver to the completion; of a device without requests from the begin to the end.
    #[serde(rename = "device_ns")]
    pub device: LatencyPercentiles,
}

/// Percentiles, each `None` if no I/O is beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LatencyPercentiles {
    /// Of half of them.
    pub p50: Option<Nanos>,
    /// Of 99 of 100.
    pub p99: Option<Nanos>,
    /// Of 999 of 1,000.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<Nanos>,
}

impl LatencyPercentiles {
    /// The percentiles of these times.
    pub fn of(times: &Histogram) -> Self {
        let total = float(times.total());
        let percentile = |percent: f64| {
            let has_more = (100.0 - percent) * total >= 100.0 - 1e-6;
            times.percentile(percent).filter(|_| has_more)
        };
        LatencyPercentiles { p50: percentile(50.0), p99: percentile(99.0), p99_9: percentile(99.9) }
    }

    /// In this order: p50, p99, p99.9.
    pub fn all(&self) -> [Option<Nanos>; 3] {
        [self.p50, self.p99, self.p99_9]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_has_an_io_beyond_it() {
        let mut times = Histogram::new();
        assert_eq!(LatencyPercentiles::of(&times), LatencyPercentiles::default());
        times.record(Nanos(100));
        assert_eq!(LatencyPercentiles::of(&times).all(), [None; 3]);
        times.record_many(Nanos(100), 98);
        assert_eq!(LatencyPercentiles::of(&times).all(), [Some(Nanos(100)), None, None]);
        times.record(Nanos(120));
        assert_eq!(LatencyPercentiles::of(&times).all(), [Some(Nanos(100)), Some(Nanos(100)), None]);
        times.record_many(Nanos(110), 900);
        assert_eq!(LatencyPercentiles::of(&times).all(), [110, 110, 120].map(|time| Some(Nanos(time))));
    }
}
