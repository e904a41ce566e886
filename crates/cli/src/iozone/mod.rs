//! `plumb iozone`: iozone's command line and output.

mod child_files;
mod cluster;
mod iozone_run;
mod json_report;
mod knee;
mod member;
mod rows;
mod sheet_file;
mod throughput;

use crate::failure::Failure;
use crate::members::lead::Members;
use crate::members::member::serve;
use crate::members::program::Rights;
use crate::output::{Output, print_error};
use crate::safe_files::is_block_device;
use crate::streams::is_stdout;
use child_files::began;
use formats::iozone::text::{self as iozone_text, Preamble, UnitName};
use iozone::{BINDING, MACHINE, Member, Mode, Refusal, Settings, Unit};
use iozone_run::IozoneRun;
use session::Session;
use session::arguments::SessionArgs;
use std::ffi::OsString;
use std::io::Write;

pub(crate) use knee::find as find_knee;
pub(crate) use member::Throughput;

/// Runs iozone's command line, given without the program's name. The status is the same as iozone's where iozone
/// defines one, but never 0 for a run that failed.
pub(crate) fn run(words: &[OsString]) -> Result<u8, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let settings = match iozone::read("iozone", &words) {
        Ok(settings) => settings,
        Err(refusal) => return refuse(refusal),
    };
    run_settings(&settings, None)
}

/// Runs a command line of iozone's, each child of its throughput tests by one of these members.
fn run_by(words: &[String], children: Vec<Member>, members: &mut Members) -> Result<u8, Failure> {
    let count = u32::try_from(children.len()).unwrap_or(u32::MAX);
    let mut settings = match read_by(words, count) {
        Ok(settings) => settings,
        Err(refusal) => return refuse(refusal),
    };
    check_by(&settings, count)?;
    settings.members = children;
    run_settings(&settings, Some(&mut *members))
}

/// Reads a command line of iozone's for members, whose number need not be in it.
fn read_by(words: &[String], count: u32) -> Result<Settings, Refusal> {
    let read = |words: &[String]| iozone::read("iozone", words);
    match read(words)? {
        settings if settings.children.is_empty() => {
            read(&words.iter().cloned().chain(["-t".to_owned(), count.to_string()]).collect::<Vec<String>>())
        }
        settings => Ok(settings),
    }
}

fn check_by(settings: &Settings, count: u32) -> Result<(), Failure> {
    if !settings.members.is_empty() {
        return Err(Failure::new("iozone: -+m names members, and so does plumb cluster; leave one of them out"));
    }
    if settings.children != [count] {
        return Err(Failure::new(format!("iozone: each member of plumb cluster is a child: -t {count}, or none")));
    }
    Ok(())
}

/// Refuses a command line of iozone's that members could not run.
fn check_words(words: &[String], count: u32) -> Result<(), Failure> {
    match read_by(words, count) {
        Ok(settings) => check_by(&settings, count),
        Err(Refusal::NotBuilt(message)) => Err(Failure::new(format!("iozone: {message}"))),
        Err(Refusal::Original { out, err, .. }) => Err(Failure::new(format!("iozone: {}", (err + &out).trim()))),
        Err(Refusal::Member | Refusal::Help | Refusal::Version) => Err(Failure::new("iozone: these words run no test")),
    }
}

fn run_settings(settings: &Settings, members: Option<&mut Members>) -> Result<u8, Failure> {
    let mut args = SessionArgs::of_words(&settings.session)?;
    args.streams.quiet |= members.as_ref().is_some_and(|members| members.verbosity.is_quiet());
    let mut session = session(settings, args)?;
    let is_printed = settings.json.as_deref().filter(|path| is_stdout(path)).map(|_| "--json -");
    session.args().publish.check_stdout(is_printed)?;
    let done = run_tests(settings, members, &mut session);
    session.close(done)
}

fn run_tests(settings: &Settings, members: Option<&mut Members>, session: &mut Session) -> Result<u8, Failure> {
    check_places(settings)?;
    for note in &settings.notes {
        // A closed standard error is not an error.
        let _ = writeln!(std::io::stderr(), "plumb: iozone: {note}");
    }
    // With `--json -` or `--stream -` standard output is for these alone.
    let prints = settings.json.as_deref().is_some_and(is_stdout) || session.args().publish.prints();
    let mut out = if prints { Output::nowhere() } else { Output::stdout() };
    let command = format!("iozone {}", settings.words.join(" "));
    let head = head(settings, &command);
    if let Some((status, text)) = &settings.conflict {
        match prints {
            true => print_error(text.trim()),
            false => out.write(&(head + text))?,
        }
        return Ok(*status);
    }
    let mut run = IozoneRun::new(settings, command.clone(), out, session).by(members);
    run.write(&head)?;
    run.write(&(settings.compute_lines() + &iozone_text::circumstances(&preamble(settings, &command))))?;
    let status = match settings.mode {
        Mode::Single | Mode::Auto => rows::run(&mut run),
        Mode::Throughput => throughput::run(&mut run),
    }?;
    run.finish(status)
}

