//! The workers as processes and threads: forked or spawned, watched, told to stop, collected.

use crate::RunOptions;
use crate::files::PlannedFile;
use crate::replay::Replayed;
use crate::worker::gate;
use crate::worker::record::{Control, Gate, Mailbox, Record, SIGNALLED, STOP};
use crate::worker::ties::Ties;
use crate::worker::{PriorityRecord, WorkerSetup, work};
use job::plan::{Isolation, WorkerPlan};
use measure::SystemClock;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;
use std::thread::{Scope, ScopedJoinHandle};
use sys::process::{Child, Ended, Exit, KILL};
use sys::{SharedBlocks, SharedRecords, SysError};

/// The memory that workers and parent share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// One control block per worker.
    pub(crate) controls: SharedBlocks<Control>,
    /// One record per worker.
    pub(crate) records: SharedRecords<Record>,
    /// One per worker, in runs in which I/Os of one worker have different priorities.
    pub(crate) priorities: Option<SharedRecords<PriorityRecord>>,
    /// Copies of the records of threads, on request; not shared between processes.
    pub(crate) mailboxes: Vec<Mailbox>,
}

/// A worker before it starts.
#[derive(Clone, Copy)]
pub(crate) struct Recruit<'run> {
    /// What it is to do.
    pub(crate) plan: WorkerPlan<'run>,
    /// Its files.
    pub(crate) files: &'run [PlannedFile],
    /// What it replays, where it replays anything.
    pub(crate) replay: Option<&'run Replayed>,
    /// Whom it has to look at.
    pub(crate) ties: &'run Ties,
}

/// All workers of a run.
pub(crate) struct Crew<'run, 'scope> {
    shared: &'run Shared,
    recruits: Vec<Recruit<'run>>,
    clock: SystemClock,
    system_seed: u64,
    root: &'run Path,
    tell_to: Option<&'run Arc<File>>,
    hands: Vec<Hand<'scope>>,
}

/// What carries a worker.
enum Hand<'scope> {
    /// A thread that is spawned at its turn, or nothing any more.
    None,
    Process(Child),
    Thread(ScopedJoinHandle<'scope, ()>),
}

/// How a worker ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// It returned.
    Returned,
    /// Its process exited without finishing its work (a panic).
    Exited(Exit),
    /// A signal killed its process.
    Killed(Exit, i32),
    /// It has not ended: it is stuck in the kernel, where nothing can end it, and nobody waits for it any more.
    Left,
}

impl<'run, 'scope> Crew<'run, 'scope> {
    /// Forks all process workers at once, while this process has no threads; they wait at their gates.
    ///
    /// # Errors
    /// When the kernel refuses a process; those that were forked already are ended.
    pub(crate) fn fork(
        shared: &'run Shared,
        recruits: Vec<Recruit<'run>>,
        clock: SystemClock,
        system_seed: u64,
        options: &'run RunOptions,
    ) -> Result<Self, SysError> {
        let hands = Vec::with_capacity(recruits.len());
        let (root, tell_to) = (options.system_root.as_path(), options.tell_to.as_ref());
        let mut crew = Crew { shared, recruits, clock, system_seed, root, tell_to, hands };
        for index in 0..crew.recruits.len() {
            let hand = if crew.recruits[index].plan.job.isolation == Isolation::Process {
                let setup = crew.setup(index);
                Hand::Process(sys::process::fork(root, || {
                    become_worker();
                    // A signal to this process alone ends this worker, and the parent sees that it came.
                    let flag = &shared.controls[index].stop;
                    let ran = crate::signals::noticed_in(flag, STOP | SIGNALLED, || run_one(&setup, shared, index));
                    u8::from(ran.is_err())
                })?)
            } else {
                Hand::None
            };
            crew.hands.push(hand);
        }
        Ok(crew)
    }

