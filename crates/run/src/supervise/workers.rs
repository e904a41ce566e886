//! The workers as processes and threads: forked or spawned, monitored, stopped, reaped.

use super::prepare::WorkerInput;
use crate::calibration::Share;
use crate::drive::SpareBuffers;
use crate::shared::capabilities::{has, spec};
use crate::shared::control::{Control, Gate, SIGNALLED, STOP};
use crate::shared::group_state::GroupState;
use crate::shared::priorities::PriorityRecord;
use crate::shared::record::{Fault, Mailbox, Record};
use crate::shared::virtual_intervals::IntervalRecord;
use crate::shared::{gate, wakeup};
use crate::worker::{Together, Turn, WorkerRecords, WorkerSetup, end, work};
use crate::{RunOptions, VirtualIntervals};
use measure::SystemClock;
use plan::option::Effect;
use plan::{Isolation, JobPlan, Plan, WorkerPlan};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::thread::{Scope, ScopedJoinHandle};
use sys::SysError;
use sys::machine::shared_memory::{SharedBlocks, SharedRecords};
use sys::processes::process::{Child, ChildEnd, Exit, KILL};

/// The memory that workers and parent share.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    /// One control block per worker.
    pub(crate) controls: SharedBlocks<Control>,
    /// One record per worker.
    pub(crate) records: SharedRecords<Record>,
    /// Latencies by priority, one record per worker, in runs where the I/Os of one worker have different priorities.
    pub(crate) priorities: Option<SharedRecords<PriorityRecord>>,
    /// Intervals in virtual time, one record per worker, in runs that ask for them.
    pub(crate) intervals: Option<SharedRecords<IntervalRecord>>,
    /// Copies of the records of threads, on request; not shared between processes.
    pub(crate) mailboxes: Vec<Mailbox>,
}

impl SharedMemory {
    /// Maps the memory for these workers.
    pub(crate) fn new(plan: &Plan, options: &RunOptions, workers: usize) -> Result<Self, SysError> {
        let [raises_priority, keeps_intervals] = [raises_priority(plan), keeps_intervals(plan, options)];
        Ok(SharedMemory {
            controls: SharedBlocks::new(workers)?,
            records: SharedRecords::new(workers)?,
            priorities: raises_priority.then(|| SharedRecords::new(workers)).transpose()?,
            intervals: keeps_intervals.then(|| SharedRecords::new(workers)).transpose()?,
            mailboxes: (0..workers).map(|_| Mailbox::default()).collect(),
        })
    }

    /// Memory for a lone worker that is a thread: what the last one left, cleared, or new.
    pub(crate) fn again(kept: &mut Vec<SharedMemory>, plan: &Plan, options: &RunOptions) -> Result<Self, SysError> {
        match kept.pop().filter(|_| !raises_priority(plan) && !keeps_intervals(plan, options)) {
            Some(memory) => Ok(memory),
            None => SharedMemory::new(plan, options, 1),
        }
    }

    /// Leaves the memory of a lone worker with this job, which has ended, to the next one. New memory for each pass
    /// would have its pages allocated, and when it is freed the kernel empties the TLB of the thread, whose next pass
    /// then walks page tables in its measured time.
    pub(crate) fn keep(mut self, job: &JobPlan, kept: &mut Vec<SharedMemory>) {
        if self.priorities.is_some() || self.intervals.is_some() {
            return;
        }
        self.controls.clear(Control::HEAD);
        self.records.clear(Record::HEAD, |_, record| record.written_parts(job));
        self.mailboxes.fill_with(Mailbox::default);
        kept.push(self);
    }
}

/// True if the I/Os of a worker may have different priorities.
fn raises_priority(plan: &Plan) -> bool {
    plan.jobs.iter().any(|job| has(job, Effect::RaisesPriority))
}

