//! Model of a run that starts with a cold cache and ends cached: the device reads the file once, then memory serves it.
//!
//! Owns the mixture of both costs over a run of fixed length, and its fit. The crossing is when the whole file has been
//! read: at file size ÷ device rate, or later if the system calls take longer than the device. The device rate is an
//! input: runs that differ only in their block size do not determine both it and the speed of memory.

use super::{AccessModel, Estimate, SizePoint, access_model};
use crate::run_facts::{bytes_asked, float, is_sequential, slots, window};
use measure::Direction;
use model::{JobResult, RunResult};
use plan::{CacheStart, Workload};

/// A job that reads more than this multiple of its file size has hit the cache.
const MORE_THAN_ONCE: f64 = 1.02;
/// Iterations between the crossing and the costs of memory; the first converges if the device is the slower one.
const ROUNDS: usize = 20;

/// One measured run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixturePoint {
    /// Block size in bytes.
    pub bytes: f64,
    /// File size in bytes.
    pub file_bytes: f64,
    /// Length of the run in seconds.
    pub seconds: f64,
    /// I/Os during the run.
    pub ios: f64,
}

/// Prediction for one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// I/Os during the run.
    pub ios: f64,
    /// Seconds until the whole file was read and memory took over; `None` if that is after the end of the run.
    pub crossing_s: Option<f64>,
}

/// The costs of both parts, and the prediction for each run.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// Sequential read rate of the device, as given, in bytes per second.
    pub device_bytes_per_second: f64,
    /// Time of a system call in seconds.
    pub call_s: Estimate,
    /// Copy rate of memory in bytes per second.
    pub copy_bytes_per_second: Estimate,
    /// Each run with its prediction.
    pub points: Vec<(MixturePoint, Part)>,
}

/// The runs of a result that start cold and end cached: one user reads sequentially more than the file's size.
pub fn mixture_points(result: &RunResult) -> Vec<MixturePoint> {
    result.reported_jobs().iter().filter_map(|job| mixture_point(job, result)).collect()
}

pub(super) fn mixture_point(job: &JobResult, result: &RunResult) -> Option<MixturePoint> {
    let read = &job.directions[Direction::Read];
    let (low, high) = job.echo.block_sizes[Direction::Read];
    let file_bytes = float(job.echo.region_bytes);
    let alone = job.workers.max(1) == 1 && slots(job) == 1 && read.ios == job.ios();
    let again = file_bytes > 0.0 && float(read.bytes) > MORE_THAN_ONCE * file_bytes;
    // A run without any device I/O did not start cold.
    let met_device = result.lowest_traffic.as_ref().is_none_or(|lowest| {
        lowest.disks.is_empty()
            || float(lowest.read_bytes) > 0.2 * file_bytes.min(float(bytes_asked(result, Direction::Read)))
    });
    let seconds = window(job).as_secs_f64();
    (is_cold(job) && alone && again && met_device && low == high && low > 0 && is_sequential(job))
        .then(|| MixturePoint { bytes: f64::from(low), file_bytes, seconds, ios: float(read.ios) })
}

/// Prediction for a run, given the device's read rate and the costs of calls and copies.
fn part(point: &MixturePoint, device_bytes_per_second: f64, call_s: f64, copy_bytes_per_second: f64) -> Part {
    let cached_s = call_s + point.bytes / copy_bytes_per_second;
    // With read-ahead, the device and the system calls work concurrently.
    let cold_s = (point.bytes / device_bytes_per_second).max(cached_s);
    let file_ios = point.file_bytes / point.bytes;
    let crossing_s = file_ios * cold_s;
    if crossing_s >= point.seconds {
        Part { ios: point.seconds / cold_s, crossing_s: None }
    } else {
        Part { ios: file_ios + (point.seconds - crossing_s) / cached_s, crossing_s: Some(crossing_s) }
    }
}

