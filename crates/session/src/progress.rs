//! Progress of a survey on a terminal: a bar, the remaining time, the activity and its rate in one line.

use crate::failure::report_stuck;
use crate::output::{Verbosity, print_error};
use crate::remarks;
use crate::width;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::Nanos;
use measure::text;
use run::{Event, Observer, Progress};
use std::time::{Duration, Instant};
use survey::{SurveyTest, TestKind, short_size};

#[derive(Clone, Debug)]
enum Phase {
    /// Writing the work file.
    Fill { bytes: u64 },
    /// Writes until the rate is settled; bytes of the target that are still missing at their begin.
    Settle { title: String, bytes: u64 },
    /// I/O before a test, until the rate is steady.
    Warm { number: usize, count: usize, title: String },
    /// A run of `plumb versus`, of a length that is known after the first round.
    Round { title: String, left: Option<Nanos> },
    /// Test `number` of `count`.
    Test { number: usize, count: usize, title: String, unit: Unit },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Iops,
    MebibytesPerSecond,
}

/// The activity and its time, for those who show them in another way.
#[derive(Clone, Debug)]
pub struct UnderWay {
    activity: String,
    left: Duration,
    since: Instant,
}

impl std::fmt::Display for UnderWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let left = self.left.saturating_sub(self.since.elapsed());
        write!(f, "{}, {} left", self.activity, text::countdown(left))
    }
}

/// Shows the survey's progress on standard error.
pub struct Display {
    bar: Option<ProgressBar>,
    /// True if a line is printed for each test, because there is no bar and `PLUMB_REMARKS=always` asks for it.
    has_lines: bool,
    phase: Phase,
    /// Measuring time of the tests before the current one, of the current one, and of all.
    before: Nanos,
    this: Nanos,
    total: Nanos,
    started: Instant,
    seen: (Nanos, u64),
    rate: f64,
}

impl Display {
    /// Creates a display for tests with a total measuring time of `total`.
    pub fn new(total: Nanos, verbosity: Verbosity) -> Self {
        let bar = verbosity.shows_progress().then(|| {
            // No steady tick: it starts a thread, and workers are forked from this process, which must be
            // single-threaded for that.
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        let has_lines = bar.is_none() && remarks::are_wanted(verbosity);
        Display {
            bar,
            has_lines,
            phase: Phase::Fill { bytes: 0 },
            before: Nanos::ZERO,
            this: Nanos::ZERO,
            total,
            started: Instant::now(),
            seen: (Nanos::ZERO, 0),
            rate: 0.0,
        }
    }

    /// Called when the work file is being written.
    pub fn filling(&mut self, bytes: u64) {
        self.begin(Phase::Fill { bytes });
        if self.has_lines {
            print_error(&format!("writing {} of random data", short_size(bytes)));
        }
    }

    /// Called when a round of writes begins, of which `bytes` are the least since the first one.
    pub fn settling(&mut self, title: String, bytes: u64) {
        if self.has_lines {
            print_error(&title);
        }
        match &mut self.phase {
            Phase::Settle { title: shown, .. } => *shown = title,
            _ => self.begin(Phase::Settle { title, bytes }),
        }
    }

    /// Called when the warm-up of a test begins.
    pub fn warming(&mut self, number: usize, count: usize, title: String) {
        self.before += self.this;
        self.this = Nanos::ZERO;
        self.begin(Phase::Warm { number, count, title });
    }

    /// Called when a test begins; `time` is its measuring time.
    pub fn testing(&mut self, number: usize, count: usize, test: &SurveyTest, time: Nanos) {
        self.before += self.this;
        self.this = time;
        let unit = match test.kind {
            TestKind::SequentialRead | TestKind::SequentialWrite | TestKind::SequentialMixed => {
                Unit::MebibytesPerSecond
            }
            _ => Unit::Iops,
        };
        self.begin(Phase::Test { number, count, title: test.describe(), unit });
    }

    /// Called when a run of two that are measured in turns begins. `done` and `this` are the times before it and of it;
    /// `total` is that of all, once it is known.
    pub fn round(&mut self, title: String, [done, this]: [Nanos; 2], total: Option<Nanos>) {
        (self.before, self.this, self.total) = (done, this, total.unwrap_or(Nanos::ZERO));
        self.begin(Phase::Round { title, left: total });
    }

    /// Prints with `print` above the bar, which is removed for that time.
    pub fn between<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Called when a test of length `time` is skipped.
    pub fn skip(&mut self, time: Nanos) {
        self.total = self.total.saturating_sub(time);
    }

    /// Called when a test has ended; prints a line with its result if lines are printed.
    pub fn tested(&mut self, found: &str) {
        if let (true, Phase::Test { number, count, title, .. }) = (self.has_lines, &self.phase) {
            print_error(&format!("[{number}/{count}] {title}: {found}"));
        }
    }

    /// The current activity; the time left is that of all tests.
    pub fn under_way(&self) -> UnderWay {
        let left = self.total.saturating_sub(self.before).as_duration();
        UnderWay { activity: activity(&self.phase), left, since: self.started }
    }

    /// Shows this, as far as it has room.
    pub fn say(&mut self, text: &str) {
        if let Some(bar) = &self.bar {
            let columns = width::of_stderr().unwrap_or(width::USUAL);
            bar.set_message(text.chars().take(columns.saturating_sub(1)).collect::<String>());
            bar.tick();
        }
    }

    /// Removes the bar from the terminal.
    pub fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Prints a remark that remains on the screen.
    pub fn remark(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| print_error(text)),
            None => print_error(text),
        }
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        self.started = Instant::now();
        self.seen = (Nanos::ZERO, 0);
        self.rate = 0.0;
        match self.phase {
            Phase::Fill { .. } | Phase::Settle { .. } | Phase::Round { left: None, .. } => self.draw(0.0, None),
            Phase::Round { .. } | Phase::Test { .. } | Phase::Warm { .. } => {
                let left = self.total.saturating_sub(self.before).as_duration();
                self.draw(self.before.as_f64() / self.total.as_f64().max(1.0), Some(left));
            }
        }
    }

