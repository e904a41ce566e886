//! What options mean together.

use crate::abilities::{file_plan, invoke, job, plan, titles};
use measure::{BytesPerSecond, Direction, Nanos, PerDirection};
use plan::{
    Allocate, BlockSize, ContinueOnError, DepthPlan, Distribution, Extent, Fill, Generator, Isolation, Memory, Mix,
    SyncMode,
};
use std::path::PathBuf;

#[test]
fn without_options_a_job_is_what_fio_makes_of_it() {
    let job = &plan(&["--name=x"]).jobs[0];
    assert_eq!((job.engine, job.clones, job.isolation, job.group), ("psync", 1, Isolation::Process, 0));
    assert_eq!((job.load.mix, job.load.random, job.load.read_percent), (Mix::Only(Direction::Read), false, 50));
    assert_eq!(job.load.block_size, PerDirection::all(BlockSize::Fixed(4096)));
    assert_eq!((job.load.seed, job.load.repeat_per_loop, job.load.cover_all), (Some(0x89), true, true));
    assert_eq!((job.load.generator, &job.load.distribution), (Generator::Tausworthe, &Distribution::Uniform));
    assert_eq!(
        job.depth,
        DepthPlan {
            depth: 1,
            capped_from: None,
            batch: 1,
            reap_min: 1,
            reap_max: 1,
            low: 1,
            serialises_overlap: false,
            offload: false
        }
    );
    assert_eq!((job.files.size, job.files.offset, job.files.count), (None, Extent::Bytes(0), 1));
    assert!(job.files.invalidate && job.files.may_create && job.files.create_fsync && !job.files.direct);
    assert_eq!((job.files.allocate, job.files.sync), (Allocate::Native, SyncMode::None));
    assert_eq!((&job.buffers.fill, job.buffers.scramble, job.buffers.refill), (&Fill::Random, true, false));
    assert_eq!((job.limits.loops, job.limits.runtime, job.limits.ios), (1, None, None));
    assert_eq!(job.record.bandwidth_interval, Nanos::from_millis(500));
    assert_eq!((job.record.percentiles.len(), job.record.percentile_digits), (17, 2));
    assert_eq!((job.record.unit_base, job.record.bits, job.record.significant_figures), (1024, false, 4));
    assert!(job.record.disk_usage && job.record.completion_percentiles && !job.record.total_percentiles);
    assert_eq!(job.pace.think_blocks, 1);
}

#[test]
fn queue_words_are_resolved() {
    let depth = |words: &[&str]| {
        let all = [&["--name=x", "--size=1m", "--ioengine=libaio"], words].concat();
        let depth = plan(&all).jobs[0].depth;
        (depth.depth, depth.batch, depth.reap_min, depth.reap_max, depth.low)
    };
    assert_eq!(depth(&["--iodepth=32"]), (32, 1, 1, 1, 32));
    assert_eq!(depth(&["--iodepth=32", "--iodepth_batch=0"]), (32, 32, 1, 1, 32));
    assert_eq!(depth(&["--iodepth=8", "--iodepth_batch=16", "--iodepth_low=9"]), (8, 8, 1, 1, 8));
    assert_eq!(depth(&["--iodepth=8", "--iodepth_low=3", "--iodepth_batch_complete=4"]), (8, 1, 4, 4, 3));
    let ends = ["--iodepth=8", "--iodepth_batch_complete_min=2", "--iodepth_batch_complete_max=6"];
    assert_eq!(depth(&ends), (8, 1, 2, 6, 8));
    assert_eq!(depth(&["--iodepth=8", "--iodepth_batch_complete_max=99"]), (8, 1, 1, 8, 8));
    assert_eq!(depth(&["--iodepth=8", "--iodepth_batch_complete_min=0"]), (8, 1, 0, 8, 8));
}

#[test]
fn a_synchronous_engine_caps_the_depth_with_a_note() {
    let invocation = invoke(&["--name=x", "--size=1m", "--iodepth=4"], &[]).expect("a run");
    assert_eq!(
        invocation.warnings[0].title,
        "job `x` (command line): engine psync does one I/O at a time; iodepth=4 is capped at 1; use libaio or io_uring \
         for more, or more jobs"
    );
    assert_eq!(plan(&["--name=x", "--size=1m", "--iodepth=4"]).jobs[0].depth.depth, 1);
    assert_eq!(job(&["--iodepth=4"]).depth.depth, 4, "null is asynchronous above 1");
}

#[test]
fn direct_and_buffered_are_one_switch_as_are_shares_of_a_mix() {
    assert!(job(&["--direct=1"]).files.direct);
    assert!(job(&["--buffered=0"]).files.direct);
    assert!(!job(&["--direct=1", "--buffered=1"]).files.direct);
    assert!(job(&["--buffered=1", "--direct=1"]).files.direct);
    assert_eq!(job(&["--rwmixread=70"]).load.read_percent, 70);
    assert_eq!(job(&["--rwmixread=70", "--rwmixwrite=10"]).load.read_percent, 90);
}

