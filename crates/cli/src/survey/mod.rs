//! `plumb survey`: "how fast is this disk, and is that true?".
//!
//! Creates work files (or reads devices), runs a suite of tests, checks each result, and prints a table and two
//! sentences. The crate `survey` defines the tests; this module runs, observes, saves and prints them.

mod args;
mod autosave;
mod conclusions;
mod dry_run;
mod fio_sh;
mod knee;
mod progress;
mod read_only_target;
mod remarks;
mod save;
mod session;
mod table;

use crate::failure::Failure;
use crate::limited_by;
use crate::output::Output;
pub(crate) use args::Args;
pub(crate) use fio_sh::run as run_fio_sh;
use formats::printable;
pub(crate) use knee::{Ended, find as find_knee};
use measure::Nanos;
pub(crate) use read_only_target::filled_place;
use session::{Findings, Session};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use survey::FoundTarget;
pub(crate) use survey::OpenTarget;
use survey::{Access, Estimate, Kind, Suite, SurveyRequest, TargetKind, TestTime, WarmUp};
use sys::processes::signals::Watch;
use table::Row;

/// Measuring time per test with `--quick`.
const QUICK_TIME: Nanos = Nanos::from_secs(4);
const USUAL_TIME: Nanos = Nanos::from_secs(30);
/// The default warm-up is the measuring time divided by this.
const WARM_UP_PART: u64 = 10;

/// A survey to run, with the results of earlier tests if it is resumed.
struct Order {
    request: SurveyRequest,
    done: HashMap<String, model::RunResult>,
    output: Option<PathBuf>,
    fill: Fill,
    reach: Reach,
}

/// Extent of sweeps over users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reach {
    /// All levels.
    #[default]
    Whole,
    /// Until more users do not increase the throughput.
    UntilGrowthEnds,
}

/// When work files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// Only if no earlier survey kept a suitable one.
    WhereNeeded,
    /// Always.
    Always,
}

/// Called after each finished test with its row, its Plan and the equivalent fio options.
type Each<'each> = &'each mut dyn FnMut(&Row, &plan::Plan, &[(String, String)]) -> Result<(), Failure>;

/// Runs a survey. Returns 0, or 1 if a test failed, or 128 + signal if a signal interrupted it.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let order = match &args.resume {
        Some(path) => {
            let (asked, done) = save::read_earlier(path)?;
            Order {
                request: args.resumed(asked, path)?,
                done: done.into_iter().collect(),
                output: Some(path.clone()),
                fill: Fill::WhereNeeded,
                reach: Reach::Whole,
            }
        }
        None => {
            let request = args.request()?;
            Order {
                output: request.output.clone(),
                request,
                done: HashMap::new(),
                fill: Fill::WhereNeeded,
                reach: Reach::Whole,
            }
        }
    };
    if args.dry_run {
        return Output::stdout().write(&printable::lines(&outline(order.request)?)).map(|()| 0);
    }
    conduct(order, &mut |_, _, _| Ok(()))
}

/// A checked request: target inspected and tests selected, nothing written yet.
struct Prepared {
    request: SurveyRequest,
    subject: FoundTarget,
    suite: Suite,
    time: TestTime,
    warm_up: WarmUp,
    reach: Reach,
}

fn prepare(mut request: SurveyRequest) -> Result<Prepared, Failure> {
    if request.shuffle {
        request.seed = Some(request.seed.unwrap_or_else(seed_from_clock));
    }
    let mut subject = FoundTarget::look(&request)?;
    let suite = survey::suite(&request, subject.writes)?;
    subject.fit(&suite, &request)?;
    let time = match (request.time, request.quick) {
        (Some(seconds), _) => Nanos::from_secs(seconds),
        (None, true) => QUICK_TIME,
        (None, false) => USUAL_TIME,
    };
    let (warm_up, ramp) = match request.warm_up {
        Some(WarmUp::Steady) => (WarmUp::Steady, Nanos::ZERO),
        Some(WarmUp::Seconds(seconds)) => (WarmUp::Seconds(seconds), Nanos::from_secs(seconds)),
        None => (WarmUp::Seconds(0), Nanos(time.get() / WARM_UP_PART)),
    };
    Ok(Prepared { request, subject, suite, time: TestTime { ramp, time }, warm_up, reach: Reach::Whole })
}

fn seed_from_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Below 2^53, so that every JSON reader can represent the seed exactly.
    u64::from(now.subsec_nanos()) ^ now.as_secs()
}

fn outline(request: SurveyRequest) -> Result<String, Failure> {
    let prepared = prepare(request)?;
    let Prepared { request, subject, suite, time, warm_up, .. } = &prepared;
    session::check(suite, &subject.outlined(request), *time)?;
    let outline = Estimate::of(&suite.tests, *time, subject.prepared_bytes(request));
    Ok(dry_run::render(subject, suite, *time, *warm_up, &outline))
}

