//! Runs a program in a test: one line from the words to the assertion, which prints the whole run when it fails.

use crate::Place;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Arguments of a program: a text is split at blanks, a list is taken as it is.
pub trait Words {
    /// Adds them to a command.
    fn add_to(&self, command: &mut Command);
}

impl Words for str {
    fn add_to(&self, command: &mut Command) {
        command.args(self.split_whitespace());
    }
}

impl Words for String {
    fn add_to(&self, command: &mut Command) {
        self.as_str().add_to(command);
    }
}

impl<T: AsRef<OsStr>> Words for [T] {
    fn add_to(&self, command: &mut Command) {
        command.args(self);
    }
}

impl<T: AsRef<OsStr>, const N: usize> Words for [T; N] {
    fn add_to(&self, command: &mut Command) {
        command.args(self);
    }
}

impl<T: AsRef<OsStr>> Words for Vec<T> {
    fn add_to(&self, command: &mut Command) {
        command.args(self);
    }
}

impl<T: Words + ?Sized> Words for &T {
    fn add_to(&self, command: &mut Command) {
        (**self).add_to(command);
    }
}

/// The directory of a run: a borrowed one, or a [`Place`] that the run keeps until its end.
pub trait Directory {
    /// Its path.
    fn as_path(&self) -> &Path;

    /// The place to keep; none if it is borrowed.
    fn into_place(self) -> Option<Place>;
}

impl<T: AsRef<Path> + ?Sized> Directory for &T {
    fn as_path(&self) -> &Path {
        self.as_ref()
    }

    fn into_place(self) -> Option<Place> {
        None
    }
}

impl Directory for Place {
    fn as_path(&self) -> &Path {
        self.path()
    }

    fn into_place(self) -> Option<Place> {
        Some(self)
    }
}

/// A program, its arguments and its surroundings, before it starts.
#[derive(Debug)]
pub struct Run {
    command: Command,
    place: Option<Place>,
    input: Vec<u8>,
    streams: Streams,
}

/// The descriptors that a test has given to a program instead of pipes.
#[derive(Debug, Default)]
struct Streams {
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    errors: Option<OwnedFd>,
}

impl Run {
    /// A run of a program in a directory, with an empty standard input.
    pub fn new(program: impl AsRef<OsStr>, directory: impl Directory) -> Self {
        let mut command = Command::new(program);
        command.current_dir(directory.as_path());
        Run { command, place: directory.into_place(), input: Vec::new(), streams: Streams::default() }
    }

    /// Puts a program and its words in front, which starts this one: `prlimit --as=4294967296`, `taskset -c 0`.
    ///
    /// # Panics
    /// There are no words.
    #[must_use]
    pub fn under(self, words: impl Words) -> Self {
        // The words of a command cannot be changed, but they can be read.
        let mut front = Command::new("");
        words.add_to(&mut front);
        let mut front = front.get_args();
        let mut command = Command::new(front.next().expect("the words of a program"));
        command.args(front).arg(self.command.get_program()).args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(self.command.get_current_dir().expect("set by `new`"));
        Run { command, ..self }
    }

