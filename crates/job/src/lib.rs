//! Words to meaning: the option table, the job-file grammar and fio's command line, all ending in a [`Plan`].
//!
//! Owns what every option is called, takes and means, and every message about a wrong one.
//! Leaves running the plan to others; knows engines only by their [`EngineSpec`].

#![forbid(unsafe_code)]

mod argv;
pub mod bounded;
mod command;
mod complete;
mod complete_replay;
mod complete_timing;
mod complete_verify;
mod debug;
mod draft;
mod draft_section;
mod engines;
mod errno;
mod error;
mod help;
mod invocation;
mod jobs;
mod known_engines;
pub mod option;
mod parser;
pub mod plan;
pub mod reach;
mod sections;
mod showcmd;
mod surroundings;
mod table;
pub mod untrusted;
mod values;

pub use engines::{Capabilities, EngineOptions, EngineSpec, Submission, Work};
pub use error::{JobError, Warning};
pub use help::VERSION;
pub use invocation::{
    Action, BesideRequest, Copying, EtaRequest, EtaWhen, IdleProfile, Invocation, OutputFormat, OutputRequest,
    TerseVersion, Trial, TriggerRequest,
};
pub use parser::Parser;
pub use plan::Plan;
pub use surroundings::{Files, RealFiles, Surroundings};
