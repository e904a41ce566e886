//! Signals that ask a run to end. The handlers only count them; the run polls the counters.
//!
//! SIGSEGV and similar signals keep their default actions: a worker killed by one is a result. For SIGBUS see
//! `bus_error`.

use crate::SysError;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

// Signal handlers can access only statics; all of them are here.
static COUNT: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicI32 = AtomicI32::new(0);

static FLAG: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());
static BITS: AtomicU32 = AtomicU32::new(0);

extern "C" fn raise_flag(_signal: libc::c_int) {
    let flag = FLAG.load(Ordering::Acquire);
    if !flag.is_null() {
        // SAFETY: only `with_flag` sets the pointer, to a reference that outlives the time in which it is set.
        unsafe { &*flag }.fetch_or(BITS.load(Ordering::Relaxed), Ordering::Release);
    }
}

/// Runs `work`; meanwhile these signals only set `bits` in `flag`. Afterwards they are ignored. Only one caller at a
/// time in a process.
///
/// # Errors
/// EINVAL for SIGKILL, SIGSTOP and numbers that are not signals.
pub fn with_flag<R>(signals: &[i32], flag: &AtomicU32, bits: u32, work: impl FnOnce() -> R) -> Result<R, SysError> {
    struct Lowered;
    impl Drop for Lowered {
        fn drop(&mut self) {
            FLAG.store(std::ptr::null_mut(), Ordering::Release);
        }
    }
    // BITS before FLAG: the handler uses BITS only if it sees the pointer.
    BITS.store(bits, Ordering::Relaxed);
    FLAG.store(std::ptr::from_ref(flag).cast_mut(), Ordering::Release);
    let _lowered = Lowered;
    install_all(signals, raise_flag as *const () as libc::sighandler_t)?;
    let result = work();
    ignore(signals)?;
    Ok(result)
}

extern "C" fn notice(signal: libc::c_int) {
    // LAST before COUNT: a reader that sees the new count sees this signal or a later one.
    LAST.store(signal, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Release);
}

/// Counts SIGINT, SIGTERM and SIGHUP instead of their default actions, until it is dropped. SIGHUP stays ignored if it
/// was, as nohup(1) requires.
pub struct Watch {
    before: u32,
    actions: Vec<(i32, libc::sigaction)>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("count", &self.count()).field("caught", &self.caught()).finish_non_exhaustive()
    }
}

impl Watch {
    /// Starts counting. System calls that wait return with EINTR (no SA_RESTART).
    ///
    /// # Errors
    /// Never, in practice.
    pub fn begin() -> Result<Self, SysError> {
        let mut watch = Watch { before: COUNT.load(Ordering::Acquire), actions: Vec::new() };
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            let before = install(signal, notice as *const () as libc::sighandler_t)?;
            if signal == libc::SIGHUP && before.sa_sigaction == libc::SIG_IGN {
                install(signal, libc::SIG_IGN)?;
            } else {
                watch.actions.push((signal, before));
            }
        }
        Ok(watch)
    }

    /// Number of signals since the watch began.
    #[inline]
    pub fn count(&self) -> u32 {
        COUNT.load(Ordering::Acquire).wrapping_sub(self.before)
    }

    /// The latest signal since the watch began; `None` if there was none.
    #[inline]
    pub fn caught(&self) -> Option<i32> {
        (self.count() > 0).then(|| LAST.load(Ordering::Relaxed))
    }
}

impl Drop for Watch {
    /// Restores the previous actions of the signals.
    fn drop(&mut self) {
        for (signal, action) in &self.actions {
            // SAFETY: the action was returned by the kernel for this signal, and the pointers outlive the call.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
    }
}

static REPORTS: AtomicU32 = AtomicU32::new(0);

extern "C" fn notice_report(_signal: libc::c_int) {
    REPORTS.fetch_add(1, Ordering::Release);
}

/// Counts SIGUSR1, which requests a report instead of the end, until it is dropped.
pub struct ReportRequests {
    heeded: AtomicU32,
    before: libc::sigaction,
}

impl std::fmt::Debug for ReportRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReportRequests").field("heeded", &self.heeded).finish_non_exhaustive()
    }
}

