//! `plumb fio`: fio's command line and output.

mod idle;
mod live;
mod members;
pub(crate) mod network;
mod results;
mod trials;
mod trigger;
mod watch;

use crate::failure::Failure;
use crate::input;
use crate::output::{Output, print_error};
use crate::result_file::{ResultFile, surroundings};
use crate::streams::is_stdout;
use fio::{Action, EtaRequest, Invocation, JobError, Parser};
use formats::fio::{log as fio_log, text as fio_text};
use formats::printable;
use idle::IdleAccount;
use live::live;
use measure::Nanos;
pub(crate) use members::Jobs;
use plan::{DebugPlan, Plan};
use results::{debug_lines, has_text, print_aside, prints_result, report, status, without_io};
use run::RunOptions;
use session::arguments::SessionArgs;
use session::machine::{Machine, parser};
use session::{Run, Session};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use watch::{BandwidthLog, LOG_INTERVAL, Watch, until_regime};

/// Runs fio's command line, given without the program's name. Returns the number of failed jobs, at most 255; 1 for
/// invalid input, 128 after a signal. (fio's status is the number modulo 256, so 256 failures look like success.)
pub(crate) fn run(words: &[OsString]) -> Result<u8, Failure> {
    let words = input::words(words)?;
    let parser = parser();
    let machine = Machine::here();
    let invocation = match parser.command_line(&words, &machine.surroundings()) {
        Ok(invocation) => invocation,
        Err(error) => return refuse(&words, &parser, &machine, &error),
    };
    let args = session_args(&invocation)?;
    // First: a stream may be a descriptor of the caller, whose number no file of plumb must take.
    let mut session = Session::drop_in(&args)?;
    let mut out = open(&invocation, &args)?;
    let announced: String = invocation.announced.iter().map(|line| format!("{line}\n")).collect();
    print_aside(&announced, &invocation, &mut out)?;
    if !matches!(invocation.action, Action::Run(_)) {
        invocation.warnings.iter().for_each(|warning| print_error(&warning.to_string()));
        print_aside(&parsed(&invocation), &invocation, &mut out)?;
    }
    match &invocation.action {
        Action::Run(plan) => {
            let measured = measure(plan, &invocation, &mut session, &mut out);
            session.close(measured)
        }
        Action::Client(request) => network::run_client(request, &invocation, &mut out),
        Action::Server(request) => network::serve(request, &invocation),
        Action::MergeTraces(plan) => match run::merge_traces(plan) {
            Ok(_) => Ok(0),
            Err(error) => Err(Failure::new(error.message)),
        },
        Action::ParseOnly => Ok(0),
        Action::InflateLog(path) => inflate(path, &mut out),
        Action::Try(trial) => trials::run(trial, &mut out),
        Action::CalibrateIdle => {
            let unit = fio_text::unit_of_work(&idle::unit_of_work());
            out.write(&format!("CPU idleness:\n{unit}")).map(|()| 0)
        }
        Action::Version(text)
        | Action::Help(text)
        | Action::CmdHelp(text)
        | Action::EngHelp(text)
        | Action::ShowCmd(text) => out.write(text).map(|()| 0),
    }
}

/// The options of the session of a run. The tool's share of latencies is in the outputs that have plumb's own results.
fn session_args(invocation: &Invocation) -> Result<SessionArgs, Failure> {
    if !matches!(invocation.action, Action::Run(_)) {
        return Ok(SessionArgs::default());
    }
    let args = SessionArgs::of_words(&invocation.side.session)?;
    let result = invocation.side.result.as_deref();
    let by_file = result.filter(|path| is_stdout(path)).map(|_| "--result=-");
    args.publish.check_stdout(by_file.or(args.streams.json.then_some("--json")))?;
    let has_it = result.is_some() || args.streams.json || args.store.names_store();
    let has_it = has_it || invocation.output.formats.iter().any(|word| word.starts_with("json"));
    Ok(SessionArgs { no_calibrate: args.no_calibrate || !has_it, ..args })
}

/// Opens the place of fio's own output; none if standard output is for the result or the stream alone (`--result=-`).
fn open(invocation: &Invocation, args: &SessionArgs) -> Result<Output, Failure> {
    match &invocation.output.file {
        // A server has no results; it refuses the option.
        _ if matches!(invocation.action, Action::Server(_)) => Ok(Output::nowhere()),
        Some(path) => Output::file(path),
        None if prints_result(invocation, args) => Ok(Output::nowhere()),
        None => Ok(Output::stdout()),
    }
}

/// Prints the errors of a command line, also to the `--output` file if one was named. A file for a program is empty
/// then, so that the document of an earlier run is not taken for this one's.
fn refuse(words: &[String], parser: &Parser, machine: &Machine, error: &JobError) -> Result<u8, Failure> {
    let text = format!("{error}\n");
    // The usage is longer than a screen, so the error is printed after it.
    if error.wants_usage()
        && let Ok(Invocation { action: Action::Help(usage), .. }) =
            parser.command_line(&["--help".to_owned()], &machine.surroundings())
    {
        Output::stdout().write(&format!("{usage}\n"))?;
    }
    print_error(text.trim_end());
    if let Some(path) = value_of(&["output", "o"], words) {
        let for_people = value_of(&["output-format", "F"], words).is_none_or(|formats| formats.contains("normal"));
        let is_minimal = words.iter().any(|word| ["--minimal", "-minimal", "-m"].contains(&word.as_str()));
        Output::file(Path::new(path))?.write(if for_people && !is_minimal { &text } else { "" })?;
    }
    Ok(1)
}

