//! The set-ups: what makes each check fire.

use super::{findings, findings_in, fio};
use crate::context::{self, place};
use house::{Group, LoopDevice, Mounted, Run, Tmpfs, children, signal};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

/// One way to make a check fire.
pub(crate) struct Setup {
    pub(crate) check: &'static str,
    pub(crate) how: &'static str,
    pub(crate) run: fn(&Rig) -> Vec<(String, String)>,
}

/// Where the set-ups are made: a tmpfs, a loop device over a file in it, a directory on a disk.
pub(crate) struct Rig {
    // Detached before the memory under it goes.
    device: LoopDevice,
    pub(super) memory: Tmpfs,
    folder: tempfile::TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let memory = Tmpfs::new(400 << 20).expect("a tmpfs: are we root?");
        let device = LoopDevice::new(memory.path(), 64 << 20).expect("a loop device: are we root?");
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        Rig { device, memory, folder }
    }

    /// A directory on a disk.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn device(&self) -> String {
        self.device.path().display().to_string()
    }

    pub(super) fn name(&self) -> String {
        self.device.path().file_name().expect("a name").to_string_lossy().into_owned()
    }

    pub(super) fn on_device(&self, words: &str) -> Run {
        fio(&format!("--name=a --filename={} --direct=1 {words}", self.device()))
    }

    pub(super) fn on_file(&self, name: &str, words: &str) -> Run {
        fio(&format!("--name=a --filename={} {words}", self.folder.path().join(name).display()))
    }
}

pub(super) fn shell(command: &str, at: &Path) {
    Run::new("sh", &std::env::temp_dir()).words(["-c", command, "sh"]).words([at]).succeeds();
}

/// The run on a machine whose sysfs says of the device that it is on a PCIe link of one lane of the first generation
/// (250 MB/s), in a separate mount namespace. All other files of the device are the kernel's: its counters are true.
pub(super) fn on_a_slow_link(rig: &Rig, run: Run) -> Run {
    const SCRIPT: &str = "set -e; real=$(realpath /sys/block/$1); mine=$2; shift 2; mount -t tmpfs none $mine
        for file in dev stat size queue loop; do
            if test -d $real/$file; then mkdir $mine/$file; else touch $mine/$file; fi
            mount --rbind $real/$file $mine/$file
        done
        ln -s /sys/class/block $mine/subsystem; mkdir -p $mine/device/device
        echo '2.5 GT/s PCIe' > $mine/device/device/current_link_speed
        echo 1 > $mine/device/device/current_link_width
        mount --rbind $mine $real; exec \"$@\"";
    let place = rig.folder.path().join("link");
    std::fs::create_dir_all(&place).expect("a directory");
    run.under(["unshare", "--mount", "sh", "-c", SCRIPT, "sh", &rig.name(), &place.to_string_lossy()])
}

/// A job on the file `file` of a mounted file system.
pub(super) fn on_mounted(place: &Mounted, words: &str) -> Run {
    fio(&format!("--name=a --filename={} {words}", place.path().join("file").display()))
}

/// The run under a filter of system calls that lets fsync and fdatasync do nothing.
fn without_flushes(run: Run) -> Run {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/faults/filtered_calls.py");
    let python = concat!(env!("CARGO_TARGET_TMPDIR"), "/../oracles/readers/bin/python");
    run.under([python, script, "0", &format!("{},{}", libc::SYS_fsync, libc::SYS_fdatasync)])
}

/// An overlay with a lower directory, and with the upper one in another place.
pub(super) fn overlay(lower: &Path, upper: &Path, options: &str) -> Mounted {
    let [lower, upper, work] = [(lower, "lower"), (upper, "upper"), (upper, "work")].map(|(place, name)| {
        let directory = place.join(name);
        std::fs::create_dir_all(&directory).expect("a directory");
        directory.display().to_string()
    });
    let options = format!("{options},lowerdir={lower},upperdir={upper},workdir={work}");
    Mounted::new(&["-t", "overlay", "-o", &options, "overlay"]).expect("an overlay: are we root?")
}

