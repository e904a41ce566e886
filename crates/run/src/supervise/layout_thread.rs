//! The layout of a job's files in a separate thread, so that the main thread can handle requests to end, and report a
//! system call that is stuck.

use super::stuck::{PATIENCE, StuckCalls, WatchedThread};
use crate::error::refusal;
use crate::files::{PlannedFile, lay_out};
use crate::signals::{Signals, block_in_thread};
use crate::{Event, Observer, RunError};
use measure::{Clock, Nanos, SystemClock};
use model::JobError;
use plan::JobPlan;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval of the check for signals.
const POLL: Duration = Duration::from_millis(50);

/// Shortest time between two messages about progress.
const BETWEEN_MESSAGES: Duration = Duration::from_millis(10);

/// Messages of the layout thread.
enum Message {
    /// Thread id; the first message.
    Thread(u32),
    Files {
        files: u32,
        bytes: u64,
    },
    Done {
        done: u64,
        total: u64,
    },
}

fn message(event: Event<'_>) -> Option<Message> {
    match event {
        Event::Layout { files, bytes, .. } => Some(Message::Files { files, bytes }),
        Event::LayoutProgress { done, total } => Some(Message::Done { done, total }),
        _ => None,
    }
}

/// The parts that the main thread uses while the layout runs.
pub(super) struct LayoutContext<'a> {
    pub(super) clock: SystemClock,
    pub(super) root: &'a Path,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) signals: &'a Signals,
}

/// The reason why a job cannot run.
pub(super) enum LayoutFailure {
    /// An error of this job; the others can run.
    Failed(JobError),
    /// The second request to end came while the layout was in an uninterruptible system call: the run is over.
    All(RunError),
}

impl From<JobError> for LayoutFailure {
    fn from(error: JobError) -> Self {
        LayoutFailure::Failed(error)
    }
}

/// Creates the files of all clones of one job in a thread, while this thread handles signals and reports stuck I/O.
/// Returns the clones.
pub(super) fn lay_out_in_thread(
    job: &JobPlan,
    clones: Vec<Vec<PlannedFile>>,
    context: &mut LayoutContext<'_>,
) -> Result<Vec<Vec<PlannedFile>>, LayoutFailure> {
    let (sender, events) = channel();
    let go_on = Arc::new(AtomicBool::new(true));
    let (job_of_thread, thread_goes_on) = (job.clone(), Arc::clone(&go_on));
    let thread = move || {
        let _blocked = block_in_thread();
        let send = |message: Message| {
            // The receiver is gone if the main thread has abandoned this one.
            let _ = sender.send(message);
        };
        send(Message::Thread(sys::processes::placement::thread_id()));
        let mut shown = None;
        let mut observer = |event: Event<'_>| {
            // A message wakes the main thread: with 100,000 small files, that would cost more than to lay them out.
            let ends = !matches!(event, Event::LayoutProgress { done, total } if done < total);
            if ends || shown.is_none_or(|shown: Instant| shown.elapsed() >= BETWEEN_MESSAGES) {
                shown = Some(Instant::now());
                message(event).into_iter().for_each(send);
            }
        };
        lay_out(&job_of_thread, &clones, &mut observer, &mut || thread_goes_on.load(Relaxed)).map(|()| clones)
    };
    let thread = std::thread::Builder::new().name("layout".into()).spawn(thread).map_err(|error| {
        let message = format!("no thread can be made for its layout: {error}");
        refusal(error.raw_os_error().unwrap_or(libc::EAGAIN), "layout", message)
    })?;
    listen(job, &events, &go_on, context).map_err(LayoutFailure::All)?;
    Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
}

/// Handles messages and signals until the layout thread ends or is abandoned.
fn listen(
    job: &JobPlan,
    events: &Receiver<Message>,
    go_on: &AtomicBool,
    context: &mut LayoutContext<'_>,
) -> Result<(), RunError> {
    let LayoutContext { clock, root, observer, signals } = context;
    let mut stuck = StuckCalls::default();
    let (mut thread, mut urged_at) = (None, None);
    loop {
        match events.recv_timeout(POLL) {
            Ok(Message::Thread(number)) => thread = Some(number),
            Ok(Message::Files { files, bytes }) => observer.event(Event::Layout { job: &job.name, files, bytes }),
            Ok(Message::Done { done, total }) => observer.event(Event::LayoutProgress { done, total }),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals.received().is_some() || observer.ends_layout() {
            go_on.store(false, Relaxed);
        }
        let now = clock.now();
        if let (Some(limit), Some(thread)) = (job.limits.stuck_after.filter(|_| stuck.is_due(now)), thread) {
            let watched = WatchedThread { index: 0, job: &job.name, thread, limit };
            let found = stuck.sample(now, root, std::iter::once(watched));
            found.iter().for_each(|text| observer.event(Event::Finding(text)));
        }
        if signals.count() > 1 {
            let since: Nanos = *urged_at.get_or_insert(now);
            if now.saturating_sub(since) > PATIENCE {
                return Err(RunError::LayoutAbandoned { job: job.name.clone(), thread });
            }
        }
    }
}