/// Finds the last value of an option, by its name or letter, in a command line that could not be parsed.
fn value_of<'words>(names: &[&str], words: &'words [String]) -> Option<&'words str> {
    let mut found = None;
    for (index, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
        let word = word.trim_start_matches('-');
        match word.split_once('=') {
            Some((name, value)) if names.contains(&name) => found = Some(value),
            None if names.contains(&word) => found = words.get(index + 1).map(String::as_str),
            _ => {}
        }
    }
    found.filter(|value| !value.is_empty())
}

fn measure(plan: &Plan, invocation: &Invocation, session: &mut Session, out: &mut Output) -> Result<u8, Failure> {
    let regime = until_regime(invocation.side.until_regime.as_deref(), plan)?;
    let warnings: Vec<String> = invocation.warnings.iter().map(|warning| warning.title.clone()).collect();
    print_aside(&parsed(invocation), invocation, out)?;
    if has_text(invocation) {
        out.write(&warning_lines(&warnings))?;
        out.write(&fio_text::job_lines(plan))?;
        out.write(&format!("{}\n", fio::VERSION))?;
    }
    let verbosity = session.verbosity();
    let live = live(invocation, verbosity).filter(|_| !prints_result(invocation, session.args()));
    let options = RunOptions {
        read_only: invocation.read_only,
        progress_interval: watched_every(invocation, live),
        debug_log: debug_log(plan, invocation, out)?,
        ..RunOptions::default()
    };
    let idle_before = invocation.idle.map(|profile| (profile, IdleAccount::now()));
    let log = invocation.side.bandwidth_log.as_deref().map(BandwidthLog::create).transpose()?;
    let mut kept = invocation.side.result.as_deref().map(ResultFile::reserve).transpose()?;
    let mut watch = Watch::new(out, plan, invocation, live);
    (watch.log, watch.regime, watch.kept, watch.verbosity) = (log, regime, kept.as_mut(), verbosity);
    let run = Run { title: None, plan, options, layers: invocation.side.layers };
    let result = session.execute(run, &mut watch);
    let regime = watch.regime.take();
    let watched = watch.finish();
    let mut result = result?;
    result.cpu_idleness = idle_before.map(|(profile, before)| idle::since(&before, profile));
    result.warnings = warnings;
    result.until_regime = regime.map(|regime| regime.end(result.monitored.as_ref()));
    session.conclude(&mut result);
    let published = session.finish();
    let prints = session.args().streams.json && !invocation.side.result.as_deref().is_some_and(is_stdout);
    let is_written = kept.is_some() || prints || invocation.output.formats.contains(&"native");
    result.surroundings = is_written.then(|| Box::new(surroundings(&result.monitored)));
    let printed = prints.then(|| ResultFile::reserve(Path::new("-"))).transpose()?;
    let saved = kept.into_iter().chain(printed).try_for_each(|mut file| file.write(&result));
    report(&result, invocation, out, verbosity)?;
    let ended = result.until_regime.iter().map(|ended| ended.sentence.clone());
    for sentence in ended.chain(without_io(plan, &result)) {
        print_error(&format!("fio: {}", printable::line(&sentence)));
    }
    watched.and(saved).and(published)?;
    if result.ended_by_signal.is_none() && result.has_ios() {
        // fio's output has no line for the run's ID; plumb store list shows it.
        session.keep(&result);
    }
    session.count(&result.notes);
    Ok(status(&result))
}

/// The options as they were parsed, for `--debug=parse`.
fn parsed(invocation: &Invocation) -> String {
    debug_lines("parse", &invocation.parsed)
}

fn warning_lines(warnings: &[String]) -> String {
    warnings.iter().map(|warning| format!("fio: {}\n", printable::line(warning))).collect()
}

/// The file to which workers print debug lines: the output of the results, as in fio, unless a program reads it.
fn debug_log(plan: &Plan, invocation: &Invocation, out: &Output) -> Result<Option<Arc<std::fs::File>>, Failure> {
    let wanted = plan.jobs.iter().any(|job| job.record.debug != DebugPlan::default());
    let place = || if has_text(invocation) { out.twin() } else { Output::nowhere().twin() };
    wanted.then(|| place().map(Arc::new)).transpose()
}

/// Interval of progress events, for the live line and the log of aggregate bandwidth.
fn watched_every(invocation: &Invocation, live: Option<EtaRequest>) -> Option<Nanos> {
    let line = live.map(|eta| eta.interval);
    let log = invocation.side.bandwidth_log.as_ref().map(|_| LOG_INTERVAL);
    [line, log].into_iter().flatten().min()
}

/// Writes the rows of a compressed log to the output.
fn inflate(path: &Path, out: &mut Output) -> Result<u8, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::new(format!("inflate-log={}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| wrong(&error))?;
    let mut text = Lines { out, failed: None };
    let inflated = fio_log::inflate(std::io::BufReader::new(file), &mut text);
    if let Some(failure) = text.failed {
        return Err(failure);
    }
    inflated.map_err(|error| wrong(&error)).map(|_| 0)
}

/// Writes a log's rows to the output and keeps the output's own error.
struct Lines<'out> {
    out: &'out mut Output,
    failed: Option<Failure>,
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.out.write(&String::from_utf8_lossy(bytes)) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                self.failed = Some(failure);
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_file_is_found_in_words_that_are_wrong() {
        for (words, expected) in [
            (&["--output=o", "--nosuch"][..], Some("o")),
            (&["-output", "o", "--nosuch"], Some("o")),
            (&["--output=a", "--output=b"], Some("b")),
            (&["--output-format=json"], None),
            (&["output=o"], None),
            (&["--output"], None),
            (&["-o", "o", "--nosuch"], Some("o")),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(value_of(&["output", "o"], &words), expected, "{words:?}");
        }
    }
}
