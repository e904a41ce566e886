//! I/O engines: one file each behind one trait, collected in one list.
//!
//! Owns how an I/O reaches the kernel and how its completion comes back. Leaves to others which I/O and when.

mod contract;

pub use contract::{Completion, Engine, EngineError, Io, Operation, Setup, Submitted, Target};
