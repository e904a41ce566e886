//! Cases about where I/O goes and how files are handled.

use super::case::Case;
use super::streams::Ios;

/// Files: which is next, how many are open, how they come to be.
pub(super) fn handling() -> Vec<Case> {
    let write = |name, words: &str| Case::report(name, &format!("--name=a --size=256k --rw=write {words}"));
    let read = |name, words: &str| Case::report(name, &format!("--name=a --size=256k --rw=read {words}"));
    vec![
        write("fewer_files_open_than_there_are", "--nrfiles=8 --openfiles=3"),
        read("one_file_open_at_a_time", "--nrfiles=8 --openfiles=1 --file_service_type=random"),
        write("files_in_turn_by_eights", "--nrfiles=4 --file_service_type=roundrobin:8"),
        read("files_at_random", "--nrfiles=4 --file_service_type=random:4"),
        read("files_in_sequence", "--nrfiles=4 --file_service_type=sequential"),
        write("files_by_zipf", "--nrfiles=8 --file_service_type=zipf:1.2:0.5"),
        write("files_by_pareto", "--nrfiles=8 --file_service_type=pareto:0.2"),
        write("files_around_a_centre", "--nrfiles=8 --file_service_type=normal:20"),
        write("files_around_another_centre", "--nrfiles=8 --file_service_type=gauss:20:0.25"),
        write("names_by_a_format", "--filename_format=$jobname/x$jobnum_$filenum --nrfiles=2 --numjobs=2"),
        write("names_without_a_client", "--unique_filename=0"),
        Case::report("every_file_below_a_directory", "--name=a --opendir=d --rw=read")
            .file("d/one", &"x".repeat(8192))
            .file("d/deep/two", &"y".repeat(4096)),
        write("locked_files", "--filename=f --lockfile=exclusive --numjobs=2"),
        Case::report(
            "files_locked_for_writing",
            "--name=a --size=64k --filename=f --rw=rw --lockfile=readwrite --numjobs=2",
        )
        .mixed(),
        write("locked_files_of_which_one_is_open", "--nrfiles=4 --openfiles=1 --lockfile=readwrite"),
        write("laid_out_side_by_side", "--create_serialize=0 --numjobs=2"),
        write("made_when_opened", "--create_on_open=1"),
        Case::status("nothing_to_read_in_a_file_made_when_opened", "--name=a --size=16k --rw=read --create_on_open=1")
            .ends(1),
        write("removed_after_each_loop", "--loops=3 --unlink_each_loop=1"),
        // fio says in its text that it lays out nothing.
        Case::own_format(
            "a_device_with_room_is_not_filled_beyond_the_size",
            "--output-format=json --name=a --size=256k --rw=write --fill_device=1",
        ),
        Case::report("appended_to_a_file", "--name=a --filename=f --size=16k --rw=write --file_append=1")
            .file("f", &"x".repeat(8192)),
        Case::report("appended_to_nothing", "--name=a --filename=f --size=16k --rw=write --file_append=1"),
        Case::report("read_ahead_into_the_cache", "--name=a --size=256k --nrfiles=4 --rw=read --pre_read=1"),
        Case::status("a_missing_directory_is_not_made", "--name=a --size=16k --directory=no --rw=write"),
        Case::report(
            "clones_are_spread_over_directories",
            "--name=a --size=16k --directory=d:e --numjobs=3 --rw=write",
        )
        .file("d/already", "here")
        .file("e/already", "here"),
        Case::status(
            "a_layout_that_fails_ends_no_other",
            "--size=16k --rw=write --name=a --filename=f/below --exitall_on_error --name=b --filename=b",
        )
        .file("f", "no directory")
        .ends(1),
    ]
}

