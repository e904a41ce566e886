//! Test support, not used by the program: runs the reference tools (fio, iostat, iozone) and plumb on the same input.
//!
//! Owns running a program in a separate directory, normalizing values that differ between any two runs (times, process
//! ids), listing the remaining differences, and the harness that makes each row of a table a test. Leaves the tables to
//! the tests.
//! No program crate depends on this crate; `tests/rules.rs` contains the house rules.

#![forbid(unsafe_code)]

mod cases;
mod device;
mod fold;
mod group;
mod logs;
mod neighbour;
mod own_process;
mod place;
mod processes;
mod run;
mod scene;
mod strace;
mod tree;

pub use cases::{Cases, Outcome as CaseOutcome, run_all};
pub use device::{LoopDevice, Mounted, Tmpfs};
pub use fold::{Amounts, Depths, Samples, TextRules, compare_text, fold_text};
pub use group::{Group, GroupLimit};
pub use logs::sum_over_time;
pub use neighbour::Neighbour;
pub use own_process::in_own_process;
pub use place::{Place, names};
pub use processes::{
    bytes_read, bytes_written, catches, children, descendants, processor_ticks, signal, wait_for, wait_for_end_of,
};
pub use run::{Directory, Process, Run, Transcript, Words, oracle, oracle_run};
pub use scene::{Call, End, Outcome, Program, Scene};
pub use strace::traced;
pub use tree::{Counts, compare_results, split_output};
