//! Plans of trials: jobs, rates, depths and added options.

use super::*;
use crate::job_plans::{Layout, TargetKind};
use crate::no_files::NoFiles;
use plan::{Capabilities, EngineSpec, Mix, Submission, Work};
use std::path::Path;

const ENGINES: &[EngineSpec] = &[EngineSpec {
    name: "libaio",
    help: "",
    capabilities: Capabilities { needs_files: true, ..Capabilities::new(Submission::Asynchronous, Work::Data) },
    options: &[],
}];

const SURROUNDINGS: Surroundings<'_> =
    Surroundings { environment: &|_| None, files: &NoFiles, page_size: 4096, memory_mib: 1024, cpus: 2 };

fn load(read_percent: u32) -> OpenLoad {
    OpenLoad {
        block: 4096,
        read_percent,
        arrivals: Arrivals::Poisson,
        engine: "libaio".to_owned(),
        added: Vec::new(),
        seed: 1,
        limit: Nanos::from_millis(2),
    }
}

fn planned(load: &OpenLoad, sending: Sending, number: u64) -> Result<(Plan, f64), String> {
    let target = SurveyTarget {
        paths: vec!["/data/a:b".into()],
        size: 1 << 30,
        access: Access::Direct,
        kind: TargetKind::WorkFile,
        layout: Layout::Shared,
        direct_multiple: 512,
        zone: None,
    };
    let time = TestTime { ramp: Nanos::from_millis(600), time: Nanos::from_millis(2400) };
    let run = OpenRun { sending, time, number };
    load.plan(&target, &run, &Parser::new(ENGINES), &SURROUNDINGS).map_err(|error| error.to_string())
}

#[test]
fn a_rate_becomes_a_job_per_direction_with_room_for_its_ios() {
    let (plan, rate) = planned(&load(70), Sending::Rate(60_000.6), 1).unwrap();
    let [reads, writes] = &plan.jobs[..] else { panic!("{} jobs", plan.jobs.len()) };
    assert_eq!(rate, 60_000.0);
    assert_eq!((reads.load.mix, writes.load.mix), (Mix::Only(Direction::Read), Mix::Only(Direction::Write)));
    assert_eq!((reads.pace.iops.read, writes.pace.iops.write), (Some(42_000), Some(18_000)));
    // Four times the 84 and the 36 I/Os of 2 ms.
    assert_eq!((reads.depth.depth, writes.depth.depth), (337, 145));
    for job in &plan.jobs {
        assert!(job.pace.poisson && job.files.direct && job.load.random && job.limits.time_based && job.clones == 1);
        assert_eq!(job.limits.ramp, Nanos::from_millis(600));
        assert_eq!(job.limits.runtime, Some(Nanos::from_millis(2400)));
        assert_eq!((job.files.names[0].as_path(), job.files.may_create), (Path::new("/data/a:b"), false));
    }
    let (plan, rate) = planned(&load(0), Sending::Rate(500_001.0), 1).unwrap();
    assert_eq!((plan.jobs.len(), plan.jobs[0].clones, rate), (1, 3, 500_001.0));
    let (plan, rate) = planned(&OpenLoad { arrivals: Arrivals::Even, ..load(100) }, Sending::Rate(10.0), 1).unwrap();
    assert_eq!((plan.jobs[0].pace.poisson, plan.jobs[0].depth.depth, rate), (false, 64, 10.0));
}

#[test]
fn one_io_at_a_time_is_one_job_without_a_rate() {
    for (reads, mix) in [(0, "randwrite"), (70, "randrw"), (100, "randread")] {
        let (plan, rate) = planned(&load(reads), Sending::Alone, 1).unwrap();
        assert_eq!((plan.jobs.len(), rate, plan.jobs[0].pace.has_rate()), (1, 0.0, false), "{mix}");
        assert_eq!((plan.jobs[0].depth.depth, u32::from(plan.jobs[0].load.read_percent)), (1, reads), "{mix}");
        assert!(plan.jobs[0].written.contains(&("rw".to_owned(), mix.to_owned())), "{mix}");
    }
}

#[test]
fn each_run_has_other_arrivals_and_a_seed_repeats_them() {
    let seed = |load: &OpenLoad, number| planned(load, Sending::Rate(100.0), number).unwrap().0.jobs[0].load.seed;
    let first = seed(&load(100), 1);
    assert!(first.is_some_and(|seed| seed < 1 << 53));
    assert_eq!(first, seed(&load(100), 1));
    assert_ne!(first, seed(&load(100), 2));
    assert_ne!(first, seed(&OpenLoad { seed: 7, ..load(100) }, 1));
}

#[test]
fn options_are_added_and_those_of_a_trial_are_refused() {
    assert_eq!(added_option("--hipri").unwrap(), ("hipri".to_owned(), "1".to_owned()));
    for text in ["rw=read", "--rate_iops=5", "", "=3"] {
        assert!(added_option(text).is_err(), "{text}");
    }
    let with = |text: &str| OpenLoad { added: vec![added_option(text).unwrap()], ..load(100) };
    let (plan, _) = planned(&with("description=run {run}"), Sending::Alone, 12).unwrap();
    assert_eq!(plan.jobs[0].description.as_deref(), Some("run 12"));
    assert!(planned(&with("no_such_option=1"), Sending::Alone, 1).unwrap_err().contains("no_such_option"));
    let odd = planned(&OpenLoad { block: 1000, ..load(100) }, Sending::Alone, 1).unwrap_err();
    assert_eq!(odd, "--bs=1000: O_DIRECT takes multiples of 512 bytes here");
}

#[test]
fn shares_of_directions_are_those_of_the_mix() {
    let mix = load(70);
    assert_eq!((mix.part(None), mix.part(Some(Direction::Read))), (1.0, 0.7));
    assert!((mix.part(Some(Direction::Write)) - 0.3).abs() < 1e-12);
    assert_eq!((load(100).part(Some(Direction::Write)), load(0).parts().count()), (0.0, 1));
}
