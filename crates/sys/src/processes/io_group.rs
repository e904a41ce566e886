//! A control group for I/O that a worker joins: version 1 (blkio) if it is mounted, otherwise version 2 (io).

use crate::SysError;
use crate::files::mounts;
use std::fs;
use std::path::{Path, PathBuf};

/// A control group for I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoGroup {
    folder: PathBuf,
    version: Version,
}

/// Version of the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl IoGroup {
    /// Creates the group `name` if it does not exist, and sets its `weight` (100 to 1000).
    ///
    /// # Errors
    /// If no hierarchy for I/O is mounted, the kernel refuses the group, or its I/O scheduler does not support weights.
    pub fn make(root: &Path, name: &str, weight: Option<u32>) -> Result<IoGroup, SysError> {
        let mounts = mounts::read(root)?;
        let of_one =
            |mount: &&mounts::Mount| mount.kind == "cgroup" && mount.options.split(',').any(|it| it == "blkio");
        let one = mounts.iter().find(of_one).map(|mount| (mount, Version::One));
        let two = || mounts.iter().find(|mount| mount.kind == "cgroup2").map(|mount| (mount, Version::Two));
        let Some((mount, version)) = one.or_else(two) else {
            return Err(SysError::impossible("no control groups for I/O are mounted here".to_owned()));
        };
        let top = root.join(mount.point.strip_prefix("/").unwrap_or(&mount.point));
        let group = IoGroup { folder: top.join(name), version };
        fs::create_dir_all(&group.folder).map_err(|error| SysError::path("mkdir", &group.folder, error))?;
        if let Some(weight) = weight {
            group.weigh(weight)?;
        }
        Ok(group)
    }

    /// Sets the weight. The two schedulers that support weights have different files for it.
    fn weigh(&self, weight: u32) -> Result<(), SysError> {
        let names: &[&str] = match self.version {
            Version::One => &["blkio.weight", "blkio.bfq.weight"],
            Version::Two => &["io.weight", "io.bfq.weight"],
        };
        match names.iter().map(|name| self.folder.join(name)).find(|file| file.exists()) {
            Some(file) => {
                fs::write(&file, format!("{weight}\n")).map_err(|error| SysError::path("write", &file, error))
            }
            None => Err(SysError::impossible(format!(
                "{} has none of {}: the kernel's I/O schedulers know no weights here",
                self.folder.display(),
                names.join(", ")
            ))),
        }
    }

    /// Moves the calling thread into the group; in version 2, its whole process.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn join(&self) -> Result<(), SysError> {
        let file = self.folder.join(match self.version {
            Version::One => "tasks",
            Version::Two => "cgroup.procs",
        });
        // 0 stands for the writer of the file.
        fs::write(&file, "0\n").map_err(|error| SysError::path("write", &file, error))
    }

    /// True if a single thread can join without the rest of its process.
    pub fn takes_threads(&self) -> bool {
        self.version == Version::One
    }

    /// Removes the group if it is empty.
    ///
    /// # Errors
    /// EBUSY if it contains a process or another group.
    pub fn remove(&self) -> Result<(), SysError> {
        match fs::remove_dir(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(SysError::path("rmdir", &self.folder, error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(mountinfo: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::create_dir_all(root.path().join("cg")).unwrap();
        fs::write(root.path().join("proc/self/mountinfo"), mountinfo).unwrap();
        root
    }

    #[test]
    fn blkio_of_version_1_goes_before_version_2() {
        let both = "1 0 0:1 / /cg2 rw - cgroup2 cgroup2 rw\n2 0 0:2 / /cg rw - cgroup cgroup rw,blkio\n";
        let root = root(both);
        let group = IoGroup::make(root.path(), "a/b", None).unwrap();
        assert_eq!((group.folder.as_path(), group.takes_threads()), (root.path().join("cg/a/b").as_path(), true));
        group.join().unwrap();
        assert_eq!(fs::read_to_string(root.path().join("cg/a/b/tasks")).unwrap(), "0\n");
    }

    #[test]
    fn version_2_stands_in_with_io_weight() {
        let root = root("1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
        fs::create_dir_all(root.path().join("cg/a")).unwrap();
        fs::write(root.path().join("cg/a/io.weight"), "default 100\n").unwrap();
        let group = IoGroup::make(root.path(), "a", Some(500)).unwrap();
        assert!(!group.takes_threads());
        assert_eq!(fs::read_to_string(root.path().join("cg/a/io.weight")).unwrap(), "500\n");
    }

    #[test]
    fn where_there_is_no_weight_or_no_group_the_message_says_so() {
        let no_weight = root("1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
        let message = IoGroup::make(no_weight.path(), "a", Some(500)).unwrap_err().to_string();
        assert!(message.contains("io.bfq.weight"), "{message}");
        let nothing = root("1 0 0:1 / / rw - ext4 /dev/sda rw\n");
        let message = IoGroup::make(nothing.path(), "a", None).unwrap_err().to_string();
        assert!(message.contains("no control groups"), "{message}");
    }
}
