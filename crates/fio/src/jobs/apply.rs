//! A job that a caller writes as plain data, with some of fio's options applied to it.
//!
//! For front ends whose jobs are fixed except for the options that a user varies. The options mean the same as in a job
//! file; the caller's data is not parsed from text.

use crate::error::{JobError, Place, Sources};
use crate::jobs::complete::{self, Findings};
use crate::options::applier::{Applier, Depth};
use crate::options::draft::Draft;
use crate::parser::Parser;
use crate::sections::{Assignment, Section};
use crate::surroundings::Surroundings;
use plan::JobPlan;

impl Parser {
    /// Applies options, as pairs of name and value, to `base` in the given order.
    ///
    /// `base` has no steady-state detection, verification or replay, and a queue that is filled to its depth. The
    /// options are appended to `written` under their main names.
    ///
    /// # Errors
    /// One problem for every option that is unknown, refused, has an invalid value or contradicts the rest of the job.
    pub fn apply(
        &self,
        base: &JobPlan,
        options: &[(String, String)],
        surroundings: &Surroundings<'_>,
    ) -> Result<JobPlan, JobError> {
        let mut sources = Sources::default();
        let section = section(&base.name, options, &mut sources);
        let mut draft = Draft::of(base.clone());
        let (mut problems, mut doubts) = (Vec::new(), Vec::new());
        let applier = Applier { engines: self.engines, surroundings, depth: Depth::Complete };
        let applied = applier.apply(&section, &mut draft, &mut problems);
        if !problems.is_empty() {
            return Err(JobError { problems, sources, wants_usage: false });
        }
        let engine = match complete::engine(&draft, self.engines) {
            Ok(engine) => engine,
            Err(problem) => return Err(JobError { problems: vec![problem], sources, wants_usage: false }),
        };
        let mut findings =
            Findings { draft: &draft, engines: self.engines, problems: &mut problems, doubts: &mut doubts };
        let mut job = complete::job_plan(engine, &mut findings);
        if !problems.is_empty() {
            return Err(JobError { problems, sources, wants_usage: false });
        }
        job.written.extend(applied);
        Ok(job)
    }
}

/// The options as if they stood on a command line, so that messages can underline the wrong one.
fn section(name: &str, options: &[(String, String)], sources: &mut Sources) -> Section {
    let mut text = String::new();
    let mut spans = Vec::new();
    for (name, value) in options {
        if !text.is_empty() {
            text.push(' ');
        }
        let start = text.len() + "--".len();
        text.push_str(&format!("--{name}={value}"));
        spans.push((start..start + name.len(), start + name.len() + 1..text.len()));
    }
    let source = sources.add(crate::error::COMMAND_LINE, text);
    let mut section = Section::open(name, Place { source, span: 0..0 }, 0);
    for ((name, value), (name_span, value_span)) in options.iter().zip(spans) {
        section.assignments.push(Assignment {
            name: name.clone(),
            value: Some(value.clone()),
            name_place: Place { source, span: name_span },
            value_place: Place { source, span: value_span },
        });
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::Files;
    use measure::Nanos;
    use plan::{Capabilities, EngineSpec, Extent, FilePlan, Limits, LoadPlan, RecordPlan, Submission, Work};
    use std::path::Path;

    const CAPABILITIES: Capabilities = Capabilities::new(Submission::Asynchronous, Work::Data);
    const ENGINES: &[EngineSpec] = &[EngineSpec { name: "libaio", help: "", capabilities: CAPABILITIES, options: &[] }];

    struct NoFiles;

    impl Files for NoFiles {
        fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::NotFound.into())
        }

        fn is_special(&self, _: &Path) -> bool {
            false
        }
    }

    fn base() -> JobPlan {
        let mut job = JobPlan::with_defaults("scan", "here", "libaio");
        job.clones = 3;
        job.written = vec![("bs".to_owned(), "8k".to_owned())];
        job.files = FilePlan {
            names: vec!["/a:b".into()],
            size: Some(Extent::Bytes(1 << 20)),
            offset_increment: Extent::Bytes(4096),
            overwrite: true,
            direct: true,
            may_create: false,
            ..FilePlan::default()
        };
        job.load = LoadPlan { seed: None, repeat_per_loop: false, cover_all: false, ..LoadPlan::default() };
        job.limits = Limits { runtime: Some(Nanos::SECOND), time_based: true, ..Limits::default() };
        job.record = RecordPlan { total_percentiles: true, percentiles: vec![50.0], ..RecordPlan::default() };
        job
    }

    fn applied(options: &[(&str, &str)]) -> Result<JobPlan, String> {
        let options: Vec<_> = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let surroundings =
            Surroundings { environment: &|_| None, files: &NoFiles, page_size: 4096, memory_mib: 1024, cpus: 2 };
        Parser::new(ENGINES).apply(&base(), &options, &surroundings).map_err(|error| error.to_string())
    }

    #[test]
    fn without_options_the_literal_is_unchanged() {
        assert_eq!(format!("{:?}", applied(&[]).unwrap()), format!("{:?}", base()));
    }

    #[test]
    fn options_change_what_they_name_and_echo_their_main_names() {
        let job = applied(&[("iodepth", "4"), ("blocksize", "64k")]).unwrap();
        assert_eq!((job.depth.depth, job.load.smallest(), job.clones), (4, 65536, 3));
        let echo: Vec<_> = job.written.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(echo, ["bs=8k", "iodepth=4", "bs=64k"]);
    }

    #[test]
    fn randrepeat_seeds_a_job_that_has_no_seed() {
        let seeds = |options| applied(options).map(|job| (job.load.seed, job.load.repeat_per_loop)).unwrap();
        assert_eq!(seeds(&[("randrepeat", "1")]), (Some(0x89), true));
        assert_eq!(seeds(&[("randrepeat", "1"), ("randseed", "7")]), (Some(7), false));
        assert_eq!(seeds(&[("randrepeat", "0")]), (None, false));
    }

    #[test]
    fn a_wrong_option_is_underlined() {
        let error = applied(&[("bs", "4k"), ("iodepht", "4")]).unwrap_err();
        assert!(error.contains("did you mean `iodepth`") && error.contains("1 | --bs=4k --iodepht=4"), "{error}");
        assert!(applied(&[("ioengine", "nothing")]).unwrap_err().contains("there is no engine `nothing`"));
        assert!(applied(&[("eta", "never")]).unwrap_err().contains("there is no option `eta`"));
        assert!(applied(&[("bs", "2m")]).unwrap_err().contains("less than one block"));
    }
}
