//! Worker processes: fork with a closure, wait with resource usage, kill.

use crate::SysError;
use crate::processes::usage::Usage;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

/// SIGKILL, which cannot be caught or ignored.
pub const KILL: i32 = libc::SIGKILL;
/// SIGTERM, the request to end.
pub const TERMINATE: i32 = libc::SIGTERM;
/// SIGINT, sent by Ctrl-C.
pub const INTERRUPT: i32 = libc::SIGINT;

/// Exit status of a child whose closure panicked.
pub const PANICKED: u8 = 101;

/// A forked worker. Dropping it neither ends the process nor waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Child {
    pid: libc::pid_t,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildEnd {
    /// Its closure returned this value.
    Exited(u8),
    /// It was killed by this signal.
    Killed(i32),
}

/// A child that ended, and its resource usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The child.
    pub child: Child,
    /// How it ended.
    pub ended: ChildEnd,
    /// CPU time, page faults and context switches over its lifetime.
    pub usage: Usage,
}

/// Forks and runs `work` in the child, which exits with its value, or with [`PANICKED`]. In the child this function
/// does not return.
///
/// The child receives SIGTERM when the parent's thread ends, so that no worker outlives a killed parent. It exits
/// without flushing the buffers of this process and without running destructors of inherited values. Values captured by
/// `work` are dropped in the parent as well, so a pipe end that is moved into the child is closed in the parent.
///
/// # Errors
/// If this process has more than one thread, according to `root`/proc/self/task (a lock held by another thread would
/// stay locked in the child forever), or if the kernel refuses.
pub fn fork<F: FnOnce() -> u8 + Send>(root: &Path, work: F) -> Result<Child, SysError> {
    let threads = settled_thread_count(root)?;
    if threads != 1 {
        return Err(SysError::impossible(format!(
            "cannot fork: {threads} threads are running; fork before any starts"
        )));
    }
    fork_now(work)
}

fn fork_now<F: FnOnce() -> u8 + Send>(work: F) -> Result<Child, SysError> {
    let parent = std::process::id();
    // SAFETY: no other thread of this process holds a lock, as the caller has checked, so the child may run any code.
    match unsafe { libc::fork() } {
        -1 => Err(SysError::call_but("fork", io::Error::last_os_error(), "see ulimit -u and pids.max of the cgroup")),
        0 => {
            let status =
                if follow_parent(parent) { catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED) } else { PANICKED };
            // SAFETY: ends this child; the parent continues with its own copy of the memory.
            unsafe { libc::_exit(i32::from(status)) }
        }
        pid => Ok(Child { pid }),
    }
}

/// Makes this process end with its parent; `false` if the parent has already ended.
fn follow_parent(parent: u32) -> bool {
    let asked = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM)).is_ok();
    // The parent may have ended between fork and prctl. No signal follows then, but the parent ID differs.
    asked && std::os::unix::process::parent_id() == parent
}

/// Number of threads. A joined thread stays listed for a moment, until the kernel has released it.
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

/// Returns the number of threads of this process.
///
/// # Errors
/// If `root`/proc/self/task cannot be read.
pub fn thread_count(root: &Path) -> Result<usize, SysError> {
    let tasks = root.join("proc/self/task");
    let entries = std::fs::read_dir(&tasks).map_err(|source| SysError::path("read", &tasks, source))?;
    Ok(entries.count())
}

impl Child {
    /// Process ID.
    pub const fn id(self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// ESRCH if it was already waited for.
    pub fn kill(self, signal: i32) -> Result<(), SysError> {
        // SAFETY: kill touches no memory of this process.
        match unsafe { libc::kill(self.pid, signal) } {
            0 => Ok(()),
            _ => Err(SysError::call("kill", io::Error::last_os_error())),
        }
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// EINTR if a signal arrived first, ECHILD if it was already waited for.
    pub fn wait(self) -> Result<Exit, SysError> {
        match wait4(self.pid, 0)? {
            Some(exit) => Ok(exit),
            None => Err(SysError::call("wait4", io::Error::from_raw_os_error(libc::ECHILD))),
        }
    }

    /// Collects it if it has ended; `None` while it runs.
    ///
    /// # Errors
    /// ECHILD if it was already waited for.
    pub fn try_wait(self) -> Result<Option<Exit>, SysError> {
        wait4(self.pid, libc::WNOHANG)
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
                ChildEnd::Killed(libc::WTERMSIG(status))
            } else {
                ChildEnd::Exited(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX))
            };
            Ok(Some(Exit { child: Child { pid }, ended, usage: Usage::from_kernel(&usage) }))
        }
    }
}

/// A root directory whose /proc shows one thread for this process, for tests, which the harness runs in parallel.
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

    fn ended(work: impl FnOnce() -> u8 + Send) -> ChildEnd {
        forked(work).wait().unwrap().ended
    }

    #[test]
    fn the_childs_value_is_its_exit_status() {
        assert_eq!(ended(|| 0), ChildEnd::Exited(0));
        assert_eq!(ended(|| 255), ChildEnd::Exited(255));
    }

    #[test]
    fn a_panic_stays_in_the_child() {
        let hushed = || {
            std::panic::set_hook(Box::new(|_| {}));
            panic!("as requested")
        };
        assert_eq!(ended(hushed), ChildEnd::Exited(PANICKED));
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
        assert_eq!(child.wait().unwrap().ended, ChildEnd::Killed(TERMINATE));
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
        // The test harness runs this on another thread than its main thread, or the scope below starts a second one.
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
        assert_eq!(parent.wait().unwrap().ended, ChildEnd::Exited(0));
        // The read ends when the last writer has closed the pipe: the grandchild, killed by SIGTERM.
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut { reader }, &mut rest).unwrap();
    }
}
