//! A result keeps what its job was asked to do as values, not as text: however an option was spelled, checks and limits
//! judge by what it means.

use crate::context::{fio, place, plumb};
use house::Place;
use serde_json::{Value, json};

/// fio's JSON of a job with these options: 10 s of reads of 4 KiB, 1,000 per second, each taking `latency_us`.
fn job(name: &str, options: &Value, latency_us: u64) -> Value {
    let lat = |ns: u64| json!({"min": ns, "max": ns, "mean": ns, "stddev": 0, "N": 10_000});
    json!({
        "jobname": name, "groupid": 0, "error": 0, "elapsed": 11, "job options": options, "job_runtime": 10_000,
        "latency_depth": 1, "usr_cpu": 30.0, "sys_cpu": 69.0, "ctx": 10_000, "majf": 0, "minf": 10,
        "read": {
            "io_bytes": 40_960_000, "io_kbytes": 40_000, "bw_bytes": 4_096_000, "bw": 4_000, "iops": 1000.0,
            "runtime": 10_000, "total_ios": 10_000, "short_ios": 0, "drop_ios": 0,
            "lat_ns": lat(latency_us * 1000), "clat_ns": lat(latency_us * 1000),
        },
    })
}

/// What `plumb check` says of these jobs.
fn check(jobs: &[Value]) -> String {
    let document = json!({"fio version": "fio-3.33", "timestamp": 1_700_000_000, "jobs": jobs});
    let text = serde_json::to_string_pretty(&document).expect("JSON");
    plumb(place(), "check -").input(text).end().stdout
}

/// The verdict on what held a run of `plumb fio` back.
fn limited_by(words: &[&str]) -> Value {
    let base = "--name=a --size=1m --time_based --runtime=1 --output-format=json";
    let document = fio(place(), base).words(words).end().json();
    document["plumb"]["limited_by"].clone()
}

#[test]
fn a_rate_with_a_unit_is_the_plans_own_cap() {
    let found = limited_by(&["--ioengine=null", "--bs=4k", "--rate_iops=1k"]);
    assert_eq!(found["limiter"], "cap", "{found}");
    assert!(found["sentence"].as_str().is_some_and(|text| text.contains("of 1,024 I/Os per second")), "{found}");
}

#[test]
fn a_pause_or_a_rate_of_zero_is_none() {
    for (option, value) in [("thinktime", "0"), ("thinktime", "0ms"), ("rate_iops", "0"), ("rate", "0"), ("flow", "0")]
    {
        let found = check(&[job("a", &json!({"rw": "randread", "bs": "4k", (option): value}), 10)]);
        assert!(found.contains("busy users"), "{option}={value}: {found}");
    }
    let paused = check(&[job("a", &json!({"rw": "randread", "bs": "4k", "thinktime": "900"}), 10)]);
    assert!(!paused.contains("busy users"), "{paused}");
}

#[test]
fn two_spellings_of_an_offset_are_one_place() {
    let reader = |name: &str, offset: &str| {
        job(name, &json!({"rw": "read", "bs": "4k", "filename": "/x", "size": "1g", "offset": offset}), 990)
    };
    let found = check(&[reader("a", "1m"), reader("b", "1024k")]);
    assert!(found.contains("2 workers read the same"), "{found}");
    assert!(!check(&[reader("a", "1m"), reader("b", "2m")]).contains("workers read the same"));
}

#[test]
fn an_option_that_polls_is_off_where_it_is_zero() {
    let directory = Place::below("/dev/shm");
    let file = format!("--filename={}", directory.path().join("file").display());
    let busy = |option: &str| limited_by(&["--ioengine=libaio", "--bs=64k", "--rw=read", &file, option]);
    let found = busy("--userspace_reap=0");
    assert_eq!(found["limiter"], "client_cpu", "{found}");
    assert_ne!(busy("--userspace_reap=1")["limiter"], "client_cpu");
}

#[test]
fn a_ramp_is_a_ramp_in_every_unit() {
    for ramp in ["20s", "20000ms", "20000000us", "20000000usec", "20000msec"] {
        let found = check(&[job("a", &json!({"rw": "read", "bs": "4k", "runtime": "10", "ramp_time": ramp}), 990)]);
        assert!(found.contains("warms up for 20 s and measures 10 s"), "{ramp}: {found}");
    }
}
