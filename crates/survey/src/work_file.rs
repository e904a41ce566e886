//! The survey's work file: created, marked, filled, checked for holes, and removed.
//!
//! Never modifies a file that plumb did not create. The mark is the extended attribute `user.plumb`; if the file system
//! has no extended attributes, a small file next to the work file records its inode.

use crate::error::SurveyError;
use crate::parse_values::{short_size, written_size};
use measure::text::rounded_size;
use rustix::fs::{FallocateFlags, Mode, OFlags, StatVfs, XattrFlags, fallocate, fgetxattr, fsetxattr, open, statvfs};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of the work file in the surveyed directory.
pub(crate) const NAME: &str = "plumb-survey.dat";
const ATTRIBUTE: &str = "user.plumb";
const MIB: u64 = 1 << 20;

/// Handling of the work file after the survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// It is removed.
    Remove,
    /// It is kept for the next survey.
    Keep,
}

/// A work file, locked against other surveys as long as this value exists.
#[derive(Debug)]
pub struct WorkFile {
    path: PathBuf,
    size: u64,
    file: File,
    afterwards: Afterwards,
    filled: bool,
}

impl WorkFile {
    /// Creates the work file at `path` with reserved space, or reuses one that an earlier survey kept.
    pub fn prepare(path: &Path, size: u64, reserve: Option<u64>, afterwards: Afterwards) -> Result<Self, SurveyError> {
        let path = path.to_owned();
        let file = match open_existing(&path)? {
            Some(file) => file,
            None => create(&path)?,
        };
        if file.try_lock().is_err() {
            return Err(SurveyError::at(&path, "another survey is using it; wait for its end"));
        }
        let mut work = WorkFile { filled: false, path, size, file, afterwards };
        let mark = work.mark()?;
        let present = work.file.metadata().map_err(|error| work.failure("cannot be read", &error))?.len();
        work.filled = mark == filled_mark(size) && present == size;
        if !work.filled {
            work.make_room(reserve)?;
        }
        Ok(work)
    }

    /// True if the file holds its data already.
    pub fn is_filled(&self) -> bool {
        self.filled
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Invalidates the data, so that the file is filled again.
    pub fn forget(&mut self) -> Result<(), SurveyError> {
        self.filled = false;
        self.set_mark("started")
    }

    /// Marks the file as filled: a later survey may reuse its data.
    pub fn set_filled(&mut self) -> Result<(), SurveyError> {
        self.set_mark(&filled_mark(self.size))?;
        self.filled = true;
        Ok(())
    }

    /// Checks that every block was written and that there are no holes, so that each read has to reach the device.
    /// Returns a remark if the file system does not report its extents (FIEMAP).
    pub fn prove_written(&self) -> Result<Option<String>, SurveyError> {
        match sys::files::extents::of_file(&self.file, &self.path) {
            Ok(found) => {
                let missing = found.unwritten_bytes(self.size);
                if missing == 0 {
                    return Ok(None);
                }
                Err(SurveyError(format!(
                    "{}: {} of {} are holes or were never written, so reads would not reach the device",
                    self.path.display(),
                    rounded_size(measure::float(missing)),
                    short_size(self.size)
                )))
            }
            Err(error) => Ok(Some(format!("holes not checked: {error}"))),
        }
    }

    fn make_room(&mut self, reserve: Option<u64>) -> Result<(), SurveyError> {
        let found = room(directory_of(&self.path))?;
        let held = self.file.metadata().map_err(|error| self.failure("cannot be read", &error))?.blocks() * 512;
        check_room(found, held, self.size, reserve).map_err(|problem| self.give_up(&problem))?;
        self.set_mark("started")?;
        // Truncated first, so that no blocks of an earlier size and content remain.
        self.file.set_len(0).map_err(|error| self.failure("cannot be emptied", &error))?;
        match fallocate(&self.file, FallocateFlags::empty(), 0, self.size) {
            Ok(()) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.file.set_len(self.size).map_err(|error| self.failure("cannot be made so large", &error))?;
            }
            Err(error) => {
                let problem = format!("{} cannot be reserved: {error}", short_size(self.size));
                return Err(self.give_up(&problem));
            }
        }
        Ok(())
    }

    fn give_up(&mut self, problem: &str) -> SurveyError {
        self.afterwards = Afterwards::Remove;
        SurveyError::at(&self.path, problem)
    }

    fn failure(&self, what: &str, error: &io::Error) -> SurveyError {
        SurveyError::at(&self.path, format!("{what}: {error}"))
    }

