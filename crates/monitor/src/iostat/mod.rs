//! iostat: its command line, and the devices and rates of each report.

mod command_line;
mod devices;
mod sampling;

pub use command_line::{Command, Flag, Listing, Name, Request, directory, parse, usage, written_options};
pub use sampling::{Difference, Sampling, read_cpu};

use std::io;
use std::path::PathBuf;

/// Reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum IostatError {
    /// An invalid command line; the message names the option.
    #[error("{0}")]
    CommandLine(String),
    /// A file of the kernel that cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A file of the kernel without the part that is needed.
    #[error("{}: has no {part}", path.display())]
    Incomplete {
        /// Path of the file.
        path: PathBuf,
        /// The missing part.
        part: &'static str,
    },
}
