//! The store as a whole: what is kept is found again, survives other writers, and can be derived again.

use crate::schema::FORMAT;
use crate::{Decision, Document, Store, StoreError, changes};
use measure::{Histogram, Moments, Nanos};
use model::{
    DeviceFacts, Fact, JobResult, LatencyStatistics, Monitored, MountFacts, RunResult, Surroundings, TargetFacts,
};
use plan::Workload;
use std::path::PathBuf;

/// A run of sequential reads: its start, IOPS, and scheduler.
pub(crate) fn result(began_s: u64, ios: u64, scheduler: &str) -> RunResult {
    let mut job = JobResult { workers: 1, workload: Some(Workload::default()), ..JobResult::default() };
    job.echo.name = "a".to_owned();
    job.echo.engine = "psync".to_owned();
    job.echo.iodepth = 1;
    job.echo.paths = vec!["/data/work.dat".to_owned()];
    job.echo.block_sizes.read = (8192, 8192);
    job.started_unix_ms = began_s * 1000;
    let read = &mut job.directions.read;
    (read.ios, read.bytes, read.runtime) = (ios, ios * 8192, Nanos::from_secs(1));
    let mut latency = LatencyStatistics { moments: Moments::new(), histogram: Some(Box::new(Histogram::new())) };
    for number in 0..20_000_u64 {
        let ns = Nanos::from_micros(100 + number / 10);
        latency.moments.record(ns);
        latency.histogram.as_mut().unwrap().record(ns);
    }
    read.total = Some(latency);
    let device = DeviceFacts {
        name: "sda".into(),
        leaf: true,
        model: Some("TEST DISK".into()),
        size_bytes: Some(1 << 40),
        scheduler: Some(scheduler.into()),
        ..DeviceFacts::default()
    };
    let mount = MountFacts { point: "/data".into(), kind: "ext4".into(), options: "rw".into() };
    let target = TargetFacts { path: "/data/work.dat".into(), mount: Some(mount), ..TargetFacts::default() };
    let mut result = RunResult { jobs: vec![job], ended_unix_ms: began_s * 1000 + 1000, ..RunResult::default() };
    result.monitored = Some(Monitored { devices: vec![device], targets: vec![target], ..Monitored::default() });
    result.environment.program = "plumb 0.1.0".to_owned();
    result.environment.kernel = "6.12.48".to_owned();
    result
}

fn bytes(result: &RunResult) -> Vec<u8> {
    formats::native::write(result).unwrap().into_bytes()
}

pub(crate) fn document(began_s: u64, ios: u64, scheduler: &str) -> Document {
    Document::read(bytes(&result(began_s, ios, scheduler))).unwrap()
}

/// The same with its surroundings.
fn on_a_machine(began_s: u64, ios: u64, scheduler: &str) -> Document {
    let mut result = result(began_s, ios, scheduler);
    result.surroundings = Some(Box::new(machine()));
    Document::read(bytes(&result)).unwrap()
}

fn machine() -> Surroundings {
    Surroundings {
        epoch: Some(1),
        machine: Some("m".into()),
        facts: vec![Fact::condition("processor governor", "powersave"), Fact::identity("serial", "S1")],
        serials: [("sda".to_owned(), "S1".to_owned())].into(),
        file_systems: [("/data".to_owned(), "77-88".to_owned())].into(),
        directory: Some("/home".into()),
    }
}

fn fresh() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made/plumb.db");
    (directory, path)
}

/// All rows of the derived tables as text.
fn dump(store: &Store) -> String {
    let mut text = String::new();
    for table in crate::schema::DERIVED_NAMES {
        let rows = store
            .ask(|db| {
                let mut statement = db.prepare(&format!("SELECT * FROM {table}"))?;
                let columns = statement.column_count();
                let rows = statement.query_map([], |row| {
                    let cells = (0..columns).map(|column| row.get::<_, rusqlite::types::Value>(column));
                    Ok(format!("{:?}\n", cells.collect::<rusqlite::Result<Vec<_>>>()?))
                })?;
                rows.collect::<rusqlite::Result<Vec<String>>>()
            })
            .unwrap();
        text.push_str(&format!("{table}\n{}", rows.concat()));
    }
    text
}

