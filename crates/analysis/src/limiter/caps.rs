//! Rates that somebody set: the plan itself, a control group, a device's service level.

use super::seen::{Seen, bytes, float};
use super::{percent, verdict};
use measure::Direction;
use model::{JobResult, LimitedBy, Limiter};

/// From this share of a limit on it is what is measured.
const REACHED: f64 = 0.95;
/// Rates of an interval that spread less than this are a plateau.
const FLAT: f64 = 0.005;
/// A plateau this close to a round number is one that somebody chose.
const ROUND: f64 = 0.003;
/// Fewer intervals show no plateau.
const INTERVALS_MIN: usize = 8;

/// The plan's own rate or pauses.
pub(crate) fn of_the_plan(seen: &Seen<'_>) -> Option<LimitedBy> {
    let paused = seen.jobs().find_map(|job| seen.option(job, "thinktime"));
    if let Some(value) = paused.filter(|value| !value.starts_with('0')) {
        let sentence = format!("the jobs' own pauses, thinktime={value}");
        return Some(verdict(Limiter::Cap, 1.0, sentence, &[]));
    }
    let (mut asked, mut reached) = (0.0, 0.0);
    for job in seen.jobs() {
        asked += f64::from(job.workers.max(1)) * own_iops(seen, job)?;
        reached += job.directions.iter().filter_map(|(_, direction)| direction.iops()).sum::<f64>();
    }
    let share = reached / asked;
    (asked > 0.0 && share >= REACHED).then(|| {
        let sentence =
            format!("the plan's own rate_iops: {reached:.1} of {asked:.0} I/Os per second, {}", percent(share));
        verdict(Limiter::Cap, share, sentence, &[("asked_iops", asked), ("reached_iops", reached)])
    })
}

/// I/Os per second that a worker of the job is held to, over the directions that it uses.
fn own_iops(seen: &Seen<'_>, job: &JobResult) -> Option<f64> {
    let words: Vec<&str> = seen.option(job, "rate_iops")?.split(',').map(str::trim).collect();
    let limit = |direction: Direction| {
        let word = words.get(direction as usize).filter(|word| !word.is_empty()).or(words.first())?;
        word.parse::<f64>().ok()
    };
    job.directions.iter().filter(|(_, found)| found.ios > 0).map(|(direction, _)| limit(direction)).sum()
}

/// A limit of the control group on a device under the targets.
pub(crate) fn of_the_group(seen: &Seen<'_>) -> Option<LimitedBy> {
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
            limit("bytes read/s", cap.read_bytes_per_second, |gain| bytes(gain.reads.sectors)),
            limit("bytes written/s", cap.write_bytes_per_second, |gain| bytes(gain.writes.sectors)),
        ]
    });
    let (share, rate, limit, what, device) = reached.flatten().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (share >= REACHED).then(|| {
        let sentence =
            format!("the control group's limit of {limit:.0} {what} on {device}: {rate:.1}, {} of it", percent(share));
        verdict(Limiter::Cap, share, sentence, &[("limit_per_second", limit), ("seen_per_second", rate)])
    })
}

/// A rate that stays on a round number: a service level of the device, or a limit that cannot be read from here.
pub(crate) fn plateau(seen: &Seen<'_>) -> Option<LimitedBy> {
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
                "a plateau of {mean:.0} {unit} ± {:.1} %, a number that somebody chose: a limiter, not a device",
                100.0 * spread
            );
            let evidence =
                [("plateau_per_second", mean), ("round_per_second", round), ("spread_percent", 100.0 * spread)];
            verdict(Limiter::Cap, mean / round, sentence, &evidence)
        })
    })
}

/// The mean, and the standard deviation as a share of it.
fn mean_and_spread(rates: &[f64]) -> (f64, f64) {
    let count = float(rates.len().max(1) as u64);
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / count;
    (mean, if mean > 0.0 { variance.sqrt() / mean } else { f64::INFINITY })
}

/// The nearest number with one digit and zeros, or with two of which the second is a five.
fn round_number(value: f64) -> f64 {
    let step = 10f64.powf(value.max(1.0).log10().floor()) / 2.0;
    (value / step).round().max(1.0) * step
}
