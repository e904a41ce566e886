//! The parent's loop: starts, reaps, reports, obeys signals.

use super::crew::{Crew, End, Shared};
use super::estimate::Estimate;
use super::prepare::Prepared;
use super::schedule::{Schedule, Standing};
use super::settle::Settling;
use super::stuck::{Stuck, Suspect};
use super::watching::{lowest_traffic, targets_of, watched_paths};
use crate::signals::Signals;
use crate::tell::Teller;
use crate::worker::bell;
use crate::worker::record::SIGNALLED;
use crate::{Observer, Progress, RunError, RunOptions, WorkerProgress, WorkerState};
use job::Plan;
use job::plan::{Isolation, WorkerPlan};
use measure::{Clock, Nanos, PerDirection, SystemClock};
use model::{DeviceUsage, LowestTraffic, Monitored};
use monitor::{Account, DeviceWatch, Recorder, TrafficWatch, WorkerSeen};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::thread::Scope;

/// Between two looks at workers that are setting themselves up.
const SHORT: Nanos = Nanos::from_millis(1);
/// Between two looks at workers at work, unless one rings.
const LONG: Nanos = Nanos::from_millis(10);
/// Between two looks at a worker that is done and whose process is about to end.
const LEAVING: Nanos = Nanos::from_micros(100);
/// More workers than this are a crowd.
const CROWD: usize = 64;
/// Between two looks for workers that ended without a word.
const DEAD: Nanos = Nanos::from_millis(50);
/// Nobody knows how long it will still take before it has lasted this long.
pub(super) const NO_ESTIMATE_UNTIL: Nanos = Nanos::from_secs(2);

/// What the parent saw.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// How each worker ended; `None` when it never started.
    pub(crate) ends: Vec<Option<End>>,
    /// The signal that cut the run short.
    pub(crate) signal: Option<i32>,
    /// From the start of the first worker to the end of the last.
    pub(crate) elapsed: Nanos,
    /// How long it will still take, as far as that is known.
    pub(crate) remaining: Option<Nanos>,
    /// What the disks below the files did.
    pub(crate) devices: Vec<DeviceUsage>,
    /// What the disks at the bottom moved.
    pub(crate) lowest_traffic: Option<LowestTraffic>,
    /// What was seen beside the workers.
    pub(crate) monitored: Option<Monitored>,
    /// Whether workers are left that do not end.
    pub(crate) leaves_some: bool,
    /// By the run's clock: until when all this was seen.
    pub(crate) until: Nanos,
    /// What groups that settle as one have come to.
    pub(crate) settling: Settling,
}

