//! Results of a group of workers that is read as one: data read only as a sum is added up in the first.
//!
//! A test of a survey with 64 users would have 64 histograms, four fifths of its result file; only their sum is read.

use crate::monitored::Gain;
use crate::{DirectionResult, Interval, JobResult, LatencyStatistics, RunResult, WorkerGain};
use measure::Direction;
use std::collections::BTreeMap;

impl RunResult {
    /// Moves into the first worker of each reporting group what only the sum is read of: histograms, coarse bins,
    /// samples, calibrations, bytes and switches of the intervals, and, where submission was not measured, CPU time and
    /// the sums of completion latency next to those of total latency. The other workers have empty ones, or `None`.
    ///
    /// Counts, times, rates, the sums of total latency, and time on processors in the intervals stay with each worker.
    /// [`RunResult::reported_jobs`] and any other sum over a whole group are the same before and after; the percentiles
    /// of a single worker are lost.
    pub fn gather(&mut self) {
        let mut firsts: BTreeMap<u32, usize> = BTreeMap::new();
        for at in 0..self.jobs.len() {
            let job = &self.jobs[at];
            if !job.style.group_reporting || job.style.hidden {
                continue;
            }
            let first = *firsts.entry(job.echo.group).or_insert(at);
            if first < at {
                let (before, rest) = self.jobs.split_at_mut(at);
                before[first].gather(&mut rest[0]);
                let intervals = self.monitored.iter_mut().flat_map(|monitored| &mut monitored.intervals);
                intervals.for_each(|interval| gather_worker(interval, first, at));
            }
        }
    }
}

fn gather_worker(interval: &mut Interval, first: usize, other: usize) {
    let Some(theirs) = interval.workers.get_mut(other) else { return };
    let (io_bytes, switches) = (theirs.io_bytes.take(), theirs.switches.take());
    let mine = &mut interval.workers[first];
    let of_both = WorkerGain { io_bytes, switches, ..WorkerGain::default() };
    *mine = mine.plus(of_both);
}

impl JobResult {
    fn gather(&mut self, other: &mut JobResult) {
        self.latency_bins = self.latency_bins.plus(std::mem::take(&mut other.latency_bins));
        self.sync.latency.gather_histogram(&mut other.sync.latency);
        self.merge_calibration(other.calibration.take().as_deref());
        let submissions = |job: &JobResult| job.directions.iter().any(|(_, found)| found.submission.is_some());
        if !submissions(self) && !submissions(other) {
            self.cpu = self.cpu + std::mem::take(&mut other.cpu);
        }
        for direction in Direction::ALL {
            self.directions[direction].gather(&mut other.directions[direction]);
        }
    }
}

impl DirectionResult {
    fn gather(&mut self, other: &mut DirectionResult) {
        self.bandwidth_samples.add_concurrent(&std::mem::take(&mut other.bandwidth_samples));
        self.iops_samples.add_concurrent(&std::mem::take(&mut other.iops_samples));
        // Where submission was measured, its share of each worker's time is read, without its CPU time.
        let are_in_total = |found: &DirectionResult| found.total.is_some() && found.submission.is_none();
        let of_completion = are_in_total(self) && are_in_total(other);
        for (mine, theirs) in [(&mut self.completion, &mut other.completion), (&mut self.total, &mut other.total)] {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.gather_histogram(theirs);
            }
        }
        if let (true, Some(mine), Some(theirs)) = (of_completion, &mut self.completion, &mut other.completion)
            // A part without a histogram counts only if it has latencies, so it keeps them.
            && mine.histogram.is_some() == theirs.histogram.is_some()
        {
            mine.moments.merge(&std::mem::take(&mut theirs.moments));
        }
    }
}

impl LatencyStatistics {
    /// Takes the counts of another histogram, which stays as an empty one.
    fn gather_histogram(&mut self, other: &mut LatencyStatistics) {
        let Some(theirs) = &mut other.histogram else { return };
        let mine = match &mut self.histogram {
            Some(mine) => mine,
            mine @ None if self.moments.count() == 0 => mine.get_or_insert_default(),
            None => return,
        };
        mine.merge(theirs);
        theirs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LatencyBins, Monitored};
    use measure::{Histogram, Nanos};

    fn latency(of: &[u64]) -> LatencyStatistics {
        let mut found =
            LatencyStatistics { histogram: Some(Box::new(Histogram::new())), ..LatencyStatistics::default() };
        for &ns in of {
            found.moments.record(Nanos(ns));
            found.histogram.get_or_insert_default().record(Nanos(ns));
        }
        found
    }

    fn bare(of: &[u64]) -> LatencyStatistics {
        LatencyStatistics { histogram: None, ..latency(of) }
    }

