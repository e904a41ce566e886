//! Scheduling of the calling thread: CPUs, priorities, user ID, locked memory, timers.

use crate::SysError;
use crate::machine::mapping::{Mapping, PAGE, round_up};
use rustix::mm::MapFlags;
use rustix::thread::CpuSet;
use std::io;

/// Returns the CPUs that the calling thread may use, in ascending order.
///
/// # Errors
/// On machines with more than 1,024 CPUs.
pub fn affinity() -> Result<Vec<u32>, SysError> {
    let set = rustix::thread::sched_getaffinity(None).map_err(|errno| SysError::call("sched_getaffinity", errno))?;
    let numbers = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
    Ok(numbers.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Binds the calling thread to `cpus`.
///
/// # Errors
/// EINVAL if none of them is online and allowed.
pub fn set_affinity(cpus: &[u32]) -> Result<(), SysError> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        let index = usize::try_from(cpu).ok().filter(|&index| index < CpuSet::MAX_CPU);
        set.set(
            index.ok_or_else(|| SysError::impossible(format!("cpu {cpu}: numbers end at {}", CpuSet::MAX_CPU - 1)))?,
        );
    }
    rustix::thread::sched_setaffinity(None, &set).map_err(|errno| {
        let allowed = affinity().unwrap_or_default();
        SysError::call_but("sched_setaffinity", errno, &format!("cpus {cpus:?} wanted, {allowed:?} can be had"))
    })
}

/// ID of the calling thread.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Sets the nice value of the calling thread, from -20 (highest priority) to 19.
///
/// # Errors
/// EACCES if it would be lowered without CAP_SYS_NICE.
pub fn set_nice(nice: i32) -> Result<(), SysError> {
    // On Linux the nice value belongs to the thread, and 0 is the calling one.
    rustix::process::setpriority_process(None, nice).map_err(|errno| SysError::call("setpriority", errno))
}

/// Returns the nice value of the calling thread.
///
/// # Errors
/// Never for the calling thread, in practice.
pub fn nice() -> Result<i32, SysError> {
    rustix::process::getpriority_process(None).map_err(|errno| SysError::call("getpriority", errno))
}

/// Classes of I/O priority (ioprio_set(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum IoClass {
    /// Derived from the nice value.
    None = 0,
    /// Real time: served first; needs CAP_SYS_ADMIN or CAP_SYS_NICE.
    RealTime = 1,
    /// Best effort: a share that depends on the level.
    BestEffort = 2,
    /// Idle: served only if no other process uses the disk.
    Idle = 3,
}

impl IoClass {
    /// Returns the class with this number; `None` above 3.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(IoClass::None),
            1 => Some(IoClass::RealTime),
            2 => Some(IoClass::BestEffort),
            3 => Some(IoClass::Idle),
            _ => None,
        }
    }
}

/// Position of the class in an I/O priority.
const CLASS_SHIFT: u32 = 13;
/// Position of the hint in an I/O priority.
const HINT_SHIFT: u32 = 3;
/// IOPRIO_WHO_PROCESS: `who` is a thread.
const WHO_PROCESS: libc::c_int = 1;

/// Sets the I/O priority of the calling thread: `level` 0 (highest) to 7, device `hint` 0 (none) to 1023.
///
/// # Errors
/// EPERM for the real-time class without the capability; EINVAL for a level above 7, and for a hint before Linux 6.5.
///
/// Source: ioprio_set(2); include/uapi/linux/ioprio.h of Linux.
pub fn set_hinted_io_priority(class: IoClass, level: u8, hint: u16) -> Result<(), SysError> {
    let hinted = i64::from(hint) << HINT_SHIFT;
    let priority = (i64::from(class as u8) << CLASS_SHIFT) | hinted | i64::from(level);
    // SAFETY: ioprio_set takes numbers only.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, priority) } {
        0 => Ok(()),
        _ => Err(SysError::call("ioprio_set", io::Error::last_os_error())),
    }
}

/// Returns the I/O priority of the calling thread as (class number, level).
///
/// # Errors
/// Never for the calling thread, in practice.
pub fn io_priority() -> Result<(u8, u8), SysError> {
    // SAFETY: ioprio_get takes numbers only.
    let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0) };
    let parts = |value: libc::c_long| Some((u8::try_from(value >> CLASS_SHIFT).ok()?, u8::try_from(value & 7).ok()?));
    parts(priority).ok_or_else(|| SysError::call("ioprio_get", io::Error::last_os_error()))
}

/// Sets the name of the calling thread in process lists, up to 15 bytes.
///
/// # Errors
/// If the name contains a NUL.
pub fn set_name(name: &str) -> Result<(), SysError> {
    let text =
        std::ffi::CString::new(name).map_err(|_| SysError::impossible(format!("the name {name:?} holds a NUL")))?;
    rustix::thread::set_name(&text).map_err(|errno| SysError::call("prctl", errno))
}

