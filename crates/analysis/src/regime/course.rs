//! The course of a run: what each interval of its steady part did.

use super::plateaus::SoldVolume;
use crate::run_facts::{RunFacts, bytes_of_sectors, float, on_files};
use measure::Nanos;
use model::{Interval, IoCap, LatencyCounts, Monitored, RunResult};

/// One interval of a course.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// Its end, since the monitoring started.
    pub(crate) until: Nanos,
    pub(crate) length: Nanos,
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    /// Time in which a processor quota held the workers back, and the periods of the quota in which it did.
    pub(crate) throttled: Option<(Nanos, u64)>,
    /// Times that processors were slowed because of heat.
    pub(crate) processor_throttles: u64,
    /// The device that is nearest to its warning limit.
    pub(crate) warmest: Option<Warmth>,
    /// Bytes that the devices moved, and that the workers did not ask for.
    pub(crate) others: u64,
    pub(crate) latencies: LatencyCounts,
}

/// Temperature of a device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Warmth {
    pub(crate) device: String,
    /// In thousandths of a degree Celsius.
    pub(crate) millidegrees: i64,
    /// From here on it warns and may slow down.
    pub(crate) warning_millidegrees: i64,
}

impl Warmth {
    pub(crate) fn is_hot(&self) -> bool {
        self.millidegrees >= self.warning_millidegrees
    }
}

/// Steady part of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub(crate) steps: Vec<Step>,
    /// I/Os, bytes and seconds before the steady part: start and ramp.
    pub(crate) lead: (u64, u64, f64),
    /// True if most bytes were written.
    pub(crate) writes: bool,
    /// Size of the smallest device at the top, if it is known.
    pub(crate) device_bytes: Option<u64>,
    /// Limits of control groups, from these moments on.
    pub(crate) caps: Vec<(Nanos, Vec<IoCap>)>,
    /// The disk, if it may be one whose rates are published.
    pub(crate) place: Option<SoldVolume>,
}

impl Course {
    /// `None` without samples, and in simulated time.
    pub(crate) fn of(result: &RunResult) -> Option<Course> {
        Course::of_samples(RunFacts::of(result)?.monitored?)
    }

    /// The course in these samples; `None` without a steady part.
    pub(crate) fn of_samples(monitored: &Monitored) -> Option<Course> {
        let steady = monitored.steady();
        let (length, first) = steady.first()?;
        let begin = first.until.saturating_sub(*length);
        let before = monitored.intervals.iter().take_while(|interval| interval.until <= begin);
        let lead = before.fold((0, 0, begin.as_secs_f64()), |(ios, bytes, seconds): (u64, u64, f64), interval| {
            (ios.saturating_add(sum(interval.ios)), bytes.saturating_add(sum(interval.bytes)), seconds)
        });
        let moved = |at: usize| steady.iter().map(|(_, interval)| interval.bytes[at]).fold(0, u64::saturating_add);
        let sizes = monitored.devices.iter().filter(|device| device.top).filter_map(|device| device.size_bytes);
        Some(Course {
            steps: steady.iter().map(|(length, interval)| step(monitored, *length, interval)).collect(),
            lead,
            writes: moved(1) > moved(0),
            device_bytes: sizes.min(),
            caps: caps(monitored),
            place: SoldVolume::of(monitored),
        })
    }

    /// I/Os per second of each interval.
    pub(crate) fn rates(&self) -> Vec<f64> {
        rates(&self.steps)
    }

    /// The intervals `from..to`.
    pub(super) fn stretch(&self, from: usize, to: usize) -> Stretch<'_> {
        let before = self.steps[..from].iter().map(|step| step.bytes).fold(self.lead.1, u64::saturating_add);
        Stretch { steps: &self.steps[from..to], bytes_before: before, caps: &self.caps }
    }
}

fn caps(monitored: &Monitored) -> Vec<(Nanos, Vec<IoCap>)> {
    let first = monitored.group_limits.iter().map(|limits| (Nanos::ZERO, limits.io.clone()));
    first.chain(monitored.limit_changes.iter().map(|change| (change.at, change.limits.io.clone()))).collect()
}

/// The device whose temperature is nearest to, or farthest beyond, its warning limit.
fn warmest(monitored: &Monitored, interval: &Interval) -> Option<Warmth> {
    let of_device = |(facts, gain): (&model::DeviceFacts, &model::DeviceGain)| {
        Some(Warmth {
            device: facts.name.clone(),
            millidegrees: gain.temperature_millidegrees?,
            warning_millidegrees: facts.warning_millidegrees?,
        })
    };
    let all = monitored.devices.iter().zip(&interval.devices).filter_map(of_device);
    all.max_by_key(|one| one.millidegrees.saturating_sub(one.warning_millidegrees))
}

fn sum(directions: [u64; 3]) -> u64 {
    directions.into_iter().fold(0, u64::saturating_add)
}

