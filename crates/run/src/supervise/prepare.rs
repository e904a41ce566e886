//! Checks before the workers start: that the plan is allowed and possible, and that its files exist.

use super::layout_thread::{LayoutContext, LayoutFailure, lay_out_in_thread};
use super::{devices, zones};
use crate::files::{FileKind, Guard, PlannedFile, announce_own, check_zone_files, is_laid_out, lay_out, plan_files};
use crate::replay::{ReplayLog, Replays};
use crate::shared::capabilities::needs_files;
use crate::{Event, RunError, RunOptions};
use load::SharedZones;
use load::verify::Verifier;
use measure::Direction;
use model::{JobError, TargetAccess};
use monitor::Target;
use plan::{JobPlan, Mix, Plan, WorkerPlan};
use std::collections::BTreeSet;
use std::path::Path;

/// The prepared input of one worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerInput {
    pub(crate) files: Vec<PlannedFile>,
    /// The zones of each file, if it works in zones (`zonemode=zbd`).
    pub(crate) zones: Vec<Option<SharedZones>>,
    /// The I/O log that it replays, if any.
    pub(crate) replay: Option<ReplayLog>,
    /// The error that prevents it from running.
    pub(crate) error: Option<JobError>,
}

/// Rejects a plan that must not or cannot be run.
pub(crate) fn check(plan: &Plan, options: &RunOptions) -> Result<(), RunError> {
    for job in &plan.jobs {
        let unsupported = |what: &str| {
            Err(RunError::Unsupported { job: job.name.clone(), origin: job.origin.clone(), what: what.to_owned() })
        };
        if options.read_only && job.load.mix != Mix::Only(Direction::Read) {
            return unsupported("it would write, and --readonly forbids that");
        }
        if engine::spec(job.engine).is_none() {
            return unsupported(&format!("there is no engine `{}`", job.engine));
        }
        if let Some(plan) = job.verify.as_ref()
            && plan.offset > 0
            && (plan.offset as usize) < Verifier::front(plan)
        {
            let front = Verifier::front(plan);
            return unsupported(&format!(
                "verify_offset is within its header and digest of {front} bytes; give {front} or more"
            ));
        }
        if let Some(least) = job.verify.as_ref().map(Verifier::smallest_block)
            && let Some(block) = smallest_checked_block(job).filter(|&block| block < least)
        {
            return unsupported(&format!(
                "its verify header needs {least} bytes and its smallest block has {block}; use a larger bs="
            ));
        }
    }
    Ok(())
}

/// The smallest block that carries a verify header.
fn smallest_checked_block(job: &JobPlan) -> Option<usize> {
    let sizes = [Direction::Read, Direction::Write].into_iter().filter(|&direction| job.load.mix.contains(direction));
    let blocks = sizes.map(|direction| job.load.block_size[direction].smallest());
    let interval = job.verify.as_ref().and_then(|plan| plan.interval);
    blocks.chain(interval).min().map(|bytes| bytes as usize)
}

