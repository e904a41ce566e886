//! What is surveyed: a directory with a work file in it, or a block device.

use super::SYSTEM_ROOT;
use super::suite::{Access, Nature, Target, short_size};
use super::work_file::{self, Afterwards, WorkFile};
use crate::failure::Failure;
use crate::file_system;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

const MIB: u64 = 1 << 20;
/// The smallest target in which 8 sequential users find blocks of their own.
const LEAST_SIZE: u64 = 16 * MIB;
const USUAL_SIZE: u64 = 16 << 30;
const QUICK_SIZE: u64 = 1 << 30;

/// An open target and what there is to say about it.
pub(crate) struct Place {
    /// What the Plans need.
    pub(crate) target: Target,
    /// The path as the user gave it.
    pub(crate) shown: String,
    /// The kind of file system; `None` for a device, or when it cannot be asked.
    pub(crate) file_system: Option<String>,
    /// The disk, as a person calls it.
    pub(crate) disk: Option<String>,
    /// The work file; `None` on a device.
    pub(crate) work_file: Option<WorkFile>,
    /// What the user should know before the numbers.
    pub(crate) remarks: Vec<String>,
}

impl Place {
    /// Opens what `path` names; makes the work file in a directory.
    pub(crate) fn open(path: &Path, size: Option<u64>, quick: bool, afterwards: Afterwards) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let kind = std::fs::metadata(path).map_err(|error| Failure::new(format!("{shown}: {error}")))?.file_type();
        if kind.is_dir() {
            directory(path, shown, chosen_size(path, size, quick)?, afterwards)
        } else if kind.is_block_device() {
            device(path, shown, size, quick)
        } else {
            Err(Failure::new(format!(
                "{shown}: is neither a directory nor a block device; name the directory, plumb makes a file of its own there"
            )))
        }
    }

    /// `a work file of 1G on ext4, disk nvme0n1 (ACME 1 TB)`.
    pub(crate) fn describe(&self) -> String {
        let size = short_size(self.target.size);
        let mut text = match (&self.target.nature, &self.file_system) {
            (Nature::Device, _) => format!("the first {size}, read only"),
            (Nature::WorkFile, Some(kind)) => format!("a work file of {size} on {kind}"),
            (Nature::WorkFile, None) => format!("a work file of {size}"),
        };
        if let Some(disk) = &self.disk {
            text.push_str(&format!(", disk {disk}"));
        }
        text
    }
}

/// The size asked for, or one that fits the purpose and the free space.
fn chosen_size(directory: &Path, asked: Option<u64>, quick: bool) -> Result<u64, Failure> {
    if let Some(size) = asked {
        return Ok(size);
    }
    let room = file_system::room(directory)?;
    let held = std::fs::metadata(directory.join(work_file::NAME)).map_or(0, |kept| kept.len());
    let room = file_system::Room { free: room.free.saturating_add(held), ..room };
    let wanted = if quick { QUICK_SIZE } else { USUAL_SIZE.min(room.free / 4) };
    let fitting = wanted.min(work_file::usable(room)) / MIB * MIB;
    if fitting < LEAST_SIZE {
        return Err(Failure::new(format!(
            "{}: only {} MiB are free, too little for a survey; free at least 64 MiB",
            directory.display(),
            room.free / MIB
        )));
    }
    Ok(fitting)
}

fn directory(path: &Path, shown: String, size: u64, afterwards: Afterwards) -> Result<Place, Failure> {
    let work = WorkFile::prepare(path, size, afterwards)?;
    let mut remarks = Vec::new();
    let access = access(work.path(), &mut remarks)?;
    Ok(Place {
        target: Target { path: work.path().to_owned(), size, access, nature: Nature::WorkFile },
        shown,
        file_system: file_system::kind(Path::new(SYSTEM_ROOT), path),
        disk: file_system::disk(Path::new(SYSTEM_ROOT), path),
        work_file: Some(work),
        remarks,
    })
}

