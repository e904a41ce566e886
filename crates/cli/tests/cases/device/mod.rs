//! The device's side of a run, held against what is known from elsewhere: a control group's limit, a quota, a
//! neighbour that the test makes, and the block layer's own tracepoints.
//!
//! Needs root, loop devices and control groups of either version; without them the tests fail: what was not compared
//! was not proved.

mod screen;
mod trace;

use crate::context::{self, place};
use house::{Cases, Group, Run, tests};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Devices, limits and shares are each for one test at a time.
pub(super) fn groups() -> Vec<Cases> {
    let cases = Cases::waiting_later("device", 1);
    vec![tests!(
        cases,
        a_group_of_500_iops_is_measured_to_1_percent_and_named,
        the_group_that_a_job_joins_is_counted_and_named,
        a_processor_quota_is_named_as_the_clients_limit,
        a_limit_set_midway_is_named_and_ends_the_wait_for_a_change,
        a_quota_that_is_set_midway_is_named,
        a_neighbour_on_the_device_is_named,
        block_tracepoints_count_and_wait_as_we_do,
        looking_costs_less_than_two_thousandths_of_a_processor,
        screen::the_screen_obeys_keys_and_restores_the_terminal,
        screen::a_signal_ends_the_screen_and_leaves_the_terminal_as_it_was,
        screen::the_screen_ends_with_its_terminal,
        screen::the_screen_ends_with_its_terminal_where_sighup_is_ignored,
        screen::a_signal_ends_the_screen_in_the_middle_of_a_keys_sequence,
        screen::without_a_terminal_another_way_is_named,
    )]
}

fn loop_device(directory: &Path, bytes: u64) -> (house::LoopDevice, String) {
    let device = house::LoopDevice::new(directory, bytes).expect("a loop device: are we root?");
    let name = device.path().file_name().expect("a name").to_string_lossy().into_owned();
    (device, name)
}

/// Ends the run: its JSON, and what it said on standard error.
fn json(run: Run) -> (Value, String) {
    let run = run.env("PLUMB_REMARKS", "always").succeeds();
    (run.json(), run.stderr)
}

fn fio(words: &str) -> Run {
    context::fio(place(), words).words("--output-format=json-full")
}

fn a_group_of_500_iops_is_measured_to_1_percent_and_named() {
    let folder = place();
    let (device, name) = loop_device(folder.path(), 64 << 20);
    let group = Group::with_read_iops(&name, 500).expect("a control group with I/O limits");
    let node = device.path().display();
    // A throttle forgets what was not asked for in time, and lets deep queues through in bursts that a short run cuts:
    // a few at once, for ten seconds, are neither.
    let words = format!(
        "--name=cap --filename={node} --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --ramp_time=1 \
         --runtime=10 --time_based"
    );
    // A machine that is short of processors wakes the throttle late: then less than 500 is the truth, by the kernel's
    // counter. It may also have too little left for the limit to be what held the run back.
    let mut seen = Vec::new();
    let (found, said) = loop {
        let counter = Counter::follow(&name);
        let (found, said) = json(group.inside(fio(&words)));
        let counted = counter.end();
        let read = &found["jobs"][0]["read"];
        let iops = read["iops"].as_f64().expect("a rate");
        let (begun, runtime) = (&found["jobs"][0]["job_start"], &read["runtime"]);
        let from = begun.as_f64().expect("ms since 1970") / 1e3 + 1.0;
        let kernels = counted.rate(from, from + runtime.as_f64().expect("ms") / 1e3);
        let limiter = found["plumb"]["limited_by"]["limiter"].clone();
        if (iops / kernels - 1.0).abs() < 0.01 && limiter == "cap" {
            break (found, said);
        }
        seen.push((iops, kernels, limiter));
        assert!(seen.len() < 5, "IOPS, those that the kernel counted, the limiter: {seen:?}");
    };
    let own = &found["plumb"];
    assert_eq!(own["monitored"]["group_limits"]["io"][0]["read_iops"], 500);
    assert_eq!(own["monitored"]["group_limits"]["io"][0]["device"], name.as_str());
    let line = said.lines().find(|line| line.starts_with("plumb: limited by cap (")).expect("a line");
    assert!(line.contains(&format!("the limit of control group /{}, 500 reads/s on {name}: ", group.name())), "{line}");
}

