//! The workers as processes and threads: forked or spawned, monitored, stopped, reaped.

use crate::RunOptions;
use crate::files::PlannedFile;
use crate::replay::Replayed;
use crate::shared::control::{Control, Gate, SIGNALLED, STOP};
use crate::shared::gate;
use crate::shared::group_state::GroupState;
use crate::shared::priorities::PriorityRecord;
use crate::shared::record::{Mailbox, Record};
use crate::worker::{WorkerSetup, work};
use measure::SystemClock;
use plan::{Isolation, WorkerPlan};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;
use std::thread::{Scope, ScopedJoinHandle};
use sys::SysError;
use sys::machine::shared_memory::{SharedBlocks, SharedRecords};
use sys::processes::process::{Child, Ended, Exit, KILL};

/// The memory that workers and parent share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// One control block per worker.
    pub(crate) controls: SharedBlocks<Control>,
    /// One record per worker.
    pub(crate) records: SharedRecords<Record>,
    /// Latencies by priority, one record per worker, in runs where the I/Os of one worker have different priorities.
    pub(crate) priorities: Option<SharedRecords<PriorityRecord>>,
    /// Copies of the records of threads, on request; not shared between processes.
    pub(crate) mailboxes: Vec<Mailbox>,
}

/// The input of a worker.
#[derive(Clone, Copy)]
pub(crate) struct WorkerInput<'run> {
    /// Its part of the plan.
    pub(crate) plan: WorkerPlan<'run>,
    /// Its files.
    pub(crate) files: &'run [PlannedFile],
    /// The I/O log that it replays, if any.
    pub(crate) replay: Option<&'run Replayed>,
    /// Its relations to other workers.
    pub(crate) group: &'run GroupState,
}

/// All workers of a run.
pub(crate) struct WorkerPool<'run, 'scope> {
    shared: &'run Shared,
    inputs: Vec<WorkerInput<'run>>,
    clock: SystemClock,
    system_seed: u64,
    root: &'run Path,
    debug_log_to: Option<&'run Arc<File>>,
    handles: Vec<WorkerHandle<'scope>>,
}

/// The process or thread of a worker.
enum WorkerHandle<'scope> {
    /// A thread that is not spawned yet, or a worker that has been reaped or abandoned.
    None,
    Process(Child),
    Thread(ScopedJoinHandle<'scope, ()>),
}

/// The end of a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// It returned.
    Returned,
    /// Its process exited without finishing its work (a panic).
    Exited(Exit),
    /// A signal killed its process.
    Killed(Exit, i32),
    /// It has not ended: it is in an uninterruptible system call, and is not waited for any more.
    Left,
}

impl<'run, 'scope> WorkerPool<'run, 'scope> {
    /// Forks all process workers at once, before this process has any threads: a fork copies only the calling thread,
    /// so a lock that another thread holds would stay locked in the child. The processes wait at their gates.
    ///
    /// # Errors
    /// If the kernel refuses a process; those that were forked already are ended.
    pub(crate) fn fork(
        shared: &'run Shared,
        inputs: Vec<WorkerInput<'run>>,
        clock: SystemClock,
        system_seed: u64,
        options: &'run RunOptions,
    ) -> Result<Self, SysError> {
        let handles = Vec::with_capacity(inputs.len());
        let (root, debug_log_to) = (options.system_root.as_path(), options.debug_log.as_ref());
        let mut pool = WorkerPool { shared, inputs, clock, system_seed, root, debug_log_to, handles };
        for index in 0..pool.inputs.len() {
            let handle = if pool.inputs[index].plan.job.isolation == Isolation::Process {
                let setup = pool.setup(index);
                WorkerHandle::Process(sys::processes::process::fork(root, || {
                    die_with_parent();
                    // A signal sent to this process alone ends this worker, and the parent sees SIGNALLED.
                    let flag = &shared.controls[index].stop;
                    let ran = crate::signals::noticed_in(flag, STOP | SIGNALLED, || run_one(&setup, shared, index));
                    u8::from(ran.is_err())
                })?)
            } else {
                WorkerHandle::None
            };
            pool.handles.push(handle);
        }
        Ok(pool)
    }

