//! What the proofs need and the program does not: other people's tools run side by side with ours.
//!
//! Owns running a program in a directory of its own, folding what two runs can never share (times, process numbers),
//! and naming every difference that is left. Leaves the lists of cases to the tests.
//! Nothing in the program depends on this crate; `tests/rules.rs` holds the house rules themselves.

#![forbid(unsafe_code)]

mod device;
mod fold;
mod logs;
mod scene;
mod strace;
mod tree;

pub use device::{LoopDevice, Tmpfs};
pub use fold::{Amounts, Depths, Samples, TextRules, compare_text, fold_text};
pub use logs::sum_over_time;
pub use scene::{Call, End, Outcome, Program, Scene};
pub use strace::traced;
pub use tree::{Counts, compare_results, split_output};
