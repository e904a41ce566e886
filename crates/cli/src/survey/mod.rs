//! `plumb survey`: "how fast is this disk, and is that true?".
//!
//! Creates work files (or reads devices), runs a suite of tests, checks each result, and prints a table and two
//! sentences. The crate `survey` defines the tests; this module runs, observes, saves and prints them.

mod args;
mod autosave;
mod dry_run;
mod fio_sh;
mod measure;
mod progress;
mod read_only_target;
mod remarks;
mod save;
mod table;

use crate::failure::{Failure, signal_status};
use crate::output::Output;
use ::measure::Nanos;
pub(crate) use args::{IoArgs, Numbers, SurveyArgs, tests_named};
pub(crate) use fio_sh::run as run_fio_sh;
use formats::printable;
use measure::{Findings, SurveyRun, check};
pub(crate) use read_only_target::filled_target;
use remarks::Extent;
use std::collections::HashMap;
use std::path::PathBuf;
use survey::{Access, FinishedTest, OpenTarget, Preparation, Reach, Suite, SurveyRequest, TestKind};
use survey::{TargetKind, WarmUp, counted};
use sys::processes::signals::Watch;

/// A survey to run, with the results of earlier tests if it is resumed.
struct SurveyOrder {
    request: SurveyRequest,
    done: HashMap<String, model::RunResult>,
    output: Option<PathBuf>,
    fill: Fill,
    reach: Reach,
    remarks: Extent,
}

impl SurveyOrder {
    fn new(request: SurveyRequest) -> Self {
        let output = request.output.clone();
        SurveyOrder {
            request,
            done: HashMap::new(),
            output,
            fill: Fill::WhereNeeded,
            reach: Reach::Whole,
            remarks: Extent::FirstFive,
        }
    }
}

/// When work files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// Only if no earlier survey kept a suitable one.
    WhereNeeded,
    Always,
}

/// Called after each finished test with its row, its Plan and the equivalent fio options.
type EachTest<'each> = &'each mut dyn FnMut(&FinishedTest, &plan::Plan, &[(String, String)]) -> Result<(), Failure>;

/// Runs a survey. Returns 0, or 1 if a test failed, or 128 + signal if a signal interrupted it.
pub(crate) fn run(args: &SurveyArgs) -> Result<u8, Failure> {
    let order = match &args.resume {
        Some(path) => {
            let (request, done) = save::read_earlier(path)?;
            args.check_trust(&request, path)?;
            let output = Some(path.clone());
            SurveyOrder { done: done.into_iter().collect(), output, ..SurveyOrder::new(request) }
        }
        None => SurveyOrder::new(args.request()?),
    };
    if args.dry_run {
        return Output::stdout().write(&printable::lines(&outline(order.request)?)).map(|()| 0);
    }
    let remarks = if args.remarks { Extent::All } else { Extent::FirstFive };
    conduct(SurveyOrder { remarks, ..order }, &mut |_, _, _| Ok(()))
}

/// Runs a survey over users that ends when throughput stops growing; the user counts of the request are the levels, in
/// ascending order.
pub(crate) fn find_knee(request: SurveyRequest) -> Result<u8, Failure> {
    conduct(SurveyOrder { reach: Reach::UntilGrowthEnds, ..SurveyOrder::new(request) }, &mut |_, _, _| Ok(()))
}

fn seed_from_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Below 2^53, so that every JSON reader can represent the seed exactly.
    u64::from(now.subsec_nanos()) ^ now.as_secs()
}

fn outline(request: SurveyRequest) -> Result<String, Failure> {
    let prepared = Preparation::new(request, Reach::Whole, seed_from_clock())?;
    check(&prepared, &prepared.found.outlined(&prepared.request))?;
    Ok(dry_run::render(&prepared))
}

/// Runs a survey, calls `each` after every test, then saves and prints the results.
fn conduct(order: SurveyOrder, each: EachTest<'_>) -> Result<u8, Failure> {
    let signals = Watch::begin()?;
    let mut out = Output::stdout();
    let SurveyOrder { request, done, output, fill, reach, remarks } = order;
    let mut prepared = Preparation::new(request, reach, seed_from_clock())?;
    check(&prepared, &prepared.found.outlined(&prepared.request))?;
    let mut file = save::SurveyFile::reserve(output.as_deref(), prepared.request.output_dir.as_deref())?;
    let mut open = OpenTarget::open(&prepared.found, &prepared.request)?;
    check(&prepared, &open.target)?;
    if fill == Fill::Always {
        open.work_files.iter_mut().try_for_each(survey::WorkFile::forget)?;
    }
    prepared.settle(&open);
    out.write(&printable::lines(&heading(&open, &prepared, done.len())))?;
    let mut run = SurveyRun::new(&prepared, done, &signals);
    let mut found = run.measure_all(&mut open, &mut file, each);
    run.clear();
    prepared.sort(&mut found.rows);
    let sentences = prepared.conclusions(&found.rows);
    // Save before printing: a closed pipe would end the command.
    let saved = save_all(&mut file, (&open, &prepared), &found, &sentences);
    out.write(&report((&open, &prepared.suite), &found, &sentences, remarks))?;
    out.write(&printable::lines(&saved?))?;
    found.failure.take().map_or_else(|| Ok(status(&found, &prepared.request)), Err)
}

