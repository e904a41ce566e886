//! `plumb store`: the file with all results. Also keeps results after a measurement, and finds them by their words.
//!
//! Owns the command lines and what is printed. Leaves the file to the crate `store`.

pub(crate) mod history;
mod keep;
mod place;
mod series;
pub(crate) mod trend;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use ::store::{Document, Store};
use formats::printable;
use keep::Condition;
pub(crate) use keep::{keep_file, keep_result};
pub(crate) use place::{KeepArgs, Keeping};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Look after the store of results: where it is, add, export, forget, name
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb store where
  plumb store list
  plumb store add plumb-survey-001.json
  plumb store export last -o survey.json
  plumb store name last before-upgrade
  plumb store off

The store is one SQLite file. plumb survey and plumb knee keep their results in it; plumb fio and
plumb iozone only if PLUMB_STORE or --store names one. PLUMB_STORE=off keeps nothing.
Wherever a command reads a result, a run's ID, its name, `last` or `last~1` works too.
More: docs/history.md
Exit status: 0; 1 if something could not be done")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    action: Action,
    /// The store [default: PLUMB_STORE, or plumb/plumb.db in the user's directory for data]
    #[arg(long, value_name = "FILE", global = true)]
    store: Option<PathBuf>,
}

/// The option of commands that print names of places.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct RedactArgs {
    /// Replace paths, serial numbers and the name of the host by hashes
    #[arg(long)]
    redact: bool,
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
        /// File to write [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
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

/// Runs `plumb store`.
pub(crate) fn run(args: &StoreArgs) -> Result<u8, Failure> {
    let path = place::of_option(args.store.as_deref())?;
    let mut out = Output::stdout();
    let text = match &args.action {
        Action::Where => whereabouts(&path)?,
        Action::List { redact } => hashed(Names::of(redact), list(&open(&path)?)?),
        Action::Keep { unless_off } => {
            let condition = if *unless_off { Condition::UnlessOff } else { Condition::Always };
            return keep::from_input(&path, condition);
        }
        Action::Add { files } => return add(&path, files, &mut out),
        Action::Export { run, output, redact } => {
            return export(&open(&path)?, run, output.as_deref(), Names::of(redact));
        }
        Action::Forget { runs } => {
            let mut store = Store::to_write(open(&path)?.path())?;
            let forgotten: Result<Vec<String>, _> = runs.iter().map(|run| store.forget(run)).collect();
            format!("Forgotten: {}\n", forgotten?.join(", "))
        }
        Action::Rebuild => return rebuild(&path, &mut out),
        Action::Check => return check(&open(&path)?, &mut out),
        Action::Name { remove: Some(name), .. } => match Store::to_write(&path)?.unname(name)? {
            true => format!("{name} is not a name any more\n"),
            false => return Err(Failure::new(format!("there is no run with the name `{name}`"))),
        },
        Action::Name { run: Some(run), name: Some(name), .. } => named(&path, run, name)?,
        Action::Name { .. } => return Err(Failure::new("give a run and its name, or --remove NAME")),
        Action::Off => keeping(&path, "off")?,
        Action::On => keeping(&path, "on")?,
    };
    out.write(&printable::lines(&text)).map(|()| 0)
}

/// The result of the run that a word stands for; `None` if there is no store or no such run in it.
pub(crate) fn stored(word: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let Some(word) = word.to_str().filter(|word| !word.contains('/')) else { return Ok(None) };
    let Some(store) = place::of_option(None).ok().map(|path| Store::to_read(&path)).transpose()?.flatten() else {
        return Ok(None);
    };
    Ok(store.find(word)?.map(|id| store.export(&id)).transpose()?)
}

/// The text, with hashes in place of paths if that was asked for.
fn hashed(names: Names, text: String) -> String {
    if names == Names::Hashed { ::store::redacted_text(&text) } else { text }
}

/// Opens the store to read, which must be there.
fn open(path: &Path) -> Result<Store, Failure> {
    let nothing = || {
        Failure::at(path, "there are no results yet; plumb survey keeps its results here, plumb store add adds others")
    };
    Store::to_read(path)?.ok_or_else(nothing)
}

