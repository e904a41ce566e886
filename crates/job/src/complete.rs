//! From a draft to a job's plan: defaults that hang on other options, contradictions, limits.

mod zones;

use crate::complete_replay as replay;
use crate::complete_timing;
use crate::complete_verify;
use crate::draft::{Draft, LoadDraft, Movement};
use crate::engines::{EngineSpec, Submission, Work};
use crate::error::{Problem, did_you_mean};
use crate::known_engines;
use crate::plan::{
    BlockSize, BufferPlan, ContinueOnError, DepthPlan, Distribution, Extent, FileLock, FilePlan, Fill, JobPlan, Limits,
    LoadPlan, LogPlan, Mix, PacePlan, PlacePlan, RecordPlan, StartPlan, Step, WorkingSet,
};
use crate::table::{self, Set};
use crate::values::{Amount, UnitBase};
use measure::{BytesPerSecond, Direction, Nanos};

/// What completing one job found besides its plan.
pub(crate) struct Findings<'a> {
    /// What makes the job impossible.
    pub problems: &'a mut Vec<Problem>,
    /// What is doubtful.
    pub doubts: &'a mut Vec<Problem>,
}

/// The engine a draft asks for, or why there is none.
pub(crate) fn engine(draft: &Draft, engines: &'static [EngineSpec]) -> Result<&'static EngineSpec, Problem> {
    if let Some(engine) = engines.iter().find(|engine| engine.name == draft.engine) {
        return Ok(engine);
    }
    let name = &draft.engine;
    let (what, help) = match known_engines::reason(name) {
        Some(reason) => {
            let list: Vec<&str> = engines.iter().map(|engine| engine.name).collect();
            (format!("engine {name} is refused: {reason}"), Some(format!("plumb carries {}", list.join(", "))))
        }
        None => {
            let names = engines.iter().map(|engine| engine.name);
            let known = known_engines::NOT_CARRIED.iter().map(|&(known, _)| known);
            (format!("there is no engine `{name}`"), did_you_mean(name, names.chain(known)))
        }
    };
    Err(about(draft, &["ioengine"], what, help))
}

/// A problem with options that were given; each is underlined.
pub(crate) fn about(draft: &Draft, options: &[&str], what: impl Into<String>, help: Option<String>) -> Problem {
    let places = options.iter().filter_map(|option| draft.places.get(*option).cloned()).collect();
    Problem { job: None, what: what.into(), help, places }
}

/// The plan of a draft, without what depends on other jobs (group, origin, words).
pub(crate) fn job_plan(draft: &Draft, engine: &'static EngineSpec, findings: &mut Findings<'_>) -> JobPlan {
    let load = load_plan(draft);
    check(draft, engine, &load, findings);
    complete_timing::check(draft, findings);
    JobPlan {
        name: draft.name.clone(),
        description: draft.description.clone(),
        origin: String::new(),
        written: Vec::new(),
        clones: draft.clones,
        isolation: draft.isolation,
        group: 0,
        start: StartPlan {
            stonewall: draft.stonewall,
            wait_for: draft.wait_for.clone(),
            delay: draft.start_delay,
            before: draft.before.clone(),
            after: draft.after.clone(),
            clock_id: draft.clock_id,
        },
        limits: limits(draft, findings),
        engine: engine.name,
        work: engine.capabilities.work,
        engine_options: draft.engine_options.clone(),
        files: file_plan(draft, load.mix),
        depth: depth_plan(draft, engine, findings),
        pace: complete_timing::complete_pace(draft, pace_plan(draft)),
        latency: complete_timing::latency_plan(draft),
        steady: complete_timing::steady_plan(draft, findings),
        buffers: buffer_plan(draft),
        place: complete_timing::complete_place(draft, place_plan(draft)),
        verify: complete_verify::plan(draft, &load),
        pass: None,
        replay: replay::plan(draft),
        record: record_plan(draft, engine),
        load,
    }
}

/// Contradictions that no run could honour.
fn check(draft: &Draft, engine: &EngineSpec, load: &LoadPlan, findings: &mut Findings<'_>) {
    let rated = draft.pace.rate.iter().any(|(_, &rate)| rate > 0);
    let iops = draft.pace.iops.iter().any(|(_, &iops)| iops > 0);
    if rated && iops {
        let help = Some("give one of the two".to_owned());
        findings.problems.push(about(draft, &["rate", "rate_iops"], "rate and rate_iops exclude each other", help));
    }
    let moving = Direction::ALL.into_iter().filter(|&direction| load.mix.contains(direction));
    let smallest = moving.map(|direction| load.block_size[direction].smallest()).min().unwrap_or(0);
    if let Some(Amount::Bytes(size)) = draft.files.size
        && size > 0
        && size < u64::from(smallest)
    {
        let what = format!("size is {size} bytes, less than one block of {smallest}");
        let help = Some("make size larger or bs smaller".to_owned());
        findings.problems.push(about(draft, &["size", "bs", "bsrange", "bssplit"], what, help));
    }
    if draft.ramp_bytes > 0 && engine.capabilities.work == Work::Company {
        let what = format!("engine {} moves no bytes, and a ramp of bytes would never end", engine.name);
        findings.problems.push(about(draft, &["ramp_size", "ioengine"], what, Some("give ramp_time".to_owned())));
    }
    if draft.verify.plan.only && engine.capabilities.work == Work::Company {
        let what = format!("engine {} moves no bytes: there is nothing to read back, and no end to it", engine.name);
        let help = Some("leave verify_only out".to_owned());
        findings.problems.push(about(draft, &["verify_only", "ioengine"], what, help));
    }
    if load.mix.contains(Direction::Trim) && !engine.capabilities.trim {
        let what = format!("engine {} cannot trim", engine.name);
        findings.problems.push(about(draft, &["rw", "ioengine"], what, None));
    }
    check_stream(draft, engine, load, findings);
    check_atomic(draft, engine, findings);
    check_offload(draft, engine, findings);
    check_working_set(draft, findings);
    complete_verify::check(draft, load, findings);
    check_logs(draft, findings);
    check_block_lives(draft, findings);
    zones::check(draft, load, findings);
    check_files(draft, load, engine, findings);
    replay::check(draft, findings);
    for name in table::rows().filter(|row| matches!(row.set, Set::Withdrawn)).map(|row| row.spec.name) {
        if draft.given(name) {
            let what = format!("{name} was withdrawn and has no effect");
            findings.doubts.push(about(draft, &[name], what, Some("leave it out".to_owned())));
        }
    }
    if draft.pace.think_spin > draft.pace.think {
        let what = "thinktime_spin is longer than thinktime; it is cut to it";
        findings.doubts.push(about(draft, &["thinktime_spin", "thinktime"], what, None));
    }
}

/// Whole writes are a flag that three engines can hand to the kernel, and the kernel wants direct I/O for it.
fn check_atomic(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) {
    const CAN: [&str; 3] = ["pvsync2", "libaio", "io_uring"];
    if draft.files.atomic && !CAN.contains(&engine.name) {
        let what = format!("engine {} cannot ask for atomic writes", engine.name);
        let help = Some(format!("use one of {}", CAN.join(", ")));
        findings.problems.push(about(draft, &["atomic", "ioengine"], what, help));
    } else if draft.files.atomic && !draft.files.direct {
        let help = Some("add direct=1".to_owned());
        findings.problems.push(about(draft, &["atomic", "direct"], "atomic writes are direct I/O", help));
    }
}

/// Blocks of the working set are unique themselves: with more than the rest of them no share of repeats can be reached.
fn check_working_set(draft: &Draft, findings: &mut Findings<'_>) {
    let buffers = &draft.buffers;
    let (repeats, set) = (u32::from(buffers.dedupe_percent), u32::from(buffers.set_percent));
    if (buffers.dedupe_by_set || buffers.set_shared) && repeats > 0 && repeats + set > 100 {
        let what = format!("{repeats}% of the blocks cannot repeat others where {set}% are unique as the working set");
        let help = Some(format!("the two may be 100 together: dedupe_percentage={} at most", 100 - set));
        let words = ["dedupe_percentage", "dedupe_working_set_percentage", "dedupe_mode"];
        findings.problems.push(about(draft, &words, what, help));
    }
}

/// A thread per I/O: so many are a slip of the finger, and no process may have many times as many (vm.max_map_count).
const MOST_OFFLOADED: u32 = 4096;

/// Threads can take over I/Os that stand for themselves, on the system's clock.
fn check_offload(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) {
    if !draft.depth.offload {
        return;
    }
    if engine.capabilities.virtual_time || !matches!(engine.capabilities.work, Work::Data | Work::Pretence) {
        let what = format!("engine {} cannot be driven by other threads", engine.name);
        let help = Some("io_submit_mode=offload is for engines that read and write files, psync say".to_owned());
        findings.problems.push(about(draft, &["io_submit_mode", "ioengine"], what, help));
    }
    if draft.depth.depth > MOST_OFFLOADED {
        let what = format!(
            "iodepth={} with io_submit_mode=offload would be as many threads; {MOST_OFFLOADED} is the most",
            draft.depth.depth
        );
        let help = Some("use a smaller iodepth, or several jobs".to_owned());
        findings.problems.push(about(draft, &["iodepth", "io_submit_mode"], what, help));
    }
    let shared = ["cmdprio_percentage", "cmdprio_bssplit", "sqthread_poll"];
    if let Some(name) = shared.into_iter().find(|name| draft.engine_options.get(name).is_some()) {
        let what = format!("{name} is for one queue, and with io_submit_mode=offload each thread has its own");
        findings.problems.push(about(
            draft,
            &["io_submit_mode", name],
            what,
            Some("leave one of the two out".to_owned()),
        ));
    }
}

/// What goes over a connection goes in order and one way.
fn check_stream(draft: &Draft, engine: &EngineSpec, load: &LoadPlan, findings: &mut Findings<'_>) {
    let one_way = matches!(load.mix, Mix::Only(Direction::Read | Direction::Write)) && !load.random;
    if engine.capabilities.work == Work::Stream && !one_way {
        let what = format!("engine {} sends or receives, one after the other", engine.name);
        let help = Some("use rw=write for the job that sends and rw=read for the one that receives".to_owned());
        findings.problems.push(about(draft, &["rw", "ioengine"], what, help));
    }
    // The socket has the buffer's own pages, and may send them after the buffer was filled for the next I/O.
    if engine.name == "netsplice" && draft.given("verify") && load.mix == Mix::Only(Direction::Write) {
        let what = "netsplice sends from the buffer itself, which may hold the next block by then: nothing to verify";
        let help = Some("use ioengine=net".to_owned());
        findings.problems.push(about(draft, &["verify", "ioengine"], what, help));
    }
}

/// What files can be handled how.
fn check_files(draft: &Draft, load: &LoadPlan, engine: &EngineSpec, findings: &mut Findings<'_>) {
    let handling = &draft.files.handling;
    if handling.fill && load.mix != Mix::Only(Direction::Write) {
        let help = Some("use rw=write or rw=randwrite".to_owned());
        findings.problems.push(about(draft, &["fill_device", "rw"], "fill_device fills by writing", help));
    }
    if handling.lock != FileLock::None && (handling.open_at_once.is_some() || handling.unlink_each_pass) {
        let what = "lockfile locks files that stay open for the whole job";
        let help = Some("leave openfiles and unlink_each_loop out".to_owned());
        findings.problems.push(about(draft, &["lockfile", "openfiles", "unlink_each_loop"], what, help));
    }
    // These keep what they found out about a file for as long as they live.
    let keeps = engine.name == "mmap"
        || engine.name == "io_uring" && draft.engine_options.is_on("registerfiles")
        || draft.depth.offload && ["sync", "vsync"].contains(&engine.name);
    if keeps && (handling.open_at_once.is_some() || handling.unlink_each_pass) {
        let what = format!("engine {} keeps its files, and cannot exchange them while it runs", engine.name);
        let help = Some("leave openfiles, unlink_each_loop and registerfiles out, or use another engine".to_owned());
        findings.problems.push(about(draft, &["openfiles", "unlink_each_loop", "ioengine"], what, help));
    }
}

/// The lives of blocks are those of one file.
fn check_block_lives(draft: &Draft, findings: &mut Findings<'_>) {
    if draft.record.block_lives && (draft.files.count > 1 || draft.files.names.len() > 1) {
        let count = draft.files.names.len().max(draft.files.count as usize);
        let what = format!("block_error_percentiles looks at the blocks of one file, and the job has {count}");
        let help = Some("give each file a job of its own".to_owned());
        findings.problems.push(about(draft, &["block_error_percentiles", "nrfiles", "filename"], what, help));
    }
}

/// The moment of issue has its column in logs of latencies with offsets only.
fn check_logs(draft: &Draft, findings: &mut Findings<'_>) {
    let logs = &draft.record.logs;
    if logs.issue_time && !(logs.offset && logs.latency.is_some()) {
        let help = Some("give write_lat_log and log_offset=1 as well".to_owned());
        findings.problems.push(about(draft, &["log_issue_time"], "log_issue_time has no log to go to", help));
    }
}

fn limits(draft: &Draft, findings: &mut Findings<'_>) -> Limits {
    let runtime = (!draft.runtime.is_zero()).then_some(draft.runtime);
    if draft.time_based && runtime.is_none() {
        let help = Some("set runtime, or leave time_based out".to_owned());
        findings.doubts.push(about(draft, &["time_based"], "time_based without runtime has no effect", help));
    }
    Limits {
        runtime,
        time_based: draft.time_based && runtime.is_some(),
        ramp: draft.ramp,
        ramp_bytes: draft.ramp_bytes,
        loops: draft.loops.into(),
        ios: (draft.ios > 0).then_some(draft.ios),
        exit_all: draft.exit_all,
        exit_scope: draft.exit_scope,
        exit_all_on_error: draft.exit_all_on_error,
        continue_on_error: forgiving(draft),
        ignored: draft.ignore_error.clone(),
        error_dump: draft.error_dump,
        stuck_after: (!draft.stuck_after.is_zero()).then_some(draft.stuck_after),
    }
}

/// A class whose forgiven errors are listed is forgiven; a fatal check never is.
fn forgiving(draft: &Draft) -> ContinueOnError {
    let (asked, listed) = (draft.continue_on_error, &draft.ignore_error);
    ContinueOnError {
        read: asked.read || !listed.read.is_empty(),
        write: asked.write || !listed.write.is_empty(),
        verify: (asked.verify || !listed.verify.is_empty()) && !draft.verify.plan.fatal,
    }
}

/// Percentages stay open until the file's size is known; zones are so large.
fn extent(amount: Amount, zone: u64) -> Extent {
    match amount {
        Amount::Bytes(bytes) => Extent::Bytes(bytes),
        Amount::Zones(zones) => Extent::Bytes(zones.saturating_mul(zone)),
        Amount::Percent(percent) => Extent::Percent(percent),
    }
}

fn file_plan(draft: &Draft, mix: Mix) -> FilePlan {
    let files = &draft.files;
    let extent = |amount: Amount| extent(amount, draft.load.zones.size);
    let given = |amount: Option<Amount>| amount.filter(|&amount| amount != Amount::Bytes(0)).map(extent);
    FilePlan {
        directories: files.directories.clone(),
        names: files.names.clone(),
        count: files.count,
        size: given(files.size),
        io_size: given(files.io_size),
        file_size: files.file_size,
        offset: extent(files.offset),
        offset_increment: extent(files.offset_increment),
        direct: files.direct,
        atomic: files.atomic,
        sync: files.sync,
        allocate: files.allocate,
        invalidate: files.invalidate && !files.pre_read,
        pre_read: files.pre_read,
        overwrite: files.overwrite || mix.contains(Direction::Read),
        unlink: files.unlink,
        create_only: files.create_only,
        create_fsync: files.create_fsync,
        advice: files.advice,
        may_create: files.may_create,
        may_write_mounted: files.may_write_mounted,
        consent: files.consent.clone(),
        handling: files.handling.clone(),
    }
}

fn load_plan(draft: &Draft) -> LoadPlan {
    let load = &draft.load;
    let mix = match load.movement {
        Movement::Read => Mix::Only(Direction::Read),
        Movement::Write => Mix::Only(Direction::Write),
        Movement::Trim => Mix::Only(Direction::Trim),
        Movement::ReadWrite => Mix::ReadWrite,
        Movement::TrimWrite => Mix::TrimWrite,
    };
    // A seed of one's own gives the same sequence in every run, but each loop continues it.
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

/// Whether random offsets are multiples of something else than the smallest size: then no map holds, as in fio.
fn aligned(load: &LoadDraft) -> bool {
    let differs =
        |(direction, &bytes): (Direction, &u64)| bytes > 0 && bytes != u64::from(load.block_size[direction].smallest());
    load.random && load.align.iter().any(differs)
}

/// What `rw=...:N` means: bytes to skip in sequential I/O, blocks per draw in random I/O.
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

/// A range or split of one size is a fixed size.
fn simplest(size: BlockSize) -> BlockSize {
    match size {
        BlockSize::Range(low, high) if low == high => BlockSize::Fixed(low),
        BlockSize::Split(parts) if parts.len() == 1 => BlockSize::Fixed(parts[0].0),
        size => size,
    }
}

fn depth_plan(draft: &Draft, engine: &EngineSpec, findings: &mut Findings<'_>) -> DepthPlan {
    let asked = &draft.depth;
    let mut depth = asked.depth;
    if engine.capabilities.submission == Submission::Synchronous && depth > 1 && !asked.offload {
        let what = format!("engine {} does one I/O at a time; iodepth={depth} is capped at 1", engine.name);
        let help = Some("use libaio or io_uring for more, or more jobs".to_owned());
        findings.doubts.push(about(draft, &["iodepth", "ioengine"], what, help));
        depth = 1;
    }
    let or_depth = |value: u32| if value == 0 || value > depth { depth } else { value };
    let reap_min = asked.reap_min.min(depth);
    // Without a maximum the minimum is it; a job that only polls takes what is there.
    let reap_max = match asked.reap_max.unwrap_or(0).max(reap_min) {
        0 => depth,
        most => most.min(depth),
    };
    DepthPlan {
        depth,
        batch: or_depth(asked.batch),
        reap_min,
        reap_max,
        low: or_depth(asked.low),
        // With one in flight nothing can overlap.
        serialises_overlap: asked.serialises_overlap && depth > 1,
        offload: asked.offload,
    }
}

fn pace_plan(draft: &Draft) -> PacePlan {
    let pace = &draft.pace;
    let positive = |value: u64| (value > 0).then_some(value);
    PacePlan {
        rate: pace.rate.map(|rate| positive(rate).map(BytesPerSecond)),
        iops: pace.iops.map(positive),
        poisson: pace.poisson,
        think: pace.think,
        think_spin: pace.think_spin.min(pace.think),
        think_blocks: u64::from(pace.think_blocks).max(1),
        rate_ignores_think: pace.rate_ignores_think,
        ..PacePlan::default()
    }
}

fn buffer_plan(draft: &Draft) -> BufferPlan {
    let buffers = &draft.buffers;
    let fill = buffers.fill();
    let varied = (1..100).contains(&buffers.compress_percent) || buffers.dedupe_percent > 0;
    let refill = buffers.refill.unwrap_or(varied) && fill == Fill::Random;
    // Zeros are scrambled only for those who ask for it in so many words.
    let wanted = buffers.scramble
        && match fill {
            Fill::Random => true,
            Fill::Zero => draft.given("scramble_buffers") && buffers.compress_percent == 0,
            Fill::Pattern(_) => false,
        };
    BufferPlan {
        fill,
        refill,
        scramble: wanted && !refill,
        compress_percent: buffers.compress_percent,
        compress_chunk: buffers.compress_chunk,
        dedupe_percent: buffers.dedupe_percent,
        working_set: (buffers.dedupe_by_set || buffers.set_shared)
            .then_some(WorkingSet { percent: buffers.set_percent, shared: buffers.set_shared }),
        placed: None,
        memory: buffers.memory.clone(),
        align: buffers.align,
        huge_page: buffers.huge_page,
    }
}

fn place_plan(draft: &Draft) -> PlacePlan {
    let place = &draft.place;
    // A level without a class is meant within best effort, the kernel's class 2.
    let io_priority = match (place.io_class, place.io_level) {
        (None, None) => None,
        (class, level) => Some((class.unwrap_or(2), level.unwrap_or(0))),
    };
    PlacePlan {
        cpus: place.cpus.clone(),
        split_cpus: place.split_cpus,
        nice: place.nice,
        io_priority,
        lock_memory: place.lock_memory,
        ..PlacePlan::default()
    }
}

fn record_plan(draft: &Draft, engine: &EngineSpec) -> RecordPlan {
    let record = &draft.record;
    let named = |stem: &Option<String>| stem.as_ref().map(|stem| or_name(stem, &draft.name));
    RecordPlan {
        group_reporting: record.group_reporting,
        total_latency: record.total_latency,
        completion_latency: record.completion_latency,
        submission_latency: record.submission_latency,
        samples: record.samples,
        completion_percentiles: record.completion_percentiles && record.completion_latency,
        total_percentiles: record.total_percentiles && record.total_latency,
        submission_percentiles: record.submission_percentiles && record.submission_latency,
        percentiles: record.percentiles.clone(),
        percentile_digits: record.percentile_digits,
        bandwidth_interval: sampled(record.bandwidth_interval, &record.logs.bandwidth, &record.logs),
        iops_interval: sampled(record.iops_interval, &record.logs.iops, &record.logs),
        shown: record.shown,
        disk_usage: record.disk_usage,
        unit_base: if draft.unit_base == UnitBase::Decimal { 1000 } else { 1024 },
        // Links are measured in bits, unless somebody says otherwise; netsplice is not, in fio, so not here.
        bits: record.bits || (engine.name == "net" && !draft.given("unit_base")),
        significant_figures: record.significant_figures,
        unified: record.unified,
        logs: LogPlan {
            histogram: named(&record.logs.histogram),
            bandwidth: named(&record.logs.bandwidth),
            latency: named(&record.logs.latency),
            iops: named(&record.logs.iops),
            ..record.logs.clone()
        },
        iolog: draft.replay.written_log.clone(),
        tells: crate::plan::TellPlan::default(),
        states_in: None,
        block_lives: record.block_lives,
    }
}

/// Where rates are logged over windows, the samples of the report are those of the log.
fn sampled(interval: Nanos, log: &Option<String>, logs: &LogPlan) -> Nanos {
    if log.is_some() && !logs.average.is_zero() { logs.average } else { interval }
}

/// A log without a stem takes the job's name; a slash in that would lead elsewhere.
fn or_name(stem: &str, name: &str) -> String {
    if stem.is_empty() { name.replace('/', "_") } else { stem.to_owned() }
}
