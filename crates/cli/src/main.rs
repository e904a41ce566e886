//! The `plumb` binary. Only this crate prints, reads the environment and exits.

#![forbid(unsafe_code)]

mod ask;
mod calibrate;
mod capacity;
mod check;
mod cluster;
mod compare;
mod cost_model;
mod dispatch;
mod explain;
mod failure;
mod features;
mod feed;
mod fio;
mod gate;
mod generate;
mod grade;
mod input;
mod iostat;
mod iozone;
mod knee;
mod measuring;
mod native;
mod network;
mod output;
mod pages;
mod parse;
mod remarks;
#[cfg_attr(not(feature = "report"), path = "absent/report.rs")]
mod report;
mod result_file;
mod safe_files;
#[cfg_attr(not(feature = "store"), path = "absent/store.rs")]
mod store;
mod streams;
mod stuck_workers;
mod survey;
mod versus;
#[cfg_attr(not(feature = "live"), path = "absent/watch.rs")]
mod watch;
mod width;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // If the handler of SIGXFSZ cannot be installed, a write past RLIMIT_FSIZE ends the process, which is the system's
    // default.
    let _ = sys::processes::signals::survive_size_limit();
    let status = dispatch::run(&words).unwrap_or_else(|failure| {
        failure.print();
        failure.status
    });
    feed::linger_until_over();
    ExitCode::from(status)
}
