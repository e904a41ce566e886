//! Time per I/O by block size: access time + size ÷ transfer rate for a device, call + size ÷ copy rate for memory.

use super::mixture::mixture_point;
use super::{Estimate, least_squares};
use crate::run_facts::{bytes_asked, bytes_at_devices, float, is_sequential, slots, window};
use measure::Direction;
use model::{JobResult, RunResult};

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint {
    /// Block size in bytes.
    pub bytes: f64,
    /// Mean seconds per I/O of a busy user: users × measured time ÷ I/Os.
    pub seconds: f64,
}

/// The fitted model, of a device or of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessModel {
    /// Fixed time per I/O in seconds: access time of a device, or time of a system call.
    pub fixed_s: Estimate,
    /// Transfer rate of a device, or copy rate of memory, in bytes per second.
    pub bytes_per_second: Estimate,
    /// Each point, with the predicted seconds.
    pub points: Vec<(SizePoint, f64)>,
}

/// Points of a block-size sweep: each reported job with one block size and one direction. Sequential jobs are skipped
/// if there are random ones, because read-ahead needs a different model. Jobs that start with a cold cache and end
/// cached are skipped as well.
pub fn size_points(result: &RunResult) -> Vec<SizePoint> {
    let rows = result.reported_jobs();
    let random = rows.iter().any(|job| !is_sequential(job));
    let is_one = |job: &&JobResult| (!random || !is_sequential(job)) && mixture_point(job, result).is_none();
    rows.iter().filter(is_one).filter_map(of_job).collect()
}

fn of_job(job: &JobResult) -> Option<SizePoint> {
    let mut busy = job.directions.iter().filter(|(_, found)| found.ios > 0);
    let (direction, found) = busy.next()?;
    let (low, high) = job.echo.block_sizes[direction];
    if busy.next().is_some() || low != high || low == 0 {
        return None;
    }
    let users = f64::from(job.workers.max(1)) * f64::from(slots(job));
    // For a single user the latency is the time per I/O, without the gap between two I/Os.
    let latency = found.latency().and_then(|latency| latency.moments.mean());
    let seconds = match latency {
        Some(mean_ns) if users < 1.5 => mean_ns / 1e9,
        _ => users * window(job).as_secs_f64() / float(found.ios),
    };
    (seconds > 0.0).then_some(SizePoint { bytes: f64::from(low), seconds })
}

/// True if the data came from memory: less than half of the requested bytes were transferred by the sampled devices.
pub fn is_memory(result: &RunResult) -> bool {
    let asked = bytes_asked(result, Direction::Read);
    bytes_at_devices(result, Direction::Read).is_some_and(|moved| moved < asked / 2)
}

impl AccessModel {
    /// Predicted seconds for an I/O of this size.
    pub fn seconds(&self, bytes: f64) -> f64 {
        self.fixed_s.value + bytes / self.bytes_per_second.value
    }
}

/// Fits a line through the points, weighted by relative error; `None` with fewer than three sizes, or if larger I/Os do
/// not take longer. The fixed time cannot be negative: if the best fit has a negative one, it is set to zero.
pub fn access_model(points: &[SizePoint]) -> Option<AccessModel> {
    let rows: Vec<([f64; 2], f64)> = points.iter().map(|point| ([1.0, point.bytes], point.seconds)).collect();
    if rows.len() < 3 {
        return None;
    }
    let line = least_squares::relative(&rows)?;
    let (fixed_s, bytes_per_second) = if line.values[0] < 0.0 {
        let through_zero: Vec<([f64; 1], f64)> = rows.iter().map(|&([_, bytes], seconds)| ([bytes], seconds)).collect();
        (Estimate::exact(0.0), least_squares::relative(&through_zero)?.inverse(0))
    } else {
        (line.estimate(0), line.inverse(1))
    };
    if bytes_per_second.value <= 0.0 || !bytes_per_second.value.is_finite() {
        return None;
    }
    let mut model = AccessModel { fixed_s, bytes_per_second, points: Vec::new() };
    model.points = points.iter().map(|point| (*point, model.seconds(point.bytes))).collect();
    Some(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::closed_loop;
    use measure::Nanos;

    #[test]
    fn access_time_and_rate_of_a_known_device_are_found() {
        let mut result = RunResult::default();
        for power in 9..24_u32 {
            let bytes = 1_u32 << power;
            let latency = Nanos(100_000 + u64::from(bytes) * 2);
            let mut one = closed_loop(1, 1_000, latency, Nanos(latency.get() * 1_000));
            one.jobs[0].echo.block_sizes[Direction::Read] = (bytes, bytes);
            result.jobs.append(&mut one.jobs);
        }
        let model = access_model(&size_points(&result)).unwrap();
        assert!((model.fixed_s.value / 1e-4 - 1.0).abs() < 0.001, "{model:?}");
        assert!((model.bytes_per_second.value / 5e8 - 1.0).abs() < 0.001, "{model:?}");
        assert_eq!(model.points.len(), 15);
    }

    #[test]
    fn no_access_takes_less_than_no_time() {
        let points = [(4096.0, 1e-6), (8192.0, 4e-6), (16384.0, 16e-6)];
        let model = access_model(&points.map(|(bytes, seconds)| SizePoint { bytes, seconds })).unwrap();
        assert_eq!(model.fixed_s.value, 0.0);
        assert!(model.bytes_per_second.value > 0.0 && model.points[2].1 > model.points[0].1, "{model:?}");
    }

    #[test]
    fn too_few_sizes_are_no_model() {
        let point = |bytes: f64, seconds: f64| SizePoint { bytes, seconds };
        assert_eq!(access_model(&[point(512.0, 1e-4), point(1024.0, 2e-4)]), None);
        assert_eq!(access_model(&[point(512.0, 3e-4), point(1024.0, 2e-4), point(2048.0, 1e-4)]), None);
    }
}
