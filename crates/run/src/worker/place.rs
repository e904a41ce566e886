//! Placement of a worker: CPUs, NUMA nodes, priorities, user and group, cgroups, locked memory, and its clock.

use crate::error::job_refusal;
use crate::shared::usage::{DividedUsage, TurnPlace, clock_ms};
use measure::{SystemClock, unix_ms};
use model::JobError;
use plan::{ClockChoice, Isolation, JobPlan, MemoryPolicy, PlacePlan};
use std::cell::OnceCell;
use std::path::Path;
use sys::SysError;
use sys::machine::numa::{Policy, run_on, take_memory};
use sys::processes::io_group::IoGroup;
use sys::processes::placement::{
    IoClass, LockedMemory, become_group, become_user, lock_memory, set_affinity, set_hinted_io_priority, set_name,
    set_nice, sharpen_timers,
};

/// Applies the placement of a job to the calling thread. The returned memory lock must live as long as the worker.
/// Fails if the kernel refuses a setting.
pub(crate) fn take(job: &JobPlan, clone: u32, root: &Path) -> Result<Option<LockedMemory>, JobError> {
    let place = &job.place;
    let refused = |option: &str, error: SysError, advice: &str| {
        let what = format_args!("{option}: {error}{advice}");
        job_refusal(job, error.errno().unwrap_or(libc::EINVAL), "place", what)
    };
    if let Some(name) = &place.name {
        set_name(name).map_err(|error| refused("comm", error, ""))?;
    }
    if !place.nodes.is_empty() {
        run_on(root, &place.nodes).map_err(|error| refused("numa_cpu_nodes", error, ""))?;
    }
    if let Some(policy) = &place.memory {
        set_memory_policy(policy).map_err(|error| refused("numa_mem_policy", error, ""))?;
    }
    match place.cpus.as_slice() {
        [] => {}
        cpus if place.split_cpus => set_affinity(&[cpus[clone as usize % cpus.len()]])
            .map_err(|error| refused("cpus_allowed with cpus_allowed_policy=split", error, ""))?,
        cpus => set_affinity(cpus).map_err(|error| refused("cpus_allowed", error, ""))?,
    }
    if place.nice != 0 {
        set_nice(place.nice).map_err(|error| refused("nice", error, "; values below 0 need CAP_SYS_NICE"))?;
    }
    if let Some((number, level)) = place.io_priority {
        let class = IoClass::from_number(number).unwrap_or(IoClass::None);
        set_hinted_io_priority(class, level, place.io_hint)
            .map_err(|error| refused("prio", error, "; the real-time class (prioclass=1) needs CAP_SYS_ADMIN"))?;
    }
    // Timer slack is set to 1 ns: with the kernel's default of 50 µs a rate limit would be less accurate.
    sharpen_timers().map_err(|error| refused("timers", error, ""))?;
    join_group(job, root).map_err(|error| refused("cgroup", error, ""))?;
    let locked = (place.lock_memory > 0).then(|| lock_memory(place.lock_memory)).transpose();
    let locked = locked.map_err(|error| refused("lockmem", error, ""))?;
    // User and group are changed last: the settings before may need privileges.
    change_rights(place).map_err(|error| refused("uid or gid", error, "; only root may change them"))?;
    Ok(locked)
}

fn set_memory_policy(policy: &MemoryPolicy) -> Result<(), SysError> {
    match policy {
        MemoryPolicy::Default => take_memory(Policy::Default, &[]),
        MemoryPolicy::Local => take_memory(Policy::Local, &[]),
        MemoryPolicy::Prefer(node) => take_memory(Policy::Preferred, &[*node]),
        MemoryPolicy::Bind(nodes) => take_memory(Policy::Bind, nodes),
        MemoryPolicy::Interleave(nodes) => take_memory(Policy::Interleave, nodes),
    }
}