fn step(monitored: &Monitored, length: Nanos, interval: &Interval) -> Step {
    let [read, written, _] = interval.bytes;
    let top = monitored.devices.iter().zip(&interval.devices).filter(|(facts, _)| facts.top);
    let moved = |of: fn(&model::DeviceGain) -> u64| {
        top.clone().map(|(_, gain)| bytes_of_sectors(of(gain))).fold(0, u64::saturating_add)
    };
    let foreign_reads = moved(|gain| gain.reads.sectors).saturating_sub(read);
    // What a file system writes for itself looks like the writes of others.
    let foreign_writes =
        if on_files(monitored) { 0 } else { moved(|gain| gain.writes.sectors).saturating_sub(written) };
    let mut latencies = LatencyCounts::default();
    interval.latencies.iter().for_each(|more| latencies.add(more));
    Step {
        until: interval.until,
        length,
        ios: sum(interval.ios),
        bytes: sum(interval.bytes),
        throttled: interval
            .group
            .and_then(|group| Some((Nanos::from_micros(group.throttled_us?), group.throttled_periods.unwrap_or(0)))),
        processor_throttles: interval.processor_throttles.unwrap_or(0),
        warmest: warmest(monitored, interval),
        others: foreign_reads.saturating_add(foreign_writes),
        latencies,
    }
}

fn rates(steps: &[Step]) -> Vec<f64> {
    steps.iter().map(|step| float(step.ios) / step.length.as_secs_f64().max(1e-9)).collect()
}

/// A part of a course.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch<'a> {
    pub(super) steps: &'a [Step],
    caps: &'a [(Nanos, Vec<IoCap>)],
    bytes_before: u64,
}

impl Stretch<'_> {
    pub(super) fn rates(&self) -> Vec<f64> {
        rates(self.steps)
    }

    pub(super) fn from(&self) -> Nanos {
        self.steps.first().map_or(Nanos::ZERO, |step| step.until.saturating_sub(step.length))
    }

    pub(super) fn until(&self) -> Nanos {
        self.steps.last().map_or(Nanos::ZERO, |step| step.until)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.steps.iter().map(|step| step.length.as_secs_f64()).sum::<f64>().max(1e-9)
    }

    /// Seconds of an interval.
    pub(super) fn pace(&self) -> f64 {
        self.seconds() / float(self.steps.len().max(1) as u64)
    }

    fn total(&self, of: fn(&Step) -> u64) -> f64 {
        float(self.steps.iter().map(of).fold(0, u64::saturating_add))
    }

    pub(super) fn iops(&self) -> f64 {
        self.total(|step| step.ios) / self.seconds()
    }

    pub(super) fn bytes_per_second(&self) -> f64 {
        self.total(|step| step.bytes) / self.seconds()
    }

    pub(super) fn bytes_before(&self) -> u64 {
        self.bytes_before
    }

    /// Share of the time in which a processor quota held the workers back.
    pub(super) fn throttled_share(&self) -> f64 {
        let held = self.steps.iter().filter_map(|step| step.throttled);
        held.map(|(time, _)| time.as_secs_f64()).sum::<f64>() / self.seconds()
    }

    /// Periods in which a processor quota held the workers back.
    pub(super) fn throttled_periods(&self) -> u64 {
        self.steps.iter().filter_map(|step| step.throttled).map(|(_, periods)| periods).fold(0, u64::saturating_add)
    }

    /// Times that processors were slowed because of heat.
    pub(super) fn processor_throttles(&self) -> u64 {
        self.steps.iter().map(|step| step.processor_throttles).fold(0, u64::saturating_add)
    }

    /// The highest temperature of a device at or above its warning limit.
    pub(super) fn hot(&self) -> Option<&Warmth> {
        let hot = self.steps.iter().filter_map(|step| step.warmest.as_ref()).filter(|warmth| warmth.is_hot());
        hot.max_by_key(|warmth| warmth.millidegrees)
    }

    /// Limits of control groups in its second half, and since when.
    pub(super) fn caps(&self) -> (Nanos, &[IoCap]) {
        let middle = Nanos(u64::midpoint(self.from().get(), self.until().get()));
        let last = self.caps.iter().rev().find(|(at, _)| *at <= middle);
        last.map_or((Nanos::ZERO, &[]), |(at, caps)| (*at, caps.as_slice()))
    }

    /// Share of the traffic that is not the workers'.
    pub(super) fn others_share(&self) -> f64 {
        let others = self.total(|step| step.others);
        if others > 0.0 { others / (others + self.total(|step| step.bytes)) } else { 0.0 }
    }

    pub(super) fn latencies(&self) -> LatencyCounts {
        let mut all = LatencyCounts::default();
        self.steps.iter().for_each(|step| all.add(&step.latencies));
        all
    }

    /// p50, and p99 with at least 100 slower I/Os.
    pub(super) fn percentiles(&self) -> [Option<Nanos>; 2] {
        const LEAST: u64 = 10_000;
        let all = self.latencies();
        [all.percentile(50.0), all.percentile(99.0).filter(|_| all.total() >= LEAST)]
    }

    /// Deviation of the rates as a share of their mean, without the first and last interval, which may hold a change.
    pub(super) fn variation(&self) -> f64 {
        let rates = rates(pieces_inside(self.steps));
        let count = float(rates.len().max(1) as u64);
        let mean = rates.iter().sum::<f64>() / count;
        let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        if mean > 0.0 { (squares / count).sqrt() / mean } else { 0.0 }
    }

    /// Median rate, without the first and the last interval.
    pub(super) fn median(&self) -> f64 {
        let mut rates = rates(pieces_inside(self.steps));
        rates.sort_by(f64::total_cmp);
        match rates.len() {
            0 => 0.0,
            count if count % 2 == 1 => rates[count / 2],
            count => f64::midpoint(rates[count / 2 - 1], rates[count / 2]),
        }
    }
}

fn pieces_inside(steps: &[Step]) -> &[Step] {
    if steps.len() > 2 { &steps[1..steps.len() - 1] } else { steps }
}
