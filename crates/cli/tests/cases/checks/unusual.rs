//! Honest runs in unusual settings: unlike jobs, first runs of a job file, ramps with long I/Os, a loop device on a busy
//! disk, limits that are approached and not met, busy processors.

use super::Finding;
use super::honest::{Lasts, Place, Run};
use super::seldom::Burner;
use super::setups::shell;
use house::{Group, GroupLimit, Process};
use std::path::Path;

use Lasts::{AsLongAsItTakes, Seconds};
use Place::{Disk, Ext4, LoopOverDisk, LoopOverMemory, Xfs};

/// What is unusual around a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Setting {
    Nothing,
    /// Both processors have other work.
    BusyProcessors,
    /// The disk below a loop device has other users.
    BusyDisk,
    /// The run is in a control group whose limit is above its rate.
    Limit(GroupLimit, u64),
}

use Setting::{BusyDisk, BusyProcessors, Limit, Nothing};

const fn run(place: Place, name: &'static str, setting: Setting, lasts: Lasts, words: &'static str) -> Run {
    Run { place, name, words, lasts, setting }
}

const READS: &str = "--direct=1 --rw=randread --bs=4k --ioengine=psync";
const QUEUE: &str = "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=4";
const LOG: &str = "--rw=write --bs=4k --ioengine=psync --sync=dsync";
const WRITES: &str = "--direct=1 --rw=randwrite --bs=4k --ioengine=psync --fsync=64";
const RATED: &str = "--direct=1 --rw=randread --bs=4k --ioengine=psync --rate_iops=400";
const RATED_WRITES: &str = "--direct=1 --rw=randwrite --bs=4k --ioengine=psync --rate_iops=200 --end_fsync=1";
const RATED_BYTES: &str = "--direct=1 --rw=read --bs=16k --ioengine=psync --rate=8m";

