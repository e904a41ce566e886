//! Recorded I/Os, each at its recorded time, counted from the start, so that one late I/O does not delay the others.

use super::{Next, Request};
use measure::Nanos;
use plan::{JobPlan, Timing};
use std::fmt::Debug;

/// One I/O of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedRequest {
    /// Time of the I/O, counted from the start of the replay.
    pub at: Nanos,
    /// The I/O.
    pub request: Request,
}

/// A source of recorded I/Os.
pub trait Recording: Debug + Send {
    /// The next I/O; `None` at the end.
    ///
    /// # Errors
    /// If the log cannot be read.
    fn next(&mut self) -> Result<Option<TimedRequest>, RecordFailure>;

    /// Called when there is time until the next I/O: reads ahead if that is useful.
    fn rest(&mut self);

    /// Starts again with the first I/O.
    ///
    /// # Errors
    /// If the log cannot be read again.
    fn rewind(&mut self) -> Result<(), RecordFailure>;
}

/// An observer of the I/Os of a load.
pub trait Witness: Debug + Send {
    /// The measured time starts at `now`.
    fn begin(&mut self, now: Nanos);

    /// An I/O is issued.
    fn issued(&mut self, now: Nanos, request: &Request);

    /// A read is issued to verify a block.
    fn reviewed(&mut self, now: Nanos, request: &Request) {
        self.issued(now, request);
    }

    /// An I/O completed, successfully or not; called only by loops that inspect each I/O.
    fn completed(&mut self, request: &Request) {
        let _ = request;
    }

    /// An I/O failed; called once, before `completed`.
    fn failed(&mut self, request: &Request) {
        let _ = request;
    }

    /// A file was closed, so that another could be opened in its place.
    fn closed(&mut self, now: Nanos, file: u32) {
        let _ = (now, file);
    }

    /// No I/O is due before `until`.
    fn waits(&mut self, now: Nanos, until: Nanos) {
        let _ = (now, until);
    }

    /// A message about the worker.
    fn note(&mut self, text: &str) {
        let _ = text;
    }

    /// The load has ended.
    ///
    /// # Errors
    /// If the records could not be written.
    fn finish(&mut self, now: Nanos) -> Result<(), RecordFailure>;
}

/// An I/O log that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RecordFailure {
    /// The error number.
    pub errno: i32,
    /// The option that failed, `read_iolog` or `write_iolog`.
    pub operation: &'static str,
    /// The message, with file and reason.
    pub message: String,
}

/// The shortest pause in which the log is read ahead: reading ahead takes less than this, so the next I/O is not late.
const REST: Nanos = Nanos::from_millis(5);

/// A replay in progress.
#[derive(Debug)]
pub(super) struct Replay {
    recording: Box<dyn Recording>,
    /// The next I/O, read but not issued.
    head: Option<TimedRequest>,
    stalls: Stalls,
    /// Start of the current pass; `None` before its first I/O.
    epoch: Option<Nanos>,
    passes_left: Option<u64>,
    ios_left: Option<u64>,
    /// I/Os of this pass: a log without any is not repeated.
    issued: u64,
    failure: Option<RecordFailure>,
}

/// Handling of recorded pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stalls {
    Kept,
    LeftOut,
}

impl Replay {
    pub(super) fn new(job: &JobPlan, recording: Box<dyn Recording>) -> Self {
        let without = job.replay.as_ref().is_some_and(|plan| plan.timing == Timing::None);
        let timed = job.limits.time_based && job.limits.runtime.is_some();
        Replay {
            recording,
            head: None,
            stalls: if without { Stalls::LeftOut } else { Stalls::Kept },
            epoch: None,
            passes_left: (!timed).then(|| job.limits.loops.max(1)),
            ios_left: job.limits.ios.filter(|_| !timed),
            issued: 0,
            failure: None,
        }
    }

    /// A replay of a walk, which has no times: each I/O follows the previous one at once.
    pub(super) fn of_walk(job: &JobPlan, walk: Box<dyn Recording>) -> Self {
        Replay { stalls: Stalls::LeftOut, ..Replay::new(job, walk) }
    }

    /// True if a job goes through its log once, from the first I/O to the last.
    pub(super) fn is_once(job: &JobPlan) -> bool {
        job.limits.loops <= 1 && job.limits.ios.is_none() && !job.limits.time_based
    }

    /// A replay of a walk that is done once.
    pub(super) fn once(walk: Box<dyn Recording>) -> Self {
        Replay {
            recording: walk,
            head: None,
            stalls: Stalls::LeftOut,
            epoch: None,
            passes_left: Some(1),
            ios_left: None,
            issued: 0,
            failure: None,
        }
    }

    pub(super) fn take_failure(&mut self) -> Option<RecordFailure> {
        self.failure.take()
    }

