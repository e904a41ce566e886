//! Output of a run between the job lines and the report: start, layout, and the live status line.

use super::bandwidth::BandwidthLog;
use super::eta;
use super::interim::{Interim, request_file};
use super::results::{ENDED_BY_SIGNAL, Talk, print, report};
use super::trigger::Trigger;
use crate::failure::Failure;
use crate::output::{Output, print_error};
use crate::result_file::ResultFile;
use analysis::regime::RegimeWatch;
use fio::{EtaWhen, Invocation, OutputFormat};
use formats::fio::{status_line, text as fio_text};
use measure::Nanos;
use model::RunResult;
use plan::Plan;
use run::{Event, Observer, Progress, Request};
use std::io::{IsTerminal, Write};

/// The live status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    Off,
    /// Redrawn in place. With `keep_every` the line is kept once per period and a new one started below it.
    On {
        /// Interval of `--eta-newline`.
        keep_every: Option<Nanos>,
        /// Interval of `--eta-interval`.
        every: Nanos,
    },
}

/// Prints a run's events as they occur.
pub(crate) struct Watch<'out> {
    out: &'out mut Output,
    invocation: &'out Invocation,
    trigger: Trigger<'out>,
    /// True once the trigger has fired, or cannot fire any more because the run is ending.
    triggered: bool,
    talk: Talk,
    live: LiveLine<'out>,
    interim: Interim,
    /// A log of aggregate bandwidth.
    pub(crate) log: Option<BandwidthLog>,
    /// End of the run before its time, by its samples.
    pub(crate) regime: Option<RegimeWatch>,
    /// True once it has.
    regime_ended: bool,
    /// The file of `--result`, which is updated during the run.
    pub(crate) kept: Option<&'out mut ResultFile>,
    /// The first write that failed. An observer cannot stop a run, so the error is reported at the end.
    failed: Option<Failure>,
}

impl<'out> Watch<'out> {
    /// Creates a watch that writes to `out`; the live line goes to standard output.
    pub(crate) fn new(
        out: &'out mut Output,
        plan: &'out Plan,
        invocation: &'out Invocation,
        talk: Talk,
        live: Live,
    ) -> Self {
        Watch {
            out,
            invocation,
            trigger: Trigger::new(&invocation.trigger),
            triggered: false,
            talk,
            live: LiveLine { plan, live, shown: String::new(), kept: Nanos::ZERO, before: None },
            interim: Interim::new(invocation.side.status_interval, request_file()),
            log: None,
            regime: None,
            regime_ended: false,
            kept: None,
            failed: None,
        }
    }

    /// Ends the live line and returns the first write error, if any.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        // A report on the same terminal begins with a line break, which ends the live line as in fio.
        if !(self.out.is_stdout() && self.talk == Talk::Normal) {
            self.live.end();
        }
        let log = self.log.map_or(Ok(()), BandwidthLog::finish);
        self.failed.map_or(log, Err)
    }

    fn say(&mut self, text: &str) {
        if self.talk == Talk::Silent || self.failed.is_some() {
            return;
        }
        self.live.end();
        self.failed = self.out.write(text).err();
    }
}

impl Observer for Watch<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Some(lines) = lines_of(&event, self.live.plan) {
            self.say(&lines);
        }
        match event {
            Event::Sampled { so_far, .. } => {
                self.regime_ended |= self.regime.as_mut().is_some_and(|regime| regime.look(so_far));
            }
            Event::Progress(progress) => {
                self.log(progress);
                self.live.draw(progress);
            }
            // A run that is ending does not run the command of a trigger.
            Event::Ending => self.triggered = true,
            Event::Ended(progress) => self.log(progress),
            Event::Finding(text) => {
                self.live.end();
                print_error(text);
            }
            Event::Report(so_far) => self.report(so_far),
            Event::Save(so_far) => self.save(so_far),
            Event::Abandoned(result) => self.abandon(result),
            _ => {}
        }
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        if !self.triggered && self.trigger.is_pulled(elapsed) {
            self.triggered = true;
            if let Some(failed) = self.trigger.fire() {
                self.note(&failed);
            }
            return Some(Request::End);
        }
        if self.regime_ended {
            return Some(Request::End);
        }
        if self.interim.due(elapsed) {
            return Some(Request::Report);
        }
        self.kept.as_mut().is_some_and(|kept| kept.is_due(elapsed)).then_some(Request::Save)
    }
}

impl Watch<'_> {
    fn log(&mut self, progress: &Progress) {
        if let Some(log) = &mut self.log {
            log.record(progress);
        }
    }

    fn report(&mut self, so_far: &RunResult) {
        if self.failed.is_none() {
            self.live.end();
            self.failed = print(so_far, &self.invocation.output, self.out).err();
        }
    }

    fn save(&mut self, so_far: &RunResult) {
        let Some(Err(failure)) = self.kept.as_mut().map(|kept| kept.so_far(so_far)) else { return };
        // The run continues without the file, so that the error is reported once.
        self.kept = None;
        self.note(failure.message());
    }

    /// Prints the results so far and ends the process. Returning would join threads that are blocked in the kernel and
    /// never end.
    fn abandon(&mut self, result: &RunResult) {
        self.live.end();
        self.note("workers are stuck in I/O that nothing can interrupt: they are abandoned");
        // Errors are ignored here: standard error may be closed, and the process ends in any case.
        let _ = self.kept.as_mut().map(|kept| kept.write(result));
        let _ = report(result, self.invocation, self.talk, self.out);
        std::process::exit(ENDED_BY_SIGNAL.into());
    }

    fn note(&mut self, text: &str) {
        self.live.end();
        // A closed standard error does not end a run.
        let _ = writeln!(std::io::stderr(), "fio: {text}");
    }
}

