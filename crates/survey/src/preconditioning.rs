//! Writes before the first test that put a disk into the state of a used one.
//!
//! Decides when the writes were enough: after each round, by the phases until then. Leaves writing to others.

use crate::error::SurveyError;
use analysis::regime::phases_so_far;
use measure::text::rounded_size;
use measure::{Nanos, text};
use model::{Grade, Monitored, Note, Phase, PhaseKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes before the first test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Those that the tests need.
    #[default]
    Off,
    /// The whole target twice.
    Twice,
    /// The whole target twice and more, until the rate of the writes is settled.
    Steady,
}

impl Precondition {
    /// Parses `twice` or `steady`.
    ///
    /// # Errors
    /// The text is another word.
    pub fn read(text: &str) -> Result<Precondition, SurveyError> {
        match text.trim() {
            "twice" => Ok(Precondition::Twice),
            "steady" => Ok(Precondition::Steady),
            _ => Err(SurveyError(format!("`{text}` is neither `twice` nor `steady`"))),
        }
    }

    /// Least number of times that the whole target is written; `None` if that is left to the tests.
    pub(crate) fn least_passes(self) -> Option<u64> {
        (self != Precondition::Off).then_some(2)
    }

    /// True if it is the default.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(crate) fn is_unset(&self) -> bool {
        *self == Precondition::Off
    }
}

/// A value of a survey file that is true, false or a text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum SwitchOrText {
    Switch(bool),
    Text(String),
}

/// As in a survey file: `false`, `true`, or `"steady"`.
impl Serialize for Precondition {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Precondition::Off => to.serialize_bool(false),
            Precondition::Twice => to.serialize_bool(true),
            Precondition::Steady => to.serialize_str("steady"),
        }
    }
}

impl<'de> Deserialize<'de> for Precondition {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match SwitchOrText::deserialize(from)? {
            SwitchOrText::Switch(true) => Ok(Precondition::Twice),
            SwitchOrText::Switch(false) => Ok(Precondition::Off),
            SwitchOrText::Text(text) => Precondition::read(&text).map_err(serde::de::Error::custom),
        }
    }
}

/// Rounds of writes until the rate is settled.
#[derive(Clone, Debug)]
pub struct Rounds {
    target_bytes: u64,
    /// Bytes that were written before the first round.
    before: u64,
    budget: Option<Nanos>,
    /// Number of rounds that have ended.
    count: u32,
    next: Nanos,
    /// When twice the target was written.
    enough_at: Option<Nanos>,
    /// The answer after the last round.
    latest: Option<PreconditionResult>,
    is_over: bool,
}

impl Rounds {
    /// Length of a round.
    pub const LENGTH: Nanos = Nanos::from_secs(60);
    /// Fewest rounds: a slow decay looks flat in a short window. As many as SNIA's PTS looks at.
    const FEWEST: u32 = 5;
    /// Most rounds after twice the target was written, without a budget: as many as SNIA's PTS takes at most.
    const MORE: u64 = 25;

    /// Rounds of at most `budget` on a target of `target_bytes`, of which `before` bytes were just written.
    pub fn new(target_bytes: u64, before: u64, budget: Option<Nanos>) -> Self {
        Rounds {
            target_bytes,
            before,
            budget,
            count: 0,
            next: Rounds::LENGTH,
            enough_at: None,
            latest: None,
            is_over: false,
        }
    }

    /// Looks at the samples so far. Returns true if they end a round.
    pub fn look(&mut self, samples: &Monitored) -> bool {
        let elapsed = length(samples);
        if self.is_over || elapsed < self.next {
            return false;
        }
        self.count = self.count.saturating_add(1);
        self.next = self.next.saturating_add(Rounds::LENGTH).max(elapsed);
        let found = self.judged(samples);
        if found.is_enough() {
            self.enough_at = self.enough_at.or(Some(elapsed));
        }
        let most = Nanos(Rounds::LENGTH.get() * Rounds::MORE);
        let given_up = self.enough_at.is_some_and(|at| elapsed.saturating_sub(at) >= most);
        self.is_over = (found.settled && self.count >= Rounds::FEWEST) || (self.budget.is_none() && given_up);
        self.latest = Some(found);
        true
    }

