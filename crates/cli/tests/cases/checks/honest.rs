//! Runs with nothing to say against them, by place and words: no check may find anything.
//!
//! A few are tests of the gate, in a second each; all of them are judged by the table of `make checks`, with as many
//! intervals as the checks want.

use super::other_work::{OtherWork, Others, Tried, retried};
use super::setups::{self, shell};
use super::unusual::{self, Setting};
use super::{Finding, findings, findings_of_tests, fio};
use house::{Cases, LoopDevice, Mounted, Tmpfs};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where an honest run has its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A loop device over memory: no other process uses it. That it is memory is the one thing to say.
    LoopOverMemory,
    /// A loop device over a file on the disk, past the page cache.
    LoopOverDisk,
    /// A file on the disk of this machine.
    Disk,
    /// File systems on such a loop device.
    Ext4,
    Xfs,
    Btrfs,
    /// An overlay of two directories on the disk.
    Overlay,
    /// A file in memory, of which only that is to be said.
    Tmpfs,
}

use Place::{Btrfs, Disk, Ext4, LoopOverDisk, LoopOverMemory, Overlay, Xfs};

/// All places, those of one kind together: each is made once for the table.
pub(super) const PLACES: [Place; 8] = [LoopOverMemory, Place::Tmpfs, Disk, LoopOverDisk, Ext4, Xfs, Btrfs, Overlay];
/// All that store data.
const STORAGE: &[Place] = &[Disk, LoopOverDisk, Ext4, Xfs, Btrfs, Overlay];
/// The disk with its file system, and a device that no other process uses.
const BOTH: &[Place] = &[Disk, LoopOverMemory];

