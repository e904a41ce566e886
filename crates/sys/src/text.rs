//! The short texts of /proc and /sys.

use crate::SysError;
use std::path::Path;

/// A whole file.
pub(crate) fn lines(path: &Path) -> Result<String, SysError> {
    std::fs::read_to_string(path).map_err(|source| SysError::path("read", path, source))
}

/// A file's text without the white space around it; `None` when it cannot be read.
pub(crate) fn word(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// A file that holds one number; `None` when it cannot be read or holds something else.
pub(crate) fn number(path: &Path) -> Option<u64> {
    word(path)?.parse().ok()
}
