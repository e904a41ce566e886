//! Words to meaning: the option table, the job-file grammar and fio's command line, all ending in a [`Plan`].
//!
//! Owns what every option is called, takes and means, and every message about a wrong one.
//! Leaves running the plan to others; knows engines only by their [`EngineSpec`].

#![forbid(unsafe_code)]

mod engines;
pub mod option;
pub mod plan;

pub use engines::{Capabilities, EngineOptions, EngineSpec, Submission};
pub use plan::Plan;
