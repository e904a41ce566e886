//! How many threads the pools of one process have: jobs that are threads have a pool each.

use super::refused;
use crate::contract::EngineError;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Each thread has four mappings (its stack and that of signals, each with a guard page), and the kernel gives a process
/// 65,530 of them (vm.max_map_count). What lies beyond is no error that could be told but the end of the process.
const MOST_THREADS: u32 = 12_288;

/// Threads of all pools of this process.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// The threads that one pool may start; given back with it.
#[derive(Debug)]
pub(super) struct Share {
    threads: u32,
}

impl Share {
    /// A share of so many threads.
    ///
    /// # Errors
    /// When all pools together would have too many.
    pub(super) fn take(threads: u32) -> Result<Self, EngineError> {
        let all = THREADS.fetch_add(threads, Relaxed).saturating_add(threads);
        let share = Share { threads };
        if all > MOST_THREADS {
            let what = format!(
                "this makes {all} threads for the I/Os of one process; {MOST_THREADS} is the most, so use a lower \
                 iodepth, or leave out thread"
            );
            return Err(refused("thread", what, libc::EAGAIN));
        }
        Ok(share)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        THREADS.fetch_sub(self.threads, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pools_of_a_process_share_what_it_may_have() {
        // Pools of other tests take little of it, and give it back.
        let first = Share::take(MOST_THREADS - 1000).unwrap();
        let error = Share::take(1001).unwrap_err();
        assert!(error.to_string().contains("12288 is the most"), "{error}");
        drop(first);
        Share::take(1001).unwrap();
    }
}
