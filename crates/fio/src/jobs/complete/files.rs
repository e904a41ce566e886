//! Files of a job: sizes that depend on zones and block sizes, and the features of its engine.

use super::Findings;
use crate::options::draft::Draft;
use crate::options::values::Amount;
use measure::Direction;
use plan::{EngineSpec, Extent, FileLock, FilePlan, KeepsFiles, LoadPlan, Mix};

/// Builds the file plan of a draft. A job that reads lays out its files in full before it starts.
pub(super) fn plan(draft: &Draft, mix: Mix) -> FilePlan {
    let (amounts, files) = (&draft.files, &draft.job.files);
    let extent = |amount: Amount| extent(amount, draft.zones.size);
    let given = |amount: Option<Amount>| amount.filter(|&amount| amount != Amount::Bytes(0)).map(extent);
    FilePlan {
        size: given(amounts.size),
        io_size: given(amounts.io_size),
        offset: extent(amounts.offset),
        offset_increment: extent(amounts.offset_increment),
        invalidate: files.invalidate && !files.pre_read,
        overwrite: files.overwrite || mix.contains(Direction::Read),
        ..files.clone()
    }
}

/// Converts an amount to an extent. Zones become bytes; percentages, and zones without `zonesize`, stay until the file is
/// known.
fn extent(amount: Amount, zone: u64) -> Extent {
    match amount {
        Amount::Bytes(bytes) => Extent::Bytes(bytes),
        Amount::Zones(zones) if zone == 0 => Extent::Zones(zones),
        Amount::Zones(zones) => Extent::Bytes(zones.saturating_mul(zone)),
        Amount::Percent(percent) => Extent::Percent(percent),
    }
}

/// Rejects options about files that contradict each other.
pub(super) fn check(draft: &Draft, engine: &EngineSpec, load: &LoadPlan, findings: &mut Findings<'_>) {
    let moving = Direction::ALL.into_iter().filter(|&direction| load.mix.contains(direction));
    let smallest = moving.map(|direction| load.block_size[direction].smallest()).min().unwrap_or(0);
    if let Some(Amount::Bytes(size)) = draft.files.size
        && size > 0
        && size < u64::from(smallest)
    {
        let what = format!("size is {size} bytes, less than one block of {smallest}");
        findings.reject(&["size", "bs", "bsrange", "bssplit"], what, "make size larger or bs smaller");
    }
    check_atomic(draft, engine, findings);
    check_handling(draft, load, engine, findings);
}

/// RWF_ATOMIC needs an engine that can pass the flag, and direct I/O (the kernel rejects it otherwise).
fn check_atomic(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) {
    if draft.job.files.atomic && !engine.capabilities.atomic_writes {
        let what = format!("engine {} cannot ask for atomic writes", engine.name);
        let can: Vec<_> = findings.engines.iter().filter(|other| other.capabilities.atomic_writes).collect();
        let can = can.into_iter().map(|other| other.name).collect::<Vec<_>>().join(", ");
        findings.reject(&["atomic", "ioengine"], what, format!("use one of {can}"));
    } else if draft.job.files.atomic && !draft.job.files.direct {
        findings.reject(&["atomic", "direct"], "atomic writes are direct I/O", "add direct=1");
    }
}

/// Rejects ways to handle files that exclude each other or that the engine does not support.
fn check_handling(draft: &Draft, load: &LoadPlan, engine: &EngineSpec, findings: &mut Findings<'_>) {
    let handling = &draft.job.files.handling;
    if handling.fill && load.mix != Mix::Only(Direction::Write) {
        findings.reject(&["fill_device", "rw"], "fill_device fills by writing", "use rw=write or rw=randwrite");
    }
    if handling.lock != FileLock::None && handling.unlink_each_pass {
        let what = "lockfile locks files that are there for the whole job";
        findings.reject(&["lockfile", "unlink_each_loop"], what, "leave unlink_each_loop out");
    }
    let keeps = match engine.capabilities.keeps_files {
        KeepsFiles::Never => false,
        KeepsFiles::Always => true,
        KeepsFiles::WithOption(option) => draft.job.engine_options.is_on(option),
        KeepsFiles::WhenOffloaded => draft.job.depth.offload,
    };
    let files = &draft.job.files;
    let files = u32::try_from(files.names.len()).unwrap_or(u32::MAX).max(files.count);
    let exchanges = handling.open_at_once.is_some_and(|most| most < files);
    if keeps && (exchanges || handling.unlink_each_pass) {
        let what = format!("engine {} keeps its files, and cannot exchange them while it runs", engine.name);
        findings.reject(
            &["openfiles", "unlink_each_loop", "ioengine"],
            what,
            "leave openfiles, unlink_each_loop and registerfiles out, or use another engine",
        );
    }
}
