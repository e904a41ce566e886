//! Life and death of workers: order, limits, signals, crashes.

use crate::support::{Blind, children, job, run_jobs, run_processes};
use measure::{Direction, Nanos};
use model::RunResult;
use plan::{Isolation, JobPlan, Mix, Plan};
use run::{Event, Monitoring, Observer, Progress, Request, RunOptions, Runner, Start, WorkerState};
use std::path::Path;
use std::time::{Duration, Instant};

/// A job that does nothing for so long.
fn busy(name: &str, milliseconds: u64) -> JobPlan {
    let mut job = job(name, "null");
    job.limits.runtime = Some(Nanos::from_millis(milliseconds));
    job.limits.time_based = true;
    job.pace.iops.read = Some(1000);
    job
}

fn on_files_in(directory: &Path, mut job: JobPlan) -> JobPlan {
    job.files.directories = vec![directory.to_owned()];
    job
}

fn runtime_ms(result: &RunResult, index: usize) -> u64 {
    result.jobs[index].runtime.as_millis_ceil()
}

fn start_ms(result: &RunResult, index: usize) -> u64 {
    result.jobs[index].started_unix_ms
}

#[test]
fn a_process_reads_its_file_and_reports_through_shared_memory() {
    let directory = tempfile::tempdir().unwrap();
    let result = run_processes(vec![on_files_in(directory.path(), job("reader", "psync"))], &mut Blind);
    let job = &result.jobs[0];
    assert_eq!((job.error.clone(), job.directions.read.ios), (None, 256));
    assert_ne!(job.pid, std::process::id());
    assert_eq!(job.directions.read.completion.as_ref().unwrap().moments.count(), 256);
}

#[test]
fn passes_share_a_thread_until_a_plan_needs_processes() {
    let directory = tempfile::tempdir().unwrap();
    let (_root, options) = crate::support::alone();
    let mut runner = Runner::new(Path::new("/"));
    let mut thread_of = |change: fn(&mut JobPlan)| {
        let mut job = on_files_in(directory.path(), job("pass", "psync"));
        job.pass = Some(Box::default());
        change(&mut job);
        let plan = Plan { jobs: vec![job], global_options: Vec::new() };
        let done = runner.run(&plan, &options, &mut Blind).unwrap().jobs.remove(0);
        assert_eq!((done.error, done.directions.read.ios), (None, 256));
        done.pid
    };
    let first = thread_of(|_| {});
    assert_eq!(thread_of(|_| {}), first);
    assert_ne!(thread_of(|job| job.isolation = Isolation::Process), first);
    let second = thread_of(|_| {});
    assert_ne!(second, first);
    assert_ne!(thread_of(|job| job.place.nice = 1), second, "the priority would stay with the thread");
}

#[test]
fn a_pass_finds_nothing_of_the_one_before_in_shared_memory() {
    let directory = tempfile::tempdir().unwrap();
    let (_root, options) = crate::support::alone();
    let mut runner = Runner::new(Path::new("/"));
    let mut pass = |engine: &'static str, latency: Latency| {
        let mut job = on_files_in(directory.path(), job("pass", engine));
        job.pass = Some(Box::default());
        job.record.completion_latency = latency == Latency::Measured;
        (job.record.total_latency, job.record.submission_latency) = (false, false);
        let plan = Plan { jobs: vec![job], global_options: Vec::new() };
        let done = runner.run(&plan, &options, &mut Blind).unwrap().jobs.remove(0);
        let read = done.directions.read;
        let measured = read.completion.map_or(0, |completion| completion.moments.count());
        (done.error, read.ios, read.bytes, measured)
    };
    for _ in 0..3 {
        assert_eq!(pass("psync", Latency::Measured), (None, 256, 1 << 20, 256));
        assert_eq!(pass("sync", Latency::Unmeasured), (None, 256, 1 << 20, 0));
    }
}

/// A pass of the `sync` engine over a file in `directory`, of which nothing but its numbers is seen.
fn unseen_pass(directory: &Path, change: impl Fn(&mut JobPlan)) -> Plan {
    let mut job = on_files_in(directory, job("pass", "sync"));
    job.pass = Some(Box::default());
    job.record.completion_latency = false;
    (job.record.total_latency, job.record.submission_latency) = (false, false);
    change(&mut job);
    Plan { jobs: vec![job], global_options: Vec::new() }
}

