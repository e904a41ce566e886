//! I/O engines: one file each behind one trait, collected in one list.
//!
//! Owns how an I/O reaches the kernel and how its completion comes back. Leaves to others which I/O and when.

mod call;
mod contract;
mod io_uring;
mod libaio;
mod mmap;
mod null;
mod posixaio;
mod psync;
mod pvsync;
mod pvsync2;
mod random;
mod registry;
mod sim;
mod slots;
mod sync;
mod vsync;

pub use contract::{Completion, Engine, EngineClock, EngineError, Io, Operation, Setup, Submitted, Target};
pub use registry::{ENGINES, Visitor, dispatch};
