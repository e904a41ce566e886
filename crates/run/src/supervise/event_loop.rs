//! The parent's event loop: starts and reaps workers, reports progress, handles signals.

use super::estimate::Estimate;
use super::group_steady_state::Settling;
use super::prepare::Prepared;
use super::schedule::{Schedule, Standing, WorkerOutcome};
use super::stuck::{PATIENCE, Stuck, Suspect};
use super::watched_paths::{targets_of, watched_paths};
use super::workers::{End, Shared, WorkerPool};
use crate::shared::bell;
use crate::shared::control::SIGNALLED;
use crate::signals::Signals;
use crate::worker::DebugLog;
use crate::{Event, Observer, Progress, Request, RunError, RunOptions, WorkerProgress, WorkerState};
use measure::{Clock, Nanos, PerDirection, SystemClock};
use model::{DeviceUsage, LowestTraffic, Monitored};
use monitor::{Account, Recorded, Recorder, WorkerSeen};
use plan::Plan;
use plan::{Isolation, WorkerPlan};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::thread::Scope;

/// Poll interval while workers open files and allocate buffers.
const POLL_SETUP: Nanos = Nanos::from_millis(1);
/// Poll interval while workers run, unless one rings the bell.
const POLL_RUN: Nanos = Nanos::from_millis(10);
/// Poll interval while a process that has finished its work exits.
const POLL_EXIT: Nanos = Nanos::from_micros(100);
/// With more workers than this the parent polls at a fixed interval and ignores the bell, because every wake-up would
/// mean a pass over all of them.
const MANY_WORKERS: usize = 64;
/// Interval of the check for workers that died without reporting.
const CHECK_DEAD: Nanos = Nanos::from_millis(50);
/// No remaining time is estimated before the run has lasted this long.
pub(super) const NO_ESTIMATE_UNTIL: Nanos = Nanos::from_secs(2);

/// The parent's observations of a run.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// The end of each worker; `None` if it never started.
    pub(crate) ends: Vec<Option<End>>,
    /// The signal that ended the run early.
    pub(crate) signal: Option<i32>,
    /// From the start of the first worker to the end of the last.
    pub(crate) elapsed: Nanos,
    /// Estimated remaining time, if known.
    pub(crate) remaining: Option<Nanos>,
    /// Counters of the disks below the files.
    pub(crate) devices: Vec<DeviceUsage>,
    /// Traffic of the disks at the bottom of the device stack.
    pub(crate) lowest_traffic: Option<LowestTraffic>,
    /// Results of the recorder: devices, processors and workers over time.
    pub(crate) monitored: Option<Monitored>,
    /// True if workers are stuck in the kernel and were abandoned.
    pub(crate) has_stuck_workers: bool,
    /// End of the observation, on the run's clock.
    pub(crate) until: Nanos,
    /// State of the groups that reach steady state together.
    pub(crate) settling: Settling,
}

/// The parent's state while workers run.
pub(crate) struct Watch<'run> {
    pub(super) workers: &'run [WorkerPlan<'run>],
    pub(super) prepared: &'run [Prepared],
    pub(super) shared: &'run Shared,
    pub(super) options: &'run RunOptions,
    pub(super) clock: SystemClock,
    pub(super) schedule: Schedule,
    pub(super) estimate: Estimate,
    started_at: Nanos,
    last_dead_check: Nanos,
    next_progress: Nanos,
    stuck: Stuck,
    pub(super) recorder: Recorder,
    setting_up: Vec<usize>,
    reaped: Vec<bool>,
    /// The plan, if reports may be requested during the run.
    pub(super) plan: Option<&'run Plan>,
    /// True if the run was ended by a signal to one of its workers, or by the observer.
    ended_by_worker: bool,
    /// Time of the second request to end.
    urged_at: Option<Nanos>,
    /// Time at which the last worker was reaped.
    last_end: Nanos,
    pub(super) watched: Watched,
}

