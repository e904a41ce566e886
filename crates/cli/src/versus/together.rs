//! Both sides at the same time, on different disks: one plan of both, and its result taken apart.

use super::sides::{self, NAMES, SidePlan};
use crate::failure::Failure;
use model::{Origin, RunResult};
use plan::Plan;
use std::path::Path;
use sys::devices::identity::BlockDevice;

/// Most layers of loop devices that are looked through.
const MOST_LAYERS: usize = 8;

/// Fails if the sides have a disk in common, or one is not visible, or a job waits for others.
pub(super) fn check(plans: [&Plan; 2]) -> Result<(), Failure> {
    for (plan, name) in plans.into_iter().zip(NAMES) {
        let waits = |job: &&plan::JobPlan| job.start.stonewall || job.start.wait_for.is_some() || job.limits.exit_all;
        if let Some(job) = plan.jobs.iter().find(waits) {
            return Err(Failure::new(format!(
                "--together: job `{}` of {name} has stonewall, wait_for or exitall, which would hold for both sides",
                job.name
            )));
        }
    }
    let [a, b] = plans.map(disks);
    let (a, b) = (a?, b?);
    match a.iter().find(|disk| b.contains(disk)) {
        Some(disk) => Err(Failure::new(format!(
            "--together: both sides are on {disk}, so they would slow each other down; leave out --together to take turns"
        ))),
        None => Ok(()),
    }
}

/// The disks under the files of a plan.
fn disks(plan: &Plan) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for path in sides::paths(plan) {
        let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
        let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        let invisible = || {
            Failure::new(format!(
                "--together: no disk is visible under {}; leave out --together to take turns",
                path.display()
            ))
        };
        let device = BlockDevice::under(Path::new("/"), there)?.ok_or_else(invisible)?;
        leaves(&device, MOST_LAYERS, &mut found);
    }
    Ok(found)
}

/// The disks below a device; below a loop device those of its file.
fn leaves(device: &BlockDevice, layers: usize, found: &mut Vec<String>) {
    let root = Path::new("/");
    for leaf in device.leaves(root) {
        let file = leaf.backing_file().filter(|_| layers > 0);
        match file.and_then(|file| BlockDevice::under(root, &file).ok().flatten()) {
            Some(below) => leaves(&below, layers - 1, found),
            None => found.push(leaf.whole().name().to_owned()),
        }
    }
}

pub(super) fn merged([a, b]: [SidePlan; 2]) -> SidePlan {
    let mut jobs = a.plan.jobs;
    let groups = jobs.iter().map(|job| job.group + 1).max().unwrap_or(0);
    jobs.extend(b.plan.jobs.into_iter().map(|job| plan::JobPlan { group: job.group + groups, ..job }));
    let is_read_only = a.is_read_only || b.is_read_only;
    SidePlan { plan: Plan { jobs, ..Plan::default() }, is_read_only, warnings: Vec::new() }
}

/// The results of A, which has this number of workers, and of B. What was sampled is of both together, so it is left out.
pub(super) fn apart(mut result: RunResult, workers: usize) -> [RunResult; 2] {
    let of_b = result.jobs.split_off(workers.min(result.jobs.len()));
    result.monitored = None;
    result.origin = Origin::Side;
    result.devices = Vec::new();
    result.lowest_traffic = None;
    result.limited_by = None;
    result.phases = Vec::new();
    result.lasting = None;
    let b = RunResult { jobs: of_b, ..result.clone() };
    [result, b]
}

/// Number of workers of a plan.
pub(super) fn workers(plan: &Plan) -> usize {
    plan.jobs.iter().map(|job| job.clones as usize).sum()
}
