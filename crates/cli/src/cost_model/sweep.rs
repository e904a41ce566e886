//! `plumb model --run`: runs the sweeps that the models are fitted to.
//!
//! Four sweeps: the device by block size (random reads with O_DIRECT), memory by block size (cached reads), runs that
//! start with a cold cache and end cached, and users. Nothing except plumb's own work file is ever written.

use super::{ModelArgs, document, show};
use crate::failure::{Failure, signal_status};
use crate::iozone::live::Live;
use crate::output::Output;
use crate::remarks;
use crate::streams;
use crate::survey::filled_target;
use analysis::Load;
use analysis::costs::{self, Mixture};
use fio::{Action, Parser};
use formats::{native, printable};
use measure::Nanos;
use measure::text::{TimeUnit, duration};
use model::{LowestTraffic, Note, RunResult};
use run::RunOptions;
use serde_json::{Value, json};
use session::machine::{Machine, parser};
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use survey::{OpenTarget, short_size};
use sys::processes::signals::Watch;

/// Exponents of the block sizes: 512 bytes to 16 MiB.
const POWERS: std::ops::RangeInclusive<u32> = 9..=24;
/// Default size of the data to read, in bytes.
const USUAL_SIZE: u64 = 256 << 20;
/// Default time of a measurement, in milliseconds.
const USUAL_TIME_MS: u64 = 1000;
/// The numbers of users.
const USERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Minimum length of a run that starts cold, in multiples of the time of one pass over the file.
const PASSES: f64 = 2.5;
/// Number of cold passes over the target. The fastest one gives the device's sequential rate: interference can only
/// slow a pass down.
const COLD_PASSES: usize = 3;
/// The target must hold this many blocks for a block size to be measured.
const BLOCKS_MIN: u64 = 4;

/// Longest time of a measurement.
const TIME_MAX: Nanos = Nanos::from_secs(600);

/// Parses a time like `300ms`, `2s` or `1m` into milliseconds.
pub(super) fn milliseconds(text: &str) -> Result<u64, String> {
    let time = duration(text, TimeUnit::Seconds).ok().filter(|time| (Nanos::MILLISECOND..=TIME_MAX).contains(time));
    let wrong = || format!("`{text}` is not a time from 1ms to 10m; write it like 500ms, 2s or 1m");
    time.map(|time| time.get() / 1_000_000).ok_or_else(wrong)
}

/// Measures, fits and prints. Returns the exit status.
pub(super) fn run(target: &Path, args: &ModelArgs) -> Result<u8, Failure> {
    let signals = Watch::begin()?;
    if let Some(folder) = &args.output {
        if streams::is_stdout(folder) {
            return Err(Failure::new(
                "--output: with --run it is the directory for the sweeps; the models go to standard output",
            ));
        }
        std::fs::create_dir_all(folder).map_err(|error| Failure::writing(&folder.display().to_string(), &error))?;
    }
    let place = filled_target(target, args.size.unwrap_or(USUAL_SIZE), &mut Live::new("filling"))?;
    let mut bench = Bench::new(&place, args, signals)?;
    let mut out = Output::stdout();
    if !args.streams.quiet {
        bench.text(&mut out, &bench.heading())?;
    }
    let outcome = bench.all(&mut out);
    if args.streams.json && bench.signal.is_none() && outcome.is_ok() {
        let models = json!({ "target": bench.place.shown, "models": bench.models, "notes": bench.notes });
        out.write(&streams::document("model", models)?)?;
    }
    match (bench.signal, outcome) {
        (Some(signal), _) => Ok(signal_status(signal)),
        (None, Err(failure)) => Err(failure),
        (None, Ok(())) => Ok(args.strict.as_ref().map_or(0, |strict| remarks::strict_status(0, strict, &bench.notes))),
    }
}

/// The target of the sweeps, and the remarks so far.
struct Bench<'a> {
    place: &'a OpenTarget,
    args: &'a ModelArgs,
    /// Time of one measurement, in milliseconds.
    time: u64,
    path: PathBuf,
    /// ResultFile open for the whole run: the kernel drops the page cache of a block device when its last user closes it.
    _held: File,
    parser: Parser,
    machine: Machine,
    signals: Watch,
    signal: Option<i32>,
    notes: Vec<Note>,
    /// The fitted models, for `--json`.
    models: Vec<Value>,
}

/// Measurements of one kind.
#[derive(Default)]
struct Sweep {
    points: Vec<RunResult>,
}

impl Sweep {
    /// Merges all points into one result with one job each, so that its file can be read like any sweep.
    fn merged(self) -> RunResult {
        let lowest = self.points.iter().filter_map(|point| point.lowest_traffic.as_ref());
        let mut traffic: Option<LowestTraffic> = None;
        for one in lowest {
            let sum =
                traffic.get_or_insert_with(|| LowestTraffic { disks: one.disks.clone(), ..LowestTraffic::default() });
            sum.read_bytes += one.read_bytes;
            sum.written_bytes += one.written_bytes;
        }
        let mut points = self.points.into_iter();
        let mut all = points.next().unwrap_or_default();
        for (number, mut point) in (1_u32..).zip(points) {
            point.jobs.iter_mut().for_each(|job| job.echo.group = number);
            all.jobs.append(&mut point.jobs);
        }
        RunResult { lowest_traffic: traffic, devices: Vec::new(), limited_by: None, notes: Vec::new(), ..all }
    }
}

