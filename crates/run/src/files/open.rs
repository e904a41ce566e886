//! Opening a worker's files, and what is done to them before its I/O.

use super::file_error;
use super::plan::{FileKind, PlannedFile};
use crate::worker::record::Control;
use engine::Target;
use job::Work;
use job::plan::{AccessAdvice, JobPlan, Mix, SyncMode};
use measure::Direction;
use model::JobError;
use rustix::fs::{Advice, Mode, OFlags, fadvise};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// The open files of a worker, closed when dropped.
pub(crate) struct OpenFiles {
    descriptors: Vec<OwnedFd>,
    /// As engines see them.
    pub(crate) targets: Vec<Target>,
    /// Their paths, for messages.
    pub(crate) paths: Vec<PathBuf>,
}

impl OpenFiles {
    /// Opens `files`, drops their cache or reads them into it, as the job wants.
    ///
    /// # Errors
    /// When a file cannot be opened as the job wants it, or not be read into the cache.
    pub(crate) fn open(job: &JobPlan, files: &[PlannedFile], control: &Control) -> Result<Self, JobError> {
        let mut open = OpenFiles { descriptors: Vec::new(), targets: Vec::new(), paths: Vec::new() };
        for file in files {
            open.add(job, file)?;
            control.open_files.store(u32::try_from(open.descriptors.len()).unwrap_or(u32::MAX), Relaxed);
        }
        Ok(open)
    }

    fn add(&mut self, job: &JobPlan, file: &PlannedFile) -> Result<(), JobError> {
        // To reserve or cut space is to write, whatever direction stands for it.
        let writable = job.load.mix != Mix::Only(Direction::Read) || job.work == Work::Space;
        self.paths.push(file.path.clone());
        let mut target = Target {
            path: file.path.clone(),
            descriptor: -1,
            size: file.region.end,
            block_device: file.kind == FileKind::Block,
            writable,
        };
        if file.kind != FileKind::NameOnly && job.work.opens_files() {
            let descriptor = open_one(job, file, writable)?;
            target.descriptor = descriptor.as_raw_fd();
            if job.files.invalidate && !job.files.pre_read && file.kind != FileKind::Other {
                drop_cache(&descriptor, &file.path)?;
            }
            if file.kind != FileKind::Other {
                advise(job, file, &descriptor);
            }
            self.descriptors.push(descriptor);
        }
        self.targets.push(target);
        Ok(())
    }

    /// Reads all regions into the page cache, `go_on` permitting.
    ///
    /// # Errors
    /// When a read fails.
    pub(crate) fn pre_read(&self, files: &[PlannedFile], go_on: &dyn Fn() -> bool) -> Result<(), JobError> {
        let mut buffer = vec![0; 1 << 20];
        for (file, descriptor) in files.iter().zip(&self.descriptors) {
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

    /// Drops the pages of one target from the cache, when a pass over it starts anew.
    pub(crate) fn drop_cache(&self, target: u32) {
        if let Some(descriptor) = self.descriptors.get(target as usize) {
            // The first drop, before the job, was checked; this one is the same call on the same file.
            let _ = fadvise(descriptor, 0, None, Advice::DontNeed);
        }
    }
}

/// Tells the kernel in which order the region will be used.
fn advise(job: &JobPlan, file: &PlannedFile, descriptor: &OwnedFd) {
    let order = match job.files.advice {
        AccessAdvice::None => return,
        AccessAdvice::ByLoad if job.load.random => Advice::Random,
        AccessAdvice::ByLoad | AccessAdvice::Sequential => Advice::Sequential,
        AccessAdvice::Random => Advice::Random,
        AccessAdvice::NoReuse => Advice::NoReuse,
    };
    let length = NonZeroU64::new(file.region.end - file.region.start);
    // Only advice: a file system that does not take it (EINVAL on some) loses nothing.
    let _ = fadvise(descriptor, file.region.start, length, order);
}

fn drop_cache(descriptor: &OwnedFd, path: &Path) -> Result<(), JobError> {
    fadvise(descriptor, 0, None, Advice::DontNeed).map_err(|error| file_error("drop the cache of", path, error, ""))
}

fn open_one(job: &JobPlan, file: &PlannedFile, writable: bool) -> Result<OwnedFd, JobError> {
    let mut flags = OFlags::CLOEXEC | if writable { OFlags::RDWR } else { OFlags::RDONLY };
    if writable && job.files.may_create && file.kind == FileKind::Regular {
        flags |= OFlags::CREATE;
    }
    if job.files.direct {
        flags |= OFlags::DIRECT;
    }
    flags |= match job.files.sync {
        SyncMode::None => OFlags::empty(),
        SyncMode::Sync => OFlags::SYNC,
        SyncMode::DataSync => OFlags::DSYNC,
    };
    rustix::fs::open(&file.path, flags, Mode::from_raw_mode(0o644)).map_err(|error| {
        let advice = match error {
            rustix::io::Errno::INVAL if job.files.direct => {
                " (its file system has no O_DIRECT; use direct=0, or a file on another file system)"
            }
            rustix::io::Errno::BUSY => " (somebody else holds the device for himself)",
            rustix::io::Errno::ROFS => " (the file system is mounted read-only)",
            rustix::io::Errno::MFILE => " (each worker opens all its files; raise ulimit -n, or make nrfiles smaller)",
            _ => "",
        };
        file_error("open", &file.path, error, advice)
    })
}
