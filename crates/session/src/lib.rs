//! A session: what all commands that measure share, from the words of a job to a result that is judged, published and
//! kept.
//!
//! Owns the edge of the process: standard output and standard error, the environment, exit statuses, the progress line,
//! files of results. Which runs a command makes, and what it says about them, is left to `cli`.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod colour;
pub mod failure;
pub mod keep;
pub mod layers;
pub mod machine;
pub mod output;
pub mod progress;
pub mod publish;
pub mod remarks;
pub mod result_file;
pub mod safe_files;
mod session;
pub mod streams;
pub mod width;

pub use session::{Run, Session};