/// The parent while workers run.
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
    pub(super) devices: DeviceWatch,
    recorder: Recorder,
    traffic: TrafficWatch,
    setting_up: Vec<usize>,
    reaped: Vec<bool>,
    /// The plan, where reports of the run so far may be asked for.
    pub(super) plan: Option<&'run Plan>,
    /// Whether the run was ended by a signal to one of its workers, or by the observer.
    ended_by_worker: bool,
    /// When the second request to end came.
    urged_at: Option<Nanos>,
    /// When the last worker was collected.
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
            devices: DeviceWatch::start(root, &paths, now),
            traffic: TrafficWatch::start(root, &paths),
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

    /// Runs until nothing is left to do.
    ///
    /// # Errors
    /// When a worker cannot be started or is lost.
    pub(crate) fn run<'scope>(
        mut self,
        crew: &mut Crew<'run, 'scope>,
        scope: &'scope Scope<'scope, '_>,
        observer: &mut dyn Observer,
        signals: &Signals,
    ) -> Result<Watched, RunError>
    where
        'run: 'scope,
    {
        self.strike_unprepared(crew);
        self.tell_commands(observer);
        loop {
            let heard = bell::heard(&self.shared.controls);
            self.obey(crew, signals);
            self.start(crew, scope)?;
            self.collect(crew)?;
            self.hear(observer);
            if self.schedule.is_over() {
                break;
            }
            if self.gives_up() {
                self.leave_behind(crew);
                break;
            }
            self.settle(crew);
            if !self.ended_by_worker && observer.wants_end(self.elapsed()) {
                self.ended_by_worker = true;
                self.end_all(crew);
            }
            self.sample_devices();
            self.name_stuck(observer);
            self.report(observer);
            self.report_so_far(observer, signals);
            self.pause(heard);
        }
        self.release_unstarted(crew)?;
        self.watched.elapsed = self.elapsed();
        self.watched.until = self.clock.now();
        let seen = self.seen();
        if self.options.progress_interval.is_some() {
            let workers = (0..self.workers.len()).map(|index| self.progress_of(index)).collect();
            observer.ended(&Progress {
                elapsed: self.elapsed(),
                remaining: Some(Nanos::ZERO),
                done: Some(1.0),
                workers,
            });
        }
        self.watched.remaining = (self.watched.elapsed > NO_ESTIMATE_UNTIL).then_some(Nanos::ZERO);
        self.watched.devices = self.devices.finish(self.clock.now());
        self.watched.lowest_traffic = lowest_traffic(&mut self.traffic);
        self.recorder.read_latencies(|| super::latency::so_far(self.workers, self.shared));
        self.watched.monitored = Some(self.recorder.finish(self.clock.now(), &seen));
        Ok(self.watched)
    }

    /// Sleeps until there may be something to do. A crowd is looked at by the clock: each of its bells would mean a
    /// look at all.
    fn pause(&self, heard: u32) {
        let controls = &self.shared.controls;
        let leaving = || (0..self.workers.len()).any(|index| self.is_running(index) && self.has_left(index));
        if self.workers.len() > CROWD {
            let pause = if self.setting_up.is_empty() { LONG } else { SHORT };
            self.clock.sleep_until(self.clock.now().saturating_add(pause));
        } else if leaving() {
            self.clock.sleep_until(self.clock.now().saturating_add(LEAVING));
        } else {
            bell::wait(controls, heard, LONG);
        }
    }

    fn has_left(&self, index: usize) -> bool {
        self.shared.controls[index].left.load(Acquire) != 0
    }

    /// Passes on what workers have to say.
    fn hear(&self, observer: &mut dyn Observer) {
        for control in self.shared.controls.iter() {
            control.notices.hear(&mut |text| observer.finding(text));
        }
    }

    /// Tells of I/O that does not come back.
    fn name_stuck(&mut self, observer: &mut dyn Observer) {
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
        found.iter().for_each(|text| observer.finding(text));
    }

    pub(super) fn elapsed(&self) -> Nanos {
        self.clock.now().saturating_sub(self.started_at)
    }

    /// What jobs run besides their I/O is told once per job.
    fn tell_commands(&self, observer: &mut dyn Observer) {
        for worker in self.workers.iter().filter(|worker| worker.clone == 0) {
            let (name, start) = (&worker.job.name, &worker.job.start);
            for (when, command) in [("prerun", &start.before), ("postrun", &start.after)] {
                if command.is_some() {
                    observer.command(name, when, &format!("{}.{when}.txt", name.replace('/', "_")));
                }
            }
        }
    }

    /// Jobs whose files failed, or that only lay out files, do not start.
    fn strike_unprepared(&mut self, crew: &Crew<'_, '_>) {
        for index in 0..self.workers.len() {
            let failed = self.prepared[index].error.is_some();
            if failed || self.workers[index].job.files.create_only {
                self.schedule.strike(index);
                let along = self.schedule.ended(index, failed);
                // A job whose files failed never ran: as in fio it takes nobody along.
                if !failed {
                    self.end_along(crew, &along);
                }
            }
        }
    }

    fn obey(&mut self, crew: &Crew<'_, '_>, signals: &Signals) {
        self.obey_workers(crew);
        let Some(signal) = signals.received() else { return };
        if self.watched.signal.is_none() {
            self.watched.signal = Some(signal);
            self.end_all(crew);
        }
        if signals.count() > 1 {
            self.urged_at = self.urged_at.or_else(|| Some(self.clock.now()));
            for index in (0..self.workers.len()).filter(|&index| self.is_running(index)) {
                crew.kill(index);
            }
        }
    }

    /// A signal that reached a worker alone ends the run, too, as in fio; its status is that of the jobs.
    fn obey_workers(&mut self, crew: &Crew<'_, '_>) {
        let controls = &self.shared.controls;
        let signalled = || controls.iter().any(|control| control.stop.load(Relaxed) & SIGNALLED != 0);
        if !self.ended_by_worker && signalled() {
            self.ended_by_worker = true;
            self.end_all(crew);
        }
    }

    fn end_all(&mut self, crew: &Crew<'_, '_>) {
        let all: Vec<usize> = (0..self.workers.len()).collect();
        self.end_along(crew, &all);
    }

    /// Whether the second request to end is a while ago, and so is the end of the last worker: who is still there is stuck
    /// in the kernel, where neither a word nor SIGKILL reaches it.
    fn gives_up(&self) -> bool {
        self.urged_at.is_some_and(|at| self.clock.now().saturating_sub(at.max(self.last_end)) > super::PATIENCE)
    }

    /// Goes on without those that do not end.
    fn leave_behind(&mut self, crew: &mut Crew<'run, '_>) {
        for index in (0..self.workers.len()).filter(|&index| self.schedule.standing(index) == Standing::Started) {
            crew.leave(index);
            self.watched.ends[index] = Some(End::Left);
        }
        self.watched.leaves_some = true;
    }

    /// Ends the groups that have settled.
    fn settle(&mut self, crew: &Crew<'_, '_>) {
        let (workers, to) = (self.workers, self.options.tell_to.as_ref());
        let mut tell = |leader: usize, text: &str| Teller::say_of_group(&workers[leader], to, text);
        let settled = self.watched.settling.look(self.clock.now(), self.shared, &mut tell);
        self.end_along(crew, &settled);
    }

    fn end_along(&mut self, crew: &Crew<'_, '_>, indices: &[usize]) {
        for &index in indices {
            if !self.schedule.strike(index) && self.is_running(index) {
                crew.stop(index);
            }
        }
    }

    pub(super) fn is_running(&self, index: usize) -> bool {
        self.schedule.standing(index) == Standing::Started
    }

    /// Lets those set themselves up whose turn has come, and lets them go once all of them are ready.
    fn start<'scope>(&mut self, crew: &mut Crew<'run, 'scope>, scope: &'scope Scope<'scope, '_>) -> Result<(), RunError>
    where
        'run: 'scope,
    {
        for index in self.schedule.startable(self.elapsed()) {
            crew.start(index, scope).map_err(RunError::Thread)?;
            self.schedule.started(index);
            self.setting_up.push(index);
        }
        let ready = |&index: &usize| self.reaped[index] || crew.is_ready(index);
        if !self.setting_up.is_empty() && self.setting_up.iter().all(ready) {
            let turn = std::mem::take(&mut self.setting_up);
            self.recorder.begin_targets(&targets_of(&turn, self.workers, self.prepared));
            if self.workers.iter().any(|worker| worker.job.place.cgroup.is_some()) {
                let seen: Vec<WorkerSeen> = turn.iter().map(|&index| self.seen_of(index)).collect();
                self.recorder.begin_workers(&seen);
            }
            for index in turn {
                crew.go(index);
                self.estimate.started(index, self.clock.now());
            }
        }
        Ok(())
    }

    /// Collects those that ended. Those that say so are looked at each time, the silent ones now and then.
    fn collect(&mut self, crew: &mut Crew<'run, '_>) -> Result<(), RunError> {
        let now = self.clock.now();
        let look_at_all = now.saturating_sub(self.last_dead_check) >= DEAD;
        if look_at_all {
            self.last_dead_check = now;
        }
        for index in 0..self.workers.len() {
            let finishing = || self.state(index) == WorkerState::Finishing as u32;
            if !self.is_running(index) || !(look_at_all || finishing()) {
                continue;
            }
            self.recorder.look_at(index, &self.seen_of(index));
            let Some(end) = crew.collect(index)? else { continue };
            self.watched.ends[index] = Some(end);
            self.last_end = now;
            self.reaped[index] = true;
            let control = &self.shared.controls[index];
            control.state.store(WorkerState::Reaped as u32, Relaxed);
            self.remove_group_of(index);
            let along = self.schedule.ended(index, self.failed(index, end));
            self.unlink_files_of(index);
            self.end_along(crew, &along);
        }
        Ok(())
    }

    fn failed(&self, index: usize, end: End) -> bool {
        let faulty = || self.shared.records.snapshot(index).is_none_or(|record| record.fault.errno != 0);
        !matches!(end, End::Returned) || faulty()
    }

    /// Removes the control group of a worker, unless others are still in it: the last one takes it away.
    fn remove_group_of(&self, index: usize) {
        if let Some(plan) = self.workers[index].job.place.cgroup.as_ref().filter(|plan| !plan.keep)
            && let Ok(group) = sys::iogroup::IoGroup::make(&self.options.system_root, &plan.name, None)
        {
            // It is busy while another worker is in it.
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

    /// Processes whose turn never came wait at their gates; they are told to go home.
    fn release_unstarted(&mut self, crew: &mut Crew<'run, '_>) -> Result<(), RunError> {
        let unstarted = |&index: &usize| !self.reaped[index] && !self.is_running(index);
        let left: Vec<usize> = (0..self.workers.len()).filter(unstarted).collect();
        for &index in &left {
            crew.stop(index);
        }
        for index in left {
            if self.workers[index].job.isolation == Isolation::Process {
                crew.wait(index)?;
            }
        }
        Ok(())
    }

    fn sample_devices(&mut self) {
        let now = self.clock.now();
        if self.recorder.is_due(now) {
            self.devices.sample(now);
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
        observer.progress(&Progress { elapsed: self.elapsed(), remaining, done, workers });
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

/// The state with this number.
fn state_of(number: u32) -> WorkerState {
    use WorkerState::{Finishing, Flushing, PreReading, Ramping, Reaped, Running, SettingUp, Verifying, Waiting};
    let all = [Waiting, SettingUp, Ramping, PreReading, Running, Verifying, Flushing, Finishing, Reaped];
    all.into_iter().find(|&state| state as u32 == number).unwrap_or_default()
}
