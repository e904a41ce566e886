//! `plumb survey`: "how fast is this disk, and is that true?".
//!
//! Makes work files of its own (or reads devices), runs a suite of tests, judges each result and says in a table and
//! two sentences what was found. What the tests are, `survey` knows; here they are run, watched, saved and shown.

mod args;
mod conclusions;
mod consent;
mod dry_run;
mod fio_sh;
mod knee;
mod lent;
mod meanwhile;
mod progress;
mod remarks;
mod save;
mod session;
mod table;
mod target;
mod work_file;

use crate::failure::Failure;
use crate::limit;
use crate::output::Output;
pub(crate) use args::Args;
pub(crate) use fio_sh::run as run_fio_sh;
use formats::printable;
pub(crate) use knee::{Ended, find as find_knee};
pub(crate) use lent::filled_place;
use measure::Nanos;
use session::{Findings, Session};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use survey::{Access, Kind, Nature, Outline, Pace, Suite, WarmUp, Wishes};
use sys::signals::Watch;
use table::Row;
pub(crate) use target::Place;
use target::Subject;

/// Measuring time per test with `--quick`.
const QUICK_TIME: Nanos = Nanos::from_secs(4);
/// Where /proc and /sys are read.
const SYSTEM_ROOT: &str = "/";
const USUAL_TIME: Nanos = Nanos::from_secs(30);
/// The warm-up is this part of the measuring time unless it is given.
const WARM_UP_PART: u64 = 10;

/// What is to be done, and what of it was done before.
struct Order {
    wishes: Wishes,
    done: HashMap<String, model::RunResult>,
    output: Option<PathBuf>,
    fill: Fill,
    reach: Reach,
}

/// How far sweeps over users go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reach {
    /// To their last level.
    #[default]
    Whole,
    /// Until more users bring nothing.
    UntilGrowthEnds,
}

/// When a work file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// Unless an earlier survey kept one that fits.
    WhereNeeded,
    /// Always.
    Anew,
}

/// Told of each finished test with its Plan and fio's words for it.
type Each<'each> = &'each mut dyn FnMut(&Row, &job::Plan, &[(String, String)]) -> Result<(), Failure>;

/// Runs a survey; 0, 1 when a test failed, or 128 + signal when a signal cut it short.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let order = match &args.resume {
        Some(path) => {
            let (asked, done) = save::read_earlier(path)?;
            Order {
                wishes: args.resumed(asked, path)?,
                done: done.into_iter().collect(),
                output: Some(path.clone()),
                fill: Fill::WhereNeeded,
                reach: Reach::Whole,
            }
        }
        None => {
            let wishes = args.wishes()?;
            Order {
                output: wishes.output.clone(),
                wishes,
                done: HashMap::new(),
                fill: Fill::WhereNeeded,
                reach: Reach::Whole,
            }
        }
    };
    if args.dry_run {
        return Output::stdout().write(&printable::lines(&outline(order.wishes)?)).map(|()| 0);
    }
    conduct(order, &mut |_, _, _| Ok(()))
}

/// What the wishes come to: looked up, nothing touched.
struct Prepared {
    wishes: Wishes,
    subject: Subject,
    suite: Suite,
    pace: Pace,
    warm_up: WarmUp,
    reach: Reach,
}

fn prepare(mut wishes: Wishes) -> Result<Prepared, Failure> {
    if wishes.shuffle {
        wishes.seed = Some(wishes.seed.unwrap_or_else(seed_from_clock));
    }
    let mut subject = Subject::look(&wishes)?;
    let suite = survey::suite(&wishes, subject.writes).map_err(Failure::new)?;
    subject.fit(&suite, &wishes)?;
    let time = match (wishes.time, wishes.quick) {
        (Some(seconds), _) => Nanos::from_secs(seconds),
        (None, true) => QUICK_TIME,
        (None, false) => USUAL_TIME,
    };
    let (warm_up, ramp) = match wishes.warm_up {
        Some(WarmUp::Steady) => (WarmUp::Steady, Nanos::ZERO),
        Some(WarmUp::Seconds(seconds)) => (WarmUp::Seconds(seconds), Nanos::from_secs(seconds)),
        None => (WarmUp::Seconds(0), Nanos(time.get() / WARM_UP_PART)),
    };
    Ok(Prepared { wishes, subject, suite, pace: Pace { ramp, time }, warm_up, reach: Reach::Whole })
}

