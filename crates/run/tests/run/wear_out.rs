//! Jobs that go on after their runtime until all have done as many I/Os, on simulated devices.

use crate::support::{depth, options, sim};
use measure::Nanos;
use model::{JobResult, RunResult};
use plan::{AfterRuntime, Extent, JobPlan, Plan};
use run::{Event, Observer, Request};

/// Says, once the time of all is over, how far they go on.
#[derive(Default)]
struct Caller {
    in_time: Vec<u64>,
    /// `None`: the number of the fastest.
    until: Option<u64>,
    end: End,
}

/// The answer to workers that wait.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    GoOn,
    Now,
}

impl Observer for Caller {
    fn event(&mut self, event: Event<'_>) {
        if let Event::OutOfTime(ios) = event {
            assert!(self.in_time.is_empty(), "it is said once");
            self.in_time = ios.to_vec();
        }
    }

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        let fastest = self.in_time.iter().max().copied()?;
        Some(if self.end == End::Now { Request::End } else { Request::GoOnUntil(self.until.unwrap_or(fastest)) })
    }
}

/// A second of reads on a disk with this service time, at this depth.
fn second(service_us: u64, in_flight: u32) -> JobPlan {
    let mut job = sim(Nanos::from_micros(service_us), i64::from(in_flight));
    depth(&mut job, in_flight);
    (job.limits.runtime, job.limits.time_based) = (Some(Nanos::SECOND), true);
    job.limits.after_runtime = AfterRuntime::WaitForOthers;
    job
}

fn run(jobs: Vec<JobPlan>, caller: &mut Caller) -> RunResult {
    run::execute(&Plan { jobs, global_options: Vec::new() }, &options(), caller).unwrap()
}

fn reads(job: &JobResult) -> (u64, Nanos) {
    (job.directions.read.ios, job.runtime)
}

#[test]
fn all_workers_do_as_many_ios_as_the_fastest() {
    for in_flight in [1, 4] {
        let mut caller = Caller::default();
        let found = run(vec![second(100, in_flight), second(200, in_flight), second(125, in_flight)], &mut caller);
        let all = u64::from(in_flight);
        assert_eq!(caller.in_time, [10_000 * all, 5_000 * all, 8_000 * all]);
        let expected = [1_000, 2_000, 1_250].map(|ms| (10_000 * all, Nanos::from_millis(ms)));
        assert_eq!(found.jobs.iter().map(reads).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn io_of_the_ramp_does_not_count_and_a_complete_job_goes_on() {
    let mut ramped = second(100, 1);
    ramped.limits.ramp = Nanos::from_millis(500);
    let mut complete = second(100, 1);
    complete.limits.time_based = false;
    complete.files.size = Some(Extent::Bytes(2_000 * 4096));
    let mut caller = Caller { until: Some(10_500), ..Caller::default() };
    let found = run(vec![ramped, complete], &mut caller);
    assert_eq!(caller.in_time, [10_000, 2_000]);
    assert_eq!(reads(&found.jobs[0]), (10_500, Nanos::from_millis(1_050)));
    assert_eq!(reads(&found.jobs[1]), (2_000, Nanos::from_millis(200)));
}

#[test]
fn workers_that_wait_can_be_ended() {
    let mut caller = Caller { end: End::Now, ..Caller::default() };
    let found = run(vec![second(100, 1), second(200, 1)], &mut caller);
    let ios: Vec<u64> = found.jobs.iter().map(|job| job.directions.read.ios).collect();
    assert_eq!(ios, [10_000, 5_000]);
}
