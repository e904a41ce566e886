//! Everything that follows a run: its results in the formats that were asked for, the errors of jobs, and the exit
//! status.

use crate::failure::Failure;
use crate::output::{Output, Verbosity, print_error};
use crate::remarks;
use crate::streams::is_stdout;
use fio::{Action, Invocation, OutputFormat, OutputRequest};
use formats::fio::text as fio_text;
use formats::{View, printable};
use measure::Direction;
use measure::text::rounded_size;
use model::{JobResult, RunResult};
use plan::{JobPlan, Plan, Subject, Work, ZonePlan};
use session::arguments::SessionArgs;
use session::layers;
use std::io::IsTerminal;

/// True if text for people goes to the output, the normal report and the lines before it; other formats are for
/// machines alone.
pub(super) fn has_text(invocation: &Invocation) -> bool {
    invocation.output.formats.contains(&OutputFormat::NORMAL)
}

pub(super) const ENDED_BY_SIGNAL: u8 = 128;

/// Prints everything that follows a run.
pub(super) fn report(
    result: &RunResult,
    invocation: &Invocation,
    out: &mut Output,
    verbosity: Verbosity,
) -> Result<(), Failure> {
    if let Some(signal) = result.ended_by_signal.filter(|_| has_text(invocation)) {
        out.write(&format!("\nfio: terminating on signal {signal}\n"))?;
    }
    print_notes(result, invocation, out, verbosity)?;
    print_errors(result, invocation, out)?;
    print(result, &invocation.output, out, verbosity)?;
    print_chart(result, &invocation.output, out)
}

/// Prints what the engines say about the kernel, and the warnings if there is no text that has them. A good run leaves
/// standard error empty, except for a person at a terminal.
fn print_notes(
    result: &RunResult,
    invocation: &Invocation,
    out: &mut Output,
    verbosity: Verbosity,
) -> Result<(), Failure> {
    let Action::Run(plan) = &invocation.action else { return Ok(()) };
    let is_wanted = remarks::are_wanted(verbosity);
    let notes = &result.environment.engine_notes;
    let shown = notes.iter().filter(|note| is_wanted || !lists_features(note, plan));
    shown.for_each(|note| print_error(&format!("fio: {note}")));
    if is_wanted && !has_text(invocation) {
        result.warnings.iter().for_each(|warning| print_error(&format!("fio: {warning}")));
    }
    match plan.jobs.iter().any(|job| job.record.debug.has(Subject::Process)) {
        true => print_aside(&debug_lines(Subject::Process.word(), notes), invocation, out),
        false => Ok(()),
    }
}

/// True for a note such as `io_uring: SINGLE_ISSUER|DEFER_TASKRUN`; any other note says that something is not as asked.
fn lists_features(note: &str, plan: &Plan) -> bool {
    note.split_once(": ").is_some_and(|(engine, _)| plan.jobs.iter().any(|job| job.engine == engine))
}

/// Draws a small chart below fio's text if the output is a terminal, so that programs that read files or pipes never
/// get it.
fn print_chart(result: &RunResult, request: &OutputRequest, out: &mut Output) -> Result<(), Failure> {
    if request.formats != [OutputFormat::NORMAL] || !out.is_stdout() || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    match report::sources::glance(result, crate::width::of_drawing()) {
        picture if picture.is_empty() => Ok(()),
        picture => out.write(&format!("\n{picture}")),
    }
}

/// Prints a result in every requested format: at the end of the run, or as an interim report.
pub(super) fn print(
    result: &RunResult,
    request: &OutputRequest,
    out: &mut Output,
    verbosity: Verbosity,
) -> Result<(), Failure> {
    let view = View { zone: jiff::tz::TimeZone::system(), terse_version: request.terse_version };
    for word in &request.formats {
        let text = formats::write(word, result, &view)?;
        out.write(&text)?;
        if let Some(layers) = result.layers.as_ref().filter(|_| *word == OutputFormat::NORMAL) {
            out.write(&layers::shown(layers, crate::width::of_stdout().filter(|_| out.is_stdout())))?;
        }
    }
    remarks::print(result, verbosity);
    Ok(())
}

/// Prints lines that are no part of a report above it; on standard error if a program reads the output.
pub(super) fn print_aside(lines: &str, invocation: &Invocation, out: &mut Output) -> Result<(), Failure> {
    if has_text(invocation) {
        return out.write(lines);
    }
    lines.lines().for_each(print_error);
    Ok(())
}

pub(super) fn debug_lines(subject: &str, lines: &[String]) -> String {
    let pid = std::process::id();
    lines.iter().map(|line| format!("{subject:<8} {pid:<5} {}\n", printable::line(line))).collect()
}

/// Prints two lines per failed job to standard error, plumb's and fio's. fio's line also goes to a file with text, as in
/// fio; a file for machines holds their document alone.
fn print_errors(result: &RunResult, invocation: &Invocation, out: &mut Output) -> Result<(), Failure> {
    for job in &result.jobs {
        if let Some(error) = &job.error {
            let line = fio_text::error_line(job.pid, error);
            print_error(&format!("fio: {}\n{line}", with_job_name(&job.echo.name, &error.message)));
            if has_text(invocation) && !out.is_stdout() {
                out.write(&format!("{line}\n"))?;
            }
        }
    }
    Ok(())
}