    /// Adds arguments.
    #[must_use]
    pub fn words(mut self, words: impl Words) -> Self {
        words.add_to(&mut self.command);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets what it reads from its standard input.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Has it read its standard input from a descriptor.
    #[must_use]
    pub fn input_from(mut self, descriptor: impl Into<OwnedFd>) -> Self {
        self.streams.input = Some(descriptor.into());
        self
    }

    /// Gives its standard output to a descriptor instead of the transcript.
    #[must_use]
    pub fn output_to(mut self, descriptor: impl Into<OwnedFd>) -> Self {
        self.streams.output = Some(descriptor.into());
        self
    }

    /// Gives its standard error to a descriptor instead of the transcript.
    #[must_use]
    pub fn errors_to(mut self, descriptor: impl Into<OwnedFd>) -> Self {
        self.streams.errors = Some(descriptor.into());
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// The program cannot be started.
    #[track_caller]
    pub fn start(mut self) -> Process {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        let name = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let Streams { input, output, errors } = self.streams;
        let without = if self.input.is_empty() { Stdio::null } else { Stdio::piped };
        let stdin = input.map_or_else(without, Stdio::from);
        let stdout = output.map_or_else(Stdio::piped, Stdio::from);
        let stderr = errors.map_or_else(Stdio::piped, Stdio::from);
        let started = self.command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0).spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{name}: {error}"));
        // Its copy of a descriptor would keep a pipe open.
        drop(self.command);
        let output = child.stdout.take().map(BufReader::new);
        let errors = child.stderr.take().map(BufReader::new);
        if let Some(mut stdin) = child.stdin.take() {
            let input = self.input;
            // A program may end without reading all of it.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        Process { child, output, errors, name, _place: self.place }
    }

    /// Runs it to its end, whatever its status.
    ///
    /// # Panics
    /// The program cannot be started.
    #[track_caller]
    pub fn end(self) -> Transcript {
        self.start().end()
    }

    /// Runs it to its end, with this exit status.
    ///
    /// # Panics
    /// It has another status.
    #[track_caller]
    pub fn exits(self, status: i32) -> Transcript {
        self.end().exits(status)
    }

    /// Runs it to its end, with the exit status 0.
    ///
    /// # Panics
    /// It has another status.
    #[track_caller]
    pub fn succeeds(self) -> Transcript {
        self.exits(0)
    }

    /// Standard output of a run that must succeed.
    ///
    /// # Panics
    /// It does not.
    #[track_caller]
    pub fn stdout(self) -> String {
        self.succeeds().stdout
    }

    /// Standard output of a run that must succeed, as a document.
    ///
    /// # Panics
    /// It does not, or its output is not JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        self.succeeds().json()
    }

    /// Standard error of a run that must fail.
    ///
    /// # Panics
    /// It does not, or a signal ends it.
    #[track_caller]
    pub fn stderr(self) -> String {
        self.fails().stderr
    }

    /// Runs it to its end, with an exit status other than 0.
    ///
    /// # Panics
    /// It succeeds, or a signal ends it.
    #[track_caller]
    pub fn fails(self) -> Transcript {
        self.end().fails()
    }
}

/// A program that runs. It is killed with all that it started when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
    errors: Option<BufReader<ChildStderr>>,
    name: String,
    /// Removed after its end.
    _place: Option<Place>,
}

impl Process {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// It has ended.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// True if it has ended.
    ///
    /// # Panics
    /// Never: it is our own child.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_some()
    }

    /// Reads its standard error up to a line with this part, and returns the line.
    ///
    /// # Panics
    /// It ends without such a line.
    #[track_caller]
    pub fn line_with(&mut self, part: &str) -> String {
        let errors = self.errors.as_mut().expect("kept until the end");
        let mut read = String::new();
        loop {
            let from = read.len();
            let count = errors.read_line(&mut read).expect("text");
            assert!(count > 0, "{} ended without `{part}`:\n{read}", self.name);
            if read[from..].contains(part) {
                return read[from..].to_owned();
            }
        }
    }

    /// Reads the next line of its standard output, which is empty if it has ended.
    ///
    /// # Panics
    /// Its standard output goes elsewhere, or is not text.
    #[track_caller]
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.as_mut().expect("kept until the end").read_line(&mut line).expect("text");
        line
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It has not ended after four minutes, which is less than a gate waits.
    #[track_caller]
    pub fn end(self) -> Transcript {
        let name = self.name.clone();
        self.end_within(PATIENCE).unwrap_or_else(|| panic!("{name} has not ended after {PATIENCE:?}"))
    }

    /// Waits for its end; none if it has not ended in time, or if a process that it started keeps its output open. What
    /// has not ended is killed with all that it started.
    ///
    /// # Panics
    /// Its output is not that of a pipe.
    pub fn end_within(mut self, limit: Duration) -> Option<Transcript> {
        let stdout = self.output.take().map(text_of);
        let stderr = self.errors.take().map(text_of);
        let begun = Instant::now();
        let end = loop {
            if let Some(end) = self.child.try_wait().expect("our own child") {
                break end;
            }
            if begun.elapsed() > limit {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let left = || limit.saturating_sub(begun.elapsed());
        let whole =
            |text: Option<Receiver<String>>| text.map_or(Some(String::new()), |text| text.recv_timeout(left()).ok());
        let (stdout, stderr) = (whole(stdout)?, whole(stderr)?);
        Some(Transcript { command: self.name.clone(), status: end.code(), end, stdout, stderr })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            crate::processes::kill_with_descendants(self.child.id());
            let _ = self.child.wait();
        }
    }
}

/// How long a run may take: less than the gate waits for a test.
const PATIENCE: Duration = Duration::from_mins(4);

/// How long a run of fio may take. Its jobs in tests take a few seconds.
const PATIENCE_WITH_FIO: Duration = Duration::from_secs(40);

