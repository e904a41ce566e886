//! Intentional rate limits: of the plan, of a control group, or of a device's service level.

use super::verdict;
use crate::run_facts::{RunFacts, bytes_of_sectors, float};
use measure::{Direction, Moments, Nanos, text};
use model::{DirectionResult, IoCap, JobResult, LimitedBy, Limiter};
use plan::Pace;

/// A limit counts as reached from this fraction of it.
const REACHED: f64 = 0.95;
/// A limit may hold I/Os back from this fraction of it, if they are seen to wait above an idle device.
const HALF_REACHED: f64 = 0.5;
/// A limit that is exceeded by this factor is not one that holds: it is for other processes.
const EXCEEDED: f64 = 1.2;
/// Relative spread of the rates per interval below which they are a plateau.
const FLAT: f64 = 0.005;
/// Relative distance from a round number within which a plateau counts as intentional.
const ROUND: f64 = 0.003;
/// Minimum number of intervals for a plateau.
const INTERVALS_MIN: usize = 8;
/// Minimum mean number of I/Os in such an interval.
const COUNT_MIN: f64 = 150.0;
/// I/Os are held back above the device if this many times as many are in flight as the device has.
const HELD: f64 = 3.0;
/// A limit may let a burst pass first: a shorter run says nothing about I/Os that are held back.
const HELD_SECONDS: f64 = 2.0;
/// Latencies that vary less than this are of a device that takes the same time for each I/O.
const UNEVEN: f64 = 0.1;
/// A rate is too even from this part of the spread that its latencies would make.
const EVEN: f64 = 0.3;
/// A tester that is on a processor for this fraction of the time makes the rate even itself.
const TESTER_BUSY: f64 = 0.60;

/// Rate limit or think time of the plan.
pub(crate) fn of_the_plan(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let pauses = seen.jobs().filter_map(|job| Some(job.workload.as_ref()?.pace.think));
    if let Some(pause) = pauses.max().filter(|pause| !pause.is_zero()) {
        let sentence = format!("the jobs' own pauses, thinktime={}", time_text(pause));
        return Some(verdict(Limiter::Cap, 1.0, sentence, &[]));
    }
    let iops = own_rate(seen, |pace, direction| pace.iops[direction].map(float), DirectionResult::iops);
    if let Some((share, asked, reached)) = iops {
        let sentence = format!(
            "the plan's own rate_iops: {} of {} I/Os per second, {}",
            text::number(reached),
            text::number(asked),
            text::percent(share.min(1.0))
        );
        return Some(verdict(Limiter::Cap, share, sentence, &[("asked_iops", asked), ("reached_iops", reached)]));
    }
    let bytes = own_rate(seen, |pace, direction| pace.rate[direction].map(|rate| float(rate.get())), bytes_per_second);
    bytes.map(|(share, asked, reached)| {
        let (at, of) = (text::rate(reached), text::rate(asked));
        let sentence = format!("the plan's own rate: {at} of {of}, {}", text::percent(share.min(1.0)));
        let evidence = [("asked_bytes_per_second", asked), ("reached_bytes_per_second", reached)];
        verdict(Limiter::Cap, share, sentence, &evidence)
    })
}

/// The rate that the plan allows over all workers and directions with I/O, if the jobs reach it: the part that they
/// reach, the rate that is allowed, and the rate that they had.
fn own_rate(
    seen: &RunFacts<'_>,
    allowed: fn(&Pace, Direction) -> Option<f64>,
    had: fn(&DirectionResult) -> Option<f64>,
) -> Option<(f64, f64, f64)> {
    let (mut asked, mut reached) = (0.0, 0.0);
    for job in seen.jobs() {
        let pace = &job.workload.as_ref()?.pace;
        let used = || job.directions.iter().filter(|(_, found)| found.ios > 0);
        let each: f64 = used().map(|(direction, _)| allowed(pace, direction)).sum::<Option<f64>>()?;
        asked += f64::from(job.workers.max(1)) * each;
        reached += used().filter_map(|(_, found)| had(found)).sum::<f64>();
    }
    let share = reached / asked;
    (asked > 0.0 && share >= REACHED).then_some((share, asked, reached))
}

