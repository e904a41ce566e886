//! fio's live status line: `Jobs: 2 (f=2): [m(1),W(1)][62.5%][r=66.1MiB/s,w=65.9MiB/s][r=16.9k IOPS][eta 00m:03s]`.
//!
//! Owns the line's layout. Leaves taking the snapshot, the time of printing and the terminal to others.

use crate::write_number::{Step, scaled, scaled_from};
use measure::{BytesPerSecond, Direction, Nanos, PerDirection};
use plan::Mix;
use std::fmt::Write;

/// Snapshot of a run, as shown in the status line.
#[derive(Clone, Debug, Default)]
pub struct LiveStatus {
    /// State of each worker, in the order of their numbers.
    pub workers: Vec<Activity>,
    /// Files open in all workers.
    pub open_files: u32,
    /// Sum of the rate limits of the running workers.
    pub limit: Option<RateLimit>,
    /// Rates since the last line; directions without I/O are omitted.
    pub rates: PerDirection<LiveRate>,
    /// Progress and time left; `None` while they are unknown, and the line then ends after the job count.
    pub estimate: Option<Estimate>,
    /// Base of the unit prefixes, 1024 or 1000 (`kb_base`).
    pub unit_base: u32,
    /// True to print rates in bits instead of bytes.
    pub bits: bool,
}

/// State of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Not started.
    Waiting,
    /// Started, not yet initialized.
    Created,
    /// Preparing its files and engine.
    SettingUp,
    /// Reading files into the page cache (`pre_read`).
    PreReading,
    /// In ramp time: I/O that is not measured.
    Ramping,
    /// Running measured I/O: its directions, and the order of offsets.
    Running(Mix, OffsetOrder),
    /// Waiting in fsync.
    Flushing,
    /// Verifying written data.
    Verifying,
    /// Done with I/O, closing files.
    Finishing,
    /// Exited, not yet reaped.
    Exited,
    /// Reaped.
    Reaped,
    /// Reaped, ended by an error.
    Failed,
    /// Reaped, ended by a signal.
    Killed,
}

/// Order of a job's offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetOrder {
    /// Ascending.
    Sequential,
    /// Randomly drawn.
    Random,
}

/// Rate limits of the running workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// Minimum and maximum bandwidth.
    Bandwidth(BytesPerSecond, BytesPerSecond),
    /// Minimum and maximum IOPS.
    Iops(u64, u64),
}

/// Rates of one direction since the last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveRate {
    /// Bandwidth.
    pub bandwidth: BytesPerSecond,
    /// I/Os per second.
    pub iops: u64,
}

/// Progress of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Completed fraction of the run, 0 to 1; `None` while unknown.
    pub done: Option<f64>,
    /// Time left.
    pub remaining: Nanos,
}

/// Significant digits of numbers in the line.
const FIGURES: usize = 4;

impl Activity {
    /// The letter for this state in the status line.
    pub const fn letter(self) -> char {
        match self {
            Activity::Waiting => 'P',
            Activity::Created => 'C',
            Activity::SettingUp => 'I',
            Activity::PreReading => 'p',
            Activity::Ramping => '/',
            Activity::Running(Mix::Only(Direction::Read), OffsetOrder::Sequential) => 'R',
            Activity::Running(Mix::Only(Direction::Read), OffsetOrder::Random) => 'r',
            Activity::Running(Mix::Only(Direction::Write), OffsetOrder::Sequential) => 'W',
            Activity::Running(Mix::Only(Direction::Write), OffsetOrder::Random) => 'w',
            Activity::Running(Mix::Only(Direction::Trim), OffsetOrder::Sequential) => 'D',
            Activity::Running(Mix::Only(Direction::Trim), OffsetOrder::Random) => 'd',
            Activity::Running(Mix::ReadWrite | Mix::TrimWrite, OffsetOrder::Sequential) => 'M',
            Activity::Running(Mix::ReadWrite | Mix::TrimWrite, OffsetOrder::Random) => 'm',
            Activity::Flushing => 'F',
            Activity::Verifying => 'V',
            Activity::Finishing => 'f',
            Activity::Exited => 'E',
            Activity::Reaped => '_',
            Activity::Failed => 'X',
            Activity::Killed => 'K',
        }
    }

