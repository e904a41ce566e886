//! The zones of each file or device that jobs use with `zonemode=zbd`: one state for all workers of a run.

use crate::RunError;
use crate::files::PlannedFile;
use load::{Region, SharedWords, SharedZones};
use measure::Direction;
use plan::{WorkerPlan, ZonePlan, Zoned};
use std::collections::HashMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use sys::machine::shared_memory::SharedBlocks;

const WORDS_PER_PAGE: usize = 512;

#[derive(Debug)]
struct Words(SharedBlocks<[AtomicU64; WORDS_PER_PAGE]>);

impl SharedWords for Words {
    fn word(&self, index: usize) -> &AtomicU64 {
        &self.0[index / WORDS_PER_PAGE][index % WORDS_PER_PAGE]
    }
}

/// A file or device, under whatever name it is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    Device(u64),
    File {
        device: u64,
        inode: u64,
    },
    /// It does not exist yet.
    Name(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Identity {
        match std::fs::metadata(path) {
            Ok(found) if found.file_type().is_block_device() => Identity::Device(found.rdev()),
            Ok(found) => Identity::File { device: found.dev(), inode: found.ino() },
            Err(_) => Identity::Name(path.to_owned()),
        }
    }
}

/// Requirements of all workers on the zones of one file.
#[derive(Debug, Default)]
struct Needs {
    /// End of the last region, in bytes.
    end: u64,
    /// Largest limit of open zones; 0 without one.
    slots: usize,
    /// Workers that write to it with a reset threshold, and their regions.
    with_threshold: Vec<(usize, Region)>,
}

/// A worker's place among the zones of a file: index of the worker and of the file, and the zones' key.
type Place = (usize, usize, (Identity, u64));

/// Maps the zones that the workers share: one entry per worker and file; none for files without zones. `files` has one
/// entry per worker. Fails if jobs that write to one file with a reset threshold have different regions, or there is no
/// memory.
pub(crate) fn share(
    workers: &[WorkerPlan<'_>],
    files: &[&[PlannedFile]],
) -> Result<Vec<Vec<Option<SharedZones>>>, RunError> {
    let mut places: Vec<Place> = Vec::new();
    let mut needs: HashMap<(Identity, u64), Needs> = HashMap::new();
    for (index, (worker, files)) in workers.iter().zip(files).enumerate() {
        let ZonePlan::Zoned(zoned) = worker.job.load.zones else { continue };
        for (number, file) in files.iter().enumerate() {
            let key = (Identity::of(&file.path), zoned.size);
            needs.entry(key.clone()).or_default().add(index, worker, &zoned, file.region);
            places.push((index, number, key));
        }
    }
    let mut zones = HashMap::new();
    for (key, needs) in needs {
        needs.check(workers)?;
        zones.insert(key.clone(), needs.map(key.1)?);
    }
    let mut shared: Vec<Vec<_>> = files.iter().map(|files| vec![None; files.len()]).collect();
    for (worker, file, key) in places {
        shared[worker][file] = zones.get(&key).cloned();
    }
    Ok(shared)
}

impl Needs {
    fn add(&mut self, index: usize, worker: &WorkerPlan<'_>, zoned: &Zoned, region: Region) {
        self.end = self.end.max(region.end);
        self.slots = self.slots.max(zoned.open_most.map_or(0, |most| most as usize));
        if worker.job.load.mix.contains(Direction::Write) && zoned.reset_threshold.is_some() {
            self.with_threshold.push((index, region));
        }
    }

    /// A threshold is a share of a job's region, and the jobs count their resets together (`zone_reset_frequency`).
    fn check(&self, workers: &[WorkerPlan<'_>]) -> Result<(), RunError> {
        let Some((first, region)) = self.with_threshold.first() else { return Ok(()) };
        let Some((other, _)) = self.with_threshold.iter().find(|(_, other)| other != region) else { return Ok(()) };
        let job = workers[*first].job;
        let what = format!(
            "zone_reset_threshold is for jobs that write to the same part of a file, and job `{}` writes to another; \
             give both the same offset= and size=",
            workers[*other].job.name
        );
        Err(RunError::Unsupported { job: job.name.clone(), origin: job.origin.clone(), what })
    }

    fn map(&self, zone: u64) -> Result<SharedZones, RunError> {
        let zones = usize::try_from(self.end / zone.max(1)).unwrap_or(usize::MAX);
        let pages = SharedZones::words(zones, self.slots).div_ceil(WORDS_PER_PAGE);
        Ok(SharedZones::new(Arc::new(Words(SharedBlocks::new(pages)?)), self.slots))
    }
}
