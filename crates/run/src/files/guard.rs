//! Devices that must not be written to: mounted ones, and those that somebody holds.

use super::plan::{FileKind, PlannedFile};
use super::{file_error, refusal};
use job::plan::{JobPlan, Mix};
use measure::Direction;
use model::JobError;
use rustix::fs::{Mode, OFlags, major, minor};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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
        let found = fs::metadata(path).map_err(|error| file_error("stat", path, error, ""))?;
        let number = format!("{}:{}", major(found.rdev()), minor(found.rdev()));
        if let Some(place) = mounted_at(root, &number)? {
            return Err(refuse(job, path, &format!("is mounted at {place}")));
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

/// Where the device, or a partition of it, is mounted.
fn mounted_at(root: &Path, number: &str) -> Result<Option<String>, JobError> {
    let path = root.join("proc/self/mountinfo");
    let text = fs::read_to_string(&path).map_err(|error| file_error("read", &path, error, ""))?;
    let mut numbers = vec![number.to_owned()];
    let directory = root.join("sys/dev/block").join(number);
    if let Ok(entries) = fs::read_dir(&directory) {
        let partitions = entries.flatten().filter(|entry| entry.path().join("partition").exists());
        numbers.extend(partitions.filter_map(|entry| fs::read_to_string(entry.path().join("dev")).ok()));
    }
    // proc(5), mountinfo: id, parent, major:minor, root, mount point, ...
    let mount = text.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(2);
        let device = fields.next()?;
        let place = fields.nth(1)?;
        numbers.iter().any(|number| number.trim() == device).then(|| place.to_owned())
    });
    Ok(mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_partition_is_found_through_its_disk() {
        let root = tempfile::tempdir().unwrap();
        let partition = root.path().join("sys/dev/block/8:0/sda1");
        fs::create_dir_all(&partition).unwrap();
        fs::write(partition.join("partition"), "1\n").unwrap();
        fs::write(partition.join("dev"), "8:1\n").unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let mounts = "22 1 8:1 / /home rw - ext4 /dev/sda1 rw\n23 1 0:5 / /proc rw - proc proc rw\n";
        fs::write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
        assert_eq!(mounted_at(root.path(), "8:0").unwrap().as_deref(), Some("/home"));
        assert_eq!(mounted_at(root.path(), "8:1").unwrap().as_deref(), Some("/home"));
        assert_eq!(mounted_at(root.path(), "8:2").unwrap(), None);
    }
}