/// The reads that the kernel counts for a device, followed by a thread: seconds since 1970, and the reads until then.
struct Counter {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Counted>,
}

struct Counted(Vec<(f64, f64)>);

impl Counter {
    fn follow(device: &str) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (asked, stat) = (Arc::clone(&ends), Path::new("/sys/block").join(device).join("stat"));
        let thread = std::thread::spawn(move || {
            let mut counted = Vec::new();
            while !asked.load(Relaxed) {
                let text = std::fs::read_to_string(&stat).expect("the counters of the device");
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
                let reads = text.split_whitespace().next().and_then(|reads| reads.parse().ok());
                counted.push((now, reads.expect("a count of reads")));
                std::thread::sleep(Duration::from_millis(5));
            }
            Counted(counted)
        });
        Counter { ends, thread }
    }

    fn end(self) -> Counted {
        self.ends.store(true, Relaxed);
        self.thread.join().expect("the counters of the device")
    }
}

impl Counted {
    /// Reads per second between two moments.
    fn rate(&self, from: f64, until: f64) -> f64 {
        let reads_at = |moment: f64| {
            let pair = self.0.windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&moment));
            let [(before, less), (after, more)] = pair.expect("the counter was followed then") else { unreachable!() };
            less + (more - less) * (moment - before) / (after - before)
        };
        (reads_at(until) - reads_at(from)) / (until - from)
    }
}

fn the_group_that_a_job_joins_is_counted_and_named() {
    let folder = place();
    let (device, name) = loop_device(folder.path(), 64 << 20);
    let group = Group::unlimited().expect("a control group with I/O limits");
    group.limit_reads(&name, 200).expect("a control group with I/O limits");
    let words = format!(
        "--name=joined --filename={} --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --runtime=4 \
         --time_based --cgroup={} --cgroup_nodelete=1",
        device.path().display(),
        group.name()
    );
    // If the machine stands still for a second, the limit is not what limited the run.
    let named = format!("the limit of control group /{}, 200 reads/s on {name}: ", group.name());
    let is_limited = |(_, said): &(Value, String)| said.contains("plumb: limited by cap (") && said.contains(&named);
    let mut runs = std::iter::repeat_with(|| json(fio(&words))).take(3);
    let (found, _) = runs.find(is_limited).expect("one of three runs that the group limits");
    let own = &found["plumb"]["monitored"];
    assert_eq!(own["group_limits"]["io"][0]["read_iops"], 200, "{}", own["group_limits"]);
    let counted: u64 = own["intervals"]
        .as_array()
        .expect("intervals")
        .iter()
        .filter_map(|interval| interval["group"]["io_requests"][0].as_u64())
        .sum();
    assert_eq!(Some(counted), found["jobs"][0]["read"]["total_ios"].as_u64(), "others are in other groups");
}

fn a_processor_quota_is_named_as_the_clients_limit() {
    let group = Group::with_processor_percent(5).expect("a control group with a processor quota");
    let words = "--name=quota --ioengine=null --rw=randread --bs=4k --size=1t --runtime=3 --time_based";
    let (found, said) = json(group.inside(fio(words)));
    let own = &found["plumb"];
    assert_eq!(own["limited_by"]["limiter"], "client_cpu", "{}", own["limited_by"]);
    assert!(said.contains("the quota of 0.05 processors held the workers back"), "{said}");
    let share = own["limited_by"]["share_percent"].as_f64().expect("a share");
    // A group that hardly gets a processor, because others work, has less to be held back for.
    assert!((10.0..=100.0).contains(&share), "{share} %");
}

/// The phases of a run as JSON has them, and its JSON; the limit is changed after `after` seconds.
fn with_a_change(run: Run, after: u64, change: impl FnOnce()) -> Value {
    let running = run.start();
    std::thread::sleep(Duration::from_secs(after));
    change();
    running.end().exits(0).json()
}

/// The sentence of the first throttled phase of up to three runs.
fn throttled(mut run: impl FnMut() -> Value) -> (String, Value) {
    let mut all = Vec::new();
    // A machine that is short of processors has noise that hides a change.
    for _ in 0..3 {
        let found = run();
        let phases = found["plumb"]["phases"].as_array().cloned().unwrap_or_default();
        if let Some(phase) = phases.iter().find(|phase| phase["kind"] == "throttled") {
            return (phase["sentence"].as_str().expect("a sentence").to_owned(), found);
        }
        all.push(phases);
    }
    panic!("{all:#?}");
}