/// The session of a run. Passes are not calibrated: one of a millisecond would follow 100 ms of it.
fn session(settings: &Settings, args: SessionArgs) -> Result<Session, Failure> {
    if args.publish.given().is_some() && !settings.members.is_empty() {
        return Err(Failure::new(
            "iozone: --stream, --metrics, --metrics-listen and --otlp have passes on this machine only; leave them or -+m out",
        ));
    }
    Ok(Session::drop_in(&SessionArgs { no_calibrate: true, ..args })?.of_passes())
}

/// Refuses output files that cannot be written, before anything is measured.
fn check_places(settings: &Settings) -> Result<(), Failure> {
    if let Some(path) = &settings.pictures {
        crate::drawing::check_output(path)?;
    }
    if let Some(path) = &settings.report.sheet {
        sheet_file::check(path)?;
    }
    if let Some(path) = &settings.json {
        json_report::check(path)?;
    }
    let device = |path: &std::path::Path| Failure::at(path, "is a block device; results go to a file");
    // Like iozone, `-b` overwrites an existing file, but plumb never overwrites a device.
    match (&settings.csv, &settings.report.sheet) {
        (Some(path), _) | (_, Some(path)) if is_block_device(path) => Err(device(path)),
        (Some(path), _) if path.is_file() => crate::safe_files::check(path),
        _ => Ok(()),
    }
}

/// The output up to and including the command line.
fn head(settings: &Settings, command: &str) -> String {
    let mut text = iozone_text::banner(&began());
    for line in &settings.splash {
        text.push_str(&match line.as_str() {
            MACHINE => machine(),
            BINDING => {
                let first = settings.first_cpu(session::machine::Machine::here().cpus).unwrap_or(0);
                format!("\tBinding of processors beginning with {first} \n")
            }
            line => line.to_owned(),
        });
    }
    text + &iozone_text::command(&preamble(settings, command))
}

fn refuse(refusal: Refusal) -> Result<u8, Failure> {
    match refusal {
        Refusal::Original { status, out, err } => {
            Output::stdout().write(&out)?;
            // A closed standard error is not an error.
            let _ = std::io::stderr().write_all(err.as_bytes());
            Ok(status)
        }
        Refusal::NotBuilt(message) => Err(Failure::new(format!("iozone: {message}"))),
        Refusal::Member => serve(&[&Throughput], &Rights::default(), None),
        Refusal::Help => Output::stdout().write(&iozone::help()).map(|()| 0),
        Refusal::Version => Output::stdout().write(&version()).map(|()| 0),
    }
}

/// The text of `-v`.
fn version() -> String {
    format!(
        "       'Iozone' Filesystem Benchmark Program, by plumb {}\n \n        Version $Revision: 3.489 $\n\
         \t\tCompiled for 64 bit mode.\n \n",
        env!("CARGO_PKG_VERSION")
    )
}

fn preamble<'a>(settings: &Settings, command: &'a str) -> Preamble<'a> {
    Preamble {
        unit: unit_name(settings.unit),
        command,
        cache: settings.cache,
        stride: settings.stride,
        burst: settings.burst.map(|(kb, rest)| (kb, rest.get() / 1_000_000)),
    }
}

/// Converts the unit to that of the output format.
fn unit_name(unit: Unit) -> UnitName {
    match unit {
        Unit::Rate => UnitName::Rate,
        Unit::Operations => UnitName::Operations,
        Unit::Microseconds => UnitName::Microseconds,
    }
}

/// The output of `uname -a`, at most 99 characters.
fn machine() -> String {
    let name = rustix::system::uname();
    let parts = [name.sysname(), name.nodename(), name.release(), name.version(), name.machine()];
    let parts: Vec<String> = parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let line: String = format!("{} GNU/Linux\n", parts.join(" ")).chars().take(99).collect();
    format!("\n\tMachine = {}", formats::printable::lines(&line))
}
