//! `plumb survey`: a first answer to "how fast is this disk, and is that true?".
//!
//! Makes a work file of its own (or reads a device), runs a fixed suite of tests, judges each result and says in a
//! table and two sentences what was found.

mod progress;
mod remarks;
mod save;
mod suite;
mod table;
mod target;
mod work_file;

use crate::failure::Failure;
use crate::limit;
use crate::output::Output;
use clap::Parser;
use formats::printable;
use measure::{Direction, Nanos};
use model::RunResult;
use progress::Display;
use run::RunOptions;
use std::path::{Path, PathBuf};
use suite::{Access, Kind, Nature, Test};
use sys::signals::Watch;
use table::Row;
use target::Place;
use work_file::Afterwards;

/// Measuring time per test with `--quick`.
pub(crate) const QUICK_TIME: Nanos = Nanos::from_secs(4);
/// Where /proc and /sys are read.
const SYSTEM_ROOT: &str = "/";
const USUAL_TIME: Nanos = Nanos::from_secs(30);

/// Survey a disk: random reads, sequential reads and log writes, with checks
#[derive(Debug, Parser)]
#[command(
    next_line_help = false,
    long_about = "\
Measures the disk under a directory, or a block device, and says whether the numbers are true.

In a directory, plumb makes a work file of random data, reads it past the page cache \
(8k random reads with 1 to 64 users, 1M sequential reads), writes to it as a database \
writes its log, and removes it. A device is only read: nothing is ever written to it, \
and log writes are left out.",
    after_help = "\
Examples:
  plumb survey .                          the disk under this directory, about five minutes
  plumb survey --quick .                  the same in under a minute
  plumb survey --size 64G --time 1m .     more data than a cache holds, longer tests
  plumb survey --keep /data               keep the work file for the next survey
  sudo plumb survey /dev/nvme0n1          read a device itself

Ctrl-C ends the survey and keeps the tests that were finished.
Exit status: 0; 1 when something could not be measured; 128 + signal after a signal"
)]
pub(crate) struct Args {
    /// A directory on the disk, or a block device (read only)
    #[arg(value_name = "PATH|DEVICE")]
    path: PathBuf,
    /// Size of the work file, like 512M or 16G [default: 16G or a quarter of the free space; 1G with --quick]
    #[arg(long, value_parser = target::parse_size)]
    size: Option<u64>,
    /// Measuring time per test, like 10s or 2m [default: 30s; 4s with --quick]
    #[arg(long, value_parser = target::parse_seconds)]
    time: Option<u64>,
    /// A small file and short tests: at most 40 s of measuring
    #[arg(long)]
    quick: bool,
    /// Where the result goes as JSON [default: plumb-survey-NNN.json here]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave the work file in place for the next survey
    #[arg(long)]
    keep: bool,
}

/// What was measured until the end, or until a signal or a failure came.
struct Findings {
    rows: Vec<Row>,
    signal: Option<i32>,
    failure: Option<Failure>,
}

/// Runs a survey; 0, 1 when a test failed, or 128 + signal when a signal cut it short.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let signals = Watch::begin().map_err(|error| Failure::new(error.to_string()))?;
    let mut out = Output::stdout();
    let time = match (args.time, args.quick) {
        (Some(seconds), _) => Nanos::from_secs(seconds),
        (None, true) => QUICK_TIME,
        (None, false) => USUAL_TIME,
    };
    let afterwards = if args.keep { Afterwards::Keep } else { Afterwards::Remove };
    let mut file = save::ResultFile::reserve(args.output.as_deref())?;
    let mut place = Place::open(&args.path, args.size, args.quick, afterwards)?;
    let tests = suite::suite(place.target.nature);
    out.write(&printable::lines(&heading(&place, &tests, time)))?;
    let total = Nanos(time.get().saturating_mul(tests.len() as u64));
    let mut display = Display::new(total);
    let mut found = measure_all(&mut place, &tests, time, &mut display, &signals);
    display.clear();
    let sentences = conclusions(&found.rows);
    // Saved before it is shown: whoever reads us may be gone.
    let saved = match found.rows.is_empty() {
        true => Ok(String::new()),
        false => file
            .write(&save::Survey::of(&place, &found.rows, &sentences, found.signal))
            .map(|path| format!("\nResult: {}\n", path.display())),
    };
    out.write(&report(&place, &found, &sentences))?;
    out.write(&printable::lines(&saved?))?;
    found.failure.take().map_or_else(|| Ok(status(&found)), Err)
}

fn status(found: &Findings) -> u8 {
    let failed = found.rows.iter().any(|row| row.result.jobs.iter().any(|job| job.error.is_some()));
    found.signal.map_or(u8::from(failed), |signal| u8::try_from(128 + signal).unwrap_or(128))
}

fn heading(place: &Place, tests: &[Test], time: Nanos) -> String {
    let target = &place.target;
    let access = match target.access {
        Access::Direct => "O_DIRECT",
        Access::Buffered => "through the page cache",
    };
    let what = format!(
        "Survey of {}: {}, {access}, {} tests of {} s.",
        place.shown,
        place.describe(),
        tests.len(),
        time.as_secs_f64()
    );
    let mut text = remarks::wrapped(&what, "");
    for remark in &place.remarks {
        text.push_str(&remarks::wrapped(&format!("Note: {remark}."), ""));
    }
    text
}

