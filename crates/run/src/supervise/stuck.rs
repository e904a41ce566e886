//! Detection of stuck I/O: the job, the file, the offset, and for how long. The parent reads /proc of the worker's
//! thread, so that detection costs the loop nothing, and works for a worker that is blocked in the kernel.
//!
//! A call is identified by its number, its arguments and the CPU time of the thread (`syscall` and `schedstat` in
//! /proc). If two samples are equal, the thread has not run in between and is still in the same call; otherwise its
//! time starts again from zero.

use measure::Nanos;
use std::path::Path;
use sys::processes::blocked_call::{BlockedCall, call_of};

/// Grace period after the second request to end, which sends SIGKILL to processes. After it the remaining workers are
/// abandoned.
pub(super) const PATIENCE: Nanos = Nanos::from_millis(500);
/// Sampling interval.
const INTERVAL: Nanos = Nanos::from_secs(1);

/// The last sample of each worker.
#[derive(Debug, Default)]
pub(crate) struct StuckCalls {
    next: Nanos,
    last: Vec<Option<Last>>,
}

#[derive(Debug)]
struct Last {
    fingerprint: String,
    since: Nanos,
    reported: bool,
}

/// A worker's thread to sample.
pub(crate) struct WatchedThread<'run> {
    pub(crate) index: usize,
    pub(crate) job: &'run str,
    pub(crate) thread: u32,
    /// Time that a call may last before it is reported.
    pub(crate) limit: Nanos,
}

impl StuckCalls {
    /// True if the next sample is due.
    pub(crate) fn is_due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// Samples these workers; returns a message for each call that exceeds its limit. A call is reported once.
    pub(crate) fn sample<'run>(
        &mut self,
        now: Nanos,
        root: &Path,
        threads: impl Iterator<Item = WatchedThread<'run>>,
    ) -> Vec<String> {
        self.next = now.saturating_add(INTERVAL);
        threads.filter_map(|watched| self.check(now, &watched, call_of(root, watched.thread))).collect()
    }

    fn check(&mut self, now: Nanos, watched: &WatchedThread<'_>, found: Option<BlockedCall>) -> Option<String> {
        if self.last.len() <= watched.index {
            self.last.resize_with(watched.index + 1, || None);
        }
        let slot = &mut self.last[watched.index];
        let Some(found) = found else {
            *slot = None;
            return None;
        };
        match slot {
            Some(last) if last.fingerprint == found.fingerprint => {
                let age = now.saturating_sub(last.since);
                if last.reported || age < watched.limit {
                    return None;
                }
                last.reported = true;
                Some(sentence(watched.job, &found, age))
            }
            _ => {
                *slot = Some(Last { fingerprint: found.fingerprint, since: now, reported: false });
                None
            }
        }
    }
}

fn sentence(job: &str, found: &BlockedCall, age: Nanos) -> String {
    let seconds = age.as_duration().as_secs();
    let place = match (&found.file, found.offset) {
        (Some(file), Some(offset)) => format!(" at offset {offset} of {}", file.display()),
        (Some(file), None) => format!(" of {}", file.display()),
        (None, _) if found.waits => ", which waits for I/Os that were submitted".to_owned(),
        (None, _) => String::new(),
    };
    format!("job `{job}`: I/O is stuck: {}{place} has not completed for {seconds} s", found.call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_stays_is_reported_once_one_that_moves_never() {
        let mut stuck = StuckCalls::default();
        let watched = WatchedThread { index: 2, job: "a", thread: 7, limit: Nanos::from_secs(3) };
        let at = |fingerprint: &str| {
            let file = Some("/x/a.0.0".into());
            Some(BlockedCall {
                call: "pread64",
                file,
                offset: Some(8192),
                waits: false,
                fingerprint: fingerprint.into(),
            })
        };
        let mut reported = Vec::new();
        for (second, fingerprint) in (0..9).zip(["a", "a", "b", "b", "b", "b", "b", "b", "b"]) {
            reported.extend(stuck.check(Nanos::from_secs(second), &watched, at(fingerprint)));
        }
        assert_eq!(reported, ["job `a`: I/O is stuck: pread64 at offset 8192 of /x/a.0.0 has not completed for 3 s"]);
        assert_eq!(stuck.check(Nanos::from_secs(20), &watched, None), None);
        assert_eq!(stuck.check(Nanos::from_secs(21), &watched, at("b")), None, "it moved in between");
    }
}