/// True if the intervals of workers in virtual time are asked for, and a worker has such a clock.
fn keeps_intervals(plan: &Plan, options: &RunOptions) -> bool {
    options.virtual_intervals == VirtualIntervals::Kept
        && plan.jobs.iter().any(|job| spec(job).is_some_and(|engine| engine.capabilities.virtual_time))
}

/// The inputs of a run, complete before its workers start. Slices have one entry per worker.
#[derive(Clone, Copy)]
pub(crate) struct RunInputs<'run> {
    pub(crate) plan: &'run Plan,
    pub(crate) workers: &'run [WorkerPlan<'run>],
    pub(crate) prepared: &'run [WorkerInput],
    pub(crate) groups: &'run [GroupState],
    pub(crate) shared: &'run SharedMemory,
    pub(crate) options: &'run RunOptions,
    pub(crate) clock: SystemClock,
    /// The buffers that the last worker left.
    pub(crate) spare: &'run SpareBuffers,
    /// The tool's share in the latencies of each job; empty without a calibration.
    pub(crate) shares: &'run [Option<Share>],
}

impl RunInputs<'_> {
    /// True if a worker that has left its record had an error, or left none.
    pub(super) fn is_faulty(&self, index: usize) -> bool {
        let fault = self.shared.records.part::<Fault>(index, offset_of!(Record, fault));
        fault.is_none_or(|fault| fault.errno().is_some())
    }
}

/// All workers of a run.
pub(crate) struct WorkerPool<'run, 'scope> {
    run: RunInputs<'run>,
    /// Seed of jobs whose plan has none.
    system_seed: u64,
    handles: Vec<WorkerHandle<'scope>>,
    /// The processes and threads that several workers share.
    hosts: Vec<Host<'scope>>,
}

/// The process or thread of a worker.
enum WorkerHandle<'scope> {
    /// A thread that is not spawned yet, or a worker that has been reaped or abandoned.
    None,
    Process(Child),
    Thread(WorkerThread<'scope>),
    /// The host with this index.
    Shared(usize),
}

/// A process or thread whose workers take turns (`jobs_per_thread`).
struct Host<'scope> {
    /// Its workers.
    workers: Range<usize>,
    handle: WorkerHandle<'scope>,
    /// Number of workers that have not been reaped.
    left: usize,
    end: Option<WorkerEnd>,
}

/// The thread of a worker.
struct WorkerThread<'scope> {
    has_ended: Arc<AtomicBool>,
    /// `None` for the standing thread of a [`crate::Runner`], which outlives the worker.
    handle: Option<ScopedJoinHandle<'scope, ()>>,
}

/// A worker that is to run on a thread.
pub(crate) struct ThreadWork<'run> {
    /// Its workers: one, or several that take turns.
    setups: Vec<WorkerSetup<'run>>,
    shared: &'run SharedMemory,
    /// Index of the first.
    index: usize,
    end: ThreadEnd<'run>,
}

impl ThreadWork<'_> {
    pub(crate) fn run(self) {
        let _blocked = crate::signals::block_in_thread();
        run_all(&self.setups, self.shared, self.index);
        drop(self.end);
    }
}

/// Reports, when dropped, that a worker's thread has nothing left to do, also if the worker panicked.
struct ThreadEnd<'run> {
    has_ended: Arc<AtomicBool>,
    controls: &'run SharedBlocks<Control>,
}

impl Drop for ThreadEnd<'_> {
    fn drop(&mut self) {
        self.has_ended.store(true, Release);
        wakeup::notify(self.controls);
    }
}

/// The end of a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkerEnd {
    /// It returned.
    Returned,
    /// Its process exited without finishing its work (a panic).
    Exited(Exit),
    /// A signal killed its process.
    Killed(Exit, i32),
    /// It has not ended: it is in an uninterruptible system call, and is not waited for any more.
    Abandoned,
}

