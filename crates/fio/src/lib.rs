//! fio's text interface: the option table, the job-file grammar and the command line, all resulting in a
//! [`plan::Plan`].
//!
//! Owns the name, value and meaning of every option, and every message about an invalid one.
//! Leaves running the plan to others; knows engines only by their [`plan::EngineSpec`].

#![forbid(unsafe_code)]

mod command_line;
mod error;
mod jobs;
mod known_engines;
mod options;
mod parser;
mod sections;
mod surroundings;
pub mod untrusted;

pub use command_line::help::VERSION;
pub use command_line::invocation::{
    Action, Copying, EtaRequest, EtaWhen, IdleProfile, Invocation, OutputFormat, OutputRequest, SideOutputs,
    TerseVersion, Trial, TriggerRequest,
};
pub use command_line::network::{ClientRequest, ClientTrust, LostServer, ServerJobs, ServerRequest};
pub use error::{JobError, Warning, closest};
pub use jobs::EchoedJob;
pub use options::values::split_escaped;
pub use parser::Parser;
pub use sections::with_options;
pub use surroundings::{Files, RealFiles, Surroundings};

use plan::option::OptionSpec;
use plan::{EngineSpec, WrittenOption};

/// Every option of a job, in the order in which help lists them.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    options::table::rows().map(|row| &row.spec)
}

/// Every option of the command, of jobs and of these engines, as it is written.
pub fn written_options(engines: &[EngineSpec], formats: &[OutputFormat]) -> Vec<WrittenOption> {
    command_line::written::options(engines, formats)
}
