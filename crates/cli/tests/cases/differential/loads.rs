//! Cases about the load: what moves, where, how much, how fast, and what the buffers hold.

use super::case::Case;

/// Directions, offsets and amounts.
pub(super) fn patterns() -> Vec<Case> {
    vec![
        Case::report("sequential_read", "--name=a --size=2m --rw=read --bs=64k"),
        Case::report("sequential_write", "--name=a --size=2m --rw=write --bs=64k"),
        Case::report("random_read", "--name=a --size=2m --rw=randread"),
        Case::report("random_write", "--name=a --size=2m --rw=randwrite"),
        Case::report("a_mix", "--name=a --size=2m --rw=rw").mixed(),
        Case::report("a_random_mix_of_70_percent", "--name=a --size=4m --rw=randrw --rwmixread=70").mixed(),
        Case::report("a_mix_by_writes", "--name=a --size=4m --rw=randrw --rwmixwrite=30").mixed(),
        Case::report("a_whole_device", "--name=a --filename={dev} --rw=read --bs=256k").on_device(),
        Case::report("a_share_of_a_device", "--name=a --filename={dev} --size=25% --offset=50% --rw=read --bs=64k")
            .on_device(),
        Case::report("a_range_of_block_sizes", "--name=a --size=2m --rw=randread --bsrange=4k-64k --norandommap")
            .free_amounts(),
        Case::report("split_block_sizes", "--name=a --size=2m --rw=read --bssplit=4k/50:16k/50").free_amounts(),
        Case::report("io_size_below_size", "--name=a --size=2m --io_size=512k --rw=randread"),
        Case::report("io_size_above_size", "--name=a --size=512k --io_size=2m --rw=write"),
        Case::report("filesize", "--name=a --filesize=1m --rw=randread"),
        Case::report("several_files", "--name=a --size=1m --nrfiles=4 --rw=read"),
        Case::report("an_uneven_division", "--name=a --size=1000k --nrfiles=3 --rw=write"),
        Case::report("an_offset", "--name=a --size=1m --offset=256k --rw=read"),
        // fio says in text that it lays the file out again for each clone; ours is laid out once, as large as needed.
        Case::own_format(
            "an_offset_for_each_clone",
            "--output-format=json --name=a --filename=f --size=256k --offset_increment=256k --numjobs=3 --rw=write",
        ),
        Case::report("a_number_of_ios", "--name=a --size=1m --number_ios=100 --rw=randread"),
        Case::report("loops", "--name=a --size=256k --loops=3 --rw=read"),
        Case::report("no_random_map", "--name=a --size=1m --rw=randwrite --norandommap"),
        Case::report("lfsr", "--name=a --size=1m --rw=randread --random_generator=lfsr"),
        Case::report("tausworthe64", "--name=a --size=1m --rw=randread --random_generator=tausworthe64"),
        Case::report(
            "more_blocks_than_32_bits_can_number",
            "--name=a --ioengine=null --filename=f --size=1t --bs=1 --number_ios=16 --rw=randread --norandommap",
        ),
        Case::report(
            "more_blocks_than_32_bits_by_64",
            "--name=a --ioengine=null --filename=f --size=1t --bs=1 --number_ios=16 --rw=randread --norandommap \
             --random_generator=tausworthe64",
        ),
        Case::report("another_seed", "--name=a --size=1m --rw=randread --randseed=42"),
        Case::report("no_repetition", "--name=a --size=1m --rw=randread --randrepeat=0"),
        Case::report("blocks_larger_than_the_rest", "--name=a --size=100k --bs=64k --rw=write"),
        Case::report("zipf", "--name=a --size=1m --rw=randread --random_distribution=zipf:1.1"),
    ]
}

/// Files and directories that are named more than once.
pub(super) fn names_that_add_up() -> Vec<Case> {
    vec![
        Case::report("files_named_twice_add_up", "--name=a --filename=x:y --filename=z --size=96k --bs=16k --rw=write"),
        // plumb lays it out once.
        Case::own_format(
            "a_file_named_twice_is_two",
            "--output-format=json --name=a --filename=x --filename=x --size=64k --bs=16k --rw=write",
        ),
        Case::report("files_of_global_and_of_each_job_add_up", "--filename=g x.fio").file(
            "x.fio",
            "[global]\nsize=96k\nbs=16k\nrw=write\nfilename=f\n[a]\nfilename=x\n[b]\nstonewall\nfilename=y\nfilename=z\n",
        ),
        Case::report("clones_use_the_first_directory_of_named_files", "--name=a --directory=d:e --filename=x --numjobs=2 --size=64k --rw=write")
            .file("d/already", "here")
            .file("e/already", "here"),
        Case::report("directories_opened_twice_add_up", "--name=a --opendir=d --opendir=e --rw=read --bs=4k")
            .file("d/x", &"x".repeat(8192))
            .file("e/y", &"y".repeat(8192)),
    ]
}

