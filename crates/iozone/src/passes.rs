//! A test's pass as a Plan: order of I/Os, flags for opening the file, and the part that is measured.

use crate::matrix::Sizes;
use crate::modes::{Data, Mapping, Test};
use crate::settings::Settings;
use crate::{rare, telemetry};
use measure::{Direction, Nanos, PerDirection};
use plan::{
    Access, AccessAdvice, Allocate, BlockSize, BufferPlan, Creation, DepthPlan, Extent, Fill, Isolation, JobPlan,
    Marks, Mix, PassPlan, Plan, Race, RecordOrder, SyncMode,
};
use std::path::PathBuf;
use std::sync::Arc;

/// Page size in bytes; iozone writes its pattern to the start of each page.
const PAGE: usize = 4096;
/// Bytes of each page with the pattern.
const MARKED: usize = 8;

/// Largest file, in kB, whose passes in a matrix are threads. Forking a process would take longer than such a pass.
const SHORT_KB: u64 = 16 << 10;

/// One pass of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The test.
    pub test: Test,
    /// Pass number, from 0.
    pub number: u8,
}

impl Pass {
    /// Direction of its I/O.
    pub fn moves(self) -> Direction {
        match (self.test, self.number) {
            (Test::Write | Test::Rewrite | Test::Fwrite | Test::Pwrite, _) | (Test::Random, 1) => Direction::Write,
            _ => Direction::Read,
        }
    }

    /// True if the pass would write to existing files that are only to be read.
    pub(crate) fn is_forbidden(self, settings: &Settings) -> bool {
        settings.foreign_file && (self.test == Test::Mix || self.moves() == Direction::Write)
    }
}

/// File and sizes of a pass.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Path of the file.
    pub file: PathBuf,
    /// True if the file exists already.
    pub is_there: bool,
    /// Sizes of the file and its records.
    pub sizes: Sizes,
    /// File name prefix of the latency log, if requested.
    pub latency_log: Option<String>,
    /// True if the latency of each record is measured. It takes up to a tenth of the time of a 4 KiB record in memory.
    pub measures_latency: bool,
    /// CPUs of the machine.
    pub cpus: u32,
}

impl Scene {
    /// Number of whole records in the file.
    pub fn record_count(&self) -> u64 {
        self.sizes.file_kb / self.sizes.record_kb.max(1)
    }
}

/// True if the passes over a file of this size are threads: those over small files in a matrix.
pub fn is_short(settings: &Settings, file_kb: u64) -> bool {
    settings.is_matrix() && file_kb <= SHORT_KB
}

/// The plan of a pass with one worker.
pub fn pass_plan(settings: &Settings, pass: Pass, scene: &Scene) -> Plan {
    let mut job = base(settings, pass, scene, order(settings, pass.test, pass));
    let around = around(pass, settings);
    if is_short(settings, scene.sizes.file_kb) {
        job.isolation = Isolation::Thread;
    }
    if let Some(plan) = job.pass.as_mut() {
        plan.flush_before = around.flush_before;
        plan.prime = around.prime;
        plan.access = around.access;
        plan.creation = match around.creation {
            Creation::IfMissing if pass.test == Test::Fwrite && scene.is_there => Creation::MustExist,
            creation => creation,
        };
        plan.touch_bytes = if settings.rare.touches && pass.test == Test::Write { 4096 } else { 0 };
    }
    open_flags(settings, pass, &mut job, Opener::LoneWorker);
    add_rare(settings, pass, &mut job, 0);
    Plan { jobs: vec![job], global_options: Vec::new() }
}

/// The plan of a throughput test: one child per file.
pub fn throughput_plan(settings: &Settings, pass: Pass, scenes: &[Scene]) -> Plan {
    let count = u32::try_from(scenes.len()).unwrap_or(u32::MAX);
    let jobs = (0..count).zip(scenes).map(|(index, scene)| {
        let own = child_pass(settings, pass, index, count);
        let mut job = base(settings, own, scene, order(settings, pass.test, own));
        job.name = format!("child{index}");
        if settings.threads {
            job.isolation = Isolation::Thread;
        }
        if let Some(plan) = job.pass.as_mut() {
            plan.start_gap = Nanos(settings.release_gap.get().saturating_mul(u64::from(index)));
            plan.flush_before = own.test == Test::Fwrite;
            plan.creation = match (own.test, own.number) {
                (Test::Random, 1) if settings.rare.empties && pass.test == Test::Mix && settings.mix_sequential => {
                    Creation::Truncate
                }
                (Test::Write, 0) | (Test::Random, 1) => Creation::IfMissing,
                (Test::Pwrite, _) => Creation::Replace,
                (Test::Fwrite, _) if !scene.is_there => Creation::IfMissing,
                _ => Creation::MustExist,
            };
            plan.race = match (own.test, own.number) {
                _ if settings.no_stonewall => Race::None,
                (Test::Fwrite | Test::Fread, _) => Race::None,
                (Test::Write | Test::Pwrite, 0) | (Test::Random, 1) => Race::Mark,
                _ => Race::Stop,
            };
        }
        if let Some(first) = settings.first_cpu(scene.cpus) {
            job.place.cpus = vec![first.wrapping_add(index) % scene.cpus.max(1)];
        }
        open_flags(settings, own, &mut job, Opener::Child);
        add_rare(settings, own, &mut job, if settings.shared_file { 0 } else { index });
        job
    });
    Plan { jobs: jobs.collect(), global_options: Vec::new() }
}

