//! The command line as fio takes it.

use crate::abilities::{file_plan, invoke, job, plan, plan_of, titles};
use fio::{Action, EtaWhen, TerseVersion};
use measure::{Direction, Nanos};
use plan::{Mix, SyncMode};
use std::path::PathBuf;

#[test]
fn dashes_a_separate_value_and_an_abbreviation_are_the_same() {
    for words in [["--bs=8k", "--numjobs=4"], ["-bs=8k", "-numjobs=4"], ["--bs=8k", "-numj=4"]] {
        let job = job(&words);
        assert_eq!((job.load.block_size.read.smallest(), job.clones), (8192, 4), "{words:?}");
    }
    assert_eq!(job(&["--iodepth", "4", "--rw", "write"]).depth.depth, 4);
}

#[test]
fn every_name_opens_a_job_and_what_comes_before_holds_for_all() {
    let plan = plan(&["--ioengine=null", "--size=1m", "--name=a", "--bs=8k", "--name=b", "--rw=write"]);
    let names: Vec<&str> = plan.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(plan.jobs[0].load.block_size.read.smallest(), 8192);
    assert_eq!(plan.jobs[1].load.block_size.read.smallest(), 4096);
    assert_eq!(plan.jobs[1].load.mix, Mix::Only(Direction::Write));
    assert_eq!(plan.global_options, [("ioengine".into(), "null".into()), ("size".into(), "1m".into())]);
}

#[test]
fn name_global_goes_back_to_the_defaults_for_what_follows() {
    let words = ["--name=a", "--ioengine=null", "--size=2m", "--name=global", "--bs=512", "--size=2m"];
    let plan = plan(&[&words[..], &["--name=r", "--ioengine=null"]].concat());
    assert_eq!(plan.jobs[0].load.block_size.read.smallest(), 4096);
    assert_eq!(plan.jobs[1].load.block_size.read.smallest(), 512);
}

#[test]
fn a_word_after_the_job_file_is_of_the_last_job() {
    let words = ["--size=2m", "--ioengine=null", "--name=q", "--bs=512", "e.fio", "--bs=1k"];
    let plan = plan_of(invoke(&words, &[("e.fio", "[a]\nbs=16k\n")]));
    let sizes: Vec<u32> = plan.jobs.iter().map(|job| job.load.block_size.read.smallest()).collect();
    assert_eq!(sizes, [1024, 16384]);
}

#[test]
fn defaults_of_the_command_line_end_with_the_first_job_file() {
    let files = [("1.fio", "[a]\n"), ("2.fio", "[b]\nioengine=null\nsize=1m\n")];
    let plan = plan_of(invoke(&["--size=2m", "--ioengine=null", "--bs=8k", "1.fio", "2.fio"], &files));
    assert_eq!(plan.jobs[0].load.block_size.read.smallest(), 8192);
    assert_eq!(plan.jobs[1].load.block_size.read.smallest(), 4096);
}

#[test]
fn each_later_job_file_waits_and_opens_a_group() {
    let text = "[a]\nioengine=null\nsize=1m\n[b]\nioengine=null\nsize=1m\n";
    let plan = plan_of(invoke(&["1.fio", "2.fio"], &[("1.fio", text), ("2.fio", text)]));
    let groups: Vec<(u32, bool)> = plan.jobs.iter().map(|job| (job.group, job.start.stonewall)).collect();
    assert_eq!(groups, [(0, false), (0, false), (1, true), (1, false)]);
}

#[test]
fn an_engine_option_is_known_after_its_engine() {
    let words = ["--name=x", "--filename=f", "--size=1m", "--ioengine=libaio", "--userspace_reap", "--nowait=1"];
    let libaio = &plan(&words).jobs[0];
    assert!(libaio.engine_options.is_on("userspace_reap"));
    assert!(libaio.engine_options.is_on("nowait"));
    let from_global = plan(&["--ioengine=libaio", "--name=x", "--size=1m", "--userspace_reap"]);
    assert!(from_global.jobs[0].engine_options.is_on("userspace_reap"));
    let early = titles(&["--name=x", "--size=1m", "--userspace_reap", "--ioengine=libaio"], &[]);
    assert_eq!(
        early,
        ["command line: there is no option `userspace_reap`; it belongs to the engine libaio; give --ioengine=libaio \
          before it"]
    );
}

#[test]
fn a_lone_job_named_like_a_device_works_on_it() {
    assert_eq!(plan(&["--name=/dev/sdz"]).jobs[0].files.names, [PathBuf::from("/dev/sdz")]);
    assert_eq!(plan(&["--name=/dev/sdz", "--filename=f"]).jobs[0].files.names, [PathBuf::from("f")]);
    assert!(plan(&["--name=/dev/sdz", "--name=b"]).jobs[0].files.names.is_empty());
    assert!(plan(&["--name=plain"]).jobs[0].files.names.is_empty());
}

