//! The machine: memory for I/O and for sharing between processes, programs in the kernel, NUMA nodes, locales, and facts
//! about kernel, CPU and network.

pub mod bpf;
pub mod buffers;
pub mod host;
pub mod link;
pub mod locale;
pub(crate) mod mapping;
pub mod numa;
pub mod shared_memory;
pub mod text;
