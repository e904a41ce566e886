//! Target of a survey: a directory with work files, an existing file, or block devices.

use crate::error::SurveyError;
use crate::job_plans::{Access, Layout, SurveyTarget, TargetKind};
use crate::parse_values::{short_size, written_size};
use crate::preconditioning::{Precondition, PreconditionResult};
use crate::request::SurveyRequest;
use crate::suite::{Suite, Writes};
use crate::work_file::{self, Afterwards, WorkFile, directory_of};
use measure::text::rounded_size;
use model::RunResult;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};
use sys::devices::claims;
use sys::devices::identity::{BlockDevice, number_under};
use sys::devices::own_words::OwnWords;

/// The root of /proc and /sys.
pub(crate) const SYSTEM_ROOT: &str = "/";
const MIB: u64 = 1 << 20;
/// Smallest target in which 8 sequential users get separate blocks.
const LEAST_SIZE: u64 = 16 * MIB;
const USUAL_SIZE: u64 = 16 << 30;
const QUICK_SIZE: u64 = 1 << 30;
/// Alignment for O_DIRECT if the device does not report its logical block size.
const USUAL_SECTOR: u64 = 512;

/// The target named by the user, inspected but not modified.
pub struct FoundTarget {
    /// Paths as given by the user.
    shown: String,
    /// Files to create, or the paths to measure.
    paths: Vec<PathBuf>,
    kind: TargetKind,
    /// Permission to write.
    pub writes: Writes,
    layout: Layout,
    /// Bytes used of each path.
    pub size: u64,
    /// Size of the largest zones among zoned devices.
    zone: Option<u64>,
}

/// An open target and remarks on it.
pub struct OpenTarget {
    /// The target for building Plans.
    pub target: SurveyTarget,
    /// Paths as given by the user.
    pub shown: String,
    /// File system type; `None` for a device, or if it is unknown.
    pub file_system: Option<String>,
    /// Name of the disk for display.
    pub disk: Option<String>,
    /// Work files; empty for devices.
    pub work_files: Vec<WorkFile>,
    /// Permission to write.
    pub writes: Writes,
    /// Remarks to show before the results.
    pub remarks: Vec<String>,
    /// The writes before the first test, once they were made until the rate was settled.
    pub preconditioned: Option<PreconditionResult>,
}

impl FoundTarget {
    /// Inspects the target named in the request.
    pub fn look(request: &SurveyRequest) -> Result<Self, SurveyError> {
        let mut natures = Vec::new();
        for path in &request.targets {
            natures.push((kind(path)?, path));
        }
        let shown = request.targets.iter().map(|path| named(path)).collect::<Vec<_>>().join(", ");
        let natures = match natures.as_slice() {
            [] => return Err(SurveyError("nothing is named to survey; give a PATH|DEVICE".to_owned())),
            [(first, _)] => *first,
            many => match many.iter().find(|(kind, _)| *kind != TargetKind::Device) {
                Some((_, path)) => {
                    let path = path.display();
                    return Err(SurveyError(format!(
                        "{path}: is not a block device, and only devices can be surveyed together; name one directory"
                    )));
                }
                None => TargetKind::Device,
            },
        };
        if request.file_per_user && natures != TargetKind::WorkFile {
            return Err(SurveyError(format!("{shown}: files for each user are made in a directory; name one")));
        }
        let writes = match natures {
            TargetKind::WorkFile => Writes::Allowed,
            TargetKind::ForeignFile => Writes::Forbidden,
            TargetKind::Device => consented_writes(&request.targets, &request.overwrite)?,
        };
        if !request.overwrite.is_empty() && natures != TargetKind::Device {
            return Err(SurveyError(format!("{shown}: is not a device; --overwrite is for devices")));
        }
        if !request.precondition.is_unset() && writes == Writes::Forbidden {
            return Err(SurveyError(format!(
                "{shown}: would be written by --precondition; name a directory, or the device once more with --overwrite"
            )));
        }
        let zone = request.targets.iter().filter_map(|path| zone_size(path)).max();
        let layout = if request.file_per_user { Layout::PerUser } else { Layout::Shared };
        Ok(FoundTarget { shown, paths: request.targets.clone(), kind: natures, writes, layout, size: 0, zone })
    }

