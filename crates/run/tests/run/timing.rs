//! When I/O happens and when a job ends: least rates, latency targets, steady state, flows, overlaps, ramps; against
//! the simulated device, whose time is virtual and whose numbers are known.

use crate::support::{alone, children, depth, job, options, run_jobs, run_one, run_processes, sim};
use measure::{BytesPerSecond, Direction, Nanos};
use model::JobResult;
use plan::Plan;
use plan::option::Value;
use plan::{
    CgroupPlan, ClockChoice, ExitScope, Extent, FlowPlan, Isolation, JobPlan, MemoryPolicy, Mix, SteadyCriterion,
    SteadyMeasure, SteadyPlan, ThinkCount,
};
use run::{Event, Observer, RunOptions, WorkerState};

const SERVICE: Nanos = Nanos::from_micros(100);
const SECOND: Nanos = Nanos::SECOND;

fn timed(mut job: JobPlan, in_flight: u32, seconds: u64) -> JobPlan {
    depth(&mut job, in_flight);
    job.limits.runtime = Some(Nanos::from_secs(seconds));
    job.limits.time_based = true;
    job
}

/// A search for the depth at which a device of four servers keeps `target`, over windows of 10 ms.
fn searching(target: Nanos, most: u32) -> JobPlan {
    let mut job = timed(sim(SERVICE, 4), most, 60);
    job.latency.target = Some(target);
    job.latency.window = Nanos::from_millis(10);
    job
}

fn ios(result: &JobResult) -> u64 {
    result.directions.read.ios
}
#[test]
fn a_latency_target_finds_the_depth_that_the_device_serves() {
    let result = run_one(searching(Nanos::from_micros(120), 32));
    assert_eq!(result.latency_goal.depth, Some(4));
    // What counts is one clean window at that depth: 40,000 I/Os per second for 10 ms.
    assert!(result.runtime.get().abs_diff(10_000_000) <= SERVICE.get(), "{:?}", result.runtime);
    assert!(ios(&result).abs_diff(400) <= 4, "{}", ios(&result));
    let slowest = result.directions.read.total.as_ref().unwrap().moments.maximum();
    assert_eq!(slowest, Some(SERVICE));
}

#[test]
fn a_target_between_two_depths_is_found_by_halving() {
    // At depth 8 every I/O takes 200 µs; with a target of 199 µs and one miss allowed in a hundred, 4 to 7 are tried.
    let result = run_one(searching(Nanos::from_micros(250), 32));
    assert_eq!(result.latency_goal.depth, Some(8));
}

// A miss at depth 1 is fatal.
#[test]
fn a_latency_target_that_depth_1_misses_is_a_timeout() {
    let result = run_jobs(vec![searching(Nanos::from_micros(50), 8)]).jobs.remove(0);
    let error = result.error.unwrap();
    assert_eq!(error.errno, libc::ETIMEDOUT);
    assert!(error.message.contains("latency_target of 50 us"), "{}", error.message);
}

#[test]
fn latency_run_goes_on_at_the_depth_that_was_found() {
    let mut job = searching(Nanos::from_micros(120), 32);
    job.latency.keep_running = true;
    job.limits.runtime = Some(SECOND);
    let result = run_one(job);
    assert_eq!(result.latency_goal.depth, Some(4));
    assert!(result.runtime > Nanos::from_millis(900), "{:?}", result.runtime);
}

// Max_latency is on the total latency.
#[test]
fn the_first_io_slower_than_max_latency_ends_the_job() {
    let mut job = timed(sim(SERVICE, 1), 1, 10);
    job.engine_options.set("sim_faults", Value::Text("read:50:delay=1000".to_owned()));
    job.latency.most.read = Some(Nanos::from_micros(500));
    let result = run_jobs(vec![job]).jobs.remove(0);
    let error = result.error.clone().unwrap();
    assert_eq!((error.errno, ios(&result)), (libc::ETIMEDOUT, 50));
    assert!(error.message.contains("1100000 ns") && error.message.contains("500000 ns"), "{}", error.message);
}