fn bytes_per_second(found: &DirectionResult) -> Option<f64> {
    (found.runtime > Nanos::ZERO).then(|| float(found.bytes) / found.runtime.as_secs_f64())
}

/// Formats a time as an option value, in the largest unit in which it is a whole number: `1ms`.
fn time_text(time: Nanos) -> String {
    let units = [(Nanos::SECOND, "s"), (Nanos::MILLISECOND, "ms"), (Nanos::MICROSECOND, "us")];
    let unit = units.into_iter().find(|(unit, _)| time.get().is_multiple_of(unit.get()));
    unit.map_or_else(|| format!("{}ns", time.get()), |(unit, name)| format!("{}{name}", time.get() / unit.get()))
}

/// Limit of the control group for a device under the targets.
pub(crate) fn of_the_group(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let used = UsedLimit::most_used(seen)?;
    (used.share >= REACHED).then(|| used.verdict(used.share, "", &[]))
}

/// A limit of the control group that holds I/Os back, though the rate stays below it. The kernel's throttle lets them
/// go by a timer, which a machine that is short of processors serves late, and what was not used in time is lost.
pub(crate) fn held_by_the_group(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let used = UsedLimit::most_used(seen)?;
    let queue = Queue::of(seen)?;
    let (on, waiting) = seen.processor_shares()?;
    (used.share > HALF_REACHED && queue.is_held() && on + waiting < TESTER_BUSY).then(|| {
        let Queue { in_flight, at_device, .. } = queue;
        let held =
            format!("; of {} I/Os in flight, {} were at the device", text::number(in_flight), text::number(at_device));
        let evidence = [("in_flight", in_flight), ("at_device", at_device)];
        used.verdict(1.0 - at_device / in_flight, &held, &evidence)
    })
}

/// A limit of a control group, and how much of it was used.
struct UsedLimit<'a> {
    share: f64,
    rate: f64,
    limit: f64,
    what: &'static str,
    cap: &'a IoCap,
}