fn unseen() -> RunOptions {
    RunOptions { monitoring: Monitoring::Off, ..crate::support::options() }
}

#[test]
fn unobserved_passes_are_done_by_the_caller_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let plans = [(); 2].map(|()| unseen_pass(directory.path(), |_| {}));
    let mut runner = Runner::new(Path::new("/"));
    let here = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
    for _ in 0..3 {
        let results = runner.run_in_succession(&plans, &unseen(), &mut Blind).unwrap();
        let jobs: Vec<_> = results.iter().map(|result| &result.jobs[0]).collect();
        let seen = jobs.iter().map(|job| (job.error.clone(), job.directions.read.ios, job.pid));
        assert_eq!(seen.collect::<Vec<_>>(), vec![(None, 256, here); 2]);
        let passes: Vec<_> = jobs.iter().map(|job| job.pass.unwrap()).collect();
        assert!(passes[0].until <= passes[1].from && passes[0].from < passes[0].until, "{passes:?}");
    }
    let (_root, watched) = crate::support::alone();
    let results = runner.run_in_succession(&plans, &watched, &mut Blind).unwrap();
    assert!(results.iter().all(|result| result.jobs[0].pid != here && result.jobs[0].directions.read.ios == 256));
}

#[test]
fn of_passes_in_succession_none_begins_after_one_that_failed() {
    let (_root, watched) = crate::support::alone();
    for options in [unseen(), watched] {
        let directory = tempfile::tempdir().unwrap();
        let marks = plan::Marks { byte: b'_', bytes: 8, page: 4096 };
        let fine = unseen_pass(directory.path(), |_| {});
        let wrong = unseen_pass(directory.path(), |job| job.pass.as_mut().unwrap().marks = Some(marks));
        let never = unseen_pass(directory.path(), |job| job.files.names = vec!["never".into()]);
        let results = Runner::new(Path::new("/")).run_in_succession(&[fine, wrong, never], &options, &mut Blind);
        let errors: Vec<_> =
            results.unwrap().iter().map(|result| result.jobs[0].error.as_ref().map(|error| error.errno)).collect();
        assert_eq!(errors, [None, Some(84)], "EILSEQ: the file holds no marks");
    }
}

#[test]
fn a_signal_ends_passes_that_the_caller_does() {
    house::in_own_process("life::a_signal_ends_passes_that_the_caller_does", || {
        let directory = tempfile::tempdir().unwrap();
        let slow = [(); 2].map(|()| unseen_pass(directory.path(), |job| job.pace.think = Nanos::from_secs(1)));
        let begun = Instant::now();
        let results = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM).unwrap();
            });
            Runner::new(Path::new("/")).run_in_succession(&slow, &unseen(), &mut Blind).unwrap()
        });
        assert!(begun.elapsed() < Duration::from_secs(60), "of the 512 s that they would take");
        assert_eq!(results.iter().map(|result| result.ended_by_signal).collect::<Vec<_>>(), [Some(15)]);
        assert_eq!(results[0].jobs[0].error, None);
    });
}

/// Whether a pass measures latencies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Latency {
    Measured,
    Unmeasured,
}

/// Wants the end as soon as it is asked.
struct Impatient;

impl Observer for Impatient {
    fn event(&mut self, _event: Event<'_>) {}

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        Some(Request::End)
    }
}

#[test]
fn workers_that_end_before_their_turn_have_done_their_part() {
    for _ in 0..10 {
        let result = run_processes(vec![busy("first", 10_000), busy("second", 10_000)], &mut Impatient);
        for job in &result.jobs {
            assert_eq!(job.error, None);
        }
    }
}

/// Lets the first workers wait, and then begin at one moment.
#[derive(Default)]
struct Agreed {
    asked: u32,
    at: Option<Instant>,
    sampled: Vec<Nanos>,
}

