//! Where and how a worker runs: CPUs, priorities, memory that stays.

use crate::files::refusal;
use job::plan::JobPlan;
use model::JobError;
use sys::SysError;
use sys::placement::{IoClass, LockedMemory, lock_memory, set_affinity, set_io_priority, set_nice, sharpen_timers};

/// Puts the calling worker in its place. What is returned must live as long as the worker.
///
/// # Errors
/// When the kernel refuses what the job wants.
pub(crate) fn take(job: &JobPlan, clone: u32) -> Result<Option<LockedMemory>, JobError> {
    let place = &job.place;
    let refused = |option: &str, error: SysError, advice: &str| {
        let message = format!("job `{}` ({}): {option}: {error}{advice}", job.name, job.origin);
        refusal(error.errno().unwrap_or(libc::EINVAL), "place", message)
    };
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
        set_io_priority(class, level)
            .map_err(|error| refused("prio", error, "; the real-time class (prioclass=1) needs CAP_SYS_ADMIN"))?;
    }
    // A rate is kept to a microsecond rather than to the 50 µs by which the kernel may delay timers.
    sharpen_timers().map_err(|error| refused("timers", error, ""))?;
    let locked = (place.lock_memory > 0).then(|| lock_memory(place.lock_memory)).transpose();
    locked.map_err(|error| refused("lockmem", error, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity};

    fn allowed() -> Vec<u32> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| u32::try_from(cpu).unwrap()).collect()
    }

    /// Where a worker of this plan finds itself.
    fn placed(job: JobPlan, clone: u32) -> Vec<u32> {
        let worker = std::thread::spawn(move || {
            take(&job, clone).unwrap();
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
