//! Worker processes: fork with a closure, wait with resource usage, kill.

use crate::SysError;
use crate::usage::Usage;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

/// The signal that cannot be refused.
pub const KILL: i32 = libc::SIGKILL;
/// The polite request to end.
pub const TERMINATE: i32 = libc::SIGTERM;
/// Ctrl-C.
pub const INTERRUPT: i32 = libc::SIGINT;

/// Exit status of a child whose closure panicked.
pub const PANICKED: u8 = 101;

/// A forked worker. Dropping it neither ends nor waits for the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Child {
    pid: libc::pid_t,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its closure returned this.
    Exited(u8),
    /// This signal ended it.
    Killed(i32),
}

/// A child that ended, and what it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Which one.
    pub child: Child,
    /// How.
    pub ended: Ended,
    /// CPU time, faults and context switches of its whole life.
    pub usage: Usage,
}

/// Forks and runs `work` in the child, which exits with its value, or with [`PANICKED`], and never comes back here.
///
/// The child dies by SIGTERM when this thread ends, so no worker outlives a killed parent. It exits without
/// flushing this process's buffers and without running destructors of what it inherited. What `work` captured by
/// value is dropped here as well, so a pipe's end moved into the child is closed in the parent.
///
/// # Errors
/// When this process has more than one thread (a lock held by another thread would stay locked in the child for
/// ever), as found in `root`/proc/self/task, or when the kernel refuses.
pub fn fork<F: FnOnce() -> u8 + Send>(root: &Path, work: F) -> Result<Child, SysError> {
    let threads = settled_thread_count(root)?;
    if threads != 1 {
        return Err(SysError::Impossible(format!(
            "cannot fork: {threads} threads are running; fork before any starts"
        )));
    }
    fork_now(work)
}

fn fork_now<F: FnOnce() -> u8 + Send>(work: F) -> Result<Child, SysError> {
    let parent = std::process::id();
    // SAFETY: no other thread of this process holds a lock, as checked by the caller, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(SysError::call_but("fork", io::Error::last_os_error(), "see ulimit -u and pids.max of the cgroup")),
        0 => {
            let status =
                if follow_parent(parent) { catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED) } else { PANICKED };
            // SAFETY: ends this child; its parent goes on with its own copy of the memory.
            unsafe { libc::_exit(i32::from(status)) }
        }
        pid => Ok(Child { pid }),
    }
}

/// Makes this process end with its parent; `false` when the parent is gone already.
fn follow_parent(parent: u32) -> bool {
    let asked = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM)).is_ok();
    asked && std::os::unix::process::parent_id() == parent
}