impl<'a> Bench<'a> {
    fn new(place: &'a OpenTarget, args: &'a ModelArgs, signals: Watch) -> Result<Self, Failure> {
        let path = place.target.paths.first().cloned().unwrap_or_default();
        let held = File::open(&path).map_err(|error| Failure::at(&path, format!("cannot be opened: {error}")))?;
        let (parser, machine) = (parser(), Machine::here());
        let time = args.time.unwrap_or(USUAL_TIME_MS);
        Ok(Bench {
            place,
            args,
            time,
            path,
            _held: held,
            parser,
            machine,
            signals,
            signal: None,
            notes: Vec::new(),
            models: Vec::new(),
        })
    }

    fn heading(&self) -> String {
        let mut text = format!(
            "Model of {}: {}, {} per measurement.\n",
            self.place.shown,
            self.place.describe(),
            spelled(self.time)
        );
        self.place.remarks.iter().for_each(|remark| text.push_str(&format!("Note: {remark}.\n")));
        text
    }

    fn sizes(&self) -> impl Iterator<Item = u64> + use<> {
        let least = u64::from(self.place.target.direct_multiple);
        let most = self.place.target.size / BLOCKS_MIN;
        POWERS.map(|power| 1_u64 << power).filter(move |size| (least..=most).contains(size))
    }

    /// Runs all four sweeps and prints each when it is finished.
    fn all(&mut self, out: &mut Output) -> Result<(), Failure> {
        let device = self.by_size("device", "--direct=1 --rw=randread", Judged::Yes)?;
        let Some(model) = costs::access_model(&costs::size_points(&device)) else {
            return self.unless_cut_short("the device's times do not grow with the block size: no line fits them");
        };
        let text = format!("\nDevice: one random read, O_DIRECT\n{}", show::access(&model, &device));
        self.models.push(document::access(&model, &device));
        self.done(out, "device", &device, &text)?;

        let mut passes = Sweep::default();
        for _ in 0..COLD_PASSES {
            passes.points.push(self.measure("cold pass", "--name=pass --rw=read --bs=1m")?);
        }
        let memory = self.by_size("memory", "--invalidate=0 --rw=read", Judged::No)?;
        let Some(memory_model) = costs::access_model(&costs::size_points(&memory)) else {
            return self.unless_cut_short("memory's times do not grow with the block size: no line fits them");
        };
        let text = format!("\nMemory: one read in order, cached\n{}", show::access(&memory_model, &memory));
        self.models.push(document::access(&memory_model, &memory));
        self.done(out, "memory", &memory, &text)?;

        self.cold_to_cached(out, passes, &memory_model)?;

        let users = self.by_users()?;
        if let Some(law) = costs::scalability(&costs::user_points(&users)) {
            let text = format!("\nUsers: random reads of 4 KiB, O_DIRECT\n{}", show::scaling(&law, Load::Users));
            self.models.push(document::scaling(&law, Load::Users));
            self.done(out, "users", &users, &text)?;
        }
        self.footer(out)
    }

    fn cold_to_cached(
        &mut self,
        out: &mut Output,
        mut sweep: Sweep,
        memory: &costs::AccessModel,
    ) -> Result<(), Failure> {
        let rates = sweep.points.iter().filter_map(costs::device_rate);
        let Some(rate) = rates.reduce(f64::max) else {
            return self.unless_cut_short("a cold pass over the target read nothing");
        };
        let once_ms = seconds_to_ms(self.place.target.size, rate / PASSES);
        let time = self.time.max(once_ms);
        for size in self.sizes() {
            let words = format!("--name=b{size} --rw=read --bs={size} --runtime={time}ms --time_based");
            sweep.points.push(self.measure(&format!("cold to cached, {}", short_size(size)), &words)?);
        }
        let found = sweep.merged();
        let mixture = Mixture::predicted(&costs::mixture_points(&found), rate, memory);
        let text = format!(
            "\nFrom cold to cached: reads in order through the page cache for {}, predicted from cold passes and from \
             memory's costs\n{}",
            spelled(time),
            show::mixture(&mixture)
        );
        self.models.push(document::mixture(&mixture));
        self.done(out, "mixture", &found, &text)
    }

    fn by_size(&mut self, what: &str, words: &str, judged: Judged) -> Result<RunResult, Failure> {
        let mut sweep = Sweep::default();
        for size in self.sizes() {
            let time = self.time;
            let words = format!("--name=b{size} --bs={size} --runtime={time}ms --time_based {words}");
            sweep.points.push(self.measure(&format!("{what}, {}", short_size(size)), &words)?);
            if judged == Judged::Yes {
                self.judge(&mut sweep, &short_size(size));
            }
        }
        Ok(sweep.merged())
    }

