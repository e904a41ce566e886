//! What fio's users see between the job lines and the report: the start, the layout, and the live status line.

use super::eta;
use crate::failure::Failure;
use crate::output::Output;
use formats::{fio_eta, fio_text, printable};
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

    fn finding(&mut self, text: &str) {
        self.live.end();
        let _ = writeln!(std::io::stderr(), "{}", printable::lines(text));
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
