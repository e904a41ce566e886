//! `--stream` of `plumb cluster`: each member is a run of the stream, with the number after its rank.

use super::stream::Stream;
use super::{RunSoFar, is_stdout};
use crate::failure::Failure;
use cluster::{MemberResult, Sampled, Task};
use model::{Environment, RunResult};
use plan::Plan;

/// The lines of all members.
pub struct MembersStream {
    stream: Stream,
    /// The machine of the leader.
    environment: Environment,
    runs: Vec<RunSoFar>,
}

impl MembersStream {
    /// Opens the place that `given` names.
    pub fn open(given: &str) -> Result<Self, Failure> {
        Ok(MembersStream { stream: Stream::open(given)?, environment: super::environment(), runs: Vec::new() })
    }

    /// True if standard output is for the lines alone.
    pub fn prints(given: Option<&str>) -> bool {
        given.is_some_and(is_stdout)
    }

    /// A member is going to run. Fails if nothing can be given away, before anything is measured.
    pub fn begin(&mut self, task: &Task, place: &str, plan: &Plan) -> Result<(), Failure> {
        let before = task.round.saturating_mul(task.members);
        let run = RunSoFar { number: before.saturating_add(task.rank + 1), ..RunSoFar::default() };
        self.runs.truncate(task.rank as usize);
        self.runs.push(run);
        let repetition = if task.round > 0 { format!(", repetition {}", task.round + 1) } else { String::new() };
        let title = format!("member {} ({place}){repetition}", task.rank);
        self.stream.begin(run, Some(&title), &self.environment, plan)
    }

    /// An interval of a member has ended.
    pub fn interval(&mut self, rank: usize, sampled: &Sampled) {
        let Some(run) = self.runs.get_mut(rank) else { return };
        let from = run.until;
        run.add(&sampled.interval);
        self.stream.interval_of(*run, from, sampled.began_unix_ms, &sampled.devices, &sampled.interval);
    }

    /// A member says something.
    pub fn finding(&mut self, rank: usize, sentence: &str) {
        if let Some(run) = self.runs.get(rank) {
            self.stream.finding(*run, sentence);
        }
    }

    /// All members have ended.
    pub fn ended(&mut self, members: &[MemberResult]) {
        for member in members {
            let Some(run) = self.runs.get(member.rank as usize).copied() else { continue };
            match (&member.result, &member.lost) {
                (Some(result), _) => self.over(run, result),
                (None, lost) => {
                    let why = lost.as_ref().map_or("no reason is known", |lost| lost.why.as_str());
                    self.stream.finding(run, &format!("the member is lost: {why}"));
                }
            }
        }
    }

    fn over(&mut self, run: RunSoFar, result: &RunResult) {
        self.stream.judged(run, result);
        self.stream.end(run, result);
    }

    /// Says what was lost, and fails if something could not be given away.
    pub fn finish(self) -> Result<(), Failure> {
        self.stream.finish()
    }
}
