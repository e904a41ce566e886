//! Limits and counters of this process's control group, versions 1 and 2: the result of a benchmark may be such a
//! limit.

use crate::SysError;
use crate::devices::identity::DeviceNumber;
use crate::files::mounts;
use crate::machine::text::word;
use crate::machine::{host, text};
use std::path::{Path, PathBuf};

/// The limits of all groups from the one of this process up to the root of the hierarchy: the lowest of processors and
/// memory, and those of I/O at each level. Version 1 does not apply the I/O limits of a group to the groups in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Number of CPUs: quota ÷ period.
    pub cpus: Option<f64>,
    /// Memory in bytes, including page cache.
    pub memory_bytes: Option<u64>,
    /// Rates per group and device, innermost group first.
    pub io: Vec<IoLimit>,
}

/// Limits of one group on one device; `None` for no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoLimit {
    /// Path of the group in its hierarchy, `/` for the root.
    pub group: String,
    /// Device number.
    pub device: DeviceNumber,
    /// Bytes read per second.
    pub read_bytes_per_second: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_second: Option<u64>,
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
}

/// Counters of this process's group since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// CPU time in microseconds.
    pub cpu_us: Option<u64>,
    /// Periods in which the CPU time of the group, or of a group above it, was throttled.
    pub throttled_periods: Option<u64>,
    /// Total time throttled, in microseconds.
    pub throttled_us: Option<u64>,
    /// Bytes read from and written to devices.
    pub io_bytes: Option<(u64, u64)>,
    /// Read and write requests to devices.
    pub io_requests: Option<(u64, u64)>,
}

/// Pages of files in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCache {
    /// Their bytes.
    pub bytes: u64,
    /// The group whose limit on memory holds them; `None` for the machine.
    pub group: Option<String>,
}

/// The groups of a process, by controller. Found once, read often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Version 2: from the group of the process up to the mount point, innermost first. The last one is the mount
    /// point.
    unified: Vec<PathBuf>,
    /// Version 1: the same for the controllers cpu, cpuacct, memory and blkio.
    cpu: Vec<PathBuf>,
    account: Vec<PathBuf>,
    memory: Vec<PathBuf>,
    devices: Vec<PathBuf>,
}

impl Groups {
    /// Finds the groups of this process.
    ///
    /// # Errors
    /// If /proc/self cannot be read.
    pub fn own(root: &Path) -> Result<Self, SysError> {
        Self::of(root, "self")
    }

    /// Finds the groups of a thread on this machine.
    ///
    /// # Errors
    /// If the thread has ended.
    pub fn of_thread(root: &Path, thread: u32) -> Result<Self, SysError> {
        Self::of(root, &thread.to_string())
    }

    fn of(root: &Path, process: &str) -> Result<Self, SysError> {
        let membership = text::lines(&root.join("proc").join(process).join("cgroup"))?;
        let mounted = mounts::read(root)?;
        let unified = mounted.iter().find(|mount| mount.kind == "cgroup2");
        let old = |controller: &str| {
            let holds = |mount: &&mounts::Mount| {
                mount.kind == "cgroup" && mount.options.split(',').any(|option| option == controller)
            };
            way_up(root, &membership, controller, mounted.iter().find(holds))
        };
        Ok(Groups {
            unified: way_up(root, &membership, "", unified),
            cpu: old("cpu"),
            account: old("cpuacct"),
            memory: old("memory"),
            devices: old("blkio"),
        })
    }

    /// True if the process is in no group.
    pub fn is_empty(&self) -> bool {
        [&self.unified, &self.cpu, &self.account, &self.memory, &self.devices].iter().all(|groups| groups.is_empty())
    }

    /// True if both have the same I/O counters.
    pub fn share_devices(&self, other: &Groups) -> bool {
        self.unified.first() == other.unified.first() && self.devices.first() == other.devices.first()
    }

    /// True if both have the same CPU counters.
    pub fn share_processors(&self, other: &Groups) -> bool {
        self.unified.first() == other.unified.first() && self.cpu == other.cpu && self.account == other.account
    }

