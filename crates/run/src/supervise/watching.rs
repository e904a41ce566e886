//! What of a run is to be watched from outside: the paths of its files, and its targets as their turn comes.

use super::prepare::{Prepared, needs_files};
use crate::files::FileKind;
use job::plan::WorkerPlan;
use model::LowestTraffic;
use monitor::{Target, TrafficWatch};
use std::collections::BTreeSet;
use std::path::Path;

/// What the disks at the bottom moved, where they could be seen under every path.
pub(super) fn lowest_traffic(watch: &mut TrafficWatch) -> Option<LowestTraffic> {
    let disks: Vec<String> = watch.disks().map(|disk| disk.name().to_owned()).collect();
    let traffic = watch.traffic();
    let found = LowestTraffic { disks, read_bytes: traffic.read_bytes, written_bytes: traffic.written_bytes };
    (!found.disks.is_empty() && watch.without_disk().is_empty()).then_some(found)
}

/// The files whose disks are to be watched.
pub(super) fn watched_paths<'a>(workers: &[WorkerPlan<'_>], prepared: &'a [Prepared]) -> Vec<&'a Path> {
    let wanted =
        workers.iter().zip(prepared).filter(|(worker, _)| worker.job.record.disk_usage && needs_files(worker.job));
    let paths: BTreeSet<&Path> =
        wanted.flat_map(|(_, ready)| ready.files.iter().map(|file| file.path.as_path())).collect();
    paths.into_iter().collect()
}

/// The files and block devices of the workers whose turn has come.
pub(super) fn targets_of(turn: &[usize], workers: &[WorkerPlan<'_>], prepared: &[Prepared]) -> Vec<Target> {
    let wanted = turn.iter().filter(|&&index| workers[index].job.record.disk_usage && needs_files(workers[index].job));
    let files = wanted.flat_map(|&index| &prepared[index].files);
    let seen = files.filter(|file| matches!(file.kind, FileKind::Regular | FileKind::Block));
    seen.map(|file| Target { path: file.path.clone(), start: file.region.start, end: file.region.end }).collect()
}