    /// The state with this letter; `None` if there is none.
    pub fn of_letter(letter: char) -> Option<Activity> {
        use Activity::{
            Created, Exited, Failed, Finishing, Flushing, Killed, PreReading, Ramping, Reaped, Running, SettingUp,
            Verifying, Waiting,
        };
        let others = [
            Waiting, Created, SettingUp, PreReading, Ramping, Flushing, Verifying, Finishing, Exited, Reaped, Failed,
            Killed,
        ];
        let mixes = Direction::ALL.map(Mix::Only).into_iter().chain([Mix::ReadWrite]);
        let running = mixes.flat_map(|mix| [Running(mix, OffsetOrder::Sequential), Running(mix, OffsetOrder::Random)]);
        others.into_iter().chain(running).find(|activity| activity.letter() == letter)
    }

    /// True if the worker counts as a running job: started and not yet done.
    const fn is_at_work(self) -> bool {
        matches!(
            self,
            Activity::PreReading
                | Activity::Ramping
                | Activity::Running(..)
                | Activity::Flushing
                | Activity::Verifying
                | Activity::Finishing
        )
    }
}

/// Formats the line, without the carriage return.
pub fn line(status: &LiveStatus) -> String {
    let running = status.workers.iter().filter(|activity| activity.is_at_work()).count();
    let mut line = format!("Jobs: {running} (f={})", status.open_files);
    line.push_str(&limit(status));
    let Some(estimate) = &status.estimate else { return line };
    let _ = write!(line, ": [{}]", letters(&status.workers));
    match estimate.done {
        Some(done) => line.push_str(&format!("[{:.1}%]", done.clamp(0.0, 1.0) * 100.0)),
        None => line.push_str("[-.-%]"),
    }
    line.push_str(&rates(status));
    let _ = write!(line, "[eta {}]", time_left(estimate.remaining));
    line
}

/// Pads `line` with spaces so that it overwrites the `previous` line on a terminal.
pub fn covering(line: &str, previous: &str) -> String {
    format!("{line:<width$}", width = previous.trim_end().chars().count())
}

fn limit(status: &LiveStatus) -> String {
    let step = Step::of_base(status.unit_base);
    match status.limit {
        None => String::new(),
        Some(RateLimit::Iops(least, most)) => format!(", {least}-{most} IOPS"),
        Some(RateLimit::Bandwidth(least, most)) => {
            let (factor, unit) = if status.bits { (8, "bit/s") } else { (1, "B/s") };
            let spelled = |rate: BytesPerSecond| scaled(rate.get().saturating_mul(factor), FIGURES, step, unit);
            format!(", {}-{}", spelled(least), spelled(most))
        }
    }
}

/// Run-length encodes the letters: `m(3),_(1)`.
fn letters(workers: &[Activity]) -> String {
    let letters: Vec<char> = workers.iter().map(|activity| activity.letter()).collect();
    let runs = letters.chunk_by(|a, b| a == b).filter_map(|run| Some(format!("{}({})", run.first()?, run.len())));
    runs.collect::<Vec<_>>().join(",")
}

/// `[r=..,w=..][r=..,w=.. IOPS]` for the directions with I/O, or nothing.
fn rates(status: &LiveStatus) -> String {
    let moved = |spelled: &dyn Fn(&LiveRate) -> String| -> String {
        let parts = status.rates.iter().filter(|(_, rate)| rate.bandwidth.get() > 0 || rate.iops > 0);
        let parts = parts.map(|(direction, rate)| format!("{}={}", &direction.word()[..1], spelled(rate)));
        parts.collect::<Vec<_>>().join(",")
    };
    let bandwidths = moved(&|rate| bandwidth(rate.bandwidth, status));
    if bandwidths.is_empty() {
        return String::new();
    }
    let iops = moved(&|rate| scaled(rate.iops, FIGURES, Step::Decimal, ""));
    format!("[{bandwidths}][{iops} IOPS]")
}

/// Formats a bandwidth in KiB/s or larger units: a rate is only as precise as its interval.
fn bandwidth(rate: BytesPerSecond, status: &LiveStatus) -> String {
    let step = Step::of_base(status.unit_base);
    let (factor, unit) = if status.bits { (8, "bit/s") } else { (1, "B/s") };
    scaled_from(1, rate.get() / step.factor() * factor, FIGURES, step, unit)
}

