//! Jobs that take turns on one thread: each does what it does with a thread to itself.

use crate::support::{Blind, depth, job, options, run_jobs, run_processes};
use measure::{Direction, Nanos, PerDirection};
use model::{JobResult, RunResult};
use plan::{Digest, Extent, Isolation, JobPlan, Mix, Plan, VerifyMethod, VerifyPlan};
use run::{Event, Observer, Request};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

/// Clones of a job that take turns, `together` of them on a thread.
fn clones(directory: &Path, engine: &'static str, count: u32, together: u32) -> JobPlan {
    let mut job = job("a", engine);
    job.files.directories = vec![directory.to_owned()];
    (job.clones, job.jobs_per_thread) = (count, together);
    job
}

fn for_ms(mut job: JobPlan, milliseconds: u64) -> JobPlan {
    job.limits.runtime = Some(Nanos::from_millis(milliseconds));
    job.limits.time_based = true;
    job
}

fn pids(result: &RunResult) -> Vec<u32> {
    result.jobs.iter().map(|job| job.pid).collect()
}

fn without_errors(result: RunResult) -> Vec<JobResult> {
    let jobs = result.jobs;
    assert!(jobs.iter().all(|job| job.error.is_none()), "{:?}", jobs.iter().map(|job| &job.error).collect::<Vec<_>>());
    jobs
}

/// Direction, length and offset of each I/O of each clone, from its log.
fn ios_of(directory: &Path, count: u32) -> Vec<Vec<Vec<u64>>> {
    let of = |clone: u32| {
        let text = std::fs::read_to_string(directory.join(format!("x_lat.{clone}.log"))).unwrap();
        let row = |line: &str| line.split(',').skip(2).take(3).map(|word| word.trim().parse().unwrap()).collect();
        text.lines().map(row).collect()
    };
    (1..=count).map(of).collect()
}

#[test]
fn jobs_in_turns_do_the_ios_of_jobs_with_a_thread_each() {
    for (engine, in_flight) in [("null", 1), ("null", 4), ("io_uring", 1), ("io_uring", 4)] {
        let done = |together: u32| {
            let directory = tempfile::tempdir().unwrap();
            let mut job = clones(directory.path(), engine, 5, together);
            depth(&mut job, in_flight);
            job.load.random = true;
            job.load.mix = Mix::ReadWrite;
            job.load.seed = Some(7);
            job.record.logs.latency = Some(directory.path().join("x").display().to_string());
            (job.record.logs.per_job, job.record.logs.offset) = (true, true);
            let results = without_errors(run_jobs(vec![job]));
            let ios: Vec<u64> = results.iter().map(JobResult::ios).collect();
            assert_eq!(ios, [256; 5], "{engine} at depth {in_flight}");
            let mut ios = ios_of(directory.path(), 5);
            if in_flight > 1 {
                // The order of completions is the kernel's.
                ios.iter_mut().for_each(|ios| ios.sort());
            }
            ios
        };
        let (alone, together) = (done(1), done(5));
        assert_eq!(together, alone, "{engine} at depth {in_flight}");
        assert_ne!(together[0], together[1], "clones draw their own");
        assert_eq!(done(2), alone, "two threads of two, and one of one");
    }
}

#[test]
fn clones_share_as_few_threads_as_asked_with_a_result_each() {
    let directory = tempfile::tempdir().unwrap();
    for isolation in [Isolation::Thread, Isolation::Process] {
        let mut plan = clones(directory.path(), "io_uring", 5, 2);
        plan.isolation = isolation;
        let result = match isolation {
            Isolation::Thread => run_jobs(vec![plan]),
            Isolation::Process => run_processes(vec![plan], &mut Blind),
        };
        let pids = pids(&result);
        assert_eq!([pids[0], pids[2]], [pids[1], pids[3]], "{isolation:?}");
        assert_eq!(pids.iter().collect::<BTreeSet<_>>().len(), 3, "{isolation:?}: {pids:?}");
        for (number, job) in (1..).zip(without_errors(result)) {
            assert_eq!((job.echo.number, job.ios(), job.workers), (number, 256, 1));
            let read = &job.directions.read;
            let latencies =
                [&read.submission, &read.completion, &read.total].map(|latency| latency.as_ref().unwrap().moments);
            assert!(latencies.iter().all(|latency| latency.count() == 256));
            let [submission, completion, total] = latencies.map(|latency| latency.sum());
            assert_eq!(submission + completion, total, "the parts of a latency are the whole");
        }
    }
}

#[test]
fn a_result_says_that_jobs_shared_a_thread_and_its_cpu_time() {
    let directory = tempfile::tempdir().unwrap();
    let notes = |together: u32| {
        let plan = clones(directory.path(), "null", 4, together);
        run_jobs(vec![plan]).environment.engine_notes
    };
    let said = "null: 4 jobs take turns on a thread; the CPU time of each is an equal share of the thread's";
    assert_eq!(notes(4), [said]);
    assert_eq!(notes(1), [""; 0]);
    // Three jobs of 0.3 s on one thread that is busy all the time use a third of it each, not all of it.
    let result = run_jobs(vec![for_ms(clones(directory.path(), "null", 3, 3), 300)]);
    let used: Vec<Nanos> = result.jobs.iter().map(|job| job.cpu.user + job.cpu.system).collect();
    assert!(used.iter().all(|used| !used.is_zero() && *used < Nanos::from_millis(150)), "{used:?}");
    assert!(
        used.iter().max().unwrap().saturating_sub(*used.iter().min().unwrap()) < Nanos::from_millis(30),
        "{used:?}"
    );
}

