//! Which devices may be written to: those that nobody uses and on which nothing lies, and those that the user named.
//!
//! The one place of this decision, for every command: all that writes comes as a job of a plan. What is on a device
//! is found by `sys::claims`.

use super::{PlannedFile, refusal};
use job::Work;
use job::plan::{JobPlan, Mix};
use measure::Direction;
use model::JobError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use sys::SysError;
use sys::claims::{self, Claim};
use sys::device::BlockDevice;

/// What was found on the devices of a plan; each is looked at once.
#[derive(Debug)]
pub(crate) struct Guard<'root> {
    root: &'root Path,
    found: BTreeMap<PathBuf, Found>,
}

/// One device.
#[derive(Clone, Debug)]
struct Found {
    claims: Vec<Claim>,
    /// The words that name it.
    identities: Vec<String>,
}

impl<'root> Guard<'root> {
    /// Nothing has been looked at yet.
    pub(crate) fn new(root: &'root Path) -> Self {
        Guard { root, found: BTreeMap::new() }
    }

    /// Refuses a job that would write to a block device which somebody uses or on which data lie, unless the job
    /// names this very device by something that stays with it. `by_number` are devices that nobody named: a trace
    /// holds their numbers on the machine on which it was taken.
    ///
    /// # Errors
    /// The refusal, or when a device cannot be looked at.
    pub(crate) fn check(
        &mut self,
        job: &JobPlan,
        clones: &[Vec<PlannedFile>],
        by_number: &BTreeSet<&Path>,
    ) -> Result<(), JobError> {
        if leaves_alone(job) {
            return Ok(());
        }
        // Whatever filetype= says: the kernel writes to what the path leads to.
        let paths: BTreeSet<&Path> = clones.iter().flatten().map(|file| file.path.as_path()).collect();
        for path in paths {
            let Some(device) = claims::behind(self.root, path) else {
                refuse_unknown(job, path)?;
                continue;
            };
            let found = self.look_at(job, &device)?;
            if let Some(why) = objection(job, &found, by_number.contains(path)) {
                return Err(refuse(job, path, &found, why));
            }
        }
        Ok(())
    }

    fn look_at(&mut self, job: &JobPlan, path: &Path) -> Result<Found, JobError> {
        if let Some(found) = self.found.get(path) {
            return Ok(found.clone());
        }
        let unknown = |error: SysError| {
            let errno = error.errno().unwrap_or(libc::EIO);
            let message = format!(
                "job `{}` ({}): whether {} may be written to cannot be found out: {error}",
                job.name,
                job.origin,
                path.display()
            );
            refusal(errno, "look at", message)
        };
        let number = sys::device::number_under(path).map_err(unknown)?;
        let device = BlockDevice::by_number(self.root, number)
            .ok_or_else(|| unknown(SysError::Impossible(format!("/sys shows no device {number}"))))?;
        let claims = claims::on(self.root, path, &device).map_err(unknown)?;
        let found = Found { claims, identities: claims::identities(&device) };
        self.found.insert(path.to_owned(), found.clone());
        Ok(found)
    }
}

/// Whether a job changes nothing on its devices: it reads, or only checks what was written. Calls about space do what
/// their engine says, whatever the direction is called; blocks are trimmed also where writes only check.
fn leaves_alone(job: &JobPlan) -> bool {
    let only_checks = job.verify.as_ref().is_some_and(|verify| verify.only);
    let reads = job.load.mix == Mix::Only(Direction::Read) && job.work != Work::Space;
    reads || (only_checks && !job.load.mix.contains(Direction::Trim))
}

/// Refuses raw commands to a device of which nobody knows what lies on it.
fn refuse_unknown(job: &JobPlan, path: &Path) -> Result<(), JobError> {
    use std::os::unix::fs::FileTypeExt;
    let raw = matches!(job.engine, "sg" | "io_uring_cmd");
    if !raw || !std::fs::metadata(path).is_ok_and(|found| found.file_type().is_char_device()) {
        return Ok(());
    }
    let message = format!(
        "job `{}` ({}): which block device lies behind {} cannot be found out in /sys, so that what is on it is not \
         known, and {} would write to it past all file systems; name a device that has one",
        job.name,
        job.origin,
        path.display(),
        job.engine
    );
    Err(refusal(libc::EPERM, "look at", message))
}

/// Why a job may not write to a device.
#[derive(Clone, Copy, Debug)]
enum Objection {
    /// Only a trace names it.
    ByNumber,
    /// Somebody uses it, and the job does not say everything that it must.
    InUse,
    /// There are data on it, and the job does not name it.
    Data,
}

fn objection(job: &JobPlan, found: &Found, by_number: bool) -> Option<Objection> {
    let consents = job.files.consent.iter().any(|word| found.identities.contains(word));
    if found.claims.iter().any(Claim::is_use) {
        let allowed = consents && job.files.may_write_mounted;
        return (!allowed).then_some(Objection::InUse);
    }
    if consents {
        return None;
    }
    if found.claims.is_empty() { by_number.then_some(Objection::ByNumber) } else { Some(Objection::Data) }
}

fn refuse(job: &JobPlan, path: &Path, found: &Found, why: Objection) -> JobError {
    // As many marks as a person reads; a disk has a hundred partitions at times.
    let shown: Vec<String> = found.claims.iter().take(4).map(ToString::to_string).collect();
    let more = found.claims.len().saturating_sub(4);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let word = found.identities.first().map_or("its size in bytes", String::as_str);
    let named = match job.files.consent.as_slice() {
        [] => String::new(),
        words => format!(" (write_consent={} is another device)", words.join(",")),
    };
    let named = if job.files.consent.iter().any(|word| found.identities.contains(word)) { "" } else { &named };
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
                "{all}{more}, and writing to it would destroy that; erase it first (wipefs --all), or set \
                 write_consent={word}{named}"
            ),
        ),
    };
    let message = format!("job `{}` ({}): {} {what}", job.name, job.origin, path.display());
    refusal(errno, "open", message)
}