impl<'run, 'scope> WorkerPool<'run, 'scope> {
    /// Forks all process workers at once, before this process has any threads: a fork copies only the calling thread,
    /// so a lock that another thread holds would stay locked in the child. The processes wait at their gates. Fails if
    /// the kernel refuses a process; those that were forked already are ended.
    pub(crate) fn fork(run: RunInputs<'run>) -> Result<Self, SysError> {
        let system_seed = super::prepare::system_seed();
        let mut pool =
            WorkerPool { run, system_seed, handles: Vec::with_capacity(run.workers.len()), hosts: Vec::new() };
        for workers in sharers(run.workers) {
            let first = &run.workers[workers.start];
            let handle = match first.job.isolation {
                Isolation::Process => WorkerHandle::Process(pool.fork_one(workers.clone())?),
                Isolation::Thread => WorkerHandle::None,
            };
            if first.job.shares_threads() {
                pool.handles.extend(workers.clone().map(|_| WorkerHandle::Shared(pool.hosts.len())));
                pool.hosts.push(Host { left: workers.len(), workers, handle, end: None });
            } else {
                pool.handles.push(handle);
            }
        }
        Ok(pool)
    }

    /// Forks a process for these workers.
    fn fork_one(&self, workers: Range<usize>) -> Result<Child, SysError> {
        let (run, first) = (self.run, workers.start);
        let setups: Vec<WorkerSetup<'run>> = workers.map(|index| self.setup(index)).collect();
        sys::processes::process::fork(&run.options.system_root, || {
            die_with_parent();
            // A signal sent to this process alone ends its first worker, and the parent sees SIGNALLED.
            let flag = &run.shared.controls[first].stop;
            let ran = crate::signals::with_signal_bits(flag, STOP | SIGNALLED, || run_all(&setups, run.shared, first));
            u8::from(ran.is_err())
        })
    }