fn device(path: &Path, shown: String, asked: Option<u64>, quick: bool) -> Result<Place, Failure> {
    let refused = |error: std::io::Error| {
        Failure::new(format!("{shown}: cannot be read: {error} (reading a device needs root or the group `disk`)"))
    };
    let capacity = std::fs::File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0))).map_err(refused)?;
    let whole = capacity / MIB * MIB;
    if whole < LEAST_SIZE {
        return Err(Failure::new(format!("{shown}: holds {capacity} bytes; a survey needs at least 16 MiB")));
    }
    let size = match asked {
        Some(size) if size > whole => {
            return Err(Failure::new(format!(
                "{shown}: holds {} MiB, --size {} is more",
                whole / MIB,
                short_size(size)
            )));
        }
        Some(size) => size,
        None if quick => whole.min(64 * QUICK_SIZE),
        None => whole,
    };
    let mut remarks = vec![
        "the device's data is read as it is; blocks that were never written may be answered without the medium"
            .to_owned(),
    ];
    let access = access(path, &mut remarks)?;
    Ok(Place {
        target: Target { path: path.to_owned(), size, access, nature: Nature::Device },
        shown,
        file_system: None,
        disk: file_system::disk(Path::new(SYSTEM_ROOT), path),
        work_file: None,
        remarks,
    })
}

/// O_DIRECT where it is taken, else through the page cache, and said so.
fn access(path: &Path, remarks: &mut Vec<String>) -> Result<Access, Failure> {
    match open(path, OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()) {
        Ok(_) => Ok(Access::Direct),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => {
            remarks.push(
                "O_DIRECT is refused here; all I/O goes through the page cache, so memory may answer the reads"
                    .to_owned(),
            );
            Ok(Access::Buffered)
        }
        Err(error) => Err(Failure::new(format!("{}: cannot be opened: {error}", path.display()))),
    }
}

/// A size as a user writes it: digits and k, M, G or T, at least 16M, cut to whole MiB.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write it like 512M or 16G");
    let lower = text.trim().to_ascii_lowercase();
    let plain = lower.trim_end_matches("ib").trim_end_matches('b');
    let (digits, shift) = match plain.char_indices().last() {
        Some((at, 'k')) => (&plain[..at], 10),
        Some((at, 'm')) => (&plain[..at], 20),
        Some((at, 'g')) => (&plain[..at], 30),
        Some((at, 't')) => (&plain[..at], 40),
        _ => (plain, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)? / MIB * MIB;
    if bytes < LEAST_SIZE || bytes > i64::MAX as u64 {
        return Err(format!(
            "`{text}` is too {}; a survey takes 16M and more",
            if bytes < LEAST_SIZE { "small" } else { "large" }
        ));
    }
    Ok(bytes)
}

/// A measuring time as a user writes it: seconds, or a number with s, m or h; a second to a day. In seconds.
pub(crate) fn parse_seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a time; write it like 10s or 2m, up to 24h");
    let (digits, scale) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        _ => (text, 1),
    };
    let seconds = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    seconds.filter(|seconds| (1..=86_400).contains(seconds)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("16M", 16 << 20),
            ("1g", 1 << 30),
            ("2GiB", 2 << 30),
            ("1T", 1 << 40),
            ("16777217", 16 << 20),
            ("512mb", 512 << 20),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1G", "1.5G", "15M", "4q", "99999999999999999999", "9999999999T", "1e9"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, seconds) in [("1", 1), ("10s", 10), ("2m", 120), ("24h", 86_400)] {
            assert_eq!(parse_seconds(text), Ok(seconds), "{text}");
        }
        for text in ["", "s", "0", "-1s", "1.5m", "25h", "1x", "5ms", "99999999999999999999", "18446744073709551615h"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_plain_file_is_not_taken_for_a_place() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = Place::open(file.path(), None, true, Afterwards::Remove).err().unwrap();
        assert!(format!("{refused:?}").contains("neither a directory nor a block device"));
    }
}
