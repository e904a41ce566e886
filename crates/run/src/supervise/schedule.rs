//! Who may start when: stonewalls, wait_for, delays, and who takes whom along at the end. Pure decisions.

use job::Work;
use job::plan::{ExitScope, JobPlan, WorkerPlan};
use measure::Nanos;

/// Where a worker stands in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its turn has not come.
    Pending,
    /// Started.
    Started,
    /// Ended, or never to be started.
    Done,
}

/// The order of all workers of a run.
#[derive(Debug)]
pub(crate) struct Schedule {
    entries: Vec<Entry>,
    exit_all: bool,
}

#[derive(Debug)]
struct Entry {
    name: String,
    wait_for: Option<String>,
    wall: u32,
    group: u32,
    delay: Nanos,
    exit_all_on_error: bool,
    /// It does no I/O and ends with the last job that does.
    keeps_company: bool,
    exit_scope: ExitScope,
    standing: Standing,
}

impl Schedule {
    /// The schedule of `workers`; `draw` gives a number for each delay that is a range.
    pub(crate) fn new<'p>(workers: impl Iterator<Item = WorkerPlan<'p>>, mut draw: impl FnMut() -> u64) -> Self {
        let mut wall = 0;
        let mut entries = Vec::new();
        let mut exit_all = false;
        for worker in workers {
            let job = worker.job;
            if worker.clone == 0 && job.start.stonewall && !entries.is_empty() {
                wall += 1;
            }
            exit_all |= job.limits.exit_all;
            entries.push(Entry {
                name: job.name.clone(),
                wait_for: job.start.wait_for.clone(),
                wall,
                group: job.group,
                delay: delay(job, &mut draw),
                exit_all_on_error: job.limits.exit_all_on_error,
                keeps_company: keeps_company(job),
                exit_scope: job.limits.exit_scope,
                standing: Standing::Pending,
            });
        }
        Schedule { entries, exit_all }
    }

    /// The workers whose turn has come `elapsed` after the start of the run.
    pub(crate) fn startable(&self, elapsed: Nanos) -> Vec<usize> {
        let undone = |entry: &&Entry| entry.standing != Standing::Done;
        let wall = self.entries.iter().find(undone).map(|entry| entry.wall);
        let may_start = |entry: &Entry| {
            entry.standing == Standing::Pending
                && Some(entry.wall) == wall
                && elapsed >= entry.delay
                && entry.wait_for.as_ref().is_none_or(|awaited| self.is_done(awaited))
        };
        (0..self.entries.len()).filter(|&index| may_start(&self.entries[index])).collect()
    }

    fn is_done(&self, name: &str) -> bool {
        self.entries.iter().filter(|entry| entry.name == name).all(|entry| entry.standing == Standing::Done)
    }

    /// Notes that a worker started.
    pub(crate) fn started(&mut self, index: usize) {
        self.entries[index].standing = Standing::Started;
    }

    /// Notes that a worker ended, and says which workers (started or pending) must end with it.
    pub(crate) fn ended(&mut self, index: usize, failed: bool) -> Vec<usize> {
        self.entries[index].standing = Standing::Done;
        let ended = &self.entries[index];
        if !(self.exit_all || failed && ended.exit_all_on_error) {
            return if ended.keeps_company { Vec::new() } else { self.left_alone(ended.wall) };
        }
        let taken_along = |entry: &Entry| {
            let reached = match ended.exit_scope {
                ExitScope::Group => entry.group == ended.group,
                ExitScope::Stonewall => entry.wall == ended.wall,
                ExitScope::All => true,
            };
            reached && entry.standing != Standing::Done
        };
        (0..self.entries.len()).filter(|&other| taken_along(&self.entries[other])).collect()
    }

    /// The workers that only kept others company, when the last of these, up to this stretch, is done.
    fn left_alone(&self, wall: u32) -> Vec<usize> {
        let beside = |entry: &&Entry| entry.wall <= wall;
        if self.entries.iter().filter(beside).any(|entry| !entry.keeps_company && entry.standing != Standing::Done) {
            return Vec::new();
        }
        let alone = |entry: &Entry| entry.keeps_company && entry.wall <= wall && entry.standing != Standing::Done;
        (0..self.entries.len()).filter(|&other| alone(&self.entries[other])).collect()
    }

    /// Strikes a worker that has not started; `true` if it was struck.
    pub(crate) fn strike(&mut self, index: usize) -> bool {
        let entry = &mut self.entries[index];
        let pending = entry.standing == Standing::Pending;
        if pending {
            entry.standing = Standing::Done;
        }
        pending
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.entries.iter().all(|entry| entry.standing == Standing::Done)
    }

    /// Where a worker stands.
    pub(crate) fn standing(&self, index: usize) -> Standing {
        self.entries[index].standing
    }

    /// Which stretch between stonewalls a worker belongs to.
    pub(crate) fn wall(&self, index: usize) -> u32 {
        self.entries[index].wall
    }
}

/// Whether a job ends with the last one that does I/O: it does none itself and has no time of its own.
fn keeps_company(job: &JobPlan) -> bool {
    job.work == Work::Company && (job.limits.runtime.is_none() || job.engine_options.is_on("exit_on_io_done"))
}

fn delay(job: &JobPlan, draw: &mut impl FnMut() -> u64) -> Nanos {
    let (least, most) = job.start.delay;
    let span = most.saturating_sub(least).get();
    if span == 0 { least } else { least.saturating_add(Nanos(draw() % (span + 1))) }
}
