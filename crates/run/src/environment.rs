//! The environment of a run, for its result.

use measure::{ClockSource, SystemClock};
use model::{ClockNote, Environment, FileSystem};
use std::fs::read_to_string;
use std::path::Path;

/// Starts the clock of a run. It reads the TSC if the kernel uses the TSC itself; this is looked up in sysfs under
/// `root`.
pub(crate) fn start_clock(root: &Path) -> SystemClock {
    let path = root.join("sys/devices/system/clocksource/clocksource0/current_clocksource");
    SystemClock::calibrate(read_to_string(path).unwrap_or_default().trim())
}

/// The machine as [`machine`] describes it, the accuracy of the clock, and the file systems of these files.
pub(crate) fn describe_machine(
    root: &Path,
    clock: &SystemClock,
    engine_notes: Vec<String>,
    files: &[&Path],
) -> Environment {
    Environment {
        clock: Some(clock_note(clock)),
        engine_notes,
        file_systems: file_systems(root, files),
        ..machine(root)
    }
}

/// The machine as procfs and sysfs describe it under `root`, before a run. Fields that cannot be read stay empty.
pub fn machine(root: &Path) -> Environment {
    let processors = read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let memory = read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    Environment {
        program: concat!("plumb ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: Vec::new(),
        host: sys::machine::host::name(root),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        processor: after(&processors, "model name").unwrap_or_default().to_owned(),
        cpus: std::thread::available_parallelism().map_or(0, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        memory_bytes: after(&memory, "MemTotal").and_then(kibibytes).unwrap_or(0),
        ..Environment::default()
    }
}

/// The clock and its drift up to now.
pub(crate) fn clock_note(clock: &SystemClock) -> ClockNote {
    let report = clock.report();
    let source = match report.source {
        ClockSource::Tsc => "tsc",
        ClockSource::Monotonic => "monotonic",
    };
    ClockNote {
        source: source.to_owned(),
        drift_ppm: report.drift_ppm,
        why_not_tsc: report.why_not_tsc.map(str::to_owned),
    }
}

/// The file systems that hold these files, each once.
fn file_systems(root: &Path, files: &[&Path]) -> Vec<FileSystem> {
    let mut found: Vec<FileSystem> = Vec::new();
    for mount in sys::files::mounts::holding_any(root, files).unwrap_or_default() {
        let path = mount.point.display().to_string();
        if !found.iter().any(|known| known.path == path) {
            found.push(FileSystem { path, kind: mount.kind });
        }
    }
    found
}

/// The text after the colon in the first line that begins with `key`.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim())
}

fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_its_recorded_proc() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/cpuinfo"), "processor\t: 0\nmodel name\t: Fast CPU 9000\n").unwrap();
        std::fs::write(root.path().join("proc/meminfo"), "MemTotal:       16384 kB\nMemFree: 1 kB\n").unwrap();
        let found = describe_machine(root.path(), &start_clock(root.path()), vec!["ring".to_owned()], &[]);
        assert_eq!((found.processor.as_str(), found.memory_bytes), ("Fast CPU 9000", 16 << 20));
        assert_eq!(found.engine_notes, ["ring"]);
        let clock = found.clock.unwrap();
        assert_eq!(clock.source, "monotonic");
        assert!(clock.why_not_tsc.is_some(), "no clocksource under this root");
    }
}
