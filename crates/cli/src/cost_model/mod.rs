//! `plumb model`: the cost of an I/O by its size, and the gain of more users, from results of sweeps or from sweeps
//! that it runs.

mod document;
mod levels;
mod show;
mod sweep;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::streams;
use analysis::costs;
use formats::printable;
use measure::Direction;
use model::{JobResult, RunResult};
use serde_json::{Value, json};
use session::arguments::SessionArgs;
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
    args.session.streams.apply();
    let own = [("--size", args.size.is_some()), ("--time", args.time.is_some())];
    let own = own.into_iter().find_map(|(option, is_given)| is_given.then_some(option));
    if let Some(option) = own.or_else(|| args.session.given()) {
        return Err(Failure::new(format!("{option} is for sweeps that are measured: plumb model --run TARGET")));
    }
    let mut out = Output::asked(args.output.as_deref())?;
    let mut models: Vec<Named> = Vec::new();
    // Files that give no model alone, each with a level of a sweep over several files.
    let mut open: Vec<RunResult> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for path in &args.files {
        let (found, _) = input::read_results(path)?;
        let results: Vec<RunResult> = found.into_iter().map(|located| located.result).collect();
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

/// A fitted model for a person and for a program.
struct Named {
    text: String,
    document: Value,
}

impl Named {
    fn new((source, title): (&str, &str), shown: &str, mut document: Value) -> Self {
        document["source"] = Value::from(source);
        document["title"] = Value::from(title);
        Named { text: format!("{source}: {title}\n{shown}"), document }
    }
}

/// All jobs as one result.
fn together(results: Vec<RunResult>) -> RunResult {
    let jobs = results.iter().flat_map(RunResult::reported_jobs).collect();
    RunResult { jobs, ..results.into_iter().next().unwrap_or_default() }
}

fn of_results(name: &str, results: &[RunResult]) -> Vec<Named> {
    let mut found = Vec::new();
    for result in results {
        if let Some(model) = costs::access_model(&costs::size_points(result)) {
            let title = "time per I/O by block size";
            found.push(Named::new((name, title), &show::access(&model, result), document::access(&model, result)));
        }
        let rate = costs::device_rate(result);
        if let Some(mixture) = rate.and_then(|rate| costs::mixture(&costs::mixture_points(result), rate)) {
            let title = "from cold to cached, by block size";
            found.push(Named::new((name, title), &show::mixture(&mixture), document::mixture(&mixture)));
        }
    }
    for sweep in levels::sweeps(results) {
        if let Some(law) = costs::scalability(&sweep.points) {
            let shown = show::scaling(&law, sweep.load);
            found.push(Named::new((name, &sweep.title()), &shown, document::scaling(&law, sweep.load)));
        }
    }
    found
}

fn pattern(job: &JobResult) -> String {
    formats::echoed::pattern(job).unwrap_or(&job.echo.name).to_owned()
}

fn busiest(job: &JobResult) -> Direction {
    Direction::ALL.into_iter().max_by_key(|&direction| job.directions[direction].ios).unwrap_or(Direction::Read)
}
