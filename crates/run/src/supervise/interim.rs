//! Reports during a run: asks the workers for their records and assembles a result while they continue.

use super::event_loop::{NO_ESTIMATE_UNTIL, Watch, Watched};
use super::result::assemble;
use crate::shared::control::REPORT;
use crate::signals::Signals;
use crate::{Event, Observer, Request, WorkerProgress, WorkerState};
use measure::{Clock, Nanos};
use plan::Plan;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Time to wait for a worker's answer: a little longer than its longest sleep (50 ms). A worker that waits longer for
/// its device is reported as of its previous answer.
const PATIENCE: Nanos = Nanos::from_millis(80);
/// Interval of the check for answers.
const LOOK: Nanos = Nanos::from_micros(200);

impl<'run> Watch<'run> {
    /// Sets the plan, so that reports can be assembled during the run.
    pub(super) fn of_plan(mut self, plan: &'run Plan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Sends a report if the observer or SIGUSR1 asks for one.
    pub(super) fn report_so_far(&mut self, request: Option<Request>, observer: &mut dyn Observer, signals: &Signals) {
        // The signal is consumed even if a request exists too: otherwise it would produce a second report in the next
        // turn.
        let signalled = signals.report_wanted();
        let reports = signalled || request == Some(Request::Report);
        let saves = request == Some(Request::Save);
        let Some(plan) = self.plan.filter(|_| saves || reports) else { return };
        self.ask_workers();
        let now = self.clock.now();
        self.recorder.read_devices(now);
        let watched = Watched {
            ends: self.watched.ends.clone(),
            signal: None,
            elapsed: self.elapsed(),
            until: now,
            remaining: self.remaining(now),
            devices: self.recorder.device_usage(),
            lowest_traffic: None,
            settling: self.watched.settling.clone(),
            ..Watched::default()
        };
        let root = &self.options.system_root;
        let environment = |notes| crate::environment::look_around(root, &self.clock, notes, &[]);
        let result = assemble(plan, self.workers, self.prepared, self.shared, watched, environment);
        if saves {
            observer.event(Event::Save(&result));
        }
        if reports {
            observer.event(Event::Report(&result));
        }
    }

    /// Asks every running worker to update its record, and waits for the answers.
    fn ask_workers(&self) {
        let at_work = |&index: &usize| {
            let state = self.state(index);
            let idle = [WorkerState::Waiting, WorkerState::SettingUp, WorkerState::Finishing, WorkerState::Reaped];
            self.is_running(index) && !idle.iter().any(|&idle| idle as u32 == state)
        };
        let asked: Vec<usize> = (0..self.workers.len()).filter(at_work).collect();
        for &index in &asked {
            self.shared.controls[index].stop.fetch_or(REPORT, Release);
        }
        let until = self.clock.now().saturating_add(PATIENCE);
        let waits = |index: usize| self.shared.controls[index].stop.load(Acquire) & REPORT != 0;
        while asked.iter().any(|&index| waits(index)) && self.clock.now() < until {
            self.clock.sleep_until(self.clock.now().saturating_add(LOOK));
        }
    }

    fn remaining(&self, now: Nanos) -> Option<Nanos> {
        if self.elapsed() <= NO_ESTIMATE_UNTIL {
            return None;
        }
        let workers: Vec<WorkerProgress> = (0..self.workers.len()).map(|index| self.progress_of(index)).collect();
        self.estimate.look(now, &workers, &self.schedule).1
    }
}
