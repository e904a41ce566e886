//! The relations of a worker to others: the flow it shares, and the ramp and steady state of its group.

use super::control::Control;
use crate::WorkerState;
use plan::WorkerPlan;
use std::sync::atomic::Ordering::Relaxed;
use sys::machine::shared_memory::SharedBlocks;

/// The workers whose counters a worker reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupState {
    /// Workers of the same flow and their weights, including itself; empty without a flow.
    pub(crate) flow: Vec<(usize, u32)>,
    /// Workers whose bytes count for its ramp, including itself.
    pub(crate) ramp: Vec<usize>,
    /// Index of the worker itself.
    pub(crate) own: usize,
    /// The side that determines steady state.
    pub(crate) steady: SteadyChecker,
}

/// The side that determines steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SteadyChecker {
    /// The worker, from its own counters.
    #[default]
    Worker,
    /// The parent, from the sums over the group.
    Parent,
}

impl GroupState {
    /// The group state of every worker.
    pub(crate) fn of_all(workers: &[WorkerPlan<'_>]) -> Vec<GroupState> {
        (0..workers.len()).map(|own| GroupState::of(workers, own)).collect()
    }

    fn of(workers: &[WorkerPlan<'_>], own: usize) -> GroupState {
        let job = workers[own].job;
        let indices = |wanted: &dyn Fn(&WorkerPlan<'_>) -> bool| -> Vec<usize> {
            (0..workers.len()).filter(|&index| wanted(&workers[index])).collect()
        };
        let flow = job.pace.flow.map(|own| {
            let member = |(index, worker): (usize, &WorkerPlan<'_>)| {
                worker.job.pace.flow.filter(|flow| flow.id == own.id).map(|flow| (index, flow.weight))
            };
            workers.iter().enumerate().filter_map(member).collect()
        });
        let reported_together =
            |worker: &WorkerPlan<'_>| worker.job.group == job.group && worker.job.record.group_reporting;
        let group = if job.record.group_reporting { indices(&|worker| reported_together(worker)) } else { vec![own] };
        GroupState {
            flow: flow.unwrap_or_default(),
            steady: if group.len() > 1 { SteadyChecker::Parent } else { SteadyChecker::Worker },
            ramp: group,
            own,
        }
    }

    /// True if the worker has completed more than its share of the flow's I/Os. Only workers that are doing I/O count.
    pub(crate) fn is_ahead_of_flow(&self, controls: &SharedBlocks<Control>) -> bool {
        let ios = |index: usize| controls[index].ios.iter().map(|ios| ios.load(Relaxed)).sum::<u64>();
        let works = |index: usize| {
            let state = controls[index].state.load(Relaxed);
            state > WorkerState::SettingUp as u32 && state < WorkerState::Finishing as u32
        };
        let (mut all_ios, mut all_weights, mut own_weight) = (0u128, 0u128, 0u128);
        for &(index, weight) in &self.flow {
            if index == self.own {
                own_weight = u128::from(weight);
            } else if !works(index) {
                continue;
            }
            all_ios += u128::from(ios(index));
            all_weights += u128::from(weight);
        }
        u128::from(ios(self.own)) * all_weights > all_ios * own_weight
    }

    /// Bytes of the workers that ramp up together.
    pub(crate) fn ramped_bytes(&self, controls: &SharedBlocks<Control>) -> u64 {
        let bytes = |&index: &usize| controls[index].bytes.iter().map(|bytes| bytes.load(Relaxed)).sum::<u64>();
        self.ramp.iter().map(bytes).sum()
    }
}