#[test]
fn a_result_is_given_back_byte_by_byte_and_kept_once() {
    let (_directory, path) = fresh();
    assert!(Store::to_read(&path).unwrap().is_none(), "reading makes nothing");
    assert!(!path.parent().unwrap().exists());
    let mut store = Store::to_write(&path).unwrap();
    let kept = store.add(&document(100, 1000, "none"), "2026-11-22").unwrap();
    assert_eq!((kept.id.as_str(), kept.known), ("2026-11-22-0001", false));
    let again = store.add(&document(100, 1000, "none"), "2026-11-22").unwrap();
    assert_eq!((again.id.as_str(), again.known), ("2026-11-22-0001", true));
    assert_eq!(store.export("last").unwrap(), bytes(&result(100, 1000, "none")));
    let read = Store::to_read(&path).unwrap().unwrap();
    assert_eq!(read.runs().unwrap().len(), 1);
    assert!(read.is_keeping().unwrap());
}

#[test]
fn a_word_stands_for_a_run() {
    let (_directory, path) = fresh();
    let mut store = Store::to_write(&path).unwrap();
    // The order is that of the runs, not that in which they were given.
    for (began, day) in [(300, "2026-11-23"), (100, "2026-11-21"), (200, "2026-11-22")] {
        store.add(&document(began, 1000, "none"), day).unwrap();
    }
    let found = |store: &Store, word: &str| store.find(word).unwrap();
    assert_eq!(found(&store, "last").as_deref(), Some("2026-11-23-0001"));
    assert_eq!(found(&store, "last~2").as_deref(), Some("2026-11-21-0001"));
    for word in ["last~3", "last~", "lasting", "2026-11-23-0002", "baseline", ""] {
        assert_eq!(found(&store, word), None, "{word}");
    }
    assert_eq!(store.name("last~2", "baseline").unwrap(), ("2026-11-21-0001".to_owned(), None));
    assert_eq!(found(&store, "baseline").as_deref(), Some("2026-11-21-0001"));
    let moved = store.name("2026-11-22-0001", "baseline").unwrap();
    assert_eq!(moved, ("2026-11-22-0001".to_owned(), Some("2026-11-21-0001".to_owned())));
    for word in ["last", "last~1", "2026-11-22-0001", "", "a/b", "-x", ".x", "a b"] {
        assert!(matches!(store.name("last", word), Err(StoreError::BadName { .. })), "{word}");
    }
    assert!(matches!(store.export("gone"), Err(StoreError::NoRun { .. })));
    assert!(store.unname("baseline").unwrap() && !store.unname("baseline").unwrap());
}

#[test]
fn a_changed_scheduler_is_one_series_and_one_changed_fact() {
    let (_directory, path) = fresh();
    let mut store = Store::to_write(&path).unwrap();
    store.add(&document(100, 1000, "none"), "2026-11-22").unwrap();
    store.add(&document(200, 1010, "mq-deadline"), "2026-11-22").unwrap();
    let series = store.series().unwrap();
    assert_eq!(series.len(), 1, "{series:?}");
    assert_eq!(
        (series[0].label.as_str(), series[0].device.as_str(), series[0].path.as_str(), series[0].runs),
        ("sequential reads 8k, 1 user", "TEST DISK, ext4", "/data/work.dat", 2)
    );
    let points = store.points(&series[0], 10).unwrap();
    assert_eq!(points.iter().map(|point| point.value("iops").unwrap()).collect::<Vec<_>>(), [1000.0, 1010.0]);
    assert!(points[0].value("p99_ns").unwrap() > points[0].value("p50_ns").unwrap());
    let facts: Vec<_> = points.iter().map(|point| store.facts(point).unwrap()).collect();
    let found = changes(&facts[0], &facts[1]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].key.as_str(), found[0].after.as_deref()), ("scheduler", Some("mq-deadline")));
    assert_eq!(store.points(&series[0], 1).unwrap()[0].run, "2026-11-22-0002");
}

