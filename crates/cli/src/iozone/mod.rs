//! `plumb iozone`: iozone's words in, iozone's output out.

mod beside;
mod child_files;
mod cluster;
mod files;
mod help;
mod ill;
mod knee;
mod latency;
pub(crate) mod live;
mod member;
mod rows;
mod session;
mod throughput;

use crate::failure::Failure;
use crate::output::{Output, is_block_device};
use formats::iozone_text::{self, Preamble, UnitName};
use iozone::{MACHINE, Mode, Refusal, Settings, Unit};
use session::Session;
use std::ffi::OsString;
use std::io::Write;

pub(crate) use knee::find as find_knee;

/// Runs iozone's command line, given without the program's name. The status is iozone's where it has one, but never 0
/// for a run that failed.
pub(crate) fn run(words: &[OsString]) -> Result<u8, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let settings = match iozone::read("iozone", &words) {
        Ok(settings) => settings,
        Err(refusal) => return refuse(refusal),
    };
    check_places(&settings)?;
    let mut out = Output::stdout();
    let command = format!("iozone {}", settings.words.join(" "));
    let head = head(&settings, &command);
    if let Some((status, text)) = &settings.conflict {
        out.write(&(head + text))?;
        return Ok(*status);
    }
    let mut session = Session::new(&settings, command.clone(), out);
    session.write(&head)?;
    session.write(&iozone_text::circumstances(&preamble(&settings, &command)))?;
    let status = match settings.mode {
        Mode::Single | Mode::Auto => rows::run(&mut session),
        Mode::Throughput => throughput::run(&mut session),
    }?;
    session.finish(status)
}

/// Where results cannot go is refused before anything is measured.
fn check_places(settings: &Settings) -> Result<(), Failure> {
    if let Some(path) = &settings.pictures {
        crate::report::place_for(path)?;
    }
    if let Some(path) = &settings.json {
        beside::check(path)?;
    }
    let device =
        |path: &std::path::Path| Failure::new(format!("{}: is a block device; results go to a file", path.display()));
    // The original's own option writes over what is there, as it does; a device is no file.
    match (&settings.csv, &settings.report.sheet) {
        (Some(path), _) | (_, Some(path)) if is_block_device(path) => Err(device(path)),
        (Some(path), _) if path.is_file() => crate::made::check(path),
        _ => Ok(()),
    }
}

/// Everything up to the command line.
fn head(settings: &Settings, command: &str) -> String {
    let mut text = iozone_text::banner(&began());
    for line in &settings.splash {
        text.push_str(&if line == MACHINE { machine() } else { line.clone() });
    }
    text + &iozone_text::command(&preamble(settings, command))
}

fn refuse(refusal: Refusal) -> Result<u8, Failure> {
    match refusal {
        Refusal::Original { status, out, err } => {
            Output::stdout().write(&out)?;
            // Whoever closed standard error does not want to read it.
            let _ = std::io::stderr().write_all(err.as_bytes());
            Ok(status)
        }
        Refusal::NotBuilt(message) => Err(Failure::new(format!("iozone: {message}"))),
        Refusal::Member => member::serve(),
        Refusal::Help => Output::stdout().write(help::TEXT).map(|()| 0),
        Refusal::Version => Output::stdout().write(&help::version()).map(|()| 0),
    }
}

fn preamble<'a>(settings: &Settings, command: &'a str) -> Preamble<'a> {
    Preamble {
        unit: unit_name(settings.unit),
        command,
        compute_s: seconds(settings.compute),
        cache: settings.cache,
        stride: settings.stride,
        telemetry: settings.telemetry_computes(),
        burst: settings.burst.map(|(kb, rest)| (kb, rest.get() / 1_000_000)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "some milliseconds")]
fn seconds(time: measure::Nanos) -> f64 {
    time.get() as f64 / 1e9
}

/// Whether tables go there as a workbook rather than as the worksheet of the original.
fn is_workbook(path: &std::path::Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xlsx"))
}

/// What the format calls a unit.
fn unit_name(unit: Unit) -> UnitName {
    match unit {
        Unit::Rate => UnitName::Rate,
        Unit::Operations => UnitName::Operations,
        Unit::Microseconds => UnitName::Microseconds,
    }
}

/// Now, as ctime(3) spells it.
fn began() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(now.as_millis()).unwrap_or(0);
    formats::local_time::spelled(ms, &jiff::tz::TimeZone::system())
}

/// The machine as `uname -a` has it, at most 99 characters.
fn machine() -> String {
    let name = rustix::system::uname();
    let parts = [name.sysname(), name.nodename(), name.release(), name.version(), name.machine()];
    let parts: Vec<String> = parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let line: String = format!("{} GNU/Linux\n", parts.join(" ")).chars().take(99).collect();
    format!("\n\tMachine = {}", formats::printable::lines(&line))
}
