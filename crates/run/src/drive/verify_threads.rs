//! Threads that check blocks (`verify_async`), so that the loop can go on with its I/O.
//!
//! A block is copied into one of a fixed number of buffers, so that its slot is free at once; if all buffers are in
//! use, the loop waits for one. Nothing is allocated per block.

use super::verify::{BlockChecker, Finding};
use crate::error::refusal;
use load::{Expects, Request};
use model::JobError;
use plan::VerifyPlan;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// A block on its way to a thread and back to the loop.
#[derive(Debug)]
struct Task {
    buffer: Vec<u8>,
    request: Request,
    expects: Option<Expects>,
    findings: Vec<Finding>,
}

/// The threads, and the buffers that are not in use.
#[derive(Debug)]
pub(super) struct VerifyThreads {
    threads: Vec<SyncSender<Task>>,
    turn: usize,
    done: Receiver<Task>,
    idle: Vec<Task>,
    out: usize,
}

/// Buffers per thread: the one being checked, and the next.
const BUFFERS: usize = 2;

impl VerifyThreads {
    /// Starts the threads; `largest` is the size of the largest block. Fails if the kernel refuses a thread, or its CPU
    /// affinity.
    pub(super) fn start(plan: &VerifyPlan, checker: &BlockChecker, largest: usize) -> Result<Self, JobError> {
        let threads = plan.threads.max(1) as usize;
        let buffers = threads * BUFFERS;
        let (finished, done) = sync_channel(buffers);
        let (placed, placing) = sync_channel(threads);
        let mut senders = Vec::with_capacity(threads);
        for number in 0..threads {
            let (sender, tasks) = sync_channel::<Task>(BUFFERS);
            senders.push(sender);
            let (checker, cpus) = (checker.clone(), plan.thread_cpus.clone());
            let (finished, placed) = (finished.clone(), placed.clone());
            let work = move || {
                let place = if cpus.is_empty() { Ok(()) } else { sys::processes::placement::set_affinity(&cpus) };
                if placed.send(place).is_err() {
                    return;
                }
                while let Ok(mut task) = tasks.recv() {
                    let Task { buffer, request, expects, .. } = &mut task;
                    task.findings = checker.check(buffer, request, *expects);
                    if finished.send(task).is_err() {
                        return;
                    }
                }
            };
            let spawned = std::thread::Builder::new().name(format!("verify{number}")).spawn(work);
            spawned.map_err(|error| {
                refusal(error.raw_os_error().unwrap_or(libc::EAGAIN), "verify_async", format!("no thread: {error}"))
            })?;
        }
        for _ in 0..threads {
            if let Ok(Err(error)) = placing.recv() {
                let errno = error.errno().unwrap_or(libc::EINVAL);
                return Err(refusal(errno, "verify_async_cpus", format!("verify_async_cpus: {error}")));
            }
        }
        let request = Request::new(plan::Operation::Read, 0, 0, 0);
        let mut idle = Vec::with_capacity(buffers);
        for _ in 0..buffers {
            let mut buffer = Vec::new();
            buffer.try_reserve_exact(largest).map_err(|error| {
                let what = format!("{buffers} blocks of {largest} bytes for its threads: {error}; use fewer threads");
                refusal(libc::ENOMEM, "verify_async", what)
            })?;
            idle.push(Task { buffer, request, expects: None, findings: Vec::new() });
        }
        Ok(VerifyThreads { threads: senders, turn: 0, done, idle, out: 0 })
    }

    /// Passes a block to the next thread. The results that arrived in the meantime are put into `found`.
    pub(super) fn hand_over(
        &mut self,
        buffer: &[u8],
        request: Request,
        expects: Option<Expects>,
        found: &mut Vec<(Request, Vec<Finding>)>,
    ) {
        while let Ok(task) = self.done.try_recv() {
            self.take_back(task, found);
        }
        if self.idle.is_empty()
            && let Ok(task) = self.done.recv()
        {
            self.take_back(task, found);
        }
        let Some(mut task) = self.idle.pop() else { return };
        task.buffer.clear();
        task.buffer.extend_from_slice(buffer);
        (task.request, task.expects) = (request, expects);
        // One of the channels has room: there are no more buffers than all channels hold together.
        for _ in 0..self.threads.len() {
            self.turn = (self.turn + 1) % self.threads.len();
            match self.threads[self.turn].try_send(task) {
                Ok(()) => {
                    self.out += 1;
                    return;
                }
                Err(TrySendError::Full(back) | TrySendError::Disconnected(back)) => task = back,
            }
        }
    }

    /// Waits for all blocks that are being checked.
    pub(super) fn finish(&mut self, found: &mut Vec<(Request, Vec<Finding>)>) {
        while self.out > 0 {
            let Ok(task) = self.done.recv() else { return };
            self.take_back(task, found);
        }
    }

    fn take_back(&mut self, mut task: Task, found: &mut Vec<(Request, Vec<Finding>)>) {
        self.out -= 1;
        if !task.findings.is_empty() {
            found.push((task.request, std::mem::take(&mut task.findings)));
        }
        self.idle.push(task);
    }
}