/// Runs a survey, calls `each` after every test, then saves and prints the results.
fn conduct(order: Order, each: Each<'_>) -> Result<u8, Failure> {
    let signals = Watch::begin().map_err(|error| Failure::new(error.to_string()))?;
    let mut out = Output::stdout();
    let Order { request, done, output, fill, reach } = order;
    let mut prepared = Prepared { reach, ..prepare(request)? };
    session::check(&prepared.suite, &prepared.subject.outlined(&prepared.request), prepared.time)?;
    let mut file = save::ResultFile::reserve(output.as_deref(), prepared.request.output_dir.as_deref())?;
    let mut place = OpenTarget::open(&prepared.subject, &prepared.request)?;
    session::check(&prepared.suite, &place.target, prepared.time)?;
    if fill == Fill::Always {
        place.work_files.iter_mut().try_for_each(survey::WorkFile::forget)?;
    }
    settle(&mut prepared, &place);
    out.write(&printable::lines(&heading(&place, &prepared, done.len())))?;
    let mut session = Session::new(&prepared, done, &signals);
    let mut found = session.measure_all(&mut place, &mut file, each);
    session.clear();
    sort(&mut found.rows, &prepared.request, prepared.subject.writes);
    let sentences = match reach {
        Reach::Whole => conclusions::of(&found.rows),
        Reach::UntilGrowthEnds => knee::conclusions(&found.rows),
    };
    // Save before printing: a closed pipe would end the command.
    let saved = save_all(&mut file, (&place, &prepared), &found, &sentences);
    out.write(&report(&place, &prepared.suite, &found, &sentences))?;
    out.write(&printable::lines(&saved?))?;
    found.failure.take().map_or_else(|| Ok(status(&found, &prepared.request)), Err)
}

/// Saves the results, if there are any. Returns the text to print about it.
fn save_all(
    file: &mut save::ResultFile,
    (place, prepared): (&OpenTarget, &Prepared),
    found: &Findings,
    sentences: &[String],
) -> Result<String, Failure> {
    if found.rows.is_empty() && found.under_way.is_none() {
        return Ok(String::new());
    }
    let whole = prepared.reach == Reach::UntilGrowthEnds;
    let planned = if whole { found.rows.len() } else { prepared.suite.tests.len() };
    let mut survey = save::Survey::of(place, &prepared.request, planned, &found.rows);
    if let Some(row) = &found.under_way {
        survey = survey.and_under_way(row);
    }
    let path = file.write(&survey.ended(sentences, found.signal))?;
    let shown = path.display();
    let mut text = format!("\n{}Result: {shown}\n", crate::report::after_survey(path));
    if found.rows.len() < planned {
        text.push_str(&format!("Go on with: plumb survey --resume {shown}\n"));
        if found.under_way.is_some() {
            text.push_str("This measures the interrupted test again.\n");
        }
    }
    Ok(text)
}

/// Fixes the values in the request that a resumed survey must not determine again.
fn settle(prepared: &mut Prepared, place: &OpenTarget) {
    let request = &mut prepared.request;
    request.size = Some(place.target.size);
    request.time = Some(prepared.time.time.get() / 1_000_000_000);
    request.direct = Some(place.target.access == Access::Direct);
    for path in &mut request.targets {
        *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
    }
}

/// Sorts rows into the order of the suite, whatever order they ran in.
fn sort(rows: &mut [Row], request: &SurveyRequest, writes: survey::Writes) {
    let plain = SurveyRequest { shuffle: false, ..request.clone() };
    let Ok(suite) = survey::suite(&plain, writes) else { return };
    let once = suite.tests.len() / request.repeat.unwrap_or(1).max(1) as usize;
    let places: HashMap<String, (usize, u32)> =
        suite.tests.iter().enumerate().map(|(at, test)| (test.key(), (at % once.max(1), test.round))).collect();
    rows.sort_by_key(|row| places.get(&row.test.key()).copied());
}

fn status(found: &Findings, request: &SurveyRequest) -> u8 {
    let failed = found.rows.iter().any(|row| row.result.jobs.iter().any(|job| job.error.is_some()));
    let status = found.signal.map_or(u8::from(failed), |signal| u8::try_from(128 + signal).unwrap_or(128));
    let strict = |status, row: &Row| crate::remarks::strict_status(status, &row.result.notes);
    if request.strict { found.rows.iter().fold(status, strict) } else { status }
}

