//! What holds a worker back or ends it early, beside its load: least rates, latency targets, steady state, the shares
//! of a flow, overlapping I/Os, a ramp of so many bytes.
//!
//! A worker without any of these pays nothing: all of it hangs on the word that asks it to stop, and on event times.

use super::Drive;
use super::floor::{Amounts, Floor};
use super::search::{Search, Step};
use crate::WorkerState;
use crate::steady::{Steadiness, Totals};
use crate::worker::record::{Control, SteadyRecord};
use crate::worker::ties::{SteadyJudge, Ties};
use engine::{Engine, EngineError};
use job::plan::{JobPlan, SteadyPlan, Subject};
use load::{Next, Request};
use measure::{Clock, Nanos};
use std::sync::atomic::Ordering::Relaxed;
use sys::SharedBlocks;

/// A job ahead of its share in a flow looks again after so long, unless it says how long.
const FLOW_PAUSE: Nanos = Nanos::from_micros(20);

/// The reins of one worker.
#[derive(Debug)]
pub(super) struct Rein<'w> {
    floor: Option<Floor>,
    search: Option<Search>,
    steady: Option<Steady>,
    /// How long to wait when ahead of a flow.
    flow_pause: Option<Nanos>,
    ramp_bytes: Option<u64>,
    serialises: bool,
    ties: &'w Ties,
    controls: &'w SharedBlocks<Control>,
}

/// How a worker takes part in finding out whether it is steady.
#[derive(Debug)]
enum Steady {
    /// It judges itself.
    Own(Box<Steadiness>),
    /// It tells the parent its latencies, so often.
    Told { interval: Nanos, due: Nanos },
}

impl Steady {
    fn new(plan: &SteadyPlan, judge: SteadyJudge, now: Nanos) -> Steady {
        match judge {
            SteadyJudge::Worker => Steady::Own(Box::new(Steadiness::new(*plan, now))),
            SteadyJudge::Parent => Steady::Told { interval: plan.interval, due: now.saturating_add(plan.interval) },
        }
    }

    fn due(&self) -> Nanos {
        match self {
            Steady::Own(steadiness) => steadiness.due(),
            Steady::Told { due, .. } => *due,
        }
    }
}

impl<'w> Rein<'w> {
    /// The reins of a job that needs some.
    pub(super) fn of(job: &JobPlan, ties: &'w Ties, controls: &'w SharedBlocks<Control>) -> Option<Box<Rein<'w>>> {
        let needed = job.latency.judges()
            || job.steady.is_some()
            || job.pace.flow.is_some()
            || job.limits.ramp_bytes > 0
            || job.depth.serialises_overlap
            || Floor::new(job, Nanos::ZERO).is_some();
        let pause = |flow: job::plan::FlowPlan| if flow.pause.is_zero() { FLOW_PAUSE } else { flow.pause };
        needed.then(|| {
            Box::new(Rein {
                floor: None,
                search: None,
                steady: None,
                flow_pause: job.pace.flow.map(pause),
                ramp_bytes: (job.limits.ramp_bytes > 0).then_some(job.limits.ramp_bytes),
                serialises: job.depth.serialises_overlap,
                ties,
                controls,
            })
        })
    }

    /// Nothing is judged during a ramp; from `now` on it is.
    fn begin(&mut self, job: &JobPlan, most: u32, now: Nanos) {
        self.ramp_bytes = None;
        self.floor = Floor::new(job, now);
        self.search = Search::new(&job.latency, most, now);
        self.steady = job.steady.as_ref().map(|plan| Steady::new(plan, self.ties.steady, now));
    }

    /// The next moment at which something is to be judged.
    pub(super) fn due(&self) -> Nanos {
        let floor = self.floor.as_ref().map_or(Nanos::MAX, Floor::due);
        let steady = self.steady.as_ref().map_or(Nanos::MAX, Steady::due);
        floor.min(steady)
    }
}

