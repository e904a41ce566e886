//! After a measurement: its result goes into the store. Nothing here fails a command: the result was printed and saved.
//!
//! Another process opens the store. On a network or FUSE file system that hangs, a process that touches it cannot even be
//! killed; the one that measured waits for some seconds, says so, and ends. So does a command that reads the store.

use super::place::{self, KeepArgs, Keeping, Place};
use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use model::RunResult;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use store::{Document, Store};

/// The variable that names how many seconds the store has to answer.
const VARIABLE: &str = "PLUMB_STORE_SECONDS";
/// Seconds that the store has to answer. Another program may have it locked for five.
const SECONDS: u64 = 30;
/// Time between two looks at the process that opens the store.
const PAUSE: Duration = Duration::from_millis(2);

/// Keeps the result in a file. Returns the lines to print; a failure is one line on standard error.
pub(crate) fn keep_file(path: &Path, args: &KeepArgs, keeping: Keeping) -> String {
    let read = || {
        sys::files::read_limited::read_text(path, input::LARGEST)
            .map(String::into_bytes)
            .map_err(|error| input::unreadable(path, &error))
    };
    keep(read, args, keeping)
}

/// Keeps a result. Returns the lines to print; a failure is one line on standard error.
pub(crate) fn keep_result(result: &RunResult, args: &KeepArgs, keeping: Keeping) -> String {
    let write = || {
        let mut result = result.clone();
        result.surroundings.get_or_insert_with(|| Box::new(crate::result_file::surroundings(&result.monitored)));
        Ok(formats::native::write(&result)?.into_bytes())
    };
    keep(write, args, keeping)
}

fn keep(read: impl FnOnce() -> Result<Vec<u8>, Failure>, args: &KeepArgs, keeping: Keeping) -> String {
    let (file, condition) = match place::of_command(args, keeping) {
        Place::Nowhere => return String::new(),
        Place::Named(file) => (file, Condition::Always),
        Place::Usual(file) => (file, Condition::UnlessOff),
    };
    read().and_then(|bytes| by_another_process(&file, condition, &bytes)).unwrap_or_else(|failure| {
        Failure::new(format!("the result is not in the store: {}", failure.message())).print();
        String::new()
    })
}

/// When a result is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// The store was named, so it is meant.
    Always,
    /// Unless `plumb store off` was said of it.
    UnlessOff,
}

fn by_another_process(file: &Path, condition: Condition, bytes: &[u8]) -> Result<String, Failure> {
    let more: &[&str] = if condition == Condition::UnlessOff { &["--unless-off"] } else { &[] };
    asked(file, &[&["keep"], more].concat(), bytes)
}

/// Fails if a store that is to be read does not answer: another process opens it first, because one that waits for a file system
/// that hangs cannot be ended.
pub(super) fn answers(file: &Path) -> Result<(), Failure> {
    asked(file, &["answer"], &[]).map(drop)
}

/// The output of another process of `plumb store` with these words, which has some seconds.
fn asked(file: &Path, words: &[&str], bytes: &[u8]) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::at(file, format!("cannot be opened by another process: {error}"));
    let mut command = Command::new("/proc/self/exe");
    // A link named fio would be fio.
    command.arg0("plumb").arg("store").args(words).arg("--store").arg(file);
    let seconds = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let until = Instant::now() + Duration::from_secs(seconds);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().map_err(failed)?;
    if let Some(mut pipe) = child.stdin.take() {
        // It reads all before it opens the store. If it cannot, its message has the reason.
        let _ = pipe.write_all(bytes);
    }
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            let (out, error) = output_of(&mut child);
            let message = error.trim_end().strip_prefix("plumb: ").unwrap_or(&error).trim_end().to_owned();
            return if status.success() { Ok(out) } else { Err(Failure::new(message)) };
        }
        if Instant::now() >= until {
            // It may not be possible to end it now; it does not hold this process up.
            let _ = child.kill();
            return Err(Failure::at(
                file,
                format!(
                    "does not answer within {seconds} s: is it on a network or FUSE file system that hangs? Name another \
                     file with --store, or more seconds with {VARIABLE}"
                ),
            ));
        }
        std::thread::sleep(PAUSE);
    }
}

/// The output of a process that has ended.
fn output_of(child: &mut Child) -> (String, String) {
    let (mut out, mut error) = (String::new(), String::new());
    // What cannot be read is not there.
    let _ = child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut out));
    let _ = child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut error));
    (out, error)
}

/// The other process: opens the store, and reads its first pages. The command itself says what is wrong with them.
pub(super) fn opened(file: &Path) -> u8 {
    let _ = Store::to_read(file);
    0
}

/// The other process: keeps the result on standard input.
pub(super) fn from_input(file: &Path, condition: Condition) -> Result<u8, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| input::unreadable(Path::new("-"), &error))?;
    if condition == Condition::UnlessOff && !is_keeping(file)? {
        return Ok(0);
    }
    let text = add(file, bytes)?;
    Output::stdout().write(&text).map(|()| 0)
}

/// False if `plumb store off` was said of a store.
fn is_keeping(file: &Path) -> Result<bool, Failure> {
    let store = Store::to_read(file)?;
    Ok(store.map_or(Ok(true), |store| store.is_keeping())?)
}

fn add(file: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    let document = Document::read(bytes)?;
    let is_first = !file.exists();
    let kept = Store::to_write(file)?.add(&document, &super::day(document.began_unix_ms))?;
    let mut text = format!("Kept: {}\n", kept.id);
    if is_first {
        text.push_str(&format!(
            "Results are kept in {} from now on, for plumb history and plumb trend; plumb store off ends that.\n",
            file.display()
        ));
    }
    Ok(formats::printable::lines(&text).into_owned())
}
