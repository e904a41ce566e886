//! Output of a run between the job lines and the report: start, layout, and the live status line.

use super::live::{self, LiveLine};
use super::results::{ENDED_BY_SIGNAL, has_text, print, report};
use super::trigger::Trigger;
use crate::failure::Failure;
use crate::output::{Output, Verbosity, print_error};
use crate::result_file::ResultFile;
use analysis::regime::RegimeWatch;
use fio::{EtaRequest, Invocation};
use formats::fio::log::{LogLayout, LogRow, push_row};
use formats::fio::text as fio_text;
use measure::{Direction, Nanos};
use model::RunResult;
use model::Until;
use plan::Plan;
use run::{Event, Observer, Progress, Request};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// Prints a run's events as they occur.
pub(crate) struct Watch<'out> {
    out: &'out mut Output,
    invocation: &'out Invocation,
    trigger: Trigger<'out>,
    /// True once the trigger has fired, or cannot fire any more because the run is ending.
    triggered: bool,
    plan: &'out Plan,
    live: LiveLine,
    /// The progress at the last redraw of the line.
    before: Option<Progress>,
    interim: Interim,
    pub(crate) verbosity: Verbosity,
    pub(crate) log: Option<BandwidthLog>,
    /// End of the run before its time, by its samples.
    pub(crate) regime: Option<RegimeWatch>,
    /// True once it has.
    regime_ended: bool,
    /// The file of `--result`, which is updated during the run.
    pub(crate) kept: Option<&'out mut ResultFile>,
    /// The first write that failed. An observer cannot stop a run, so the error is reported at the end.
    failed: Option<Failure>,
}

impl<'out> Watch<'out> {
    /// Creates a watch that writes to `out`; the live line goes to standard output.
    pub(crate) fn new(
        out: &'out mut Output,
        plan: &'out Plan,
        invocation: &'out Invocation,
        live: Option<EtaRequest>,
    ) -> Self {
        Watch {
            out,
            invocation,
            trigger: Trigger::new(&invocation.trigger),
            triggered: false,
            plan,
            live: LiveLine::new(live),
            before: None,
            interim: Interim::new(invocation.side.status_interval, request_file()),
            verbosity: Verbosity::default(),
            log: None,
            regime: None,
            regime_ended: false,
            kept: None,
            failed: None,
        }
    }

    /// Ends the live line and returns the first write error, if any.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        // A report on the same terminal begins with a line break, which ends the live line as in fio.
        if !(self.out.is_stdout() && has_text(self.invocation)) {
            self.live.end();
        }
        let log = self.log.map_or(Ok(()), BandwidthLog::finish);
        self.failed.map_or(log, Err)
    }

    fn say(&mut self, text: &str) {
        if !has_text(self.invocation) || self.failed.is_some() {
            return;
        }
        self.live.end();
        self.failed = self.out.write(text).err();
    }
}

impl Observer for Watch<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Some(lines) = lines_of(&event, self.plan) {
            self.say(&lines);
        }
        match event {
            Event::Sampled { so_far, .. } => {
                self.regime_ended |= self.regime.as_mut().is_some_and(|regime| regime.look(so_far));
            }
            Event::Progress(progress) => {
                self.log(progress);
                if self.live.is_due(progress.elapsed) {
                    let status = live::status(self.plan, progress, self.before.as_ref());
                    self.live.draw(progress.elapsed, &status);
                    self.before = Some(progress.clone());
                }
            }
            // A run that is ending does not run the command of a trigger.
            Event::Ending => self.triggered = true,
            Event::Ended(progress) => self.log(progress),
            Event::Finding(text) => {
                self.live.end();
                print_error(text);
            }
            Event::Report(so_far) => self.report(so_far),
            Event::Save(so_far) => self.save(so_far),
            Event::Abandoned(result) => self.abandon(result),
            _ => {}
        }
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        if !self.triggered && self.trigger.is_pulled(elapsed) {
            self.triggered = true;
            if let Some(failed) = self.trigger.fire() {
                self.note(&failed);
            }
            return Some(Request::End);
        }
        if self.regime_ended {
            return Some(Request::End);
        }
        if self.interim.due(elapsed) {
            return Some(Request::Report);
        }
        self.kept.as_mut().is_some_and(|kept| kept.is_due(elapsed)).then_some(Request::Save)
    }
}