impl<E: Engine, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// The measured part begins at `now`.
    pub(super) fn begin_reins(&mut self, now: Nanos) {
        let most = crate::worker::usable_depth(self.job);
        let Some(rein) = &mut self.rein else { return };
        rein.begin(self.job, most, now);
        if rein.search.is_some() {
            self.tally.forget_judged();
            if self.slots.busy() == 0 {
                self.slots.use_only(1);
            }
        }
    }

    /// What to do next, for a worker that has been asked for attention: to stop, or because it has reins.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(&mut self, mut now: Nanos) -> Result<(Next, Nanos), EngineError> {
        if self.tally.control.stop_requested() {
            self.load.stop();
            return Ok((self.load.next(now), now));
        }
        if self.tally.control.stop.load(Relaxed) & crate::worker::record::MARK != 0 {
            self.mark();
        }
        self.heed_report();
        let Some(mut rein) = self.rein.take() else { return Ok((self.load.next(now), now)) };
        let next = self.guided(&mut rein, &mut now);
        self.rein = Some(rein);
        self.reschedule();
        next.map(|next| (next, now))
    }

    fn guided(&mut self, rein: &mut Rein<'_>, now: &mut Nanos) -> Result<Next, EngineError> {
        if rein.ramp_bytes.is_some_and(|bytes| rein.ties.ramped_bytes(rein.controls) >= bytes) {
            *now = self.clock.now();
            self.end_ramp(*now);
            rein.begin(self.job, crate::worker::usable_depth(self.job), *now);
            self.tally.forget_judged();
        }
        self.look_at_latency();
        if let Some(search) = &mut rein.search {
            self.search_on(search, now)?;
        }
        if let Some(pause) = rein.flow_pause
            && rein.ties.is_ahead(rein.controls)
        {
            return Ok(Next::Wait(now.saturating_add(pause)));
        }
        let next = self.load.next(*now);
        if let (true, Next::Issue(request) | Next::Review { request, .. }) = (rein.serialises, next) {
            self.make_way(&request, now)?;
        }
        Ok(next)
    }

    /// Ends the job at an I/O that took longer than any may.
    pub(super) fn look_at_latency(&mut self) {
        if let Some((direction, latency, most)) = self.tally.too_long() {
            let message = format!(
                "a {} took {} ns, longer than max_latency allows ({} ns)",
                direction.word(),
                latency.get(),
                most.get()
            );
            self.fail(libc::ETIMEDOUT, "max_latency", &message);
        }
    }

    /// Ends the job with an error that is no device's.
    fn fail(&mut self, errno: i32, operation: &str, message: &str) {
        self.tally.record.fault.keep_first(errno, operation, message);
        self.ended_by_fault = true;
        self.load.stop();
    }

    fn search_on(&mut self, search: &mut Search, now: &mut Nanos) -> Result<(), EngineError> {
        let (seen, missed) = self.tally.judged();
        let step = search.judge(*now, seen, missed);
        match step {
            Step::Wait => {
                if *now >= search.due() {
                    search.begin_window(*now);
                    self.tally.forget_judged();
                }
                return Ok(());
            }
            Step::Done => self.load.stop(),
            Step::Fail => {
                let (target, share) = (self.job.latency.target.unwrap_or_default(), self.job.latency.percentile);
                let message = format!(
                    "latency_target of {} us is not kept by {share} percent of the I/Os even at depth 1",
                    target.get() / 1000
                );
                self.fail(libc::ETIMEDOUT, "latency_target", &message);
            }
            Step::Try(depth) | Step::Settle(depth) => {
                if self.slots.busy() > 0 {
                    *now = self.drain(*now)?;
                }
                self.slots.use_only(depth);
                self.tally.forget_judged();
                if matches!(step, Step::Settle(_)) {
                    self.begin_measuring(*now);
                    self.next_sample = self.next_look();
                }
                search.begin_window(*now);
            }
        }
        self.tally.record.searched_depth = search.depth();
        Ok(())
    }

    /// Waits until nothing in flight overlaps `request`.
    fn make_way(&mut self, request: &Request, now: &mut Nanos) -> Result<(), EngineError> {
        while self.slots.overlaps(request) {
            *now = self.reap_one(*now)?;
        }
        Ok(())
    }

    /// Does what the reins have due at `moment`.
    pub(super) fn rein_event(&mut self, moment: Nanos) {
        let Some(rein) = &mut self.rein else { return };
        if let Some(floor) = rein.floor.as_mut().filter(|floor| moment >= floor.due())
            && let Some(message) = floor.judge(moment, self.tally.amounts())
        {
            self.fail(libc::EIO, "rate_min", &message);
            return;
        }
        let Some(steady) = rein.steady.as_mut().filter(|steady| moment >= steady.due()) else { return };
        let totals = self.tally.totals();
        match steady {
            Steady::Own(steadiness) => {
                let is_steady = steadiness.look(moment, totals);
                if self.job.record.tells.has(Subject::SteadyState) {
                    self.load.note(&steadiness.describe());
                }
                if is_steady {
                    self.load.stop();
                }
            }
            Steady::Told { interval, due } => {
                *due = moment.saturating_add(*interval);
                self.tally.control.latency_ns.store(totals.latency_ns, Relaxed);
            }
        }
    }

    /// Leaves in the record what was found out.
    pub(super) fn drop_reins(&mut self) {
        self.look_at_latency();
        self.keep_steadiness();
        self.rein = None;
    }

    /// Leaves in the record how steady the job is so far.
    pub(super) fn keep_steadiness(&mut self) {
        if let Some(Steady::Own(steadiness)) = self.rein.as_ref().and_then(|rein| rein.steady.as_ref()) {
            SteadyRecord::keep(&mut self.tally.record.steady, steadiness);
        }
    }

    /// The ramp is over at `moment`.
    pub(super) fn end_ramp(&mut self, moment: Nanos) {
        self.ramp_ends = None;
        self.begin_measuring(moment);
        self.load.ramp_over(moment);
        self.next_sample = self.next_look();
        self.show(WorkerState::Running);
    }
}

impl super::Tally<'_> {
    /// Bytes and I/Os completed, by direction.
    fn amounts(&self) -> Amounts {
        let all = |counters: &[std::sync::atomic::AtomicU64; 3]| counters.each_ref().map(|each| each.load(Relaxed));
        (all(&self.control.bytes), all(&self.control.ios))
    }

    /// What moved in all, and the latencies of the measured part.
    fn totals(&mut self) -> Totals {
        self.record.settle();
        let (bytes, ios) = self.amounts();
        let latency: u128 = self.record.completion.iter().map(measure::Moments::sum).sum();
        Totals {
            bytes: bytes.iter().sum(),
            ios: ios.iter().sum(),
            latency_ns: u64::try_from(latency).unwrap_or(u64::MAX),
        }
    }
}
