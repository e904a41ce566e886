//! Limiter: a rate limit set on purpose, seen as a limit reached, a plateau, or I/Os that wait above an idle device.
//!
//! Signals: limits of the control group, the devices' counters, rates per interval, latencies and the queue. Where the
//! parts of the time of the I/Os were recorded: throttle, and no sign of a limit that they contradict.

use super::note;
use crate::limiter::parts::waited;
use crate::limiter::{HELD_ABOVE, OF_THE_GROUP, PLATEAU, Rule, TOO_EVEN, applied, caps};
use crate::run_facts::RunFacts;
use model::{Grade, Limiter, Note, RunResult};

/// Limits that are not visible from here, by what they do.
const OUT_OF_SIGHT: [Rule; 3] = [PLATEAU, TOO_EVEN, HELD_ABOVE];

/// A limit of the control group that is reached, otherwise what a limit out of sight does.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(seen) = RunFacts::of(result) else { return Vec::new() };
    // A plateau that the plan requested is intended.
    let throttled = waited(&seen).filter(|wait| wait.limiter == Limiter::Cap);
    let found = throttled
        .or_else(|| applied(OF_THE_GROUP, &seen))
        .map(|cap| (format!("{}: a limiter, not a device", cap.sentence), cap.evidence))
        .or_else(|| match caps::of_the_plan(&seen) {
            Some(_) => None,
            None => OUT_OF_SIGHT.iter().find_map(|rule| applied(*rule, &seen)).map(|cap| (cap.sentence, cap.evidence)),
        });
    let Some((sentence, evidence)) = found else { return Vec::new() };
    let evidence: Vec<(&str, f64)> = evidence.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    vec![note(Grade::ValidWithLimits, sentence, &evidence)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;
    use model::{GroupLimits, IoCap};

    #[test]
    fn a_plateau_at_a_round_number_is_a_limiter() {
        let mut result = watched_random_read();
        assert_eq!(run(&result), []);
        for interval in &mut result.monitored.as_mut().unwrap().intervals {
            interval.ios = [3_001, 0, 0];
        }
        assert!(run(&result)[0].sentence.contains("plateau of 3,001 IOPS"));
    }

    #[test]
    fn a_limit_of_the_control_group_is_named() {
        let mut result = watched_random_read();
        let cap = IoCap { device: "sda".into(), read_iops: Some(2_000), ..IoCap::default() };
        result.monitored.as_mut().unwrap().group_limits = Some(GroupLimits { io: vec![cap], ..GroupLimits::default() });
        let sentence = run(&result).remove(0).sentence;
        assert!(
            sentence.contains("2,000 reads/s on sda") && sentence.ends_with("a limiter, not a device"),
            "{sentence}"
        );
    }
}
