//! Permission to overwrite a device: the user must repeat its identity, and the device must not be in use.

use crate::error::SurveyError;
use crate::suite::Writes;
use crate::target::SYSTEM_ROOT;
use std::path::{Path, PathBuf};
use sys::devices::claims;
use sys::devices::identity::{BlockDevice, number_under};

/// Decides if these devices may be written to, given the identities repeated by the user. Without any they are read
/// only. An identity that does not match, or a device that is in use, is an error.
pub(crate) fn writes(devices: &[PathBuf], repeated: &[String]) -> Result<Writes, SurveyError> {
    if repeated.is_empty() {
        return Ok(Writes::Forbidden);
    }
    let mut unused: Vec<&String> = repeated.iter().collect();
    for path in devices {
        let refused = |why: String| SurveyError::at(path, format!("is not overwritten: {why}"));
        let known = identities(path).map_err(&refused)?;
        let Some(at) = unused.iter().position(|word| known.contains(word)) else {
            let known = known.join(" or ");
            return Err(refused(format!("--overwrite names another device; this one is {known}")));
        };
        unused.remove(at);
        check_unused(path).map_err(&refused)?;
    }
    match unused.first() {
        Some(word) => {
            Err(SurveyError::Target(format!("--overwrite {word}: no device has this serial number, WWID or NAME:SIZE")))
        }
        None => Ok(Writes::Allowed),
    }
}

/// Identities of a device, the most permanent first: serial number or WWID, otherwise name and size.
fn identities(path: &Path) -> Result<Vec<String>, String> {
    let number = number_under(path).map_err(|error| error.to_string())?;
    let device = BlockDevice::by_number(Path::new(SYSTEM_ROOT), number);
    let device = device.ok_or("the kernel does not list it")?;
    let lasting = device.whole().serial().map(|serial| serial.split_whitespace().collect::<Vec<_>>().join("-"));
    let size = device.size().ok_or("the kernel does not tell its size")?;
    // A partition has the serial number of its disk; its size is added to distinguish it.
    Ok(match lasting {
        Some(serial) if device.is_partition() => vec![format!("{serial}:{size}")],
        Some(serial) => vec![serial],
        None => vec![format!("{}:{size}", device.name())],
    })
}

/// Checks that the device is neither in use nor holds a known signature; `--overwrite` does not override this.
fn check_unused(path: &Path) -> Result<(), String> {
    let root = Path::new(SYSTEM_ROOT);
    let number = number_under(path).map_err(|error| error.to_string())?;
    let device = BlockDevice::by_number(root, number).ok_or("the kernel does not list it")?;
    let claims = claims::on(root, path, &device).map_err(|error| error.to_string())?;
    let shown: Vec<String> = claims.iter().map(ToString::to_string).collect();
    match claims.first() {
        None => Ok(()),
        Some(first) if first.is_use() => Err(format!("it {}; stop what uses it first", shown.join(", "))),
        Some(_) => {
            Err(format!("it {}; if that is not needed any more, run wipefs --all on it first", shown.join(", ")))
        }
    }
}
