//! `--metrics`, `--metrics-listen`: the numbers of the runs for Prometheus, by node_exporter's textfile collector or by
//! a scrape.

use super::PublishArgs;
use super::forked::HelperEnd;
use super::listen::Listener;
use super::otlp::Sender;
use crate::failure::Failure;
use crate::output::Verbosity;
use crate::safe_files::{self, AtomicFile, Durability};
use formats::openmetrics::{self, RunMetrics};
use model::{Grade, Interval, Monitored, RunResult};
use plan::{JobPlan, Plan, Workload};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// Time between two writes during a run.
const EVERY: Duration = Duration::from_secs(5);
/// Most runs in the file: a matrix of iozone has more than a thousand passes.
const MOST_RUNS: usize = 50;

/// The metrics of the last runs, and where they go.
pub(super) struct Metrics {
    runs: VecDeque<RunMetrics>,
    file: Option<AtomicFile>,
    listener: Option<Listener>,
    sender: Option<Sender>,
    written: Instant,
    failed: Option<Failure>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// While a run goes on: the file waits for its time.
    During,
    /// A run begins or ends.
    Edge,
    /// All runs have ended.
    End,
}

impl Metrics {
    /// Opens what was asked for, before anything is measured; `None` if nothing was. Only a file of metrics of plumb is
    /// replaced.
    pub(super) fn open(args: &PublishArgs, verbosity: Verbosity) -> Result<Option<Self>, Failure> {
        let linger = Duration::from_nanos(args.metrics_linger.unwrap_or_default().get());
        if args.metrics_listen.is_none() && !linger.is_zero() {
            return Err(Failure::new("--metrics-linger: name the address that answers, --metrics-listen PORT"));
        }
        if args.metrics.is_none() && args.metrics_listen.is_none() && args.otlp.is_none() {
            return Ok(None);
        }
        let file = args.metrics.as_deref().map(|path| {
            safe_files::check_if(path, is_ours)?;
            AtomicFile::at(path)
        });
        let file = file.transpose()?;
        let listener = args.metrics_listen.as_deref().map(|given| Listener::open(given, linger)).transpose()?;
        if let Some(listener) = &listener {
            verbosity.remark(&format!("plumb: metrics: {}", listener.url()));
        }
        let sender = args.otlp.as_deref().map(Sender::open).transpose()?;
        Ok(Some(Metrics { runs: VecDeque::new(), file, listener, sender, written: Instant::now(), failed: None }))
    }

    pub(super) fn begin(&mut self, number: u32, title: Option<&str>, plan: &Plan) {
        let names = together(plan.jobs.iter().map(|job| job.name.clone()));
        self.runs.push_back(RunMetrics::new(&number.to_string(), title.unwrap_or(&names), facts_of_plan(plan)));
        if self.runs.len() > MOST_RUNS {
            self.runs.pop_front();
        }
        self.write(Moment::Edge);
    }

    pub(super) fn interval(&mut self, so_far: &Monitored, latest: &Interval) {
        if let Some(run) = self.runs.back_mut() {
            run.interval(so_far, latest);
        }
        self.write(Moment::During);
    }

