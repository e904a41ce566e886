//! A target for commands that only read, such as `plumb model`: a work file that is created and filled, or an existing
//! file or device that is not changed.

use super::measure::check_filled;
use crate::failure::Failure;
use run::{Observer, RunOptions};
use std::path::Path;
use survey::{Access, OpenTarget, Preparation, Reach, SurveyRequest, WorkFile, fill_plan};

/// Opens `target`, with `size` bytes of data in it.
///
/// # Errors
/// If it is not a directory, file or block device, is too small, cannot be written, or does not support O_DIRECT.
pub(crate) fn filled_target(target: &Path, size: u64, observer: &mut dyn Observer) -> Result<OpenTarget, Failure> {
    let request = SurveyRequest {
        targets: vec![target.to_owned()],
        size: Some(size),
        direct: Some(true),
        ..SurveyRequest::default()
    };
    let prepared = Preparation::new(request, Reach::Whole, 0)?;
    let mut open = OpenTarget::open(&prepared.found, &prepared.request)?;
    if open.target.access != Access::Direct {
        return Err(Failure::at(target, "takes no O_DIRECT, so its device cannot be measured"));
    }
    if !open.work_files.iter().all(WorkFile::is_filled) {
        check_filled(&open, &run::execute(&fill_plan(&open.target), &RunOptions::default(), observer)?)?;
        let remarks = open.set_filled()?;
        open.remarks.extend(remarks);
    }
    Ok(open)
}
