//! Steady state of groups that are reported as one: the parent adds up the counters of their workers and checks the
//! sums.

use super::workers::SharedMemory;
use crate::WorkerState;
use crate::shared::group_state::{GroupState, SteadyChecker};
use crate::shared::steady::{Steadiness, Totals};
use measure::Nanos;
use model::SteadyResult;
use plan::WorkerPlan;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// All groups that wait for steady state.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupSteadyState {
    groups: Vec<Group>,
}

#[derive(Clone, Debug)]
struct Group {
    members: Arc<[usize]>,
    plan: plan::SteadyPlan,
    /// `None` until all members are running.
    steadiness: Option<Steadiness>,
}

impl GroupSteadyState {
    /// The groups among these workers.
    pub(crate) fn new(workers: &[WorkerPlan<'_>], groups: &[GroupState]) -> Self {
        let group = |group: &GroupState| {
            let plan = workers[group.own].job.steady?;
            let is_first = group.ramp.first() == Some(&group.own);
            let checked_here = group.steady == SteadyChecker::Parent && is_first;
            checked_here.then(|| Group { members: Arc::clone(&group.ramp), plan, steadiness: None })
        };
        GroupSteadyState { groups: groups.iter().filter_map(group).collect() }
    }

    /// Checks the groups at `now`; returns the workers of those that have just become steady. `log` receives a line
    /// for each sample, with the index of the group's first worker.
    pub(crate) fn sample(&mut self, now: Nanos, shared: &SharedMemory, log: &mut dyn FnMut(usize, &str)) -> Vec<usize> {
        let mut steady = Vec::new();
        for group in &mut self.groups {
            let state = |index: usize| shared.controls[index].state.load(Relaxed);
            let at_work = |&index: &usize| state(index) == WorkerState::Running as u32;
            if group.steadiness.is_none() && group.members.iter().all(at_work) {
                group.steadiness = Some(Steadiness::new(group.plan, now));
            }
            let Some(steadiness) = &mut group.steadiness else { continue };
            if now < steadiness.due() {
                continue;
            }
            let is_steady = steadiness.sample(now, totals(&group.members, shared));
            log(group.members[0], &steadiness.describe());
            if is_steady {
                steady.extend(group.members.iter());
            }
        }
        steady
    }

    /// The result of the group whose first worker this is.
    pub(crate) fn result(&self, leader: usize) -> Option<SteadyResult> {
        let group = self.groups.iter().find(|group| group.members.first() == Some(&leader))?;
        let nothing = || Steadiness::new(group.plan, Nanos::ZERO).result();
        Some(group.steadiness.as_ref().map_or_else(nothing, Steadiness::result))
    }
}

fn totals(members: &[usize], shared: &SharedMemory) -> Totals {
    let mut totals = Totals::default();
    for &index in members {
        let control = &shared.controls[index];
        let (bytes, ios) = control.amounts();
        totals.bytes += bytes.iter().sum::<u64>();
        totals.ios += ios.iter().sum::<u64>();
        totals.latency_ns = totals.latency_ns.saturating_add(control.latency_ns.load(Relaxed));
    }
    totals
}
