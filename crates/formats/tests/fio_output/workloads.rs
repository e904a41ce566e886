//! The workloads that fio is asked to run. `file` is a file of 16 MiB in the current directory.

/// One command line of fio, without the choice of formats.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static str,
    /// Whether its output is also kept as a golden file.
    pub(crate) golden: bool,
}

const fn run(name: &'static str, arguments: &'static str) -> Workload {
    Workload { name, arguments, golden: false }
}

const fn kept(name: &'static str, arguments: &'static str) -> Workload {
    Workload { name, arguments, golden: true }
}

#[rustfmt::skip]
pub(crate) const WORKLOADS: &[Workload] = &[
    kept("null-randrw", "--name=a --ioengine=null --size=1g --rw=randrw --bs=4k"),
    kept("psync-write-fsync", "--name=w --ioengine=psync --size=4m --rw=write --bs=8k --filename=w --fsync=8"),
    kept("libaio-randread", "--name=r --ioengine=libaio --size=16m --iodepth=16 --direct=1 --rw=randread --bs=4k --filename=file --time_based --runtime=2"),
    kept("group-reporting", "--name=r --ioengine=libaio --size=16m --iodepth=4 --direct=1 --rw=randread --bs=4k --filename=file --time_based --runtime=2 --numjobs=3 --group_reporting"),
    kept("two-groups", "--size=16m --name=r --ioengine=psync --rw=read --bs=4k --filename=file --numjobs=2 --group_reporting --name=w --stonewall --rw=randwrite --ioengine=null --iodepth=4"),
    kept("all-percentiles", "--size=16m --name=r --ioengine=libaio --direct=1 --iodepth=4 --rw=randread --bs=4k --filename=file --lat_percentiles=1 --clat_percentiles=1 --slat_percentiles=1 --percentile_list=1:50:99.999"),
    kept("no-such-file", "--size=16m --name=r --ioengine=psync --rw=randread --filename=missing/f1 --readonly --allow_file_create=0"),
    kept("disk-full", "--size=16m --name=w --ioengine=psync --rw=write --bs=8k --filename=/dev/full"),
    kept("bits", "--size=16m --name=r --ioengine=libaio --direct=1 --iodepth=4 --rw=randread --bs=4k --filename=file --unit_base=1 --time_based --runtime=1"),
    kept("kb-base-1000", "--size=16m --name=r --ioengine=libaio --direct=1 --iodepth=4 --rw=randread --bs=4k --filename=file --kb_base=1000 --time_based --runtime=1"),
    kept("numjobs", "--size=16m --name=r --ioengine=libaio --iodepth=4 --direct=1 --rw=randread --bs=4k --filename=file --time_based --runtime=2 --numjobs=3"),
    run("psync-randread", "--size=16m --name=r --ioengine=psync --rw=randread --bs=4k --filename=file"),
    run("psync-direct", "--size=16m --name=r --ioengine=psync --rw=randread --bs=4k --filename=file --direct=1 --number_ios=50"),
    run("libaio-batches", "--size=16m --name=r --ioengine=libaio --iodepth=8 --direct=1 --rw=randrw --bs=4k --filename=file --iodepth_batch=4 --iodepth_batch_complete_max=8"),
    run("lat-percentiles", "--size=16m --name=r --ioengine=psync --rw=randread --bs=4k --filename=file --lat_percentiles=1 --clat_percentiles=0 --percentile_list=50:99.9:99.99"),
    run("whole-percentiles", "--size=16m --name=r --ioengine=null --rw=randread --bs=4k --percentile_list=50:90"),
    run("no-percentiles", "--size=1m --name=r --ioengine=psync --rw=write --bs=4k --filename=w --clat_percentiles=0"),
    run("fdatasync", "--size=1m --name=r --ioengine=psync --rw=write --bs=4k --filename=w --fdatasync=16"),
    run("fsync-lat-percentiles", "--size=1m --name=r --ioengine=psync --rw=write --bs=4k --filename=w --fsync=4 --lat_percentiles=1 --clat_percentiles=0"),
    run("sync-writes", "--size=256k --name=r --ioengine=psync --rw=randwrite --bs=4k --filename=w --sync=1"),
    run("sync-at-depth-16", "--size=1m --name=r --ioengine=psync --iodepth=16 --rw=read --bs=4k --filename=file"),
    run("vsync", "--size=1m --name=r --ioengine=vsync --rw=read --bs=4k --filename=file"),
    run("mmap", "--size=1m --name=r --ioengine=mmap --rw=randrw --bs=4k --filename=file"),
    run("io-uring", "--size=4m --name=r --ioengine=io_uring --rw=randread --bs=4k --filename=file --direct=1 --iodepth=32 --iodepth_batch_complete_min=0"),
    run("posixaio", "--size=4m --name=r --ioengine=posixaio --rw=randread --bs=4k --filename=file --iodepth=4"),
    run("ramp", "--size=16m --name=r --ioengine=null --rw=randread --bs=4k --time_based --runtime=1 --ramp_time=1"),
    run("rate", "--size=16m --name=r --ioengine=psync --rw=rw --bs=4k --filename=file --rate=1m,500k --time_based --runtime=1"),
    run("stonewalls", "--size=4m --ioengine=null --rw=write --name=a --name=b --stonewall --name=c --stonewall --new_group"),
    run("long-percentile-names", "--size=16m --name=r --ioengine=psync --rw=randread --bs=4k --filename=file --percentile_list=1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.99999"),
    run("no-lat", "--size=16m --name=r --ioengine=libaio --direct=1 --iodepth=4 --rw=randrw --bs=4k --filename=file --disable_lat=1"),
    run("no-clat", "--size=16m --name=r --ioengine=libaio --direct=1 --iodepth=4 --rw=randrw --bs=4k --filename=file --disable_clat=1"),
    run("no-slat", "--size=16m --name=r --ioengine=libaio --direct=1 --iodepth=4 --rw=randrw --bs=4k --filename=file --disable_slat=1"),
    run("gtod-reduce", "--size=16m --name=r --ioengine=libaio --direct=1 --iodepth=4 --rw=randrw --bs=4k --filename=file --gtod_reduce=1 --time_based --runtime=1"),
    run("six-figures", "--size=16m --name=r --ioengine=libaio --direct=1 --iodepth=4 --rw=randread --bs=4k --filename=file --significant_figures=6"),
    run("one-figure", "--size=16m --name=r --ioengine=null --rw=randread --bs=4k --significant_figures=1"),
    run("description", "--size=16m --name=r --description=somewords --ioengine=null --rw=randread --bsrange=1k-64k,4k-8k"),
    run("nothing-done", "--size=16m --name=r --ioengine=psync --rw=randread --bs=4k --filename=laid-out --create_only=1"),
    run("slow", "--size=16m --name=r --ioengine=psync --rw=randread --bs=4k --filename=file --rate_iops=3 --time_based --runtime=2"),
    run("threads", "--size=16m --name=r --thread --ioengine=psync --rw=randread --bs=4k --filename=file --numjobs=2 --name=p --ioengine=null --iodepth=3 --rw=write"),
    run("four-files", "--size=16m --name=zz --ioengine=psync --rw=randrw --bs=4k --nrfiles=4"),
    run("continue-on-error", "--size=16m --name=zz --ioengine=psync --rw=randrw --bs=4k --continue_on_error=all --ignore_error=EIO --filename=file"),
    run("forgiven-errors", "--size=1m --name=zz --ioengine=psync --rw=write --bs=4k --continue_on_error=all --ignore_error=,ENOSPC --filename=/dev/full"),
    run("one-io", "--size=16m --name=r --ioengine=psync --direct=1 --rw=randread --bs=4k --filename=file --number_ios=1 --norandommap"),
    run("three-sizes", "--size=1m --kb_base=1000 --name=r --ioengine=null --rw=randrw --bs=1000,1023,100500 --significant_figures=3 --name=b --bs=4k,64k"),
    run("trim", "--size=16m --name=r --ioengine=null --rw=randtrim --bs=4k --iodepth=4"),
    run("trimwrite", "--size=16m --name=r --ioengine=null --rw=trimwrite --bs=4k --iodepth=4"),
    run("gigabytes", "--size=1g --name=r --ioengine=null --rw=randread --bs=64k --time_based --runtime=1"),
    run("gigabytes-1000", "--size=1g --name=r --ioengine=null --rw=randread --bs=64k --time_based --runtime=1 --kb_base=1000"),
    run("two-jobs-in-a-group", "--size=16m --group_reporting --name=a --ioengine=null --rw=read --name=b --ioengine=null --rw=write --iodepth=8"),
];
