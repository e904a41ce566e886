//! Where and how a worker runs: CPUs, priority, memory that stays.

use crate::files::refusal;
use job::plan::JobPlan;
use model::JobError;

/// Puts the calling worker in its place. What is returned must live as long as the worker.
///
/// # Errors
/// When the kernel refuses what the job wants.
pub(crate) fn take(job: &JobPlan, clone: u32) -> Result<(), JobError> {
    let place = &job.place;
    if !place.cpus.is_empty() {
        let chosen: Vec<u32> =
            if place.split_cpus { vec![place.cpus[clone as usize % place.cpus.len()]] } else { place.cpus.clone() };
        let mut set = rustix::thread::CpuSet::new();
        for &cpu in &chosen {
            set.set(cpu as usize);
        }
        rustix::thread::sched_setaffinity(None, &set).map_err(|error| {
            let message = format!("job `{}`: cpus_allowed {chosen:?}: {error}; are these CPUs online?", job.name);
            refusal(error.raw_os_error(), "sched_setaffinity", message)
        })?;
    }
    if place.nice != 0 {
        rustix::process::nice(place.nice).map_err(|error| {
            let message = format!("job `{}`: nice={}: {error}; below 0 needs CAP_SYS_NICE", job.name, place.nice);
            refusal(error.raw_os_error(), "nice", message)
        })?;
    }
    Ok(())
}
