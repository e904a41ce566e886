//! The parent's event loop: starts and reaps workers, reports progress, handles signals.

use super::estimate::Estimate;
use super::group_steady_state::GroupSteadyState;
use super::prepare::{targets_of, targets_read, watched_paths};
use super::schedule::{Schedule, Standing, WorkerOutcome};
use super::stuck::{PATIENCE, StuckCalls, WatchedThread};
use super::workers::{RunInputs, WorkerEnd, WorkerPool};
use crate::shared::control::{GIVE_WAY, Gate, SIGNALLED};
use crate::shared::{gate, wakeup};
use crate::signals::Signals;
use crate::worker::DebugLog;
use crate::{Event, Monitoring, Observer, Progress, Request, RunError, Start, WorkerProgress, WorkerState};
use measure::{Clock, Nanos, PerDirection, SplitMix};
use model::{DeviceUsage, LowestTraffic, Monitored};
use monitor::{Account, Recorder, RunRecording, WorkerSeen};
use plan::{AfterRuntime, Isolation};
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
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
/// Time before an agreed start at which the recorder begins again. It takes some milliseconds.
const PREPARE_START: Nanos = Nanos::from_millis(100);
/// No remaining time is estimated before the run has lasted this long.
pub(super) const NO_ESTIMATE_UNTIL: Nanos = Nanos::from_secs(2);

/// The state of a run as the parent sees it, except for the records of the workers.
#[derive(Debug, Default)]
pub(crate) struct RunState {
    /// The end of each worker; `None` if it never started.
    pub(crate) ends: Vec<Option<WorkerEnd>>,
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
    /// Start of the first workers, on the run's clock.
    pub(crate) from: Nanos,
    /// End of the observation, on the run's clock.
    pub(crate) until: Nanos,
    /// Groups that reach steady state together.
    pub(crate) groups: GroupSteadyState,
}

impl RunState {
    /// True if workers are stuck in the kernel and were abandoned.
    pub(crate) fn has_stuck_workers(&self) -> bool {
        self.ends.iter().any(|end| matches!(end, Some(WorkerEnd::Abandoned)))
    }
}

/// The start of the first workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstStart {
    /// They are set up.
    SettingUp,
    /// They wait for the caller.
    Waiting,
    /// They have started.
    Over,
}

/// The parent's loop while workers run.
pub(crate) struct EventLoop<'run> {
    pub(super) run: RunInputs<'run>,
    pub(super) schedule: Schedule<'run>,
    pub(super) estimate: Estimate,
    started_at: Nanos,
    last_dead_check: Nanos,
    next_progress: Nanos,
    stuck: StuckCalls,
    /// `None` if nothing but the jobs is recorded.
    pub(super) recorder: Option<Recorder>,
    setting_up: Vec<usize>,
    first_start: FirstStart,
    reaped: Vec<bool>,
    /// True once all workers were asked to end: by a signal to this process or a worker, or by the observer.
    is_ending: bool,
    /// True once the observer knows that the runtime of all workers has passed, or if no worker waits after it.
    is_out_of_time: bool,
    /// Time of the second request to end.
    urged_at: Option<Nanos>,
    /// Time at which the last worker was reaped.
    last_end: Nanos,
    pub(super) state: RunState,
}

impl<'run> EventLoop<'run> {
    pub(crate) fn new(run: RunInputs<'run>) -> Self {
        let RunInputs { workers, prepared, options, .. } = run;
        let mut words = SplitMix::new(super::prepare::system_seed());
        let draw = move || words.next_word();
        let now = run.clock.now();
        let (root, paths) = (&options.system_root, watched_paths(workers, prepared));
        EventLoop {
            run,
            schedule: Schedule::new(workers, draw),
            estimate: Estimate::new(workers, prepared),
            started_at: now,
            last_dead_check: now,
            next_progress: options.progress_interval.map_or(Nanos::MAX, |interval| now.saturating_add(interval)),
            stuck: StuckCalls::default(),
            recorder: (options.monitoring == Monitoring::Full)
                .then(|| Recorder::start(root, &paths, options.device_interval, now).at(options.pace)),
            setting_up: Vec::new(),
            first_start: FirstStart::SettingUp,
            reaped: vec![false; workers.len()],
            is_ending: false,
            is_out_of_time: workers.iter().all(|worker| worker.job.limits.after_runtime == AfterRuntime::End),
            urged_at: None,
            last_end: now,
            state: RunState {
                ends: vec![None; workers.len()],
                from: now,
                groups: GroupSteadyState::new(workers, run.groups),
                ..RunState::default()
            },
        }
    }

