//! Cases about what goes beyond a plain run: verification, logs, steps and distributions of the load.

use super::case::Case;

/// Blocks that are trimmed after they were written, and the preconditioning of an SSD.
pub(super) fn trims_and_preconditioning() -> Vec<Case> {
    let trims = |name, words: &str| {
        let base =
            "--output-format=json --filename={dev} --direct=1 --verify_state_save=0 --verify=md5 --bs=4k --rw=write";
        Case::own_format(name, &format!("{base} --name=a --trim_percentage=100 {words}")).on_device().newest_only()
    };
    let sprandom = |name, status, words: &str| {
        let base = "--filename={dev} --direct=1 --bs=4k --size=4m --sprandom=1";
        Case::status(name, &format!("{base} --name=a {words}")).on_device().newest_only().ends(status)
    };
    vec![
        trims("trims_of_a_history", "--trim_backlog=3 --size=32k"),
        trims("trims_of_a_history_in_batches", "--trim_backlog=4 --trim_backlog_batch=2 --size=32k"),
        trims("trims_of_a_history_go_on_beyond_a_number_of_ios", "--trim_backlog=4 --number_ios=9 --size=64k"),
        trims(
            "trims_that_are_left_over_end_no_job",
            "--trim_backlog=4 --trim_backlog_batch=2 --number_ios=9 --size=64k",
        ),
        trims("trims_after_each_write_of_a_backlog", "--trim_backlog=5 --size=128k"),
        trims("blocks_that_were_read_back_are_not_trimmed", "--trim_backlog=4 --verify_backlog=8 --size=128k"),
        trims("trims_of_a_history_are_counted", "--trim_backlog=1 --number_ios=8 --size=64k"),
        Case::status("trims_of_a_history_without_a_backlog", "--name=a --size=32k --rw=write --trim_percentage=100")
            .ends(0),
        sprandom("sprandom", 0, "--rw=randwrite"),
        sprandom("sprandom_of_a_mix", 0, "--rw=randrw"),
        sprandom("sprandom_in_order", 1, "--rw=write"),
        sprandom("sprandom_of_reads", 1, "--rw=randread"),
        sprandom("sprandom_with_another_generator", 1, "--rw=randwrite --random_generator=tausworthe"),
        sprandom("sprandom_with_a_map", 1, "--rw=randwrite --norandommap=0"),
        sprandom("sprandom_without_regions", 1, "--rw=randwrite --spr_num_regions=0"),
    ]
}

