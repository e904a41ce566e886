//! A job that a caller writes as plain data, with some of fio's options applied to it.
//!
//! For front ends whose jobs are fixed except for the options that a user varies. The options mean the same as in a job
//! file; the caller's data is not parsed from text.

use crate::complete::{self, Findings};
use crate::draft::{Draft, FileDraft, LoadDraft, Movement};
use crate::draft_section::Applier;
use crate::error::{JobError, Place, Sources};
use crate::parser::Parser;
use crate::sections::{Assignment, Section};
use crate::surroundings::Surroundings;
use crate::values::Amount;
use measure::{Direction, Nanos};
use plan::{Extent, JobPlan, Mix};

impl Parser {
    /// Applies options, as pairs of name and value, to `base` in the given order.
    ///
    /// The name, clones, runtime, ramp, engine, files, load and records of `base` are kept as far as options can
    /// express them; queue, speed, buffers, verification and the rest must be at their defaults. The options are
    /// appended to `written` under their main names.
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
        let mut draft = draft_of(base);
        let (mut problems, mut doubts) = (Vec::new(), Vec::new());
        let applier = Applier { engines: self.engines, surroundings };
        let applied = applier.apply(&section, &mut draft, &mut problems);
        if !problems.is_empty() {
            return Err(JobError { problems, sources, wants_usage: false });
        }
        let engine = match complete::engine(&draft, self.engines) {
            Ok(engine) => engine,
            Err(problem) => return Err(JobError { problems: vec![problem], sources, wants_usage: false }),
        };
        let mut findings = Findings { engines: self.engines, problems: &mut problems, doubts: &mut doubts };
        let mut job = complete::job_plan(&draft, engine, &mut findings);
        if !problems.is_empty() {
            return Err(JobError { problems, sources, wants_usage: false });
        }
        job.origin.clone_from(&base.origin);
        job.written.clone_from(&base.written);
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

/// The draft whose completion gives `job`.
fn draft_of(job: &JobPlan) -> Draft {
    Draft {
        name: job.name.clone(),
        description: job.description.clone(),
        isolation: job.isolation,
        clones: job.clones,
        runtime: job.limits.runtime.unwrap_or(Nanos::ZERO),
        time_based: job.limits.time_based,
        ramp: job.limits.ramp,
        error_dump: job.limits.error_dump,
        stuck_after: job.limits.stuck_after.unwrap_or(Nanos::ZERO),
        engine: job.engine.to_owned(),
        engine_options: job.engine_options.clone(),
        files: files_of(job),
        load: load_of(job),
        record: job.record.clone(),
        ..Draft::default()
    }
}

fn amount(extent: Extent) -> Amount {
    match extent {
        Extent::Bytes(bytes) => Amount::Bytes(bytes),
        Extent::Percent(percent) => Amount::Percent(percent),
    }
}

fn files_of(job: &JobPlan) -> FileDraft {
    let files = &job.files;
    FileDraft {
        directories: files.directories.clone(),
        names: files.names.clone(),
        count: files.count,
        size: files.size.map(amount),
        io_size: files.io_size.map(amount),
        file_size: files.file_size,
        offset: amount(files.offset),
        offset_increment: amount(files.offset_increment),
        direct: files.direct,
        sync: files.sync,
        allocate: files.allocate,
        atomic: files.atomic,
        invalidate: files.invalidate,
        pre_read: files.pre_read,
        overwrite: files.overwrite,
        unlink: files.unlink,
        create_only: files.create_only,
        create_fsync: files.create_fsync,
        advice: files.advice,
        may_create: files.may_create,
        may_write_mounted: files.may_write_mounted,
        consent: files.consent.clone(),
        handling: files.handling.clone(),
    }
}

fn load_of(job: &JobPlan) -> LoadDraft {
    let load = &job.load;
    LoadDraft {
        movement: match load.mix {
            Mix::Only(Direction::Read) => Movement::Read,
            Mix::Only(Direction::Write) => Movement::Write,
            Mix::Only(_) => Movement::Trim,
            Mix::ReadWrite => Movement::ReadWrite,
            Mix::TrimWrite => Movement::TrimWrite,
        },
        random: load.random,
        read_percent: load.read_percent,
        block_size: load.block_size.clone(),
        unaligned_sizes: load.unaligned_sizes,
        distribution: load.distribution.clone(),
        percent_random: load.percent_random,
        no_random_map: !load.cover_all,
        generator: load.generator,
        repeatable: load.seed.is_some(),
        fsync_every: u32::try_from(load.fsync_every).unwrap_or(u32::MAX),
        fdatasync_every: u32::try_from(load.fdatasync_every).unwrap_or(u32::MAX),
        end_fsync: load.end_fsync,
        fsync_on_close: load.fsync_on_close,
        end_syncfs: load.end_syncfs,
        range_sync: load.range_sync,
        sizes_by_order: load.sizes_by_order,
        soft_map: load.soft_map,
        ..LoadDraft::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::Files;
    use plan::{Capabilities, EngineSpec, FilePlan, Limits, LoadPlan, RecordPlan, Submission, Work};
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
    fn options_change_what_they_name_and_are_echoed_under_their_main_names() {
        let job = applied(&[("iodepth", "4"), ("blocksize", "64k")]).unwrap();
        assert_eq!((job.depth.depth, job.load.smallest(), job.clones), (4, 65536, 3));
        let echo: Vec<_> = job.written.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(echo, ["bs=8k", "iodepth=4", "bs=64k"]);
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
