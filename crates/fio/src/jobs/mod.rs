//! From sections to the plan: applies defaults, numbers groups and checks jobs against each other.

mod apply;
pub(crate) mod complete;

use crate::error::{Place, Problem, Sources};
use crate::jobs::complete::Findings;
use crate::options::applier::{Applier, Depth, GivenOptions};
use crate::options::draft::Draft;
use crate::parser::{Parser, sort};
use crate::sections::{Assignment, Section, SectionKind};
use crate::surroundings::{Files, Surroundings};
use measure::Direction;
use plan::{EngineSpec, JobPlan, Mix, Plan, RwPattern, Workload};
use std::io;
use std::path::{Path, PathBuf};

/// Result of building the jobs.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The plan, as far as it could be built.
    pub plan: Plan,
    /// Problems that prevent a run.
    pub problems: Vec<Problem>,
    /// Problems that are warnings only.
    pub doubts: Vec<Problem>,
}

/// Builds jobs from sections.
pub(crate) struct Maker<'a> {
    pub engines: &'static [EngineSpec],
    pub surroundings: &'a Surroundings<'a>,
    pub sources: &'a Sources,
    pub read_only: bool,
    pub depth: Depth,
}

/// A job and the draft that it was built from.
struct BuiltJob {
    plan: JobPlan,
    draft: Draft,
    place: Place,
}

impl Maker<'_> {
    /// Builds the plan of all sections.
    pub(crate) fn plan(&self, sections: &[Section]) -> Outcome {
        let mut outcome = Outcome::default();
        let mut made: Vec<BuiltJob> = Vec::new();
        let mut global = Draft::default();
        let (mut scope, mut workers) = (0, 0);
        let applier = Applier { engines: self.engines, surroundings: self.surroundings, depth: self.depth };
        for section in sections {
            if section.scope != scope {
                global = Draft::default();
                scope = section.scope;
            }
            if section.kind == SectionKind::Global {
                let written = applier.apply(section, &mut global, &mut outcome.problems);
                // `name=global` is echoed once, even if the command line returns to it several times.
                let named = outcome.plan.global_options.iter().any(|(name, _)| name == "name");
                let new = written.into_iter().filter(|(name, _)| !named || name != "name");
                outcome.plan.global_options.extend(new);
                continue;
            }
            let mut draft = global.clone();
            draft.job.name.clone_from(&section.title);
            let before = outcome.problems.len();
            let written = applier.apply(section, &mut draft, &mut outcome.problems);
            name_job(&mut outcome.problems[before..], &draft.job.name);
            if self.depth == Depth::ParseOnly || outcome.problems.len() > before {
                continue;
            }
            let Some(job) = self.job(section, draft, written, &mut outcome) else { continue };
            workers += u64::from(job.plan.clones);
            if workers > MOST_WORKERS {
                // The plan is already invalid, and there may be very many sections left.
                outcome.problems.push(too_many(&job, workers));
                break;
            }
            made.push(job);
        }
        check_together(&mut made, &mut outcome.problems);
        self.open_special(&mut made);
        outcome.plan.jobs = made.into_iter().map(|job| job.plan).collect();
        outcome
    }

    /// Builds one job; `None` if its engine is unknown.
    fn job(
        &self,
        section: &Section,
        mut draft: Draft,
        written: GivenOptions,
        outcome: &mut Outcome,
    ) -> Option<BuiltJob> {
        draft.job.start.stonewall |= section.implied_stonewall;
        let problems_before = outcome.problems.len();
        let doubts_before = outcome.doubts.len();
        let engine = match complete::engine(&draft, self.engines) {
            Ok(engine) => engine,
            Err(problem) => {
                outcome.problems.push(problem.of_job(Some(&draft.job.name)));
                return None;
            }
        };
        let Outcome { problems, doubts, .. } = outcome;
        let mut findings = Findings { draft: &draft, engines: self.engines, problems, doubts };
        let mut plan = complete::job_plan(engine, &mut findings);
        if self.read_only && !matches!(plan.load.mix, Mix::Only(Direction::Read)) {
            let mut problem = Problem::bare("writes or trims, but --readonly was given", None);
            problem.places.extend(draft.places.get("rw").cloned());
            outcome.problems.push(problem);
        }
        name_job(&mut outcome.problems[problems_before..], &draft.job.name);
        name_job(&mut outcome.doubts[doubts_before..], &draft.job.name);
        plan.origin = self.sources.describe(&section.place);
        plan.written = written;
        Some(BuiltJob { plan, draft, place: section.place.clone() })
    }

    /// If the only job is named like a device and has no `filename`, its file is that device.
    fn open_special(&self, made: &mut [BuiltJob]) {
        let [job] = made else { return };
        let path = Path::new(&job.plan.name);
        let lone = job.plan.clones == 1 && job.plan.files.names.is_empty();
        if lone && !job.plan.name.is_empty() && self.surroundings.files.is_special(path) {
            job.plan.files.names = vec![PathBuf::from(path)];
        }
    }
}

