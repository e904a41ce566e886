//! The numbers that the rules ask for: rates and shares of the steady part of a run.

use crate::evidence::{latency_sum_ns, slots, window};
use measure::Nanos;
use model::{DeviceFacts, DeviceGain, Interval, JobResult, Monitored, RunResult};

/// A run as the rules see it.
pub(crate) struct Seen<'a> {
    pub(crate) result: &'a RunResult,
    /// What was seen beside the jobs; `None` in foreign results.
    pub(crate) monitored: Option<&'a Monitored>,
    /// The part in which all workers measured, as one interval.
    pub(crate) steady: Interval,
    /// Its length in seconds, never 0.
    pub(crate) seconds: f64,
}

impl<'a> Seen<'a> {
    /// `None` for a run without I/O, and for one in virtual time.
    pub(crate) fn of(result: &'a RunResult) -> Option<Self> {
        let moved = result.jobs.iter().any(|job| job.directions.iter().any(|(_, direction)| direction.ios > 0));
        if !moved || result.jobs.iter().any(|job| job.echo.engine == "sim") {
            return None;
        }
        let monitored = result.monitored.as_ref().filter(|monitored| !monitored.intervals.is_empty());
        let (length, steady) = match monitored {
            Some(monitored) => monitored.steady_whole(),
            None => (result.jobs.iter().map(window).max()?, Interval::default()),
        };
        (length > Nanos::ZERO).then(|| Seen { result, monitored, steady, seconds: length.as_secs_f64() })
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = &'a JobResult> {
        self.result.jobs.iter().filter(|job| job.directions.iter().any(|(_, direction)| direction.ios > 0))
    }

    /// Workers that did I/O.
    pub(crate) fn workers(&self) -> u32 {
        self.jobs().map(|job| job.workers.max(1)).fold(0, u32::saturating_add)
    }

    /// I/Os that could be in flight at once.
    pub(crate) fn users(&self) -> u32 {
        self.jobs().map(|job| job.workers.max(1).saturating_mul(slots(job))).fold(0, u32::saturating_add)
    }

    /// The last value of an option over all jobs that say it, the job's own before the global one.
    pub(crate) fn option(&self, job: &'a JobResult, name: &str) -> Option<&'a str> {
        let last = |options: &'a [(String, String)]| {
            options.iter().rev().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
        };
        last(&job.echo.options).or_else(|| last(&self.result.global_options))
    }

    pub(crate) fn devices(&self) -> impl Iterator<Item = (&'a DeviceFacts, &DeviceGain)> {
        self.monitored.into_iter().flat_map(|monitored| &monitored.devices).zip(&self.steady.devices)
    }

    /// The share of the time in which a device had something to do, by name; the busiest of all.
    pub(crate) fn busiest(&self) -> Option<(&'a DeviceFacts, &DeviceGain, f64)> {
        let busy = self.devices().map(|(facts, gain)| (facts, gain, self.share_of_time(float(gain.busy_ms) / 1e3)));
        busy.max_by(|a, b| a.2.total_cmp(&b.2))
    }

    /// Seconds as a share of the steady part, at most 1.
    pub(crate) fn share_of_time(&self, seconds: f64) -> f64 {
        (seconds / self.seconds).min(1.0)
    }

    pub(crate) fn per_second(&self, count: u64) -> f64 {
        float(count) / self.seconds
    }

    /// Mean share of its time that a worker's main thread was on a processor, and that it waited for one.
    pub(crate) fn processor_shares(&self) -> Option<(f64, f64)> {
        let told: Vec<_> =
            self.steady.workers.iter().filter(|worker| worker.ios > 0 && worker.on_cpu.is_some()).collect();
        if told.is_empty() {
            return self.processor_share_of_jobs().map(|share| (share, 0.0));
        }
        let time = float(told.len() as u64) * self.seconds;
        let sum = |of: fn(&model::WorkerGain) -> Option<Nanos>| {
            told.iter().filter_map(|worker| of(worker)).map(Nanos::as_secs_f64).sum::<f64>()
        };
        Some((sum(|worker| worker.on_cpu) / time, sum(|worker| worker.run_delay) / time))
    }

    fn processor_share_of_jobs(&self) -> Option<f64> {
        let time: f64 = self.jobs().map(|job| job.runtime.as_secs_f64()).sum();
        let used: f64 = self.jobs().map(|job| (job.cpu.user.saturating_add(job.cpu.system)).as_secs_f64()).sum();
        (time > 0.0).then_some(used / time)
    }

    /// Mean latency of an I/O in milliseconds, flushes left out; `None` when it was not measured.
    pub(crate) fn latency_ms(&self) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0_u64);
        for job in self.jobs() {
            sum += latency_sum_ns(job)? - flush_ns(job);
            count = count.saturating_add(job.ios());
        }
        (count > 0 && sum > 0.0).then(|| sum / float(count) / 1e6)
    }

    /// The share of the workers' time that they spent in flushes.
    pub(crate) fn flush_share(&self) -> f64 {
        let time: f64 = self.jobs().map(|job| window(job).as_secs_f64() * f64::from(job.workers.max(1))).sum();
        let flushes: f64 = self.jobs().map(flush_ns).sum::<f64>() / 1e9;
        if time > 0.0 { (flushes / time).min(1.0) } else { 0.0 }
    }
}

fn flush_ns(job: &JobResult) -> f64 {
    wide(job.sync.latency.moments.sum())
}

#[expect(clippy::cast_precision_loss, reason = "a ratio is made of it")]
fn wide(sum: u128) -> f64 {
    sum as f64
}

/// Bytes of requests.
pub(crate) fn bytes(sectors: u64) -> u64 {
    sectors.saturating_mul(512)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio is made of it")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}
