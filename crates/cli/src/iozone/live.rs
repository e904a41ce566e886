//! The line on a terminal that says what is going on.

use crate::left;
use formats::printable;
use measure::Nanos;
use model::RunResult;
use run::{Observer, Progress};
use std::io::{IsTerminal, Write};

/// A line on standard error, redrawn in place; nothing where that is no terminal.
pub(crate) struct Live {
    title: String,
    shown: bool,
    before: (Nanos, u64),
}

impl Live {
    /// For one pass.
    pub(crate) fn new(title: &str) -> Self {
        Live { title: title.to_owned(), shown: false, before: (Nanos::ZERO, 0) }
    }

    /// How often it is redrawn; `None` for never.
    pub(crate) fn interval() -> Option<Nanos> {
        std::io::stderr().is_terminal().then(|| Nanos::from_millis(500))
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            self.shown = false;
        }
    }
}

impl Observer for Live {
    fn progress(&mut self, progress: &Progress) {
        let bytes: u64 = progress.workers.iter().flat_map(|worker| worker.bytes.iter()).map(|(_, bytes)| *bytes).sum();
        let (then, moved) = self.before;
        let time_us = progress.elapsed.saturating_sub(then).get() / 1000;
        let rate = (bytes.saturating_sub(moved).saturating_mul(1_000_000) / time_us.max(1)) >> 20;
        self.before = (progress.elapsed, bytes);
        let done = progress.done.map_or(String::new(), |done| format!(" {:3.0} %,", done * 100.0));
        let left = progress.remaining.map_or(String::new(), |left| format!(", {} s left", left.get() / 1_000_000_000));
        // A line that cannot be shown is missed by nobody.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}:{done} {rate} MiB/s{left}", self.title);
        self.shown = true;
    }

    fn ended(&mut self, _progress: &Progress) {
        self.clear();
    }

    fn finding(&mut self, text: &str) {
        self.clear();
        // Whoever closed standard error does not want to read it.
        let _ = writeln!(std::io::stderr(), "plumb: {}: {}", self.title, printable::lines(text));
    }

    fn abandoned(&mut self, result: &RunResult) {
        self.clear();
        left::behind(result, || {});
    }
}
