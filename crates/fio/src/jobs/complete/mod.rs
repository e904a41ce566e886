//! From a draft to the plan of a job, one file per part: defaults that depend on other options, contradictions, limits.

mod buffers;
mod depth;
mod files;
mod limits;
mod load;
mod pace;
mod place;
mod record;
mod replay;
mod verify;
mod zones;

use crate::error::{Problem, did_you_mean};
use crate::known_engines;
use crate::options::draft::Draft;
use crate::options::table::{self, Set};
use plan::{EngineSpec, JobPlan};

/// Problems and warnings found while one job is completed.
pub(crate) struct Findings<'a> {
    /// The job.
    pub draft: &'a Draft,
    /// All engines, for advice in messages.
    pub engines: &'static [EngineSpec],
    /// Reasons why the job cannot run.
    pub problems: &'a mut Vec<Problem>,
    /// Reasons for a warning.
    pub doubts: &'a mut Vec<Problem>,
}

impl Findings<'_> {
    /// Adds a reason why the job cannot run, about options that were given, and a value that would work.
    fn reject(&mut self, options: &[&str], what: impl Into<String>, help: impl Into<String>) {
        self.problems.push(about(self.draft, options, what, Some(help.into())));
    }

    /// Adds a reason for a warning, in the same way.
    fn warn(&mut self, options: &[&str], what: impl Into<String>, help: impl Into<String>) {
        self.doubts.push(about(self.draft, options, what, Some(help.into())));
    }
}

/// Returns the engine that a draft names, or the problem if plumb does not have it.
pub(crate) fn engine(draft: &Draft, engines: &'static [EngineSpec]) -> Result<&'static EngineSpec, Problem> {
    if let Some(engine) = engines.iter().find(|engine| engine.name == draft.engine) {
        return Ok(engine);
    }
    let name = &draft.engine;
    let (what, help) = match known_engines::reason(name) {
        Some(reason) => {
            let list: Vec<&str> = engines.iter().map(|engine| engine.name).collect();
            let help = known_engines::instead(name).map(str::to_owned);
            let help = help.unwrap_or_else(|| format!("plumb carries {}", list.join(", ")));
            (format!("engine {name} is refused: {reason}"), Some(help))
        }
        None => {
            let names = engines.iter().map(|engine| engine.name);
            let known = known_engines::NOT_CARRIED.iter().map(|&(known, ..)| known);
            (format!("there is no engine `{name}`"), did_you_mean(name, names.chain(known)))
        }
    };
    Err(about(draft, &["ioengine"], what, help))
}

/// A problem with options that were given; each of them is underlined.
pub(crate) fn about(draft: &Draft, options: &[&str], what: impl Into<String>, help: Option<String>) -> Problem {
    let places = options.iter().filter_map(|option| draft.places.get(*option).cloned()).collect();
    Problem { job: None, what: what.into(), help, places }
}

/// Builds the plan of a draft, except for what depends on other jobs (group, origin, options as written).
pub(crate) fn job_plan(engine: &'static EngineSpec, findings: &mut Findings<'_>) -> JobPlan {
    let draft = findings.draft;
    let load = load::plan(draft);
    pace::check(draft, findings);
    files::check(draft, engine, &load, findings);
    limits::check(draft, engine, findings);
    load::check(draft, engine, &load, findings);
    depth::check(draft, engine, findings);
    buffers::check(draft, findings);
    verify::check(draft, engine, &load, findings);
    record::check(draft, findings);
    zones::check(draft, &load, findings);
    replay::check(draft, findings);
    limits::check_latency(draft, findings);
    place::check(draft, findings);
    place::check_sharing(draft, engine, findings);
    check_effect(draft, findings);
    JobPlan {
        limits: limits::plan(draft),
        engine: engine.name,
        work: engine.capabilities.work,
        files: files::plan(draft, load.mix),
        depth: depth::plan(draft, engine, findings),
        placement: depth::placement(draft, engine, findings),
        pace: pace::plan(draft),
        latency: limits::latency(draft),
        steady: limits::steady(draft, findings),
        buffers: buffers::plan(draft),
        place: place::plan(draft),
        verify: verify::plan(draft, &load),
        replay: replay::plan(draft),
        record: record::plan(draft, engine),
        load,
        ..draft.job.clone()
    }
}

/// Warns about options that fio accepts and ignores.
fn check_effect(draft: &Draft, findings: &mut Findings<'_>) {
    for name in table::rows().filter(|row| matches!(row.set, Set::NoEffect)).map(|row| row.spec.name) {
        if draft.given(name) {
            findings.warn(&[name], format!("{name} has no effect, as in fio"), "leave it out");
        }
    }
}
