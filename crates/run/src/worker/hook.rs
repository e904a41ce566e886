//! Commands of a job's own, run before and after its I/O by a shell.

use crate::files::{file_error, refusal};
use job::plan::JobPlan;
use model::JobError;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// When a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Before the I/O; where it fails the job does none.
    Before,
    /// After the I/O.
    After,
}

impl Hook {
    /// The word in messages and in the name of the file.
    const fn word(self) -> &'static str {
        match self {
            Hook::Before => "prerun",
            Hook::After => "postrun",
        }
    }
}

/// Runs the job's command, if it has one; what it prints goes to `NAME.prerun.txt` or `NAME.postrun.txt`.
///
/// # Errors
/// When it cannot be run or does not end with 0.
pub(crate) fn run(job: &JobPlan, hook: Hook) -> Result<(), JobError> {
    let command = match hook {
        Hook::Before => &job.start.before,
        Hook::After => &job.start.after,
    };
    let Some(command) = command else { return Ok(()) };
    let path = PathBuf::from(format!("{}.{}.txt", job.name.replace('/', "_"), hook.word()));
    let file = sys::aside::create(&path).map_err(|error| file_error("create", &path, error, ""))?;
    let twin = file.try_clone().map_err(|error| file_error("create", &path, error, ""))?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(file).stderr(twin);
    let what = |said: String, errno| {
        let word = hook.word();
        refusal(errno, "exec", format!("job `{}` ({}): exec_{word}=`{command}` {said}", job.name, job.origin))
    };
    match shell.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(what(format!("ended with {status}; what it printed is in {}", path.display()), libc::EIO)),
        Err(error) => Err(what(format!("could not be run: {error}"), error.raw_os_error().unwrap_or(libc::EIO))),
    }
}