impl Watch<'_> {
    fn log(&mut self, progress: &Progress) {
        if let Some(log) = &mut self.log {
            log.record(progress);
        }
    }

    fn report(&mut self, so_far: &RunResult) {
        if self.failed.is_none() {
            self.live.end();
            self.failed = print(so_far, &self.invocation.output, self.out, self.verbosity).err();
        }
    }

    fn save(&mut self, so_far: &RunResult) {
        let Some(Err(failure)) = self.kept.as_mut().map(|kept| kept.so_far(so_far)) else { return };
        // The run continues without the file, so that the error is reported once.
        self.kept = None;
        self.note(failure.message());
    }

    /// Prints the results so far and ends the process. Returning would join threads that are blocked in the kernel and
    /// never end.
    fn abandon(&mut self, result: &RunResult) {
        self.live.end();
        self.note("workers are stuck in I/O that nothing can interrupt: they are abandoned");
        // Errors are ignored here: standard error may be closed, and the process ends in any case.
        let _ = self.kept.as_mut().map(|kept| kept.write(result));
        let _ = report(result, self.invocation, self.out, self.verbosity);
        std::process::exit(ENDED_BY_SIGNAL.into());
    }

    fn note(&mut self, text: &str) {
        self.live.end();
        // A closed standard error does not end a run.
        let _ = writeln!(std::io::stderr(), "fio: {text}");
    }
}

/// The lines that fio prints at an event.
pub(super) fn lines_of(event: &Event<'_>, plan: &Plan) -> Option<String> {
    Some(match event {
        Event::Layout { job, files, bytes } => format!("{}\n", fio_text::layout_line(job, *files, *bytes)),
        Event::WholeZones { path, asked, used } => fio_text::whole_zones_lines(path, asked.0..asked.1, used.0..used.1),
        Event::WideOffsets { path } => fio_text::wide_offsets_lines(path),
        Event::Starting { threads, processes } => {
            format!("{}\n{}", fio_text::starting_line(*threads, *processes), fio_text::burner_lines(plan))
        }
        Event::Command { job, when, file } => format!("{job} : Saving output of {when} in {file}\n"),
        _ => return None,
    })
}

/// Interval at which the request file is polled.
const LOOK: Nanos = Nanos::from_millis(100);

/// Requests for interim reports: an interval, and a file. `run` handles SIGUSR1.
#[derive(Debug)]
pub(crate) struct Interim {
    every: Option<Nanos>,
    next: Nanos,
    request: PathBuf,
    next_look: Nanos,
}

impl Interim {
    /// Reports every `every`, and each time the file `request` exists; the file is then removed.
    pub(crate) fn new(every: Option<Nanos>, request: PathBuf) -> Interim {
        Interim { every, next: every.unwrap_or(Nanos::MAX), request, next_look: Nanos::ZERO }
    }

    /// True if a report is due `elapsed` after the start of the run.
    pub(crate) fn due(&mut self, elapsed: Nanos) -> bool {
        let by_time = elapsed >= self.next;
        if let (true, Some(every)) = (by_time, self.every) {
            // A late poll does not delay the next report: due times are multiples of the interval.
            let passed = elapsed.get() / every.get().max(1);
            self.next = Nanos((passed + 1).saturating_mul(every.get()));
        }
        let mut by_file = false;
        if elapsed >= self.next_look {
            self.next_look = elapsed.saturating_add(LOOK);
            // unlink(2) succeeds in one process only, so that of several runs at the same time exactly one reports.
            by_file = std::fs::remove_file(&self.request).is_ok();
        }
        by_time || by_file
    }
}

/// The path of the file that requests a report: `fio-dump-status` in the temporary directory.
pub(super) fn request_file() -> PathBuf {
    let directory = ["TMPDIR", "TEMP"].into_iter().find_map(std::env::var_os).filter(|name| !name.is_empty());
    PathBuf::from(directory.unwrap_or_else(|| "/tmp".into())).join("fio-dump-status")
}