#[test]
fn output_and_status_line_are_read() {
    let words = ["--name=x", "--ioengine=null", "--size=1m", "--output=out.txt", "--output-format=normal,json"];
    let more = ["--eta=never", "--eta-newline=2", "--eta-interval=500ms", "--readonly", "--max-jobs=64"];
    let invocation = invoke(&[&words[..], &more].concat(), &[]).expect("a run");
    assert_eq!(invocation.output.file, Some(PathBuf::from("out.txt")));
    assert_eq!(invocation.output.formats, ["json", "normal"]);
    assert_eq!(invocation.eta.when, EtaWhen::Never);
    assert_eq!(invocation.eta.newline, Some(Nanos::from_secs(2)));
    assert_eq!(invocation.eta.interval, Nanos::from_millis(500));
    assert!(invocation.read_only);
    let plain = invoke(&["--name=x", "--size=1m"], &[]).expect("a run");
    assert_eq!(plain.output.formats, ["normal"]);
}

#[test]
fn the_last_choice_of_formats_wins_and_terse_can_be_added_to_it() {
    for (words, formats, version) in [
        (&["--minimal"][..], &["terse"][..], TerseVersion::V3),
        (&["--output-format=csv,minimal,terse", "--terse-version=2"], &["terse"], TerseVersion::V2),
        (&["--append-terse", "--terse-version", "4"], &["terse", "normal"], TerseVersion::V4),
        (&["--minimal", "--output-format=json"], &["json"], TerseVersion::V3),
        (&["--output-format=json", "--minimal"], &["terse"], TerseVersion::V3),
        (&["--terse-version=5", "--append-terse", "--output-format=json"], &["json"], TerseVersion::V5),
        (&["--output-format=normal,json", "--append-terse"], &["terse", "json", "normal"], TerseVersion::V3),
        (&["--output-format=json,json+"], &["json+"], TerseVersion::V3),
    ] {
        let job = ["--name=x", "--ioengine=null", "--size=1m"];
        let output = invoke(&[words, &job].concat(), &[]).expect("a run").output;
        assert_eq!((output.formats.as_slice(), output.terse_version), (formats, version), "{words:?}");
    }
}

#[test]
fn section_limits_the_job_files_and_keeps_their_globals() {
    let text = "[global]\nioengine=null\nsize=1m\n[a]\n[b]\nbs=8k\n[c]\n";
    let names = |words: &[&str]| -> Vec<String> {
        plan_of(invoke(words, &[("f", text)])).jobs.into_iter().map(|job| job.name).collect()
    };
    assert_eq!(names(&["--section=b", "f"]), ["b"]);
    assert_eq!(names(&["--section=c", "--section=a", "f"]), ["a", "c"]);
    assert_eq!(file_plan(text).jobs.len(), 3);
}

#[test]
fn parse_only_reads_all_and_ignores_contradictions_and_engines() {
    let fine = ["--parse-only", "--name=x", "--rate=1m", "--rate_iops=4", "--ioengine=nosuch", "--size=1k"];
    assert!(matches!(invoke(&fine, &[]).expect("accepted").action, Action::ParseOnly));
    assert!(matches!(invoke(&["--parse-only"], &[]).expect("accepted").action, Action::ParseOnly));
    assert!(invoke(&["--parse-only", "--name=x", "--bs=4q"], &[]).is_err());
}

#[test]
fn nothing_to_do_is_an_error_that_wants_the_usage() {
    for words in [&[][..], &["--ioengine=null", "--size=1m"]] {
        let error = invoke(words, &[("f", "[a]\nsize=1m\n")]).expect_err("no job");
        assert!(error.titles()[0].starts_with("No job(s) defined"), "{words:?}");
        assert!(error.wants_usage());
    }
    let error = invoke(&["--section=zz", "f"], &[("f", "[a]\nsize=1m\n")]).expect_err("no section");
    assert_eq!(error.titles(), ["command line: section=zz is in none of the job files; they have a"]);
    assert!(!error.wants_usage());
}

#[test]
fn a_section_that_no_file_has_is_named_with_those_there_are() {
    let error = invoke(&["--section=zz", "f"], &[("f", "[a]\nsize=1m\n[b]\n")]).expect_err("no such section");
    let title = &error.titles()[0];
    assert!(title.contains("section=zz is in none of the job files") && title.contains("a, b"), "{title}");
}

