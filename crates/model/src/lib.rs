//! Results of a run as plain data. All views of a run are pure functions of [`RunResult`].
//!
//! This crate defines the types and how the results of two workers are merged. Presentation and checks are elsewhere.

#![forbid(unsafe_code)]

mod blocks;
mod calibration;
mod columns;
mod device;
mod device_latency;
mod gathered;
mod job;
mod kinds;
mod latency;
mod layers;
pub mod measurement;
mod monitored;
mod native;
mod phases;
mod printed;
pub mod reading;
mod result;
mod steer;
mod surroundings;
mod trace;

pub use blocks::BlockLives;
pub use calibration::{Calibration, ErrorBar, Span};
pub use columns::{Cell, MEASURED_COLUMNS, MeasuredColumn, RowOfCells, measured_column};
pub use device::{CpuActivity, DeviceActivity, DeviceUsage, FlushActivity, OperationActivity};
pub use device_latency::{DeviceLatency, LatencyPercentiles, OperationLatency};
pub use job::{
    CpuUsage, DepthStatistics, DirectionResult, Echo, JobError, JobResult, LatencyBins, LatencyStatistics,
    MeasuredPart, PassMark, PassResult, PriorityLatency, ReportStyle, StatedRates, SyncResult, WalkedWrites,
    percentile_as_fact, samples_needed,
};
pub use latency::{LATENCY_BUCKETS, LatencyCounts};
pub use layers::{DiskRate, DiskRates, GroupLimit, IoGroup, IoSum, Layers, Named, RecordingCost, SomeIos};
pub use measurement::Measurement;
pub use monitored::{
    CachedBytes, CpuTicks, DeviceFacts, DeviceGain, FileAttribute, GroupGain, GroupLimits, Interval, IoCap,
    LimitChange, Monitored, MountFacts, PressureGain, RequestGain, SampledBlocks, TargetAccess, TargetFacts,
    TargetIdentity, WorkerGain,
};
pub use native::SCHEMA;
pub use phases::{Lasting, Like, Phase, PhaseKind, Until, UntilRegime};
pub use plan::Unified;
pub use result::{
    ClockNote, CpuIdleness, Environment, FileSystem, Grade, JudgedByMembers, LimitedBy, Limiter, LowestTraffic, Note,
    Origin, RunResult,
};
pub use steer::{LatencyGoal, SteadyResult};
pub use surroundings::{Bottom, Fact, FactKind, Layer, Surroundings, ways_down};
pub use trace::{Level, TraceClock, TraceIo};