impl<'a> UsedLimit<'a> {
    /// The limit of which the largest part was used; not one that was exceeded.
    fn most_used(seen: &RunFacts<'a>) -> Option<Self> {
        let limits = seen.monitored?.group_limits.as_ref()?;
        let used = limits.io.iter().flat_map(|cap| {
            let gain = seen.devices().find(|(facts, _)| facts.name == cap.device).map(|(_, gain)| *gain);
            let used = |what, limit: Option<u64>, count: fn(&model::DeviceGain) -> u64| {
                let (limit, rate) = (float(limit?), seen.per_second(count(&gain?)));
                let share = rate / limit;
                (limit > 0.0 && share < EXCEEDED).then_some(UsedLimit { share, rate, limit, what, cap })
            };
            [
                used("reads/s", cap.read_iops, |gain| gain.reads.ios),
                used("writes/s", cap.write_iops, |gain| gain.writes.ios),
                used("bytes read/s", cap.read_bytes_per_second, |gain| bytes_of_sectors(gain.reads.sectors)),
                used("bytes written/s", cap.write_bytes_per_second, |gain| bytes_of_sectors(gain.writes.sectors)),
            ]
        });
        used.flatten().max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// `the limit of control group /a, 300 reads/s on loop0: 299, 99.7 % of it`, and what else was seen.
    fn verdict(&self, share: f64, rest: &str, evidence: &[(&str, f64)]) -> LimitedBy {
        let limited = match &self.cap.group {
            Some(group) => format!("the limit of control group {group}, {}", text::number(self.limit)),
            None => format!("the control group's limit of {}", text::number(self.limit)),
        };
        let (rate, used) = (text::number(self.rate), text::percent(self.share.min(1.0)));
        let used = format!("{} on {}: {rate}, {used} of it", self.what, self.cap.device);
        let evidence = [&[("limit_per_second", self.limit), ("seen_per_second", self.rate)], evidence].concat();
        verdict(Limiter::Cap, share, format!("{limited} {used}{rest}"), &evidence)
    }
}

/// A rate that stays at a round number: a service level of the device, or a limit that is not visible from here.
pub(crate) fn plateau(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let steady = seen.monitored?.steady();
    if steady.len() < INTERVALS_MIN {
        return None;
    }
    let of = |count: fn(&model::Interval) -> u64| -> Vec<f64> {
        steady.iter().map(|(length, interval)| float(count(interval)) / length.as_secs_f64()).collect()
    };
    let iops = of(|interval| interval.ios.iter().copied().fold(0, u64::saturating_add));
    let mebibytes: Vec<f64> =
        of(|interval| interval.bytes.iter().sum()).iter().map(|rate| rate / f64::from(1 << 20)).collect();
    [(iops, "IOPS"), (mebibytes, "MiB/s")].into_iter().find_map(|(rates, unit)| {
        let (mean, spread) = mean_and_spread(&rates);
        let round = round_number(mean);
        let flat = mean >= 100.0 && spread <= FLAT && (mean / round - 1.0).abs() <= ROUND;
        flat.then(|| {
            let sentence = format!(
                "a plateau of {} {unit} ± {}, a round number: a limiter, not a device",
                text::number(mean),
                text::percent(spread)
            );
            let evidence =
                [("plateau_per_second", mean), ("round_per_second", round), ("spread_percent", 100.0 * spread)];
            verdict(Limiter::Cap, mean / round, sentence, &evidence)
        })
    })
}

/// A rate that varies less than its latencies allow: who waits for a clock, not a device, has an even rate.
pub(crate) fn too_even(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let steady = seen.monitored?.steady();
    if steady.len() < INTERVALS_MIN {
        return None;
    }
    let ios = |interval: &model::Interval| interval.ios.iter().copied().fold(0, u64::saturating_add);
    let mut rates: Vec<f64> =
        steady.iter().map(|(length, interval)| float(ios(interval)) / length.as_secs_f64().max(1e-9)).collect();
    rates.sort_by(f64::total_cmp);
    let at = |percent: usize| rates[percent * (rates.len() - 1) / 100];
    // The quartiles of a normal distribution are 1.349 deviations apart. Intervals with saved-up credits do not count.
    let (middle, spread) = (at(50), (at(75) - at(25)) / 1.349 / at(50).max(1.0));
    let mean_count = float(steady.iter().map(|(_, interval)| ios(interval)).fold(0, u64::saturating_add))
        / float(steady.len() as u64);
    let (on, waiting) = seen.processor_shares()?;
    let expected =
        relative_deviation(seen).filter(|&deviation| deviation >= UNEVEN)?.min(1.0) / mean_count.max(1.0).sqrt();
    let is_even = mean_count >= COUNT_MIN && spread <= EVEN * expected && on + waiting < TESTER_BUSY;
    is_even.then(|| {
        let sentence = format!(
            "a plateau of {} IOPS ± {}, where its latencies would make it ± {}: a limiter, not a device",
            text::number(middle),
            text::percent(spread),
            text::percent(expected)
        );
        let evidence = [
            ("plateau_per_second", middle),
            ("spread_percent", 100.0 * spread),
            ("expected_spread_percent", 100.0 * expected),
        ];
        verdict(Limiter::Cap, 1.0, sentence, &evidence)
    })
}

/// Direct I/Os of a queue that a raw device has not got, though it is idle half of the time: what holds them back is
/// between the tester and the device, where nothing but a limit waits on purpose.
pub(crate) fn held_above_the_device(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let monitored = seen.monitored?;
    let reaps_each = |job: &JobResult| job.workload.as_ref().is_some_and(|workload| workload.reap_min <= 1);
    let is_queue = seen.users() > seen.workers() && seen.jobs().all(|job| job.echo.direct && reaps_each(job));
    let is_raw = monitored.targets.iter().all(|target| target.mount.is_none());
    let length = seen.steady.until.as_secs_f64();
    let (on, waiting) = seen.processor_shares()?;
    if !is_queue || !is_raw || length < HELD_SECONDS || on + waiting >= TESTER_BUSY {
        return None;
    }
    let queue = Queue::of(seen)?;
    let in_submission = seen.jobs().filter_map(submission_ns).sum::<f64>() / 1e9 / seen.seconds;
    let done = seen
        .devices()
        .filter(|(facts, _)| facts.top)
        .map(|(_, gain)| bytes_of_sectors(gain.reads.sectors.saturating_add(gain.writes.sectors)));
    let is_there = done.fold(0, u64::saturating_add) >= seen.steady.bytes.iter().sum::<u64>() / 2;
    let Queue { in_flight, at_device, busy } = queue;
    (is_there && in_flight >= 2.0 && in_submission < 0.5 * in_flight && queue.is_held()).then(|| {
        let share = 1.0 - at_device / in_flight;
        let sentence = format!(
            "{in_flight:.1} I/Os were in flight and {at_device:.1} of them at the device, which was idle {} of the time: a \
             limit above it holds them back",
            text::percent(1.0 - busy)
        );
        let evidence = [("in_flight", in_flight), ("at_device", at_device), ("busy_percent", 100.0 * busy)];
        verdict(Limiter::Cap, share, sentence, &evidence)
    })
}

/// Where the I/Os of a run were on average.
struct Queue {
    /// Those that the jobs waited for.
    in_flight: f64,
    /// Those that the topmost devices had.
    at_device: f64,
    /// Part of the time in which the busiest of these devices had one.
    busy: f64,
}

impl Queue {
    /// `None` if latencies were not measured.
    fn of(seen: &RunFacts<'_>) -> Option<Self> {
        let ios = seen.steady.ios.iter().copied().fold(0, u64::saturating_add);
        let in_flight = (seen.latency_ms()? / 1e3 * seen.per_second(ios)).min(f64::from(seen.users()));
        let mut queue = Queue { in_flight, at_device: 0.0, busy: 0.0 };
        for (_, gain) in seen.devices().filter(|(facts, _)| facts.top) {
            queue.at_device += float(gain.in_queue_ms) / 1e3 / seen.seconds;
            queue.busy = seen.share_of_time(float(gain.busy_ms) / 1e3).max(queue.busy);
        }
        Some(queue)
    }

