//! What the workers' I/Os took so far, read from beside them: for the latencies of each interval of the monitor.
//!
//! Workers notice nothing: the parent copies the parts of their records that it needs, whatever they are doing.

use super::crew::Shared;
use crate::worker::record::{Histograms, Keeps, Recent, Record};
use job::plan::{Isolation, WorkerPlan};
use measure::Histogram;
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

/// Workers of which so much is read at every sample; of more the reading would be seen in what it looks at.
const WORKERS_MAX: usize = 128;

/// The sum over all workers, per direction. `None` where workers are threads, whose records are theirs alone while
/// they run, and where there are too many.
pub(super) fn so_far(workers: &[WorkerPlan<'_>], shared: &Shared) -> Option<Box<[Histogram; 3]>> {
    let apart = |worker: &WorkerPlan<'_>| worker.job.isolation == Isolation::Process;
    if workers.len() > WORKERS_MAX || !workers.iter().all(apart) {
        return None;
    }
    let mut sum = Box::new([const { Histogram::new() }; 3]);
    for index in 0..workers.len() {
        for (direction, histogram) in sum.iter_mut().enumerate() {
            // Pages that the worker never touched stay untouched.
            if shared.controls[index].ios[direction].load(Relaxed) > 0 {
                add(shared, index, direction, histogram);
            }
        }
    }
    Some(sum)
}

fn add(shared: &Shared, index: usize, direction: usize, sum: &mut Histogram) -> Option<()> {
    let keeps = *shared.records.part::<Keeps>(index, offset_of!(Record, keeps))?;
    let kept = match keeps {
        Keeps { total: 1.., .. } => offset_of!(Histograms, total),
        Keeps { completion: 1.., .. } => offset_of!(Histograms, completion),
        Keeps { .. } => return None,
    };
    let at = offset_of!(Record, histograms) + kept + direction * size_of::<Histogram>();
    sum.merge(&*shared.records.part::<Histogram>(index, at)?);
    // After the histogram: what moves there in between is missing now and there the next time, never counted twice.
    let recent = offset_of!(Record, recent) + direction * size_of::<Recent>();
    shared.records.part::<Recent>(index, recent)?.pour_into(keeps, sum);
    Some(())
}
