//! Where the time of plumb's own I/Os goes (`--layers`): events of the kernel are recorded from the start of a run's
//! first workers to their end.
//!
//! Owns which of the recorded I/Os are of the jobs, their form in results (`groups`), and the lines about them
//! (`lines`), which `plumb why` has, too; and the file that keeps a recording of `plumb why` (`recording`). `observe`
//! records.

mod groups;
mod lines;
mod recorded;
#[cfg(feature = "parquet")]
mod recording;

use crate::failure::Failure;
use measure::Nanos;
use model::{JobResult, Layers, RunResult};
use observe::{Going, Io, ObserveError, Recording, Seen, Summary};
use plan::{Plan, Work};
use run::{Event, Observer, Request, Start};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};
use sys::processes::placement;
use sys::processes::signals::Watch;

pub use groups::{cost, group, limit, some, sum, times};
pub use lines::{Line, costs, does, headed, limited, remarks, shares, shown, slowest, times_of, way};
pub use recorded::Recorded;
#[cfg(feature = "parquet")]
pub use recording::{Names, read, read_file, written};

/// Time between two readings of the events.
const STEP: Duration = Duration::from_millis(20);
/// The clocks of the run and of the events agree to this.
const SLACK: Nanos = Nanos::from_millis(10);

/// A run that is recorded. It begins before the workers are forked, so that they are followed.
pub struct RecordedRun {
    recording: Option<Recording>,
    /// Start of the first workers, on the clock of the events.
    begun: Option<Nanos>,
    /// Zero of the clock of the run, on the same clock.
    zero: Option<Nanos>,
    stepped: Instant,
    /// The recording, once it has ended.
    seen: Result<Seen, ObserveError>,
    is_full: bool,
    /// A signal while there is no run would leave the instances of the kernel behind.
    signals: Watch,
}

impl RecordedRun {
    /// Begins it. Refuses a plan without I/Os that can be seen.
    pub fn begin(plan: &Plan) -> Result<Self, Failure> {
        check(plan)?;
        let signals = Watch::begin()?;
        Ok(RecordedRun {
            recording: Some(recording()?),
            begun: None,
            zero: None,
            stepped: Instant::now(),
            seen: Ok(Seen::default()),
            is_full: false,
            signals,
        })
    }

    /// The observer of the run, which passes everything on to `inner`.
    pub fn around<'a>(&'a mut self, inner: &'a mut dyn Observer) -> LayersObserver<'a> {
        LayersObserver { run: self, inner }
    }

    /// Ends it, and adds what it has to the result of the run. A recording that failed costs the run nothing.
    pub fn end(mut self, result: &mut RunResult) {
        self.stop();
        result.ended_by_signal = result.ended_by_signal.or_else(|| self.signals.caught());
        let layers = match self.seen {
            Ok(seen) => layers(seen, self.zero.or(self.begun).unwrap_or_default(), self.is_full, &result.jobs),
            Err(error) => Layers { remarks: vec![format!("not recorded: {error}")], ..Layers::default() },
        };
        result.layers = Some(Box::new(layers));
    }

    fn step(&mut self) {
        if self.begun.is_none() || self.stepped.elapsed() < STEP {
            return;
        }
        self.stepped = Instant::now();
        match self.recording.as_mut().map(Recording::step) {
            Some(Ok(Going::Full)) => {
                self.is_full = true;
                self.stop();
            }
            Some(Err(error)) => self.fail(error),
            _ => {}
        }
    }

    fn start(&mut self) {
        if self.begun.is_none() {
            match self.recording.as_mut().map(Recording::go_on).transpose() {
                Ok(begun) => self.begun = begun,
                Err(error) => self.fail(error),
            }
        }
    }

    fn stop(&mut self) {
        if let Some(recording) = self.recording.take() {
            self.seen = recording.end();
        }
    }

    fn fail(&mut self, error: ObserveError) {
        (self.recording, self.seen) = (None, Err(error));
    }
}

/// An observer that reads the events while a run goes on.
pub struct LayersObserver<'a> {
    run: &'a mut RecordedRun,
    inner: &'a mut dyn Observer,
}

impl Observer for LayersObserver<'_> {
    fn event(&mut self, event: Event<'_>) {
        if matches!(event, Event::Abandoned(_)) {
            // The process ends below this.
            self.run.recording = None;
        }
        self.inner.event(event);
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        self.run.step();
        if self.run.begun.is_some() {
            // A pause between the two readings makes it late, never early.
            let zero = Recording::now().saturating_sub(elapsed);
            self.run.zero = Some(self.run.zero.map_or(zero, |known| known.min(zero)));
        }
        // One that came before the run had its own handlers.
        let is_over = self.run.signals.caught().is_some();
        self.inner.request(elapsed).or(is_over.then_some(Request::End))
    }

    fn start(&mut self) -> Start {
        self.run.start();
        self.inner.start()
    }

    fn ends_layout(&mut self) -> bool {
        self.inner.ends_layout() || self.run.signals.caught().is_some()
    }
}