    /// True if a work file is made in a directory, or under a name that is given.
    pub fn makes_files(&self) -> bool {
        self.kind == TargetKind::WorkFile
    }

    /// Determines file names and sizes for these tests.
    pub fn fit(&mut self, suite: &Suite, request: &SurveyRequest) -> Result<(), SurveyError> {
        match self.kind {
            TargetKind::WorkFile => {
                let path = self.paths.first().cloned().unwrap_or_default();
                let path = if path.is_dir() { path.join(work_file::NAME) } else { path };
                let users = suite.tests.iter().map(|test| test.users).max().unwrap_or(1);
                self.paths = match self.layout {
                    Layout::Shared => vec![path],
                    Layout::PerUser => (1..=users).map(|number| numbered(&path, number)).collect(),
                };
                self.size = chosen_size(&self.paths, request)?;
            }
            TargetKind::ForeignFile | TargetKind::Device => {
                let least = self.paths.iter().map(|path| capacity(path)).collect::<Result<Vec<u64>, SurveyError>>()?;
                let size = usable_of(&self.shown, least.into_iter().min().unwrap_or(0), request)?;
                self.size = self.zone.map_or(size, |zone| (size / zone).max(1) * zone);
            }
        }
        Ok(())
    }

    /// The target as it would be opened, determined without touching it (dry run).
    pub fn outlined(&self, request: &SurveyRequest) -> SurveyTarget {
        let access = if request.direct == Some(false) { Access::Buffered } else { Access::Direct };
        SurveyTarget {
            paths: self.paths.clone(),
            size: self.size,
            access,
            kind: self.kind,
            layout: self.layout,
            direct_multiple: direct_multiple(&self.paths),
            zone: self.zone.filter(|_| self.writes == Writes::Allowed),
        }
    }

    /// Description for display: `/data: a work file of 1G`.
    pub fn describe(&self) -> String {
        let (size, count) = (short_size(self.size), self.paths.len());
        let what = match (self.kind, self.writes) {
            (TargetKind::WorkFile, _) if count > 1 => format!("{count} work files of {size}"),
            (TargetKind::WorkFile, _) => format!("a work file of {size}"),
            (TargetKind::ForeignFile, _) => format!("the first {size} of the file, read only"),
            (TargetKind::Device, Writes::Forbidden) => format!("the first {size} of each device, read only"),
            (TargetKind::Device, Writes::Allowed) => format!("the first {size} of each device, WHICH IS OVERWRITTEN"),
        };
        let zones = self.zoned_remark().map_or_else(String::new, |remark| format!(" {remark}."));
        format!("{}: {what}.{zones}", self.shown)
    }

    /// Remark on a zoned device: how the survey works on it.
    fn zoned_remark(&self) -> Option<String> {
        let zone = rounded_size(measure::float(self.zone?));
        Some(match self.writes {
            Writes::Allowed => format!(
                "It is a zoned device with zones of {zone}: writes go to their write pointers, full zones are reset, \
                 and reads stay below (zonemode=zbd); writes have multiples of {} bytes",
                direct_multiple(&self.paths)
            ),
            Writes::Forbidden => format!(
                "It is a zoned device with zones of {zone}: zones that were never written are read as zeros without \
                 the medium; with --overwrite the survey writes them, by zones, and reads what it wrote"
            ),
        })
    }

    /// Zones that are written take multiples of this.
    pub(crate) fn zone_multiple(&self) -> Option<u32> {
        self.zone.filter(|_| self.writes == Writes::Allowed).map(|_| direct_multiple(&self.paths))
    }

    /// Bytes written before the first test, at least.
    pub fn prepared_bytes(&self, request: &SurveyRequest) -> u64 {
        let total = self.size.saturating_mul(self.paths.len() as u64);
        total.saturating_mul(request.precondition.least_passes().unwrap_or_else(|| self.passes(request)))
    }

