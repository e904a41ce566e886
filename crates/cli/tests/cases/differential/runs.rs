//! Cases about running: files, workers, engines, and what is measured.

use super::case::Case;

/// Files: how they are opened, made, flushed and removed.
pub(super) fn files() -> Vec<Case> {
    let write = |name, words: &str| Case::report(name, &format!("--name=a --size=256k --rw=write {words}"));
    vec![
        write("direct", "--direct=1"),
        write("sync", "--sync=1"),
        write("dsync", "--sync=dsync"),
        write("fsync", "--fsync=16"),
        // The oracle counts fdatasyncs as short reads; 3.42 and we count them as syncs.
        Case::status("fdatasync", "--name=a --size=256k --rw=write --fdatasync=16"),
        write("end_fsync", "--end_fsync=1"),
        write("fsync_on_close", "--fsync_on_close=1"),
        write("fallocate_none", "--fallocate=none"),
        write("fallocate_posix", "--fallocate=posix"),
        write("fallocate_keep", "--fallocate=keep"),
        write("fallocate_truncate", "--fallocate=truncate"),
        write("overwrite", "--overwrite=1"),
        write("unlink", "--unlink=1"),
        write("create_only", "--create_only=1"),
        write("a_directory", "--directory=d").file("d/already", "here"),
        write("a_file_name", "--filename=there"),
        write("several_file_names", "--filename=one:two"),
        write("a_file_in_a_new_directory", "--filename=new/deep/file"),
        Case::report("no_invalidation", "--name=a --size=256k --invalidate=0"),
        Case::report("pre_read", "--name=a --size=1m --rw=randread --pre_read=1"),
        Case::report("a_file_that_is_there", "--name=a --filename=f --rw=read").file("f", &"x".repeat(65536)),
        Case::report("a_share_of_a_file", "--name=a --filename=f --size=50% --rw=read").file("f", &"x".repeat(65536)),
        Case::report("a_larger_file_is_left_alone", "--name=a --filename=f --size=16k --rw=write")
            .file("f", &"x".repeat(65536)),
        Case::report("a_smaller_file_grows", "--name=a --filename=f --size=64k --rw=read").file("f", "short"),
        Case::status("trims_on_a_file_fail", "--name=a --size=64k --rw=trim"),
        Case::status("a_directory_that_is_not_there", "--name=a --size=64k --directory=nosuch"),
        Case::status("a_new_file_without_a_size", "--name=a --filename=nosuch --rw=read"),
        Case::status("no_file_may_be_made", "--name=a --size=64k --allow_file_create=0"),
    ]
}

/// Workers: how many, in which order, and how they end.
pub(super) fn workers() -> Vec<Case> {
    const FOREVER: &str = "--size=1m --runtime=20 --time_based --rate_iops=200";
    vec![
        Case::report("clones", "--name=a --size=256k --numjobs=3 --rw=write"),
        Case::report("clones_reported_together", "--name=a --size=256k --numjobs=4 --group_reporting --rw=randread"),
        // Text only: in JSON the oracle shows the first job's name with the last job's options.
        Case::own_format(
            "two_jobs_reported_together",
            "--group_reporting --size=256k --name=a --rw=read --name=b --rw=write",
        ),
        Case::report(
            "a_new_group",
            "--group_reporting --size=256k --name=a --numjobs=2 --name=b --new_group --rw=write",
        ),
        Case::report("a_stonewall", "--size=256k --name=a --rw=write --name=b --stonewall --name=c --rw=write"),
        Case::report("wait_for", "--size=256k --name=a --rw=write --name=b --wait_for=a"),
        Case::report("threads", "--name=a --size=256k --thread --numjobs=2 --rw=randread"),
        Case::report("threads_and_processes", "--size=256k --name=a --thread --name=b --rw=write"),
        // The first job lasts nearly a second, so that the second is at work for certain when it is ended.
        Case::report("exitall", &format!("--name=a --size=1m --rate_iops=300 --name=b {FOREVER} --exitall"))
            .free_amounts(),
        Case::report("on_a_cpu", "--name=a --size=256k --cpus_allowed=0"),
        Case::report("nice", "--name=a --size=256k --nice=5"),
        Case::report("a_priority", "--name=a --size=256k --prio=3 --prioclass=2"),
        Case::report("an_interrupt", &format!("--name=a {FOREVER}")).signal(3000, "INT").free_amounts().sampled(),
        Case::report("a_termination", &format!("--name=a {FOREVER}")).signal(3000, "TERM").free_amounts().sampled(),
        Case::report("one_of_two_fails", "--name=a --filename=nosuch --name=b --size=64k").ends(1),
    ]
}