fn a_limit_set_midway_is_named_and_ends_the_wait_for_a_change() {
    let folder = place();
    let (device, name) = loop_device(folder.path(), 64 << 20);
    let group = Group::unlimited().expect("a control group with I/O limits");
    let words = format!(
        "--name=midway --filename={} --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --runtime=90 \
         --time_based --until-regime=change",
        device.path().display()
    );
    let limit = |reads| group.limit_reads(&name, reads).expect("a control group with I/O limits");
    let (sentence, found) = throttled(|| {
        limit(2_000);
        with_a_change(group.inside(fio(&words)), 12, || limit(400))
    });
    let named = format!("the limit of control group /{}, 400 I/Os/s on {name}, which was set at 1", group.name());
    assert!(sentence.contains(&named), "{sentence}");
    let own = &found["plumb"];
    assert_eq!(own["monitored"]["limit_changes"][0]["limits"]["io"][0]["read_iops"], 400, "{}", own["monitored"]);
    let ended = &own["until_regime"];
    assert!(ended["until"] == "change" && ended["reached"] == true, "{ended}");
    assert!(ended["sentence"].as_str().expect("a sentence").contains("its rate had changed at 1"), "{ended}");
    let seconds = found["jobs"][0]["read"]["runtime"].as_f64().expect("a time") / 1e3;
    assert!((20.0..60.0).contains(&seconds), "{seconds} s of 90");
    let lasting = own["lasting"]["iops"].as_f64().expect("a rate");
    assert!((380.0..=420.0).contains(&lasting), "{}", own["lasting"]);
}

fn a_quota_that_is_set_midway_is_named() {
    let group = Group::with_processor_percent(100).expect("a control group with a processor quota");
    let words = "--name=quota --ioengine=null --rw=randread --bs=4k --size=1t --runtime=24 --time_based";
    let (sentence, found) = throttled(|| {
        group.limit_processors(100).expect("a quota");
        // So low that it is seen where other programs have most of the processors before.
        with_a_change(group.inside(fio(words)), 12, || group.limit_processors(2).expect("a quota"))
    });
    assert!(sentence.contains("cpu.max held the workers back") && sentence.contains("(nr_throttled + "), "{sentence}");
    let last = found["plumb"]["phases"].as_array().and_then(|phases| phases.last()).expect("phases");
    assert!(last["evidence"].to_string().contains("throttled_periods"), "{last}");
}

fn a_neighbour_on_the_device_is_named() {
    let folder = place();
    let (device, name) = loop_device(folder.path(), 64 << 20);
    let load = |name: &str, bs: &str, depth: u32, seconds: u32| {
        fio(&format!(
            "--name={name} --filename={} --rw=randread --bs={bs} --direct=1 --ioengine=libaio --iodepth={depth} \
             --runtime={seconds} --time_based",
            device.path().display()
        ))
    };
    let neighbour = house::Neighbour::start(load("neighbour", "256k", 32, 120), &name);
    // A machine whose processors others take is limited by them; the neighbour on the device is there all the same.
    let limiter = |found: &Value| found["plumb"]["limited_by"]["limiter"].as_str().unwrap_or_default().to_owned();
    let is_named = |found: &Value| {
        let notes = found["plumb"]["notes"].as_array().expect("notes");
        notes.iter().any(|note| note["check"] == "neighbour")
    };
    let mut others = Vec::new();
    for (found, said) in std::iter::repeat_with(|| json(load("ours", "4k", 4, 4))).take(4) {
        assert!(is_named(&found), "{said}");
        if limiter(&found) == "neighbour" {
            drop(neighbour);
            assert!(said.contains(&format!("of the traffic of {name}")), "{said}");
            let verdict = &found["plumb"]["limited_by"];
            assert!(verdict["share_percent"].as_f64().expect("a share") > 50.0, "{verdict}");
            return;
        }
        others.push(limiter(&found));
    }
    assert!(others.iter().all(|other| other == "client_cpu"), "no run that the neighbour limits: {others:?}");
}

fn block_tracepoints_count_and_wait_as_we_do() {
    // The counts are exact each time. Each side takes its stamps in another place, some 10 µs apart (a request is begun
    // before it is issued), between which a busy machine may put more: then the waits are compared once more.
    let waits: Vec<(f64, f64)> = (0..3).map(|_| waits_with_equal_counts()).collect();
    let close = |&(ours, theirs): &(f64, f64)| (ours / theirs - 1.0).abs() <= 0.02;
    assert!(waits.iter().any(close), "await in ms, ours and by the tracepoints: {waits:?}");
}