/// A load: its name, the places where it runs, and its words.
type Load = (&'static str, &'static [Place], &'static str);

/// Runs of `plumb fio` for some seconds.
#[rustfmt::skip]
const TIMED: &[Load] = &[
    ("reads", STORAGE, "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=4"),
    ("large reads", STORAGE, "--direct=1 --rw=randread --bs=16k --ioengine=io_uring --iodepth=2"),
    ("flushed writes", STORAGE, "--direct=1 --rw=randwrite --bs=4k --ioengine=psync --fsync=64"),
    ("log writes", STORAGE, "--rw=write --bs=4k --ioengine=psync --sync=dsync"),
    ("mixed", STORAGE, "--direct=1 --rw=randrw --bs=8k --ioengine=psync --end_fsync=1"),
    ("reads", &[LoopOverMemory, Place::Tmpfs], "--direct=1 --rw=randread --bs=4k --ioengine=psync"),
    ("queued reads", &[LoopOverMemory], "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=4"),
    ("large reads", &[LoopOverMemory], "--direct=1 --rw=randread --bs=16k --ioengine=io_uring --iodepth=2"),
    ("flushed writes", &[LoopOverMemory], "--direct=1 --rw=randwrite --bs=4k --ioengine=psync --fsync=64"),
    ("mixed", &[LoopOverMemory], "--direct=1 --rw=randrw --bs=8k --ioengine=psync --end_fsync=1"),
    ("in a row", BOTH, "--direct=1 --rw=read --bs=64k --ioengine=psync"),
    ("two readers", &[Disk], "--direct=1 --rw=randread --bs=4k --ioengine=psync --numjobs=2"),
    ("four in their regions", &[Disk], "--direct=1 --rw=read --bs=64k --ioengine=psync --numjobs=4 --size=16m --offset_increment=16m --group_reporting"),
    ("a reader and a writer", &[Disk], "--direct=1 --bs=4k --ioengine=psync --rw=randread --name=writer{second}--direct=1 --bs=4k --ioengine=psync --rw=randwrite --fsync=16"),
    ("mostly reads", BOTH, "--direct=1 --rw=randrw --rwmixread=80 --bs=8k --ioengine=libaio --iodepth=4 --end_fsync=1"),
    ("a rate in I/Os", BOTH, "--direct=1 --rw=randread --bs=4k --ioengine=psync --rate_iops=300"),
    ("a rate in bytes", BOTH, "--direct=1 --rw=write --bs=16k --ioengine=psync --rate=4m --end_fsync=1"),
    ("a rate of random arrivals", &[LoopOverMemory], "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=16 --rate_iops=500 --rate_process=poisson"),
    ("pauses", BOTH, "--direct=1 --rw=randread --bs=4k --ioengine=psync --thinktime=1ms"),
    ("posixaio", BOTH, "--direct=1 --rw=randread --bs=4k --ioengine=posixaio --iodepth=1"),
    ("pvsync2", &[Disk, Xfs], "--direct=1 --rw=randread --bs=8k --ioengine=pvsync2"),
    ("sync", &[Disk, Ext4], "--direct=1 --rw=randread --bs=8k --ioengine=sync"),
    ("hot blocks", BOTH, "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=2 --random_distribution=zipf:1.1"),
    ("small and large", BOTH, "--direct=1 --rw=randread --bssplit=4k/50:16k/50 --ioengine=psync"),
    ("after a ramp", BOTH, "--direct=1 --rw=randread --bs=4k --ioengine=psync --ramp_time=1"),
    ("fsync each", &[Disk, Xfs, LoopOverMemory], "--rw=write --bs=4k --ioengine=psync --fsync=1"),
    ("fdatasync each", &[Disk, Btrfs], "--rw=randwrite --bs=16k --ioengine=psync --fdatasync=1"),
    ("synchronous direct", &[Disk, LoopOverDisk], "--direct=1 --rw=randwrite --bs=4k --ioengine=libaio --iodepth=4 --sync=1"),
    ("backwards", &[Disk], "--direct=1 --rw=read:-8k --bs=4k --ioengine=psync"),
    ("threads", &[Disk], "--direct=1 --rw=randread --bs=4k --ioengine=psync --numjobs=2 --thread"),
    ("io_uring writes", &[Disk, Ext4], "--direct=1 --rw=randwrite --bs=16k --ioengine=io_uring --iodepth=4 --fdatasync=64"),
];

/// Runs of `plumb fio` that end with their data.
#[rustfmt::skip]
const ONCE: &[Load] = &[
    ("a buffered write", STORAGE, "--rw=write --bs=64k --ioengine=psync --end_fsync=1 --size=64m --disable_clat=1 --disable_slat=1 --disable_lat=1"),
    ("a buffered read of a cold file", &[Disk, Ext4, Xfs], "--rw=read --bs=64k --ioengine=psync --size=64m"),
    ("random buffered reads", &[Disk, Xfs], "--rw=randread --bs=4k --ioengine=psync --size=16m"),
    ("mmap", &[Disk, Ext4], "--rw=read --bs=64k --ioengine=mmap --size=64m"),
    ("mmap at random", &[Disk], "--rw=randread --bs=4k --ioengine=mmap --size=16m"),
    ("verify in a row", &[Disk, LoopOverMemory, Xfs], "--direct=1 --rw=write --bs=64k --ioengine=psync --verify=crc32c --verify_state_save=0 --size=64m --end_fsync=1"),
    ("verify at random", BOTH, "--direct=1 --rw=randwrite --bs=4k --ioengine=libaio --iodepth=4 --verify=md5 --verify_state_save=0 --size=16m --end_fsync=1"),
    ("a write in memory", &[Place::Tmpfs], "--rw=write --bs=64k --ioengine=psync --end_fsync=1"),
];

/// Runs of other commands, which begin with the command.
#[rustfmt::skip]
const COMMANDS: &[Load] = &[
    ("iozone", &[Disk, Ext4, Xfs, Btrfs], "iozone -i 0 -i 1 -i 2 -e -I -s 32m -r 64k -f {file} --json={json}"),
    ("iozone with threads", &[Disk, Xfs], "iozone -i 0 -i 1 -e -I -s 16m -r 64k -t 2 -F {file} {file}.2 --json={json}"),
    ("survey of reads", &[Disk, Xfs], "survey --tests randread --users 1,4 --time 3s --size 64M --output={json} {folder}"),
    ("survey of log writes", &[Disk, Ext4], "survey --tests write --block-sizes 8k --users 1,4 --time 3s --size 64M --output={json} {folder}"),
    ("survey of a device", &[LoopOverDisk], "survey --tests randread --users 1,4 --time 3s --output={json} {file}"),
];

/// The runs that are tests of the gate.
const GATE: [(Place, &str); 5] = [
    (LoopOverMemory, "reads"),
    (LoopOverMemory, "large reads"),
    (LoopOverMemory, "flushed writes"),
    (Disk, "reads"),
    (Xfs, "flushed writes"),
];

/// A run: a load at one of its places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) place: Place,
    pub(super) name: &'static str,
    pub(super) words: &'static str,
    pub(super) lasts: Lasts,
    pub(super) setting: Setting,
}