#[test]
fn directions_and_randomness_come_from_one_word() {
    let table = [
        ("read", Mix::Only(Direction::Read), false),
        ("write", Mix::Only(Direction::Write), false),
        ("trim", Mix::Only(Direction::Trim), false),
        ("randread", Mix::Only(Direction::Read), true),
        ("randwrite", Mix::Only(Direction::Write), true),
        ("randtrim", Mix::Only(Direction::Trim), true),
        ("rw", Mix::ReadWrite, false),
        ("readwrite", Mix::ReadWrite, false),
        ("randrw", Mix::ReadWrite, true),
        ("trimwrite", Mix::TrimWrite, false),
        ("randtrimwrite", Mix::TrimWrite, true),
    ];
    for (word, mix, random) in table {
        let load = job(&[&format!("--rw={word}")]).load;
        assert_eq!((load.mix, load.random), (mix, random), "{word}");
    }
}

#[test]
fn seeds_are_repeatable_unless_said_otherwise() {
    let seed = |words: &[&str]| {
        let load = job(words).load;
        (load.seed, load.repeat_per_loop)
    };
    assert_eq!(seed(&["--randrepeat=0"]), (None, false));
    assert_eq!(seed(&["--allrandrepeat=0"]), (None, false));
    assert_eq!(seed(&["--randseed=7"]), (Some(7), false));
    assert_eq!(seed(&["--randseed=0x10", "--randrepeat=0"]), (Some(16), false));
    assert_eq!(seed(&["--randrepeat=1"]), (Some(0x89), true));
}

#[test]
fn the_map_goes_with_norandommap_or_a_distribution() {
    assert!(!job(&["--norandommap"]).load.cover_all);
    assert!(job(&["--norandommap=0"]).load.cover_all);
    assert!(!job(&["--random_distribution=zipf:1.2"]).load.cover_all);
    assert_eq!(job(&["--random_generator=lfsr"]).load.generator, Generator::Lfsr);
    assert_eq!(job(&["--percentage_random=50,20"]).load.percent_random, PerDirection { read: 50, write: 20, trim: 20 });
}

#[test]
fn sizes_of_blocks_are_fixed_ranges_or_splits() {
    let sizes = |words: &[&str]| job(words).load.block_size;
    assert_eq!(sizes(&["--bs=8k,32k"]).trim, BlockSize::Fixed(32768));
    assert_eq!(sizes(&["--bs=,8k"]).read, BlockSize::Fixed(4096));
    assert_eq!(sizes(&["--bsrange=4k-16k,1k-2k"]).write, BlockSize::Range(1024, 2048));
    assert_eq!(sizes(&["--bsrange=4k-4k"]).read, BlockSize::Fixed(4096));
    assert_eq!(sizes(&["--bssplit=4k/60:8k"]).write, BlockSize::Split(vec![(4096, 60), (8192, 40)]));
    assert_eq!(sizes(&["--bssplit=4k,8k/50:16k/50"]).read, BlockSize::Fixed(4096));
    assert!(job(&["--bs_unaligned"]).load.unaligned_sizes);
}

#[test]
fn amounts_may_be_relative_and_zero_means_none() {
    let files = job(&["--size=20%", "--offset=50%", "--offset_increment=1g", "--io_size=100%", "--nrfiles=3"]).files;
    assert_eq!((files.size, files.offset), (Some(Extent::Percent(20)), Extent::Percent(50)));
    assert_eq!((files.offset_increment, files.io_size), (Extent::Bytes(1 << 30), Some(Extent::Percent(100))));
    assert_eq!(files.count, 3);
    assert_eq!(job(&["--size=0", "--io_limit=2m"]).files.size, None);
    assert_eq!(job(&["--filesize=1m-4k"]).files.file_size, Some((4096, 1 << 20)));
    assert_eq!(job(&["--filesize=1g"]).files.file_size, Some((1 << 30, 1 << 30)));
}

#[test]
fn files_are_separated_by_colons() {
    let files = job(&[r"--filename=/dev/a:b\:c", "--directory=/x:/y"]).files;
    assert_eq!(files.names, [PathBuf::from("/dev/a"), PathBuf::from("b:c")]);
    assert_eq!(files.directories, [PathBuf::from("/x"), PathBuf::from("/y")]);
}

#[test]
fn pre_read_keeps_the_cache_and_reads_lay_out_in_full() {
    assert!(!job(&["--pre_read=1", "--invalidate=1"]).files.invalidate);
    assert!(!job(&["--invalidate=0"]).files.invalidate);
    assert!(job(&[]).files.overwrite);
    assert!(!job(&["--rw=write"]).files.overwrite);
    assert!(job(&["--rw=write", "--overwrite=1"]).files.overwrite);
}