#[test]
fn max_latency_is_judged_though_no_latency_is_reported() {
    let mut job = timed(sim(SERVICE, 1), 1, 10);
    job.latency.most.read = Some(Nanos::from_micros(50));
    let record = &mut job.record;
    (record.total_latency, record.completion_latency, record.submission_latency) = (false, false, false);
    let result = run_jobs(vec![job]).jobs.remove(0);
    assert_eq!(result.error.unwrap().errno, libc::ETIMEDOUT);
    assert!(result.directions.read.total.is_none());
}
#[test]
fn a_rate_below_rate_min_fails_the_job_after_grace_and_cycle() {
    let mut job = timed(sim(SERVICE, 1), 1, 20);
    job.pace.think = Nanos::from_millis(200);
    job.pace.least_rate.read = Some(BytesPerSecond(190_000));
    let result = run_jobs(vec![job.clone()]).jobs.remove(0);
    let error = result.error.unwrap();
    assert_eq!(error.errno, libc::EIO);
    assert!(error.message.starts_with("rate_min=190000B/s not met, got 20480B/s"), "{}", error.message);
    assert_eq!(result.runtime.get() / SECOND.get(), 3, "2 s of grace and a cycle of 1 s");
    job.pace.rate_cycle = Nanos::from_millis(5000);
    let longer = run_jobs(vec![job.clone()]).jobs.remove(0);
    assert_eq!(longer.runtime.get() / SECOND.get(), 7);
    job.pace.least_rate.read = Some(BytesPerSecond(19_000));
    assert_eq!(run_jobs(vec![job]).jobs.remove(0).error, None);
}

// Rate_min is not judged during the ramp.
#[test]
fn a_least_rate_is_judged_only_after_the_ramp() {
    let mut job = timed(sim(SERVICE, 1), 1, 20);
    job.limits.ramp = Nanos::from_secs(5);
    job.pace.think = Nanos::from_millis(200);
    job.pace.least_iops.read = Some(90);
    let result = run_jobs(vec![job]).jobs.remove(0);
    assert!(result.error.unwrap().message.starts_with("rate_iops_min=90 not met, got "));
    assert_eq!(result.runtime.get() / SECOND.get(), 3);
}

fn steady(measure: SteadyMeasure, criterion: SteadyCriterion, limit: f64) -> Option<SteadyPlan> {
    let (duration, ramp) = (Nanos::from_secs(5), Nanos::ZERO);
    Some(SteadyPlan { measure, criterion, limit, relative: true, duration, ramp, interval: SECOND })
}

// The device is settled from second 10 on, so the first window that is level is that of 10 to 15.
#[test]
fn a_settling_device_is_steady_at_the_known_second() {
    for measure in [SteadyMeasure::Iops, SteadyMeasure::Bandwidth, SteadyMeasure::Latency] {
        for criterion in [SteadyCriterion::Deviation, SteadyCriterion::Slope] {
            let mut job = timed(sim(Nanos::from_millis(1), 1), 1, 60);
            job.engine_options.set("sim_settling", Value::Integer(10_000_000_000));
            job.steady = steady(measure, criterion, 0.2);
            let result = run_one(job);
            let found = result.steady.as_ref().unwrap();
            assert!(found.attained && found.criterion < 0.2, "{found:?}");
            let seconds = result.runtime.as_millis_ceil() / 1000;
            assert_eq!(seconds, 15, "{measure:?} {criterion:?}");
            assert_eq!(
                (found.iops.len(), found.latency_ns.len()),
                (5, if measure == SteadyMeasure::Latency { 5 } else { 0 })
            );
            assert!(found.iops.iter().all(|iops| iops.abs_diff(1000) <= 2), "{found:?}");
        }
    }
}

