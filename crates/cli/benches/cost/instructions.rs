//! Instructions and allocations per I/O under callgrind: the figures about the loop that a busy machine does not
//! change.
//!
//! A run of many I/Os less a run of few, so that starting up does not count. What the kernel does is not in it.

use super::{Row, plumb, words_of};
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

const FEW: u64 = 40_000;
const MANY: u64 = 140_000;

/// What takes memory from the C library, which is the allocator of the program.
const ALLOCATORS: [&str; 6] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"];

/// What plumb takes in user space for the I/Os between [`FEW`] and [`MANY`].
pub(super) struct Taken {
    pub(super) instructions_per_io: f64,
    /// By the thread that does the I/O; the others look at it from time to time.
    pub(super) allocations: u64,
}

pub(super) fn count(row: &Row, path: &Path) -> io::Result<Taken> {
    let (few, many) = (whole_run(row, path, FEW)?, whole_run(row, path, MANY)?);
    Ok(Taken { instructions_per_io: (many.0 - few.0) / (MANY - FEW) as f64, allocations: many.1.saturating_sub(few.1) })
}

/// Instructions of a whole run, and allocations of its worker.
fn whole_run(row: &Row, path: &Path, ios: u64) -> io::Result<(f64, u64)> {
    let folder = tempfile::tempdir()?;
    let ours = plumb();
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=profile", "--separate-threads=yes"]);
    // A thread: a forked worker has a separate account.
    command.arg(ours.get_program()).args(ours.get_args()).args(["--thread", "--output=report"]);
    command.args(words_of(row, path, ios)).args(row.own);
    let output = command.current_dir(folder.path()).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    let instructions = collected
        .filter(|_| output.status.success())
        .ok_or_else(|| io::Error::other(format!("valgrind over {}: {}: {said}", row.name, output.status)))?;
    Ok((instructions, allocations(&worker(folder.path())?)))
}

/// The profile of the worker: of the threads but the first, which reads the options and reports, the one that did most.
fn worker(folder: &Path) -> io::Result<String> {
    let summary = |profile: &String| {
        let line = profile.lines().find_map(|line| line.strip_prefix("summary: "));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let mut profiles = Vec::new();
    for thread in 2.. {
        let path = folder.join(format!("profile-{thread:02}"));
        if !path.exists() {
            break;
        }
        profiles.push(String::from_utf8_lossy(&fs::read(path)?).into_owned());
    }
    profiles.into_iter().max_by_key(summary).ok_or_else(|| io::Error::other("valgrind left no profile of a worker"))
}

/// Calls of [`ALLOCATORS`] in a profile: a line `cfn=(NUMBER) NAME`, without the name from the second time on, then
/// `calls=COUNT POSITION`.
fn allocations(profile: &str) -> u64 {
    let mut names = HashMap::new();
    let mut called = None;
    let mut calls = 0;
    for line in profile.lines() {
        if let Some((number, name)) = line.trim_start_matches('c').strip_prefix("fn=").and_then(|it| it.split_once(')'))
        {
            if !name.is_empty() {
                names.insert(number, name.trim());
            }
            if line.starts_with('c') {
                called = names.get(number).copied();
            }
        } else if let Some(counts) = line.strip_prefix("calls=")
            && called.is_some_and(|name| ALLOCATORS.contains(&name))
        {
            calls += counts.split(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    calls
}
