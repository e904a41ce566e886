//! Limits that the control group of this process sets, cgroup v2: they can be what a benchmark measures.

use crate::device::DeviceNumber;
use crate::mounts;
use crate::text::word;
use crate::{SysError, text};
use std::path::{Path, PathBuf};

/// The tightest limits between the group of this process and the root of the hierarchy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Processors, as quota ÷ period.
    pub cpus: Option<f64>,
    /// Bytes of memory, page cache included.
    pub memory_bytes: Option<u64>,
    /// Rates per device.
    pub io: Vec<IoLimit>,
}

/// Limits of one device; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoLimit {
    /// Which one.
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

/// How often and how long the group of this process was held back from the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuThrottle {
    /// Periods in which it was.
    pub periods: u64,
    /// For how long in all, in microseconds.
    pub throttled_us: u64,
}

/// The limits that hold for this process; `None` where it is in no group of version 2.
///
/// # Errors
/// When /proc/self cannot be read.
pub fn limits(root: &Path) -> Result<Option<Limits>, SysError> {
    let Some(groups) = own_groups(root)? else { return Ok(None) };
    let mut limits = Limits::default();
    for group in &groups {
        let file = |name: &str| word(&group.join(name)).unwrap_or_default();
        limits.cpus = tighter(limits.cpus, cpu_limit(&file("cpu.max")), f64::min);
        limits.memory_bytes = tighter(limits.memory_bytes, file("memory.max").parse().ok(), u64::min);
        for limit in file("io.max").lines().filter_map(parse_io_limit) {
            match limits.io.iter_mut().find(|known| known.device == limit.device) {
                Some(known) => known.tighten(&limit),
                None => limits.io.push(limit),
            }
        }
    }
    Ok(Some(limits))
}

/// How this process's group was held back so far; `None` where nobody counts.
///
/// # Errors
/// When /proc/self cannot be read.
pub fn cpu_throttle(root: &Path) -> Result<Option<CpuThrottle>, SysError> {
    let Some(groups) = own_groups(root)? else { return Ok(None) };
    let read = |group: &PathBuf| parse_throttle(&word(&group.join("cpu.stat"))?);
    Ok(groups.iter().find_map(read))
}

/// Directories from the group of this process up to the mount of the hierarchy, innermost first.
fn own_groups(root: &Path) -> Result<Option<Vec<PathBuf>>, SysError> {
    let membership = text::lines(&root.join("proc/self/cgroup"))?;
    let Some(own) = membership.lines().find_map(|line| line.strip_prefix("0::/")) else { return Ok(None) };
    let mounted = mounts::read(root)?.into_iter().find(|mount| mount.kind == "cgroup2");
    let Some(mounted) = mounted else { return Ok(None) };
    let top = root.join(mounted.point.strip_prefix("/").unwrap_or(&mounted.point));
    // In a namespace of its own the path may lead above the mount; then only the mount itself can be seen.
    let inside = if own.split('/').any(|part| part == "..") { "" } else { own };
    let innermost = top.join(inside);
    let groups = innermost.ancestors().take_while(|group| group.starts_with(&top)).map(Path::to_owned);
    Ok(Some(groups.collect()))
}

fn tighter<T>(one: Option<T>, other: Option<T>, pick: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(pick(one, other)),
        (one, other) => one.or(other),
    }
}

/// `max 100000` or `50000 100000`: quota and period in microseconds.
#[expect(clippy::cast_precision_loss, reason = "microseconds of a scheduling period")]
fn cpu_limit(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period) = (quota.parse::<u64>().ok()?, period.trim().parse::<u64>().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn parse_io_limit(line: &str) -> Option<IoLimit> {
    let mut fields = line.split_whitespace();
    let device = DeviceNumber::parse(fields.next()?)?;
    let values: Vec<(&str, &str)> = fields.filter_map(|field| field.split_once('=')).collect();
    let find = |key: &str| values.iter().find(|(name, _)| *name == key)?.1.parse().ok();
    Some(IoLimit {
        device,
        read_bytes_per_second: find("rbps"),
        write_bytes_per_second: find("wbps"),
        read_iops: find("riops"),
        write_iops: find("wiops"),
    })
}

impl IoLimit {
    fn tighten(&mut self, other: &IoLimit) {
        let min = |one, other| tighter(one, other, u64::min);
        self.read_bytes_per_second = min(self.read_bytes_per_second, other.read_bytes_per_second);
        self.write_bytes_per_second = min(self.write_bytes_per_second, other.write_bytes_per_second);
        self.read_iops = min(self.read_iops, other.read_iops);
        self.write_iops = min(self.write_iops, other.write_iops);
    }
}

fn parse_throttle(text: &str) -> Option<CpuThrottle> {
    let find = |key: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
        value.trim().parse().ok()
    };
    Some(CpuThrottle { periods: find("nr_throttled")?, throttled_us: find("throttled_usec")? })
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
    fn the_tightest_limit_on_the_way_up_holds() {
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
        assert_eq!((limits.cpus, limits.memory_bytes, limits.io.len()), (Some(1.5), Some(1 << 30), 2));
        let first = limits.io[0];
        assert_eq!(first.device, DeviceNumber { major: 8, minor: 0 });
        assert_eq!((first.read_iops, first.read_bytes_per_second), (Some(3000), Some(2_097_152)));
        assert_eq!((first.write_iops, limits.io[1].write_bytes_per_second), (None, Some(1)));
        let throttle = cpu_throttle(root.path()).unwrap();
        assert_eq!(throttle, Some(CpuThrottle { periods: 2, throttled_us: 1234 }));
    }

    #[test]
    fn no_files_no_limits_and_no_version_2_no_answer() {
        let free = recorded("0::/\n", &[]);
        assert_eq!(limits(free.path()).unwrap(), Some(Limits::default()));
        assert_eq!(cpu_throttle(free.path()).unwrap(), None);
        let old = recorded("4:memory:/a\n1:cpu:/\n", &[]);
        assert_eq!(limits(old.path()).unwrap(), None);
        let above = recorded("0::/../x\n", &[("cpu.max", "50000 100000")]);
        assert_eq!(limits(above.path()).unwrap().unwrap().cpus, Some(0.5));
    }

    #[test]
    fn text_that_is_no_limit_limits_nothing() {
        for text in ["", "max", "x 100000", "100 0", "100"] {
            assert_eq!(cpu_limit(text), None, "{text:?}");
        }
        assert_eq!(parse_io_limit("x rbps=1"), None);
        assert_eq!(parse_io_limit("8:0").unwrap().read_iops, None);
        assert_eq!(parse_throttle("nr_throttled x\n"), None);
    }

    #[test]
    fn this_process_can_be_looked_at() {
        limits(Path::new("/")).unwrap();
        cpu_throttle(Path::new("/")).unwrap();
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_readers(text in "[ -~\n]{0,80}", numbers in "[0-9, =:max\n-]{0,40}") {
            for text in [&text, &numbers] {
                let _ = (cpu_limit(text), parse_io_limit(text), parse_throttle(text));
                let _ = crate::host::parse_list(text);
            }
        }
    }
}