/// The pass of a child: that of its test, or for the mixed test a random read or write.
pub fn child_pass(settings: &Settings, pass: Pass, index: u32, count: u32) -> Pass {
    if pass.test != Test::Mix {
        return pass;
    }
    let reads = match (settings.mix_readers, settings.mix_percent) {
        (Some(readers), _) => index < readers,
        (None, Some(percent)) => index < percent * count / 100,
        (None, None) => index.is_multiple_of(2),
    };
    Pass { test: Test::Random, number: u8::from(!reads) }
}

/// Order of the records of a pass; `asked` is the test that it is part of.
fn order(settings: &Settings, asked: Test, pass: Pass) -> RecordOrder {
    if let Some(records) = settings.listed(asked, pass.moves()) {
        return RecordOrder::Listed(Arc::clone(records));
    }
    match pass.test {
        Test::Random if asked == Test::Mix && settings.mix_sequential => RecordOrder::ByLoad,
        Test::Random => RecordOrder::Shuffled,
        Test::Backward => RecordOrder::Backward,
        Test::Rewrite => RecordOrder::Same,
        Test::Stride => RecordOrder::Strided(settings.stride),
        _ => RecordOrder::ByLoad,
    }
}

/// Operations before and after the measured time of a single-worker pass.
struct Around {
    flush_before: bool,
    prime: bool,
    access: Access,
    creation: Creation,
}

fn around(pass: Pass, settings: &Settings) -> Around {
    let plain = Around { flush_before: true, prime: false, access: Access::ByMix, creation: Creation::MustExist };
    match (pass.test, pass.number) {
        (Test::Write, 0) if settings.reuse => Around { creation: Creation::IfMissing, ..plain },
        (Test::Write, 0) => Around { creation: Creation::Replace, ..plain },
        (Test::Read, _) => Around { prime: true, ..plain },
        (Test::Random, _) if settings.foreign_file => Around { flush_before: false, ..plain },
        (Test::Random, _) => {
            Around { flush_before: false, access: Access::Both, creation: Creation::IfMissing, ..plain }
        }
        (Test::Pread, _) => Around { flush_before: false, ..plain },
        (Test::Rewrite | Test::Fwrite | Test::Pwrite, _) => Around { creation: Creation::IfMissing, ..plain },
        _ => plain,
    }
}

/// Kind of worker that opens the file; some open flags differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opener {
    LoneWorker,
    Child,
}

fn open_flags(settings: &Settings, pass: Pass, job: &mut JobPlan, opener: Opener) {
    if pass.test.is_stdio() {
        return;
    }
    job.files.direct = settings.direct;
    let writes = pass.moves() == Direction::Write || (pass.test == Test::Random && opener == Opener::LoneWorker);
    let syncs = settings.sync && (writes || settings.sync_reads || opener == Opener::Child);
    job.files.sync = if syncs {
        SyncMode::Sync
    } else if settings.data_sync && writes {
        SyncMode::DataSync
    } else {
        SyncMode::None
    };
}

