//! The latencies of all workers so far, read while they run: for the latency per interval of the recorder.
//!
//! Workers are not involved: the parent copies the histograms that it needs from their records. The copy is not atomic;
//! an I/O that is counted during it appears in this sample or in the next.

use super::workers::SharedMemory;
use crate::shared::record::{Histograms, Keeps, Recent, Record};
use measure::{Histogram, Moments};
use plan::{Isolation, WorkerPlan};
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

/// Largest number of workers whose latencies are read at every sample; with more, the reading would disturb the
/// measurement.
const WORKERS_MAX: usize = 128;

/// The sum over all workers, per direction and then of syncs. `None` if workers are threads, whose records must not be
/// read while they run, and if there are too many.
pub(super) fn so_far(workers: &[WorkerPlan<'_>], shared: &SharedMemory) -> Option<Box<[Histogram; 4]>> {
    let apart = |worker: &WorkerPlan<'_>| worker.job.isolation == Isolation::Process;
    if workers.len() > WORKERS_MAX || !workers.iter().all(apart) {
        return None;
    }
    let mut sum = Box::new([const { Histogram::new() }; 4]);
    for index in 0..workers.len() {
        let [directions @ .., syncs] = &mut *sum;
        let mut has_ios = false;
        for (direction, histogram) in directions.iter_mut().enumerate() {
            // Pages that the worker never touched are not touched here either.
            if shared.controls[index].ios[direction].load(Relaxed) > 0 {
                add(shared, index, direction, histogram);
                has_ios = true;
            }
        }
        if has_ios {
            add_syncs(shared, index, syncs);
        }
    }
    Some(sum)
}

fn add_syncs(shared: &SharedMemory, index: usize, sum: &mut Histogram) -> Option<()> {
    if shared.records.part::<Moments>(index, offset_of!(Record, sync))?.count() > 0 {
        let at = offset_of!(Record, histograms) + offset_of!(Histograms, sync);
        sum.merge(&*shared.records.part::<Histogram>(index, at)?);
    }
    Some(())
}

fn add(shared: &SharedMemory, index: usize, direction: usize, sum: &mut Histogram) -> Option<()> {
    let keeps = *shared.records.part::<Keeps>(index, offset_of!(Record, keeps))?;
    let kept = match keeps {
        Keeps { total: 1.., .. } => offset_of!(Histograms, total),
        Keeps { completion: 1.., .. } => offset_of!(Histograms, completion),
        Keeps { .. } => return None,
    };
    let at = offset_of!(Record, histograms) + kept + direction * size_of::<Histogram>();
    sum.merge(&*shared.records.part::<Histogram>(index, at)?);
    // Read after the histogram: values that move into it in between are missing from this sample and included in the
    // next, never counted twice.
    let recent = offset_of!(Record, recent) + direction * size_of::<Recent>();
    shared.records.part::<Recent>(index, recent)?.add_to(keeps, sum);
    Some(())
}
