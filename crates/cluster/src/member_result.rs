//! The result of one member: what it measured, where, and when on the leader's clock. The file in which it is kept.

use crate::hosts::MOST_MEMBERS;
use crate::leader::Outcome;
use crate::message::{ClusterError, Facts, MemberEnd, Sharing};
use measure::Nanos;
use model::{RunResult, SCHEMA};
use serde::{Deserialize, Serialize};

/// The amounts of a member at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Time of the leader's clock.
    pub at: Nanos,
    /// Bytes since the start: read, written, trimmed.
    pub bytes: [u64; 3],
    /// I/Os since the start.
    pub ios: [u64; 3],
}

/// The place of a run among the repetitions of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Repetition {
    /// Its number, from 1.
    pub number: u32,
    /// How many were asked for.
    pub of: u32,
}

/// The end of a member without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The reason.
    pub why: String,
    /// Time of the leader's clock.
    pub at: Nanos,
}

/// One member of a run, without its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberResult {
    /// Its number, from 0.
    pub rank: u32,
    /// Number of members of the run.
    pub members: u32,
    /// Place of its run among the repetitions; `None` if it was not repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// The host as it was named, or `local`.
    pub place: String,
    /// Its greeting; `None` if it never greeted.
    pub facts: Option<Facts>,
    /// Time of the leader's clock at which all were asked to begin.
    pub go: Option<Nanos>,
    /// Start of its workers on the leader's clock.
    pub started: Option<Nanos>,
    /// Bound of the error of its times.
    pub clock_error: Option<Nanos>,
    /// Its monotonic clock minus that of the leader before the run, in nanoseconds, within that bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ns: Option<i64>,
    /// I/Os of its fastest worker when the time was over, if it went on after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios_in_time: Option<u64>,
    /// Its amounts over time.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// How members shared one file or device.
    #[serde(default)]
    pub sharing: Sharing,
    /// Why it has no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Loss>,
    /// Its result. Not stored here: a kept file has it next to the member.
    #[serde(skip)]
    pub result: Option<RunResult>,
}

impl MemberResult {
    /// `member 3 (node2)`.
    pub fn name(&self) -> String {
        match self.place.as_str() {
            "" => format!("member {}", self.rank),
            place => format!("member {} ({place})", self.rank),
        }
    }

    /// The machine: by its greeting, or else by its place.
    pub fn host(&self) -> &str {
        self.facts.as_ref().map_or(self.place.as_str(), |facts| facts.host.as_str())
    }

    /// The document of this member: a result of plumb, with the member next to it. `None` without a result.
    ///
    /// # Errors
    /// Never, in practice: results can be written as JSON.
    pub fn to_document(&self) -> Result<Option<String>, serde_json::Error> {
        let Some(result) = &self.result else { return Ok(None) };
        let document = Document { schema: SCHEMA, program: &result.environment.program, member: self, result };
        serde_json::to_string_pretty(&document).map(|text| Some(text + "\n"))
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    program: &'a str,
    member: &'a MemberResult,
    result: &'a RunResult,
}

#[derive(Deserialize)]
struct MemberDocument {
    schema: u32,
    #[serde(default)]
    member: Option<MemberResult>,
    result: RunResult,
}

/// Reads the kept result of a member. The result of a run without a cluster is a member of which no times are known;
/// `rank` and `members` are its place in the list of files.
///
/// # Errors
/// The text is not such a result.
pub fn kept(text: &str, rank: u32, members: u32) -> Result<MemberResult, ClusterError> {
    let wrong = |error: serde_json::Error| {
        ClusterError(format!(
            "it is not the result of a member, as plumb cluster --keep writes it, nor of plumb fio --result: {error}"
        ))
    };
    let kept: MemberDocument = serde_json::from_str(text).map_err(wrong)?;
    if kept.schema != SCHEMA {
        return Err(ClusterError(format!("it has schema {}, and this plumb reads {SCHEMA}", kept.schema)));
    }
    let host = kept.result.environment.host.clone().unwrap_or_default();
    let alone = || MemberResult { rank, members, place: host, ..MemberResult::default() };
    let member = kept.member.unwrap_or_else(alone);
    if member.rank >= member.members || member.members as usize > MOST_MEMBERS {
        return Err(ClusterError(format!(
            "it is of member {} of {}, which is not possible",
            member.rank, member.members
        )));
    }
    Ok(MemberResult { result: Some(kept.result), ..member })
}

impl Outcome {
    /// True if every member has a result, and no job of it failed.
    pub fn is_whole(&self) -> bool {
        let is_whole = |finished: &MemberEnd| finished.result.jobs.iter().all(|job| job.error.is_none());
        self.members.iter().all(|member| member.finished.as_ref().is_some_and(is_whole))
    }

    /// The members with their results, on the leader's clock. `places` are the hosts as they were named.
    pub fn into_results(self, places: &[String]) -> Vec<MemberResult> {
        let members = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        let go = self.go;
        let results = (0..).zip(self.members).map(|(rank, member)| {
            let clock = member.clock;
            let samples = member
                .beats
                .iter()
                .filter_map(|beat| Some(Sample { at: clock.to_leader(beat.at)?, bytes: beat.bytes, ios: beat.ios }));
            let (started, result) = match member.finished {
                Some(finished) => (finished.started.and_then(|at| clock.to_leader(at)), Some(finished.result)),
                None => (None, None),
            };
            MemberResult {
                rank,
                members,
                repetition: None,
                place: places.get(rank as usize).cloned().unwrap_or_default(),
                facts: member.facts,
                go,
                started,
                clock_error: clock.error(),
                clock_offset_ns: clock.offset_ns(),
                ios_in_time: member.out_of_time,
                samples: samples.collect(),
                sharing: Sharing::default(),
                lost: member.lost.map(|(why, at)| Loss { why, at }),
                result,
            }
        });
        results.collect()
    }
}

/// How a process ended: by a signal, or with a status.
pub fn ending(signal: Option<i32>, status: Option<i32>) -> String {
    match (signal, status) {
        (Some(signal), _) => format!("it was ended by signal {signal}"),
        (None, Some(status)) => format!("{ENDED} {status}"),
        (None, None) => "it closed its output".to_owned(),
    }
}

/// The words before the status of a process.
const ENDED: &str = "it ended with status";

/// True if a process ended with a status that is not 0, by what [`ending`] said of it.
pub(crate) fn has_failed(ending: &str) -> bool {
    ending.strip_prefix(ENDED).is_some_and(|status| status.split_whitespace().next() != Some("0"))
}
