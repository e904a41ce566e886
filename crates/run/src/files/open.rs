//! Opening a worker's files, and what is done to them before its I/O.

use super::file_error;
use super::plan::{FileKind, PlannedFile};
use crate::worker::record::Control;
use engine::{Order, Target};
use job::Work;
use job::plan::{Access, AccessAdvice, Birth, JobPlan, Mix, RangeSync, SyncMode};
use measure::Direction;
use model::JobError;
use rustix::fs::{Advice, FlockOperation, Mode, OFlags, fadvise, fcntl_lock};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use sys::range_lock::{RangeLock, lock_range};

/// The open files of a worker, closed when dropped.
pub(crate) struct OpenFiles {
    descriptors: Vec<OwnedFd>,
    /// As engines see them.
    pub(crate) targets: Vec<Target>,
    /// Their paths, for messages.
    pub(crate) paths: Vec<PathBuf>,
    /// All files, where they are opened again or not all at once.
    files: Vec<PlannedFile>,
    /// Which file each target is.
    seated: Vec<usize>,
}

impl OpenFiles {
    /// Opens `files`, drops their cache or reads them into it, as the job wants.
    ///
    /// # Errors
    /// When a file cannot be opened as the job wants it, or not be read into the cache.
    pub(crate) fn open(job: &JobPlan, files: &[PlannedFile], control: &Control) -> Result<Self, JobError> {
        let mut open = OpenFiles {
            descriptors: Vec::new(),
            targets: Vec::new(),
            paths: Vec::new(),
            files: Vec::new(),
            seated: Vec::new(),
        };
        let handling = &job.files.handling;
        let most = handling.open_at_once.map_or(files.len(), |most| (most as usize).min(files.len()));
        if most < files.len() || handling.unlink_each_pass {
            open.files = files.to_vec();
            open.seated = (0..most).collect();
        }
        for file in &files[..most] {
            open.add(job, file)?;
            control.open_files.store(u32::try_from(open.descriptors.len()).unwrap_or(u32::MAX), Relaxed);
        }
        Ok(open)
    }

    fn add(&mut self, job: &JobPlan, file: &PlannedFile) -> Result<(), JobError> {
        // To reserve or cut space is to write, whatever direction stands for it.
        let both = job.pass.as_ref().is_some_and(|pass| pass.access == Access::Both);
        let writable = both || job.load.mix != Mix::Only(Direction::Read) || job.work == Work::Space;
        self.paths.push(file.path.clone());
        let mut target = Target {
            path: file.path.clone(),
            descriptor: -1,
            size: file.region.end,
            block_device: file.kind == FileKind::Block,
            writable,
        };
        if file.kind != FileKind::NameOnly && job.work.opens_files() {
            let descriptor = open_ready(job, file, writable)?;
            target.descriptor = descriptor.as_raw_fd();
            self.descriptors.push(descriptor);
        }
        self.targets.push(target);
        Ok(())
    }

    /// Puts a file into a target's place; what was there is closed. The engine goes on with the same descriptor.
    ///
    /// # Errors
    /// When the file cannot be opened as the job wants it.
    pub(crate) fn seat(&mut self, job: &JobPlan, target: usize, file: usize) -> Result<(), JobError> {
        let (Some(planned), Some(descriptor)) = (self.files.get(file), self.descriptors.get_mut(target)) else {
            return Ok(());
        };
        if job.load.fsync_on_close || job.load.end_fsync {
            let path = &self.paths[target];
            rustix::fs::fsync(&descriptor).map_err(|error| file_error("fsync", path, error, ""))?;
        }
        let new = open_ready(job, planned, job.load.mix != Mix::Only(Direction::Read))?;
        rustix::io::dup3(&new, descriptor, rustix::io::DupFlags::CLOEXEC)
            .map_err(|error| file_error("open", &planned.path, error, ""))?;
        self.paths[target].clone_from(&planned.path);
        self.seated[target] = file;
        Ok(())
    }

