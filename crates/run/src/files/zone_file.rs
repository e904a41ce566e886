//! Files of zonefs that are sequential zones: each is written at its end, with direct I/O, and emptied as a whole.

use super::regions::PlannedFile;
use crate::error::{file_error, job_refusal};
use measure::Direction;
use model::JobError;
use plan::{JobPlan, Mix};
use rustix::fs::{fstat, ftruncate};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

/// Refuses what a zone does not take, with what would work.
pub(crate) fn check(job: &JobPlan, clones: &[Vec<PlannedFile>]) -> Result<(), JobError> {
    let writes = job.load.mix.contains(Direction::Write);
    let mut written = BTreeSet::new();
    for (file, room) in clones.iter().flatten().filter_map(|file| Some((file, file.zone_room?))) {
        let fail = |what: &str| {
            let what = format_args!("{} is a zone of zonefs, {what}", file.path.display());
            Err(job_refusal(job, libc::EINVAL, "zones", what))
        };
        if file.region.end > room {
            return fail(&format!("which holds {room} bytes; give a smaller size="));
        }
        let is_in_order = job.load.mix == Mix::Only(Direction::Write) && !job.load.random;
        match () {
            () if job.load.mix == Mix::Only(Direction::Read) => {}
            () if !is_in_order => {
                return fail("which is written at its end only; use rw=write, or zonemode=zbd on the device itself");
            }
            () if !job.files.direct => return fail("which is written with direct I/O; add direct=1"),
            () if job.limits.loops > 1 || job.limits.time_based || job.files.io_size.is_some() => {
                return fail("which is written once in a run; leave out loops, time_based and io_size");
            }
            () if job.depth.depth > 1 => return fail("whose writes have to keep their order; use iodepth=1"),
            () if job.files.handling.open_at_once.is_some() => return fail("which stays open; leave openfiles out"),
            () => {}
        }
        if writes && !written.insert(&file.path) {
            return fail("which one job writes; give each job its own with filename=.../seq/$jobnum");
        }
    }
    Ok(())
}

/// Makes a zone ready for a job that writes it: a job that begins at its start finds it empty.
pub(super) fn prepare(job: &JobPlan, file: &PlannedFile, open: &OwnedFd) -> Result<(), JobError> {
    if file.zone_room.is_none() || !job.load.mix.contains(Direction::Write) {
        return Ok(());
    }
    let held = fstat(open).map_err(|error| file_error("stat", &file.path, error, ""))?.st_size.cast_unsigned();
    match file.region.start {
        start if start == held => Ok(()),
        0 => ftruncate(open, 0).map_err(|error| file_error("empty the zone", &file.path, error, "")),
        start => {
            let path = file.path.display();
            let what = format_args!("{path} is a zone of zonefs that holds {held} bytes; begin there, not at {start}");
            Err(job_refusal(job, libc::EINVAL, "zones", what))
        }
    }
}
