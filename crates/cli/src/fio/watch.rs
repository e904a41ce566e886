//! What fio's users see between the job lines and the report: the start, the layout, and the live status line.

use super::bandwidth::BandwidthLog;
use super::eta;
use super::interim::Interim;
use super::trigger::Trigger;
use crate::failure::Failure;
use crate::kept::Kept;
use crate::output::Output;
use formats::{fio_eta, fio_text, printable};
use job::{Invocation, OutputRequest, Plan};
use measure::Nanos;
use model::RunResult;
use run::{Observer, Progress};
use std::io::Write;

/// Whether the normal report, and with it everything that leads up to it, was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// It was.
    Normal,
    /// Only machine-readable formats were: nothing else goes to the output.
    Silent,
}

/// The live status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    /// None.
    Off,
    /// Redrawn in place; kept, with a fresh line below it, once per `keep_every` if given.
    On {
        /// The period of `--eta-newline`.
        keep_every: Option<Nanos>,
        /// The period of `--eta-interval`.
        every: Nanos,
    },
}

/// Prints a run's events as they come.
pub(crate) struct Watch<'out> {
    out: &'out mut Output,
    invocation: &'out Invocation,
    trigger: Trigger<'out>,
    talk: Talk,
    live: LiveLine<'out>,
    /// Formats of reports in between.
    request: Option<&'out OutputRequest>,
    interim: Option<Interim>,
    log: Option<BandwidthLog>,
    /// Where the run so far is kept.
    kept: Option<&'out mut Kept>,
    /// The first write that failed; observers cannot stop a run, so it is told at its end.
    failed: Option<Failure>,
}

impl<'out> Watch<'out> {
    /// A watch that writes to `out`, and the live line to standard output.
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
            talk,
            live: LiveLine { plan, live, shown: String::new(), kept: Nanos::ZERO, before: None },
            request: None,
            interim: None,
            log: None,
            kept: None,
            failed: None,
        }
    }

    /// With a log of all jobs' bandwidth, and with reports in between.
    pub(crate) fn with(mut self, log: Option<BandwidthLog>, interim: Interim, request: &'out OutputRequest) -> Self {
        (self.log, self.interim, self.request) = (log, Some(interim), Some(request));
        self
    }

    /// With a file that holds the run so far.
    pub(crate) fn keeping(self, kept: Option<&'out mut Kept>) -> Self {
        Watch { kept, ..self }
    }

    /// Lets go of the live line; the first failed write, if there was one.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        // A report on the same screen begins with a line break, which ends the live line as it does for fio.
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
    fn layout(&mut self, job: &str, files: u32, bytes: u64) {
        self.say(&format!("{}\n", fio_text::layout_line(job, files, bytes)));
    }

    fn starting(&mut self, threads: u32, processes: u32) {
        self.say(&format!("{}\n", fio_text::starting_line(threads, processes)));
    }

    fn progress(&mut self, progress: &Progress) {
        if let Some(log) = &mut self.log {
            log.record(progress);
        }
        self.live.draw(progress);
    }

    fn finding(&mut self, text: &str) {
        self.live.end();
        let _ = writeln!(std::io::stderr(), "{}", printable::lines(text));
    }

    fn ended(&mut self, progress: &Progress) {
        if let Some(log) = &mut self.log {
            log.record(progress);
        }
    }

    fn report_wanted(&mut self, elapsed: Nanos) -> bool {
        self.interim.as_mut().is_some_and(|interim| interim.due(elapsed))
    }

    fn report(&mut self, so_far: &RunResult) {
        let Some(request) = self.request.filter(|_| self.failed.is_none()) else { return };
        self.live.end();
        self.failed = super::print(so_far, request, self.out).err();
    }

    fn keeping_wanted(&mut self, elapsed: Nanos) -> bool {
        self.kept.as_mut().is_some_and(|kept| kept.is_due(elapsed))
    }

    fn keep(&mut self, so_far: &RunResult) {
        let Some(Err(failure)) = self.kept.as_mut().map(|kept| kept.so_far(so_far)) else { return };
        // A run goes on without it; told once.
        self.kept = None;
        self.note(failure.message());
    }

    fn command(&mut self, job: &str, when: &str, file: &str) {
        self.say(&format!("{job} : Saving output of {when} in {file}\n"));
    }

    fn wants_end(&mut self, elapsed: Nanos) -> bool {
        if !self.trigger.is_pulled(elapsed) {
            return false;
        }
        if let Some(failed) = self.trigger.fire() {
            self.note(&failed);
        }
        true
    }

    fn abandoned(&mut self, result: &RunResult) {
        self.live.end();
        self.note("workers are stuck in I/O that nothing can interrupt: they are left behind");
        // Whoever cannot be told ends all the same.
        let _ = self.kept.as_mut().map(|kept| kept.write(result));
        let _ = super::report(result, self.invocation, self.talk, self.out);
        std::process::exit(super::ENDED_BY_SIGNAL.into());
    }

    fn note(&mut self, text: &str) {
        self.live.end();
        // A closed standard error does not end a run.
        let _ = writeln!(std::io::stderr(), "fio: {text}");
    }
}

/// A look that comes this much early is in time.
const EARLY: Nanos = Nanos::from_millis(20);

/// The status line and what is known of the terminal's line it stands on.
struct LiveLine<'out> {
    plan: &'out Plan,
    live: Live,
    /// The line that stands on the screen; a shorter one must cover all of it.
    shown: String,
    kept: Nanos,
    before: Option<Progress>,
}

impl LiveLine<'_> {
    fn draw(&mut self, progress: &Progress) {
        let Live::On { keep_every, every } = self.live else {
            return;
        };
        // A log of bandwidth may look more often than the line is renewed.
        let since = self.before.as_ref().map_or(Nanos::ZERO, |before| before.elapsed);
        if self.before.is_some() && progress.elapsed.saturating_sub(since).saturating_add(EARLY) < every {
            return;
        }
        let status = eta::status(self.plan, progress, self.before.as_ref());
        let line = fitting(fio_eta::line(&status), columns());
        self.before = Some(progress.clone());
        let mut text = format!("{}\r", fio_eta::covering(&line, &self.shown));
        self.shown = line;
        if keep_every.is_some_and(|period| progress.elapsed.saturating_sub(self.kept) >= period) {
            self.kept = progress.elapsed;
            self.shown.clear();
            text.push('\n');
        }
        print_live(&text);
    }

    /// Leaves the line as it stands and goes to the next.
    fn end(&mut self) {
        if !self.shown.is_empty() {
            self.shown.clear();
            print_live("\n");
        }
    }
}

/// The live line goes to standard output even when results go elsewhere; a closed one ends nothing.
fn print_live(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Columns of the terminal on standard output; `None` where there is none.
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// The line cut to a terminal's columns, first by its rates in IOPS, then by all rates: a line that wraps cannot be
/// redrawn in place, and the time left is at its end.
fn fitting(line: String, columns: Option<usize>) -> String {
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