    fn setup(&self, index: usize) -> WorkerSetup<'run> {
        WorkerSetup {
            plan: self.recruits[index].plan,
            files: self.recruits[index].files,
            replay: self.recruits[index].replay,
            control: &self.shared.controls[index],
            mailbox: &self.shared.mailboxes[index],
            controls: &self.shared.controls,
            ties: self.recruits[index].ties,
            root: self.root,
            clock: self.clock,
            system_seed: self.system_seed,
            tell_to: self.tell_to,
        }
    }

    /// Lets a worker set itself up.
    ///
    /// # Errors
    /// When its thread cannot be spawned.
    pub(crate) fn start(&mut self, index: usize, scope: &'scope Scope<'scope, '_>) -> std::io::Result<()>
    where
        'run: 'scope,
    {
        if self.recruits[index].plan.job.isolation == Isolation::Thread {
            let (setup, shared) = (self.setup(index), self.shared);
            let name = self.recruits[index].plan.job.name.chars().filter(|&c| c != '\0').take(15).collect();
            let thread = std::thread::Builder::new().name(name);
            self.hands[index] = Hand::Thread(thread.spawn_scoped(scope, move || {
                let _blocked = crate::signals::leave_to_main_thread();
                run_one(&setup, shared, index);
            })?);
        }
        gate::open(&self.shared.controls[index], Gate::SetUp);
        Ok(())
    }

    /// Lets a worker that is set up do its I/O.
    pub(crate) fn go(&self, index: usize) {
        gate::open(&self.shared.controls[index], Gate::Go);
    }

    /// Whether a worker is set up, or failed to be.
    pub(crate) fn is_ready(&self, index: usize) -> bool {
        self.shared.controls[index].ready.load(Acquire) != 0
    }

    /// Tells a worker to end in order.
    pub(crate) fn stop(&self, index: usize) {
        gate::stop(&self.shared.controls[index]);
    }

    /// Ends a worker's process at once. A thread cannot be ended from outside; it has been told to stop.
    pub(crate) fn kill(&self, index: usize) {
        if let Hand::Process(child) = &self.hands[index] {
            // It may have ended by itself just now.
            let _ = child.kill(KILL);
        }
    }

    /// Waits no longer for a worker that was killed, or told to stop, and is stuck in the kernel. A process then ends by
    /// itself, as soon as the kernel lets go of it; a thread is waited for by its scope.
    pub(crate) fn leave(&mut self, index: usize) {
        if matches!(self.hands[index], Hand::Process(_)) {
            self.hands[index] = Hand::None;
        }
    }

    /// Waits for a worker's process that was told to end.
    ///
    /// # Errors
    /// When the kernel does not know the process any more.
    pub(crate) fn wait(&mut self, index: usize) -> Result<(), SysError> {
        if let Hand::Process(child) = std::mem::replace(&mut self.hands[index], Hand::None) {
            child.wait()?;
        }
        Ok(())
    }

    /// Collects a worker if it ended.
    ///
    /// # Errors
    /// When the kernel does not know the process any more.
    pub(crate) fn collect(&mut self, index: usize) -> Result<Option<End>, SysError> {
        let end = match &self.hands[index] {
            Hand::None => None,
            Hand::Process(child) => child.try_wait()?.map(|exit| match exit.ended {
                Ended::Exited(0) => End::Returned,
                Ended::Exited(_) => End::Exited(exit),
                Ended::Killed(signal) => End::Killed(exit, signal),
            }),
            Hand::Thread(thread) => thread.is_finished().then_some(End::Returned),
        };
        if end.is_some() {
            let hand = std::mem::replace(&mut self.hands[index], Hand::None);
            if let Hand::Thread(thread) = hand {
                // A panic of the thread shows as a record that is not finished.
                let _ = thread.join();
            }
        }
        Ok(end)
    }
}

impl Drop for Crew<'_, '_> {
    /// No worker outlives the run: whoever is still there was left by an error.
    fn drop(&mut self) {
        for index in 0..self.hands.len() {
            self.stop(index);
            if let Hand::Process(child) = &self.hands[index] {
                let _ = child.kill(KILL);
                let _ = child.wait();
            }
        }
    }
}

/// What sets a worker's process apart from its parent: a parent killed without warning takes its workers along.
fn become_worker() {
    use rustix::process::{Signal, set_parent_process_death_signal};
    // It only fails for numbers that are no signals.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

fn run_one(setup: &WorkerSetup<'_>, shared: &Shared, index: usize) {
    if let Some(mut record) = shared.records.writer(index) {
        let mut priorities = shared.priorities.as_ref().and_then(|records| records.writer(index));
        work(setup, &mut record, priorities.as_deref_mut());
    }
}