fn join_group(job: &JobPlan, root: &Path) -> Result<(), SysError> {
    let Some(plan) = &job.place.cgroup else { return Ok(()) };
    let group = IoGroup::make(root, &plan.name, plan.weight)?;
    if job.isolation == Isolation::Thread && !group.takes_threads() {
        let what = "only version 2 of control groups is mounted, which takes whole processes; leave `thread` out";
        return Err(SysError::impossible(what.to_owned()));
    }
    group.join()
}

fn change_rights(place: &PlacePlan) -> Result<(), SysError> {
    place.group.map_or(Ok(()), become_group)?;
    place.user.map_or(Ok(()), become_user)
}

/// The clock that the job asks for (`clocksource`). Fails if it asks for the TSC and the TSC is not reliable here.
pub(crate) fn clock(job: &JobPlan, clock: SystemClock) -> Result<SystemClock, JobError> {
    match (job.place.clock, clock.report().why_not_tsc) {
        (None, _) | (Some(ClockChoice::Counter), None) => Ok(clock),
        (Some(ClockChoice::System), _) => Ok(clock.by_call()),
        (Some(ClockChoice::Counter), Some(why)) => {
            let what = format_args!("clocksource=cpu: {why}; use clocksource=clock_gettime or leave it out");
            Err(job_refusal(job, libc::EOPNOTSUPP, "clocksource", what))
        }
    }
}

/// The start time in ms on the clock that the job asks for (`job_start_clock_id`); since 1970 UTC by default. Fails if
/// there is no such clock.
pub(crate) fn start_ms(job: &JobPlan) -> Result<u64, JobError> {
    let Some(id) = job.start.clock_id else { return Ok(unix_ms()) };
    clock_ms(id).ok_or_else(|| {
        let known = "it takes 0 (realtime), 1 (monotonic) to 7 (boottime)";
        let what = format_args!("job_start_clock_id={id} is not a clock: {known}");
        job_refusal(job, libc::EINVAL, "job_start_clock_id", what)
    })
}

/// State that the workers of a process or thread share.
#[derive(Debug)]
pub(crate) struct Together {
    usage: DividedUsage,
    /// Its placement, which the first worker makes; with the memory that it locked.
    placed: OnceCell<Result<Option<LockedMemory>, JobError>>,
}

/// One of several workers of a process or thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn<'a> {
    together: &'a Together,
    /// Its number among them, from 0.
    number: u32,
}

impl Together {
    pub(crate) fn new(isolation: Isolation, workers: u32) -> Together {
        Together { usage: DividedUsage::new(isolation, workers), placed: OnceCell::new() }
    }

    pub(crate) fn turn(&self, number: u32) -> Turn<'_> {
        Turn { together: self, number }
    }
}

impl<'a> Turn<'a> {
    /// Applies the placement of the job to the thread, once for all of its workers. Fails if the kernel refused it, to
    /// this worker or to the first.
    pub(super) fn in_place(
        self,
        take: impl FnOnce() -> Result<Option<LockedMemory>, JobError>,
    ) -> Result<(), JobError> {
        self.together.placed.get_or_init(take).as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Its part of the usage of the thread.
    pub(super) fn place(self) -> TurnPlace<'a> {
        self.together.usage.place(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity};

    fn allowed() -> Vec<u32> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| u32::try_from(cpu).unwrap()).collect()
    }

    /// The CPUs that a worker of this plan may use.
    fn placed(job: JobPlan, clone: u32) -> Vec<u32> {
        let worker = std::thread::spawn(move || {
            take(&job, clone, Path::new("/")).unwrap();
            allowed()
        });
        worker.join().unwrap()
    }

    #[test]
    fn a_worker_runs_where_it_may() {
        let all = allowed();
        let mut job = JobPlan::with_defaults("a", "test", "null");
        assert_eq!(placed(job.clone(), 0), all, "anywhere, without a word");
        job.place.cpus = vec![all[0]];
        assert_eq!(placed(job.clone(), 1), [all[0]]);
        job.place.cpus = all.clone();
        assert_eq!(placed(job.clone(), 1), all);
        job.place.split_cpus = true;
        for clone in 0..3 {
            assert_eq!(placed(job.clone(), clone), [all[clone as usize % all.len()]], "clone {clone}");
        }
    }
}