#[test]
fn another_epoch_machine_device_or_block_size_is_another_series() {
    let (_directory, path) = fresh();
    let mut store = Store::to_write(&path).unwrap();
    let mut add = |began: u64, change: &dyn Fn(&mut RunResult), host: &Surroundings| {
        let mut result = result(began, 1000, "none");
        result.surroundings = Some(Box::new(host.clone()));
        change(&mut result);
        store.add(&Document::read(bytes(&result)).unwrap(), "2026-11-22").unwrap();
        store.series().unwrap().len()
    };
    let here = Surroundings { epoch: Some(1), machine: Some("m".into()), ..Surroundings::default() };
    assert_eq!(add(1, &|_| {}, &here), 1);
    assert_eq!(add(2, &|result| result.environment.kernel.push('x'), &here), 1, "a condition");
    assert_eq!(add(3, &|result| result.monitored.as_mut().unwrap().devices[0].name = "sdb".into(), &here), 1, "a name");
    assert_eq!(add(4, &|_| {}, &Surroundings { epoch: Some(2), ..here.clone() }), 2);
    assert_eq!(add(5, &|_| {}, &Surroundings { machine: Some("n".into()), ..here.clone() }), 3);
    assert_eq!(add(6, &|result| result.jobs[0].echo.block_sizes.read = (4096, 4096), &here), 4);
    assert_eq!(add(7, &|result| result.jobs[0].echo.direct = true, &here), 5);
    let serials = [("sda".to_owned(), "S1".to_owned())].into();
    assert_eq!(add(8, &|_| {}, &Surroundings { serials, ..here.clone() }), 6);
    assert_eq!(
        add(9, &|result| result.jobs[0].workload.as_mut().unwrap().ramp = Nanos::from_secs(7), &here),
        6,
        "a ramp"
    );
}

#[test]
fn derived_tables_are_the_same_when_they_are_made_again() {
    let (_directory, path) = fresh();
    let mut store = Store::to_write(&path).unwrap();
    for number in 0..20 {
        let scheduler = if number % 3 == 0 { "none" } else { "bfq" };
        store.add(&on_a_machine(1000 - number, 900 + number, scheduler), "2026-11-22").unwrap();
    }
    store.forget("2026-11-22-0004").unwrap();
    store.forget("2026-11-22-0020").unwrap();
    let left = "SELECT count(DISTINCT run) FROM metric";
    assert_eq!(
        store.ask(|db| db.query_row(left, [], |row| row.get::<_, i64>(0))).unwrap(),
        18,
        "no numbers without a run"
    );
    let (series, last) = (store.series().unwrap().remove(0), "last".to_owned());
    store.decide(&series, &last, Decision::Accepted).unwrap();
    let before = dump(&store);
    assert!(before.len() > 4000, "{before}");
    assert_eq!(store.rebuild().unwrap().runs, 18);
    assert_eq!(dump(&store), before);
    let accepted = store.decisions(&series).unwrap();
    assert_eq!((accepted.len(), accepted[0].1), (1, Decision::Accepted), "decisions are not derived");
    // A number is not given again.
    assert_eq!(store.add(&document(5, 5, "none"), "2026-11-22").unwrap().id, "2026-11-22-0021");
    assert_eq!(store.check().unwrap().findings, [""; 0]);
}

#[test]
fn tables_of_another_version_are_remade_before_a_write() {
    let (_directory, path) = fresh();
    let mut store = Store::to_write(&path).unwrap();
    store.add(&document(1, 1, "none"), "2026-11-22").unwrap();
    let before = dump(&store);
    store.ask(|db| db.execute_batch("DROP TABLE metric; UPDATE setting SET value = 0 WHERE key = 'derived'")).unwrap();
    drop(store);
    assert!(matches!(Store::to_read(&path), Err(StoreError::OtherTables { .. })));
    assert_eq!(dump(&Store::to_write(&path).unwrap()), before);
}