#[test]
fn a_job_that_never_settles_runs_to_its_end_and_says_so() {
    let mut job = timed(sim(Nanos::from_millis(1), 1), 1, 8);
    job.engine_options.set("sim_settling", Value::Integer(60_000_000_000));
    job.steady = steady(SteadyMeasure::Iops, SteadyCriterion::Slope, 0.01);
    let result = run_one(job);
    let found = result.steady.unwrap();
    assert!(!found.attained && found.slope > 0.0 && found.criterion > 0.01, "{found:?}");
    assert_eq!(found.iops.len(), 5);
    assert!(result.runtime >= Nanos::from_millis(7_990));
}

// Jobs that are reported as one are judged by their sum, and all of them end.
#[test]
fn a_group_settles_as_one_and_ends_as_one() {
    let mut job = timed(job("group", "null"), 1, 30);
    job.clones = 2;
    job.record.group_reporting = true;
    job.pace.iops.read = Some(500);
    job.steady = steady(SteadyMeasure::Iops, SteadyCriterion::Deviation, 20.0);
    job.steady.as_mut().unwrap().duration = Nanos::from_secs(2);
    let result = run_jobs(vec![job]);
    let found = result.jobs[0].steady.as_ref().unwrap();
    assert!(found.attained, "{found:?}");
    assert!(found.iops.iter().all(|iops| (800..1200).contains(iops)), "{found:?}");
    assert!(result.jobs[1].steady.is_none());
    assert!(result.jobs.iter().all(|job| job.runtime < Nanos::from_secs(6)));
}
#[test]
fn jobs_of_one_flow_share_their_ios_by_weight() {
    // What each has done when both were last seen at work: alone, before the other's start and after its end, a job
    // goes as fast as it can.
    struct Together(Option<(u64, u64)>);
    impl Observer for Together {
        fn event(&mut self, event: Event<'_>) {
            let Event::Progress(progress) = event else { return };
            if let [a, b] = progress.workers.as_slice()
                && (a.state, b.state) == (WorkerState::Running, WorkerState::Running)
            {
                self.0 = Some((a.ios.read, b.ios.read));
            }
        }
    }
    let of = |name: &str, weight| {
        let mut job = timed(job(name, "null"), 1, 1);
        job.pace.flow = Some(FlowPlan { id: 7, weight, pause: Nanos::from_micros(10) });
        job
    };
    let plan = Plan { jobs: vec![of("a", 3), of("b", 1)], global_options: Vec::new() };
    let options = RunOptions { progress_interval: Some(Nanos::from_millis(20)), ..options() };
    let mut together = Together(None);
    run::execute(&plan, &options, &mut together).unwrap();
    let (a, b) = together.0.expect("a second is long enough to be seen");
    let ratio = a as f64 / b as f64;
    assert!((2.7..3.4).contains(&ratio), "{ratio}");
}

#[test]
fn a_ramp_of_bytes_leaves_out_what_came_before() {
    let mut job = timed(sim(SERVICE, 1), 1, 1);
    job.limits.ramp_bytes = 1000 * 4096;
    let result = run_one(job);
    assert_eq!((ios(&result), result.runtime), (10_000, SECOND), "the runtime counts from the end of the ramp");
}

// Think time drains the queue first.
#[test]
fn think_time_counts_issued_blocks_or_time() {
    let mut job = timed(sim(SERVICE, 8), 8, 1);
    job.pace.think = Nanos::from_millis(10);
    job.pace.think_blocks = 4;
    job.pace.think_counts = ThinkCount::Issued;
    let result = run_one(job.clone());
    // Four I/Os side by side, then a pause: 10.1 ms each round.
    assert!(ios(&result).abs_diff(4 * 1000 / 10) <= 8, "{}", ios(&result));
    assert_eq!(result.depth.level.iter().skip(3).sum::<u64>(), 0, "never more than four in flight");
    job.pace.think_blocks = u64::MAX;
    job.pace.think_io_time = Nanos::from_millis(90);
    depth(&mut job, 1);
    // 90 ms of I/O at 10,000 per second, 10 ms of rest: 900 per round, ten rounds.
    let result = run_one(job);
    assert!(ios(&result).abs_diff(9_000) <= 20, "{}", ios(&result));
}

