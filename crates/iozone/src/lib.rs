//! iozone's words and what they mean: its command line, its tests as passes, each a [`job::Plan`], and its arithmetic.
//!
//! Leaves to others: running the plans (`run`), and how iozone prints (`formats`).

#![forbid(unsafe_code)]

mod argv;
mod figures;
mod matrix;
mod option;
mod passes;
mod rare;
mod settings;
mod telemetry;
mod tests_table;
mod untrusted;

pub use argv::{MACHINE, Refusal, read};
pub use figures::{Child, Computing, Figures, PassTime, operations, rate};
pub use matrix::{Row, rows};
pub use passes::{Pass, Scene, child_pass, pass_plan, throughput_plan};
pub use rare::Rare;
pub use settings::{Asynchronous, Data, Mapping, Member, Mode, Report, Settings, Unit};
pub use tests_table::{SINGLE, THROUGHPUT, Test, ThroughputTest};