const FLUSHED: &str = "--rw=randwrite --bs=4k --size=8m --io_size=1m --fsync=16 --ioengine=psync";
const RANDOM: &str = "--rw=randread --bs=4k --ioengine=psync --runtime=1 --time_based";

/// What `plumb check` says of a report: (check, the rest of the line).
fn judged_elsewhere(file: &Path, report: &str) -> Vec<(String, String)> {
    std::fs::write(file, report).expect("as made just before");
    let said = context::plumb(place(), "check").words([file]).end().stdout;
    let checks = analysis::CHECKS.iter().map(|check| check.id);
    let message = |line: &str| {
        checks.clone().find_map(|id| line.split_once(&format!(": {id}: ")).map(|(_, rest)| (id.into(), rest.into())))
    };
    said.lines().filter_map(message).collect()
}

/// Every set-up, in the order of the checks.
pub(crate) const SETUPS: &[Setup] = &[
    Setup {
        check: "errors",
        how: "a loop device whose file is cut off",
        run: |rig| {
            let device = LoopDevice::new(rig.memory.path(), 8 << 20).expect("a loop device");
            shell("truncate -s 4M \"$1\"", device.backing());
            let words = "--rw=randread --bs=4k --direct=1 --ioengine=psync --continue_on_error=all";
            findings(fio(&format!("--name=a --filename={} {words}", device.path().display())))
        },
    },
    Setup {
        check: "contradiction",
        how: "a report of fio with another bandwidth",
        run: |rig| {
            let words = "--name=a --ioengine=sim --rw=randread --bs=4k --size=64m";
            let report = context::fio(place(), words).end().stdout;
            judged_elsewhere(&rig.folder.path().join("report"), &report.replacen("BW=", "BW=9", 1))
        },
    },
    Setup {
        check: "impossible plan",
        how: "ramp_time as long as runtime",
        run: |rig| {
            findings(rig.on_device("--rw=randread --bs=4k --ioengine=psync --ramp_time=1 --runtime=1 --time_based"))
        },
    },
    Setup {
        check: "nothing moved",
        how: "null engine",
        run: |_| findings(fio("--name=a --ioengine=null --rw=randread --bs=4k --size=64m")),
    },
    Setup {
        check: "backing",
        how: "a file on tmpfs",
        run: |rig| {
            let file = rig.memory.file("file", 16 << 20).expect("room");
            findings(fio(&format!("--name=a --filename={} --rw=read --bs=64k --ioengine=psync", file.display())))
        },
    },
    Setup { check: "backing", how: "a loop device over tmpfs", run: |rig| findings(rig.on_device(RANDOM)) },
    Setup {
        check: "backing",
        how: "ext4 on a loop device over tmpfs",
        run: |rig| {
            let device = LoopDevice::sparse(rig.memory.path(), 64 << 20).expect("a loop device");
            let place = Mounted::on(device, "mkfs.ext4 -q", "rw").expect("ext4");
            findings(on_mounted(&place, "--direct=1 --rw=randread --bs=4k --size=8m --ioengine=psync"))
        },
    },
    Setup {
        check: "backing",
        how: "an overlay whose upper directory is on tmpfs",
        run: |rig| {
            let place = overlay(rig.folder.path(), rig.memory.path(), "rw");
            findings(on_mounted(&place, "--rw=write --bs=64k --size=8m --end_fsync=1 --ioengine=psync"))
        },
    },
    Setup {
        check: "backing",
        how: "a loop device over an overlay over tmpfs",
        run: |rig| {
            let place = overlay(rig.folder.path(), rig.memory.path(), "rw");
            let device = LoopDevice::new(place.path(), 8 << 20).expect("a loop device");
            findings(fio(&format!("--name=a --filename={} --direct=1 {RANDOM}", device.path().display())))
        },
    },
    Setup {
        check: "cache",
        how: "buffered read of a warm file",
        run: |rig| {
            shell(
                "head -c 16M /dev/urandom > \"$1\" && sync \"$1\" && cat \"$1\" > /dev/null",
                &rig.folder.path().join("warm"),
            );
            findings(rig.on_file("warm", "--rw=read --bs=64k --ioengine=psync --invalidate=0"))
        },
    },
    Setup {
        check: "holes",
        how: "a sparse file, direct",
        run: |rig| {
            shell("truncate -s 64M \"$1\"", &rig.folder.path().join("sparse"));
            findings(rig.on_file("sparse", &format!("--direct=1 {RANDOM}")))
        },
    },
    Setup {
        check: "holes",
        how: "a fallocated file, direct",
        run: |rig| {
            shell("fallocate -l 64M \"$1\"", &rig.folder.path().join("reserved"));
            findings(rig.on_file("reserved", &format!("--direct=1 {RANDOM}")))
        },
    },
    Setup {
        check: "holes",
        how: "a loop device over a sparse file",
        run: |rig| {
            let device = LoopDevice::sparse(rig.folder.path(), 64 << 20).expect("a loop device");
            findings(fio(&format!("--name=a --filename={} --direct=1 {RANDOM}", device.path().display())))
        },
    },
    Setup {
        check: "contents",
        how: "a file of zeros",
        run: |rig| {
            shell("head -c 16M /dev/zero > \"$1\" && sync \"$1\"", &rig.folder.path().join("zeros"));
            findings(rig.on_file("zeros", &format!("--direct=1 {RANDOM}")))
        },
    },
    Setup {
        check: "contents",
        how: "a loop device that was discarded",
        run: |rig| {
            let device = LoopDevice::new(rig.memory.path(), 64 << 20).expect("a loop device");
            shell("blkdiscard \"$1\"", device.path());
            findings(fio(&format!("--name=a --filename={} --direct=1 {RANDOM}", device.path().display())))
        },
    },
    Setup {
        check: "contents",
        how: "one block over and over",
        run: |rig| {
            shell(
                "yes plumb | head -c 12288 | head -c 4096 > \"$1.one\"; for i in $(seq 1024); do cat \"$1.one\"; done > \"$1\"; sync \"$1\"",
                &rig.folder.path().join("same"),
            );
            findings(rig.on_file("same", &format!("--direct=1 {RANDOM}")))
        },
    },
    Setup {
        check: "link ceiling",
        how: "a device on a link of 250 MB/s",
        run: |rig| {
            let words = "--rw=read --bs=1m --ioengine=libaio --iodepth=8 --runtime=1 --time_based";
            findings(on_a_slow_link(rig, rig.on_device(words)))
        },
    },
    Setup {
        check: "small set",
        how: "16 MiB read over and over, buffered",
        run: |rig| {
            shell("head -c 16M /dev/urandom > \"$1\" && sync \"$1\"", &rig.folder.path().join("small"));
            findings(rig.on_file("small", "--rw=read --bs=64k --ioengine=psync --loops=4"))
        },
    },
    Setup {
        check: "small set",
        how: "1 MiB of a disk over and over, direct",
        run: |rig| {
            shell("head -c 1M /dev/urandom > \"$1\" && sync \"$1\"", &rig.folder.path().join("few"));
            let words = "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=4 --runtime=1 --time_based";
            findings(rig.on_file("few", words))
        },
    },
    Setup {
        check: "overlap",
        how: "4 sequential readers of one device",
        run: |rig| findings(rig.on_device("--rw=read --bs=64k --ioengine=psync --numjobs=4")),
    },
    Setup {
        check: "overlap",
        how: "4 sequential writers of one device",
        run: |rig| findings(rig.on_device("--rw=write --bs=64k --ioengine=psync --numjobs=4 --end_fsync=1")),
    },
    Setup {
        check: "busy users",
        how: "two workers of uneven size",
        run: |rig| {
            let device = rig.device();
            findings(fio(&format!(
                "--filename={device} --direct=1 --rw=randread --bs=4k --ioengine=psync --runtime=1 --name=short --size=64k \
             --name=long --time_based"
            )))
        },
    },
    Setup {
        check: "depth",
        how: "sync engine, iodepth=32",
        run: |rig| {
            findings(rig.on_device("--rw=randread --bs=4k --ioengine=sync --iodepth=32 --runtime=1 --time_based"))
        },
    },
    Setup {
        check: "depth",
        how: "each reap waits for the whole queue",
        run: |rig| {
            let batch = "--iodepth=16 --iodepth_batch_complete_min=16";
            findings(rig.on_device(&format!("--rw=randread --bs=4k --ioengine=libaio {batch} --io_size=16m")))
        },
    },
    Setup {
        check: "client CPU",
        how: "null engine",
        run: |_| findings(fio("--name=a --ioengine=null --rw=randread --bs=4k --size=1t --runtime=2 --time_based")),
    },
    Setup {
        check: "throttled",
        how: "a quota of 5 % of a processor",
        run: |_| {
            let group = Group::with_processor_percent(5).expect("a control group with a processor quota");
            let words = "--name=a --ioengine=null --rw=randread --bs=4k --size=1t --runtime=3 --time_based";
            findings(group.inside(fio(words)))
        },
    },
    Setup {
        check: "late sender",
        how: "a quota of 5 % of a processor",
        run: |_| {
            let group = Group::with_processor_percent(5).expect("a control group with a processor quota");
            let words =
                "--name=a --ioengine=null --rw=randread --bs=4k --size=1t --rate_iops=20000 --runtime=1 --time_based";
            findings(group.inside(fio(words)))
        },
    },
    Setup {
        check: "tool share",
        how: "each system call is traced",
        run: |rig| {
            let job =
                rig.on_file("traced", "--rw=randread --bs=4k --size=16m --direct=1 --ioengine=psync --io_size=4m");
            findings(job.under("strace -f -qq -o /dev/null -e trace=pread64"))
        },
    },
    Setup {
        check: "limiter",
        how: "a control group of 300 reads/s",
        run: |rig| {
            let group = Group::with_read_iops(&rig.name(), 300).expect("a control group with I/O limits");
            let words = "--rw=randread --bs=4k --ioengine=libaio --iodepth=8 --ramp_time=1 --runtime=5 --time_based";
            findings(group.inside(rig.on_device(words)))
        },
    },
    Setup {
        check: "neighbour",
        how: "a second reader",
        run: |rig| {
            let other =
                rig.on_device("--rw=randread --bs=64k --ioengine=libaio --iodepth=16 --runtime=60 --time_based");
            let _other = house::Neighbour::start(other, &rig.name());
            findings(rig.on_device("--rw=randread --bs=4k --ioengine=psync --runtime=2 --time_based"))
        },
    },
    Setup {
        check: "not steady",
        how: "a throttle of 25 reads/s comes midway",
        run: |rig| {
            let group = Group::unlimited().expect("a control group with I/O limits");
            let words = "--rw=randread --bs=4k --ioengine=psync --runtime=6 --time_based --cgroup_nodelete=1 --cgroup";
            let run = rig.on_device(&format!("{words}={}", group.name())).start();
            std::thread::sleep(Duration::from_millis(3200));
            group.limit_reads(&rig.name(), 25).expect("a control group with I/O limits");
            findings_in(&run.end())
        },
    },
    Setup {
        check: "two latencies",
        how: "buffered reads of a half-cached file",
        run: |rig| {
            shell("head -c 16M /dev/urandom > \"$1\" && sync \"$1\"", &rig.folder.path().join("half"));
            // Drops all of the file from the cache and reads half of the blocks; random reads do not read ahead.
            findings(rig.on_file("half", "--rw=randread --bs=4k --ioengine=psync --io_size=8m --randseed=1"));
            findings(rig.on_file("half", "--rw=randread --bs=4k --ioengine=psync --invalidate=0"))
        },
    },
    Setup {
        check: "mixed group",
        how: "4 KiB and 64 KiB in one group",
        run: |rig| {
            let common = format!("--filename={} --direct=1 --rw=randread --ioengine=psync --io_size=4m", rig.device());
            findings(fio(&format!("{common} --group_reporting --name=small --bs=4k --name=large --bs=64k")))
        },
    },
    Setup {
        check: "coordinated omission",
        how: "a worker stopped for half a second",
        run: |rig| {
            let run = rig.on_device("--rw=randread --bs=4k --ioengine=psync --runtime=3 --time_based").start();
            std::thread::sleep(Duration::from_millis(1200));
            for worker in children(run.id()) {
                signal(worker, Signal::STOP);
                std::thread::sleep(Duration::from_millis(600));
                signal(worker, Signal::CONT);
            }
            findings_in(&run.end())
        },
    },
    Setup {
        check: "too short",
        how: "64 I/Os",
        run: |rig| findings(rig.on_device("--rw=randread --bs=4k --ioengine=psync --size=256k")),
    },
    Setup {
        check: "no flush",
        how: "buffered writes without end_fsync",
        run: |rig| findings(rig.on_file("dirty", "--rw=write --bs=64k --size=16m --ioengine=psync")),
    },
    Setup {
        check: "buffered latency",
        how: "buffered writes that are flushed at the end",
        run: |rig| findings(rig.on_file("flushed", "--rw=write --bs=64k --size=64m --ioengine=psync --end_fsync=1")),
    },
    Setup {
        check: "flush effect",
        how: "ext4 with nobarrier",
        run: |rig| {
            let device = LoopDevice::sparse(rig.folder.path(), 64 << 20).expect("a loop device");
            let place = Mounted::on(device, "mkfs.ext4 -q", "nobarrier").expect("ext4");
            findings(on_mounted(&place, FLUSHED))
        },
    },
    Setup {
        check: "flush effect",
        how: "an overlay with volatile",
        run: |rig| {
            let place = overlay(rig.folder.path(), rig.folder.path(), "volatile");
            findings(on_mounted(&place, FLUSHED))
        },
    },
    Setup {
        check: "flush effect",
        how: "a loop device whose cache the kernel is set to ignore",
        run: |rig| {
            let setting = format!("/sys/block/{}/queue/write_cache", rig.name());
            std::fs::write(&setting, "write through").expect("root may set it");
            let found = findings(rig.on_device("--rw=randwrite --bs=4k --size=8m --fsync=16 --ioengine=psync"));
            // The kernel keeps the setting for the next file of this loop device.
            std::fs::write(&setting, "write back").expect("root may set it");
            found
        },
    },
    Setup {
        check: "flush effect",
        how: "a period of fsync that is not reached",
        run: |rig| findings(rig.on_device("--rw=randwrite --bs=4k --size=1m --fsync=1000 --ioengine=psync")),
    },
    Setup {
        check: "flush effect",
        how: "sync_file_range instead of fsync",
        run: |rig| {
            let words =
                "--rw=write --bs=64k --size=8m --sync_file_range=wait_before,write,wait_after:16 --ioengine=psync";
            findings(rig.on_file("ranges", words))
        },
    },
    Setup {
        check: "flush effect",
        how: "a filter of system calls answers fsync",
        run: |rig| {
            findings(without_flushes(
                rig.on_file("swallowed", "--rw=randwrite --bs=4k --size=8m --fsync=1 --ioengine=psync"),
            ))
        },
    },
    Setup {
        check: "file properties",
        how: "ext4 with data=journal",
        run: |rig| {
            let device = LoopDevice::sparse(rig.folder.path(), 64 << 20).expect("a loop device");
            let place = Mounted::on(device, "mkfs.ext4 -q", "data=journal").expect("ext4");
            findings(on_mounted(&place, FLUSHED))
        },
    },
    Setup {
        check: "file properties",
        how: "a file with the attribute S",
        run: |rig| {
            shell("head -c 8M /dev/urandom > \"$1\" && sync \"$1\" && chattr +S \"$1\"", &rig.folder.path().join("s"));
            findings(rig.on_file("s", "--rw=randwrite --bs=4k --io_size=256k --ioengine=psync"))
        },
    },
    Setup {
        check: "file properties",
        how: "a reflinked file on xfs is written",
        run: |rig| {
            let device = LoopDevice::sparse(rig.folder.path(), 400 << 20).expect("a loop device");
            let place = Mounted::on(device, "mkfs.xfs -q", "rw").expect("xfs");
            shell(
                "cd \"$1\" && head -c 8M /dev/urandom > other && cp --reflink=always other file && sync file",
                place.path(),
            );
            findings(on_mounted(&place, FLUSHED))
        },
    },
    Setup {
        check: "amplification",
        how: "512-byte buffered writes",
        run: |rig| {
            let words = "--rw=randwrite --bs=512 --ioengine=psync --end_fsync=1 --size=32m --io_size=2m";
            findings(fio(&format!("--name=a --filename={} {words}", rig.device())))
        },
    },
    Setup {
        check: "split / merge",
        how: "a device that takes 16 KiB at once",
        run: |rig| {
            // A loop device keeps its settings when it is detached, and the next test may get it.
            let setting = format!("/sys/block/{}/queue/max_sectors_kb", rig.name());
            let before = std::fs::read_to_string(&setting).expect("a device has this setting");
            std::fs::write(&setting, "16").expect("are we root?");
            let found = findings(rig.on_device("--rw=read --bs=1m --ioengine=psync --loops=2"));
            std::fs::write(&setting, before).expect("as just before");
            found
        },
    },
    Setup {
        check: "compressible",
        how: "zero_buffers",
        run: |rig| findings(rig.on_device("--rw=write --bs=64k --ioengine=psync --zero_buffers=1 --fsync=64")),
    },
];

