//! Work that the calling thread does itself, and a thread that stands in for the caller meanwhile if the work does not
//! end soon.
//!
//! A pass over a small file lasts some microseconds. A thread that is woken for it begins on a processor that was idle,
//! with caches that other work has used; its caller is interrupted by neither. But the caller may be held up in a
//! system call, so what it has to do meanwhile is then done by the other thread.
//!
//! That thread has a table of descriptors to itself, so that the caller, too, has its own ([`super::standing_thread`]
//! says why).

use super::standing_thread::leave_shared_descriptors;
use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Release},
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

type Task = Box<dyn FnOnce() + Send>;

/// Work that lasts from one tick of the thread to the next is not short.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The thread. Dropping it waits for its end.
#[derive(Debug)]
pub struct StandIn {
    post: Arc<Post>,
    /// Number of tasks so far.
    tasks: u64,
    thread: Option<JoinHandle<()>>,
}

/// The state that caller and thread share.
#[derive(Debug, Default)]
struct Post {
    place: Mutex<Place>,
    /// Rung when a task that the thread had taken is done.
    done: Condvar,
    /// Not zero once the thread is to end.
    closing: AtomicU32,
}

/// Where the task is.
#[derive(Default)]
enum Place {
    /// There is none.
    #[default]
    Nowhere,
    /// It waits for the end of the work. The number differs for each task.
    Waits(u64, Task),
    /// The thread does it.
    Taken,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Place::Nowhere => "Nowhere",
            Place::Waits(..) => "Waits",
            Place::Taken => "Taken",
        })
    }
}

impl StandIn {
    /// Starts the thread; the kernel shows the first 15 bytes of its name. It must not use descriptors of its caller
    /// but standard input, output and error.
    ///
    /// # Errors
    /// If the kernel refuses a thread.
    pub fn start(name: String) -> io::Result<Self> {
        Self::start_ticking(name, TICK)
    }