    fn worker(group: u32, latencies: &[u64]) -> JobResult {
        let mut job = JobResult { workers: 1, ..JobResult::default() };
        job.style.group_reporting = true;
        job.echo.group = group;
        job.sync.latency = latency(latencies);
        let total_ns = latencies.first().map(|&first| [first, first]);
        job.calibration = Some(Box::new(crate::Calibration { total_ns, ..crate::Calibration::default() }));
        (job.cpu.user, job.cpu.switches) = (Nanos(100), 3);
        let read = &mut job.directions.read;
        (read.ios, read.bytes, read.runtime) = (latencies.len() as u64, 4096 * latencies.len() as u64, Nanos(1 << 30));
        read.total = Some(latency(latencies));
        read.completion = Some(bare(latencies));
        for &ns in latencies {
            job.latency_bins.record(Nanos(ns), 1);
            read.bandwidth_samples.record(ns / 7);
            read.iops_samples.record(ns / 3);
        }
        job
    }

    fn check(what: &str, jobs: Vec<JobResult>) -> Vec<JobResult> {
        let mut run = RunResult { jobs, ..RunResult::default() };
        let rows = run.reported_jobs();
        run.gather();
        assert_eq!(run.reported_jobs(), rows, "{what}");
        let once = run.jobs.clone();
        run.gather();
        assert_eq!(run.jobs, once, "{what}: gathered twice");
        once
    }

    #[test]
    fn a_gathered_group_has_the_same_sum_and_one_histogram() {
        let jobs = check("three", vec![worker(0, &[100, 2_000]), worker(0, &[70]), worker(0, &[9, 9, 1_000_000])]);
        let counts: Vec<u64> = jobs
            .iter()
            .filter_map(|job| Some(job.directions.read.total.as_ref()?.histogram.as_ref()?.total()))
            .collect();
        assert_eq!(counts, [6, 0, 0]);
        let sums: Vec<u128> =
            jobs.iter().filter_map(|job| Some(job.directions.read.total.as_ref()?.moments.sum())).collect();
        assert_eq!(sums, [2_100, 70, 1_000_018], "of each worker");
        assert_eq!(jobs[0].directions.read.completion.as_ref().unwrap().moments.count(), 6);
        assert_eq!((jobs[1].latency_bins, jobs[1].ios()), (LatencyBins::default(), 1));
        assert_eq!([jobs[0].cpu.user, jobs[1].cpu.user], [Nanos(300), Nanos::ZERO]);
    }

    #[test]
    fn sums_of_intervals_are_the_same_and_times_stay_apart() {
        let gain = |number: u64| WorkerGain {
            on_cpu: Some(Nanos(number)),
            switches: Some(number),
            io_bytes: Some([number; 4]),
            ..WorkerGain::default()
        };
        let jobs = vec![worker(0, &[1]), worker(0, &[2]), worker(0, &[3])];
        // The third worker is one of those that are not watched.
        let interval = Interval { workers: vec![gain(5), gain(7)], ..Interval::default() };
        let late = Interval { workers: vec![WorkerGain::default(), gain(7)], ..Interval::default() };
        let monitored = Monitored { intervals: vec![interval, late], ..Monitored::default() };
        let mut run = RunResult { jobs, monitored: Some(monitored), ..RunResult::default() };
        run.gather();
        let workers: Vec<Vec<WorkerGain>> =
            run.monitored.unwrap().intervals.into_iter().map(|interval| interval.workers).collect();
        let alone = WorkerGain { on_cpu: Some(Nanos(7)), ..WorkerGain::default() };
        assert_eq!(workers[0], [WorkerGain { on_cpu: Some(Nanos(5)), ..gain(12) }, alone]);
        assert_eq!(workers[1], [WorkerGain { on_cpu: None, ..gain(7) }, alone]);
    }

    #[test]
    fn other_groups_and_workers_that_are_shown_alone_keep_their_own() {
        let mut alone = worker(1, &[5]);
        alone.style.group_reporting = false;
        let before = vec![worker(0, &[100]), worker(1, &[70]), alone.clone(), alone];
        assert_eq!(check("different", before.clone()), before);
    }

    #[test]
    fn parts_without_a_histogram_leave_the_sum_without_one() {
        let without = |latencies: &[u64]| {
            let mut job = worker(0, latencies);
            job.directions.read.total = Some(bare(latencies));
            job
        };
        let orders: [&[JobResult]; 5] = [
            &[without(&[7]), worker(0, &[8])],
            &[worker(0, &[8]), without(&[7])],
            &[without(&[]), worker(0, &[8]), worker(0, &[9])],
            &[worker(0, &[8]), without(&[]), worker(0, &[9])],
            &[without(&[]), worker(0, &[8]), without(&[7])],
        ];
        orders.iter().for_each(|jobs| drop(check("without", jobs.to_vec())));
    }

    #[test]
    fn a_worker_whose_submission_was_measured_keeps_its_completion() {
        let mut jobs = vec![worker(0, &[100]), worker(0, &[200])];
        jobs.iter_mut().for_each(|job| job.directions.read.submission = Some(bare(&[3])));
        let jobs = check("submission", jobs);
        let second = &jobs[1];
        assert_eq!(second.directions.read.completion.as_ref().unwrap().moments.count(), 1);
        assert_eq!(second.cpu.user, Nanos(100));
    }
}
