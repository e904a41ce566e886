//! Warm-up until the rate is steady.

use measure::text;
use model::{Grade, Note};

/// Relative difference below which two successive samples count as steady.
const TOLERANCE: f64 = 0.05;

/// Decides from successive samples of a rate if it is steady.
#[derive(Debug, Default)]
pub struct Steadiness {
    before: Option<f64>,
    /// Relative difference of the last two samples.
    apart: f64,
}

impl Steadiness {
    /// Maximum number of samples before a test.
    pub const SAMPLES: u32 = 20;

    /// Adds a sample. Returns true if it agrees with the one before.
    pub fn add(&mut self, rate: f64) -> bool {
        let Some(before) = self.before.replace(rate) else { return false };
        self.apart = (rate - before).abs() / rate.max(before).max(f64::MIN_POSITIVE);
        self.apart < TOLERANCE
    }

    /// Returns the remark on a rate that was not steady after [`Steadiness::SAMPLES`] samples.
    pub fn note(&self) -> Note {
        let samples = Steadiness::SAMPLES;
        Note {
            check: "steady".to_owned(),
            grade: Grade::ValidWithLimits,
            sentence: format!(
                "the rate was not steady: the last two of {samples} samples before the test differed by {}",
                text::percent(self.apart)
            ),
            evidence: vec![("looks".to_owned(), f64::from(samples)), ("apart_percent".to_owned(), 100.0 * self.apart)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_samples_that_agree_are_steady() {
        let mut steadiness = Steadiness::default();
        let steady: Vec<bool> = [100.0, 200.0, 180.0, 184.0].into_iter().map(|rate| steadiness.add(rate)).collect();
        assert_eq!(steady, [false, false, false, true]);
        assert!(!Steadiness::default().add(0.0));
    }
}