    /// Returns the limits that apply to this process.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for group in &self.unified {
            let file = |name: &str| word(&group.join(name)).unwrap_or_default();
            limits.cpus = tighter(limits.cpus, cpu_limit(&file("cpu.max")), f64::min);
            limits.memory_bytes = tighter(limits.memory_bytes, file("memory.max").parse().ok(), u64::min);
            limits
                .io
                .extend(file("io.max").lines().filter_map(|line| parse_io_limit(line, &name(group, &self.unified))));
        }
        for group in &self.cpu {
            let file = |name: &str| word(&group.join(name)).unwrap_or_default();
            let cpus = cpu_limit(&format!("{} {}", file("cpu.cfs_quota_us"), file("cpu.cfs_period_us")));
            limits.cpus = tighter(limits.cpus, cpus, f64::min);
        }
        for group in &self.memory {
            // No limit is written as the largest number of pages.
            let bytes = text::number(&group.join("memory.limit_in_bytes")).filter(|&bytes| bytes < 1 << 62);
            limits.memory_bytes = tighter(limits.memory_bytes, bytes, u64::min);
        }
        // The groups above have limits for the processes in them, not for those in the groups below.
        if let Some(group) = self.devices.first() {
            limits.io.extend(old_io_limits(group, &name(group, &self.devices)));
        }
        limits
    }

    /// Returns the page cache that a limit of memory of these groups holds, of the innermost such group; that of the
    /// machine without a limit. Memory of tmpfs is not in it.
    pub fn page_cache(&self, root: &Path) -> Option<PageCache> {
        let of = |groups: &[PathBuf], limit: &str, cached: &str, shared: &str| {
            let is_limited = |group: &&PathBuf| text::number(&group.join(limit)).is_some_and(|bytes| bytes < 1 << 62);
            let group = groups.iter().find(is_limited)?;
            let counters = word(&group.join("memory.stat"))?;
            let bytes = keyed(&counters, cached)?.saturating_sub(keyed(&counters, shared).unwrap_or(0));
            Some(PageCache { bytes, group: Some(name(group, groups)) })
        };
        of(&self.memory, "memory.limit_in_bytes", "total_cache", "total_shmem")
            .or_else(|| of(&self.unified, "memory.max", "file", "shmem"))
            .or_else(|| Some(PageCache { bytes: host::page_cache(root)?, group: None }))
    }

    /// Returns the counters of the group; `None` for those that the kernel does not have.
    pub fn counters(&self) -> Counters {
        let mut found = Counters::default();
        for group in self.unified.iter().chain(&self.cpu) {
            let text = word(&group.join("cpu.stat")).unwrap_or_default();
            let add = |sum: Option<u64>, more: Option<u64>| tighter(sum, more, u64::saturating_add);
            found.throttled_periods = add(found.throttled_periods, keyed(&text, "nr_throttled"));
            let old = || Some(keyed(&text, "throttled_time")? / 1000);
            found.throttled_us = add(found.throttled_us, keyed(&text, "throttled_usec").or_else(old));
            found.cpu_us = found.cpu_us.or_else(|| keyed(&text, "usage_usec"));
        }
        if let Some(nanoseconds) = self.account.first().and_then(|group| text::number(&group.join("cpuacct.usage"))) {
            found.cpu_us = Some(nanoseconds / 1000);
        }
        let innermost = |groups: &[PathBuf], file: &str| word(&groups.first()?.join(file));
        if let Some(text) = innermost(&self.unified, "io.stat") {
            found.io_bytes = Some((summed(&text, "rbytes="), summed(&text, "wbytes=")));
            found.io_requests = Some((summed(&text, "rios="), summed(&text, "wios=")));
        }
        let old = |file: &str| {
            let text = innermost(&self.devices, file)?;
            Some((old_sum(&text, "Read"), old_sum(&text, "Write")))
        };
        found.io_bytes = old("blkio.throttle.io_service_bytes_recursive").or(found.io_bytes);
        found.io_requests = old("blkio.throttle.io_serviced_recursive").or(found.io_requests);
        found
    }
}

/// Returns the limits that apply to this process; `None` if it is in no group.
///
/// # Errors
/// If /proc/self cannot be read.
pub fn limits(root: &Path) -> Result<Option<Limits>, SysError> {
    let groups = Groups::own(root)?;
    Ok((!groups.is_empty()).then(|| groups.limits()))
}

