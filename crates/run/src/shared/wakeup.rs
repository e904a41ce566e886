//! A counter with a futex, by which workers wake the parent when they are ready or have ended. The parent otherwise
//! sleeps between its polls, and a short run would last as long as that sleep.
//!
//! The parent reads the counter, polls all workers, and then waits for the counter to differ from the value it read. A
//! worker that reports during the poll has changed the counter, so that the wait returns at once: no wake-up is lost.

use super::control::Control;
use measure::Nanos;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use sys::machine::shared_memory::SharedBlocks;

/// Wakes the parent if it sleeps.
pub(crate) fn notify(controls: &SharedBlocks<Control>) {
    if let Some(counter) = counter(controls) {
        counter.fetch_add(1, Release);
        // It is not an error if no process waits.
        let _ = futex::wake(counter, futex::Flags::empty(), 1);
    }
}

/// The current count. Read it before polling the workers, so that an event during the poll ends the next wait.
pub(crate) fn count(controls: &SharedBlocks<Control>) -> u32 {
    counter(controls).map_or(0, |counter| counter.load(Acquire))
}

/// Sleeps until the count differs from `seen`, a signal arrives, or `at_most` has passed.
pub(crate) fn wait(controls: &SharedBlocks<Control>, seen: u32, at_most: Nanos) {
    let Some(counter) = counter(controls) else { return };
    let seconds = i64::try_from(at_most.get() / Nanos::SECOND.get()).unwrap_or(i64::MAX);
    let nanoseconds = i64::try_from(at_most.get() % Nanos::SECOND.get()).unwrap_or(0);
    let timeout = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    // EAGAIN if the count has changed already, EINTR on a signal, ETIMEDOUT: the caller polls in all cases.
    let _ = futex::wait(counter, futex::Flags::empty(), seen, Some(&timeout));
}

fn counter(controls: &SharedBlocks<Control>) -> Option<&AtomicU32> {
    controls.get(0).map(|first| &first.wakeups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_wait_ends_with_a_wake_up_and_not_with_its_time() {
        let controls = SharedBlocks::<Control>::new(1).unwrap();
        let before = count(&controls);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                notify(&controls);
            });
            wait(&controls, before, Nanos::from_secs(60));
        });
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(count(&controls), before + 1);
        wait(&controls, before, Nanos::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(30), "a wake-up before the wait ends it");
    }
}
