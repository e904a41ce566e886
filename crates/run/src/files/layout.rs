//! Layout: files are made before any worker starts.
//!
//! A job that reads gets files written in full, with fresh content, flushed. A job that only writes gets the space
//! and nothing else. A file that is large enough is left alone; one that must grow is made anew.

use super::plan::{FileKind, PlannedFile, largest_block};
use super::{file_error, refusal};
use crate::Observer;
use engine::Operation;
use job::plan::{Allocate, JobPlan, Mix};
use load::Request;
use load::content::Content;
use measure::{Direction, Nanos};
use model::JobError;
use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate, ftruncate};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::num::NonZeroU64;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The size of a write during layout, unless the job's blocks are larger.
const CHUNK: usize = 1 << 20;
/// However large the blocks are: one of 4 GiB would want as much memory once more.
const LARGEST_CHUNK: usize = 64 << 20;

/// Makes the files of all clones of one job. `go_on` is asked between writes.
///
/// # Errors
/// When a file cannot be made; the job cannot run then, others can.
pub(crate) fn lay_out(
    job: &JobPlan,
    clones: &[Vec<PlannedFile>],
    observer: &mut dyn Observer,
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
        // A file that clones share is made for the first of them.
        let of_clone: Vec<(&Path, u64)> =
            files.iter().filter_map(|file| to_make.remove_entry(file.path.as_path())).collect();
        if of_clone.is_empty() {
            continue;
        }
        let bytes = of_clone.iter().map(|&(_, size)| size).fold(0, u64::saturating_add);
        layout.observer.layout(&job.name, u32::try_from(of_clone.len()).unwrap_or(u32::MAX), bytes);
        for (path, size) in of_clone {
            layout.make(path, size)?;
        }
    }
    Ok(())
}

/// Whether [`lay_out`] has nothing to do.
pub(crate) fn is_laid_out(job: &JobPlan, clones: &[Vec<PlannedFile>]) -> bool {
    !made_while_running(job) && missing(clones).is_empty()
}

/// Files come into being when they are opened, or written.
fn made_while_running(job: &JobPlan) -> bool {
    job.files.handling.create_on_open || job.files.handling.fill
}

/// Tells which files workers are going to make for themselves, side by side.
pub(crate) fn announce_own(job: &JobPlan, clones: &[Vec<PlannedFile>], observer: &mut dyn Observer) {
    if made_while_running(job) || !job.files.may_create {
        return;
    }
    for files in clones.iter().map(std::slice::from_ref).map(missing).filter(|files| !files.is_empty()) {
        observer.layout(
            &job.name,
            u32::try_from(files.len()).unwrap_or(u32::MAX),
            files.values().copied().fold(0, u64::saturating_add),
        );
    }
}

/// Nobody is told of the layout any more: workers lay out their own files side by side.
pub(crate) struct Alone;

impl Observer for Alone {
    /// Those who find anything are at work, and here nobody is yet.
    fn finding(&mut self, _text: &str) {}
}

/// The files that must be made, and how large all clones together want each.
fn missing(clones: &[Vec<PlannedFile>]) -> BTreeMap<&Path, u64> {
    let mut to_make: BTreeMap<&Path, u64> = BTreeMap::new();
    for file in clones.iter().flatten().filter(|file| file.kind == FileKind::Regular) {
        if file.region.end > file.real_size {
            let end = to_make.entry(&file.path).or_default();
            *end = file.region.end.max(*end);
        }
    }
    to_make
}

/// Directories in a file's name are made; `directory=` must be there, or a wrong word would fill the wrong disk.
fn must_exist(directories: &[PathBuf]) -> Result<(), JobError> {
    match directories.iter().find(|directory| !directory.is_dir()) {
        None => Ok(()),
        Some(missing) => {
            let message = format!("directory={} is no directory; make it first", missing.display());
            Err(refusal(libc::ENOENT, "directory", message))
        }
    }
}

/// Removes the regular files of a worker that is done with them.
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
    observer: &'a mut dyn Observer,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl Layout<'_> {
    /// Makes one file. What cannot be finished is removed: reserved and unwritten, it would have its full size, and the
    /// next run would take it for laid out and read nothing from the disk.
    fn make(&mut self, path: &Path, size: u64) -> Result<(), JobError> {
        let trims_only = self.job.load.mix == Mix::Only(Direction::Trim);
        make_directory_of(path)?;
        if !trims_only
            && let Err(error) = std::fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            // Asked to remove what was never there, a read-only file system says so before it looks.
            let operation = if path.exists() { "unlink" } else { "create" };
            return Err(file_error(operation, path, error, ""));
        }
        let made = self.write(path, size);
        if made.is_err() && !trims_only {
            // The error that is told is the first; a file that cannot be removed is seen by everybody.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    /// Writes or reserves one file, as the job needs it.
    fn write(&mut self, path: &Path, size: u64) -> Result<(), JobError> {
        let files = &self.job.files;
        let in_full = files.overwrite || self.job.load.mix.contains(Direction::Read);
        let mut options = File::options();
        options.write(true).create(true).truncate(in_full).mode(0o644);
        let file = options.open(path).map_err(|error| file_error("create", path, error, ""))?;
        self.reserve(&file, path, size)?;
        if in_full {
            ftruncate(&file, size).map_err(|error| file_error("truncate", path, error, ""))?;
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
                .or_else(|error| if unsupported(error) { ftruncate(file, size) } else { Err(error) })
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
            let request = Request {
                operation: Operation::Write,
                target: 0,
                offset,
                length: u32::try_from(length).unwrap_or(u32::MAX),
            };
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
        self.observer.layout_progress(self.done, self.total);
    }
}

fn unsupported(error: rustix::io::Errno) -> bool {
    matches!(error, rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS)
}

/// How much room there is, when there is too little.
fn shortage(path: &Path, size: u64, error: rustix::io::Errno) -> String {
    if !matches!(error, rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT | rustix::io::Errno::FBIG) {
        return String::new();
    }
    let directory: PathBuf = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    match rustix::fs::statvfs(&directory) {
        Ok(room) => format!(
            "; the file needs {size} bytes and its file system has {} free: give a smaller size= or another directory=",
            room.f_bavail.saturating_mul(room.f_frsize)
        ),
        Err(_) => format!("; the file needs {size} bytes"),
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
