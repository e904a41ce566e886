//! Identities: equations that hold for every valid result, with both sides as numbers.
//!
//! Owns the list of identities, tolerances and verdicts, and the jobs' numbers next to the device's.

mod device_side;
mod job_side;

use crate::run_facts::{float, latency_sum_ns, watched_devices, window};
use measure::Direction;
use model::{DeviceUsage, JobResult, RunResult};

/// Error of the arithmetic with milliseconds, far below one.
const ROUNDING_MS: f64 = 0.001;

/// Outcome of an identity.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Both sides agree within the tolerance.
    Holds,
    /// The sides differ, with the meaning of that.
    Broken(String),
    /// A side is unknown, or the identity does not apply, with the reason.
    CannotTell(String),
}

/// One identity for a job and direction, or for a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Its subject: `job a, read` or `device sda`.
    pub subject: String,
    /// The equation in words.
    pub equation: &'static str,
    /// The left side; `None` if unknown.
    pub left: Option<f64>,
    /// The right side; `None` if unknown.
    pub right: Option<f64>,
    /// The right side with its numbers filled in.
    pub numbers: String,
    /// Unit of both sides.
    pub unit: &'static str,
    /// Allowed difference, as a fraction of the larger side.
    pub tolerance: f64,
    /// Reason for this tolerance.
    pub because: &'static str,
    /// Outcome.
    pub verdict: Verdict,
}

impl Identity {
    /// An identity whose sides are sums of milliseconds ÷ `elapsed_ms` is not broken by a difference that counters of
    /// whole milliseconds have, however large a part of a short run it is.
    fn within_grain(mut self, elapsed_ms: f64, grain_ms: f64) -> Identity {
        let apart_ms = self.left.zip(self.right).map(|(left, right)| (left - right).abs() * elapsed_ms);
        if let (Verdict::Broken(_), Some(apart_ms)) = (&self.verdict, apart_ms)
            && apart_ms <= grain_ms + ROUNDING_MS
        {
            let longer_ms = self.left.unwrap_or(0.0).max(self.right.unwrap_or(0.0)) * elapsed_ms;
            self.verdict = Verdict::CannotTell(format!(
                "the kernel counts whole milliseconds, and {longer_ms:.0} of them are too few: the sides are {apart_ms:.0} ms apart, \
                 the counters alone allow {grain_ms:.0} ms"
            ));
        }
        self
    }

    /// Difference of the sides as a fraction of the larger one; `None` if a side is unknown.
    pub fn apart(&self) -> Option<f64> {
        let (left, right) = (self.left?, self.right?);
        let larger = left.abs().max(right.abs());
        Some(if larger > 0.0 { (left - right).abs() / larger } else { 0.0 })
    }
}

/// All identities of a result, those of the jobs first.
pub fn identities(result: &RunResult) -> Vec<Identity> {
    let mut found = job_side::identities(result);
    found.extend(device_side::identities(result));
    found
}

/// The broken identities between printed rates of a direction and its counts. Empty for results measured by plumb.
pub(crate) fn contradictions(job: &JobResult) -> Vec<Identity> {
    let stated = Direction::ALL.into_iter().filter(|&direction| job.directions[direction].stated.is_some());
    let all = stated.flat_map(|direction| job_side::of_direction(job, direction));
    all.filter(|identity| matches!(identity.verdict, Verdict::Broken(_))).collect()
}

/// An equation without its verdict.
struct Equation {
    equation: &'static str,
    unit: &'static str,
    left: f64,
    right: f64,
    numbers: String,
    tolerance: (f64, &'static str),
    /// Likely cause if the sides differ.
    broken: &'static str,
}

impl Equation {
    fn of(self, subject: &str) -> Identity {
        let mut identity = Identity {
            subject: subject.to_owned(),
            equation: self.equation,
            left: Some(self.left),
            right: Some(self.right),
            numbers: self.numbers,
            unit: self.unit,
            tolerance: self.tolerance.0,
            because: self.tolerance.1,
            verdict: Verdict::Holds,
        };
        if identity.apart().is_none_or(|apart| apart.is_nan() || apart > self.tolerance.0) {
            identity.verdict = Verdict::Broken(self.broken.to_owned());
        }
        identity
    }
}

/// An identity that cannot be checked.
fn unknown(subject: &str, equation: &'static str, why: &str) -> Identity {
    Identity {
        subject: subject.to_owned(),
        equation,
        left: None,
        right: None,
        numbers: String::new(),
        unit: "",
        tolerance: 0.0,
        because: "",
        verdict: Verdict::CannotTell(why.to_owned()),
    }
}

/// One quantity as measured on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Name of the quantity, with its unit.
    pub quantity: &'static str,
    /// iostat's column name for it.
    pub column: &'static str,
    /// Value measured by the jobs.
    pub jobs: Option<f64>,
    /// Value counted by the device.
    pub device: Option<f64>,
}