/// The lines that fio prints at an event.
pub(super) fn lines_of(event: &Event<'_>, plan: &Plan) -> Option<String> {
    Some(match event {
        Event::Layout { job, files, bytes } => format!("{}\n", fio_text::layout_line(job, *files, *bytes)),
        Event::WholeZones { path, asked, used } => fio_text::whole_zones_lines(path, asked.0..asked.1, used.0..used.1),
        Event::WideOffsets { path } => fio_text::wide_offsets_lines(path),
        Event::Starting { threads, processes } => {
            format!("{}\n{}", fio_text::starting_line(*threads, *processes), fio_text::burner_lines(plan))
        }
        Event::Command { job, when, file } => format!("{job} : Saving output of {when} in {file}\n"),
        _ => return None,
    })
}

/// Tolerance for early progress events: one this much early still counts for its interval.
const EARLY: Nanos = Nanos::from_millis(20);

/// The status line and the terminal line that it is on.
struct LiveLine<'out> {
    plan: &'out Plan,
    live: Live,
    /// The text currently on the screen; a shorter line must overwrite all of it.
    shown: String,
    kept: Nanos,
    before: Option<Progress>,
}

impl LiveLine<'_> {
    fn draw(&mut self, progress: &Progress) {
        let Live::On { keep_every, every } = self.live else {
            return;
        };
        // A bandwidth log may request progress more often than the line is redrawn.
        let since = self.before.as_ref().map_or(Nanos::ZERO, |before| before.elapsed);
        if self.before.is_some() && progress.elapsed.saturating_sub(since).saturating_add(EARLY) < every {
            return;
        }
        let status = eta::status(self.plan, progress, self.before.as_ref());
        let line = fitting(status_line::line(&status), columns());
        self.before = Some(progress.clone());
        let mut text = format!("{}\r", status_line::covering(&line, &self.shown));
        self.shown = line;
        if keep_every.is_some_and(|period| progress.elapsed.saturating_sub(self.kept) >= period) {
            self.kept = progress.elapsed;
            self.shown.clear();
            text.push('\n');
        }
        print_live(&text);
    }

    /// Keeps the current line and starts a new one.
    fn end(&mut self) {
        if !self.shown.is_empty() {
            self.shown.clear();
            print_live("\n");
        }
    }
}

/// Writes the live line to standard output, even if the results go elsewhere. Errors are ignored: a closed output does
/// not end a run.
pub(super) fn print_live(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Columns of the terminal on standard output; `None` if it is not a terminal.
pub(super) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Shortens the line to the terminal's columns: first without IOPS, then without any rates. A line that wraps cannot be
/// redrawn in place, and the ETA at its end must stay visible.
pub(super) fn fitting(line: String, columns: Option<usize>) -> String {
    let Some(columns) = columns else {
        return line;
    };
    // The last column stays free: some terminals wrap as soon as it is filled.
    let fits = |line: &str| line.chars().count() < columns;
    let without = |line: &str, marks: &dyn Fn(&str) -> bool| -> String {
        line.split_inclusive(']').filter(|part| !marks(part)).collect()
    };
    if fits(&line) {
        return line;
    }
    let shorter = without(&line, &|part| part.ends_with("IOPS]"));
    if fits(&shorter) {
        return shorter;
    }
    let shortest = without(&shorter, &|part| part.ends_with("/s]"));
    shortest.chars().take(columns.saturating_sub(1)).collect()
}

/// The live line is shown on a terminal, or always with `--eta=always`; never if standard output gets only
/// machine-readable formats.
pub(super) fn live(invocation: &Invocation, talk: Talk) -> Live {
    let wanted = match invocation.eta.when {
        EtaWhen::Always => true,
        EtaWhen::Never => false,
        EtaWhen::Auto => std::io::stdout().is_terminal(),
    };
    if wanted && talk == Talk::Normal && !crate::output::is_quiet() {
        Live::On { keep_every: invocation.eta.newline, every: invocation.eta.interval }
    } else {
        Live::Off
    }
}

/// The live line of a run on servers.
pub(super) fn live_of_clients(invocation: &Invocation) -> Live {
    live(
        invocation,
        if invocation.output.formats.contains(&OutputFormat::NORMAL) { Talk::Normal } else { Talk::Silent },
    )
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn a_line_fits_its_terminal_and_keeps_the_time_left() {
        let line = "Jobs: 2 (f=2): [m(2)][20.1%][r=31.0MiB/s,w=31.0MiB/s][r=7947,w=7925 IOPS][eta 00m:14s]";
        for (columns, expected) in [
            (None, line),
            (Some(120), line),
            (Some(80), "Jobs: 2 (f=2): [m(2)][20.1%][r=31.0MiB/s,w=31.0MiB/s][eta 00m:14s]"),
            (Some(60), "Jobs: 2 (f=2): [m(2)][20.1%][eta 00m:14s]"),
            (Some(20), "Jobs: 2 (f=2): [m(2"),
        ] {
            assert_eq!(fitting(line.to_owned(), columns), expected, "{columns:?}");
        }
    }
}
