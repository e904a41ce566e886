//! Layout: files are created before any worker starts.
//!
//! A job that reads gets files written in full, with fresh content, and flushed. A job that only writes gets allocated
//! space and nothing else. A file that is large enough is not changed; one that must grow is recreated, or grows in
//! place if other members of a cluster may be at it. All of them wait until each has written it in full, so none begins
//! with a file that has gaps.

use super::regions::{FileKind, PlannedFile, largest_block};
use crate::Event;
use crate::error::{file_error, job_refusal, refusal};
use load::Request;
use load::content::Content;
use measure::text::rounded_size;
use measure::{Direction, Nanos, float};
use model::JobError;
use plan::{Allocate, JobPlan, LaidOutBy, Mix, Operation, Part};
use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate, ftruncate};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::num::NonZeroU64;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The size of a write during layout, unless the job's blocks are larger.
const CHUNK: usize = 1 << 20;
/// Upper limit for large blocks: a block of 4 GiB would need a second buffer of that size.
const LARGEST_CHUNK: usize = 64 << 20;

/// Receives [`Event::Layout`] and [`Event::LayoutProgress`].
pub(crate) type LayoutObserver<'a> = &'a mut dyn FnMut(Event<'_>);

/// Creates the files of all clones of one job. `go_on` is called between writes; `false` ends the layout. Fails if a
/// file cannot be created; the job cannot run then, others can.
pub(crate) fn lay_out(
    job: &JobPlan,
    clones: &[Vec<PlannedFile>],
    observer: LayoutObserver<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), JobError> {
    if made_while_running(job) {
        return must_exist(&job.files.directories);
    }
    let mut to_make = missing(clones);
    if to_make.is_empty() {
        return Ok(());
    }
    if job.verify.as_ref().is_some_and(|plan| plan.only) {
        let (path, size) = to_make.first_key_value().expect("not empty, as just seen");
        let message = format!(
            "{} has fewer than the {size} bytes that verify_only would read, and verify_only makes no file",
            path.display()
        );
        return Err(refusal(libc::ENOENT, "verify_only", message));
    }
    if !job.files.may_create {
        let (path, _) = to_make.first_key_value().expect("not empty, as just seen");
        let message = format!("{} would have to be made, and allow_file_create=0 forbids it", path.display());
        return Err(refusal(libc::EPERM, "create", message));
    }
    must_exist(&job.files.directories)?;
    let total = to_make.values().copied().fold(0, u64::saturating_add);
    let mut layout = Layout { job, writer: None, done: 0, total, observer, go_on };
    for files in clones {
        // A file that clones share is created for the first of them.
        let of_clone: Vec<(&Path, u64)> =
            files.iter().filter_map(|file| to_make.remove_entry(file.path.as_path())).collect();
        if of_clone.is_empty() {
            continue;
        }
        let bytes = of_clone.iter().map(|&(_, size)| size).fold(0, u64::saturating_add);
        let files = u32::try_from(of_clone.len()).unwrap_or(u32::MAX);
        (layout.observer)(Event::Layout { job: &job.name, files, bytes });
        for (path, size) in of_clone {
            layout.make(path, size)?;
        }
    }
    Ok(())
}

/// True if [`lay_out`] writes nothing, and so needs no thread.
pub(crate) fn is_laid_out(job: &JobPlan, clones: &[Vec<PlannedFile>]) -> bool {
    made_while_running(job) || missing(clones).is_empty()
}

/// True if files are created when they are opened or written, not laid out.
fn made_while_running(job: &JobPlan) -> bool {
    job.files.handling.create_on_open || job.files.handling.fill
}

/// Reports the files that workers are going to lay out themselves, in parallel.
pub(crate) fn announce_own(job: &JobPlan, clones: &[Vec<PlannedFile>], observer: LayoutObserver<'_>) {
    if made_while_running(job) || !job.files.may_create {
        return;
    }
    for files in clones.iter().map(std::slice::from_ref).map(missing).filter(|files| !files.is_empty()) {
        observer(Event::Layout {
            job: &job.name,
            files: u32::try_from(files.len()).unwrap_or(u32::MAX),
            bytes: files.values().copied().fold(0, u64::saturating_add),
        });
    }
}

/// The files that must be created, and the size of each that covers all clones.
fn missing(clones: &[Vec<PlannedFile>]) -> BTreeMap<&Path, u64> {
    let mut to_make: BTreeMap<&Path, u64> = BTreeMap::new();
    let files = clones.iter().flatten();
    for file in files.filter(|file| file.kind == FileKind::Regular && file.zone_room.is_none()) {
        if file.region.end > file.real_size {
            let end = to_make.entry(&file.path).or_default();
            *end = file.region.end.max(*end);
        }
    }
    to_make
}

/// Directories within a file's name are created. `directory=` itself must exist: a typo would otherwise fill the wrong
/// disk.
fn must_exist(directories: &[PathBuf]) -> Result<(), JobError> {
    match directories.iter().find(|directory| !directory.is_dir()) {
        None => Ok(()),
        Some(missing) => {
            let message = format!("directory={} is not a directory; make it first", missing.display());
            Err(refusal(libc::ENOENT, "directory", message))
        }
    }
}

/// Removes the regular files of a worker that has finished with them.
pub(crate) fn unlink(files: &[PlannedFile]) {
    for file in files.iter().filter(|file| file.kind == FileKind::Regular) {
        // Another clone of the job may have removed a shared file already.
        let _ = std::fs::remove_file(&file.path);
    }
}

struct Layout<'a> {
    job: &'a JobPlan,
    writer: Option<(Content, Vec<u8>)>,
    done: u64,
    total: u64,
    observer: LayoutObserver<'a>,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl Layout<'_> {
    /// Creates one file. An incomplete file is removed: allocated but unwritten, it would have its full size, so that
    /// the next run would not lay it out again and would read no data from the disk.
    fn make(&mut self, path: &Path, size: u64) -> Result<(), JobError> {
        let trims_only = self.job.load.mix == Mix::Only(Direction::Trim);
        make_directory_of(path)?;
        if let Some(part) = self.job.files.part {
            return self.extend(path, part, size);
        }
        if !trims_only
            && self.job.files.laid_out_by == LaidOutBy::ThisRun
            && let Err(error) = std::fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            // On a read-only file system unlink(2) fails with EROFS even if the file does not exist.
            let operation = if path.exists() { "unlink" } else { "create" };
            return Err(file_error(operation, path, error, ""));
        }
        let made = self.write(path, size);
        if made.is_err() && !trims_only {
            // The first error is reported; a file that cannot be removed is visible to the user.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    /// Makes a file longer of which others write other parts at the same time: it is neither removed nor truncated, and
    /// not written for reads, because no machine knows when the others have done so.
    fn extend(&mut self, path: &Path, part: Part, size: u64) -> Result<(), JobError> {
        if self.job.files.overwrite || self.job.load.mix.contains(Direction::Read) {
            let what = format_args!(
                "{} is shorter than {size} bytes, and members do not lay out one file together; write it first",
                path.display()
            );
            return Err(job_refusal(self.job, libc::EINVAL, "size", what));
        }
        let opened = File::options().write(true).create(true).truncate(false).mode(0o644).open(path);
        let file = opened.map_err(|error| file_error("create", path, error, ""))?;
        // Only the last part cannot cut off what is behind it.
        let truncates = self.job.files.allocate == Allocate::Truncate;
        if !truncates || part.number + 1 == part.of {
            self.reserve(&file, path, size)?;
        }
        self.advance(size);
        Ok(())
    }

    /// Writes or allocates one file, as the job needs it.
    fn write(&mut self, path: &Path, size: u64) -> Result<(), JobError> {
        let files = &self.job.files;
        let in_full = files.overwrite || self.job.load.mix.contains(Direction::Read);
        // What others may have open is not cut off.
        let is_own = files.laid_out_by == LaidOutBy::ThisRun;
        let mut options = File::options();
        options.write(true).create(true).truncate(in_full && is_own).mode(0o644);
        let file = options.open(path).map_err(|error| file_error("create", path, error, ""))?;
        if is_own || files.allocate != Allocate::Truncate {
            self.reserve(&file, path, size)?;
        }
        if in_full {
            if is_own {
                ftruncate(&file, size).map_err(|error| file_error("truncate", path, error, ""))?;
            }
            self.fill(&file, path, size)?;
            if files.create_fsync {
                file.sync_all().map_err(|error| file_error("fsync", path, error, ""))?;
            }
        } else {
            self.advance(size);
        }
        if files.invalidate {
            fadvise(&file, 0, NonZeroU64::new(size), Advice::DontNeed)
                .map_err(|error| file_error("drop the cache of", path, error, ""))?;
        }
        Ok(())
    }

    fn reserve(&self, file: &File, path: &Path, size: u64) -> Result<(), JobError> {
        let no_space =
            |call: &str, error: rustix::io::Errno| file_error(call, path, error, &shortage(path, size, error));
        match self.job.files.allocate {
            Allocate::None => Ok(()),
            Allocate::Truncate => ftruncate(file, size).map_err(|error| no_space("truncate", error)),
            Allocate::Posix => fallocate(file, FallocateFlags::empty(), 0, size)
                .or_else(|error| match (unsupported(error), self.job.files.part, self.job.files.laid_out_by) {
                    (true, None, LaidOutBy::ThisRun) => ftruncate(file, size),
                    (true, ..) => Ok(()),
                    (false, ..) => Err(error),
                })
                .map_err(|error| no_space("posix_fallocate", error)),
            Allocate::Native => fallocate(file, FallocateFlags::empty(), 0, size)
                .or_else(|error| if unsupported(error) { Ok(()) } else { Err(error) })
                .map_err(|error| no_space("fallocate", error)),
            Allocate::KeepSize => fallocate(file, FallocateFlags::KEEP_SIZE, 0, size)
                .map_err(|error| no_space("fallocate with KEEP_SIZE", error)),
        }
    }

    fn fill(&mut self, mut file: &File, path: &Path, size: u64) -> Result<(), JobError> {
        let (mut content, mut buffer) = self.writer.take().unwrap_or_else(|| self.new_writer());
        let mut offset = 0;
        let mut result = Ok(());
        while offset < size {
            if !(self.go_on)() {
                result = Err(refusal(libc::EINTR, "layout", format!("layout of {} was interrupted", path.display())));
                break;
            }
            let length = usize::try_from(size - offset).unwrap_or(usize::MAX).min(buffer.len());
            let request = Request::new(Operation::Write, 0, offset, u32::try_from(length).unwrap_or(u32::MAX));
            content.prepare_start(&mut buffer[..length]);
            content.before_write(&mut buffer[..length], &request, Nanos(offset));
            if let Err(error) = file.write_all(&buffer[..length]) {
                let advice = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
                let advice = advice.map(|errno| shortage(path, size, errno)).unwrap_or_default();
                result = Err(file_error("write", path, error, &advice));
                break;
            }
            offset += length as u64;
            self.advance(length as u64);
        }
        self.writer = Some((content, buffer));
        result
    }

    fn new_writer(&self) -> (Content, Vec<u8>) {
        let largest = usize::try_from(largest_block(self.job)).unwrap_or(CHUNK);
        (
            Content::new(&self.job.buffers, self.job.load.seed.unwrap_or(1), 0),
            vec![0; largest.clamp(CHUNK, LARGEST_CHUNK)],
        )
    }

    fn advance(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        (self.observer)(Event::LayoutProgress { done: self.done, total: self.total });
    }
}

fn unsupported(error: rustix::io::Errno) -> bool {
    matches!(error, rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS)
}

/// The free space of the file system, for errors of too little space.
fn shortage(path: &Path, size: u64, error: rustix::io::Errno) -> String {
    if !matches!(error, rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT | rustix::io::Errno::FBIG) {
        return String::new();
    }
    let directory: PathBuf = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    match rustix::fs::statvfs(&directory) {
        Ok(room) => format!(
            "; the file needs {} and its file system has {} free: give a smaller size= or another directory=",
            rounded_size(float(size)),
            rounded_size(float(room.f_bavail.saturating_mul(room.f_frsize)))
        ),
        Err(_) => format!("; the file needs {}", rounded_size(float(size))),
    }
}

fn make_directory_of(path: &Path) -> Result<(), JobError> {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() && !directory.exists() => std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| file_error("make the directory", directory, error, "")),
        _ => Ok(()),
    }
}
