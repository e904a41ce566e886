//! The zones of each file or device that jobs use with `zonemode=zbd`: one state for all workers of a run. That of a
//! zoned device is as the device reports it when the run begins.

use super::prepare::WorkerInput;
use crate::RunError;
use crate::files::{PlannedFile, zone_device};
use load::{DeviceZone, Region, SharedWords, SharedZones, WriteOrder, ZoneKind, ZonedDevice};
use measure::Direction;
use plan::{JobPlan, KeepsOrder, WorkerPlan, ZonePlan, Zoned};
use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use sys::devices::identity::BlockDevice;
use sys::devices::zones::{self, Zone, ZoneCondition};
use sys::files::operations::OpenFlags;
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
    /// Its path, if it is a zoned device.
    device: Option<PathBuf>,
    /// First and last byte of the regions that are written there, and the first worker that does.
    written: Option<(usize, Range<u64>)>,
    /// The largest of the smallest blocks that are written there, and its worker.
    block: Option<(u64, usize)>,
    /// I/Os that all workers may have in flight there.
    in_flight: u64,
}

/// A worker's place among the zones of a file: index of the worker and of the file, and the zones' key.
type Place = (usize, usize, (Identity, u64));

/// Maps the zones that the workers share: one entry per worker and file; none for files without zones. `files` has one
/// entry per worker. Fails if jobs that write to one file with a reset threshold have different regions, or there is no
/// memory.
pub(crate) fn share(
    workers: &[WorkerPlan<'_>],
    files: &[&[PlannedFile]],
    root: &Path,
) -> Result<Vec<Vec<Option<SharedZones>>>, RunError> {
    let mut places: Vec<Place> = Vec::new();
    let mut needs: HashMap<(Identity, u64), Needs> = HashMap::new();
    for (index, (worker, files)) in workers.iter().zip(files).enumerate() {
        let ZonePlan::Zoned(zoned) = worker.job.load.zones else { continue };
        for (number, file) in files.iter().enumerate() {
            let disk = file.zone_size.and_then(|_| zone_device(&file.path, file.kind));
            let path = disk.as_deref().unwrap_or(&file.path);
            let key = (Identity::of(path), file.zone_size.unwrap_or(zoned.size));
            needs.entry(key.clone()).or_default().add(index, worker, &zoned, file);
            places.push((index, number, key));
        }
    }
    let mut found = HashMap::new();
    for (key, needs) in needs {
        needs.check(workers)?;
        let shared = match &needs.device {
            Some(path) => needs.map_device(workers, path, key.1, root)?,
            None => needs.map(key.1)?,
        };
        let device = needs.device.as_ref().and_then(|path| BlockDevice::under(root, path).ok().flatten());
        found.insert(key, (shared, needs.in_flight, device));
    }
    let mut shared: Vec<Vec<_>> = files.iter().map(|files| vec![None; files.len()]).collect();
    for (worker, file, key) in places {
        shared[worker][file] = found.get(&key).map(|(zones, in_flight, device)| {
            let is_kept = keeps_order(workers[worker].job, *in_flight, device.as_ref());
            zones.ordered(if is_kept { WriteOrder::Kept } else { WriteOrder::Any })
        });
    }
    Ok(shared)
}

/// True if the job's writes of a zone arrive in the order in which they are handed over.
fn keeps_order(job: &JobPlan, in_flight: u64, device: Option<&BlockDevice>) -> bool {
    let is_taken = |device: &BlockDevice| {
        let block = u64::from(job.load.block_size.write.largest());
        let most = device.max_sectors_kib().map_or(u64::MAX, |most| most.saturating_mul(1024));
        block <= most && in_flight <= device.queue_requests().unwrap_or(u64::MAX)
    };
    let keeps = engine::spec(job.engine).map(|engine| engine.capabilities.keeps_order).unwrap_or_default();
    !job.depth.offload
        && match keeps {
            KeepsOrder::Never => false,
            // What is verified is read back from where it was planned.
            KeepsOrder::InZones { .. } => job.verify.is_none() && keeps.in_zones(&job.engine_options),
            KeepsOrder::Always => true,
            KeepsOrder::TakenAtOnce => device.is_none_or(is_taken),
        }
}

impl Needs {
    fn add(&mut self, index: usize, worker: &WorkerPlan<'_>, zoned: &Zoned, file: &PlannedFile) {
        let region = file.region;
        self.end = self.end.max(region.end);
        self.in_flight += u64::from(worker.job.depth.depth);
        if file.zone_size.is_some() {
            self.device = self.device.take().or_else(|| zone_device(&file.path, file.kind));
            if worker.job.load.mix.contains(Direction::Write) {
                let (_, written) = self.written.get_or_insert((index, region.start..region.end));
                *written = written.start.min(region.start)..written.end.max(region.end);
                let least = u64::from(worker.job.load.block_size.write.smallest());
                self.block = self.block.max(Some((least, index)));
            }
        }
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

    /// The zones of a zoned device, in memory of all workers. Fails if the device does not report them, or takes no
    /// writes in the region.
    fn map_device(
        &self,
        workers: &[WorkerPlan<'_>],
        path: &Path,
        zone_size: u64,
        root: &Path,
    ) -> Result<SharedZones, RunError> {
        let device = sys::files::operations::open(path, OpenFlags::RDONLY, 0)?;
        let report = zones::report(&device, path)?;
        let within = |zone: &Zone| self.written.as_ref().is_some_and(|(_, written)| written.contains(&zone.start));
        let active = |&(_, zone): &(usize, &Zone)| zone.condition == ZoneCondition::Active;
        let (inside, outside): (Vec<_>, Vec<_>) =
            report.iter().enumerate().filter(active).partition(|(_, zone)| within(zone));
        let device = BlockDevice::under(root, path).ok().flatten();
        let [open, active] = device.map_or([None; 2], |device| device.zone_limits());
        let left = active.map(|most| most.saturating_sub(u32::try_from(outside.len()).unwrap_or(u32::MAX)));
        let refuse = |index: usize, what: String| {
            let job = workers[index].job;
            Err(RunError::Unsupported { job: job.name.clone(), origin: job.origin.clone(), what })
        };
        let smallest = report.iter().filter(|zone| within(zone)).map(|zone| zone.capacity).filter(|&bytes| bytes > 0);
        if let (Some(capacity), Some((block, index))) = (smallest.min(), self.block)
            && block > capacity
        {
            let path = path.display();
            return refuse(index, format!("{capacity} bytes of a zone of {path} can be written, less than bs={block}"));
        }
        if let (Some(0), Some((index, _)), true) = (left, &self.written, inside.is_empty()) {
            let what = format!(
                "{} zones of {} are partly written, which is all that the device allows, and none of them is in the \
                 region; reset or finish some first (blkzone reset, blkzone finish)",
                outside.len(),
                path.display()
            );
            return refuse(*index, what);
        }
        let open_most = open.into_iter().chain(left).min();
        let limited = open_most.is_some() || self.slots > 0;
        let open: Vec<usize> = if limited { inside.iter().map(|(index, _)| *index).collect() } else { Vec::new() };
        let slots = self.slots.max(open_most.map_or(0, |most| most as usize)).max(open.len());
        let zones: Vec<DeviceZone> = report.iter().map(of_report).collect();
        let pages = SharedZones::words(zones.len(), slots).div_ceil(WORDS_PER_PAGE);
        let words = Arc::new(Words(SharedBlocks::new(pages)?));
        Ok(SharedZones::of_device(words, slots, ZonedDevice { zone_size, open_most }, &zones, &open))
    }
}

fn of_report(zone: &Zone) -> DeviceZone {
    let kind = match (zone.condition, zone.kind) {
        (ZoneCondition::ReadOnly | ZoneCondition::Offline, _) => ZoneKind::Unusable,
        (_, sys::devices::zones::ZoneKind::Conventional) => ZoneKind::Conventional,
        (_, sys::devices::zones::ZoneKind::Sequential) => ZoneKind::Sequential,
    };
    DeviceZone { capacity: zone.capacity, written: zone.written, kind }
}

/// Takes back the zones that a worker had when it was killed.
pub(crate) fn abandon(workers: &[WorkerPlan<'_>], prepared: &[WorkerInput], index: usize) {
    for (zones, file) in prepared[index].zones.iter().zip(&prepared[index].files) {
        if let (Some(zones), Some(size)) = (zones, file.zone_size) {
            zones.abandon(workers[index].number, usize::try_from(file.region.end / size).unwrap_or(usize::MAX));
        }
    }
}