/// The part of the plan common to all passes.
fn base(settings: &Settings, pass: Pass, scene: &Scene, order: RecordOrder) -> JobPlan {
    let moves = pass.moves();
    let mut job = JobPlan::with_defaults("iozone", "command line", engine(settings, pass));
    job.limits.stuck_after = settings.stuck_after;
    let listed = match &order {
        RecordOrder::Listed(records) => Some(&**records),
        _ => None,
    };
    let record =
        listed.map_or(scene.sizes.record_kb.saturating_mul(1024), |records| u64::from(telemetry::longest(records)));
    let size = u32::try_from(record).unwrap_or(u32::MAX);
    job.load.mix = Mix::Only(moves);
    job.load.block_size = PerDirection::all(BlockSize::Fixed(size));
    job.load.end_fsync = settings.times_flush && moves == Direction::Write;
    job.load.fsync_every = u64::from(moves == Direction::Write && settings.mapping == Some(Mapping::EachRecord));
    let files = &mut job.files;
    files.names = vec![scene.file.clone()];
    files.size = Some(Extent::Bytes(match listed {
        Some(records) => telemetry::end(records),
        None => scene.record_count().saturating_mul(record),
    }));
    files.allocate = Allocate::None;
    files.invalidate = false;
    files.advice = AccessAdvice::None;
    files.handling.create_on_open = true;
    job.buffers = buffers(settings, moves);
    if let Some(asynchronous) = settings.asynchronous {
        let depth = asynchronous.depth;
        job.depth = DepthPlan { depth, low: depth, ..DepthPlan::default() };
    }
    if let Some(compute) = settings.compute.filter(|_| !listed.is_some_and(telemetry::computes)) {
        (job.pace.think, job.pace.think_spin) = (compute, compute);
    }
    if let Some((kb, rest)) = settings.burst {
        job.pace.think = rest;
        job.pace.think_blocks = (kb / scene.sizes.record_kb.max(1)).max(1);
    }
    if let Some(rate) = settings.operations_per_second {
        job.pace.iops = PerDirection::all(Some(rate));
    }
    if let Some(first) = settings.first_cpu(scene.cpus) {
        job.place.cpus = vec![first % scene.cpus.max(1)];
    }
    job.record.samples = false;
    job.record.submission_latency = false;
    job.record.total_latency = false;
    job.record.completion_latency = scene.measures_latency || scene.latency_log.is_some();
    job.record.logs.latency.clone_from(&scene.latency_log);
    job.record.logs.offset = true;
    let plan = PassPlan {
        // That of iozone's open(2), and of fopen(3).
        mode: if pass.test.is_stdio() { 0o666 } else { 0o640 },
        flush_after: !job.load.end_fsync,
        close_inside: settings.times_close && matches!(pass.test, Test::Write | Test::Read),
        lock: settings.lock,
        marks: (moves == Direction::Read && settings.verifies()).then(|| marks(settings)),
        order,
        purge_bytes: settings.purge_bytes(),
        ..PassPlan::default()
    };
    job.pass = Some(Box::new(plan));
    job
}

/// Adds the options of module `rare`.
fn add_rare(settings: &Settings, pass: Pass, job: &mut JobPlan, child: u32) {
    let reads = pass.moves() == Direction::Read;
    let placed = rare::placed(&settings.rare, job.load.largest(), child);
    let Some(plan) = job.pass.as_mut() else { return };
    let list = match &plan.order {
        RecordOrder::Listed(records) => Some(&**records),
        _ => None,
    };
    // The smallest read that the file allows.
    let stray_bytes = if settings.direct { 4096 } else { 1 };
    plan.extras = rare::extras(&settings.rare, pass.test, list, stray_bytes);
    plan.map_advice = settings.rare.map_advice;
    // Only data whose contents are known is verified.
    if placed.is_some() && (!reads || plan.marks.is_some()) {
        plan.marks = None;
        job.buffers.placed = placed.map(Box::new);
    }
}

/// Name of the engine with the system calls for the pass.
fn engine(settings: &Settings, pass: Pass) -> &'static str {
    match pass.test {
        Test::Pwrite | Test::Pread if !settings.without_stdio() => "psync",
        _ if settings.mapping.is_some() => "mmap",
        _ if settings.asynchronous.is_some() => "posixaio",
        // One system call per record; iozone itself makes two, lseek(2) and read(2) or write(2).
        Test::Random | Test::Backward | Test::Rewrite | Test::Stride => "psync",
        _ => "sync",
    }
}

fn buffers(settings: &Settings, moves: Direction) -> BufferPlan {
    let fill = match (settings.data, moves) {
        (_, Direction::Read | Direction::Trim) => Fill::Zero,
        (Data::Full(byte), Direction::Write) => Fill::Pattern(vec![byte]),
        (Data::Marks, Direction::Write) => {
            let mut page = vec![0; PAGE];
            page[..MARKED].fill(settings.marks_byte);
            Fill::Pattern(page)
        }
    };
    BufferPlan { fill, scramble: false, ..BufferPlan::default() }
}

