//! What is surveyed: a directory with work files in it, a file that is there, or block devices.

use super::work_file::{self, Afterwards, WorkFile, directory_of};
use super::{SYSTEM_ROOT, consent};
use crate::failure::Failure;
use crate::file_system;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use survey::{Access, Layout, Nature, Suite, Target, Wishes, Writes, short_size};
use sys::device::BlockDevice;

const MIB: u64 = 1 << 20;
/// The smallest target in which 8 sequential users find blocks of their own.
const LEAST_SIZE: u64 = 16 * MIB;
const USUAL_SIZE: u64 = 16 << 30;
const QUICK_SIZE: u64 = 1 << 30;
/// What O_DIRECT takes multiples of where nobody tells.
const USUAL_SECTOR: u64 = 512;

/// What the user named, looked at but not touched.
pub(super) struct Subject {
    /// The paths as the user gave them.
    shown: String,
    /// Where files are made, or what is measured.
    paths: Vec<PathBuf>,
    nature: Nature,
    /// Whether it may be written to.
    pub(super) writes: Writes,
    layout: Layout,
    /// Bytes of each path.
    pub(super) size: u64,
}

/// An open target and what there is to say about it.
pub(crate) struct Place {
    /// What the Plans need.
    pub(crate) target: Target,
    /// The paths as the user gave them.
    pub(crate) shown: String,
    /// The kind of file system; `None` for a device, or when it cannot be asked.
    pub(crate) file_system: Option<String>,
    /// The disk, as a person calls it.
    pub(crate) disk: Option<String>,
    /// The work files; none on devices.
    pub(crate) work_files: Vec<WorkFile>,
    /// Whether what is there may be written to.
    pub(crate) writes: Writes,
    /// What the user should know before the numbers.
    pub(crate) remarks: Vec<String>,
}

impl Subject {
    /// Looks at what the wishes name.
    pub(super) fn look(wishes: &Wishes) -> Result<Self, Failure> {
        let mut natures = Vec::new();
        for path in &wishes.targets {
            natures.push((nature(path)?, path));
        }
        let shown = wishes.targets.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let natures = match natures.as_slice() {
            [] => return Err(Failure::new("nothing is named to survey; give a PATH|DEVICE")),
            [(first, _)] => *first,
            many => match many.iter().find(|(nature, _)| *nature != Nature::Device) {
                Some((_, path)) => {
                    let path = path.display();
                    return Err(Failure::new(format!(
                        "{path}: is no block device, and only devices can be surveyed together; name one directory"
                    )));
                }
                None => Nature::Device,
            },
        };
        if wishes.file_per_user && natures != Nature::WorkFile {
            return Err(Failure::new(format!("{shown}: files for each user are made in a directory; name one")));
        }
        let writes = match natures {
            Nature::WorkFile => Writes::Allowed,
            Nature::ForeignFile => Writes::Forbidden,
            Nature::Device => consent::writes(&wishes.targets, &wishes.overwrite)?,
        };
        if !wishes.overwrite.is_empty() && natures != Nature::Device {
            return Err(Failure::new(format!("{shown}: is no device; --overwrite is for devices")));
        }
        if wishes.precondition && writes == Writes::Forbidden {
            return Err(Failure::new(format!(
                "{shown}: would be written by --precondition; name a directory, or the device once more with --overwrite"
            )));
        }
        let layout = if wishes.file_per_user { Layout::PerUser } else { Layout::Shared };
        Ok(Subject { shown, paths: wishes.targets.clone(), nature: natures, writes, layout, size: 0 })
    }

    /// Settles names and sizes for these tests.
    pub(super) fn fit(&mut self, suite: &Suite, wishes: &Wishes) -> Result<(), Failure> {
        match self.nature {
            Nature::WorkFile => {
                let path = self.paths.first().cloned().unwrap_or_default();
                let path = if path.is_dir() { path.join(work_file::NAME) } else { path };
                let users = suite.tests.iter().map(|test| test.users).max().unwrap_or(1);
                self.paths = match self.layout {
                    Layout::Shared => vec![path],
                    Layout::PerUser => (1..=users).map(|number| numbered(&path, number)).collect(),
                };
                self.size = chosen_size(&self.paths, wishes)?;
            }
            Nature::ForeignFile | Nature::Device => {
                let least = self.paths.iter().map(|path| capacity(path)).collect::<Result<Vec<u64>, Failure>>()?;
                self.size = usable_of(&self.shown, least.into_iter().min().unwrap_or(0), wishes)?;
            }
        }
        Ok(())
    }

    /// Whether everything about it can be said without touching it: the target as it would be.
    pub(super) fn outlined(&self, wishes: &Wishes) -> Target {
        let access = if wishes.direct == Some(false) { Access::Buffered } else { Access::Direct };
        Target {
            paths: self.paths.clone(),
            size: self.size,
            access,
            nature: self.nature,
            layout: self.layout,
            direct_multiple: direct_multiple(&self.paths),
        }
    }

