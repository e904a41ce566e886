//! A target for commands that only read, such as `plumb model`: a work file that is created and filled, or an existing
//! file or device that is not changed.

use crate::failure::Failure;
use run::{Observer, RunOptions};
use std::path::Path;
use survey::{Access, SurveyRequest, fill_plan, short_size};
use survey::{FoundTarget, OpenTarget, WorkFile};

/// Opens `target`, with `size` bytes of data in it.
///
/// # Errors
/// If it is not a directory, file or block device, is too small, cannot be written, or does not support O_DIRECT.
pub(crate) fn filled_place(target: &Path, size: u64, observer: &mut dyn Observer) -> Result<OpenTarget, Failure> {
    let request = SurveyRequest {
        targets: vec![target.to_owned()],
        size: Some(size),
        direct: Some(true),
        ..SurveyRequest::default()
    };
    let mut subject = FoundTarget::look(&request)?;
    let suite = survey::suite(&request, subject.writes)?;
    subject.fit(&suite, &request)?;
    let mut place = OpenTarget::open(&subject, &request)?;
    if place.target.access != Access::Direct {
        return Err(Failure::new(format!("{}: takes no O_DIRECT, so its device cannot be measured", target.display())));
    }
    if place.work_files.iter().all(WorkFile::is_filled) {
        return Ok(place);
    }
    let options = RunOptions::default();
    let result =
        run::execute(&fill_plan(&place.target), &options, observer).map_err(|error| Failure::new(error.to_string()))?;
    let why = result.jobs.iter().find_map(|job| job.error.as_ref()).map(|error| error.message.clone());
    let why = why.or_else(|| result.ended_by_signal.map(|signal| format!("signal {signal} came")));
    if let Some(why) = why {
        let size = short_size(place.target.total());
        return Err(Failure::new(format!("{}: {size} cannot be written: {why}", place.shown)));
    }
    for work in &mut place.work_files {
        work.set_filled()?;
        if let Some(unknown) = work.prove_written()? {
            place.remarks.push(unknown);
        }
    }
    Ok(place)
}
