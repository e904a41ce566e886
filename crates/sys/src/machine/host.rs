//! The machine: kernel, CPU, memory, clocksource, pressure.

use crate::machine::text::word;
use std::path::Path;

/// Kernel release, such as `6.1.0-18-amd64`.
pub fn kernel(root: &Path) -> Option<String> {
    word(&root.join("proc/sys/kernel/osrelease"))
}

/// Host name.
pub fn name(root: &Path) -> Option<String> {
    word(&root.join("proc/sys/kernel/hostname"))
}

/// CPU model in /proc/cpuinfo; `None` on architectures that do not list it.
pub fn processor(root: &Path) -> Option<String> {
    let text = word(&root.join("proc/cpuinfo"))?;
    let named = |line: &str| {
        let (key, value) = line.split_once(':')?;
        matches!(key.trim(), "model name" | "Model" | "cpu model").then(|| value.trim().to_owned())
    };
    text.lines().find_map(named)
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Total memory.
    pub total: u64,
    /// Memory available to programs without swapping (MemAvailable).
    pub available: u64,
}

/// Returns the machine's memory.
pub fn memory(root: &Path) -> Option<Memory> {
    let text = word(&root.join("proc/meminfo"))?;
    Some(Memory { total: memory_of(&text, "MemTotal")?, available: memory_of(&text, "MemAvailable")? })
}

/// Returns the bytes of the page cache, without those of tmpfs.
pub fn page_cache(root: &Path) -> Option<u64> {
    let text = word(&root.join("proc/meminfo"))?;
    let files = memory_of(&text, "Cached")?.checked_add(memory_of(&text, "Buffers")?)?;
    Some(files.saturating_sub(memory_of(&text, "Shmem")?))
}

fn memory_of(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Current clocksource, such as `tsc`.
pub fn clocksource(root: &Path) -> Option<String> {
    word(&root.join("sys/devices/system/clocksource/clocksource0/current_clocksource"))
}

/// Hypervisor: the vendor name in the firmware, or else `a hypervisor`; `None` on bare metal.
pub fn hypervisor(root: &Path) -> Option<String> {
    let processors = word(&root.join("proc/cpuinfo")).unwrap_or_default();
    let flagged = processors.lines().any(|line| {
        let (key, flags) = line.split_once(':').unwrap_or_default();
        key.trim() == "flags" && flags.split_whitespace().any(|flag| flag == "hypervisor")
    });
    let named = word(&root.join("sys/hypervisor/type")).filter(|text| !text.is_empty());
    let vendor = || word(&root.join("sys/class/dmi/id/sys_vendor")).filter(|text| !text.is_empty());
    named.or_else(|| flagged.then(|| vendor().unwrap_or_else(|| "a hypervisor".to_owned())))
}

/// Resource that tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// CPU.
    Cpu,
    /// Memory.
    Memory,
    /// I/O.
    Io,
}

/// Pressure stall information (kernel doc: accounting/psi): stall time since boot, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    /// Time in which at least one task was stalled.
    pub some_us: u64,
    /// Time in which all tasks were stalled; `None` if the kernel does not report it.
    pub full_us: Option<u64>,
}

/// Returns the pressure on a resource; `None` if the kernel does not track it.
pub fn pressure(root: &Path, resource: Resource) -> Option<Pressure> {
    let name = match resource {
        Resource::Cpu => "cpu",
        Resource::Memory => "memory",
        Resource::Io => "io",
    };
    parse_pressure(&word(&root.join("proc/pressure").join(name))?)
}

/// Parses `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`, and the same with `full`.
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
    fn this_machine_can_be_read() {
        let root = Path::new("/");
        assert!(kernel(root).is_some_and(|release| release.contains('.')));
        assert!(memory(root).is_some_and(|memory| memory.available <= memory.total));
    }
}