    /// True if the writes are to end.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Longest time of the writes: the budget, or a week.
    pub fn longest(&self) -> Nanos {
        self.budget.unwrap_or(Nanos::from_secs(7 * 86_400))
    }

    /// Description for progress lines: `preconditioning, round 3: drifting, 2.1 of 2 times the target written`.
    pub fn describe(&self) -> String {
        let kind = self.latest.as_ref().and_then(|found| found.phases.last()).map(|phase| phase.kind.title());
        let times = self.latest.as_ref().map_or(self.times(self.before), PreconditionResult::times);
        let kind = kind.map_or_else(String::new, |kind| format!(" {kind},"));
        format!(
            "preconditioning, round {}:{kind} {} of 2 times the target written",
            self.count.saturating_add(1),
            text::number(times)
        )
    }

    fn times(&self, bytes: u64) -> f64 {
        measure::float(bytes) / measure::float(self.target_bytes.max(1))
    }

    /// The answer by the samples of the ended writes; that of the last round if it ended them.
    pub fn end(self, samples: &Monitored) -> PreconditionResult {
        match self.latest {
            Some(found) if self.is_over => found,
            _ => self.judged(samples),
        }
    }

    fn judged(&self, samples: &Monitored) -> PreconditionResult {
        let written = samples.intervals.iter().map(|interval| interval.bytes[1]).fold(self.before, u64::saturating_add);
        let mut found = PreconditionResult {
            settled: false,
            seconds: length(samples).as_secs_f64(),
            written_bytes: written,
            target_bytes: self.target_bytes,
            sentence: String::new(),
            phases: phases_so_far(samples),
        };
        let ends_settled = found.phases.last().is_some_and(|phase| phase.kind == PhaseKind::Settled);
        found.settled = found.is_enough() && ends_settled;
        found.sentence = found.text();
        found
    }
}

fn length(samples: &Monitored) -> Nanos {
    samples.intervals.last().map_or(Nanos::ZERO, |interval| interval.until)
}

/// Result of the writes before the first test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreconditionResult {
    /// True if the rate was settled, and the target was written twice.
    settled: bool,
    /// Length of the rounds together, in seconds.
    seconds: f64,
    /// Bytes that were written before the first test.
    written_bytes: u64,
    /// Size of the target in bytes.
    target_bytes: u64,
    /// The answer in one sentence.
    pub sentence: String,
    /// Phases of the rounds.
    pub phases: Vec<Phase>,
}

impl PreconditionResult {
    /// Bytes written, in sizes of the target.
    fn times(&self) -> f64 {
        measure::float(self.written_bytes) / measure::float(self.target_bytes.max(1))
    }

    fn is_enough(&self) -> bool {
        self.written_bytes / 2 >= self.target_bytes
    }

    /// `settled after 3 min: 64 GiB written, 2 times the target`, or what was missing.
    fn text(&self) -> String {
        let (size, times) = (rounded_size(measure::float(self.written_bytes)), self.times());
        let answer = if self.settled { "settled" } else { "not settled" };
        let after = text::span(self.seconds);
        let mut text =
            format!("{answer} after {after} of writes: {size} written, {} times the target", text::number(times));
        if !self.is_enough() {
            text.push_str(", and twice is the least");
        }
        match self.phases.last() {
            Some(last) => text.push_str(&format!("; at the end {}: {}", last.kind.title(), last.sentence)),
            None => text.push_str("; too short for phases"),
        }
        text
    }

    /// The remark on the tests after it; `None` if the rate was settled.
    pub fn note(&self) -> Option<Note> {
        let evidence =
            vec![("precondition_s".to_owned(), self.seconds), ("target_written_times".to_owned(), self.times())];
        let sentence = format!("the disk was preconditioned, and had {}", self.sentence);
        (!self.settled).then(|| Note { check: "steady".to_owned(), grade: Grade::ValidWithLimits, sentence, evidence })
    }

    /// Its title for a table of phases: `Preconditioned: settled after 3 min of writes: .. 2 phases:`.
    pub fn title(&self) -> String {
        let count = text::counted(self.phases.len() as u64, "phase");
        format!("Preconditioned: {}. {count}:", self.sentence)
    }
}

