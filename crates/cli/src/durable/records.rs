//! The records on the target: where they are, how each way writes one, and what is there after a cut.

use crate::failure::Failure;
use analysis::durability::{Place, SLOTS, Shape, Survivors, WAYS, Way, fill};
use rustix::fs::{fdatasync, fsync};
use rustix::io::{ReadWriteFlags, pwritev2};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};
use sys::files::operations::{OpenFlags, SyncRange, open, sync_range};
use sys::machine::buffers::{Arena, Source};

/// How the names of directories with records begin; a number of 16 hexadecimal digits follows.
const FOLDER: &str = "plumb-durable-";
/// RWF_ATOMIC of linux/fs.h: all of a write or nothing.
const RWF_ATOMIC: u32 = 0x40;
/// The file that is renamed over another one.
const NEW: &str = "new";

/// Place of all records of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// A directory of the run, in the one that the user named.
    Folder(PathBuf),
    Device(PathBuf),
}

impl Base {
    /// That of a run on this target.
    pub(super) fn of(target: &Path, run: u64) -> Result<Self, Failure> {
        let found = fs::metadata(target).map_err(|error| Failure::at(target, error))?.file_type();
        match (found.is_dir(), found.is_block_device()) {
            (true, _) => Ok(Base::Folder(target.join(format!("{FOLDER}{run:016x}")))),
            (_, true) => Ok(Base::Device(target.to_owned())),
            _ => Err(Failure::at(target, "is neither a directory nor a block device; name the directory")),
        }
    }

    /// The file of a record, and its offset there.
    fn at(&self, way: Way, place: &Place, record: u64) -> (PathBuf, u64) {
        match self {
            Base::Folder(folder) => (folder.join(&place.file), place.offset),
            // Each way has its place, whichever ways a run has.
            Base::Device(path) => (path.clone(), way as u64 * SLOTS * record + place.offset),
        }
    }
}

/// Bytes of a device that are overwritten.
pub(super) fn device_bytes(record: u64) -> u64 {
    WAYS.len() as u64 * SLOTS * record
}

/// Removes the directories of earlier runs.
pub(super) fn remove_earlier(target: &Path) -> io::Result<Vec<PathBuf>> {
    let is_run = |name: &str| name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut removed = Vec::new();
    for entry in fs::read_dir(target)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_str().and_then(|name| name.strip_prefix(FOLDER)).is_some_and(is_run);
        if is_ours && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
            removed.push(entry.path());
        }
    }
    Ok(removed)
}

/// Records that are being written.
pub(super) struct Records {
    base: Base,
    run: u64,
    record: u64,
    files: BTreeMap<Way, File>,
    buffer: Arena,
}

impl Records {
    /// Makes the directory of the run, if it has one.
    pub(super) fn begin(base: Base, run: u64, record: u64) -> Result<Self, Failure> {
        if let Base::Folder(folder) = &base {
            fs::create_dir(folder).map_err(|error| Failure::at(folder, error))?;
        }
        let buffer = Arena::new(&Source::Private, 1, usize::try_from(record)?, 4096)?;
        Ok(Records { base, run, record, files: BTreeMap::new(), buffer })
    }

    /// Prepares a way, and writes its first record. The error is that of a way which is not there.
    pub(super) fn prepare(&mut self, way: Way) -> io::Result<()> {
        if way.shape() == Shape::Slots {
            let (path, start) = self.base.at(way, &way.place(1, self.record), self.record);
            let file = match &self.base {
                Base::Folder(_) => File::create_new(&path)?,
                Base::Device(_) => File::options().write(true).open(&path)?,
            };
            let zeros = vec![0; usize::try_from(self.record).map_err(io::Error::other)?];
            (0..SLOTS).try_for_each(|slot| file.write_all_at(&zeros, start + slot * self.record))?;
            fsync(&file)?;
            let flags = match way {
                Way::ODsync => OpenFlags::DSYNC,
                Way::Fua | Way::Atomic | Way::Direct => OpenFlags::DIRECT,
                _ => OpenFlags::empty(),
            };
            self.files.insert(way, opened(&path, OpenFlags::RDWR | flags)?);
        } else if let Base::Device(_) = &self.base {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it is of files, and this is a device"));
        }
        self.write(way, 1)
    }

    /// All that was prepared is on the medium, as far as the kernel can know.
    pub(super) fn flush(&self) -> io::Result<()> {
        for file in self.files.values() {
            fsync(file)?;
        }
        if let Base::Folder(folder) = &self.base {
            sync_folder(folder)?;
            sync_folder(folder.parent().unwrap_or(folder))?;
        }
        Ok(())
    }

