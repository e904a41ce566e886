//! Instructions per I/O under callgrind: the one figure about the loop that a busy machine does not change.
//!
//! A run of many I/Os less a run of few, so that starting up does not count. What the kernel does is not in it.

use super::{Row, plumb, words_of};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

const FEW: u64 = 40_000;
const MANY: u64 = 140_000;

/// Instructions in user space that plumb takes for one I/O of this row.
pub(super) fn per_io(row: &Row, path: &Path) -> io::Result<f64> {
    let (few, many) = (total(row, path, FEW)?, total(row, path, MANY)?);
    Ok((many - few) / (MANY - FEW) as f64)
}

/// Instructions of a whole run.
fn total(row: &Row, path: &Path, ios: u64) -> io::Result<f64> {
    let folder = tempfile::tempdir()?;
    let ours = plumb();
    let mut command = Command::new("valgrind");
    // A thread: a forked worker has an account of its own.
    command.args(["--tool=callgrind", "--callgrind-out-file=profile"]).arg(ours.get_program()).args(ours.get_args());
    command.args(["--thread", "--output=report"]).args(words_of(row, path, ios));
    let output = command.current_dir(folder.path()).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    collected
        .filter(|_| output.status.success())
        .ok_or_else(|| io::Error::other(format!("valgrind over {}: {}: {said}", row.name, output.status)))
}
