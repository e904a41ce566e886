//! CPU time, page faults and context switches of a process or thread.

/// Resource usage of a process or thread (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, in nanoseconds (the kernel reports microseconds).
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Voluntary context switches, by waiting.
    pub voluntary_switches: u64,
    /// Involuntary context switches, by preemption.
    pub involuntary_switches: u64,
    /// Page faults that required I/O.
    pub major_faults: u64,
    /// Page faults that required no I/O.
    pub minor_faults: u64,
}

/// Usage of all threads of this process.
pub fn of_process() -> Usage {
    read(libc::RUSAGE_SELF)
}

/// Usage of the calling thread, to the microsecond.
pub fn of_thread() -> Usage {
    // getrusage(2) says what was counted at the last tick, up to 4 ms ago; reading this clock counts what has passed
    // since.
    thread_cpu_ns();
    read(libc::RUSAGE_THREAD)
}

/// Usage of all children that were waited for.
pub fn of_children() -> Usage {
    read(libc::RUSAGE_CHILDREN)
}

/// CPU time of the calling thread in nanoseconds, with a finer resolution than getrusage(2).
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

fn read(who: libc::c_int) -> Usage {
    // SAFETY: rusage is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a local that outlives the call. It fails only for a `who` that does not exist.
    unsafe { libc::getrusage(who, &raw mut usage) };
    Usage::from_kernel(&usage)
}

impl Usage {
    pub(crate) fn from_kernel(usage: &libc::rusage) -> Self {
        let nanoseconds = |time: libc::timeval| {
            let micros = time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_usec);
            u64::try_from(micros).unwrap_or(0).saturating_mul(1000)
        };
        let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
        Usage {
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
            major_faults: count(usage.ru_majflt),
            minor_faults: count(usage.ru_minflt),
        }
    }

    /// Returns the difference from `earlier`.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_fresh_memory_faults() {
        let before = of_thread();
        let mut pages = vec![0u8; 8 << 20];
        for page in pages.chunks_mut(4096) {
            page[0] = 1;
        }
        std::hint::black_box(&pages);
        let used = of_thread().since(&before);
        assert!(used.minor_faults > 0, "{used:?}");
        assert!(of_process().minor_faults >= used.minor_faults);
    }

    #[test]
    fn work_takes_cpu_time_and_sleep_does_not() {
        let before = thread_cpu_ns();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let slept = thread_cpu_ns() - before;
        let mut sum = 0u64;
        while thread_cpu_ns() - before - slept < 5_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(slept < 20_000_000, "{slept} ns of sleep were counted");
    }

    #[test]
    fn a_thread_that_works_for_less_than_a_tick_has_used_that_time() {
        // The least of many rounds: others may run in between.
        let least = (0..100).map(|_| {
            let (before, began) = (of_thread(), thread_cpu_ns());
            while thread_cpu_ns() - began < 100_000 {
                std::hint::spin_loop();
            }
            let used = of_thread().since(&before);
            used.user_ns + used.system_ns
        });
        let least = least.min().unwrap();
        assert!((90_000..1_000_000).contains(&least), "{least} ns");
    }

    #[test]
    fn microseconds_become_nanoseconds() {
        // SAFETY: rusage is plain numbers, for which zeros are valid.
        let mut kernel: libc::rusage = unsafe { std::mem::zeroed() };
        kernel.ru_utime = libc::timeval { tv_sec: 2, tv_usec: 3 };
        kernel.ru_nvcsw = 4;
        let usage = Usage::from_kernel(&kernel);
        assert_eq!((usage.user_ns, usage.system_ns, usage.voluntary_switches), (2_000_003_000, 0, 4));
    }
}
