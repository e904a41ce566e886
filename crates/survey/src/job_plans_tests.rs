//! Plans of tests: regions, options, and restrictions on sweeps.

use super::*;
use crate::no_files::NoFiles;
use crate::request::SurveyRequest;
use crate::suite::{Writes, suite};
use fio::Action;
use measure::Nanos;
use plan::{Capabilities, EngineSpec, Submission, SyncMode, Work};

const fn spec(name: &'static str, submission: Submission, work: Work) -> EngineSpec {
    let capabilities = Capabilities { needs_files: true, ..Capabilities::new(submission, work) };
    EngineSpec { name, help: "", capabilities, options: &[] }
}

const ENGINES: &[EngineSpec] = &[
    spec("psync", Submission::Synchronous, Work::Data),
    spec("libaio", Submission::Asynchronous, Work::Data),
    spec("filedelete", Submission::Synchronous, Work::Metadata),
    spec("falloc", Submission::Synchronous, Work::Allocation),
    spec("net", Submission::Synchronous, Work::Stream),
    spec("exec", Submission::Synchronous, Work::Background),
];

fn target(kind: TargetKind) -> SurveyTarget {
    SurveyTarget {
        paths: vec!["/data/w".into()],
        size: 1 << 30,
        access: Access::Direct,
        kind,
        layout: Layout::Shared,
        direct_multiple: 512,
        zone: None,
    }
}

const TIME: TestTime = TestTime { ramp: Nanos::ZERO, time: Nanos::SECOND };

const SURROUNDINGS: Surroundings<'_> =
    Surroundings { environment: &|_| None, files: &NoFiles, page_size: 4096, memory_mib: 1024, cpus: 2 };

fn planned(test: &SurveyTest, target: &SurveyTarget, engine: &str) -> Result<Plan, String> {
    test.plan(Setup { target, time: TIME, engine }, &Parser::new(ENGINES), &SURROUNDINGS)
        .map_err(|error| error.to_string())
}

fn all() -> Vec<SurveyTest> {
    let request = SurveyRequest { tests: TestKind::ALL.to_vec(), ..SurveyRequest::default() };
    suite(&request, Writes::Allowed).unwrap().tests
}

#[test]
fn every_test_has_a_plan_that_runs_for_its_time_with_its_users() {
    for test in all() {
        let plan = planned(&test, &target(TargetKind::WorkFile), "psync").unwrap();
        let job = &plan.jobs[0];
        assert_eq!(plan.jobs.len(), 1, "{}", test.describe());
        assert_eq!((job.clones, job.files.names.as_slice()), (test.users, &[PathBuf::from("/data/w")][..]));
        assert_eq!((job.limits.runtime, job.limits.time_based), (Some(Nanos::SECOND), true), "{}", test.describe());
        assert_eq!((job.load.seed, job.load.cover_all), (None, false), "{}", test.describe());
        assert!(job.files.direct && !job.files.may_create, "{}", test.describe());
        assert_eq!(job.load.random, test.kind.is_random());
        assert_eq!(job.load.largest(), test.block);
    }
}

#[test]
fn engines_that_do_not_move_the_data_of_the_target_are_refused() {
    for (engine, says) in
        [("filedelete", "removes names"), ("falloc", "space of files"), ("net", "a peer"), ("exec", "no I/O")]
    {
        for kind in [TargetKind::ForeignFile, TargetKind::Device, TargetKind::WorkFile] {
            let mut test = SurveyTest::at(TestKind::SequentialRead, 1 << 20, 1);
            let message = planned(&test, &target(kind), engine).unwrap_err();
            assert!(message.contains(engine) && message.contains(says), "{engine}: {message}");
            test.extras = vec![("ioengine".to_owned(), engine.to_owned())];
            let swept = planned(&test, &target(kind), "psync").unwrap_err();
            assert!(swept.contains(says), "{engine}: {swept}");
        }
    }
}

#[test]
fn sequential_users_never_share_a_block() {
    for test in all().into_iter().filter(|test| !test.kind.is_random()) {
        let plan = planned(&test, &target(TargetKind::WorkFile), "psync").unwrap();
        let files = &plan.jobs[0].files;
        let (Some(Extent::Bytes(part)), Extent::Bytes(step)) = (files.size, files.offset_increment) else {
            panic!("sizes are in bytes");
        };
        assert_eq!(part, step, "{}", test.describe());
        assert!(part * u64::from(test.users) <= 1 << 30 && part > 0, "{}", test.describe());
        assert_eq!(part % u64::from(test.block), 0, "{}", test.describe());
    }
}

