//! Jobs that ended in order without any I/O although they had some to do. fio says nothing about them and ends with
//! status 0; we end with status 0, too, but name them.

use measure::Direction;
use measure::text::rounded_size;
use model::{JobResult, RunResult};
use plan::{JobPlan, Plan, Work, ZonePlan};

/// A sentence for each job without I/O.
pub(super) fn sentences(plan: &Plan, result: &RunResult) -> Vec<String> {
    let may_be_ended_early = plan.jobs.iter().any(|job| job.limits.exit_all || job.limits.exit_all_on_error);
    let is_ended_early = result.until_regime.as_ref().is_some_and(|ended| ended.reached);
    if may_be_ended_early || is_ended_early || result.ended_by_signal.is_some() {
        return Vec::new();
    }
    let had_work = |job: &&JobPlan| job.work != Work::Background && !job.files.create_only && job.limits.ios != Some(0);
    let sentence = |done: &JobResult| {
        let job = plan.jobs.iter().filter(had_work).find(|job| job.name == done.echo.name)?;
        Some(format!("{}: no I/O was done{}", job.name, reason(job, done)))
    };
    result.jobs.iter().filter(|job| did_nothing(job)).filter_map(sentence).collect()
}

fn did_nothing(job: &JobResult) -> bool {
    job.error.is_none() && job.ios() == 0 && job.sync.count == 0 && job.forgiven_errors == 0
}

/// The reason, as far as the job's options tell.
fn reason(job: &JobPlan, done: &JobResult) -> String {
    let reads = job.load.mix.contains(Direction::Read);
    match &job.load.zones {
        ZonePlan::Zoned(zones) if reads && !zones.reads_anywhere => {
            " (zonemode=zbd: the zones of its region hold nothing yet; let a job write them first, or give \
             read_beyond_wp=1)"
                .to_owned()
        }
        _ if job.verify.as_ref().is_some_and(|verify| verify.only) => {
            ", so nothing was verified (verify_only)".to_owned()
        }
        _ if done.echo.region_bytes > 0 => {
            format!(", although its region has {}", rounded_size(done.echo.region_bytes as f64))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Zoned;

    fn run_of(job: JobPlan, ios: u64) -> Vec<String> {
        let mut done = JobResult::default();
        done.echo.name.clone_from(&job.name);
        done.echo.region_bytes = 1 << 20;
        done.directions.read.ios = ios;
        let plan = Plan { jobs: vec![job], global_options: Vec::new() };
        sentences(&plan, &RunResult { jobs: vec![done], ..RunResult::default() })
    }

    #[test]
    fn a_job_that_read_nothing_is_named_with_the_known_reason() {
        let job = JobPlan::with_defaults("a", "test", "psync");
        assert_eq!(run_of(job.clone(), 0), ["a: no I/O was done, although its region has 1 MiB"]);
        assert_eq!(run_of(job.clone(), 1), [""; 0]);
        let mut zoned = job.clone();
        zoned.load.zones = ZonePlan::Zoned(Zoned::default());
        let said = run_of(zoned, 0);
        assert!(said[0].contains("read_beyond_wp=1"), "{said:?}");
    }

    #[test]
    fn jobs_that_had_nothing_to_do_are_not_named() {
        let job = JobPlan::with_defaults("a", "test", "psync");
        let mut only_created = job.clone();
        only_created.files.create_only = true;
        let mut background = job.clone();
        background.work = Work::Background;
        let mut ended_by_others = job;
        ended_by_others.limits.exit_all = true;
        for job in [only_created, background, ended_by_others] {
            assert_eq!(run_of(job, 0), [""; 0]);
        }
    }
}
