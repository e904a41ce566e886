//! The users of a closed loop as far as a result states them: their number, their time and their latencies.
//!
//! Leaves the comparison to the check of busy users and to the identity of Little's law.

use crate::run_facts::{latency_sum_ns, printed_of, slots, window};
use measure::{Direction, Nanos};
use model::reading::ReadJob;
use model::{JobResult, RunResult};

/// In a shorter run, the time in whole milliseconds of a report and the start of its workers count too much.
const LEAST_SPAN: Nanos = Nanos::from_millis(20);

/// The users of a job, and its numbers as printed if it is of another program's report.
#[derive(Clone, Copy)]
pub(crate) struct Users<'a> {
    pub(crate) job: &'a JobResult,
    printed: Option<&'a ReadJob>,
}

impl<'a> Users<'a> {
    pub(crate) fn of(result: &'a RunResult, job: &'a JobResult) -> Self {
        Users { job, printed: printed_of(result, job) }
    }

    /// Their number: the I/Os in flight of all workers; `None` if the report does not state the workers or the depth.
    pub(crate) fn count(&self) -> Option<f64> {
        let all = f64::from(self.job.workers.max(1)) * f64::from(slots(self.job));
        let Some(printed) = self.printed else { return Some(all) };
        // All I/Os at depth 1 have one in flight, whatever was asked for.
        let was_one = printed.depth_percent.first().is_some_and(|&first| first > 0.0)
            && printed.depth_percent.iter().skip(1).all(|&share| share == 0.0);
        let workers = printed.workers?;
        match (printed.depth, was_one) {
            (_, true) => Some(workers),
            (Some(_), false) => Some(all),
            (None, false) => None,
        }
    }

    /// The most time in nanoseconds that all can have been at work. A submitting thread has more in flight.
    pub(crate) fn most_time(&self) -> f64 {
        let (workers, depth) = (self.job.workers.max(1), self.job.echo.iodepth.max(1));
        let is_stated = self.printed.is_none_or(|printed| printed.depth.is_some());
        let most = if is_stated { f64::from(workers) * f64::from(depth) } else { f64::INFINITY };
        most * (self.longest() + self.before_the_start())
    }

    /// Longest time before the measured part that the I/Os of a user can bring into it: one in flight at the end of a ramp
    /// counts whole. In nanoseconds.
    pub(crate) fn before_the_start(&self) -> f64 {
        let ramps = |workload: &plan::Workload| !workload.ramp.is_zero() || workload.ramp_bytes > 0;
        // A report without options does not state whether there was a ramp.
        let may_ramp = self.job.workload.as_ref().map_or(self.printed.is_some(), |workload| {
            ramps(workload) || (workload.is_outline && self.printed.is_some())
        });
        let latencies = Direction::ALL.into_iter().filter_map(|direction| self.job.directions[direction].latency());
        let longest = latencies.filter_map(|latency| latency.moments.maximum()).max().unwrap_or_default();
        if may_ramp { longest.as_f64() } else { 0.0 }
    }

    /// The longest time that the I/Os can have taken, verification included. Reports have whole milliseconds.
    fn longest(&self) -> f64 {
        const ROUNDED: Nanos = Nanos::MILLISECOND;
        let each = self.job.runtime.as_f64() / f64::from(self.job.workers.max(1));
        let longest = window(self.job).as_f64().max(each);
        let phases = Direction::ALL.map(|direction| self.job.directions[direction].runtime.as_f64());
        match self.printed {
            None => longest,
            Some(_) if self.has_options() => longest + ROUNDED.as_f64(),
            // A text does not state the time of the job, and its own is that of the longest direction.
            Some(_) => phases.iter().sum::<f64>() + ROUNDED.as_f64(),
        }
    }

    /// Sum of the latencies of I/Os and flushes; `None` if not measured, or if a report does not state all of them.
    pub(crate) fn latency_sum(&self) -> Option<f64> {
        let flushes = self.printed.is_some_and(|printed| printed.sync.is_some());
        latency_sum_ns(self.job).filter(|_| !flushes || self.job.sync.latency.moments.count() > 0)
    }

    /// True if a report counts I/Os that failed (continue_on_error) in some of its numbers.
    pub(crate) fn has_failed_ios(&self) -> bool {
        self.printed.is_some() && self.job.forgiven_errors > 0
    }

    /// True if all options of the job are known, so that what is not there was not asked for.
    pub(crate) fn has_options(&self) -> bool {
        self.job.workload.as_ref().is_some_and(|workload| !workload.is_outline)
    }

    /// The reason why users that seem idle need not have been idle.
    pub(crate) fn excuse(&self) -> Option<&'static str> {
        let flushes = self.job.workload.as_ref().map(|workload| workload.flushes).unwrap_or_default();
        let writes = self.job.directions.write.ios > 0;
        if self.printed.is_some() && window(self.job) < LEAST_SPAN {
            Some("the report states times in whole milliseconds, which are too coarse for this run")
        } else if writes && (flushes.at_end || flushes.at_close) {
            Some("the time of the flush at the end is not measured by itself")
        } else {
            None
        }
    }
}