    /// Returns the mark; a missing mark is an error, because the file is then not plumb's.
    fn mark(&self) -> Result<String, SurveyError> {
        read_mark(&self.file, &self.path)
            .map_err(|error| self.failure("cannot be read", &error))?
            .ok_or_else(|| foreign(&self.path, "it has no mark of plumb"))
    }

    fn set_mark(&self, mark: &str) -> Result<(), SurveyError> {
        write_mark(&self.file, &self.path, mark).map_err(|error| self.failure("cannot be marked", &error))
    }
}

impl Drop for WorkFile {
    fn drop(&mut self) {
        // A partly filled file is of no use to a later survey.
        if self.afterwards == Afterwards::Remove || !self.filled {
            // In a destructor the error cannot be returned; the file stays visible to the user.
            let _ = std::fs::remove_file(&self.path);
            let _ = std::fs::remove_file(manifest_path(&self.path));
        }
    }
}

/// True if plumb created this file.
pub(crate) fn is_ours(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(read_mark(&file, path), Ok(Some(_))))
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Bytes for a work file: free space without the reserve, a twentieth of all by default (16 MiB to 16 GiB).
pub(crate) fn usable(room: Room, reserve: Option<u64>) -> u64 {
    room.free.saturating_sub(reserve.unwrap_or((room.total / 20).clamp(16 * MIB, 16 << 30)))
}

fn check_room(room: Room, held: u64, size: u64, reserve: Option<u64>) -> Result<(), String> {
    let usable = usable(Room { free: room.free.saturating_add(held), ..room }, reserve) / MIB * MIB;
    if size <= usable {
        return Ok(());
    }
    let (size, free) = (short_size(size), rounded_size(measure::float(room.free)));
    Err(match usable {
        0 => format!(
            "{size} do not fit: {free} are free, which is the reserve; free some space, or give a smaller --reserve"
        ),
        _ => format!(
            "{size} do not fit: {free} are free and a reserve stays untouched; at most --size {}",
            written_size(usable)
        ),
    })
}

fn filled_mark(size: u64) -> String {
    format!("filled {size}")
}

fn foreign(path: &Path, why: &str) -> SurveyError {
    SurveyError::at(path, format!("exists and plumb did not make it ({why}); move it away or survey another directory"))
}

/// Opens an existing work file if plumb created it; `None` if there is no file.
fn open_existing(path: &Path) -> Result<Option<File>, SurveyError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Checked before the open: opening a pipe or a device can have side effects.
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SurveyError::at(path, format!("cannot be looked at: {error}"))),
        Ok(found) if !found.is_file() => return Err(foreign(path, "it is not a regular file")),
        Ok(found) if found.nlink() != 1 => return Err(foreign(path, "it has a second name")),
        Ok(_) => {}
    }
    let file = match open(path, flags, Mode::empty()) {
        Ok(descriptor) => File::from(descriptor),
        Err(error) => return Err(foreign(path, &format!("it cannot be opened: {error}"))),
    };
    match read_mark(&file, path) {
        Ok(Some(_)) => Ok(Some(file)),
        Ok(None) => Err(foreign(path, "it has no mark of plumb")),
        Err(error) => Err(foreign(path, &format!("its mark cannot be read: {error}"))),
    }
}

fn create(path: &Path) -> Result<File, SurveyError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let descriptor = open(path, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|error| SurveyError::at(path, format!("cannot be made: {error}")))?;
    let file = File::from(descriptor);
    if let Err(error) = write_mark(&file, path, "started") {
        let _ = std::fs::remove_file(path);
        return Err(SurveyError::at(path, format!("cannot be marked: {error}")));
    }
    Ok(file)
}

fn manifest_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".plumb");
    name.into()
}

/// Longest mark in bytes.
const LONGEST_MARK: u64 = 64 << 10;

fn read_mark(file: &File, path: &Path) -> io::Result<Option<String>> {
    let mut value = Vec::with_capacity(256);
    match fgetxattr(file, ATTRIBUTE, rustix::buffer::spare_capacity(&mut value)) {
        Ok(_) => return Ok(Some(String::from_utf8_lossy(&value).into_owned())),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
        Err(error) => return Err(error.into()),
    }
    let text = match sys::files::read_limited::read_text(&manifest_path(path), LONGEST_MARK) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let ours = format!("inode {}\n", file.metadata()?.ino());
    Ok(text.strip_prefix(&ours).map(|mark| mark.trim_end().to_owned()))
}

