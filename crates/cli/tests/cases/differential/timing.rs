//! Cases about when I/O happens: least rates, latency limits, steady state, flows, hooks, rights, triggers.

use super::case::Case;

/// Rates that must be met, latencies that must be kept, numbers that settle.
pub(super) fn limits() -> Vec<Case> {
    const NULL: &str = "--ioengine=null --size=1g --time_based";
    let null = |name, words: &str| Case::report(name, &format!("{NULL} --name=a {words}"));
    vec![
        null("a_rate_min_that_is_not_met", "--rate=200k --rate_min=190k --thinktime=200ms --runtime=6")
            .ends(1)
            .free_amounts()
            .free_depths()
            .sampled(),
        null("a_rate_iops_min_that_is_not_met", "--rate_iops=100 --rate_iops_min=90 --thinktime=200ms --runtime=6")
            .ends(1)
            .free_amounts()
            .free_depths()
            .sampled(),
        null("a_rate_min_that_is_met", "--rate_iops=500 --rate_iops_min=400 --rate_cycle=500 --runtime=3")
            .rate(500.0, 500.0 * 4096.0),
        Case::refused("a_rate_min_above_the_rate", &format!("{NULL} --name=a --rate=1m --rate_min=2m --runtime=1")),
        Case::report("an_io_slower_than_max_latency", "--name=a --size=1m --direct=1 --max_latency=1 --rw=read")
            .ends(1)
            // fio counts an empty call to reap on its way out; there is none.
            .free_depths()
            .free_amounts(),
        Case::status(
            "a_latency_target_that_cannot_be_kept",
            "--name=a --size=1m --direct=1 --ioengine=libaio --iodepth=4 --latency_target=1 --latency_window=50ms",
        )
        .ends(1),
        Case::status(
            "a_latency_target_that_is_kept",
            &format!("{NULL} --name=a --iodepth=4 --latency_target=10s --latency_window=50ms --runtime=5"),
        ),
        null("steady_iops", "--rate_iops=500 --ss=iops:20% --ss_dur=2 --runtime=20").free_amounts().sampled(),
        null("steady_bandwidth_slope", "--rate_iops=500 --ss=bw_slope:20% --ss_dur=2 --ss_ramp=1 --runtime=20")
            .free_amounts()
            .sampled(),
        null("not_steady", "--rate_iops=500 --ss=iops:0.000001 --ss_dur=2 --runtime=4").free_amounts().sampled(),
        null("a_window_that_is_not_full", "--rate_iops=500 --ss=iops:0.000001 --ss_dur=6 --runtime=3")
            .free_amounts()
            .sampled(),
        null("a_steady_state_whose_ramp_is_not_over", "--rate_iops=500 --ss=bw:1m --ss_dur=3 --ss_ramp=9 --runtime=1")
            .free_amounts(),
        Case::refused("steady_without_a_limit", "--name=a --ioengine=null --size=1m --ss=iops"),
        Case::refused("steady_by_an_unknown_word", "--name=a --ioengine=null --size=1m --ss=foo:5%"),
        Case::refused(
            "steady_by_different_limits_in_a_group",
            "--ioengine=null --size=1m --ss_dur=4 --name=a --ss=iops:5% --name=b --ss=iops:6%",
        ),
        Case::refused(
            "lat_percentiles_that_differ_in_a_group",
            "--ioengine=null --size=1m --group_reporting --name=a --lat_percentiles=1 --name=b --lat_percentiles=0",
        ),
        Case::report(
            "lat_percentiles_that_differ_side_by_side",
            "--ioengine=null --size=1m --name=a --lat_percentiles=1 --name=b --lat_percentiles=0",
        ),
    ]
}

/// Think time, overlaps, flows, and who runs a worker.
pub(super) fn turns() -> Vec<Case> {
    const NULL: &str = "--ioengine=null --size=1m";
    let null = |name, words: &str| Case::report(name, &format!("{NULL} --name=a {words}"));
    vec![
        null("thinktime_by_issued_blocks", "--thinktime=1ms --thinktime_blocks=64 --thinktime_blocks_type=issue"),
        null("thinktime_by_time", "--thinktime=100ms --thinktime_iotime=1 --runtime=1"),
        Case::refused("thinktime_blocks_of_no_type", &format!("{NULL} --name=a --thinktime_blocks_type=foo")),
        Case::report(
            "serialized_overlap",
            "--name=a --size=256k --rw=randwrite --norandommap --iodepth=8 --ioengine=libaio --serialize_overlap=1",
        )
        .free_depths(),
        null("alone_in_a_flow", "--flow=10 --flow_id=3 --flow_sleep=10"),
        null("a_clock_by_call", "--clocksource=clock_gettime"),
        Case::refused("an_unknown_clock", &format!("{NULL} --name=a --clocksource=foo")),
        null("as_another_user", "--uid=65534 --gid=65534"),
        null("memory_of_the_own_node", "--numa_mem_policy=local"),
        Case::refused("an_unknown_memory_policy", &format!("{NULL} --name=a --numa_mem_policy=foo")),
        Case::refused("a_cgroup_weight_that_is_too_small", &format!("{NULL} --name=a --cgroup=x --cgroup_weight=50")),
        null("a_mask_of_cpus", "--cpumask=1"),
        // Text only: the oracle's JSON has an empty job in group 4294967295 in its place.
        Case::own_format("a_job_that_is_not_shown", &format!("{NULL} --name=a --stats=0 --name=b")),
        Case::report("commands_before_and_after", &format!("{NULL} --name=a"))
            .word("--exec_prerun=echo before")
            .word("--exec_postrun=echo after")
            .same_contents(),
        Case::refused("a_trigger_elsewhere", &format!("{NULL} --trigger-remote=x --nosuch --name=a")),
        Case::report("idle_cpus", &format!("--idle-prof=system {NULL} --name=a")),
        Case::report("idle_cpus_one_by_one", &format!("--idle-prof=percpu {NULL} --name=a")),
        Case::status("idle_cpus_calibrated", "--idle-prof=calibrate"),
        Case::refused("idle_cpus_by_an_unknown_word", &format!("--idle-prof=foo {NULL} --name=a")),
        Case::report(
            "exitall_of_everything",
            "--ioengine=null --size=1g --time_based --rate_iops=200 --name=a --exitall --exit_what=all --runtime=1 \
             --name=b --new_group --runtime=20 --name=c --stonewall --runtime=20",
        )
        .free_amounts(),
    ]
}
