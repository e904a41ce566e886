//! Decides which devices may be written to: those that are unused and hold no data, and those that the user named.
//!
//! This decision is made only here, for every command: everything that writes is a job of a plan. One command writes
//! without a plan, `plumb durable`: to devices that are unused and hold no data, if the user names them
//! (`survey::consented_writes`). The state of a device is determined by `sys::devices::claims`.

use super::layout::is_laid_out;
use super::regions::PlannedFile;
use crate::error::job_refusal;
use engine::ENGINES;
use measure::Direction;
use model::JobError;
use plan::{JobPlan, Mix, Work};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use sys::SysError;
use sys::devices::backing::BackingFiles;
use sys::devices::claims::{self, Claim};
use sys::devices::identity::BlockDevice;
use sys::devices::own_words::OwnWords;

/// The state of the devices of a plan; each is examined once.
#[derive(Debug)]
pub(crate) struct Guard<'root> {
    root: &'root Path,
    found: BTreeMap<PathBuf, DeviceState>,
    /// The plain files that the kernel shows as devices; found when the first plain file is examined.
    backing: OnceCell<BackingFiles>,
}

/// The state of one device.
#[derive(Clone, Debug)]
struct DeviceState {
    device: BlockDevice,
    claims: Vec<Claim>,
}

impl<'root> Guard<'root> {
    /// A guard that has not examined any device.
    pub(crate) fn new(root: &'root Path) -> Self {
        Guard { root, found: BTreeMap::new(), backing: OnceCell::new() }
    }

    /// Rejects a job that would write to a block device which is in use or holds data, unless the job names this very
    /// device by its own identity (`write_consent`). `by_number` are devices that the user did not name: a trace
    /// holds their device numbers on the machine where it was recorded. Errors: the refusal, or an error if a device
    /// cannot be examined.
    pub(crate) fn check(
        &mut self,
        job: &JobPlan,
        clones: &[Vec<PlannedFile>],
        by_number: &BTreeSet<&Path>,
    ) -> Result<(), JobError> {
        if leaves_alone(job) {
            // Its layout may write to files, though.
            let missing = if is_laid_out(job, clones) { Vec::new() } else { clones.iter().flatten().collect() };
            return missing.into_iter().try_for_each(|file| self.check_file(job, &file.path));
        }
        // Independent of filetype=: the kernel writes to whatever the path resolves to.
        let paths: BTreeSet<&Path> = clones.iter().flatten().map(|file| file.path.as_path()).collect();
        for path in paths {
            let Some(device) = claims::behind(self.root, path) else {
                refuse_unknown(job, path)?;
                self.check_file(job, path)?;
                continue;
            };
            let found = self.examine(job, &device)?;
            let by_number = by_number.contains(path);
            if found.claims.is_empty() && !by_number {
                continue;
            }
            let words = OwnWords::of(self.root, &found.device);
            let unnamed = by_number && !consents(job, &words);
            if let Some(why) = objection(job, &found.claims, &words).or(unnamed.then_some(Objection::ByNumber)) {
                return Err(refuse(job, path, &Refused { claims: &found.claims, words: &words, why }));
            }
        }
        Ok(())
    }

    /// Rejects a job that would write to a plain file which the kernel shows as a device that is in use, unless the job
    /// repeats its path as consent. Other plain files are overwritten, as by fio.
    fn check_file(&self, job: &JobPlan, path: &Path) -> Result<(), JobError> {
        let backing = self.backing.get_or_init(|| BackingFiles::find(self.root));
        let claims = backing.claims(self.root, path).map_err(|error| unknown(job, path, &error))?;
        let consents = job.files.may_write_mounted && job.files.consent.iter().any(|word| Path::new(word) == path);
        if claims.is_empty() || consents {
            return Ok(());
        }
        let shown: Vec<String> = claims.iter().take(4).map(ToString::to_string).collect();
        let path = path.display();
        let what = format_args!(
            "{path} {}, and writing to it would destroy data; stop what uses it, or set both allow_mounted_write=1 and \
             write_consent={path}",
            shown.join(", ")
        );
        Err(job_refusal(job, libc::EBUSY, "open", what))
    }

