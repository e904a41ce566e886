//! Prepares the devices below a job's files: sets their I/O scheduler, and checks that a job with zones can use them.

use crate::error::job_refusal;
use crate::files::{FileKind, PlannedFile};
use model::JobError;
use plan::{JobPlan, ZonePlan};
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
    if let ZonePlan::Zoned(_) = job.load.zones {
        check_zones(job, clones, root)?;
    }
    Ok(())
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

/// Checks that zones can be emulated: the device must not be a zoned one.
fn check_zones(job: &JobPlan, clones: &[Vec<PlannedFile>], root: &Path) -> Result<(), JobError> {
    let fail = |path: &Path, why: &str| {
        Err(job_refusal(job, libc::EINVAL, "zones", format_args!("{}: {why}", path.display())))
    };
    for file in clones.iter().flatten().filter(|file| file.kind == FileKind::Block) {
        let number = sys::devices::identity::number_under(&file.path).ok();
        let device = number.and_then(|number| BlockDevice::by_number(root, number));
        let model =
            device.and_then(|device| std::fs::read_to_string(device.whole().directory().join("queue/zoned")).ok());
        if model.is_some_and(|model| model.trim() != "none") {
            return fail(&file.path, "is a zoned device, which is not driven yet; zonemode=zbd works on ordinary ones");
        }
    }
    Ok(())
}
