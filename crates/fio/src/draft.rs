//! Draft of a job: the values of its options, before they are checked against each other.

use crate::error::Place;
use crate::values::{Amount, UnitBase};
use measure::{Nanos, PerDirection};
use plan::{
    AccessAdvice, Allocate, BlockSize, ClockChoice, ContinueOnError, Distribution, ExitScope, FileHandling, Generator,
    IgnoredErrors, Isolation, LatencyPlan, Memory, MemoryPolicy, RangeSync, RecordPlan, ReplayPlan, SteadyCriterion,
    SteadyMeasure, SyncMode, ThinkCount, VerifyMethod, VerifyPlan,
};
use plan::{DEFAULT_ENGINE, EngineOptions};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The value of every option, or its default if it was not given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// Place where each option was last set, by main name. An absent name means that the option was not given.
    pub places: BTreeMap<&'static str, Place>,
    pub unit_base: UnitBase,
    pub name: String,
    pub description: Option<String>,
    pub isolation: Isolation,
    pub clones: u32,
    pub stonewall: bool,
    pub new_group: bool,
    pub wait_for: Option<String>,
    pub start_delay: (Nanos, Nanos),
    pub runtime: Nanos,
    pub time_based: bool,
    pub ramp: Nanos,
    pub loops: u32,
    pub ios: u64,
    pub exit_all: bool,
    pub exit_scope: ExitScope,
    pub ramp_bytes: u64,
    pub before: Option<String>,
    pub after: Option<String>,
    pub clock_id: Option<u32>,
    pub exit_all_on_error: bool,
    pub continue_on_error: ContinueOnError,
    /// Errors to ignore, per class; an empty list means the media errors EIO and EILSEQ.
    pub ignore_error: IgnoredErrors,
    pub error_dump: bool,
    pub stuck_after: Nanos,
    pub engine: String,
    pub engine_options: EngineOptions,
    pub files: FileDraft,
    pub load: LoadDraft,
    pub depth: DepthDraft,
    pub pace: PaceDraft,
    pub latency: LatencyPlan,
    pub steady: SteadyDraft,
    pub buffers: BufferDraft,
    pub place: PlaceDraft,
    pub verify: VerifyDraft,
    pub replay: ReplayDraft,
    pub record: RecordPlan,
}

/// Options about files.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileDraft {
    pub directories: Vec<PathBuf>,
    pub names: Vec<PathBuf>,
    pub count: u32,
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub file_size: Option<(u64, u64)>,
    pub offset: Amount,
    pub offset_increment: Amount,
    pub direct: bool,
    pub sync: SyncMode,
    pub allocate: Allocate,
    pub atomic: bool,
    pub invalidate: bool,
    pub pre_read: bool,
    pub overwrite: bool,
    pub unlink: bool,
    pub create_only: bool,
    pub create_fsync: bool,
    pub advice: AccessAdvice,
    pub may_create: bool,
    pub may_write_mounted: bool,
    pub consent: Vec<String>,
    pub handling: FileHandling,
}

/// Direction of the I/O, as the word after `rw=` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Movement {
    Read,
    Write,
    Trim,
    ReadWrite,
    TrimWrite,
}

/// Options about offsets, sizes and the mix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadDraft {
    pub movement: Movement,
    pub random: bool,
    /// The N of `rw=...:N`.
    pub modifier: Option<i64>,
    pub identical: bool,
    pub read_percent: u8,
    pub block_size: PerDirection<BlockSize>,
    pub unaligned_sizes: bool,
    pub distribution: Distribution,
    pub percent_random: PerDirection<u8>,
    pub no_random_map: bool,
    pub generator: Generator,
    pub repeatable: bool,
    pub seed: u64,
    pub fsync_every: u32,
    pub fdatasync_every: u32,
    pub end_fsync: bool,
    pub fsync_on_close: bool,
    pub end_syncfs: bool,
    pub range_sync: Option<RangeSync>,
    pub align: PerDirection<u64>,
    pub sizes_by_order: bool,
    pub soft_map: bool,
    pub zones: ZoneDraft,
}

/// Zone mode of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ZoneMode {
    #[default]
    None,
    Strided,
    Zoned,
}