#[test]
fn version_and_helps_answer_before_anything_else_is_judged() {
    let text = |words: &[&str]| match invoke(words, &[]).expect("an answer").action {
        Action::Version(text) | Action::Help(text) | Action::CmdHelp(text) | Action::EngHelp(text) => text,
        other => panic!("no answer: {other:?}"),
    };
    assert!(text(&["--version"]).starts_with("fio-3.42-plumb-"));
    assert!(text(&["-version"]).ends_with('\n'));
    assert!(text(&["--help", "--nonsense"]).contains("--output-format=LIST"));
    let all = text(&["--cmdhelp=all"]);
    assert_eq!(all, text(&["--cmdhelp"]));
    assert!(all.contains("iodepth                 : Number of I/Os to keep in flight\n"));
    assert!(all.contains("(refused: fio 3.33's tiobench ignores its options"));
    assert!(text(&["--cmdhelp=blocksize"]).contains("default: 4096"));
    assert!(text(&["--cmdhelp=iodepht"]).contains("closest is\n             iodepth:"));
    assert!(text(&["--enghelp"]).contains("\tio_uring\n"));
    assert!(text(&["--enghelp=libaio"]).contains("userspace_reap"));
    assert!(text(&["--enghelp=libaio,nowait"]).contains("0 or 1"));
    assert!(invoke(&["--enghelp=nosuch"], &[]).is_err());
    assert!(invoke(&["--enghelp=libaio,nosuch"], &[]).is_err());
}

#[test]
fn readonly_stands_anywhere_and_lets_reads_through() {
    assert!(invoke(&["--name=x", "--size=1m", "--rw=randread", "--readonly"], &[]).is_ok());
    for rw in ["write", "randrw", "trim", "trimwrite"] {
        let rw = format!("--rw={rw}");
        assert!(invoke(&["--readonly", "--name=x", "--size=1m", &rw], &[]).is_err(), "{rw}");
        assert!(invoke(&["--name=x", "--size=1m", &rw, "--readonly"], &[]).is_err(), "{rw}");
    }
}

#[test]
fn warnings_are_said_once_and_fatal_on_request() {
    let words = ["--name=x", "--size=1m", "--time_based"];
    let invocation = invoke(&words, &[]).expect("a run");
    let title =
        "job `x` (command line): time_based without runtime has no effect; set runtime, or leave time_based out";
    assert_eq!(invocation.warnings.len(), 1);
    assert_eq!(invocation.warnings[0].title, title);
    assert!(invocation.warnings[0].to_string().contains("^^^^"));
    assert_eq!(titles(&[&words[..], &["--warnings-fatal"]].concat(), &[]), [title]);
}

#[test]
fn the_seeds_command_lines_are_read() {
    let job = &plan(&[
        "-filename=/tmp/hello",
        "-direct=1",
        "-bs=4k",
        "-rw=randwrite",
        "-size=5G",
        "-numjobs=8",
        "-runtime=60",
        "-group_reporting",
        "-name=test_for_sync",
    ])
    .jobs[0];
    assert_eq!((job.clones, job.files.direct, job.engine), (8, true, "psync"));
    assert_eq!(job.limits.runtime, Some(Nanos::from_secs(60)));
    assert!(job.record.group_reporting);
    let job = &plan(&[
        "--ioengine=libaio",
        "--direct=1",
        "--name=test_rand_mix_rw",
        "--filename=test_rand",
        "--bs=8k",
        "--iodepth=32",
        "--size=1G",
        "--readwrite=randrw",
        "--rwmixread=50",
    ])
    .jobs[0];
    assert_eq!((job.load.mix, job.load.random, job.depth.depth), (Mix::ReadWrite, true, 32));
    let job = &plan(&[
        "--name=global",
        "--bs=4k",
        "--ioengine=libaio",
        "--iodepth=1",
        "--runtime=120",
        "--time_based",
        "--size=3G",
        "--group_reporting",
        "--disable_lat=1",
        "--disable_clat=1",
        "--disable_slat=1",
        "--clat_percentiles=0",
        "--filename=/mnt/vdb1/fio/myfile",
        "--name=regular_read",
        "--rw=randread",
    ])
    .jobs[0];
    assert!(job.limits.time_based && !job.record.completion_latency && !job.record.completion_percentiles);
    let job = job_of_the_third_list();
    assert_eq!((job.depth.batch, job.depth.reap_min, job.depth.low), (4, 2, 3));
    assert_eq!((job.place.lock_memory, job.files.sync), (4 << 30, SyncMode::None));
}

/// The options that the seed on asynchronous I/O lists.
fn job_of_the_third_list() -> plan::JobPlan {
    job(&[
        "-bsrange=4k-16k",
        "-rwmixwrite=30",
        "-zero_buffers",
        "-lockmem=4g",
        "-iodepth=4",
        "-iodepth_batch=4",
        "-iodepth_batch_complete=2",
        "-iodepth_low=3",
    ])
}
