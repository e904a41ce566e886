//! Prepares the devices below a job's files: sets their I/O scheduler, and checks that a job with zones can use them.

use crate::error::job_refusal;
use crate::files::{FileKind, PlannedFile};
use measure::Direction;
use model::JobError;
use plan::{JobPlan, ZonePlan, Zoned};
use std::collections::BTreeSet;
use std::path::Path;
use sys::devices::identity::BlockDevice;

/// Sets the scheduler of the devices of all clones of a job, and checks their zone model. Fails if the scheduler of a
/// device cannot be set, or the device does not fit the job.
pub(super) fn prepare(job: &JobPlan, clones: &[Vec<PlannedFile>], root: &Path) -> Result<(), JobError> {
    if let Some(scheduler) = &job.files.handling.scheduler {
        let paths: BTreeSet<&Path> = clones.iter().flatten().map(|file| file.path.as_path()).collect();
        for path in paths {
            switch(job, scheduler, path, root)?;
        }
    }
    match &job.load.zones {
        ZonePlan::Zoned(zoned) => check_zones(job, zoned, clones, root),
        _ => check_plain_writes(job, clones),
    }
}

/// Refuses writes that a zoned device takes only by chance: without `zonemode=zbd` the first one succeeds where it is at
/// a write pointer, and the others fail with EIO. Sequential ones are left to the job, as in fio.
fn check_plain_writes(job: &JobPlan, clones: &[Vec<PlannedFile>]) -> Result<(), JobError> {
    let zoned = clones.iter().flatten().find(|file| file.zone_size.is_some());
    let scattered = job.load.random && job.load.mix.contains(Direction::Write) && job.replay.is_none();
    match zoned.filter(|_| scattered) {
        Some(file) => {
            let what = format_args!(
                "{} is a zoned device, which takes no random writes; add zonemode=zbd: then each goes to the write \
                 pointer of its zone",
                file.path.display()
            );
            Err(job_refusal(job, libc::EINVAL, "zones", what))
        }
        None => Ok(()),
    }
}

/// Writes the scheduler's name to `queue/scheduler` of the device and reads it back.
fn switch(job: &JobPlan, scheduler: &str, path: &Path, root: &Path) -> Result<(), JobError> {
    let fail = |errno: i32, why: &str| {
        let what = format_args!("ioscheduler={scheduler} for {}: {why}", path.display());
        Err(job_refusal(job, errno, "ioscheduler", what))
    };
    // A file that does not exist yet will be on the device of its directory.
    let there = if path.exists() {
        path
    } else {
        path.parent().filter(|up| !up.as_os_str().is_empty()).unwrap_or(Path::new("."))
    };
    let device = match BlockDevice::under(root, there) {
        Ok(Some(device)) => device.whole(),
        // A file system without a block device has no scheduler; fio ignores the option there too.
        Ok(None) => return Ok(()),
        Err(error) => return fail(error.errno().unwrap_or(libc::EIO), &error.to_string()),
    };
    let file = device.directory().join("queue/scheduler");
    if let Err(error) = std::fs::write(&file, scheduler) {
        let known = std::fs::read_to_string(&file).unwrap_or_default();
        let why = format!("{error}; {} knows {}", device.name(), known.trim());
        return fail(error.raw_os_error().unwrap_or(libc::EIO), &why);
    }
    let now = std::fs::read_to_string(&file).unwrap_or_default();
    let holds = now
        .split_whitespace()
        .any(|word| word.trim_matches(['[', ']']) == scheduler && (word.starts_with('[') || !now.contains('[')));
    if holds { Ok(()) } else { fail(libc::EINVAL, &format!("{} has {} instead", device.name(), now.trim())) }
}

/// Checks what a job with zones asks of zoned devices.
fn check_zones(job: &JobPlan, zoned: &Zoned, clones: &[Vec<PlannedFile>], root: &Path) -> Result<(), JobError> {
    for file in clones.iter().flatten() {
        let Some(size) = file.zone_size else { continue };
        let fail = |what: String| {
            Err(job_refusal(job, libc::EINVAL, "zones", format_args!("{}: {what}", file.path.display())))
        };
        let (load, writes) = (&job.load, job.load.mix.contains(Direction::Write));
        if writes && !job.files.direct && file.kind == FileKind::Block {
            return fail("a zoned device is written with direct I/O; add direct=1".to_owned());
        }
        if writes && u64::from(load.block_size.write.largest()) > size {
            return fail(format!("a written block is larger than a zone of {size} bytes; give a smaller bs="));
        }
        let trim = u64::from(load.block_size.trim.smallest());
        if load.mix.contains(Direction::Trim) && trim != size {
            return fail(format!("a trim resets a whole zone; give bs=,,{size}"));
        }
        if job.verify.as_ref().is_some_and(|plan| plan.only) {
            let help = "where a write went depends on what was in the zones then; verify with rw=read";
            return fail(format!("verify_only cannot know what a zoned device holds: {help}"));
        }
        if job.files.handling.open_at_once.is_some() {
            return fail("zoned devices stay open; leave openfiles out".to_owned());
        }
        let limits = BlockDevice::under(root, &file.path).ok().flatten().map_or([None; 2], |found| found.zone_limits());
        let least = limits.into_iter().flatten().min().filter(|_| !zoned.ignores_limits);
        if let (Some(asked), Some(most)) = (zoned.open_most, least)
            && asked > most
        {
            let help = format!("give {most} or less, or ignore_zone_limits=1");
            return fail(format!("max_open_zones={asked} is more than the {most} of the device; {help}"));
        }
    }
    Ok(())
}
