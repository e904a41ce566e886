//! Writes that `verify_only` walks through: in fio's formats as if they were done, in what is read back not.

use formats::View;
use formats::fio::{json as fio_json, terse as fio_terse, text as fio_text};
use formats::results::{Results, results};
use measure::{Histogram, Moments, Nanos};
use model::{JobResult, LatencyStatistics, RunResult, WalkedWrites};

/// 16 blocks that were read back, and the writes of two passes.
fn verified() -> RunResult {
    let mut job = JobResult { workers: 1, pid: 7, runtime: Nanos::from_millis(4), ..JobResult::default() };
    job.walked = Some(WalkedWrites { ios: 32, bytes: 32 * 4096 });
    job.echo.name = "v".to_owned();
    job.echo.engine = "psync".to_owned();
    job.echo.iodepth = 1;
    let options = [("rw", "write"), ("size", "64k"), ("io_size", "128k"), ("verify", "md5"), ("verify_only", "1")];
    job.echo.options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let mut latency = LatencyStatistics { moments: Moments::new(), histogram: Some(Box::new(Histogram::new())) };
    latency.moments.record_many(Nanos(900), 16);
    latency.histogram.as_mut().unwrap().record_many(Nanos(900), 16);
    let reads = &mut job.directions.read;
    (reads.ios, reads.bytes, reads.runtime) = (16, 64 << 10, Nanos::from_millis(4));
    reads.completion = Some(latency.clone());
    reads.total = Some(latency);
    let writes = &mut job.directions.write;
    (writes.completion, writes.total) = (Some(LatencyStatistics::default()), Some(LatencyStatistics::default()));
    job.depth.level[0] = 16;
    job.latency_bins.record(Nanos(900), 16);
    let mut result = RunResult { jobs: vec![job], ended_unix_ms: 1_795_170_534_296, ..RunResult::default() };
    result.environment.program = "plumb 0.1.0".to_owned();
    result
}

fn view() -> View {
    View::in_zone(jiff::tz::TimeZone::UTC)
}

#[test]
fn fios_formats_count_writes_that_were_walked_through() {
    let result = verified();
    let text = fio_text::write(&result, &view());
    assert!(text.contains("issued rwts: total=16,32,0,0"), "{text}");
    assert!(text.contains("IO depths    : 1=100.0%") && text.contains("lat (nsec)   : 1000=100.00%"), "{text}");
    for absent in ["write:", "WRITE:", "latency   :"] {
        assert!(!text.contains(absent), "{absent}\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&fio_json::write(&result, &view())).unwrap();
    let write = &json["jobs"][0]["write"];
    let number = |key: &str| write[key].as_f64().unwrap();
    assert_eq!(["io_bytes", "total_ios", "runtime", "iops", "bw"].map(number), [131_072.0, 32.0, 0.0, 0.0, 0.0]);
    assert_eq!((&write["clat_ns"]["N"], &write["lat_ns"]["N"]), (&32.into(), &32.into()));
    assert_eq!(write["clat_ns"]["percentile"]["99.000000"], 0);
    assert_eq!(json["jobs"][0]["read"]["total_ios"], 16);
    let terse = fio_terse::write(&result, fio::TerseVersion::V3);
    assert!(terse.contains(";128;0;0;0;"), "{terse}");
}

#[test]
fn what_is_read_back_holds_what_was_done() {
    let result = verified();
    let again = fio_json::read(&fio_json::write(&result, &view())).unwrap();
    let job = &again.jobs[0];
    assert_eq!(job.walked, result.jobs[0].walked);
    assert_eq!((job.directions.write.ios, job.directions.write.bytes, job.directions.read.ios), (0, 0, 16));
    assert_eq!(fio_json::write(&again, &view()).matches("\"total_ios\" : 32").count(), 1);
    for format in ["normal", "json", "terse"] {
        let Results { found, damages, .. } = results(formats::write(format, &result, &view()).unwrap().as_bytes());
        assert!(damages.is_empty(), "{format}: {damages:?}");
        let job = &found[0].result.jobs[0];
        assert_eq!((job.directions.read.bytes, job.directions.write.bytes), (64 << 10, 0), "{format}");
    }
}