    /// Number of times that everything is written from start to end before the first test.
    pub fn passes(&self, request: &SurveyRequest) -> u64 {
        match (self.kind, request.precondition) {
            (_, Precondition::Twice) => 2,
            (_, Precondition::Steady) | (TargetKind::WorkFile, Precondition::Off) => 1,
            // Zones hold only what was written to them.
            _ if self.zone.is_some() && self.writes == Writes::Allowed => 1,
            _ => 0,
        }
    }
}

/// Size of the zones of a path; `None` if it is not a zoned block device.
fn zone_size(path: &Path) -> Option<u64> {
    sys::devices::zones::size(std::fs::File::open(path).ok()?.as_fd())
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Type of a path: a directory, or the name of a file to create; an existing file; a device.
fn kind(path: &Path) -> Result<TargetKind, SurveyError> {
    let shown = path.display();
    let kind = match std::fs::metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && may_be_made(path) => {
            return Ok(TargetKind::WorkFile);
        }
        Err(error) => return Err(SurveyError(format!("{shown}: {error}"))),
    };
    if sys::files::zonefs::holds(path) {
        Err(SurveyError(format!(
            "{shown}: is on zonefs, whose files are zones: no work file can be made there; survey the zoned device itself"
        )))
    } else if kind.is_dir() || (kind.is_file() && work_file::is_ours(path)) {
        Ok(TargetKind::WorkFile)
    } else if kind.is_block_device() {
        Ok(TargetKind::Device)
    } else if kind.is_file() && std::fs::metadata(path).is_ok_and(|found| found.len() >= LEAST_SIZE) {
        Ok(TargetKind::ForeignFile)
    } else if kind.is_file() && path.extension().is_some_and(|end| end == "toml") {
        Err(SurveyError(format!("{shown}: give a survey file with --config {shown}, and name a directory or a device")))
    } else if kind.is_file() && is_job_file(path) {
        Err(SurveyError(format!(
            "{shown}: is a job file, which plumb fio {shown} runs; a survey takes a directory or a block device"
        )))
    } else {
        Err(SurveyError(format!(
            "{shown}: is neither a directory nor a block device nor a file of 16M and more; name the directory, plumb \
             creates a work file there"
        )))
    }
}

/// True for a file whose first line that is not a comment opens a section, as in job files of fio.
fn is_job_file(path: &Path) -> bool {
    let text = sys::files::read_limited::read_text(path, LEAST_SIZE).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let mut lines = lines.take(1);
    lines.any(|line| line.starts_with('[') && line.ends_with(']'))
}

/// True for a new file in an existing directory; it needs an extension, so that no mistyped directory is one.
fn may_be_made(path: &Path) -> bool {
    path.extension().is_some() && directory_of(path).is_dir()
}

impl OpenTarget {
    /// Opens the target, and creates the work files.
    pub fn open(subject: &FoundTarget, request: &SurveyRequest) -> Result<Self, SurveyError> {
        let mut remarks = Vec::new();
        let mut work_files = Vec::new();
        if subject.kind == TargetKind::WorkFile {
            let afterwards = if request.keep { Afterwards::Keep } else { Afterwards::Remove };
            for path in &subject.paths {
                work_files.push(WorkFile::prepare(path, subject.size, request.reserve, afterwards)?);
            }
        }
        if subject.writes == Writes::Forbidden {
            remarks.push(match subject.kind {
                TargetKind::Device => {
                    "the device's data is read as it is; blocks that were never written may be answered \
                                   without the medium"
                        .to_owned()
                }
                _ => holes(&subject.paths)?,
            });
        }
        remarks.extend(subject.zoned_remark());
        if subject.zone.is_some() && subject.writes == Writes::Allowed && request.direct == Some(false) {
            let what = "a zoned device is written with direct I/O; leave --buffered out";
            return Err(SurveyError(format!("{}: {what}", subject.shown)));
        }
        let access = access(&subject.paths, request.direct, &mut remarks)?;
        Ok(OpenTarget {
            work_files,
            remarks,
            ..Self::of(subject, SurveyTarget { access, ..subject.outlined(request) })
        })
    }

