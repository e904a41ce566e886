//! `plumb model --run`: runs the sweeps that the models are fitted to.
//!
//! Four sweeps: the device by block size (random reads with O_DIRECT), memory by block size (cached reads), runs that
//! start with a cold cache and end cached, and users. Nothing except plumb's own work file is ever written.

use super::ModelArgs;
use super::show::{self, FittedModel};
use crate::failure::{Cut, Failure};
use crate::output::Output;
use crate::remarks;
use crate::streams;
use analysis::costs::{self, Mixture};
use analysis::{Load, NotStorage};
use formats::{native, printable};
use measure::Nanos;
use measure::text::{TimeUnit, duration};
use model::{LowestTraffic, Note, RunResult};
use serde_json::{Value, json};
use session::progress::Display;
use session::{Run, Session};
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use survey::{Access, CostReads, OpenTarget, Preparation, Reach, ReadWay, SurveyRequest, short_size};

/// Exponents of the block sizes: 512 bytes to 16 MiB.
const POWERS: std::ops::RangeInclusive<u32> = 9..=24;
/// Default size of the data to read, in bytes.
const USUAL_SIZE: u64 = 256 << 20;
/// Default time of a measurement, in milliseconds.
const USUAL_TIME_MS: u64 = 1000;
const USERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Minimum length of a run that starts cold, in multiples of the time of one pass over the file.
const PASSES: f64 = 2.5;
/// Number of cold passes over the target. The fastest one gives the device's sequential rate: interference can only
/// slow a pass down.
const COLD_PASSES: usize = 3;
/// The target must hold this many blocks for a block size to be measured.
const BLOCKS_MIN: u64 = 4;

const TIME_MAX: Nanos = Nanos::from_secs(600);

/// Parses a time like `300ms`, `2s` or `1m` into milliseconds.
pub(super) fn milliseconds(text: &str) -> Result<u64, String> {
    let time = duration(text, TimeUnit::Seconds).ok().filter(|time| (Nanos::MILLISECOND..=TIME_MAX).contains(time));
    let wrong = || format!("`{text}` is not a time from 1ms to 10m; write it like 500ms, 2s or 1m");
    time.map(|time| time.get() / 1_000_000).ok_or_else(wrong)
}

/// Measures, fits and prints. Returns the exit status.
pub(super) fn run(target: &Path, args: &ModelArgs) -> Result<u8, Failure> {
    let mut session = Session::open(&args.session)?;
    let measured = measure(target, args, &mut session);
    session.close(measured)
}

fn measure(target: &Path, args: &ModelArgs, session: &mut Session) -> Result<u8, Failure> {
    if let Some(folder) = &args.output {
        if streams::is_stdout(folder) {
            return Err(Failure::new(
                "--output: with --run it is the directory for the sweeps; the models go to standard output",
            ));
        }
        std::fs::create_dir_all(folder).map_err(|error| Failure::writing(&folder.display().to_string(), &error))?;
    }
    let mut display = session.display(Nanos::ZERO);
    let opened = open(target, args.size.unwrap_or(USUAL_SIZE), session, &mut display);
    display.clear();
    let place = match opened {
        Ok(place) => place,
        Err(cut) => return cut.saying("nothing was measured").outcome(),
    };
    let mut out = session.stdout();
    let mut bench = Bench::new(&place, args, session, display)?;
    if !args.session.streams.quiet {
        bench.text(&mut out, &bench.heading())?;
    }
    let measured = bench.all(&mut out);
    bench.display.clear();
    if let Err(cut) = measured {
        return cut.saying("what is printed above is complete; no other model was fitted").outcome();
    }
    if args.session.streams.json {
        let models = json!({ "target": bench.place.shown, "models": bench.models, "notes": bench.notes });
        out.write(&streams::document("model", models)?)?;
    }
    Ok(0)
}

