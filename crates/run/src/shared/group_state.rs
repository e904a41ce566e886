//! The relations of a worker to others: the flow it shares, and the ramp and steady state of its group.

use super::control::Control;
use crate::WorkerState;
use plan::WorkerPlan;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use sys::machine::shared_memory::SharedBlocks;

/// The workers whose counters a worker reads. All members of a group share one list of it: with a list each, thousands
/// of workers would have hundreds of megabytes, whose page tables every fork copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupState {
    /// Workers of the same flow and their weights, including itself; empty without a flow.
    pub(crate) flow: Arc<[(usize, u32)]>,
    /// Workers whose bytes count for its ramp, including itself.
    pub(crate) ramp: Arc<[usize]>,
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
        let (mut flows, mut groups) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        for (index, WorkerPlan { job, .. }) in workers.iter().enumerate() {
            if let Some(flow) = job.pace.flow {
                flows.entry(flow.id).or_default().push((index, flow.weight));
            }
            if job.record.group_reporting {
                groups.entry(job.group).or_default().push(index);
            }
        }
        let (flows, groups) = (lists(flows), lists(groups));
        let of = |(own, WorkerPlan { job, .. }): (usize, &WorkerPlan<'_>)| {
            let reported_together = groups.get(&job.group).filter(|_| job.record.group_reporting).cloned();
            let ramp = reported_together.unwrap_or_else(|| Arc::from([own]));
            GroupState {
                flow: job.pace.flow.and_then(|flow| flows.get(&flow.id).cloned()).unwrap_or_default(),
                steady: if ramp.len() > 1 { SteadyChecker::Parent } else { SteadyChecker::Worker },
                ramp,
                own,
            }
        };
        workers.iter().enumerate().map(of).collect()
    }

    /// True if the worker has completed more than its share of the flow's I/Os. Only workers that are doing I/O count.
    pub(crate) fn is_ahead_of_flow(&self, controls: &SharedBlocks<Control>) -> bool {
        let ios = |index: usize| controls[index].ios.iter().map(|ios| ios.load(Relaxed)).sum::<u64>();
        let works = |index: usize| {
            let state = controls[index].state.load(Relaxed);
            state > WorkerState::SettingUp as u32 && state < WorkerState::Finishing as u32
        };
        let (mut all_ios, mut all_weights, mut own_weight) = (0u128, 0u128, 0u128);
        for &(index, weight) in self.flow.iter() {
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

fn lists<K: Ord, T>(members: BTreeMap<K, Vec<T>>) -> BTreeMap<K, Arc<[T]>> {
    members.into_iter().map(|(key, list)| (key, list.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{FlowPlan, JobPlan, Plan};

    #[test]
    fn workers_that_are_reported_or_flow_together_share_one_list() {
        let job = |name: &str, clones, group, flow: Option<(u32, u32)>| {
            let mut job = JobPlan::with_defaults(name, "test", "null");
            (job.clones, job.group, job.record.group_reporting) = (clones, group, group > 0);
            job.pace.flow = flow.map(|(id, weight)| FlowPlan { id, weight, pause: measure::Nanos(1) });
            job
        };
        let jobs = vec![
            job("alone", 1, 0, Some((7, 3))),
            job("first", 3000, 1, None),
            job("second", 2, 2, Some((7, 1))),
            job("third", 1, 1, Some((8, 1))),
        ];
        let plan = Plan { jobs, global_options: Vec::new() };
        let workers: Vec<WorkerPlan<'_>> = plan.workers().collect();
        let found = GroupState::of_all(&workers);
        let first: Vec<usize> = (1..=3000).chain([3003]).collect();
        assert_eq!((&*found[1].ramp, found[1].steady), (&*first, SteadyChecker::Parent));
        assert!(
            first.iter().all(|&index| found[index].own == index && Arc::ptr_eq(&found[index].ramp, &found[1].ramp))
        );
        assert_eq!((&*found[0].ramp, found[0].steady), (&[0][..], SteadyChecker::Worker));
        assert_eq!(&*found[3001].ramp, &[3001, 3002]);
        assert_eq!(&*found[0].flow, &[(0, 3), (3001, 1), (3002, 1)]);
        assert!(Arc::ptr_eq(&found[0].flow, &found[3002].flow));
        assert_eq!((&*found[3003].flow, found[1].flow.len()), (&[(3003, 1)][..], 0));
    }
}