fn write_mark(file: &File, path: &Path, mark: &str) -> io::Result<()> {
    match fsetxattr(file, ATTRIBUTE, mark.as_bytes(), XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP) => {
            std::fs::write(manifest_path(path), format!("inode {}\n{mark}\n", file.metadata()?.ino()))
        }
        other => Ok(other?),
    }
}

// Type and free space of the file system that holds a path.

/// Space on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Total size in bytes.
    pub(crate) total: u64,
    /// Bytes available to this user.
    pub(crate) free: u64,
}

/// Space on the file system that holds `path`.
pub(crate) fn room(path: &Path) -> Result<Room, SurveyError> {
    let found: StatVfs =
        statvfs(path).map_err(|error| SurveyError::at(path, format!("cannot ask for free space: {error}")))?;
    Ok(Room {
        total: found.f_blocks.saturating_mul(found.f_frsize),
        free: found.f_bavail.saturating_mul(found.f_frsize),
    })
}

/// Type of the file system that holds `path`, such as `ext4` or `tmpfs`; `None` if the mount table does not list it.
pub(crate) fn kind(root: &Path, path: &Path) -> Option<String> {
    sys::files::mounts::holding(root, path).ok().flatten().map(|mount| mount.kind)
}

/// The disk under `path`, or `path` itself, with its model if known: `nvme0n1 (ACME 1 TB)`.
pub(crate) fn disk(root: &Path, path: &Path) -> Option<String> {
    let device = sys::devices::identity::BlockDevice::under(root, path).ok().flatten()?;
    Some(match device.model() {
        Some(model) => format!("{} ({})", device.name(), model.trim()),
        None => device.name().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: u64 = 4 * MIB;

    fn refusal(directory: &Path) -> String {
        format!("{:?}", WorkFile::prepare(&directory.join(NAME), SMALL, None, Afterwards::Remove).unwrap_err())
    }

    #[test]
    fn a_file_of_someone_else_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        std::fs::write(&path, "precious").unwrap();
        assert!(refusal(directory.path()).contains("plumb did not make it"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let aim = directory.path().join("aim");
        std::fs::write(&aim, "precious").unwrap();
        std::os::unix::fs::symlink(&aim, directory.path().join(NAME)).unwrap();
        assert!(refusal(directory.path()).contains("not a regular file"));
        assert_eq!(std::fs::read_to_string(&aim).unwrap(), "precious");
    }

    #[test]
    fn an_unfilled_work_file_goes_with_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let work = WorkFile::prepare(&directory.path().join(NAME), SMALL, None, Afterwards::Keep).unwrap();
        assert!(work.path().exists() && !work.is_filled());
        drop(work);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_kept_work_file_is_taken_over_when_its_size_fits() {
        let directory = tempfile::tempdir().unwrap();
        let mut work = WorkFile::prepare(&directory.path().join(NAME), SMALL, None, Afterwards::Keep).unwrap();
        work.set_filled().unwrap();
        drop(work);
        let again = WorkFile::prepare(&directory.path().join(NAME), SMALL, None, Afterwards::Keep).unwrap();
        assert!(again.is_filled());
        drop(again);
        let other = WorkFile::prepare(&directory.path().join(NAME), 2 * SMALL, None, Afterwards::Remove).unwrap();
        assert!(!other.is_filled(), "another size is filled again");
    }

    #[test]
    fn two_surveys_do_not_share_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let _first = WorkFile::prepare(&directory.path().join(NAME), SMALL, None, Afterwards::Remove).unwrap();
        assert!(refusal(directory.path()).contains("another survey"));
    }

    #[test]
    fn a_reserve_stays_free() {
        let room = Room { total: 1 << 40, free: 100 << 30 };
        assert_eq!(usable(room, None), 84 << 30);
        assert_eq!(check_room(room, 0, 84 << 30, None), Ok(()));
        let refused = check_room(room, 0, 85 << 30, None).unwrap_err();
        assert!(refused.contains("85G do not fit") && refused.contains("at most --size 84G"), "{refused}");
        assert_eq!(check_room(room, 1 << 30, 85 << 30, None), Ok(()), "what the old work file holds is free again");
        assert_eq!(usable(room, Some(40 << 30)), 60 << 30, "the user's own reserve");
        assert!(check_room(room, 0, 61 << 30, Some(40 << 30)).unwrap_err().contains("--size 60G"));
        let full = check_room(Room { total: 1 << 40, free: 10 << 30 }, 0, 1 << 30, None).unwrap_err();
        assert!(full.contains("10 GiB are free, which is the reserve") && !full.contains("0M"), "{full}");
    }
}