    /// Removes the files and makes them anew, between two passes.
    ///
    /// # Errors
    /// When one cannot be removed or opened again.
    pub(crate) fn start_afresh(&mut self, job: &JobPlan) -> Result<(), JobError> {
        super::unlink(&self.files);
        for target in 0..self.seated.len() {
            self.seat(job, target, self.seated[target])?;
        }
        Ok(())
    }

    /// sync_file_range(2) of a part of a target, as the plan has it: 0 or -errno.
    pub(crate) fn sync_range(&self, target: u32, offset: u64, length: u64, how: RangeSync) -> i64 {
        let Some(descriptor) = self.descriptors.get(target as usize) else { return 0 };
        let how = sys::file::SyncRange { wait_before: how.wait_before, write: how.write, wait_after: how.wait_after };
        match sys::file::sync_range(descriptor.as_fd(), offset, length, how) {
            Ok(()) => 0,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    /// syncfs(2) of every file system that has one of the targets: 0 or -errno.
    pub(crate) fn sync_file_systems(&self) -> i64 {
        for descriptor in &self.descriptors {
            if let Err(error) = rustix::fs::syncfs(descriptor) {
                return -i64::from(error.raw_os_error());
            }
        }
        0
    }

    /// Reads all regions into the page cache, `go_on` permitting.
    ///
    /// # Errors
    /// When a read fails.
    pub(crate) fn pre_read(&self, files: &[PlannedFile], go_on: &dyn Fn() -> bool) -> Result<(), JobError> {
        let mut buffer = vec![0; 1 << 20];
        for (index, file) in files.iter().enumerate().filter(|(_, file)| file.kind != FileKind::NameOnly) {
            // A file that is not open yet is opened for this.
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

    /// Reads the first record of each file once, so that what the first read costs more is outside of the time.
    ///
    /// # Errors
    /// When it cannot be read whole.
    pub(crate) fn prime(&self, record: &mut [u8]) -> Result<(), JobError> {
        for (descriptor, path) in self.descriptors.iter().zip(&self.paths) {
            let read =
                rustix::io::pread(descriptor, &mut *record, 0).map_err(|error| file_error("prime", path, error, ""))?;
            if read < record.len() {
                let message =
                    format!("{}: holds {read} bytes, less than one record of {}", path.display(), record.len());
                return Err(super::refusal(libc::ENODATA, "prime", message));
            }
        }
        Ok(())
    }

    /// Writes to the beginning of each file.
    ///
    /// # Errors
    /// When not all of it could be written.
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

    /// Reads from a target beside its engine; how much came back.
    ///
    /// # Errors
    /// As pread(2).
    pub(crate) fn peek(&self, target: u32, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.descriptors.get(target as usize) {
            Some(descriptor) => Ok(rustix::io::pread(descriptor, buffer, offset)?),
            None => Ok(0),
        }
    }

    /// Waits until the bytes of a target have this lock.
    ///
    /// # Errors
    /// As fcntl(2).
    pub(crate) fn lock_bytes(&self, target: u32, lock: RangeLock, offset: u64, length: u64) -> std::io::Result<()> {
        match self.descriptors.get(target as usize) {
            Some(descriptor) => lock_range(descriptor.as_fd(), lock, offset, length),
            None => Ok(()),
        }
    }

    /// Closes the files early. What the kernel says of it comes too late for any of them.
    pub(crate) fn close(&mut self) {
        self.descriptors.clear();
    }

    /// Drops the pages of one target from the cache, when a pass over it starts anew.
    pub(crate) fn drop_cache(&self, target: u32) {
        if let Some(descriptor) = self.descriptors.get(target as usize) {
            // The first drop, before the job, was checked; this one is the same call on the same file.
            let _ = fadvise(descriptor, 0, None, Advice::DontNeed);
        }
    }
}

/// Opens a file, drops its cache and tells the kernel what is known of it, as the job wants.
fn open_ready(job: &JobPlan, file: &PlannedFile, writable: bool) -> Result<OwnedFd, JobError> {
    let descriptor = open_one(job, file, writable)?;
    prepare_pass(job, file, &descriptor)?;
    if file.kind == FileKind::Other {
        return Ok(descriptor);
    }
    if job.files.invalidate && !job.files.pre_read {
        drop_cache(&descriptor, &file.path)?;
    }
    advise(job, file, &descriptor);
    if let Some(hint) = job.files.handling.write_hint {
        sys::file::set_write_hint(descriptor.as_fd(), hint as u64).map_err(|error| {
            file_error("set the write hint of", &file.path, error, " (its file system may have none)")
        })?;
    }
    Ok(descriptor)
}

/// The order in which a job goes through its files, as the kernel is told; `None` where it is not.
pub(crate) fn order(job: &JobPlan) -> Option<Order> {
    match job.files.advice {
        AccessAdvice::None | AccessAdvice::NoReuse => None,
        AccessAdvice::ByLoad if job.load.random => Some(Order::Random),
        AccessAdvice::ByLoad | AccessAdvice::Sequential => Some(Order::Sequential),
        AccessAdvice::Random => Some(Order::Random),
    }
}

/// Tells the kernel how the region will be used.
fn advise(job: &JobPlan, file: &PlannedFile, descriptor: &OwnedFd) {
    let order = match (job.files.advice, order(job)) {
        (AccessAdvice::NoReuse, _) => Advice::NoReuse,
        (_, Some(Order::Random)) => Advice::Random,
        (_, Some(Order::Sequential)) => Advice::Sequential,
        (_, None) => return,
    };
    let length = NonZeroU64::new(file.region.end - file.region.start);
    // Only advice: a file system that does not take it (EINVAL on some) loses nothing.
    let _ = fadvise(descriptor, file.region.start, length, order);
}

fn drop_cache(descriptor: &OwnedFd, path: &Path) -> Result<(), JobError> {
    fadvise(descriptor, 0, None, Advice::DontNeed).map_err(|error| file_error("drop the cache of", path, error, ""))
}

/// O_DSYNC. The library's own constant of that name is O_SYNC, which also waits for times and sizes.
const DATA_SYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());

/// The lock and the flush with which a timed pass begins.
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

/// Removes what lies at the path and makes an empty file.
fn make_anew(path: &Path, mode: Mode) -> Result<(), JobError> {
    let create = || rustix::fs::open(path, OFlags::CLOEXEC | OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, mode);
    // What is there already may belong to somebody else: it must be writable before it is removed.
    create().map_err(|error| file_error("create", path, error, ""))?;
    match rustix::fs::unlink(path) {
        // Another worker on the same file was first.
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(file_error("unlink", path, error, "")),
    }
    create().map(drop).map_err(|error| file_error("create", path, error, ""))
}

fn open_one(job: &JobPlan, file: &PlannedFile, writable: bool) -> Result<OwnedFd, JobError> {
    let mut flags = OFlags::CLOEXEC | if writable { OFlags::RDWR } else { OFlags::RDONLY };
    let pass = job.pass.as_deref();
    let mode = Mode::from_raw_mode(pass.map_or(0o644, |pass| pass.mode));
    let birth = pass.map(|pass| pass.birth);
    if birth == Some(Birth::Anew) && file.kind == FileKind::Regular {
        make_anew(&file.path, mode)?;
    }
    let never = matches!(birth, Some(Birth::Exists | Birth::Anew));
    if !never
        && (writable || job.files.handling.create_on_open)
        && job.files.may_create
        && file.kind == FileKind::Regular
    {
        flags |= OFlags::CREATE;
    }
    if birth == Some(Birth::Emptied) && file.kind == FileKind::Regular {
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
    rustix::fs::open(&file.path, flags, mode).map_err(|error| {
        let advice = match error {
            rustix::io::Errno::INVAL if job.files.direct => {
                " (its file system has no O_DIRECT; use direct=0, or a file on another file system)"
            }
            rustix::io::Errno::BUSY => " (somebody else holds the device for himself)",
            rustix::io::Errno::ROFS => " (the file system is mounted read-only)",
            rustix::io::Errno::MFILE => " (each worker opens all its files; raise ulimit -n, or give openfiles)",
            _ => "",
        };
        file_error("open", &file.path, error, advice)
    })
}
