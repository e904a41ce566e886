//! Load of a job: the meaning of `rw=` and its modifier, and the loads that its engine supports.

use super::{Findings, about, zones};
use crate::draft::{Draft, LoadDraft, Movement};
use measure::Direction;
use plan::{BlockSize, Distribution, EngineSpec, LoadPlan, Mix, Step, Work};

/// Builds the load plan of a draft.
pub(super) fn plan(draft: &Draft) -> LoadPlan {
    let load = &draft.load;
    let mix = match load.movement {
        Movement::Read => Mix::Only(Direction::Read),
        Movement::Write => Mix::Only(Direction::Write),
        Movement::Trim => Mix::Only(Direction::Trim),
        Movement::ReadWrite => Mix::ReadWrite,
        Movement::TrimWrite => Mix::TrimWrite,
    };
    // A seed that is given produces the same sequence in every run, but each loop continues the sequence.
    let own_seed = draft.given("randseed");
    LoadPlan {
        mix,
        random: load.random,
        read_percent: load.read_percent,
        block_size: load.block_size.clone().map(simplest),
        unaligned_sizes: load.unaligned_sizes,
        step: step(load),
        distribution: load.distribution.clone(),
        percent_random: load.percent_random,
        cover_all: !load.no_random_map && load.distribution == Distribution::Uniform && !aligned(load),
        generator: load.generator,
        seed: (own_seed || load.repeatable).then_some(load.seed),
        repeat_per_loop: load.repeatable && !own_seed,
        fsync_every: load.fsync_every.into(),
        fdatasync_every: load.fdatasync_every.into(),
        end_fsync: load.end_fsync,
        fsync_on_close: load.fsync_on_close,
        end_syncfs: load.end_syncfs,
        range_sync: load.range_sync,
        align: load.align.map(|bytes| u32::try_from(bytes).ok().filter(|&bytes| bytes > 0)),
        sizes_by_order: load.sizes_by_order,
        soft_map: load.soft_map,
        zones: zones::plan(&load.zones),
    }
}

/// True if random offsets are aligned to something other than the smallest block size. The random map is then not used,
/// as in fio.
fn aligned(load: &LoadDraft) -> bool {
    let differs =
        |(direction, &bytes): (Direction, &u64)| bytes > 0 && bytes != u64::from(load.block_size[direction].smallest());
    load.random && load.align.iter().any(differs)
}

/// Meaning of the N in `rw=...:N`: bytes to skip in sequential I/O, blocks per random offset in random I/O.
fn step(load: &LoadDraft) -> Step {
    match (load.modifier, load.random) {
        (None, _) => Step::Plain,
        (Some(bytes), false) => Step::Skip(bytes),
        (Some(blocks), true) => {
            let blocks = u32::try_from(blocks).unwrap_or(1);
            if load.identical { Step::Repeat(blocks) } else { Step::Run(blocks) }
        }
    }
}

/// Reduces a range or split with a single size to a fixed size.
fn simplest(size: BlockSize) -> BlockSize {
    match size {
        BlockSize::Range(low, high) if low == high => BlockSize::Fixed(low),
        BlockSize::Split(parts) if parts.len() == 1 => BlockSize::Fixed(parts[0].0),
        size => size,
    }
}

/// Rejects loads that the engine does not support.
pub(super) fn check(draft: &Draft, engine: &EngineSpec, load: &LoadPlan, findings: &mut Findings<'_>) {
    if load.mix.contains(Direction::Trim) && !engine.capabilities.trim {
        let what = format!("engine {} cannot trim", engine.name);
        findings.problems.push(about(draft, &["rw", "ioengine"], what, None));
    }
    check_stream(draft, engine, load, findings);
}

/// A connection carries data in order and in one direction: only sequential reads or sequential writes.
fn check_stream(draft: &Draft, engine: &EngineSpec, load: &LoadPlan, findings: &mut Findings<'_>) {
    let one_way = matches!(load.mix, Mix::Only(Direction::Read | Direction::Write)) && !load.random;
    if engine.capabilities.work == Work::Stream && !one_way {
        let what = format!("engine {} sends or receives, one after the other", engine.name);
        let help = Some("use rw=write for the job that sends and rw=read for the one that receives".to_owned());
        findings.problems.push(about(draft, &["rw", "ioengine"], what, help));
    }
    // With zero-copy sends the socket references the pages of the buffer and may transmit them after the buffer was
    // filled for the next I/O. The receiver would then verify the wrong block.
    if engine.capabilities.lends_buffers && draft.given("verify") && load.mix == Mix::Only(Direction::Write) {
        let what = format!(
            "{} sends from the buffer itself, which may hold the next block by then: nothing to verify",
            engine.name
        );
        let copies = |other: &&EngineSpec| {
            other.capabilities.work == engine.capabilities.work && !other.capabilities.lends_buffers
        };
        let help = findings.engines.iter().find(copies).map(|other| format!("use ioengine={}", other.name));
        findings.problems.push(about(draft, &["verify", "ioengine"], what, help));
    }
}