/// Saves the results, if there are any. Returns the text to print about it.
fn save_all(
    file: &mut save::SurveyFile,
    (open, prepared): (&OpenTarget, &Preparation),
    found: &Findings,
    sentences: &[String],
) -> Result<String, Failure> {
    if found.rows.is_empty() && found.under_way.is_none() {
        return Ok(String::new());
    }
    // A sweep that ended early is complete.
    let planned = match prepared.reach {
        Reach::Whole => prepared.suite.tests.len(),
        Reach::UntilGrowthEnds => found.rows.len(),
    };
    let mut survey = save::SavedSurvey::of(open, &prepared.request, planned, &found.rows);
    if let Some(row) = &found.under_way {
        survey = survey.and_under_way(row);
    }
    let path = file.write(&survey.ended(sentences, found.signal))?;
    let shown = path.display();
    let mut text = format!("\n{}Result: {shown}\n", crate::report::after_survey(path));
    if found.rows.len() < planned {
        text.push_str(&format!("Continue with: plumb survey --resume {shown}\n"));
        if found.under_way.is_some() {
            text.push_str("This measures the interrupted test again.\n");
        }
    }
    Ok(text)
}

fn status(found: &Findings, request: &SurveyRequest) -> u8 {
    let failed = found.rows.iter().any(|row| row.result.jobs.iter().any(|job| job.error.is_some()));
    let status = found.signal.map_or(u8::from(failed), signal_status);
    let Some(strict) = &request.strict else { return status };
    let after = |status, row: &FinishedTest| crate::remarks::strict_status(status, strict, &row.result.notes);
    found.rows.iter().fold(status, after)
}

fn heading(open: &OpenTarget, prepared: &Preparation, done: usize) -> String {
    let access = match open.target.access {
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
        open.shown,
        open.describe(),
        counted(suite.tests.len() as u64, "test"),
        time.time.as_secs_f64()
    );
    let mut text = remarks::wrapped(&what, "");
    if done > 0 {
        text.push_str(&remarks::wrapped(&format!("Resumed: {} finished before.", counted(done as u64, "test")), ""));
    }
    if suite.tests.iter().any(|test| open.target.access == Access::Direct && test.goes_through_cache(&open.target)) {
        let multiple = open.target.direct_multiple;
        let why = format!("Note: log writes below {multiple} bytes go through the page cache, O_DSYNC empties it.");
        text.push_str(&remarks::wrapped(&why, ""));
    }
    for remark in &open.remarks {
        text.push_str(&remarks::wrapped(&format!("Note: {remark}."), ""));
    }
    text
}

fn report((open, suite): (&OpenTarget, &Suite), found: &Findings, sentences: &[String], extent: Extent) -> String {
    let mut text = String::new();
    if let Some(signal) = found.signal {
        text.push_str(&format!("Cut short by signal {signal}; "));
        text.push_str(if found.rows.is_empty() { "no test was finished.\n" } else { "these tests were finished:\n" });
    }
    if let Some(row) = &found.under_way {
        let kept = format!("The interrupted test, {}, is kept with its results so far.", row.test.describe());
        text.push_str(&printable::lines(&remarks::wrapped(&kept, "")));
    }
    if found.rows.is_empty() {
        return text;
    }
    text.push('\n');
    text.push_str(&table::render(&found.rows));
    text.push('\n');
    for sentence in sentences {
        text.push_str(&remarks::wrapped(sentence, ""));
    }
    text.push('\n');
    text.push_str(&remarks::render(&found.rows, extent));
    if !suite.left_out.is_empty() {
        let named = |kind: &TestKind| if *kind == TestKind::Mixed { "mixes" } else { "log writes" };
        let kinds = suite.left_out.iter().map(named).collect::<Vec<_>>().join(" and ");
        let kinds = format!("{}{}", kinds[..1].to_uppercase(), &kinds[1..]);
        let instead = match open.target.kind {
            TargetKind::Device => "they would overwrite the device; survey a directory on it, or see --overwrite",
            _ => "they would overwrite the file; survey a directory",
        };
        text.push_str(&remarks::wrapped(&format!("{kinds}: skipped, {instead}."), ""));
        text.push('\n');
    }
    for line in limits(&found.rows) {
        text.push_str(&remarks::wrapped(&line, "  "));
    }
    if let Some(spread) = survey::spread(&found.rows) {
        text.push_str(&remarks::wrapped(&spread, "  "));
    }
    text
}

/// The limiting resource of each kind of test, at its heaviest load.
fn limits(rows: &[FinishedTest]) -> Vec<String> {
    let heaviest =
        |row: &&FinishedTest| !rows.iter().any(|one| one.test.is_like(&row.test) && one.test.users > row.test.users);
    let mut shown_titles = Vec::new();
    let lines = rows.iter().filter(heaviest).filter_map(|row| {
        // Of several rows with the same number of users, the first one represents the kind.
        if shown_titles.contains(&row.test.title()) {
            return None;
        }
        shown_titles.push(row.test.title());
        let line = crate::remarks::limit_line(row.result.limited_by.as_ref()?);
        let users = counted(row.test.users.into(), "user");
        Some(printable::lines(&format!("Of {} with {users}: {line}.", row.test.title())).into_owned())
    });
    lines.collect()
}
