//! The paths of a run to monitor: its files, and the targets of workers that start.

use super::prepare::Prepared;
use crate::files::FileKind;
use crate::shared::capabilities::needs_files;
use monitor::Target;
use plan::WorkerPlan;
use std::collections::BTreeSet;
use std::path::Path;

/// The files whose disks are monitored.
pub(super) fn watched_paths<'a>(workers: &[WorkerPlan<'_>], prepared: &'a [Prepared]) -> Vec<&'a Path> {
    let wanted =
        workers.iter().zip(prepared).filter(|(worker, _)| worker.job.record.disk_usage && needs_files(worker.job));
    let paths: BTreeSet<&Path> =
        wanted.flat_map(|(_, ready)| ready.files.iter().map(|file| file.path.as_path())).collect();
    paths.into_iter().collect()
}

/// The files and block devices of the workers that are about to start.
pub(super) fn targets_of(turn: &[usize], workers: &[WorkerPlan<'_>], prepared: &[Prepared]) -> Vec<Target> {
    let wanted = turn.iter().filter(|&&index| workers[index].job.record.disk_usage && needs_files(workers[index].job));
    let files = wanted.flat_map(|&index| &prepared[index].files);
    let seen = files.filter(|file| matches!(file.kind, FileKind::Regular | FileKind::Block));
    seen.map(|file| Target { path: file.path.clone(), start: file.region.start, end: file.region.end }).collect()
}
