//! Outputs in addition to and between the reports: the run so far, logs of all jobs, compressed logs.

use crate::context::{fio, place};
use house::{Run, Words, bytes_written, children, oracle, sum_over_time, wait_for};
use serde_json::{Deserializer, Value};
use std::path::Path;

/// A run of `plumb fio` whose files of requests are in its directory.
fn run(directory: &Path, words: impl Words) -> Run {
    fio(directory, words).env("TMPDIR", directory)
}

fn rows(path: &Path) -> Vec<Vec<u64>> {
    let text = std::fs::read_to_string(path).expect("a log");
    text.lines().map(|line| line.split(", ").map(|field| field.parse().expect("a number")).collect()).collect()
}

const PACED: &str = "--name=a --size=1m --rw=write --rate_iops=200 --time_based --runtime=2500ms";

#[test]
fn json_once_a_second_is_a_sequence_of_documents() {
    for isolation in ["", "--thread"] {
        let directory = place();
        let words = format!("--output-format=json+ --status-interval=1 --eta=always {PACED} {isolation}");
        let text = run(directory.path(), &words).stdout();
        let documents: Vec<Value> = Deserializer::from_str(&text).into_iter().map(|found| found.unwrap()).collect();
        assert_eq!(documents.len(), 3, "after one and two seconds, and at the end: {text}");
        for (index, document) in documents.iter().enumerate() {
            let job = &document["jobs"][0];
            let (write, elapsed) = (&job["write"], job["elapsed"].as_u64().unwrap());
            let expected = [200, 400, 500][index];
            let ios = write["total_ios"].as_u64().unwrap();
            assert!(ios.abs_diff(expected) <= 40, "{ios} I/Os, {expected} expected");
            assert!((index as u64 + 1..=index as u64 + 3).contains(&elapsed), "{elapsed} s");
            let sum: u64 = write["clat_ns"]["bins"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
            assert!(sum.abs_diff(ios) <= 2, "{sum} in the bins of {ios}");
            assert!(job["ctx"].as_u64().unwrap() > 0, "what was used so far is known");
        }
        assert_eq!(documents[0]["jobs"][0]["eta"], 2_147_483_647u64, "not known after one second");
        assert_eq!(documents[2]["jobs"][0]["eta"], 0);
        let start = documents[0]["jobs"][0]["job_start"].as_u64().unwrap();
        assert!(documents.iter().all(|document| document["jobs"][0]["job_start"] == start));
        let stamp = documents[2]["timestamp_ms"].as_u64().unwrap();
        assert!((2400..20_000).contains(&(stamp - start)), "it ended {} ms after its start", stamp - start);
    }
}

/// fio's output file holds the document of a run and nothing else; all lines about jobs go to standard error.
#[test]
fn a_file_for_a_program_holds_its_document_alone() {
    let directory = place();
    directory.write("zeroes", vec![0; 65536]);
    for words in [
        "--filename=/dev/full --rw=write",
        "--filename=/dev/full --rw=write --continue_on_error=write --thread",
        "--filename=zeroes --rw=read --verify=crc32c",
        "--filename=zeroes --rw=read --rate_min=1t --ratecycle=500 --thinktime=1000 --time_based --runtime=3",
        "--filename=zeroes --rw=read --exec_prerun=false",
        "--filename=zeroes --rw=read --max_latency=1us",
        "--filename=zeroes --rw=read --latency_target=1 --latency_window=50ms --time_based --runtime=1",
        "--filename=missing --rw=read --allow_file_create=0",
        "--filename=zeroes --rw=read --debug=process,io,parse",
        "--read_iolog=missing",
    ] {
        for format in ["json", "json+", "json-full", "terse"] {
            let outputs = ["--output=out", "--output-format", format, "--name=a", "--size=64k"];
            let shown = run(directory.path(), outputs).words(words).end();
            assert!(!shown.stderr.is_empty() && shown.stdout.is_empty(), "{words}: {shown}");
            let text = std::fs::read_to_string(directory.file("out")).unwrap();
            let is_line = |line: &str| line.starts_with("3;fio-") && line.matches(';').count() > 100;
            match format {
                "terse" => assert!(!text.is_empty() && text.lines().all(is_line), "{words}: {text}"),
                _ => drop(serde_json::from_str::<Value>(&text).unwrap_or_else(|why| panic!("{words}: {why}: {text}"))),
            }
        }
    }
    // No document of an earlier run is taken for one of this command.
    run(directory.path(), "--output=out --output-format=json --name=a --bs=4q").exits(1).complains("4q");
    assert_eq!(std::fs::read_to_string(directory.file("out")).unwrap(), "");
}

#[test]
fn a_job_that_did_not_start_has_a_time_in_json_too() {
    let directory = place();
    for words in ["--create_only=1", "--allow_file_create=0 --filename=missing"] {
        let shown = run(directory.path(), "--output-format=json --name=a --size=64k").words(words).end();
        let document = shown.json();
        let [at, end] =
            [&document["jobs"][0]["job_start"], &document["timestamp_ms"]].map(|time| time.as_u64().unwrap());
        assert!(at <= end && end - at < 60_000, "{words}: {at} {end}");
    }
}

#[test]
fn the_file_that_asks_for_a_report_is_removed_and_answered() {
    let directory = place();
    let running = run(directory.path(), format!("--minimal {PACED}")).start();
    let is_writing = || children(running.id()).into_iter().any(|worker| bytes_written(worker) > 100 * 4096);
    wait_for("a worker that writes", || is_writing().then_some(()));
    let request = directory.path().join("fio-dump-status");
    std::fs::write(&request, "").unwrap();
    let text = running.end().exits(0).stdout;
    assert!(!request.exists());
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn all_jobs_bandwidth_is_logged_per_direction_and_adds_up() {
    let directory = place();
    let words = "--output-format=json --bandwidth-log=all --name=a --size=4m --rw=rw --rate=1m --numjobs=2 --time_based --runtime=2";
    let result = run(directory.path(), words).json();
    for (index, direction) in ["read", "write", "trim"].into_iter().enumerate() {
        let rows = rows(&directory.path().join(format!("all-{direction}_bw.log")));
        assert!((4..=7).contains(&rows.len()), "a row each half a second: {rows:?}");
        assert!(rows.iter().all(|row| row[2] == index as u64 && row.len() == 5));
        let mut before = 0;
        let mut bytes = 0;
        for row in &rows {
            bytes += row[1] * 1024 * (row[0] - before) / 1000;
            before = row[0];
        }
        let jobs = result["jobs"].as_array().unwrap().iter();
        let found: u64 = jobs.map(|job| job[direction]["io_bytes"].as_u64().unwrap()).sum();
        assert!(bytes.abs_diff(found) <= 8 << 10, "{direction}: {bytes} in the log, {found} in the result");
    }
}

#[test]
fn a_compressed_log_is_unpacked_by_us_and_by_fio_alike() {
    let directory = place();
    let words = "--output-format=json --name=a --size=1m --rw=rw --write_lat_log=x --log_offset=1 --log_prio=1 \
                 --log_store_compressed=1 --log_compression=4k";
    run(directory.path(), words).succeeds();
    let ours = run(directory.path(), "--inflate-log=x_lat.1.log.fz").stdout();
    assert_eq!(ours.lines().count(), 256);
    assert!(ours.lines().all(|line| line.split(", ").count() == 6 && line.ends_with("0x0000")), "{ours}");
    assert_eq!(oracle(&directory, "--inflate-log=x_lat.1.log.fz").exits(0).stdout, ours);
}

#[test]
fn a_compressed_log_of_fio_is_unpacked() {
    let directory = place();
    let words = "--name=a --size=256k --rw=rw --write_lat_log=x --log_store_compressed=1 --output=/dev/null";
    oracle(&directory, words).exits(0);
    let theirs = oracle(&directory, "--inflate-log=x_clat.1.log.fz").exits(0).stdout;
    let ours = run(directory.path(), "--inflate-log=x_clat.1.log.fz").stdout();
    assert_eq!((ours.lines().count(), ours), (64, theirs));
}

#[test]
fn a_log_that_cannot_be_unpacked_says_why() {
    let directory = place();
    directory.write("x.fz", "no log");
    for (name, why) in [("x.fz", "not a compressed log, or damaged: after 0 rows"), ("none.fz", "No such file")] {
        run(directory.path(), format!("--inflate-log={name}")).fails().complains(why).complains(name);
    }
}

#[test]
fn a_log_on_a_full_disk_fails_its_job_and_the_report_is_printed() {
    let directory = place();
    std::os::unix::fs::symlink("/dev/full", directory.path().join("x_bw.1.log")).unwrap();
    let words = "--name=a --ioengine=null --size=1m --write_bw_log=x --name=b --ioengine=null --size=1m";
    let text = run(directory.path(), words)
        .exits(1)
        .complains("a: write log x_bw.1.log: No space left on device")
        .prints("a: (groupid=0, jobs=1): err=28 ")
        .prints("b: (groupid=0, jobs=1): err= 0:")
        .stdout;
    assert_eq!(text.matches("IOPS=").count(), 2, "both have their numbers");
}

#[test]
fn issue_times_need_a_log_of_latencies_with_offsets() {
    let directory = place();
    let base = "--name=a --ioengine=null --size=1m --log_issue_time=1";
    for words in
        [base.to_owned(), format!("{base} --write_lat_log=x"), format!("{base} --write_bw_log=x --log_offset=1")]
    {
        run(directory.path(), words).fails().complains("give write_lat_log and log_offset=1");
    }
}

#[test]
fn a_status_line_is_renewed_and_kept_as_often_as_asked() {
    let directory = place();
    let words = format!("--eta=always --eta-interval=250ms --eta-newline=1 {PACED}");
    let text = run(directory.path(), &words).stdout();
    let renewed = text.matches("Jobs: ").count();
    assert!((6..=11).contains(&renewed), "{renewed} in 2.5 s, four a second");
    let kept = text.matches("\r\n").count();
    assert!((1..=3).contains(&kept), "{kept} kept");
}

fn blocks(words: &str) -> (Value, String) {
    let words = format!("--output-format=json,normal --name=a --block_error_percentiles=1 {words}");
    let text = fio(place(), words).stdout();
    let (result, text) = house::split_output(&text).expect("JSON");
    (result.expect("JSON")["jobs"][0]["block"].clone(), text)
}

#[test]
fn lives_of_blocks_are_shown_by_state_and_by_trims() {
    // Ten blocks are trimmed four times, and each seventh trim fails: after 1, 2, 3, 3 and 4 trims of their blocks.
    let trims = "--ioengine=sim --rw=trim --bs=64k --size=640k --loops=4 --sim_faults=trim:7:error=EIO \
                 --continue_on_error=all --percentile_list=20:40:50:100";
    let (block, text) = blocks(trims);
    let states = serde_json::json!({"unwritten": 0, "trimmed": 5, "written": 0, "trim failure": 5, "write failure": 0});
    assert_eq!(block["states"], states);
    let percentiles = serde_json::json!({"20.000000": 1, "40.000000": 2, "50.000000": 3, "100.000000": 4});
    assert_eq!(block["percentiles"], percentiles);
    let line = "   |        states               : unwritten=0, trimmed=5, written=0, trim failure=5, write failure=0";
    assert!(text.contains("  block lifetime percentiles :\n   |     20th=[    1]\n") && text.contains(line), "{text}");
    // Of a group the blocks are added up; a write after a trim makes a block a written one.
    let both = "--ioengine=sim --rw=trimwrite --bs=64k --size=640k --numjobs=2 --group_reporting";
    assert_eq!(blocks(both).0["states"]["written"], 20);
    let (block, text) = blocks("--ioengine=null --rw=write --bs=64k --size=640k");
    assert!(block.is_null() && text.contains("trim failure=0, write failure=0"), "as fio without trims: {text}");
}

#[test]
fn the_lives_of_blocks_are_those_of_one_file_on_a_device_too() {
    let directory = place();
    let device = house::LoopDevice::new(directory.path(), 1 << 20).expect("a loop device");
    let base = format!("--filename={} --rw=trim --bs=64k --number_ios=5", device.path().display());
    let states = &blocks(&base).0["states"];
    assert_eq!((&states["trimmed"], &states["unwritten"]), (&5.into(), &11.into()));
    let words = "--name=a --ioengine=null --size=1m --nrfiles=2 --rw=trim --block_error_percentiles=1";
    run(directory.path(), words).fails().complains("the blocks of one file, and the job has 2");
}

#[test]
fn logs_of_10_ms_to_1_s_agree_with_the_result_and_the_device() {
    // The simulated disk does 4 KiB in 100 µs, four at once: 160,000 KiB/s. The real one does what it can.
    for (engine, most) in [
        ("--ioengine=sim --sim_service_time=100us --iodepth=4 --size=100g", 160_000),
        ("--ioengine=psync --size=1m", u64::MAX),
    ] {
        let directory = place();
        let base = format!("--output-format=json+ {engine} --rw=rw --time_based --runtime=1500ms");
        let job = |ms: &u64| {
            format!("--name=w{ms} --write_bw_log=w{ms} --write_hist_log=w{ms} --log_avg_msec={ms} --log_hist_msec={ms}")
        };
        let windows = [10, 100, 1000];
        let words = format!("{base} {}", windows.each_ref().map(job).join(" "));
        let result = run(directory.path(), &words).json();
        for (index, ms) in windows.into_iter().enumerate() {
            let log = |kind| rows(&directory.path().join(format!("w{ms}_{kind}.{}.log", index + 1)));
            let (bandwidth, histograms) = (log("bw"), log("clat_hist"));
            assert!(bandwidth.iter().all(|row| row[1] <= most), "{engine} {ms} ms: {bandwidth:?}");
            for (number, direction) in ["read", "write"].into_iter().enumerate() {
                let found = &result["jobs"][index][direction];
                let kib = found["io_bytes"].as_u64().unwrap() / 1024;
                let logged = sum_over_time(&bandwidth, number as u64, ms);
                assert!(kib > 0 && logged.abs_diff(kib) <= kib / 100, "{engine} {ms} ms: {logged} of {kib} KiB");
                let mut sums = vec![0; 1856];
                for row in histograms.iter().filter(|row| row[1] == number as u64) {
                    sums.iter_mut().zip(&row[3..]).for_each(|(sum, count)| *sum += count);
                }
                let bins = found["clat_ns"]["bins"].as_object().unwrap().values().map(|count| count.as_u64().unwrap());
                let sums: Vec<u64> = sums.into_iter().filter(|&sum| sum > 0).collect();
                assert_eq!(sums, bins.collect::<Vec<_>>(), "{engine} {ms} ms {direction}");
            }
        }
    }
}
