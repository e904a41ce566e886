//! Events of the kernel → I/Os of any process, each with the parts of its time.
//!
//! Owns tracepoints as events (`event`), read by programs in the kernel (`bpf`, `program`, `btf`) or from tracefs
//! (`tracefs`, `page`, `format`), their joining into I/Os (`join`, `block`), the recording of a target with its own cost
//! and loss (`recording`), what follows from many I/Os (`summary`), and how often blocks are used again (`reuse`). Leaves
//! judging and printing to others. The joining is a pure function of events.

#![forbid(unsafe_code)]

mod block;
mod bpf;
mod btf;
mod calls;
mod error;
mod event;
mod events;
mod format;
mod io;
mod join;
mod latency;
mod page;
mod process;
mod program;
mod recording;
mod requests;
mod reuse;
mod summary;
mod tracefs;

pub use block::DeviceBusy;
pub use calls::named;
pub use error::ObserveError;
pub use event::Thread;
pub use events::{WAYS, Way};
pub use io::{Direction, Io, PARTS, Part, Parts, Reach};
pub use latency::{Latencies, LatencyInterval};
pub use process::OpenFile;
pub use recording::{Cost, Going, Recording, Seen};
pub use reuse::{Reuse, reuse, uses_page_cache};
pub use summary::{Around, By, Frequent, Group, Largest, Slow, Summary, depths, depths_of_threads, in_flight};
