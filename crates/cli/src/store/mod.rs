//! `plumb store`: the file with all results. Also keeps results after a measurement, and finds them by their words.
//!
//! Owns the command lines and what is printed. Leaves the file to the crate `store`.

pub(crate) mod history;
mod series;
pub(crate) mod trend;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::streams::{self, OutputArgs, Streams};
use ::store::{Document, Store};
use formats::printable;
use measure::text;
use serde_json::{Value, json};
use session::keep::{answers, store_of_option};
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Manage the store of results: add, export, remove and name runs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb store where
  plumb store list
  plumb store list --json | jq -r '.runs[].run'
  plumb store add plumb-survey-001.json
  plumb store export last -o survey.json
  plumb store name last before-upgrade
  plumb store off

The store is one SQLite file. plumb survey and plumb knee keep their results in it; plumb fio and
plumb iozone only if PLUMB_STORE or --store names one. With PLUMB_STORE=off no result is
kept; earlier results can still be read.
Wherever a command reads a result, a run's ID, its name, `last` or `last~1` works too.
More: docs/history.md
Exit status: 0; 1 if something could not be done")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    action: Action,
    /// The store [default: PLUMB_STORE, or plumb/plumb.db in the user's directory for data]
    #[arg(long, value_name = "FILE", global = true)]
    store: Option<PathBuf>,
    #[command(flatten)]
    written: OutputArgs,
}

/// The option of commands that print names of places.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct RedactArgs {
    /// Replace paths, serial numbers and the name of the host by hashes
    #[arg(long)]
    redact: bool,
}

impl RedactArgs {
    /// The text, with hashes in place of paths if that was asked for.
    fn applied(self, text: String) -> String {
        if self.redact { ::store::redacted_text(&text) } else { text }
    }
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print where the store is, its size, and if commands keep their results
    #[command(after_help = "Example: plumb store where")]
    Where,
    /// List the runs
    #[command(after_help = "Example: plumb store list --redact")]
    List {
        #[command(flatten)]
        redact: RedactArgs,
    },
    /// Keep the result on standard input; a run that has ended starts it
    #[command(hide = true)]
    Keep {
        /// Not if `plumb store off` was said
        #[arg(long)]
        unless_off: bool,
    },
    /// Open the store; a command that reads it starts this first
    #[command(hide = true)]
    Answer,
    /// Add results: the JSON of survey, knee, iozone --json or fio --result
    #[command(after_help = "Example: plumb store add plumb-survey-*.json")]
    Add {
        /// Files with results
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Write the result of a run as it was
    #[command(
        after_help = "Examples:\n  plumb store export last -o survey.json\n  plumb store export --redact 2026-11-22-0007 >to-show.json"
    )]
    Export {
        /// ID of the run, its name, last or last~N
        run: String,
        #[command(flatten)]
        redact: RedactArgs,
    },
    /// Remove runs
    #[command(after_help = "Example: plumb store forget 2026-11-22-0007")]
    Forget {
        /// IDs of the runs, their names, last or last~N
        #[arg(required = true)]
        runs: Vec<String>,
    },
    /// Derive the tables of history from the results again
    #[command(after_help = "Example: plumb store rebuild")]
    Rebuild,
    /// Check the file, and each result against its checksum
    #[command(after_help = "Example: plumb store check")]
    Check,
    /// Name a run, or remove a name
    #[command(after_help = "Examples:\n  plumb store name 2026-11-20-0001 main\n  plumb store name --remove main")]
    Name {
        /// ID of the run, its name, last or last~N
        #[arg(required_unless_present = "remove")]
        run: Option<String>,
        /// The name
        #[arg(required_unless_present = "remove")]
        name: Option<String>,
        /// Remove this name
        #[arg(long, value_name = "NAME", conflicts_with_all = ["run", "name"])]
        remove: Option<String>,
    },
    /// Keep results only when asked to, with --store or PLUMB_STORE
    #[command(after_help = "Example: plumb store off")]
    Off,
    /// Keep the results of survey and knee, the default
    #[command(after_help = "Example: plumb store on")]
    On,
}

/// The answer of `plumb store`, for people and for programs.
struct StoreAnswer {
    text: String,
    value: Value,
    status: u8,
}

impl StoreAnswer {
    fn new(text: impl Into<String>, value: Value) -> Self {
        StoreAnswer { text: text.into(), value, status: 0 }
    }
}

