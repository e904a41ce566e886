//! What the options of one job have said so far, before it is known whether they fit together.

use crate::engines::EngineOptions;
use crate::error::Place;
use crate::plan::{
    AccessAdvice, Allocate, BlockSize, ContinueOnError, Distribution, Fill, Generator, Isolation, Memory, RecordPlan,
    ReplayPlan, SyncMode, VerifyMethod,
};
use crate::values::{Amount, UnitBase};
use measure::{Nanos, PerDirection};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Every option's value, its default where nothing was said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// Where each option was last set, by main name. Absent means not given.
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
    pub exit_all_on_error: bool,
    pub continue_on_error: ContinueOnError,
    pub engine: String,
    pub engine_options: EngineOptions,
    pub files: FileDraft,
    pub load: LoadDraft,
    pub depth: DepthDraft,
    pub pace: PaceDraft,
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
    pub invalidate: bool,
    pub pre_read: bool,
    pub overwrite: bool,
    pub unlink: bool,
    pub create_only: bool,
    pub create_fsync: bool,
    pub advice: AccessAdvice,
    pub may_create: bool,
    pub may_write_mounted: bool,
}

/// Which data moves, as the word after `rw=` says it.
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
}

/// Options about the queue, 0 and absence not yet resolved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DepthDraft {
    pub depth: u32,
    pub batch: u32,
    pub reap_min: u32,
    pub reap_max: Option<u32>,
    pub low: u32,
}

/// Options about speed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PaceDraft {
    pub rate: PerDirection<u64>,
    pub iops: PerDirection<u64>,
    pub poisson: bool,
    pub think: Nanos,
    pub think_spin: Nanos,
    pub think_blocks: u32,
    pub rate_ignores_think: bool,
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
    pub memory: Memory,
    pub align: u32,
    pub huge_page: u64,
}

/// Options about where the worker runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlaceDraft {
    pub cpus: Vec<u32>,
    pub split_cpus: bool,
    pub nice: i32,
    pub io_class: Option<u8>,
    pub io_level: Option<u8>,
    pub lock_memory: u64,
}

/// Options about write-then-check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerifyDraft {
    pub method: Option<VerifyMethod>,
    pub check: bool,
    pub fatal: bool,
    pub interval: Option<u32>,
    pub pattern: Vec<u8>,
    pub backlog: Option<u64>,
}

/// Options about recorded I/O.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReplayDraft {
    /// What needs no other option to be understood.
    pub plan: ReplayPlan,
    pub chunked: bool,
    pub no_stall: bool,
    pub percent: u32,
    pub merged: Option<PathBuf>,
    pub scalars: Vec<f64>,
    pub rounds: Vec<f64>,
    /// What `write_iolog` names.
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
    /// Whether an option was given, by main name.
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
            exit_all_on_error: false,
            continue_on_error: ContinueOnError::default(),
            engine: "psync".into(),
            engine_options: EngineOptions::default(),
            files: FileDraft::default(),
            load: LoadDraft::default(),
            depth: DepthDraft { depth: 1, batch: 1, reap_min: 1, reap_max: None, low: 0 },
            pace: PaceDraft { think_blocks: 1, ..PaceDraft::default() },
            buffers: BufferDraft::default(),
            place: PlaceDraft::default(),
            verify: VerifyDraft {
                method: None,
                check: true,
                fatal: false,
                interval: None,
                pattern: Vec::new(),
                backlog: None,
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
            invalidate: true,
            pre_read: false,
            overwrite: false,
            unlink: false,
            create_only: false,
            create_fsync: true,
            advice: AccessAdvice::ByLoad,
            may_create: true,
            may_write_mounted: false,
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
            memory: Memory::Malloc,
            align: 0,
            huge_page: 2 << 20,
        }
    }
}

impl BufferDraft {
    /// What the buffers hold: a pattern beats zeros.
    pub(crate) fn fill(&self) -> Fill {
        match &self.pattern {
            Some(bytes) => Fill::Pattern(bytes.clone()),
            None if self.zero || self.compress_percent == 100 => Fill::Zero,
            None => Fill::Random,
        }
    }
}
