//! Options about time: what they mean together, and what is refused.

use crate::abilities::{invoke, job, plan};
use fio::{Action, IdleProfile};
use measure::{BytesPerSecond, Nanos};
use plan::{ClockChoice, ExitScope, MemoryPolicy, SteadyCriterion, SteadyMeasure, ThinkCount};

fn refusal(words: &[&str]) -> String {
    let all = [&["--name=x", "--ioengine=null", "--size=1m"], words].concat();
    invoke(&all, &[]).expect_err("refused").to_string()
}

#[test]
fn rates_that_must_be_met() {
    let found = job(&["--rate_min=1m,2m", "--rate_iops_min=5", "--ratecycle=250"]).pace;
    assert_eq!(found.least_rate.read, Some(BytesPerSecond(1 << 20)));
    assert_eq!(
        (found.least_rate.write, found.least_rate.trim),
        (Some(BytesPerSecond(2 << 20)), Some(BytesPerSecond(2 << 20)))
    );
    assert_eq!((found.least_iops.read, found.rate_cycle), (Some(5), Nanos::from_millis(250)));
    assert!(refusal(&["--rate=1m", "--rate_min=2m"]).contains("minimum rate exceeds rate"));
    assert!(refusal(&["--rate_iops=10", "--rate_iops_min=11"]).contains("rate_iops_min is above rate_iops"));
}

#[test]
fn time_of_io_replaces_the_default_number_of_blocks() {
    let by_time = job(&["--thinktime=1", "--thinktime_iotime=9"]).pace;
    assert_eq!((by_time.think_io_time, by_time.think_blocks), (Nanos::from_secs(9), u64::MAX));
    let by_both = job(&["--thinktime=1", "--thinktime_iotime=9", "--thinktime_blocks=3"]).pace;
    assert_eq!(by_both.think_blocks, 3);
    assert_eq!(job(&["--thinktime_blocks_type=issue"]).pace.think_counts, ThinkCount::Issued);
}

#[test]
fn latencies_to_keep_are_in_microseconds() {
    let found =
        job(&["--max_latency=10,2ms", "--latency_target=500", "--latency_window=2s", "--latency_percentile=99.5"]);
    let latency = found.latency;
    assert_eq!((latency.most.read, latency.most.write), (Some(Nanos::from_micros(10)), Some(Nanos::from_millis(2))));
    assert_eq!((latency.most.trim, latency.target), (Some(Nanos::from_millis(2)), Some(Nanos::from_micros(500))));
    assert_eq!((latency.window, latency.percentile), (Nanos::from_secs(2), 99.5));
    assert!(refusal(&["--latency_percentile=101"]).contains("101"));
    assert!(refusal(&["--max_latency=1,2,3,4"]).contains("three"));
}

#[test]
fn what_must_settle_is_read_with_its_limit() {
    let found = job(&["--ss=lat_slope:0.5%", "--ss_dur=30", "--ss_ramp=5", "--ss_interval=2"]).steady.expect("steady");
    assert_eq!((found.measure, found.criterion), (SteadyMeasure::Latency, SteadyCriterion::Slope));
    assert_eq!((found.limit, found.relative, found.intervals()), (0.5, true, 15));
    assert_eq!(found.words(), "lat_slope:0.500000%");
    assert_eq!(job(&["--ss=iops:5%"]).steady, None, "without a duration it is off");
    for (wrong, hint) in [
        (&["--ss=iops"][..], "no limit"),
        (&["--ss=foo:1"], "iops_slope"),
        (&["--ss=iops:x%"], "not a number"),
        (&["--ss=iops:1%", "--ss_dur=5", "--ss_interval=2"], "not a multiple"),
        (&["--ss=iops:1%", "--ss_dur=2h"], "4096 is the most"),
        (&["--ss_interval=0"], "second"),
    ] {
        let said = refusal(wrong);
        assert!(said.contains(hint), "{wrong:?}: {said}");
    }
}

