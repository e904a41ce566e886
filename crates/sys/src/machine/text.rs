//! Readers of the short files in /proc and /sys.

use crate::SysError;
use std::path::Path;

/// Reads a whole file.
pub(crate) fn lines(path: &Path) -> Result<String, SysError> {
    std::fs::read_to_string(path).map_err(|source| SysError::path("read", path, source))
}

/// Reads a file and trims white space; `None` if it cannot be read.
pub(crate) fn word(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Reads a file that contains one number; `None` if it cannot be read or contains something else.
pub(crate) fn number(path: &Path) -> Option<u64> {
    word(path)?.parse().ok()
}
