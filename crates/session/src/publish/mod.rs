//! What a command publishes while it measures: the lines of `--stream`, the metrics of `--metrics`, `--metrics-listen`
//! and `--otlp`.
//!
//! The one place that turns the intervals of the recorder into lines. A command says when a run begins and ends, and
//! gives the run an observer that passes the events on ([`Publisher::around`]). Leaves the shape of lines to `formats`,
//! and a slow reader to `queue.rs`.

mod forked;
mod latest;
mod listen;
mod metrics;
#[cfg_attr(not(feature = "otlp"), path = "../absent/otlp.rs")]
mod otlp;
mod queue;
mod stream;

use crate::failure::Failure;
use crate::output::Verbosity;
use analysis::CHECKS;
use forked::HelperEnd;
use formats::ndjson::{EndedDirection, EndedJob, IntervalLatencies};
use measure::text::{TimeUnit, duration};
use measure::{Direction, Nanos};
use metrics::Metrics;
pub use metrics::of_result;
use model::{DirectionResult, Environment, Grade, Interval, JobResult, Monitored, RunResult};
use monitor::Pace;
use plan::Plan;
use run::{Event, Monitoring, Observer, Request, RunOptions, Start};
use std::path::{Path, PathBuf};
pub use stream::{LineStream, MembersStream};
use stream::{Stream, is_stdout};

/// Where a command publishes what it measures, in words.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PublishArgs {
    /// Write lines of JSON while it measures, to a file, to - (standard output) or to the descriptor N
    #[arg(hide_short_help = true, long, value_name = "FILE|-|fd:N")]
    pub stream: Option<String>,
    /// Write metrics for Prometheus' textfile collector every 5 s and at the end
    #[arg(hide_short_help = true, long, value_name = "FILE.prom")]
    pub metrics: Option<PathBuf>,
    /// Answer Prometheus' scrapes of /metrics while it measures: PORT (this machine alone) or ADDRESS:PORT
    #[arg(hide_short_help = true, long, value_name = "[ADDRESS:]PORT")]
    pub metrics_listen: Option<String>,
    /// Answer scrapes for this time after the end, too, like 30s
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = linger)]
    pub metrics_linger: Option<Nanos>,
    /// Send metrics to this receiver of OpenTelemetry every 5 s, like http://localhost:4318 (feature otlp)
    #[arg(hide_short_help = true, long, value_name = "URL")]
    pub otlp: Option<String>,
}

impl PublishArgs {
    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            ("--stream", self.stream.is_some()),
            ("--metrics", self.metrics.is_some()),
            ("--metrics-listen", self.metrics_listen.is_some()),
            ("--metrics-linger", self.metrics_linger.is_some()),
            ("--otlp", self.otlp.is_some()),
        ];
        all.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }

    /// True if standard output is for the stream alone.
    pub fn prints(&self) -> bool {
        self.stream.as_deref().is_some_and(is_stdout)
    }

    /// Fails if standard output is for the result, too, by this option.
    pub fn check_stdout(&self, result_too: Option<&str>) -> Result<(), Failure> {
        match result_too.filter(|_| self.prints()) {
            Some(option) => Err(Failure::new(format!(
                "--stream -: standard output is for the result already ({option}); name a file for one of them"
            ))),
            None => Ok(()),
        }
    }
}

fn linger(text: &str) -> Result<Nanos, String> {
    duration(text, TimeUnit::Seconds).map_err(|_| format!("`{text}` is not a time; write it like 30s or 2m"))
}

/// All receivers of a run while it goes on.
#[derive(Default)]
pub struct Publisher {
    stream: Option<Stream>,
    metrics: Option<Metrics>,
    /// True if a signal ends the command.
    is_interrupted: bool,
    /// The machine, as the result names it.
    environment: Environment,
    run: RunSoFar,
    /// The processes that still answer scrapes or send a last message when the runs have ended.
    lingering: Vec<HelperEnd>,
}

