//! Reads an I/O log once: its files, the part of each that is used, and the directions.

use super::source::Source;
use crate::error::job_refusal;
use crate::files::{FileKind, NOT_PLANNED, PlannedFile, clone_index, kind_and_size};
use crate::shared::capabilities::needs_files;
use formats::iolog::{Adapt, Event, Place, Reader};
use measure::{Direction, PerDirection};
use model::JobError;
use plan::{JobPlan, ReplayPlan};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use sys::devices::identity::{BlockDevice, DeviceNumber};

/// The log that one worker replays, and what was found in it.
#[derive(Clone, Debug)]
pub(crate) struct ReplayLog {
    pub(crate) source: Source,
    pub(crate) files: Vec<PlannedFile>,
    /// For each file or device of the log, the index of the file in `files`.
    pub(crate) targets: Vec<u32>,
    /// True for each direction in which it transfers data.
    pub(crate) moves: PerDirection<bool>,
    /// Largest read or write in bytes.
    pub(crate) largest: u32,
    /// Smallest write in bytes; `None` without writes.
    pub(crate) smallest_write: Option<u32>,
    /// Greatest common divisor of the lengths of all writes; 0 without writes.
    pub(crate) step: u32,
    /// Devices that the log names only by device number, which may be another device on this machine.
    pub(crate) by_number: Vec<PathBuf>,
}

/// The contents of one log.
#[derive(Clone, Debug, Default)]
struct LogContents {
    places: Vec<Place>,
    /// End offset of the I/O on each file or device.
    ends: Vec<u64>,
    moves: PerDirection<bool>,
    largest: u32,
    smallest_write: Option<u32>,
    step: u32,
}

/// The log of each clone of a job. A log that several clones share is read once.
pub(super) fn read_logs(
    job: &JobPlan,
    plan: &ReplayPlan,
    logs: &[PathBuf],
    root: &Path,
) -> Result<Vec<ReplayLog>, JobError> {
    let used = logs.len().min(job.clones as usize);
    let mut records = Vec::with_capacity(used);
    for log in &logs[..used] {
        let source = Source::open(job, log)?;
        let found = read_through(job, plan, &source)?;
        records.push((source, found));
    }
    let worker = |clone: u32| {
        let (source, contents) = &records[clone as usize % records.len()];
        let index = clone_index(clone, job.clones);
        replay_log(job, source, contents, plan.redirect.as_ref(), |place| path_of(job, place, index, root))
    };
    (0..job.clones).map(worker).collect()
}

fn read_through(job: &JobPlan, plan: &ReplayPlan, source: &Source) -> Result<LogContents, JobError> {
    let damaged = |error: formats::FormatError| job_refusal(job, error.errno(), "read_iolog", error);
    let mut reader = Reader::new(source.name.clone(), source.read()).map_err(damaged)?;
    let adapt = Adapt::new(plan);
    let (mut found, mut count) = (LogContents::default(), 0_u64);
    while let Some(event) = reader.next().map_err(damaged)? {
        if let Some(event) = adapt.apply(event) {
            found.take(event);
            count += 1;
        }
    }
    if count == 0 {
        let skipped = if plan.skip == plan::Skip::default() { "" } else { " that replay_skip leaves in" };
        return Err(job_refusal(job, libc::EINVAL, "read_iolog", format!("{} holds no I/O{skipped}", source.name)));
    }
    found.places = reader.places().to_vec();
    Ok(found)
}

impl LogContents {
    fn take(&mut self, event: Event) {
        let direction = event.operation.direction();
        let place = event.place as usize;
        if self.ends.len() <= place {
            self.ends.resize(place + 1, 0);
        }
        let Some(direction) = direction else { return };
        self.moves[direction] = true;
        if direction != Direction::Trim {
            self.largest = self.largest.max(event.length);
        }
        if direction == Direction::Write && event.length > 0 {
            self.smallest_write = Some(self.smallest_write.map_or(event.length, |least| least.min(event.length)));
            self.step = greatest_common(self.step, event.length);
        }
        self.ends[place] = self.ends[place].max(event.offset + u64::from(event.length));
    }
}

fn replay_log(
    job: &JobPlan,
    source: &Source,
    contents: &LogContents,
    redirect: Option<&PathBuf>,
    path_of: impl Fn(&Place) -> Result<PathBuf, JobError>,
) -> Result<ReplayLog, JobError> {
    let (mut files, mut targets, mut known) = (Vec::<PlannedFile>::new(), Vec::new(), HashMap::new());
    let mut by_number = Vec::new();
    for (number, place) in contents.places.iter().enumerate() {
        let path = redirect.map_or_else(|| path_of(place), |path| Ok(path.clone()))?;
        if redirect.is_none() && matches!(place, Place::Device { .. }) {
            by_number.push(path.clone());
        }
        // With a redirection all I/O is on place 0.
        let end = contents.ends.get(number).copied().unwrap_or(0);
        let target = *known.entry(path.clone()).or_insert(files.len());
        if target == files.len() {
            let (kind, real_size) = if needs_files(job) { kind_and_size(&path)? } else { (FileKind::NameOnly, 0) };
            let (region, cut_to_zones, zone_size, zone_room) = (NOT_PLANNED, None, None, None);
            files.push(PlannedFile { path, kind, region, real_size, cut_to_zones, zone_size, zone_room });
        }
        let file = &mut files[target];
        file.region.end = file.region.end.max(end);
        targets.push(u32::try_from(target).unwrap_or(u32::MAX));
    }
    for file in files.iter_mut().filter(|file| file.real_size > 0) {
        // An existing file is not extended or recreated, however far the log goes: a log may name files of other users.
        file.region.end = file.region.end.min(file.real_size);
    }
    let &LogContents { moves, largest, smallest_write, step, .. } = contents;
    let source = source.clone();
    Ok(ReplayLog { source, files, targets, moves, largest, smallest_write, step, by_number })
}

pub(super) const fn greatest_common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common(b, a % b) }
}

fn path_of(job: &JobPlan, place: &Place, index: u32, root: &Path) -> Result<PathBuf, JobError> {
    match place {
        Place::Path(name) => Ok(match job.files.directories.len() {
            0 => PathBuf::from(name),
            many => job.files.directories[index as usize % many].join(name),
        }),
        Place::Device { major, minor } if !needs_files(job) => Ok(PathBuf::from(format!("{major}:{minor}"))),
        Place::Device { major, minor } => {
            let number = DeviceNumber { major: *major, minor: *minor };
            let device = BlockDevice::by_number(root, number).map(|device| root.join("dev").join(device.name()));
            device.filter(|path| path.exists()).ok_or_else(|| {
                let message = format!(
                    "the trace was taken on device {major}:{minor}, and this machine has none; name another device \
                     with replay_redirect="
                );
                job_refusal(job, libc::ENODEV, "read_iolog", message)
            })
        }
    }
}
