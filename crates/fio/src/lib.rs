//! fio's text interface: the option table, the job-file grammar and the command line, all resulting in a
//! [`plan::Plan`].
//!
//! Owns the name, value and meaning of every option, and every message about an invalid one.
//! Leaves running the plan to others; knows engines only by their [`plan::EngineSpec`].

#![forbid(unsafe_code)]

mod argv;
mod command;
mod complete;
mod debug;
mod draft;
mod draft_section;
mod echoed;
mod errno;
mod error;
mod help;
mod invocation;
mod jobs;
mod known_engines;
mod onto_plan;
mod parser;
pub mod pattern;
pub mod reach;
mod sections;
mod showcmd;
mod surroundings;
mod table;
pub mod untrusted;
mod values;

pub use echoed::EchoedJob;
pub use error::{JobError, Warning};
pub use help::VERSION;
pub use invocation::{
    Action, Copying, EtaRequest, EtaWhen, IdleProfile, Invocation, OutputFormat, OutputRequest, SideOutputs,
    TerseVersion, Trial, TriggerRequest,
};
pub use parser::Parser;
pub use surroundings::{Files, RealFiles, Surroundings};

use plan::option::OptionSpec;

/// Every option of a job, in the order in which help lists them.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    table::rows().map(|row| &row.spec)
}