    fn draw(&self, done: f64, left: Option<Duration>) {
        let Some(bar) = &self.bar else {
            return;
        };
        let columns = width::of_stderr().unwrap_or(width::USUAL);
        bar.set_message(line(&self.phase, self.rate, done, left, columns));
        bar.tick();
    }

    fn follow_rate(&mut self, progress: &Progress) {
        let counts_ios = matches!(self.phase, Phase::Round { .. } | Phase::Test { unit: Unit::Iops, .. });
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
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Progress(progress) => self.progress(progress),
            Event::Finding(text) => self.remark(&format!("plumb: {text}")),
            Event::Abandoned(result) => {
                self.clear();
                report_stuck(result, || {});
            }
            _ => {}
        }
    }
}

impl Display {
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
            Phase::Settle { bytes, .. } => {
                let written: u64 = progress.workers.iter().map(|worker| worker.bytes.write).sum();
                self.draw(written as f64 / (*bytes).max(1) as f64, None);
            }
            Phase::Round { left: None, .. } => self.draw(progress.done.unwrap_or(0.0), None),
            Phase::Round { .. } | Phase::Test { .. } | Phase::Warm { .. } => {
                let elapsed = self.before + progress.elapsed.min(self.this);
                let done = elapsed.as_f64() / self.total.as_f64().max(1.0);
                self.draw(done, Some(self.total.saturating_sub(elapsed).as_duration()));
            }
        }
    }
}

/// Columns at the end that stay free, so that the `^C` that a terminal echoes does not start a new line.
const FREE: usize = 3;

/// The line on a terminal of this width: the share that is done, the time left, the activity and its rate. In a narrow
/// one the bar is shorter, then the rate goes, then the end of the activity.
fn line(phase: &Phase, rate: f64, done: f64, left: Option<Duration>, columns: usize) -> String {
    let bar = match columns {
        80.. => bar(done, 16) + " ",
        60.. => bar(done, 8) + " ",
        _ => String::new(),
    };
    let left = left.map_or_else(String::new, |left| format!("{} left  ", text::countdown(left)));
    let start = format!("{bar}{:>3.0} %  {left}", 100.0 * done.clamp(0.0, 1.0));
    let activity = activity(phase);
    let rate = match phase {
        _ if rate <= 0.0 => String::new(),
        Phase::Round { .. } | Phase::Test { unit: Unit::Iops, .. } => format!("  {} IOPS", text::number(rate)),
        _ => format!("  {}", text::rate(rate)),
    };
    let room = columns.saturating_sub(FREE + start.chars().count());
    let long = activity.chars().count();
    if long + rate.chars().count() <= room {
        return start + &activity + &rate;
    }
    if long <= room {
        return start + &activity;
    }
    let kept: String = activity.chars().take(room.saturating_sub(1)).collect();
    format!("{start}{}…", kept.trim_end())
}

fn activity(phase: &Phase) -> String {
    match phase {
        Phase::Fill { bytes } => format!("writing {} of random data", short_size(*bytes)),
        Phase::Warm { number, count, title } => format!("{number}/{count} warming up for {title}"),
        Phase::Test { number, count, title, .. } => format!("{number}/{count} {title}"),
        Phase::Round { title, .. } | Phase::Settle { title, .. } => title.clone(),
    }
}

/// `━━━━╸───`: what is done of a whole.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the width")]
fn bar(done: f64, width: usize) -> String {
    let full = ((done.clamp(0.0, 1.0) * width as f64) as usize).min(width);
    let head = if full < width { "╸" } else { "" };
    format!("{}{head}{}", "━".repeat(full), "─".repeat((width - full).saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_number_users_of_all_members_and_time_left() {
        let mut display = Display::new(Nanos::from_secs(10), Verbosity::Usual);
        let test = SurveyTest::at(TestKind::RandomRead, 8192, 4);
        display.testing(1, 2, &test.by(3), Nanos::from_secs(4));
        assert_eq!(display.under_way().to_string(), "1/2 8k rand read, 12 users, 0:10 left");
        display.testing(2, 2, &test, Nanos::from_secs(6));
        assert_eq!(display.under_way().to_string(), "2/2 8k rand read, 4 users, 0:06 left");
    }

    #[test]
    fn the_line_fits_the_terminal_and_keeps_the_most_important_part() {
        let title = "8k random reads, 64 users, iodepth=32".to_owned();
        let test = Phase::Test { number: 112, count: 112, title, unit: Unit::Iops };
        let fill = Phase::Fill { bytes: 16 << 30 };
        let left = Some(Duration::from_secs(271));
        for columns in [40, 60, 80, 200] {
            let all: Vec<String> = [(&test, 1_234_567.0), (&fill, 3.2e9), (&fill, 0.0)]
                .into_iter()
                .flat_map(|(phase, rate)| [0.0, 0.43, 1.0].map(|done| line(phase, rate, done, left, columns)))
                .collect();
            for one in &all {
                assert!(one.chars().count() + FREE <= columns, "{one}");
                assert!(one.contains(" %  4:31 left"), "{one}");
            }
            insta::assert_snapshot!(format!("progress_at_{columns}"), all.join("\n"));
        }
    }
}