/// How many threads there are. One that was joined is still listed until the kernel has tidied up after it.
fn settled_thread_count(root: &Path) -> Result<usize, SysError> {
    const LOOKS: u32 = 100;
    for _ in 1..LOOKS {
        if thread_count(root)? == 1 {
            return Ok(1);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    thread_count(root)
}

/// How many threads this process has.
///
/// # Errors
/// When `root`/proc/self/task cannot be read.
pub fn thread_count(root: &Path) -> Result<usize, SysError> {
    let tasks = root.join("proc/self/task");
    let entries = std::fs::read_dir(&tasks).map_err(|source| SysError::path("read", &tasks, source))?;
    Ok(entries.count())
}

impl Child {
    /// Its process id.
    pub const fn id(self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// ESRCH when it was waited for already.
    pub fn kill(self, signal: i32) -> Result<(), SysError> {
        // SAFETY: kill touches no memory of this process.
        match unsafe { libc::kill(self.pid, signal) } {
            0 => Ok(()),
            _ => Err(SysError::call("kill", io::Error::last_os_error())),
        }
    }

    /// Waits until it ended.
    ///
    /// # Errors
    /// EINTR when a signal came first, ECHILD when it was waited for already.
    pub fn wait(self) -> Result<Exit, SysError> {
        match wait4(self.pid, 0)? {
            Some(exit) => Ok(exit),
            None => Err(SysError::call("wait4", io::Error::from_raw_os_error(libc::ECHILD))),
        }
    }

    /// Collects it if it ended; `None` while it runs.
    ///
    /// # Errors
    /// ECHILD when it was waited for already.
    pub fn try_wait(self) -> Result<Option<Exit>, SysError> {
        wait4(self.pid, libc::WNOHANG)
    }
}

/// Collects any one child that ended; `None` when none has ended, or none is left.
///
/// # Errors
/// When the kernel refuses for another reason.
pub fn try_wait_any() -> Result<Option<Exit>, SysError> {
    match wait4(-1, libc::WNOHANG) {
        Err(error) if error.errno() == Some(libc::ECHILD) => Ok(None),
        other => other,
    }
}

fn wait4(pid: libc::pid_t, flags: i32) -> Result<Option<Exit>, SysError> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that outlive the call.
    match unsafe { libc::wait4(pid, &raw mut status, flags, &raw mut usage) } {
        -1 => Err(SysError::call("wait4", io::Error::last_os_error())),
        0 => Ok(None),
        pid => {
            let ended = if libc::WIFSIGNALED(status) {
                Ended::Killed(libc::WTERMSIG(status))
            } else {
                Ended::Exited(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX))
            };
            Ok(Some(Exit { child: Child { pid }, ended, usage: Usage::from_kernel(&usage) }))
        }
    }
}

/// A root whose /proc says that this process has one thread, for tests: the harness runs them beside each other.
#[cfg(test)]
pub(crate) fn alone() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("proc/self/task/1")).unwrap();
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn forked(work: impl FnOnce() -> u8 + Send) -> Child {
        fork(alone().path(), work).unwrap()
    }

    fn ended(work: impl FnOnce() -> u8 + Send) -> Ended {
        forked(work).wait().unwrap().ended
    }

    #[test]
    fn the_childs_value_is_its_exit_status() {
        assert_eq!(ended(|| 0), Ended::Exited(0));
        assert_eq!(ended(|| 255), Ended::Exited(255));
    }

    #[test]
    fn a_panic_stays_in_the_child() {
        let hushed = || {
            std::panic::set_hook(Box::new(|_| {}));
            panic!("as told")
        };
        assert_eq!(ended(hushed), Ended::Exited(PANICKED));
    }

    #[test]
    fn a_child_ended_by_a_signal_says_which() {
        let child = forked(|| {
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill(TERMINATE).unwrap();
        assert_eq!(child.wait().unwrap().ended, Ended::Killed(TERMINATE));
        assert_eq!(child.wait().unwrap_err().errno(), Some(libc::ECHILD));
    }

    #[test]
    fn the_childs_cpu_time_is_reported() {
        let child = forked(|| {
            let started = Instant::now();
            while started.elapsed() < Duration::from_millis(50) {
                std::hint::spin_loop();
            }
            0
        });
        let usage = child.wait().unwrap().usage;
        assert!(usage.user_ns + usage.system_ns > 5_000_000, "{usage:?}");
        assert!(usage.minor_faults > 0);
    }

    #[test]
    fn a_process_with_threads_does_not_fork() {
        // The test harness runs this on a thread beside its main thread, or the scope below makes a second one.
        std::thread::scope(|scope| {
            let refused = scope.spawn(|| fork(Path::new("/"), || 0)).join().unwrap();
            assert!(refused.unwrap_err().to_string().contains("threads are running"));
        });
    }

    #[test]
    fn a_child_follows_its_parent_into_death() {
        let (reader, writer) = std::io::pipe().unwrap();
        let parent = forked(move || {
            let root = alone();
            let grandchild = fork(root.path(), move || {
                let _open_while_alive = writer;
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
            u8::from(grandchild.is_err())
        });
        assert_eq!(parent.wait().unwrap().ended, Ended::Exited(0));
        // The pipe ends when the last holder of its writing end is gone: the grandchild, by SIGTERM.
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut { reader }, &mut rest).unwrap();
    }
}