/// Regions, blocks and zones.
pub(super) fn regions() -> Vec<Case> {
    let job = |name, words: &str| Case::report(name, &format!("--name=a {words}"));
    let zoned = |name, words: &str| {
        // Zone resets are counted in fio's text: only the counts of I/O are compared.
        let base = "--output-format=json --filename={dev} --direct=1 --zonemode=zbd --zonesize=1m --bs=256k --name=a";
        Case::own_format(name, &format!("{base} {words}")).on_device()
    };
    let zoned_refusal = |name, words: &str| {
        let base = "--filename={dev} --direct=1 --zonemode=zbd --zonesize=1m --bs=256k --name=a";
        Case::status(name, &format!("{base} {words}")).on_device().ends(1)
    };
    vec![
        job("strides", "--size=256k --rw=read --zonemode=strided --zonesize=8k --zonerange=16k"),
        job("strides_with_gaps", "--size=256k --rw=write --zonemode=strided --zonesize=8k --zoneskip=8k"),
        job("strides_at_random", "--size=256k --rw=randread --zonemode=strided --zonesize=8k --zonerange=32k"),
        job("strides_in_loops", "--size=100k --rw=read --zonemode=strided --zonesize=8k --zonerange=24k --loops=2"),
        Case::refused("a_zone_size_without_a_mode", "--name=a --size=64k --zonesize=8k"),
        zoned("zones_in_order", "--rw=write --size=4m"),
        zoned("zones_at_random", "--rw=randwrite --size=4m"),
        zoned("zones_with_less_capacity", "--rw=write --size=4m --zonecapacity=512k"),
        zoned("zones_written_again", "--rw=write --size=4z --io_size=6z"),
        zoned("zones_from_an_offset", "--rw=write --size=3z --offset=2z"),
        zoned("empty_zones_hold_nothing", "--rw=randread --size=4m"),
        zoned("reads_beyond_what_is_written", "--rw=randread --size=4m --read_beyond_wp=1"),
        zoned("few_open_zones", "--rw=randwrite --size=4m --max_open_zones=2 --job_max_open_zones=2"),
        zoned(
            "resets_beyond_a_threshold",
            "--rw=write --size=4m --io_size=8m --zone_reset_threshold=0.5 --zone_reset_frequency=0.5",
        ),
        zoned("jobs_write_the_same_zones", "--rw=randwrite --size=1m --io_size=1m --numjobs=4"),
        zoned("queues_write_the_same_zones", "--rw=randwrite --size=4m --numjobs=8 --ioengine=libaio --iodepth=16"),
        zoned("a_reader_finds_the_zones_of_another", "--rw=write --offset=2m --size=2m --name=b --rw=read --size=4m --wait_for=a"),
        zoned("a_random_reader_finds_the_zones_of_another", "--rw=write --offset=2m --size=2m --name=b --rw=randread --size=4m --wait_for=a"),
        zoned("jobs_reset_beyond_a_threshold", "--rw=write --size=1m --loops=2 --numjobs=2 --zone_reset_frequency=1 --zone_reset_threshold=.5"),
        zoned("trims_of_zones", "--rw=trim --bs=1m --size=4m"),
        zoned("trims_take_away_what_was_written", "--rw=write --size=4m --name=b --stonewall --rw=trim --bs=1m --size=2m --name=c --stonewall --rw=read --size=4m"),
        zoned("trims_and_writes_of_zones", "--rw=trimwrite --bs=1m --size=4m"),
        zoned("whole_zones_only", "--rw=write --size=3500k --offset=100k"),
        zoned("reads_larger_than_a_zone", "--rw=read --bs=2m --size=4m"),
        zoned("zones_verified_in_loops", "--rw=randwrite --verify=md5 --size=4m --loops=2"),
        zoned("zones_verified_with_few_open", "--rw=randwrite --verify=md5 --size=8m --max_open_zones=4"),
        zoned("what_no_block_fits_into_is_skipped", "--rw=write --bs=384k --size=4m").newest_only(),
        zoned("a_trim_closes_a_zone", "--rw=randwrite --size=4m --io_size=2m --max_open_zones=4 --name=b --stonewall --rw=trim --bs=1m --size=1m --max_open_zones=4 --name=c --stonewall --rw=write --size=1m --offset=4m --max_open_zones=4").newest_only(),
        zoned_refusal("zones_and_experimental_verify", "--rw=write --size=4m --verify=md5 --experimental_verify=1").newest_only(),
        zoned_refusal("a_threshold_and_different_regions", "--rw=write --size=4m --zone_reset_threshold=.5 --zone_reset_frequency=1 --name=b --rw=write --size=4m --offset=4m --zone_reset_threshold=.5 --zone_reset_frequency=1").newest_only(),
        zoned_refusal("trims_smaller_than_a_zone", "--rw=trim --size=4m"),
        zoned_refusal("a_gap_of_less_than_a_zone", "--rw=write --size=4m --zoneskip=1"),
        zoned_refusal("a_zone_of_one_byte", "--rw=write --size=4m --zonesize=1"),
        zoned_refusal("less_than_a_zone", "--rw=write --size=512k"),
        zoned_refusal("a_threshold_above_one", "--rw=write --size=4m --zone_reset_threshold=2"),
        Case::status("zones_without_a_size", "--name=a --filename={dev} --zonemode=zbd --rw=write --size=4m")
            .on_device()
            .ends(1),
        Case::status(
            "a_block_larger_than_a_zone",
            "--name=a --filename={dev} --zonemode=zbd --zonesize=1m --bs=2m --rw=write --size=4m",
        )
        .on_device()
        .ends(1),
    ]
}

