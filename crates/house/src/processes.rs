//! The processes that a test has started: what /proc says of them, how they end, and how a test waits for either.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::time::{Duration, Instant};

/// The processes that the threads of a process have started.
pub fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    threads.map(of).collect::<String>().split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The processes below a process, however deep.
pub fn descendants(pid: u32) -> Vec<u32> {
    children(pid).into_iter().flat_map(|child| std::iter::once(child).chain(descendants(child))).collect()
}

/// Kills a process that leads a group, and all below it: a job of fio leaves the group, and would hold its port.
pub(crate) fn kill_with_descendants(pid: u32) {
    let below = descendants(pid);
    let raw = |pid: u32| i32::try_from(pid).ok().and_then(Pid::from_raw);
    // Any of them may have ended meanwhile.
    let _ = raw(pid).map(|leader| kill_process_group(leader, Signal::KILL));
    for process in below.into_iter().filter_map(raw) {
        let _ = kill_process(process, Signal::KILL);
    }
}

/// The bytes that a process has read by system calls, from the page cache too; 0 if it has ended.
pub fn bytes_read(pid: u32) -> u64 {
    of_io(pid, "rchar: ")
}

/// The bytes that a process has written by system calls, into the page cache too; 0 if it has ended.
pub fn bytes_written(pid: u32) -> u64 {
    of_io(pid, "wchar: ")
}

fn of_io(pid: u32, name: &str) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap_or(0)
}

/// The processor time of a process and its threads, in the kernel's ticks of 10 ms; 0 if it has ended.
pub fn processor_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Fields 14 and 15 of proc_pid_stat(5); the second one, a name, may have blanks.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// True if a process has a handler for a signal.
pub fn catches(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    caught & 1 << (signal.as_raw() - 1) != 0
}

/// Sends a process a signal.
///
/// # Panics
/// There is no such process.
#[track_caller]
pub fn signal(pid: u32, signal: Signal) {
    let known = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("the number of a process");
    kill_process(known, signal).unwrap_or_else(|error| panic!("process {pid}: {error}"));
}

/// Waits until these processes have ended.
///
/// # Panics
/// One of them has not ended after a minute.
#[track_caller]
pub fn wait_for_end_of(processes: &[u32]) {
    let has_ended = |pid: &u32| {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        state.is_none_or(|text| text.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
    };
    wait_for(&format!("the end of {processes:?}"), || processes.iter().all(has_ended).then_some(()));
}

/// Waits up to a minute until `found` is something, and returns it.
///
/// # Panics
/// It is not in time; the message contains `what`.
#[track_caller]
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    #[test]
    fn a_process_below_has_read_and_computed() {
        let script = "(dd if=/dev/zero of=/dev/null bs=1M count=4 2>/dev/null; while :; do :; done) & wait";
        let process = Run::new("sh", &std::env::temp_dir()).words(["-c", script]).start();
        let below = || descendants(process.id());
        wait_for("its processor time", || below().iter().any(|&pid| processor_ticks(pid) > 3).then_some(()));
        assert_eq!(below().len(), 1);
        assert_eq!((bytes_read(u32::MAX), processor_ticks(u32::MAX)), (0, 0));
        let all = below();
        drop(process);
        wait_for_end_of(&all);
    }

    #[test]
    fn a_process_that_left_the_group_is_killed_with_it() {
        let process = Run::new("sh", &std::env::temp_dir()).words(["-c", "setsid sleep 600 & wait"]).start();
        let sleeps = || descendants(process.id()).into_iter().find(|&pid| is_called(pid, "sleep"));
        let below = wait_for("the process below", sleeps);
        drop(process);
        wait_for_end_of(&[below]);
    }

    fn is_called(pid: u32, name: &str) -> bool {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|found| found.trim() == name)
    }

    #[test]
    fn a_handler_is_seen() {
        let process = Run::new("sh", &std::env::temp_dir()).words(["-c", "trap : USR1; sleep 60"]).start();
        wait_for("its handler", || catches(process.id(), Signal::USR1).then_some(()));
        assert!(!catches(process.id(), Signal::USR2));
    }

    #[test]
    fn bytes_that_were_read_are_counted() {
        let before = bytes_read(std::process::id());
        std::io::Read::read_exact(&mut fs::File::open("/dev/zero").expect("a device"), &mut [0; 10_000])
            .expect("zeros");
        assert!(bytes_read(std::process::id()) >= before + 10_000);
    }
}