    /// Starts the workers that are due at once, whose gates are then open. A thread that would have to sleep at its
    /// gate is woken where other work has been in the caches meanwhile. Fails if a worker cannot be started.
    pub(crate) fn begin<'scope>(
        &mut self,
        pool: &mut WorkerPool<'run, 'scope>,
        scope: &'scope Scope<'scope, '_>,
        observer: &mut dyn Observer,
        signals: &Signals,
    ) -> Result<(), RunError>
    where
        'run: 'scope,
    {
        self.skip_unprepared();
        self.announce_commands(observer);
        self.handle_signals(pool, observer, signals);
        self.start(pool, scope, observer)
    }

    /// Runs until all workers have ended; [`EventLoop::begin`] comes first. Fails if a worker cannot be started or
    /// waited for.
    pub(crate) fn run<'scope>(
        mut self,
        pool: &mut WorkerPool<'run, 'scope>,
        scope: &'scope Scope<'scope, '_>,
        observer: &mut dyn Observer,
        signals: &Signals,
    ) -> Result<RunState, RunError>
    where
        'run: 'scope,
    {
        loop {
            // Read before anything is polled: a wake-up during this turn then ends the wait at once.
            let seen_wakeups = wakeup::count(&self.run.shared.controls);
            self.handle_signals(pool, observer, signals);
            self.start(pool, scope, observer)?;
            self.collect(pool)?;
            self.pass_on_notices(observer);
            if self.schedule.is_over() {
                break;
            }
            if self.has_waited_long_enough() {
                self.abandon_workers(pool);
                break;
            }
            self.end_steady_groups();
            let requests = self.requests(observer);
            for request in &requests {
                match request {
                    Request::End => self.end_run(observer),
                    Request::GoOnUntil(ios) => self.go_on_until(*ios),
                    Request::Report | Request::Save => {}
                }
            }
            self.announce_end_of_time(observer);
            self.sample_devices(observer);
            self.report_stuck(observer);
            self.report(observer);
            self.report_so_far(&requests, observer, signals);
            self.pause(seen_wakeups);
        }
        self.release_unstarted(pool)?;
        self.state.elapsed = self.elapsed();
        self.state.until = self.run.clock.now();
        let seen = self.seen();
        if self.run.options.progress_interval.is_some() {
            let workers = self.progress();
            observer.event(Event::Ended(&Progress {
                elapsed: self.elapsed(),
                remaining: Some(Nanos::ZERO),
                done: Some(1.0),
                workers,
            }));
        }
        self.state.remaining = (self.state.elapsed > NO_ESTIMATE_UNTIL).then_some(Nanos::ZERO);
        if let Some(mut recorder) = self.recorder {
            recorder.read_latencies(|| super::latency::so_far(self.run.workers, self.run.shared));
            let RunRecording { devices, lowest_traffic, mut monitored, latest } =
                recorder.finish(self.run.clock.now(), &seen);
            observer.event(Event::Sampled { so_far: &monitored, latest: &latest });
            (self.state.devices, self.state.lowest_traffic) = (devices, lowest_traffic);
            // A device that does not respond would hold this process, too.
            if self.state.signal.is_none() && !self.state.has_stuck_workers() {
                let read = targets_read(self.run.workers, self.run.prepared);
                monitor::sample_contents(&read, &mut monitored);
            }
            self.state.monitored = Some(monitored);
        }
        Ok(self.state)
    }

    /// The observer's requests that are pending, each once.
    fn requests(&self, observer: &mut dyn Observer) -> Vec<Request> {
        let mut requests = Vec::new();
        while let Some(request) = observer.request(self.elapsed())
            && !requests.contains(&request)
        {
            requests.push(request);
        }
        requests
    }

    /// Says once that all workers that still run wait after their runtime.
    fn announce_end_of_time(&mut self, observer: &mut dyn Observer) {
        let controls = &self.run.shared.controls;
        let waits = |index: usize| controls[index].out_of_time.load(Acquire) != 0;
        let at_work = |index: usize| !self.reaped[index] && !waits(index);
        if self.is_out_of_time || !self.all().any(waits) || self.all().any(at_work) {
            return;
        }
        self.is_out_of_time = true;
        let ios: Vec<u64> = self.all().map(|index| controls[index].measured_ios()).collect();
        observer.event(Event::OutOfTime(&ios));
    }

    /// Lets the workers that wait after their runtime go on.
    fn go_on_until(&self, ios: u64) {
        for control in self.run.shared.controls.iter() {
            control.until_ios.store(ios.saturating_add(1), Release);
        }
    }

    /// Sleeps until there may be something to do. With many workers it sleeps for a fixed time, because every wake-up
    /// means a pass over all of them. A worker process that has finished rings no bell when it exits, so it is polled
    /// at a short interval.
    fn pause(&self, seen_wakeups: u32) {
        let controls = &self.run.shared.controls;
        let is_process = |index: usize| self.run.workers[index].job.isolation == Isolation::Process;
        let is_exiting =
            |index: usize| self.is_running(index) && is_process(index) && controls[index].exiting.load(Acquire) != 0;
        if self.run.workers.len() > MANY_WORKERS {
            let pause = if self.setting_up.is_empty() { POLL_RUN } else { POLL_SETUP };
            self.run.clock.sleep_until(self.run.clock.now().saturating_add(pause));
        } else if self.all().any(is_exiting) {
            self.run.clock.sleep_until(self.run.clock.now().saturating_add(POLL_EXIT));
        } else {
            wakeup::wait(controls, seen_wakeups, POLL_RUN);
        }
    }

    /// Passes the workers' messages to the observer.
    fn pass_on_notices(&self, observer: &mut dyn Observer) {
        for control in self.run.shared.controls.iter() {
            control.notices.receive(&mut |text| observer.event(Event::Finding(text)));
        }
    }

    /// Reports I/O that is stuck.
    fn report_stuck(&mut self, observer: &mut dyn Observer) {
        let now = self.run.clock.now();
        if !self.stuck.is_due(now) {
            return;
        }
        let mut stuck = std::mem::take(&mut self.stuck);
        let watched = self.all().filter(|&index| self.is_running(index)).filter_map(|index| {
            let job = self.run.workers[index].job;
            let thread = self.thread_of(index, |other| self.is_running(other))?;
            let limit = job.limits.stuck_after?;
            Some(WatchedThread { index, job: &job.name, thread, limit })
        });
        let found = stuck.sample(now, &self.run.options.system_root, watched);
        self.stuck = stuck;
        found.iter().for_each(|text| observer.event(Event::Finding(text)));
    }

    pub(super) fn elapsed(&self) -> Nanos {
        self.run.clock.now().saturating_sub(self.started_at)
    }

    /// Reports the commands of jobs, once per job.
    fn announce_commands(&self, observer: &mut dyn Observer) {
        for worker in self.run.workers.iter().filter(|worker| worker.clone == 0) {
            let (name, start) = (&worker.job.name, &worker.job.start);
            for (when, command) in [("prerun", &start.before), ("postrun", &start.after)] {
                if command.is_some() {
                    let file = format!("{name}.{when}.txt");
                    observer.event(Event::Command { job: name, when, file: &file });
                }
            }
        }
    }

    /// Removes jobs from the schedule whose files failed, or that only lay out files.
    fn skip_unprepared(&mut self) {
        for index in self.all() {
            let failed = self.run.prepared[index].error.is_some();
            if failed || self.run.workers[index].job.files.create_only {
                self.schedule.remove_pending(index);
                let outcome = if failed { WorkerOutcome::Failed } else { WorkerOutcome::Completed };
                let ending = self.schedule.ended(index, outcome);
                // A job whose layout failed never ran: as in fio it does not end other jobs (exitall_on_error).
                if !failed {
                    self.end(ending);
                }
            }
        }
    }

    fn handle_signals(&mut self, pool: &WorkerPool<'_, '_>, observer: &mut dyn Observer, signals: &Signals) {
        // A signal sent to a single worker ends the whole run too, as in fio; the exit status is that of the jobs.
        let mut controls = self.run.shared.controls.iter();
        if !self.is_ending && controls.any(|control| control.stop.load(Relaxed) & SIGNALLED != 0) {
            self.end_run(observer);
        }
        let Some(signal) = signals.received() else { return };
        if self.state.signal.is_none() {
            self.state.signal = Some(signal);
            self.end_run(observer);
        }
        if signals.count() > 1 {
            self.urged_at = self.urged_at.or_else(|| Some(self.run.clock.now()));
            self.all().filter(|&index| self.is_running(index)).for_each(|index| pool.kill(index));
        }
    }

    /// Asks all workers to end; only the first call has an effect.
    fn end_run(&mut self, observer: &mut dyn Observer) {
        if !std::mem::replace(&mut self.is_ending, true) {
            self.end(self.all());
            observer.event(Event::Ending);
        }
    }

    /// True if 0.5 s have passed since the second request to end, and since the last worker ended: the remaining
    /// workers are in an uninterruptible system call, which neither the stop flag nor SIGKILL ends.
    fn has_waited_long_enough(&self) -> bool {
        self.urged_at.is_some_and(|at| self.run.clock.now().saturating_sub(at.max(self.last_end)) > PATIENCE)
    }

    /// Gives up on the workers that do not end.
    fn abandon_workers(&mut self, pool: &mut WorkerPool<'run, '_>) {
        for index in self.all() {
            if self.is_running(index) {
                pool.abandon(index);
                self.state.ends[index] = Some(WorkerEnd::Abandoned);
            }
        }
    }

    /// Ends the groups that have reached steady state.
    fn end_steady_groups(&mut self) {
        let RunInputs { workers, options, shared, clock, .. } = self.run;
        let mut log =
            |leader: usize, text: &str| DebugLog::group_line(&workers[leader], options.debug_log.as_ref(), text);
        let steady = self.state.groups.sample(clock.now(), shared, &mut log);
        self.end(steady);
    }

    /// Asks these workers to end, or removes them from the schedule if they have not started.
    fn end(&mut self, indices: impl IntoIterator<Item = usize>) {
        for index in indices {
            if !self.schedule.remove_pending(index) && self.is_running(index) {
                gate::stop(&self.run.shared.controls[index]);
            }
        }
    }

    /// The indices of all workers.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.run.workers.len()
    }

    pub(super) fn is_running(&self, index: usize) -> bool {
        self.schedule.standing(index) == Standing::Started
    }

    /// Opens the gate for set-up of the workers that are due, and the gate for I/O once all of them are ready.
    fn start<'scope>(
        &mut self,
        pool: &mut WorkerPool<'run, 'scope>,
        scope: &'scope Scope<'scope, '_>,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError>
    where
        'run: 'scope,
    {
        // Delays count from the start of the first workers.
        if self.first_start != FirstStart::Waiting {
            for index in self.schedule.startable(self.elapsed()) {
                pool.start(index, scope).map_err(RunError::Thread)?;
                self.schedule.started(index);
                self.setting_up.push(index);
            }
        }
        let ready = |&index: &usize| {
            self.is_alone_and_unseen() || self.reaped[index] || self.run.shared.controls[index].ready.load(Acquire) != 0
        };
        if !self.setting_up.is_empty() && self.setting_up.iter().all(ready) {
            let Some(at) = self.start_time(observer) else { return Ok(()) };
            let turn = std::mem::take(&mut self.setting_up);
            self.begin_recording(&turn);
            self.run.clock.sleep_until(at);
            for index in turn {
                gate::open(&self.run.shared.controls[index], Gate::Go);
                self.estimate.started(index, self.run.clock.now());
            }
        }
        Ok(())
    }

    /// True if the only worker may do I/O as soon as it is set up: there are no others, and nothing is recorded from
    /// its start on.
    fn is_alone_and_unseen(&self) -> bool {
        self.run.workers.len() == 1 && self.recorder.is_none()
    }

    /// The time at which workers that are set up start; `None` if the first ones have to wait. Once their time comes
    /// near, the recorder begins again: nothing was measured until then.
    fn start_time(&mut self, observer: &mut dyn Observer) -> Option<Nanos> {
        let now = self.run.clock.now();
        let left = match self.first_start {
            FirstStart::Over => return Some(now),
            _ => match observer.start() {
                Start::Now if self.first_start == FirstStart::SettingUp => {
                    self.first_start = FirstStart::Over;
                    return Some(now);
                }
                Start::Now => Nanos::ZERO,
                Start::After(left) if left <= PREPARE_START => left,
                Start::After(_) | Start::Wait => {
                    self.first_start = FirstStart::Waiting;
                    return None;
                }
            },
        };
        let at = now.saturating_add(left);
        self.first_start = FirstStart::Over;
        for &index in &self.setting_up {
            self.run.shared.controls[index].stop.fetch_or(GIVE_WAY, Relaxed);
        }
        (self.started_at, self.state.from) = (at, at);
        let RunInputs { workers, prepared, options, .. } = self.run;
        self.next_progress = options.progress_interval.map_or(Nanos::MAX, |interval| at.saturating_add(interval));
        self.recorder = self.recorder.take().map(|_| {
            let paths = watched_paths(workers, prepared);
            Recorder::start(&options.system_root, &paths, options.device_interval, at).at(options.pace)
        });
        Some(at)
    }

    /// Reaps workers that have ended. Those in state Finishing are checked at each turn, the others every 50 ms, to
    /// notice one that died without reporting.
    fn collect(&mut self, pool: &mut WorkerPool<'run, '_>) -> Result<(), RunError> {
        let now = self.run.clock.now();
        let look_at_all = now.saturating_sub(self.last_dead_check) >= CHECK_DEAD;
        if look_at_all {
            self.last_dead_check = now;
        }
        for index in self.all() {
            let finishing = || self.state(index) == WorkerState::Finishing as u32;
            if !self.is_running(index) || !(look_at_all || finishing()) {
                continue;
            }
            let seen = self.seen_of(index);
            if let Some(recorder) = &mut self.recorder {
                recorder.read_worker(index, &seen);
            }
            let Some(end) = pool.collect(index)? else { continue };
            self.state.ends[index] = Some(end);
            self.last_end = now;
            self.reaped[index] = true;
            self.run.shared.controls[index].state.store(WorkerState::Reaped as u32, Relaxed);
            self.remove_group_of(index);
            if !matches!(end, WorkerEnd::Returned) {
                super::zones::abandon(self.run.workers, self.run.prepared, index);
            }
            let ending = self.schedule.ended(index, self.outcome(index, end));
            if self.run.workers[index].job.files.unlink {
                crate::files::unlink(&self.run.prepared[index].files);
            }
            self.end(ending);
        }
        Ok(())
    }

    fn outcome(&self, index: usize, end: WorkerEnd) -> WorkerOutcome {
        if !matches!(end, WorkerEnd::Returned) || self.run.is_faulty(index) {
            WorkerOutcome::Failed
        } else {
            WorkerOutcome::Completed
        }
    }

    /// Removes the cgroup of a worker, unless other workers are still in it; the last one removes it.
    fn remove_group_of(&self, index: usize) {
        if let Some(plan) = self.run.workers[index].job.place.cgroup.as_ref().filter(|plan| !plan.keep)
            && let Ok(group) = sys::processes::io_group::IoGroup::make(&self.run.options.system_root, &plan.name, None)
        {
            // EBUSY while another worker is in it.
            let _ = group.remove();
        }
    }

    pub(super) fn state(&self, index: usize) -> u32 {
        self.run.shared.controls[index].state.load(Acquire)
    }

    /// Releases processes that wait at their gates and will not be started.
    fn release_unstarted(&mut self, pool: &mut WorkerPool<'run, '_>) -> Result<(), RunError> {
        let unstarted = |&index: &usize| !self.reaped[index] && !self.is_running(index);
        let unstarted: Vec<usize> = self.all().filter(unstarted).collect();
        for &index in &unstarted {
            gate::stop(&self.run.shared.controls[index]);
        }
        for index in unstarted {
            if self.run.workers[index].job.isolation == Isolation::Process {
                pool.wait(index)?;
            }
        }
        Ok(())
    }

    fn sample_devices(&mut self, observer: &mut dyn Observer) {
        let now = self.run.clock.now();
        if !self.recorder.as_ref().is_some_and(|recorder| recorder.is_due(now)) {
            return;
        }
        let seen = self.seen();
        if let Some(recorder) = &mut self.recorder {
            recorder.read_latencies(|| super::latency::so_far(self.run.workers, self.run.shared));
            recorder.sample(now, &seen);
            observer.event(Event::Sampled { so_far: recorder.so_far(), latest: recorder.latest() });
        }
    }

    /// Records the targets and control groups of workers that are about to start.
    fn begin_recording(&mut self, turn: &[usize]) {
        let any_group = self.run.workers.iter().any(|worker| worker.job.place.cgroup.is_some());
        let seen: Vec<WorkerSeen> = turn.iter().filter(|_| any_group).map(|&index| self.seen_of(index)).collect();
        let Some(recorder) = &mut self.recorder else { return };
        recorder.begin_targets(&targets_of(turn, self.run.workers, self.run.prepared));
        if any_group {
            recorder.begin_workers(&seen);
        }
    }

    fn seen(&self) -> Vec<WorkerSeen> {
        self.all().map(|index| self.seen_of(index)).collect()
    }

    fn seen_of(&self, index: usize) -> WorkerSeen {
        let control = &self.run.shared.controls[index];
        WorkerSeen {
            // Its counters are those of all workers that share it, so one of them has them.
            thread: self.thread_of(index, |_| true),
            account: match self.run.workers[index].job.isolation {
                Isolation::Process => Account::Process,
                Isolation::Thread => Account::Thread,
            },
            measuring: self.state(index) == WorkerState::Running as u32,
            bytes: control.bytes.each_ref().map(|bytes| bytes.load(Relaxed)),
            ios: control.ios.each_ref().map(|ios| ios.load(Relaxed)),
        }
    }

    /// The thread of a worker, if no other worker stands for it: of several that take turns, the first of those that
    /// `may`.
    fn thread_of(&self, index: usize, may: impl Fn(usize) -> bool) -> Option<u32> {
        let thread = self.run.shared.controls[index].thread()?;
        let sharers = |other: &usize| self.run.shared.controls[*other].thread() == Some(thread);
        let shares = self.run.workers[index].job.shares_threads();
        (!shares || !(0..index).rev().take_while(sharers).any(may)).then_some(thread)
    }

    fn report(&mut self, observer: &mut dyn Observer) {
        let (now, Some(interval)) = (self.run.clock.now(), self.run.options.progress_interval) else { return };
        if now < self.next_progress {
            return;
        }
        self.next_progress = now.saturating_add(interval);
        let workers = self.progress();
        let (done, remaining) = self.estimate.at(now, &workers, &self.schedule);
        observer.event(Event::Progress(&Progress { elapsed: self.elapsed(), remaining, done, workers }));
    }

    /// The progress of all workers.
    pub(super) fn progress(&self) -> Vec<WorkerProgress> {
        self.all().map(|index| self.progress_of(index)).collect()
    }

    fn progress_of(&self, index: usize) -> WorkerProgress {
        let control = &self.run.shared.controls[index];
        let [read, write, trim] = control.bytes.each_ref().map(|bytes| bytes.load(Relaxed));
        let bytes = PerDirection { read, write, trim };
        let [read, write, trim] = control.ios.each_ref().map(|ios| ios.load(Relaxed));
        WorkerProgress {
            job_index: self.run.workers[index].job_index,
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
