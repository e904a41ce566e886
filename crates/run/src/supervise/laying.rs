//! The layout of a job's files, by a thread of its own: the main thread hears requests to end meanwhile, and names a call
//! that does not come back.

use super::stuck::{Stuck, Suspect};
use crate::files::{PlannedFile, lay_out, refusal};
use crate::signals::{Signals, leave_to_main_thread};
use crate::{Observer, RunError};
use job::plan::JobPlan;
use measure::{Clock, Nanos, SystemClock};
use model::JobError;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// What the thread tells.
enum Event {
    Thread(u32),
    Files { files: u32, bytes: u64 },
    Done { done: u64, total: u64 },
}

/// Passes on what an observer would be told.
struct Teller(Sender<Event>);

impl Observer for Teller {
    fn layout(&mut self, _job: &str, files: u32, bytes: u64) {
        self.tell(Event::Files { files, bytes });
    }

    fn layout_progress(&mut self, done: u64, total: u64) {
        self.tell(Event::Done { done, total });
    }

    /// Those who find anything are at work, and here nobody is yet.
    fn finding(&mut self, _text: &str) {}
}

impl Teller {
    fn tell(&self, event: Event) {
        // Who was left behind has nobody to tell.
        let _ = self.0.send(event);
    }
}

/// Whom the main thread has to do with meanwhile.
pub(super) struct Outside<'a> {
    pub(super) clock: SystemClock,
    pub(super) root: &'a Path,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) signals: &'a Signals,
}

/// Makes the files of all clones of one job. What cannot be made is the job's error.
///
/// # Errors
/// When the second request to end came, and the thread is in a call that nothing can end.
pub(super) fn lay_out_aside(
    job: &JobPlan,
    clones: &Arc<Vec<Vec<PlannedFile>>>,
    outside: &mut Outside<'_>,
) -> Result<Result<(), JobError>, RunError> {
    let (sender, events) = channel();
    let go_on = Arc::new(AtomicBool::new(true));
    let thread = {
        let (job, clones, go_on) = (job.clone(), Arc::clone(clones), Arc::clone(&go_on));
        move || {
            let _left = leave_to_main_thread();
            let mut teller = Teller(sender);
            teller.tell(Event::Thread(sys::placement::thread_id()));
            lay_out(&job, &clones, &mut teller, &mut || go_on.load(Relaxed))
        }
    };
    let thread = match std::thread::Builder::new().name("layout".into()).spawn(thread) {
        Ok(thread) => thread,
        Err(error) => {
            let message = format!("no thread can be made for its layout: {error}");
            return Ok(Err(refusal(error.raw_os_error().unwrap_or(libc::EAGAIN), "layout", message)));
        }
    };
    listen(job, &events, &go_on, outside)?;
    Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Until the thread is done, or is left behind.
fn listen(
    job: &JobPlan,
    events: &Receiver<Event>,
    go_on: &AtomicBool,
    outside: &mut Outside<'_>,
) -> Result<(), RunError> {
    let Outside { clock, root, observer, signals } = outside;
    let mut stuck = Stuck::default();
    let (mut number, mut urged_at) = (0, None);
    loop {
        match events.recv_timeout(LOOK) {
            Ok(Event::Thread(thread)) => number = thread,
            Ok(Event::Files { files, bytes }) => observer.layout(&job.name, files, bytes),
            Ok(Event::Done { done, total }) => observer.layout_progress(done, total),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals.received().is_some() {
            go_on.store(false, Relaxed);
        }
        let now = clock.now();
        if let Some(limit) = job.limits.stuck_after.filter(|_| number != 0 && stuck.is_due(now)) {
            let suspect = Suspect { index: 0, job: &job.name, thread: number, limit };
            let found = stuck.look(now, root, std::iter::once(suspect));
            found.iter().for_each(|text| observer.finding(text));
        }
        if signals.count() > 1 {
            let since: Nanos = *urged_at.get_or_insert(now);
            if now.saturating_sub(since) > super::PATIENCE {
                return Err(RunError::LayoutLeft { job: job.name.clone(), thread: number });
            }
        }
    }
}