/// The limit files of version 1, and the field that each sets.
type OldLimit = (&'static str, fn(&mut IoLimit, u64));
const OLD_IO_LIMITS: [OldLimit; 4] = [
    ("blkio.throttle.read_bps_device", |limit, value| limit.read_bytes_per_second = Some(value)),
    ("blkio.throttle.write_bps_device", |limit, value| limit.write_bytes_per_second = Some(value)),
    ("blkio.throttle.read_iops_device", |limit, value| limit.read_iops = Some(value)),
    ("blkio.throttle.write_iops_device", |limit, value| limit.write_iops = Some(value)),
];

/// The I/O limits of a group of version 1, one for each device.
fn old_io_limits(group: &Path, name: &str) -> Vec<IoLimit> {
    let mut found: Vec<IoLimit> = Vec::new();
    for (file, set) in OLD_IO_LIMITS {
        let lines = word(&group.join(file)).unwrap_or_default();
        for (device, value) in lines.lines().filter_map(parse_old_limit) {
            if found.iter().all(|known| known.device != device) {
                found.push(IoLimit::none(name.to_owned(), device));
            }
            found.iter_mut().filter(|known| known.device == device).for_each(|known| set(known, value));
        }
    }
    found
}

/// Directories from the group of this process in a controller up to its mount point, innermost first.
fn way_up(root: &Path, membership: &str, controller: &str, mounted: Option<&mounts::Mount>) -> Vec<PathBuf> {
    let path = |line: &'_ str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then(|| path.trim_start_matches('/').to_owned())
    };
    let (Some(own), Some(mounted)) = (membership.lines().find_map(path), mounted) else { return Vec::new() };
    let top = root.join(mounted.point.strip_prefix("/").unwrap_or(&mounted.point));
    // In a cgroup namespace the path may lead above the mount; then only the mount point itself is visible.
    let inside = if own.split('/').any(|part| part == "..") { "" } else { own.as_str() };
    let innermost = top.join(inside);
    let groups = innermost.ancestors().take_while(|group| group.starts_with(&top)).map(Path::to_owned);
    groups.collect()
}

/// Path of a group in its hierarchy, whose mount point is the last one on the way up.
fn name(group: &Path, way_up: &[PathBuf]) -> String {
    let inside = way_up.last().and_then(|top| group.strip_prefix(top).ok());
    format!("/{}", inside.map_or_else(|| group.display().to_string(), |inside| inside.display().to_string()))
}

/// Parses `7:0 500`.
fn parse_old_limit(line: &str) -> Option<(DeviceNumber, u64)> {
    let (device, value) = line.trim().split_once(' ')?;
    Some((DeviceNumber::parse(device)?, value.trim().parse().ok()?))
}

/// Number after `key ` at the start of a line.
fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?.trim().parse().ok()
}

/// Sum of all `key=number` in io.stat of version 2.
fn summed(text: &str, key: &str) -> u64 {
    let numbers = text.split_whitespace().filter_map(|field| field.strip_prefix(key)?.parse::<u64>().ok());
    numbers.fold(0, u64::saturating_add)
}

/// Sum of `7:0 Read 4096` over all devices, version 1.
fn old_sum(text: &str, operation: &str) -> u64 {
    let number = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        (fields.next()? == operation).then(|| fields.next()?.parse::<u64>().ok())?
    };
    text.lines().filter_map(number).fold(0, u64::saturating_add)
}

fn tighter<T>(one: Option<T>, other: Option<T>, pick: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(pick(one, other)),
        (one, other) => one.or(other),
    }
}

/// Parses `max 100000` or `50000 100000`: quota and period in microseconds.
fn cpu_limit(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period) = (quota.parse::<u64>().ok()?, period.trim().parse::<u64>().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

/// Parses `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn parse_io_limit(line: &str, group: &str) -> Option<IoLimit> {
    let mut fields = line.split_whitespace();
    let device = DeviceNumber::parse(fields.next()?)?;
    let values: Vec<(&str, &str)> = fields.filter_map(|field| field.split_once('=')).collect();
    let find = |key: &str| values.iter().find(|(name, _)| *name == key)?.1.parse().ok();
    Some(IoLimit {
        group: group.to_owned(),
        device,
        read_bytes_per_second: find("rbps"),
        write_bytes_per_second: find("wbps"),
        read_iops: find("riops"),
        write_iops: find("wiops"),
    })
}