#[test]
fn words_about_files_reach_the_plan() {
    let table = [
        ("none", Allocate::None),
        ("0", Allocate::None),
        ("posix", Allocate::Posix),
        ("1", Allocate::Posix),
        ("keep", Allocate::KeepSize),
        ("truncate", Allocate::Truncate),
        ("native", Allocate::Native),
    ];
    for (word, expected) in table {
        assert_eq!(job(&[&format!("--fallocate={word}")]).files.allocate, expected, "{word}");
    }
    for (word, expected) in [("none", SyncMode::None), ("1", SyncMode::Sync), ("dsync", SyncMode::DataSync)] {
        assert_eq!(job(&[&format!("--sync={word}")]).files.sync, expected, "{word}");
    }
}

#[test]
fn rates_are_per_direction_and_zero_means_unlimited() {
    let pace = job(&["--rate=1m,,500k", "--rate_process=poisson", "--thinktime=2ms", "--thinktime_spin=10ms"]).pace;
    assert_eq!(pace.rate.read, Some(BytesPerSecond(1 << 20)));
    assert_eq!((pace.rate.write, pace.rate.trim), (None, Some(BytesPerSecond(500 << 10))));
    assert!(pace.poisson);
    assert_eq!((pace.think, pace.think_spin), (Nanos::from_millis(2), Nanos::from_millis(2)));
    let pace = job(&["--rate_iops=100,0", "--thinktime=5", "--thinktime_blocks=0"]).pace;
    assert_eq!((pace.iops.read, pace.iops.write), (Some(100), None));
    assert_eq!((pace.think, pace.think_blocks), (Nanos::from_micros(5), 1));
}

#[test]
fn buffers_follow_pattern_zeros_refill_and_compression() {
    let of = |words: &[&str]| {
        let buffers = job(words).buffers;
        (buffers.fill, buffers.refill, buffers.scramble)
    };
    assert_eq!(of(&["--zero_buffers"]), (Fill::Zero, false, false));
    assert_eq!(of(&["--zero_buffers", "--scramble_buffers=1"]), (Fill::Zero, false, true));
    assert_eq!(of(&["--refill_buffers"]), (Fill::Random, true, false));
    assert_eq!(of(&["--scramble_buffers=0"]), (Fill::Random, false, false));
    assert_eq!(of(&["--buffer_pattern=0xabcd", "--zero_buffers"]), (Fill::Pattern(vec![0xab, 0xcd]), false, false));
    assert_eq!(of(&["--buffer_compress_percentage=50"]), (Fill::Random, true, false));
    assert_eq!(of(&["--buffer_compress_percentage=50", "--refill_buffers=0"]), (Fill::Random, false, true));
    assert_eq!(of(&["--buffer_compress_percentage=100"]), (Fill::Zero, false, false));
    assert_eq!(of(&["--dedupe_percentage=30"]), (Fill::Random, true, false));
}

#[test]
fn memory_words_take_files_where_they_may() {
    let table = [
        ("malloc", Memory::Malloc),
        ("shm", Memory::Shm(false)),
        ("shmhuge", Memory::Shm(true)),
        ("mmap", Memory::Mmap(false, None)),
        ("mmap:/x", Memory::Mmap(false, Some("/x".into()))),
        ("mmaphuge:/huge/y", Memory::Mmap(true, Some("/huge/y".into()))),
        ("mmapshared", Memory::MmapShared(None)),
    ];
    for (word, expected) in table {
        assert_eq!(job(&[&format!("--mem={word}")]).buffers.memory, expected, "{word}");
    }
}

#[test]
fn places_priorities_and_errors_reach_the_plan() {
    let place = job(&["--cpus_allowed=0,2-3", "--cpus_allowed_policy=split", "--nice=-5", "--prio=3"]).place;
    assert_eq!((place.cpus, place.split_cpus, place.nice), (vec![0, 2, 3], true, -5));
    assert_eq!(place.io_priority, Some((2, 3)));
    assert_eq!(job(&["--prioclass=3"]).place.io_priority, Some((3, 0)));
    assert_eq!(job(&["--cpumask=5"]).place.cpus, [0, 2]);
    let forgiven = job(&["--continue_on_error=io"]).limits.continue_on_error;
    assert_eq!(forgiven, ContinueOnError { read: true, write: true, verify: false });
}

