//! Loop devices that rows make for themselves, and faults of devices: a backing file that is too short, a device that
//! is detached while it is used.

use super::{Bench, Row, Shown, run_tool};
use crate::context;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A loop device over a file of zeros, detached when dropped.
pub(crate) struct Device {
    pub(crate) path: PathBuf,
    pub(crate) backing: PathBuf,
    nodes: Vec<PathBuf>,
}

impl Device {
    /// Over a sparse file of this number of bytes, prepared by `prepare` before it is attached.
    pub(crate) fn over(
        bench: &Bench,
        bytes: u64,
        prepare: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<Device, String> {
        let backing = bench.file("backing");
        let file = std::fs::File::create(&backing).map_err(|error| error.to_string())?;
        file.set_len(bytes).map_err(|error| error.to_string())?;
        prepare(&backing)?;
        let backing_text = backing.to_str().ok_or("a name that is text")?;
        let path = PathBuf::from(run_tool("losetup", &["--find", "--show", "--partscan", backing_text])?);
        Ok(Device { path, backing, nodes: Vec::new() })
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The node of its first partition; made where no daemon makes nodes.
    pub(crate) fn partition(&mut self) -> Result<PathBuf, String> {
        let name = self.path.file_name().and_then(|name| name.to_str()).ok_or("a name")?.to_owned();
        let node = PathBuf::from(format!("/dev/{name}p1"));
        let number = std::fs::read_to_string(format!("/sys/block/{name}/{name}p1/dev"))
            .map_err(|error| format!("the kernel shows no partition of {name}: {error}"))?;
        let (major, minor) = number.trim().split_once(':').ok_or("a device number")?;
        if !node.exists() {
            run_tool("mknod", &[&node.display().to_string(), "b", major, minor])?;
            self.nodes.push(node.clone());
        }
        Ok(node)
    }

    /// A hash of all its bytes, as they are on the file behind it.
    pub(crate) fn hash(&self) -> Result<String, String> {
        run_tool("blockdev", &["--flushbufs", &self.name()])?;
        run_tool("sha256sum", &[&self.backing.display().to_string()])
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = run_tool("losetup", &["--detach", &self.name()]);
        for node in &self.nodes {
            let _ = std::fs::remove_file(node);
        }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row::new("backing file cut while reading", "truncate --size=1M under a loop device of 8 MiB", |bench| {
            let device = Device::over(bench, 8 << 20, |_| Ok(()))?;
            run_tool("truncate", &["--size=1M", &device.backing.display().to_string()])?;
            let words = format!("--name=a --filename={} --rw=read --bs=64k --direct=1", device.name());
            let ran = bench.run(bench.fio(&words))?;
            let shown = ran.expect(1, &["at offset 1048576", "Input/output error"])?;
            ran.expect_ios("read", 17..=17)?;
            Ok(shown)
        }),
        Row::new("device detached while it is used", "losetup --detach after 0.3 s", |bench| {
            let device = Device::over(bench, 8 << 20, |_| Ok(()))?;
            let words =
                format!("--name=a --filename={} --rw=randread --time_based --runtime=1 --rate_iops=100", device.name());
            let name = device.name();
            let ran = bench.run_with(bench.fio(&words), move |_| {
                std::thread::sleep(Duration::from_millis(300));
                let _ = run_tool("losetup", &["--detach", &name]);
            })?;
            // The kernel waits for the last user: the run is whole, and the device goes with it.
            let shown = ran.expect(0, &[])?;
            ran.expect_ios("read", 50..=120)?;
            Ok(shown)
        }),
        Row::new("device that is not there", "filename=/dev/null/x", |bench| {
            let ran = bench.run(bench.fio("--name=a --filename=/dev/null/x --rw=write --size=1m"))?;
            ran.expect(1, &["/dev/null/x"])
        }),
        Row::new("full file system", "tmpfs of 256 KiB", |bench| {
            let tmpfs = house::Tmpfs::new(256 << 10).map_err(|error| error.to_string())?;
            let words =
                format!("--name=a --directory={} --rw=write --size=1m --fallocate=none", tmpfs.path().display());
            let ran = bench.run(bench.fio(&words))?;
            let shown = ran.expect(1, &["No space left"])?;
            ran.expect_ios("write", 60..=65)?;
            Ok(shown)
        }),
        Row::new("full file system, fill_fs", "tmpfs of 256 KiB", |bench| {
            let tmpfs = house::Tmpfs::new(256 << 10).map_err(|error| error.to_string())?;
            let words =
                format!("--name=a --directory={} --rw=write --fill_fs=1 --fallocate=none", tmpfs.path().display());
            let ran = bench.run(bench.fio(&words))?;
            let shown = ran.expect(0, &[])?;
            ran.expect_ios("write", 60..=65)?;
            Ok(shown)
        }),
        Row::new("file system mounted read-only", "mount -o remount,ro", |bench| {
            let tmpfs = house::Tmpfs::new(1 << 20).map_err(|error| error.to_string())?;
            run_tool("mount", &["-o", "remount,ro", &tmpfs.path().display().to_string()])?;
            let words = format!("--name=a --directory={} --rw=write --size=64k", tmpfs.path().display());
            let ran = bench.run(bench.fio(&words))?;
            ran.expect(1, &["Read-only"])
        }),
        Row::new("full disk under iozone -Q", "tmpfs of 64 KiB", full_under_latencies),
        Row::new("full disk under a log", "tmpfs of 64 KiB", |bench| {
            let tmpfs = house::Tmpfs::new(64 << 10).map_err(|error| error.to_string())?;
            let words =
                format!("--name=a --ioengine=null --rw=read --size=64m --write_lat_log={}/l", tmpfs.path().display());
            let ran = bench.run(bench.fio(&words))?;
            let shown = ran.expect(1, &["No space left", "l_"])?;
            ran.expect_ios("read", 16384..=16384)?;
            Ok(shown)
        }),
    ]
}

/// The log that a worker of plumb writes on the way to iozone's own file goes away when it cannot be written.
fn full_under_latencies(bench: &Bench) -> Result<Shown, String> {
    let tmpfs = house::Tmpfs::new(64 << 10).map_err(|error| error.to_string())?;
    let words = format!("iozone -Q -i 0 -s 16m -r 4 -f {}", bench.file("z").display());
    let ran = bench.run(context::plumb(tmpfs.path(), words))?;
    let left: Vec<_> = std::fs::read_dir(tmpfs.path()).map_err(|error| error.to_string())?.flatten().collect();
    if !left.is_empty() || ran.status == Some(0) {
        return Err(format!("status {:?}, left {left:?}: {}", ran.status, ran.stderr));
    }
    ran.expect(ran.status.unwrap_or(0), &["No space left"])
}
