//! What a survey will cost before it costs anything: time, bytes and wear.

use crate::test::{Pace, Test};
use measure::Nanos;

/// The arithmetic of a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Tests that are run.
    pub tests: usize,
    /// Time of measuring, all tests together.
    pub measured: Nanos,
    /// Time of warming up, all tests together; more with `steady`.
    pub warm_up: Nanos,
    /// Bytes that are written before the first test.
    pub prepared_bytes: u64,
    /// Time in which writes go as fast as the target takes them.
    pub writing: Nanos,
}

impl Outline {
    /// The outline of these tests at this pace, after so many bytes of preparation.
    pub fn of(tests: &[Test], pace: Pace, prepared_bytes: u64) -> Self {
        let all = |count: usize, each: Nanos| Nanos(each.get().saturating_mul(count as u64));
        let percent = tests.iter().map(Test::writes_percent).fold(0, u64::saturating_add);
        let writing =
            Nanos((u128::from(pace.total().get()) * u128::from(percent) / 100).try_into().unwrap_or(u64::MAX));
        Outline {
            tests: tests.len(),
            measured: all(tests.len(), pace.time),
            warm_up: all(tests.len(), pace.ramp),
            prepared_bytes,
            writing,
        }
    }

    /// Bytes written in all, if the target takes so many bytes per second.
    #[expect(clippy::cast_precision_loss, reason = "a rough figure")]
    pub fn written_at(&self, bytes_per_second: f64) -> f64 {
        self.prepared_bytes as f64 + self.writing.as_secs_f64() * bytes_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    #[test]
    fn time_and_bytes_add_up() {
        let test = |kind| Test { name: None, kind, block: 8192, users: 1, set: None, extras: Vec::new(), round: 1 };
        let tests = [test(Kind::RandomRead), test(Kind::LogWrite), test(Kind::LogWrite), test(Kind::Mixed)];
        let pace = Pace { ramp: Nanos::SECOND, time: Nanos::from_secs(9) };
        let outline = Outline::of(&tests, pace, 1000);
        assert_eq!((outline.measured, outline.warm_up), (Nanos::from_secs(36), Nanos::from_secs(4)));
        assert_eq!(outline.writing, Nanos::from_secs(22), "two logs and a fifth of a mix");
        assert!((outline.written_at(100.0) - 3200.0).abs() < 1e-9);
        let extras = vec![("rwmixread".to_owned(), "30".to_owned())];
        let own = Test { extras, ..test(Kind::SequentialMixed) };
        assert_eq!(Outline::of(&[own, test(Kind::RandomWrite)], pace, 0).writing, Nanos::from_secs(17), "70 % and all");
        assert_eq!(Outline::of(&[], pace, 0), Outline::default());
    }
}
