//! Devices that must not be written to: mounted ones, and those that somebody holds.

use super::plan::{FileKind, PlannedFile};
use super::{file_error, refusal};
use job::plan::{JobPlan, Mix};
use measure::Direction;
use model::JobError;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeSet;
use std::path::Path;
use sys::SysError;
use sys::device::BlockDevice;

/// Refuses a job that would write to a block device which is mounted, has a mounted partition, or is held by
/// somebody else (another file system, LVM, md, swap), unless the job says that it may.
///
/// # Errors
/// The refusal, or when a device cannot be looked at.
pub(crate) fn guard_devices(job: &JobPlan, clones: &[Vec<PlannedFile>], root: &Path) -> Result<(), JobError> {
    if job.load.mix == Mix::Only(Direction::Read) || job.files.may_write_mounted {
        return Ok(());
    }
    let devices: BTreeSet<&Path> =
        clones.iter().flatten().filter(|file| file.kind == FileKind::Block).map(|file| file.path.as_path()).collect();
    for path in devices {
        let unknown = |error: SysError| refusal(error.errno().unwrap_or(libc::EIO), "look at", error.to_string());
        let number = sys::device::number_under(path).map_err(unknown)?;
        let device = BlockDevice::by_number(root, number);
        let mounts = device.map(|device| sys::mounts::using(root, &device)).transpose().map_err(unknown)?;
        if let Some(mount) = mounts.unwrap_or_default().first() {
            return Err(refuse(job, path, &format!("is mounted at {}", mount.point.display())));
        }
        match rustix::fs::open(path, OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
            Err(rustix::io::Errno::BUSY) => {
                return Err(refuse(job, path, "is in use (a file system, swap, LVM or RAID holds it)"));
            }
            Err(error) => return Err(file_error("open", path, error, "")),
            Ok(_closed_at_once) => {}
        }
    }
    Ok(())
}

fn refuse(job: &JobPlan, path: &Path, why: &str) -> JobError {
    let message = format!(
        "job `{}` ({}): {} {why}, and writing to it would destroy data; unmount it, or set allow_mounted_write=1 \
         if that is what you want",
        job.name,
        job.origin,
        path.display()
    );
    refusal(libc::EBUSY, "open", message)
}