fn whereabouts(path: &Path) -> Result<String, Failure> {
    let Some(store) = Store::to_read(path)? else {
        return Ok(format!("{}\nno results yet\n", path.display()));
    };
    let runs = survey::counted(store.runs()?.len() as u64, "run");
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let keeps = if store.is_keeping()? { "results are kept" } else { "results are kept only when asked for" };
    Ok(format!("{}\n{runs}, {}; {keeps}\n", path.display(), measure::text::rounded_size(measure::float(bytes))))
}

fn list(store: &Store) -> Result<String, Failure> {
    let mut text = String::new();
    for run in store.runs()? {
        let tests = survey::counted(run.tests, "test");
        let names = run.names.map(|names| format!("  [{names}]")).unwrap_or_default();
        let doubt = series::doubt(run.grade).map(|doubt| format!("  {doubt}")).unwrap_or_default();
        let (id, command, path) = (run.id, run.command, run.path);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{id}  {}  {command:<6}  {tests:>9}  {path}{names}{doubt}", moment(run.began_unix_ms));
    }
    Ok(text)
}

fn add(path: &Path, files: &[PathBuf], out: &mut Output) -> Result<u8, Failure> {
    let mut store = Store::to_write(path)?;
    let mut failed = 0;
    for file in files {
        let added = sys::files::read_limited::read_text(file, input::LARGEST)
            .map_err(|error| input::unreadable(file, &error))
            .and_then(|text| Document::read(text.into_bytes()).map_err(|error| Failure::at(file, error)))
            .and_then(|document| Ok(store.add(&document, &day(document.began_unix_ms))?));
        match added {
            Ok(kept) => {
                let known = if kept.known { " (was there before)" } else { "" };
                out.write(&printable::lines(&format!("{}  {}{known}\n", kept.id, file.display())))?;
            }
            Err(failure) => {
                failure.print();
                failed = 1;
            }
        }
    }
    Ok(failed)
}

/// Names of places and hosts in what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Plain,
    Hashed,
}

impl Names {
    /// As the option `--redact` says.
    fn of(redact: &RedactArgs) -> Self {
        if redact.redact { Names::Hashed } else { Names::Plain }
    }
}

fn export(store: &Store, run: &str, output: Option<&Path>, names: Names) -> Result<u8, Failure> {
    let mut bytes = store.export(run)?;
    if names == Names::Hashed {
        let host = sys::machine::host::name(Path::new("/"));
        let secrets: Vec<String> = store.secrets(run)?.into_iter().chain(host).collect();
        bytes = ::store::redacted(&bytes, &secrets)?;
    }
    let text = String::from_utf8(bytes)?;
    output.map_or_else(|| Ok(Output::stdout()), Output::made)?.write(&text).map(|()| 0)
}

fn rebuild(path: &Path, out: &mut Output) -> Result<u8, Failure> {
    if !path.exists() {
        // Fails with the reason: rebuilding makes no store.
        open(path)?;
    }
    let rebuilt = Store::to_write(path)?.rebuild()?;
    for (id, why) in &rebuilt.unreadable {
        Failure::new(format!("{id}: {why}")).print();
    }
    out.write(&format!("{} derived again\n", survey::counted(rebuilt.runs, "run")))?;
    Ok(u8::from(!rebuilt.unreadable.is_empty()))
}

fn check(store: &Store, out: &mut Output) -> Result<u8, Failure> {
    let checked = store.check()?;
    checked.findings.iter().for_each(|finding| Failure::new(finding.clone()).print());
    let (runs, wrong) = (survey::counted(checked.runs, "run"), checked.findings.len());
    let size = measure::text::rounded_size(measure::float(checked.bytes));
    let verdict = if wrong == 0 { "no damage".to_owned() } else { survey::counted(wrong as u64, "finding") };
    out.write(&format!("{runs}, {size}: {verdict}\n"))?;
    Ok(u8::from(wrong > 0))
}

fn named(path: &Path, run: &str, name: &str) -> Result<String, Failure> {
    open(path)?;
    let (id, earlier) = Store::to_write(path)?.name(run, name)?;
    let moved = earlier.filter(|earlier| *earlier != id).map(|earlier| format!(" (was {earlier})")).unwrap_or_default();
    Ok(format!("{name} is {id}{moved}\n"))
}

fn keeping(path: &Path, word: &str) -> Result<String, Failure> {
    Store::to_write(path)?.set_keeping(word)?;
    let what = if word == "on" { "keep their results in" } else { "do not keep their results unasked in" };
    Ok(format!("plumb survey and plumb knee {what} {}\n", path.display()))
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