    /// `/data: a work file of 1G`.
    pub(super) fn describe(&self) -> String {
        let (size, count) = (short_size(self.size), self.paths.len());
        let what = match (self.nature, self.writes) {
            (Nature::WorkFile, _) if count > 1 => format!("{count} work files of {size}"),
            (Nature::WorkFile, _) => format!("a work file of {size}"),
            (Nature::ForeignFile, _) => format!("the first {size} of the file, read only"),
            (Nature::Device, Writes::Forbidden) => format!("the first {size} of each device, read only"),
            (Nature::Device, Writes::Allowed) => format!("the first {size} of each device, WHICH IS OVERWRITTEN"),
        };
        format!("{}: {what}.", self.shown)
    }

    /// Bytes that are written before the first test.
    pub(super) fn prepared_bytes(&self, wishes: &Wishes) -> u64 {
        let total = self.size.saturating_mul(self.paths.len() as u64);
        total.saturating_mul(self.passes(wishes))
    }

    /// How often everything is written before the first test.
    pub(super) fn passes(&self, wishes: &Wishes) -> u64 {
        match (self.nature, wishes.precondition) {
            (_, true) => 2,
            (Nature::WorkFile, false) => 1,
            _ => 0,
        }
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// What a path is: a directory, or the name of a file to make; a file of others; a device.
fn nature(path: &Path) -> Result<Nature, Failure> {
    let shown = path.display();
    let kind = match std::fs::metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && may_be_made(path) => return Ok(Nature::WorkFile),
        Err(error) => return Err(Failure::new(format!("{shown}: {error}"))),
    };
    if kind.is_dir() || (kind.is_file() && work_file::is_ours(path)) {
        Ok(Nature::WorkFile)
    } else if kind.is_block_device() {
        Ok(Nature::Device)
    } else if kind.is_file() && std::fs::metadata(path).is_ok_and(|found| found.len() >= LEAST_SIZE) {
        Ok(Nature::ForeignFile)
    } else {
        Err(Failure::new(format!(
            "{shown}: is neither a directory nor a block device nor a file of 16M and more; name the directory, plumb \
             makes a file of its own there"
        )))
    }
}

/// A new file in a directory that is there; with an ending, so that a mistyped directory is not taken for one.
fn may_be_made(path: &Path) -> bool {
    path.extension().is_some() && directory_of(path).is_dir()
}

impl Place {
    /// Opens the subject; makes the work files.
    pub(super) fn open(subject: &Subject, wishes: &Wishes) -> Result<Self, Failure> {
        let mut remarks = Vec::new();
        let mut work_files = Vec::new();
        if subject.nature == Nature::WorkFile {
            let afterwards = if wishes.keep { Afterwards::Keep } else { Afterwards::Remove };
            for path in &subject.paths {
                work_files.push(WorkFile::prepare(path, subject.size, wishes.reserve, afterwards)?);
            }
        }
        if subject.writes == Writes::Forbidden {
            remarks.push(match subject.nature {
                Nature::Device => "the device's data is read as it is; blocks that were never written may be answered \
                                   without the medium"
                    .to_owned(),
                _ => holes(&subject.paths)?,
            });
        }
        let first = subject.paths.first().cloned().unwrap_or_default();
        let mut target = subject.outlined(wishes);
        target.access = access(&subject.paths, wishes.direct, &mut remarks)?;
        let on_device = subject.nature == Nature::Device;
        Ok(Place {
            target,
            shown: subject.shown.clone(),
            file_system: if on_device { None } else { file_system::kind(Path::new(SYSTEM_ROOT), &first) },
            disk: file_system::disk(Path::new(SYSTEM_ROOT), &first),
            work_files,
            writes: subject.writes,
            remarks,
        })
    }

    /// `a work file of 1G on ext4, disk nvme0n1 (ACME 1 TB)`.
    pub(crate) fn describe(&self) -> String {
        let (size, count) = (short_size(self.target.size), self.target.paths.len());
        let consent = if self.writes == Writes::Allowed { "overwritten" } else { "read only" };
        let on = self.file_system.as_ref().map_or_else(String::new, |kind| format!(" on {kind}"));
        let mut text = match self.target.nature {
            Nature::Device if count > 1 => format!("the first {size} of each of {count} devices, {consent}"),
            Nature::Device => format!("the first {size}, {consent}"),
            Nature::ForeignFile => format!("the first {size} of a file{on}, {consent}"),
            Nature::WorkFile if count > 1 => format!("{count} work files of {size}{on}"),
            Nature::WorkFile => format!("a work file of {size}{on}"),
        };
        if let Some(disk) = self.disk.as_ref().filter(|_| count == 1 || self.target.nature != Nature::Device) {
            text.push_str(&format!(", disk {disk}"));
        }
        text
    }
}

/// The size asked for, or one that fits the purpose and the free space; of each of the files.
fn chosen_size(paths: &[PathBuf], wishes: &Wishes) -> Result<u64, Failure> {
    let (first, count) = (paths.first().cloned().unwrap_or_default(), paths.len().max(1) as u64);
    let room = file_system::room(directory_of(&first))?;
    let held: u64 = paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|kept| kept.len()).sum();
    let room = file_system::Room { free: room.free.saturating_add(held), ..room };
    let usable = work_file::usable(room, wishes.reserve) / count / MIB * MIB;
    if let Some(size) = wishes.size {
        // One file is checked, and told about, where it is made.
        if count > 1 && size > usable {
            let size = short_size(size);
            return Err(Failure::new(format!(
                "{count} files of {size} do not fit; at most --size {}M each",
                usable / MIB
            )));
        }
        return Ok(size);
    }
    let wanted = if wishes.quick { QUICK_SIZE } else { USUAL_SIZE.min(room.free / 4) } / count / MIB * MIB;
    let fitting = wanted.max(LEAST_SIZE).min(usable);
    if fitting < LEAST_SIZE {
        return Err(Failure::new(format!(
            "{}: only {} MiB are free, too little for a survey; free at least {} MiB",
            directory_of(&first).display(),
            room.free / MIB,
            64 * count
        )));
    }
    Ok(fitting)
}