/// One run; counts must be equal. The mean waits in milliseconds, ours and by the tracepoints.
fn waits_with_equal_counts() -> (f64, f64) {
    let folder = place();
    let (device, name) = loop_device(folder.path(), 64 << 20);
    let trace = trace::Trace::of(&name).expect("tracefs with block_rq_issue and block_rq_complete");
    let (found, _) = json(fio(&format!(
        "--name=traced --filename={} --rw=read --bs=256k --direct=1 --ioengine=libaio --iodepth=64 --loops=20",
        device.path().display()
    )));
    let requests = trace.finish();
    let own = &found["plumb"]["monitored"];
    let reads = |key: &str| -> f64 {
        let intervals = own["intervals"].as_array().expect("intervals");
        intervals.iter().map(|interval| interval["devices"][0]["reads"][key].as_f64().expect("a number")).sum()
    };
    assert_eq!((own["devices"][0]["name"].as_str(), requests.lost), (Some(name.as_str()), 0));
    assert!(requests.completed > 500, "{requests:?}");
    // The blocks that are sampled after the run are traced, and not counted: 4 KiB each.
    let sampled = own["targets"][0]["sampled"]["blocks"].as_f64().expect("the device was read");
    let traced = (requests.completed as f64 - sampled, requests.sectors as f64 - sampled * 8.0);
    assert_eq!((reads("ios"), reads("sectors")), traced, "{requests:?}");
    assert_eq!(found["disk_util"][0]["read_ios"].as_f64(), Some(traced.0));
    (reads("ticks_ms") / reads("ios"), requests.wait_ms / requests.completed as f64)
}

fn looking_costs_less_than_two_thousandths_of_a_processor() {
    // Other work can only add to the CPU time of a look, by emptying the caches: one of three attempts is enough. On a
    // slow machine reading the same files takes more than the limit. There the monitor may take half as much again.
    let mut shares = Vec::new();
    for _ in 0..3 {
        let (looking, reading) = (share_of_looking(), share_of_reading());
        if looking < f64::max(0.002, 1.5 * reading) {
            return;
        }
        shares.push((looking, reading));
    }
    panic!("shares of a processor, monitoring and reading alone: {shares:?}");
}

/// Share of a processor that only reading takes: 36 files of /proc ten times a second, as the monitor does with eight
/// workers and one device.
fn share_of_reading() -> f64 {
    let own = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
        text.split_whitespace().next().and_then(|field| field.parse::<f64>().ok()).expect("a number")
    };
    let reads = 2_000;
    let before = own();
    for _ in 0..reads / 2 {
        own();
        std::hint::black_box(std::fs::read_to_string("/proc/thread-self/io").expect("io"));
    }
    (own() - before) / 1e9 / f64::from(reads) * 360.0
}

/// Share of a processor that the monitor says it took, in a job of eight workers.
fn share_of_looking() -> f64 {
    let folder = place();
    let (device, _) = loop_device(folder.path(), 16 << 20);
    let words = format!(
        "--name=watched --filename={} --rw=randread --bs=4k --direct=1 --ioengine=psync --numjobs=8 --rate_iops=50 \
         --runtime=4 --time_based",
        device.path().display()
    );
    let parent = fio(&words).start();
    std::thread::sleep(Duration::from_millis(3500));
    let account = std::fs::read_to_string(format!("/proc/{}/schedstat", parent.id())).expect("it still runs");
    let on_cpu: f64 = account.split_whitespace().next().expect("a number").parse().expect("a number");
    let found = parent.end().json();
    let own = &found["plumb"]["monitored"];
    let intervals = own["intervals"].as_array().expect("intervals");
    let lasted = intervals.last().expect("one at least")["until"].as_f64().expect("a time");
    let share = own["own_cpu"].as_f64().expect("a time") / lasted;
    assert_eq!(intervals[intervals.len() / 2]["workers"].as_array().map(Vec::len), Some(8));
    // Start, help and a hundred looks at eight workers per second included, in a build for tests.
    assert!(on_cpu / 3.5e9 < 0.05, "the parent took {:.2} % of a processor", on_cpu / 3.5e7);
    share
}
