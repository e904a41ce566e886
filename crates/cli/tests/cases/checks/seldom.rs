//! Further set-ups for the classes of the table, which run on request: other ways to the same causes.

use super::setups::{Rig, Setup, on_mounted, shell, throttled_by_turns};
use super::{Finding, findings, findings_in, findings_of_tests, fio};
use house::{Group, GroupLimit, LoopDevice, Mounted, Neighbour, Process, Run, children, signal};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

const fn setup(check: &'static str, how: &'static str, run: fn(&Rig) -> Vec<Finding>) -> Setup {
    Setup { check, how, run }
}

const READS: &str = "--direct=1 --rw=randread --bs=4k --size=8m --ioengine=psync";
const FLUSHED: &str = "--rw=randwrite --bs=4k --size=8m --io_size=1m --fsync=16 --ioengine=psync";

/// A file system over a sparse file in memory.
fn in_memory(rig: &Rig, mebibytes: u64, command: &str, options: &str) -> Mounted {
    on_sparse(rig.memory.path(), mebibytes, command, options)
}

/// A file system over a sparse file on the disk.
fn on_disk(rig: &Rig, mebibytes: u64, command: &str, options: &str) -> Mounted {
    on_sparse(rig.folder(), mebibytes, command, options)
}

fn on_sparse(directory: &Path, mebibytes: u64, command: &str, options: &str) -> Mounted {
    let device = LoopDevice::sparse(directory, mebibytes << 20).expect("a loop device: are we root?");
    Mounted::on(device, command, options).unwrap_or_else(|error| panic!("{command} {options}: {error}"))
}

/// What is found of a command that writes its result into a file, `{json}` among its words.
fn of_command(rig: &Rig, words: &str) -> Vec<Finding> {
    let json = rig.folder().join("result.json");
    let words = words.replace("{json}", &json.display().to_string());
    findings_of_tests(&words, &json)
}

/// A file of random bytes on the disk, and a run on it.
fn on_random_file(rig: &Rig, mebibytes: u32, words: &str) -> Vec<Finding> {
    shell(&format!("head -c {mebibytes}M /dev/urandom > \"$1\" && sync \"$1\""), &rig.folder().join("random"));
    findings(rig.on_file("random", words))
}

/// The command in a group with a limit on the rig's device.
fn limited(rig: &Rig, limit: GroupLimit, per_second: u64, sight: Sight, words: &str) -> Vec<Finding> {
    let group = Group::unlimited().expect("a control group with I/O limits");
    group.limit(&rig.name(), limit, per_second).expect("a control group with I/O limits");
    let run = rig.on_device(words);
    findings(match sight {
        Sight::Free => group.inside(run),
        Sight::Hidden => group.inside(without_groups(run)),
    })
}

/// If the limits of a group can be read from within.
#[derive(Clone, Copy)]
pub(super) enum Sight {
    Free,
    Hidden,
}

