//! A survey that the members of a cluster run: each test is a run of all of them at once, and a row of the same table, JSON and page.

use super::ResultArgs;
use crate::failure::Failure;
use crate::measuring::CalibrationArgs;
use cluster::{MemberSummary, Reason, Summary};
use measure::text::rounded_size;
use model::RunResult;
use session::progress::UnderWay;
use survey::{FinishedTest, SurveyRequest, SurveyTest, TestTime, counted};

/// The members that run the tests in place of this process.
pub(crate) trait Members {
    /// Their number.
    fn count(&self) -> u32;
    /// Takes the request that all of them have, before the first test.
    fn begin(&mut self, request: &SurveyRequest) -> Result<(), Failure>;
    /// Runs a test on all of them at once, and shows what is under way. A signal ends it, and is in the result.
    fn measure(&mut self, test: &SurveyTest, time: TestTime, under_way: UnderWay) -> Result<ByMembers, Failure>;
    /// Lets them exit.
    fn end(&mut self);
}

/// A test that members ran.
pub(crate) struct ByMembers {
    /// The result of all, with the rates over all.
    pub(crate) result: RunResult,
    pub(crate) summary: Box<Summary>,
}

/// Refuses options that are of runs in this process.
pub(crate) fn check(result: &ResultArgs, calibration: &CalibrationArgs) -> Result<(), Failure> {
    let one_machine = "it is of runs on one machine; the result has the intervals of no member";
    let given = result.feed.given().map(|option| (option, one_machine));
    let brief = "members measure plumb's own share before each run, as in all runs of a cluster";
    match given.or(calibration.is_skipped().then_some(("--no-calibrate", brief))) {
        Some((option, why)) => Err(Failure::new(format!("cluster: {option} is not for members: {why}"))),
        None => Ok(()),
    }
}

/// Refuses what a survey by members cannot do.
pub(super) fn check_request(request: &SurveyRequest) -> Result<(), Failure> {
    match request.precondition {
        survey::Precondition::Steady => Err(Failure::new(
            "cluster: --precondition=steady is not for members: each member would settle at another time; write the files twice with --precondition",
        )),
        _ => Ok(()),
    }
}

/// The lines about the members of each test, after the table.
pub(super) fn lines(rows: &[FinishedTest]) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(first) = rows.iter().find_map(|row| row.members.as_deref()) else { return lines };
    let (members, hosts) = (counted(first.members.into(), "member"), counted(first.hosts.into(), "host"));
    lines.push(format!(
        "By {members} on {hosts} ({}); users are those of all. Rates are those over all, from the first start to the last end:",
        first.library.as_ref().unwrap_or(&first.carrier)
    ));
    for row in rows {
        let Some(summary) = row.members.as_deref() else { continue };
        lines.push(format!("{}: {}", row.test.describe(), rates(summary)));
        lines.extend(summary.stragglers.iter().map(|slow| {
            let ranks: Vec<String> = slow.ranks.iter().map(u32::to_string).collect();
            let by = match slow.reason {
                Reason::Elapsed => "time",
                Reason::Rate => "rate",
                Reason::Tail => "p99.9",
            };
            format!("  slow: member {} on {}, by its {by}", ranks.join(", "), slow.host)
        }));
    }
    lines
}

/// The three rates, and the slowest and the fastest member.
fn rates(summary: &Summary) -> String {
    let per_second = |rate: f64| format!("{}/s", rounded_size(rate));
    let mut parts = Vec::new();
    for found in &summary.rates {
        let name = found.direction.word();
        let Some(over_all) = found.over_all else {
            parts.push(format!("{name} {} in sum", per_second(found.sum)));
            continue;
        };
        parts.push(format!("{name} {}", per_second(over_all)));
        parts.extend(
            found.common_window.filter(|window| window.low > over_all && found.is_other(window.low)).map(|window| {
                format!("{} to {} while all were at work", per_second(window.low), per_second(window.high))
            }),
        );
        parts.extend(
            found.is_other(found.sum).then(|| format!("the members' own rates add up to {}", per_second(found.sum))),
        );
    }
    let with_rate = |member: &MemberSummary| member.bytes_per_second.map(|rate| (rate, member.rank));
    let mut members: Vec<(f64, u32)> = summary.each.iter().filter_map(with_rate).collect();
    members.sort_by(|one, other| one.0.total_cmp(&other.0));
    if let (Some(lowest), Some(highest), true) = (members.first(), members.last(), members.len() > 1) {
        let of = |(rate, rank): &(f64, u32)| format!("{} ({rank})", per_second(*rate));
        parts.push(format!("members {} to {}", of(lowest), of(highest)));
    }
    parts.join(", ")
}