/// The length of a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lasts {
    Seconds(u32),
    AsLongAsItTakes,
}

/// Long enough for eight intervals, which several checks want, and for the percentile that is printed.
const SECONDS: u32 = 4;

/// All runs at a place.
pub(super) fn runs_at(place: Place) -> impl Iterator<Item = Run> {
    let lists = [(TIMED, Lasts::Seconds(SECONDS)), (ONCE, Lasts::AsLongAsItTakes), (COMMANDS, Lasts::AsLongAsItTakes)];
    let loads = lists.into_iter().flat_map(|(list, lasts)| list.iter().map(move |load| (load, lasts)));
    let usual = loads.filter(move |((_, places, _), _)| places.contains(&place));
    let usual =
        usual.map(move |(&(name, _, words), lasts)| Run { place, name, words, lasts, setting: Setting::Nothing });
    usual.chain(unusual::RUNS.iter().filter(move |run| run.place == place).copied())
}

impl Run {
    /// True if other processes, or other guests of the hypervisor, may be the reason for all that is found. Stolen time
    /// is the kernel's count, and may be in a second of a run that was quiet on average.
    pub(super) fn is_explained_by_others(&self, found: &[Finding], others: Others) -> bool {
        let is_stolen = |(check, sentence): &Finding| check == "client CPU" && sentence.contains("the hypervisor took");
        found.iter().all(is_stolen)
            || (others.are_busy() && found.iter().all(|(check, _)| is_true_when_busy(self.place, check)))
    }
}

/// A place that is there, until it is dropped: last what is at the bottom.
pub(super) struct Made {
    target: PathBuf,
    _mounted: Option<Mounted>,
    device: Option<LoopDevice>,
    _memory: Option<Tmpfs>,
    folder: tempfile::TempDir,
}

impl Made {
    /// Makes a place.
    pub(super) fn new(place: Place) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let disk = |bytes| LoopDevice::direct(folder.path(), bytes).expect("a loop device: are we root?");
        let on = |bytes, command| Mounted::on(disk(bytes), command, "rw").unwrap_or_else(|e| panic!("{command}: {e}"));
        let (mut mounted, mut device, mut memory) = (None, None, None);
        match place {
            LoopOverMemory => {
                let tmpfs = Tmpfs::new(100 << 20).expect("a tmpfs: are we root?");
                device = Some(LoopDevice::new(tmpfs.path(), 64 << 20).expect("a loop device: are we root?"));
                memory = Some(tmpfs);
            }
            Place::Tmpfs => memory = Some(Tmpfs::new(200 << 20).expect("a tmpfs: are we root?")),
            LoopOverDisk => device = Some(disk(64 << 20)),
            Disk => {}
            Ext4 => mounted = Some(on(320 << 20, "mkfs.ext4 -q")),
            Xfs => mounted = Some(on(320 << 20, "mkfs.xfs -q")),
            Btrfs => mounted = Some(on(320 << 20, "mkfs.btrfs -q")),
            Overlay => mounted = Some(setups::overlay(folder.path(), folder.path(), "rw")),
        }
        let directory = mounted.as_ref().map(Mounted::path).or(memory.as_ref().map(Tmpfs::path));
        let target = match &device {
            Some(device) => device.path().to_path_buf(),
            None => directory.unwrap_or(folder.path()).join("file"),
        };
        Made { target, _mounted: mounted, device, _memory: memory, folder }
    }

    /// The file or device for a run.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Removes the files of the run before.
    fn clear(&self) {
        if self.device.is_none() {
            shell("rm -f \"$1\" \"$1\".*", &self.target);
        }
    }

    /// Runs a load there: (check, sentence) of all that is found.
    pub(super) fn run(&self, run: &Run) -> Vec<Finding> {
        self.clear();
        let json = self.folder.path().join("result.json");
        let folder = self.target.parent().expect("a file in a directory");
        // A job in the same run, on a file that is made in it.
        let second = " --filename={file}.2 --size=32m --percentile_list=50 --runtime=4 --time_based ";
        let words = run.words.replace("{second}", second);
        let words = [("{file}", self.target.as_path()), ("{json}", &json), ("{folder}", folder)]
            .iter()
            .fold(words, |words, (from, to)| words.replace(from, &to.display().to_string()));
        let setting = run.setting.make(&self.target, self.folder.path());
        let found = match run.words.starts_with("--") {
            true => {
                let time = match run.lasts {
                    Lasts::Seconds(seconds) => format!("--runtime={seconds} --time_based"),
                    Lasts::AsLongAsItTakes => String::new(),
                };
                let file = self.target.display();
                let words = format!("--name=a --filename={file} --size=32m --percentile_list=50 {time} {words}");
                findings(setting.inside(fio(&words)))
            }
            false => {
                let _ = std::fs::remove_file(&json);
                findings_of_tests(&words, &json)
            }
        };
        self.clear();
        found
    }
}

