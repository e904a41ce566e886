//! `plumb model`: what an I/O costs by its size, and what more users bring, from results of sweeps.

use crate::check;
use crate::failure::Failure;
use crate::output::Output;
use analysis::costs::{self, AccessModel, Estimate, Scalability};
use analysis::thousands;
use formats::printable;
use formats::results::results;
use measure::Direction;
use model::{JobResult, RunResult};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Fit cost models to sweeps over block sizes, users or depth
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb model sweep.json            a block-size sweep: jobs of one user, one size each, one after another
  plumb model data_ssd.csv          a sweep over users, as plumb parse reads it
  for b in 4k 16k 64k 256k 1m; do words=\"$words --name=b$b --bs=$b --stonewall\"; done
  plumb fio --filename=/dev/sdX --readonly --rw=randread --direct=1 --runtime=2 --time_based $words \\
    --output-format=json | plumb model -

Over block sizes: time per I/O = access time + size / transfer rate (of memory: system call + size / copy rate).
Over users or depth: the Universal Scalability Law with its peak. +- is one standard error.
How to read it: docs/model.md
Exit status: 0; 1 no model could be fitted")]
pub(crate) struct Args {
    /// Results, one or more per sweep; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Jobs alike but for their users.
struct Sweep {
    nature: (String, (u32, u32)),
    result: RunResult,
}

/// Reads the sweeps, fits and shows.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let mut text = String::new();
    for path in &args.files {
        let (found, damages) = results(&check::read(path)?);
        for damage in &damages {
            Failure::new(format!("{}:{}: {}", path.display(), damage.line, damage.what)).report(&mut std::io::stderr());
        }
        let results: Vec<RunResult> = found.into_iter().map(|located| located.result).collect();
        text.push_str(&of_file(path, &results));
    }
    if text.is_empty() {
        return Err(Failure::new(
            "no model can be fitted: it takes three block sizes with one user each, or four numbers of users",
        ));
    }
    Output::stdout().write(&printable::lines(&text)).map(|()| 0)
}

fn of_file(path: &Path, results: &[RunResult]) -> String {
    let mut text = String::new();
    for result in results {
        if let Some(model) = costs::access_model(&costs::size_points(result)) {
            let _ = writeln!(text, "{}: time per I/O by block size", path.display());
            text.push_str(&access(&model, result));
        }
    }
    for sweep in sweeps(results) {
        if let Some(law) = costs::scalability(&costs::user_points(&sweep.result)) {
            let (pattern, (_, bytes)) = &sweep.nature;
            let size = if *bytes > 0 { format!(" of {bytes} B") } else { String::new() };
            let _ = writeln!(text, "{}: {pattern}{size} by users", path.display());
            text.push_str(&scaling(&law));
        }
    }
    text
}

fn sweeps(results: &[RunResult]) -> Vec<Sweep> {
    let mut found: Vec<Sweep> = Vec::new();
    for result in results {
        for job in result.reported_jobs() {
            let nature = (pattern(&job, result), job.echo.block_sizes[busiest(&job)]);
            match found.iter_mut().find(|sweep| sweep.nature == nature) {
                Some(sweep) => sweep.result.jobs.push(job),
                None => found.push(Sweep { nature, result: RunResult { jobs: vec![job], ..RunResult::default() } }),
            }
        }
    }
    found
}

fn pattern(job: &JobResult, result: &RunResult) -> String {
    let given = |options: &[(String, String)]| {
        options.iter().rev().find(|(name, _)| name == "rw" || name == "readwrite").map(|(_, value)| value.clone())
    };
    given(&job.echo.options).or_else(|| given(&result.global_options)).unwrap_or_else(|| job.echo.name.clone())
}

fn busiest(job: &JobResult) -> Direction {
    Direction::ALL.into_iter().max_by_key(|&direction| job.directions[direction].ios).unwrap_or(Direction::Read)
}

fn access(model: &AccessModel, result: &RunResult) -> String {
    let (fixed, rate) =
        if costs::is_memory(result) { ("system call", "copy rate") } else { ("access time", "transfer rate") };
    let mut text = format!(
        "  {fixed:<14}{} µs\n  {rate:<14}{} MB/s\n",
        estimate(model.fixed_s, 1e6),
        estimate(model.bytes_per_second, 1e-6)
    );
    for device in result.monitored.iter().flat_map(|monitored| &monitored.devices).filter(|device| device.top) {
        let kib =
            |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{} KiB", bytes / 1024));
        let _ = writeln!(
            text,
            "  {}: requests up to {}, read-ahead {}: beyond these the line bends",
            device.name,
            kib(device.request_max_bytes),
            kib(device.read_ahead_bytes)
        );
    }
    let _ = writeln!(text, "  {:>12} {:>14} {:>14} {:>8}", "block B", "measured µs", "predicted µs", "error %");
    for (point, predicted) in &model.points {
        let (measured, predicted) = (point.seconds * 1e6, predicted * 1e6);
        let error = 100.0 * (predicted / measured - 1.0);
        let _ = writeln!(text, "  {:>12.0} {measured:>14.2} {predicted:>14.2} {error:>+8.2}", point.bytes);
    }
    text
}

fn scaling(law: &Scalability) -> String {
    let peak = law.peak.map_or_else(
        || "none: the rate never falls".to_owned(),
        |(users, iops)| format!("{} IOPS with {users:.0} users", thousands(iops)),
    );
    let mut text = format!(
        "  one user      {} IOPS\n  contention    {:.4}\n  coherency     {:.6}\n  peak          {peak}\n",
        estimate(law.alone, 1.0),
        law.contention,
        law.coherency
    );
    let _ = writeln!(text, "  {:>12} {:>14} {:>14} {:>8}", "users", "measured IOPS", "predicted IOPS", "error %");
    for (point, predicted) in &law.points {
        let error = 100.0 * (predicted / point.iops - 1.0);
        let _ = writeln!(text, "  {:>12.0} {:>14.0} {predicted:>14.0} {error:>+8.2}", point.users, point.iops);
    }
    text
}

fn estimate(found: Estimate, unit: f64) -> String {
    let error = if found.standard_error.is_finite() {
        format!(" ± {:.3}", found.standard_error * unit)
    } else {
        String::new()
    };
    format!("{:.3}{error}", found.value * unit)
}
