//! Identities: equations that hold for every valid result, with both sides as numbers.
//!
//! Owns the list of identities, their tolerances and the verdicts. Leaves display to `cli`.

mod device_side;
mod job_side;
mod sides;

pub use sides::{Side, sides};

use measure::Direction;
use model::{JobResult, RunResult};

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
    /// An identity whose sides are sums of milliseconds ÷ `elapsed_ms` is not broken by a difference that counters of whole milliseconds
    /// have, however large a part of a short run it is.
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
}
