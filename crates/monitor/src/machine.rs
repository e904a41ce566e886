//! Counters of the whole machine and of control groups: read once per sample, converted to differences per interval.
//!
//! Leaves the formats of /proc and of cgroup files to `cpu` and `sys`.

use crate::cpu::CpuCounters;
use crate::surroundings::Processors;
use model::{CpuTicks, GroupGain, PressureGain};
use std::path::Path;
use sys::machine::host::{Pressure, Resource, pressure};
use sys::processes::cgroup::{Counters, Groups};

/// Counters at one sample; `None` for those that the kernel does not provide.
#[derive(Debug, Default)]
pub(crate) struct MachineCounters {
    cpu: Option<CpuCounters>,
    /// Pressure stall information (PSI) of CPU, memory and I/O.
    pressures: [Option<Pressure>; 3],
    pub(crate) group: Counters,
    processor_throttles: Option<u64>,
}

impl MachineCounters {
    pub(crate) fn read(root: &Path, groups: &[Groups], processors: &Processors) -> Self {
        let stat = sys::machine::text::kernel_text(&root.join("proc/stat")).unwrap_or_default();
        let resources = [Resource::Cpu, Resource::Memory, Resource::Io];
        MachineCounters {
            cpu: CpuCounters::parse(&stat),
            pressures: resources.map(|resource| pressure(root, resource)),
            group: group_counters(groups),
            processor_throttles: processors.throttles(),
        }
    }

    /// Ticks of all CPUs since `earlier`. If iowait decreased, which proc_stat(5) allows, its difference is 0.
    pub(crate) fn cpu_since(&self, earlier: &MachineCounters) -> Option<CpuTicks> {
        Some(self.cpu?.ticks_since(&earlier.cpu?))
    }

    /// Stall time since `earlier`.
    pub(crate) fn pressure_since(&self, earlier: &MachineCounters) -> Option<PressureGain> {
        let gained = |index: usize| {
            let (now, then) = (self.pressures[index]?, earlier.pressures[index]?);
            let full = now.full_us.unwrap_or(0).saturating_sub(then.full_us.unwrap_or(0));
            Some((now.some_us.saturating_sub(then.some_us), full))
        };
        let found = PressureGain { cpu_us: gained(0), memory_us: gained(1), io_us: gained(2) };
        (found != PressureGain::default()).then_some(found)
    }

    /// Times that processors were slowed because of heat since `earlier`.
    pub(crate) fn throttles_since(&self, earlier: &MachineCounters) -> Option<u64> {
        Some(self.processor_throttles?.saturating_sub(earlier.processor_throttles?))
    }

    /// Resources used by the control groups since `earlier`.
    pub(crate) fn group_since(&self, earlier: &MachineCounters) -> Option<GroupGain> {
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let both = |now: Option<(u64, u64)>, then: Option<(u64, u64)>| {
            let (now, then) = (now?, then?);
            Some((now.0.saturating_sub(then.0), now.1.saturating_sub(then.1)))
        };
        let (now, then) = (&self.group, &earlier.group);
        let found = GroupGain {
            cpu_us: since(now.cpu_us, then.cpu_us),
            throttled_periods: since(now.throttled_periods, then.throttled_periods),
            throttled_us: since(now.throttled_us, then.throttled_us),
            io_bytes: both(now.io_bytes, then.io_bytes),
            io_requests: both(now.io_requests, then.io_requests),
        };
        (found != GroupGain::default()).then_some(found)
    }
}

/// Sum over several groups. In cgroup version 1, groups may share the controller of one resource but not that of
/// another, so a shared controller is counted once.
pub(crate) fn group_counters(groups: &[Groups]) -> Counters {
    let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    let add_pair = |one: Option<(u64, u64)>, other: Option<(u64, u64)>| match (one, other) {
        (Some(one), Some(other)) => Some((one.0.saturating_add(other.0), one.1.saturating_add(other.1))),
        (one, other) => one.or(other),
    };
    let mut all = Counters::default();
    for (at, one) in groups.iter().enumerate() {
        let found = one.counters();
        if !groups[..at].iter().any(|other| other.share_devices(one)) {
            all.io_bytes = add_pair(all.io_bytes, found.io_bytes);
            all.io_requests = add_pair(all.io_requests, found.io_requests);
        }
        if !groups[..at].iter().any(|other| other.share_processors(one)) {
            all.cpu_us = add(all.cpu_us, found.cpu_us);
            all.throttled_periods = add(all.throttled_periods, found.throttled_periods);
            all.throttled_us = add(all.throttled_us, found.throttled_us);
        }
    }
    all
}
