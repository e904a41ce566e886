//! `plumb knee --iozone`: throughput tests with a rising number of children, until the throughput stops growing.

use super::iozone_run::IozoneRun;
use super::iozone_run::PassError;
use super::json_report;
use super::throughput::run_test;
use crate::failure::Failure;
use crate::output::Output;
use crate::safe_files::AtomicFile;
use crate::streams::{Streams, is_stdout};
use analysis::growth_ends;
use iozone::{Mode, PassFailure, Settings, Sizes, Unit, throughput_tests};
use measure::text;
use serde_json::json;
use session::Session;
use session::arguments::SessionArgs;
use session::keep::{KeepPolicy, keep_file};
use std::path::{Path, PathBuf};
use survey::Knee;

/// Default for the largest number of children, without -t or -u.
const MOST: u32 = 256;

/// The sweep of one test with one record size: numbers of children and their total throughput.
struct Curve {
    title: &'static str,
    record_kb: u64,
    levels: Vec<(u32, f64)>,
    /// Levels whose numbers are not of the storage, with the check that says so.
    refused: Vec<(u32, String)>,
}

impl Curve {
    fn is_over(&self) -> bool {
        let rates: Vec<f64> = self.levels.iter().map(|&(_, rate)| rate).collect();
        growth_ends(&rates).is_some()
    }
}

/// Destination of the results.
struct Places {
    /// The file; `None` if there is none (`-o -`).
    file: Option<PathBuf>,
    /// True if standard output is for the results alone.
    prints: bool,
}

impl Places {
    fn of(output: Option<&Path>, streams: &Streams) -> Result<Places, Failure> {
        let file = match output {
            Some(path) if is_stdout(path) => return Ok(Places { file: None, prints: true }),
            Some(path) => path.to_owned(),
            None => AtomicFile::numbered(Path::new(""), "plumb-knee")?.path().to_owned(),
        };
        json_report::check(&file)?;
        Ok(Places { file: Some(file), prints: streams.json })
    }

    fn save(&self, run: &IozoneRun<'_>, sentences: &[String]) -> Result<(), Failure> {
        if !run.json_report.has_tests() {
            return Ok(());
        }
        let more = || json!({ "target": { "path": "iozone" }, "sentences": sentences });
        let standard_output = self.prints.then_some(Path::new("-"));
        for path in self.file.as_deref().into_iter().chain(standard_output) {
            run.json_report.save(path, &run.command, more())?;
        }
        Ok(())
    }
}

/// Runs the tests with rising numbers of children. Returns the exit status.
pub(crate) fn find(words: &[String], output: Option<&Path>, args: &SessionArgs) -> Result<u8, Failure> {
    let settings = match iozone::read("iozone", words) {
        Ok(settings) => with_levels(settings)?,
        Err(refusal) => return super::refuse(refusal),
    };
    let args = match (settings.session.is_empty(), args.given()) {
        (true, _) => args.clone(),
        (false, None) => SessionArgs { streams: args.streams.clone(), ..SessionArgs::of_words(&settings.session)? },
        (false, Some(option)) => {
            let other = &settings.session[0];
            return Err(Failure::new(format!("knee --iozone: give {option} and {other} both before --iozone")));
        }
    };
    if args.no_calibrate {
        return Err(Failure::new("knee --iozone: --no-calibrate has no effect: passes of iozone are not calibrated"));
    }
    let mut session = super::session(&settings, args)?;
    let done = find_in(&settings, output, &mut session);
    session.close(done)
}

fn find_in(settings: &Settings, output: Option<&Path>, session: &mut Session) -> Result<u8, Failure> {
    let args = session.args().clone();
    let places = Places::of(output, &args.streams)?;
    args.publish.check_stdout(places.prints.then_some("--json, -o -"))?;
    let command = format!("plumb knee --iozone {}", settings.words.join(" "));
    let out = if places.prints || args.publish.prints() { Output::nowhere() } else { Output::stdout() };
    let mut run = IozoneRun::new(settings, command, out, session);
    run.saves = true;
    let mut curves: Vec<Curve> = Vec::new();
    run.write(&head(settings))?;
    let records = if settings.records_kb.is_empty() { vec![Settings::RECORD_KB] } else { settings.records_kb.clone() };
    let mut failed = None;
    for record_kb in records {
        failed = sweep(&mut run, record_kb, &mut curves)?;
        if failed.is_some() {
            break;
        }
    }
    let sentences = sentences(&curves, settings.unit);
    places.save(&run, &sentences)?;
    run.write(&formats::printable::lines(&ending(&sentences, &places, &args.streams)))?;
    if let Some(path) = places.file.as_deref().filter(|_| failed.is_none() && run.json_report.has_tests()) {
        let kept = keep_file(path, &args.store, KeepPolicy::Unasked);
        run.write(if args.streams.quiet { "" } else { &kept })?;
    }
    if let Some(failure) = failed {
        return run.fail(&failure);
    }
    run.files.clean(settings);
    run.finish(0)
}

