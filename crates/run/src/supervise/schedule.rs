//! Decides which worker may start when: stonewalls, wait_for, delays; and which workers end together (exitall). Pure
//! functions.

use crate::shared::capabilities::has;
use measure::Nanos;
use plan::option::Effect;
use plan::{ExitScope, JobPlan, Work, WorkerPlan};

/// State of a worker in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not due yet.
    Pending,
    /// Started and not ended.
    Started,
    /// Ended, or removed before it started.
    Done,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerOutcome {
    /// Without an error.
    Completed,
    /// With an error of its job, or killed.
    Failed,
}

/// The schedule of all workers of a run.
#[derive(Debug)]
pub(crate) struct Schedule<'run> {
    entries: Vec<Entry<'run>>,
    exit_all: bool,
}

#[derive(Debug)]
struct Entry<'run> {
    job: &'run JobPlan,
    wall: u32,
    delay: Nanos,
    /// True if the job does no I/O and ends with the last job that does.
    is_background: bool,
    standing: Standing,
}

impl<'run> Schedule<'run> {
    /// The schedule of `workers`; `draw` returns a random number for each delay that is a range.
    pub(crate) fn new(workers: &[WorkerPlan<'run>], mut draw: impl FnMut() -> u64) -> Self {
        let mut wall = 0;
        let mut entries = Vec::new();
        for &WorkerPlan { job, clone, .. } in workers {
            if clone == 0 && job.start.stonewall && !entries.is_empty() {
                wall += 1;
            }
            let (delay, is_background) = (delay(job, &mut draw), is_background(job));
            entries.push(Entry { job, wall, delay, is_background, standing: Standing::Pending });
        }
        Schedule { entries, exit_all: workers.iter().any(|worker| worker.job.limits.exit_all) }
    }

    /// The workers that may start `elapsed` after the start of the run.
    pub(crate) fn startable(&self, elapsed: Nanos) -> Vec<usize> {
        let undone = |entry: &&Entry| entry.standing != Standing::Done;
        let wall = self.entries.iter().find(undone).map(|entry| entry.wall);
        let may_start = |entry: &Entry| {
            entry.standing == Standing::Pending
                && Some(entry.wall) == wall
                && elapsed >= entry.delay
                && entry.job.start.wait_for.as_ref().is_none_or(|awaited| self.is_done(awaited))
        };
        (0..self.entries.len()).filter(|&index| may_start(&self.entries[index])).collect()
    }

    fn is_done(&self, name: &str) -> bool {
        self.entries.iter().filter(|entry| entry.job.name == name).all(|entry| entry.standing == Standing::Done)
    }

    /// Marks a worker as started.
    pub(crate) fn started(&mut self, index: usize) {
        self.entries[index].standing = Standing::Started;
    }

    /// Marks a worker as ended, and returns the workers (started or pending) that must end with it.
    pub(crate) fn ended(&mut self, index: usize, outcome: WorkerOutcome) -> Vec<usize> {
        self.entries[index].standing = Standing::Done;
        let ended = &self.entries[index];
        if !(self.exit_all || outcome == WorkerOutcome::Failed && ended.job.limits.exit_all_on_error) {
            return if ended.is_background { Vec::new() } else { self.idle_background_workers(ended.wall) };
        }
        let ends_too = |entry: &Entry| {
            let reached = match ended.job.limits.exit_scope {
                ExitScope::Group => entry.job.group == ended.job.group,
                ExitScope::Stonewall => entry.wall == ended.wall,
                ExitScope::All => true,
            };
            reached && entry.standing != Standing::Done
        };
        (0..self.entries.len()).filter(|&other| ends_too(&self.entries[other])).collect()
    }

    /// The background workers that are to end because the last worker with I/O, up to this stonewall, has ended.
    fn idle_background_workers(&self, wall: u32) -> Vec<usize> {
        let left = |&index: &usize| {
            let entry = &self.entries[index];
            entry.wall <= wall && entry.standing != Standing::Done
        };
        let left: Vec<usize> = (0..self.entries.len()).filter(left).collect();
        if left.iter().all(|&index| self.entries[index].is_background) { left } else { Vec::new() }
    }

    /// Removes a worker that has not started; returns true if it did.
    pub(crate) fn remove_pending(&mut self, index: usize) -> bool {
        let entry = &mut self.entries[index];
        let pending = entry.standing == Standing::Pending;
        if pending {
            entry.standing = Standing::Done;
        }
        pending
    }

    /// True if all workers have ended or were removed.
    pub(crate) fn is_over(&self) -> bool {
        self.entries.iter().all(|entry| entry.standing == Standing::Done)
    }

    /// State of a worker.
    pub(crate) fn standing(&self, index: usize) -> Standing {
        self.entries[index].standing
    }

    /// Number of stonewalls before a worker.
    pub(crate) fn wall(&self, index: usize) -> u32 {
        self.entries[index].wall
    }
}

/// True if a job ends with the last one that does I/O: it does none itself, and has no runtime or ignores it.
fn is_background(job: &JobPlan) -> bool {
    job.work == Work::Background && (job.limits.runtime.is_none() || has(job, Effect::EndsWithOthers))
}

fn delay(job: &JobPlan, draw: &mut impl FnMut() -> u64) -> Nanos {
    let (least, most) = job.start.delay;
    let span = most.saturating_sub(least).get();
    if span == 0 { least } else { least.saturating_add(Nanos(draw() % (span + 1))) }
}