/// Write, then read back. The state files of what was written are left by both, and held to their names.
pub(super) fn verify() -> Vec<Case> {
    let job = |name, words: &str| Case::report(name, &format!("--name=a --size=256k --verify_state_save=0 {words}"));
    vec![
        job("verify_more_than_once_at_random", "--rw=randwrite --verify=crc32c --io_size=512k"),
        job("verify_four_times_the_region_at_random", "--rw=randwrite --bs=16k --verify=md5 --io_size=1m"),
        job("verify_more_than_two_passes_at_random", "--rw=randwrite --bs=16k --verify=md5 --io_size=1040k"),
        job("verify_four_times_several_files", "--rw=randwrite --bs=16k --verify=md5 --io_size=1m --nrfiles=4"),
        // Only JSON: fio's text has the writes before the reads.
        Case::own_format(
            "verify_four_times_the_region_by_a_backlog",
            "--output-format=json --name=a --size=256k --verify_state_save=0 --rw=randwrite --bs=16k --verify=md5 \
             --io_size=1m --verify_backlog=8",
        ),
        job(
            "verify_four_times_the_region_by_a_register",
            "--rw=randwrite --bs=16k --verify=md5 --io_size=1m --random_generator=lfsr",
        ),
        job(
            "written_more_than_once_and_not_verified",
            "--rw=randwrite --bs=16k --verify=md5 --io_size=1m --do_verify=0",
        ),
        job(
            "verify_by_replay_with_one_file_open",
            "--rw=write --verify=md5 --experimental_verify=1 --nrfiles=4 --openfiles=1",
        ),
        job("verify_crc32c", "--rw=write --verify=crc32c"),
        job("verify_md5_at_random", "--rw=randwrite --verify=md5"),
        job("verify_sha512", "--rw=write --verify=sha512 --bs=8k"),
        job("verify_meta", "--rw=write --verify=meta"),
        job("verify_a_pattern", "--rw=write --verify=pattern --verify_pattern=0xdeadbeef"),
        job("verify_a_pattern_without_the_word", "--rw=write --verify_pattern=0xcafe"),
        job("verify_null", "--rw=write --verify=null"),
        job("verify_written_only", "--rw=write --verify=crc32c --do_verify=0"),
        job("verify_in_loops", "--rw=write --verify=crc32c --loops=2"),
        job("verify_several_files", "--rw=randwrite --verify=crc32c --nrfiles=4"),
        job("verify_by_interval", "--rw=write --bs=16k --verify=crc32c --verify_interval=512"),
        job("verify_by_an_interval_that_leaves_a_rest", "--rw=write --verify=md5 --verify_interval=4090"),
        job("verify_fatal_without_a_fault", "--rw=write --verify=md5 --verify_fatal=1"),
        job("verify_at_depth", "--rw=randwrite --verify=crc32c --ioengine=libaio --direct=1 --iodepth=8").free_depths(),
        job("verify_with_a_backlog", "--rw=write --verify=crc32c --verify_backlog=16"),
        job("verify_with_a_small_batch", "--rw=write --verify=crc32c --verify_backlog=8 --verify_backlog_batch=2"),
        job("verify_with_a_large_batch", "--rw=write --verify=crc32c --verify_backlog=4 --verify_backlog_batch=8"),
        job("verify_with_the_header_inside", "--rw=write --verify=md5 --verify_offset=100"),
        job("verify_an_offset_in_a_pattern", "--rw=randwrite --verify=pattern --verify_pattern=0xaa%o\"x\"")
            .same_contents(),
        job("verify_by_threads", "--rw=write --verify=sha256 --verify_async=2").free_depths(),
        job("verify_by_threads_on_a_cpu", "--rw=write --verify=sha1 --verify_async=1 --verify_async_cpus=0")
            .free_depths(),
        job("verify_by_replay", "--rw=randwrite --verify=crc32c --experimental_verify=1"),
        job("verify_sizes_of_a_range", "--rw=write --bsrange=4k-16k --verify=crc64").free_amounts(),
        job("verify_dumps_nothing_without_a_fault", "--rw=write --verify=crc16 --verify_dump=1"),
        job("verify_errors_that_may_come", "--rw=write --verify=crc32c --ignore_error=EIO,ENOSPC:28,84 --error_dump=1"),
    ]
}

/// The states that writes leave, verify_only, and blocks that were not written as they are read.
pub(super) fn verified_later() -> Vec<Case> {
    // Blocks whose headers lie: what was written by one job is read at another size.
    let torn = "--output-format=json --verify_state_save=0 --filename=f --size=64k --name=a --rw=write --bs=8k --do_verify=0 \
                --verify=md5 --name=b --stonewall --rw=read --bs=4k --verify=md5";
    vec![
        Case::report("verify_leaves_a_state", "--name=a --size=64k --rw=write --verify=xxhash"),
        Case::report(
            "verify_leaves_a_state_of_what_is_not_checked",
            "--name=a --size=64k --rw=write --verify=md5 --do_verify=0",
        ),
        Case::report("verify_leaves_states_of_clones", "--name=a --size=64k --rw=randwrite --verify=md5 --numjobs=3"),
        Case::report(
            "verify_leaves_a_state_without_a_file",
            "--name=a --size=64k --rw=write --verify=md5 --ioengine=null",
        ),
        Case::report("verify_leaves_no_state_of_reads", "--name=a --size=64k --rw=read --verify=null"),
        Case::report(
            "verify_leaves_states_by_number",
            "--name=a --size=64k --rw=write --verify=md5 --name=b --size=64k --rw=write --verify=crc7",
        ),
        Case::report(
            "verify_only_counts_the_writes_it_walks_through",
            "--name=a --filename=f --size=64k --rw=write --verify=pattern --verify_pattern=0x55 --verify_only \
             --verify_state_save=0",
        )
        .file("f", &"U".repeat(65536)),
        Case::report(
            "verify_only_of_a_group",
            "--name=a --filename=f --size=64k --bs=16k --rw=write --verify=pattern --verify_pattern=0x55 --verify_only \
             --verify_state_save=0 --numjobs=2 --group_reporting --lat_percentiles=1",
        )
        .file("f", &"U".repeat(65536)),
        Case::own_format(
            "verify_that_a_time_leaves_out_of_a_mix",
            "--name=a --size=64k --rw=rw --ioengine=null --verify=md5 --time_based --runtime=100ms --verify_state_save=0",
        )
        .free_amounts(),
        Case::own_format(
            "verify_that_a_time_leaves_out_is_a_line_of_the_report",
            "--name=a --size=64k --rw=randwrite --ioengine=null --verify=md5 --time_based --runtime=100ms \
             --verify_state_save=0",
        )
        .free_amounts(),
        Case::status(
            "verify_only_what_is_not_there",
            "--name=a --filename=f --size=16k --rw=write --verify=md5 --verify_only --verify_state_save=0",
        )
        .file("f", &"\0".repeat(16384)),
        Case::refused(
            "verify_interval_below_two_headers",
            "--name=a --size=64k --rw=write --verify=md5 --verify_interval=64",
        ),
        Case::refused(
            "verify_offset_within_the_header",
            "--name=a --size=64k --rw=write --verify=md5 --verify_offset=20",
        ),
        Case::refused("ignore_error_that_there_is_not", "--name=a --size=64k --ignore_error=EFOO"),
        Case::own_format("verify_finds_what_another_job_wrote", torn).ends(1).free_amounts(),
        Case::status(
            "verify_finds_nothing_in_a_file_of_zeros",
            "--verify_state_save=0 --name=a --filename=f --rw=read --size=16k --verify=md5",
        )
        .file("f", &"\0".repeat(16384)),
    ]
}

