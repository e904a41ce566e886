//! `--stream`: the lines of a run, to a file, standard output or a descriptor of the caller.

use super::queue::Queue;
use super::{RunSoFar, ended_job, graded};
use crate::failure::Failure;
use crate::output::print_error;
use crate::safe_files;
use cluster::{MemberResult, Task};
use formats::ndjson::{End, IntervalLatencies, IntervalLine, Line, Remark, SCHEMA, Start, StartedJob};
use measure::{Nanos, unix_ms};
use model::{Environment, Interval, Monitored, RunResult};
use plan::{JobPlan, Plan, Workload};
use serde_json::Value;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long the end of a run waits for a reader that is behind. One that has not caught up by then is not waited for
/// again before the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lines on their way.
pub(super) struct Stream {
    /// As given: a path, `-` or `fd:N`.
    name: String,
    queue: Queue,
    /// True if the reader had not taken everything at the end of the last run.
    is_behind: bool,
}

impl Stream {
    /// Opens the place that `given` names.
    pub(super) fn open(given: &str) -> Result<Self, Failure> {
        let file = match descriptor(given)? {
            Some(1) if sys::processes::standard_output::output_was_closed() => {
                return Err(Failure::new(format!("--stream {given}: standard output is closed")));
            }
            Some(number) => sys::files::inherited::for_writing(number).map_err(|error| {
                Failure::new(format!("--stream {given}: {error}; open it in the shell, as in {number}>lines.ndjson"))
            })?,
            None => safe_files::stream(Path::new(given))?,
        };
        Ok(Stream { name: given.to_owned(), queue: Queue::new(file), is_behind: false })
    }

    pub(super) fn is_stdout(&self) -> bool {
        is_stdout(&self.name)
    }

    pub(super) fn begin(
        &mut self,
        run: RunSoFar,
        title: Option<&str>,
        environment: &Environment,
        plan: &Plan,
    ) -> Result<(), Failure> {
        self.push(&Line::Start(Box::new(Start {
            stream_schema: SCHEMA,
            program: &environment.program,
            command: &environment.command,
            run: run.number,
            title,
            unix_ms: unix_ms(),
            environment,
            jobs: plan.jobs.iter().map(started_job).collect(),
        })));
        self.is_behind = !self.queue.drain(Duration::ZERO);
        // Later it is reported when the command ends: what was measured is worth more than the stream.
        match self.queue.error() {
            Some(error) if run.number == 1 => Err(self.failure(&error)),
            _ => Ok(()),
        }
    }

    pub(super) fn interval(
        &mut self,
        run: RunSoFar,
        from: Nanos,
        so_far: &Monitored,
        latest: &Interval,
        latencies: Option<IntervalLatencies>,
    ) {
        let device_names = so_far.devices.iter().map(|device| device.name.as_str()).collect();
        let unix_ms = so_far.began_unix_ms.saturating_add(latest.until.get() / 1_000_000);
        let line = IntervalLine { run: run.number, unix_ms, from, device_names, interval: latest, latencies };
        self.push(&Line::Interval(line));
        self.queue.start();
    }

    /// The same of a run that began at this time, with the names of its devices.
    pub(super) fn interval_of(
        &mut self,
        run: RunSoFar,
        from: Nanos,
        began_unix_ms: u64,
        devices: &[impl AsRef<str>],
        latest: &Interval,
    ) {
        let device_names = devices.iter().map(AsRef::as_ref).collect();
        let unix_ms = began_unix_ms.saturating_add(latest.until.get() / 1_000_000);
        let line = IntervalLine { run: run.number, unix_ms, from, device_names, interval: latest, latencies: None };
        self.push(&Line::Interval(line));
        self.queue.start();
    }

    pub(super) fn finding(&mut self, run: RunSoFar, sentence: &str) {
        self.push(&Line::Remark(Remark { run: run.number, check: None, grade: None, sentence, evidence: &[] }));
    }

    /// The findings of the checks.
    pub(super) fn judged(&self, run: RunSoFar, result: &RunResult) {
        for note in &result.notes {
            self.push(&Line::Remark(Remark::of(run.number, note)));
        }
        for (check, grade) in graded(result) {
            self.push(&Line::Check { run: run.number, check, grade });
        }
    }