    fn setup(&self, index: usize) -> WorkerSetup<'run> {
        let RunInputs { workers, prepared, groups, shared, options, clock, spare, .. } = self.run;
        WorkerSetup {
            plan: workers[index],
            files: &prepared[index].files,
            zones: &prepared[index].zones,
            replay: prepared[index].replay.as_ref(),
            control: &shared.controls[index],
            mailbox: &shared.mailboxes[index],
            controls: &shared.controls,
            group: &groups[index],
            root: &options.system_root,
            clock,
            system_seed: self.system_seed,
            debug_log_to: options.debug_log.as_ref(),
            spare,
        }
    }

    /// The first worker, to be run on a standing thread. It waits at its gate.
    pub(crate) fn first_on_thread(&mut self) -> ThreadWork<'run> {
        let (work, thread) = self.on_thread(0..1);
        self.handles[0] = WorkerHandle::Thread(thread);
        work
    }

    fn on_thread(&self, workers: Range<usize>) -> (ThreadWork<'run>, WorkerThread<'scope>) {
        let (shared, index) = (self.run.shared, workers.start);
        let setups = workers.map(|index| self.setup(index)).collect();
        let has_ended = Arc::new(AtomicBool::new(false));
        let end = ThreadEnd { has_ended: Arc::clone(&has_ended), controls: &shared.controls };
        (ThreadWork { setups, shared, index, end }, WorkerThread { has_ended, handle: None })
    }

    /// Opens the gate for set-up; a thread is spawned first, unless the worker has one.
    pub(crate) fn start(&mut self, index: usize, scope: &'scope Scope<'scope, '_>) -> std::io::Result<()>
    where
        'run: 'scope,
    {
        let job = self.run.workers[index].job;
        let (handle, workers) = match self.handles[index] {
            WorkerHandle::Shared(host) => (&self.hosts[host].handle, self.hosts[host].workers.clone()),
            _ => (&self.handles[index], index..index + 1),
        };
        if job.isolation == Isolation::Thread && matches!(handle, WorkerHandle::None) {
            let (work, mut thread) = self.on_thread(workers);
            let builder = std::thread::Builder::new().name(thread_name(job));
            thread.handle = Some(builder.spawn_scoped(scope, move || work.run())?);
            *self.handle_of(index) = WorkerHandle::Thread(thread);
        }
        gate::open(&self.run.shared.controls[index], Gate::SetUp);
        Ok(())
    }

    /// Kills a worker's process. A thread cannot be killed; it has been asked to stop.
    pub(crate) fn kill(&self, index: usize) {
        let handle = match self.handles[index] {
            WorkerHandle::Shared(host) => &self.hosts[host].handle,
            _ => &self.handles[index],
        };
        if let WorkerHandle::Process(child) = handle {
            // It may have ended just before.
            let _ = child.kill(KILL);
        }
    }

    /// The process or thread of a worker.
    fn handle_of(&mut self, index: usize) -> &mut WorkerHandle<'scope> {
        match self.handles[index] {
            WorkerHandle::Shared(host) => &mut self.hosts[host].handle,
            _ => &mut self.handles[index],
        }
    }

    /// Stops waiting for a worker that was killed or asked to stop and is stuck in the kernel. A process ends by itself
    /// when its system call returns; a thread is joined by its scope.
    pub(crate) fn abandon(&mut self, index: usize) {
        let handle = self.handle_of(index);
        if matches!(handle, WorkerHandle::Process(_)) {
            *handle = WorkerHandle::None;
        }
    }

    /// Waits for a worker's process that was asked to end. Fails if the process does not exist any more.
    pub(crate) fn wait(&mut self, index: usize) -> Result<(), SysError> {
        let is_waited_for = matches!(self.handles[index], WorkerHandle::Shared(host) if self.hosts[host].end.is_some());
        let handle = self.handle_of(index);
        if matches!(handle, WorkerHandle::Process(_))
            && let WorkerHandle::Process(child) = std::mem::replace(handle, WorkerHandle::None)
            && !is_waited_for
        {
            child.wait()?;
        }
        Ok(())
    }

    /// Reaps a worker if it has ended. Fails if the process does not exist any more.
    pub(crate) fn collect(&mut self, index: usize) -> Result<Option<WorkerEnd>, SysError> {
        if let WorkerHandle::Shared(host) = self.handles[index] {
            return self.collect_from(host, index);
        }
        let end = self.handles[index].end()?;
        if end.is_some() {
            std::mem::replace(&mut self.handles[index], WorkerHandle::None).join();
        }
        Ok(end)
    }

    /// Reaps a worker that shares its host, if it has ended: it has finished, or the host has ended. The last one waits
    /// for the host.
    fn collect_from(&mut self, host: usize, index: usize) -> Result<Option<WorkerEnd>, SysError> {
        let has_finished = self.run.shared.controls[index].exiting.load(Acquire) != 0;
        let host = &mut self.hosts[host];
        if host.end.is_none() {
            host.end = host.handle.end()?;
        }
        let end = if has_finished { Some(WorkerEnd::Returned) } else { host.end };
        if end.is_some() {
            self.handles[index] = WorkerHandle::None;
            host.left -= 1;
            if host.left == 0 {
                match std::mem::replace(&mut host.handle, WorkerHandle::None) {
                    WorkerHandle::Process(child) if host.end.is_none() => drop(child.wait()?),
                    handle => handle.join(),
                }
            }
        }
        Ok(end)
    }
}

impl WorkerHandle<'_> {
    /// How it ended, if it has.
    fn end(&self) -> Result<Option<WorkerEnd>, SysError> {
        Ok(match self {
            WorkerHandle::None | WorkerHandle::Shared(_) => None,
            WorkerHandle::Process(child) => child.try_wait()?.map(|exit| match exit.ended {
                ChildEnd::Exited(0) => WorkerEnd::Returned,
                ChildEnd::Exited(_) => WorkerEnd::Exited(exit),
                ChildEnd::Killed(signal) => WorkerEnd::Killed(exit, signal),
            }),
            WorkerHandle::Thread(thread) => thread.has_ended.load(Acquire).then_some(WorkerEnd::Returned),
        })
    }

    /// Waits for a thread that has ended.
    fn join(self) {
        if let WorkerHandle::Thread(WorkerThread { handle: Some(handle), .. }) = self {
            // A panic of the thread is visible as a record that is not finished.
            let _ = handle.join();
        }
    }
}

