//! `plumb calibrate`: what the tool itself adds to latencies on this machine.

use crate::failure::Failure;
use crate::streams::{self, OutputArgs, Streams};
use crate::width;
use analysis::tool_share::sentence;
use fio::{Action, Invocation};
use formats::printable;
use measure::float;
use measure::text;
use model::{Calibration, ClockNote};
use plan::{JobPlan, Plan};
use run::{Calibrating, PlanCalibration, RunOptions};
use serde_json::{Value, json};
use session::machine::{Machine, parser};

/// Show what plumb itself adds to latencies here: loop, wake-up, clock, histogram
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb calibrate                                 the usual engines
  plumb calibrate --engine io_uring --depth 64    one engine, at batches of up to 64 I/Os
  plumb calibrate -- job.fio                      the jobs of a job file: engine, batches, CPUs
  plumb calibrate -- --name=a --ioengine=io_uring --iodepth=8 --cpus_allowed=2
  plumb calibrate --json | jq '.setups[] | {name, loop_ns}'

It does no I/O: no file or device is opened. An I/O that does nothing goes through the loop that
measures latencies, so its latency is the tool's. It takes about half a second per set-up.
Every native run measures the same in less than 100 ms before it begins, unless --no-calibrate.
More: docs/calibration.md")]
pub(crate) struct CalibrateArgs {
    /// Engine to measure [default: psync, libaio and io_uring]
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// Largest number of I/Os that are submitted and reaped together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: Option<u32>,
    #[command(flatten)]
    written: OutputArgs,
    /// A job, in fio's words, after --
    #[arg(last = true, value_name = "JOB", conflicts_with_all = ["engine", "depth"])]
    job: Vec<String>,
}

/// Engines and batches that are measured if none is asked for.
const USUAL: [(&str, u32); 4] = [("psync", 1), ("libaio", 1), ("io_uring", 1), ("io_uring", 32)];

/// Measures the set-ups and prints them.
pub(crate) fn run(args: &CalibrateArgs) -> Result<u8, Failure> {
    let mut out = args.written.open()?;
    let plan = plan(args)?;
    let options = RunOptions { calibration: Calibrating::Thorough, ..RunOptions::default() };
    let calibrated = run::calibrate(&plan, &options)?;
    if let Some(signal) = calibrated.ended_by_signal {
        let status = u8::try_from(128 + signal).unwrap_or(128);
        return Err(Failure::new(format!("ended by signal {signal}: nothing is known yet")).with_status(status));
    }
    if args.written.streams.json {
        out.write(&document(&plan, &calibrated)?)?;
    } else {
        let columns = width::of_stdout().filter(|_| out.is_stdout());
        out.write(&printable::lines(&shown(&plan, &calibrated, &args.written.streams, columns)))?;
    }
    let is_known = |found: &Option<Calibration>| found.as_ref().is_some_and(|found| found.total_ns.is_some());
    Ok(u8::from(!calibrated.jobs.iter().any(is_known)))
}

fn plan(args: &CalibrateArgs) -> Result<Plan, Failure> {
    let words = match (&args.engine, args.depth) {
        _ if !args.job.is_empty() => args.job.clone(),
        (Some(engine), depth) => words(engine, depth.unwrap_or(1)),
        (None, Some(depth)) => USUAL[..3].iter().flat_map(|(engine, _)| words(engine, depth)).collect(),
        (None, None) => USUAL.iter().flat_map(|(engine, depth)| words(engine, *depth)).collect(),
    };
    let machine = Machine::here();
    let parsed =
        parser().command_line(&words, &machine.surroundings()).map_err(|error| Failure::new(error.to_string()))?;
    let Invocation { action: Action::Run(plan), .. } = parsed else {
        return Err(Failure::new(
            "the words after -- are not a job: write a job file or options like --name=a --ioengine=psync",
        ));
    };
    match plan.jobs.iter().find(|job| !job.record.total_latency && !job.record.completion_latency) {
        Some(job) => Err(Failure::new(format!(
            "job `{}`: it measures no latency, so nothing of the tool is in it; leave gtod_reduce or disable_lat out",
            job.name
        ))),
        None => Ok(plan),
    }
}

