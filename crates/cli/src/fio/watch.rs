//! What fio's users see between the job lines and the report: the start, the layout, and the live status line.

use crate::failure::Failure;
use crate::output::Output;
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
    live: LiveLine,
    /// The first write that failed; observers cannot stop a run, so it is told at its end.
    failed: Option<Failure>,
}

impl<'out> Watch<'out> {
    /// A watch that writes to `out`, and the live line to standard output.
    pub(crate) fn new(out: &'out mut Output, talk: Talk, live: Live) -> Self {
        Watch { out, talk, live: LiveLine::new(live), failed: None }
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
        // Whole MiB, as fio prints it.
        let mebibytes = bytes >> 20;
        let what = if files == 1 {
            format!("IO file (1 file / {mebibytes}MiB)")
        } else {
            format!("IO files ({files} files / total {mebibytes}MiB)")
        };
        self.say(&format!("{job}: Laying out {what}\n"));
    }

    fn starting(&mut self, threads: u32, processes: u32) {
        let line = starting_line(threads, processes);
        self.say(&line);
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

fn starting_line(threads: u32, processes: u32) -> String {
    let count = |number: u32, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        more => Some(format!("{more} {many}")),
    };
    let parts: Vec<String> =
        [count(threads, "thread", "threads"), count(processes, "process", "processes")].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("Starting {}\n", parts.join(" and ")) }
}

/// The status line and what is known of the terminal's line it stands on.
struct LiveLine {
    live: Live,
    /// Characters of the line that stands on the screen; a shorter one must overwrite all of them.
    shown: usize,
    kept: Nanos,
    before: Option<Progress>,
}

impl LiveLine {
    fn new(live: Live) -> Self {
        LiveLine { live, shown: 0, kept: Nanos::ZERO, before: None }
    }

    fn draw(&mut self, progress: &Progress) {
        let Live::On { keep_every } = self.live else {
            return;
        };
        let line = super::eta::line(progress, self.before.as_ref());
        self.before = Some(progress.clone());
        let width = line.chars().count();
        let mut text = format!("{line:<pad$}\r", pad = self.shown.max(width));
        self.shown = width;
        if keep_every.is_some_and(|period| progress.elapsed.saturating_sub(self.kept) >= period) {
            self.kept = progress.elapsed;
            self.shown = 0;
            text.push('\n');
        }
        print_live(&text);
    }

    /// Leaves the line as it stands and goes to the next.
    fn end(&mut self) {
        if self.shown > 0 {
            self.shown = 0;
            print_live("\n");
        }
    }
}

/// The live line goes to standard output even when results go elsewhere; a closed one ends nothing.
fn print_live(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_names_threads_and_processes() {
        for (threads, processes, line) in [
            (0, 1, "Starting 1 process\n"),
            (0, 8, "Starting 8 processes\n"),
            (1, 0, "Starting 1 thread\n"),
            (2, 1, "Starting 2 threads and 1 process\n"),
            (0, 0, ""),
        ] {
            assert_eq!(starting_line(threads, processes), line);
        }
    }
}
