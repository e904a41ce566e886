//! Intentional rate limits: of the plan, of a control group, or of a device's service level.

use super::{percent, verdict};
use crate::run_facts::{RunFacts, bytes_of_sectors, float};
use measure::Nanos;
use model::{JobResult, LimitedBy, Limiter};

/// A limit counts as reached from this fraction of it.
const REACHED: f64 = 0.95;
/// Relative spread of the rates per interval below which they are a plateau.
const FLAT: f64 = 0.005;
/// Relative distance from a round number within which a plateau counts as intentional.
const ROUND: f64 = 0.003;
/// Minimum number of intervals for a plateau.
const INTERVALS_MIN: usize = 8;

/// Rate limit or think time of the plan.
pub(crate) fn of_the_plan(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let pauses = seen.jobs().filter_map(|job| Some(job.workload.as_ref()?.pace.think));
    if let Some(pause) = pauses.max().filter(|pause| !pause.is_zero()) {
        let sentence = format!("the jobs' own pauses, thinktime={}", time_text(pause));
        return Some(verdict(Limiter::Cap, 1.0, sentence, &[]));
    }
    let (mut asked, mut reached) = (0.0, 0.0);
    for job in seen.jobs() {
        asked += f64::from(job.workers.max(1)) * own_iops(job)?;
        reached += job.directions.iter().filter_map(|(_, direction)| direction.iops()).sum::<f64>();
    }
    let share = reached / asked;
    (asked > 0.0 && share >= REACHED).then(|| {
        let sentence =
            format!("the plan's own rate_iops: {reached:.1} of {asked:.0} I/Os per second, {}", percent(share));
        verdict(Limiter::Cap, share, sentence, &[("asked_iops", asked), ("reached_iops", reached)])
    })
}

/// IOPS limit of a worker of the job, over the directions that it uses.
fn own_iops(job: &JobResult) -> Option<f64> {
    let limits = &job.workload.as_ref()?.pace.iops;
    job.directions.iter().filter(|(_, found)| found.ios > 0).map(|(direction, _)| limits[direction].map(float)).sum()
}

/// Formats a time as an option value, in the largest unit in which it is a whole number: `1ms`.
fn time_text(time: Nanos) -> String {
    let units = [(Nanos::SECOND, "s"), (Nanos::MILLISECOND, "ms"), (Nanos::MICROSECOND, "us")];
    let unit = units.into_iter().find(|(unit, _)| time.get().is_multiple_of(unit.get()));
    unit.map_or_else(|| format!("{}ns", time.get()), |(unit, name)| format!("{}{name}", time.get() / unit.get()))
}

/// Limit of the control group for a device under the targets.
pub(crate) fn of_the_group(seen: &RunFacts<'_>) -> Option<LimitedBy> {
    let limits = seen.monitored?.group_limits.as_ref()?;
    let reached = limits.io.iter().flat_map(|cap| {
        let gain = seen.devices().find(|(facts, _)| facts.name == cap.device).map(|(_, gain)| *gain);
        let limit = |what, limit: Option<u64>, count: fn(&model::DeviceGain) -> u64| {
            let (limit, seen_rate) = (float(limit?), seen.per_second(count(&gain?)));
            (limit > 0.0).then(|| (seen_rate / limit, seen_rate, limit, what, cap.device.as_str()))
        };
        [
            limit("reads/s", cap.read_iops, |gain| gain.reads.ios),
            limit("writes/s", cap.write_iops, |gain| gain.writes.ios),
            limit("bytes read/s", cap.read_bytes_per_second, |gain| bytes_of_sectors(gain.reads.sectors)),
            limit("bytes written/s", cap.write_bytes_per_second, |gain| bytes_of_sectors(gain.writes.sectors)),
        ]
    });
    let (share, rate, limit, what, device) = reached.flatten().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (share >= REACHED).then(|| {
        let sentence =
            format!("the control group's limit of {limit:.0} {what} on {device}: {rate:.1}, {} of it", percent(share));
        verdict(Limiter::Cap, share, sentence, &[("limit_per_second", limit), ("seen_per_second", rate)])
    })
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
                "a plateau of {mean:.0} {unit} ± {:.1} %, a number that looks chosen: a limiter, not a device",
                100.0 * spread
            );
            let evidence =
                [("plateau_per_second", mean), ("round_per_second", round), ("spread_percent", 100.0 * spread)];
            verdict(Limiter::Cap, mean / round, sentence, &evidence)
        })
    })
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