    /// The target without files and remarks.
    fn of(subject: &FoundTarget, target: SurveyTarget) -> Self {
        let (root, first) = (Path::new(SYSTEM_ROOT), subject.paths.first().cloned().unwrap_or_default());
        let on_device = subject.kind == TargetKind::Device;
        OpenTarget {
            target,
            shown: subject.shown.clone(),
            file_system: if on_device { None } else { work_file::kind(root, &first) },
            disk: work_file::disk(root, &first),
            work_files: Vec::new(),
            writes: subject.writes,
            remarks: Vec::new(),
            preconditioned: None,
        }
    }

    /// The target of members of a cluster, as seen from here: nothing is opened or made, as each member does that.
    pub fn of_members(subject: &FoundTarget, request: &SurveyRequest) -> Self {
        let first = subject.paths.first().cloned().unwrap_or_default();
        let mut target = subject.outlined(request);
        if request.direct.is_none() && subject.kind == TargetKind::WorkFile && !takes_direct(directory_of(&first)) {
            target.access = Access::Buffered;
        }
        Self::of(subject, target)
    }

    /// True if there are work files, and all hold their data already.
    pub fn is_filled(&self) -> bool {
        !self.work_files.is_empty() && self.work_files.iter().all(WorkFile::is_filled)
    }

    /// Fails if a run that wrote the data of the target had an error.
    ///
    /// # Errors
    /// The error, with the target and its size.
    pub fn check_written(&self, result: &RunResult) -> Result<(), SurveyError> {
        let Some(error) = result.jobs.iter().find_map(|job| job.error.as_ref()) else { return Ok(()) };
        let size = short_size(self.target.total());
        Err(SurveyError(format!("{}: {size} cannot be written: {}", self.shown, error.message)))
    }

    /// Marks the work files as filled and checks them for holes. Returns a remark on each whose holes are unknown.
    pub fn set_filled(&mut self) -> Result<Vec<String>, SurveyError> {
        let mut remarks = Vec::new();
        for work in &mut self.work_files {
            if !work.is_filled() {
                work.set_filled()?;
            }
            remarks.extend(work.prove_written()?.map(|unknown| format!("{}: {unknown}", work.path().display())));
        }
        Ok(remarks)
    }

    /// Description for display: `a work file of 1G on ext4, disk nvme0n1 (ACME 1 TB)`.
    pub fn describe(&self) -> String {
        let (size, count) = (short_size(self.target.size), self.target.paths.len());
        let consent = if self.writes == Writes::Allowed { "overwritten" } else { "read only" };
        let on = self.file_system.as_ref().map_or_else(String::new, |kind| format!(" on {kind}"));
        let mut text = match self.target.kind {
            TargetKind::Device if count > 1 => format!("the first {size} of each of {count} devices, {consent}"),
            TargetKind::Device => format!("the first {size}, {consent}"),
            TargetKind::ForeignFile => format!("the first {size} of a file{on}, {consent}"),
            TargetKind::WorkFile if count > 1 => format!("{count} work files of {size}{on}"),
            TargetKind::WorkFile => format!("a work file of {size}{on}"),
        };
        if let Some(disk) = self.disk.as_ref().filter(|_| count == 1 || self.target.kind != TargetKind::Device) {
            text.push_str(&format!(", disk {disk}"));
        }
        text
    }
}

/// Size of each file: as requested, or one that fits the purpose and the free space.
fn chosen_size(paths: &[PathBuf], request: &SurveyRequest) -> Result<u64, SurveyError> {
    let (first, count) = (paths.first().cloned().unwrap_or_default(), paths.len().max(1) as u64);
    let room = work_file::room(directory_of(&first))?;
    let held: u64 = paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|kept| kept.len()).sum();
    let room = work_file::Room { free: room.free.saturating_add(held), ..room };
    let usable = work_file::usable(room, request.reserve) / count / MIB * MIB;
    if let Some(size) = request.size {
        // For a single file, the size is checked when the file is created.
        if count > 1 && size > usable {
            let size = short_size(size);
            return Err(SurveyError(format!(
                "{count} files of {size} do not fit; at most --size {} each",
                written_size(usable)
            )));
        }
        return Ok(size);
    }
    let wanted = if request.quick { QUICK_SIZE } else { USUAL_SIZE.min(room.free / 4) } / count / MIB * MIB;
    let fitting = wanted.max(LEAST_SIZE).min(usable);
    if fitting < LEAST_SIZE {
        return Err(SurveyError(format!(
            "{}: only {} are free, too little for a survey; free at least {}",
            directory_of(&first).display(),
            rounded_size(measure::float(room.free)),
            rounded_size(measure::float(64 * count * MIB))
        )));
    }
    Ok(fitting)
}