/// The current run, or the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RunSoFar {
    /// From 1.
    number: u32,
    /// End of the last interval.
    until: Nanos,
    intervals: u64,
    /// Sums over the intervals.
    bytes: [u64; 3],
    ios: [u64; 3],
}

/// This machine and the command line.
fn environment() -> Environment {
    let mut environment = run::machine(Path::new("/"));
    environment.command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    environment
}

impl RunSoFar {
    fn add(&mut self, latest: &Interval) {
        self.until = latest.until;
        self.intervals += 1;
        for direction in 0..3 {
            self.bytes[direction] = self.bytes[direction].saturating_add(latest.bytes[direction]);
            self.ios[direction] = self.ios[direction].saturating_add(latest.ios[direction]);
        }
    }
}

impl Publisher {
    /// Opens what was asked for, before the command opens any file: it may be a descriptor of the caller. `host` is the
    /// name of the machine, if one was given.
    pub fn open(args: &PublishArgs, host: Option<String>, verbosity: Verbosity) -> Result<Self, Failure> {
        let stream = args.stream.as_deref().map(Stream::open).transpose()?;
        let metrics = Metrics::open(args, verbosity)?;
        if stream.is_none() && metrics.is_none() {
            return Ok(Publisher::default());
        }
        let mut environment = environment();
        crate::result_file::name_host(&mut environment, host);
        Ok(Publisher { stream, metrics, environment, ..Publisher::default() })
    }

    /// True if anybody gets anything.
    pub fn is_fed(&self) -> bool {
        self.stream.is_some() || self.metrics.is_some()
    }

    /// The options of a run whose intervals are given away: all of them, however long it takes.
    pub fn options(&self, options: RunOptions) -> RunOptions {
        if !self.is_fed() {
            return options;
        }
        RunOptions { monitoring: Monitoring::Full, pace: Pace::Constant, ..options }
    }

    /// A run begins. Fails if nothing can be given away, before anything is measured.
    pub fn begin(&mut self, title: Option<&str>, plan: &Plan) -> Result<(), Failure> {
        self.run = RunSoFar { number: self.run.number + 1, ..RunSoFar::default() };
        if let Some(metrics) = &mut self.metrics {
            metrics.begin(self.run.number, title, plan);
        }
        match &mut self.stream {
            Some(stream) => stream.begin(self.run, title, &self.environment, plan),
            None => Ok(()),
        }
    }

    /// The observer of a run, which passes everything on to `inner`.
    pub fn around<'a>(&'a mut self, inner: &'a mut dyn Observer) -> PublishObserver<'a> {
        PublishObserver { feed: self, inner }
    }

    /// An interval has ended.
    pub fn interval(&mut self, so_far: &Monitored, latest: &Interval) {
        self.interval_with(so_far, latest, None);
    }

    /// The same with the times of the I/Os of its devices.
    pub fn interval_with(&mut self, so_far: &Monitored, latest: &Interval, latencies: Option<IntervalLatencies>) {
        let from = self.run.until;
        self.run.add(latest);
        if let Some(stream) = &mut self.stream {
            stream.interval(self.run, from, so_far, latest, latencies);
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.interval(so_far, latest);
        }
    }

    /// The run has ended with this result, which the checks have seen.
    pub fn ended(&mut self, result: &RunResult) {
        self.note_end(result.ended_by_signal);
        if let Some(stream) = &mut self.stream {
            stream.judged(self.run, result);
            stream.end(self.run, result);
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.end(result, graded(result));
        }
    }

    /// A run without a result has ended: `plumb watch`.
    pub fn over(&mut self, signal: Option<i32>) {
        self.note_end(signal);
        if let Some(stream) = &mut self.stream {
            stream.end(self.run, &RunResult { ended_by_signal: signal, ..RunResult::default() });
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.end(&RunResult::default(), std::iter::empty());
        }
    }

