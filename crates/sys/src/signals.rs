//! Signals that ask a run to end: noticed in a counter, acted upon by whoever looks.
//!
//! SIGBUS and the like are left alone: a worker that dies by one is a result.

use crate::SysError;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

// A handler can only reach statics; this is the one place that keeps them.
static COUNT: AtomicU32 = AtomicU32::new(0);
static FIRST: AtomicI32 = AtomicI32::new(0);

extern "C" fn notice(signal: libc::c_int) {
    let _ = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Release);
}

/// From now on these signals are only counted. System calls that wait return with EINTR (no SA_RESTART).
///
/// # Errors
/// EINVAL for SIGKILL, SIGSTOP and numbers that are no signals.
pub fn watch(signals: &[i32]) -> Result<(), SysError> {
    signals.iter().try_for_each(|&signal| install(signal, notice as *const () as libc::sighandler_t))
}

/// From now on these signals do nothing at all, in children too.
///
/// # Errors
/// EINVAL for SIGKILL, SIGSTOP and numbers that are no signals.
pub fn ignore(signals: &[i32]) -> Result<(), SysError> {
    signals.iter().try_for_each(|&signal| install(signal, libc::SIG_IGN))
}

/// From now on these signals do what they do by themselves.
///
/// # Errors
/// EINVAL for SIGKILL, SIGSTOP and numbers that are no signals.
pub fn restore(signals: &[i32]) -> Result<(), SysError> {
    signals.iter().try_for_each(|&signal| install(signal, libc::SIG_DFL))
}

fn install(signal: i32, handler: libc::sighandler_t) -> Result<(), SysError> {
    // SAFETY: sigaction is plain data, for which zeros are valid: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    // SAFETY: the handler only touches atomics, and the pointers are to locals that outlive the call.
    match unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(SysError::call_but("sigaction", io::Error::last_os_error(), &format!("signal {signal}"))),
    }
}

/// How many watched signals came so far.
#[inline]
pub fn count() -> u32 {
    COUNT.load(Ordering::Acquire)
}

/// The first watched signal that came; `None` before it.
pub fn first() -> Option<i32> {
    Some(FIRST.load(Ordering::Acquire)).filter(|&signal| signal != 0)
}

/// Forgets what came, for a process that starts over.
pub fn forget() {
    FIRST.store(0, Ordering::Release);
    COUNT.store(0, Ordering::Release);
}

/// Signals that wait, in this thread, until the guard is dropped.
#[derive(Debug)]
#[must_use = "the signals are let through when this is dropped"]
pub struct Blocked {
    before: libc::sigset_t,
    thread: std::marker::PhantomData<*const ()>,
}

/// Makes these signals wait, in the calling thread and in what it starts.
///
/// # Errors
/// EINVAL for numbers that are no signals.
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

/// The kernel's name of a signal, `SIGTERM`; `None` for numbers without one.
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
    use crate::process::{self, Ended};
    use std::time::{Duration, Instant};

    /// In a child, because signals and their counters belong to the whole process.
    fn in_child(check: impl FnOnce() -> u8 + Send) -> Ended {
        process::fork(process::alone().path(), check).unwrap().wait().unwrap().ended
    }

    fn raise(signal: i32) {
        // SAFETY: the signal is watched, ignored or blocked by the test.
        unsafe { libc::raise(signal) };
    }

    #[test]
    fn watched_signals_are_counted_and_the_first_is_kept() {
        let ended = in_child(|| {
            watch(&[libc::SIGINT, libc::SIGTERM]).unwrap();
            assert_eq!((count(), first()), (0, None));
            raise(libc::SIGTERM);
            raise(libc::SIGINT);
            assert_eq!((count(), first()), (2, Some(libc::SIGTERM)));
            forget();
            assert_eq!((count(), first()), (0, None));
            0
        });
        assert_eq!(ended, Ended::Exited(0));
    }

    #[test]
    fn a_watched_signal_wakes_a_waiting_call() {
        let ended = in_child(|| {
            watch(&[libc::SIGALRM]).unwrap();
            // SAFETY: alarm touches no memory.
            unsafe { libc::alarm(1) };
            let began = Instant::now();
            // SAFETY: pause touches no memory.
            unsafe { libc::pause() };
            u8::from(began.elapsed() > Duration::from_secs(5) || count() != 1)
        });
        assert_eq!(ended, Ended::Exited(0));
    }

    #[test]
    fn ignored_restored_and_blocked_signals_do_as_told() {
        let ended = in_child(|| {
            ignore(&[libc::SIGTERM]).unwrap();
            raise(libc::SIGTERM);
            watch(&[libc::SIGUSR1]).unwrap();
            let blocked = block(&[libc::SIGUSR1]).unwrap();
            raise(libc::SIGUSR1);
            assert_eq!(count(), 0);
            drop(blocked);
            assert_eq!(count(), 1);
            restore(&[libc::SIGTERM]).unwrap();
            raise(libc::SIGTERM);
            0
        });
        assert_eq!(ended, Ended::Killed(libc::SIGTERM));
    }

    #[test]
    fn sigkill_cannot_be_watched() {
        assert_eq!(watch(&[libc::SIGKILL]).unwrap_err().errno(), Some(libc::EINVAL));
        assert_eq!((name(libc::SIGBUS), name(1000)), (Some("SIGBUS"), None));
    }
}
