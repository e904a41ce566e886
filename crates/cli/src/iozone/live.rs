//! The progress line on a terminal.

use formats::printable;
use measure::Nanos;
use run::{Event, Observer, Progress};
use session::stuck_workers;
use std::io::Write;

/// A status line on standard error, redrawn in place; nothing if that is not a terminal.
pub(crate) struct Live {
    title: String,
    shown: bool,
    before: (Nanos, u64),
}

impl Live {
    /// Creates the line for one pass.
    pub(crate) fn new(title: &str) -> Self {
        Live { title: title.to_owned(), shown: false, before: (Nanos::ZERO, 0) }
    }

    /// Interval of updates; `None` if no progress is shown.
    pub(crate) fn interval() -> Option<Nanos> {
        crate::output::shows_progress().then(|| Nanos::from_millis(500))
    }

    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            self.shown = false;
        }
    }
}

impl Observer for Live {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Progress(progress) => self.progress(progress),
            Event::Ended(_) => self.clear(),
            Event::Finding(text) => {
                self.clear();
                // Errors are ignored: a closed standard error does not end a run.
                let _ = writeln!(std::io::stderr(), "plumb: {}: {}", self.title, printable::lines(text));
            }
            Event::Abandoned(result) => {
                self.clear();
                stuck_workers::report_stuck(result, || {});
            }
            _ => {}
        }
    }
}

impl Live {
    fn progress(&mut self, progress: &Progress) {
        let bytes: u64 = progress.workers.iter().flat_map(|worker| worker.bytes.iter()).map(|(_, bytes)| *bytes).sum();
        let (then, moved) = self.before;
        let time_us = progress.elapsed.saturating_sub(then).get() / 1000;
        let rate = (bytes.saturating_sub(moved).saturating_mul(1_000_000) / time_us.max(1)) >> 20;
        self.before = (progress.elapsed, bytes);
        let done = progress.done.map_or(String::new(), |done| format!(" {:3.0} %,", done * 100.0));
        let left = progress.remaining.map_or(String::new(), |left| format!(", {} s left", left.get() / 1_000_000_000));
        // Errors are ignored: a progress line that cannot be written does no harm.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}:{done} {rate} MiB/s{left}", self.title);
        self.shown = true;
    }
}
