//! fio's terse lines against fio itself: its JSON is read, and the line we print from it is held against the line it
//! printed, field by field; then its line is read, and printed again.

mod fields;

use super::fio_output::workloads;
use fields::{differences, fields};
use fio::TerseVersion;
use formats::fio::{json as fio_json, terse as fio_terse};
use formats::results::{Results, results};
use formats::sniff;
use measure::{Direction, Nanos};
use model::{DeviceUsage, JobError, JobResult, LatencyStatistics, RunResult};
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The workloads that are run in each version: one for each field that a workload can change.
const CHOSEN: [&str; 20] = [
    "null-randrw",
    "psync-write-fsync",
    "group-reporting",
    "two-groups",
    "all-percentiles",
    "no-such-file",
    "disk-full",
    "psync-randread",
    "libaio-batches",
    "lat-percentiles",
    "no-percentiles",
    "io-uring",
    "no-lat",
    "no-clat",
    "no-slat",
    "gtod-reduce",
    "description",
    "forgiven-errors",
    "three-sizes",
    "trimwrite",
];

/// Runs the installed fio in a separate directory; what it printed.
fn run_fio(workload: &workloads::Workload, version: TerseVersion, shared: &Path) -> String {
    let directory = shared.join(format!("{}-{}", workload.name, version.word()));
    std::fs::create_dir(&directory).unwrap();
    std::fs::hard_link(shared.join("file"), directory.join("file")).unwrap();
    let output = Command::new("timeout")
        .args(["--kill-after=1", "60", "fio"])
        .current_dir(directory)
        .args(["--output-format=terse,json+", "--terse-version", version.word()])
        .args(workload.arguments.split_whitespace())
        .output()
        .expect("fio is installed: make oracles");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The lines of jobs, with the second line that a description has in version 2.
fn lines(printed: &str, version: TerseVersion) -> Vec<&str> {
    let start = format!("{};", version.word());
    printed.lines().filter(|line| line.starts_with(&start) || line.starts_with(';')).collect()
}

/// The result of all lines; a line is a run of one job.
fn read(text: &str) -> RunResult {
    let Results { found, damages, .. } = results(text.as_bytes());
    assert!(damages.is_empty(), "{damages:?}\n{text}");
    let mut all = found.first().map(|found| found.result.clone()).unwrap_or_default();
    all.jobs.extend(found.into_iter().skip(1).flat_map(|found| found.result.jobs));
    all
}

/// What differs in one workload and version: from JSON, and from the line itself.
fn check(workload: &workloads::Workload, version: TerseVersion, printed: &str) -> Vec<String> {
    let name = format!("{}, version {}", workload.name, version.word());
    let theirs = lines(printed, version);
    let from_json = fio_terse::write(&fio_json::read(printed).unwrap(), version);
    let again = fio_terse::write(&read(&theirs.join("\n")), version);
    let mut found = differences(&format!("{name}, from JSON"), version, &theirs, &lines(&from_json, version));
    let read_again = differences(&format!("{name}, read again"), version, &theirs, &lines(&again, version));
    // A job whose I/Os all failed has a share at depth 1, but no number of I/Os of which it could be a share.
    let nothing_done = ["disk-full", "forgiven-errors"].contains(&workload.name);
    found.extend(read_again.into_iter().filter(|text| !(nothing_done && text.contains("(depth bin 0)"))));
    found
}

#[test]
fn our_lines_from_fios_json_are_fios_lines_in_every_version() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), vec![0x5a; 16 << 20]).unwrap();
    let chosen = workloads::WORKLOADS.iter().filter(|workload| CHOSEN.contains(&workload.name));
    let runs: Vec<_> = chosen.flat_map(|workload| TerseVersion::ALL.map(|version| (workload, version))).collect();
    assert_eq!(runs.len(), CHOSEN.len() * TerseVersion::ALL.len());
    let next = AtomicUsize::new(0);
    let take = || runs.get(next.fetch_add(1, Ordering::Relaxed));
    let work = || -> Vec<String> {
        let one =
            |&(workload, version): &(_, _)| check(workload, version, &run_fio(workload, version, directory.path()));
        std::iter::from_fn(take).flat_map(one).collect()
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..6).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_line_without_disks_has_161_121_162_or_180_fields() {
    let result = RunResult { jobs: vec![JobResult::default()], ..RunResult::default() };
    let count = |version| fio_terse::write(&result, version).trim_end().split(';').count();
    assert_eq!(TerseVersion::ALL.map(count), [161, 121, 162, 180]);
}