fn seed_from_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // In the result as a number that every reader of JSON can hold.
    u64::from(now.subsec_nanos()) ^ now.as_secs()
}

fn outline(wishes: Wishes) -> Result<String, Failure> {
    let prepared = prepare(wishes)?;
    let Prepared { wishes, subject, suite, pace, warm_up, .. } = &prepared;
    session::check(suite, &subject.outlined(wishes), *pace)?;
    let outline = Outline::of(&suite.tests, *pace, subject.prepared_bytes(wishes));
    Ok(dry_run::render(subject, suite, *pace, *warm_up, &outline))
}

/// Runs the order, tells each test's end, saves and shows what was found.
fn conduct(order: Order, each: Each<'_>) -> Result<u8, Failure> {
    let signals = Watch::begin().map_err(|error| Failure::new(error.to_string()))?;
    let mut out = Output::stdout();
    let Order { wishes, done, output, fill, reach } = order;
    let mut prepared = Prepared { reach, ..prepare(wishes)? };
    session::check(&prepared.suite, &prepared.subject.outlined(&prepared.wishes), prepared.pace)?;
    let mut file = save::ResultFile::reserve(output.as_deref(), prepared.wishes.output_dir.as_deref())?;
    let mut place = Place::open(&prepared.subject, &prepared.wishes)?;
    session::check(&prepared.suite, &place.target, prepared.pace)?;
    if fill == Fill::Anew {
        place.work_files.iter_mut().try_for_each(work_file::WorkFile::forget)?;
    }
    settle(&mut prepared, &place);
    out.write(&printable::lines(&heading(&place, &prepared, done.len())))?;
    let mut session = Session::new(&prepared, done, &signals);
    let mut found = session.measure_all(&mut place, &mut file, each);
    session.clear();
    sort(&mut found.rows, &prepared.wishes, prepared.subject.writes);
    let sentences = match reach {
        Reach::Whole => conclusions::of(&found.rows),
        Reach::UntilGrowthEnds => knee::conclusions(&found.rows),
    };
    // Saved before it is shown: whoever reads us may be gone.
    let saved = save_all(&mut file, (&place, &prepared), &found, &sentences);
    out.write(&report(&place, &prepared.suite, &found, &sentences))?;
    out.write(&printable::lines(&saved?))?;
    found.failure.take().map_or_else(|| Ok(status(&found, &prepared.wishes)), Err)
}

/// Writes what was found, where anything was; what to tell of it.
fn save_all(
    file: &mut save::ResultFile,
    (place, prepared): (&Place, &Prepared),
    found: &Findings,
    sentences: &[String],
) -> Result<String, Failure> {
    if found.rows.is_empty() && found.under_way.is_none() {
        return Ok(String::new());
    }
    let whole = prepared.reach == Reach::UntilGrowthEnds;
    let planned = if whole { found.rows.len() } else { prepared.suite.tests.len() };
    let mut survey = save::Survey::of(place, &prepared.wishes, planned, &found.rows);
    if let Some(row) = &found.under_way {
        survey = survey.and_under_way(row);
    }
    let path = file.write(&survey.ended(sentences, found.signal))?;
    let shown = path.display();
    let mut told = format!("\n{}Result: {shown}\n", crate::report::after_survey(path));
    if found.rows.len() < planned {
        told.push_str(&format!("Go on with: plumb survey --resume {shown}\n"));
        if found.under_way.is_some() {
            told.push_str("This measures the test under way anew.\n");
        }
    }
    Ok(told)
}