fn capacity(path: &Path) -> Result<u64, SurveyError> {
    let refused = |error: std::io::Error| {
        let shown = path.display();
        SurveyError(format!("{shown}: cannot be read: {error} (reading a device needs root or the group `disk`)"))
    };
    std::fs::File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0))).map_err(refused)
}

/// A path as a sentence names it: as it was given, and in full if it has no name, like `.` and `..`.
fn named(path: &Path) -> String {
    let has_name = path.components().any(|part| matches!(part, Component::Normal(_)));
    let full = (!has_name).then(|| path.canonicalize().ok()).flatten();
    full.as_deref().unwrap_or(path).display().to_string()
}

fn usable_of(shown: &str, capacity: u64, request: &SurveyRequest) -> Result<u64, SurveyError> {
    let whole = capacity / MIB * MIB;
    if whole < LEAST_SIZE {
        return Err(SurveyError(format!(
            "{shown}: holds {}; a survey needs at least 16 MiB",
            rounded_size(measure::float(capacity))
        )));
    }
    match request.size {
        Some(size) if size > whole => {
            let (holds, size) = (rounded_size(measure::float(whole)), short_size(size));
            Err(SurveyError(format!(
                "{shown}: holds {holds}, --size {size} is more; at most --size {}",
                written_size(whole)
            )))
        }
        Some(size) => Ok(size),
        None if request.quick => Ok(whole.min(64 * QUICK_SIZE)),
        None => Ok(whole),
    }
}

/// Remark on reading an existing file: its holes and unwritten extents.
fn holes(paths: &[PathBuf]) -> Result<String, SurveyError> {
    let mut text = "the file's data is read as it is; holes not checked".to_owned();
    for path in paths {
        let failed = |error: std::io::Error| SurveyError::at(path, format!("cannot be read: {error}"));
        let file = std::fs::File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if let Ok(found) = sys::files::extents::of_file(&file, path) {
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

/// Alignment that O_DIRECT requires: the largest logical block size of the disks below.
fn direct_multiple(paths: &[PathBuf]) -> u32 {
    let root = Path::new(SYSTEM_ROOT);
    let sector = |path: &PathBuf| BlockDevice::under(root, path).ok().flatten()?.logical_block_size();
    let largest = paths.iter().filter_map(sector).max().unwrap_or(USUAL_SECTOR);
    u32::try_from(largest).unwrap_or(1 << 31).max(512)
}

/// Selects O_DIRECT if it is supported, otherwise buffered I/O with a remark.
fn access(paths: &[PathBuf], wanted: Option<bool>, remarks: &mut Vec<String>) -> Result<Access, SurveyError> {
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
                return Err(SurveyError::at(path, "O_DIRECT is refused here; measure with --buffered"));
            }
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                remarks.push(
                    "O_DIRECT is refused here; all I/O goes through the page cache, so memory may answer the reads"
                        .to_owned(),
                );
                return Ok(Access::Buffered);
            }
            Err(error) => return Err(SurveyError::at(path, format!("cannot be opened: {error}"))),
        }
    }
    Ok(Access::Direct)
}

/// False if a nameless file in this directory refuses O_DIRECT. Without such files, members have to say it.
fn takes_direct(directory: &Path) -> bool {
    let nameless = OFlags::RDWR | OFlags::TMPFILE | OFlags::DIRECT | OFlags::CLOEXEC;
    open(directory, nameless, Mode::RUSR | Mode::WUSR).err() != Some(Errno::INVAL)
}