/// Trims of a device, by several engines.
pub(super) fn trims_of_a_device() -> Vec<Case> {
    vec![
        Case::report(
            "trims_by_libaio",
            "--name=a --filename={dev} --size=4m --rw=trim --bs=64k --ioengine=libaio --iodepth=8",
        )
        .on_device(),
        Case::report(
            "trims_by_posixaio",
            "--name=a --filename={dev} --size=4m --rw=randtrim --bs=64k --ioengine=posixaio",
        )
        .on_device(),
        Case::report(
            "trims_by_io_uring_at_depth",
            "--name=a --filename={dev} --size=4m --rw=randtrim --bs=64k --ioengine=io_uring --iodepth=8",
        )
        .on_device()
        .free_depths()
        .newest_only(),
        Case::report("trims_on_a_device", "--name=a --filename={dev} --size=4m --rw=trim --bs=64k").on_device(),
        Case::report("random_trims_on_a_device", "--name=a --filename={dev} --size=4m --rw=randtrim --bs=64k")
            .on_device(),
        Case::report("trimwrite_on_a_device", "--name=a --filename={dev} --size=4m --rw=trimwrite --bs=64k")
            .on_device(),
    ]
}

/// Times, rates and pauses.
pub(super) fn paces() -> Vec<Case> {
    vec![
        Case::report("a_runtime", "--name=a --size=1m --rw=randread --runtime=1300ms --time_based").free_amounts().sampled(),
        Case::report("a_runtime_of_writes", "--name=a --size=4m --rw=randwrite --timeout=2 --time_based").free_amounts().sampled(),
        Case::report("a_runtime_that_is_not_needed", "--name=a --size=1m --rw=read --runtime=30"),
        Case::report("a_ramp", "--name=a --size=1m --rw=randread --ramp_time=1 --runtime=1300ms --time_based").free_amounts().sampled(),
        Case::report("a_start_delay", "--name=a --size=256k --startdelay=500ms --name=b --size=256k"),
        Case::report("rate", "--name=a --size=64m --bs=16k --rw=write --rate=4m --runtime=2 --time_based").rate(256.0, 4_194_304.0),
        Case::report("rate_of_reads_at_depth", "--name=a --size=16m --bs=4k --rw=randread --rate=2m --ioengine=libaio --direct=1 --iodepth=4 --runtime=2 --time_based")
            .rate(512.0, 2_097_152.0).free_depths(),
        Case::report("rate_iops", "--name=a --size=16m --bs=4k --rw=randread --rate_iops=1000 --runtime=2 --time_based").rate(1000.0, 4_096_000.0),
        Case::report("rate_iops_of_null", "--name=a --size=1g --ioengine=null --rw=write --rate_iops=5000 --runtime=2 --time_based")
            .rate(5000.0, 20_480_000.0),
        Case::report("rate_for_each_clone", "--name=a --size=16m --bs=8k --rw=read --rate_iops=400 --numjobs=2 --runtime=2 --time_based")
            .rate(400.0, 3_276_800.0),
        Case::report("think_time", "--name=a --size=256k --rw=read --thinktime=5000 --runtime=10"),
        // thinktime_spin is not here: fio itself hangs with it when the machine is busy. Virtual time proves ours.
        Case::report("think_time_by_blocks", "--name=a --size=512k --rw=read --thinktime=20ms --thinktime_blocks=8"),
    ]
}

/// What the buffers hold and where they live.
pub(super) fn buffers() -> Vec<Case> {
    let write = |name, words: &str| Case::report(name, &format!("--name=a --size=256k --rw=write {words}"));
    vec![
        write("zero_buffers", "--zero_buffers").same_contents(),
        write("refill_buffers", "--refill_buffers"),
        write("no_scrambling", "--scramble_buffers=0"),
        write("a_pattern_in_hexadecimal", "--buffer_pattern=0xdeadbeef").same_contents(),
        write("a_pattern_of_text", "").word("--buffer_pattern=\"plumb\"").same_contents(),
        write("a_pattern_of_parts_in_a_row", "").word("--buffer_pattern=\"abcd\"-120xdeadface").same_contents(),
        write("a_pattern_of_numbers", "--buffer_pattern=65535-129+5").same_contents(),
        write("a_pattern_of_a_file", "").word("--buffer_pattern='f'").file("f", "from a file, ").same_contents(),
        Case::refused("a_pattern_with_a_number_too_large", "--name=a --size=4k --rw=write --buffer_pattern=4294967294"),
        Case::refused("a_pattern_that_ends_in_a_sign", "--name=a --size=4k --rw=write --buffer_pattern=1-"),
        write("memory_mapped", "--mem=mmap"),
        write("memory_shared", "--mem=shm"),
        write("memory_mapped_and_shared", "--mem=mmapshared"),
        write("locked_memory", "--lockmem=1m"),
    ]
}