/// Logs in addition to the report. Every I/O is a row unless rows are averages, so that the number of rows is fixed.
pub(super) fn logs() -> Vec<Case> {
    let job = |name, words: &str| {
        let base = "--output-format=json --name=a --size=64k --rw=write --ioengine=libaio";
        Case::own_format(name, &format!("{base} {words}")).logged()
    };
    vec![
        job("a_bandwidth_log", "--write_bw_log=x"),
        job("an_iops_log", "--write_iops_log=x"),
        job("latency_logs", "--write_lat_log=x"),
        job("latency_logs_of_a_synchronous_engine", "--write_lat_log=x --ioengine=psync"),
        job("logs_of_clones", "--numjobs=2 --write_bw_log=x"),
        job("one_log_for_all_clones", "--numjobs=2 --per_job_logs=0 --write_iops_log=x"),
        Case::own_format("a_log_named_like_the_job", "--output-format=json x.fio")
            .file("x.fio", "[a]\nsize=64k\nrw=write\nwrite_bw_log\n")
            .logged(),
        job("a_log_in_a_directory", "--write_bw_log=d/x").file("d/already", "here"),
    ]
}

/// What follows what, and how offsets are spread.
pub(super) fn steps() -> Vec<Case> {
    let read = |name, words: &str| Case::report(name, &format!("--name=a --size=256k {words}"));
    vec![
        read("a_skip_that_comes_round", "--rw=read:4k"),
        read("a_skip_that_ends_with_the_file", "--rw=write:8k"),
        read("a_skip_beyond_the_file", "--rw=read:1m"),
        read("a_skip_in_loops", "--rw=read:12k --loops=2"),
        read("a_skip_over_several_files", "--rw=read:4k --nrfiles=2"),
        read("a_skip_in_a_part_of_a_file", "--rw=read:4k --filename=f --size=64k").file("f", &"x".repeat(262_144)),
        read("backwards", "--rw=read:-8k"),
        read("runs_of_random_blocks", "--rw=randread:4"),
        read("random_blocks_again_and_again", "--rw=randread:4 --rw_sequencer=identical"),
        read("half_of_it_random", "--rw=randread --percentage_random=50"),
        read("a_filesize_and_a_larger_size", "--rw=read --filesize=64k --nrfiles=2"),
        read("a_filesize_and_a_smaller_size", "--rw=read --filesize=512k"),
        read("pareto", "--rw=randread --random_distribution=pareto:0.2"),
        read("normal", "--rw=randread --random_distribution=normal:20"),
        read("zoned", "--rw=randread --random_distribution=zoned:60/10:30/20:10/70"),
        read("zoned_by_size", "--rw=randread --random_distribution=zoned_abs:60/64k:40/192k"),
        read("splits_by_direction", "--rw=randrw --bssplit=4k/50:8k/50,16k/100").free_amounts(),
        read("a_split_that_shares_the_rest", "--rw=read --bssplit=4k/50:16k/").free_amounts(),
        read("unaligned_sizes", "--rw=write --bsrange=1000-3000 --bs_unaligned").free_amounts(),
        read("deduplicated", "--rw=write --dedupe_percentage=50"),
        read("compressible", "--rw=write --buffer_compress_percentage=50 --buffer_compress_chunk=4k"),
        read("both", "--rw=write --buffer_compress_percentage=30 --dedupe_percentage=30"),
        read("no_advice", "--rw=randread --fadvise_hint=0"),
        read("an_advice", "--rw=randread --fadvise_hint=sequential"),
    ]
}