/// The device's name and the quantities; `None` unless all files of the jobs are on one sampled device.
pub fn sides(result: &RunResult) -> Option<(String, Vec<Side>)> {
    let watched = watched_devices(result);
    let [device] = watched.as_slice() else { return None };
    let elapsed_ms = float(device.elapsed_ms?);
    let seconds = elapsed_ms / 1e3;
    let asked = result.jobs.iter().map(window).max()?.as_secs_f64();
    if asked <= 0.0 {
        return None;
    }
    let mut found: Vec<Side> = Vec::new();
    for (at, direction) in [Direction::Read, Direction::Write].into_iter().enumerate() {
        found.extend(of_direction(result, device, at, direction, asked, seconds));
    }
    if found.is_empty() {
        return None;
    }
    let sums: Option<Vec<f64>> = result.jobs.iter().map(latency_sum_ns).collect();
    found.push(Side {
        quantity: "in flight",
        column: "aqu-sz",
        jobs: sums.map(|sums| sums.iter().sum::<f64>() / 1e9 / asked),
        device: Some(float(device.in_queue_ms) / elapsed_ms),
    });
    found.push(Side { quantity: "% busy", column: "%util", jobs: None, device: device.utilisation_percent() });
    Some((device.name.clone(), found))
}

const COLUMNS: [[(&str, &str); 4]; 2] = [
    [("reads/s", "r/s"), ("read KiB/s", "rkB/s"), ("KiB per read", "rareq-sz"), ("ms per read", "r_await")],
    [("writes/s", "w/s"), ("written KiB/s", "wkB/s"), ("KiB per write", "wareq-sz"), ("ms per write", "w_await")],
];

