//! Readers of the short files in /proc and /sys.

use crate::SysError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a file of /proc or /sys. Their sizes are 0 or a page, so that the standard library asks for 32 bytes first:
/// 6 to 12 system calls for what takes 4 here.
///
/// ```
/// let stat = sys::machine::text::kernel_text("/proc/stat".as_ref()).unwrap();
/// assert!(stat.starts_with("cpu "));
/// ```
///
/// # Errors
/// The file cannot be opened or read, or is not UTF-8.
pub fn kernel_text(path: &Path) -> std::io::Result<String> {
    const PAGE: usize = 4096;
    let mut text = String::with_capacity(PAGE);
    // A file that is limited has no size that would be asked for.
    File::open(path)?.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a whole file.
pub(crate) fn lines(path: &Path) -> Result<String, SysError> {
    kernel_text(path).map_err(|source| SysError::path("read", path, source))
}

/// Reads a file and trims white space; `None` if it cannot be read.
pub(crate) fn word(path: &Path) -> Option<String> {
    kernel_text(path).ok().map(|text| text.trim().to_owned())
}

/// Reads a file that contains one number; `None` if it cannot be read or contains something else.
pub(crate) fn number(path: &Path) -> Option<u64> {
    word(path)?.parse().ok()
}
