//! Plans for tests, and running them.

use measure::Nanos;
use model::{JobResult, RunResult};
use plan::Plan;
use plan::option::Value;
use plan::{ContinueOnError, DepthPlan, Extent, Isolation, JobPlan, LogPlan};
use run::{Event, Observer, RunOptions};

/// An observer that sees nothing.
pub(crate) struct Blind;

impl Observer for Blind {
    fn event(&mut self, _event: Event<'_>) {}
}

/// A job as fio's defaults have it: sequential 4 KiB reads of 1 MiB by a thread.
pub(crate) fn job(name: &str, engine: &'static str) -> JobPlan {
    let mut job = JobPlan::with_defaults(name, "test", engine);
    use_engine(&mut job, engine);
    job.isolation = Isolation::Thread;
    job.files.size = Some(Extent::Bytes(1 << 20));
    job.record.percentiles = vec![1.0, 50.0, 99.0, 99.99];
    job.record.logs = LogPlan::default();
    job
}

/// Takes an engine, and what it works on.
pub(crate) fn use_engine(job: &mut JobPlan, engine: &'static str) {
    job.engine = engine;
    let spec = engine::ENGINES.iter().find(|spec| spec.name == engine);
    job.work = spec.map(|spec| spec.capabilities.work).unwrap_or_default();
}

/// The simulated device with this service time and parallelism.
pub(crate) fn sim(service: Nanos, parallelism: i64) -> JobPlan {
    let mut job = job("sim", "sim");
    job.engine_options.set("sim_service_time", Value::Integer(i64::try_from(service.get()).unwrap()));
    job.engine_options.set("sim_parallelism", Value::Integer(parallelism));
    job
}

/// Runs jobs to their end.
pub(crate) fn run_jobs(jobs: Vec<JobPlan>) -> RunResult {
    run::execute(&Plan { jobs, global_options: Vec::new() }, &options(), &mut Blind).unwrap()
}

/// Runs one job without an error and gives its result.
pub(crate) fn run_one(job: JobPlan) -> JobResult {
    let result = run_jobs(vec![job]).jobs.remove(0);
    assert_eq!(result.error, None);
    result
}

/// Options for tests: the real system.
pub(crate) fn options() -> RunOptions {
    RunOptions::default()
}

/// Gives a job one batch size for everything, as `iodepth=depth` alone does.
pub(crate) fn depth(job: &mut JobPlan, depth: u32) {
    job.depth = DepthPlan { depth, batch: 1, reap_min: 1, reap_max: 1, low: depth, ..DepthPlan::default() };
}

/// Forgiveness for everything.
pub(crate) const ALL: ContinueOnError = ContinueOnError { read: true, write: true, verify: true };

/// A root whose /proc says that this process has one thread, so that it may fork: the test harness runs its tests
/// on concurrent threads, and none of them holds a lock that a worker needs.
pub(crate) fn alone() -> (tempfile::TempDir, RunOptions) {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("proc/self/task/1")).unwrap();
    let options = RunOptions { system_root: root.path().to_owned(), ..options() };
    (root, options)
}

/// Runs jobs as processes to their end.
pub(crate) fn run_processes(mut jobs: Vec<JobPlan>, observer: &mut dyn Observer) -> RunResult {
    let (_root, mut options) = alone();
    options.progress_interval = Some(Nanos::from_millis(20));
    for job in &mut jobs {
        job.isolation = Isolation::Process;
    }
    run::execute(&Plan { jobs, global_options: Vec::new() }, &options, observer).unwrap()
}

/// The process ids of this process's children, those of other tests included.
pub(crate) fn children() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
    tasks.flat_map(|task| of(task).split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()).collect()
}