/// Fills the work file where there is one, then runs test after test. What is done by the time of a failure is kept.
fn measure_all(place: &mut Place, tests: &[Test], time: Nanos, display: &mut Display, signals: &Watch) -> Findings {
    let mut found = Findings { rows: Vec::new(), signal: None, failure: None };
    match fill(place, display, signals) {
        Ok(signal) => found.signal = signal,
        Err(failure) => found.failure = Some(failure),
    }
    for (index, test) in tests.iter().enumerate() {
        found.signal = found.signal.or_else(|| signals.caught());
        if found.signal.is_some() || found.failure.is_some() {
            break;
        }
        let unit = if test.kind == Kind::SequentialRead { "MiB/s" } else { "IOPS" };
        display.testing(index + 1, tests.len(), test.describe(), unit, time);
        match measure(place, *test, time, display) {
            // A test that was cut short is no row.
            Ok(row) if row.result.ended_by_signal.is_some() => found.signal = row.result.ended_by_signal,
            Ok(row) => {
                display.tested(&table::one_line(&row));
                found.rows.push(row);
            }
            Err(failure) => found.failure = Some(failure),
        }
    }
    found
}

/// One test, judged.
fn measure(place: &Place, test: Test, time: Nanos, display: &mut Display) -> Result<Row, Failure> {
    let mut result = execute(&test.plan(&place.target, time), display)?;
    result.environment.command = command();
    result.notes = analysis::judge(&result);
    result.limited_by = analysis::limited_by(&result);
    Ok(Row { test, result })
}

/// Fills the work file and proves that it is all there; the signal that came meanwhile.
fn fill(place: &mut Place, display: &mut Display, signals: &Watch) -> Result<Option<i32>, Failure> {
    let Some(work) = &mut place.work_file else {
        return Ok(None);
    };
    if !work.is_filled() {
        display.filling(work.size());
        let result = execute(&suite::fill_plan(&place.target), display)?;
        if let Some(signal) = result.ended_by_signal.or_else(|| signals.caught()) {
            return Ok(Some(signal));
        }
        if let Some(error) = result.jobs.iter().find_map(|job| job.error.as_ref()) {
            return Err(Failure::new(format!("{}: cannot be filled: {}", work.path().display(), error.message)));
        }
        work.set_filled()?;
    }
    if let Some(unknown) = work.prove_written()? {
        display.remark(&format!("plumb: {}: {unknown}", work.path().display()));
    }
    Ok(None)
}

fn execute(plan: &job::Plan, display: &mut Display) -> Result<RunResult, Failure> {
    let options = RunOptions {
        system_root: PathBuf::from(SYSTEM_ROOT),
        read_only: false,
        progress_interval: Some(Nanos::from_millis(250)),
        device_interval: Nanos::from_millis(500),
        tell_to: None,
    };
    run::execute(plan, &options, display).map_err(|error| Failure::new(error.to_string()))
}

/// The sentences on the random reads, the sweep over users.
fn conclusions(rows: &[Row]) -> Vec<String> {
    let sweep: Vec<analysis::Point> = rows
        .iter()
        .filter(|row| row.test.kind == Kind::RandomRead)
        .filter_map(|row| analysis::Point::of(row.test.users, &row.result, Direction::Read, &row.result.notes))
        .collect();
    analysis::sentences("8k random reads", &sweep)
}

fn report(place: &Place, found: &Findings, sentences: &[String]) -> String {
    let mut text = String::new();
    if let Some(signal) = found.signal {
        text.push_str(&format!("Cut short by signal {signal}; "));
        text.push_str(if found.rows.is_empty() { "no test was finished.\n" } else { "these tests were finished:\n" });
    }
    if found.rows.is_empty() {
        return text;
    }
    text.push('\n');
    text.push_str(&table::render(&found.rows));
    text.push('\n');
    text.push_str(&remarks::render(&found.rows));
    if place.target.nature == Nature::Device {
        text.push_str("Log writes: skipped, they would overwrite the device; survey a directory on it.\n\n");
    }
    for sentence in sentences {
        text.push_str(&remarks::wrapped(sentence, ""));
    }
    for line in limits(&found.rows) {
        text.push_str(&remarks::wrapped(&line, "  "));
    }
    text
}

/// What held back the heaviest load of each kind.
fn limits(rows: &[Row]) -> Vec<String> {
    let heaviest =
        |row: &&Row| !rows.iter().any(|one| one.test.kind == row.test.kind && one.test.users > row.test.users);
    let lines = rows.iter().filter(heaviest).filter_map(|row| {
        let line = limit::line_of(&row.result)?;
        let users = if row.test.users == 1 { "1 user".to_owned() } else { format!("{} users", row.test.users) };
        Some(printable::lines(&format!("Of {} with {users}: {line}.", row.test.kind.title())).into_owned())
    });
    lines.collect()
}

/// The words that repeat this survey.
fn command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The directory that holds results when none is named.
fn here() -> &'static Path {
    Path::new(".")
}
