//! Is the gain that `plumb why` predicts the one that is measured? A program is recorded, what holds it back is changed,
//! and its rates of before and after are measured without a recording.
//!
//! A row has three tries. The gate makes two rows; `predictions::full` makes all on request, prints predicted and measured
//! gains, and wants a quiet machine.

use crate::context::{PLUMB, place, plumb};
use crate::faults::SlowFuse;
use house::{Cases, Group, LoopDevice, Place, Run};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Largest difference of a prediction, as a share of what is measured.
const MOST: f64 = 0.15;
/// The same while other tests of the gate run.
const MOST_OF_GATE: f64 = 0.3;
const MIB: usize = 1 << 20;

/// Predicted and measured gain.
#[derive(Debug)]
struct Outcome {
    what: String,
    predicted: f64,
    measured: f64,
}

impl Outcome {
    fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    /// False, too, if nothing is predicted.
    fn is_within(&self, most: f64) -> bool {
        self.error().abs() <= most
    }
}

struct Prediction {
    name: &'static str,
    is_short: bool,
    run: fn() -> Vec<Outcome>,
}

const PREDICTIONS: [Prediction; 6] = [
    Prediction { name: "depth of one job", is_short: true, run: one_depth },
    Prediction { name: "depth of twelve jobs", is_short: false, run: depths },
    Prediction { name: "limit", is_short: true, run: limit },
    Prediction { name: "processor", is_short: false, run: processor },
    Prediction { name: "memory", is_short: false, run: memory },
    Prediction { name: "device", is_short: false, run: device },
];

pub(super) fn groups() -> Vec<Cases> {
    let (mut gate, mut all) = (Cases::new("predictions", 1), Cases::new("predictions::full", 1));
    for prediction in &PREDICTIONS {
        all = all.on_request(prediction.name, || within(prediction, MOST));
        if prediction.is_short {
            gate = gate.case(prediction.name, || within(prediction, MOST_OF_GATE));
        }
    }
    vec![gate, all]
}

fn within(prediction: &Prediction, most: f64) -> Result<(), String> {
    let mut wrong = Vec::new();
    for _ in 0..3 {
        let outcomes = (prediction.run)();
        for outcome in &outcomes {
            let Outcome { what, predicted, measured } = outcome;
            println!("{what:<44} predicted {predicted:6.2} measured {measured:6.2} {:+6.1} %", 100.0 * outcome.error());
        }
        if outcomes.iter().all(|outcome| outcome.is_within(most)) {
            return Ok(());
        }
        wrong.push(outcomes);
    }
    Err(format!("not what is measured: {wrong:?}"))
}