/// Options about zones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ZoneDraft {
    pub mode: ZoneMode,
    pub range: u64,
    pub size: u64,
    pub capacity: u64,
    pub skip: Amount,
    pub reads_anywhere: bool,
    pub open_most: u32,
    pub job_open_most: u32,
    pub reset_threshold: Option<f64>,
    pub reset_frequency: Option<f64>,
    pub writes_remainder: bool,
}

impl Default for ZoneDraft {
    fn default() -> Self {
        ZoneDraft {
            mode: ZoneMode::None,
            range: 0,
            size: 0,
            capacity: 0,
            skip: Amount::Bytes(0),
            reads_anywhere: false,
            open_most: 0,
            job_open_most: 0,
            reset_threshold: None,
            reset_frequency: None,
            writes_remainder: false,
        }
    }
}

/// Options about the queue; 0 and absent values are not resolved yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DepthDraft {
    pub depth: u32,
    pub batch: u32,
    pub reap_min: u32,
    pub reap_max: Option<u32>,
    pub low: u32,
    pub serialises_overlap: bool,
    pub offload: bool,
}

/// Options about rates and think time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PaceDraft {
    pub rate: PerDirection<u64>,
    pub iops: PerDirection<u64>,
    pub poisson: bool,
    pub think: Nanos,
    pub think_spin: Nanos,
    pub think_blocks: u32,
    pub rate_ignores_think: bool,
    pub think_counts: ThinkCount,
    pub think_io_time: Nanos,
    pub think_cycles: u32,
    pub least_rate: PerDirection<u64>,
    pub least_iops: PerDirection<u64>,
    pub rate_cycle_ms: u32,
    pub flow: u32,
    pub flow_id: u32,
    pub flow_sleep_us: u32,
}

/// Criterion of a steady state: the measure and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SteadyWords {
    pub measure: SteadyMeasure,
    pub criterion: SteadyCriterion,
    pub limit: f64,
    pub relative: bool,
}

/// Options about steady state; a duration of zero means off.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SteadyDraft {
    pub words: SteadyWords,
    pub duration: Nanos,
    pub ramp: Nanos,
    pub interval: Nanos,
}

impl Default for SteadyDraft {
    fn default() -> Self {
        let (measure, criterion) = (SteadyMeasure::Iops, SteadyCriterion::Slope);
        SteadyDraft {
            words: SteadyWords { measure, criterion, limit: 0.01, relative: true },
            duration: Nanos::ZERO,
            ramp: Nanos::ZERO,
            interval: Nanos::SECOND,
        }
    }
}

/// Options about buffers; `None` where a default depends on other options.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BufferDraft {
    pub zero: bool,
    pub refill: Option<bool>,
    pub scramble: bool,
    pub pattern: Option<Vec<u8>>,
    pub compress_percent: u8,
    pub compress_chunk: u32,
    pub dedupe_percent: u8,
    pub dedupe_by_set: bool,
    pub set_percent: u8,
    pub set_shared: bool,
    pub memory: Memory,
    pub align: u32,
    pub huge_page: u64,
}

/// Options about CPU, memory node, priority and control group of the worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlaceDraft {
    pub cpus: Vec<u32>,
    pub split_cpus: bool,
    pub nice: i32,
    pub io_class: Option<u8>,
    pub io_level: Option<u8>,
    pub lock_memory: u64,
    pub name: Option<String>,
    pub io_hint: u16,
    pub nodes: Vec<u32>,
    pub memory: Option<MemoryPolicy>,
    pub cgroup: Option<String>,
    pub cgroup_weight: Option<u32>,
    pub cgroup_keep: bool,
    pub user: Option<u32>,
    pub group: Option<u32>,
    pub clock: Option<ClockChoice>,
}

/// Options about verification.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerifyDraft {
    pub method: Option<VerifyMethod>,
    /// Share of written blocks to trim, in percent; 0 for none.
    pub trim_percent: u8,
    pub trim_zero: bool,
    pub trim_backlog: u64,
    pub trim_batch: u32,
    pub check_sequence: bool,
    pub check_seed: bool,
    /// Options that do not depend on others. The `method` and `trim` of this plan are not used.
    pub plan: VerifyPlan,
}

/// Options about recorded I/O.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReplayDraft {
    /// Options that do not depend on others.
    pub plan: ReplayPlan,
    pub chunked: bool,
    pub no_stall: bool,
    pub percent: u32,
    pub merged: Option<PathBuf>,
    pub scalars: Vec<f64>,
    pub rounds: Vec<f64>,
    /// The file of `write_iolog`.
    pub written_log: Option<PathBuf>,
}