/// The message with the name of its job, unless it begins with the name already.
fn with_job_name(job: &str, message: &str) -> String {
    let named = message.strip_prefix("job `").and_then(|rest| rest.strip_prefix(job)).is_some();
    if named { message.to_owned() } else { format!("{job}: {message}") }
}

pub(super) fn status(result: &RunResult) -> u8 {
    if result.ended_by_signal.is_some() {
        return ENDED_BY_SIGNAL;
    }
    let failed = result.jobs.iter().filter(|job| job.error.is_some()).count();
    u8::try_from(failed).unwrap_or(u8::MAX)
}

/// True if plumb's own result or stream goes to standard output.
pub(super) fn prints_result(invocation: &Invocation, args: &SessionArgs) -> bool {
    invocation.side.result.as_deref().is_some_and(is_stdout) || args.streams.json || args.publish.prints()
}

/// A sentence for each job without I/O.
pub(super) fn without_io(plan: &Plan, result: &RunResult) -> Vec<String> {
    let may_be_ended_early = plan.jobs.iter().any(|job| job.limits.exit_all || job.limits.exit_all_on_error);
    let is_ended_early = result.until_regime.as_ref().is_some_and(|ended| ended.reached);
    if may_be_ended_early || is_ended_early || result.ended_by_signal.is_some() {
        return Vec::new();
    }
    let had_work = |job: &&JobPlan| job.work != Work::Background && !job.files.create_only && job.limits.ios != Some(0);
    let sentence = |done: &JobResult| {
        let job = plan.jobs.iter().filter(had_work).find(|job| job.name == done.echo.name)?;
        Some(format!("{}: no I/O was done{}", job.name, reason(job, done)))
    };
    result.jobs.iter().filter(|job| did_nothing(job)).filter_map(sentence).collect()
}

fn did_nothing(job: &JobResult) -> bool {
    job.error.is_none() && job.ios() == 0 && job.sync.count == 0 && job.forgiven_errors == 0
}

/// The reason, as far as the job's options tell.
fn reason(job: &JobPlan, done: &JobResult) -> String {
    let reads = job.load.mix.contains(Direction::Read);
    match &job.load.zones {
        ZonePlan::Zoned(zones) if reads && !zones.reads_anywhere => {
            " (zonemode=zbd: the zones of its region hold nothing yet; let a job write them first, or give \
             read_beyond_wp=1)"
                .to_owned()
        }
        _ if job.verify.as_ref().is_some_and(|verify| verify.only) => {
            ", so nothing was verified (verify_only)".to_owned()
        }
        _ if done.echo.region_bytes > 0 => {
            format!(", although its region has {}", rounded_size(done.echo.region_bytes as f64))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::JobResult;

    fn with_failures(failed: usize) -> RunResult {
        let error = model::JobError { errno: 5, operation: "read".into(), message: String::new(), signal: None };
        let job = JobResult { error: Some(error), ..JobResult::default() };
        RunResult { jobs: vec![job; failed], ..RunResult::default() }
    }

    #[test]
    fn the_status_is_the_number_of_failed_jobs_up_to_255() {
        for (failed, expected) in [(0, 0), (1, 1), (255, 255), (256, 255), (512, 255)] {
            assert_eq!(status(&with_failures(failed)), expected, "{failed} failed");
        }
    }

    #[test]
    fn a_message_names_its_job_once() {
        for (message, expected) in [
            ("job `a` (f:1): no size", "job `a` (f:1): no size"),
            ("open x: gone", "a: open x: gone"),
            ("job `b`: it waits for a", "a: job `b`: it waits for a"),
        ] {
            assert_eq!(with_job_name("a", message), expected);
        }
    }

    #[test]
    fn a_signal_is_128_whatever_failed() {
        let result = RunResult { ended_by_signal: Some(15), ..with_failures(3) };
        assert_eq!(status(&result), 128);
    }

    use plan::Zoned;

    fn run_of(job: JobPlan, ios: u64) -> Vec<String> {
        let mut done = JobResult::default();
        done.echo.name.clone_from(&job.name);
        done.echo.region_bytes = 1 << 20;
        done.directions.read.ios = ios;
        let plan = Plan { jobs: vec![job], global_options: Vec::new() };
        without_io(&plan, &RunResult { jobs: vec![done], ..RunResult::default() })
    }

    #[test]
    fn a_job_that_read_nothing_is_named_with_the_known_reason() {
        let job = JobPlan::with_defaults("a", "test", "psync");
        assert_eq!(run_of(job.clone(), 0), ["a: no I/O was done, although its region has 1 MiB"]);
        assert_eq!(run_of(job.clone(), 1), [""; 0]);
        let mut zoned = job.clone();
        zoned.load.zones = ZonePlan::Zoned(Zoned::default());
        let said = run_of(zoned, 0);
        assert!(said[0].contains("read_beyond_wp=1"), "{said:?}");
    }

    #[test]
    fn jobs_that_had_nothing_to_do_are_not_named() {
        let job = JobPlan::with_defaults("a", "test", "psync");
        let mut only_created = job.clone();
        only_created.files.create_only = true;
        let mut background = job.clone();
        background.work = Work::Background;
        let mut ended_by_others = job;
        ended_by_others.limits.exit_all = true;
        for job in [only_created, background, ended_by_others] {
            assert_eq!(run_of(job, 0), [""; 0]);
        }
    }
}
