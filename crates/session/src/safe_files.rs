//! Output files of plumb's own commands: never replaces a file that plumb did not create, and never leaves an
//! incomplete file in place of a complete one.
//!
//! plumb marks its files with the extended attribute `user.plumb.made`. JSON files are also recognised by their
//! content, because copies may lack the attribute. Empty files may always be replaced. [`AtomicFile`] is for content
//! that is written at once, [`stream`] for content that is written piece by piece.

use crate::failure::Failure;
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const ATTRIBUTE: &str = "user.plumb.made";

/// Returns true if plumb may replace `path`: nothing exists there, or an empty file, or one that is recognised by
/// `is_ours`. Never for a device (the rename would replace /dev/null by a regular file) or for a file with other data.
fn may_replace(path: &Path, is_ours: impl Fn(&File) -> io::Result<bool>) -> io::Result<bool> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(found.is_file() && (found.len() == 0 || is_ours(&File::open(path)?)?))
}

/// Fails unless plumb may replace what is at this path.
pub fn check(path: &Path) -> Result<(), Failure> {
    check_if(path, is_ours)
}

/// Same as [`check`], for files that are recognised by `is_ours`.
pub fn check_if(path: &Path, is_ours: impl Fn(&File) -> io::Result<bool>) -> Result<(), Failure> {
    match may_replace(path, is_ours) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::at(path, FOREIGN)),
        Err(error) => Err(Failure::at(path, format!("cannot be written: {error}"))),
    }
}

/// The message about an existing file that plumb did not create.
const FOREIGN: &str = "exists and plumb did not make it; name another file or move it away";

/// Opens a file for results that are written piece by piece: a new file, or one of plumb's, which is truncated. A pipe
/// or other special file is opened for writing as it is.
pub fn stream(path: &Path) -> Result<File, Failure> {
    if is_block_device(path) {
        return Err(Failure::at(path, "is a block device; results go to a file"));
    }
    let not_written = |error: io::Error| Failure::at(path, format!("cannot be written: {error}"));
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return File::options().write(true).open(path).map_err(not_written);
    }
    let open = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(not_written)?;
    let is_empty = open.metadata().map_err(not_written)?.len() == 0;
    if !is_empty && !is_ours(&open).map_err(not_written)? {
        return Err(Failure::at(path, FOREIGN));
    }
    open.set_len(0).and_then(|()| mark(&open)).map_err(not_written)?;
    rustix::fs::seek(&open, rustix::fs::SeekFrom::Start(0)).map_err(|error| not_written(error.into()))?;
    Ok(open)
}

/// True if `path` leads to a block device: a write there overwrites data.
pub fn is_block_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type()))
}

fn is_ours(file: &File) -> io::Result<bool> {
    match fgetxattr(file, ATTRIBUTE, &mut [0; 16][..]) {
        Ok(_) => return Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => {}
        Err(error) => return Err(error.into()),
    }
    let mut head = Vec::new();
    file.take(128).read_to_end(&mut head)?;
    let head: String = String::from_utf8_lossy(&head).split_whitespace().collect();
    Ok(head.starts_with("{\"") && head.contains("schema\":") && head.contains(",\"program\":\"plumb"))
}

/// Sets the attribute. File systems without extended attributes are accepted: there only JSON files are recognised
/// later, and others are not replaced.
fn mark(file: &File) -> io::Result<()> {
    match fsetxattr(file, ATTRIBUTE, b"1", XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}

/// Durability of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Flushed with fsync(2) before the rename, so that a power failure does not leave an incomplete file.
    Synced,
    /// Not flushed: the flush would be part of the I/O that the run measures.
    Unsynced,
}

/// A file that is written under a temporary name in the same directory and renamed into place: a reader sees the old or
/// the new file, never a part.
///
/// O_EXCL on the temporary name excludes a second writer of the same path. [`check`] is not repeated before the
/// rename, so a file that another process creates at `path` in the meantime is replaced.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    part: PathBuf,
    /// The temporary file, until it is renamed.
    pending: Option<File>,
}

impl AtomicFile {
    /// Creates the temporary file, which proves that the file can be written. The caller calls [`check`].
    pub fn reserve(path: &Path) -> io::Result<Self> {
        let part = part_of(path);
        let pending = Some(beginning(&part)?);
        Ok(AtomicFile { path: path.to_owned(), part, pending })
    }

    /// Creates the temporary file of the first free `STEM-NNN.json` in `directory`.
    pub fn numbered(directory: &Path, stem: &str) -> io::Result<Self> {
        for number in 1..=999_999 {
            let path = directory.join(format!("{stem}-{number:03}.json"));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            match Self::reserve(&path) {
                // Another process has reserved this name and is writing its temporary file.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other,
            }
        }
        Err(io::Error::other(format!("all names up to {stem}-999999.json are taken")))
    }

