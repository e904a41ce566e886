//! The machine: memory for I/O and for sharing between processes, NUMA nodes, and facts about kernel and CPU.

pub mod buffers;
pub mod host;
pub(crate) mod mapping;
pub mod numa;
pub mod shared_memory;
pub(crate) mod text;
