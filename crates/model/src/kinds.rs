//! Jobs of a run that do the same work, and those that do not: results of unlike jobs have no common name.

use crate::{JobResult, RunResult};
use measure::Direction;
use plan::Mix;
use std::collections::{BTreeMap, BTreeSet};

/// The facts by which the numbers of two jobs can be compared.
#[derive(PartialEq)]
struct Work<'a> {
    pattern: Option<&'static str>,
    block_sizes: Vec<(u32, u32)>,
    depth: u32,
    engine: &'a str,
    direct: bool,
    /// Devices, and directories of files, that all clones of the job use.
    places: &'a BTreeSet<&'a str>,
}

impl<'a> Work<'a> {
    fn of(job: &'a JobResult, places: &'a BTreeMap<&'a str, BTreeSet<&'a str>>) -> Option<Work<'a>> {
        let echo = &job.echo;
        let sizes = &echo.block_sizes;
        let block_sizes = match job.workload.as_ref().map(|workload| workload.mix) {
            Some(Mix::Only(direction)) => vec![sizes[direction]],
            _ => Direction::ALL.into_iter().map(|direction| sizes[direction]).collect(),
        };
        Some(Work {
            pattern: job.workload.as_ref().map(plan::Workload::pattern),
            block_sizes,
            depth: echo.iodepth,
            engine: &echo.engine,
            direct: echo.direct,
            places: places.get(echo.name.as_str())?,
        })
    }
}

/// The device, or the directory of a file.
fn place(path: &str) -> &str {
    match path.rsplit_once('/') {
        _ if path.starts_with("/dev/") => path,
        Some((directory, _)) => directory,
        None => "",
    }
}

impl RunResult {
    /// Number of the kind of each job, from 0; jobs of one kind do the same work at the same place. Passes of iozone
    /// are one kind.
    pub fn kinds_of_jobs(&self) -> Vec<usize> {
        let mut places: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for job in &self.jobs {
            places.entry(&job.echo.name).or_default().extend(job.echo.paths.iter().map(|path| place(path)));
        }
        if self.jobs.iter().any(|job| job.pass.is_some()) {
            return vec![0; self.jobs.len()];
        }
        let mut kinds = Vec::new();
        let kind = |job| {
            let work = Work::of(job, &places)?;
            Some(kinds.iter().position(|known| *known == work).unwrap_or_else(|| {
                kinds.push(work);
                kinds.len() - 1
            }))
        };
        self.jobs.iter().map(kind).map(Option::unwrap_or_default).collect()
    }

    /// As [`RunResult::reported_jobs`], but unlike jobs of a group stay apart.
    pub fn reported_kinds(&self) -> Vec<JobResult> {
        let mut rows: Vec<JobResult> = Vec::new();
        let mut known: BTreeMap<(u32, usize), usize> = BTreeMap::new();
        for (job, kind) in self.jobs.iter().zip(self.kinds_of_jobs()).filter(|(job, _)| !job.style.hidden) {
            let key = job.style.group_reporting.then_some((job.echo.group, kind));
            match key.map(|key| *known.entry(key).or_insert(rows.len())).and_then(|row| rows.get_mut(row)) {
                Some(row) => row.merge(job),
                None => rows.push(job.clone()),
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Echo, ReportStyle};

    fn job(name: &str, iodepth: u32, path: &str) -> JobResult {
        let echo = Echo { name: name.into(), iodepth, paths: vec![path.into()], ..Echo::default() };
        let style = ReportStyle { group_reporting: true, ..ReportStyle::default() };
        JobResult { echo, style, workers: 1, ..JobResult::default() }
    }

    fn rows(jobs: &[JobResult]) -> Vec<(String, u32)> {
        let result = RunResult { jobs: jobs.to_vec(), ..RunResult::default() };
        result.reported_kinds().into_iter().map(|row| (row.echo.name, row.workers)).collect()
    }

    #[test]
    fn unlike_jobs_of_a_group_stay_apart_and_like_ones_do_not() {
        let apart = [("a".to_owned(), 1), ("b".to_owned(), 1)];
        assert_eq!(rows(&[job("a", 1, "/x/a"), job("b", 16, "/x/b")]), apart, "depth");
        assert_eq!(rows(&[job("a", 1, "/x/a"), job("b", 1, "/y/b")]), apart, "directory");
        assert_eq!(rows(&[job("a", 1, "/dev/a"), job("b", 1, "/dev/b")]), apart, "device");
        assert_eq!(rows(&[job("a", 1, "/x/a"), job("b", 1, "/x/b")]), [("a".to_owned(), 2)]);
        assert_eq!(rows(&[job("a", 1, "/x/a"), job("a", 1, "/y/a")]), [("a".to_owned(), 2)], "clones");
        let mut other = job("b", 1, "/x/b");
        other.echo.engine = "libaio".into();
        assert_eq!(rows(&[job("a", 1, "/x/a"), other]), apart, "engine");
        let mut other = job("b", 1, "/x/b");
        other.echo.block_sizes.read = (4096, 65536);
        assert_eq!(rows(&[job("a", 1, "/x/a"), other]), apart, "block size");
    }
}
