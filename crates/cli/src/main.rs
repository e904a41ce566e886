//! The `plumb` binary: words in, numbers out. Only this crate prints, reads the environment and exits.

#![forbid(unsafe_code)]

mod check;
mod cost_model;
mod dispatch;
mod explain;
mod failure;
mod file_system;
mod fio;
mod grade;
mod iostat;
mod iozone;
mod kept;
mod knee;
mod left;
mod limit;
mod made;
mod native;
mod output;
mod parse;
mod remarks;
mod report;
mod survey;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // Where it cannot be had, a write past the limit ends the program, as it ends others.
    let _ = sys::signals::survive_size_limit();
    match dispatch::run(&words) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            failure.report(&mut std::io::stderr());
            ExitCode::from(failure.status)
        }
    }
}
