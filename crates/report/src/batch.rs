//! Work on many items at a time, on all processors: drawings, and pages of pixels.
//!
//! The results are in the order of the items, and the same however many threads there are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Most threads: each has an engine of some 45 MB.
const MOST_THREADS: usize = 4;
/// Stack of a thread in bytes, as that of the main thread: scripts and nested drawings are deep.
const STACK: usize = 8 << 20;

/// The number of threads that help the caller, where `worth` of them have enough to do.
pub(crate) fn helpers(worth: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    worth.min(processors.min(MOST_THREADS) - 1)
}

/// Items for which it is worth to start another thread, where it has nothing to prepare.
const WORTH_A_THREAD: usize = 2;

/// Applies `work` to all items, on all processors (at most four).
pub fn on_all_processors<Item: Sync, Done: Send>(items: &[Item], work: impl Fn(&Item) -> Done + Sync) -> Vec<Done> {
    each(items, helpers(items.len() / WORTH_A_THREAD), &(), || Some(()), |(), _, item| work(item))
}

/// Applies `work` to all items, in this thread with `own` and in up to `helpers` more with what `start` makes there. A
/// thread that cannot start leaves its items to the others.
pub(crate) fn each<State, Item: Sync, Done: Send>(
    items: &[Item],
    helpers: usize,
    own: &State,
    start: impl Fn() -> Option<State> + Sync,
    work: impl Fn(&State, usize, &Item) -> Done + Sync,
) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let share = |state: &State| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(state, at, item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let help = || start().map(|state| share(&state)).unwrap_or_default();
        let threads = (0..helpers).map(|_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, help));
        let threads: Vec<_> = threads.filter_map(Result::ok).collect();
        let mut done = share(own);
        for thread in threads {
            done.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_on_any_threads() {
        let items: Vec<u64> = (0..100).collect();
        let expected: Vec<u64> = items.iter().map(|item| item * item).collect();
        for helpers in [0, 1, 3] {
            let squares = each(
                &items,
                helpers,
                &(),
                || Some(()),
                |(), at, item| {
                    assert_eq!(at as u64, *item);
                    item * item
                },
            );
            assert_eq!(squares, expected);
        }
        let alone = each(&items, 2, &(), || None, |(), _, item| item * item);
        assert_eq!(alone, expected, "threads that cannot start");
    }
}
