//! Opens a worker's files, and prepares them before its I/O.

use super::regions::{FileKind, PlannedFile, zone_device};
use crate::error::{file_error, refusal};
use crate::shared::control::Control;
use engine::{AccessPattern, Target};
use load::ZoneAction;
use measure::Direction;
use model::JobError;
use plan::{Access, AccessAdvice, Creation, JobPlan, Mix, RangeSync, SyncMode, Work, ZonePlan};
use rustix::fs::{Advice, FlockOperation, Mode, OFlags, SeekFrom, fadvise, fcntl_lock};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use sys::devices::zones::{self, ZoneCommand};
use sys::files::range_lock::{RangeLock, lock_range};

/// The open files of a worker, closed when dropped.
pub(crate) struct OpenFiles {
    descriptors: Vec<OwnedFd>,
    /// The block devices that act on the zones of nodes for raw commands.
    zoned: HashMap<u32, OwnedFd>,
    /// The files as the engine sees them.
    pub(crate) targets: Vec<Target>,
    /// Their paths, for messages.
    pub(crate) paths: Vec<PathBuf>,
    /// All files of the job, if they are opened again or not all at once.
    files: Vec<PlannedFile>,
    /// Index into `files` of each target, if they are not all open at once.
    opened: Vec<usize>,
}

impl OpenFiles {
    /// Opens `files`, and drops their pages from the cache if the job says so. Fails if a file cannot be opened as the
    /// job asks for.
    pub(crate) fn open(job: &JobPlan, files: &[PlannedFile], control: &Control) -> Result<Self, JobError> {
        let mut open = OpenFiles {
            descriptors: Vec::new(),
            zoned: HashMap::new(),
            targets: Vec::new(),
            paths: Vec::new(),
            files: Vec::new(),
            opened: Vec::new(),
        };
        let most = job.open_at_once(files.len());
        if most < files.len() || job.files.handling.unlink_each_pass {
            open.files = files.to_vec();
            open.opened = (0..most).collect();
        }
        for file in &files[..most] {
            open.add(job, file)?;
            control.open_files.store(u32::try_from(open.descriptors.len()).unwrap_or(u32::MAX), Relaxed);
        }
        Ok(open)
    }

    fn add(&mut self, job: &JobPlan, file: &PlannedFile) -> Result<(), JobError> {
        self.paths.push(file.path.clone());
        let mut target = Target {
            path: file.path.clone(),
            descriptor: None,
            size: file.region.end,
            block_device: file.kind == FileKind::Block,
            writable: opens_for_writing(job),
            zone_size: file.zone_size.filter(|_| matches!(job.load.zones, ZonePlan::Zoned(_))),
        };
        if file.kind != FileKind::NameOnly && job.work.opens_files() {
            let descriptor = open_ready(job, file)?;
            super::zone_file::prepare(job, file, &descriptor)?;
            target.descriptor = Some(descriptor.as_raw_fd());
            if target.zone_size.is_some() && file.kind == FileKind::Other {
                let number = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
                self.zoned.extend(zoned_disk(file, target.writable)?.map(|disk| (number, disk)));
            }
            self.descriptors.push(descriptor);
        }
        self.targets.push(target);
        Ok(())
    }

    /// Replaces the file of a target by another, which is opened; the old one is closed. dup3(2) keeps the descriptor
    /// number, so that the engine does not notice. Fails if the file cannot be opened as the job asks for.
    pub(crate) fn replace(&mut self, job: &JobPlan, target: usize, file: usize) -> Result<(), JobError> {
        let Some(planned) = self.files.get(file) else { return Ok(()) };
        self.opened[target] = file;
        let Some(descriptor) = self.descriptors.get_mut(target) else { return Ok(()) };
        if job.load.fsync_on_close || job.load.end_fsync {
            let path = &self.paths[target];
            rustix::fs::fsync(&descriptor).map_err(|error| file_error("fsync", path, error, ""))?;
        }
        let new = open_ready(job, planned)?;
        // Engines that use the file position know the old file's, and seek only to another.
        if let Ok(position) = rustix::fs::tell(&*descriptor) {
            rustix::fs::seek(&new, SeekFrom::Start(position))
                .map_err(|error| file_error("lseek", &planned.path, error, ""))?;
        }
        rustix::io::dup3(&new, descriptor, rustix::io::DupFlags::CLOEXEC)
            .map_err(|error| file_error("open", &planned.path, error, ""))?;
        self.paths[target].clone_from(&planned.path);
        Ok(())
    }

