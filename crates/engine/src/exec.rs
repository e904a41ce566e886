//! `exec`: runs a program in the background of the jobs that do I/O, and ends it with them.

use crate::contract::{Completion, Engine, EngineError, Io, JobFacts, Setup, Submitted};
use crate::cpuio::COMPANY;
use measure::{Clock, Nanos, SystemClock};
use plan::option::OptionSpec;
use plan::{Capabilities, EngineSpec, options};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

const NAME: &str = "exec";
/// Maximum time that one I/O of this engine waits for the program.
const WATCH: Nanos = Nanos::from_millis(100);
/// Interval between checks for the end of the program.
const LOOK: Nanos = Nanos::from_millis(5);

/// A program and its state.
#[derive(Debug)]
pub(crate) struct Exec {
    clock: SystemClock,
    command: Command,
    program: String,
    /// Names of the files for its stdout and stderr.
    output: Option<[String; 2]>,
    child: Option<Child>,
    grace: Nanos,
    /// The job has its own runtime: it continues after the program has ended.
    stays: bool,
    over: bool,
}

impl Engine for Exec {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "Runs a program and does no I/O",
        capabilities: Capabilities { untrusted: Some("runs a command"), ..COMPANY },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let options = setup.options;
        let Some(program) = options.text("program").filter(|program| !program.is_empty()) else {
            return Err(refused(libc::EINVAL, "which program? give program=".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(arguments(options.text("arguments").unwrap_or_default(), &setup.job)?);
        let redirects = options.get("std_redirect").is_none() || options.is_on("std_redirect");
        let file = |what: &str| format!("{}.{what}", setup.job.name);
        let grace = options.integer("grace_time").and_then(|grace| u64::try_from(grace).ok());
        Ok(Exec {
            clock: setup.clock,
            command,
            program: program.to_owned(),
            output: redirects.then(|| [file("stdout"), file("stderr")]),
            child: None,
            grace: grace.map_or(Nanos::from_millis(1000), Nanos),
            stays: setup.job.runtime.is_some(),
            over: false,
        })
    }

    fn start(&mut self, _go_on: &dyn Fn() -> bool) -> Result<(), EngineError> {
        if let Some([output, errors]) = &self.output {
            self.command.stdout(made(output)?).stderr(made(errors)?);
        }
        self.spawn()
            .map_err(|error| refused(error.raw_os_error().unwrap_or(libc::EIO), format!("{}: {error}", self.program)))
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let end = self.clock.now().saturating_add(WATCH);
        while !self.over || self.stays {
            self.over |= self.has_ended();
            let now = self.clock.now();
            if now >= end {
                break;
            }
            self.clock.sleep_until(end.min(now.saturating_add(if self.over { WATCH } else { LOOK })));
        }
        Submitted::Done(Completion { slot: io.slot, result: i64::from(io.length) })
    }

    fn is_over(&self) -> bool {
        self.over && !self.stays
    }
}

impl Exec {
    fn spawn(&mut self) -> io::Result<()> {
        let end_with_us = || {
            // Workers ignore these signals, because the parent handles them; the program would inherit that.
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                // SAFETY: signal(2) with the default action takes no memory.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            let signal = Some(Signal::TERM);
            rustix::process::set_parent_process_death_signal(signal).map_err(io::Error::from)
        };
        // SAFETY: the closure runs between fork and exec and makes system calls only: no allocation, no lock.
        unsafe { self.command.pre_exec(end_with_us) };
        self.child = Some(self.command.spawn()?);
        Ok(())
    }

    fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Exec {
    /// Ends the program with its job: SIGTERM, and SIGKILL after `grace_time`.
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        let Some(child) = &mut self.child else { return };
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // Fails if the program has just ended.
            let _ = kill_process(pid, Signal::TERM);
        }
        let end = self.clock.now().saturating_add(self.grace);
        while self.clock.now() < end {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            self.clock.sleep_until(self.clock.now().saturating_add(LOOK));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Creates a file for the output of the program.
fn made(name: &str) -> Result<File, EngineError> {
    let failed = |error: io::Error| refused(sys::files::output_file::errno(&error), format!("{name}: {error}"));
    sys::files::output_file::create(Path::new(name)).map_err(failed)
}

fn refused(errno: i32, message: String) -> EngineError {
    EngineError { engine: NAME, operation: "program", message, errno }
}

/// Splits `text` at blanks outside of quotes. `%r` becomes the runtime in seconds, `%n` the name of the job.
fn arguments(text: &str, job: &JobFacts<'_>) -> Result<Vec<String>, EngineError> {
    let runtime = job.runtime.map_or(0, |runtime| runtime.get() / 1_000_000_000);
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        match (next, quote) {
            ('\'' | '"', None) => {
                quote = Some(next);
                word.get_or_insert_default();
            }
            (_, Some(open)) if next == open => quote = None,
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            ('%', _) => {
                let word = word.get_or_insert_default();
                match rest.clone().next() {
                    Some('r') => word.push_str(&runtime.to_string()),
                    Some('n') => word.push_str(job.name),
                    _ => {
                        word.push('%');
                        continue;
                    }
                }
                rest.next();
            }
            (other, _) => word.get_or_insert_default().push(other),
        }
    }
    if let Some(quote) = quote {
        return Err(refused(libc::EINVAL, format!("arguments={text}: the quote {quote} is not closed")));
    }
    words.extend(word);
    Ok(words)
}

const OPTIONS: &[OptionSpec] = options! {
    "program": TEXT; "The program to run";
    "arguments": TEXT; "Its arguments; %r is the runtime in seconds, %n the name of the job";
    "grace_time": SECONDS, "1"; "Between SIGTERM and SIGKILL when the job ends first";
    "std_redirect": BOOL, "1"; "Its output goes to the files NAME.stdout and NAME.stderr";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_unquoted_blanks_and_filled_in() {
        let job = JobFacts { name: "load 1", runtime: Some(Nanos::from_millis(3000)), ..JobFacts::default() };
        let words = |text| arguments(text, &job).map_err(|error| error.message);
        for (text, expected) in [
            ("", vec![]),
            ("  a  b ", vec!["a", "b"]),
            ("-c 'echo hi there'", vec!["-c", "echo hi there"]),
            ("--for=%r \"as %n\" 100%", vec!["--for=3", "as load 1", "100%"]),
            ("'' x%%r", vec!["", "x%3"]),
        ] {
            assert_eq!(words(text), Ok(expected.into_iter().map(str::to_owned).collect()), "{text}");
        }
        assert_eq!(words("'open"), Err("arguments='open: the quote ' is not closed".to_owned()));
    }
}