impl Mixture {
    /// Predicts the mixture from a known device and known costs of memory; nothing is fitted to the runs.
    pub fn predicted(points: &[MixturePoint], device_bytes_per_second: f64, memory: &AccessModel) -> Self {
        let (call, copy) = (memory.fixed_s, memory.bytes_per_second);
        let of = |point: &MixturePoint| (*point, part(point, device_bytes_per_second, call.value, copy.value));
        Mixture {
            device_bytes_per_second,
            call_s: call,
            copy_bytes_per_second: copy,
            points: points.iter().map(of).collect(),
        }
    }
}

/// Fits the costs of memory to each run after the whole file was read at this rate; `None` with fewer than three.
pub fn mixture(points: &[MixturePoint], device_bytes_per_second: f64) -> Option<Mixture> {
    let mut memory: Option<AccessModel> = None;
    for _ in 0..ROUNDS {
        let (call_s, copy) =
            memory.as_ref().map_or((0.0, f64::INFINITY), |found| (found.fixed_s.value, found.bytes_per_second.value));
        let cached = |point: &MixturePoint| {
            let crossing_s = part(point, device_bytes_per_second, call_s, copy).crossing_s?;
            let ios = point.ios - point.file_bytes / point.bytes;
            (ios >= 1.0).then(|| SizePoint { bytes: point.bytes, seconds: (point.seconds - crossing_s) / ios })
        };
        memory = Some(access_model(&points.iter().filter_map(cached).collect::<Vec<_>>())?);
    }
    memory.map(|memory| Mixture::predicted(points, device_bytes_per_second, &memory))
}

/// The device's sequential read rate in bytes per second, of a cold pass, otherwise of its bytes ÷ busy time.
pub fn device_rate(result: &RunResult) -> Option<f64> {
    let passes = result.reported_jobs().into_iter().filter(|job| {
        let read = &job.directions[Direction::Read];
        let file_bytes = float(job.echo.region_bytes);
        let once = float(read.bytes) > 0.0 && float(read.bytes) <= MORE_THAN_ONCE * file_bytes;
        once && read.ios == job.ios() && is_sequential(job) && is_cold(job)
    });
    let rate = |job: &JobResult| float(job.directions[Direction::Read].bytes) / window(job).as_secs_f64();
    let fastest = passes.map(|job| rate(&job)).filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    if fastest > 0.0 {
        return Some(fastest);
    }
    let busy = |device: &model::DeviceUsage| {
        let [read, _] = device.sectors.filter(|_| device.busy_ms > 0)?;
        Some(512.0 * float(read) / (float(device.busy_ms) / 1e3))
    };
    result.devices.iter().filter_map(busy).reduce(f64::max).filter(|rate| *rate > 0.0)
}