/// Plans and lays out the files of all jobs, in the order of the jobs, before any of them starts. An error becomes the
/// result of that job's workers; the other jobs run. Fails if a layout is stuck, and the run is ended by force.
pub(crate) fn prepare(
    plan: &Plan,
    workers: &[WorkerPlan<'_>],
    replays: Replays,
    context: &mut LayoutContext<'_>,
) -> Result<Vec<WorkerInput>, RunError> {
    let mut prepared: Vec<WorkerInput> = Vec::with_capacity(workers.len());
    let replays = replays.into_iter().chain(std::iter::repeat_with(|| None));
    let mut guard = Guard::new(context.root);
    for (job, replay) in plan.jobs.iter().zip(replays) {
        match prepare_job(job, replay, &mut guard, context) {
            Ok(clones) => prepared.extend(clones),
            Err(LayoutFailure::Failed(error)) => {
                let failed = WorkerInput { error: Some(error), ..WorkerInput::default() };
                prepared.extend(std::iter::repeat_n(failed, job.clones as usize));
            }
            Err(LayoutFailure::All(error)) => return Err(error),
        }
    }
    let files: Vec<&[PlannedFile]> = prepared.iter().map(|ready| ready.files.as_slice()).collect();
    let zones = zones::share(workers, &files, context.root)?;
    prepared.iter_mut().zip(zones).for_each(|(ready, zones)| ready.zones = zones);
    Ok(prepared)
}

fn prepare_job(
    job: &JobPlan,
    replay: Option<Result<Vec<ReplayLog>, JobError>>,
    guard: &mut Guard<'_>,
    context: &mut LayoutContext<'_>,
) -> Result<Vec<WorkerInput>, LayoutFailure> {
    let needs_files = needs_files(job);
    let replayed = replay.transpose()?;
    let mut clones: Vec<Vec<PlannedFile>> = match &replayed {
        Some(workers) => workers.iter().map(|worker| worker.files.clone()).collect(),
        None => (0..job.clones).map(|clone| plan_files(job, clone)).collect::<Result<Vec<_>, _>>()?,
    };
    note_wide_offsets(job, &clones, context);
    if needs_files {
        let by_number = replayed.iter().flatten().flat_map(|worker| worker.by_number.iter());
        guard.check(job, &clones, &by_number.map(|path| path.as_path()).collect::<BTreeSet<&Path>>())?;
        check_zone_files(job, &clones)?;
        devices::prepare(job, &clones, context.root)?;
        note_whole_zones(&clones, context);
        // Clones that share a file would each create it; it is then created for all of them first, even with
        // create_serialize=0.
        let shared = job.clones > 1 && !(job.files.names.is_empty() && job.files.handling.below.is_empty());
        if !(job.files.handling.laid_out_first || shared) {
            announce_own(job, &clones, &mut |event| context.observer.event(event));
        } else if is_laid_out(job, &clones) {
            lay_out(job, &clones, &mut |_| {}, &mut || true)?;
        } else {
            clones = lay_out_in_thread(job, clones, context)?;
        }
    }
    let replayed = replayed.into_iter().flatten().map(Some).chain(std::iter::repeat_with(|| None));
    Ok(clones
        .into_iter()
        .zip(replayed)
        .map(|(files, replay)| WorkerInput { files, replay, ..WorkerInput::default() })
        .collect())
}

/// Reports the files with more blocks than the generator that the job asks for can number.
fn note_wide_offsets(job: &JobPlan, clones: &[Vec<PlannedFile>], context: &mut LayoutContext<'_>) {
    let paths: BTreeSet<&Path> = clones
        .iter()
        .flatten()
        .filter(|file| load::draws_wide(&job.load, &file.region))
        .map(|file| file.path.as_path())
        .collect();
    for path in paths {
        context.observer.event(Event::WideOffsets { path });
    }
}

/// Reports the files of which a job with zones uses less than it asks for.
fn note_whole_zones(clones: &[Vec<PlannedFile>], context: &mut LayoutContext<'_>) {
    let cut =
        |file: &'_ PlannedFile| Some((file.path.clone(), file.cut_to_zones?, (file.region.start, file.region.end)));
    let regions: BTreeSet<_> = clones.iter().flatten().filter_map(cut).collect();
    for (path, asked, used) in &regions {
        context.observer.event(Event::WholeZones { path, asked: *asked, used: *used });
    }
}

/// The files whose disks are monitored.
pub(super) fn watched_paths<'a>(workers: &[WorkerPlan<'_>], prepared: &'a [WorkerInput]) -> Vec<&'a Path> {
    let wanted =
        workers.iter().zip(prepared).filter(|(worker, _)| worker.job.record.disk_usage && needs_files(worker.job));
    let paths: BTreeSet<&Path> =
        wanted.flat_map(|(_, ready)| ready.files.iter().map(|file| file.path.as_path())).collect();
    paths.into_iter().collect()
}

/// The files and block devices of the workers that are about to start.
pub(super) fn targets_of(turn: &[usize], workers: &[WorkerPlan<'_>], prepared: &[WorkerInput]) -> Vec<Target> {
    files_of(turn.iter().map(|&index| (&workers[index], &prepared[index])))
}

/// Files and devices that workers read, with the regions.
pub(super) fn targets_read(workers: &[WorkerPlan<'_>], prepared: &[WorkerInput]) -> Vec<Target> {
    let reads = |(worker, _): &(&WorkerPlan<'_>, &WorkerInput)| worker.job.load.mix.contains(measure::Direction::Read);
    files_of(workers.iter().zip(prepared).filter(reads))
}

fn files_of<'a, 'p: 'a>(workers: impl Iterator<Item = (&'a WorkerPlan<'p>, &'a WorkerInput)>) -> Vec<Target> {
    let wanted = workers.filter(|(worker, _)| worker.job.record.disk_usage && needs_files(worker.job));
    let files = wanted.flat_map(|(worker, ready)| ready.files.iter().map(|file| (access_of(worker.job), file)));
    let seen = files.filter(|(_, file)| matches!(file.kind, FileKind::Regular | FileKind::Block));
    let target = |(access, file): (TargetAccess, &PlannedFile)| Target {
        path: file.path.clone(),
        start: file.region.start,
        end: file.region.end,
        access,
    };
    seen.map(target).collect()
}

fn access_of(job: &JobPlan) -> TargetAccess {
    match job.load.mix {
        Mix::Only(Direction::Read) => TargetAccess::Reads,
        Mix::Only(Direction::Write | Direction::Trim) | Mix::TrimWrite => TargetAccess::Writes,
        Mix::ReadWrite => TargetAccess::Both,
    }
}

/// A seed from the system, for jobs without a repeatable sequence.
pub(crate) fn system_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds its hash maps from getrandom(2).
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