    /// Number of the file that a target has.
    pub(crate) fn file_of(&self, target: u32) -> u32 {
        let exchanged = self.opened.get(target as usize).and_then(|&file| u32::try_from(file).ok());
        exchanged.unwrap_or(target)
    }

    /// The path of the job's file of this number, whether it is open or not.
    pub(crate) fn path_of(&self, file: u32) -> Option<&Path> {
        let all = self.files.get(file as usize).map(|planned| planned.path.as_path());
        all.or_else(|| self.paths.get(file as usize).map(PathBuf::as_path))
    }

    /// Removes the files and creates them again, between two passes. Fails if one cannot be removed or opened again.
    pub(crate) fn recreate(&mut self, job: &JobPlan) -> Result<(), JobError> {
        super::unlink(&self.files);
        for target in 0..self.opened.len() {
            self.replace(job, target, self.opened[target])?;
        }
        Ok(())
    }

    /// Calls sync_file_range(2) on a part of a target, with the flags of the plan; returns 0 or -errno.
    pub(crate) fn sync_range(&self, target: u32, offset: u64, length: u64, how: RangeSync) -> i64 {
        let Some(descriptor) = self.descriptors.get(target as usize) else { return 0 };
        let how = sys::files::operations::SyncRange {
            wait_before: how.wait_before,
            write: how.write,
            wait_after: how.wait_after,
        };
        match sys::files::operations::sync_range(descriptor.as_fd(), offset, length, how) {
            Ok(()) => 0,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    /// Acts on a zone of a target; returns the bytes that are written, if it was asked for them, or errno.
    pub(crate) fn act_on_zone(&self, target: u32, action: ZoneAction, offset: u64, length: u64) -> Result<u64, i32> {
        let own = || self.descriptors.get(target as usize).map(AsFd::as_fd);
        let Some(descriptor) = self.zoned.get(&target).map(AsFd::as_fd).or_else(own) else { return Ok(0) };
        let command = match action {
            ZoneAction::Reset | ZoneAction::Trim => ZoneCommand::Reset,
            ZoneAction::Finish => ZoneCommand::Finish,
            ZoneAction::Report => return zones::written(descriptor, offset),
            ZoneAction::SetBack => return Ok(0),
        };
        zones::command(descriptor, command, offset, length).map(|()| 0)
    }

    /// Calls syncfs(2) for the file system of every target; returns 0 or -errno.
    pub(crate) fn sync_file_systems(&self) -> i64 {
        for descriptor in &self.descriptors {
            if let Err(error) = rustix::fs::syncfs(descriptor) {
                return -i64::from(error.raw_os_error());
            }
        }
        0
    }

    /// Reads all regions into the page cache while `go_on` returns true.
    pub(crate) fn pre_read(&self, files: &[PlannedFile], go_on: &dyn Fn() -> bool) -> Result<(), JobError> {
        let mut buffer = vec![0; 1 << 20];
        for (index, file) in files.iter().enumerate().filter(|(_, file)| file.kind != FileKind::NameOnly) {
            // A file that is not open yet is opened for this purpose.
            let another;
            let descriptor = match self.descriptors.get(index) {
                Some(descriptor) => descriptor,
                None => {
                    another = rustix::fs::open(&file.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                        .map_err(|error| file_error("open", &file.path, error, ""))?;
                    &another
                }
            };
            let mut offset = file.region.start;
            while offset < file.region.end && go_on() {
                let length = usize::try_from(file.region.end - offset).unwrap_or(usize::MAX).min(buffer.len());
                let read = rustix::io::pread(descriptor, &mut buffer[..length], offset)
                    .map_err(|error| file_error("read ahead", &file.path, error, ""))?;
                if read == 0 {
                    break;
                }
                offset += read as u64;
            }
        }
        Ok(())
    }

    /// Reads the first record of each file once, so that the extra cost of a first read is not part of the measured
    /// time. Fails if a record cannot be read in full.
    pub(crate) fn prime(&self, record: &mut [u8]) -> Result<(), JobError> {
        for (descriptor, path) in self.descriptors.iter().zip(&self.paths) {
            let read =
                rustix::io::pread(descriptor, &mut *record, 0).map_err(|error| file_error("prime", path, error, ""))?;
            if read < record.len() {
                let message =
                    format!("{}: holds {read} bytes, less than one record of {}", path.display(), record.len());
                return Err(refusal(libc::ENODATA, "prime", message));
            }
        }
        Ok(())
    }

    /// Writes to the beginning of each file. Fails if not all bytes could be written.
    pub(crate) fn touch(&self, page: &[u8]) -> Result<(), JobError> {
        for (descriptor, path) in self.descriptors.iter().zip(&self.paths) {
            let written =
                rustix::io::pwrite(descriptor, page, 0).map_err(|error| file_error("write", path, error, ""))?;
            if written < page.len() {
                return Err(file_error("write", path, rustix::io::Errno::NOSPC, ""));
            }
        }
        Ok(())
    }

    /// Reads from a target without its engine; returns the number of bytes. Errors: as pread(2).
    pub(crate) fn peek(&self, target: u32, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.descriptors.get(target as usize) {
            Some(descriptor) => Ok(rustix::io::pread(descriptor, buffer, offset)?),
            None => Ok(0),
        }
    }

    /// Applies this lock to a byte range of a target; waits until it is granted. Errors: as fcntl(2).
    pub(crate) fn lock_bytes(&self, target: u32, lock: RangeLock, offset: u64, length: u64) -> std::io::Result<()> {
        match self.descriptors.get(target as usize) {
            Some(descriptor) => lock_range(descriptor.as_fd(), lock, offset, length),
            None => Ok(()),
        }
    }

    /// Closes the files early. Errors of close(2) are ignored: they come too late for any I/O.
    pub(crate) fn close(&mut self) {
        self.descriptors.clear();
    }

    /// Drops the pages of one target from the page cache, when a new pass over it starts.
    pub(crate) fn drop_cache(&self, target: u32) {
        if let Some(descriptor) = self.descriptors.get(target as usize) {
            // The first drop, before the job, was checked; this one is the same call on the same file.
            let _ = fadvise(descriptor, 0, None, Advice::DontNeed);
        }
    }
}

/// True if the files are opened for writing. An engine that allocates or truncates writes, whatever the direction is
/// called.
/// The block device of a node for raw commands.
fn zoned_disk(file: &PlannedFile, writable: bool) -> Result<Option<OwnedFd>, JobError> {
    let Some(disk) = zone_device(&file.path, file.kind) else { return Ok(None) };
    let flags = if writable { OFlags::RDWR } else { OFlags::RDONLY };
    let opened = rustix::fs::open(&disk, flags | OFlags::CLOEXEC, Mode::empty());
    opened.map(Some).map_err(|error| file_error("open", &disk, error, ""))
}

fn opens_for_writing(job: &JobPlan) -> bool {
    let both = job.pass.as_ref().is_some_and(|pass| pass.access == Access::Both);
    both || job.load.mix != Mix::Only(Direction::Read) || job.work == Work::Allocation
}

/// Opens a file, drops its pages from the cache and advises the kernel of the access pattern, as the job asks for.
fn open_ready(job: &JobPlan, file: &PlannedFile) -> Result<OwnedFd, JobError> {
    let descriptor = open_one(job, file)?;
    prepare_pass(job, file, &descriptor)?;
    if file.kind == FileKind::Other {
        return Ok(descriptor);
    }
    if job.files.invalidate && !job.files.pre_read {
        drop_cache(&descriptor, &file.path)?;
    }
    advise(job, file, &descriptor);
    if let Some(hint) = job.files.handling.write_hint {
        sys::files::operations::set_write_hint(descriptor.as_fd(), hint as u64).map_err(|error| {
            file_error("set the write hint of", &file.path, error, " (its file system may have none)")
        })?;
    }
    Ok(descriptor)
}

/// The access pattern that the kernel is advised of; `None` if it is not advised.
pub(crate) fn order(job: &JobPlan) -> Option<AccessPattern> {
    match job.files.advice {
        AccessAdvice::None | AccessAdvice::NoReuse => None,
        AccessAdvice::ByLoad if job.load.random => Some(AccessPattern::Random),
        AccessAdvice::ByLoad | AccessAdvice::Sequential => Some(AccessPattern::Sequential),
        AccessAdvice::Random => Some(AccessPattern::Random),
    }
}

/// Advises the kernel of the access pattern of the region (posix_fadvise(2)).
fn advise(job: &JobPlan, file: &PlannedFile, descriptor: &OwnedFd) {
    let order = match (job.files.advice, order(job)) {
        (AccessAdvice::NoReuse, _) => Advice::NoReuse,
        (_, Some(AccessPattern::Random)) => Advice::Random,
        (_, Some(AccessPattern::Sequential)) => Advice::Sequential,
        (_, None) => return,
    };
    let length = NonZeroU64::new(file.region.end - file.region.start);
    // Advice only: a file system that rejects it (EINVAL on some) works the same.
    let _ = fadvise(descriptor, file.region.start, length, order);
}

fn drop_cache(descriptor: &OwnedFd, path: &Path) -> Result<(), JobError> {
    fadvise(descriptor, 0, None, Advice::DontNeed).map_err(|error| file_error("drop the cache of", path, error, ""))
}

/// O_DSYNC. rustix's DSYNC constant is O_SYNC, which also waits for timestamps and size.
const DATA_SYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());

/// Takes the lock and does the flush that precede a timed pass.
fn prepare_pass(job: &JobPlan, file: &PlannedFile, descriptor: &OwnedFd) -> Result<(), JobError> {
    let Some(pass) = &job.pass else { return Ok(()) };
    if pass.lock {
        let reads = job.load.mix == Mix::Only(Direction::Read);
        let how = if reads { FlockOperation::LockShared } else { FlockOperation::LockExclusive };
        fcntl_lock(descriptor, how).map_err(|error| file_error("lock", &file.path, error, ""))?;
    }
    if pass.flush_before {
        rustix::fs::fsync(descriptor).map_err(|error| file_error("fsync", &file.path, error, ""))?;
    }
    Ok(())
}

/// Removes the file at the path and creates an empty one.
fn recreate(path: &Path, mode: Mode) -> Result<(), JobError> {
    let create = || rustix::fs::open(path, OFlags::CLOEXEC | OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, mode);
    // An existing file may belong to another user: check that it can be written before it is removed.
    create().map_err(|error| file_error("create", path, error, ""))?;
    match rustix::fs::unlink(path) {
        // Another worker on the same file has removed it.
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(file_error("unlink", path, error, "")),
    }
    create().map(drop).map_err(|error| file_error("create", path, error, ""))
}

fn open_one(job: &JobPlan, file: &PlannedFile) -> Result<OwnedFd, JobError> {
    let writable = opens_for_writing(job);
    let mut flags = OFlags::CLOEXEC | if writable { OFlags::RDWR } else { OFlags::RDONLY };
    let pass = job.pass.as_deref();
    let mode = Mode::from_raw_mode(pass.map_or(0o644, |pass| pass.mode));
    let creation = pass.map(|pass| pass.creation);
    if creation == Some(Creation::Replace) && file.kind == FileKind::Regular {
        recreate(&file.path, mode)?;
    }
    let never = matches!(creation, Some(Creation::MustExist | Creation::Replace));
    if !never
        && (writable || job.files.handling.create_on_open)
        && job.files.may_create
        && file.kind == FileKind::Regular
    {
        flags |= OFlags::CREATE;
    }
    if creation == Some(Creation::Truncate) && file.kind == FileKind::Regular {
        flags |= OFlags::TRUNC;
    }
    if job.files.direct {
        flags |= OFlags::DIRECT;
    }
    flags |= match job.files.sync {
        SyncMode::None => OFlags::empty(),
        SyncMode::Sync => OFlags::SYNC,
        SyncMode::DataSync => DATA_SYNC,
    };
    let open = |flags| rustix::fs::open(&file.path, flags, mode);
    let opened = if file.kind == FileKind::Block { without_times_of_access(open, flags) } else { open(flags) };
    opened.map_err(|error| {
        let advice = match error {
            rustix::io::Errno::INVAL if job.files.direct => {
                " (its file system has no O_DIRECT; use direct=0, or a file on another file system)"
            }
            rustix::io::Errno::BUSY => " (another process or the kernel has the device open exclusively)",
            rustix::io::Errno::ROFS => " (the file system is mounted read-only)",
            rustix::io::Errno::MFILE => " (each worker opens all its files; raise ulimit -n, or give openfiles)",
            _ => "",
        };
        file_error("open", &file.path, error, advice)
    })
}

/// Opens a device with O_NOATIME, or without if it is another user's. fio does the same: else each read of a device
/// asks the clock whether its node is due for a time of access (3 to 4 % of the system time of a 4 KiB read from a loop
/// device). Files keep theirs, which belong to the file system.
fn without_times_of_access(
    open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    match open(flags | OFlags::NOATIME) {
        Err(rustix::io::Errno::PERM) => open(flags),
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn a_device_of_another_user_is_opened_with_times_of_access() {
        let null = || rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty());
        let of_another = |flags: OFlags| if flags.contains(OFlags::NOATIME) { Err(Errno::PERM) } else { null() };
        assert!(without_times_of_access(of_another, OFlags::RDONLY).is_ok());
        let of_ours = |flags: OFlags| if flags.contains(OFlags::NOATIME) { null() } else { Err(Errno::IO) };
        assert!(without_times_of_access(of_ours, OFlags::RDONLY).is_ok());
        assert_eq!(without_times_of_access(|_| Err(Errno::BUSY), OFlags::RDONLY).unwrap_err(), Errno::BUSY);
    }
}