/// The runs, those of one kind together.
#[rustfmt::skip]
pub(super) const RUNS: &[Run] = &[
    // A second job has its name, and the words that each job needs.
    run(Disk, "unlike jobs: two depths", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=2 --name=deep{second}--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=8"),
    run(Disk, "unlike jobs: two block sizes", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=psync --name=large{second}--direct=1 --rw=randread --bs=64k --ioengine=psync"),
    run(Disk, "unlike jobs: two engines", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=8k --ioengine=psync --name=ring{second}--direct=1 --rw=randread --bs=8k --ioengine=io_uring --iodepth=4"),
    run(Disk, "unlike jobs: a reader and a log", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=8k --ioengine=psync --name=log{second}--rw=write --bs=4k --ioengine=psync --fdatasync=1"),
    run(Disk, "unlike jobs: a group of each kind", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=psync --numjobs=2 --group_reporting --name=large --new_group --group_reporting{second}--direct=1 --rw=read --bs=64k --ioengine=psync"),
    run(Ext4, "unlike jobs: one rated, one not", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=psync --rate_iops=100 --name=free{second}--direct=1 --rw=randread --bs=4k --ioengine=psync"),
    run(Xfs, "unlike jobs: in a row and at random", Nothing, Seconds(4), "--direct=1 --rw=read --bs=64k --ioengine=psync --name=random{second}--direct=1 --rw=randread --bs=64k --ioengine=psync"),
    run(LoopOverMemory, "unlike jobs: two depths of a device", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=2 --name=deep --filename={file} --size=32m --percentile_list=50 --runtime=4 --time_based --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=4"),
    run(Disk, "first run: a reader and a writer", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=psync --name=writer{second}--direct=1 --rw=write --bs=64k --ioengine=psync --end_fsync=1"),
    run(Ext4, "first run: a reader and a writer", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=psync --name=writer{second}--direct=1 --rw=randwrite --bs=16k --ioengine=psync --fsync=32"),
    run(Xfs, "first run: a reader and a writer", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=psync --name=writer{second}--direct=1 --rw=randwrite --bs=16k --ioengine=psync --fsync=32"),
    run(Disk, "first run: two readers", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=psync --name=second{second}--direct=1 --rw=randread --bs=4k --ioengine=psync"),
    run(Disk, "first run: written, then read", Nothing, AsLongAsItTakes, "--direct=1 --rw=write --bs=64k --ioengine=psync --end_fsync=1 --name=then --stonewall --filename={file} --size=32m --percentile_list=50 --direct=1 --rw=read --bs=16k --ioengine=psync"),
    run(Disk, "first run: a new file is written", Nothing, AsLongAsItTakes, "--direct=1 --rw=write --bs=64k --ioengine=psync --end_fsync=1"),
    // The queue runs empty at the end of each pass, so that a pass must be of many blocks.
    run(Disk, "a ramp: 4 MiB", Nothing, Seconds(4), "--direct=1 --rw=read --bs=4m --ioengine=libaio --iodepth=4 --ramp_time=1 --size=256m"),
    run(Disk, "a ramp: 1 MiB at random", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=1m --ioengine=psync --ramp_time=1"),
    run(Disk, "a ramp: 8 MiB", Nothing, Seconds(4), "--direct=1 --rw=read --bs=8m --ioengine=io_uring --iodepth=2 --ramp_time=1 --size=256m"),
    run(Ext4, "a ramp: flushed writes of 1 MiB", Nothing, Seconds(4), "--direct=1 --rw=randwrite --bs=1m --ioengine=psync --fsync=4 --ramp_time=1"),
    run(LoopOverMemory, "a ramp: 1 MiB", Nothing, Seconds(4), "--direct=1 --rw=read --bs=1m --ioengine=libaio --iodepth=4 --ramp_time=1 --size=64m"),
    run(LoopOverDisk, "a ramp: 4 MiB of two workers", Nothing, Seconds(4), "--direct=1 --rw=randread --bs=4m --ioengine=psync --numjobs=2 --ramp_time=1"),
    run(LoopOverDisk, "a busy disk: reads", BusyDisk, Seconds(4), READS),
    run(LoopOverDisk, "a busy disk: a queue", BusyDisk, Seconds(4), QUEUE),
    run(LoopOverDisk, "a busy disk: flushed writes", BusyDisk, Seconds(4), WRITES),
    run(LoopOverDisk, "a busy disk: in a row", BusyDisk, Seconds(4), "--direct=1 --rw=read --bs=64k --ioengine=psync"),
    run(LoopOverMemory, "a limit not met: 400 of 800 reads/s", Limit(GroupLimit::Reads, 800), Seconds(4), RATED),
    run(LoopOverMemory, "a limit not met: 400 of 500 reads/s", Limit(GroupLimit::Reads, 500), Seconds(4), RATED),
    run(LoopOverMemory, "a limit not met: 200 of 260 writes/s", Limit(GroupLimit::Writes, 260), Seconds(4), RATED_WRITES),
    run(LoopOverMemory, "a limit not met: 8 of 12 MB/s", Limit(GroupLimit::BytesRead, 12_000_000), Seconds(4), RATED_BYTES),
    run(LoopOverDisk, "a limit not met: a million reads/s", Limit(GroupLimit::Reads, 1_000_000), Seconds(4), READS),
    run(LoopOverDisk, "a limit not met: 400 of 800 reads/s", Limit(GroupLimit::Reads, 800), Seconds(4), RATED),
    run(Disk, "busy processors: reads", BusyProcessors, Seconds(4), READS),
    run(Disk, "busy processors: a queue", BusyProcessors, Seconds(4), QUEUE),
    run(Disk, "busy processors: a log", BusyProcessors, Seconds(4), LOG),
    run(Ext4, "busy processors: flushed writes", BusyProcessors, Seconds(4), WRITES),
    run(Xfs, "busy processors: a rate", BusyProcessors, Seconds(4), RATED),
    run(Disk, "busy processors: a buffered read", BusyProcessors, AsLongAsItTakes, "--rw=read --bs=64k --ioengine=psync --size=64m"),
    run(Disk, "busy processors: unlike jobs", BusyProcessors, Seconds(4), "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=2 --name=deep{second}--direct=1 --rw=randread --bs=64k --ioengine=psync"),
];

/// What makes a setting, until it is dropped.
pub(super) struct Made {
    _burners: Vec<Burner>,
    _others: Option<Process>,
    group: Option<Group>,
}

impl Setting {
    /// Makes it around a target; `folder` is on the disk.
    pub(super) fn make(self, target: &Path, folder: &Path) -> Made {
        let device = || target.file_name().expect("a device").to_string_lossy().into_owned();
        let mut made = Made { _burners: Vec::new(), _others: None, group: None };
        match self {
            Nothing => {}
            BusyProcessors => made._burners = vec![Burner::on("0"), Burner::on("1")],
            BusyDisk => {
                const SCRIPT: &str = "while :; do dd if=$1 of=/dev/null bs=16k iflag=direct status=none; done";
                let file = folder.join("busy");
                shell("head -c 64M /dev/urandom > \"$1\" && sync \"$1\"", &file);
                let other = house::Run::new("sh", &std::env::temp_dir()).words(["-c", SCRIPT, "sh"]).words([&file]);
                made._others = Some(other.start());
            }
            Limit(limit, per_second) => {
                let group = Group::unlimited().expect("a control group with I/O limits");
                group.limit(&device(), limit, per_second).expect("a control group with I/O limits");
                made.group = Some(group);
            }
        }
        made
    }

    /// True of a run in this setting, whatever else may be said.
    pub(super) fn explains(self, (check, _): &Finding) -> bool {
        let of_time =
            ["client CPU", "late sender", "coordinated omission", "not steady", "busy users", "two latencies"];
        match self {
            Nothing | Limit(..) => false,
            BusyProcessors => of_time.contains(&check.as_str()),
            BusyDisk => of_time.contains(&check.as_str()) || check == "neighbour",
        }
    }
}

impl Made {
    /// The command in the control group of the setting.
    pub(super) fn inside(&self, run: house::Run) -> house::Run {
        match &self.group {
            Some(group) => group.inside(run),
            None => run,
        }
    }
}