/// Attributes these problems to a job.
fn name_job(problems: &mut [Problem], name: &str) {
    for problem in problems {
        problem.job = Some(name.to_owned());
    }
}

/// Maximum number of workers, as in fio; more is almost certainly a mistake.
const MOST_WORKERS: u64 = 4096;

/// Maximum number of files of all jobs; each takes memory before anything runs.
const MOST_FILES: u64 = 1 << 20;

/// Numbers the reporting groups and checks what jobs require of each other.
fn check_together(made: &mut [BuiltJob], problems: &mut Vec<Problem>) {
    let mut group = 0;
    let mut files: u64 = 0;
    for index in 0..made.len() {
        let (earlier, rest) = made.split_at_mut(index);
        let Some(job) = rest.first_mut() else { break };
        if index > 0 && (job.draft.job.start.stonewall || job.draft.new_group) {
            group += 1;
        }
        job.plan.group = group;
        let room = files <= MOST_FILES;
        files = files.saturating_add(u64::from(job.plan.clones) * u64::from(job.plan.files.count));
        if room && files > MOST_FILES {
            problems.push(too_many_files(job, files));
        }
        if let Some(name) = &job.plan.start.wait_for {
            problems.extend(wait_problem(name, job, earlier));
        }
        let before = earlier.iter().find(|other| other.plan.group == group);
        if let Some(first) = before {
            problems.extend(percentile_problem(job, first));
            problems.extend(steady_problem(job, first));
        }
    }
}

/// The problem for more than [`MOST_WORKERS`] workers.
fn too_many(job: &BuiltJob, workers: u64) -> Problem {
    let what = format!("this makes {workers} workers; {MOST_WORKERS} is the most");
    let mut problem = Problem::bare(what, Some("make numjobs smaller".to_owned())).of_job(Some(&job.plan.name));
    problem.places.push(job.draft.places.get("numjobs").unwrap_or(&job.place).clone());
    problem
}

/// The problem for more than [`MOST_FILES`] files.
fn too_many_files(job: &BuiltJob, files: u64) -> Problem {
    let what = format!("this makes {files} files; {MOST_FILES} is the most");
    let help = Some("make nrfiles or numjobs smaller".to_owned());
    let mut problem = Problem::bare(what, help).of_job(Some(&job.plan.name));
    problem.places.push(job.draft.places.get("nrfiles").unwrap_or(&job.place).clone());
    problem
}

/// wait_for must name exactly one earlier job.
fn wait_problem(name: &str, job: &BuiltJob, earlier: &[BuiltJob]) -> Option<Problem> {
    let found = earlier.iter().filter(|other| other.plan.name == name).count();
    let what = match found {
        1 => return None,
        0 if job.plan.name == name => "wait_for names the job itself".to_owned(),
        0 => format!("wait_for={name} names no earlier job"),
        count => format!("wait_for={name} names {count} jobs"),
    };
    let mut problem = Problem::bare(what, Some("name one earlier job".to_owned())).of_job(Some(&job.plan.name));
    problem.places.push(job.draft.places.get("wait_for").unwrap_or(&job.place).clone());
    Some(problem)
}