fn is_cold(job: &JobResult) -> bool {
    let dropped = |workload: &Workload| workload.cache_start == CacheStart::Dropped;
    !job.echo.direct && job.workload.as_ref().is_none_or(dropped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::{SizePoint, access_model};
    use crate::fixtures::closed_loop;
    use measure::Nanos;

    /// 3 GiB for a minute, from 512 bytes to 16 MiB, as in a note published in 2016: 138 MB/s, 1.1 µs a call, 4.8 GB/s.
    fn published(noise: f64) -> Vec<MixturePoint> {
        let costs = [138e6_f64, 1.1e-6, 4.8e9];
        let one = |power: i32| {
            let mut point =
                MixturePoint { bytes: 2_f64.powi(power), file_bytes: 3_f64 * 2_f64.powi(30), seconds: 60.0, ios: 0.0 };
            let sign = if power % 2 == 0 { 1.0 } else { -1.0 };
            point.ios = part(&point, costs[0], costs[1], costs[2]).ios * (1.0 + sign * noise);
            point
        };
        (9..=24).map(one).collect()
    }

    #[test]
    fn the_published_example_comes_out_as_computed_there() {
        // Computed by hand in that note: 624,302 I/Os per second at 512 bytes, of which 617,759 were measured.
        let point = published(0.0)[0];
        let found = part(&point, 138e6, 1.1e-6, 4.8e9);
        assert!((found.ios / 60.0 / 624_302.0 - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.crossing_s.unwrap() - 23.34).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn the_costs_of_a_known_mixture_are_found_within_one_percent() {
        let found = mixture(&published(0.0), 138e6).unwrap();
        assert!((found.call_s.value / 1.1e-6 - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.copy_bytes_per_second.value / 4.8e9 - 1.0).abs() < 0.01, "{found:?}");
        let noisy = mixture(&published(0.03), 138e6).unwrap();
        assert!((noisy.call_s.value - 1.1e-6).abs() < noisy.call_s.half_width, "{noisy:?}");
        let worst = noisy.points.iter().map(|(point, part)| (part.ios / point.ios - 1.0).abs()).fold(0.0, f64::max);
        assert!(worst < 0.05, "{noisy:?}");
    }

    #[test]
    fn calls_that_are_slower_than_the_device_move_the_crossing() {
        let point = MixturePoint { bytes: 512.0, file_bytes: 1e9, seconds: 10.0, ios: 0.0 };
        assert!((part(&point, 1e9, 1e-6, 1e10).crossing_s.unwrap() - 1e9 / 512.0 * 1.0512e-6).abs() < 1e-9);
    }

    #[test]
    fn the_device_rate_is_that_of_a_cold_pass_or_its_busy_time() {
        let mut result = closed_loop(1, 1000, Nanos::MILLISECOND, Nanos::SECOND);
        assert_eq!(device_rate(&result), None);
        result.devices[0].busy_ms = 500;
        assert_eq!(device_rate(&result), Some(16_384_000.0));
        result.jobs[0].echo.region_bytes = 8_192_000;
        assert_eq!(device_rate(&result), Some(8_192_000.0));
    }

    #[test]
    fn a_device_and_a_memory_that_are_known_predict_the_mixture() {
        let sizes = [512.0, 4096.0, 65_536.0, 1e6].map(|bytes| SizePoint { bytes, seconds: 1.1e-6 + bytes / 4.8e9 });
        let memory = access_model(&sizes).unwrap();
        for (point, part) in Mixture::predicted(&published(0.0), 138e6, &memory).points {
            assert!((part.ios / point.ios - 1.0).abs() < 1e-3, "{point:?} {part:?}");
        }
    }

    #[test]
    fn runs_that_never_met_the_cache_are_no_mixture() {
        let cold: Vec<MixturePoint> = published(0.0)
            .into_iter()
            .map(|point| MixturePoint { seconds: 10.0, ios: 10.0 * 138e6 / point.bytes, ..point })
            .collect();
        assert_eq!(mixture(&cold, 138e6), None);
        assert_eq!(mixture(&published(0.0)[..2], 138e6), None);
    }

    #[test]
    fn only_a_buffered_reader_that_reads_its_file_again_is_a_point() {
        let random = || plan::Order::Random(plan::Distribution::Uniform);
        let job = |change: &dyn Fn(&mut JobResult)| {
            let mut result = closed_loop(1, 1000, Nanos(1000), Nanos::SECOND);
            let job = &mut result.jobs[0];
            job.echo.block_sizes.read = (8192, 8192);
            job.echo.region_bytes = 100 * 8192;
            change(job);
            (mixture_points(&result).len(), crate::costs::size_points(&result).len())
        };
        assert_eq!(job(&|_| ()), (1, 0), "a point of the mixture is none of the device");
        assert_eq!(job(&|job| job.echo.direct = true), (0, 1));
        assert_eq!(job(&|job| job.echo.region_bytes = 8192 * 1000), (0, 1));
        assert_eq!(job(&|job| job.workload.as_mut().unwrap().cache_start = CacheStart::Kept), (0, 1));
        assert_eq!(job(&|job| job.workload.as_mut().unwrap().order = random()), (0, 1));
    }
}