/// The sentences below the table, and the name of the file.
fn ending(sentences: &[String], places: &Places, streams: &Streams) -> String {
    let mut text = String::from("\n");
    sentences.iter().for_each(|sentence| text.push_str(&format!("{sentence}\n")));
    if let Some(path) = places.file.as_deref().filter(|_| !streams.quiet) {
        text.push_str(&format!("\nResult: {}\n", path.display()));
    }
    text
}

/// Replaces the numbers of children in the settings by 1, 2, 4 and so on.
fn with_levels(mut settings: Settings) -> Result<Settings, Failure> {
    let wrong = |why: &str| Err(Failure::new(format!("knee --iozone: {why}")));
    if settings.mode == Mode::Auto {
        return wrong("-a is a matrix of one child; leave it out, several -r are several sweeps");
    }
    if settings.unit == Unit::Microseconds {
        return wrong("-N is not of throughput tests; -O counts operations");
    }
    if settings.file.is_some() {
        return wrong("-f is the file of a single worker; -F names a file for each child");
    }
    if let Some((_, why)) = settings.foreign_conflict() {
        return wrong(why.trim_end());
    }
    if settings.sizes_kb.len() > 1 {
        return wrong("one -s: the sweep is over children and, with several -r, over records");
    }
    let (least, most) = match (settings.bounds, settings.children.iter().max()) {
        (Some(bounds), _) => bounds,
        (None, Some(&most)) => (1, most),
        (None, None) => (1, MOST),
    };
    settings.mode = Mode::Throughput;
    settings.children = survey::doubling(least, most);
    Ok(settings)
}

fn head(settings: &Settings) -> String {
    let unit = if settings.unit == Unit::Operations { "operations/s" } else { "kB/s" };
    format!("{:>9} {:>9}  {:<20} {:>15}\n", "children", "record kB", "test", unit)
}

/// Sweeps one record size until no test grows any more. Returns the failure of a pass, if any.
fn sweep(run: &mut IozoneRun<'_>, record_kb: u64, all: &mut Vec<Curve>) -> Result<Option<PassFailure>, Failure> {
    let settings = run.settings;
    let size_kb = settings.sizes_kb.first().copied().unwrap_or(Settings::SIZE_KB);
    let tests = || throughput_tests(settings).filter(|test| !(test.retest && settings.no_retest));
    let from = all.len();
    all.extend(tests().map(|test| Curve { title: test.title, record_kb, levels: Vec::new(), refused: Vec::new() }));
    for &count in &settings.children {
        let file_kb = if settings.divides { size_kb / u64::from(count.max(1)) } else { size_kb };
        for (test, at) in tests().zip(from..) {
            let figures = match run_test(run, test, count, Sizes { file_kb, record_kb }) {
                Ok(figures) => figures,
                Err(PassError::Pass(failure)) => return Ok(Some(failure)),
                Err(PassError::Program(failure)) => return Err(failure),
            };
            let rate = figures.together();
            run.write(&format!("{count:>9} {record_kb:>9}  {:<20} {rate:>15.0}\n", test.title))?;
            all[at].levels.push((count, rate));
            all[at].refused.extend(run.refused_by.take().map(|check| (count, check)));
        }
        run.settle()?;
        if all[from..].iter().all(Curve::is_over) {
            break;
        }
    }
    Ok(None)
}

fn sentences(curves: &[Curve], unit: Unit) -> Vec<String> {
    let shown = |rate: f64| match unit {
        Unit::Operations => format!("{} operations/s", text::number(rate)),
        Unit::Rate | Unit::Microseconds => format!("{} MiB/s", text::number(rate / 1024.0)),
    };
    let mut sentences = Vec::new();
    for curve in curves {
        let said = Knee::conclusion(&curve.levels, &curve.refused, "thread", &shown);
        sentences.extend(said.map(|said| format!("{} of {}k: {said}.", curve.title, curve.record_kb)));
    }
    sentences
}