#[test]
fn rate_pauses_ramp_and_runtime_are_kept_while_others_work() {
    let directory = tempfile::tempdir().unwrap();
    let mut at_rate = clones(directory.path(), "io_uring", 10, 10);
    at_rate.pace.iops = PerDirection::all(Some(100));
    let mut thinking = clones(directory.path(), "null", 4, 4);
    thinking.pace.think = Nanos::from_millis(20);
    thinking.limits.ramp = Nanos::from_millis(200);
    let results = without_errors(run_jobs(vec![for_ms(at_rate, 500), for_ms(thinking, 400)]));
    for job in &results[..10] {
        assert!((49..=51).contains(&job.ios()), "{} at 100 a second for 0.5 s", job.ios());
    }
    for job in &results[10..] {
        // A machine that does other work lets a sleep end late, and never early.
        assert!((5..=21).contains(&job.ios()), "{} with pauses of 20 ms for 0.4 s", job.ios());
        assert!(job.runtime >= Nanos::from_millis(400) && job.runtime < Nanos::from_millis(900), "{:?}", job.runtime);
    }
}

#[test]
fn a_clone_with_a_longer_delay_begins_later_on_its_thread() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = for_ms(clones(directory.path(), "null", 6, 6), 100);
    plan.start.delay = (Nanos::ZERO, Nanos::from_millis(400));
    plan.pace.iops = PerDirection::all(Some(1000));
    let results = without_errors(run_jobs(vec![plan]));
    assert!(results.iter().all(|job| job.pid == results[0].pid && job.ios() > 50));
    let begun: Vec<Nanos> = results.iter().map(|job| job.measured.unwrap().from).collect();
    assert!(
        begun.iter().max().unwrap().saturating_sub(*begun.iter().min().unwrap()) > Nanos::from_millis(30),
        "{begun:?}"
    );
}

#[test]
fn what_jobs_wrote_in_turns_is_read_back_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = clones(directory.path(), "io_uring", 4, 4);
    depth(&mut plan, 4);
    plan.load.random = true;
    plan.load.mix = Mix::Only(Direction::Write);
    plan.load.end_fsync = true;
    plan.load.fsync_every = 16;
    plan.verify = Some(VerifyPlan {
        method: VerifyMethod::Digest(Digest::Crc32c),
        check: true,
        sequence: true,
        seed: true,
        ..VerifyPlan::default()
    });
    for job in without_errors(run_jobs(vec![plan])) {
        assert_eq!((job.directions.write.ios, job.directions.read.ios), (256, 256));
        assert_eq!(job.verified_bytes, Some(1 << 20));
        assert!(job.sync.count >= 15, "{}", job.sync.count);
    }
}

#[test]
fn all_jobs_of_a_killed_process_say_so_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = for_ms(clones(directory.path(), "null", 4, 2), 3000);
    plan.name = "turn".into();
    plan.place.name = Some("turn-to-kill".into());
    plan.pace.iops = PerDirection::all(Some(1000));
    let killer = std::thread::spawn(|| {
        let begun = Instant::now();
        while begun.elapsed().as_secs() < 10 {
            std::thread::sleep(std::time::Duration::from_millis(100));
            let named = |pid: &u32| {
                let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                comm.trim() == "turn-to-kill"
            };
            if let Some(pid) = crate::support::children().into_iter().find(named) {
                std::thread::sleep(std::time::Duration::from_millis(300));
                let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                return u32::try_from(pid.as_raw_nonzero().get()).unwrap();
            }
        }
        panic!("no worker came");
    });
    let result = run_processes(vec![plan], &mut Blind);
    let killed = killer.join().unwrap();
    for job in &result.jobs {
        let signal = job.error.as_ref().and_then(|error| error.signal);
        assert_eq!(signal, (job.pid == killed).then_some(9), "{:?}", job.error);
        assert!(job.ios() > 0, "what a job did before is in its result");
    }
    assert_eq!(result.jobs.iter().filter(|job| job.pid == killed).count(), 2);
}

/// Asks once for a report in between.
#[derive(Default)]
struct Curious {
    seen: Vec<u64>,
    asked: bool,
}

impl Observer for Curious {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Report(result) = event {
            self.seen = result.jobs.iter().map(JobResult::ios).collect();
        }
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        let asks =
            elapsed > Nanos::from_millis(100) && !std::mem::replace(&mut self.asked, elapsed > Nanos::from_millis(100));
        asks.then_some(Request::Report)
    }
}

#[test]
fn a_report_in_between_has_all_jobs_of_a_thread() {
    let directory = tempfile::tempdir().unwrap();
    let plan = for_ms(clones(directory.path(), "io_uring", 3, 3), 400);
    let mut curious = Curious::default();
    let result = run::execute(&Plan { jobs: vec![plan], ..Plan::default() }, &options(), &mut curious).unwrap();
    let ends: Vec<u64> = without_errors(result).iter().map(JobResult::ios).collect();
    assert_eq!(curious.seen.len(), 3);
    assert!(curious.seen.iter().zip(&ends).all(|(seen, end)| (1..*end).contains(seen)), "{:?} {ends:?}", curious.seen);
}

#[test]
fn a_thread_of_jobs_reads_each_of_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = clones(directory.path(), "io_uring", 3, 3);
    plan.files.size = Some(Extent::Bytes(64 << 10));
    plan.engine_options.set("fixedbufs", plan::option::Value::Flag(true));
    plan.engine_options.set("registerfiles", plan::option::Value::Flag(true));
    let result = run_jobs(vec![plan]);
    assert!(result.environment.engine_notes[0].contains("registered files, registered buffers; 3 jobs"));
    let paths: BTreeSet<String> = without_errors(result).into_iter().flat_map(|job| job.echo.paths).collect();
    assert_eq!(paths.len(), 3);
}
