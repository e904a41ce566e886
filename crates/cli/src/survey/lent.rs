//! The survey's place for others who measure and only read: a work file made, filled and proven to be all there, or a
//! file or device of others that stays as it is.

use super::SYSTEM_ROOT;
use super::target::{Place, Subject};
use super::work_file::WorkFile;
use crate::failure::Failure;
use measure::Nanos;
use run::{Observer, RunOptions};
use std::path::{Path, PathBuf};
use survey::{Access, Wishes, fill_plan, short_size};

/// Opens what `target` names, with `size` bytes of data in it.
///
/// # Errors
/// When it is none of a directory, a file and a block device, is too small, cannot be written, or takes no O_DIRECT.
pub(crate) fn filled_place(target: &Path, size: u64, observer: &mut dyn Observer) -> Result<Place, Failure> {
    let wishes = Wishes { targets: vec![target.to_owned()], size: Some(size), direct: Some(true), ..Wishes::default() };
    let mut subject = Subject::look(&wishes)?;
    let suite = survey::suite(&wishes, subject.writes).map_err(Failure::new)?;
    subject.fit(&suite, &wishes)?;
    let mut place = Place::open(&subject, &wishes)?;
    if place.target.access != Access::Direct {
        return Err(Failure::new(format!("{}: takes no O_DIRECT, so its device cannot be measured", target.display())));
    }
    if place.work_files.iter().all(WorkFile::is_filled) {
        return Ok(place);
    }
    let options = RunOptions {
        system_root: PathBuf::from(SYSTEM_ROOT),
        read_only: false,
        progress_interval: None,
        device_interval: Nanos::from_millis(500),
        tell_to: None,
    };
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
