//! fio's status line: what it says of a run's progress, and the line of the terminal that it is on.

use super::results::has_text;
use crate::output::Verbosity;
use fio::{EtaRequest, EtaWhen, Invocation};
use formats::fio::status_line::{self, Activity, Estimate, LiveRate, LiveStatus, OffsetOrder, RateLimit};
use measure::{Bytes, BytesPerSecond, Direction, Nanos, PerDirection};
use plan::{JobPlan, Plan};
use run::{Progress, WorkerProgress, WorkerState};
use std::io::{IsTerminal, Write};

/// Tolerance for early progress events: one this much early still counts for its interval.
const EARLY: Nanos = Nanos::from_millis(20);

/// The status line and the terminal line that it is on: standard output, even if the results go elsewhere.
pub(super) struct LiveLine {
    /// `None` if there is no line.
    eta: Option<EtaRequest>,
    /// The text currently on the screen; a shorter line must overwrite all of it.
    shown: String,
    /// When a line was kept last, and when it was redrawn last.
    kept: Nanos,
    drawn: Option<Nanos>,
}

impl LiveLine {
    pub(super) fn new(eta: Option<EtaRequest>) -> Self {
        LiveLine { eta, shown: String::new(), kept: Nanos::ZERO, drawn: None }
    }

    /// True if it is to be redrawn, `elapsed` after the start of the run. A bandwidth log may request progress more
    /// often.
    pub(super) fn is_due(&self, elapsed: Nanos) -> bool {
        let Some(eta) = self.eta else { return false };
        self.drawn.is_none_or(|drawn| elapsed.saturating_sub(drawn).saturating_add(EARLY) >= eta.interval)
    }

    pub(super) fn draw(&mut self, elapsed: Nanos, status: &LiveStatus) {
        let Some(eta) = self.eta else { return };
        self.drawn = Some(elapsed);
        let line = fitting(status_line::line(status), columns());
        let mut text = format!("{}\r", status_line::covering(&line, &self.shown));
        self.shown = line;
        if eta.newline.is_some_and(|period| elapsed.saturating_sub(self.kept) >= period) {
            self.kept = elapsed;
            self.shown.clear();
            text.push('\n');
        }
        print_live(&text);
    }

    /// Keeps the current line and starts a new one.
    pub(super) fn end(&mut self) {
        if !self.shown.is_empty() {
            self.shown.clear();
            print_live("\n");
        }
    }
}

/// Writes the live line to standard output, even if the results go elsewhere. Errors are ignored: a closed output does
/// not end a run.
fn print_live(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Columns of the terminal on standard output; `None` if it is not a terminal.
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Shortens the line to the terminal's columns: first without IOPS, then without any rates. A line that wraps cannot be
/// redrawn in place, and the ETA at its end must stay visible.
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

/// The live line is shown on a terminal, or always with `--eta=always`; never if standard output gets only
/// machine-readable formats.
pub(super) fn live(invocation: &Invocation, verbosity: Verbosity) -> Option<EtaRequest> {
    let wanted = match invocation.eta.when {
        EtaWhen::Always => true,
        EtaWhen::Never => false,
        EtaWhen::Auto => std::io::stdout().is_terminal(),
    };
    (wanted && has_text(invocation) && !verbosity.is_quiet()).then_some(invocation.eta)
}

/// Time before which no ETA is given: the first seconds do not predict the rest of a run.
const SETTLED: Nanos = Nanos::from_secs(3);

/// Returns the status at `progress`; `before` is the progress at the last redraw.
pub(super) fn status(plan: &Plan, progress: &Progress, before: Option<&Progress>) -> LiveStatus {
    let activity = |worker: &WorkerProgress| activity(plan.jobs.get(worker.job_index), worker.state);
    LiveStatus {
        workers: progress.workers.iter().map(activity).collect(),
        open_files: progress.workers.iter().map(|worker| worker.open_files).sum(),
        limit: limit(plan, progress),
        rates: rates(progress, before),
        estimate: estimate(progress),
        unit_base: plan.jobs.first().map_or(1024, |job| job.record.unit_base),
        bits: plan.jobs.first().is_some_and(|job| job.record.bits),
    }
}

fn estimate(progress: &Progress) -> Option<Estimate> {
    let remaining = progress.remaining.filter(|_| progress.elapsed >= SETTLED)?;
    Some(Estimate { done: progress.done, remaining })
}

fn activity(job: Option<&JobPlan>, state: WorkerState) -> Activity {
    match (state, job) {
        (WorkerState::Waiting, _) => Activity::Waiting,
        (WorkerState::SettingUp, _) | (WorkerState::Running, None) => Activity::SettingUp,
        (WorkerState::Ramping, _) => Activity::Ramping,
        (WorkerState::PreReading, _) => Activity::PreReading,
        (WorkerState::Running, Some(job)) => {
            Activity::Running(job.load.mix, if job.load.random { OffsetOrder::Random } else { OffsetOrder::Sequential })
        }
        (WorkerState::Verifying, _) => Activity::Verifying,
        (WorkerState::Flushing, _) => Activity::Flushing,
        (WorkerState::Finishing, _) => Activity::Finishing,
        (WorkerState::Reaped, _) => Activity::Reaped,
    }
}

/// Bytes and I/Os per second since the last redraw.
fn rates(progress: &Progress, before: Option<&Progress>) -> PerDirection<LiveRate> {
    let since = before.map_or(Nanos::ZERO, |before| before.elapsed);
    let elapsed = progress.elapsed.saturating_sub(since);
    let moved = |direction: Direction, of: fn(&WorkerProgress) -> &PerDirection<u64>| {
        let sum = |progress: &Progress| progress.workers.iter().map(|worker| of(worker)[direction]).sum::<u64>();
        sum(progress).saturating_sub(before.map_or(0, sum))
    };
    let per_second = |amount: u64| BytesPerSecond::over(Bytes(amount), elapsed).map_or(0, |rate| rate.get());
    let rate = |direction| LiveRate {
        bandwidth: BytesPerSecond(per_second(moved(direction, |worker| &worker.bytes))),
        iops: per_second(moved(direction, |worker| &worker.ios)),
    };
    PerDirection { read: rate(Direction::Read), write: rate(Direction::Write), trim: rate(Direction::Trim) }
}

/// Sum of the rate limits of all running workers.
fn limit(plan: &Plan, progress: &Progress) -> Option<RateLimit> {
    let running = progress
        .workers
        .iter()
        .filter(|worker| worker.state == WorkerState::Running)
        .filter_map(|worker| plan.jobs.get(worker.job_index));
    let (mut bytes, mut ios) = (0u64, 0u64);
    for job in running {
        let has = |direction| job.load.mix.contains(direction);
        let rates = job.pace.rate.iter().filter(|(direction, _)| has(*direction));
        bytes += rates.filter_map(|(_, rate)| rate.map(BytesPerSecond::get)).sum::<u64>();
        let iops = job.pace.iops.iter().filter(|(direction, _)| has(*direction));
        ios += iops.filter_map(|(_, iops)| *iops).sum::<u64>();
    }
    match (bytes, ios) {
        (0, 0) => None,
        (0, ios) => Some(RateLimit::Iops(ios, ios)),
        (bytes, _) => Some(RateLimit::Bandwidth(BytesPerSecond(bytes), BytesPerSecond(bytes))),
    }
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
