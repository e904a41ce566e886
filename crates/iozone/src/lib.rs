//! iozone's command line, its tests as passes (one [`plan::Plan`] each), its matrix of sizes and its arithmetic.
//!
//! Leaves running the plans to `run`, and the layout of iozone's output to `formats`.

#![forbid(unsafe_code)]

mod argv;
mod failure;
mod figures;
mod help;
mod matrix;
mod modes;
mod passes;
mod rare;
mod settings;
mod telemetry;
mod test_rows;
mod values;

pub use argv::{BINDING, MACHINE, read};
pub use failure::{Cause, PassFailure};
pub use figures::{Child, Computing, Figures, PassTime, operations, rate};
pub use help::{help, written_options};
pub use matrix::{Sizes, report_records_kb, rows};
pub use modes::{Asynchronous, Data, Mapping, Member, Mode, Report, ShownColumns, Test, Unit};
pub use passes::{Pass, Scene, child_pass, is_short, pass_plan, throughput_plan};
pub use rare::Rare;
pub use settings::Settings;
pub use test_rows::{RowTest, ThroughputTest, report_tests, row_tests, throughput_tests};
pub use values::Refusal;
