//! Results of a run as plain data. All views of a run are pure functions of [`RunResult`].
//!
//! This crate defines the types and how the results of two workers are merged. Presentation and checks are elsewhere.

#![forbid(unsafe_code)]

mod activity;
mod blocks;
mod calibration;
mod device;
mod gathered;
mod job;
mod latency;
mod layers;
mod limit;
pub mod measurement;
mod monitored;
mod native;
mod phases;
mod printed;
pub mod reading;
mod result;
mod samples;
mod steer;
mod surroundings;

pub use activity::{CpuActivity, DeviceActivity, FlushActivity, OperationActivity};
pub use blocks::BlockLives;
pub use calibration::{Calibration, ErrorBar, Span};
pub use device::DeviceUsage;
pub use job::{
    CpuUsage, DepthStatistics, DirectionResult, Echo, JobError, JobResult, LatencyBins, LatencyStatistics,
    MeasuredPart, PassMark, PassResult, PriorityLatency, ReportStyle, StatedRates, SyncResult, WalkedWrites,
};
pub use latency::LatencyCounts;
pub use layers::{Bottom, Layer, ways_down};
pub use limit::{LimitedBy, Limiter};
pub use measurement::Measurement;
pub use monitored::{
    CachedBytes, CpuTicks, DeviceFacts, DeviceGain, FileAttribute, GroupGain, GroupLimits, Interval, IoCap,
    LimitChange, Monitored, MountFacts, PressureGain, RequestGain, SampledBlocks, TargetFacts, TargetIdentity,
    WorkerGain,
};
pub use native::SCHEMA;
pub use phases::{Lasting, Like, Phase, PhaseKind, Until, UntilRegime};
pub use plan::Unified;
pub use result::{
    ClockNote, CpuIdleness, Environment, FileSystem, Grade, JudgedByMembers, LowestTraffic, Note, Origin, RunResult,
};
pub use samples::{percentile_as_fact, samples_needed};
pub use steer::{LatencyGoal, SteadyResult};
pub use surroundings::{Fact, FactKind, Surroundings};
