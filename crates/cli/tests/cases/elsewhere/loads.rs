//! The loads whose reports are judged: engines, patterns, depths, jobs, groups, rates, verification, sizes.

/// A load by the words of fio that make it; `{direct}` stands for direct I/O where files are on a disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) name: &'static str,
    pub(super) words: &'static str,
}

const fn load(name: &'static str, words: &'static str) -> Load {
    Load { name, words }
}

impl Load {
    /// True of remarks that say what the load really is: in memory it is a load of the processors, and some engines
    /// move no data. What is read from files in a page cache does not come from their disk.
    pub(super) fn is_true_of(&self, line: &str) -> bool {
        let moves_nothing =
            ["null", "cpuio", "falloc"].iter().any(|engine| self.words.contains(&format!("ioengine={engine}")));
        let is_cached = !self.words.contains("{direct}");
        line.contains(": client CPU: ")
            || (moves_nothing && line.contains(": nothing moved: "))
            || (is_cached && line.contains(": cache: "))
    }
}

/// Run in each gate, in one form each.
#[rustfmt::skip]
pub(super) const OFTEN: &[Load] = &[
    load("psync-read", "--ioengine=psync --rw=read --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("psync-randread-buf", "--ioengine=psync --rw=randread --bs=4k --runtime=100ms --time_based --size=4m"),
    load("psync-write-buf", "--ioengine=psync --rw=write --bs=64k --size=8m"),
    load("psync-write-fsync", "--ioengine=psync --rw=randwrite --bs=4k --fsync=8 --runtime=100ms --time_based --size=4m"),
    load("psync-fdatasync1", "--ioengine=psync --rw=write --bs=4k --fdatasync=1 --runtime=100ms --time_based --size=4m"),
    load("psync-endfsync", "--ioengine=psync --rw=write --bs=128k --size=16m --end_fsync=1"),
    load("psync-sync", "--ioengine=sync --rw=randwrite --bs=4k --sync=1 --runtime=100ms --time_based --size=4m"),
    load("libaio-8", "--ioengine=libaio --iodepth=8 --rw=randread --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("libaio-32", "--ioengine=libaio --iodepth=32 --rw=randwrite --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("libaio-32-rw", "--ioengine=libaio --iodepth=32 --rw=randrw --bs=8k {direct} --runtime=100ms --time_based --size=4m"),
    load("libaio-batch", "--ioengine=libaio --iodepth=32 --iodepth_batch=8 --iodepth_batch_complete_min=8 --rw=randread --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("libaio-nj4", "--ioengine=libaio --iodepth=8 --numjobs=4 --rw=randread --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("libaio-nj4-g", "--ioengine=libaio --iodepth=8 --numjobs=4 --group_reporting --rw=randread --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("libaio-nj4-g-rw", "--ioengine=libaio --iodepth=8 --numjobs=4 --group_reporting --rw=randrw --rwmixread=70 --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("libaio-nj4-g-thread", "--ioengine=libaio --iodepth=8 --numjobs=4 --group_reporting --thread --rw=randwrite --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("uring-8", "--ioengine=io_uring --iodepth=8 --rw=randread --bs=16k {direct} --runtime=100ms --time_based --size=4m"),
    load("uring-32-nj4", "--ioengine=io_uring --iodepth=32 --numjobs=4 --rw=randrw --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("mmap-read", "--ioengine=mmap --rw=randread --bs=4k --runtime=100ms --time_based --size=4m"),
    load("mmap-write", "--ioengine=mmap --rw=randwrite --bs=4k --runtime=100ms --time_based --size=4m"),
    load("null-read", "--ioengine=null --rw=randread --bs=4k --runtime=100ms --time_based --size=4m"),
    load("null-rw-4", "--ioengine=null --rw=randrw --bs=4k --numjobs=4 --group_reporting --runtime=100ms --time_based --size=4m"),
    load("cpuio-io", "--name=c --ioengine=cpuio --cpuload=20 --runtime=100ms --time_based --name=io --ioengine=psync --rw=read --bs=4k --runtime=100ms --time_based --size=4m"),
    load("verify-w", "--ioengine=psync --rw=randwrite --bs=4k {direct} --size=2m --verify=crc32c"),
    load("verify-rw", "--ioengine=libaio --iodepth=8 --rw=randrw --bs=4k {direct} --size=2m --verify=crc32c"),
    load("verify-seqw", "--ioengine=libaio --iodepth=16 --rw=write --bs=16k {direct} --size=8m --verify=md5"),
    load("verify-backlog", "--ioengine=psync --rw=write --bs=4k {direct} --size=2m --verify=crc32c --verify_backlog=16"),
    load("verify-nj", "--ioengine=psync --rw=write --bs=4k {direct} --size=1m --verify=crc32c --numjobs=4 --group_reporting"),
    load("verify-async", "--ioengine=libaio --iodepth=8 --rw=write --bs=4k {direct} --size=2m --verify=crc32c --verify_async=2"),
    load("rate", "--ioengine=psync --rw=read --bs=4k {direct} --rate=1m --runtime=100ms --time_based --size=4m"),
    load("rate-iops", "--ioengine=libaio --iodepth=8 --rw=randread --bs=4k {direct} --rate_iops=500 --runtime=100ms --time_based --size=4m"),
    load("think", "--ioengine=psync --rw=randread --bs=4k {direct} --thinktime=1000 --runtime=100ms --time_based --size=4m"),
    load("bsrange", "--ioengine=psync --rw=randread --bsrange=4k-64k {direct} --runtime=100ms --time_based --size=4m"),
    load("bssplit", "--ioengine=libaio --iodepth=8 --rw=randrw --bssplit=4k/50:64k/50 {direct} --runtime=100ms --time_based --size=4m"),
    load("bs-odd", "--ioengine=psync --rw=read --bs=5000 --size=999999"),
    load("one-io", "--ioengine=psync --rw=read --bs=1m --size=1m {direct}"),
    load("tiny-g", "--ioengine=psync --rw=read --bs=4k --size=16k --numjobs=4 --group_reporting"),
    load("two-jobs", "{direct} --bs=4k --runtime=100ms --time_based --size=4m --name=r --ioengine=psync --rw=randread --name=w --ioengine=libaio --iodepth=8 --rw=randwrite"),
    load("two-jobs-g", "{direct} --bs=4k --group_reporting --runtime=100ms --time_based --size=4m --name=r --ioengine=psync --rw=randread --name=w --ioengine=libaio --iodepth=8 --rw=randwrite"),
    load("two-groups", "{direct} --bs=4k --group_reporting --runtime=100ms --time_based --size=4m --name=r --ioengine=psync --rw=randread --numjobs=2 --name=w --ioengine=libaio --iodepth=8 --rw=randwrite --stonewall --numjobs=3"),
    load("unified", "--ioengine=libaio --iodepth=8 --rw=randrw --bs=4k {direct} --unified_rw_reporting=mixed --runtime=100ms --time_based --size=4m"),
    load("gtod-reduce", "--ioengine=libaio --iodepth=8 --rw=randread --bs=4k {direct} --gtod_reduce=1 --runtime=100ms --time_based --size=4m"),
    load("no-lat", "--ioengine=psync --rw=randread --bs=4k {direct} --disable_lat=1 --runtime=100ms --time_based --size=4m"),
    load("no-slat", "--ioengine=libaio --iodepth=8 --rw=randread --bs=4k {direct} --disable_slat=1 --runtime=100ms --time_based --size=4m"),
    load("lat-target", "--ioengine=libaio --iodepth=16 --rw=randread --bs=4k {direct} --latency_target=5ms --latency_window=50ms --latency_percentile=90 --runtime=100ms --time_based --size=4m"),
    load("sync-depth32", "--ioengine=sync --iodepth=32 --rw=randread --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
];

/// Run on request, like those above.
#[rustfmt::skip]
pub(super) const SELDOM: &[Load] = &[
    load("libaio-1", "--ioengine=libaio --iodepth=1 --rw=randread --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("libaio-buf-32", "--ioengine=libaio --iodepth=32 --rw=randread --bs=4k --runtime=100ms --time_based --size=4m"),
    load("uring-1", "--ioengine=io_uring --rw=randread --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("null-depth", "--ioengine=null --rw=read --iodepth=32 --bs=4k --size=64m"),
    load("cpuio", "--ioengine=cpuio --cpuload=50 --runtime=100ms --time_based"),
    load("rate-rw", "--ioengine=libaio --iodepth=8 --rw=randrw --bs=4k {direct} --rate=1m,2m --runtime=100ms --time_based --size=4m"),
    load("think-blocks", "--ioengine=psync --rw=randread --bs=4k {direct} --thinktime=2000 --thinktime_blocks=4 --runtime=100ms --time_based --size=4m"),
    load("bs-rwt", "--ioengine=psync --rw=randrw --bs=4k,16k {direct} --runtime=100ms --time_based --size=4m"),
    load("trim", "--ioengine=psync --rw=randwrite --bs=4k --size=4m --number_ios=1"),
    load("few", "--ioengine=psync --rw=read --bs=4k --size=64k {direct}"),
    load("big", "--ioengine=psync --rw=read --bs=4m --size=16m {direct}"),
    load("ramp", "--ioengine=libaio --iodepth=8 --rw=randread --bs=4k {direct} --ramp_time=300ms --runtime=1 --time_based --size=8m"),
    load("two-sizes", "{direct} --bs=4k --ioengine=psync --name=r --rw=read --size=256k --name=w --rw=read --size=8m"),
    load("unified-both", "--ioengine=libaio --iodepth=8 --rw=randrw --bs=4k {direct} --unified_rw_reporting=both --runtime=100ms --time_based --size=4m"),
    load("unified-g", "--ioengine=psync --rw=randrw --bs=4k {direct} --unified_rw_reporting=mixed --numjobs=4 --group_reporting --runtime=100ms --time_based --size=4m"),
    load("no-clat", "--ioengine=libaio --iodepth=8 --rw=randread --bs=4k {direct} --disable_clat=1 --runtime=100ms --time_based --size=4m"),
    load("lat-pct", "--ioengine=libaio --iodepth=8 --rw=randrw --bs=4k {direct} --lat_percentiles=1 --slat_percentiles=1 --runtime=100ms --time_based --size=4m"),
    load("pct-list", "--ioengine=psync --rw=randread --bs=4k {direct} --percentile_list=1:50:99.999:100 --runtime=100ms --time_based --size=4m"),
    load("kb1000", "--ioengine=psync --rw=read --bs=4k {direct} --kb_base=1000 --unit_base=1 --runtime=100ms --time_based --size=4m"),
    load("loops", "--ioengine=psync --rw=read --bs=64k --size=4m --loops=5 {direct}"),
    load("io-size", "--ioengine=psync --rw=randread --bs=4k --size=8m --io_size=1m {direct}"),
    load("zipf", "--ioengine=psync --rw=randread --bs=4k --random_distribution=zipf:1.1 {direct} --runtime=100ms --time_based --size=4m"),
    load("files", "--ioengine=psync --rw=randread --bs=4k --nrfiles=8 --filesize=512k {direct} --runtime=100ms --time_based"),
    load("serialize", "--ioengine=libaio --iodepth=16 --serialize_overlap=1 --rw=randwrite --bs=4k {direct} --size=1m --runtime=100ms --time_based"),
    load("posixaio", "--ioengine=posixaio --iodepth=8 --rw=randread --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("pvsync2", "--ioengine=pvsync2 --rw=randwrite --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("splice", "--ioengine=splice --rw=read --bs=4k --runtime=100ms --time_based --size=4m"),
    load("vsync", "--ioengine=vsync --rw=read --bs=4k --iodepth=8 --runtime=100ms --time_based --size=4m"),
    load("falloc", "--ioengine=falloc --rw=write --bs=64k --size=4m"),
    load("readwrite-mix0", "--ioengine=psync --rw=rw --rwmixread=99 --bs=4k {direct} --runtime=100ms --time_based --size=4m"),
    load("exitall", "--exitall {direct} --bs=4k --ioengine=psync --name=r --rw=read --size=256k --name=w --rw=read --size=64m"),
    load("prio", "--ioengine=libaio --iodepth=8 --rw=randread --bs=4k {direct} --cmdprio_percentage=30 --cmdprio_class=2 --runtime=100ms --time_based --size=4m"),
    load("openrate", "--ioengine=libaio --iodepth=8 --rw=randread --bs=4k {direct} --rate_iops=300 --rate_process=poisson --runtime=100ms --time_based --size=4m"),
];

/// Groups of jobs on a disk, like and unlike, whose disks are read long enough to be compared.
#[rustfmt::skip]
pub(super) const GROUPS: &[Load] = &[
    load("group: like jobs", "--ioengine=libaio {direct} --size=8m --runtime=2 --time_based --group_reporting --name=a --numjobs=3 --rw=randread --bs=4k --iodepth=4"),
    load("group: two depths", "--ioengine=libaio {direct} --size=8m --runtime=2 --time_based --group_reporting --name=a --rw=randread --bs=4k --iodepth=16 --name=b --rw=randread --bs=4k --iodepth=1"),
    load("group: two sizes", "--ioengine=libaio {direct} --size=8m --runtime=2 --time_based --group_reporting --name=a --rw=randread --bs=4k --iodepth=2 --name=b --rw=randread --bs=64k --iodepth=2"),
    load("group: a reader and a writer", "--ioengine=libaio {direct} --size=8m --runtime=2 --time_based --group_reporting --name=a --rw=randread --bs=4k --iodepth=16 --name=b --rw=write --bs=64k"),
    load("group: one with a rate", "--ioengine=libaio {direct} --size=8m --runtime=2 --time_based --group_reporting --name=a --rw=randread --bs=4k --rate_iops=200 --name=b --rw=randread --bs=4k --iodepth=8"),
    load("group: after a ramp", "--ioengine=libaio {direct} --size=8m --runtime=2 --time_based --group_reporting --ramp_time=1 --name=a --numjobs=2 --rw=read --bs=1m --iodepth=4"),
];