    fn examine(&mut self, job: &JobPlan, path: &Path) -> Result<DeviceState, JobError> {
        if let Some(found) = self.found.get(path) {
            return Ok(found.clone());
        }
        let unknown = |error: SysError| unknown(job, path, &error);
        let number = sys::devices::identity::number_under(path).map_err(unknown)?;
        let device = BlockDevice::by_number(self.root, number)
            .ok_or_else(|| unknown(SysError::impossible(format!("/sys shows no device {number}"))))?;
        let claims = claims::on(self.root, path, &device).map_err(unknown)?;
        let found = DeviceState { device, claims };
        self.found.insert(path.to_owned(), found.clone());
        Ok(found)
    }
}

fn unknown(job: &JobPlan, path: &Path, error: &SysError) -> JobError {
    let what = format_args!("whether {} may be written to cannot be found out: {error}", path.display());
    job_refusal(job, error.errno().unwrap_or(libc::EIO), "look at", what)
}

/// True if a job changes nothing on its devices: it reads, or only verifies what was written. Engines that allocate
/// space change files whatever the direction is called, and verify_only does not suppress trims.
fn leaves_alone(job: &JobPlan) -> bool {
    let only_checks = job.verify.as_ref().is_some_and(|verify| verify.only);
    let reads = job.load.mix == Mix::Only(Direction::Read) && job.work != Work::Allocation;
    reads || (only_checks && !job.load.mix.contains(Direction::Trim))
}

/// Rejects raw commands to a device whose content cannot be determined.
fn refuse_unknown(job: &JobPlan, path: &Path) -> Result<(), JobError> {
    use std::os::unix::fs::FileTypeExt;
    let raw = ENGINES.iter().any(|engine| engine.name == job.engine && engine.capabilities.raw_commands);
    if !raw || !std::fs::metadata(path).is_ok_and(|found| found.file_type().is_char_device()) {
        return Ok(());
    }
    let what = format_args!(
        "which block device lies behind {} cannot be found out in /sys, so that what is on it is not \
         known, and {} would write to it past all file systems; name a device that has one",
        path.display(),
        job.engine
    );
    Err(job_refusal(job, libc::EPERM, "look at", what))
}

/// The reason why a job may not write to a device.
#[derive(Clone, Copy, Debug)]
enum Objection {
    /// Only a trace names the device.
    ByNumber,
    /// The device is in use, and the job does not set all options that this requires.
    InUse,
    /// The device holds data, and the job does not name it.
    Data,
}

/// True if the job names the device by an identity of it (`write_consent`).
fn consents(job: &JobPlan, words: &OwnWords) -> bool {
    job.files.consent.iter().any(|word| words.fits(word))
}

fn objection(job: &JobPlan, claims: &[Claim], words: &OwnWords) -> Option<Objection> {
    let consents = consents(job, words);
    if claims.iter().any(Claim::is_use) {
        return (!(consents && job.files.may_write_mounted)).then_some(Objection::InUse);
    }
    (!consents && !claims.is_empty()).then_some(Objection::Data)
}

/// A device that may not be written to.
struct Refused<'a> {
    claims: &'a [Claim],
    words: &'a OwnWords,
    why: Objection,
}

fn refuse(job: &JobPlan, path: &Path, refused: &Refused<'_>) -> JobError {
    let Refused { claims, words, why } = *refused;
    // At most four, to keep the message short; a disk can have a hundred partitions.
    let shown: Vec<String> = claims.iter().take(4).map(ToString::to_string).collect();
    let more = claims.len().saturating_sub(4);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let word = words.best();
    let given = &job.files.consent;
    let named = if given.is_empty() || consents(job, words) {
        String::new()
    } else {
        let wrong: Vec<String> = given.iter().map(|word| words.why_not(word)).collect();
        format!(" (write_consent={}: {})", given.join(","), wrong.join("; "))
    };
    let all = shown.join(", ");
    let (errno, what) = match why {
        Objection::ByNumber => (
            libc::EPERM,
            format!(
                "is named only by a device number in the trace, which was another device's where the trace was taken; \
                 name the device with replay_redirect={}, or set write_consent={word}{named}",
                path.display()
            ),
        ),
        Objection::InUse => (
            libc::EBUSY,
            format!(
                "{all}{more}, and writing to it would destroy data; stop what uses it, or set both \
                 allow_mounted_write=1 and write_consent={word}{named}"
            ),
        ),
        Objection::Data => (
            libc::EPERM,
            format!(
                "{all}{more}, and writing to it would destroy that; {}, or set write_consent={word}{named}",
                claims.first().map_or("", Claim::remedy)
            ),
        ),
    };
    job_refusal(job, errno, "open", format_args!("{} {what}", path.display()))
}
