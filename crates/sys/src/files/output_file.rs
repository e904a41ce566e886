//! Output files: logs, records, journals, worksheets, and the output of commands.
//!
//! All of them are opened here, because none may be a block device, not even by way of a link: that would destroy data.
//! Pipes and character devices are allowed. The caller decides which existing files may be replaced.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Message for block devices.
const REFUSAL: &str = "is a block device; name a file";

/// Creates a file, or truncates an existing one.
///
/// # Errors
/// If it is a block device or a link to one, or cannot be opened.
pub fn create(path: &Path) -> io::Result<File> {
    let (file, kind) = open(path, OFlags::WRONLY)?;
    if kind == FileType::RegularFile {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Creates a file, or appends to an existing one.
///
/// # Errors
/// If it is a block device or a link to one, or cannot be opened.
pub fn append(path: &Path) -> io::Result<File> {
    open(path, OFlags::WRONLY | OFlags::APPEND).map(|(file, _)| file)
}

/// Writes these bytes to a file, replacing its contents.
///
/// # Errors
/// If it is a block device or a link to one, or cannot be opened or written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// errno of a failure in this module. A refusal is EINVAL, because it is not a device error (EIO).
pub fn errno(error: &io::Error) -> i32 {
    let refused = error.kind() == io::ErrorKind::InvalidInput;
    error.raw_os_error().unwrap_or(if refused { libc::EINVAL } else { libc::EIO })
}

fn open(path: &Path, flags: OFlags) -> io::Result<(File, FileType)> {
    // Opening a device for writing already has effects: the kernel and udev notice it.
    if std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device()) {
        return Err(refused());
    }
    // Without O_TRUNC: the target of the path may have changed since the check, and only the descriptor shows what was
    // opened.
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
    fn a_file_is_emptied_or_appended_to() {
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
        // The node of an unused loop device: the refusal depends on the kind of the node, and there is no data behind
        // it.
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
