//! Surroundings of a run: which machine, devices and file systems it was, and the settings that change results, read
//! right after it; and heat: how warm NVMe devices are, and how often processors were slowed because of it.
//!
//! Reads what /sys gives to everyone. Of disks other than NVMe the temperature is read after a run only: their driver
//! (drivetemp) asks by a command that waits for the I/Os in flight.

use model::{Fact, Monitored, Surroundings};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::devices::identity::BlockDevice;
use sys::files::{mounts, operations};

/// Number of the lines under *Measures* in CHANGELOG.md: each of them shifts numbers, so results from before and after
/// are not compared.
pub const EPOCH: u32 = measures(include_bytes!("../../../CHANGELOG.md"));

/// The devices and file systems of results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Kernel names of the devices below which nothing is visible.
    leaves: BTreeSet<String>,
    mounts: BTreeSet<String>,
}

impl Places {
    /// Adds those of a run.
    pub fn add(&mut self, monitored: &Monitored) {
        let leaves = monitored.devices.iter().filter(|device| device.leaf);
        self.leaves.extend(leaves.map(|device| device.name.clone()));
        self.mounts.extend(
            monitored.targets.iter().filter_map(|target| target.mount.as_ref()).map(|mount| mount.point.clone()),
        );
    }

    /// Reads the machine under this root (`/`, or a recorded one) on which they were measured just now, in this working
    /// directory.
    pub fn surroundings(&self, root: &Path, directory: Option<&Path>) -> Surroundings {
        let devices: Vec<BlockDevice> =
            self.leaves.iter().filter_map(|name| BlockDevice::by_name(root, name)).collect();
        let serials = devices.iter().filter_map(|device| Some((device.name().to_owned(), device.serial()?)));
        let uuid = |point: &String| Some((point.clone(), uuid(root, Path::new(point))?));
        let mut facts = of_machine(root);
        facts.extend(of_devices(&devices));
        facts.extend(self.mounts.first().and_then(|point| free_space(root, point)));
        Surroundings {
            epoch: Some(EPOCH),
            machine: word(&root.join("etc/machine-id")).map(|id| hashed(&format!("plumb store machine {id}"))),
            facts,
            serials: serials.collect(),
            file_systems: self.mounts.iter().filter_map(uuid).collect(),
            directory: directory.map(|directory| directory.to_string_lossy().into_owned()),
        }
    }
}

