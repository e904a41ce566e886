//! `--idle-prof`: idle time of the CPUs during a run, from the kernel's accounting.
//!
//! fio runs a low-priority busy thread on every CPU and counts its loops. This heats the machine and prevents sleep
//! states, so it changes the measurement; reading /proc/stat does not.

use fio::IdleProfile;
use model::CpuIdleness;
use std::time::Instant;

/// CPU times at one moment: idle and total time of each CPU, in ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdleAccount {
    cpus: Vec<(u64, u64)>,
}

impl IdleAccount {
    /// Reads the CPU times; empty if /proc/stat cannot be read.
    pub(crate) fn now() -> Self {
        IdleAccount::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`, proc_stat(5).
    fn parse(stat: &str) -> Self {
        let line = |line: &str| {
            let rest = line.strip_prefix("cpu")?;
            let (number, fields) = rest.split_once(' ')?;
            number.parse::<u32>().ok()?;
            // `user` and `nice` already include guest time, so the last two fields are not added.
            let ticks: Vec<u64> = fields.split_whitespace().take(8).filter_map(|field| field.parse().ok()).collect();
            let idle = ticks.get(3)?.saturating_add(ticks.get(4).copied().unwrap_or(0));
            Some((idle, ticks.iter().sum()))
        };
        IdleAccount { cpus: stat.lines().filter_map(line).collect() }
    }

    /// Idle time between this sample and a later one, in percent: of all CPUs together, and of each CPU.
    fn idle_until(&self, later: &IdleAccount) -> (f64, Vec<f64>) {
        let differences = self.cpus.iter().zip(&later.cpus);
        let spans: Vec<(u64, u64)> =
            differences.map(|(from, to)| (to.0.saturating_sub(from.0), to.1.saturating_sub(from.1))).collect();
        let share = |(idle, all): (u64, u64)| if all > 0 { 100.0 * idle as f64 / all as f64 } else { 0.0 };
        let sum = spans.iter().fold((0, 0), |sum, span| (sum.0 + span.0, sum.1 + span.1));
        (share(sum), spans.into_iter().map(share).collect())
    }
}

/// Idle time since a moment: of all CPUs together, and if asked for of each CPU.
pub(crate) fn since(before: &IdleAccount, profile: IdleProfile) -> CpuIdleness {
    let (system, cpus) = before.idle_until(&IdleAccount::now());
    CpuIdleness { system, cpus: if profile == IdleProfile::PerCpu { cpus } else { Vec::new() }, ..unit_of_work() }
}

/// Measures the time of the unit of work, which mixes 64 KiB of numbers.
pub(crate) fn unit_of_work() -> CpuIdleness {
    const TIMES: u32 = 20;
    let mut numbers = vec![1u64; 8192];
    let mut once = || {
        let began = Instant::now();
        let mut mixed = 0x9e37_79b9_7f4a_7c15_u64;
        for number in &mut numbers {
            mixed = (mixed ^ *number).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31);
            *number = mixed;
        }
        std::hint::black_box(&numbers);
        began.elapsed().as_secs_f64() * 1e6
    };
    once();
    let times: Vec<f64> = (0..TIMES).map(|_| once()).collect();
    let mean = times.iter().sum::<f64>() / f64::from(TIMES);
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / f64::from(TIMES - 1);
    CpuIdleness { unit_mean_us: mean, unit_deviation_us: variance.sqrt(), ..CpuIdleness::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_idle_and_iowait_of_each_cpu_and_guests_count_once() {
        let before = IdleAccount::parse("cpu 9 9 9 9\ncpu0 10 0 10 50 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0\nintr 1\n");
        let after = IdleAccount::parse("cpu0 40 0 20 90 20 0 0 0 30 0\ncpu1 0 0 0 200 0 0 0 0\n");
        let (system, cpus) = before.idle_until(&after);
        assert_eq!(cpus, [60.0, 100.0]);
        assert_eq!(system, 80.0);
        assert_eq!(IdleAccount::default().idle_until(&after), (0.0, Vec::new()));
    }

    #[test]
    fn the_unit_of_work_takes_time() {
        let unit = unit_of_work();
        assert!(unit.unit_mean_us > 0.1 && unit.unit_deviation_us >= 0.0, "{unit:?}");
    }
}
