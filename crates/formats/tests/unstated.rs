//! What a report does not state stays absent: users, depths, sectors of disks.

use formats::fio::json as fio_json;
use formats::results::{Results, results};
use model::RunResult;
use serde_json::{Value, json};

/// A document with one entry per job: (name, group, run time in ms, number of clones).
fn document(jobs: &[(&str, u64, Option<u64>, u64)]) -> String {
    let entry = |&(name, group, run_time, clones): &(&str, u64, Option<u64>, u64)| {
        let read =
            json!({"io_bytes": 4_096_000, "io_kbytes": 4000, "iops": 1000.0, "runtime": 1000, "total_ios": 1000});
        let options = json!({"name": name, "rw": "randread", "bs": "4k", "numjobs": clones.to_string()});
        let mut entry = json!({"jobname": name, "groupid": group, "job options": options, "read": read});
        if let Some(run_time) = run_time {
            entry["job_runtime"] = json!(run_time);
        }
        entry
    };
    let entries: Vec<Value> = jobs.iter().map(entry).collect();
    let disk = json!({"name": "sda", "read_ios": 1000, "write_ios": 0, "util": 90.0});
    format!("{:#}\n", json!({"fio version": "fio-3.33", "jobs": entries, "disk_util": [disk]}))
}

fn workers(result: &RunResult) -> Vec<Option<f64>> {
    result.printed().expect("a report").jobs.iter().map(|job| job.workers).collect()
}

#[test]
fn an_entry_of_json_covers_the_workers_that_its_run_time_is_of() {
    for (jobs, expected) in [
        (vec![("a", 0, Some(1000), 1)], vec![Some(1.0)]),
        // group_reporting, which fio up to 3.39 does not echo from its command line.
        (vec![("a", 0, Some(3990), 4)], vec![Some(4.0)]),
        // Of a group of two jobs only the options of the first are echoed.
        (vec![("a", 0, Some(2000), 1)], vec![None]),
        (vec![("a", 0, None, 1)], vec![None]),
        (vec![("a", 0, Some(1000), 2), ("a", 0, Some(1000), 2)], vec![Some(1.0), Some(1.0)]),
        (vec![("a", 0, Some(2000), 2), ("b", 1, Some(1000), 1)], vec![Some(2.0), Some(1.0)]),
    ] {
        assert_eq!(workers(&fio_json::read(&document(&jobs)).unwrap()), expected, "{jobs:?}");
    }
    let without_options = document(&[("a", 0, Some(1000), 1)]).replace("\"job options\"", "\"unknown\"");
    assert_eq!(workers(&fio_json::read(&without_options).unwrap()), [None]);
}

#[test]
fn a_document_of_json_states_its_options_wherever_it_stands() {
    let found = |text: &str| -> Vec<RunResult> {
        results(text.as_bytes()).found.into_iter().map(|located| located.result).collect()
    };
    let plain = document(&[("a", 0, Some(1000), 1), ("b", 1, Some(1000), 1)]);
    let whole = found(&plain);
    assert_eq!(whole[0].jobs[1].workload.as_ref().map(plan::Workload::pattern), Some("randread"));
    let quoted: String = plain.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(found(&quoted), whole, "quoted");
    let cut = found(&plain[..plain.rfind("numjobs").unwrap()]);
    assert_eq!((cut[0].jobs.len(), &cut[0].jobs[0]), (1, &whole[0].jobs[0]), "cut off within the second job");
}

#[test]
fn sectors_that_are_not_stated_are_absent_and_stay_so() {
    let result = fio_json::read(&document(&[("a", 0, Some(1000), 1)])).unwrap();
    assert_eq!(result.devices[0].sectors, None);
    let again = fio_json::write(&result, &formats::View::in_zone(jiff::tz::TimeZone::UTC));
    assert!(!again.contains("sectors") && again.contains("\"read_ios\" : 1000"), "{again}");
    assert_eq!(fio_json::read(&again).unwrap().devices[0].sectors, None);
    let text = formats::fio::text::write(&result, &formats::View::in_zone(jiff::tz::TimeZone::UTC));
    assert!(text.contains("  sda: ios=1000/0, merge=0/0, "), "{text}");
}

#[test]
fn a_block_of_several_jobs_has_their_shared_depth_and_blocks() {
    let report = |second: &str| {
        let head = "bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8";
        let text = format!(
            "r: (g=0): rw=randread, {head}\nw: (g=0): rw=randread, {second}\nfio-3.33\nStarting 2 processes\n\n\
             r: (groupid=0, jobs=2): err= 0: pid=7: Mon Nov 23 06:29:07 2026\n  \
             read: IOPS=1000, BW=3.9MiB/s (4.1MB/s)(4000KiB/1000msec)\n\n\
             Run status group 0 (all jobs):\n   READ: bw=4000KiB/s (4096kB/s), 4000KiB/s-4000KiB/s (4096kB/s-4096kB/s), \
             io=4000KiB (4096kB), run=1000-1000msec\n"
        );
        let Results { mut found, damages, .. } = results(text.as_bytes());
        assert!(damages.is_empty(), "{damages:?}");
        let job = found.remove(0).result.printed().unwrap().jobs[0].clone();
        (job.workers, job.depth, job.block_sizes.len(), job.engine)
    };
    let same = "bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8";
    assert_eq!(report(same), (Some(2.0), Some(8.0), 3, Some("libaio".into())));
    let other = "bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, ioengine=psync, iodepth=1";
    assert_eq!(report(other), (Some(2.0), None, 0, None));
}

#[test]
fn a_row_without_users_does_not_state_them() {
    let users = |row: &str| {
        let table = format!("name,users,bs,MB,lat,min,max,std,iops\n{row}\n");
        workers(&results(table.as_bytes()).found[0].result)
    };
    assert_eq!(users("randread,8,8K,10.5,5.943,1,9,1,1345"), [Some(8.0)]);
    assert_eq!(users("randread,,8K,10.5,5.943,1,9,1,1345"), [None]);
}

#[test]
fn a_document_without_a_depth_has_that_of_its_options() {
    let depth = |own: Value, global: Value, key: Option<u64>| {
        let read =
            json!({"io_bytes": 4_096_000, "io_kbytes": 4000, "iops": 1000.0, "runtime": 1000, "total_ios": 1000});
        let mut entry = json!({"jobname": "a", "job options": own, "read": read});
        if let Some(depth) = key {
            entry["latency_depth"] = json!(depth);
        }
        let text = format!("{:#}\n", json!({"fio version": "fio-2.21", "global options": global, "jobs": [entry]}));
        let result = fio_json::read(&text).expect("a document");
        let Results { found, .. } = results(text.as_bytes());
        assert_eq!(found[0].result.jobs[0].echo.iodepth, result.jobs[0].echo.iodepth);
        result.jobs[0].echo.iodepth
    };
    let random = json!({"rw": "randread", "ioengine": "libaio", "iodepth": "8"});
    assert_eq!(depth(random.clone(), json!({}), None), 8);
    assert_eq!(depth(json!({"rw": "randread"}), json!({"ioengine": "libaio", "iodepth": "32"}), None), 32);
    assert_eq!(depth(random, json!({}), Some(4)), 4, "the key counts");
}
