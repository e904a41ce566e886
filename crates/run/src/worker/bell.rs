//! The bell by which workers wake the parent: one is ready, or done. The parent sleeps between its looks, and short
//! runs would be as long as its sleep.

use super::record::Control;
use measure::Nanos;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use sys::SharedBlocks;

/// Wakes the parent if it sleeps.
pub(crate) fn ring(controls: &SharedBlocks<Control>) {
    if let Some(bell) = bell(controls) {
        bell.fetch_add(1, Release);
        // Nobody may be waiting.
        let _ = futex::wake(bell, futex::Flags::empty(), 1);
    }
}

/// How often it rang; to be read before a look, so that nothing that happens during it is slept over.
pub(crate) fn heard(controls: &SharedBlocks<Control>) -> u32 {
    bell(controls).map_or(0, |bell| bell.load(Acquire))
}

/// Sleeps until it rings once more than `heard`, a signal comes, or for `at_most`.
pub(crate) fn wait(controls: &SharedBlocks<Control>, heard: u32, at_most: Nanos) {
    let Some(bell) = bell(controls) else { return };
    let seconds = i64::try_from(at_most.get() / Nanos::SECOND.get()).unwrap_or(i64::MAX);
    let nanoseconds = i64::try_from(at_most.get() % Nanos::SECOND.get()).unwrap_or(0);
    let timeout = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    // EAGAIN when it rang meanwhile, EINTR on a signal, ETIMEDOUT: all are reasons to look.
    let _ = futex::wait(bell, futex::Flags::empty(), heard, Some(&timeout));
}

fn bell(controls: &SharedBlocks<Control>) -> Option<&AtomicU32> {
    controls.get(0).map(|first| &first.bell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn whoever_waits_is_woken_by_the_bell_and_not_by_the_hour() {
        let controls = SharedBlocks::<Control>::new(1).unwrap();
        let heard_before = heard(&controls);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                ring(&controls);
            });
            wait(&controls, heard_before, Nanos::from_secs(60));
        });
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(heard(&controls), heard_before + 1);
        wait(&controls, heard_before, Nanos::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(30), "what rang before the wait is not slept over");
    }
}
