//! A thread that does one piece of work after another, each of which borrows from its caller.
//!
//! Starting and ending a thread takes longer than a short pass over a small file, and a new thread often starts on a
//! processor whose caches know nothing of the file. Threads of [`std::thread::scope`] end with their scope.
//!
//! The thread has a table of descriptors to itself, as a process has. In a table that threads share, the kernel counts
//! the users of a file in each system call, and locks its position in each read(2) and write(2): 80 ns, a sixth of a
//! read of 4 KiB from memory.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

type Work<'a> = Box<dyn FnOnce() + Send + 'a>;

/// The thread. Dropping it waits for its end.
#[derive(Debug)]
pub struct StandingThread {
    /// `None` only while it is dropped.
    work: Option<Sender<Work<'static>>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl StandingThread {
    /// Starts the thread; the kernel shows the first 15 bytes of its name. Of the open files of the process it has
    /// standard input, output and error alone: work must not use descriptors of its caller, which mean nothing or
    /// another file on this thread.
    ///
    /// # Errors
    /// If the kernel refuses a thread.
    pub fn start(name: String) -> io::Result<Self> {
        let (work, to_do) = channel::<Work<'static>>();
        let (finished, done) = channel();
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            leave_shared_descriptors();
            for work in to_do {
                // After a panic the caller finds the work unfinished.
                let _ = catch_unwind(AssertUnwindSafe(work));
                if finished.send(()).is_err() {
                    break;
                }
            }
        })?;
        Ok(StandingThread { work: Some(work), done, thread: Some(thread) })
    }

    /// Does `work` on the thread and `meanwhile` on the caller's; returns when both have ended. A panic of `work` ends
    /// `work` alone.
    ///
    /// ```
    /// let mut thread = sys::processes::standing_thread::StandingThread::start("sum".to_owned()).unwrap();
    /// for numbers in [[1, 2], [3, 4]] {
    ///     let mut sum = 0;
    ///     let product = thread.run(|| sum = numbers.iter().sum(), || numbers[0] * numbers[1]);
    ///     println!("{sum} {product}");
    /// }
    /// ```
    pub fn run<R>(&mut self, work: impl FnOnce() + Send, meanwhile: impl FnOnce() -> R) -> R {
        let work: Work<'_> = Box::new(work);
        // SAFETY: only the lifetime changes. `_wait` is dropped before this function returns or unwinds, and waits
        // until the thread has consumed and dropped the work, so that no borrow in it is used after its end.
        let work = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) };
        let sent = self.work.as_ref().is_some_and(|sender| sender.send(work).is_ok());
        let _wait = sent.then_some(Wait(&self.done));
        meanwhile()
    }
}

/// Gives the calling thread a table of descriptors to itself, in which nothing is open but standard input, output and
/// error: a copy of a pipe would keep its reader waiting.
pub(super) fn leave_shared_descriptors() {
    const FIRST: u32 = 3;
    // Where it is refused (a filter of system calls), the thread shares the table of its process, and all else is the
    // same.
    //
    // SAFETY: the call changes only the table of this thread, which uses no descriptor yet.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, libc::CLOSE_RANGE_UNSHARE) };
}

/// Waits, when dropped, until the thread has finished its work.
struct Wait<'a>(&'a Receiver<()>);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        // An error means that the thread has ended, and all its work with it.
        let _ = self.0.recv();
    }
}

impl Drop for StandingThread {
    fn drop(&mut self) {
        self.work = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{current, sleep};
    use std::time::Duration;

    fn thread() -> StandingThread {
        StandingThread::start("standing".to_owned()).unwrap()
    }

    #[test]
    fn all_work_is_done_on_one_thread_that_is_not_the_callers() {
        let mut thread = thread();
        let mut on = Vec::new();
        for number in 0..3 {
            let mut id = None;
            let answer = thread.run(|| id = Some(current().id()), || number);
            assert_eq!(answer, number);
            on.push(id.unwrap());
        }
        assert!(on.iter().all(|id| *id == on[0] && *id != current().id()), "{on:?}");
    }

    #[test]
    fn the_caller_waits_for_the_work_even_when_it_panics_itself() {
        let mut thread = thread();
        let mut done = false;
        let slow = || {
            sleep(Duration::from_millis(30));
            done = true;
        };
        let caught = catch_unwind(AssertUnwindSafe(|| thread.run(slow, || panic!("meanwhile"))));
        assert!(caught.is_err() && done);
    }

    #[test]
    fn the_thread_holds_no_file_of_its_process_open() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut thread = thread();
        let listed = || std::fs::read_dir("/proc/thread-self/fd").unwrap().count();
        let mut on_thread = 0;
        thread.run(|| on_thread = listed(), || ());
        assert_eq!(on_thread, 4, "three standard ones, and the directory that is read");
        drop(writer);
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut reader, &mut rest).unwrap();
        assert!(rest.is_empty());
    }

    #[test]
    fn a_panic_ends_the_work_and_not_the_thread() {
        let mut thread = thread();
        thread.run(|| panic!("work"), || ());
        let mut done = false;
        thread.run(|| done = true, || ());
        assert!(done);
    }
}
