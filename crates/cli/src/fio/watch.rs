//! What fio's users see between the job lines and the report: the start, the layout, and the live status line.

use super::eta;
use crate::failure::Failure;
use crate::output::Output;
use formats::{fio_eta, fio_text};
use job::Plan;
use measure::Nanos;
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
    },
}

/// Prints a run's events as they come.
pub(crate) struct Watch<'out> {
    out: &'out mut Output,
    talk: Talk,
    live: LiveLine<'out>,
    /// The first write that failed; observers cannot stop a run, so it is told at its end.
    failed: Option<Failure>,
}

impl<'out> Watch<'out> {
    /// A watch that writes to `out`, and the live line to standard output.
    pub(crate) fn new(out: &'out mut Output, plan: &'out Plan, talk: Talk, live: Live) -> Self {
        Watch {
            out,
            talk,
            live: LiveLine { plan, live, shown: String::new(), kept: Nanos::ZERO, before: None },
            failed: None,
        }
    }

    /// Lets go of the live line; the first failed write, if there was one.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        // A report on the same screen begins with a line break, which ends the live line as it does for fio.
        if !(self.out.is_stdout() && self.talk == Talk::Normal) {
            self.live.end();
        }
        self.failed.map_or(Ok(()), Err)
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
        self.live.draw(progress);
    }

    fn note(&mut self, text: &str) {
        self.live.end();
        // A closed standard error does not end a run.
        let _ = writeln!(std::io::stderr(), "fio: {text}");
    }
}

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
        let Live::On { keep_every } = self.live else {
            return;
        };
        let line = fio_eta::line(&eta::status(self.plan, progress, self.before.as_ref()));
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
