//! Reads samples from the files under a root directory. Each report is the difference from the previous sample.

use super::IostatError;
use super::command_line::{Flag, Request};
use super::devices::{self, Block, Names, Places};
use crate::counters::{self, device_activity};
use crate::cpu::{CpuCounters, uptime_centiseconds};
use crate::listing::{Listed, Reading};
use model::{CpuActivity, DeviceActivity, DeviceGain};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The counters of the previous samples.
#[derive(Debug, Default)]
pub struct Sampling {
    uptime: u64,
    cpu: CpuCounters,
    devices: BTreeMap<String, Seen>,
    places: Places,
    /// The groups that have had a member.
    groups: BTreeSet<String>,
}

/// The last counters of a device, and when they were read. A device that was away is here until it returns.
#[derive(Clone, Copy, Debug)]
struct Seen {
    counters: DeviceGain,
    uptime: u64,
}

/// The difference from the previous sample.
#[derive(Debug)]
pub struct Difference {
    /// Shares of CPU time.
    pub cpu: CpuActivity,
    /// The devices and groups, in the order of the report.
    pub devices: Vec<DeviceActivity>,
    /// The kernel's name of each of them; `None` of a group.
    pub kernel_names: Vec<Option<String>>,
}

/// A line of the report.
#[derive(Debug)]
struct Shown {
    activity: DeviceActivity,
    kernel_name: Option<String>,
}

impl Sampling {
    /// Takes a sample of everything requested.
    ///
    /// # Errors
    /// A file is missing or damaged.
    pub fn next(&mut self, root: &Path, request: &Request) -> Result<Difference, IostatError> {
        let (uptime, cpu) = read_cpu(root)?;
        // At least one centisecond, the resolution of /proc/uptime, so that two reads in the same tick do not divide by
        // zero.
        let elapsed = uptime.saturating_sub(self.uptime).max(1);
        let shares = cpu.since(&self.cpu);
        let before = std::mem::replace(&mut self.uptime, uptime);
        self.cpu = cpu;
        let shown = if request.has(Flag::Devices) {
            let names = Names::read(root, request);
            let blocks = devices::arranged(&request.device_files(root), request, &names, &mut self.places)?;
            self.devices(&blocks, &names, request, Interval { before, elapsed })
        } else {
            Vec::new()
        };
        let (devices, kernel_names) = shown.into_iter().map(|one| (one.activity, one.kernel_name)).unzip();
        Ok(Difference { cpu: shares, devices, kernel_names })
    }

    fn devices(&mut self, blocks: &[Block], names: &Names<'_>, request: &Request, interval: Interval) -> Vec<Shown> {
        let mut shown = Vec::new();
        for block in blocks {
            let mut sum = Some(DeviceGain::default());
            for reading in &block.readings {
                let gained = self.gained(reading, interval);
                // Without one of its members it is not the sum.
                sum = sum.zip(gained).map(|(mut sum, gained)| {
                    sum.add(gained);
                    sum
                });
                // What stands before the first group has no sum that shows it.
                if let Some(gained) = gained.filter(|_| block.heading.is_none() || !request.has(Flag::SumsOnly)) {
                    shown.push((names.shown(&reading.name), Some(&reading.name), gained, 1));
                }
            }
            let Some(heading) = &block.heading else { continue };
            if !block.readings.is_empty() {
                self.groups.insert(heading.clone());
            }
            // A group that never had a member has no mean of anything, and `-x` no line of it.
            let is_shown = self.groups.contains(heading) || !request.has(Flag::Extended);
            if let Some(sum) = sum.filter(|_| is_shown) {
                shown.push((heading, None, sum, block.readings.len() + block.unused));
            }
        }
        let busy = |gained: &DeviceGain| {
            let reading = Reading { name: String::new(), counters: *gained, listed: Listed::Whole };
            !request.has(Flag::BusyOnly) || reading.is_used()
        };
        let wanted = shown.into_iter().filter(|(_, _, gained, _)| busy(gained));
        let line = |(name, kernel_name, gained, members): (&str, Option<&String>, DeviceGain, usize)| Shown {
            activity: device_activity(name, &gained, interval.elapsed, members),
            kernel_name: kernel_name.cloned(),
        };
        wanted.map(line).collect()
    }

