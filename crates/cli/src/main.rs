//! The `plumb` binary: commands, what they print, and their exit statuses.

#![forbid(unsafe_code)]

mod ask;
mod calibrate;
mod capacity;
mod check;
mod cluster;
mod compare;
mod cost_model;
mod dispatch;
#[cfg_attr(not(feature = "report"), path = "drawing/absent.rs")]
mod drawing;
mod durable;
mod explain;
mod features;
mod fidelity;
mod fio;
mod gate;
mod generate;
mod grade;
mod input;
mod iostat;
mod iozone;
mod latency;
mod members;
mod native;
mod network;
mod pages;
mod parse;
mod programs;
#[cfg(feature = "report")]
mod report;
mod sides;
#[cfg(feature = "store")]
mod store;
mod survey;
mod versus;
#[cfg(feature = "live")]
mod watch;
mod why;

// Every file names them as its own.
use session::{failure, output, remarks, result_file, safe_files, streams, width};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // Without the handler of SIGXFSZ, a write past RLIMIT_FSIZE ends the process, which is the system's default.
    let _ = sys::processes::signals::survive_size_limit();
    let status = dispatch::run(&words).unwrap_or_else(|failure| {
        failure.print();
        failure.status
    });
    ExitCode::from(status)
}
