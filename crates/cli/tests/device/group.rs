//! A control group of a test's own, of version 2 or 1, removed when dropped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The group's directory.
pub(crate) struct Group(PathBuf);

impl Group {
    /// One that may read so many times per second from a device.
    pub(crate) fn with_read_iops(device: &str, iops: u32) -> io::Result<Self> {
        let group = Self::unlimited()?;
        group.limit_reads(device, iops).map(|()| group)
    }

    /// One without limits yet.
    pub(crate) fn unlimited() -> io::Result<Self> {
        Ok(match Self::place("blkio", "io")? {
            Place::Old(group) | Place::Unified(group) => group,
        })
    }

    /// Limits it to so many reads per second from a device, also while somebody is in it.
    pub(crate) fn limit_reads(&self, device: &str, iops: u32) -> io::Result<()> {
        let number = fs::read_to_string(Path::new("/sys/block").join(device).join("dev"))?;
        let number = number.trim();
        let old = self.0.join("blkio.throttle.read_iops_device");
        match old.exists() {
            true => fs::write(old, format!("{number} {iops}")),
            false => fs::write(self.0.join("io.max"), format!("{number} riops={iops}")),
        }
    }

    /// One that may use such a share of one processor.
    pub(crate) fn with_processor_percent(percent: u32) -> io::Result<Self> {
        match Self::place("cpu", "cpu")? {
            Place::Old(group) => {
                group.set("cpu.cfs_period_us", "100000")?.set("cpu.cfs_quota_us", &(percent * 1000).to_string())
            }
            Place::Unified(group) => group.set("cpu.max", &format!("{} 100000", percent * 1000)),
        }
    }

    /// A new group under the controller of version 1, or of version 2 where that has it.
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

    fn set(self, file: &str, value: &str) -> io::Result<Self> {
        fs::write(self.0.join(file), value).map(|()| self)
    }

    /// Its name below the top of its hierarchy.
    pub(crate) fn name(&self) -> String {
        self.0.file_name().expect("as made").to_string_lossy().into_owned()
    }

    /// The same command, started inside the group.
    pub(crate) fn inside(&self, command: Command) -> Command {
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        inside.arg(command.get_program()).args(command.get_args());
        inside
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Those who were in it have just ended; the kernel may need a moment.
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
