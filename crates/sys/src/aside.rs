//! Files that are written beside the I/O: logs, records, journals, worksheets, what a command printed.
//!
//! The one place that opens them, because none may go to a block device, through no link either: what lies there is
//! somebody's data. Pipes and character devices take what they are given. Who may replace whose file is decided above.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// What is said of a block device.
const REFUSAL: &str = "is a block device; name a file";

/// Makes a file, or empties the one that is there.
///
/// # Errors
/// When it leads to a block device, or cannot be opened.
pub fn create(path: &Path) -> io::Result<File> {
    let (file, kind) = open(path, OFlags::WRONLY)?;
    if kind == FileType::RegularFile {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Makes a file, or goes on behind what is there.
///
/// # Errors
/// When it leads to a block device, or cannot be opened.
pub fn append(path: &Path) -> io::Result<File> {
    open(path, OFlags::WRONLY | OFlags::APPEND).map(|(file, _)| file)
}

/// Makes a file of these bytes, in place of what was in it.
///
/// # Errors
/// When it leads to a block device, or cannot be opened or written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// The errno of a failure here; a refusal is no fault of a device, so it is not EIO.
pub fn errno(error: &io::Error) -> i32 {
    let refused = error.kind() == io::ErrorKind::InvalidInput;
    error.raw_os_error().unwrap_or(if refused { libc::EINVAL } else { libc::EIO })
}

fn open(path: &Path, flags: OFlags) -> io::Result<(File, FileType)> {
    // A device is not even opened for writing, which the kernel and udev would take notice of.
    if std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device()) {
        return Err(refused());
    }
    // Not with O_TRUNC: what the name leads to may have changed since, and only the descriptor says what was opened.
    let mode = Mode::from_raw_mode(0o666);
    let file = rustix::fs::open(path, flags | OFlags::CREATE | OFlags::CLOEXEC, mode)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if kind == FileType::BlockDevice { Err(refused()) } else { Ok((File::from(file), kind)) }
}

fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, REFUSAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_emptied_or_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let text = || std::fs::read_to_string(&path).unwrap();
        write(&path, b"one two").unwrap();
        write(&path, b"one").unwrap();
        assert_eq!(text(), "one");
        append(&path).unwrap().write_all(b" two").unwrap();
        assert_eq!(text(), "one two");
        create(&path).unwrap().write_all(b"!").unwrap();
        assert_eq!(text(), "!");
    }

    #[test]
    fn character_devices_take_what_they_are_given() {
        for path in ["/dev/null", "/dev/full"] {
            assert!(create(Path::new(path)).is_ok() && append(Path::new(path)).is_ok(), "{path}");
        }
        assert!(write(Path::new("/dev/full"), b"x").is_err());
    }

    #[test]
    fn a_pipe_takes_what_it_is_given() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read_to_string(path)
        });
        write(&path, b"row").unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), "row");
    }

    #[test]
    fn a_block_device_is_refused_through_a_link_too() {
        use rustix::fs::{CWD, makedev, mknodat};
        // The node of a loop device that nobody has: what is refused is its kind, and there is nothing behind it.
        let directory = tempfile::tempdir().unwrap();
        let device = directory.path().join("device");
        mknodat(CWD, &device, FileType::BlockDevice, Mode::RWXU, makedev(7, 1_048_000)).unwrap();
        let link = directory.path().join("a_lat.log");
        std::os::unix::fs::symlink(&device, &link).unwrap();
        for opened in [create(&device), append(&device), create(&link), append(&link)] {
            let error = opened.unwrap_err();
            assert_eq!((error.to_string().as_str(), errno(&error)), (REFUSAL, libc::EINVAL), "{}", device.display());
        }
    }
}
