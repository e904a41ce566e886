//! Cost estimate of a survey before it runs: time, bytes and writes.

use crate::test::{SurveyTest, TestTime};
use measure::Nanos;

/// Result of a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Number of tests.
    pub tests: usize,
    /// Total measured time of all tests.
    pub measured: Nanos,
    /// Total warm-up time of all tests; a lower bound with `steady`.
    pub warm_up: Nanos,
    /// Bytes written before the first test.
    pub prepared_bytes: u64,
    /// True if more is written before it, until the rate is settled.
    pub settles: bool,
    /// Time during which the target is written to at full speed: a mixed test counts with its share of writes.
    pub writing: Nanos,
}

impl Estimate {
    /// Estimates these tests with this time per test, after writing `prepared_bytes`.
    pub fn of(tests: &[SurveyTest], time: TestTime, prepared_bytes: u64) -> Self {
        let all = |count: usize, each: Nanos| Nanos(each.get().saturating_mul(count as u64));
        let percent = tests.iter().map(SurveyTest::writes_percent).fold(0, u64::saturating_add);
        let writing =
            Nanos((u128::from(time.total().get()) * u128::from(percent) / 100).try_into().unwrap_or(u64::MAX));
        Estimate {
            tests: tests.len(),
            measured: all(tests.len(), time.time),
            warm_up: all(tests.len(), time.ramp),
            prepared_bytes,
            settles: false,
            writing,
        }
    }

    /// Total bytes written if the target accepts this number of bytes per second.
    #[expect(clippy::cast_precision_loss, reason = "a rough figure")]
    pub fn written_at(&self, bytes_per_second: f64) -> f64 {
        self.prepared_bytes as f64 + self.writing.as_secs_f64() * bytes_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::TestKind;

    #[test]
    fn time_and_bytes_add_up() {
        let test = |kind| SurveyTest::at(kind, 8192, 1);
        let tests =
            [test(TestKind::RandomRead), test(TestKind::LogWrite), test(TestKind::LogWrite), test(TestKind::Mixed)];
        let time = TestTime { ramp: Nanos::SECOND, time: Nanos::from_secs(9) };
        let outline = Estimate::of(&tests, time, 1000);
        assert_eq!((outline.measured, outline.warm_up), (Nanos::from_secs(36), Nanos::from_secs(4)));
        assert_eq!(outline.writing, Nanos::from_secs(22), "two logs and a fifth of a mix");
        assert!((outline.written_at(100.0) - 3200.0).abs() < 1e-9);
        let extras = vec![("rwmixread".to_owned(), "30".to_owned())];
        let own = SurveyTest { extras, ..test(TestKind::SequentialMixed) };
        assert_eq!(
            Estimate::of(&[own, test(TestKind::RandomWrite)], time, 0).writing,
            Nanos::from_secs(17),
            "70 % and all"
        );
        assert_eq!(Estimate::of(&[], time, 0), Estimate::default());
    }
}
