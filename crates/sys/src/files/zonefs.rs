//! zonefs: a file system whose files are the zones of a zoned device.
//!
//! Source: Documentation/filesystems/zonefs.rst.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// `ZONEFS_MAGIC` of linux/magic.h.
const ZONEFS: i64 = 0x5a4f_4653;

/// True if the path is on zonefs.
pub fn holds(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type == ZONEFS)
}

/// Bytes that the zone of this file can hold, if it is a sequential one: it is written at its end, and emptied as a
/// whole. `None` for any other file; those of conventional zones are written anywhere.
pub fn sequential(path: &Path) -> Option<u64> {
    let path = holds(path).then(|| path.canonicalize().ok())??;
    let is_sequential = path.parent()?.file_name()? == "seq";
    // Blocks are those of the whole zone, however much of it is written.
    is_sequential.then(|| std::fs::metadata(&path).ok())?.map(|found| found.blocks().saturating_mul(512))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_file_is_not_a_zone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seq/0");
        std::fs::create_dir(folder.path().join("seq")).unwrap();
        std::fs::write(&file, "").unwrap();
        assert!(!holds(&file) && !holds(&folder.path().join("missing")));
        assert_eq!((sequential(&file), sequential(Path::new("/"))), (None, None));
    }
}
