//! Throttled: the control group's CPU quota stopped the workers.
//!
//! Signals: cpu.max (or cpu.cfs_quota_us) and the throttling counters.

use super::note;
use crate::run_facts::{RunFacts, float};
use measure::text;
use model::{Grade, Note, RunResult};

/// A smaller fraction of the time is a partial quota period.
const LEAST_SHARE: f64 = 0.05;

/// Reports the fraction of the time in which the quota stopped the workers.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    judge(result).into_iter().collect()
}

fn judge(result: &RunResult) -> Option<Note> {
    let seen = RunFacts::of(result)?;
    let group = seen.steady.group?;
    let held_us = float(group.throttled_us?);
    let share = seen.share_of_time(held_us / 1e6);
    (share >= LEAST_SHARE).then(|| {
        let periods = float(group.throttled_periods.unwrap_or(0));
        let sentence = format!("cpu.max held you back {} of the time", text::percent(share));
        let evidence =
            [("throttled_us", held_us), ("throttled_periods", periods), ("throttled_percent", 100.0 * share)];
        note(Grade::ValidWithLimits, sentence, &evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;
    use model::GroupGain;

    #[test]
    fn a_quota_that_held_back_is_reported_with_its_share() {
        let mut result = watched_random_read();
        assert_eq!(run(&result), []);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.group = Some(GroupGain { throttled_us: Some(380_000), ..GroupGain::default() });
        }
        assert_eq!(run(&result)[0].sentence, "cpu.max held you back 38 % of the time");
    }
}