    pub(super) fn end(&mut self, run: RunSoFar, result: &RunResult) {
        // Before the last line, which says what was lost.
        let patience = if self.is_behind { Duration::ZERO } else { PATIENCE };
        self.queue.drain(patience);
        let jobs = result.reported_jobs();
        self.push(&Line::End(Box::new(End {
            run: run.number,
            unix_ms: unix_ms(),
            intervals: run.intervals,
            bytes: run.bytes,
            ios: run.ios,
            jobs: jobs.iter().map(ended_job).collect(),
            limited_by: result.limited_by.as_ref().map(|limit| limit.sentence.as_str()),
            ended_by_signal: result.ended_by_signal,
            lost_lines: self.queue.lost(),
        })));
        self.is_behind = !self.queue.drain(Duration::ZERO);
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.queue.drain(PATIENCE);
        let failed = self.queue.error().map(|error| self.failure(&error));
        let name = self.name;
        let lost = self.queue.give_up();
        match failed {
            Some(failure) => Err(failure),
            None if lost == 0 => Ok(()),
            None => {
                print_error(&format!("plumb: --stream {name}: its reader is too slow: {lost} lines are lost"));
                Ok(())
            }
        }
    }

    fn push(&self, line: &Line<'_>) {
        // The numbers of a run are finite; a line that cannot be written as JSON would be a bug, which the tests show.
        if let Ok(text) = line.text() {
            self.queue.push(text);
        }
    }

    /// As everywhere, the end of the reader of standard output needs no message.
    fn failure(&self, error: &io::Error) -> Failure {
        match error.kind() {
            _ if self.is_stdout() => Failure::writing("standard output", error),
            io::ErrorKind::BrokenPipe => Failure::new(format!(
                "--stream {}: its reader has ended: {} lines are lost",
                self.name,
                self.queue.lost()
            )),
            _ => Failure::writing(&format!("--stream {}", self.name), error),
        }
    }
}

/// True if these words name standard output.
pub(super) fn is_stdout(given: &str) -> bool {
    matches!(descriptor(given), Ok(Some(1)))
}

/// The number of the descriptor that is named, if it is one: 1 for `-`.
fn descriptor(given: &str) -> Result<Option<u16>, Failure> {
    if given == "-" {
        return Ok(Some(1));
    }
    let Some(number) = given.strip_prefix("fd:") else { return Ok(None) };
    number.parse().map(Some).map_err(|_| {
        Failure::new(format!("--stream {given}: {number} is not the number of a descriptor; write it like fd:3"))
    })
}

fn started_job(job: &JobPlan) -> StartedJob<'_> {
    let engine = engine::ENGINES.iter().find(|engine| engine.name == job.engine);
    StartedJob {
        name: &job.name,
        workers: job.clones,
        engine: job.engine,
        iodepth: job.depth.asked(),
        direct: job.files.direct,
        block_sizes: job.load.size_ranges(),
        workload: engine.map(|engine| Workload::of(job, engine)),
    }
}

/// The lines of a command without runs: its own JSON objects.
pub struct LineStream(Stream);

impl LineStream {
    /// Opens the place that `given` names.
    pub fn open(given: &str) -> Result<Self, Failure> {
        Stream::open(given).map(LineStream)
    }

    /// The first line. Fails if nothing can be given away.
    pub fn first(&mut self, kind: &str, parts: Value) -> Result<(), Failure> {
        self.line(kind, parts);
        self.0.queue.drain(Duration::ZERO);
        self.0.queue.error().map_or(Ok(()), |error| Err(self.0.failure(&error)))
    }

    /// A line of this kind.
    pub fn line(&mut self, kind: &str, mut parts: Value) {
        (parts["type"], parts["run"]) = (Value::from(kind), Value::from(1));
        if self.0.queue.lost() > 0 {
            parts["lost_lines"] = Value::from(self.0.queue.lost());
        }
        self.0.queue.push(parts.to_string() + "\n");
        self.0.queue.start();
    }

    /// Says what was lost, and fails if something could not be given away.
    pub fn finish(self) -> Result<(), Failure> {
        self.0.finish()
    }
}

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
    pub fn interval(&mut self, rank: usize, sampled: &cluster::MemberInterval) {
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