/// A job of an engine whose batches have up to `depth` I/Os. Only its set-up is used: it does no I/O, so it needs no
/// file.
fn words(engine: &str, depth: u32) -> Vec<String> {
    let name = if depth > 1 { format!("{engine}, up to {depth} at a time") } else { engine.to_owned() };
    let options = [
        format!("--name={name}"),
        format!("--ioengine={engine}"),
        format!("--iodepth={depth}"),
        format!("--iodepth_batch={depth}"),
        format!("--iodepth_batch_complete_max={depth}"),
        "--size=1m".to_owned(),
    ];
    options.into()
}

fn shown(plan: &Plan, calibrated: &PlanCalibration, streams: &Streams, columns: Option<usize>) -> String {
    let jobs: Vec<(&JobPlan, &Calibration)> =
        plan.jobs.iter().zip(&calibrated.jobs).filter_map(|(job, found)| Some((job, found.as_ref()?))).collect();
    let mut text = String::new();
    for (job, found) in &jobs {
        text += &width::for_people(&format!("{}: {}", job.name, sentence(found)), "    ", columns);
    }
    let Some((_, any)) = jobs.first() else { return text };
    text += &width::for_people(&clock(&calibrated.clock, any), "    ", columns);
    if !streams.quiet {
        text.push('\n');
        text += &width::for_people(&conclusion(&jobs), "", columns);
    }
    text
}

fn clock(clock: &ClockNote, found: &Calibration) -> String {
    let Calibration { clock_ns, clock_read_ns, clock_gap_ns, .. } = found;
    // Without a minus before 0.0.
    let rounded = |ppm: f64| (10.0 * ppm).round() / 10.0 + 0.0;
    let drift = clock.drift_ppm.map(|ppm| format!(", drift {:.1} ppm", rounded(ppm))).unwrap_or_default();
    let why = clock.why_not_tsc.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!(
        "clock {}{why}: steps of {clock_ns} ns, {clock_read_ns} ns per read, longest gap between two reads {}{drift}",
        clock.source,
        text::time(float(*clock_gap_ns))
    )
}

/// Two sentences: what is the largest share, and from where on it does not matter.
fn conclusion(jobs: &[(&JobPlan, &Calibration)]) -> String {
    let of = |(job, found): &(&JobPlan, &Calibration)| Some((job.name.clone(), float(found.total_ns?[0])));
    let largest = jobs.iter().filter_map(of).max_by(|a, b| a.1.total_cmp(&b.1));
    match largest {
        Some((_, 0.0)) => "In virtual time plumb adds nothing to a latency. On real engines it does.".to_owned(),
        Some((name, ns)) => format!(
            "plumb adds at most {} to the median latency here ({name}). Above {} that is less than a tenth of it.",
            text::time(ns),
            text::time(10.0 * ns)
        ),
        None => "What plumb adds to latencies could not be measured here. The reasons are above.".to_owned(),
    }
}

fn document(plan: &Plan, calibrated: &PlanCalibration) -> Result<String, Failure> {
    let setup = |(job, found): (&JobPlan, &Option<Calibration>)| {
        let mut value = serde_json::to_value(found)?;
        if let Value::Object(members) = &mut value {
            members.insert("name".to_owned(), json!(job.name));
            members.insert("engine".to_owned(), json!(job.engine));
        }
        Ok(value)
    };
    let setups =
        plan.jobs.iter().zip(&calibrated.jobs).map(setup).collect::<Result<Vec<Value>, serde_json::Error>>()?;
    streams::document("calibrate", json!({ "setups": setups, "clock": calibrated.clock }))
}