pub(crate) fn run(args: &StoreArgs) -> Result<u8, Failure> {
    let mut out = args.written.open()?;
    let path = store_of_option(args.store.as_deref())?;
    let Streams { json, quiet } = args.written.streams;
    if !matches!(args.action, Action::Keep { .. } | Action::Answer) {
        answers(&path)?;
    }
    let said = match &args.action {
        Action::Where => whereabouts(&path)?,
        Action::List { redact } => list(&open(&path)?, *redact)?,
        Action::Keep { unless_off } => return keep_input(&path, *unless_off),
        // The command that started this process says itself what is wrong with the first pages.
        Action::Answer => return Ok(Store::to_read(&path).map_or(0, |_| 0)),
        Action::Add { files } => add(&path, files)?,
        // The result is JSON in any case.
        Action::Export { run, redact } => return out.write(&export(&open(&path)?, run, *redact)?).map(|()| 0),
        Action::Forget { runs } => forget(&path, runs)?,
        Action::Rebuild => rebuild(&path)?,
        Action::Check => check(&open(&path)?)?,
        Action::Name { remove: Some(name), .. } => unnamed(&path, name)?,
        Action::Name { run: Some(run), name: Some(name), .. } => named(&path, run, name)?,
        Action::Name { .. } => return Err(Failure::new("give a run and its name, or --remove NAME")),
        Action::Off => keeping(&path, "off")?,
        Action::On => keeping(&path, "on")?,
    };
    let text = match args.action {
        _ if json => streams::document("store", said.value)?,
        Action::Where | Action::List { .. } | Action::Add { .. } | Action::Check => said.text,
        _ if quiet => String::new(),
        _ => said.text,
    };
    out.write(&printable::lines(&text)).map(|()| said.status)
}

/// The result of the run that a word stands for; `None` if there is no store or no such run in it.
pub(crate) fn stored(word: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let Some(word) = word.to_str().filter(|word| !word.contains('/')) else { return Ok(None) };
    let Ok(path) = store_of_option(None) else { return Ok(None) };
    answers(&path)?;
    let Some(store) = Store::to_read(&path)? else { return Ok(None) };
    Ok(store.find(word)?.map(|id| store.export(&id)).transpose()?)
}

/// Keeps the result on standard input, for a command that has measured (`session::keep`).
fn keep_input(file: &Path, unless_off: bool) -> Result<u8, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| input::unreadable(Path::new("-"), &error))?;
    if unless_off && !Store::to_read(file)?.map_or(Ok(true), |store| store.is_keeping())? {
        return Ok(0);
    }
    let document = Document::read(bytes)?;
    let is_first = !file.exists();
    let kept = Store::to_write(file)?.add(&document, &day(document.began_unix_ms))?;
    let mut text = format!("Kept: {}\n", kept.id);
    if is_first {
        let file = file.display();
        text += &format!(
            "Results are kept in {file} from now on, for plumb history and plumb trend; plumb store off ends that.\n"
        );
    }
    Output::stdout().write(&printable::lines(&text)).map(|()| 0)
}

/// Opens the store to read, which must be there.
fn open(path: &Path) -> Result<Store, Failure> {
    let nothing = || {
        Failure::at(path, "there are no results yet; plumb survey keeps its results here, plumb store add adds others")
    };
    Store::to_read(path)?.ok_or_else(nothing)
}

fn whereabouts(path: &Path) -> Result<StoreAnswer, Failure> {
    let file = path.display().to_string();
    let Some(store) = Store::to_read(path)? else {
        return Ok(StoreAnswer::new(format!("{file}\nno results yet\n"), json!({ "store": file, "runs": 0 })));
    };
    let runs = store.runs()?.len();
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let is_keeping = store.is_keeping()?;
    let keeps = if is_keeping { "results are kept" } else { "results are kept only when asked for" };
    let size = text::rounded_size(measure::float(bytes));
    let text = format!("{file}\n{}, {size}; {keeps}\n", text::counted(runs as u64, "run"));
    Ok(StoreAnswer::new(text, json!({ "store": file, "runs": runs, "bytes": bytes, "keeps": is_keeping })))
}

fn list(store: &Store, redact: RedactArgs) -> Result<StoreAnswer, Failure> {
    let (mut text, mut values) = (String::new(), Vec::new());
    for run in store.runs()? {
        values.push(json!({
            "run": run.id, "began_unix_ms": run.began_unix_ms, "command": run.command, "tests": run.tests,
            "path": redact.applied(run.path.clone()), "grade": run.grade,
            "names": run.names.as_deref().map(|names| names.split(", ").collect::<Vec<_>>()).unwrap_or_default(),
        }));
        let tests = text::counted(run.tests, "test");
        let named = run.names.map(|names| format!("  [{names}]")).unwrap_or_default();
        let doubt = series::doubt(run.grade).map(|doubt| format!("  {doubt}")).unwrap_or_default();
        let (id, command, path) = (run.id, run.command, run.path);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{id}  {}  {command:<6}  {tests:>9}  {path}{named}{doubt}", moment(run.began_unix_ms));
    }
    Ok(StoreAnswer::new(redact.applied(text), json!({ "runs": values })))
}

