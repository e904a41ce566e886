//! Whether a device may be overwritten: its owner must repeat who it is, and nobody may be using it.

use super::SYSTEM_ROOT;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use survey::Writes;
use sys::claims;
use sys::device::{BlockDevice, number_under};

/// Whether these devices may be written to, by the identities that the user repeated. None repeated: they may not.
/// One that is repeated but does not fit, or a device that somebody uses, is refused.
pub(super) fn writes(devices: &[PathBuf], repeated: &[String]) -> Result<Writes, Failure> {
    if repeated.is_empty() {
        return Ok(Writes::Forbidden);
    }
    let mut unused: Vec<&String> = repeated.iter().collect();
    for path in devices {
        let refused = |why: String| Failure::new(format!("{}: is not overwritten: {why}", path.display()));
        let known = identities(path).map_err(&refused)?;
        let Some(at) = unused.iter().position(|word| known.contains(word)) else {
            let known = known.join(" or ");
            return Err(refused(format!("none of the words after --overwrite is its own; it is {known}")));
        };
        unused.remove(at);
        check_unused(path).map_err(&refused)?;
    }
    match unused.first() {
        Some(word) => Err(Failure::new(format!("--overwrite {word}: none of the devices is called so"))),
        None => Ok(Writes::Allowed),
    }
}

/// What tells a device from all others, the most lasting first: serial number or WWID, else name and size.
fn identities(path: &Path) -> Result<Vec<String>, String> {
    let number = number_under(path).map_err(|error| error.to_string())?;
    let device = BlockDevice::by_number(Path::new(SYSTEM_ROOT), number);
    let device = device.ok_or("the kernel tells nothing about it")?;
    let lasting = device.whole().serial().map(|serial| serial.split_whitespace().collect::<Vec<_>>().join("-"));
    let size = device.size().ok_or("the kernel does not tell its size")?;
    // A partition shares its disk's serial number; its size goes with it.
    Ok(match lasting {
        Some(serial) if device.is_partition() => vec![format!("{serial}:{size}")],
        Some(serial) => vec![serial],
        None => vec![format!("{}:{size}", device.name())],
    })
}

/// A survey writes only where nobody works and nothing lies, whatever it is told.
fn check_unused(path: &Path) -> Result<(), String> {
    let root = Path::new(SYSTEM_ROOT);
    let number = number_under(path).map_err(|error| error.to_string())?;
    let device = BlockDevice::by_number(root, number).ok_or("the kernel tells nothing about it")?;
    let claims = claims::on(root, path, &device).map_err(|error| error.to_string())?;
    let shown: Vec<String> = claims.iter().map(ToString::to_string).collect();
    match claims.first() {
        None => Ok(()),
        Some(first) if first.is_use() => Err(format!("it {}; stop what uses it first", shown.join(", "))),
        Some(_) => Err(format!("it {}; if nobody needs that, run wipefs --all on it first", shown.join(", "))),
    }
}
