//! `plumb iostat --latency` and `plumb watch --latency`: percentiles of a loop device next to those of a job that alone uses it.

use crate::context::{PLUMB, place, plumb};
use house::{LoopDevice, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// The number at the end of a path of keys.
#[track_caller]
fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path}: {value:#}"))
}

#[test]
fn intervals_have_each_io_of_a_job_and_its_times() {
    let place = place();
    let device = LoopDevice::direct(place.path(), 16 << 20).unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap();
    let stat = Path::new("/sys/block").join(name).join("stat");
    let counted =
        || -> u64 { std::fs::read_to_string(&stat).unwrap().split_whitespace().next().unwrap().parse().unwrap() };
    let before = counted();
    let iostat = plumb(&place, "iostat -d --latency -o JSON").words([name, "1"]).start();
    // The first report is that since the start of the machine; with it the recording begins.
    std::thread::sleep(Duration::from_millis(1500));
    let job = "fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1 --number_ios=2000 --output-format=json";
    let job = plumb(&place, job).words([format!("--filename={}", device.path().display())]).json();
    std::thread::sleep(Duration::from_millis(2500));
    iostat.signal(Signal::INT);
    let said = iostat.end();
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let reports = document["sysstat"]["hosts"][0]["statistics"].as_array().unwrap();
    assert!(reports[0].get("latency").is_none(), "since the start of the machine nothing was recorded");
    let reads: Vec<&Value> = reports.iter().filter_map(|report| report.pointer("/latency/0/read")).collect();
    let read = &job["jobs"][0]["read"];
    let ios: u64 = reads.iter().map(|read| number(read, "/ios")).sum();
    // plumb reads a few blocks before it starts a job, too.
    assert_eq!(ios, counted() - before, "{reads:#?}");
    assert!(ios >= number(read, "/total_ios"), "{reads:#?}");
    // Before and after it there is no I/O, which has no percentile.
    assert!(reads.iter().any(|read| read["ios"] == 0 && read["device_ns"]["p50"].is_null()), "{reads:#?}");
    let busy = reads.iter().max_by_key(|read| number(read, "/ios")).unwrap();
    let (queue, device) = (number(busy, "/queue_ns/p50"), number(busy, "/device_ns/p50"));
    let clat = number(read, "/clat_ns/percentile/50.000000");
    assert!(device > 0 && queue + device < clat * 21 / 20, "{queue} + {device} of {clat} ns");
    assert!(said.stderr.contains("of a processor for"), "{}", said.stderr);
}

#[test]
fn text_has_a_table_and_the_rest_is_as_before() {
    let place = place();
    let device = LoopDevice::direct(place.path(), 4 << 20).unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap();
    let shown = plumb(&place, "iostat -d --latency").words([name, "1", "2"]).stdout();
    let (_, second) = shown.split_once("Device ").unwrap().1.split_once("Device ").unwrap();
    let wanted = format!("\n{name} read  ");
    assert!(second.contains("queue p50") && second.contains(&wanted), "{shown}");
}

#[test]
fn watch_has_each_io_of_a_job_and_its_times() {
    let place = place();
    let device = LoopDevice::direct(place.path(), 16 << 20).unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap();
    let words = "watch --latency --json --interval 0.5 --stream s.ndjson -o w.jsonl";
    let watch = plumb(&place, words).words([name]).start();
    wait_for("a line", || place.has("w.jsonl").then(|| place.read("w.jsonl").contains('\n')).filter(|is_so| *is_so));
    let job = "fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1 --number_ios=2000 --output-format=json";
    let job = plumb(&place, job).words([format!("--filename={}", device.path().display())]).json();
    std::thread::sleep(Duration::from_millis(1500));
    watch.signal(Signal::INT);
    let said = watch.end();
    assert!(said.stderr.contains("plumb: watch: plumb used ") && said.stderr.contains(" 0 lost"), "{}", said.stderr);
    let lines: Vec<Value> = place.read("w.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ios: u64 = lines.iter().map(|line| number(line, "/devices/0/latency/read/ios")).sum();
    let asked = number(&job, "/jobs/0/read/total_ios");
    // plumb reads a few blocks before it starts a job, too.
    assert!((asked..asked + 100).contains(&ios), "{ios} of {asked}");
    let busy = lines.iter().max_by_key(|line| number(line, "/devices/0/latency/read/ios")).unwrap();
    let clat = number(&job, "/jobs/0/read/clat_ns/percentile/50.000000");
    let p50 = number(busy, "/devices/0/latency/read/device_ns/p50");
    assert!(p50 > 0 && p50 < clat * 21 / 20, "{p50} of {clat} ns");
    assert_eq!(busy["latency_events_lost"], 0);
    let streamed: Vec<Value> = place.read("s.ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let intervals: Vec<&Value> = streamed.iter().filter(|line| line["type"] == "interval").collect();
    let latencies = intervals.iter().map(|line| &line["latency"][0]);
    assert!(latencies.eq(lines.iter().map(|line| &line["devices"][0]["latency"])), "{streamed:#?}");
    let without = plumb(&place, "watch --json --count 1 --interval 0.1").words([name]).succeeds().stdout;
    assert!(!without.contains("latency"), "{without}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let place = place();
    plumb(&place, "iostat --latency").fails().complains("--latency wants an interval: iostat --latency 1");
    plumb(&place, "watch --latency --json --root /proc/self")
        .fails()
        .complains("--latency is measured on this machine");
    let recorded = plumb(&place, "iostat --latency 1").env("PLUMB_ROOT", "/").fails();
    recorded.complains("--latency is measured on this machine");
    let program = Path::new("/tmp").join(format!("plumb-latency-{}", std::process::id()));
    std::fs::copy(PLUMB, &program).unwrap();
    let run = house::Run::new(&program, &place).words("iostat --latency 1 1");
    let said = run.under("setpriv --reuid=65534 --regid=65534 --clear-groups").fails();
    std::fs::remove_file(program).unwrap();
    said.complains("needs root");
}