impl Observer for Agreed {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Sampled { latest, .. } = event {
            self.sampled.push(latest.until);
        }
    }

    fn start(&mut self) -> Start {
        self.asked += 1;
        if self.asked < 20 {
            return Start::Wait;
        }
        let at = *self.at.get_or_insert_with(|| Instant::now() + Duration::from_millis(700));
        Start::After(Nanos::from_secs_f64(at.saturating_duration_since(Instant::now()).as_secs_f64()))
    }
}

#[test]
fn first_workers_begin_at_the_agreed_moment() {
    let mut later = busy("later", 100);
    later.start.delay = (Nanos::from_millis(200), Nanos::from_millis(200));
    let mut agreed = Agreed::default();
    let result = run_processes(vec![busy("first", 100), later], &mut agreed);
    let parts: Vec<_> = result.jobs.iter().map(|job| job.measured.expect("it was measured")).collect();
    assert!(agreed.at.is_some_and(|at| at <= Instant::now()), "not before the moment");
    // A machine that does other work is late, and never early.
    assert!(parts[0].from < Nanos::from_millis(150), "{parts:?}");
    assert!(parts[1].from >= Nanos::from_millis(200), "a delay counts from the agreed moment: {parts:?}");
    assert!(parts[0].until >= parts[0].from.saturating_add(Nanos::from_millis(100)), "{parts:?}");
    assert!(result.jobs.iter().all(|job| job.elapsed_s <= 2), "the wait is not part of the run");
    assert!(
        agreed.sampled.iter().all(|until| *until < Nanos::from_secs(2)),
        "nor of its samples: {:?}",
        agreed.sampled
    );
}

/// Never lets the first workers begin, and ends the run.
#[derive(Default)]
struct Never {
    asked: u32,
}

impl Observer for Never {
    fn event(&mut self, _event: Event<'_>) {}

    fn start(&mut self) -> Start {
        self.asked += 1;
        Start::Wait
    }

    fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
        (self.asked > 3).then_some(Request::End)
    }
}

#[test]
fn workers_that_wait_for_their_start_can_be_ended() {
    let result = run_processes(vec![busy("first", 10_000)], &mut Never::default());
    assert_eq!((result.jobs[0].error.clone(), result.jobs[0].ios()), (None, 0));
}

/// Asks for a save and a report in one turn, and keeps the order of what it asks for and gets.
#[derive(Default)]
struct SaveAndReport {
    seen: Vec<&'static str>,
}

impl Observer for SaveAndReport {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Save(_) => self.seen.push("saved"),
            Event::Report(_) => self.seen.push("reported"),
            _ => {}
        }
    }

    fn request(&mut self, elapsed: Nanos) -> Option<Request> {
        let (request, asked) = match self.seen.as_slice() {
            [] if elapsed > Nanos::from_millis(100) => (Request::Report, "asked to report"),
            ["asked to report", rest @ ..] if !rest.contains(&"asked to save") => (Request::Save, "asked to save"),
            _ => return None,
        };
        self.seen.push(asked);
        Some(request)
    }
}

#[test]
fn a_save_and_a_report_due_together_are_of_one_moment() {
    let mut observer = SaveAndReport::default();
    run_processes(vec![busy("job", 400)], &mut observer);
    assert_eq!(observer.seen, ["asked to report", "asked to save", "saved", "reported"]);
}

#[test]
fn a_run_asked_to_end_repeatedly_says_so_once() {
    struct Counter(u32);
    impl Observer for Counter {
        fn event(&mut self, event: Event<'_>) {
            self.0 += u32::from(matches!(event, Event::Ending));
        }

        fn request(&mut self, _elapsed: Nanos) -> Option<Request> {
            Some(Request::End)
        }
    }
    let mut counter = Counter(0);
    run_processes(vec![busy("job", 10_000)], &mut counter);
    assert_eq!(counter.0, 1);
}

#[test]
fn a_stonewalled_job_starts_after_all_before_it_ended() {
    let mut second = busy("second", 50);
    second.start.stonewall = true;
    let result = run_processes(vec![busy("first", 200), busy("other", 100), second], &mut Blind);
    assert!(start_ms(&result, 1) < start_ms(&result, 0) + 100, "both before the wall run at the same time");
    assert!(start_ms(&result, 2) >= start_ms(&result, 0) + 199);
}

