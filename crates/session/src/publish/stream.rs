//! `--stream`: the lines of a run, to a file, standard output or a descriptor of the caller.

use super::queue::Queue;
use super::{RunSoFar, ended_job, graded};
use crate::failure::Failure;
use crate::output::print_error;
use crate::safe_files;
use formats::ndjson::{End, Line, Remark, SCHEMA, Sampled, Start, StartedJob};
use measure::{Nanos, unix_ms};
use model::{Environment, Interval, Monitored, RunResult};
use plan::{JobPlan, Plan, Workload};
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long the end of a run waits for a reader that is behind. One that has not caught up by then is not waited for again
/// before the end.
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

    pub(super) fn interval(&mut self, run: RunSoFar, from: Nanos, so_far: &Monitored, latest: &Interval) {
        let devices: Vec<&str> = so_far.devices.iter().map(|device| device.name.as_str()).collect();
        self.interval_of(run, from, so_far.began_unix_ms, &devices, latest);
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
        self.push(&Line::Interval(Sampled { run: run.number, unix_ms, from, device_names, interval: latest }));
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