    pub(super) fn end(&mut self, result: &RunResult, checks: impl Iterator<Item = (&'static str, Grade)>) {
        if let Some(run) = self.runs.back_mut() {
            run.ended(result, checks);
        }
        self.write(Moment::Edge);
    }

    /// Writes the last time, and returns what goes on after the command.
    pub(super) fn finish(mut self, is_interrupted: bool) -> (Result<(), Failure>, Vec<HelperEnd>) {
        self.write(Moment::End);
        let answers = match self.listener.take() {
            Some(listener) if is_interrupted => {
                listener.end();
                None
            }
            listener => listener.map(Listener::finish),
        };
        let sends = self.sender.take().map(Sender::finish);
        (self.failed.take().map_or(Ok(()), Err), answers.into_iter().chain(sends).collect())
    }

    /// The first failure is reported when the command ends: the run goes on.
    fn write(&mut self, moment: Moment) {
        let is_due = moment != Moment::During || self.written.elapsed() >= EVERY;
        if self.failed.is_some() {
            return;
        }
        if let Some(sender) = &mut self.sender {
            self.failed =
                sender.write(&self.runs).err().map(|error| Failure::new(format!("{}: {error}", sender.url())));
        }
        if self.listener.is_none() && (self.file.is_none() || !is_due) {
            return;
        }
        let text = openmetrics::exposition(&self.runs);
        if let Some(listener) = &mut self.listener {
            let written = listener.write(&text);
            let failed = written.err().map(|error| Failure::new(format!("{}: {error}", listener.url())));
            self.failed = self.failed.take().or(failed);
        }
        if let Some(file) = self.file.as_mut().filter(|_| is_due) {
            let durability = if moment == Moment::End { Durability::Synced } else { Durability::Unsynced };
            let written = file.write(text.as_bytes(), durability);
            self.failed = self.failed.take().or(written.err());
            self.written = Instant::now();
        }
    }
}

/// True for a file that begins as each of these does.
fn is_ours(file: &File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(32).read_to_end(&mut head)?;
    Ok(head.starts_with(b"# HELP plumb_run_info "))
}

/// Each of these once, with commas between them.
fn together(words: impl Iterator<Item = String>) -> String {
    let mut found: Vec<String> = Vec::new();
    words.filter(|word| !word.is_empty()).for_each(|word| {
        if !found.contains(&word) {
            found.push(word);
        }
    });
    found.join(",")
}

/// A job in the words of its labels.
struct Facts {
    engine: String,
    rw: String,
    bs: u32,
    iodepth: u32,
    direct: bool,
}

fn facts(jobs: &[Facts], program: &str) -> Vec<(&'static str, String)> {
    let of = |word: fn(&Facts) -> String| together(jobs.iter().map(word));
    vec![
        ("version", program.trim_start_matches("plumb ").to_owned()),
        ("engine", of(|job| job.engine.clone())),
        ("rw", of(|job| job.rw.clone())),
        ("bs", of(|job| job.bs.to_string())),
        ("iodepth", of(|job| job.iodepth.to_string())),
        ("direct", of(|job| u8::from(job.direct).to_string())),
    ]
}

fn facts_of_plan(plan: &Plan) -> Vec<(&'static str, String)> {
    let fact = |job: &JobPlan| {
        let engine = engine::ENGINES.iter().find(|engine| engine.name == job.engine);
        Facts {
            engine: job.engine.to_owned(),
            rw: engine.map_or(String::new(), |engine| Workload::of(job, engine).pattern().to_owned()),
            bs: job.load.size_ranges().iter().map(|(_, sizes)| sizes.1).max().unwrap_or(0),
            iodepth: job.depth.asked(),
            direct: job.files.direct,
        }
    };
    facts(&plan.jobs.iter().map(fact).collect::<Vec<_>>(), env!("CARGO_PKG_VERSION"))
}

/// The metrics of a result with the time of each interval; `None` if it has no intervals.
pub fn of_result(run: &str, result: &RunResult) -> Option<RunMetrics> {
    let monitored = result.monitored.as_ref().filter(|monitored| !monitored.intervals.is_empty())?;
    let jobs = result.reported_jobs();
    let names = together(jobs.iter().map(|job| job.echo.name.clone()));
    let fact = |job: &model::JobResult| Facts {
        engine: job.echo.engine.clone(),
        rw: job.workload.as_ref().map_or(String::new(), |workload| workload.pattern().to_owned()),
        bs: job.echo.block_sizes.iter().map(|(_, sizes)| sizes.1).max().unwrap_or(0),
        iodepth: job.echo.iodepth,
        direct: job.echo.direct,
    };
    let facts = facts(&jobs.iter().map(fact).collect::<Vec<_>>(), &result.environment.program);
    let mut metrics = RunMetrics::new(run, &names, facts).with_history();
    monitored.intervals.iter().for_each(|interval| metrics.interval(monitored, interval));
    metrics.ended(result, super::graded(result));
    Some(metrics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Reads the file until the writer is done: how often, and the sizes that were seen.
    fn read_until(done: &AtomicBool, path: &Path) -> (usize, std::collections::BTreeSet<usize>) {
        let (mut reads, mut sizes) = (0, std::collections::BTreeSet::new());
        while !done.load(Ordering::Relaxed) {
            let Ok(text) = std::fs::read_to_string(path) else { continue };
            let count = |family: &str| text.matches(&format!("\n{family}{{")).count();
            assert!(text.starts_with("# HELP plumb_run_info ") && text.ends_with('\n'), "{text}");
            assert_eq!(count("plumb_run_state"), 3 * count("plumb_run_info"), "{text}");
            reads += 1;
            sizes.insert(text.len());
        }
        (reads, sizes)
    }

    #[test]
    fn no_reader_sees_half_a_file_during_a_thousand_writes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.prom");
        let args = PublishArgs { metrics: Some(path.clone()), ..PublishArgs::default() };
        let mut metrics = Metrics::open(&args, Verbosity::Usual).unwrap().expect("a file was asked for");
        let plan = Plan { jobs: vec![JobPlan::with_defaults("a", "a", "null")], ..Plan::default() };
        let done = AtomicBool::new(false);
        let (reads, sizes) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| read_until(&done, &path));
            for number in 1..=1_000 {
                // The file grows and shrinks.
                metrics.begin(number, Some(&"name".repeat(number as usize * 7 % 50)), &plan);
            }
            done.store(true, Ordering::Relaxed);
            reader.join().unwrap()
        });
        metrics.finish(Default::default()).0.unwrap();
        assert!(reads >= 100 && sizes.len() >= 10, "{reads} reads of {} sizes", sizes.len());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("plumb_run_info{run=\"1000\"") && !text.contains("run=\"950\""), "{text}");
    }
}
