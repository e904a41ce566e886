//! CPU time and page faults of a worker, and the clocks of the kernel.

use measure::Nanos;
use model::CpuUsage;
use plan::Isolation;
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;

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

/// The usage of one process or thread.
#[derive(Debug)]
pub(crate) struct DividedUsage {
    isolation: Isolation,
    jobs: u32,
    division: RefCell<Division>,
}

/// A job's place on a thread that it shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnPlace<'w> {
    usage: &'w DividedUsage,
    /// Number of the job among those of the thread, from 0.
    job: u32,
}

impl DividedUsage {
    pub(crate) fn new(isolation: Isolation, jobs: u32) -> Self {
        DividedUsage { isolation, jobs, division: RefCell::default() }
    }

    pub(crate) fn place(&self, job: u32) -> TurnPlace<'_> {
        TurnPlace { usage: self, job }
    }
}

impl TurnPlace<'_> {
    /// The job does I/O from now on.
    pub(crate) fn begin(self) {
        self.change(|division| division.sharers += 1);
    }

    /// The job has done its I/O.
    pub(crate) fn end(self) {
        self.change(|division| division.sharers -= 1);
    }

    /// The job's share so far. Two of them differ by what was its share in between.
    pub(crate) fn usage(self) -> CpuUsage {
        self.change(|_| {});
        self.usage.division.borrow().share(self.job, self.usage.jobs)
    }

    fn change(self, change: impl FnOnce(&mut Division)) {
        let division = &mut *self.usage.division.borrow_mut();
        division.advance(usage_now(self.usage.isolation));
        change(division);
    }
}

/// Parts of a unit in which shares are counted.
const PARTS: u128 = 1 << 32;

/// The share of a job that did I/O all the time.
#[derive(Debug, Default)]
struct Division {
    /// The usage of all at the last change.
    last: CpuUsage,
    /// Number of jobs that do I/O.
    sharers: u32,
    /// The share of one job since the start, in parts of a unit, in the order of [`numbers`].
    parts: [u128; 5],
}

impl Division {
    fn advance(&mut self, now: CpuUsage) {
        let used = numbers(used_since(now, self.last));
        self.last = now;
        if self.sharers > 0 {
            for (parts, used) in self.parts.iter_mut().zip(used) {
                *parts += u128::from(used) * PARTS / u128::from(self.sharers);
            }
        }
    }

    /// Whole units of the job with this number of `jobs`. Each job rounds at another point, so that the sum is not
    /// rounded: seven context switches of ten jobs are one each for seven of them.
    fn share(&self, job: u32, jobs: u32) -> CpuUsage {
        let ahead = (u128::from(job) * PARTS + PARTS / 2) / u128::from(jobs.max(1));
        let whole = |parts: u128| u64::try_from((parts + ahead) / PARTS).unwrap_or(u64::MAX);
        let [user, system, switches, major_faults, minor_faults] = self.parts.map(whole);
        CpuUsage { user: Nanos(user), system: Nanos(system), switches, major_faults, minor_faults }
    }
}

fn numbers(usage: CpuUsage) -> [u64; 5] {
    [usage.user.get(), usage.system.get(), usage.switches, usage.major_faults, usage.minor_faults]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(number: u64) -> CpuUsage {
        CpuUsage { user: Nanos(number * 1000), system: Nanos(number), switches: number, ..CpuUsage::default() }
    }

    #[test]
    fn the_shares_of_all_jobs_are_what_the_thread_used() {
        for (jobs, used) in [(1, 7), (3, 7), (7, 3), (10, 1000), (1000, 999), (999, 1_000_003)] {
            let mut division = Division { last: usage(50), sharers: jobs, ..Division::default() };
            division.advance(usage(50 + used / 3));
            let before: Vec<CpuUsage> = (0..jobs).map(|job| division.share(job, jobs)).collect();
            division.advance(usage(50 + used));
            let shares = (0..jobs).zip(before).map(|(job, before)| used_since(division.share(job, jobs), before));
            let sum = shares.fold(CpuUsage::default(), |sum, share| sum + share);
            assert_eq!(sum, usage(used - used / 3), "{jobs} jobs");
        }
    }

    #[test]
    fn a_job_pays_only_for_the_time_in_which_it_does_io() {
        let mut division = Division::default();
        let mut at = |now: u64, sharers: u32| {
            division.advance(usage(now));
            division.sharers = sharers;
            division.share(0, 2)
        };
        let before = at(100, 1);
        let first_alone = at(130, 2);
        let both = at(150, 1);
        let second_alone = at(190, 0);
        assert_eq!(used_since(first_alone, before).user, Nanos(30_000));
        assert_eq!(used_since(both, first_alone).user, Nanos(10_000));
        assert_eq!(used_since(second_alone, both).user, Nanos(40_000), "what the other one used");
        assert_eq!(used_since(at(500, 0), second_alone), CpuUsage::default());
    }
}