impl<'run> Watch<'run> {
    pub(crate) fn new(
        workers: &'run [WorkerPlan<'run>],
        prepared: &'run [Prepared],
        shared: &'run Shared,
        options: &'run RunOptions,
        clock: SystemClock,
    ) -> Self {
        let mut seed = super::prepare::system_seed();
        let draw = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 16
        };
        let now = clock.now();
        let (root, paths) = (&options.system_root, watched_paths(workers, prepared));
        Watch {
            workers,
            prepared,
            shared,
            options,
            clock,
            schedule: Schedule::new(workers.iter().copied(), draw),
            estimate: Estimate::new(workers, prepared),
            started_at: now,
            last_dead_check: now,
            next_progress: options.progress_interval.map_or(Nanos::MAX, |interval| now.saturating_add(interval)),
            stuck: Stuck::default(),
            recorder: Recorder::start(root, &paths, options.device_interval, now),
            setting_up: Vec::new(),
            reaped: vec![false; workers.len()],
            plan: None,
            ended_by_worker: false,
            urged_at: None,
            last_end: now,
            watched: Watched {
                ends: vec![None; workers.len()],
                settling: Settling::new(workers),
                ..Watched::default()
            },
        }
    }

    /// Runs until all workers have ended.
    ///
    /// # Errors
    /// If a worker cannot be started or waited for.
    pub(crate) fn run<'scope>(
        mut self,
        pool: &mut WorkerPool<'run, 'scope>,
        scope: &'scope Scope<'scope, '_>,
        observer: &mut dyn Observer,
        signals: &Signals,
    ) -> Result<Watched, RunError>
    where
        'run: 'scope,
    {
        self.skip_unprepared(pool);
        self.announce_commands(observer);
        loop {
            // Read before anything is polled: a wake-up during this turn then ends the wait at once.
            let heard = bell::heard(&self.shared.controls);
            self.handle_signals(pool, signals);
            self.start(pool, scope)?;
            self.collect(pool)?;
            self.hear(observer);
            if self.schedule.is_over() {
                break;
            }
            if self.has_waited_long_enough() {
                self.abandon_workers(pool);
                break;
            }
            self.settle(pool);
            let request = observer.request(self.elapsed());
            if request == Some(Request::End) && !self.ended_by_worker {
                self.ended_by_worker = true;
                self.end_all(pool);
            }
            self.sample_devices();
            self.report_stuck(observer);
            self.report(observer);
            self.report_so_far(request, observer, signals);
            self.pause(heard);
        }
        self.release_unstarted(pool)?;
        self.watched.elapsed = self.elapsed();
        self.watched.until = self.clock.now();
        let seen = self.seen();
        if self.options.progress_interval.is_some() {
            let workers = (0..self.workers.len()).map(|index| self.progress_of(index)).collect();
            observer.event(Event::Ended(&Progress {
                elapsed: self.elapsed(),
                remaining: Some(Nanos::ZERO),
                done: Some(1.0),
                workers,
            }));
        }
        self.watched.remaining = (self.watched.elapsed > NO_ESTIMATE_UNTIL).then_some(Nanos::ZERO);
        self.recorder.read_latencies(|| super::latency::so_far(self.workers, self.shared));
        let Recorded { devices, lowest_traffic, monitored } = self.recorder.finish(self.clock.now(), &seen);
        (self.watched.devices, self.watched.lowest_traffic) = (devices, lowest_traffic);
        self.watched.monitored = Some(monitored);
        Ok(self.watched)
    }

    /// Sleeps until there may be something to do. With many workers it sleeps for a fixed time, because every wake-up
    /// means a pass over all of them. A worker process that has finished rings no bell when it exits, so it is polled
    /// at a short interval.
    fn pause(&self, heard: u32) {
        let controls = &self.shared.controls;
        let leaving = || (0..self.workers.len()).any(|index| self.is_running(index) && self.has_left(index));
        if self.workers.len() > MANY_WORKERS {
            let pause = if self.setting_up.is_empty() { POLL_RUN } else { POLL_SETUP };
            self.clock.sleep_until(self.clock.now().saturating_add(pause));
        } else if leaving() {
            self.clock.sleep_until(self.clock.now().saturating_add(POLL_EXIT));
        } else {
            bell::wait(controls, heard, POLL_RUN);
        }
    }

    fn has_left(&self, index: usize) -> bool {
        self.shared.controls[index].left.load(Acquire) != 0
    }

    /// Passes the workers' messages to the observer.
    fn hear(&self, observer: &mut dyn Observer) {
        for control in self.shared.controls.iter() {
            control.notices.hear(&mut |text| observer.event(Event::Finding(text)));
        }
    }

    /// Reports I/O that is stuck.
    fn report_stuck(&mut self, observer: &mut dyn Observer) {
        let now = self.clock.now();
        if !self.stuck.is_due(now) {
            return;
        }
        let mut stuck = std::mem::take(&mut self.stuck);
        let suspects = (0..self.workers.len()).filter(|&index| self.is_running(index)).filter_map(|index| {
            let job = self.workers[index].job;
            let thread = self.shared.controls[index].thread.load(Relaxed);
            let limit = job.limits.stuck_after.filter(|_| thread != 0)?;
            Some(Suspect { index, job: &job.name, thread, limit })
        });
        let found = stuck.look(now, &self.options.system_root, suspects);
        self.stuck = stuck;
        found.iter().for_each(|text| observer.event(Event::Finding(text)));
    }

    pub(super) fn elapsed(&self) -> Nanos {
        self.clock.now().saturating_sub(self.started_at)
    }

    /// Reports the commands of jobs, once per job.
    fn announce_commands(&self, observer: &mut dyn Observer) {
        for worker in self.workers.iter().filter(|worker| worker.clone == 0) {
            let (name, start) = (&worker.job.name, &worker.job.start);
            for (when, command) in [("prerun", &start.before), ("postrun", &start.after)] {
                if command.is_some() {
                    let file = format!("{}.{when}.txt", name.replace('/', "_"));
                    observer.event(Event::Command { job: name, when, file: &file });
                }
            }
        }
    }

    /// Removes jobs from the schedule whose files failed, or that only lay out files.
    fn skip_unprepared(&mut self, pool: &WorkerPool<'_, '_>) {
        for index in 0..self.workers.len() {
            let failed = self.prepared[index].error.is_some();
            if failed || self.workers[index].job.files.create_only {
                self.schedule.strike(index);
                let outcome = if failed { WorkerOutcome::Failed } else { WorkerOutcome::Completed };
                let along = self.schedule.ended(index, outcome);
                // A job whose layout failed never ran: as in fio it does not end other jobs (exitall_on_error).
                if !failed {
                    self.end_along(pool, &along);
                }
            }
        }
    }

    fn handle_signals(&mut self, pool: &WorkerPool<'_, '_>, signals: &Signals) {
        self.handle_worker_signals(pool);
        let Some(signal) = signals.received() else { return };
        if self.watched.signal.is_none() {
            self.watched.signal = Some(signal);
            self.end_all(pool);
        }
        if signals.count() > 1 {
            self.urged_at = self.urged_at.or_else(|| Some(self.clock.now()));
            for index in (0..self.workers.len()).filter(|&index| self.is_running(index)) {
                pool.kill(index);
            }
        }
    }

    /// A signal sent to a single worker ends the whole run too, as in fio; the exit status is that of the jobs.
    fn handle_worker_signals(&mut self, pool: &WorkerPool<'_, '_>) {
        let controls = &self.shared.controls;
        let signalled = || controls.iter().any(|control| control.stop.load(Relaxed) & SIGNALLED != 0);
        if !self.ended_by_worker && signalled() {
            self.ended_by_worker = true;
            self.end_all(pool);
        }
    }

    fn end_all(&mut self, pool: &WorkerPool<'_, '_>) {
        let all: Vec<usize> = (0..self.workers.len()).collect();
        self.end_along(pool, &all);
    }

    /// True if 0.5 s have passed since the second request to end, and since the last worker ended: the remaining
    /// workers are in an uninterruptible system call, which neither the stop flag nor SIGKILL ends.
    fn has_waited_long_enough(&self) -> bool {
        self.urged_at.is_some_and(|at| self.clock.now().saturating_sub(at.max(self.last_end)) > PATIENCE)
    }

    /// Gives up on the workers that do not end.
    fn abandon_workers(&mut self, pool: &mut WorkerPool<'run, '_>) {
        for index in (0..self.workers.len()).filter(|&index| self.schedule.standing(index) == Standing::Started) {
            pool.leave(index);
            self.watched.ends[index] = Some(End::Left);
        }
        self.watched.has_stuck_workers = true;
    }

    /// Ends the groups that have reached steady state.
    fn settle(&mut self, pool: &WorkerPool<'_, '_>) {
        let (workers, to) = (self.workers, self.options.debug_log.as_ref());
        let mut tell = |leader: usize, text: &str| DebugLog::group_line(&workers[leader], to, text);
        let settled = self.watched.settling.look(self.clock.now(), self.shared, &mut tell);
        self.end_along(pool, &settled);
    }

    fn end_along(&mut self, pool: &WorkerPool<'_, '_>, indices: &[usize]) {
        for &index in indices {
            if !self.schedule.strike(index) && self.is_running(index) {
                pool.stop(index);
            }
        }
    }

    pub(super) fn is_running(&self, index: usize) -> bool {
        self.schedule.standing(index) == Standing::Started
    }

    /// Opens the gate for set-up of the workers that are due, and the gate for I/O once all of them are ready.
    fn start<'scope>(
        &mut self,
        pool: &mut WorkerPool<'run, 'scope>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<(), RunError>
    where
        'run: 'scope,
    {
        for index in self.schedule.startable(self.elapsed()) {
            pool.start(index, scope).map_err(RunError::Thread)?;
            self.schedule.started(index);
            self.setting_up.push(index);
        }
        let ready = |&index: &usize| self.reaped[index] || pool.is_ready(index);
        if !self.setting_up.is_empty() && self.setting_up.iter().all(ready) {
            let turn = std::mem::take(&mut self.setting_up);
            self.recorder.begin_targets(&targets_of(&turn, self.workers, self.prepared));
            if self.workers.iter().any(|worker| worker.job.place.cgroup.is_some()) {
                let seen: Vec<WorkerSeen> = turn.iter().map(|&index| self.seen_of(index)).collect();
                self.recorder.begin_workers(&seen);
            }
            for index in turn {
                pool.go(index);
                self.estimate.started(index, self.clock.now());
            }
        }
        Ok(())
    }

    /// Reaps workers that have ended. Those in state Finishing are checked at each turn, the others every 50 ms, to
    /// notice one that died without reporting.
    fn collect(&mut self, pool: &mut WorkerPool<'run, '_>) -> Result<(), RunError> {
        let now = self.clock.now();
        let look_at_all = now.saturating_sub(self.last_dead_check) >= CHECK_DEAD;
        if look_at_all {
            self.last_dead_check = now;
        }
        for index in 0..self.workers.len() {
            let finishing = || self.state(index) == WorkerState::Finishing as u32;
            if !self.is_running(index) || !(look_at_all || finishing()) {
                continue;
            }
            self.recorder.read_worker(index, &self.seen_of(index));
            let Some(end) = pool.collect(index)? else { continue };
            self.watched.ends[index] = Some(end);
            self.last_end = now;
            self.reaped[index] = true;
            let control = &self.shared.controls[index];
            control.state.store(WorkerState::Reaped as u32, Relaxed);
            self.remove_group_of(index);
            let along = self.schedule.ended(index, self.outcome(index, end));
            self.unlink_files_of(index);
            self.end_along(pool, &along);
        }
        Ok(())
    }

    fn outcome(&self, index: usize, end: End) -> WorkerOutcome {
        let faulty = || self.shared.records.snapshot(index).is_none_or(|record| record.fault.errno != 0);
        if !matches!(end, End::Returned) || faulty() { WorkerOutcome::Failed } else { WorkerOutcome::Completed }
    }

    /// Removes the cgroup of a worker, unless other workers are still in it; the last one removes it.
    fn remove_group_of(&self, index: usize) {
        if let Some(plan) = self.workers[index].job.place.cgroup.as_ref().filter(|plan| !plan.keep)
            && let Ok(group) = sys::processes::io_group::IoGroup::make(&self.options.system_root, &plan.name, None)
        {
            // EBUSY while another worker is in it.
            let _ = group.remove();
        }
    }

    fn unlink_files_of(&self, index: usize) {
        if self.workers[index].job.files.unlink {
            crate::files::unlink(&self.prepared[index].files);
        }
    }

    pub(super) fn state(&self, index: usize) -> u32 {
        self.shared.controls[index].state.load(Acquire)
    }

    /// Releases processes that wait at their gates and will not be started.
    fn release_unstarted(&mut self, pool: &mut WorkerPool<'run, '_>) -> Result<(), RunError> {
        let unstarted = |&index: &usize| !self.reaped[index] && !self.is_running(index);
        let left: Vec<usize> = (0..self.workers.len()).filter(unstarted).collect();
        for &index in &left {
            pool.stop(index);
        }
        for index in left {
            if self.workers[index].job.isolation == Isolation::Process {
                pool.wait(index)?;
            }
        }
        Ok(())
    }

    fn sample_devices(&mut self) {
        let now = self.clock.now();
        if self.recorder.is_due(now) {
            self.recorder.read_latencies(|| super::latency::so_far(self.workers, self.shared));
            self.recorder.sample(now, &self.seen());
        }
    }

    fn seen(&self) -> Vec<WorkerSeen> {
        (0..self.workers.len()).map(|index| self.seen_of(index)).collect()
    }

    fn seen_of(&self, index: usize) -> WorkerSeen {
        let control = &self.shared.controls[index];
        WorkerSeen {
            thread: Some(control.thread.load(Relaxed)).filter(|&thread| thread != 0),
            account: match self.workers[index].job.isolation {
                Isolation::Process => Account::Process,
                Isolation::Thread => Account::Thread,
            },
            measuring: self.state(index) == WorkerState::Running as u32,
            bytes: control.bytes.each_ref().map(|bytes| bytes.load(Relaxed)),
            ios: control.ios.each_ref().map(|ios| ios.load(Relaxed)),
        }
    }

    fn report(&mut self, observer: &mut dyn Observer) {
        let (now, Some(interval)) = (self.clock.now(), self.options.progress_interval) else { return };
        if now < self.next_progress {
            return;
        }
        self.next_progress = now.saturating_add(interval);
        let workers: Vec<WorkerProgress> = (0..self.workers.len()).map(|index| self.progress_of(index)).collect();
        let (done, remaining) = self.estimate.look(now, &workers, &self.schedule);
        observer.event(Event::Progress(&Progress { elapsed: self.elapsed(), remaining, done, workers }));
    }

    pub(super) fn progress_of(&self, index: usize) -> WorkerProgress {
        let control = &self.shared.controls[index];
        let [read, write, trim] = control.bytes.each_ref().map(|bytes| bytes.load(Relaxed));
        let bytes = PerDirection { read, write, trim };
        let [read, write, trim] = control.ios.each_ref().map(|ios| ios.load(Relaxed));
        WorkerProgress {
            job_index: self.workers[index].job_index,
            state: state_of(self.state(index)),
            open_files: control.open_files.load(Relaxed),
            bytes,
            ios: PerDirection { read, write, trim },
        }
    }
}

/// The state with this number; `Waiting` for an unknown one.
fn state_of(number: u32) -> WorkerState {
    use WorkerState::{Finishing, Flushing, PreReading, Ramping, Reaped, Running, SettingUp, Verifying, Waiting};
    let all = [Waiting, SettingUp, Ramping, PreReading, Running, Verifying, Flushing, Finishing, Reaped];
    all.into_iter().find(|&state| state as u32 == number).unwrap_or_default()
}