fn capacity(path: &Path) -> Result<u64, Failure> {
    let refused = |error: std::io::Error| {
        let shown = path.display();
        Failure::new(format!("{shown}: cannot be read: {error} (reading a device needs root or the group `disk`)"))
    };
    std::fs::File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0))).map_err(refused)
}

fn usable_of(shown: &str, capacity: u64, wishes: &Wishes) -> Result<u64, Failure> {
    let whole = capacity / MIB * MIB;
    if whole < LEAST_SIZE {
        return Err(Failure::new(format!("{shown}: holds {capacity} bytes; a survey needs at least 16 MiB")));
    }
    match wishes.size {
        Some(size) if size > whole => {
            Err(Failure::new(format!("{shown}: holds {} MiB, --size {} is more", whole / MIB, short_size(size))))
        }
        Some(size) => Ok(size),
        None if wishes.quick => Ok(whole.min(64 * QUICK_SIZE)),
        None => Ok(whole),
    }
}

/// What there is to say about reading a file of others.
fn holes(paths: &[PathBuf]) -> Result<String, Failure> {
    let mut text = "the file's data is read as it is; holes not checked".to_owned();
    for path in paths {
        let failed = |error: std::io::Error| Failure::new(format!("{}: cannot be read: {error}", path.display()));
        let file = std::fs::File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if let Ok(found) = sys::extents::of_file(&file, path) {
            text = match found.unwritten_bytes(size) {
                0 => "the file's data is read as it is".to_owned(),
                missing => format!(
                    "{} of {size} bytes of the file are holes or were never written; those reads do not reach the disk",
                    missing
                ),
            };
        }
    }
    Ok(text)
}

/// What O_DIRECT takes multiples of: the logical block of the disk below.
fn direct_multiple(paths: &[PathBuf]) -> u32 {
    let root = Path::new(SYSTEM_ROOT);
    let sector = |path: &PathBuf| BlockDevice::under(root, path).ok().flatten()?.logical_block_size();
    let largest = paths.iter().filter_map(sector).max().unwrap_or(USUAL_SECTOR);
    u32::try_from(largest).unwrap_or(1 << 31).max(512)
}

/// O_DIRECT where it is taken, else through the page cache, and said so.
fn access(paths: &[PathBuf], wanted: Option<bool>, remarks: &mut Vec<String>) -> Result<Access, Failure> {
    if wanted == Some(false) {
        remarks.push(
            "all I/O goes through the page cache, as asked; it is dropped before each test, and memory may still answer"
                .to_owned(),
        );
        return Ok(Access::Buffered);
    }
    for path in paths {
        match open(path, OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()) {
            Ok(_) => {}
            Err(Errno::INVAL | Errno::OPNOTSUPP) if wanted == Some(true) => {
                return Err(Failure::new(format!(
                    "{}: O_DIRECT is refused here; measure with --buffered",
                    path.display()
                )));
            }
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                remarks.push(
                    "O_DIRECT is refused here; all I/O goes through the page cache, so memory may answer the reads"
                        .to_owned(),
                );
                return Ok(Access::Buffered);
            }
            Err(error) => return Err(Failure::new(format!("{}: cannot be opened: {error}", path.display()))),
        }
    }
    Ok(Access::Direct)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_not_taken_for_a_place() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = nature(file.path()).unwrap_err();
        assert!(format!("{refused:?}").contains("neither a directory nor a block device"));
    }

    #[test]
    fn a_new_file_is_told_from_a_mistyped_directory() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(nature(&directory.path().join("w.dat")).unwrap(), Nature::WorkFile);
        assert!(nature(&directory.path().join("data")).is_err());
    }

    #[test]
    fn only_devices_are_surveyed_together() {
        let directory = tempfile::tempdir().unwrap();
        let targets = vec![directory.path().to_owned(), directory.path().to_owned()];
        let refused = Subject::look(&Wishes { targets, ..Wishes::default() }).err().unwrap();
        assert!(format!("{refused:?}").contains("only devices"), "{refused:?}");
    }
}