/// A worker that did `sizes.len()` I/Os of these bytes and latencies in a direction.
fn job(direction: Direction, name: &str, ios: &[(u32, u64)], runtime_ms: u64) -> JobResult {
    let mut job = JobResult { workers: 1, runtime: Nanos::from_millis(runtime_ms), ..JobResult::default() };
    job.echo.name = name.to_owned();
    job.depth.level[0] = ios.len() as u64;
    let found = &mut job.directions[direction];
    found.runtime = Nanos::from_millis(runtime_ms);
    let (mut completion, mut total) = (LatencyStatistics::default(), LatencyStatistics::default());
    completion.histogram = Some(Box::default());
    for &(bytes, latency) in ios {
        found.ios += 1;
        found.bytes += u64::from(bytes);
        completion.moments.record(Nanos(latency));
        total.moments.record(Nanos(latency + 70));
        completion.histogram.as_mut().unwrap().record(Nanos(latency));
        found.bandwidth_samples.record(u64::from(bytes));
        found.iops_samples.record(latency % 977);
        job.latency_bins.record(Nanos(latency + 70), 1);
    }
    (found.completion, found.total) = (Some(completion), Some(total));
    job
}

fn disk(name: &str) -> DeviceUsage {
    DeviceUsage {
        name: name.to_owned(),
        ios: [1465, 1],
        merges: [2, 3],
        ticks_ms: [61, 4],
        in_queue_ms: 65,
        stated_utilisation_percent: Some(27.78),
        ..DeviceUsage::default()
    }
}

#[test]
fn disks_follow_every_job_before_errors_but_not_in_version_2() {
    let mut job = job(Direction::Read, "a", &[(4096, 5000)], 10);
    job.echo.description = Some("the morning; of today".to_owned());
    (job.style.shows_errors, job.forgiven_errors, job.first_forgiven_errno) = (true, 4, 28);
    let devices = vec![disk("sda"), DeviceUsage { members: vec![disk("sdb")], ..disk("dm-0") }];
    let result = RunResult { jobs: vec![job.clone(), job], devices, ..RunResult::default() };
    let disk = |name: &str| format!("{name};1465;1;2;3;61;4;65;27.78%");
    let end = format!(";{};{};{};4;28;the morning; of today", disk("sda"), disk("dm-0"), disk("sdb"));
    for version in [TerseVersion::V3, TerseVersion::V4, TerseVersion::V5] {
        let text = fio_terse::write(&result, version);
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.ends_with(&end)), "{text}");
        let read = read(&text);
        assert_eq!(read.devices.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["sda", "dm-0", "sdb"]);
        assert_eq!((read.jobs[1].forgiven_errors, read.jobs[1].first_forgiven_errno), (4, 28));
        assert_eq!((read.jobs[1].errno(), &read.jobs[1].error), (28, &None));
        assert_eq!(read.jobs[1].echo.description.as_deref(), Some("the morning; of today"));
    }
    let text = fio_terse::write(&result, TerseVersion::V2);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() == 4 && lines[0].ends_with("0.00%;4;28") && lines[3] == ";the morning; of today", "{text}");
    let read = read(&text);
    assert_eq!(read.jobs[1].echo.description.as_deref(), Some("the morning; of today"));
    assert_eq!(read.jobs[0].forgiven_errors, 4);
}

#[test]
fn what_a_line_does_not_state_stays_absent() {
    let mut whole = job(Direction::Write, "a;b", &[(4096, 5000), (8192, 70_000)], 1000);
    whole.error = Some(JobError { errno: 28, operation: "write".into(), message: String::new(), signal: None });
    let result = RunResult { jobs: vec![whole], ..RunResult::default() };
    let read = read(&fio_terse::write(&result, TerseVersion::V3));
    let job = &read.jobs[0];
    let found = &job.directions[Direction::Write];
    assert_eq!((job.echo.name.as_str(), job.errno(), job.pid, job.elapsed_s), ("a;b", 28, 0, 0));
    assert_eq!((found.bytes, found.ios, found.runtime), (12288, 2, Nanos::from_millis(1000)));
    assert_eq!(found.submission, None);
    assert_eq!(found.completion.as_ref().unwrap().moments.mean(), Some(37_500.0));
    assert_eq!(found.iops_samples.count, 0);
    assert_eq!(job.directions[Direction::Read].completion, None);
    assert_eq!((read.devices.len(), job.style.shows_errors, &job.echo.description), (0, false, &None));
}

#[test]
fn a_line_break_in_a_name_does_not_break_the_line() {
    let mut job = job(Direction::Read, "a\nb", &[(4096, 5000)], 10);
    job.echo.description = Some("c\r\nd".to_owned());
    let text = fio_terse::write(&RunResult { jobs: vec![job], ..RunResult::default() }, TerseVersion::V3);
    assert_eq!(text.lines().count(), 1, "{text}");
    let read = read(&text);
    assert_eq!((read.jobs[0].echo.name.as_str(), read.jobs[0].echo.description.as_deref()), ("a␊b", Some("c␍␊d")));
}