fn heading(place: &OpenTarget, prepared: &Prepared, done: usize) -> String {
    let access = match place.target.access {
        Access::Direct => "O_DIRECT",
        Access::Buffered => "through the page cache",
    };
    let (suite, time) = (&prepared.suite, prepared.time);
    let before = match prepared.warm_up {
        WarmUp::Steady => " once it is steady".to_owned(),
        WarmUp::Seconds(_) if time.ramp == Nanos::ZERO => String::new(),
        WarmUp::Seconds(_) => format!(" after {} s of warm-up", time.ramp.as_secs_f64()),
    };
    let engine =
        if suite.engine == plan::DEFAULT_ENGINE { String::new() } else { format!(", engine {}", suite.engine) };
    let what = format!(
        "Survey of {}: {}, {access}{engine}, {} of {} s{before}.",
        place.shown,
        place.describe(),
        counted(suite.tests.len()),
        time.time.as_secs_f64()
    );
    let mut text = remarks::wrapped(&what, "");
    if done > 0 {
        text.push_str(&remarks::wrapped(&format!("Going on: finished before: {}.", counted(done)), ""));
    }
    if suite.tests.iter().any(|test| place.target.access == Access::Direct && test.goes_through_cache(&place.target)) {
        let multiple = place.target.direct_multiple;
        let why = format!("Note: log writes below {multiple} bytes go through the page cache, O_DSYNC empties it.");
        text.push_str(&remarks::wrapped(&why, ""));
    }
    for remark in &place.remarks {
        text.push_str(&remarks::wrapped(&format!("Note: {remark}."), ""));
    }
    text
}

fn counted(tests: usize) -> String {
    if tests == 1 { "1 test".to_owned() } else { format!("{tests} tests") }
}

fn report(place: &OpenTarget, suite: &Suite, found: &Findings, sentences: &[String]) -> String {
    let mut text = String::new();
    if let Some(signal) = found.signal {
        text.push_str(&format!("Cut short by signal {signal}; "));
        text.push_str(if found.rows.is_empty() { "no test was finished.\n" } else { "these tests were finished:\n" });
    }
    if let Some(row) = &found.under_way {
        let kept = format!("The test under way, {}, is kept with what it found until then.", row.test.describe());
        text.push_str(&printable::lines(&remarks::wrapped(&kept, "")));
    }
    if found.rows.is_empty() {
        return text;
    }
    text.push('\n');
    text.push_str(&table::render(&found.rows));
    text.push('\n');
    text.push_str(&remarks::render(&found.rows));
    if !suite.left_out.is_empty() {
        let named = |kind: &Kind| if *kind == Kind::Mixed { "mixes" } else { "log writes" };
        let kinds = suite.left_out.iter().map(named).collect::<Vec<_>>().join(" and ");
        let kinds = format!("{}{}", kinds[..1].to_uppercase(), &kinds[1..]);
        let instead = match place.target.kind {
            TargetKind::Device => "they would overwrite the device; survey a directory on it, or see --overwrite",
            _ => "they would overwrite the file; survey a directory",
        };
        text.push_str(&remarks::wrapped(&format!("{kinds}: skipped, {instead}."), ""));
        text.push('\n');
    }
    for line in limits(&found.rows) {
        text.push_str(&remarks::wrapped(&line, "  "));
    }
    if let Some(spread) = conclusions::spread(&found.rows) {
        text.push_str(&remarks::wrapped(&spread, "  "));
    }
    for sentence in sentences {
        text.push_str(&remarks::wrapped(sentence, ""));
    }
    text
}

/// The limiting resource of each kind of test, at its heaviest load.
fn limits(rows: &[Row]) -> Vec<String> {
    let heaviest = |row: &&Row| !rows.iter().any(|one| one.test.is_like(&row.test) && one.test.users > row.test.users);
    let mut titles = Vec::new();
    let lines = rows.iter().filter(heaviest).filter_map(|row| {
        // Of several rows with the same number of users, the first one represents the kind.
        if titles.contains(&row.test.title()) {
            return None;
        }
        titles.push(row.test.title());
        let line = limited_by::line_of(&row.result)?;
        let users = if row.test.users == 1 { "1 user".to_owned() } else { format!("{} users", row.test.users) };
        Some(printable::lines(&format!("Of {} with {users}: {line}.", row.test.title())).into_owned())
    });
    lines.collect()
}

/// The default directory for results.
fn here() -> &'static Path {
    Path::new(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_measuring_ends_within_forty_seconds() {
        let request = SurveyRequest { quick: true, targets: vec!["/tmp".into()], ..SurveyRequest::default() };
        let prepared = prepare(SurveyRequest { size: Some(16 << 20), ..request }).unwrap();
        let all = prepared.time.total().get() * prepared.suite.tests.len() as u64;
        assert!(all <= Nanos::from_secs(40).get(), "{all} ns");
    }
}