/// `03m:05s`, preceded by hours and days if needed.
fn time_left(remaining: Nanos) -> String {
    let seconds = remaining.get() / Nanos::SECOND.get();
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let mut text = String::new();
    if days > 0 {
        let _ = write!(text, "{days:02}d:");
    }
    if days > 0 || hours > 0 {
        let _ = write!(text, "{hours:02}h:");
    }
    let _ = write!(text, "{:02}m:{:02}s", seconds / 60 % 60, seconds % 60);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM_MIX: Activity = Activity::Running(Mix::ReadWrite, OffsetOrder::Random);
    const WRITER: Activity = Activity::Running(Mix::Only(Direction::Write), OffsetOrder::Sequential);

    fn status() -> LiveStatus {
        LiveStatus { unit_base: 1024, workers: vec![RANDOM_MIX, WRITER], open_files: 2, ..LiveStatus::default() }
    }

    fn estimate(done: f64, seconds: u64) -> Option<Estimate> {
        Some(Estimate { done: Some(done), remaining: Nanos::from_secs(seconds) })
    }

    fn rate(kib: u64, iops: u64) -> LiveRate {
        LiveRate { bandwidth: BytesPerSecond(kib * 1024), iops }
    }

    // Expected lines were printed by fio 3.33.

    #[test]
    fn the_line_ends_after_the_limit_while_nothing_can_be_estimated() {
        assert_eq!(line(&status()), "Jobs: 2 (f=2)");
        let limit = Some(RateLimit::Bandwidth(BytesPerSecond(0), BytesPerSecond(1 << 20)));
        assert_eq!(line(&LiveStatus { limit, ..status() }), "Jobs: 2 (f=2), 0B/s-1024KiB/s");
    }

    #[test]
    fn directions_that_moved_show_bandwidth_and_iops() {
        let status = LiveStatus {
            limit: Some(RateLimit::Iops(0, 100)),
            rates: PerDirection { read: rate(67_686, 16_921), write: rate(67_482, 16_870), trim: rate(0, 0) },
            estimate: estimate(0.625, 3),
            ..status()
        };
        assert_eq!(
            line(&status),
            "Jobs: 2 (f=2), 0-100 IOPS: [m(1),W(1)][62.5%][r=66.1MiB/s,w=65.9MiB/s][r=16.9k,w=16.9k IOPS][eta 00m:03s]"
        );
    }

    #[test]
    fn a_second_without_io_shows_no_rates() {
        let workers = vec![Activity::Running(Mix::Only(Direction::Read), OffsetOrder::Sequential)];
        let idle = LiveStatus { workers, open_files: 1, estimate: estimate(0.4286, 4), ..status() };
        assert_eq!(line(&idle), "Jobs: 1 (f=1): [R(1)][42.9%][eta 00m:04s]");
        let slow = LiveStatus { rates: PerDirection { read: rate(4, 1), ..PerDirection::default() }, ..idle.clone() };
        assert_eq!(line(&slow), "Jobs: 1 (f=1): [R(1)][42.9%][r=4KiB/s][r=1 IOPS][eta 00m:04s]");
        let bits =
            LiveStatus { bits: true, rates: PerDirection { read: rate(1, 0), ..PerDirection::default() }, ..idle };
        assert_eq!(line(&bits), "Jobs: 1 (f=1): [R(1)][42.9%][r=8Kibit/s][r=0 IOPS][eta 00m:04s]");
    }

    #[test]
    fn equal_neighbours_are_counted_and_finished_workers_do_not_run() {
        let workers = vec![RANDOM_MIX, RANDOM_MIX, RANDOM_MIX, Activity::Reaped];
        let status = LiveStatus { workers, open_files: 3, estimate: estimate(1.0, 0), ..status() };
        assert_eq!(line(&status), "Jobs: 3 (f=3): [m(3),_(1)][100.0%][eta 00m:00s]");
    }

    #[test]
    fn time_left_grows_hours_and_days() {
        let spelled = [(0, "00m:00s"), (59, "00m:59s"), (10_914, "03h:01m:54s"), (90_061, "01d:01h:01m:01s")];
        for (seconds, text) in spelled {
            assert_eq!(time_left(Nanos::from_secs(seconds)), text);
        }
    }

    #[test]
    fn a_shorter_line_covers_the_longer_one_before_it() {
        assert_eq!(covering("short", "much longer"), "short      ");
        assert_eq!(covering("much longer", "short"), "much longer");
    }
}
