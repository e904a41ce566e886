//! The machine: kernel, processor, memory, clocksource, pressure.

use crate::text::word;
use std::path::Path;

/// The kernel's release, `6.1.0-18-amd64`.
pub fn kernel(root: &Path) -> Option<String> {
    word(&root.join("proc/sys/kernel/osrelease"))
}

/// The host's name.
pub fn name(root: &Path) -> Option<String> {
    word(&root.join("proc/sys/kernel/hostname"))
}

/// The processor's model, as /proc/cpuinfo names it; `None` on architectures that do not.
pub fn processor(root: &Path) -> Option<String> {
    let text = word(&root.join("proc/cpuinfo"))?;
    let named = |line: &str| {
        let (key, value) = line.split_once(':')?;
        matches!(key.trim(), "model name" | "Model" | "cpu model").then(|| value.trim().to_owned())
    };
    text.lines().find_map(named)
}

/// Numbers of the CPUs that are online, ascending.
pub fn online_cpus(root: &Path) -> Option<Vec<u32>> {
    parse_list(&word(&root.join("sys/devices/system/cpu/online"))?)
}

/// A list as the kernel writes it: `0-3,8,10-11`. `None` for anything else, and for numbers above 65,535.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
        if first > last {
            return None;
        }
        numbers.extend((first..=last).map(u32::from));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All that the kernel has.
    pub total: u64,
    /// What programs can get without swapping.
    pub available: u64,
}

/// The machine's memory.
pub fn memory(root: &Path) -> Option<Memory> {
    let text = word(&root.join("proc/meminfo"))?;
    let find = |key: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(Memory { total: find("MemTotal")?, available: find("MemAvailable")? })
}

/// The kernel's clocksource, `tsc`.
pub fn clocksource(root: &Path) -> Option<String> {
    word(&root.join("sys/devices/system/clocksource/clocksource0/current_clocksource"))
}

/// What virtualises the machine: the product's name where firmware tells, else `a hypervisor`; `None` on bare metal.
pub fn hypervisor(root: &Path) -> Option<String> {
    let processors = word(&root.join("proc/cpuinfo")).unwrap_or_default();
    let flagged = processors.lines().any(|line| {
        let (key, flags) = line.split_once(':').unwrap_or_default();
        key.trim() == "flags" && flags.split_whitespace().any(|flag| flag == "hypervisor")
    });
    let told = word(&root.join("sys/hypervisor/type")).filter(|text| !text.is_empty());
    let vendor = || word(&root.join("sys/class/dmi/id/sys_vendor")).filter(|text| !text.is_empty());
    told.or_else(|| flagged.then(|| vendor().unwrap_or_else(|| "a hypervisor".to_owned())))
}

/// What tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A processor.
    Cpu,
    /// Memory.
    Memory,
    /// A device.
    Io,
}

/// Time lost to waiting since the machine started, in microseconds: pressure stall information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    /// While at least one task waited.
    pub some_us: u64,
    /// While all tasks waited; `None` where the kernel does not say.
    pub full_us: Option<u64>,
}

/// The machine's pressure; `None` where the kernel does not keep it.
pub fn pressure(root: &Path, resource: Resource) -> Option<Pressure> {
    let name = match resource {
        Resource::Cpu => "cpu",
        Resource::Memory => "memory",
        Resource::Io => "io",
    };
    parse_pressure(&word(&root.join("proc/pressure").join(name))?)
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`, then the same with `full`.
fn parse_pressure(text: &str) -> Option<Pressure> {
    let total = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        line.split_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
    };
    Some(Pressure { some_us: total("some ")?, full_us: total("full ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_recorded_host_is_read() {
        let root = recorded(&[
            ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7B13\nprocessor\t: 1\n"),
            ("proc/meminfo", "MemTotal:       24684092 kB\nMemFree:   5 kB\nMemAvailable:   24000000 kB\n"),
            ("sys/devices/system/cpu/online", "0-3,8\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
            ("proc/pressure/io", "some avg10=0.00 avg60=1.00 avg300=0.10 total=77\nfull avg10=0.00 total=33\n"),
            ("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"),
        ]);
        let root = root.path();
        assert_eq!(kernel(root).as_deref(), Some("6.1.0-18-amd64"));
        assert_eq!(processor(root).as_deref(), Some("AMD EPYC 7B13"));
        assert_eq!(memory(root), Some(Memory { total: 24_684_092 << 10, available: 24_000_000 << 10 }));
        assert_eq!(online_cpus(root), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(clocksource(root).as_deref(), Some("tsc"));
        assert_eq!(pressure(root, Resource::Io), Some(Pressure { some_us: 77, full_us: Some(33) }));
        assert_eq!(pressure(root, Resource::Cpu), Some(Pressure { some_us: 5, full_us: None }));
        assert_eq!((pressure(root, Resource::Memory), name(root)), (None, None));
    }

    #[test]
    fn a_virtual_machine_is_known_by_its_processor() {
        let flags = ("proc/cpuinfo", "model name : x\nflags\t\t: fpu hypervisor lahf_lm\n");
        assert_eq!(hypervisor(recorded(&[flags]).path()).as_deref(), Some("a hypervisor"));
        let named = recorded(&[flags, ("sys/class/dmi/id/sys_vendor", "QEMU\n")]);
        assert_eq!(hypervisor(named.path()).as_deref(), Some("QEMU"));
        let metal = recorded(&[("proc/cpuinfo", "flags : fpu\n"), ("sys/class/dmi/id/sys_vendor", "Dell Inc.\n")]);
        assert_eq!(hypervisor(metal.path()), None);
    }

    #[test]
    fn lists_are_read_and_bad_ones_refused() {
        for (text, expected) in [
            ("", Some(vec![])),
            ("0\n", Some(vec![0])),
            ("2,0-1", Some(vec![0, 1, 2])),
            ("0-1,1-2", Some(vec![0, 1, 2])),
            ("3-1", None),
            ("a", None),
            ("1-", None),
            ("0-4294967295", None),
            ("0-999999999999", None),
        ] {
            assert_eq!(parse_list(text), expected, "{text:?}");
        }
    }

    #[test]
    fn this_machine_can_be_read() {
        let root = Path::new("/");
        assert!(kernel(root).is_some_and(|release| release.contains('.')));
        assert!(online_cpus(root).is_some_and(|cpus| !cpus.is_empty()));
        assert!(memory(root).is_some_and(|memory| memory.available <= memory.total));
    }
}