    /// The run has ended with this result, which the checks have not seen.
    pub fn ended_unchecked(&mut self, result: &RunResult) {
        if self.is_fed() {
            let mut result = result.clone();
            analysis::judge(&mut result);
            self.ended(&result);
        }
    }

    /// Ends it all. Says what was lost, and fails if something could not be given away.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let finish = |metrics: Metrics| metrics.finish(self.is_interrupted);
        let (written, lingering) = self.metrics.take().map_or_else(|| (Ok(()), Vec::new()), finish);
        self.lingering.extend(lingering);
        self.stream.take().map_or(Ok(()), Stream::finish).and(written)
    }

    /// Waits for the processes that still answer scrapes or send a last message. The command has printed all but its
    /// failure.
    pub fn linger(self, done: Result<u8, Failure>) -> Result<u8, Failure> {
        if self.lingering.is_empty() {
            return done;
        }
        // The message of a failure does not wait until scrapes have ended.
        let status = done.unwrap_or_else(|failure| {
            failure.print();
            failure.status
        });
        self.lingering.into_iter().for_each(HelperEnd::wait);
        Ok(status)
    }

    fn note_end(&mut self, signal: Option<i32>) {
        self.is_interrupted |= signal.is_some();
    }

    fn finding(&mut self, sentence: &str) {
        if let Some(stream) = &mut self.stream {
            stream.finding(self.run, sentence);
        }
    }
}

/// An observer that publishes what it sees.
pub struct PublishObserver<'a> {
    feed: &'a mut Publisher,
    inner: &'a mut dyn Observer,
}

impl Observer for PublishObserver<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Sampled { so_far, latest } => self.feed.interval(so_far, latest),
            Event::Finding(sentence) => self.feed.finding(sentence),
            Event::Abandoned(result) => {
                self.feed.ended_unchecked(result);
                // The process ends below this, so no one else prints the failure.
                if let Err(failure) = self.feed.finish() {
                    failure.print();
                }
            }
            _ => {}
        }
        self.inner.event(event);
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        self.inner.request(elapsed)
    }

    fn start(&mut self) -> Start {
        self.inner.start()
    }

    fn ends_layout(&mut self) -> bool {
        self.inner.ends_layout()
    }
}

/// Each check with its grade in this result.
fn graded(result: &RunResult) -> impl Iterator<Item = (&'static str, Grade)> {
    let unchecked = analysis::unchecked(result);
    CHECKS.iter().map(move |check| {
        let of_notes = result.notes.iter().filter(|note| note.check == check.id).map(|note| note.grade).max();
        let of_none = if unchecked.contains(&check.id) { Grade::NotChecked } else { Grade::Trusted };
        (check.id, of_notes.unwrap_or(of_none))
    })
}

/// The percentiles of an `end` line.
const PERCENTS: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// A job of an `end` line.
fn ended_job(job: &JobResult) -> EndedJob<'_> {
    let of = |direction| Some(&job.directions[direction]).filter(|found| found.ios > 0).map(ended_direction);
    EndedJob {
        name: &job.echo.name,
        workers: job.workers,
        error: job.error.as_ref(),
        forgiven_errors: job.forgiven_errors,
        read: of(Direction::Read),
        write: of(Direction::Write),
        trim: of(Direction::Trim),
    }
}

fn ended_direction(found: &DirectionResult) -> EndedDirection {
    let moments = found.latency().map(|latency| &latency.moments);
    let percentile = |&percent: &f64| {
        let value = analysis::percentile_as_fact(found.latency_distribution()?, percent)?;
        Some((percent, value.get()))
    };
    EndedDirection {
        bytes: found.bytes,
        ios: found.ios,
        runtime: found.runtime,
        bytes_per_second: found.bytes_per_second(),
        iops: found.iops(),
        latency_mean_ns: moments.and_then(measure::Moments::mean),
        latency_max_ns: moments.and_then(measure::Moments::maximum).map(Nanos::get),
        latency_percentiles_ns: PERCENTS.iter().filter_map(percentile).collect(),
    }
}