#[test]
fn groups_open_with_stonewall_and_new_group_after_the_first() {
    let plan = file_plan("[a]\nstonewall\n[b]\n[c]\nnew_group\n[d]\nwait_for_previous\n[e]\nnew_group=0\n");
    let groups: Vec<u32> = plan.jobs.iter().map(|job| job.group).collect();
    assert_eq!(groups, [0, 0, 1, 2, 2]);
    let stonewalls: Vec<bool> = plan.jobs.iter().map(|job| job.start.stonewall).collect();
    assert_eq!(stonewalls, [true, false, false, true, false]);
}

#[test]
fn clones_are_counted_and_not_spread() {
    let plan = file_plan("[a]\nnumjobs=3\nthread\n[b]\nwait_for=a\nstartdelay=1-3\n");
    assert_eq!((plan.jobs.len(), plan.jobs[0].clones, plan.workers().count()), (2, 3, 4));
    assert_eq!(plan.jobs[0].isolation, Isolation::Thread);
    assert_eq!(plan.jobs[1].start.wait_for.as_deref(), Some("a"));
    assert_eq!(plan.jobs[1].start.delay, (Nanos::from_secs(1), Nanos::from_secs(3)));
}

#[test]
fn gtod_reduce_and_disabled_latencies_disable_percentiles() {
    let record = job(&["--gtod_reduce=1"]).record;
    assert!(!record.total_latency && !record.completion_latency && record.samples);
    assert!(!record.completion_percentiles && !record.submission_latency);
    assert!(!job(&["--disable_clat=1"]).record.completion_percentiles);
    assert!(!job(&["--disable_bw=1"]).record.samples);
}

#[test]
fn percentiles_are_sorted_and_printed_with_their_digits() {
    let record = job(&["--percentile_list=99.123:50.0"]).record;
    assert_eq!((record.percentiles, record.percentile_digits), (vec![50.0, 99.123], 3));
    assert_eq!(job(&["--percentile_list=50:99"]).record.percentile_digits, 0);
}

#[test]
fn units_of_reports_follow_kb_base_and_unit_base() {
    assert_eq!(job(&["--kb_base=1000"]).record.unit_base, 1000);
    assert!(job(&["--unit_base=1"]).record.bits);
    assert!(!job(&["--unit_base=8"]).record.bits);
}

#[test]
fn time_limits_reach_the_plan() {
    let limits = job(&["--runtime=5m", "--time_based", "--ramp_time=2s", "--loops=3", "--number_ios=1k"]).limits;
    assert_eq!((limits.runtime, limits.time_based), (Some(Nanos::from_secs(300)), true));
    assert_eq!((limits.ramp, limits.loops, limits.ios), (Nanos::from_secs(2), 3, Some(1024)));
    assert!(!job(&["--time_based"]).limits.time_based, "without runtime it has no effect");
    assert_eq!(job(&["--timeout=30"]).limits.runtime, Some(Nanos::from_secs(30)));
}

#[test]
fn a_refused_option_may_still_be_given_its_default() {
    let words = ["--verify=0", "--do_verify=1", "--zonemode=none", "--unified_rw_reporting=none", "--stats=1"];
    let more = ["--io_submit_mode=inline", "--file_service_type=roundrobin", "--fadvise_hint=1", "--exit_what=group"];
    let given = job(&[&words[..], &more].concat());
    let plain = job(&[]);
    assert_eq!((given.verify, given.load, given.files), (plain.verify, plain.load, plain.files));
}

#[test]
fn withdrawn_options_are_accepted_with_a_warning_as_in_fio() {
    let words = ["--name=x", "--ioengine=null", "--size=1m", "--verifysort=1"];
    let invocation = invoke(&words, &[]).expect("a run");
    let expected = "job `x` (command line): verifysort has no effect, as in fio; leave it out";
    assert_eq!(invocation.warnings[0].title, expected);
}

#[test]
fn trims_without_a_backlog_and_what_sprandom_sets_are_warnings() {
    for (words, expected) in [
        (
            &["--verify=md5", "--rw=write", "--trim_percentage=5"][..],
            "it has no effect here; give verify and trim_backlog",
        ),
        (&["--sprandom=1", "--rw=randwrite"][..], "sprandom sets random_generator=lfsr and norandommap=1"),
    ] {
        let words = [&["--name=x", "--ioengine=psync", "--size=1m"], words].concat();
        let warnings = invoke(&words, &[]).expect("a run").warnings;
        assert!(warnings[0].title.contains(expected), "{:?}", warnings[0].title);
    }
}

#[test]
fn a_job_file_of_far_too_many_jobs_is_refused_early() {
    let sections: String = (0..100_000).map(|at| format!("[j{at}]\n")).collect();
    let text = format!("[global]\nioengine=null\nsize=1m\n{sections}");
    let begun = std::time::Instant::now();
    let message = titles(&["f"], &[("f", &text)]);
    assert_eq!(message, ["job `j4096` (f:4100): this makes 4097 workers; 4096 is the most; make numjobs smaller"]);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
