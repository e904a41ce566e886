//! The least time of a test that can give an answer, by what is known before the first I/O.

use super::question::Question;
use super::units::needed;
use analysis::question::{FEWEST_INTERVALS, Number, Part, Rule};
use measure::{Direction, text};
use plan::Plan;

/// Seconds that have room for the intervals that are needed, besides the first and the last of a round.
const LEAST: u64 = (FEWEST_INTERVALS as u64).div_ceil(2);
/// The same where the monitor is late, as on a busy machine.
const LEAST_OF_BUSY: u64 = LEAST + 2;

/// Remark on what `--time` cannot do, with the least time that can; `plans` are those of the tests.
pub(super) fn remark(question: &Question, plans: &[Plan]) -> Option<String> {
    let time = question.time;
    let tests = question.profile.tests.iter().zip(plans);
    let rules = tests.flat_map(|(test, plan)| {
        test.rules.iter().filter(|rule| !rule.advice).filter_map(move |rule| Some((rule.rule(1).ok()?, plan)))
    });
    let rules: Vec<(Rule, &Plan)> = rules.collect();
    if rules.is_empty() {
        return None;
    }
    // A search takes the time that a percentile needs.
    let rarest = rules.iter().filter(|_| !question.is_searched()).filter_map(|&(rule, plan)| few(rule, plan));
    if let Some(Few { rule, iops, seconds }) = rarest.max_by_key(|few| few.seconds).filter(|few| few.seconds > time) {
        let ios = text::number(iops * measure::float(time));
        let Number::Percentile(percent) = rule.number else { return None };
        return Some(format!(
            "--time {time}s cannot be enough: a round does {ios} of these I/Os, too few to judge p{percent}; the least \
             is --time {}s",
            seconds.max(LEAST_OF_BUSY)
        ));
    }
    let can = match time {
        ..LEAST => "cannot be enough",
        LEAST..LEAST_OF_BUSY => "may be too short",
        _ => return None,
    };
    Some(format!(
        "--time {time}s {can}: a round is judged by {FEWEST_INTERVALS} half seconds or more, without its first and \
         last; give --time {LEAST_OF_BUSY}s or more"
    ))
}

/// A percentile for which the rate of its jobs is too low.
struct Few {
    rule: Rule,
    iops: f64,
    seconds: u64,
}

/// The seconds that a percentile needs, if all its I/Os have a rate.
fn few(rule: Rule, plan: &Plan) -> Option<Few> {
    let Number::Percentile(percent) = rule.number else { return None };
    let directions: &[Direction] = match rule.part {
        Part::Read => &[Direction::Read],
        Part::Write => &[Direction::Write],
        Part::All | Part::Sync => return None,
    };
    let mut iops = 0.0;
    for job in &plan.jobs {
        for &direction in directions.iter().filter(|&&direction| job.load.mix.contains(direction)) {
            let rate = job.pace.iops[direction].filter(|&rate| rate > 0)?;
            iops += measure::float(rate) * f64::from(job.clones);
        }
    }
    (iops > 0.0).then(|| Few { rule, iops, seconds: needed(percent, iops) })
}

#[cfg(test)]
mod tests {
    use super::super::rounds;
    use super::*;
    use std::path::Path;
    use survey::{PROFILES, Profile};

    #[test]
    fn the_least_time_is_said_where_time_cannot_do() {
        for (name, units, time, expected) in [
            ("etcd", None, 7, Some("--time 7s cannot be enough: a round is judged by 15 half seconds or more")),
            ("etcd", None, 9, Some("--time 9s may be too short: ")),
            ("etcd", None, 10, None),
            ("postgres-wal", None, 3, None),
            (
                "nvr",
                Some(2),
                60,
                Some("a round does 120 of these I/Os, too few to judge p99; the least is --time 175s"),
            ),
            ("nvr", Some(2), 175, None),
            ("nvr", None, 60, None),
            ("vdi", Some(1), 60, None),
            ("video-edit", Some(1), 60, Some("the least is --time 1167s")),
        ] {
            let text = PROFILES.iter().find(|(known, _)| *known == name).unwrap().1;
            let profile = Profile::from_toml(text).unwrap();
            let name = name.to_owned();
            let question = Question { name, profile, units, time, rounds: 3, added: Vec::new() };
            let tests = 0..question.profile.tests.len();
            let plans: Vec<Plan> =
                tests.map(|test| rounds::plan(&question, test, 1, Path::new(".")).unwrap()).collect();
            let said = remark(&question, &plans);
            let fits = match (&said, expected) {
                (Some(said), Some(expected)) => said.contains(expected),
                (said, expected) => said.is_none() && expected.is_none(),
            };
            assert!(fits, "{} {time}: {said:?}", question.name);
        }
    }
}