    /// Increase of the counters since the device was read last; `None` if they were set back. One that was away and whose
    /// counters have not gone on is new: it has been plugged in.
    fn gained(&mut self, reading: &Reading, interval: Interval) -> Option<DeviceGain> {
        let now = Seen { counters: reading.counters, uptime: self.uptime };
        let Some(seen) = self.devices.insert(reading.name.clone(), now) else { return Some(reading.counters) };
        let was_away = seen.uptime != interval.before;
        counters::since(&reading.counters, &seen.counters).or(Some(reading.counters).filter(|_| was_away))
    }
}

/// The time between two samples.
#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Uptime at the sample before.
    before: u64,
    elapsed: u64,
}

/// Reads a file of the kernel.
fn read(root: &Path, file: &str) -> Result<String, IostatError> {
    let path = root.join(file);
    sys::machine::text::kernel_text(&path).map_err(|error| IostatError::Unreadable { path, error })
}

/// Reads the uptime in centiseconds, and the CPU counters.
///
/// # Errors
/// /proc/uptime or /proc/stat is missing or damaged.
pub fn read_cpu(root: &Path) -> Result<(u64, CpuCounters), IostatError> {
    let incomplete = |file: &str, part| IostatError::Incomplete { path: root.join(file), part };
    let uptime = read(root, "proc/uptime")?;
    let uptime = uptime_centiseconds(&uptime).ok_or_else(|| incomplete("proc/uptime", "seconds"))?;
    let cpu = CpuCounters::parse(&read(root, "proc/stat")?).ok_or_else(|| incomplete("proc/stat", "line `cpu `"))?;
    Ok((uptime, cpu))
}

#[cfg(test)]
mod tests {
    use super::super::command_line::{self, Command};
    use super::*;