/// What going on with this survey must not decide anew.
fn settle(prepared: &mut Prepared, place: &Place) {
    let wishes = &mut prepared.wishes;
    wishes.size = Some(place.target.size);
    wishes.time = Some(prepared.pace.time.get() / 1_000_000_000);
    wishes.direct = Some(place.target.access == Access::Direct);
    for path in &mut wishes.targets {
        *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
    }
}

/// In the order of the tests, whatever order they ran in.
fn sort(rows: &mut [Row], wishes: &Wishes, writes: survey::Writes) {
    let plain = Wishes { shuffle: false, ..wishes.clone() };
    let Ok(suite) = survey::suite(&plain, writes) else { return };
    let once = suite.tests.len() / wishes.repeat.unwrap_or(1).max(1) as usize;
    let places: HashMap<String, (usize, u32)> =
        suite.tests.iter().enumerate().map(|(at, test)| (test.key(), (at % once.max(1), test.round))).collect();
    rows.sort_by_key(|row| places.get(&row.test.key()).copied());
}

fn status(found: &Findings, wishes: &Wishes) -> u8 {
    let failed = found.rows.iter().any(|row| row.result.jobs.iter().any(|job| job.error.is_some()));
    let status = found.signal.map_or(u8::from(failed), |signal| u8::try_from(128 + signal).unwrap_or(128));
    let strict = |status, row: &Row| crate::remarks::strict_status(status, &row.result.notes);
    if wishes.strict { found.rows.iter().fold(status, strict) } else { status }
}

fn heading(place: &Place, prepared: &Prepared, done: usize) -> String {
    let access = match place.target.access {
        Access::Direct => "O_DIRECT",
        Access::Buffered => "through the page cache",
    };
    let (suite, pace) = (&prepared.suite, prepared.pace);
    let before = match prepared.warm_up {
        WarmUp::Steady => " once it is steady".to_owned(),
        WarmUp::Seconds(_) if pace.ramp == Nanos::ZERO => String::new(),
        WarmUp::Seconds(_) => format!(" after {} s of warm-up", pace.ramp.as_secs_f64()),
    };
    let engine = if suite.engine == "psync" { String::new() } else { format!(", engine {}", suite.engine) };
    let what = format!(
        "Survey of {}: {}, {access}{engine}, {} of {} s{before}.",
        place.shown,
        place.describe(),
        counted(suite.tests.len()),
        pace.time.as_secs_f64()
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

fn report(place: &Place, suite: &Suite, found: &Findings, sentences: &[String]) -> String {
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
        let instead = match place.target.nature {
            Nature::Device => "they would overwrite the device; survey a directory on it, or see --overwrite",
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

/// What held back the heaviest load of each kind.
fn limits(rows: &[Row]) -> Vec<String> {
    let heaviest = |row: &&Row| !rows.iter().any(|one| one.test.is_like(&row.test) && one.test.users > row.test.users);
    let mut told = Vec::new();
    let lines = rows.iter().filter(heaviest).filter_map(|row| {
        // Of several levels with as many users the first speaks for the kind.
        if told.contains(&row.test.title()) {
            return None;
        }
        told.push(row.test.title());
        let line = limit::line_of(&row.result)?;
        let users = if row.test.users == 1 { "1 user".to_owned() } else { format!("{} users", row.test.users) };
        Some(printable::lines(&format!("Of {} with {users}: {line}.", row.test.title())).into_owned())
    });
    lines.collect()
}

/// The directory that holds results when none is named.
fn here() -> &'static Path {
    Path::new(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_measuring_ends_within_forty_seconds() {
        let wishes = Wishes { quick: true, targets: vec!["/tmp".into()], ..Wishes::default() };
        let prepared = prepare(Wishes { size: Some(16 << 20), ..wishes }).unwrap();
        let all = prepared.pace.total().get() * prepared.suite.tests.len() as u64;
        assert!(all <= Nanos::from_secs(40).get(), "{all} ns");
    }
}
