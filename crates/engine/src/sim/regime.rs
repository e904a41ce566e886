//! Regimes of the simulated device: credits that are spent, a write cache that is full, stalls, and a change at a
//! moment. All in virtual time and exact, so that a rule about phases can be tried where the truth is known.

use super::noise::pair_of;
use crate::contract::{Io, Operation};
use measure::Nanos;
use plan::EngineOptions;

/// State of all regimes; each is `None` if its option was not given.
#[derive(Clone, Debug)]
pub(super) struct Regime {
    bucket: Option<Bucket>,
    cliff: Option<Cliff>,
    /// Period, and length of the stall at its end.
    stall: Option<(Nanos, Nanos)>,
    /// Moment, and factor on the service time from then on.
    change: Option<(Nanos, f64)>,
}

/// Credits: an I/O takes one, and waits for one if there are none.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    most: f64,
    /// Credits per second.
    rate: f64,
    /// Credits at the moment `at`.
    left: f64,
    at: Nanos,
}

/// A write cache.
#[derive(Clone, Copy, Debug)]
struct Cliff {
    /// Bytes that still fit.
    left: u64,
    /// Factor on the service time of writes once it is full.
    factor: f64,
}

impl Regime {
    /// Reads the options. Errors: the option with its values, and a form that works.
    pub(super) fn new(options: &EngineOptions) -> Result<Self, String> {
        let of = |name: &str, works: &str| pair_of(options, name, works);
        let bucket = of("sim_bucket", "54000:300")?;
        let cliff = of("sim_cliff", "1073741824:4")?;
        let stall = of("sim_stall", "10:2")?;
        if let Some((every, length)) = stall.filter(|(every, length)| length >= every) {
            return Err(format!("sim_stall={every}:{length}: a stall is shorter than its period, like sim_stall=10:2"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; the cast saturates")]
        let bytes = |bytes: f64| bytes as u64;
        Ok(Regime {
            bucket: bucket.map(|(most, rate)| Bucket { most, rate, left: most, at: Nanos::ZERO }),
            cliff: cliff.map(|(size, factor)| Cliff { left: bytes(size), factor }),
            stall: stall.map(|(every, length)| (seconds(every).max(Nanos(1)), seconds(length))),
            change: of("sim_change", "60:1.5")?.map(|(at, factor)| (seconds(at), factor)),
        })
    }

    /// The factor on the service time of an I/O that is flushed at `now`.
    #[inline]
    pub(super) fn factor(&mut self, io: &Io, now: Nanos) -> f64 {
        let mut factor = match self.change {
            Some((at, factor)) if now >= at => factor,
            _ => 1.0,
        };
        if let Some(cliff) = self.cliff.as_mut().filter(|_| io.operation == Operation::Write) {
            if cliff.left == 0 {
                factor *= cliff.factor;
            }
            cliff.left = cliff.left.saturating_sub(u64::from(io.length));
        }
        factor
    }

    /// When an I/O begins that could at `start`.
    #[inline]
    pub(super) fn begin(&mut self, start: Nanos) -> Nanos {
        let mut begin = start;
        if let Some(bucket) = &mut self.bucket {
            begin = bucket.take(begin);
        }
        if let Some((every, length)) = self.stall {
            let within = begin.get() % every.get();
            if within >= every.saturating_sub(length).get() {
                begin = begin.saturating_add(Nanos(every.get() - within));
            }
        }
        begin
    }
}

impl Bucket {
    /// The moment from `now` on at which there is a credit, which is then taken.
    fn take(&mut self, now: Nanos) -> Nanos {
        let now = now.max(self.at);
        let gained = now.saturating_sub(self.at).as_secs_f64() * self.rate;
        self.left = (self.left + gained).min(self.most);
        let missing = (1.0 - self.left).max(0.0);
        self.at = now.saturating_add(seconds(missing / self.rate));
        self.left = (self.left - 1.0).max(0.0);
        self.at
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0; the cast saturates")]
fn seconds(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::option::Value;

    fn regime(name: &'static str, values: [f64; 2]) -> Regime {
        let mut options = EngineOptions::default();
        options.set(name, Value::Floats(values.to_vec()));
        Regime::new(&options).unwrap()
    }

    #[test]
    fn credits_are_spent_and_return_at_their_rate() {
        let mut regime = regime("sim_bucket", [3.0, 10.0]);
        let begins: Vec<u64> = (0..6).map(|_| regime.begin(Nanos::SECOND).get() / 1_000_000).collect();
        assert_eq!(begins, [1000, 1000, 1000, 1100, 1200, 1300]);
        // After a second of rest all three are there again.
        let later: Vec<u64> = (0..4).map(|_| regime.begin(Nanos::from_secs(3)).get() / 1_000_000).collect();
        assert_eq!(later, [3000, 3000, 3000, 3100]);
    }

    #[test]
    fn a_full_cache_slows_writes_and_a_change_all() {
        let io = |operation| Io { slot: 0, operation, target: 0, offset: 0, length: 4096, buffer_offset: 0 };
        let mut cliff = regime("sim_cliff", [8192.0, 4.0]);
        let factors: Vec<f64> = (0..3).map(|_| cliff.factor(&io(Operation::Write), Nanos::ZERO)).collect();
        assert_eq!(factors, [1.0, 1.0, 4.0]);
        assert_eq!(cliff.factor(&io(Operation::Read), Nanos::ZERO), 1.0);
        let mut change = regime("sim_change", [2.0, 1.5]);
        assert_eq!(change.factor(&io(Operation::Read), Nanos::from_millis(1_999)), 1.0);
        assert_eq!(change.factor(&io(Operation::Read), Nanos::from_secs(2)), 1.5);
    }

    #[test]
    fn nothing_begins_in_a_stall() {
        let mut stall = regime("sim_stall", [10.0, 2.0]);
        let begin = |stall: &mut Regime, ms: u64| stall.begin(Nanos::from_millis(ms)).get() / 1_000_000;
        assert_eq!(
            [0, 7_999, 8_000, 9_999, 10_000].map(|ms| begin(&mut stall, ms)),
            [0, 7_999, 10_000, 10_000, 10_000]
        );
    }

    #[test]
    fn wrong_values_are_refused_with_a_form_that_works() {
        for (name, floats) in [
            ("sim_bucket", vec![54_000.0]),
            ("sim_bucket", vec![0.0, 300.0]),
            ("sim_cliff", vec![1e9, -1.0]),
            ("sim_stall", vec![2.0, 2.0]),
            ("sim_change", vec![f64::NAN, 2.0]),
        ] {
            let mut options = EngineOptions::default();
            options.set(name, Value::Floats(floats.clone()));
            let message = Regime::new(&options).unwrap_err();
            assert!(message.starts_with(name) && message.contains("like "), "{floats:?}: {message}");
        }
    }
}
