//! Counters of the workers' main threads in /proc: on-CPU and off-CPU time, and bytes of I/O.
//!
//! Leaves the thread IDs and the progress of I/O to the run.

use measure::Nanos;
use model::WorkerGain;
use std::path::Path;

/// The /proc file that counts the I/O of a worker alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// /proc/PID/io: the worker is the only one in its process.
    Process,
    /// /proc/PID/task/TID/io: the worker shares the process with others.
    Thread,
}

/// State of a worker at a sample, as known to its parent.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSeen {
    /// Thread ID; `None` before it runs.
    pub thread: Option<u32>,
    /// The /proc file that counts its I/O.
    pub account: Account,
    /// True during its measured I/O.
    pub measuring: bool,
    /// Bytes of completed I/O since its start: read, written, trimmed.
    pub bytes: [u64; 3],
    /// Completed I/Os since its start: read, written, trimmed.
    pub ios: [u64; 3],
}

/// A worker's counters since its start: at the end of the last interval, and at the last reading.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkerCounters {
    interval_began: WorkerGain,
    latest: WorkerGain,
}

impl WorkerCounters {
    /// Reads the counters of `worker`, which runs as `thread`. A worker may exit between two reads, and its files in
    /// /proc disappear with it: counters that can no longer be read keep their last value.
    pub(crate) fn read(&mut self, root: &Path, thread: u32, worker: &WorkerSeen) {
        let (before, now) = (self.latest, read_counters(root, thread, worker.account));
        self.latest = WorkerGain {
            on_cpu: now.on_cpu.or(before.on_cpu),
            run_delay: now.run_delay.or(before.run_delay),
            switches: now.switches.or(before.switches),
            io_bytes: now.io_bytes.or(before.io_bytes),
            ios: worker.ios.iter().sum(),
        };
    }

    /// Differences since the start of the interval; the next interval starts here. The counters of a new worker start
    /// at 0.
    pub(crate) fn end_interval(&mut self) -> WorkerGain {
        let (now, then) = (self.latest, std::mem::replace(&mut self.interval_began, self.latest));
        let time = |now: Option<Nanos>, then: Option<Nanos>| Some(now?.saturating_sub(then.unwrap_or_default()));
        WorkerGain {
            on_cpu: time(now.on_cpu, then.on_cpu),
            run_delay: time(now.run_delay, then.run_delay),
            switches: now.switches.map(|switches| switches.saturating_sub(then.switches.unwrap_or(0))),
            io_bytes: now.io_bytes.map(|now| {
                let then = then.io_bytes.unwrap_or_default();
                std::array::from_fn(|index| now[index].saturating_sub(then[index]))
            }),
            ios: now.ios.saturating_sub(then.ios),
        }
    }
}

/// A worker's counters since its start, except for `ios`.
///
/// Source: Documentation/scheduler/sched-stats.rst of Linux for schedstat, proc_pid_io(5) for io.
fn read_counters(root: &Path, thread: u32, account: Account) -> WorkerGain {
    let process = root.join(format!("proc/{thread}"));
    let own = process.join(format!("task/{thread}"));
    let schedstat = sys::machine::text::kernel_text(&own.join("schedstat")).unwrap_or_default();
    let mut numbers = schedstat.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
    let (on_cpu, run_delay, switches) = (numbers.next(), numbers.next(), numbers.next());
    let io = match account {
        Account::Process => process.join("io"),
        Account::Thread => own.join("io"),
    };
    let io = sys::machine::text::kernel_text(&io).unwrap_or_default();
    WorkerGain { on_cpu: on_cpu.map(Nanos), run_delay: run_delay.map(Nanos), switches, io_bytes: io_bytes(&io), ios: 0 }
}

/// Parses `rchar`, `wchar`, `read_bytes` and `write_bytes` of a /proc/PID/io; `None` if one of them is missing.
///
/// Source: proc_pid_io(5).
pub fn io_bytes(text: &str) -> Option<[u64; 4]> {
    let find = |key: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?.trim().parse().ok()
    };
    Some([find("rchar")?, find("wchar")?, find("read_bytes")?, find("write_bytes")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_a_process_is_read() {
        let text = "rchar: 6986\nwchar: 10\nsyscr: 12\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 0\n";
        assert_eq!(io_bytes(text), Some([6986, 10, 4096, 8192]));
        for text in ["", "rchar: 1\n", "rchar: x\nwchar: 1\nread_bytes: 1\nwrite_bytes: 1\n"] {
            assert_eq!(io_bytes(text), None, "{text:?}");
        }
    }
}
