//! Job options echoed in a fio report, parsed back into a job plan by fio's own option parser.

use ::fio::{EchoedJob, Parser};
use model::{Echo, JobResult, ReportStyle, RunResult};
use plan::{Extent, FilePlan, Workload};
use std::collections::VecDeque;
use std::rc::Rc;

/// Accepts fio's engines that plumb lacks, since reports contain them; private options only of plumb's engines.
const PARSER: Parser = Parser::new(engine::ENGINES);

/// The job that these options describe; `None` if the report echoes no options.
pub(crate) fn job(global: &[(String, String)], own: &[(String, String)]) -> Option<EchoedJob> {
    PARSER.echoed_job(global, own)
}

/// The jobs of the last options in a text, which has the same ones again and again: parsing them is slow.
#[derive(Debug, Default)]
pub(crate) struct Echoes(VecDeque<Echoed>);

#[derive(Debug)]
struct Echoed {
    global: Vec<(String, String)>,
    own: Vec<(String, String)>,
    job: Option<Rc<EchoedJob>>,
}

impl Echoes {
    /// Most jobs that are remembered.
    const MOST: usize = 8;

    /// As [`job`].
    pub(crate) fn job(&mut self, global: &[(String, String)], own: &[(String, String)]) -> Option<Rc<EchoedJob>> {
        if let Some(known) = self.0.iter().find(|known| known.own == own && known.global == global) {
            return known.job.clone();
        }
        let job = job(global, own).map(Rc::new);
        self.0.truncate(Echoes::MOST - 1);
        self.0.push_front(Echoed { global: global.to_vec(), own: own.to_vec(), job: job.clone() });
        job
    }
}

/// The workload of a job of which only the `rw` pattern is known (`randread`), and the engine if it is not empty.
pub(crate) fn of_pattern(pattern: &str, engine: &str) -> Option<Workload> {
    PARSER.echoed_pattern(pattern, engine)
}

/// fio's `rw=` word for the pattern of a job; `None` if it is unknown, and for a timed pass, which has a name.
pub fn pattern(job: &JobResult) -> Option<&'static str> {
    job.workload.as_ref().filter(|_| job.pass.is_none()).map(Workload::pattern)
}

/// Fills in the workload of each job in a result file written before results stored workloads, from the job's options.
pub(crate) fn complete(mut result: RunResult) -> RunResult {
    for job in result.jobs.iter_mut().filter(|job| job.workload.is_none()) {
        job.workload = PARSER.echoed_job(&result.global_options, &job.echo.options).map(|job| job.workload);
    }
    result
}

/// The [`Echo`] section of a result for these options.
pub(crate) fn echo(job: &EchoedJob, options: Vec<(String, String)>) -> Echo {
    let files = &job.plan.files;
    Echo {
        description: job.plan.description.clone(),
        options,
        engine: job.engine.clone(),
        direct: files.direct,
        block_sizes: job.plan.load.size_ranges(),
        paths: files.names.iter().map(|path| path.display().to_string()).collect(),
        region_bytes: region_bytes(files),
        ..Echo::default()
    }
}

/// Total bytes of the region used in all files; 0 if it depends on the size of files on another machine.
fn region_bytes(files: &FilePlan) -> u64 {
    match (files.file_size, files.size) {
        (Some((low, high)), _) if low == high => low.saturating_mul(files.count.into()),
        (None, Some(Extent::Bytes(bytes))) => bytes,
        _ => 0,
    }
}

/// Display settings (units, percentiles, ...) that the job's options select.
pub(crate) fn style(job: &EchoedJob) -> ReportStyle {
    ReportStyle::of(&job.plan.record, job.plan.limits.continue_on_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echoed(global: &[(&str, &str)], own: &[(&str, &str)]) -> (Echo, Workload) {
        let owned = |options: &[(&str, &str)]| -> Vec<(String, String)> {
            options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let job = job(&owned(global), &owned(own)).expect("options");
        (echo(&job, Vec::new()), job.workload)
    }

    #[test]
    fn block_sizes_and_regions_are_those_of_the_options() {
        let sizes = |global, own| echoed(global, own).0.block_sizes;
        assert_eq!(sizes(&[("bs", "4k")], &[("rw", "read")]).write, (4096, 4096));
        assert_eq!(sizes(&[("bs", "4k")], &[("bs", "4k,8k")]).write, (8192, 8192));
        assert_eq!(sizes(&[], &[("bsrange", "4k-16k")]).read, (4096, 16_384));
        let region = |own| echoed(&[("size", "3G")], own).0.region_bytes;
        assert_eq!((region(&[("rw", "read")]), region(&[("size", "10%")])), (3 << 30, 0));
        assert_eq!(region(&[("filesize", "1m"), ("nrfiles", "3")]), 3 << 20);
    }

    #[test]
    fn an_option_that_is_unknown_here_is_passed_over() {
        let (echo, workload) = echoed(&[("ioengine", "rbd")], &[("pool", "x"), ("bs", "4q"), ("thinktime", "2ms")]);
        assert_eq!((echo.engine.as_str(), echo.block_sizes.read), ("rbd", (4096, 4096)));
        assert_eq!(workload.pace.think, measure::Nanos::from_millis(2));
    }

    #[test]
    fn remembered_options_are_those_of_their_job() {
        let options = |size: usize| vec![("bs".to_owned(), format!("{}k", size + 1))];
        let mut echoes = Echoes::default();
        for size in (0..20).chain(0..20).chain([19, 19, 3]) {
            for global in [vec![], options(40)] {
                let found = echoes.job(&global, &options(size)).expect("options");
                assert_eq!(found.plan.load.size_ranges().read.0 as usize, (size + 1) * 1024);
            }
        }
        assert!(echoes.job(&[], &[]).is_none() && echoes.0.len() == Echoes::MOST);
    }

    #[test]
    fn a_bare_flag_is_on_and_engine_options_have_their_effect() {
        assert!(echoed(&[("hipri", "")], &[("ioengine", "io_uring")]).1.polls);
        assert!(!echoed(&[("hipri", "0")], &[("ioengine", "io_uring")]).1.polls);
        assert!(echoed(&[], &[("ioengine", "sim")]).1.virtual_time);
        assert!(echoed(&[], &[("ioengine", "sg"), ("writefua", "1")]).1.flushes.by_each_write);
    }

    #[test]
    fn a_pattern_in_a_file_of_another_machine_is_a_pattern() {
        assert_eq!(echoed(&[], &[("buffer_pattern", "'x.bin'")]).1.contents.filling, plan::Filling::Pattern);
    }
}