// Permission to overwrite a device: the user must repeat its identity, and the device must not be in use.

/// Decides if these devices may be written to, given the identities repeated by the user. Without any they are read
/// only.
///
/// # Errors
/// An identity that does not match, or a device that is in use or holds data.
pub fn consented_writes(devices: &[PathBuf], repeated: &[String]) -> Result<Writes, SurveyError> {
    if repeated.is_empty() {
        return Ok(Writes::Forbidden);
    }
    let mut unused: Vec<&String> = repeated.iter().collect();
    for path in devices {
        let words = own_words(path)?;
        let Some(at) = unused.iter().position(|word| words.fits(word)) else {
            let wrong: Vec<String> = repeated.iter().map(|word| words.why_not(word)).collect();
            let (all, wrong) = (words.all(), wrong.join("; "));
            let why = format!("is not overwritten: --overwrite names another device; this one is {all} ({wrong})");
            return Err(SurveyError::at(path, why));
        };
        unused.remove(at);
        check_unused(path)?;
    }
    match unused.first() {
        Some(word) => {
            Err(SurveyError(format!("--overwrite {word}: no device has this serial number, WWID or NAME:SIZE")))
        }
        None => Ok(Writes::Allowed),
    }
}

/// The words that name a device and no other.
///
/// # Errors
/// If the kernel shows no such device.
pub fn own_words(path: &Path) -> Result<OwnWords, SurveyError> {
    let root = Path::new(SYSTEM_ROOT);
    let number = number_under(path).map_err(|error| SurveyError::at(path, error))?;
    let device = BlockDevice::by_number(root, number);
    let device = device.ok_or_else(|| SurveyError::at(path, "the kernel does not list it"))?;
    Ok(OwnWords::of(root, &device))
}

/// Checks that the device is neither in use nor holds a known signature; `--overwrite` does not override this.
///
/// # Errors
/// The reason why it is not overwritten.
pub fn check_unused(path: &Path) -> Result<(), SurveyError> {
    let failed = |why: &dyn std::fmt::Display| SurveyError::at(path, format!("is not overwritten: {why}"));
    let root = Path::new(SYSTEM_ROOT);
    let number = number_under(path).map_err(|error| failed(&error))?;
    let device = BlockDevice::by_number(root, number).ok_or_else(|| failed(&"the kernel does not list it"))?;
    let claims = claims::on(root, path, &device).map_err(|error| failed(&error))?;
    let shown = claims.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match claims.first() {
        None => Ok(()),
        Some(first) if first.is_use() => Err(failed(&format!("it {shown}; stop what uses it first"))),
        Some(first) => Err(failed(&format!("it {shown}; if that is not needed any more, {}", first.remedy()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_not_taken_for_a_place() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = kind(file.path()).unwrap_err();
        assert!(format!("{refused:?}").contains("neither a directory nor a block device"));
    }

    #[test]
    fn a_new_file_is_distinguished_from_a_mistyped_directory() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(kind(&directory.path().join("w.dat")).unwrap(), TargetKind::WorkFile);
        assert!(kind(&directory.path().join("data")).is_err());
    }

    #[test]
    fn a_sentence_about_a_place_without_a_name_has_its_whole_path() {
        let whole = std::env::current_dir().unwrap();
        for (given, shown) in [(".", &*whole), ("./", &*whole), ("..", whole.parent().unwrap())] {
            assert_eq!(named(Path::new(given)), shown.display().to_string(), "{given}");
        }
        assert_eq!((named(Path::new("data")), named(Path::new("../data"))), ("data".into(), "../data".into()));
    }

    #[test]
    fn only_devices_are_surveyed_together() {
        let directory = tempfile::tempdir().unwrap();
        let targets = vec![directory.path().to_owned(), directory.path().to_owned()];
        let refused = FoundTarget::look(&SurveyRequest { targets, ..SurveyRequest::default() }).err().unwrap();
        assert!(format!("{refused:?}").contains("only devices"), "{refused:?}");
    }
}
