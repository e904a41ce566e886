//! A target for commands that only read, such as `plumb model`: a work file that is created and filled, or an existing
//! file or device that is not changed.

use super::measure::check_filled;
use crate::failure::{Cut, Failure};
use session::progress::Display;
use session::{Run, Session};
use std::path::Path;
use survey::{Access, OpenTarget, Preparation, Reach, SurveyRequest, WorkFile, fill_plan};

/// Opens `target`, with `size` bytes of data in it.
///
/// # Errors
/// If it is not a directory, file or block device, is too small, cannot be written, or does not support O_DIRECT.
/// It also ends with a signal.
pub(crate) fn filled_target(
    target: &Path,
    size: u64,
    session: &mut Session,
    display: &mut Display,
) -> Result<OpenTarget, Cut> {
    let request = SurveyRequest {
        targets: vec![target.to_owned()],
        size: Some(size),
        direct: Some(true),
        ..SurveyRequest::default()
    };
    let prepared = Preparation::new(request, Reach::Whole, 0)?;
    let mut open = OpenTarget::open(&prepared.found, &prepared.request)?;
    if open.target.access != Access::Direct {
        return Err(Failure::at(target, "takes no O_DIRECT, so its device cannot be measured").into());
    }
    if !open.work_files.iter().all(WorkFile::is_filled) {
        display.filling(open.target.total());
        let result = session.execute(Run::new("filling", &fill_plan(&open.target)), display)?;
        session.discard(&result);
        if let Some(signal) = result.ended_by_signal.or_else(|| session.caught()) {
            return Err(Cut::Signal(signal));
        }
        check_filled(&open, &result)?;
        let remarks = open.set_filled()?;
        open.remarks.extend(remarks);
    }
    Ok(open)
}