impl Default for ReplayDraft {
    fn default() -> Self {
        ReplayDraft {
            plan: ReplayPlan::default(),
            chunked: false,
            no_stall: false,
            percent: 100,
            merged: None,
            scalars: Vec::new(),
            rounds: Vec::new(),
            written_log: None,
        }
    }
}

impl Draft {
    /// True if an option was given; `name` is its main name.
    pub(crate) fn given(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }
}

impl Default for Draft {
    fn default() -> Self {
        Draft {
            places: BTreeMap::new(),
            unit_base: UnitBase::Binary,
            name: String::new(),
            description: None,
            isolation: Isolation::Process,
            clones: 1,
            stonewall: false,
            new_group: false,
            wait_for: None,
            start_delay: (Nanos::ZERO, Nanos::ZERO),
            runtime: Nanos::ZERO,
            time_based: false,
            ramp: Nanos::ZERO,
            loops: 1,
            ios: 0,
            exit_all: false,
            exit_scope: ExitScope::Group,
            ramp_bytes: 0,
            before: None,
            after: None,
            clock_id: None,
            exit_all_on_error: false,
            continue_on_error: ContinueOnError::default(),
            ignore_error: IgnoredErrors::default(),
            error_dump: true,
            stuck_after: Nanos::from_secs(30),
            engine: DEFAULT_ENGINE.into(),
            engine_options: EngineOptions::default(),
            files: FileDraft::default(),
            load: LoadDraft::default(),
            depth: DepthDraft {
                depth: 1,
                batch: 1,
                reap_min: 1,
                reap_max: None,
                low: 0,
                serialises_overlap: false,
                offload: false,
            },
            pace: PaceDraft { think_blocks: 1, rate_cycle_ms: 1000, ..PaceDraft::default() },
            latency: LatencyPlan::default(),
            steady: SteadyDraft::default(),
            buffers: BufferDraft::default(),
            place: PlaceDraft::default(),
            verify: VerifyDraft {
                method: None,
                trim_percent: 0,
                trim_zero: true,
                trim_backlog: 0,
                trim_batch: 0,
                check_sequence: true,
                check_seed: true,
                plan: VerifyPlan { check: true, state_save: true, ..VerifyPlan::default() },
            },
            replay: ReplayDraft::default(),
            record: RecordPlan::default(),
        }
    }
}

impl Default for FileDraft {
    fn default() -> Self {
        FileDraft {
            directories: Vec::new(),
            names: Vec::new(),
            count: 1,
            size: None,
            io_size: None,
            file_size: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            direct: false,
            sync: SyncMode::None,
            allocate: Allocate::Native,
            atomic: false,
            invalidate: true,
            pre_read: false,
            overwrite: false,
            unlink: false,
            create_only: false,
            create_fsync: true,
            advice: AccessAdvice::ByLoad,
            may_create: true,
            may_write_mounted: false,
            consent: Vec::new(),
            handling: FileHandling::default(),
        }
    }
}

impl Default for LoadDraft {
    fn default() -> Self {
        LoadDraft {
            movement: Movement::Read,
            random: false,
            modifier: None,
            identical: false,
            read_percent: 50,
            block_size: PerDirection::all(BlockSize::Fixed(4096)),
            unaligned_sizes: false,
            distribution: Distribution::Uniform,
            percent_random: PerDirection::all(100),
            no_random_map: false,
            generator: Generator::Tausworthe,
            repeatable: true,
            seed: 0x89,
            fsync_every: 0,
            fdatasync_every: 0,
            end_fsync: false,
            fsync_on_close: false,
            end_syncfs: false,
            range_sync: None,
            align: PerDirection::all(0),
            sizes_by_order: false,
            soft_map: false,
            zones: ZoneDraft::default(),
        }
    }
}

impl Default for BufferDraft {
    fn default() -> Self {
        BufferDraft {
            zero: false,
            refill: None,
            scramble: true,
            pattern: None,
            compress_percent: 0,
            compress_chunk: 512,
            dedupe_percent: 0,
            dedupe_by_set: false,
            set_percent: 5,
            set_shared: false,
            memory: Memory::Malloc,
            align: 0,
            huge_page: 2 << 20,
        }
    }
}
