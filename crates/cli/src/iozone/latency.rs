//! The latency files of -Q: one line per record.

use super::child_files;
use crate::failure::Failure;
use iozone::{Pass, Settings};
use model::JobResult;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The stem of the log that a worker writes on the way to the file.
pub(crate) fn stem(settings: &Settings, child: u32) -> Option<String> {
    settings.latencies.then(|| format!(".plumb-iozone-{}-{child}", std::process::id()))
}

/// The file of a pass: a lone worker has files for its first two tests alone.
fn name(pass: Pass, whose: Whose) -> Option<String> {
    if whose == Whose::Only && pass.test > 1 {
        return None;
    }
    child_files::latencies(pass).map(|stem| format!("{stem}.dat"))
}

/// Turns the logs of a pass's workers into iozone's files. The first of `jobs` is the child `crew.first`.
pub(crate) fn convert(
    settings: &Settings,
    pass: Pass,
    jobs: &[JobResult],
    (whose, crew): (Whose, Crew),
) -> Result<(), Failure> {
    for (number, job) in (0..).zip(jobs) {
        let index = crew.first + number;
        let Some(stem) = stem(settings, index) else { return Ok(()) };
        let rows = std::fs::read_to_string(log(&stem, "clat", number)).unwrap_or_default();
        remove(&stem, number);
        let own = iozone::child_pass(settings, pass, index, crew.count);
        let Some(name) = name(own, whose) else { continue };
        let name = if whose == Whose::Child { format!("Child_{index}_{name}") } else { name };
        // The first file of a child has one blank where all others have two.
        let gap = if whose == Whose::Child && (own.test, own.number) == (0, 0) { "" } else { " " };
        let mut text = format!("Offset in kBytes   Latency in microseconds {gap}Transfer size in bytes\n");
        for row in rows.lines() {
            let field =
                |at: usize| row.split(',').nth(at).and_then(|field| field.trim().parse::<u64>().ok()).unwrap_or(0);
            let _ = writeln!(text, "{:10} {:10} {:10}", field(4) / 1024, (field(1) + 500) / 1000, field(3));
        }
        let cpu = job.cpu;
        let _ = write!(
            text,
            "\nSystem time {:10.3} User time {:10.3} Real {:10.3}  (seconds)\n",
            super::seconds(cpu.system),
            super::seconds(cpu.user),
            super::seconds(job.runtime)
        );
        sys::aside::write(Path::new(&name), text.as_bytes()).map_err(|error| Failure::writing(&name, &error))?;
    }
    Ok(())
}

/// The log of one kind of latency that a pass's worker with this number writes.
fn log(stem: &str, kind: &str, number: u32) -> PathBuf {
    PathBuf::from(format!("{stem}_{kind}.{}.log", number + 1))
}

fn remove(stem: &str, number: u32) {
    for kind in ["slat", "lat", "clat"] {
        // Only those exist that the pass had a use for.
        let _ = std::fs::remove_file(log(stem, kind, number));
    }
}

/// Removes the logs of the workers of a pass that failed, whose latencies nobody shall read.
pub(crate) fn forget(settings: &Settings, workers: usize) {
    for number in (0..).take(workers) {
        if let Some(stem) = stem(settings, number) {
            remove(&stem, number);
        }
    }
}

/// Which children some jobs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crew {
    /// The number of the first.
    pub(crate) first: u32,
    /// How many there are in all, here and elsewhere.
    pub(crate) count: u32,
}

impl Crew {
    /// All of these.
    pub(crate) fn all(jobs: &[JobResult]) -> Crew {
        Crew { first: 0, count: u32::try_from(jobs.len()).unwrap_or(u32::MAX) }
    }
}

/// Whose latencies a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The run's one worker's.
    Only,
    /// A child's.
    Child,
}