/// Reads the value of the option for this plan.
pub(super) fn until_regime(word: Option<&str>, plan: &Plan) -> Result<Option<RegimeWatch>, Failure> {
    let Some(word) = word else { return Ok(None) };
    let until = match word {
        "change" => Until::Change,
        "settled" => Until::Settled,
        _ => {
            return Err(Failure::new(format!(
                "--until-regime={word}: it takes change (end when the rate changes) or settled (end once it is settled)"
            )));
        }
    };
    let is_virtual =
        |name: &str| engine::ENGINES.iter().any(|engine| engine.name == name && engine.capabilities.virtual_time);
    match plan.jobs.iter().find(|job| is_virtual(job.engine)) {
        Some(job) => Err(Failure::new(format!(
            "--until-regime={word}: job `{}` runs in simulated time (ioengine={}), of which no samples are taken; what works is \
             an engine that does I/O",
            job.name, job.engine
        ))),
        None => Ok(Some(RegimeWatch::new(until))),
    }
}

/// Time between two rows.
pub(super) const LOG_INTERVAL: Nanos = Nanos::from_millis(500);

/// The three logs, and the bytes moved up to their last rows.
#[derive(Debug)]
pub(super) struct BandwidthLog {
    files: Vec<(Direction, String, File)>,
    before: [u64; 3],
    last: Nanos,
    /// The first write that failed.
    failed: Option<Failure>,
}

impl BandwidthLog {
    /// Creates `STEM-read_bw.log` and the files of the other directions.
    pub(crate) fn create(stem: &str) -> Result<BandwidthLog, Failure> {
        let create = |direction: Direction| {
            let path = format!("{stem}-{}_bw.log", direction.word());
            let file = sys::files::output_file::create(Path::new(&path));
            let file = file.map_err(|error| Failure::new(format!("bandwidth-log {path}: {error}")))?;
            Ok((direction, path, file))
        };
        let files = Direction::ALL.into_iter().map(create).collect::<Result<_, Failure>>()?;
        Ok(BandwidthLog { files, before: [0; 3], last: Nanos::ZERO, failed: None })
    }

    /// Writes a row per direction: KiB/s since the last row. Rows are rare, so they are not buffered.
    pub(crate) fn record(&mut self, progress: &Progress) {
        let elapsed_ms = progress.elapsed.get() / 1_000_000;
        // From the rounded times in the rows, so that rate times interval adds up to the bytes moved.
        let since_ms = elapsed_ms - (self.last.get() / 1_000_000).min(elapsed_ms);
        if since_ms == 0 || self.failed.is_some() {
            return;
        }
        for (direction, path, file) in &mut self.files {
            let bytes: u64 = progress.workers.iter().map(|worker| worker.bytes[*direction]).sum();
            let moved = bytes.saturating_sub(self.before[*direction as usize]);
            self.before[*direction as usize] = bytes;
            let value = u64::try_from(u128::from(moved) * 1000 / 1024 / u128::from(since_ms)).unwrap_or(u64::MAX);
            let row = LogRow {
                at_ms: elapsed_ms,
                value,
                largest: value,
                direction: *direction,
                block: 0,
                offset: 0,
                priority: 0,
                issued_ns: 0,
            };
            let mut text = Vec::new();
            push_row(&mut text, LogLayout::default(), &row);
            if let Err(error) = file.write_all(&text) {
                self.failed = Some(Failure::new(format!("bandwidth-log {path}: {error}")));
                break;
            }
        }
        self.last = progress.elapsed;
    }

    /// Returns the first write error, if any.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.failed.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_keep_to_their_beat_however_late_a_look_is() {
        let mut interim = Interim::new(Some(Nanos::from_secs(1)), "/nowhere".into());
        let looks = [500, 1010, 1500, 2400, 2900, 3000, 5500, 5900, 6000];
        let due: Vec<u64> = looks.into_iter().filter(|&ms| interim.due(Nanos::from_millis(ms))).collect();
        assert_eq!(due, [1010, 2400, 3000, 5500, 6000]);
    }

    #[test]
    fn the_file_asks_once_and_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("fio-dump-status");
        let mut interim = Interim::new(None, file.clone());
        assert!(!interim.due(Nanos::ZERO));
        std::fs::write(&file, "").unwrap();
        assert!(!interim.due(Nanos::from_millis(50)), "it is looked for ten times a second");
        assert!(interim.due(Nanos::from_millis(150)) && !file.exists());
        assert!(!interim.due(Nanos::from_millis(300)));
    }
}
