//! CPU time and page faults of a worker, and the clocks of the kernel.

use measure::Nanos;
use model::CpuUsage;
use plan::Isolation;
use rustix::time::{ClockId, clock_gettime};

/// The kernel's clocks, by their number in clock_gettime(2).
const CLOCKS: [ClockId; 8] = [
    ClockId::Realtime,
    ClockId::Monotonic,
    ClockId::ProcessCPUTime,
    ClockId::ThreadCPUTime,
    ClockId::MonotonicRaw,
    ClockId::RealtimeCoarse,
    ClockId::MonotonicCoarse,
    ClockId::Boottime,
];

/// Milliseconds of the kernel's clock with this number; `None` if there is none.
pub(crate) fn clock_ms(number: u32) -> Option<u64> {
    let time = clock_gettime(*CLOCKS.get(number as usize)?);
    Some(time.tv_sec.unsigned_abs() * 1000 + time.tv_nsec.unsigned_abs() / 1_000_000)
}

/// CPU usage so far of the worker's process, or of its thread if it is one.
pub(crate) fn usage_now(isolation: Isolation) -> CpuUsage {
    cpu_usage(match isolation {
        Isolation::Process => sys::processes::usage::of_process(),
        Isolation::Thread => sys::processes::usage::of_thread(),
    })
}

/// The kernel's numbers in the model's type.
pub(crate) fn cpu_usage(usage: sys::processes::usage::Usage) -> CpuUsage {
    CpuUsage {
        user: Nanos(usage.user_ns),
        system: Nanos(usage.system_ns),
        switches: usage.voluntary_switches + usage.involuntary_switches,
        major_faults: usage.major_faults,
        minor_faults: usage.minor_faults,
    }
}

/// The usage since `before`.
pub(crate) fn used_since(now: CpuUsage, before: CpuUsage) -> CpuUsage {
    CpuUsage {
        user: now.user.saturating_sub(before.user),
        system: now.system.saturating_sub(before.system),
        switches: now.switches.saturating_sub(before.switches),
        major_faults: now.major_faults.saturating_sub(before.major_faults),
        minor_faults: now.minor_faults.saturating_sub(before.minor_faults),
    }
}