/// Opens a work file that is made and filled, or a file or device that is only read.
fn open(target: &Path, size: u64, session: &mut Session, display: &mut Display) -> Result<OpenTarget, Cut> {
    let targets = vec![target.to_owned()];
    let request = SurveyRequest { targets, size: Some(size), direct: Some(true), ..SurveyRequest::default() };
    let prepared = Preparation::new(request, Reach::Whole, 0)?;
    let mut open = OpenTarget::open(&prepared.found, &prepared.request)?;
    if open.target.access != Access::Direct {
        return Err(Failure::at(target, "takes no O_DIRECT, so its device cannot be measured").into());
    }
    session.fill(&prepared, &open, display)?;
    let remarks = open.set_filled()?;
    open.remarks.extend(remarks);
    Ok(open)
}

/// The target of the sweeps, and the remarks so far.
struct Bench<'a> {
    place: &'a OpenTarget,
    args: &'a ModelArgs,
    /// Time of one measurement, in milliseconds.
    time: u64,
    path: PathBuf,
    /// Open for the whole run: the kernel drops the page cache of a block device when its last user closes it.
    _held: File,
    session: &'a mut Session,
    display: Display,
    notes: Vec<Note>,
    /// The fitted models, for `--json`.
    models: Vec<Value>,
}

/// Merges all points of a sweep into one result with one job each, so that its file can be read like any sweep.
fn merged(points: Vec<RunResult>) -> RunResult {
    let mut traffic: Option<LowestTraffic> = None;
    for one in points.iter().filter_map(|point| point.lowest_traffic.as_ref()) {
        let sum = traffic.get_or_insert_with(|| LowestTraffic { disks: one.disks.clone(), ..LowestTraffic::default() });
        sum.read_bytes += one.read_bytes;
        sum.written_bytes += one.written_bytes;
    }
    let mut points = points.into_iter();
    let mut all = points.next().unwrap_or_default();
    for (number, mut point) in (1_u32..).zip(points) {
        point.jobs.iter_mut().for_each(|job| job.echo.group = number);
        all.jobs.append(&mut point.jobs);
    }
    RunResult { lowest_traffic: traffic, devices: Vec::new(), limited_by: None, notes: Vec::new(), ..all }
}