#[test]
fn log_writes_wait_for_stable_storage() {
    let plan = planned(&SurveyTest::at(TestKind::LogWrite, 8192, 4), &target(TargetKind::WorkFile), "psync").unwrap();
    assert_eq!(plan.jobs[0].files.sync, SyncMode::DataSync);
}

#[test]
fn small_log_writes_go_through_the_cache_where_they_must() {
    let large = SurveyTarget { direct_multiple: 4096, ..target(TargetKind::WorkFile) };
    let small = SurveyTest::at(TestKind::LogWrite, 1024, 1);
    assert!(!planned(&small, &large, "psync").unwrap().jobs[0].files.direct);
    let refused = planned(&SurveyTest::at(TestKind::RandomRead, 512, 1), &large, "psync").unwrap_err();
    assert!(refused.contains("multiples of 4096"), "{refused}");
}

#[test]
fn several_devices_are_used_alike_by_all_users() {
    let two = SurveyTarget { paths: vec!["/dev/a".into(), "/dev/b".into()], ..target(TargetKind::Device) };
    let plan = planned(&SurveyTest::at(TestKind::SequentialRead, 1 << 20, 8), &two, "psync").unwrap();
    let files = &plan.jobs[0].files;
    assert_eq!(files.names.len(), 2);
    // The size is that of both files, the offset increment applies within each of them.
    assert_eq!((files.size, files.offset_increment), (Some(Extent::Bytes(256 << 20)), Extent::Bytes(128 << 20)));
}

#[test]
fn each_user_has_a_separate_file_on_request() {
    let paths: Vec<PathBuf> = (1..=8).map(|number| format!("/data/w.{number}").into()).collect();
    let own = SurveyTarget { paths: paths.clone(), layout: Layout::PerUser, ..target(TargetKind::WorkFile) };
    let plan = planned(&SurveyTest::at(TestKind::SequentialRead, 1 << 20, 4), &own, "psync").unwrap();
    let names: Vec<_> = plan.jobs.iter().flat_map(|job| job.files.names.clone()).collect();
    assert_eq!(names, paths[..4]);
    assert!(plan.jobs.iter().all(|job| job.clones == 1 && job.files.offset_increment == Extent::Bytes(0)));
    let fill = fill_plan(&own);
    assert_eq!((fill.jobs[0].files.names.len(), fill.jobs[0].files.size), (8, Some(Extent::Bytes(8 << 30))));
}

#[test]
fn a_target_that_is_too_small_is_refused_with_a_size_that_fits() {
    let small = SurveyTarget { size: 16 << 20, ..target(TargetKind::WorkFile) };
    let refused = planned(&SurveyTest::at(TestKind::SequentialRead, 1 << 20, 64), &small, "psync").unwrap_err();
    assert!(refused.contains("--size of 64M"), "{refused}");
    let set = SurveyTest { set: Some(32 << 20), ..SurveyTest::at(TestKind::RandomRead, 8192, 1) };
    assert!(planned(&set, &small, "psync").unwrap_err().contains("only 16M"));
    assert_eq!(
        planned(&set, &target(TargetKind::WorkFile), "psync").unwrap().jobs[0].files.size,
        Some(Extent::Bytes(32 << 20))
    );
}

#[test]
fn any_option_of_fio_can_be_swept_and_a_wrong_one_is_reported() {
    let with = |name: &str, value: &str| SurveyTest {
        extras: vec![(name.to_owned(), value.to_owned())],
        ..SurveyTest::at(TestKind::RandomRead, 8192, 1)
    };
    let aio = planned(&with("iodepth", "16"), &target(TargetKind::WorkFile), "libaio").unwrap();
    assert_eq!(aio.jobs[0].depth.depth, 16);
    let zipf = planned(&with("random_distribution", "zipf:1.2"), &target(TargetKind::WorkFile), "psync").unwrap();
    assert!(matches!(zipf.jobs[0].load.distribution, plan::Distribution::Zipf(..)));
    for (name, value, says) in [
        ("iodepth", "16", "keeps 1 I/O in flight"),
        ("iodepht", "16", "1 user, iodepht=16: there is no option `iodepht`"),
        ("ioengine", "nothing", "nothing"),
        ("percentage_random", "many", "many"),
    ] {
        let refused = planned(&with(name, value), &target(TargetKind::WorkFile), "psync").unwrap_err();
        assert!(refused.contains(says) && !refused.contains("command line"), "{name}={value}\n{refused}");
    }
}