    fn by_users(&mut self) -> Result<RunResult, Failure> {
        let mut sweep = Sweep::default();
        let block = u64::from(self.place.target.direct_multiple).max(4096);
        for users in USERS {
            let time = self.time;
            let words = format!(
                "--name=u{users} --direct=1 --rw=randread --bs={block} --numjobs={users} --group_reporting \
                 --runtime={time}ms --time_based"
            );
            sweep.points.push(self.measure(&format!("{users} users"), &words)?);
            self.judge(&mut sweep, &format!("{users} users"));
        }
        Ok(sweep.merged())
    }

    /// Runs the checks on the last point.
    fn judge(&mut self, sweep: &mut Sweep, whose: &str) {
        let Some(point) = sweep.points.last_mut().filter(|_| self.signal.is_none()) else { return };
        analysis::judge(point);
        for note in remarks::shown(&point.notes) {
            self.notes.push(Note { sentence: format!("{whose}: {}", note.sentence), ..note.clone() });
        }
    }

    /// Runs one measurement; returns an empty result after a signal.
    fn measure(&mut self, title: &str, words: &str) -> Result<RunResult, Failure> {
        self.signal = self.signal.or_else(|| self.signals.caught());
        if self.signal.is_some() {
            return Ok(RunResult::default());
        }
        let file = self.path.display().to_string().replace(':', "\\:");
        let mut all: Vec<String> = words.split_whitespace().take(1).map(str::to_owned).collect();
        all.extend([format!("--filename={file}"), format!("--size={}", self.place.target.size)]);
        all.extend(["--ioengine=psync", "--clat_percentiles=0", "--thread=0"].map(str::to_owned));
        all.extend(words.split_whitespace().skip(1).map(str::to_owned));
        let invocation = self.parser.command_line(&all, &self.machine.surroundings())?;
        let Action::Run(plan) = &invocation.action else {
            return Err(Failure::new(format!("{} is not a measurement", all.join(" "))));
        };
        let options = RunOptions { read_only: true, progress_interval: Live::interval(), ..RunOptions::default() };
        let mut live = Live::new(title);
        let result = run::execute(plan, &options, &mut live)?;
        live.clear();
        self.signal = self.signal.or(result.ended_by_signal);
        match result.jobs.iter().find_map(|job| job.error.as_ref()) {
            Some(error) if self.signal.is_none() => Err(Failure::new(format!("{title}: {}", error.message))),
            _ => Ok(result),
        }
    }

    /// Prints a finished sweep and saves it if `--output` is given. A sweep that a signal interrupted is neither
    /// printed nor saved.
    fn done(&mut self, out: &mut Output, name: &str, found: &RunResult, text: &str) -> Result<(), Failure> {
        if self.signal.is_some() {
            return Ok(());
        }
        if let Some(folder) = &self.args.output {
            let text = native::write(found)?;
            Output::made(&folder.join(format!("{name}.json")))?.write(&text)?;
        }
        self.text(out, text)
    }

    /// Prints text for a person; nothing with `--json`.
    fn text(&self, out: &mut Output, text: &str) -> Result<(), Failure> {
        if self.args.streams.json { Ok(()) } else { out.write(&printable::lines(text)) }
    }

    fn unless_cut_short(&self, why: &str) -> Result<(), Failure> {
        if self.signal.is_some() { Ok(()) } else { Err(Failure::new(why)) }
    }

    /// Prints the remarks about the device measurements, one per check.
    fn footer(&self, out: &mut Output) -> Result<(), Failure> {
        if self.signal.is_some() {
            return Ok(());
        }
        let mut text = String::from("\n");
        let mut printed: Vec<&str> = Vec::new();
        for note in &self.notes {
            if printed.contains(&note.check.as_str()) {
                continue;
            }
            printed.push(&note.check);
            let count = self.notes.iter().filter(|one| one.check == note.check).count();
            let others = if count > 1 { format!(" (and {} more of this check)", count - 1) } else { String::new() };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "! {}{others}", remarks::line(note));
        }
        if self.notes.is_empty() {
            text.push_str("Checked: no check found a problem in the measurements of the device.\n");
        }
        if let Some(folder) = &self.args.output {
            let _ = writeln!(text, "Sweeps: {}/*.json", folder.display());
        }
        self.text(out, &text)
    }
}

/// Selects if the checks run. They do not run on points that are cached on purpose, which are known not to be storage
/// results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    Yes,
    No,
}

/// Time to transfer this many bytes at this rate, in milliseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds of a measurement"
)]
fn seconds_to_ms(bytes: u64, bytes_per_second: f64) -> u64 {
    (bytes as f64 / bytes_per_second * 1e3).ceil() as u64
}

fn spelled(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{ms} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_unit() {
        assert_eq!((milliseconds("300ms"), milliseconds("2s"), milliseconds("3")), (Ok(300), Ok(2000), Ok(3000)));
        assert!(milliseconds("0").is_err() && milliseconds("fast").is_err() && milliseconds("1h").is_err());
    }
}