    fn setup(&self, index: usize) -> WorkerSetup<'run> {
        WorkerSetup {
            plan: self.inputs[index].plan,
            files: self.inputs[index].files,
            replay: self.inputs[index].replay,
            control: &self.shared.controls[index],
            mailbox: &self.shared.mailboxes[index],
            controls: &self.shared.controls,
            group: self.inputs[index].group,
            root: self.root,
            clock: self.clock,
            system_seed: self.system_seed,
            debug_log_to: self.debug_log_to,
        }
    }

    /// Opens the gate for set-up; a thread is spawned first.
    ///
    /// # Errors
    /// If its thread cannot be spawned.
    pub(crate) fn start(&mut self, index: usize, scope: &'scope Scope<'scope, '_>) -> std::io::Result<()>
    where
        'run: 'scope,
    {
        if self.inputs[index].plan.job.isolation == Isolation::Thread {
            let (setup, shared) = (self.setup(index), self.shared);
            let name = self.inputs[index].plan.job.name.chars().filter(|&c| c != '\0').take(15).collect();
            let thread = std::thread::Builder::new().name(name);
            self.handles[index] = WorkerHandle::Thread(thread.spawn_scoped(scope, move || {
                let _blocked = crate::signals::leave_to_main_thread();
                run_one(&setup, shared, index);
            })?);
        }
        gate::open(&self.shared.controls[index], Gate::SetUp);
        Ok(())
    }

    /// Opens the gate for I/O of a worker that is set up.
    pub(crate) fn go(&self, index: usize) {
        gate::open(&self.shared.controls[index], Gate::Go);
    }

    /// True if a worker's set-up has ended, successfully or not.
    pub(crate) fn is_ready(&self, index: usize) -> bool {
        self.shared.controls[index].ready.load(Acquire) != 0
    }

    /// Asks a worker to end in order.
    pub(crate) fn stop(&self, index: usize) {
        gate::stop(&self.shared.controls[index]);
    }

    /// Kills a worker's process. A thread cannot be killed; it has been asked to stop.
    pub(crate) fn kill(&self, index: usize) {
        if let WorkerHandle::Process(child) = &self.handles[index] {
            // It may have ended just before.
            let _ = child.kill(KILL);
        }
    }

    /// Stops waiting for a worker that was killed or asked to stop and is stuck in the kernel. A process ends by itself
    /// when its system call returns; a thread is joined by its scope.
    pub(crate) fn leave(&mut self, index: usize) {
        if matches!(self.handles[index], WorkerHandle::Process(_)) {
            self.handles[index] = WorkerHandle::None;
        }
    }

    /// Waits for a worker's process that was asked to end.
    ///
    /// # Errors
    /// If the process does not exist any more.
    pub(crate) fn wait(&mut self, index: usize) -> Result<(), SysError> {
        if let WorkerHandle::Process(child) = std::mem::replace(&mut self.handles[index], WorkerHandle::None) {
            child.wait()?;
        }
        Ok(())
    }

    /// Reaps a worker if it has ended.
    ///
    /// # Errors
    /// If the process does not exist any more.
    pub(crate) fn collect(&mut self, index: usize) -> Result<Option<End>, SysError> {
        let end = match &self.handles[index] {
            WorkerHandle::None => None,
            WorkerHandle::Process(child) => child.try_wait()?.map(|exit| match exit.ended {
                Ended::Exited(0) => End::Returned,
                Ended::Exited(_) => End::Exited(exit),
                Ended::Killed(signal) => End::Killed(exit, signal),
            }),
            WorkerHandle::Thread(thread) => thread.is_finished().then_some(End::Returned),
        };
        if end.is_some() {
            let handle = std::mem::replace(&mut self.handles[index], WorkerHandle::None);
            if let WorkerHandle::Thread(thread) = handle {
                // A panic of the thread is visible as a record that is not finished.
                let _ = thread.join();
            }
        }
        Ok(end)
    }
}

impl Drop for WorkerPool<'_, '_> {
    /// Ends all remaining workers, so that none outlives the run; some remain only after an error.
    fn drop(&mut self) {
        for index in 0..self.handles.len() {
            self.stop(index);
            if let WorkerHandle::Process(child) = &self.handles[index] {
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

fn run_one(setup: &WorkerSetup<'_>, shared: &Shared, index: usize) {
    if let Some(mut record) = shared.records.writer(index) {
        let mut priorities = shared.priorities.as_ref().and_then(|records| records.writer(index));
        work(setup, &mut record, priorities.as_deref_mut());
    }
}
