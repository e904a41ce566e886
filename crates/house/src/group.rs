//! Temporary control groups (cgroups) for tests, version 1 or 2, removed when dropped.

use crate::Run;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A control group, by its directory.
#[derive(Debug)]
pub struct Group(PathBuf);

/// A quantity of a device that a group can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupLimit {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Bytes read.
    BytesRead,
    /// Bytes written.
    BytesWritten,
}

impl Group {
    /// Creates a group limited to this number of reads per second from a device.
    ///
    /// # Errors
    /// There are no control groups, or creating one is not permitted (requires root).
    pub fn with_read_iops(device: &str, iops: u32) -> io::Result<Self> {
        let group = Self::unlimited()?;
        group.limit_reads(device, iops).map(|()| group)
    }

    /// Creates a group without limits.
    ///
    /// # Errors
    /// There are no control groups, or creating one is not permitted (requires root).
    pub fn unlimited() -> io::Result<Self> {
        Ok(match Self::place("blkio", "io")? {
            Place::Old(group) | Place::Unified(group) => group,
        })
    }

    /// Limits the group to this number of reads per second from a device; processes may already be in it.
    ///
    /// # Errors
    /// The kernel rejects the limit.
    pub fn limit_reads(&self, device: &str, iops: u32) -> io::Result<()> {
        self.limit(device, GroupLimit::Reads, u64::from(iops))
    }

    /// Sets a limit of the group for a device, per second; processes may already be in it.
    ///
    /// # Errors
    /// The kernel rejects the limit.
    pub fn limit(&self, device: &str, limit: GroupLimit, per_second: u64) -> io::Result<()> {
        let number = fs::read_to_string(Path::new("/sys/block").join(device).join("dev"))?;
        let number = number.trim();
        let (old, key) = match limit {
            GroupLimit::Reads => ("read_iops", "riops"),
            GroupLimit::Writes => ("write_iops", "wiops"),
            GroupLimit::BytesRead => ("read_bps", "rbps"),
            GroupLimit::BytesWritten => ("write_bps", "wbps"),
        };
        let old = self.0.join(format!("blkio.throttle.{old}_device"));
        match old.exists() {
            true => fs::write(old, format!("{number} {per_second}")),
            false => fs::write(self.0.join("io.max"), format!("{number} {key}={per_second}")),
        }
    }

    /// Creates a group with a quota of this percentage of one CPU.
    ///
    /// # Errors
    /// There are no control groups, or creating one is not permitted (requires root).
    pub fn with_processor_percent(percent: u32) -> io::Result<Self> {
        let group = match Self::place("cpu", "cpu")? {
            Place::Old(group) | Place::Unified(group) => group,
        };
        group.limit_processors(percent).map(|()| group)
    }

    /// Sets the quota of a group that has one to this percentage of one CPU; processes may already be in it.
    ///
    /// # Errors
    /// The kernel rejects the quota.
    pub fn limit_processors(&self, percent: u32) -> io::Result<()> {
        let old = self.0.join("cpu.cfs_quota_us");
        if old.exists() {
            fs::write(self.0.join("cpu.cfs_period_us"), "100000")?;
            return fs::write(old, (percent * 1000).to_string());
        }
        fs::write(self.0.join("cpu.max"), format!("{} 100000", percent * 1000))
    }

    /// Creates a group whose memory can be limited.
    ///
    /// # Errors
    /// There are no control groups, or creating one is not permitted (requires root).
    pub fn of_memory() -> io::Result<Self> {
        Ok(match Self::place("memory", "memory")? {
            Place::Old(group) | Place::Unified(group) => group,
        })
    }

    /// Limits the memory of such a group, with its page cache; processes may already be in it.
    ///
    /// # Errors
    /// The kernel rejects the limit.
    pub fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        let old = self.0.join("memory.limit_in_bytes");
        fs::write(if old.exists() { old } else { self.0.join("memory.max") }, bytes.to_string())
    }

    /// Bytes that such a group uses, with its page cache.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn memory(&self) -> io::Result<u64> {
        let old = self.0.join("memory.usage_in_bytes");
        let text = fs::read_to_string(if old.exists() { old } else { self.0.join("memory.current") })?;
        text.trim().parse().map_err(io::Error::other)
    }

    /// Creates a group under the version 1 controller `old` if it is mounted, otherwise under the version 2 controller
    /// `unified`.
    fn place(old: &str, unified: &str) -> io::Result<Place> {
        use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("plumb-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let mounted = |wanted: &dyn Fn(&str, &str) -> bool| {
            mounts.lines().find_map(|line| {
                let mut fields = line.split(' ').skip(1);
                let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
                wanted(kind, options).then(|| PathBuf::from(point))
            })
        };
        if let Some(top) = mounted(&|kind, options| kind == "cgroup" && options.split(',').any(|one| one == old)) {
            fs::create_dir(top.join(&name))?;
            return Ok(Place::Old(Group(top.join(name))));
        }
        let top = mounted(&|kind, _| kind == "cgroup2").ok_or_else(|| io::Error::other("no control groups here"))?;
        fs::write(top.join("cgroup.subtree_control"), format!("+{unified}"))?;
        fs::create_dir(top.join(&name))?;
        Ok(Place::Unified(Group(top.join(name))))
    }

    /// Name of the group, relative to the root of its hierarchy.
    ///
    /// # Panics
    /// Never: the directory was created with a name.
    pub fn name(&self) -> String {
        self.0.file_name().expect("as made").to_string_lossy().into_owned()
    }

    /// The run, started inside the group.
    pub fn inside(&self, run: Run) -> Run {
        let procs = self.0.join("cgroup.procs");
        let enter = ["sh", "-c", "echo $$ > \"$0\" && exec \"$@\""].map(OsStr::new);
        run.under(enter.into_iter().chain([procs.as_os_str()]).collect::<Vec<_>>())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group can only be removed once its processes are reaped, which may take the kernel a moment after their
        // exit.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

enum Place {
    Old(Group),
    Unified(Group),
}