/// Runs the real fio to its end.
///
/// # Panics
/// fio cannot be started, or hangs in each of three tries.
#[track_caller]
pub fn oracle(directory: impl AsRef<Path>, words: impl Words) -> Transcript {
    oracle_run(|| Run::new("fio", directory.as_ref()).words(&words)).expect("fio ends in one of three tries")
}

/// Ends a run of the real fio, which another program may start. One that hangs is killed and made again, twice at most:
/// threads of fio 3.33 wait for each other now and then. None if it hangs each time.
#[track_caller]
pub fn oracle_run(run: impl Fn() -> Run) -> Option<Transcript> {
    (0..3).find_map(|_| run().start().end_within(PATIENCE_WITH_FIO))
}

/// Reads a stream to its end in another thread.
fn text_of(mut stream: impl Read + Send + 'static) -> Receiver<String> {
    let (text, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("a pipe");
        // The test may have given up.
        let _ = text.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// A run that has ended: its command, exit status and both streams. Displayed, it is all of them.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// The program and its arguments.
    pub command: String,
    /// Exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error, without what [`Process::line_with`] has read.
    pub stderr: String,
    end: ExitStatus,
}

impl Transcript {
    /// Demands this exit status.
    ///
    /// # Panics
    /// It has another one.
    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert!(self.status == Some(status), "status {status} was expected of {self}");
        self
    }

    /// Demands an exit status other than 0.
    ///
    /// # Panics
    /// It succeeded, or a signal ended it.
    #[track_caller]
    pub fn fails(self) -> Self {
        assert!(self.status.is_some_and(|status| status != 0), "a failure was expected of {self}");
        self
    }

    /// Demands that standard error is empty.
    ///
    /// # Panics
    /// It is not.
    #[track_caller]
    pub fn silent(self) -> Self {
        assert!(self.stderr.is_empty(), "nothing on standard error was expected of {self}");
        self
    }

    /// Demands a part of standard output.
    ///
    /// # Panics
    /// It is not there.
    #[track_caller]
    pub fn prints(self, part: &str) -> Self {
        assert!(self.stdout.contains(part), "`{part}` was expected on standard output of {self}");
        self
    }

    /// Demands a part of standard error.
    ///
    /// # Panics
    /// It is not there.
    #[track_caller]
    pub fn complains(self, part: &str) -> Self {
        assert!(self.stderr.contains(part), "`{part}` was expected on standard error of {self}");
        self
    }

    /// Standard output, then standard error.
    pub fn both(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Standard output as a document.
    ///
    /// # Panics
    /// It is not JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}, in {self}"))
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Transcript { command, end, stdout, stderr, .. } = self;
        write!(formatter, "`{command}`: {end}\nstandard output:\n{stdout}\nstandard error:\n{stderr}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Run {
        Run::new("sh", &std::env::temp_dir()).words(["-c", script])
    }

    #[test]
    fn a_failed_demand_prints_command_status_and_both_streams() {
        let failed = |demand: fn(Transcript) -> Transcript| {
            let run = shell("echo out; echo err >&2; exit 3").end();
            let panic = std::panic::catch_unwind(|| demand(run)).expect_err("it is not as demanded");
            panic.downcast_ref::<String>().expect("a message").clone()
        };
        let demands: [fn(Transcript) -> Transcript; 4] =
            [|run| run.exits(0), |run| run.silent(), |run| run.prints("in"), |run| run.complains("in")];
        for demand in demands {
            let message = failed(demand);
            for part in ["`sh -c echo out", "exit status: 3", "standard output:\nout", "standard error:\nerr"] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
        shell("echo out; echo err >&2; exit 3").fails().exits(3).prints("out").complains("err");
    }

    #[test]
    fn a_program_in_front_starts_it_with_its_words_and_surroundings() {
        let run = shell("echo $0 $A; pwd").words(["a b"]).env("A", "c").under("env --unset=A");
        assert_eq!(run.stdout(), format!("a b\n{}\n", std::env::temp_dir().display()));
    }

    #[test]
    fn input_lines_and_signals_reach_the_program() {
        assert_eq!(shell("cat").input("{\"a\": 1}").succeeds().silent().json()["a"], 1);
        let mut process = shell("echo out; echo one >&2; echo two >&2; exec sleep 60").start();
        assert_eq!(process.line(), "out\n");
        assert_eq!(process.line_with("tw"), "two\n");
        assert!(!process.has_ended());
        process.signal(Signal::TERM);
        let end = process.end();
        assert_eq!((end.status, end.to_string().contains("signal: 15")), (None, true), "{end}");
    }
}
