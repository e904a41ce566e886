//! What a person sees while a survey runs: a bar with the time left on a terminal, plain lines elsewhere.

use crate::left;
use analysis::thousands;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::Nanos;
use model::RunResult;
use run::{Observer, Progress};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use survey::short_size;

/// What is going on.
#[derive(Clone, Debug)]
enum Phase {
    /// So many bytes are written to the work file.
    Fill { bytes: u64 },
    /// I/O before a test, until it is steady.
    Warm { number: usize, count: usize, title: String },
    /// Test `number` of `count`.
    Test { number: usize, count: usize, title: String, unit: &'static str },
}

/// The survey's progress on standard error.
pub(crate) struct Display {
    bar: Option<ProgressBar>,
    phase: Phase,
    /// Measuring time of the tests before this one and of this one, and of all.
    before: Nanos,
    this: Nanos,
    total: Nanos,
    started: Instant,
    seen: (Nanos, u64),
    rate: f64,
}

impl Display {
    /// A display for tests that measure for `total` altogether.
    pub(crate) fn new(total: Nanos) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            // No steady tick: it would start a thread, and workers are forked from a process without any.
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            // Not `wide_msg`: it fills the line to its end, and the `^C` that a terminal echoes would begin another.
            if let Ok(style) = ProgressStyle::with_template("{bar:16} {percent:>3} %  {msg}") {
                bar.set_style(style.progress_chars("━╸─"));
            }
            bar
        });
        Display {
            bar,
            phase: Phase::Fill { bytes: 0 },
            before: Nanos::ZERO,
            this: Nanos::ZERO,
            total,
            started: Instant::now(),
            seen: (Nanos::ZERO, 0),
            rate: 0.0,
        }
    }

    /// The work file is being filled.
    pub(crate) fn filling(&mut self, bytes: u64) {
        self.begin(Phase::Fill { bytes });
        if self.bar.is_none() {
            self.line(&format!("writing {} of random data", short_size(bytes)));
        }
    }

    /// I/O that does not count, before a test begins.
    pub(crate) fn warming(&mut self, number: usize, count: usize, title: String) {
        self.before += self.this;
        self.this = Nanos::ZERO;
        self.begin(Phase::Warm { number, count, title });
    }

    /// A test begins that measures for `time`.
    pub(crate) fn testing(&mut self, number: usize, count: usize, title: String, unit: &'static str, time: Nanos) {
        self.before += self.this;
        self.this = time;
        self.begin(Phase::Test { number, count, title, unit });
    }

    /// A test of `time` is not needed.
    pub(crate) fn skip(&mut self, time: Nanos) {
        self.total = self.total.saturating_sub(time);
    }

    /// The test has ended; without a terminal its result is a line.
    pub(crate) fn tested(&mut self, found: &str) {
        if let (None, Phase::Test { number, count, title, .. }) = (&self.bar, &self.phase) {
            let line = format!("[{number}/{count}] {title}: {found}");
            self.line(&line);
        }
    }

    /// Nothing more is going on; the terminal's line is free again.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A remark that stays on the screen.
    pub(crate) fn remark(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| print_line(text)),
            None => print_line(text),
        }
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        self.started = Instant::now();
        self.seen = (Nanos::ZERO, 0);
        self.rate = 0.0;
        match self.phase {
            Phase::Fill { .. } => self.draw(0.0, None),
            Phase::Test { .. } | Phase::Warm { .. } => {
                let left = self.total.saturating_sub(self.before).as_duration();
                self.draw(self.before.as_f64() / self.total.as_f64().max(1.0), Some(left));
            }
        }
    }

    fn line(&self, text: &str) {
        print_line(text);
    }

    fn draw(&self, done: f64, left: Option<Duration>) {
        let Some(bar) = &self.bar else {
            return;
        };
        bar.set_position(thousandths(done));
        bar.set_message(self.message(left));
        bar.tick();
    }

    /// The most important first: a narrow terminal cuts the end off.
    fn message(&self, left: Option<Duration>) -> String {
        let left = left.map_or_else(String::new, |left| format!("{} left  ", minutes(left)));
        let rate = match &self.phase {
            _ if self.rate <= 0.0 => String::new(),
            Phase::Test { unit: "IOPS", .. } => format!("  {} IOPS", thousands(self.rate)),
            _ => format!("  {} MiB/s", thousands(self.rate / f64::from(1 << 20))),
        };
        match &self.phase {
            Phase::Fill { bytes } => format!("{left}writing {} of random data{rate}", short_size(*bytes)),
            Phase::Warm { number, count, title } => format!("{left}{number}/{count} warming up for {title}{rate}"),
            Phase::Test { number, count, title, .. } => format!("{left}{number}/{count} {title}{rate}"),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    fn follow_rate(&mut self, progress: &Progress) {
        let counts_ios = matches!(self.phase, Phase::Test { unit: "IOPS", .. });
        let amount: u64 = progress
            .workers
            .iter()
            .map(|worker| if counts_ios { &worker.ios } else { &worker.bytes })
            .map(|amounts| amounts.iter().map(|(_, amount)| amount).sum::<u64>())
            .sum();
        let seconds = progress.elapsed.saturating_sub(self.seen.0).as_secs_f64();
        if seconds > 0.05 {
            self.rate = amount.saturating_sub(self.seen.1) as f64 / seconds;
            self.seen = (progress.elapsed, amount);
        }
    }
}

impl Observer for Display {
    #[expect(clippy::cast_precision_loss, reason = "a share of bytes")]
    fn progress(&mut self, progress: &Progress) {
        self.follow_rate(progress);
        match &self.phase {
            Phase::Fill { bytes } => {
                let written: u64 = progress.workers.iter().map(|worker| worker.bytes.write).sum();
                let done = written as f64 / (*bytes).max(1) as f64;
                let left =
                    (done > 0.02).then(|| self.started.elapsed().div_f64(done).saturating_sub(self.started.elapsed()));
                self.draw(done, left);
            }
            Phase::Test { .. } | Phase::Warm { .. } => {
                let elapsed = self.before + progress.elapsed.min(self.this);
                let done = elapsed.as_f64() / self.total.as_f64().max(1.0);
                self.draw(done, Some(self.total.saturating_sub(elapsed).as_duration()));
            }
        }
    }

    fn note(&mut self, text: &str) {
        self.remark(&format!("plumb: {text}"));
    }

    fn finding(&mut self, text: &str) {
        self.remark(&format!("plumb: {text}"));
    }

    fn abandoned(&mut self, result: &RunResult) {
        self.clear();
        left::behind(result, || {});
    }
}

fn print_line(text: &str) {
    // Whoever closed standard error does not want to read it.
    let _ = writeln!(std::io::stderr(), "{}", formats::printable::lines(text));
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1000")]
fn thousandths(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * 1000.0).round() as u64
}

fn minutes(left: Duration) -> String {
    // Rounded up: "0:00 left" while something still runs helps nobody.
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_rounded_up() {
        for (milliseconds, text) in [(0, "0:00"), (1, "0:01"), (59_001, "1:00"), (61_000, "1:01")] {
            assert_eq!(minutes(Duration::from_millis(milliseconds)), text);
        }
    }
}