/// Set-ups that last long: for `make checks`.
pub(crate) const LONG_SETUPS: &[Setup] = &[
    Setup {
        check: "depth",
        how: "posixaio on one file of a disk",
        run: |rig| {
            shell("head -c 64M /dev/urandom > \"$1\" && sync \"$1\"", &rig.folder.path().join("one"));
            let words = "--direct=1 --rw=randread --bs=4k --ioengine=posixaio --iodepth=16 --runtime=3 --time_based";
            findings(rig.on_file("one", words))
        },
    },
    Setup {
        check: "not steady",
        how: "a burst of a second, then 200 reads/s",
        run: |rig| throttled_by_turns(rig, 9, &[(1_700, 200)]),
    },
    Setup {
        check: "not steady",
        how: "20 reads/s in every other second",
        run: |rig| {
            let turns: Vec<(u64, u32)> =
                (0..12).map(|turn| (1_000, if turn % 2 == 0 { 20 } else { 1_000_000 })).collect();
            throttled_by_turns(rig, 13, &turns)
        },
    },
];

/// Random reads of the device for some seconds, in a group whose limit is changed. A turn is a pause in
/// milliseconds and the new limit in reads per second.
pub(super) fn throttled_by_turns(rig: &Rig, seconds: u64, turns: &[(u64, u32)]) -> Vec<(String, String)> {
    let group = Group::unlimited().expect("a control group with I/O limits");
    let words = "--rw=randread --bs=4k --ioengine=psync --time_based --cgroup_nodelete=1 --cgroup";
    let run = rig.on_device(&format!("--runtime={seconds} {words}={}", group.name())).start();
    for &(milliseconds, reads) in turns {
        std::thread::sleep(Duration::from_millis(milliseconds));
        group.limit_reads(&rig.name(), reads).expect("a control group with I/O limits");
    }
    findings_in(&run.end())
}
