//! I/O engines: one file each behind one trait, collected in one list.
//!
//! Owns how an I/O reaches the kernel and how its completion comes back. Leaves to others which I/O and when.

mod call;
mod contract;
mod cpuio;
mod e4defrag;
mod exec;
mod falloc;
mod ftruncate;
mod io_uring;
mod io_uring_cmd;
mod libaio;
mod mmap;
mod mtd;
mod names;
mod net;
mod null;
mod offload;
mod page_fault;
mod posixaio;
mod priority;
mod psync;
mod pvsync;
mod pvsync2;
mod random;
mod registry;
mod sg;
mod sim;
mod slots;
mod splice;
mod sync;
mod vsync;

pub use contract::{
    Completion, Engine, EngineClock, EngineError, Io, JobFacts, Operation, Order, Setup, Submitted, Target,
};
pub use offload::Offload;
pub use registry::{ENGINES, Visitor, dispatch};