    /// True if most of the I/Os wait above an idle device.
    fn is_held(&self) -> bool {
        self.in_flight > 0.0 && HELD * self.at_device <= self.in_flight && self.busy < 0.5
    }
}

/// Time that all I/Os of a job spent in submission.
fn submission_ns(job: &JobResult) -> Option<f64> {
    let sum = |found: &DirectionResult| Some(found.submission.as_ref()?.moments.mean()? * float(found.ios));
    job.directions.iter().filter(|(_, found)| found.ios > 0).map(|(_, found)| sum(found)).sum()
}

/// The deviation of the latencies as a part of their mean; `None` if they were not measured.
fn relative_deviation(seen: &RunFacts<'_>) -> Option<f64> {
    let mut all = Moments::new();
    for job in seen.jobs() {
        for (_, found) in job.directions.iter().filter(|(_, found)| found.ios > 0) {
            all.merge(&found.total.as_ref().or(found.completion.as_ref())?.moments);
        }
    }
    Some(all.deviation()? / all.mean().filter(|&mean| mean > 0.0)?)
}

/// Mean, and relative standard deviation.
fn mean_and_spread(rates: &[f64]) -> (f64, f64) {
    let count = float(rates.len().max(1) as u64);
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / count;
    (mean, if mean > 0.0 { variance.sqrt() / mean } else { f64::INFINITY })
}

/// The nearest number with one significant digit, or with two of which the second is a five.
fn round_number(value: f64) -> f64 {
    let step = 10f64.powf(value.max(1.0).log10().floor()) / 2.0;
    (value / step).round().max(1.0) * step
}