    /// Decides what to do at `now`.
    pub(super) fn next(&mut self, now: Nanos) -> Next {
        match self.advance(now) {
            Ok(next) => next,
            Err(failure) => {
                self.failure = Some(failure);
                Next::Stop
            }
        }
    }

    fn advance(&mut self, now: Nanos) -> Result<Next, RecordFailure> {
        if self.failure.is_some() || self.ios_left == Some(0) || self.passes_left == Some(0) {
            return Ok(Next::Stop);
        }
        let epoch = *self.epoch.get_or_insert(now);
        let head = match self.head.take() {
            Some(head) => head,
            None => match self.recording.next()? {
                Some(head) => head,
                None => return self.end_pass(),
            },
        };
        let due = epoch.saturating_add(head.at);
        if self.stalls == Stalls::Kept && due > now {
            self.head = Some(head);
            if due.saturating_sub(now) > REST {
                self.recording.rest();
            }
            return Ok(Next::Wait(due));
        }
        if head.request.direction().is_some() {
            self.ios_left = self.ios_left.map(|left| left - 1);
        }
        self.issued += 1;
        Ok(Next::Issue(head.request))
    }

    fn end_pass(&mut self) -> Result<Next, RecordFailure> {
        self.passes_left = self.passes_left.map(|left| left - 1);
        if self.passes_left == Some(0) || self.issued == 0 {
            self.passes_left = Some(0);
            return Ok(Next::Stop);
        }
        self.recording.rewind()?;
        self.issued = 0;
        self.epoch = None;
        Ok(Next::Drain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Operation;

    #[derive(Debug)]
    struct List {
        ats: Vec<u64>,
        given: usize,
        broken_at: Option<usize>,
    }

    impl Recording for List {
        fn next(&mut self) -> Result<Option<TimedRequest>, RecordFailure> {
            if self.broken_at == Some(self.given) {
                return Err(RecordFailure { errno: 5, operation: "read_iolog", message: "broken".into() });
            }
            let at = self.ats.get(self.given).copied();
            self.given += 1;
            let request = Request::new(Operation::Read, 0, 0, 4096);
            Ok(at.map(|at| TimedRequest { at: Nanos(at), request }))
        }

        fn rest(&mut self) {}

        fn rewind(&mut self) -> Result<(), RecordFailure> {
            self.given = 0;
            Ok(())
        }
    }

    /// The times of all issues, if each call comes at the requested time and each I/O takes `service` ns.
    fn moments(job: &JobPlan, ats: &[u64], service: u64) -> Vec<u64> {
        let list = List { ats: ats.to_vec(), given: 0, broken_at: None };
        let mut replay = Replay::new(job, Box::new(list));
        let (mut now, mut found) = (Nanos(1000), Vec::new());
        loop {
            match replay.next(now) {
                Next::Issue(_) => {
                    found.push(now.get() - 1000);
                    now = Nanos(now.get() + service);
                }
                Next::Wait(moment) => now = moment,
                Next::Drain => {}
                _ => return found,
            }
        }
    }

    fn job() -> JobPlan {
        let mut job = JobPlan::with_defaults("x", "test", "null");
        job.replay = Some(plan::ReplayPlan::default());
        job
    }

    #[test]
    fn being_late_once_delays_nothing_else() {
        assert_eq!(moments(&job(), &[0, 10, 20, 200], 50), [0, 50, 100, 200]);
    }

    #[test]
    fn without_stalls_each_follows_at_once() {
        let mut job = job();
        job.replay.as_mut().unwrap().timing = Timing::None;
        assert_eq!(moments(&job, &[0, 1000, 2000], 50), [0, 50, 100]);
    }

    #[test]
    fn a_second_loop_restarts_its_time() {
        let mut job = job();
        job.limits.loops = 2;
        assert_eq!(moments(&job, &[10, 30], 5), [10, 30, 45, 65]);
    }

    #[test]
    fn number_ios_counts_over_all_loops_and_an_empty_record_ends() {
        let mut job = job();
        job.limits.loops = 5;
        job.limits.ios = Some(3);
        assert_eq!(moments(&job, &[0, 10], 0).len(), 3);
        assert_eq!(moments(&job, &[], 0), [0; 0]);
    }

    #[test]
    fn a_broken_record_ends_the_replay_with_its_failure() {
        let list = List { ats: vec![0, 0], given: 0, broken_at: Some(1) };
        let mut replay = Replay::new(&job(), Box::new(list));
        assert!(matches!(replay.next(Nanos(5)), Next::Issue(_)));
        assert_eq!(replay.next(Nanos(5)), Next::Stop);
        assert_eq!(replay.next(Nanos(5)), Next::Stop);
        assert_eq!(replay.take_failure().map(|failure| failure.errno), Some(5));
    }
}