impl ReportRequests {
    /// Starts counting.
    ///
    /// # Errors
    /// Never, in practice.
    pub fn begin() -> Result<Self, SysError> {
        let heeded = AtomicU32::new(REPORTS.load(Ordering::Acquire));
        Ok(ReportRequests { heeded, before: install(libc::SIGUSR1, notice_report as *const () as libc::sighandler_t)? })
    }

    /// True if a request arrived since the last call; several count as one.
    pub fn take(&self) -> bool {
        let seen = REPORTS.load(Ordering::Acquire);
        self.heeded.swap(seen, Ordering::Relaxed) != seen
    }
}

impl Drop for ReportRequests {
    /// Restores the previous action of the signal.
    fn drop(&mut self) {
        // SAFETY: the action was returned by the kernel for this signal, and the pointers outlive the call.
        unsafe { libc::sigaction(libc::SIGUSR1, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// Counts these signals, too, until the process ends; every [`Watch`] sees them.
///
/// # Errors
/// EINVAL for SIGKILL, SIGSTOP and numbers that are not signals.
pub fn watch(signals: &[i32]) -> Result<(), SysError> {
    install_all(signals, notice as *const () as libc::sighandler_t)
}

/// Ignores these signals until the process ends, including in children.
///
/// # Errors
/// EINVAL for SIGKILL, SIGSTOP and numbers that are not signals.
pub fn ignore(signals: &[i32]) -> Result<(), SysError> {
    install_all(signals, libc::SIG_IGN)
}

extern "C" fn carry_on(_signal: libc::c_int) {}

/// Makes a write past the file size limit (`ulimit -f`) fail with EFBIG instead of ending the process (SIGXFSZ).
/// Programs that this process starts have the signal's previous action.
///
/// # Errors
/// Never, in practice.
pub fn survive_size_limit() -> Result<(), SysError> {
    install(libc::SIGXFSZ, carry_on as *const () as libc::sighandler_t).map(drop)
}

fn install_all(signals: &[i32], handler: libc::sighandler_t) -> Result<(), SysError> {
    signals.iter().try_for_each(|&signal| install(signal, handler).map(drop))
}

fn install(signal: i32, handler: libc::sighandler_t) -> Result<libc::sigaction, SysError> {
    // SAFETY: sigaction is plain data, for which zeros are valid: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    let mut before = action;
    // SAFETY: the handler only accesses atomics, and the pointers are to locals that outlive the call.
    match unsafe { libc::sigaction(signal, &raw const action, &raw mut before) } {
        0 => Ok(before),
        _ => Err(SysError::call_but("sigaction", io::Error::last_os_error(), &format!("signal {signal}"))),
    }
}

/// Signals that are blocked in this thread until the guard is dropped.
#[derive(Debug)]
#[must_use = "the signals are let through when this is dropped"]
pub struct Blocked {
    before: libc::sigset_t,
    thread: std::marker::PhantomData<*const ()>,
}

/// Blocks these signals in the calling thread and in the threads and processes that it starts.
///
/// # Errors
/// EINVAL for numbers that are not signals.
pub fn block(signals: &[i32]) -> Result<Blocked, SysError> {
    // SAFETY: sigset_t is plain bits, for which zeros are valid: the empty set.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    for &signal in signals {
        // SAFETY: the set is a valid local.
        if unsafe { libc::sigaddset(&raw mut set, signal) } != 0 {
            return Err(SysError::call_but("sigaddset", io::Error::last_os_error(), &format!("signal {signal}")));
        }
    }
    // SAFETY: sigset_t is plain bits, for which zeros are valid.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that outlive the call.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) } {
        0 => Ok(Blocked { before, thread: std::marker::PhantomData }),
        errno => Err(SysError::call("pthread_sigmask", io::Error::from_raw_os_error(errno))),
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the old mask is from the kernel, and the guard never left its thread.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// The kernel's name of a signal, such as `SIGTERM`; `None` for numbers without one.
pub fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::process::{self, ChildEnd};
    use std::time::{Duration, Instant};

    /// Runs in a child, because signals and their counters belong to the whole process.
    fn in_child(check: impl FnOnce() -> u8 + Send) -> ChildEnd {
        process::fork(process::alone().path(), check).unwrap().wait().unwrap().ended
    }

    fn raise(signal: i32) {
        // SAFETY: the test watches, ignores or blocks the signal.
        unsafe { libc::raise(signal) };
    }

    #[test]
    fn watched_signals_are_counted_and_the_latest_is_kept() {
        let ended = in_child(|| {
            let outer = Watch::begin().unwrap();
            assert_eq!((outer.count(), outer.caught()), (0, None));
            raise(libc::SIGTERM);
            let inner = Watch::begin().unwrap();
            assert_eq!((inner.count(), inner.caught()), (0, None));
            raise(libc::SIGINT);
            assert_eq!((inner.count(), inner.caught()), (1, Some(libc::SIGINT)));
            drop(inner);
            raise(libc::SIGTERM);
            assert_eq!((outer.count(), outer.caught()), (3, Some(libc::SIGTERM)));
            drop(outer);
            raise(libc::SIGTERM);
            0
        });
        assert_eq!(ended, ChildEnd::Killed(libc::SIGTERM));
    }

    #[test]
    fn requests_for_reports_are_taken_once_and_end_nothing() {
        let ended = in_child(|| {
            let requests = ReportRequests::begin().unwrap();
            let taken = [requests.take(), {
                raise(libc::SIGUSR1);
                raise(libc::SIGUSR1);
                requests.take()
            }];
            let after = requests.take();
            drop(requests);
            assert_eq!((taken, after), ([false, true], false));
            raise(libc::SIGUSR1);
            0
        });
        assert_eq!(ended, ChildEnd::Killed(libc::SIGUSR1));
    }

    #[test]
    fn a_watched_signal_wakes_a_waiting_call() {
        let ended = in_child(|| {
            watch(&[libc::SIGALRM]).unwrap();
            let watched = Watch::begin().unwrap();
            // SAFETY: alarm touches no memory.
            unsafe { libc::alarm(1) };
            let began = Instant::now();
            // SAFETY: pause touches no memory.
            unsafe { libc::pause() };
            u8::from(began.elapsed() > Duration::from_secs(5) || watched.caught() != Some(libc::SIGALRM))
        });
        assert_eq!(ended, ChildEnd::Exited(0));
    }

    #[test]
    fn ignored_restored_and_blocked_signals_do_as_asked() {
        let ended = in_child(|| {
            ignore(&[libc::SIGTERM]).unwrap();
            raise(libc::SIGTERM);
            watch(&[libc::SIGUSR1]).unwrap();
            let watched = Watch::begin().unwrap();
            let blocked = block(&[libc::SIGUSR1]).unwrap();
            raise(libc::SIGUSR1);
            assert_eq!(watched.count(), 0);
            drop(blocked);
            assert_eq!(watched.count(), 1);
            drop(watched);
            install(libc::SIGTERM, libc::SIG_DFL).unwrap();
            raise(libc::SIGTERM);
            0
        });
        assert_eq!(ended, ChildEnd::Killed(libc::SIGTERM));
    }

    #[test]
    fn a_signal_sets_its_bits_in_the_flag_while_the_work_lasts() {
        let ended = in_child(|| {
            let flag = AtomicU32::new(1);
            let seen = with_flag(&[libc::SIGTERM], &flag, 4, || {
                raise(libc::SIGTERM);
                flag.load(Ordering::Acquire)
            });
            raise(libc::SIGTERM);
            u8::from(seen.unwrap() != 5)
        });
        assert_eq!(ended, ChildEnd::Exited(0));
    }

    #[test]
    fn sigkill_cannot_be_watched() {
        assert_eq!(watch(&[libc::SIGKILL]).unwrap_err().errno(), Some(libc::EINVAL));
        assert_eq!((name(libc::SIGBUS), name(1000)), (Some("SIGBUS"), None));
    }
}
