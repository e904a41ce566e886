//! The latency files of -Q: one line per record.

use super::child_files;
use crate::failure::Failure;
use iozone::{Pass, Settings, Test};
use model::JobResult;
use std::fmt::Write;
use std::path::PathBuf;

/// Stem of the raw latency log that a worker writes; it is later converted to iozone's file.
pub(crate) fn stem(settings: &Settings, child: u32) -> Option<String> {
    settings.latencies.then(|| format!(".plumb-iozone-{}-{child}", std::process::id()))
}

/// File name for a pass; a single worker has latency files for write and read only.
fn name(pass: Pass, whose: Whose) -> Option<String> {
    if whose != Whose::Child && !matches!(pass.test, Test::Write | Test::Read) {
        return None;
    }
    child_files::latencies(pass).map(|stem| format!("{stem}.dat"))
}

/// Appends the workers' logs of a pass to iozone's files. The first of `jobs` is the child `range.first`.
pub(crate) fn convert(
    settings: &Settings,
    pass: Pass,
    jobs: &[JobResult],
    whose: Whose,
    range: ChildRange,
) -> Result<(), Failure> {
    // A pass that `-+n` drops has its heading all the same.
    if jobs.is_empty() && settings.latencies && whose == Whose::SingleFirst {
        return name(pass, whose).map_or(Ok(()), |name| child_files::append(&name, &heading(" ")));
    }
    for (number, job) in (0..).zip(jobs) {
        let index = range.first + number;
        let Some(stem) = stem(settings, index) else { return Ok(()) };
        let rows = std::fs::read_to_string(log(&stem, "clat", number)).unwrap_or_default();
        remove(&stem, number);
        let own = iozone::child_pass(settings, pass, index, range.count);
        let Some(name) = name(own, whose) else { continue };
        let name = if whose == Whose::Child { format!("Child_{index}_{name}") } else { name };
        // iozone prints a single space in the header of a child's first file, and two in all others.
        let gap = if whose == Whose::Child && (own.test, own.number) == (Test::Write, 0) { "" } else { " " };
        let mut text = if whose == Whose::Single { String::new() } else { heading(gap) };
        for row in rows.lines() {
            let field =
                |at: usize| row.split(',').nth(at).and_then(|field| field.trim().parse::<u64>().ok()).unwrap_or(0);
            let _ = writeln!(text, "{:10} {:10} {:10}", field(4) / 1024, (field(1) + 500) / 1000, field(3));
        }
        if whose != Whose::Child {
            let (cpu, real) = (job.cpu, job.runtime.as_secs_f64());
            let (system, user) = (cpu.system.as_secs_f64(), cpu.user.as_secs_f64());
            let _ = writeln!(text, "\nSystem time {system:10.3} User time {user:10.3} Real {real:10.3}  (seconds)");
        }
        child_files::append(&name, &text)?;
    }
    Ok(())
}

fn heading(gap: &str) -> String {
    format!("Offset in kBytes   Latency in microseconds {gap}Transfer size in bytes\n")
}

/// Path of the log with one kind of latency, as written by the worker with this number.
fn log(stem: &str, kind: &str, number: u32) -> PathBuf {
    PathBuf::from(format!("{stem}_{kind}.{}.log", number + 1))
}

fn remove(stem: &str, number: u32) {
    for kind in ["slat", "lat", "clat"] {
        // Errors are ignored: only the logs of the kinds that the pass recorded exist.
        let _ = std::fs::remove_file(log(stem, kind, number));
    }
}

/// Removes the workers' logs of a pass that failed.
pub(crate) fn forget(settings: &Settings, workers: usize) {
    for number in (0..).take(workers) {
        if let Some(stem) = stem(settings, number) {
            remove(&stem, number);
        }
    }
}

/// The children that a list of jobs belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChildRange {
    /// Number of the first child.
    pub(crate) first: u32,
    /// Number of all children, including those on other hosts.
    pub(crate) count: u32,
}

impl ChildRange {
    pub(crate) fn all(jobs: &[JobResult]) -> ChildRange {
        ChildRange { first: 0, count: u32::try_from(jobs.len()).unwrap_or(u32::MAX) }
    }
}

/// The kind of worker that a latency file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The only worker of the run, in its first pair of sizes: the file gets its heading.
    SingleFirst,
    /// The only worker of the run, in a later pair of sizes.
    Single,
    /// A child of throughput mode.
    Child,
}
