//! Recorded I/Os: each at its recorded moment, counted from the start, so that being late once delays nothing else.

use super::{Next, Request};
use job::plan::{JobPlan, Timing};
use measure::Nanos;
use std::fmt::Debug;

/// One I/O of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When, counted from the start of the replay.
    pub at: Nanos,
    /// What.
    pub request: Request,
}

/// Where recorded I/Os come from.
pub trait Recording: Debug + Send {
    /// The next one; `None` at the end.
    ///
    /// # Errors
    /// When the record cannot be read on.
    fn next(&mut self) -> Result<Option<Recorded>, RecordFailure>;

    /// There is time until the next I/O: read on, where that helps.
    fn rest(&mut self);

    /// Starts over at the first.
    ///
    /// # Errors
    /// When the record cannot be read again.
    fn rewind(&mut self) -> Result<(), RecordFailure>;
}

/// Who writes down what is issued.
pub trait Witness: Debug + Send {
    /// Time counts from `now`.
    fn begin(&mut self, now: Nanos);

    /// This I/O is issued.
    fn issued(&mut self, now: Nanos, request: &Request);

    /// This read is issued to judge what comes back.
    fn reviewed(&mut self, now: Nanos, request: &Request) {
        self.issued(now, request);
    }

    /// This I/O came back, well or not; told only by loops that look at each.
    fn completed(&mut self, request: &Request) {
        let _ = request;
    }

    /// This I/O failed; told once, before it is completed.
    fn failed(&mut self, request: &Request) {
        let _ = request;
    }

    /// There is nothing to do before `until`.
    fn waits(&mut self, now: Nanos, until: Nanos) {
        let _ = (now, until);
    }

    /// Something else that happened to the worker.
    fn told(&mut self, text: &str) {
        let _ = text;
    }

    /// Nothing more is issued.
    ///
    /// # Errors
    /// What could not be written down.
    fn finish(&mut self, now: Nanos) -> Result<(), RecordFailure>;
}

/// A record that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RecordFailure {
    /// errno.
    pub errno: i32,
    /// What failed, `read_iolog` or `write_iolog`.
    pub operation: &'static str,
    /// Where and why.
    pub message: String,
}

/// Enough time to read on in the record without being late for the next I/O.
const REST: Nanos = Nanos::from_millis(5);

/// A replay under way.
#[derive(Debug)]
pub(super) struct Replay {
    recording: Box<dyn Recording>,
    /// The next I/O, read but not issued.
    head: Option<Recorded>,
    stalls: Stalls,
    /// When the pass at hand began; `None` before its first I/O.
    epoch: Option<Nanos>,
    passes_left: Option<u64>,
    ios_left: Option<u64>,
    /// I/Os of this pass: a record without any is not repeated for ever.
    issued: u64,
    failure: Option<RecordFailure>,
}

/// Whether recorded pauses are kept.
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

    /// A walk that knows no times: each I/O follows the one before at once.
    pub(super) fn of_walk(job: &JobPlan, walk: Box<dyn Recording>) -> Self {
        Replay { stalls: Stalls::LeftOut, ..Replay::new(job, walk) }
    }

    /// Whether a job goes through a record once, from its first I/O to its last.
    pub(super) fn is_once(job: &JobPlan) -> bool {
        job.limits.loops <= 1 && job.limits.ios.is_none() && !job.limits.time_based
    }

    /// A walk that is gone once, from its first step to its last.
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

    /// What to do at `now`.
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
    use engine::Operation;

    #[derive(Debug)]
    struct List {
        ats: Vec<u64>,
        given: usize,
        broken_at: Option<usize>,
    }

    impl Recording for List {
        fn next(&mut self) -> Result<Option<Recorded>, RecordFailure> {
            if self.broken_at == Some(self.given) {
                return Err(RecordFailure { errno: 5, operation: "read_iolog", message: "broken".into() });
            }
            let at = self.ats.get(self.given).copied();
            self.given += 1;
            let request = Request { operation: Operation::Read, target: 0, offset: 0, length: 4096 };
            Ok(at.map(|at| Recorded { at: Nanos(at), request }))
        }

        fn rest(&mut self) {}

        fn rewind(&mut self) -> Result<(), RecordFailure> {
            self.given = 0;
            Ok(())
        }
    }

    /// The moments of all issues when each call comes at the time it was asked for, and each I/O takes `service`.
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
        job.replay = Some(job::plan::ReplayPlan::default());
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
    fn a_second_loop_counts_its_time_anew() {
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
