//! Load of a job: the meaning of `rw=` and its modifier, and the loads that its engine supports.

use super::{Findings, about, zones};
use crate::options::draft::Draft;
use measure::Direction;
use plan::{BlockSize, Distribution, EngineSpec, Generator, LoadPlan, Mix, Step, Work};

/// Builds the load plan of a draft.
pub(super) fn plan(draft: &Draft) -> LoadPlan {
    let load = with_splits(draft);
    // A seed that is given produces the same sequence in every run, but each loop continues the sequence.
    let own_seed = draft.given("randseed");
    let seed = match load.seed {
        Some(_) if !own_seed && !load.repeat_per_loop && draft.given("randrepeat") => None,
        None if load.repeat_per_loop => LoadPlan::default().seed,
        seed => seed,
    };
    let sprandom = draft.sprandom.then_some(draft.sprandom_plan);
    LoadPlan {
        generator: if sprandom.is_some() { Generator::Lfsr } else { load.generator },
        step: match load.step {
            Step::Run(blocks) if draft.identical => Step::Repeat(blocks),
            step => step,
        },
        cover_all: load.cover_all
            && load.distribution == Distribution::Uniform
            && !aligned(&load)
            && sprandom.is_none(),
        sprandom,
        seed,
        repeat_per_loop: load.repeat_per_loop && !own_seed,
        zones: zones::plan(&draft.zones),
        ..load
    }
}

/// The load so far, with `bssplit` in place of the other block sizes.
fn with_splits(draft: &Draft) -> LoadPlan {
    let mut load = draft.job.load.clone();
    for direction in Direction::ALL {
        let size = draft.splits[direction].as_ref().unwrap_or(&load.block_size[direction]);
        load.block_size[direction] = simplest(size.clone());
    }
    load
}

/// True if random offsets are aligned to something other than the smallest block size. The random map is then not used,
/// as in fio.
fn aligned(load: &LoadPlan) -> bool {
    let smallest = |direction| load.block_size[direction].smallest();
    load.random && load.align.iter().any(|(direction, align)| align.is_some_and(|bytes| bytes != smallest(direction)))
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
    if load.sprandom.is_some() {
        check_sprandom(draft, load, findings);
    }
}

/// Rejects what does not go with `sprandom`, and warns about the options that it sets.
fn check_sprandom(draft: &Draft, load: &LoadPlan, findings: &mut Findings<'_>) {
    if !(load.random && load.mix.contains(Direction::Write)) || load.mix == Mix::TrimWrite {
        findings.reject(&["sprandom", "rw"], "sprandom is for random writes", "use rw=randwrite");
    }
    if load.distribution != Distribution::Uniform || load.step != Step::Plain {
        findings.reject(&["sprandom", "random_distribution", "rw"], "sprandom draws its own order", "leave it out");
    }
    if draft.given("random_generator") && draft.job.load.generator != Generator::Lfsr {
        let help = "leave it out or give random_generator=lfsr";
        findings.reject(&["random_generator", "sprandom"], "sprandom needs the generator lfsr", help);
    }
    if draft.given("norandommap") && draft.job.load.cover_all {
        let help = "leave it out or give norandommap=1";
        findings.reject(&["norandommap", "sprandom"], "sprandom writes blocks again and keeps no map", help);
    }
    if draft.sprandom_plan.regions == 0 {
        findings.reject(&["spr_num_regions"], "sprandom has no regions", "give 1 or more");
    }
    let sizes = &load.block_size.write;
    if !matches!(sizes, BlockSize::Fixed(_)) || aligned(load) {
        findings.reject(
            &["sprandom", "bs", "blockalign"],
            "sprandom writes blocks of one size, side by side",
            "give one bs",
        );
    }
    let files = &draft.job.files;
    if files.count > 1 || files.names.len() > 1 {
        findings.reject(&["sprandom", "filename", "nrfiles"], "sprandom is for one device or file", "give one");
    }
    if draft.job.limits.time_based {
        let what = "sprandom ends when every block is written";
        findings.reject(&["time_based", "sprandom"], what, "leave time_based out");
    }
    findings.doubts.push(about(draft, &["sprandom"], "sprandom sets random_generator=lfsr and norandommap=1", None));
}

/// A connection carries data in order and in one direction: only sequential reads or sequential writes.
fn check_stream(draft: &Draft, engine: &EngineSpec, load: &LoadPlan, findings: &mut Findings<'_>) {
    let one_way = matches!(load.mix, Mix::Only(Direction::Read | Direction::Write)) && !load.random;
    if engine.capabilities.work == Work::Stream && !one_way {
        let what = format!("engine {} sends or receives, one after the other", engine.name);
        findings.reject(
            &["rw", "ioengine"],
            what,
            "use rw=write for the job that sends and rw=read for the one that receives",
        );
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