/// Sets the group ID of the calling thread only.
///
/// # Errors
/// EPERM without CAP_SETGID.
pub fn become_group(id: u32) -> Result<(), SysError> {
    // SAFETY: the raw system call takes only a number, and changes only the calling thread.
    match unsafe { libc::syscall(libc::SYS_setgid, id) } {
        0 => Ok(()),
        _ => Err(SysError::call("setgid", io::Error::last_os_error())),
    }
}

/// Sets the user ID of the calling thread only.
///
/// # Errors
/// EPERM without CAP_SETUID.
pub fn become_user(id: u32) -> Result<(), SysError> {
    // SAFETY: as above.
    match unsafe { libc::syscall(libc::SYS_setuid, id) } {
        0 => Ok(()),
        _ => Err(SysError::call("setuid", io::Error::last_os_error())),
    }
}

/// Memory locked in RAM, to leave less for the page cache; freed when it is dropped.
#[derive(Debug)]
pub struct LockedMemory {
    _mapping: Mapping,
}

/// Locks `bytes` of new memory (mlock(2)).
///
/// # Errors
/// ENOMEM or EPERM above the limit of locked memory (ulimit -l).
pub fn lock_memory(bytes: u64) -> Result<LockedMemory, SysError> {
    let length = usize::try_from(bytes).ok().and_then(|bytes| round_up(bytes.max(1), PAGE));
    let length = length.ok_or_else(|| SysError::impossible(format!("{bytes} bytes do not fit in memory")))?;
    let advice = format!("{bytes} bytes wanted: see ulimit -l and the memory that is free");
    let mapping = Mapping::anonymous(length, MapFlags::PRIVATE)
        .map_err(|errno| SysError::call_but("mmap of memory to lock", errno, &advice))?;
    // SAFETY: the range is the mapping created above; locking does not change its contents.
    unsafe { rustix::mm::mlock(mapping.start().as_ptr().cast(), length) }
        .map_err(|errno| SysError::call_but("mlock", errno, &advice))?;
    Ok(LockedMemory { _mapping: mapping })
}

/// Makes the timers of the calling thread fire when they are due instead of up to 50 µs later (the default timer slack,
/// which saves wake-ups). For threads that keep a rate.
///
/// # Errors
/// Never on current kernels (PR_SET_TIMERSLACK is from Linux 2.6.28).
pub fn sharpen_timers() -> Result<(), SysError> {
    // SAFETY: PR_SET_TIMERSLACK takes a number only.
    match unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) } {
        0 => Ok(()),
        _ => Err(SysError::call("prctl(PR_SET_TIMERSLACK)", io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs on a separate thread, so that the affinity and priority of the test harness stay unchanged.
    fn apart(check: impl FnOnce() + Send) {
        std::thread::scope(|scope| scope.spawn(check).join().unwrap());
    }

    #[test]
    fn a_thread_bound_to_one_cpu_runs_there() {
        apart(|| {
            let last = *affinity().unwrap().last().unwrap();
            set_affinity(&[last]).unwrap();
            assert_eq!(affinity().unwrap(), [last]);
            assert_eq!(rustix::thread::sched_getcpu(), usize::try_from(last).unwrap());
        });
    }

    #[test]
    fn cpus_that_do_not_exist_are_refused_by_number() {
        let said = |cpus: &[u32]| set_affinity(cpus).unwrap_err().to_string();
        assert!(said(&[1023]).contains("can be had"));
        assert!(said(&[5000]).contains("cpu 5000"));
        assert!(said(&[]).contains("can be had"));
    }

    #[test]
    fn priorities_read_back_as_set() {
        apart(|| {
            set_nice(7).unwrap();
            assert_eq!(nice().unwrap(), 7);
            set_hinted_io_priority(IoClass::BestEffort, 3, 0).unwrap();
            assert_eq!(io_priority().unwrap(), (2, 3));
            set_hinted_io_priority(IoClass::Idle, 0, 0).unwrap();
            assert_eq!(io_priority().unwrap().0, 3);
        });
        assert_eq!(IoClass::from_number(4), None);
    }

    #[test]
    fn locked_memory_counts_as_locked_until_it_is_dropped() {
        let locked_kib = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmLck:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        let before = locked_kib();
        let locked = lock_memory(1 << 20).unwrap();
        assert_eq!(locked_kib() - before, 1024);
        drop(locked);
        assert_eq!(locked_kib(), before);
    }

    #[test]
    fn sharp_timers_have_a_slack_of_one_nanosecond() {
        apart(|| {
            sharpen_timers().unwrap();
            let slack = std::fs::read_to_string("/proc/thread-self/timerslack_ns");
            assert_eq!(slack.map_or("1".to_owned(), |text| text.trim().to_owned()), "1");
        });
    }

    #[test]
    fn thread_ids_differ_between_threads() {
        let mine = thread_id();
        apart(move || assert_ne!(thread_id(), mine));
    }
}