/// Engines.
pub(super) fn engines() -> Vec<Case> {
    let sync =
        |name, engine: &str| Case::report(name, &format!("--name=a --size=1m --rw=write --bs=8k --ioengine={engine}"));
    let queued = |name, words: &str| {
        Case::report(name, &format!("--name=a --size=2m --rw=randread --direct=1 {words}")).free_depths()
    };
    vec![
        sync("engine_sync", "sync"),
        sync("engine_psync", "psync"),
        sync("engine_vsync", "vsync"),
        sync("engine_pvsync", "pvsync"),
        sync("engine_pvsync2", "pvsync2"),
        sync("engine_mmap", "mmap"),
        Case::report("engine_sync_at_depth_8", "--name=a --size=256k --ioengine=sync --iodepth=8"),
        Case::report("engine_mmap_of_random_reads", "--name=a --size=1m --rw=randread --ioengine=mmap"),
        Case::report("engine_null", "--name=a --size=64m --rw=write --ioengine=null"),
        Case::report("engine_null_at_depth_16", "--name=a --size=16m --rw=randread --ioengine=null --iodepth=16")
            .free_depths(),
        Case::report("engine_null_trims", "--name=a --size=16m --rw=randtrim --ioengine=null"),
        queued("engine_libaio", "--ioengine=libaio --iodepth=16"),
        queued("engine_libaio_batches", "--ioengine=libaio --iodepth=16 --iodepth_batch=4 --iodepth_batch_complete=4"),
        queued(
            "engine_libaio_low_mark",
            "--ioengine=libaio --iodepth=32 --iodepth_batch=8 --iodepth_batch_complete=0 --iodepth_low=8",
        ),
        queued("engine_libaio_reaping_in_user_space", "--ioengine=libaio --iodepth=8 --userspace_reap"),
        queued("engine_io_uring", "--ioengine=io_uring --iodepth=16"),
        queued("engine_io_uring_fixed", "--ioengine=io_uring --iodepth=16 --fixedbufs --registerfiles"),
        queued("engine_io_uring_vectored", "--ioengine=io_uring --iodepth=4 --nonvectored=0"),
        queued("engine_io_uring_forced_asynchronous", "--ioengine=io_uring --iodepth=4 --force_async=1"),
        queued("engine_io_uring_polled_queue", "--ioengine=io_uring --iodepth=4 --sqthread_poll"),
        queued("engine_posixaio", "--ioengine=posixaio --iodepth=4"),
        queued("engine_posixaio_writes", "--rw=write --ioengine=posixaio --iodepth=4"),
        queued("engine_libaio_writes_and_fsyncs", "--rw=randwrite --ioengine=libaio --iodepth=8 --fsync=16"),
        queued("engine_libaio_mixed", "--rw=randrw --ioengine=libaio --iodepth=8").mixed(),
    ]
}

/// What is measured.
pub(super) fn measures() -> Vec<Case> {
    let read = |name, words: &str| Case::report(name, &format!("--name=a --size=1m --rw=randread {words}"));
    let aio = "--ioengine=libaio --direct=1 --iodepth=8";
    vec![
        read("without_lat", "--disable_lat=1"),
        read("without_clat", "--disable_clat=1"),
        read("without_slat", &format!("--disable_slat=1 {aio}")).free_depths(),
        // The oracle shows bandwidth all the same; we do not.
        read("without_bandwidth", "--disable_bw=1 --runtime=1200ms --time_based").free_amounts(),
        read("without_any_latency", "--disable_lat=1 --disable_clat=1 --disable_slat=1 --clat_percentiles=0"),
        read("gtod_reduce", &format!("--gtod_reduce=1 {aio}")).free_depths(),
        read("without_percentiles", "--clat_percentiles=0"),
        read("percentiles_of_lat", "--lat_percentiles=1 --clat_percentiles=0"),
        read("percentiles_of_both", "--lat_percentiles=1 --clat_percentiles=1"),
        read("a_list_of_percentiles", "--percentile_list=50:90:99.9:99.99"),
    ]
}