#[test]
fn a_newer_store_is_read_and_not_written() {
    let (_directory, path) = fresh();
    let mut store = Store::to_write(&path).unwrap();
    store.add(&document(1, 1, "none"), "2026-11-22").unwrap();
    store.ask(|db| db.pragma_update(None, "user_version", FORMAT + 1)).unwrap();
    drop(store);
    let refused = Store::to_write(&path);
    assert!(matches!(refused, Err(StoreError::Newer(_, found, FORMAT)) if found == FORMAT + 1));
    assert_eq!(Store::to_read(&path).unwrap().unwrap().runs().unwrap().len(), 1);
}

#[test]
fn other_files_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("thesis.txt");
    std::fs::write(&text, "mine, and longer than the sixteen bytes of SQLite's own mark".repeat(20)).unwrap();
    let foreign = directory.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE mine(a)").unwrap();
    let earlier = directory.path().join("earlier.db");
    Store::to_write(&earlier).unwrap().ask(|db| db.pragma_update(None, "user_version", FORMAT - 1)).unwrap();
    for path in [&text, &foreign, &earlier, &directory.path().to_owned()] {
        let before = std::fs::read(path).ok();
        assert!(matches!(Store::to_write(path), Err(StoreError::NotAStore { .. })), "{}", path.display());
        assert!(Store::to_read(path).is_err(), "{}", path.display());
        assert_eq!(std::fs::read(path).ok(), before);
    }
}

#[test]
fn a_damaged_result_is_named_and_the_others_are_rebuilt() {
    let (_directory, path) = fresh();
    let mut store = Store::to_write(&path).unwrap();
    store.add(&document(1, 1, "none"), "2026-11-22").unwrap();
    store.add(&document(2, 2, "none"), "2026-11-22").unwrap();
    store.ask(|db| db.execute("UPDATE run SET result = x'00' WHERE number = 1", [])).unwrap();
    assert!(matches!(store.export("2026-11-22-0001"), Err(StoreError::Damaged { .. })));
    assert_eq!(store.check().unwrap().findings.len(), 1);
    let rebuilt = store.rebuild().unwrap();
    assert_eq!((rebuilt.runs, rebuilt.unreadable[0].0.as_str()), (1, "2026-11-22-0001"));
}

#[test]
fn what_is_not_a_result_is_refused_with_the_reason() {
    for text in
        ["", "{}", "[1]", "{\"schema\":1}", "{\"schema\":1,\"tests\":[]}", "\u{1}", "{\"schema\":99,\"result\":{}}"]
    {
        let refused = Document::read(text.as_bytes().to_vec());
        assert!(matches!(refused, Err(StoreError::NotAResult { .. })), "{text:?}");
    }
    assert!(Document::read(vec![0xff, 0xfe]).is_err());
    let idle = result(1, 0, "none");
    assert!(Document::read(bytes(&idle)).unwrap_err().to_string().contains("no I/O"));
}

#[test]
fn two_writers_keep_all_their_runs() {
    let (_directory, path) = fresh();
    let writer = |offset: u64| {
        let path = path.clone();
        std::thread::spawn(move || {
            for number in 0..25 {
                let mut store = Store::to_write(&path).unwrap();
                store.add(&document(offset + number, 1000, "none"), "2026-11-22").unwrap();
            }
        })
    };
    let writers = [writer(0), writer(1000)];
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let store = Store::to_read(&path).unwrap().unwrap();
    let mut ids: Vec<String> = store.runs().unwrap().into_iter().map(|run| run.id).collect();
    ids.sort();
    let expected: Vec<String> = (1..=50).map(|number| format!("2026-11-22-{number:04}")).collect();
    assert_eq!(ids, expected);
    assert_eq!(store.check().unwrap().findings, [""; 0]);
}