impl IoLimit {
    fn none(group: String, device: DeviceNumber) -> Self {
        let (read_bytes_per_second, write_bytes_per_second, read_iops, write_iops) = (None, None, None, None);
        IoLimit { group, device, read_bytes_per_second, write_bytes_per_second, read_iops, write_iops }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(membership: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", membership);
        write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
        for (file, text) in files {
            write(&format!("sys/fs/cgroup/{file}"), text);
        }
        root
    }

    #[test]
    fn the_limits_on_the_way_up_are_found_at_every_level() {
        let root = recorded(
            "0::/a.slice/b.scope\n",
            &[
                ("a.slice/cpu.max", "150000 100000\n"),
                ("a.slice/b.scope/cpu.max", "max 100000\n"),
                ("a.slice/memory.max", "1073741824\n"),
                ("a.slice/b.scope/memory.max", "max\n"),
                ("a.slice/b.scope/io.max", "8:0 rbps=max wbps=max riops=3000 wiops=max\n"),
                (
                    "a.slice/io.max",
                    "8:0 rbps=2097152 wbps=max riops=5000 wiops=max\n8:16 rbps=max wbps=1 riops=max wiops=max\n",
                ),
                ("a.slice/b.scope/cpu.stat", "usage_usec 9\nnr_periods 5\nnr_throttled 2\nthrottled_usec 1234\n"),
            ],
        );
        let limits = limits(root.path()).unwrap().unwrap();
        assert_eq!((limits.cpus, limits.memory_bytes), (Some(1.5), Some(1 << 30)));
        let seen: Vec<(&str, u32, Option<u64>, Option<u64>)> = limits
            .io
            .iter()
            .map(|limit| (limit.group.as_str(), limit.device.minor, limit.read_iops, limit.read_bytes_per_second))
            .collect();
        let expected = [
            ("/a.slice/b.scope", 0, Some(3000), None),
            ("/a.slice", 0, Some(5000), Some(2_097_152)),
            ("/a.slice", 16, None, None),
        ];
        assert_eq!(seen, expected, "each with its group: the path is what one has to look for");
        assert_eq!((limits.io[0].write_iops, limits.io[2].write_bytes_per_second), (None, Some(1)));
        let counters = Groups::own(root.path()).unwrap().counters();
        assert_eq!((counters.throttled_periods, counters.throttled_us), (Some(2), Some(1234)));
        assert_eq!((counters.cpu_us, counters.io_bytes), (Some(9), None));
    }

    #[test]
    fn the_page_cache_is_that_of_the_limit() {
        let two = [
            ("a/b/memory.max", "max\n"),
            ("a/memory.max", "33554432\n"),
            ("a/memory.stat", "anon 5\nfile 20000\nshmem 4000\nfile_mapped 7\n"),
        ];
        let root = recorded("0::/a/b\n", &two);
        let of = |root: &tempfile::TempDir| Groups::own(root.path()).unwrap().page_cache(root.path());
        assert_eq!(of(&root), Some(PageCache { bytes: 16_000, group: Some("/a".to_owned()) }));
        let free = recorded("0::/\n", &[]);
        assert_eq!(of(&free), None);
        let meminfo = "MemTotal: 900 kB\nBuffers: 3 kB\nCached: 10 kB\nSwapCached: 5 kB\nShmem: 4 kB\n";
        std::fs::write(free.path().join("proc/meminfo"), meminfo).unwrap();
        assert_eq!(of(&free), Some(PageCache { bytes: 9 << 10, group: None }));
        let one =
            [("memory/a/memory.limit_in_bytes", "8388608\n"), ("memory/a/memory.stat", "cache 1\ntotal_cache 70\n")];
        let old = recorded("4:memory:/a\n0::/\n", &one);
        let table = "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        std::fs::write(old.path().join("proc/self/mountinfo"), table).unwrap();
        assert_eq!(of(&old), Some(PageCache { bytes: 70, group: Some("/a".to_owned()) }));
    }

    #[test]
    fn no_files_no_limits_and_no_version_2_no_answer() {
        let free = recorded("0::/\n", &[]);
        assert_eq!(limits(free.path()).unwrap(), Some(Limits::default()));
        assert_eq!(Groups::own(free.path()).unwrap().counters(), Counters::default());
        let old = recorded("4:memory:/a\n1:cpu:/\n", &[]);
        assert_eq!(limits(old.path()).unwrap(), None);
        let above = recorded("0::/../x\n", &[("cpu.max", "50000 100000")]);
        assert_eq!(limits(above.path()).unwrap().unwrap().cpus, Some(0.5));
    }

    #[test]
    fn version_1_has_its_limits_in_separate_files() {
        let root = recorded(
            "7:blkio:/a\n4:memory:/\n2:cpu,cpuacct:/a/b\n0::/\n",
            &[
                ("blkio/a/blkio.throttle.read_iops_device", "7:0 500\n8:0 900\n"),
                ("blkio/blkio.throttle.read_iops_device", "7:0 800\n"),
                ("blkio/a/blkio.throttle.write_bps_device", "7:0 1048576\n"),
                (
                    "blkio/a/blkio.throttle.io_service_bytes_recursive",
                    "7:0 Read 8192\n7:0 Write 1\n7:0 Total 9\n8:0 Read 8\nTotal 9\n",
                ),
                ("blkio/a/blkio.throttle.io_serviced_recursive", "7:0 Read 2\n7:0 Write 1\n"),
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("cpu/a/b/cpu.cfs_quota_us", "-1\n"),
                ("cpu/a/b/cpu.cfs_period_us", "100000\n"),
                ("cpu/a/cpu.cfs_quota_us", "50000\n"),
                ("cpu/a/cpu.cfs_period_us", "100000\n"),
                ("cpu/a/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 7000000\n"),
                ("cpu/a/b/cpuacct.usage", "5000000\n"),
            ],
        );
        let table = "30 24 0:26 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                     31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                     32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), table).unwrap();
        let groups = Groups::own(root.path()).unwrap();
        let limits = groups.limits();
        assert_eq!((limits.cpus, limits.memory_bytes, limits.io.len()), (Some(0.5), None, 2));
        assert!(limits.io.iter().all(|limit| limit.group == "/a"), "the limit of the root is for its own processes");
        let loop0 = limits.io.iter().find(|limit| limit.device.major == 7).unwrap();
        assert_eq!((loop0.read_iops, loop0.write_bytes_per_second, loop0.write_iops), (Some(500), Some(1 << 20), None));
        let counters = groups.counters();
        assert_eq!((counters.throttled_periods, counters.throttled_us), (Some(4), Some(7000)));
        assert_eq!(
            (counters.cpu_us, counters.io_bytes, counters.io_requests),
            (Some(5000), Some((8200, 1)), Some((2, 1)))
        );
    }

    #[test]
    fn text_without_a_limit_limits_nothing() {
        for text in ["", "max", "x 100000", "100 0", "100"] {
            assert_eq!(cpu_limit(text), None, "{text:?}");
        }
        assert_eq!(parse_io_limit("x rbps=1", "/"), None);
        assert_eq!(parse_io_limit("8:0", "/").unwrap().read_iops, None);
        assert_eq!((keyed("nr_throttled x\n", "nr_throttled"), keyed("", "x")), (None, None));
    }

    #[test]
    fn this_process_can_be_looked_at() {
        limits(Path::new("/")).unwrap();
        Groups::own(Path::new("/")).unwrap().counters();
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_readers(text in "[ -~\n]{0,80}", numbers in "[0-9, =:max\n-]{0,40}") {
            for text in [&text, &numbers] {
                let _ = (cpu_limit(text), parse_io_limit(text, "/"), parse_old_limit(text), keyed(text, "a"));
                let _ = (summed(text, "="), old_sum(text, "Read"));
            }
        }
    }
}