#[test]
fn ios_that_overlap_one_in_flight_wait_for_it() {
    // Two blocks, depth 8, random with repetition: without the option eight are in flight, with it two at most.
    let mut job = timed(sim(SERVICE, 8), 8, 1);
    job.files.size = Some(Extent::Bytes(2 * 4096));
    job.load.random = true;
    job.load.cover_all = false;
    let free = ios(&run_one(job.clone()));
    job.depth.serialises_overlap = true;
    let held = ios(&run_one(job));
    assert_eq!(free, 80_000);
    assert!((10_000..=20_000).contains(&held), "{held}");
}

// The load waits for its time with I/Os in flight: a slow device delays no I/O that is due meanwhile.
#[test]
fn a_rate_is_kept_while_slow_ios_are_in_flight() {
    let mut job = timed(sim(Nanos::from_millis(500), 64), 64, 4);
    job.files.size = Some(Extent::Bytes(16 << 20));
    job.pace.iops.read = Some(100);
    let result = run_one(job);
    let submission = result.directions.read.total.as_ref().unwrap().moments;
    assert_eq!(submission.maximum(), Some(Nanos::from_millis(500)));
    assert_eq!(ios(&result), 400);
    assert!(result.depth.level[5] > 300, "some fifty are in flight at a time: {:?}", result.depth.level);
    assert_eq!(result.depth.complete[0], 0, "a wait that brought nothing is not a reap");
}

#[test]
fn commands_run_around_a_job_and_a_failing_one_fails_it() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let name = folder.path().join("hooked").display().to_string().replace('/', "_");
    let mut job = job(&name, "null");
    job.start.before = Some(format!("echo before > {}", mark.display()));
    job.start.after = Some(format!("echo after >> {}; echo said", mark.display()));
    let result = run_jobs(vec![job.clone()]).jobs.remove(0);
    assert_eq!(result.error, None);
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "before\nafter\n");
    assert_eq!(std::fs::read_to_string(format!("{name}.postrun.txt")).unwrap(), "said\n");
    job.start.before = Some("exit 3".to_owned());
    let result = run_jobs(vec![job]).jobs.remove(0);
    assert!(result.error.unwrap().message.contains("exec_prerun=`exit 3`"));
    assert_eq!(result.directions.read.ios, 0);
    for file in ["prerun", "postrun"] {
        std::fs::remove_file(format!("{name}.{file}.txt")).unwrap();
    }
}

#[test]
fn a_worker_runs_as_asked() {
    let mut placed = timed(job("placed", "null"), 1, 1);
    placed.pace.iops.read = Some(100);
    placed.place.name = Some("tuned".to_owned());
    placed.place.user = Some(65_534);
    placed.place.group = Some(65_534);
    struct Look(Vec<String>);
    impl Observer for Look {
        fn event(&mut self, event: Event<'_>) {
            let Event::Progress(progress) = event else { return };
            if progress.workers[0].ios.read == 0 {
                return;
            }
            for pid in children() {
                let read = |what| std::fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap_or_default();
                if read("comm").trim() == "tuned" {
                    self.0 = read("status").lines().map(str::to_owned).collect();
                }
            }
        }
    }
    let mut look = Look(Vec::new());
    let result = run_processes(vec![placed], &mut look);
    assert_eq!(result.jobs[0].error, None);
    let has = |line: &str| look.0.iter().any(|found| found.starts_with(line));
    assert!(has("Uid:\t65534\t65534") && has("Gid:\t65534\t65534"), "{:?}", look.0);
}

