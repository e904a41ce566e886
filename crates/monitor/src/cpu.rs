//! CPU counters in /proc/stat, and the machine's uptime.

use model::{CpuActivity, CpuTicks};
use std::path::Path;

/// Ticks (USER_HZ) of all CPUs together since boot. Source: proc_stat(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// User mode, including guests of virtual machines.
    pub user: u64,
    /// User mode with low priority (nice).
    pub nice: u64,
    /// Kernel mode.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while I/O was in flight.
    pub iowait: u64,
    /// Servicing interrupts.
    pub irq: u64,
    /// Servicing softirqs.
    pub softirq: u64,
    /// Time in which the hypervisor ran other guests.
    pub steal: u64,
}

impl CpuCounters {
    /// Parses the line `cpu ` of /proc/stat. Fields missing in an old kernel are 0; `None` without the line.
    pub fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let mut fields = line.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
        let mut next = || fields.next().unwrap_or(0);
        Some(CpuCounters {
            user: next(),
            nice: next(),
            system: next(),
            idle: next(),
            iowait: next(),
            irq: next(),
            softirq: next(),
            steal: next(),
        })
    }

    /// CPU utilization since `earlier`. A value whose ticks decreased (proc_stat(5) warns of this for iowait) is 0; all
    /// are 0 if no tick passed.
    pub fn since(&self, earlier: &CpuCounters) -> CpuActivity {
        let total = self.total().wrapping_sub(earlier.total());
        let share = |now: u64, then: u64| match now.checked_sub(then) {
            Some(gained) if total > 0 => quotient(gained, total) * 100.0,
            _ => 0.0,
        };
        CpuActivity {
            user: share(self.user, earlier.user),
            nice: share(self.nice, earlier.nice),
            system: share(self.in_kernel(), earlier.in_kernel()),
            iowait: share(self.iowait, earlier.iowait),
            steal: share(self.steal, earlier.steal),
            idle: share(self.idle, earlier.idle),
        }
    }

    /// Ticks since `earlier`. A value that decreased is 0.
    pub fn ticks_since(&self, earlier: &CpuCounters) -> CpuTicks {
        let gained = |of: fn(&CpuCounters) -> u64| of(self).saturating_sub(of(earlier));
        CpuTicks {
            user: gained(|cpu| cpu.user) + gained(|cpu| cpu.nice),
            system: gained(|cpu| cpu.system) + gained(|cpu| cpu.irq) + gained(|cpu| cpu.softirq),
            iowait: gained(|cpu| cpu.iowait),
            steal: gained(|cpu| cpu.steal),
            idle: gained(|cpu| cpu.idle),
        }
    }

    fn in_kernel(&self) -> u64 {
        self.system.wrapping_add(self.irq).wrapping_add(self.softirq)
    }

    fn total(&self) -> u64 {
        [self.user, self.nice, self.idle, self.iowait, self.steal].into_iter().fold(self.in_kernel(), u64::wrapping_add)
    }
}

fn quotient(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Number of CPUs, from /sys or, if that is missing, from /proc/stat.
pub fn cpu_count(root: &Path) -> usize {
    let numbered =
        |name: &str| name.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let listed = std::fs::read_dir(root.join("sys/devices/system/cpu")).map_or(0, |entries| {
        entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(numbered)).count()
    });
    if listed > 0 {
        return listed;
    }
    let stat = sys::machine::text::kernel_text(&root.join("proc/stat")).unwrap_or_default();
    stat.lines().filter(|line| numbered(line)).count()
}

/// The first number of /proc/uptime, in hundredths of a second.
pub fn uptime_centiseconds(text: &str) -> Option<u64> {
    let (seconds, rest) = text.split_ascii_whitespace().next()?.split_once('.')?;
    let (seconds, hundredths) = (seconds.parse::<u64>().ok()?, rest.get(..2)?.parse::<u64>().ok()?);
    seconds.checked_mul(100)?.checked_add(hundredths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_time_is_not_counted_twice() {
        let counters = CpuCounters::parse("intr 5\ncpu  40 10 20 20 2 3 4 1 40 10\ncpu0 1 1 1 1\n").unwrap();
        let shares = counters.since(&CpuCounters::default());
        assert_eq!((shares.user, shares.nice, shares.system), (40.0, 10.0, 27.0));
        assert_eq!((shares.iowait, shares.steal, shares.idle), (2.0, 1.0, 20.0));
    }

    #[test]
    fn a_share_that_fell_is_nothing() {
        let before = CpuCounters::parse("cpu  0 0 0 100 50").unwrap();
        let shares = CpuCounters::parse("cpu  0 0 0 160 40").unwrap().since(&before);
        assert_eq!((shares.iowait, shares.idle), (0.0, 120.0));
        assert_eq!(before.since(&before), CpuActivity::default());
    }

    #[test]
    fn uptimes_are_read_and_other_text_refused() {
        for (text, expected) in [
            ("5127.43 9000.10\n", Some(512_743)),
            ("0.01 0.00", Some(1)),
            ("", None),
            ("12", None),
            ("a.bc", None),
            ("1.2", None),
            ("99999999999999999999.00", None),
            ("184467440737095516.99", None),
            ("1.é", None),
        ] {
            assert_eq!(uptime_centiseconds(text), expected, "{text:?}");
        }
    }
}