    /// Writes a record. Returns when it may be acknowledged.
    pub(super) fn write(&mut self, way: Way, number: u64) -> io::Result<()> {
        let place = way.place(number, self.record);
        let (path, offset) = self.base.at(way, &place, self.record);
        let record = self.buffer.slot_mut(0).and_then(|slot| slot.get_mut(..usize::try_from(self.record).ok()?));
        let record = record.ok_or_else(|| io::Error::other("there is no buffer"))?;
        fill(self.run, way, number, record);
        if let (Base::Folder(folder), Some(old)) = (&self.base, way.removes(number)) {
            fs::remove_file(folder.join(old))?;
        }
        match way.shape() {
            Shape::Slots => {
                let file = self.files.get(&way).ok_or_else(|| io::Error::other("the way was not prepared"))?;
                write_slot(file, way, record, offset)
            }
            Shape::Growing => append(&mut self.files, way, &path, record, offset),
            Shape::NewFiles => new_file(&path, record),
            Shape::Renamed => {
                let new = path.with_file_name(NEW);
                let file = File::create_new(&new)?;
                file.write_all_at(record, 0)?;
                fsync(&file)?;
                fs::rename(&new, &path)?;
                sync_folder(parent(&path))
            }
        }
    }
}

fn write_slot(file: &File, way: Way, record: &[u8], offset: u64) -> io::Result<()> {
    match way {
        Way::Fua => with_flags(file, record, offset, ReadWriteFlags::DSYNC),
        Way::Atomic => {
            with_flags(file, record, offset, ReadWriteFlags::DSYNC | ReadWriteFlags::from_bits_retain(RWF_ATOMIC))
        }
        _ => {
            file.write_all_at(record, offset)?;
            match way {
                Way::Fsync => Ok(fsync(file)?),
                Way::Fdatasync => Ok(fdatasync(file)?),
                Way::SyncFileRange => {
                    let how = SyncRange { wait_before: true, write: true, wait_after: true };
                    sync_range(file.as_fd(), offset, record.len() as u64, how)
                }
                _ => Ok(()),
            }
        }
    }
}

/// One call, because a part of a write has no promise.
fn with_flags(file: &File, record: &[u8], offset: u64, flags: ReadWriteFlags) -> io::Result<()> {
    match pwritev2(file, &[IoSlice::new(record)], offset, flags)? {
        count if count == record.len() => Ok(()),
        count => {
            Err(io::Error::new(io::ErrorKind::WriteZero, format!("{count} of {} bytes were written", record.len())))
        }
    }
}

fn append(files: &mut BTreeMap<Way, File>, way: Way, path: &Path, record: &[u8], offset: u64) -> io::Result<()> {
    if offset == 0 {
        files.insert(way, File::create_new(path)?);
        sync_folder(parent(path))?;
    }
    let file = files.get(&way).ok_or_else(|| io::Error::other("the file was not begun"))?;
    file.write_all_at(record, offset)?;
    Ok(fdatasync(file)?)
}

fn new_file(path: &Path, record: &[u8]) -> io::Result<()> {
    let file = File::create_new(path)?;
    file.write_all_at(record, 0)?;
    fsync(&file)?;
    sync_folder(parent(path))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    Ok(fsync(File::open(path)?)?)
}

fn opened(path: &Path, flags: OpenFlags) -> io::Result<File> {
    open(path, flags, 0).map_err(|error| match error.errno() {
        Some(errno) => io::Error::from_raw_os_error(errno),
        None => io::Error::other(error),
    })
}

/// Records after a cut.
pub(super) struct Left {
    pub(super) base: Base,
    pub(super) record: u64,
    buffer: Arena,
}

impl Left {
    pub(super) fn new(base: Base, record: u64) -> Result<Self, Failure> {
        let buffer = Arena::new(&Source::Private, 1, usize::try_from(record)?, 4096)?;
        Ok(Left { base, record, buffer })
    }

    /// Reads past the page cache, where that can be done.
    fn read(&mut self, path: &Path, offset: u64, flags: OpenFlags) -> io::Result<Vec<u8>> {
        let file = opened(path, OpenFlags::RDONLY | flags)?;
        let size = usize::try_from(self.record).map_err(io::Error::other)?;
        let buffer = self.buffer.slot_mut(0).and_then(|slot| slot.get_mut(..size)).unwrap_or_default();
        let mut count = 0;
        while count < size {
            match file.read_at(&mut buffer[count..], offset + count as u64)? {
                0 => break,
                more => count += more,
            }
            // What follows the end of a file is not aligned.
            if !count.is_multiple_of(512) {
                break;
            }
        }
        Ok(buffer[..count].to_vec())
    }
}

impl Survivors for Left {
    fn record(&mut self, way: Way, place: &Place) -> io::Result<Vec<u8>> {
        let (path, offset) = self.base.at(way, place, self.record);
        let found = match self.read(&path, offset, OpenFlags::DIRECT) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.read(&path, offset, OpenFlags::empty()),
            other => other,
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other,
        }
    }

    fn numbers(&self, way: Way) -> Vec<u64> {
        let Base::Folder(folder) = &self.base else { return Vec::new() };
        let number = |entry: fs::DirEntry| {
            let name = entry.file_name();
            name.to_str()?.strip_prefix(way.name())?.strip_prefix('.')?.parse().ok()
        };
        fs::read_dir(folder).into_iter().flatten().flatten().filter_map(number).collect()
    }
}