// Warm-up until the rate is steady.

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
    use model::Interval;

    const GIB: u64 = 1 << 30;

    /// Samples of writes at these bytes per second, twice a second.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of a test")]
    fn samples(seconds: u64, rate: impl Fn(f64) -> f64) -> Monitored {
        let interval = |at: u64| {
            let ios = (rate(at as f64 / 2.0) / 2.0 / 4096.0) as u64;
            Interval {
                until: Nanos::from_millis(500 * at),
                measuring: 1,
                bytes: [0, ios * 4096, 0],
                ios: [0, ios, 0],
                ..Interval::default()
            }
        };
        Monitored { intervals: (1..=2 * seconds).map(interval).collect(), ..Monitored::default() }
    }

    /// Goes through the rounds of ten hours at most.
    fn through(mut rounds: Rounds, rate: impl Fn(f64) -> f64 + Copy) -> (PreconditionResult, u64) {
        let longest = rounds.longest().get() / 1_000_000_000;
        let minutes = (1..=longest.min(36_000) / 60).find(|minutes| {
            assert!(!rounds.look(&samples(minutes * 60 - 1, rate)));
            rounds.look(&samples(minutes * 60, rate)) && rounds.is_over()
        });
        let seconds = minutes.map_or(longest, |minutes| minutes * 60);
        (rounds.end(&samples(seconds, rate)), seconds)
    }

    #[test]
    fn a_flat_rate_ends_the_rounds_once_twice_the_target_is_written() {
        let rate = |_: f64| 100.0 * 1e6;
        let (found, seconds) = through(Rounds::new(GIB, GIB, None), rate);
        assert!(found.settled && seconds == 300 && found.note().is_none(), "{found:?}");
        let (found, seconds) = through(Rounds::new(20 * GIB, 0, None), rate);
        assert!(found.settled && seconds == 480, "{seconds} {found:?}");
        assert_eq!(
            found.sentence,
            "settled after 8 min of writes: 44.7 GiB written, 2.24 times the target; at the end \
             settled: 0–480 s 24,414 IOPS (95.4 MiB/s): settled over its last 4 min"
        );
    }

    #[test]
    fn a_full_write_cache_is_waited_for_and_named() {
        let rate = |at: f64| if at <= 100.0 { 400.0 * 1e6 } else { 100.0 * 1e6 };
        let (found, seconds) = through(Rounds::new(20 * GIB, 0, None), rate);
        assert!(found.settled && seconds == 300, "{seconds} {found:?}");
        let kinds: Vec<PhaseKind> = found.phases.iter().map(|phase| phase.kind).collect();
        assert_eq!(kinds, [PhaseKind::WriteCache, PhaseKind::Settled], "{found:?}");
    }

    #[test]
    fn a_rate_that_never_settles_ends_by_budget_or_25_rounds() {
        let falls = |at: f64| 100.0 * 1e6 * (1.0 + 4.0 * (-at / 300.0).exp());
        let (found, seconds) = through(Rounds::new(GIB, GIB, Some(Nanos::from_secs(180))), falls);
        assert!(!found.settled && seconds == 180, "{found:?}");
        assert!(found.sentence.starts_with("not settled after 3 min of writes: "), "{found:?}");
        assert!(found.note().is_some_and(|note| note.sentence.contains("had not settled after")), "{found:?}");
        let stalls = |at: f64| if at % 10.0 > 8.0 { 1e6 } else { 1e8 };
        let (found, seconds) = through(Rounds::new(GIB, GIB, None), stalls);
        assert!(!found.settled && seconds == 26 * 60, "{seconds} {found:?}");
        assert!(found.sentence.contains("at the end dips: falls by 99 % every 10 s"), "{found:?}");
    }

    #[test]
    fn a_budget_that_is_too_short_is_an_answer() {
        let (found, _) = through(Rounds::new(100 * GIB, 0, Some(Nanos::from_secs(3))), |_| 1e8);
        assert_eq!(
            found.sentence,
            "not settled after 3 s of writes: 286 MiB written, 0.0028 times the target, and twice is the least; too short \
             for phases"
        );
    }

    #[test]
    fn two_samples_that_agree_are_steady() {
        let mut steadiness = Steadiness::default();
        let steady: Vec<bool> = [100.0, 200.0, 180.0, 184.0].into_iter().map(|rate| steadiness.add(rate)).collect();
        assert_eq!(steady, [false, false, false, true]);
        assert!(!Steadiness::default().add(0.0));
    }
}