    fn start_ticking(name: String, tick: Timespec) -> io::Result<Self> {
        let post = Arc::new(Post::default());
        let at_post = Arc::clone(&post);
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            leave_shared_descriptors();
            at_post.stand_by(&tick);
        })?;
        Ok(StandIn { post, tasks: 0, thread: Some(thread) })
    }

    /// Does `work`, and then `meanwhile`; the other thread does `meanwhile` if the work lasts longer than a tenth of a
    /// second, and at once if a signal reaches that thread. Returns when both have ended. A panic of `work` ends `work`
    /// alone.
    ///
    /// ```
    /// let mut stand_in = sys::processes::stand_in::StandIn::start("sum".to_owned()).unwrap();
    /// let numbers = [1, 2, 3];
    /// let mut sum = 0;
    /// assert_eq!(stand_in.run(|| sum = numbers.iter().sum(), || numbers.iter().product::<i32>()), 6);
    /// assert_eq!(sum, 6);
    /// ```
    pub fn run<R: Send>(&mut self, work: impl FnOnce(), meanwhile: impl FnOnce() -> R + Send) -> R {
        let answer: Mutex<Option<Result<R, Box<dyn Any + Send>>>> = Mutex::new(None);
        let task = || {
            let found = catch_unwind(AssertUnwindSafe(meanwhile));
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        };
        let task: Box<dyn FnOnce() + Send + '_> = Box::new(task);
        // SAFETY: only the lifetime changes. The work cannot unwind past `finish`, which returns when the task was
        // called and dropped, so that no borrow in it is used after its end.
        let task = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Task>(task) };
        self.tasks += 1;
        *self.post.place() = Place::Waits(self.tasks, task);
        // After a panic the task finds the work unfinished.
        let _ = catch_unwind(AssertUnwindSafe(work));
        self.post.finish();
        let answer = answer.into_inner().unwrap_or_else(PoisonError::into_inner);
        match answer.expect("the task was done, and stored its answer") {
            Ok(answer) => answer,
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl Post {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the task, unless the thread has taken it; then waits for its end.
    fn finish(&self) {
        let mut place = self.place();
        if matches!(*place, Place::Waits(..)) {
            let left = std::mem::take(&mut *place);
            drop(place);
            if let Place::Waits(_, task) = left {
                task();
            }
            return;
        }
        let place = self.done.wait_while(place, |place| matches!(place, Place::Taken));
        drop(place.unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes a task at a signal, or when it has waited from one tick to the next, until the thread is to end.
    fn stand_by(&self, tick: &Timespec) {
        let mut waited = None;
        while self.closing.load(Acquire) == 0 {
            let slept = futex::wait(&self.closing, futex::Flags::PRIVATE, 0, Some(tick));
            let is_signal = slept == Err(Errno::INTR);
            let mut place = self.place();
            let number = if let Place::Waits(number, _) = *place { Some(number) } else { None };
            if number.is_some() && (is_signal || number == waited) {
                let taken = std::mem::replace(&mut *place, Place::Taken);
                drop(place);
                if let Place::Waits(_, task) = taken {
                    task();
                }
                *self.place() = Place::Nowhere;
                self.done.notify_all();
            }
            waited = number;
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.post.closing.store(1, Release);
        let _ = futex::wake(&self.post.closing, futex::Flags::PRIVATE, 1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::process::{self, ChildEnd};
    use crate::processes::signals;
    use std::sync::mpsc::channel;
    use std::thread::current;
    use std::time::Duration;

    /// Longer than any test lasts.
    const NEVER: Timespec = Timespec { tv_sec: 3600, tv_nsec: 0 };
    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn short_work_is_followed_by_its_task_on_the_callers_thread() {
        let mut stand_in = StandIn::start_ticking("stand-in".to_owned(), NEVER).unwrap();
        for number in 0..3 {
            let done = Mutex::new(Vec::new());
            let note = |what| done.lock().unwrap().push((what, current().id()));
            let answer = stand_in.run(
                || note("work"),
                || {
                    note("task");
                    number
                },
            );
            let here = current().id();
            assert_eq!((answer, done.into_inner().unwrap()), (number, vec![("work", here), ("task", here)]));
        }
    }

    #[test]
    fn a_task_is_done_during_long_work_by_a_thread_without_files() {
        let (_reader, _writer) = std::io::pipe().unwrap();
        let mut stand_in = StandIn::start("stand-in".to_owned()).unwrap();
        let (begun, has_begun) = channel();
        let mut during = None;
        let (thread, open) = stand_in.run(
            || during = Some(has_begun.recv_timeout(LONG)),
            move || {
                let open = std::fs::read_dir("/proc/thread-self/fd").unwrap().count();
                begun.send(()).unwrap();
                (current().id(), open)
            },
        );
        assert_eq!(during, Some(Ok(())), "the task ended before the work");
        assert_ne!(thread, current().id());
        assert_eq!(open, 4, "three standard ones, and the directory that is read");
    }

    #[test]
    fn a_signal_has_the_task_done_at_once() {
        let check = || {
            signals::watch(&[libc::SIGUSR2]).unwrap();
            let mut stand_in = StandIn::start_ticking("stand-in".to_owned(), NEVER).unwrap();
            let (begun, has_begun) = channel();
            let mut during = None;
            let _blocked = signals::block(&[libc::SIGUSR2]).unwrap();
            let work = || {
                // One that comes before the thread sleeps is not seen.
                for _ in 0..300 {
                    // SAFETY: the signal is watched.
                    unsafe { libc::kill(libc::getpid(), libc::SIGUSR2) };
                    during = has_begun.recv_timeout(Duration::from_millis(100)).ok();
                    if during.is_some() {
                        break;
                    }
                }
            };
            stand_in.run(work, move || begun.send(()).unwrap());
            u8::from(during.is_none())
        };
        let ended = process::fork(process::alone().path(), check).unwrap().wait().unwrap().ended;
        assert_eq!(ended, ChildEnd::Exited(0));
    }

    #[test]
    fn a_panic_of_the_work_stays_there_one_of_the_task_is_passed_on() {
        let mut stand_in = StandIn::start_ticking("stand-in".to_owned(), NEVER).unwrap();
        assert_eq!(stand_in.run(|| panic!("work"), || 1), 1);
        let caught = catch_unwind(AssertUnwindSafe(|| stand_in.run(|| (), || panic!("task"))));
        assert!(caught.is_err());
        assert_eq!(stand_in.run(|| (), || 2), 2);
    }
}