fn of_direction(
    result: &RunResult,
    device: &DeviceUsage,
    at: usize,
    direction: Direction,
    asked: f64,
    seconds: f64,
) -> Vec<Side> {
    let rows = || result.jobs.iter().map(|job| &job.directions[direction]);
    let ios = float(rows().map(|row| row.ios).fold(0, u64::saturating_add));
    let bytes = float(rows().map(|row| row.bytes).fold(0, u64::saturating_add));
    let (requests, sectors) = (float(device.ios[at]), device.sectors.map(|both| float(both[at])));
    if ios == 0.0 && requests == 0.0 {
        return Vec::new();
    }
    let latencies = rows().filter(|row| row.ios > 0).map(|row| row.latency());
    let latency: Option<f64> = latencies
        .map(|latency| latency.and_then(|latency| Some(latency.moments.mean()? * float(latency.moments.count()))))
        .sum();
    let per = |sum: f64, count: f64| (count > 0.0).then(|| sum / count);
    let values = [
        (Some(ios / asked), Some(requests / seconds)),
        (Some(bytes / 1024.0 / asked), sectors.map(|sectors| sectors / 2.0 / seconds)),
        (per(bytes / 1024.0, ios), sectors.and_then(|sectors| per(sectors / 2.0, requests))),
        (latency.and_then(|sum| per(sum / 1e6, ios)), per(float(device.ticks_ms[at]), requests)),
    ];
    let named = COLUMNS[at].into_iter().zip(values);
    named.map(|((quantity, column), (jobs, device))| Side { quantity, column, jobs, device }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    fn whole() -> RunResult {
        let mut result = watched_random_read();
        result.jobs[0].echo.block_sizes[Direction::Read] = (8192, 8192);
        result.jobs[0].echo.direct = true;
        let device = &mut result.devices[0];
        (device.ios, device.ticks_ms, device.in_queue_ms) = ([20_000, 0], [79_900, 0], 79_900);
        (device.busy_ms, device.elapsed_ms) = (9_900, Some(10_000));
        result
    }

    #[test]
    fn all_identities_of_a_true_result_hold() {
        let found = identities(&whole());
        assert!(found.len() >= 8, "{found:#?}");
        for identity in &found {
            assert_eq!(identity.verdict, Verdict::Holds, "{identity:#?}");
        }
    }

    #[test]
    fn each_identity_breaks_with_its_number() {
        let broken = |change: &dyn Fn(&mut RunResult)| -> Vec<&'static str> {
            let mut result = whole();
            change(&mut result);
            let found = identities(&result);
            let broken = found.iter().filter(|identity| matches!(identity.verdict, Verdict::Broken(_)));
            broken.map(|identity| identity.equation).collect()
        };
        assert!(broken(&|result| result.jobs[0].directions.read.bytes /= 2).contains(&"io = iops × bs × runtime"));
        assert!(broken(&|result| result.jobs[0].workers = 16).contains(&"users = iops × latency"));
        assert!(
            broken(&|result| result.devices[0].sectors = Some([106_666, 0]))
                .contains(&"bytes at the device = bytes asked")
        );
        assert!(broken(&|result| result.devices[0].in_queue_ms /= 2).contains(&"queue = requests/s × await"));
    }

    /// A short run: 20 ms of I/O, of which each of the three counters has lost a part of a millisecond.
    #[test]
    fn counters_of_whole_milliseconds_break_nothing_in_a_short_run() {
        let verdict = |in_queue_ms: u64| {
            let mut result = whole();
            (result.devices[0].ticks_ms, result.devices[0].in_queue_ms) = ([20, 0], in_queue_ms);
            let all = identities(&result);
            let queue = all.into_iter().find(|identity| identity.equation == "queue = requests/s × await").unwrap();
            queue.verdict
        };
        assert_eq!(verdict(20), Verdict::Holds);
        for near in [17, 18, 22, 23] {
            let Verdict::CannotTell(why) = verdict(near) else { panic!("{near}: {:?}", verdict(near)) };
            assert!(why.contains("the counters alone allow 3 ms"), "{why}");
        }
        for far in [16, 24, 40] {
            assert!(matches!(verdict(far), Verdict::Broken(_)), "{far}: {:?}", verdict(far));
        }
    }

    #[test]
    fn what_is_not_known_is_not_reported() {
        let mut result = whole();
        result.devices.clear();
        result.jobs[0].echo.block_sizes = Default::default();
        result.jobs[0].directions.read.total = None;
        let found = identities(&result);
        let unknown = found.iter().filter(|identity| matches!(identity.verdict, Verdict::CannotTell(_))).count();
        assert!(unknown >= 3, "{found:#?}");
    }

    #[test]
    fn both_sides_of_a_direct_run_say_the_same() {
        let mut result = watched_random_read();
        let monitored = result.monitored.take();
        assert_eq!(sides(&result), None, "how long the device was watched is not known");
        result.monitored = monitored;
        let (_, found) = sides(&result).unwrap();
        assert_eq!((found[0].device, found[3].device), (Some(2_000.0), Some(4.0)), "as the monitor saw it");
        let device = &mut result.devices[0];
        (device.ios, device.ticks_ms, device.in_queue_ms) = ([20_000, 0], [80_000, 0], 80_000);
        (device.busy_ms, device.elapsed_ms) = (9_900, Some(10_000));
        let (name, found) = sides(&result).unwrap();
        assert_eq!((name.as_str(), found.len()), ("sda", 6));
        for side in &found[..5] {
            let (jobs, device) = (side.jobs.unwrap(), side.device.unwrap());
            assert!((jobs / device - 1.0).abs() < 0.001, "{side:?}");
        }
        assert_eq!((found[0].jobs, found[3].device, found[5].device), (Some(2_000.0), Some(4.0), Some(99.0)));
    }

    #[test]
    fn several_devices_are_not_added_up() {
        let mut result = watched_random_read();
        result.devices.push(result.devices[0].clone());
        assert_eq!(sides(&result), None);
    }
}