/// The findings that accuse an honest run: all, but that memory is memory, which must be said, and that it is as fast
/// as the tester; and that btrfs, which writes its trees with each flush, writes ten times what it was given.
pub(super) fn accusations(run: &Run, found: &[Finding]) -> Vec<Finding> {
    let place = run.place;
    let in_memory = matches!(place, LoopOverMemory | Place::Tmpfs);
    let says_so = |(check, sentence): &Finding| check == "backing" && sentence.contains("memory");
    let of_trees = |finding: &Finding| place == Btrfs && finding.0 == "amplification";
    let is_true = |finding: &Finding| {
        let of_memory = in_memory && (says_so(finding) || finding.0 == "client CPU");
        of_trees(finding) || of_memory || run.setting.explains(finding)
    };
    let (truth, mut others): (Vec<Finding>, Vec<Finding>) = found.iter().cloned().partition(is_true);
    if in_memory && !truth.iter().any(says_so) {
        others.push(("backing".to_owned(), "not a word about memory".to_owned()));
    }
    others
}

/// A run of the table: it is repeated if it is accused while other processes are at work.
pub(super) fn judged(made: &Made, run: &Run) -> Tried<Vec<Finding>> {
    retried(|| accusations(run, &made.run(run)), Vec::is_empty)
}

/// Adds the runs to the tests of the group: those of the gate, and each other one on request.
pub(super) fn add_to(mut cases: Cases) -> Cases {
    for run in PLACES.into_iter().flat_map(runs_at) {
        let name = format!("{:?}::{}", run.place, run.name);
        cases = match GATE.contains(&(run.place, run.name)) {
            true => cases.case(&format!("clean::{name}"), move || gate_run(Run { lasts: Lasts::Seconds(1), ..run })),
            false => cases.on_request(&format!("honest::{name}"), move || {
                let tried = judged(&Made::new(run.place), &run);
                let sentence = format!("{:?}; {}", tried.found, tried.others);
                if tried.found.is_empty() { Ok(()) } else { Err(sentence) }
            }),
        };
    }
    cases
}

/// True of a run while other processes use the processors, or the disk under it.
fn is_true_when_busy(place: Place, check: &str) -> bool {
    let of_all =
        ["client CPU", "late sender", "throttled", "coordinated omission", "not steady", "busy users", "two latencies"];
    // Others take the time of the disk.
    let of_disk = ["neighbour", "limiter", "too short"];
    // Their requests are in the counters of the disk, and not in those of a loop device that no other process uses.
    let of_counters = ["split / merge", "amplification"];
    of_all.contains(&check)
        || (place != LoopOverMemory && of_disk.contains(&check))
        || (matches!(place, Disk | Overlay) && of_counters.contains(&check))
}

/// In the gate, which passes on a machine that does other work, remarks that are true of a busy machine accuse it only
/// if it was quiet. A disk may be shared with other machines.
fn gate_run(run: Run) -> Result<(), String> {
    let made = Made::new(run.place);
    for attempt in 1.. {
        let work = OtherWork::start();
        let found = accusations(&run, &made.run(&run));
        let others = work.others();
        let is_explained = |(check, _): &Finding| match run.place {
            LoopOverMemory => others.are_busy() && is_true_when_busy(run.place, check),
            _ => is_true_when_busy(run.place, check),
        };
        let explained = found.iter().all(is_explained);
        if found.is_empty() || (explained && (attempt == 3 || run.place != LoopOverMemory)) {
            println!("{run:?} {found:?} at try {attempt}, {others}");
            return Ok(());
        }
        if !explained {
            return Err(format!("{run:?}: {found:?}; {others}"));
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}