/// `filesize` as the end of every I/O: which blocks, in which order, and how large the file is afterwards.
pub(super) fn below_the_size_of_the_file() -> Vec<Case> {
    let row = |name, words: &str| Case::ios(name, Ios::Same, &format!("--filename=f --bs=4k --rw=write {words}"));
    let there = |case: Case| case.file("f", &"x".repeat(65_536));
    vec![
        row("filesize_and_an_offset", "--filesize=64k --offset=32k"),
        row("filesize_ends_a_larger_size", "--filesize=64k --offset=32k --size=64k"),
        row("filesize_and_twice_the_region", "--filesize=64k --offset=32k --size=64k --io_size=64k"),
        row("filesize_and_a_smaller_size_from_an_offset", "--filesize=64k --offset=32k --size=16k"),
        row("filesize_and_a_larger_amount", "--filesize=64k --offset=32k --size=16k --io_size=64k"),
        row("filesize_in_loops", "--filesize=64k --offset=32k --loops=2"),
        row("filesize_and_an_increment", "--filesize=64k --offset=16k --offset_increment=16k"),
        row("filesize_and_its_last_block", "--filesize=64k --offset=63k --bs=1k --size=8k"),
        row("a_percentage_of_filesize", "--filesize=64k --size=50%"),
        row("a_percentage_of_filesize_from_an_offset", "--filesize=64k --size=50% --offset=16k"),
        row("a_percentage_of_filesize_ends_with_it", "--filesize=64k --size=50% --offset=48k"),
        row("all_of_filesize_from_an_offset", "--filesize=64k --size=100% --offset=32k"),
        Case::ios("filesize_of_two_files", Ios::Same, "--nrfiles=2 --filesize=32k --offset=16k --bs=4k --rw=write"),
        row(
            "strides_end_with_filesize",
            "--filesize=64k --offset=32k --size=64k --io_size=64k --rw=read --zonemode=strided --zonerange=4k --zonesize=4k",
        ),
        row(
            "strides_with_gaps_end_with_filesize",
            "--filesize=64k --offset=32k --size=64k --io_size=64k --rw=read --zonemode=strided --zonerange=16k --zonesize=8k",
        ),
        there(row("a_size_counts_from_its_offset", "--size=64k --offset=32k")),
        there(Case::refused("an_offset_beyond_the_file", "--name=a --filename=f --offset=96k --rw=write")),
        Case::refused("an_offset_beyond_filesize", "--name=a --filename=f --filesize=64k --offset=128k --rw=write"),
        Case::refused(
            "no_room_for_a_block_below_filesize",
            "--name=a --filename=f --filesize=64k --offset=61k --rw=write",
        ),
    ]
}

/// Sizes, alignment, amounts and what is in the blocks.
pub(super) fn amounts() -> Vec<Case> {
    let job = |name, words: &str| Case::report(name, &format!("--name=a {words}"));
    vec![
        job("blocks_aligned_to_more", "--size=256k --rw=randread --ba=8k"),
        job("blocks_aligned_to_less", "--size=256k --rw=randwrite --blockalign=512"),
        // fio keeps its map in blocks of 4 KiB there and leaves some of the region out.
        Case::status("sizes_by_order", "--name=a --size=256k --rw=randwrite --bs=4k,8k --bs_is_seq_rand=1").ends(0),
        job("sizes_by_order_in_sequence", "--size=256k --rw=write --bs=4k,8k --bs_is_seq_rand=1"),
        job("softrandommap", "--size=256k --rw=randread --softrandommap=1"),
        Case::report("an_aligned_offset", "--name=a --filename=f --size=16k --offset=10% --offset_align=512 --rw=read")
            .file("f", &"x".repeat(100_000)),
        Case::report("an_offset_in_percent_is_rounded_up", "--name=a --filename=f --offset=11% --size=50% --rw=read")
            .file("f", &"x".repeat(100_000)),
        Case::refused("more_than_all_of_it", "--name=a --filename=f --size=16k --io_size=120% --rw=read"),
        // fio makes the file once more for each clone, and says so.
        Case::own_format(
            "clones_start_further_on",
            "--output-format=json --name=a --size=64k --filename=f --numjobs=3 --offset_increment=64k --rw=write",
        ),
        job("a_size_is_spread_over_files", "--size=100k --nrfiles=3 --rw=write"),
        job("files_of_a_separate_size", "--size=16k --filesize=32k --nrfiles=2 --rw=write"),
        job("more_than_the_region", "--size=64k --io_size=200k --rw=read"),
        job("number_ios_in_loops", "--size=64k --number_ios=5 --loops=3 --rw=read"),
        job("holes_backwards", "--size=256k --rw=read:-8k --io_size=64k --offset=0"),
        job("trims_then_writes", "--size=64k --rw=trimwrite --ioengine=null"),
        job("blocks_of_a_range_end_with_the_file", "--size=257k --rw=read --bs=8k"),
        Case::status("sync_of_ranges", "--name=a --size=256k --rw=write --sync_file_range=write,wait_after:8").ends(0),
        job("dedupe_by_a_working_set", "--size=1m --rw=write --dedupe_percentage=50 --dedupe_mode=working_set"),
        job(
            "dedupe_across_jobs",
            "--size=1m --rw=write --dedupe_percentage=50 --dedupe_mode=working_set --dedupe_global=1 --numjobs=2",
        ),
        job(
            "compressible_in_pieces",
            "--size=256k --rw=write --buffer_compress_percentage=50 --buffer_compress_chunk=1024",
        ),
        job("aligned_buffers", "--size=256k --rw=write --iomem_align=8192"),
        job("missing_directories_of_a_name_are_made", "--filename=x/y/z --size=16k --rw=write"),
    ]
}
