//! Words about verification: what follows from the load, and what is only doubted.

use crate::abilities::{job, plan_of};
use plan::{ContinueOnError, VerifyFormat, VerifyPlan, VerifyPolicy};

fn verify(words: &[&str]) -> VerifyPlan {
    job(&[&["--rw=write", "--verify=crc32c"], words].concat()).verify.expect("it verifies")
}

#[test]
fn by_default_everything_is_checked_at_the_end_with_a_state() {
    let plan = verify(&[]);
    assert_eq!((plan.check, plan.state_save, plan.backlog, plan.threads, plan.interval), (true, true, None, 0, None));
    assert_eq!((plan.policy, plan.format, plan.only), (VerifyPolicy::Completed, VerifyFormat::Fio3_42, false));
}

#[test]
fn an_interval_divides_every_size_or_gives_way_to_one_that_does() {
    let interval = |words: &[&str]| verify(words).interval;
    assert_eq!(interval(&["--bs=4k", "--verify_interval=1k"]), Some(1024));
    assert_eq!(interval(&["--bs=4k", "--verify_interval=1000"]), None);
    assert_eq!(interval(&["--bsrange=4k-12k"]), Some(4096));
    assert_eq!(interval(&["--bsrange=6k-18k", "--verify_interval=4k"]), Some(6144));
    assert_eq!(interval(&["--bssplit=8k/50:12k/50"]), Some(4096));
    assert_eq!(interval(&["--bsrange=1000-3000", "--bs_unaligned"]), None);
}

#[test]
fn numbers_and_seeds_are_checked_where_certain_or_asked_for() {
    let checks = |words: &[&str]| {
        let plan = verify(words);
        (plan.sequence, plan.seed)
    };
    let deep = ["--ioengine=libaio", "--iodepth=8", "--rw=randwrite", "--norandommap"];
    for (words, expected) in [
        (&[][..], (true, true)),
        (&["--rw=read"], (false, false)),
        (&["--rw=read", "--verify_header_seed=1", "--verify_write_sequence=1"], (false, true)),
        (&["--verify_backlog=8"], (true, false)),
        (&["--rw=randwrite", "--norandommap"], (true, false)),
        (&deep, (false, false)),
        (&["--io_size=2m"], (true, false)),
        (&["--bsrange=4k-8k"], (false, true)),
        (&["--verify_only"], (false, false)),
        (&["--verify_only", "--verify_header_seed=1", "--verify_write_sequence=1"], (true, true)),
        (&["--verify_header_seed=0", "--verify_write_sequence=0"], (false, false)),
    ] {
        assert_eq!(checks(words), expected, "{words:?}");
    }
}

#[test]
fn a_list_of_errors_switches_its_class_on() {
    let limits = job(&["--ignore_error=EIO,,84"]).limits;
    assert_eq!(limits.continue_on_error, ContinueOnError { read: true, write: false, verify: true });
    assert_eq!((limits.ignored.read, limits.ignored.verify), (vec![5], vec![84]));
    let fatal = job(&["--continue_on_error=all", "--verify_fatal=1", "--verify=md5"]).limits.continue_on_error;
    assert_eq!(fatal, ContinueOnError { read: true, write: true, verify: false });
}

#[test]
fn trims_take_a_share_of_what_is_verified() {
    let words = ["--ioengine=libaio", "--trim_percentage=20", "--trim_backlog=64", "--trim_backlog_batch=8"];
    let trim = verify(&words).trim.expect("it trims");
    assert_eq!((trim.percent, trim.backlog, trim.batch, trim.zero), (20, 64, Some(8), true));
}

#[test]
fn threads_policies_and_layouts_reach_the_plan() {
    let words =
        ["--verify_async=2", "--verify_async_cpus=1-2", "--verify_policy=fsynced", "--fsync=4", "--verify_format=3.33"];
    let plan = verify(&words);
    assert_eq!((plan.threads, plan.thread_cpus), (2, vec![1, 2]));
    assert_eq!((plan.policy, plan.format), (VerifyPolicy::Synced, VerifyFormat::Fio3_33));
}

#[test]
fn a_timed_job_that_will_never_verify_is_doubted() {
    let doubts = |words: &[&str]| {
        let all = [&["--name=x", "--ioengine=null", "--size=1m", "--rw=write", "--verify=md5"], words].concat();
        let invocation = crate::abilities::invoke(&all, &[]).expect("it runs");
        let warnings: Vec<String> = invocation.warnings.iter().map(ToString::to_string).collect();
        plan_of(Ok(invocation));
        warnings.join("\n")
    };
    assert!(doubts(&["--time_based", "--runtime=1"]).contains("nothing is verified; give verify_backlog"));
    assert_eq!(doubts(&["--time_based", "--runtime=1", "--verify_backlog=16"]), "");
    assert!(doubts(&["--verify_policy=fsynced"]).contains("nothing flushes"));
}
