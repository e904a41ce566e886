//! Where results are kept, and their way into the store. Nothing here fails a command: the result was printed and
//! saved.
//!
//! The store is that of `--store`, then PLUMB_STORE, then the one in the user's directory for data. Another process
//! opens it. On a network or FUSE file system that hangs, a process that touches it cannot even be killed; the one that
//! measured waits for some seconds, says so, and ends. So does a command that reads the store.

use crate::failure::Failure;
use model::RunResult;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that names the store, or says `off`.
const VARIABLE: &str = "PLUMB_STORE";

/// Options of commands that measure.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct KeepArgs {
    #[cfg_attr(
        feature = "store",
        doc = "Keep the result in this store [default: PLUMB_STORE, or plumb/plumb.db in the user's directory for data]"
    )]
    #[cfg_attr(not(feature = "store"), doc = "Refused: this build has no store")]
    #[cfg_attr(not(feature = "store"), arg(value_parser = refused))]
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with = "no_store")]
    store: Option<PathBuf>,
    #[cfg_attr(feature = "store", doc = "Do not keep the result in the store")]
    #[cfg_attr(not(feature = "store"), doc = "No effect: this build has no store")]
    #[arg(hide_short_help = true, long)]
    no_store: bool,
}

#[cfg(not(feature = "store"))]
fn refused(_: &str) -> Result<PathBuf, String> {
    Err(Failure::not_built("--store", "store").message().to_owned())
}

impl KeepArgs {
    /// The option that was given, if one was.
    pub fn given(&self) -> Option<&'static str> {
        self.store.as_ref().map(|_| "--store").or(self.no_store.then_some("--no-store"))
    }

    /// True if a store is named by the option.
    pub fn names_store(&self) -> bool {
        self.store.is_some()
    }
}

/// When a command keeps its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepPolicy {
    /// Unless it is asked not to: plumb's own commands.
    Unasked,
    /// Only if it is asked to: programs that plumb replaces leave no files.
    Asked,
}

/// Returns the store in which a command keeps its result; `None` if it is not kept.
fn of_command(args: &KeepArgs, keeping: KeepPolicy) -> Option<(PathBuf, Condition)> {
    if args.no_store || cfg!(not(feature = "store")) {
        return None;
    }
    let named = |file: PathBuf| Some((file, Condition::Always));
    if let Some(file) = &args.store {
        return named(file.clone());
    }
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) if value == "off" => None,
        Some(value) => named(value.into()),
        None if keeping == KeepPolicy::Asked => None,
        None => Some((usual()?, Condition::UnlessOff)),
    }
}

/// Returns the store that a command reads or changes.
pub fn store_of_option(store: Option<&Path>) -> Result<PathBuf, Failure> {
    let of_variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty() && value != "off");
    let found = store.map(Path::to_owned).or_else(|| of_variable().map(PathBuf::from)).or_else(usual);
    found
        .ok_or_else(|| Failure::new("neither XDG_DATA_HOME nor HOME is set; name a store: --store FILE or PLUMB_STORE"))
}

fn usual() -> Option<PathBuf> {
    // A relative directory is to be ignored (XDG Base Directory Specification).
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("plumb/plumb.db"))
}

/// Maximum size in bytes of a result.
const LARGEST: u64 = 1 << 30;
/// The variable that names how many seconds the store has to answer.
const PATIENCE_VARIABLE: &str = "PLUMB_STORE_SECONDS";
/// Seconds that the store has to answer. Another program may have it locked for five.
const SECONDS: u64 = 30;
/// Time between two looks at the process that opens the store.
const PAUSE: Duration = Duration::from_millis(2);

/// Keeps the result in a file. Returns the lines to print; a failure is one line on standard error.
pub fn keep_file(path: &Path, args: &KeepArgs, keeping: KeepPolicy) -> String {
    let read = || {
        sys::files::read_limited::read_text(path, LARGEST)
            .map(String::into_bytes)
            .map_err(|error| Failure::at(path, format!("cannot be read: {error}")))
    };
    keep(read, args, keeping)
}

/// Keeps a result. Returns the lines to print; a failure is one line on standard error.
pub fn keep_result(result: &RunResult, args: &KeepArgs, keeping: KeepPolicy) -> String {
    let write = || {
        let mut result = result.clone();
        result.surroundings.get_or_insert_with(|| Box::new(crate::result_file::surroundings(&result.monitored)));
        Ok(formats::native::write(&result)?.into_bytes())
    };
    keep(write, args, keeping)
}

/// The same of a document, whose text is made if it is kept.
pub fn keep_document(text: impl FnOnce() -> Result<String, Failure>, args: &KeepArgs, keeping: KeepPolicy) -> String {
    keep(|| Ok(text()?.into_bytes()), args, keeping)
}

fn keep(read: impl FnOnce() -> Result<Vec<u8>, Failure>, args: &KeepArgs, keeping: KeepPolicy) -> String {
    let Some((file, condition)) = of_command(args, keeping) else { return String::new() };
    let words: &[&str] = if condition == Condition::UnlessOff { &["keep", "--unless-off"] } else { &["keep"] };
    read().and_then(|bytes| asked(&file, words, &bytes)).unwrap_or_else(|failure| {
        Failure::new(format!("the result is not in the store: {}", failure.message())).print();
        String::new()
    })
}

/// When a result is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The store was named, so it is meant.
    Always,
    /// Unless `plumb store off` was said of it.
    UnlessOff,
}

/// Fails if a store that is to be read does not answer: another process opens it first, because one that waits for a
/// file system that hangs cannot be ended.
pub fn answers(file: &Path) -> Result<(), Failure> {
    asked(file, &["answer"], &[]).map(drop)
}

/// The output of another process of `plumb store` with these words, which has some seconds.
fn asked(file: &Path, words: &[&str], bytes: &[u8]) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::at(file, format!("cannot be opened by another process: {error}"));
    let mut command = Command::new("/proc/self/exe");
    // A link named fio would be fio.
    command.arg0("plumb").arg("store").args(words).arg("--store").arg(file);
    let seconds = std::env::var(PATIENCE_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
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
                     file with --store, or more seconds with {PATIENCE_VARIABLE}"
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