    /// A recorded root, at the uptime given, with these devices' `stat` lines.
    fn recorded(uptime: &str, devices: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for directory in ["proc", "sys/block"] {
            std::fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        std::fs::write(root.path().join("proc/uptime"), uptime).unwrap();
        std::fs::write(root.path().join("proc/stat"), "cpu  1 2 3 4 0 0 0 0 0 0\n").unwrap();
        let mut lines = String::new();
        for (name, stat) in devices {
            std::fs::create_dir_all(root.path().join("sys/block").join(name)).unwrap();
            std::fs::write(root.path().join("sys/block").join(name).join("stat"), stat).unwrap();
            lines += &format!("8 0 {name} {stat}\n");
        }
        std::fs::write(root.path().join("proc/diskstats"), lines).unwrap();
        root
    }

    fn request(words: &str) -> Request {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        match command_line::parse(&words) {
            Ok(Command::Show(request)) => *request,
            other => panic!("{other:?}"),
        }
    }

    /// Compares the names and tps of each sample with `expected`.
    fn check(words: &str, roots: &[&tempfile::TempDir], expected: &[&[(&str, f64)]]) {
        let (request, mut sampling) = (request(words), Sampling::default());
        for (root, expected) in roots.iter().zip(expected) {
            let found = sampling.next(root.path(), &request).unwrap().devices;
            let found: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.together.per_second)).collect();
            assert_eq!(found, *expected, "{words}");
        }
    }

    #[test]
    fn a_device_that_returns_goes_on_if_its_counters_do() {
        let first =
            recorded("100.00 0", &[("sda", "100 0 800 0 0 0 0 0 0 0 0"), ("sdb", "200 0 1600 0 0 0 0 0 0 0 0")]);
        let gone = recorded("110.00 0", &[("sda", "150 0 1200 0 0 0 0 0 0 0 0")]);
        let back =
            recorded("120.00 0", &[("sda", "150 0 1200 0 0 0 0 0 0 0 0"), ("sdb", "230 0 1840 0 0 0 0 0 0 0 0")]);
        let roots = [&first, &gone, &back];
        let then = [("sda", 1.0), ("sdb", 2.0)];
        check("", &roots, &[&then, &[("sda", 5.0)], &[("sda", 0.0), ("sdb", 3.0)]]);
        check("-z", &roots, &[&then, &[("sda", 5.0)], &[("sdb", 3.0)]]);
        check("sda sdb", &roots, &[&then, &[("sda", 5.0)], &[("sda", 0.0), ("sdb", 3.0)]]);
        let later = recorded("130.00 0", &[("sdb", "23 0 184 0 0 0 0 0 0 0 0")]);
        check("", &[&first, &gone, &gone, &later], &[&then, &[("sda", 5.0)], &[("sda", 0.0)], &[("sdb", 1.15)]]);
    }

    #[test]
    fn of_counters_that_were_set_back_nothing_is_said() {
        let first =
            recorded("100.00 0", &[("sda", "100 0 800 0 25 0 200 0 0 0 0"), ("sdb", "200 0 1600 0 0 0 0 0 0 9 9")]);
        let back =
            recorded("110.00 0", &[("sda", "97 0 830 0 27 0 216 0 0 0 0"), ("sdb", "230 0 1840 0 0 0 0 0 0 9 9")]);
        let next =
            recorded("120.00 0", &[("sda", "107 0 910 0 27 0 216 0 0 0 0"), ("sdb", "230 0 1840 0 0 0 0 0 0 8 9")]);
        let roots = [&first, &back, &next];
        check("", &roots, &[&[("sda", 1.25), ("sdb", 2.0)], &[("sdb", 3.0)], &[("sda", 1.0)]]);
        check("-g a sda sdb", &roots[..2], &[&[("sda", 1.25), ("sdb", 2.0), (" a", 3.25)], &[("sdb", 3.0)]]);
        check("-H -g a sda sdb -g b sdb", &roots[..2], &[&[(" a", 3.25), (" b", 0.0)], &[(" b", 0.0)]]);
    }

    #[test]
    fn a_device_that_was_plugged_in_again_counts_from_zero() {
        let first = recorded("100.00 0", &[("sda", "9000000000 0 72000000000 0 5 0 40 0 0 0 0")]);
        let again = recorded("110.00 0", &[("sda", "20 0 160 0 0 0 0 0 0 0 0"), ("sdc", "10 0 80 0 0 0 0 0 0 0 0")]);
        check("sda sdc", &[&first, &again], &[&[("sda", 90_000_000.05)], &[("sda", 2.0), ("sdc", 1.0)]]);
    }

    #[test]
    fn groups_keep_the_order_given_and_end_in_their_sum() {
        let root = recorded(
            "100.00 0",
            &[
                ("sda", "100 0 800 0 0 0 0 0 0 0 0"),
                ("sdb", "200 0 1600 0 0 0 0 0 0 0 0"),
                ("sdc", "0 0 0 0 0 0 0 0 0 0 0"),
            ],
        );
        check("sdc -g a sdb sda", &[&root], &[&[("sdc", 0.0), ("sdb", 2.0), ("sda", 1.0), (" a", 3.0)]]);
        check("-H -g a sdb nosuch -g b sda", &[&root], &[&[(" a", 2.0), (" b", 1.0)]]);
        check("-g a -g b sda", &[&root], &[&[(" a", 0.0), ("sda", 1.0), (" b", 1.0)]]);
        check("-x -g a -g b sda", &[&root], &[&[("sda", 1.0), (" b", 1.0)]]);
        check("-H sdc sdb -g a sda", &[&root], &[&[("sdb", 2.0), ("sdc", 0.0), (" a", 1.0)]]);
        check("sdc -p ALL sdb sda", &[&root], &[&[("sdc", 0.0), ("sdb", 2.0), ("sda", 1.0)]]);
        check("sdc sda sda", &[&root], &[&[("sda", 1.0), ("sdc", 0.0)]]);
        check("-p ALL", &[&root], &[&[("sda", 1.0), ("sdb", 2.0), ("sdc", 0.0)]]);
        check("-p", &[&root], &[&[("sda", 1.0), ("sdb", 2.0)]]);
    }

    #[test]
    fn a_missing_or_spoilt_file_is_named() {
        let root = recorded("never", &[]);
        let error = Sampling::default().next(root.path(), &Request::default()).unwrap_err().to_string();
        assert!(error.ends_with("proc/uptime: has no seconds"), "{error}");
        std::fs::remove_file(root.path().join("proc/uptime")).unwrap();
        let error = Sampling::default().next(root.path(), &Request::default()).unwrap_err().to_string();
        assert!(error.contains("proc/uptime: cannot be read"), "{error}");
    }
}
