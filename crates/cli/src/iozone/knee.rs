//! `plumb knee --iozone`: throughput tests with more and more children until none of them moves more.

use super::beside;
use super::session::Session;
use super::throughput::{run_test, selected};
use crate::failure::Failure;
use crate::output::Output;
use crate::survey::Ended;
use analysis::growth_ends;
use iozone::{Mode, Refusal, Settings, Unit};
use serde_json::json;
use std::path::{Path, PathBuf};

/// As many children as are tried where no -t or -u says otherwise.
const MOST: u32 = 256;

/// The sweep of one test with one record size: children and what they moved together per second.
struct Curve {
    title: &'static str,
    record_kb: u64,
    levels: Vec<(u32, f64)>,
}

impl Curve {
    fn is_over(&self) -> bool {
        let rates: Vec<f64> = self.levels.iter().map(|&(_, rate)| rate).collect();
        growth_ends(&rates).is_some()
    }
}

/// Runs the words with rising numbers of children; the status.
pub(crate) fn find(words: &[String], output: Option<&Path>) -> Result<u8, Failure> {
    let settings = match read(words)? {
        Ok(settings) => settings,
        Err(refusal) => return super::refuse(refusal),
    };
    let path = output.map_or_else(free_name, |path| Ok(path.to_owned()))?;
    beside::check(&path)?;
    let command = format!("plumb knee --iozone {}", settings.words.join(" "));
    let mut session = Session::new(&settings, command, Output::stdout());
    session.saves = true;
    let mut curves: Vec<Curve> = Vec::new();
    session.write(&head(&settings))?;
    let records = if settings.records_kb.is_empty() { vec![Settings::RECORD_KB] } else { settings.records_kb.clone() };
    let mut failed = None;
    for record_kb in records {
        failed = sweep(&mut session, record_kb, &mut curves)?;
        if failed.is_some() {
            break;
        }
    }
    let told = sentences(&curves, settings.unit);
    if session.beside.has_tests() {
        let more = json!({ "target": { "path": "iozone" }, "sentences": told });
        session.beside.save(&path, &session.command, more)?;
    }
    let mut text = String::from("\n");
    told.iter().for_each(|sentence| text.push_str(&format!("{sentence}\n")));
    text.push_str(&format!("\nResult: {}\n", path.display()));
    session.write(&formats::printable::lines(&text))?;
    if let Some(ill) = failed {
        return session.fail(&ill);
    }
    session.files.clean(&settings);
    session.finish(0)
}

/// The words with the numbers of children in place of -t.
fn read(words: &[String]) -> Result<Result<Settings, Refusal>, Failure> {
    let mut settings = match iozone::read("iozone", words) {
        Ok(settings) => settings,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let wrong = |why: &str| Err(Failure::new(format!("knee --iozone: {why}")));
    if settings.mode == Mode::Auto {
        return wrong("-a is a matrix of one child; leave it out, several -r are several sweeps");
    }
    if settings.unit == Unit::Microseconds {
        return wrong("-N is not of throughput tests; -O counts operations");
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
    settings.children = crate::knee::levels(least, most);
    Ok(Ok(settings))
}

fn head(settings: &Settings) -> String {
    let unit = if settings.unit == Unit::Operations { "operations/s" } else { "kB/s" };
    format!("{:>9} {:>9}  {:<20} {:>15}\n", "children", "record kB", "test", unit)
}

/// One record size: up until no test grows any more; what went wrong.
fn sweep(session: &mut Session<'_>, record_kb: u64, all: &mut Vec<Curve>) -> Result<Option<super::ill::Ill>, Failure> {
    let settings = session.settings;
    let size_kb = settings.sizes_kb.first().copied().unwrap_or(Settings::SIZE_KB);
    let tests = || selected(settings).filter(|test| !(test.retest && settings.no_retest));
    let from = all.len();
    all.extend(tests().map(|test| Curve { title: test.title, record_kb, levels: Vec::new() }));
    for &count in &settings.children {
        let size_kb = if settings.divides { size_kb / u64::from(count.max(1)) } else { size_kb };
        for (test, at) in tests().zip(from..) {
            let figures = match run_test(session, *test, count, (size_kb, record_kb))? {
                Ok(figures) => figures,
                Err(ill) => return Ok(Some(ill)),
            };
            let rate = figures.together();
            session.write(&format!("{count:>9} {record_kb:>9}  {:<20} {rate:>15.0}\n", test.title))?;
            all[at].levels.push((count, rate));
        }
        session.settle()?;
        if all[from..].iter().all(Curve::is_over) {
            break;
        }
    }
    Ok(None)
}

fn sentences(curves: &[Curve], unit: Unit) -> Vec<String> {
    let shown = |rate: f64| match unit {
        Unit::Operations => format!("{} operations/s", analysis::thousands(rate)),
        Unit::Rate | Unit::Microseconds => format!("{} MiB/s", analysis::thousands(rate / 1024.0)),
    };
    let mut told = Vec::new();
    for curve in curves {
        let Some(ended) = Ended::of(&curve.levels) else { continue };
        told.push(format!("{} of {}k: {}.", curve.title, curve.record_kb, ended.sentence("threads", &shown)));
    }
    told
}

/// `plumb-knee-001.json`, or the next that is free.
fn free_name() -> Result<PathBuf, Failure> {
    let names = (1..=999_999).map(|number| PathBuf::from(format!("plumb-knee-{number:03}.json")));
    names
        .into_iter()
        .find(|path| path.symlink_metadata().is_err())
        .ok_or_else(|| Failure::new("all names up to plumb-knee-999999.json are taken; name one with --output"))
}
