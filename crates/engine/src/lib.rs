//! I/O engines: each in its own file behind one trait, and a list of them all.
//!
//! This crate submits I/Os to the kernel and reaps their completions. The caller decides which I/Os to issue, and when.

mod call;
mod contract;
mod cpuio;
mod e4defrag;
mod exec;
mod falloc;
mod ftruncate;
mod io_uring;
mod io_uring_cmd;
mod kernel_version;
mod libaio;
mod mmap;
mod mtd;
mod names;
mod net;
mod nothing;
mod null;
mod offload;
mod page_fault;
mod polling;
mod posixaio;
mod priority;
mod psync;
mod pvsync;
mod pvsync2;
mod registry;
mod sg;
mod sim;
mod splice;
mod sync;
mod turns;
mod vsync;

pub use contract::{
    AccessPattern, Completion, Engine, EngineClock, EngineError, Io, JobFacts, Operation, Setup, Submitted, Target,
};
pub use offload::Offload;
pub use registry::{ENGINES, Visitor, calibration, dispatch, dispatch_shared, spec};
pub use turns::{pause_at_gate, take_turns};