/// Counts the lines that start with `- ` between the first heading `### Measures` and the next heading.
const fn measures(text: &[u8]) -> u32 {
    const HEADING: &[u8] = b"### Measures\n";
    let (mut at, mut count, mut inside) = (0, 0, false);
    while at < text.len() {
        if text[at] == b'#' {
            if inside {
                return count;
            }
            inside = starts_with(text, at, HEADING);
        } else if inside && starts_with(text, at, b"- ") {
            count += 1;
        }
        while at < text.len() && text[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    count
}

const fn starts_with(text: &[u8], at: usize, start: &[u8]) -> bool {
    let mut offset = 0;
    while offset < start.len() {
        if at + offset >= text.len() || text[at + offset] != start[offset] {
            return false;
        }
        offset += 1;
    }
    true
}

/// One value if all are the same, else each.
fn joined(values: &[String]) -> Option<String> {
    let first = values.first()?;
    Some(if values.iter().all(|value| value == first) { first.clone() } else { values.join(" / ") })
}

/// The first 16 digits of the SHA-256 of a text.
fn hashed(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The first line of a file without spaces around it; `None` if it cannot be read or is empty.
fn word(path: &Path) -> Option<String> {
    let text = sys::machine::text::kernel_text(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The entries of a directory in the order of their names; none if it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Facts of the machine that are the first line of a file.
const ONE_FILE: &[(&str, &str)] = &[
    ("kernel command line", "proc/cmdline"),
    ("idle driver", "sys/devices/system/cpu/cpuidle/current_driver"),
    ("idle governor", "sys/devices/system/cpu/cpuidle/current_governor"),
    ("turbo off (intel_pstate)", "sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("boost", "sys/devices/system/cpu/cpufreq/boost"),
    ("SMT", "sys/devices/system/cpu/smt/control"),
    ("NUMA nodes", "sys/devices/system/node/online"),
    ("clock of the kernel", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("machine type", "sys/class/dmi/id/product_name"),
    ("mains power", "sys/class/power_supply/AC/online"),
];

const PER_PROCESSOR: &[(&str, &str)] = &[
    ("processor governor", "cpufreq/scaling_governor"),
    ("processor driver", "cpufreq/scaling_driver"),
    ("highest clock kHz", "cpufreq/scaling_max_freq"),
];

fn of_machine(root: &Path) -> Vec<Fact> {
    let mut facts: Vec<Fact> =
        ONE_FILE.iter().filter_map(|(key, file)| Some(Fact::condition(key, word(&root.join(file))?))).collect();
    let huge = word(&root.join("sys/kernel/mm/transparent_hugepage/enabled")).and_then(|text| chosen(&text));
    facts.extend(huge.map(|value| Fact::condition("transparent huge pages", value)));
    let processors: Vec<PathBuf> = entries(&root.join("sys/devices/system/cpu"))
        .into_iter()
        .filter(|path| name(path).strip_prefix("cpu").is_some_and(|rest| rest.parse::<u32>().is_ok()))
        .collect();
    for (key, file) in PER_PROCESSOR {
        let mut values: Vec<String> = processors.iter().filter_map(|path| word(&path.join(file))).collect();
        values.sort();
        values.dedup();
        facts.extend((!values.is_empty()).then(|| Fact::condition(key, values.join(" / "))));
    }
    facts.extend(idle_states_off(&processors).map(|value| Fact::condition("idle states off", value)));
    facts.extend(microcode(root).map(|value| Fact::condition("microcode", value)));
    for file in entries(&root.join("sys/devices/system/cpu/vulnerabilities")) {
        let key = format!("mitigation of {}", name(&file));
        facts.extend(word(&file).map(|value| Fact::condition(&key, value)));
    }
    facts
}

/// The idle states that are switched off on any processor, by name; `None` if the kernel has none.
fn idle_states_off(processors: &[PathBuf]) -> Option<String> {
    let states: Vec<PathBuf> = processors.iter().flat_map(|path| entries(&path.join("cpuidle"))).collect();
    let off = |state: &&PathBuf| word(&state.join("disable")).is_some_and(|flag| flag != "0");
    let mut names: Vec<String> = states.iter().filter(off).filter_map(|state| word(&state.join("name"))).collect();
    names.sort();
    names.dedup();
    let shown = if names.is_empty() { "none".to_owned() } else { names.join(" / ") };
    (!states.is_empty()).then_some(shown)
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

fn microcode(root: &Path) -> Option<String> {
    let text = sys::machine::text::kernel_text(&root.join("proc/cpuinfo")).ok()?;
    let value = |line: &str| line.strip_prefix("microcode")?.split_once(':').map(|(_, value)| value.trim().to_owned());
    text.lines().find_map(value)
}

/// Facts of devices that are the first line of one of these files in their directory.
const DEVICE_FILES: &[(&str, &[&str])] = &[
    ("firmware", &["device/firmware_rev", "device/rev"]),
    ("write-back throttling", &["queue/wbt_lat_usec"]),
    ("link speed", &["device/device/current_link_speed", "device/current_link_speed"]),
    ("link width", &["device/device/current_link_width", "device/current_link_width"]),
    ("completions on the processor of the request", &["queue/rq_affinity"]),
    ("merges off", &["queue/nomerges"]),
    ("polls", &["queue/io_poll"]),
];

fn of_devices(devices: &[BlockDevice]) -> Vec<Fact> {
    let mut facts = Vec::new();
    let serials: Vec<String> = devices.iter().filter_map(BlockDevice::serial).collect();
    facts.extend((!serials.is_empty()).then(|| Fact::identity("serial", serials.join(" / "))));
    for (key, files) in DEVICE_FILES {
        let value = |device: &BlockDevice| files.iter().find_map(|file| word(&device.directory().join(file)));
        let values: Vec<String> = devices.iter().filter_map(value).collect();
        facts.extend(joined(&values).map(|value| Fact::condition(key, value)));
    }
    let hottest = devices.iter().filter_map(temperature).max();
    facts.extend(hottest.map(|degrees| Fact::condition("temperature °C", degrees.to_string())));
    facts
}

/// The temperature of a device in degrees Celsius, after the run.
fn temperature(device: &BlockDevice) -> Option<i64> {
    sensors(device).find_map(|sensor| millidegrees(&sensor, "temp1_input")).map(|milli| milli / 1000)
}

/// The share of a file system that is free.
fn free_space(root: &Path, point: &str) -> Option<Fact> {
    let room = operations::room(&root.join(point.trim_start_matches('/'))).ok().filter(|room| room.total > 0)?;
    Some(Fact::condition("free space %", (room.available * 100 / room.total).to_string()))
}

/// The UUID of the file system that is mounted here, by udev's links.
fn uuid(root: &Path, point: &Path) -> Option<String> {
    let mount = mounts::read(root).ok()?.into_iter().rev().find(|mount| mount.point == point)?;
    let device = match BlockDevice::by_number(root, mount.device) {
        Some(device) => device.name().to_owned(),
        None => name(&std::fs::canonicalize(&mount.source).ok()?),
    };
    let links = entries(&root.join("dev/disk/by-uuid"));
    links.iter().find(|link| std::fs::read_link(link).is_ok_and(|to| name(&to) == device)).map(|link| name(link))
}

/// Most files with counters of processors that are read per sample.
const FILES_MAX: usize = 64;

/// Counters of the times that processors were slowed because of heat.
#[derive(Debug, Default)]
pub(crate) struct Processors {
    files: Vec<PathBuf>,
}

impl Processors {
    /// Finds the counters under `root`: one of each package, and one of each core, which its threads share.
    pub(crate) fn find(root: &Path) -> Self {
        let all = root.join("sys/devices/system/cpu");
        let mut known: BTreeSet<(&str, u64, u64)> = BTreeSet::new();
        let mut files = Vec::new();
        for cpu in entries(&all) {
            let place = |file: &str| number(&cpu.join("topology").join(file));
            let (Some(package), Some(core)) = (place("physical_package_id"), place("core_id")) else { continue };
            for (counter, key) in [("package", (package, 0)), ("core", (package, core))] {
                let file = cpu.join("thermal_throttle").join(format!("{counter}_throttle_count"));
                if number(&file).is_some() && known.insert((counter, key.0, key.1)) {
                    files.push(file);
                }
            }
        }
        files.truncate(FILES_MAX);
        Processors { files }
    }

    /// Sum of the counters; `None` where the kernel has none, as on virtual machines.
    pub(crate) fn throttles(&self) -> Option<u64> {
        let counts = self.files.iter().filter_map(|file| number(file));
        (!self.files.is_empty()).then(|| counts.fold(0, u64::saturating_add))
    }
}

/// The sensor of a device, if it can be read while I/Os are in flight: that of NVMe, whose driver asks by the admin
/// queue, at most once per second.
pub(crate) fn sensor(device: &BlockDevice) -> Option<PathBuf> {
    sensors(device).find(|sensor| word(&sensor.join("name")).as_deref() == Some("nvme"))
}

fn sensors(device: &BlockDevice) -> impl Iterator<Item = PathBuf> {
    let own = device.directory().join("device");
    let all = [entries(&own), entries(&own.join("hwmon"))].concat();
    all.into_iter().filter(|path| name(path).starts_with("hwmon"))
}

/// A temperature of a sensor (`temp1_input`, `temp1_max`) in thousandths of a degree Celsius.
pub(crate) fn millidegrees(sensor: &Path, file: &str) -> Option<i64> {
    word(&sensor.join(file))?.parse().ok()
}

fn number(file: &Path) -> Option<u64> {
    word(file)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_is_the_number_of_lines_that_shift_numbers() {
        assert_eq!(measures(b"# C\n\n### Measures\n- a\n  more\n- b\n\n### Added\n- c\n"), 2);
        assert_eq!(measures(b"### Added\n- c\n"), 0);
        assert_eq!(measures(b"### Measures\n- a\n- b"), 2);
        const { assert!(EPOCH > 20) };
    }

    #[test]
    fn a_recorded_machine_gives_its_settings() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("proc/cmdline", "quiet mitigations=off\n"),
            ("proc/cpuinfo", "processor : 0\nmicrocode\t: 0xf0\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0\n"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state3/name", "C6\n"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state3/disable", "1\n"),
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable\n"),
        ];
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let shown: Vec<String> =
            of_machine(root.path()).iter().map(|fact| format!("{}={}", fact.key, fact.value)).collect();
        assert_eq!(
            shown,
            [
                "kernel command line=quiet mitigations=off",
                "idle driver=intel_idle",
                "transparent huge pages=madvise",
                "processor governor=performance / powersave",
                "idle states off=C6",
                "microcode=0xf0",
                "mitigation of meltdown=Vulnerable",
            ]
        );
        assert!(of_machine(&root.path().join("nothing")).is_empty());
    }
}