#[test]
fn lines_are_found_in_other_output_and_short_ones_are_refused() {
    let result = RunResult { jobs: vec![job(Direction::Read, "a", &[(4096, 5000)], 10)], ..RunResult::default() };
    let line = fio_terse::write(&result, TerseVersion::V3);
    let text = format!("a: (g=0): rw=read\nfio-3.33\n{line}\na: (groupid=0, jobs=1)\n");
    let found = results(text.as_bytes()).found;
    assert_eq!((found[0].line, found[0].result.jobs[0].echo.name.as_str()), (3, "a"));
    assert_eq!(sniff(text.as_bytes()).map(|format| format.name), Some("fio-terse"));
    assert!(sniff(b"3;a;4;5\n").is_none());
    for (text, says) in [
        (format!("x\n{}\n", line.rsplit_once(';').unwrap().0), vec![(2, "the line ends too early")]),
        ("nothing\n".to_owned(), vec![]),
    ] {
        let Results { found, damages, .. } = results(text.as_bytes());
        let damages: Vec<_> = damages.iter().map(|damage| (damage.line, damage.what.as_str())).collect();
        assert!(found.is_empty() && damages == says, "{damages:?}");
    }
}

#[test]
fn a_sum_over_the_directions_is_kept_as_a_sum() {
    let result = RunResult { jobs: vec![job(Direction::Read, "a", &[(4096, 5000)], 10)], ..RunResult::default() };
    let line = fio_terse::write(&result, TerseVersion::V3);
    let fields: Vec<&str> = line.split(';').collect();
    let mixed = [&fields[..46], &fields[87..]].concat().join(";");
    let read = read(&mixed);
    assert_eq!((read.jobs[0].style.unified, read.jobs[0].ios()), (model::Unified::Mixed, 1));
    assert_eq!(fio_terse::write(&read, TerseVersion::V3), mixed);
}

/// Whole KiB, as the line states them.
fn kibibytes() -> impl Strategy<Value = u32> {
    (1u32..1024).prop_map(|kib| kib << 10)
}

#[test]
fn in_a_slow_run_the_fewest_ios_count_and_latencies_stay() {
    let slow = job(Direction::Read, "slow", &[(4096, 5_000_300), (4096, 7_000_900), (4096, 7_000_000)], 90_000);
    let result = RunResult { jobs: vec![slow], ..RunResult::default() };
    let read = read(&fio_terse::write(&result, TerseVersion::V3));
    let found = &read.jobs[0].directions[Direction::Read];
    assert_eq!((found.ios, found.bytes), (2, 12288));
    let moments = found.completion.as_ref().unwrap().moments;
    assert!((moments.mean().unwrap() - 6_333_733.3).abs() <= 1.0, "{moments:?}");
    assert!((moments.deviation().unwrap() - 1_154_787.0).abs() <= 1.0, "{:?}", moments.deviation());
}

fn any_version() -> impl Strategy<Value = TerseVersion> {
    prop::sample::select(TerseVersion::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_result_survives_writing_and_reading(
        version in any_version(),
        reads in prop::collection::vec((kibibytes(), 80u64..30_000_000_000), 0..80),
        writes in prop::collection::vec((kibibytes(), 80u64..30_000_000), 0..80),
        runtime_ms in 1u64..=1000,
        description in prop::option::of("[a-z][a-z ;]{0,20}"),
    ) {
        let mut first = job(Direction::Read, "first", &reads, if reads.is_empty() { 0 } else { runtime_ms });
        first.echo.description = description;
        let second = job(Direction::Write, "second; of two", &writes, if writes.is_empty() { 0 } else { runtime_ms });
        let result = RunResult { jobs: vec![first, second], devices: vec![disk("sda")], ..RunResult::default() };
        let text = fio_terse::write(&result, version);
        let again = fio_terse::write(&read(&text), version);
        let found = differences("again", version, &lines(&text, version), &lines(&again, version));
        prop_assert!(found.is_empty(), "{}\n{text}{again}", found.join("\n"));
    }

    #[test]
    fn a_line_gone_wrong_is_read_or_refused_and_shown(
        version in any_version(),
        at in 0usize..200,
        wrong in "(|-1|0|1e300|18446744073709551615|x|-nan%|[0-9]{1,25}|[0-9]{1,20}\\.[0-9]{1,9}%|99%=[0-9]{1,22}|;|\\n)",
    ) {
        let mut job = job(Direction::Read, "a", &[(4096, 5000), (4096, 9000)], 10);
        job.style.group_reporting = true;
        let result = RunResult { jobs: vec![job.clone(), job], devices: vec![disk("sda")], ..RunResult::default() };
        let text = fio_terse::write(&result, version);
        let mut spoilt: Vec<&str> = fields(&text);
        let at = at % spoilt.len();
        spoilt[at] = &wrong;
        for found in results(spoilt.join(";").as_bytes()).found {
            let mut read = found.result;
            let again = read.jobs.clone();
            read.jobs.extend(again);
            read.jobs.iter_mut().for_each(|job| job.style.group_reporting = true);
            for version in TerseVersion::ALL {
                fio_terse::write(&read, version);
            }
            let view = formats::View::in_zone(jiff::tz::TimeZone::UTC);
            formats::fio::text::write(&read, &view);
            fio_json::write_with_bins(&read, &view);
        }
    }
}