#[test]
fn a_clock_and_a_policy_that_are_not_there_are_named() {
    let refused = |change: fn(&mut JobPlan)| {
        let mut job = job("a", "null");
        change(&mut job);
        run_jobs(vec![job]).jobs.remove(0).error.map(|error| error.message).unwrap_or_default()
    };
    assert!(refused(|job| job.start.clock_id = Some(99)).contains("job_start_clock_id=99"));
    assert!(refused(|job| job.place.nodes = vec![63]).contains("NUMA node 63"));
    assert!(refused(|job| job.place.memory = Some(MemoryPolicy::Bind(vec![63]))).contains("numa_mem_policy"));
    assert_eq!(refused(|job| job.place.clock = Some(ClockChoice::System)), "");
    assert_eq!(refused(|job| job.place.memory = Some(MemoryPolicy::Local)), "");
}

#[test]
fn the_start_is_recorded_by_the_chosen_clock() {
    let mut job = job("a", "null");
    job.start.clock_id = Some(1);
    let up_ms = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic).tv_sec.unsigned_abs() * 1000;
    let started = run_one(job).started_unix_ms;
    assert!(started.abs_diff(up_ms) < 60_000, "{started} of {up_ms}");
}

#[test]
fn a_worker_joins_the_control_group_it_names() {
    let name = format!("plumb-test-{}", std::process::id());
    let mut job = job("grouped", "null");
    job.place.cgroup = Some(CgroupPlan { name: name.clone(), weight: None, keep: false });
    let result = run_processes_here(job);
    match result.error {
        None => {
            let left =
                ["blkio/", "unified/", ""].map(|top| std::path::Path::new("/sys/fs/cgroup").join(top).join(&name));
            assert!(left.iter().all(|folder| !folder.exists()), "the group is removed");
        }
        // A sandbox may keep them from us.
        Some(error) => assert!(error.message.contains("cgroup"), "{}", error.message),
    }
}

/// As a process, with the real /proc and /sys for everything but the number of threads.
fn run_processes_here(mut job: JobPlan) -> JobResult {
    let (root, options) = alone();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
    std::fs::write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
    std::fs::create_dir_all(root.path().join("sys/fs")).unwrap();
    std::os::unix::fs::symlink("/sys/fs/cgroup", root.path().join("sys/fs/cgroup")).unwrap();
    job.isolation = Isolation::Process;
    let plan = Plan { jobs: vec![job], global_options: Vec::new() };
    run::execute(&plan, &options, &mut crate::support::Blind).unwrap().jobs.remove(0)
}

// Exitall ends the jobs that exit_what names.
#[test]
fn exitall_ends_the_jobs_that_it_names() {
    let seconds = |scope| {
        let short = |name: &str| {
            let mut short = timed(job(name, "null"), 1, 1);
            short.limits.runtime = Some(Nanos::from_millis(100));
            short.pace.iops.read = Some(1000);
            short
        };
        let mut first = short("first");
        (first.limits.exit_all, first.limits.exit_scope) = (true, scope);
        let mut neighbour = short("neighbour");
        neighbour.group = 1;
        neighbour.limits.runtime = Some(Nanos::from_millis(2000));
        let mut behind = short("behind");
        (behind.group, behind.start.stonewall) = (2, true);
        let result = run_jobs(vec![first, neighbour, behind]);
        let ran = |index: usize| result.jobs[index].runtime > Nanos::from_millis(1900);
        (ran(1), result.jobs[2].directions[Direction::Read].ios > 0)
    };
    assert_eq!(seconds(ExitScope::Group), (true, true));
    assert_eq!(seconds(ExitScope::Stonewall), (false, true));
    assert_eq!(seconds(ExitScope::All), (false, false));
}

/// Sends SIGTERM to one worker.
struct Killer;

