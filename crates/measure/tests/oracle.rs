//! Side by side with fio: its histogram bins are our bucket values, its percentiles ours.

use measure::{Histogram, Nanos};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// One fio run of the null engine; its completion latencies as JSON.
fn completion_latencies(options: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a directory");
    let base = [
        "--kill-after=1",
        "60",
        "fio",
        "--name=a",
        "--ioengine=null",
        "--size=1g",
        "--bs=4k",
        "--rw=read",
        "--output-format=json+",
    ];
    let run = Command::new("timeout")
        .args(base)
        .args(options)
        .current_dir(folder.path())
        .output()
        .expect("fio: make oracles");
    let text = String::from_utf8(run.stdout).expect("fio writes UTF-8");
    let object = &text[text.find('{').expect("a JSON object")..=text.rfind('}').expect("its end")];
    let mut found: Value = serde_json::from_str(object).expect("fio writes JSON");
    found["jobs"][0]["read"]["clat_ns"].take()
}

fn check(options: &[&str]) {
    let latencies = completion_latencies(options);
    let bins: BTreeMap<u64, u64> = serde_json::from_value::<BTreeMap<String, u64>>(latencies["bins"].clone())
        .expect("json+ has bins")
        .iter()
        .map(|(value, &count)| (value.parse().expect("a number of ns"), count))
        .collect();
    let ours: BTreeMap<u64, usize> =
        (0..29 * 64).map(|bucket| (Histogram::bucket_value(bucket).get(), bucket)).collect();
    let mut histogram = Histogram::new();
    for (&value, &count) in &bins {
        assert!(ours.contains_key(&value), "fio's bin {value} is not a bucket of ours");
        assert!(histogram.add_to_bucket(ours[&value], count));
    }
    let percentiles = latencies["percentile"].as_object().expect("json+ has percentiles");
    assert!(percentiles.len() > 10 && histogram.total() > 0);
    let named: Vec<(f64, u64)> = percentiles
        .iter()
        .map(|(percent, value)| (percent.parse().expect("a percent"), value.as_u64().expect("a number of ns")))
        .collect();
    let percents: Vec<f64> = named.iter().map(|&(percent, _)| percent).collect();
    let found = histogram.percentiles(&percents).expect("there are latencies");
    for ((percent, theirs), ours) in named.iter().zip(found) {
        assert_eq!(ours, Nanos(*theirs), "p{percent} of {} latencies", histogram.total());
    }
}

#[test]
fn fios_bins_and_percentiles_are_ours() {
    check(&["--number_ios=20000"]);
    check(&[
        "--number_ios=1000",
        "--percentile_list=0.1:1:2.5:10:20:33:40:50:60:70:80:90:99:99.5:99.9:99.95:99.99:100",
    ]);
}

#[test]
fn fios_bins_of_deep_queues_are_ours() {
    check(&["--number_ios=20000", "--iodepth=64", "--iodepth_batch=16"]);
}