/// The run where the files of control groups are covered, as in many containers.
pub(super) fn without_groups(run: Run) -> Run {
    run.under(["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"", "sh"])
}

/// A run on the device next to another program's.
fn next_to(rig: &Rig, other: &str, ours: &str) -> Vec<Finding> {
    let other = rig.on_device(&format!("--runtime=60 --time_based {other}"));
    let _other = Neighbour::start(other, &rig.name());
    findings(rig.on_device(&format!("--runtime=2 --time_based {ours}")))
}

/// A run whose workers are stopped for some time.
fn stopped_for(rig: &Rig, milliseconds: u64, words: &str) -> Vec<Finding> {
    let run = rig.on_device(&format!("--runtime=3 --time_based {words}")).start();
    std::thread::sleep(Duration::from_millis(1200));
    let workers = children(run.id());
    assert!(!workers.is_empty(), "no worker after more than a second");
    workers.iter().for_each(|&worker| signal(worker, Signal::STOP));
    std::thread::sleep(Duration::from_millis(milliseconds));
    workers.iter().for_each(|&worker| signal(worker, Signal::CONT));
    findings_in(&run.end())
}

/// Buffered reads of a file of which a part is in memory.
fn partly_cached(rig: &Rig, mebibytes: u32, words: &str) -> Vec<Finding> {
    let first = format!("--rw=randread --bs=4k --ioengine=psync --io_size={mebibytes}m --randseed=1");
    on_random_file(rig, 16, &first);
    findings(rig.on_file("random", &format!("--rw=randread --bs=4k --invalidate=0 {words}")))
}

/// Sets a file of the device's queue directory during a run.
pub(super) fn with_setting<T>(rig: &Rig, file: &str, value: &str, run: impl FnOnce() -> T) -> T {
    // A loop device keeps its settings when it is detached, and the next test may get it.
    let setting = format!("/sys/block/{}/queue/{file}", rig.name());
    let before = std::fs::read_to_string(&setting).expect("a device has this setting");
    std::fs::write(&setting, value).expect("are we root?");
    let found = run();
    std::fs::write(&setting, before).expect("as just before");
    found
}

/// A process that computes without end on one processor, until it is dropped.
pub(super) struct Burner(#[expect(dead_code, reason = "it ends when dropped")] Process);

impl Burner {
    pub(super) fn on(processor: &str) -> Self {
        let run = Run::new("sh", &std::env::temp_dir()).words(["-c", "while :; do :; done"]);
        Burner(run.under(["taskset", "-c", processor]).start())
    }
}

/// The run on one processor.
pub(super) fn on_processor(processor: &str, run: Run) -> Run {
    run.under(["taskset", "-c", processor])
}

/// The set-ups, in the order of the classes.
#[rustfmt::skip]
pub(super) const SETUPS: &[Setup] = &[
    // Memory below.
    setup("backing", "xfs on a loop device over tmpfs", |rig| findings(on_mounted(&in_memory(rig, 320, "mkfs.xfs -q", "rw"), READS))),
    setup("backing", "btrfs on a loop device over tmpfs", |rig| findings(on_mounted(&in_memory(rig, 200, "mkfs.btrfs -q", "rw"), READS))),
    setup("backing", "a loop device over ext4 on a loop device over tmpfs", |rig| {
        let place = in_memory(rig, 64, "mkfs.ext4 -q", "rw");
        let device = LoopDevice::new(place.path(), 8 << 20).expect("a loop device");
        findings(fio(&format!("--name=a --filename={} {READS}", device.path().display())))
    }),
    setup("backing", "a bind mount of a tmpfs", |rig| {
        let place = Mounted::new(&["--bind", &rig.memory.path().display().to_string()]).expect("a bind mount");
        findings(on_mounted(&place, "--rw=read --bs=64k --size=8m --ioengine=psync"))
    }),
    setup("backing", "a survey of a loop device over tmpfs", |rig| {
        of_command(rig, &format!("survey --tests randread --users 1 --time 1s --output {{json}} {}", rig.device()))
    }),
    setup("backing", "iozone on tmpfs", |rig| {
        let file = rig.memory.path().join("iozone");
        of_command(rig, &format!("iozone -i 0 -i 1 -e -s 16m -r 64k -f {} --json={{json}}", file.display()))
    }),
    setup("cache", "iozone reads back what it just wrote", |rig| {
        let file = rig.folder().join("iozone");
        of_command(rig, &format!("iozone -i 0 -i 1 -e -s 16m -r 64k -f {} --json={{json}}", file.display()))
    }),
    setup("cache", "mmap of a warm file", |rig| on_random_file(rig, 16, "--rw=read --bs=64k --ioengine=mmap --invalidate=0")),
    setup("cache", "io_uring on a warm file", |rig| on_random_file(rig, 16, "--rw=randread --bs=4k --ioengine=io_uring --iodepth=4 --invalidate=0")),
    setup("cache", "a loop device over a warm file", |rig| {
        let device = LoopDevice::new(rig.folder(), 16 << 20).expect("a loop device");
        findings(fio(&format!("--name=a --filename={} {READS}", device.path().display())))
    }),
    setup("small set", "8 MiB at random, ten times", |rig| on_random_file(rig, 8, "--rw=randread --bs=16k --ioengine=psync --loops=10")),
    // Nothing stored there.
    setup("holes", "half of a file is punched out", |rig| {
        shell("head -c 16M /dev/urandom > \"$1\" && sync \"$1\" && fallocate -p -o 0 -l 8M \"$1\"", &rig.folder().join("half"));
        findings(rig.on_file("half", READS))
    }),
    setup("holes", "a sparse file on xfs", |rig| {
        let place = on_disk(rig, 320, "mkfs.xfs -q", "rw");
        shell("truncate -s 16M \"$1\"", &place.path().join("file"));
        findings(on_mounted(&place, READS))
    }),
    setup("holes", "a fallocated file on btrfs", |rig| {
        let place = on_disk(rig, 200, "mkfs.btrfs -q", "rw");
        shell("fallocate -l 16M \"$1\"", &place.path().join("file"));
        findings(on_mounted(&place, READS))
    }),
    setup("contents", "zeros on ext4 on a loop device", |rig| {
        let place = on_disk(rig, 64, "mkfs.ext4 -q", "rw");
        shell("head -c 8M /dev/zero > \"$1\" && sync \"$1\"", &place.path().join("file"));
        findings(on_mounted(&place, READS))
    }),
    setup("compressible", "btrfs that compresses", |rig| findings(on_mounted(&on_disk(rig, 200, "mkfs.btrfs -q", "compress=zstd"), FLUSHED))),
    setup("compressible", "a file on btrfs with the attribute c", |rig| {
        let place = on_disk(rig, 200, "mkfs.btrfs -q", "rw");
        shell("touch \"$1\" && chattr +c \"$1\" && head -c 8M /dev/urandom >> \"$1\" && sync \"$1\"", &place.path().join("file"));
        findings(on_mounted(&place, FLUSHED))
    }),
    setup("compressible", "buffers of a pattern", |rig| findings(rig.on_device("--rw=write --bs=64k --ioengine=psync --buffer_pattern=0xdeadbeef --end_fsync=1"))),
    setup("compressible", "buffers that compress by 90 %", |rig| findings(rig.on_device("--rw=write --bs=64k --ioengine=psync --refill_buffers=1 --buffer_compress_percentage=90 --end_fsync=1"))),
    setup("compressible", "90 % of the blocks are repeats", |rig| findings(rig.on_device("--rw=write --bs=16k --ioengine=psync --dedupe_percentage=90 --end_fsync=1"))),
    setup("file properties", "two reflinked files on xfs are read", |rig| {
        let place = on_disk(rig, 400, "mkfs.xfs -q", "rw");
        shell("cd \"$1\" && head -c 8M /dev/urandom > one && cp --reflink=always one two && sync one two", place.path());
        let [one, two] = ["one", "two"].map(|name| place.path().join(name).display().to_string());
        findings(fio(&format!("--direct=1 --rw=randread --bs=4k --ioengine=psync --name=one --filename={one} --name=two --filename={two}")))
    }),
    setup("file properties", "small files on btrfs are inline", |rig| {
        let place = on_disk(rig, 200, "mkfs.btrfs -q", "rw");
        shell("cd \"$1\" && for i in $(seq 0 63); do head -c 1k /dev/urandom > a.0.$i; done && sync -f .", place.path());
        let words = "--rw=read --bs=1k --nrfiles=64 --filesize=1k --size=64k --ioengine=psync";
        findings(fio(&format!("--name=a --directory={} {words}", place.path().display())))
    }),
    setup("nothing moved", "cpuio", |_| findings(fio("--name=a --ioengine=cpuio --cpuload=50 --runtime=1 --time_based"))),
    // Flush without effect.
    setup("no flush", "direct writes to a device with a write cache", |rig| findings(rig.on_device("--rw=randwrite --bs=4k --ioengine=libaio --iodepth=4 --io_size=16m"))),
    setup("no flush", "buffered writes for a second, io_uring", |rig| findings(rig.on_file("file", "--rw=randwrite --bs=16k --size=16m --ioengine=io_uring --iodepth=4 --runtime=1 --time_based"))),
    setup("flush effect", "btrfs with nobarrier", |rig| findings(on_mounted(&on_disk(rig, 200, "mkfs.btrfs -q", "nobarrier"), FLUSHED))),
    setup("flush effect", "ext4 with barrier=0, synchronous writes", |rig| {
        findings(on_mounted(&on_disk(rig, 64, "mkfs.ext4 -q", "barrier=0"), "--rw=randwrite --bs=4k --size=8m --io_size=1m --sync=1 --ioengine=psync"))
    }),
    setup("flush effect", "a period of fdatasync that is not reached", |rig| findings(rig.on_device("--rw=randwrite --bs=4k --size=1m --fdatasync=300 --ioengine=psync"))),
    setup("flush effect", "ext4 on a loop device whose cache the kernel is set to ignore", |rig| with_setting(rig, "write_cache", "write through", || {
        shell("mkfs.ext4 -q \"$1\"", Path::new(&rig.device()));
        findings(on_mounted(&Mounted::new(&[&rig.device()]).expect("ext4"), FLUSHED))
    })),
    // The plan.
    setup("impossible plan", "ramp_time longer than runtime", |rig| findings(rig.on_device("--rw=randread --bs=4k --ioengine=psync --ramp_time=2 --runtime=1 --time_based"))),
    setup("overlap", "4 buffered readers of one file", |rig| on_random_file(rig, 16, "--rw=read --bs=64k --ioengine=psync --numjobs=4")),
    setup("overlap", "two jobs write one file", |rig| {
        let common = format!("--filename={} --rw=write --bs=64k --size=16m --direct=1 --ioengine=psync --end_fsync=1", rig.folder().join("both").display());
        findings(fio(&format!("{common} --name=one --name=two")))
    }),
    setup("busy users", "three of four jobs end early", |rig| {
        let common = format!("--filename={} --direct=1 --rw=randread --bs=4k --ioengine=psync", rig.device());
        findings(fio(&format!("{common} --name=short --io_size=256k --numjobs=3 --name=long --numjobs=1 --runtime=2 --time_based")))
    }),
    setup("depth", "buffered libaio", |rig| on_random_file(rig, 64, "--rw=randread --bs=4k --ioengine=libaio --iodepth=16 --runtime=2 --time_based")),
    setup("depth", "nr_requests below the depth", |rig| with_setting(rig, "nr_requests", "4", || {
        findings(rig.on_device("--rw=randread --bs=64k --ioengine=libaio --iodepth=32 --runtime=2 --time_based"))
    })),
    setup("depth", "two jobs of psync with iodepth=8", |rig| findings(rig.on_device("--rw=randread --bs=4k --ioengine=psync --iodepth=8 --numjobs=2 --runtime=1 --time_based"))),
    setup("mixed group", "4 KiB and 1 MiB writes in one group", |rig| {
        let common = format!("--filename={} --direct=1 --rw=randwrite --ioengine=psync --io_size=8m --end_fsync=1", rig.device());
        findings(fio(&format!("{common} --group_reporting --name=small --bs=4k --name=large --bs=1m")))
    }),
    setup("too short", "p99.99 of a second at 200 per second", |rig| findings(rig.on_device("--rw=randread --bs=4k --ioengine=psync --rate_iops=200 --runtime=1 --time_based --percentile_list=99.99"))),
    setup("split / merge", "a device that takes 64 KiB at once", |rig| with_setting(rig, "max_sectors_kb", "64", || {
        findings(rig.on_device("--rw=write --bs=4m --ioengine=libaio --iodepth=2 --loops=2 --end_fsync=1"))
    })),
    setup("amplification", "1 KiB buffered writes", |rig| findings(fio(&format!("--name=a --filename={} --rw=randwrite --bs=1k --ioengine=psync --end_fsync=1 --size=32m --io_size=2m", rig.device())))),
    // Time.
    setup("coordinated omission", "a queue stopped for 400 ms", |rig| stopped_for(rig, 400, "--rw=randread --bs=4k --ioengine=libaio --iodepth=4")),
    setup("coordinated omission", "a writer stopped for 700 ms", |rig| stopped_for(rig, 700, "--rw=randwrite --bs=4k --ioengine=psync --fdatasync=32")),
    setup("not steady", "a burst of one second", |rig| throttled_by_turns(rig, 9, &[(1_000, 200)])),
    setup("not steady", "slower each second", |rig| {
        let turns: Vec<(u64, u32)> = (0..9).map(|turn| (if turn == 0 { 0 } else { 1_000 }, 2_400 - 280 * turn)).collect();
        throttled_by_turns(rig, 9, &turns)
    }),
    setup("not steady", "50 reads/s in each third second", |rig| {
        let turns: Vec<(u64, u32)> = (0..10).map(|turn| if turn % 2 == 0 { (2_000, 50) } else { (1_000, 1_000_000) }).collect();
        throttled_by_turns(rig, 16, &turns)
    }),
    setup("not steady", "writes of 1 MB/s from the middle on", |rig| {
        let group = Group::unlimited().expect("a control group with I/O limits");
        let words = format!("--rw=randwrite --bs=16k --ioengine=psync --fsync=64 --runtime=6 --time_based --cgroup_nodelete=1 --cgroup={}", group.name());
        let run = rig.on_device(&words).start();
        std::thread::sleep(Duration::from_millis(3200));
        group.limit(&rig.name(), GroupLimit::BytesWritten, 1_000_000).expect("a control group with I/O limits");
        findings_in(&run.end())
    }),
    setup("two latencies", "a quarter of a file is cached, io_uring", |rig| partly_cached(rig, 4, "--ioengine=io_uring --iodepth=1")),
    setup("two latencies", "most of a file is cached", |rig| partly_cached(rig, 12, "--ioengine=psync")),
    // Hidden limits.
    setup("limiter", "1,500 reads/s, out of sight", |rig| limited(rig, GroupLimit::Reads, 1_500, Sight::Hidden, "--rw=randread --bs=4k --ioengine=libaio --iodepth=8 --ramp_time=1 --runtime=6 --time_based")),
    setup("limiter", "2,300 reads/s, out of sight", |rig| limited(rig, GroupLimit::Reads, 2_300, Sight::Hidden, "--rw=randread --bs=4k --ioengine=libaio --iodepth=16 --ramp_time=1 --runtime=6 --time_based")),
    setup("limiter", "25 MB/s, out of sight", |rig| limited(rig, GroupLimit::BytesRead, 25_000_000, Sight::Hidden, "--rw=read --bs=64k --ioengine=libaio --iodepth=8 --ramp_time=1 --runtime=6 --time_based")),
    setup("limiter", "a group of 20 MB read per second", |rig| limited(rig, GroupLimit::BytesRead, 20_000_000, Sight::Free, "--rw=read --bs=64k --ioengine=libaio --iodepth=4 --ramp_time=1 --runtime=5 --time_based")),
    setup("limiter", "a group of 200 writes/s", |rig| limited(rig, GroupLimit::Writes, 200, Sight::Free, "--rw=randwrite --bs=4k --ioengine=libaio --iodepth=4 --ramp_time=1 --runtime=5 --time_based --end_fsync=1")),
    setup("limiter", "a group of 5 MB written per second", |rig| limited(rig, GroupLimit::BytesWritten, 5_000_000, Sight::Free, "--rw=write --bs=16k --ioengine=psync --numjobs=2 --offset_increment=16m --size=16m --ramp_time=1 --runtime=5 --time_based --end_fsync=1")),
    setup("throttled", "a quota of 10 % for two jobs on a device", |rig| {
        let group = Group::with_processor_percent(10).expect("a control group with a processor quota");
        findings(group.inside(rig.on_device("--rw=randread --bs=4k --ioengine=psync --numjobs=2 --runtime=3 --time_based")))
    }),
    setup("client CPU", "a burner on the only processor of the workers", |rig| {
        let _burner = Burner::on("0");
        findings(on_processor("0", rig.on_device("--rw=randread --bs=4k --ioengine=psync --numjobs=2 --runtime=3 --time_based")))
    }),
    // Neighbours.
    setup("neighbour", "another program reads and writes", |rig| next_to(rig, "--rw=randrw --bs=64k --ioengine=libaio --iodepth=8", "--rw=randread --bs=4k --ioengine=libaio --iodepth=2")),
    // 100 KiB/s are too few for the traffic to tell: only its flushes do.
    setup("neighbour", "the log of another program, 200 flushes/s of 512 bytes", |rig| {
        let mut found = next_to(rig, "--rw=write --bs=512 --fsync=1 --rate_iops=200 --ioengine=psync", "--rw=randread --bs=4k --ioengine=psync");
        found.retain(|(check, sentence)| check != "neighbour" || sentence.contains("flushed"));
        found
    }),
    setup("neighbour", "another program flushes a file without end", |rig| {
        let place = on_disk(rig, 128, "mkfs.ext4 -q", "rw");
        const FLUSHER: &str = "while :; do dd if=/dev/zero of=$1 bs=16 count=200 oflag=dsync conv=notrunc status=none; done";
        let other = place.path().join("other").display().to_string();
        let _other = Run::new("sh", &std::env::temp_dir()).words(["-c", FLUSHER, "sh", &other]).start();
        findings(on_mounted(&place, "--rw=randwrite --bs=4k --size=8m --fsync=64 --direct=1 --ioengine=psync --runtime=3 --time_based"))
    }),
    setup("cache", "a neighbour at the same rate hides it", |rig| {
        shell("head -c 16M /dev/urandom > \"$1\" && sync \"$1\" && cat \"$1\" > /dev/null", &rig.folder().join("warm"));
        let rated = "--rw=randread --bs=64k --rate=20m --ioengine=psync --time_based --runtime";
        let other = rig.on_file("other", &format!("--size=64m --direct=1 {rated}=60"));
        let _other = other.start();
        std::thread::sleep(Duration::from_secs(1));
        findings(rig.on_file("warm", &format!("--invalidate=0 {rated}=3")))
    }),
    setup("amplification", "4 KiB at odd offsets below a loop device", |rig| {
        let device = LoopDevice::sparse(rig.folder(), 64 << 20).expect("a loop device");
        shell("head -c 64M /dev/urandom > \"$1\" && sync \"$1\"", device.path());
        shell("dd of=\"$(echo $1/loop-*)\" oflag=nocache conv=notrunc,fdatasync count=0 status=none", rig.folder());
        let words = "--rw=randwrite --bs=4k --offset=512 --size=60m --direct=1 --fsync=16 --ioengine=psync --runtime=2 --time_based";
        findings(fio(&format!("--name=a --filename={} {words}", device.path().display())))
    }),
    setup("neighbour", "another reader, while we write", |rig| next_to(rig, "--rw=read --bs=256k --ioengine=libaio --iodepth=4", "--rw=randwrite --bs=4k --ioengine=psync --fsync=64")),
    setup("neighbour", "another reader of the file system", |rig| {
        let place = in_memory(rig, 128, "mkfs.ext4 -q", "rw");
        shell("head -c 32M /dev/urandom > \"$1\" && sync \"$1\"", &place.path().join("other"));
        shell("head -c 8M /dev/urandom > \"$1\" && sync \"$1\"", &place.path().join("file"));
        let device = std::fs::read_to_string("/proc/self/mounts").expect("proc is mounted");
        let device = device.lines().find(|line| line.contains(&place.path().display().to_string())).expect("mounted");
        let device = device.split(' ').next().and_then(|device| device.rsplit('/').next()).expect("a device");
        let other = fio(&format!("--name=b --filename={} --direct=1 --rw=randread --bs=64k --ioengine=libaio --iodepth=8 --runtime=60 --time_based", place.path().join("other").display()));
        let _other = Neighbour::start(other, device);
        findings(on_mounted(&place, &format!("{READS} --runtime=2 --time_based")))
    }),
];