#[test]
fn the_options_of_a_test_repeat_its_plan_in_fio() {
    for shared in [Layout::Shared, Layout::PerUser] {
        let paths = vec!["/data/w.1".into(), "/data/w.2".into()];
        let target = SurveyTarget { paths, layout: shared, ..target(TargetKind::WorkFile) };
        for mut test in all() {
            test.extras = vec![("thinktime".to_owned(), "5ms".to_owned())];
            let plan = planned(&test, &target, "psync").unwrap();
            let mut line = vec![format!("--name={}", test.kind.id()), "--filename=x".to_owned()];
            line.extend(
                test.options(Setup { target: &target, time: TIME, engine: "psync" })
                    .iter()
                    .map(|(name, value)| format!("--{name}={value}")),
            );
            let invocation = Parser::new(ENGINES).command_line(&line, &SURROUNDINGS).unwrap();
            let Action::Run(read) = invocation.action else { panic!("nothing to run") };
            let (ours, theirs) = (&plan.jobs[0], &read.jobs[0]);
            let facts = |job: &JobPlan| {
                let files = FilePlan { names: Vec::new(), ..job.files.clone() };
                let written = job.written.iter().filter(|(name, _)| name != "filename").cloned().collect::<Vec<_>>();
                format!("{} {files:?} {:?} {:?} {:?} {written:?}", job.clones, job.load, job.limits, job.pace)
            };
            assert_eq!(facts(ours), facts(theirs), "{}", test.describe());
        }
    }
}

#[test]
fn a_measurement_is_that_of_the_options_that_it_states() {
    let path = Path::new("/x/a:b");
    for (users, time, way) in
        [(1, None, ReadWay::Cold), (1, Some(300), ReadWay::Cached), (8, Some(1000), ReadWay::Device)]
    {
        let reads = CostReads { name: "a".to_owned(), block: 4096, users, time, way };
        let own = reads.plan(path, 1 << 20).jobs.remove(0);
        let words: Vec<String> = own.written.iter().map(|(name, value)| format!("--{name}={value}")).collect();
        let parsed = fio::Parser::new(engine::ENGINES)
            .command_line(&words, &SURROUNDINGS)
            .unwrap_or_else(|error| panic!("{error}"));
        let fio::Action::Run(mut plan) = parsed.action else { panic!("{words:?} is not a run") };
        let theirs = JobPlan { origin: own.origin.clone(), written: own.written.clone(), ..plan.jobs.remove(0) };
        assert_eq!(format!("{own:?}"), format!("{theirs:?}"));
    }
}

#[test]
fn a_zoned_device_is_written_and_read_by_zones() {
    let zoned = SurveyTarget { size: 256 << 20, zone: Some(4 << 20), ..target(TargetKind::Device) };
    let job = |kind| planned(&SurveyTest::at(kind, 65536, 16), &zoned, "psync").unwrap().jobs.remove(0);
    for (kind, size, step) in [
        (TestKind::SequentialWrite, 256 << 20, 0),
        (TestKind::RandomRead, 256 << 20, 0),
        (TestKind::SequentialRead, 16 << 20, 16 << 20),
    ] {
        let job = job(kind);
        assert_eq!(job.load.zones, ZonePlan::Zoned(Zoned::default()), "{kind:?}");
        let found = (job.files.size, job.files.offset_increment);
        assert_eq!(found, (Some(Extent::Bytes(size)), Extent::Bytes(step)), "{kind:?}");
        assert!(job.written.contains(&("zonemode".to_owned(), "zbd".to_owned())), "{kind:?}");
    }
    let large = SurveyTarget { direct_multiple: 4096, access: Access::Direct, ..zoned.clone() };
    let error = planned(&SurveyTest::at(TestKind::LogWrite, 1024, 1), &large, "psync").unwrap_err().to_string();
    assert!(error.contains("O_DIRECT takes multiples of 4096 bytes here; leave the size out"), "{error}");
    let plain = SurveyTarget { zone: None, ..zoned };
    let job = planned(&SurveyTest::at(TestKind::RandomRead, 65536, 1), &plain, "psync").unwrap().jobs.remove(0);
    assert_eq!(job.load.zones, ZonePlan::None);
}
