//! Draft of a job: its plan so far, and the values that are not part of a plan until all options are known.
//!
//! An option whose value goes into the plan unchanged is a field of the plan and none here. The defaults are those of
//! the plan.

use crate::error::Place;
use crate::options::values::{Amount, UnitBase};
use measure::PerDirection;
use plan::{
    BlockSize, CgroupPlan, FlowPlan, JobPlan, MergePlan, PlacementChoice, PlacementKind, PlacementPlan, ReplayPlan,
    SprandomPlan, SteadyPlan, TrimPlan, VerifyMethod, VerifyPlan, WorkingSet, ZonePlan, Zoned,
};
use std::collections::BTreeMap;

/// The value of every option, or its default if it was not given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// Place where each option was last set, by main name. An absent name means that the option was not given.
    pub places: BTreeMap<&'static str, Place>,
    /// The plan so far. `complete` replaces the values in it that depend on other options.
    pub job: JobPlan,
    /// Meaning of `k` in values.
    pub unit_base: UnitBase,
    /// Name of the engine as given; plumb may not have it.
    pub engine: String,
    /// The job opens a reporting group.
    pub new_group: bool,
    pub files: FileDraft,
    /// The N of `rw=rand..:N` repeats a block (`rw_sequencer=identical`).
    pub identical: bool,
    /// `bssplit`; a direction that has one does not use its other block size, whatever the order of the options.
    pub splits: PerDirection<Option<BlockSize>>,
    pub zones: ZoneDraft,
    /// `sprandom`, and what its other options say.
    pub sprandom: bool,
    pub sprandom_plan: SprandomPlan,
    /// `iodepth_batch_complete_max`; `None` for the minimum.
    pub reap_max: Option<u32>,
    /// `iodepth_low`; 0 for the depth.
    pub low: u32,
    /// Share in a flow; a weight of 0 means none.
    pub flow: FlowPlan,
    /// Steady-state detection; a duration of zero means off.
    pub steady: SteadyPlan,
    pub buffers: BufferDraft,
    pub placement: PlacementDraft,
    pub place: PlaceDraft,
    pub verify: VerifyDraft,
    pub replay: ReplayDraft,
}

/// Amounts of data, some of them in zones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileDraft {
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub offset: Amount,
    pub offset_increment: Amount,
}

/// Placement of writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlacementDraft {
    /// `None` for none.
    pub kind: Option<PlacementKind>,
    pub choice: PlacementChoice,
    pub identifiers: Vec<u16>,
    /// The file of `dp_scheme`.
    pub scheme: Option<String>,
}

impl PlacementDraft {
    fn of(plan: &PlacementPlan) -> Self {
        let scheme = if let PlacementChoice::ByOffset(file) = &plan.choice { Some(file.clone()) } else { None };
        let (choice, identifiers) = (plan.choice.clone(), plan.identifiers.clone());
        PlacementDraft { kind: Some(plan.kind), choice, identifiers, scheme }
    }
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
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ZoneDraft {
    pub mode: ZoneMode,
    pub size: u64,
    /// Size of a window of strided zones; 0 for `size`.
    pub range: u64,
    pub skip: Amount,
    /// Other options of `zonemode=zbd`. A capacity of 0 means the size.
    pub zoned: Zoned,
}

impl ZoneDraft {
    /// The draft of zones that are written sequentially; windows are not kept.
    fn of(zones: &ZonePlan) -> Self {
        match *zones {
            ZonePlan::Zoned(zoned) => {
                ZoneDraft { mode: ZoneMode::Zoned, size: zoned.size, zoned, ..ZoneDraft::default() }
            }
            _ => ZoneDraft::default(),
        }
    }
}

/// Options about the contents of buffers that depend on each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BufferDraft {
    pub zero: bool,
    pub refill: Option<bool>,
    pub dedupe_by_set: bool,
    pub working_set: WorkingSet,
}

/// I/O priority and control group, of which parts may be given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlaceDraft {
    pub io_class: Option<u8>,
    pub io_level: Option<u8>,
    /// Used if `cgroup` was given.
    pub cgroup: CgroupPlan,
}

/// Options about verification.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerifyDraft {
    pub method: Option<VerifyMethod>,
    /// Trims; 0 percent means none.
    pub trim: TrimPlan,
    /// The other options. The `method` and `trim` of this plan are not used.
    pub plan: VerifyPlan,
}

/// Options about recorded I/O.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReplayDraft {
    /// Options that do not depend on others.
    pub plan: ReplayPlan,
    pub no_stall: bool,
    /// Used if `merge_blktrace_file` was given.
    pub merge: MergePlan,
}

impl Draft {
    /// A draft without options, whose completion gives `job`. Steady-state detection, verification and replay of `job`
    /// are not kept.
    pub(crate) fn of(job: JobPlan) -> Self {
        Draft {
            places: BTreeMap::new(),
            unit_base: UnitBase::Binary,
            engine: job.engine.to_owned(),
            new_group: false,
            files: FileDraft {
                size: job.files.size.map(Amount::from),
                io_size: job.files.io_size.map(Amount::from),
                offset: job.files.offset.into(),
                offset_increment: job.files.offset_increment.into(),
            },
            identical: false,
            splits: PerDirection::all(None),
            zones: ZoneDraft::of(&job.load.zones),
            sprandom: job.load.sprandom.is_some(),
            sprandom_plan: job.load.sprandom.unwrap_or_default(),
            reap_max: None,
            low: 0,
            flow: FlowPlan::default(),
            steady: SteadyPlan::default(),
            buffers: BufferDraft {
                zero: false,
                refill: None,
                dedupe_by_set: false,
                working_set: WorkingSet { percent: 5, shared: false },
            },
            placement: job.placement.as_ref().map(PlacementDraft::of).unwrap_or_default(),
            place: PlaceDraft::default(),
            verify: VerifyDraft {
                method: None,
                trim: TrimPlan { percent: 0, backlog: 0, batch: None, zero: true },
                plan: VerifyPlan { check: true, sequence: true, seed: true, state_save: true, ..VerifyPlan::default() },
            },
            replay: ReplayDraft::default(),
            job,
        }
    }

    /// True if an option was given; `name` is its main name.
    pub(crate) fn given(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }
}

impl Default for Draft {
    fn default() -> Self {
        let mut job = JobPlan::with_defaults("", "", plan::DEFAULT_ENGINE);
        // Other front ends print the errors of a run themselves.
        job.limits.error_dump = true;
        Draft::of(job)
    }
}
