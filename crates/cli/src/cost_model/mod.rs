//! `plumb model`: the cost of an I/O by its size, and the gain of more users, from results of sweeps or from sweeps
//! that it runs.

mod show;
mod sweep;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::streams;
use analysis::costs::{self, UserPoint, depth_of};
use analysis::{Load, not_storage};
use formats::printable;
use measure::Direction;
use model::{JobResult, RunResult};
use serde_json::{Value, json};
use session::arguments::SessionArgs;
use show::FittedModel;
use std::path::PathBuf;

/// Fit cost models to sweeps over block sizes, users or depth
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb model --run .               measure here, about a minute and a half, and fit
  plumb model --run /dev/nvme0n1    a device, which is only read
  plumb model --run . --size 1G --time 3s --output costs    save the sweeps as costs/*.json
  plumb model sweep.json            a sweep over block sizes: a job of one user for each size
  plumb model data_ssd.csv          a sweep over users, as plumb parse reads it
  plumb model depth-*.json          a sweep over depth: a file for each depth
  for b in 4k 16k 64k 256k 1m; do words=\"$words --name=b$b --bs=$b --stonewall\"; done
  plumb fio --filename=/dev/sdX --readonly --rw=randread --direct=1 --runtime=2 --time_based \\
    $words --output-format=json | plumb model -

Over block sizes: time per I/O = access time + size / transfer rate (of memory: system call + size /
copy rate); runs that start cold and end cached are a mixture of both. Over users or depth: the
Universal Scalability Law with its peak. ± is the 95 % confidence interval.
More: docs/model.md
Exit status: 0; 1 if no model could be fitted; 4 with --strict if a check found a problem;
128 + signal after a signal")]
pub(crate) struct ModelArgs {
    /// Files with the results of sweeps; - is standard input
    #[arg(required_unless_present = "run", conflicts_with = "run")]
    files: Vec<PathBuf>,
    /// Run the sweeps in this directory, or on this file or block device (only read)
    #[arg(long, value_name = "TARGET")]
    run: Option<PathBuf>,
    /// Size of the data that is read, like 1G; twice as much must fit into memory [default: 256M]
    #[arg(long, value_parser = survey::size)]
    size: Option<u64>,
    /// Time per measurement, like 500ms or 2s [default: 1s]
    #[arg(long, value_parser = sweep::milliseconds)]
    time: Option<u64>,
    /// File for the models, - is standard output; with --run, directory for the results of the sweeps, which is created
    /// if needed [default: standard output; the sweeps are not saved]
    #[arg(long, short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    session: SessionArgs,
}

/// Reads the sweeps, fits the models and prints them.
pub(crate) fn run(args: &ModelArgs) -> Result<u8, Failure> {
    if let Some(target) = &args.run {
        return sweep::run(target, args);
    }
    let own = [("--size", args.size.is_some()), ("--time", args.time.is_some())];
    let own = own.into_iter().find_map(|(option, is_given)| is_given.then_some(option));
    if let Some(option) = own.or_else(|| args.session.given()) {
        return Err(Failure::new(format!("{option} is for sweeps that are measured: plumb model --run TARGET")));
    }
    let mut out = Output::asked(args.output.as_deref())?;
    let mut models: Vec<FittedModel> = Vec::new();
    // Files that give no model alone, each with a level of a sweep over several files.
    let mut open: Vec<RunResult> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for path in &args.files {
        let (found, _) = input::read_results(path, args.session.streams.verbosity())?;
        let mut results: Vec<RunResult> = found.into_iter().map(|located| located.result).collect();
        results.iter_mut().for_each(analysis::judge);
        let of_one = of_results(&path.display().to_string(), &results);
        if of_one.is_empty() {
            names.push(path.display().to_string());
            open.extend(results);
        }
        models.extend(of_one);
    }
    if let [first, .., last] = names.as_slice() {
        models.extend(of_results(&format!("{first} to {last}, {} files", names.len()), &[together(open)]));
    }
    if models.is_empty() {
        return Err(Failure::new(
            "no model can be fitted: it takes three block sizes with one user each, or four numbers of users or depths; \
             plumb model --run TARGET measures them",
        ));
    }
    if args.session.streams.json {
        let models: Vec<Value> = models.into_iter().map(|model| model.document).collect();
        return out.write(&streams::document("model", json!({ "models": models }))?).map(|()| 0);
    }
    let text: String = models.into_iter().map(|model| model.text).collect();
    out.write(&printable::lines(&text)).map(|()| 0)
}

fn together(results: Vec<RunResult>) -> RunResult {
    let jobs = results.iter().flat_map(RunResult::reported_jobs).collect();
    let notes = results.iter().flat_map(|result| result.notes.clone()).collect();
    RunResult { jobs, notes, ..results.into_iter().next().unwrap_or_default() }
}

fn of_results(name: &str, results: &[RunResult]) -> Vec<FittedModel> {
    let mut found = Vec::new();
    for result in results {
        let access = costs::access_model(&costs::size_points(result));
        // The costs of memory are named so.
        let refusal = not_storage(&result.notes, &[]).filter(|_| !costs::is_memory(result));
        let shown = |model| show::access(&model, result).but(refusal.as_ref());
        found.extend(access.map(|model| shown(model).of(name, "time per I/O by block size")));
        let rate = costs::device_rate(result);
        let mixture = rate.and_then(|rate| costs::mixture(&costs::mixture_points(result), rate));
        found.extend(mixture.map(|model| show::mixture(&model).of(name, "from cold to cached, by block size")));
    }
    let refusal = results.iter().find_map(|result| not_storage(&result.notes, &[]));
    for sweep in sweeps(results) {
        let law = costs::scalability(&sweep.points);
        found.extend(law.map(|law| show::scaling(&law, sweep.load).but(refusal.as_ref()).of(name, &sweep.title())));
    }
    found
}

fn pattern(job: &JobResult) -> String {
    formats::echoed::pattern(job).unwrap_or(&job.echo.name).to_owned()
}

fn busiest(job: &JobResult) -> Direction {
    Direction::ALL.into_iter().max_by_key(|&direction| job.directions[direction].ios).unwrap_or(Direction::Read)
}

/// Levels that differ in one load only.
struct LevelSweep {
    pattern: String,
    block_bytes: u32,
    load: Load,
    /// The value of the other load, which all levels share.
    other: u32,
    points: Vec<UserPoint>,
}

impl LevelSweep {
    /// For example `randread of 4096 B by depth, 4 users`.
    fn title(&self) -> String {
        let size = if self.block_bytes > 0 { format!(" of {} B", self.block_bytes) } else { String::new() };
        let other = match self.load {
            _ if self.other == 1 => String::new(),
            Load::Users => format!(", {}", Load::Depth.counted(self.other)),
            Load::Depth => format!(", {}", Load::Users.counted(self.other)),
        };
        format!("{}{size} by {}{other}", self.pattern, self.load.plural())
    }
}

/// Access pattern, smallest and largest block: equal in all levels of a sweep.
type Nature = (String, (u32, u32));

struct Level {
    nature: Nature,
    users: u32,
    depth: u32,
    iops: f64,
}

/// The sweeps over users, each at one depth, then those over depth, each with one number of users.
fn sweeps(results: &[RunResult]) -> Vec<LevelSweep> {
    let levels: Vec<Level> = results.iter().flat_map(RunResult::reported_jobs).filter_map(|job| level(&job)).collect();
    let mut found: Vec<(Nature, LevelSweep)> = Vec::new();
    for load in [Load::Users, Load::Depth] {
        for level in &levels {
            let (value, other) = match load {
                Load::Users => (level.users, level.depth),
                Load::Depth => (level.depth, level.users),
            };
            let point = UserPoint { users: f64::from(value), iops: level.iops };
            let alike = |sweep: &&mut (Nature, LevelSweep)| {
                sweep.0 == level.nature && sweep.1.load == load && sweep.1.other == other
            };
            match found.iter_mut().find(alike) {
                Some((_, sweep)) => sweep.points.push(point),
                None => {
                    let (pattern, (_, block_bytes)) = level.nature.clone();
                    let sweep = LevelSweep { pattern, block_bytes, load, other, points: vec![point] };
                    found.push((level.nature.clone(), sweep));
                }
            }
        }
    }
    let mut sweeps: Vec<LevelSweep> = found.into_iter().map(|(_, sweep)| sweep).collect();
    for sweep in &mut sweeps {
        sweep.points.sort_by(|a, b| a.users.total_cmp(&b.users));
    }
    sweeps
}

fn level(job: &JobResult) -> Option<Level> {
    let iops: f64 = job.directions.iter().filter_map(|(_, found)| found.iops()).sum();
    let nature = (pattern(job), job.echo.block_sizes[busiest(job)]);
    (iops > 0.0).then(|| Level { nature, users: job.workers.max(1), depth: depth_of(job), iops })
}
