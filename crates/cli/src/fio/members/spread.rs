//! `--spread`: how members share one file or device.

use super::tasks;
use crate::failure::Failure;
use cluster::{Sharing, Task};
use fio::Action;
use plan::{Extent, JobPlan, Work, ZonePlan};
use std::path::PathBuf;

/// Lets each member work on its part, as asked. Refuses jobs for which that has no meaning.
pub(super) fn apply(sharing: Sharing, tasks: &mut [Task]) -> Result<(), Failure> {
    let mut first: Option<Vec<PathBuf>> = None;
    for task in tasks {
        task.sharing = sharing;
        let invocation = tasks::invocation(task)?;
        let Action::Run(plan) = &invocation.action else { return Err(tasks::nothing_to_run()) };
        for job in &plan.jobs {
            if let Some(why) = objection(job, sharing) {
                return Err(Failure::new(format!("cluster: --spread: job `{}` {why}", job.name)));
            }
        }
        let names: Vec<PathBuf> = plan.jobs.iter().flat_map(|job| job.files.names.clone()).collect();
        if *first.get_or_insert_with(|| names.clone()) != names {
            return Err(Failure::new(
                "cluster: --spread is of one file or device; members have files of different names in this job",
            ));
        }
    }
    Ok(())
}

/// The reason why members cannot share what a job works on.
fn objection(job: &JobPlan, sharing: Sharing) -> Option<&'static str> {
    let files = &job.files;
    let is_one = files.names.len() == 1 && files.directories.len() <= 1 && files.handling.below.is_empty();
    if !is_one {
        return Some("does not name one file or device for all members (filename=)");
    }
    if !matches!(job.work, Work::Data | Work::Null) {
        return Some("does not read or write the data of a file");
    }
    if sharing == Sharing::All {
        return None;
    }
    let refused = [
        (job.replay.is_some(), "replays a record, whose I/Os are where they are"),
        (
            matches!(job.load.zones, ZonePlan::Zoned(_)),
            "writes zones, which cannot be cut; give each member its offset with ${PLUMB_RANK}",
        ),
        (files.handling.fill, "fills a device, and has no end that could be divided"),
        (files.handling.append, "appends, and parts would begin where others write"),
        (files.offset_increment != Extent::Bytes(0), "gives its clones different offsets (offset_increment)"),
        (files.unlink, "removes the file at its end, while others may use it"),
    ];
    refused.iter().find(|(is_so, _)| *is_so).map(|(_, why)| *why)
}
