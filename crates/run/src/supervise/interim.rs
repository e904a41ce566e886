//! Reports during a run: asks the workers for their records and assembles a result while they continue.

use super::event_loop::{EventLoop, NO_ESTIMATE_UNTIL, RunState};
use crate::shared::control::REPORT;
use crate::signals::Signals;
use crate::{Event, Observer, Request, WorkerState};
use measure::{Clock, Nanos};
use monitor::Recorder;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Time to wait for a worker's answer: a little longer than its longest sleep (50 ms). A worker that waits longer for
/// its device is reported as of its previous answer.
const ANSWER_TIMEOUT: Nanos = Nanos::from_millis(80);
/// Interval of the check for answers.
const ANSWER_POLL: Nanos = Nanos::from_micros(200);

impl EventLoop<'_> {
    /// Sends a report or a save, or both of the same moment, if the observer or SIGUSR1 asks for it.
    pub(super) fn report_so_far(&mut self, requests: &[Request], observer: &mut dyn Observer, signals: &Signals) {
        // The signal is consumed even if a request exists too: otherwise it would produce a second report in the next
        // turn.
        let signalled = signals.report_wanted();
        let reports = signalled || requests.contains(&Request::Report);
        let saves = requests.contains(&Request::Save);
        if !(saves || reports) {
            return;
        }
        self.ask_workers();
        let now = self.run.clock.now();
        if let Some(recorder) = &mut self.recorder {
            recorder.read_devices(now);
        }
        let state = RunState {
            ends: self.state.ends.clone(),
            elapsed: self.elapsed(),
            from: self.state.from,
            until: now,
            remaining: self.remaining(now),
            devices: self.recorder.as_ref().map(Recorder::device_usage).unwrap_or_default(),
            groups: self.state.groups.clone(),
            ..RunState::default()
        };
        let result = self.run.result(state, &[]);
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
        let asked: Vec<usize> = self.all().filter(at_work).collect();
        for &index in &asked {
            self.run.shared.controls[index].stop.fetch_or(REPORT, Release);
        }
        let until = self.run.clock.now().saturating_add(ANSWER_TIMEOUT);
        let waits = |index: usize| self.run.shared.controls[index].stop.load(Acquire) & REPORT != 0;
        while asked.iter().any(|&index| waits(index)) && self.run.clock.now() < until {
            self.run.clock.sleep_until(self.run.clock.now().saturating_add(ANSWER_POLL));
        }
    }

    fn remaining(&self, now: Nanos) -> Option<Nanos> {
        if self.elapsed() <= NO_ESTIMATE_UNTIL {
            return None;
        }
        self.estimate.at(now, &self.progress(), &self.schedule).1
    }
}