fn marks(settings: &Settings) -> Marks {
    match settings.data {
        Data::Marks => Marks { byte: settings.marks_byte, bytes: MARKED, page: PAGE },
        Data::Full(byte) => Marks { byte, bytes: PAGE, page: PAGE },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        Scene { file: "f".into(), sizes: Sizes { file_kb: 250, record_kb: 16 }, cpus: 2, ..Scene::default() }
    }

    #[test]
    fn a_file_holds_whole_records() {
        let plan = pass_plan(&Settings::default(), Pass { test: Test::Write, number: 0 }, &scene());
        assert_eq!(plan.jobs[0].files.size, Some(Extent::Bytes(240 << 10)));
        assert_eq!(plan.jobs[0].pass.as_ref().unwrap().creation, Creation::Replace);
    }

    #[test]
    fn short_passes_of_a_matrix_are_threads() {
        let matrix = Settings { mode: crate::modes::Mode::Auto, ..Settings::default() };
        let pass = Pass { test: Test::Read, number: 0 };
        for (settings, file_kb, isolation) in [
            (&matrix, 16 << 10, Isolation::Thread),
            (&matrix, 32 << 10, Isolation::Process),
            (&Settings::default(), 250, Isolation::Process),
        ] {
            let plan = pass_plan(settings, pass, &Scene { sizes: Sizes { file_kb, ..scene().sizes }, ..scene() });
            assert_eq!(plan.jobs[0].isolation, isolation, "{file_kb} kB");
        }
    }

    #[test]
    fn the_latency_of_records_is_measured_for_those_who_see_it() {
        let pass = Pass { test: Test::Read, number: 0 };
        for (measures_latency, log, expected) in [(false, None, false), (true, None, true), (false, Some("l"), true)] {
            let scene = Scene { measures_latency, latency_log: log.map(str::to_owned), ..scene() };
            let record = pass_plan(&Settings::default(), pass, &scene).jobs.remove(0).record;
            assert_eq!(record.completion_latency, expected, "{scene:?}");
            assert!(!record.total_latency && !record.submission_latency);
        }
    }

    #[test]
    fn existing_files_are_only_read() {
        let settings = Settings { foreign_file: true, ..Settings::default() };
        let scenes = [scene(), scene()];
        for row in crate::throughput_tests(&settings) {
            let plan = throughput_plan(&settings, Pass { test: row.test, number: row.pass }, &scenes);
            for job in plan.jobs {
                let pass = job.pass.unwrap();
                assert_eq!((job.load.mix, pass.creation), (Mix::Only(Direction::Read), Creation::MustExist), "{row:?}");
                assert!(pass.marks.is_none(), "{row:?}");
            }
        }
        for row in crate::row_tests(&settings) {
            for number in (0..row.passes(&settings)).filter(|&number| !row.drops(number, &settings)) {
                let job = pass_plan(&settings, Pass { test: row.test, number }, &scene()).jobs.remove(0);
                let pass = job.pass.unwrap();
                let found = (job.load.mix, pass.creation, pass.access);
                assert_eq!(found, (Mix::Only(Direction::Read), Creation::MustExist, Access::ByMix), "{row:?}");
            }
        }
    }

    #[test]
    fn existing_files_are_verified_where_their_content_is_known() {
        let verifies = |settings: Settings| {
            let settings = Settings { foreign_file: true, ..settings };
            let job = pass_plan(&settings, Pass { test: Test::Read, number: 0 }, &scene()).jobs.remove(0);
            job.pass.unwrap().marks.is_some() || job.buffers.placed.is_some()
        };
        assert!(!verifies(Settings::default()));
        assert!(verifies(Settings { data: Data::Full(90), ..Settings::default() }));
        assert!(verifies(Settings {
            rare: rare::Rare { diagnoses: true, ..Default::default() },
            ..Settings::default()
        }));
    }

    #[test]
    fn half_of_the_mix_reads_unless_said_otherwise() {
        let readers = |settings: &Settings, count: usize| {
            let plan = throughput_plan(settings, Pass { test: Test::Mix, number: 0 }, &vec![scene(); count]);
            plan.jobs.iter().map(|job| job.load.mix == Mix::Only(Direction::Read)).collect::<Vec<_>>()
        };
        assert_eq!(readers(&Settings::default(), 3), [true, false, true]);
        let quarter = Settings { mix_percent: Some(25), ..Settings::default() };
        assert_eq!(readers(&quarter, 4), [true, false, false, false]);
    }

    #[test]
    fn flushes_are_inside_the_time_only_where_asked_for() {
        let pass = Pass { test: Test::Write, number: 1 };
        let plain = pass_plan(&Settings::default(), pass, &scene());
        let timed = pass_plan(&Settings { times_flush: true, ..Settings::default() }, pass, &scene());
        let of = |plan: &Plan| (plan.jobs[0].load.end_fsync, plan.jobs[0].pass.as_ref().unwrap().flush_after);
        assert_eq!((of(&plain), of(&timed)), ((false, true), (true, false)));
    }
}
