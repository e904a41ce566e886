//! Commands of a job (`exec_prerun`, `exec_postrun`), run by a shell before and after its I/O.

use crate::error::{file_error, job_refusal};
use model::JobError;
use plan::JobPlan;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The time at which a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Before the I/O; if it fails the job does no I/O.
    Before,
    /// After the I/O.
    After,
}

impl Hook {
    /// The name in messages and in the file name.
    const fn word(self) -> &'static str {
        match self {
            Hook::Before => "prerun",
            Hook::After => "postrun",
        }
    }
}

/// Runs the job's command, if it has one; its output goes to `NAME.prerun.txt` or `NAME.postrun.txt`. Fails if it
/// cannot be run, or exits with a nonzero status.
pub(crate) fn run(job: &JobPlan, hook: Hook) -> Result<(), JobError> {
    let command = match hook {
        Hook::Before => &job.start.before,
        Hook::After => &job.start.after,
    };
    let Some(command) = command else { return Ok(()) };
    let path = PathBuf::from(format!("{}.{}.txt", job.name, hook.word()));
    let file = sys::files::output_file::create(&path).map_err(|error| file_error("create", &path, error, ""))?;
    let twin = file.try_clone().map_err(|error| file_error("create", &path, error, ""))?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(file).stderr(twin);
    let what = |said: String, errno| {
        let word = hook.word();
        job_refusal(job, errno, "exec", format_args!("exec_{word}=`{command}` {said}"))
    };
    match shell.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(what(format!("ended with {status}; what it printed is in {}", path.display()), libc::EIO)),
        Err(error) => Err(what(format!("could not be run: {error}"), error.raw_os_error().unwrap_or(libc::EIO))),
    }
}
