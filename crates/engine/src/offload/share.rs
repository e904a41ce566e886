//! Limits the number of threads of all pools in this process; each job with `thread` has its own pool.

use super::refused;
use crate::contract::EngineError;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Each thread has four mappings (its stack and its signal stack, each with a guard page), and the kernel limits a
/// process to 65,530 mappings (vm.max_map_count). Exceeding it kills the process instead of returning an error.
const MOST_THREADS: u32 = 12_288;

/// Count of threads of all pools in this process.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// Threads reserved for one pool, released when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    threads: u32,
}

impl Share {
    /// Reserves threads.
    ///
    /// # Errors
    /// If all pools together would have too many threads.
    pub(super) fn take(threads: u32) -> Result<Self, EngineError> {
        // Relaxed is enough: the counter orders no other memory.
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
        // Pools of other tests use few threads, and release them.
        let first = Share::take(MOST_THREADS - 1000).unwrap();
        let error = Share::take(1001).unwrap_err();
        assert!(error.to_string().contains("12288 is the most"), "{error}");
        drop(first);
        Share::take(1001).unwrap();
    }
}