impl Observer for Killer {
    fn event(&mut self, event: Event<'_>) {
        let Event::Progress(progress) = event else { return };
        if progress.workers.iter().all(|worker| worker.ios.read > 20) {
            for pid in children() {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                if name.trim() == "to-be-ended" {
                    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
                    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_signal_to_one_worker_ends_the_run_in_order() {
    let mut first = timed(job("first", "null"), 1, 30);
    first.pace.iops.read = Some(1000);
    let mut second = first.clone();
    first.place.name = Some("to-be-ended".to_owned());
    second.name = "second".to_owned();
    let result = run_processes(vec![first, second], &mut Killer);
    assert_eq!(result.ended_by_signal, None);
    for job in &result.jobs {
        assert_eq!(job.error, None);
        assert!(job.runtime < Nanos::from_secs(10) && ios(job) > 20);
    }
}

// The next time is due by the rate, however late the last came; a pause is forgiven only if requested.
#[test]
fn a_rate_catches_up_after_a_pause_unless_it_ignores_think_time() {
    let mut job = timed(sim(Nanos::from_micros(10), 1), 1, 2);
    job.load.mix = Mix::Only(Direction::Read);
    job.pace.iops.read = Some(1000);
    job.pace.think = Nanos::from_millis(100);
    job.pace.think_blocks = 100;
    let caught_up = ios(&run_one(job.clone()));
    job.pace.rate_ignores_think = true;
    let forgiven = ios(&run_one(job));
    assert!(caught_up > 1_850, "{caught_up}");
    assert!(forgiven.abs_diff(1_000) < 60, "{forgiven}");
}

// The runtime counts from the end of the ramp, at which everything is zeroed.
#[test]
fn the_runtime_counts_from_the_end_of_the_ramp() {
    let mut job = timed(sim(SERVICE, 1), 1, 1);
    job.limits.ramp = Nanos::from_millis(500);
    let result = run_one(job);
    assert_eq!((result.runtime, ios(&result)), (SECOND, 10_000));
    assert_eq!(result.directions.read.bytes, 10_000 * 4096);
    assert_eq!(result.directions.write.runtime, Nanos::ZERO, "a direction that moved nothing has no runtime");
}

// Fsync counts issued writes, does not follow the last one, and has its own latencies.
#[test]
fn syncs_are_counted_apart_from_the_writes_they_follow() {
    let mut job = sim(SERVICE, 1);
    job.files.size = Some(Extent::Bytes(16 * 4096));
    job.load.mix = Mix::Only(Direction::Write);
    job.load.fsync_every = 4;
    let result = run_one(job);
    let write = &result.directions.write;
    assert_eq!((write.ios, write.completion.as_ref().unwrap().moments.count(), result.sync.count), (16, 16, 3));
    assert_eq!(result.sync.latency.moments.maximum(), Some(SERVICE));
}

// A job whose files cannot be set up does not stop the others.
#[test]
fn a_job_without_its_files_leaves_the_others_alone() {
    let mut lost = job("lost", "psync");
    lost.files.names = vec!["/proc/no/such/file".into()];
    let result = run_jobs(vec![lost, job("fine", "null")]);
    assert!(result.jobs[0].error.is_some());
    assert_eq!((result.jobs[1].error.clone(), ios(&result.jobs[1])), (None, 256));
}

// Startdelay delays the start of a worker, wait_for makes it wait for another's end.
#[test]
fn a_worker_starts_after_its_delay_and_those_it_waits_for() {
    let mut first = timed(job("first", "null"), 1, 1);
    (first.pace.iops.read, first.limits.runtime) = (Some(1000), Some(Nanos::from_millis(400)));
    let mut late = job("late", "null");
    late.start.delay = (Nanos::from_millis(300), Nanos::from_millis(300));
    let mut waits = job("waits", "null");
    waits.start.wait_for = Some("first".to_owned());
    let result = run_jobs(vec![first, late, waits]);
    let since_first = |index: usize| result.jobs[index].started_unix_ms.saturating_sub(result.jobs[0].started_unix_ms);
    // The first takes a moment to start itself.
    assert!(since_first(1) >= 250, "{} ms", since_first(1));
    assert!(since_first(2) >= 390, "{} ms", since_first(2));
}
