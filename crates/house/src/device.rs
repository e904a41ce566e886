//! Temporary block devices and file systems for tests: loop devices and tmpfs.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A loop device over a new file, detached when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    backing: tempfile::TempPath,
}

impl LoopDevice {
    /// Creates a device of this many bytes over a file in `directory`, fully written with bytes that do not repeat.
    ///
    /// # Errors
    /// The file cannot be written, or the kernel provides no loop device (often not permitted in containers).
    pub fn new(directory: &Path, bytes: u64) -> io::Result<Self> {
        let mut file = tempfile::Builder::new().prefix("loop-").tempfile_in(directory)?;
        fill(file.as_file_mut(), bytes)?;
        Self::over(file, &[])
    }

    /// Creates a device of this many bytes over a sparse file in `directory`.
    ///
    /// # Errors
    /// As for [`LoopDevice::new`].
    pub fn sparse(directory: &Path, bytes: u64) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix("loop-").tempfile_in(directory)?;
        file.as_file().set_len(bytes)?;
        Self::over(file, &[])
    }

    /// Creates a device as [`LoopDevice::new`] does that bypasses the page cache of its file.
    ///
    /// # Errors
    /// As for [`LoopDevice::new`], and if the file system of the directory has no direct I/O.
    pub fn direct(directory: &Path, bytes: u64) -> io::Result<Self> {
        let mut file = tempfile::Builder::new().prefix("loop-").tempfile_in(directory)?;
        fill(file.as_file_mut(), bytes)?;
        file.as_file().sync_all()?;
        Self::over(file, &["--direct-io=on"])
    }

    /// Creates a device over a file that is there, of a file system that removes none.
    ///
    /// # Errors
    /// The kernel provides no loop device, or does not take the file.
    pub fn of_file(file: &Path) -> io::Result<Self> {
        Self::attach(tempfile::TempPath::try_from_path(file)?, &[])
    }

    /// Creates a device over a file that is there, as [`LoopDevice::of_file`] does, that bypasses the page cache of the
    /// file: several of its I/Os are in flight there.
    ///
    /// # Errors
    /// As for [`LoopDevice::of_file`], and if the file system has no direct I/O.
    pub fn direct_of_file(file: &Path) -> io::Result<Self> {
        Self::attach(tempfile::TempPath::try_from_path(file)?, &["--direct-io=on"])
    }

    fn over(file: tempfile::NamedTempFile, options: &[&str]) -> io::Result<Self> {
        Self::attach(file.into_temp_path(), options)
    }

    fn attach(backing: tempfile::TempPath, options: &[&str]) -> io::Result<Self> {
        let output = Command::new("losetup").args(["--find", "--show"]).args(options).arg(&backing).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        Ok(LoopDevice { path, backing })
    }

    /// Path of the device node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the backing file.
    pub fn backing(&self) -> &Path {
        &self.backing
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
        // The kernel releases the backing file only when all openers (for example udev) have closed the device.
        let name = self.path.file_name().unwrap_or_default().to_owned();
        let held = Path::new("/sys/block").join(name).join("loop/backing_file");
        for _ in 0..200 {
            if !held.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A file system mounted for a test, unmounted when dropped.
#[derive(Debug)]
pub struct Mounted {
    directory: tempfile::TempDir,
    // Detached after the file system is unmounted.
    device: Option<LoopDevice>,
}

impl Mounted {
    /// Mounts with these arguments of mount(8), without the mount point.
    ///
    /// # Errors
    /// The mount is not permitted (requires root), or the kernel does not have the file system.
    pub fn new(arguments: &[&str]) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("mounted-").tempdir()?;
        let output = Command::new("mount").args(arguments).arg(directory.path()).output()?;
        match output.status.success() {
            true => Ok(Mounted { directory, device: None }),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }

    /// Makes a file system on a device with this command (`mkfs.ext4 -q`), and mounts it with these options.
    ///
    /// # Errors
    /// As for [`Mounted::new`], and if the command fails.
    pub fn on(device: LoopDevice, command: &str, options: &str) -> io::Result<Self> {
        let mut words = command.split_whitespace();
        let output = Command::new(words.next().unwrap_or_default()).args(words).arg(device.path()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let mut mounted = Mounted::new(&["-o", options, &device.path().display().to_string()])?;
        mounted.device = Some(device);
        Ok(mounted)
    }

    /// The mount point.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl AsRef<Path> for Mounted {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
        drop(self.device.take());
    }
}

/// A tmpfs mounted for a test, unmounted when dropped.
#[derive(Debug)]
pub struct Tmpfs {
    directory: tempfile::TempDir,
}

impl Tmpfs {
    /// Mounts a tmpfs of this many bytes.
    ///
    /// # Errors
    /// The mount is not permitted (requires root).
    pub fn new(bytes: u64) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("tmpfs-").tempdir()?;
        let size = format!("size={bytes}");
        let output =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(directory.path()).output()?;
        if output.status.success() {
            return Ok(Tmpfs { directory });
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }

    /// The mount point.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Creates a file on it, fully written with bytes that do not repeat.
    ///
    /// # Errors
    /// There is not enough space.
    pub fn file(&self, name: &str, bytes: u64) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        fill(&mut fs::File::create(&path)?, bytes)?;
        Ok(path)
    }
}

impl AsRef<Path> for Tmpfs {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // A lazy unmount detaches it from the tree at once, and frees its memory when the last file is closed.
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

/// Writes `bytes` bytes of xorshift output: without holes, incompressible, and without duplicate blocks.
fn fill(file: &mut File, bytes: u64) -> io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut writer = io::BufWriter::with_capacity(1 << 20, file);
    for _ in 0..bytes / 8 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        writer.write_all(&state.to_le_bytes())?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_has_the_size_of_its_file_and_goes_away() {
        let device = LoopDevice::new(&std::env::temp_dir(), 1 << 20).expect("a loop device (needs root)");
        let name = device.path().file_name().expect("a name").to_string_lossy().into_owned();
        let sectors = fs::read_to_string(format!("/sys/block/{name}/size")).expect("size in sysfs");
        assert_eq!(sectors.trim(), "2048");
        let backing = device.backing().to_path_buf();
        drop(device);
        assert!(!backing.exists());
        assert!(!Path::new(&format!("/sys/block/{name}/loop/backing_file")).exists());
    }
}