/// Jobs of one group share one steady-state criterion.
fn steady_problem(job: &BuiltJob, first: &BuiltJob) -> Option<Problem> {
    if job.plan.steady == first.plan.steady {
        return None;
    }
    let what = format!("its steadystate options differ from those of job `{}` of the same group", first.plan.name);
    let help = Some("set them in [global], or open a group with new_group".to_owned());
    let mut problem = Problem::bare(what, help).of_job(Some(&job.plan.name));
    let options = ["steadystate", "steadystate_duration", "steadystate_ramp_time", "steadystate_check_interval"];
    let given = options.iter().find_map(|option| job.draft.places.get(option));
    problem.places.push(given.unwrap_or(&job.place).clone());
    Some(problem)
}

/// Jobs that are reported together must use the same kind of latency percentiles.
fn percentile_problem(job: &BuiltJob, first: &BuiltJob) -> Option<Problem> {
    let both = job.plan.record.group_reporting && first.plan.record.group_reporting;
    if !both || job.draft.job.record.total_percentiles == first.draft.job.record.total_percentiles {
        return None;
    }
    let what = format!("lat_percentiles differs from job `{}` of the same reporting group", first.plan.name);
    let help = Some("set it in [global], or open a group with new_group".to_owned());
    let mut problem = Problem::bare(what, help).of_job(Some(&job.plan.name));
    problem.places.push(job.draft.places.get("lat_percentiles").unwrap_or(&job.place).clone());
    Some(problem)
}

/// A job, as the options in a report describe it.
#[derive(Clone, Debug)]
pub struct EchoedJob {
    /// The plan, from the options that plumb knows.
    pub plan: JobPlan,
    /// The same job in the form that a result stores.
    pub workload: Workload,
    /// The engine's name, even if plumb does not have this engine.
    pub engine: String,
}

impl Parser {
    /// Returns the job that these options describe; `own` overrides `global`. `None` if both are empty.
    pub fn echoed_job(&self, global: &[(String, String)], own: &[(String, String)]) -> Option<EchoedJob> {
        let options = || global.iter().chain(own);
        options().next()?;
        let place = Place { source: 0, span: 0..0 };
        let assign = |(name, value): &(String, String)| Assignment {
            name: name.clone(),
            // A flag without a value is echoed with an empty value.
            value: Some(value.clone()).filter(|value| !value.is_empty()),
            name_place: place.clone(),
            value_place: place.clone(),
        };
        let mut section = Section::open("", place.clone(), 0);
        section.assignments = options().map(assign).collect();
        sort(&mut section);
        let (mut draft, mut passed_over, mut doubts) = (Draft::default(), Vec::new(), Vec::new());
        let surroundings =
            Surroundings { environment: &|_| None, files: &Elsewhere, page_size: 4096, memory_mib: 0, cpus: 4096 };
        let applier = Applier { engines: self.engines, surroundings: &surroundings, depth: Depth::Complete };
        applier.apply(&section, &mut draft, &mut passed_over);
        let engine = complete::engine(&draft, self.engines).unwrap_or(&EngineSpec::UNKNOWN);
        let mut findings =
            Findings { draft: &draft, problems: &mut passed_over, doubts: &mut doubts, engines: self.engines };
        let plan = complete::job_plan(engine, &mut findings);
        Some(EchoedJob { workload: Workload::of(&plan, engine), plan, engine: draft.engine })
    }

    /// Returns the workload of a job of which only the pattern (`randread`) is reported, and the engine if that is not
    /// empty; `None` if it is not a pattern.
    pub fn echoed_pattern(&self, pattern: &str, engine: &str) -> Option<Workload> {
        let given = [("rw", pattern), ("ioengine", engine)].into_iter().filter(|(_, value)| !value.is_empty());
        let given: Vec<(String, String)> = given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        RwPattern::parse(pattern.split(':').next()?.trim())?;
        self.echoed_job(&[], &given).map(|job| Workload { is_outline: true, ..job.workload })
    }
}

/// Files of the machine where the job ran. Every file named in a value is assumed to exist; its content is unknown.
struct Elsewhere;

impl Files for Elsewhere {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(vec![0])
    }

    fn is_special(&self, _: &Path) -> bool {
        false
    }
}