#[test]
fn wait_for_waits_for_that_job_only() {
    let mut waiting = busy("waiting", 50);
    waiting.start.wait_for = Some("short".to_owned());
    let result = run_jobs(vec![busy("long", 500), busy("short", 150), waiting]);
    let waited = start_ms(&result, 2) - start_ms(&result, 1);
    assert!((149..450).contains(&waited), "waited {waited} ms");
}

#[test]
fn a_delayed_job_starts_so_much_after_the_run() {
    let mut late = busy("late", 20);
    late.start.delay = (Nanos::from_millis(200), Nanos::from_millis(200));
    let result = run_jobs(vec![busy("first", 20), late]);
    assert!((190..400).contains(&(start_ms(&result, 1) - start_ms(&result, 0))));
}

#[test]
fn exitall_ends_the_group_with_its_first_job() {
    let mut short = busy("short", 100);
    short.limits.exit_all = true;
    let mut elsewhere = busy("elsewhere", 600);
    elsewhere.group = 1;
    let result = run_processes(vec![busy("long", 10_000), short, elsewhere], &mut Blind);
    assert!(runtime_ms(&result, 0) < 1_000, "{} ms", runtime_ms(&result, 0));
    assert_eq!(result.jobs[0].error, None);
    assert!(result.jobs[0].directions.read.ios > 50);
}

#[test]
fn exitall_on_error_ends_the_others_only_after_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut failing = on_files_in(directory.path(), job("failing", "psync"));
    failing.load.mix = Mix::Only(Direction::Trim);
    failing.limits.exit_all_on_error = true;
    let result = run_jobs(vec![busy("long", 10_000), failing]);
    assert!(runtime_ms(&result, 0) < 2_000);
    let error = result.jobs[1].error.as_ref().unwrap();
    assert!(error.message.contains("failing.0.0") && error.operation == "trim", "{error:?}");
}

/// Does something to a worker's process once it has done I/O.
struct Meddler<F: FnMut(&Progress)> {
    deed: F,
    done: bool,
}

impl<F: FnMut(&Progress) + Send> Observer for Meddler<F> {
    fn event(&mut self, event: Event<'_>) {
        let Event::Progress(progress) = event else { return };
        let at_work = progress.workers[0].state == WorkerState::Running && progress.workers[0].ios.read > 10;
        if at_work && !self.done {
            self.done = true;
            (self.deed)(progress);
        }
    }
}

#[test]
fn a_killed_worker_is_its_jobs_error_and_what_it_measured_stays() {
    let me = rustix::thread::gettid().as_raw_pid();
    let of_this_thread = move || {
        let path = format!("/proc/self/task/{me}/children");
        let text = std::fs::read_to_string(path).unwrap();
        text.split_whitespace().map(|pid| pid.parse::<i32>().unwrap()).collect::<Vec<i32>>()
    };
    let mut meddler = Meddler {
        deed: |_| {
            let victim = rustix::process::Pid::from_raw(of_this_thread()[0]).unwrap();
            rustix::process::kill_process(victim, rustix::process::Signal::KILL).unwrap();
        },
        done: false,
    };
    let result = run_processes(vec![busy("victim", 10_000), busy("other", 300)], &mut meddler);
    let error = result.jobs[0].error.as_ref().unwrap();
    assert_eq!(error.signal, Some(9));
    assert!(result.jobs[0].directions.read.ios > 10);
    assert!(result.jobs[0].runtime > Nanos::ZERO);
    assert_eq!(result.jobs[1].error, None);
    assert!(result.jobs[1].directions.read.ios > 250);
}

#[test]
fn a_file_cut_short_under_mmap_is_an_error_of_that_jobs_io() {
    let directory = tempfile::tempdir().unwrap();
    let mut mapped = on_files_in(directory.path(), job("mapped", "mmap"));
    mapped.limits.runtime = Some(Nanos::from_secs(10));
    mapped.limits.time_based = true;
    let path = directory.path().join("mapped.0.0");
    let mut meddler = Meddler { deed: |_| std::fs::write(&path, b"").unwrap(), done: false };
    let result = run_processes(vec![mapped], &mut meddler);
    let error = result.jobs[0].error.as_ref().unwrap();
    assert_eq!((error.signal, error.errno), (None, 5), "{error:?}");
    assert!(error.message.contains("mapped.0.0"), "{error:?}");
    let read = &result.jobs[0].directions.read;
    assert!(read.ios > 10);
    // Those that were counted together with none yet are not lost, and the one that failed has no latency.
    assert_eq!(read.completion.as_ref().unwrap().moments.count() + 1, read.ios);
}

