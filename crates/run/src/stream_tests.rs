//! Records the stream of I/Os that a worker gives to its engine: the same for the same seed, with any engine and as
//! process or thread.
//!
//! In this crate's own tests every engine is wrapped. A worker that is dropped appends the hash of its stream to a
//! file, which works across processes.

use engine::{Completion, ENGINES, Engine, EngineError, Io, Setup, Submitted};
use measure::{Direction, Nanos, PerDirection};
use plan::{
    BlockSize, Distribution, EngineSpec, Extent, FileService, Gap, Isolation, JobPlan, Mix, Plan, Step, Strides, Work,
    ZonePlan, Zoned,
};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// File for the hashes; set before the workers start, and inherited by worker processes.
static HASHES: Mutex<Option<PathBuf>> = Mutex::new(None);

/// An engine that passes every I/O on and keeps a hash of the stream.
pub(crate) struct Recorded<E> {
    engine: E,
    hash: u64,
    ios: u64,
}

impl<E> Recorded<E> {
    pub(crate) fn new(engine: E) -> Self {
        Recorded { engine, hash: 0xcbf2_9ce4_8422_2325, ios: 0 }
    }

    fn add(&mut self, io: &Io) {
        self.ios += 1;
        let words = [io.operation as u64, u64::from(io.target), io.offset, u64::from(io.length)];
        for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
            // FNV-1a.
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl<E> Drop for Recorded<E> {
    fn drop(&mut self) {
        let Some(path) = HASHES.lock().expect("no thread panics with it").clone() else { return };
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        // A single write(2) with O_APPEND: workers end at the same time.
        let line = format!("{} ios {:016x}\n", self.ios, self.hash);
        file.write_all(line.as_bytes()).unwrap();
    }
}

impl<E: Engine> Engine for Recorded<E> {
    type Clock = E::Clock;
    const SPEC: EngineSpec = E::SPEC;
    const STAMPS: bool = E::STAMPS;
    const OWN_LOOP: bool = E::OWN_LOOP;

    fn open(setup: Setup<'_, Self::Clock>) -> Result<Self, EngineError> {
        E::open(setup).map(Recorded::new)
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let submitted = self.engine.submit(io);
        // The rest of a short transfer is not a decision of the load.
        if submitted != Submitted::Full && io.buffer_offset == 0 {
            self.add(&io);
        }
        submitted
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        self.engine.flush()
    }

    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        self.engine.reap(min, max, done)
    }

    fn flush_and_reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<(u32, u32), EngineError> {
        self.engine.flush_and_reap(min, max, done)
    }

    fn stamps(&self, slot: u32) -> Option<(Nanos, Nanos)> {
        self.engine.stamps(slot)
    }

    fn helpers_usage(&self) -> Option<sys::processes::usage::Usage> {
        self.engine.helpers_usage()
    }

    fn sees_submission(&self) -> bool {
        self.engine.sees_submission()
    }

    fn note(&self) -> Option<String> {
        self.engine.note()
    }
}

struct Blind;

impl crate::Observer for Blind {
    fn event(&mut self, _event: crate::Event<'_>) {}
}

/// The hashes of all workers of a run, sorted, because clones end in any order.
fn hashes(directory: &Path, mut job: JobPlan, isolation: Isolation) -> Vec<String> {
    let root = directory.join("root");
    // A procfs that shows one thread: the threads of the test harness hold no lock that a worker needs, so forking is
    // safe.
    std::fs::create_dir_all(root.join("proc/self/task/1")).unwrap();
    let path = directory.join("hashes");
    let _ = std::fs::remove_file(&path);
    *HASHES.lock().unwrap() = Some(path.clone());
    job.isolation = isolation;
    job.files.directories = vec![directory.to_owned()];
    let what = format!("{} on {}", job.name, job.engine);
    let options = crate::RunOptions { system_root: root, ..crate::RunOptions::default() };
    let result = crate::execute(&Plan { jobs: vec![job], global_options: Vec::new() }, &options, &mut Blind).unwrap();
    *HASHES.lock().unwrap() = None;
    for job in &result.jobs {
        assert_eq!(job.error, None, "{what}");
    }
    let mut lines: Vec<String> = std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn alike<T: Clone>(value: T) -> PerDirection<T> {
    PerDirection::all(value)
}

fn base(name: &str, mix: Mix, random: bool) -> JobPlan {
    let mut job = JobPlan::with_defaults(name, "test", "psync");
    job.files.size = Some(Extent::Bytes(256 << 10));
    job.files.create_fsync = false;
    job.record.disk_usage = false;
    (job.load.mix, job.load.random) = (mix, random);
    job
}

/// The load shapes that are tested, by name.
fn shapes() -> Vec<JobPlan> {
    let (read, write) = (Mix::Only(Direction::Read), Mix::Only(Direction::Write));
    let with = |mut job: JobPlan, change: &dyn Fn(&mut JobPlan)| {
        change(&mut job);
        job
    };
    vec![
        base("sequential", read, false),
        base("random", read, true),
        with(base("mixed", Mix::ReadWrite, true), &|job| job.load.read_percent = 70),
        with(base("no_map", write, true), &|job| job.load.cover_all = false),
        with(base("split", write, true), &|job| {
            job.load.block_size = alike(BlockSize::Split(vec![(4096, 50), (8192, 50)]));
        }),
        with(base("ranges", read, true), &|job| job.load.block_size = alike(BlockSize::Range(4096, 16384))),
        with(base("zipf", read, true), &|job| job.load.distribution = Distribution::Zipf(1.2, None)),
        with(base("pareto", read, true), &|job| job.load.distribution = Distribution::Pareto(0.2, None)),
        with(base("normal", read, true), &|job| job.load.distribution = Distribution::Normal(20.0, Some(0.5))),
        with(base("shares", read, true), &|job| {
            job.load.distribution = Distribution::Zoned(alike(vec![(60, 10), (30, 20), (10, 70)]));
        }),
        with(base("runs", read, true), &|job| job.load.step = Step::Run(4)),
        with(base("half_random", write, true), &|job| job.load.percent_random = alike(50)),
        with(base("aligned", write, true), &|job| {
            (job.load.align, job.load.cover_all) = (alike(Some(8192)), false);
        }),
        with(base("by_order", write, true), &|job| {
            job.load.block_size.write = BlockSize::Fixed(8192);
            (job.load.sizes_by_order, job.load.percent_random) = (true, alike(50));
        }),
        with(base("strides", read, true), &|job| {
            job.load.zones =
                ZonePlan::Strided(Strides { amount: 16 << 10, window: 32 << 10, skip: Gap::Bytes(32 << 10) });
        }),
        with(base("synced", write, false), &|job| job.load.fsync_every = 8),
        with(base("files_in_turn", read, true), &|job| job.files.count = 4),
        with(base("files_at_random", read, true), &|job| {
            (job.files.count, job.files.handling.service) = (4, FileService::Random(2));
        }),
        with(base("files_by_zipf", write, false), &|job| {
            (job.files.count, job.files.handling.service) = (8, FileService::Zipf(1.2, None));
        }),
        with(base("loops", read, true), &|job| job.limits.loops = 3),
        with(base("clones", read, true), &|job| job.clones = 3),
    ]
}

/// Shapes that need files which can be read back or exchanged, and the engines to test them with.
fn on_files(directory: &Path) -> (Vec<JobPlan>, [&'static str; 5]) {
    std::fs::write(directory.join("zoned.0.0"), vec![0; 256 << 10]).unwrap();
    let zones = Zoned {
        size: 64 << 10,
        capacity: 48 << 10,
        open_most: Some(2),
        opened_by_job_most: None,
        reads_anywhere: false,
        reset_threshold: None,
        reset_frequency: 1.0,
        writes_remainder: false,
        ignores_limits: false,
        recovers: false,
    };
    let mut zoned = base("zoned", Mix::ReadWrite, true);
    zoned.load.zones = ZonePlan::Zoned(zones);
    let mut seats = base("seats", Mix::Only(Direction::Write), false);
    (seats.files.count, seats.files.handling.open_at_once) = (16, Some(3));
    seats.files.handling.service = FileService::Random(1);
    (vec![zoned, seats], ["psync", "pvsync2", "libaio", "io_uring", "posixaio"])
}

/// Compares all runs with the first: every engine at the depth it supports, as process and as thread. Processes come
/// first: the C library's threads for POSIX AIO, once started, do not survive a fork.
#[test]
fn the_same_seed_gives_the_same_stream_whatever_carries_it_out() {
    let directory = tempfile::tempdir().unwrap();
    let moves = |engine: &&EngineSpec| {
        matches!(engine.capabilities.work, Work::Data | Work::Null)
            && !["sg", "mtd", "io_uring_cmd"].contains(&engine.name)
    };
    let all: Vec<&'static str> = ENGINES.iter().filter(moves).map(|engine| engine.name).collect();
    let (special, engines) = on_files(directory.path());
    let plain = shapes().into_iter().map(|shape| (shape, all.as_slice()));
    let shapes: Vec<_> = plain.chain(special.into_iter().map(|shape| (shape, engines.as_slice()))).collect();
    let mut streams: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for isolation in [Isolation::Process, Isolation::Thread] {
        for (shape, engines) in &shapes {
            let inline = engines.iter().map(|&engine| (engine, false));
            for (engine, offload) in inline.chain([("psync", true), ("io_uring", true)]) {
                let spec = ENGINES.iter().find(|spec| spec.name == engine).unwrap();
                let mut job = shape.clone();
                job.engine = engine;
                job.depth.offload = offload;
                let synchronous = spec.capabilities.submission == plan::Submission::Synchronous && !offload;
                let depth = if synchronous { 1 } else { 4 };
                (job.depth.depth, job.depth.low) = (depth, depth);
                let hashes = hashes(directory.path(), job, isolation);
                let known = streams.entry(&shape.name).or_insert_with(|| hashes.clone());
                assert_eq!(*known, hashes, "{} on {engine} as {isolation:?}, offload {offload}", shape.name);
            }
        }
    }
    for (shape, _) in &shapes {
        let mut other = shape.clone();
        other.load.seed = Some(4711);
        let service = shape.files.handling.service;
        let chance = shape.load.random || matches!(service, FileService::Zipf(..) | FileService::Random(_));
        let differs = hashes(directory.path(), other, Isolation::Thread) != streams[shape.name.as_str()];
        assert_eq!(differs, chance, "{} with another seed", shape.name);
    }
}
