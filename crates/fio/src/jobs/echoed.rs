//! Options as a fio report echoes them, converted back to a job.
//!
//! Reports come from any version of fio, so options and values that plumb does not accept are skipped.

use crate::error::Place;
use crate::jobs::complete::{self, Findings};
use crate::options::applier::{Applier, Depth};
use crate::options::draft::Draft;
use crate::parser::{Parser, sort};
use crate::sections::{Assignment, Section};
use crate::surroundings::{Files, Surroundings};
use plan::{EngineSpec, JobPlan, RwPattern, Workload};
use std::io;
use std::path::Path;

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