/// The rate of a row of the table of gains; not a number if there is none.
#[track_caller]
fn predicted(document: &Value, name: &str) -> f64 {
    let row = document["gains"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    row["rate"].as_f64().unwrap_or_else(|| {
        println!("{name}: {}", row["why"]);
        f64::NAN
    })
}

/// A disk whose reads take a time.
struct Late {
    device: LoopDevice,
    _fuse: SlowFuse,
}

impl Late {
    fn new(place: &Place, time: Duration, bytes: usize) -> Self {
        let fuse = SlowFuse::mount_wide(&place.path().join("fuse"), time, bytes, 1).unwrap();
        Late { device: LoopDevice::of_file(Path::new(&fuse.file())).unwrap(), _fuse: fuse }
    }

    /// One that does up to 24 at a time.
    fn wide(place: &Place, time: Duration) -> Self {
        let fuse = SlowFuse::mount_wide(&place.path().join("fuse"), time, 64 * MIB, 24).unwrap();
        Late { device: LoopDevice::direct_of_file(Path::new(&fuse.file())).unwrap(), _fuse: fuse }
    }

    fn path(&self) -> String {
        self.device.path().display().to_string()
    }

    fn job(&self, words: &str) -> String {
        let job = "fio --name=a --rw=randread --direct=1 --norandommap --time_based --group_reporting";
        format!("{job} --filename={} {words}", self.path())
    }
}

/// Reads per second of a job.
fn rate(place: &Place, run: Run) -> f64 {
    run.words("--output-format=json --output=fio.json").succeeds();
    place.json("fio.json")["jobs"][0]["read"]["iops"].as_f64().unwrap()
}

/// What is said of a job while it runs, where the results of the store are known.
fn recorded(place: &Place, around: impl Fn(Run) -> Run, words: &str) -> Value {
    let run = plumb(place, "why --json -o why.json --").words(words).env("PLUMB_STORE", place.file("s.db"));
    around(run).succeeds();
    place.json("why.json")
}

fn surveyed(place: &Place, disk: &Late, words: &str) {
    let survey = format!("survey --tests randread {words} --warm-up 0 --output survey.json {}", disk.path());
    plumb(place, survey).env("PLUMB_STORE", place.file("s.db")).succeeds();
}

/// The gain of a job from its depth to 64.
fn deeper(place: &Place, disk: &Late, words: impl Fn(u32) -> String, depth: u32) -> Outcome {
    let job = |depth| disk.job(&format!("{} --runtime=2", words(depth)));
    let document = recorded(place, |run| run, &format!("{PLUMB} {}", job(depth)));
    let [before, after] = [depth, 64].map(|depth| rate(place, plumb(place, job(depth))));
    Outcome { what: words(depth), predicted: predicted(&document, "more depth"), measured: after / before }
}

fn one_depth() -> Vec<Outcome> {
    let place = place();
    let disk = Late::wide(&place, Duration::from_millis(20));
    surveyed(&place, &disk, "--users 1,4,64 --block-sizes 4k --time 2");
    vec![deeper(&place, &disk, |depth| format!("--bs=4k --ioengine=io_uring --iodepth={depth}"), 4)]
}

fn depths() -> Vec<Outcome> {
    let place = place();
    let disk = Late::wide(&place, Duration::from_millis(20));
    surveyed(&place, &disk, "--users 1,4,16,64 --block-sizes 4k,16k --time 9");
    let kinds: [fn(u32) -> String; 4] = [
        |depth| format!("--bs=4k --ioengine=io_uring --iodepth={depth}"),
        |depth| format!("--bs=16k --ioengine=io_uring --iodepth={depth}"),
        |depth| format!("--bs=4k --ioengine=libaio --iodepth={depth}"),
        |depth| format!("--bs=4k --ioengine=psync --thread --numjobs={depth}"),
    ];
    let jobs = kinds.iter().flat_map(|kind| [1, 4, 16].map(|depth| (kind, depth)));
    jobs.map(|(kind, depth)| deeper(&place, &disk, kind, depth)).collect()
}

fn limit() -> Vec<Outcome> {
    let place = place();
    let disk = Late::new(&place, Duration::from_millis(4), MIB);
    let job = disk.job("--bs=4k --ioengine=psync --runtime=3");
    let name = disk.device.path().file_name().unwrap().to_str().unwrap().to_owned();
    // A whole number in each tenth of a second, in which the kernel counts.
    let group = Group::with_read_iops(&name, 50).unwrap();
    let document = recorded(&place, |run| group.inside(run), &format!("{PLUMB} {job}"));
    let before = rate(&place, group.inside(plumb(&place, &job)));
    let after = rate(&place, plumb(&place, &job));
    vec![Outcome { what: "limit".to_owned(), predicted: predicted(&document, "no limit"), measured: after / before }]
}

fn processor() -> Vec<Outcome> {
    let place = place();
    let disk = Late::new(&place, Duration::from_millis(4), MIB);
    let job = disk.job("--bs=4k --ioengine=psync --runtime=5");
    let burner = || Run::new("sh", &place).words(["-c", "while :; do :; done"]).under("taskset -c 0").start();
    // The others have nearly all of the processor.
    let alone = |run: Run| run.under("nice -n 19 taskset -c 0");
    let burners = [burner(), burner()];
    let document = recorded(&place, |run| run, &format!("nice -n 19 taskset -c 0 {PLUMB} {job}"));
    let before = rate(&place, alone(plumb(&place, &job)));
    drop(burners);
    let after = rate(&place, alone(plumb(&place, &job)));
    let predicted = predicted(&document, "no wait for a processor");
    vec![Outcome { what: "processor".to_owned(), predicted, measured: after / before }]
}

/// A disk of half the time.
fn device() -> Vec<Outcome> {
    let (of, other) = (place(), place());
    let [slow, fast] = [(&of, 20), (&other, 10)].map(|(place, time)| Late::wide(place, Duration::from_millis(time)));
    let words = ["--ioengine=psync", "--ioengine=io_uring --iodepth=64"];
    let outcome = |words: &str| {
        let job = |disk: &Late| disk.job(&format!("--bs=4k --runtime=3 {words}"));
        let document = recorded(&of, |run| run, &format!("{PLUMB} {}", job(&slow)));
        let [before, after] = [(&of, &slow), (&other, &fast)].map(|(place, disk)| rate(place, plumb(place, job(disk))));
        let predicted = predicted(&document, "device twice as fast");
        Outcome { what: format!("device, {words}"), predicted, measured: after / before }
    };
    words.map(outcome).into()
}

/// Reads per second of a process, over some time.
fn rate_of(process: u32, time: Duration) -> f64 {
    let reads = || {
        let text = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        line.parse::<f64>().unwrap() / 4096.0
    };
    let before = reads();
    std::thread::sleep(time);
    (reads() - before) / time.as_secs_f64()
}

/// Random reads of 24 MiB through a page cache of about 8, then of twice as much.
fn memory() -> Vec<Outcome> {
    let place = place();
    let disk = Late::new(&place, Duration::from_millis(1), 24 * MIB);
    let group = Group::of_memory().unwrap();
    let job = disk.job("--direct=0 --bs=4k --ioengine=psync --thread --runtime=300 --invalidate=0");
    let mut reader = group.inside(plumb(&place, job)).start();
    std::thread::sleep(Duration::from_secs(1));
    let limit = group.memory().unwrap() + 5 * MIB as u64;
    group.limit_memory(limit).unwrap();
    std::thread::sleep(Duration::from_secs(15));
    let words = format!("why --json -o why.json --for 20s --cgroup {}", group.name());
    plumb(&place, words).succeeds();
    let document = place.json("why.json");
    let before = rate_of(reader.id(), Duration::from_secs(10));
    let cache = document["page_cache_bytes"].as_u64().unwrap();
    group.limit_memory(limit + cache).unwrap();
    std::thread::sleep(Duration::from_secs(20));
    let after = rate_of(reader.id(), Duration::from_secs(10));
    reader.signal(rustix::process::Signal::KILL);
    house::wait_for("the end of the reader", || reader.has_ended().then_some(()));
    let predicted = predicted(&document, "page cache twice as large");
    vec![Outcome { what: format!("memory, {} KiB", cache >> 10), predicted, measured: after / before }]
}
