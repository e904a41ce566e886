//! A process that was forked before anything was measured, for work that must not hold the run up.
//!
//! A process and not a thread: a process with threads cannot fork workers, and its CPU time is not that of a job.

use crate::failure::Failure;
use crate::output::print_error;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use sys::processes::process::{self, Child, INTERRUPT, TERMINATE};
use sys::processes::signals;

/// Time between two looks whether the process has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How much longer than it says the process may take.
const GRACE: Duration = Duration::from_secs(1);

/// The process. It ends with this one.
#[derive(Debug)]
pub(super) struct Helper {
    child: Child,
    /// Shut down when the command has ended. Closing it does not do: all processes that were forked have it open.
    command: UnixStream,
}

/// A process that goes on after the command has ended.
pub(super) struct HelperEnd {
    pub(super) forked: Helper,
    /// It is over by then.
    pub(super) longest: Duration,
    /// Printed before it is waited for.
    pub(super) says: Option<String>,
    /// Makes the line that is printed when it is over.
    pub(super) complains: Option<Box<dyn FnOnce() -> Option<String> + Send>>,
}

impl Helper {
    /// Starts it; this process must have no threads. `work` gets a socket that hangs up when the command has ended, and
    /// returns the exit status.
    pub(super) fn start(work: impl FnOnce(UnixStream) -> u8 + Send) -> Result<Self, Failure> {
        let (command, gone) = UnixStream::pair().map_err(|error| Failure::new(format!("socketpair: {error}")))?;
        let child = process::fork(Path::new("/"), move || {
            // Ctrl-C reaches all processes of the terminal; the command decides when it is over.
            if signals::ignore(&[INTERRUPT]).is_ok() { work(gone) } else { 1 }
        })?;
        Ok(Helper { child, command })
    }

    /// Lets it know that the command has ended.
    pub(super) fn hang_up(&self) {
        // It may have ended already.
        let _ = self.command.shutdown(Shutdown::Both);
    }

    fn is_over(&self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn end(&self) {
        let _ = self.child.kill(TERMINATE);
        let _ = self.child.wait();
    }
}

impl HelperEnd {
    /// Waits until it is over, or until a signal comes, which ends it.
    pub(super) fn wait(self) {
        let watched = signals::Watch::begin();
        if let Some(line) = &self.says {
            print_error(line);
        }
        let until = Instant::now() + self.longest + GRACE;
        while !self.forked.is_over() {
            if Instant::now() > until || watched.as_ref().is_ok_and(|watched| watched.caught().is_some()) {
                self.forked.end();
                break;
            }
            std::thread::sleep(LOOK);
        }
        if let Some(line) = self.complains.and_then(|line| line()) {
            print_error(&line);
        }
    }
}