fn add(path: &Path, files: &[PathBuf]) -> Result<StoreAnswer, Failure> {
    let mut store = Store::to_write(path)?;
    let (mut text, mut added, mut failed) = (String::new(), Vec::new(), Vec::new());
    for file in files {
        let kept = sys::files::read_limited::read_text(file, input::LARGEST)
            .map_err(|error| input::unreadable(file, &error))
            .and_then(|text| Document::read(text.into_bytes()).map_err(|error| Failure::at(file, error)))
            .and_then(|document| Ok(store.add(&document, &day(document.began_unix_ms))?));
        match kept {
            Ok(kept) => {
                let known = if kept.known { " (was there before)" } else { "" };
                let _ = writeln!(text, "{}  {}{known}", kept.id, file.display());
                added.push(json!({ "run": kept.id, "file": file.display().to_string(), "known": kept.known }));
            }
            Err(failure) => {
                failure.print();
                failed.push(json!({ "file": file.display().to_string(), "error": failure.message() }));
            }
        }
    }
    let status = u8::from(!failed.is_empty());
    Ok(StoreAnswer { text, value: json!({ "added": added, "failed": failed }), status })
}

fn forget(path: &Path, runs: &[String]) -> Result<StoreAnswer, Failure> {
    let mut store = Store::to_write(open(path)?.path())?;
    let forgotten = runs.iter().map(|run| store.forget(run)).collect::<Result<Vec<String>, _>>()?;
    Ok(StoreAnswer::new(format!("Forgotten: {}\n", forgotten.join(", ")), json!({ "forgotten": forgotten })))
}

fn export(store: &Store, run: &str, redact: RedactArgs) -> Result<String, Failure> {
    let mut bytes = store.export(run)?;
    if redact.redact {
        let secrets: Vec<String> = sys::machine::host::name(Path::new("/")).into_iter().collect();
        bytes = ::store::redacted(&bytes, &secrets)?;
    }
    Ok(String::from_utf8(bytes)?)
}

fn rebuild(path: &Path) -> Result<StoreAnswer, Failure> {
    if !path.exists() {
        // Fails with the reason: rebuilding makes no store.
        open(path)?;
    }
    let rebuilt = Store::to_write(path)?.rebuild()?;
    let mut unreadable = Vec::new();
    for (id, why) in &rebuilt.unreadable {
        Failure::new(format!("{id}: {why}")).print();
        unreadable.push(json!({ "run": id, "error": why.to_string() }));
    }
    Ok(StoreAnswer {
        text: format!("{} derived again\n", text::counted(rebuilt.runs, "run")),
        status: u8::from(!unreadable.is_empty()),
        value: json!({ "derived": rebuilt.runs, "unreadable": unreadable }),
    })
}

fn check(store: &Store) -> Result<StoreAnswer, Failure> {
    let checked = store.check()?;
    checked.findings.iter().for_each(|finding| Failure::new(finding.clone()).print());
    let (runs, wrong) = (text::counted(checked.runs, "run"), checked.findings.len());
    let size = text::rounded_size(measure::float(checked.bytes));
    let verdict = if wrong == 0 { "no damage".to_owned() } else { text::counted(wrong as u64, "finding") };
    Ok(StoreAnswer {
        text: format!("{runs}, {size}: {verdict}\n"),
        value: json!({ "runs": checked.runs, "bytes": checked.bytes, "findings": checked.findings }),
        status: u8::from(wrong > 0),
    })
}

fn named(path: &Path, run: &str, name: &str) -> Result<StoreAnswer, Failure> {
    open(path)?;
    let (id, earlier) = Store::to_write(path)?.name(run, name)?;
    let earlier = earlier.filter(|earlier| *earlier != id);
    let moved = earlier.as_ref().map(|earlier| format!(" (was {earlier})")).unwrap_or_default();
    Ok(StoreAnswer::new(format!("{name} is {id}{moved}\n"), json!({ "name": name, "run": id, "was": earlier })))
}

fn unnamed(path: &Path, name: &str) -> Result<StoreAnswer, Failure> {
    match Store::to_write(path)?.unname(name)? {
        true => Ok(StoreAnswer::new(format!("{name} is not a name any more\n"), json!({ "removed": name }))),
        false => Err(Failure::new(format!("there is no run with the name `{name}`"))),
    }
}

fn keeping(path: &Path, word: &str) -> Result<StoreAnswer, Failure> {
    Store::to_write(path)?.set_keeping(word)?;
    let what = if word == "on" { "keep their results in" } else { "do not keep their results unasked in" };
    let file = path.display().to_string();
    Ok(StoreAnswer::new(
        format!("plumb survey and plumb knee {what} {file}\n"),
        json!({ "store": file, "keeps": word == "on" }),
    ))
}

/// The local date of a moment.
fn day(unix_ms: u64) -> String {
    local(unix_ms, "%Y-%m-%d")
}

/// The local date and time of a moment.
fn moment(unix_ms: u64) -> String {
    local(unix_ms, "%Y-%m-%d %H:%M")
}

fn local(unix_ms: u64, format: &str) -> String {
    let stamp = jiff::Timestamp::from_millisecond(i64::try_from(unix_ms).unwrap_or(0)).unwrap_or_default();
    stamp.to_zoned(jiff::tz::TimeZone::system()).strftime(format).to_string()
}