impl Drop for WorkerPool<'_, '_> {
    /// Ends all remaining workers, so that none outlives the run; some remain only after an error.
    fn drop(&mut self) {
        for index in 0..self.handles.len() {
            gate::stop(&self.run.shared.controls[index]);
        }
        // A host that has ended was waited for when that was found.
        let hosts = self.hosts.iter().filter(|host| host.end.is_none()).map(|host| &host.handle);
        for handle in self.handles.iter().chain(hosts) {
            if let WorkerHandle::Process(child) = handle {
                let _ = child.kill(KILL);
                let _ = child.wait();
            }
        }
    }
}

/// Makes the kernel kill a worker's process when its parent dies (PR_SET_PDEATHSIG).
fn die_with_parent() {
    use rustix::process::{Signal, set_parent_process_death_signal};
    // It fails only for invalid signal numbers.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// Name of the thread of a job's worker: the kernel takes 15 bytes.
pub(crate) fn thread_name(job: &JobPlan) -> String {
    job.name.chars().filter(|&c| c != '\0').take(15).collect()
}

/// The workers of each process or thread: one, or those clones of a job that share it.
pub(super) fn sharers(workers: &[WorkerPlan<'_>]) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for (index, worker) in workers.iter().enumerate() {
        match all.last_mut() {
            Some(last) if worker.clone % worker.job.jobs_per_thread.max(1) != 0 => last.end = index + 1,
            _ => all.push(index..index + 1),
        }
    }
    all
}

/// Runs the workers of a process or thread: one, or several in turns.
fn run_all(setups: &[WorkerSetup<'_>], shared: &SharedMemory, first: usize) {
    let [setup, ..] = setups else { return };
    let job = setup.plan.job;
    if !job.shares_threads() {
        return run_one(setup, None, shared, first);
    }
    let together = Together::new(job.isolation, u32::try_from(setups.len()).unwrap_or(u32::MAX));
    let together = &together;
    let worker = |(number, setup)| -> Box<dyn FnOnce() + '_> {
        let index = first + number as usize;
        Box::new(move || run_one(setup, Some(together.turn(number)), shared, index))
    };
    if let Err(error) = engine::take_turns(&setup.clock, (0..).zip(setups).map(worker).collect()) {
        let advice = "lower jobs_per_thread, which needs 2 MiB of address space for each job";
        for (index, setup) in (first..).zip(setups) {
            refuse_one(setup, shared, index, &format!("no memory for the stacks of jobs: {error}; {advice}"));
        }
    }
}

fn run_one(setup: &WorkerSetup<'_>, turn: Option<Turn<'_>>, shared: &SharedMemory, index: usize) {
    if let Some(mut record) = shared.records.writer(index) {
        let mut priorities = shared.priorities.as_ref().and_then(|records| records.writer(index));
        let mut intervals = shared.intervals.as_ref().and_then(|records| records.writer(index));
        let (priorities, intervals) = (priorities.as_deref_mut(), intervals.as_deref_mut());
        work(setup, turn, WorkerRecords { record: &mut record, priorities, intervals });
    }
    leave(setup);
}

/// Shows the parent that a worker has left its record. A thread that is one worker does so when it ends, too.
fn leave(setup: &WorkerSetup<'_>) {
    setup.control.exiting.store(1, Release);
    if setup.plan.job.isolation == Isolation::Process || setup.plan.job.shares_threads() {
        wakeup::notify(setup.controls);
    }
}

/// Ends a worker that cannot begin.
fn refuse_one(setup: &WorkerSetup<'_>, shared: &SharedMemory, index: usize, message: &str) {
    if let Some(mut record) = shared.records.writer(index) {
        record.fault.keep_first(libc::ENOMEM, "stack", message);
        end(setup, &mut record);
    }
    leave(setup);
}