#[test]
fn a_layout_error_of_one_job_does_not_stop_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut impossible = on_files_in(directory.path(), job("impossible", "psync"));
    impossible.files.may_create = false;
    let result = run_jobs(vec![impossible, on_files_in(directory.path(), job("possible", "psync"))]);
    assert!(result.jobs[0].error.as_ref().unwrap().message.contains("allow_file_create"));
    assert_eq!((result.jobs[1].error.clone(), result.jobs[1].directions.read.ios), (None, 256));
}

#[test]
fn many_jobs_start_within_seconds_on_a_mebibyte_each() {
    struct Look {
        first: Option<Instant>,
        all_running: Option<Duration>,
        resident: u64,
    }
    impl Observer for Look {
        fn event(&mut self, event: Event<'_>) {
            match event {
                Event::Starting { processes, .. } => {
                    assert_eq!(processes, 256);
                    self.first = Some(Instant::now());
                }
                Event::Progress(progress) => self.look(progress),
                _ => {}
            }
        }
    }
    impl Look {
        fn look(&mut self, progress: &Progress) {
            if self.all_running.is_none() && progress.workers.iter().all(|worker| worker.state == WorkerState::Running)
            {
                self.all_running = self.first.map(|first| first.elapsed());
                let private = |pid: u32| {
                    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
                    let of = |key: &str| text.lines().find(|line| line.starts_with(key)).map(kibibytes).unwrap_or(0);
                    of("Private_Clean:") + of("Private_Dirty:") + of("Shared_Dirty:") / 256
                };
                let children = children();
                self.resident = children.iter().map(|&pid| private(pid)).sum::<u64>() / children.len().max(1) as u64;
            }
        }
    }
    fn kibibytes(line: &str) -> u64 {
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
    let mut many = busy("many", 1_500);
    many.clones = 256;
    many.pace.iops.read = Some(20);
    let mut look = Look { first: None, all_running: None, resident: 0 };
    let result = run_processes(vec![many], &mut look);
    assert!(result.jobs.iter().all(|job| job.error.is_none() && job.directions.read.ios > 0));
    // Half a second on a quiet machine with two processors.
    assert!(look.all_running.unwrap() < Duration::from_secs(6), "{:?}", look.all_running);
    assert!(look.resident > 0 && look.resident < 1024, "{} KiB", look.resident);
    println!("256 workers at work after {:?}, {} KiB each", look.all_running.unwrap(), look.resident);
}

#[test]
fn a_rate_is_kept_in_real_time() {
    let mut paced = busy("paced", 1_000);
    paced.pace.iops.read = Some(2_000);
    let result = run_processes(vec![paced], &mut Blind);
    let iops = result.jobs[0].directions.read.iops().unwrap();
    assert!((1_960.0..2_040.0).contains(&iops), "{iops}");
}

#[test]
fn a_file_that_shrank_is_an_error_and_earlier_reads_stay() {
    let directory = tempfile::tempdir().unwrap();
    for engine in ["psync", "libaio"] {
        let path = directory.path().join("shrinking.0.0");
        let mut reader = on_files_in(directory.path(), job("shrinking", engine));
        reader.pace.iops.read = Some(200);
        let mut meddler = Meddler {
            deed: |_| {
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                file.set_len(400 << 10).unwrap();
            },
            done: false,
        };
        let result = run_processes(vec![reader], &mut meddler);
        let error = result.jobs[0].error.as_ref().expect("the file ended at 400 KiB");
        assert_eq!(error.errno, libc::EIO, "{engine}");
        assert!(error.message.contains("the file ends before"), "{engine}: {}", error.message);
        let read = &result.jobs[0].directions.read;
        assert!((99..256).contains(&read.ios), "{engine}: {}", read.ios);
    }
}