// All jobs of a group must have the same settings.
#[test]
fn jobs_of_a_group_settle_alike() {
    let all = ["--ioengine=null", "--size=1m", "--ss_dur=4", "--name=a", "--ss=iops:5%", "--name=b", "--ss=iops:6%"];
    let said = invoke(&all, &[]).expect_err("refused").to_string();
    assert!(said.contains("steadystate options differ"), "{said}");
    assert_eq!(plan(&[&all[..], &["--new_group"]].concat()).jobs.len(), 2);
}

#[test]
fn who_runs_a_job_and_where() {
    let found = job(&["--comm=x1", "--uid=1", "--gid=2", "--priohint=3", "--numa_cpu_nodes=0-1", "--clocksource=cpu"]);
    let place = found.place;
    assert_eq!((place.name.as_deref(), place.user, place.group), (Some("x1"), Some(1), Some(2)));
    assert_eq!((place.io_hint, place.io_priority), (3, Some((2, 0))));
    assert_eq!((place.nodes, place.clock), (vec![0, 1], Some(ClockChoice::Counter)));
    assert_eq!(job(&["--numa_mem_policy=prefer:1"]).place.memory, Some(MemoryPolicy::Prefer(1)));
    assert_eq!(job(&["--numa_mem_policy=interleave:0,2"]).place.memory, Some(MemoryPolicy::Interleave(vec![0, 2])));
    assert!(refusal(&["--numa_mem_policy=prefer:0-1"]).contains("one"));
    let group = job(&["--cgroup=/a/b", "--cgroup_weight=500", "--cgroup_nodelete=1"]).place.cgroup.expect("a group");
    assert_eq!((group.name.as_str(), group.weight, group.keep), ("a/b", Some(500), true));
    assert!(refusal(&["--cgroup=../out"]).contains("hierarchy"));
    assert!(refusal(&["--gtod_cpu=1"]).contains("gtod_cpu"));
}

#[test]
fn how_a_job_starts_and_ends() {
    let found =
        job(&["--exec_prerun=true", "--exec_postrun=date", "--job_start_clock_id=1", "--exit_what=all", "--stats=0"]);
    assert_eq!((found.start.before.as_deref(), found.start.after.as_deref()), (Some("true"), Some("date")));
    assert_eq!((found.start.clock_id, found.limits.exit_scope, found.record.shown), (Some(1), ExitScope::All, false));
    assert_eq!(job(&["--ramp_size=1m"]).limits.ramp_bytes, 1 << 20);
    assert!(refusal(&["--ramp_size=1m", "--ramp_time=1"]).contains("exclude each other"));
    assert!(!job(&["--serialize_overlap=1"]).depth.serialises_overlap, "one in flight overlaps with nothing");
    assert!(job(&["--serialize_overlap=1", "--ioengine=libaio", "--iodepth=4"]).depth.serialises_overlap);
    let flow = job(&["--flow=8", "--flow_id=2", "--flow_sleep=100"]).pace.flow.expect("a flow");
    assert_eq!((flow.id, flow.weight, flow.pause), (2, 8, Nanos::from_micros(100)));
    assert!(refusal(&["--flow=1001"]).contains("1000"));
}

#[test]
fn triggers_and_idle_cpus_are_of_the_command() {
    let words =
        ["--trigger-file=t", "--trigger-timeout=5", "--trigger=date", "--idle-prof=percpu", "--name=x", "--size=1m"];
    let found = invoke(&words, &[]).expect("read");
    assert_eq!((found.trigger.timeout, found.idle), (Some(Nanos::from_secs(5)), Some(IdleProfile::PerCpu)));
    assert_eq!(found.trigger.command.as_deref(), Some("date"));
    assert!(matches!(invoke(&["--idle-prof=calibrate"], &[]).expect("read").action, Action::CalibrateIdle));
    assert!(invoke(&["--trigger-remote=x", "--name=x", "--size=1m"], &[]).is_err());
}