    /// Same as [`AtomicFile::reserve`], with the error as a message.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        Self::reserve(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::new(part_exists(path)),
            _ => Failure::writing(&path.display().to_string(), &error),
        })
    }

    /// Same as [`AtomicFile::put`], with the error as a message.
    pub fn write(&mut self, bytes: &[u8], durability: Durability) -> Result<(), Failure> {
        self.put(bytes, durability).map_err(|error| Failure::writing(&self.path.display().to_string(), &error))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file's content by `bytes`.
    pub fn put(&mut self, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let mut file = match self.pending.take() {
            Some(file) => file,
            None => beginning(&self.part)?,
        };
        let renamed = file
            .write_all(bytes)
            .and_then(|()| if durability == Durability::Synced { file.sync_all() } else { Ok(()) })
            .and_then(|()| std::fs::rename(&self.part, &self.path));
        if renamed.is_err() {
            // Truncate the temporary file, or a second attempt would append to the output of the first.
            let _ = file.set_len(0);
            let _ = rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0));
            self.pending = Some(file);
        }
        renamed
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After the rename `pending` is `None`. A file with the temporary name then belongs to another process and must
        // stay.
        if self.pending.is_some() {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// Creates a directory for results: the one that was asked for, which may exist if it is empty, or the first free
/// `STEM-NNN` in the current directory. `option` is the one that names it.
pub fn result_directory(asked: Option<&Path>, stem: &str, option: &str) -> Result<PathBuf, Failure> {
    let failed = |path: &Path, error: io::Error| {
        Failure::at(path, format!("cannot be made: {error}; name another directory with {option}"))
    };
    if let Some(path) = asked {
        let entries = std::fs::create_dir_all(path).and_then(|()| std::fs::read_dir(path));
        return match entries.map_err(|error| failed(path, error))?.next() {
            None => Ok(path.to_owned()),
            Some(_) => {
                Err(Failure::at(path, format!("is not empty; name a new directory for the results with {option}")))
            }
        };
    }
    for number in 1..=999_999 {
        let path = PathBuf::from(format!("{stem}-{number:03}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, error)),
        }
    }
    Err(Failure::new(format!("all names up to {stem}-999999 are taken; name a directory with {option}")))
}

/// The message if the temporary name is taken.
fn part_exists(path: &Path) -> String {
    format!("{} exists: remove it unless another run is writing it", part_of(path).display())
}

/// The temporary name: the final one with `.part` added.
fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// Creates the temporary file with O_EXCL: an existing file with this name belongs to another run or to the user.
fn beginning(part: &Path) -> io::Result<File> {
    let file = File::options().write(true).create_new(true).open(part)?;
    if let Err(error) = mark(&file) {
        let _ = std::fs::remove_file(part);
        return Err(error);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_continue_after_those_that_are_taken() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a-001.json"), "").unwrap();
        let first = AtomicFile::numbered(directory.path(), "a").unwrap();
        let second = AtomicFile::numbered(directory.path(), "a").unwrap();
        assert!(first.path().ends_with("a-002.json") && second.path().ends_with("a-003.json"), "{first:?} {second:?}");
    }

    #[test]
    fn one_that_is_not_written_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        drop(AtomicFile::reserve(&directory.path().join("r.json")).unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_under_the_name_of_the_unfinished_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (path, part) = (directory.path().join("r.json"), directory.path().join("r.json.part"));
        std::fs::write(&part, "my thesis\n").unwrap();
        let failure = AtomicFile::at(&path).unwrap_err();
        assert!(failure.message().contains("r.json.part exists"), "{failure:?}");
        let mut whole = AtomicFile::reserve(&directory.path().join("other")).unwrap();
        whole.put(b"1", Durability::Unsynced).unwrap();
        let second = directory.path().join("other.part");
        std::fs::write(&second, "my thesis, too\n").unwrap();
        assert!(whole.put(b"2", Durability::Unsynced).is_err(), "between two writes as well");
        drop(whole);
        assert_eq!(std::fs::read_to_string(&part).unwrap(), "my thesis\n");
        assert_eq!(std::fs::read_to_string(&second).unwrap(), "my thesis, too\n");
    }

    #[test]
    fn only_what_plumb_made_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.json");
        assert!(may_replace(&path, is_ours).unwrap(), "nothing is there");
        for (text, expected) in [
            ("", true),
            ("{\"schema\":1,\"program\":\"plumb 0.1.0\",\"command\":\"survey\"}\n", true),
            ("{\n  \"schema\": 1,\n  \"program\": \"plumb 0.1.0\",\n", true),
            ("{\"parse_schema\": 1, \"program\": \"plumb 0.1.0\", ", true),
            ("{\"schema\":1,\"program\":\"other\"}\n", false),
            ("my thesis\n", false),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(may_replace(&path, is_ours).unwrap(), expected, "{text}");
            assert_eq!(stream(&path).is_ok(), expected, "{text}");
            std::fs::remove_file(&path).unwrap();
        }
        assert!(may_replace(directory.path(), is_ours).is_err());
        assert!(!may_replace(Path::new("/dev/null"), is_ours).unwrap(), "a rename would replace the device");
    }

    #[test]
    fn a_table_of_ours_is_known_by_its_mark() {
        // Not in /tmp, which may be a tmpfs: before Linux 6.6 tmpfs has no user extended attributes.
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("table");
        stream(&path).unwrap().write_all(b"a longer table\n").unwrap();
        stream(&path).unwrap().write_all(b"table\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "table\n");
        let mut whole = AtomicFile::reserve(&path).unwrap();
        whole.put(b"whole", Durability::Synced).unwrap();
        assert!(may_replace(&path, is_ours).unwrap());
        let copy = directory.path().join("copy");
        std::fs::write(&copy, "whole").unwrap();
        let failure = stream(&copy).unwrap_err();
        assert!(failure.message().contains("plumb did not make it"), "{failure:?}");
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "whole");
    }
}