impl<'a> Bench<'a> {
    fn new(
        place: &'a OpenTarget,
        args: &'a ModelArgs,
        session: &'a mut Session,
        display: Display,
    ) -> Result<Self, Failure> {
        let path = place.target.paths.first().cloned().unwrap_or_default();
        let held = File::open(&path).map_err(|error| Failure::at(&path, format!("cannot be opened: {error}")))?;
        let time = args.time.unwrap_or(USUAL_TIME_MS);
        let (notes, models) = (Vec::new(), Vec::new());
        Ok(Bench { place, args, time, path, _held: held, session, display, notes, models })
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
    fn all(&mut self, out: &mut Output) -> Result<(), Cut> {
        let device = self.by_size("device", ReadWay::Device)?;
        let Some(model) = costs::access_model(&costs::size_points(&device)) else {
            return Err(failed("the device's times do not grow with the block size: no line fits them"));
        };
        let shown = show::access(&model, &device).but(self.not_storage().as_ref());
        self.done(out, "device", &device, "Device: one random read, O_DIRECT", shown)?;

        let mut passes = Vec::new();
        for _ in 0..COLD_PASSES {
            passes.push(self.measure("cold pass", "pass".to_owned(), 1 << 20, 1, None, ReadWay::Cold)?);
        }
        let memory = self.by_size("memory", ReadWay::Cached)?;
        let Some(memory_model) = costs::access_model(&costs::size_points(&memory)) else {
            return Err(failed("memory's times do not grow with the block size: no line fits them"));
        };
        let shown = show::access(&memory_model, &memory);
        self.done(out, "memory", &memory, "Memory: one read in order, cached", shown)?;

        self.cold_to_cached(out, passes, &memory_model)?;

        let users = self.by_users()?;
        if let Some(law) = costs::scalability(&costs::user_points(&users)) {
            let shown = show::scaling(&law, Load::Users).but(self.not_storage().as_ref());
            self.done(out, "users", &users, "Users: random reads of 4 KiB, O_DIRECT", shown)?;
        }
        self.footer(out)
    }

    fn cold_to_cached(
        &mut self,
        out: &mut Output,
        mut points: Vec<RunResult>,
        memory: &costs::AccessModel,
    ) -> Result<(), Cut> {
        let Some(rate) = points.iter().filter_map(costs::device_rate).reduce(f64::max) else {
            return Err(failed("a cold pass over the target read nothing"));
        };
        let passes = Nanos::from_secs_f64(PASSES * measure::float(self.place.target.size) / rate);
        let time = self.time.max(passes.get().div_ceil(1_000_000));
        for size in self.sizes() {
            let title = format!("cold to cached, {}", short_size(size));
            points.push(self.measure(&title, format!("b{size}"), size, 1, Some(time), ReadWay::Cold)?);
        }
        let found = merged(points);
        let mixture = Mixture::predicted(&costs::mixture_points(&found), rate, memory);
        let title = format!(
            "From cold to cached: reads in order through the page cache for {}, predicted from cold passes and from \
             memory's costs",
            spelled(time)
        );
        self.done(out, "mixture", &found, &title, show::mixture(&mixture))
    }

    /// Why what the device seemed to do so far is not of the storage.
    fn not_storage(&self) -> Option<NotStorage> {
        self.args.session.accept.refused(&self.notes)
    }

    fn by_size(&mut self, what: &str, way: ReadWay) -> Result<RunResult, Cut> {
        let mut points = Vec::new();
        for size in self.sizes() {
            let title = format!("{what}, {}", short_size(size));
            points.push(self.measure(&title, format!("b{size}"), size, 1, Some(self.time), way)?);
        }
        Ok(merged(points))
    }

    fn by_users(&mut self) -> Result<RunResult, Cut> {
        let mut points = Vec::new();
        let block = u64::from(self.place.target.direct_multiple).max(4096);
        for users in USERS {
            let (title, name) = (format!("{users} users"), format!("u{users}"));
            points.push(self.measure(&title, name, block, users, Some(self.time), ReadWay::Device)?);
        }
        Ok(merged(points))
    }

    /// Makes one measurement. The checks see those of the device: what memory answers on purpose is known not to be a
    /// storage result.
    fn measure(
        &mut self,
        title: &str,
        name: String,
        block: u64,
        users: u32,
        time: Option<u64>,
        way: ReadWay,
    ) -> Result<RunResult, Cut> {
        if let Some(signal) = self.session.caught() {
            return Err(Cut::Signal(signal));
        }
        let plan = CostReads { name, block, users, time, way }.plan(&self.path, self.place.target.size);
        self.display.round(title.to_owned(), [Nanos::ZERO; 2], None);
        let mut run = Run::new(title, &plan);
        run.options.read_only = true;
        let mut result = self.session.execute(run, &mut self.display)?;
        if way != ReadWay::Device {
            self.session.discard(&result);
            self.session.check(title, &result)?;
            return Ok(result);
        }
        self.session.conclude(&mut result);
        self.session.check(title, &result)?;
        self.session.count(&result.notes);
        self.session.keep(&result);
        let whose = title.strip_prefix("device, ").unwrap_or(title);
        for note in remarks::shown(&result.notes) {
            self.notes.push(Note { sentence: format!("{whose}: {}", note.sentence), ..note.clone() });
        }
        Ok(result)
    }

    /// Prints a finished sweep with its model, and saves it if `--output` is given.
    fn done(
        &mut self,
        out: &mut Output,
        name: &str,
        found: &RunResult,
        title: &str,
        model: FittedModel,
    ) -> Result<(), Cut> {
        if let Some(folder) = &self.args.output {
            let text = native::write(found)?;
            Output::made(&folder.join(format!("{name}.json")))?.write(&text)?;
        }
        self.models.push(model.document);
        Ok(self.text(out, &format!("\n{title}\n{}", model.text))?)
    }

    /// Prints text for a person; nothing with `--json`.
    fn text(&self, out: &mut Output, text: &str) -> Result<(), Failure> {
        let print = || out.write(&printable::lines(text));
        if self.args.session.streams.json { Ok(()) } else { self.display.between(print) }
    }

    /// Prints the remarks about the device measurements, one per check.
    fn footer(&self, out: &mut Output) -> Result<(), Cut> {
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
        Ok(self.text(out, &text)?)
    }
}

fn failed(why: &str) -> Cut {
    Cut::Failed(Failure::new(why))
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
