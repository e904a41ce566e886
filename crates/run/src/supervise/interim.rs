//! Reports of a run so far: asks the workers for their records and puts a result together while they go on.

use super::watch::{NO_ESTIMATE_UNTIL, Watch, Watched};
use crate::signals::Signals;
use crate::worker::record::REPORT;
use crate::{Observer, WorkerProgress, WorkerState};
use job::Plan;
use measure::{Clock, Nanos};
use std::sync::atomic::Ordering::{Acquire, Release};

/// How long a worker is waited for: a little longer than the longest of its naps. One that waits for its device longer
/// than this is reported as it was when it last said something.
const PATIENCE: Nanos = Nanos::from_millis(80);
/// Between two looks whether all have answered.
const LOOK: Nanos = Nanos::from_micros(200);

impl<'run> Watch<'run> {
    /// Makes reports of the run so far possible.
    pub(super) fn of_plan(mut self, plan: &'run Plan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Reports the run so far, where somebody asks for it.
    pub(super) fn report_so_far(&mut self, observer: &mut dyn Observer, signals: &Signals) {
        // Both are asked: a wish that is not taken would come back.
        let wanted = [observer.report_wanted(self.elapsed()), signals.report_wanted()];
        let keeping = observer.keeping_wanted(self.elapsed());
        let Some(plan) = self.plan.filter(|_| keeping || wanted.contains(&true)) else { return };
        self.ask_workers();
        let now = self.clock.now();
        self.devices.sample(now);
        let watched = Watched {
            ends: self.watched.ends.clone(),
            signal: None,
            elapsed: self.elapsed(),
            until: now,
            remaining: self.remaining(now),
            devices: self.devices.usage(),
            lowest_traffic: None,
            settling: self.watched.settling.clone(),
            ..Watched::default()
        };
        let root = &self.options.system_root;
        let environment = |notes| crate::environment::look_around(root, &self.clock, notes, &[]);
        let result = crate::result::assemble(plan, self.workers, self.prepared, self.shared, watched, environment);
        if keeping {
            observer.keep(&result);
        }
        if wanted.contains(&true) {
            observer.report(&result);
        }
    }

    /// Lets every worker at work bring its record up to date.
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