fn refused(why: &str) -> Failure {
    Failure::new(format!("--layers: {why}"))
}

fn recording() -> Result<Recording, Failure> {
    Recording::of_started().map_err(|error| refused(&error.to_string()))
}

/// Refuses `--layers` on a machine that gives no events, before anything is written.
pub fn check_machine() -> Result<(), Failure> {
    let _signals = Watch::begin()?;
    recording().map(drop)
}

/// Refuses a plan without I/Os that can be recorded.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    let unrecorded = |engine: &str| engine::spec(engine).and_then(|engine| engine.capabilities.unrecorded);
    let at_work = plan.jobs.iter().filter(|job| job.work != Work::Background || plan.jobs.len() == 1);
    let found = at_work.filter_map(|job| Some((job, unrecorded(job.engine)?))).next();
    let Some((job, why)) = found else { return Ok(()) };
    let works = engine::ENGINES.iter().filter(|engine| engine.capabilities.unrecorded.is_none());
    let works: Vec<&str> = works.map(|engine| engine.name).collect();
    Err(refused(&format!("job `{}`: ioengine={} {why}; what works: {}", job.name, job.engine, works.join(", "))))
}

/// The recording, of the jobs alone.
fn layers(mut seen: Seen, begun: Nanos, is_full: bool, jobs: &[JobResult]) -> Layers {
    let own = OwnIos::of(jobs);
    let is_own: Vec<bool> = seen.ios.iter().map(|io| own.has(io, &seen, io.begin.saturating_sub(begun))).collect();
    let mut is_own = is_own.into_iter();
    seen.ios.retain(|_| is_own.next() == Some(true));
    let measured = || jobs.iter().filter_map(|job| job.measured);
    let (from, until) = (measured().map(|part| part.from).min(), measured().map(|part| part.until).max());
    let recorded = until.unwrap_or_default().saturating_sub(from.unwrap_or_default());
    let summary = Summary::of(&seen.ios, recorded);
    let mut remarks = remarks(&seen, is_full);
    let trims: u64 = jobs.iter().map(|job| job.directions.trim.ios).fold(0, u64::saturating_add);
    if trims > 0 {
        remarks.push(format!("{} not recorded", measure::text::counted(trims, "trim")));
    }
    Layers {
        recorded,
        ios: seen.ios.len() as u64,
        groups: summary.groups.iter().map(group).collect(),
        parts: times(&summary.parts),
        limits: seen.limits.iter().map(limit).collect(),
        cost: cost(&seen.cost),
        remarks,
    }
}

/// The threads, times and files of the jobs.
struct OwnIos<'a> {
    workers: HashMap<u32, Vec<Worker<'a>>>,
}

struct Worker<'a> {
    job: &'a JobResult,
    paths: BTreeSet<String>,
}

impl<'a> OwnIos<'a> {
    fn of(jobs: &'a [JobResult]) -> Self {
        let mut workers: HashMap<u32, Vec<Worker<'a>>> = HashMap::new();
        let path = |path: &String| {
            let whole = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
            whole.map_or_else(|_| path.clone(), |whole| whole.to_string_lossy().into_owned())
        };
        for job in jobs {
            let paths = job.echo.paths.iter().map(path).collect();
            workers.entry(job.pid).or_default().push(Worker { job, paths });
        }
        OwnIos { workers }
    }

    /// True for an I/O of a job's thread or of one that helps it, in the job's measured part and on its files. Logs and
    /// what other threads do are not of a job.
    fn has(&self, io: &Io, seen: &Seen, at: Nanos) -> bool {
        let thread = u32::try_from(io.thread.0).unwrap_or(0);
        let process = seen.processes.get(&io.thread).copied();
        let file = io.file.and_then(|file| seen.files.get(file)?.as_ref());
        let is_of = |worker: &Worker<'_>| {
            let is_in = worker
                .job
                .measured
                .is_some_and(|part| part.from <= at.saturating_add(SLACK) && at <= part.until.saturating_add(SLACK));
            let path = file.map(|file| file.path.strip_suffix(" (deleted)").unwrap_or(&file.path));
            is_in && path.is_none_or(|path| worker.paths.contains(path))
        };
        let of_number = |number: u32| self.workers.get(&number).is_some_and(|workers| workers.iter().any(is_of));
        // A helper of a job that is a thread.
        let is_helper = || process == Some(std::process::id()) && thread != placement::thread_id();
        of_number(thread)
            || process.is_some_and(of_number)
            || (file.is_some() && is_helper() && self.workers.values().flatten().any(is_of))
    }
}
