//! Where the tests do I/O: a file in memory, and a loop device over one.

use engine::Target;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Bytes of a place.
pub(crate) const SIZE: u64 = 1 << 20;

/// Something to read and write, open twice: target 0 for both, target 1 for reading only.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) block_device: bool,
    read_write: File,
    read_only: File,
    path: PathBuf,
    _directory: TempDir,
}

impl Place {
    /// A file in memory.
    pub(crate) fn memory() -> Place {
        let (directory, path) = backing_file();
        let open = |write: bool| OpenOptions::new().read(true).write(write).open(&path).unwrap();
        Place {
            name: "tmpfs",
            block_device: false,
            read_write: open(true),
            read_only: open(false),
            path: path.clone(),
            _directory: directory,
        }
    }

    /// A loop device over a file in memory, open for direct I/O.
    pub(crate) fn loop_device() -> Place {
        let (directory, file) = backing_file();
        let path = PathBuf::from(losetup(&["--find", "--show", file.to_str().unwrap()]).trim());
        let attached = Attached { path: &path };
        make_node(&path);
        let open =
            |write: bool| OpenOptions::new().read(true).write(write).custom_flags(libc::O_DIRECT).open(&path).unwrap();
        let (read_write, read_only) = (open(true), open(false));
        // Detaching a device that is open takes effect at its last close: also when the test is killed.
        drop(attached);
        Place { name: "loop device", block_device: true, read_write, read_only, path, _directory: directory }
    }

    pub(crate) fn targets(&self) -> Vec<Target> {
        let target = |file: &File, writable| Target {
            path: self.path.clone(),
            descriptor: Some(file.as_raw_fd()),
            size: SIZE,
            block_device: self.block_device,
            writable,
            zone_size: None,
        };
        vec![target(&self.read_write, true), target(&self.read_only, false)]
    }

    /// The file behind target 0, for a look past the engine.
    pub(crate) fn file(&self) -> &File {
        &self.read_write
    }
}

fn backing_file() -> (TempDir, PathBuf) {
    let directory = tempfile::Builder::new().prefix("plumb-engine").tempdir_in("/dev/shm").unwrap();
    let path = directory.path().join("data");
    File::create(&path).unwrap().set_len(SIZE).unwrap();
    (directory, path)
}

/// Detaches a loop device, at its last close if it is open.
struct Attached<'a> {
    path: &'a Path,
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        losetup(&["--detach", self.path.to_str().unwrap()]);
    }
}

fn losetup(arguments: &[&str]) -> String {
    let output = Command::new("losetup").args(arguments).output().expect("losetup of util-linux is installed");
    assert!(output.status.success(), "losetup {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Makes the device's node where no udev does.
fn make_node(path: &Path) {
    if path.exists() {
        return;
    }
    let number = path.to_str().unwrap().trim_start_matches("/dev/loop");
    let status = Command::new("mknod").args([path.to_str().unwrap(), "b", "7", number]).status().unwrap();
    assert!(status.success() && path.metadata().unwrap().rdev() > 0);
}
