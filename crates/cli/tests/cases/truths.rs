//! Is what `plumb why` says true? Set-ups in which it is known why the slow I/Os are slow, on loop devices of the test.
//!
//! A row makes one set-up, and most of its slowest I/Os must have the planted part as their largest. On request
//! `truths::table` makes each twenty times and prints a matrix: what was planted, and what was found, by I/Os beyond
//! p99. It wants a quiet machine. There, an I/O that mostly waits for a processor is shown, and counts for no row but
//! that of the burner: what else runs takes processors.

use crate::context::{PLUMB, place, plumb};
use crate::faults::SlowFuse;
use house::{Cases, Group, LoopDevice, Mounted, Place, Process, Run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs of a set-up in the table.
const RUNS: usize = 20;
/// The least share of I/Os with the planted part, and the most of clean ones with a finding.
const FOUND: f64 = 0.95;
const ACCUSED: f64 = 0.02;

/// Parts that say that something holds an I/O back, besides a processor.
const FINDINGS: [&str; 6] = ["lock or other wait", "journal", "dirty limit", "throttle", "tags", "scheduler"];

/// How many I/Os have which part as their largest.
type Largest = BTreeMap<String, u64>;

struct Truth {
    name: &'static str,
    /// Parts of which each is right; none if nothing may be found.
    planted: &'static [&'static str],
    run: fn() -> Largest,
}

const TRUTHS: [Truth; 13] = [
    Truth { name: "cache", planted: &["cache"], run: cached },
    Truth { name: "throttle", planted: &["throttle"], run: throttled },
    Truth { name: "throttle of a ring", planted: &["throttle"], run: throttled_ring },
    Truth { name: "throttle of another group", planted: &[], run: throttled_elsewhere },
    Truth { name: "processor", planted: &["waking up"], run: burned },
    Truth { name: "lock", planted: &["lock or other wait"], run: extended },
    Truth { name: "frozen", planted: &["lock or other wait"], run: frozen },
    Truth { name: "journal", planted: &["journal"], run: committed },
    // The thread may write the log itself, which flushes the device first.
    Truth { name: "log of xfs", planted: &["journal", "flush"], run: logged },
    Truth { name: "dirty limit", planted: &["dirty limit"], run: dirty },
    Truth { name: "tags", planted: &["tags", "scheduler"], run: flooded },
    Truth { name: "device", planted: &["device"], run: late },
    Truth { name: "clean", planted: &[], run: clean },
];

/// Rows of a second or two for the gate; `why::` has cache, throttle and clean ones.
const SHORT: [&str; 5] = ["throttle of a ring", "lock", "dirty limit", "tags", "device"];

pub(super) fn groups() -> Vec<Cases> {
    let mut cases = Cases::new("truths", 1).on_request("table", table);
    for truth in TRUTHS.iter().filter(|truth| SHORT.contains(&truth.name)) {
        cases = cases.case(truth.name, || once(truth));
    }
    vec![cases]
}

/// A machine that is busy with other work may hide what a set-up does to it: five tries.
fn once(truth: &Truth) -> Result<(), String> {
    let mut found = Vec::new();
    for _ in 0..5 {
        let largest = (truth.run)();
        let share = Share::of(truth, &largest);
        if share.planted * 2 > share.all && share.all > 0 {
            return Ok(());
        }
        found.push(largest);
    }
    Err(format!("{:?} is not the largest part: {found:?}", truth.planted))
}

/// I/Os that count, and those that are right. Of a clean run: those that have a finding.
struct Share {
    all: u64,
    planted: u64,
}

impl Share {
    fn of(truth: &Truth, largest: &Largest) -> Self {
        let is_planted = |part: &str| match truth.planted {
            [] => FINDINGS.contains(&part),
            planted => planted.contains(&part),
        };
        let counts = |part: &str| part != "waking up" || is_planted(part);
        let sum = |which: &dyn Fn(&str) -> bool| {
            largest.iter().filter(|(part, _)| which(part)).map(|(_, count)| count).sum::<u64>()
        };
        Share { all: sum(&counts), planted: sum(&is_planted) }
    }

    fn is_right(&self, truth: &Truth) -> bool {
        let share = measure::float(self.planted) / measure::float(self.all.max(1));
        self.all > 0 && if truth.planted.is_empty() { share <= ACCUSED } else { share >= FOUND }
    }
}

fn table() -> Result<(), String> {
    let mut wrong = Vec::new();
    for truth in &TRUTHS {
        let mut largest = Largest::new();
        for _ in 0..RUNS {
            for (part, count) in (truth.run)() {
                *largest.entry(part).or_default() += count;
            }
        }
        let share = Share::of(truth, &largest);
        let words: Vec<String> = largest.iter().map(|(part, count)| format!("{part} {count}")).collect();
        let verdict = format!("{:>5} of {:<5}", share.planted, share.all);
        println!("{:<26} {verdict} {}", truth.name, words.join(", "));
        if !share.is_right(truth) {
            wrong.push(truth.name);
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("wrong: {}", wrong.join(", "))) }
}

/// A recording of these words; its document is in a file.
fn recorded(place: &Place, words: &str) -> Run {
    plumb(place, "why --json -o why.json --").words(words)
}

/// The parts of the slowest 1 of 100 of a direction.
fn slowest(document: &Value, direction: &str) -> Largest {
    let groups = document["groups"].as_array().unwrap();
    let group = groups.iter().find(|group| group["direction"] == direction && group["reach"] == "call");
    let group = group.unwrap_or_else(|| panic!("no {direction}: {document:#}"));
    let largest = group["slowest"]["largest"].as_object().unwrap();
    largest.iter().map(|(part, count)| (part.clone(), count.as_u64().unwrap())).collect()
}

/// Records the command to its end.
#[track_caller]
fn of(place: &Place, run: Run, direction: &str) -> Largest {
    run.succeeds();
    slowest(&place.json("why.json"), direction)
}

struct Disk {
    path: String,
    name: String,
    _device: LoopDevice,
}

impl Disk {
    fn new(place: &Place) -> Self {
        let device = LoopDevice::direct(place.path(), 16 << 20).unwrap();
        let path = device.path().display().to_string();
        let name = device.path().file_name().unwrap().to_str().unwrap().to_owned();
        Disk { path, name, _device: device }
    }

    fn reads(&self, number: u32) -> String {
        let job = format!("{PLUMB} fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1");
        format!("{job} --filename={} --number_ios={number}", self.path)
    }
}

/// A file system on a loop device.
fn mounted(place: &Place) -> Mounted {
    let device = LoopDevice::direct(place.path(), 64 << 20).unwrap();
    Mounted::on(device, "mkfs.ext4 -q", "noatime").unwrap()
}

fn shell(directory: &Path, text: &str) -> Process {
    Run::new("sh", directory).words(["-c", text]).start()
}

fn cached() -> Largest {
    let place = place();
    let job = "fio --name=a --ioengine=psync --rw=randread --bs=64k --size=4m --filename=data";
    plumb(&place, job).succeeds();
    let run = recorded(&place, &format!("{PLUMB} {job} --pre_read=1 --number_ios=2000 --norandommap"));
    of(&place, run, "read")
}

fn clean() -> Largest {
    let place = place();
    let disk = Disk::new(&place);
    of(&place, recorded(&place, &disk.reads(1000)), "read")
}

/// A disk that now and then is late: each 50th read takes 20 ms.
fn late() -> Largest {
    let place = place();
    let point = place.path().join("fuse");
    let late = SlowFuse::mount_each(&point, 50, Duration::from_millis(20)).unwrap();
    let device = LoopDevice::of_file(Path::new(&late.file())).unwrap();
    let job = format!("{PLUMB} fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1 --norandommap");
    of(&place, recorded(&place, &format!("{job} --filename={} --number_ios=1000", device.path().display())), "read")
}

fn throttled() -> Largest {
    let place = place();
    let disk = Disk::new(&place);
    let group = Group::with_read_iops(&disk.name, 400).unwrap();
    let largest = of(&place, group.inside(recorded(&place, &disk.reads(400))), "read");
    let limits = &place.json("why.json")["limits"];
    assert!(limits[0]["group"].as_str().unwrap().ends_with(&group.name()), "{limits}");
    largest
}

fn throttled_ring() -> Largest {
    let place = place();
    let disk = Disk::new(&place);
    let group = Group::with_read_iops(&disk.name, 400).unwrap();
    let words = disk.reads(400).replace("psync", "io_uring") + " --iodepth=4";
    of(&place, group.inside(recorded(&place, &words)), "read")
}

fn throttled_elsewhere() -> Largest {
    let place = place();
    let disk = Disk::new(&place);
    let group = Group::with_read_iops(&disk.name, 100).unwrap();
    let other = plumb(&place, "fio").words(disk.reads(0).split_once(" fio ").unwrap().1);
    let _other = group.inside(other.words("--time_based --runtime=60")).start();
    of(&place, recorded(&place, &disk.reads(1000)), "read")
}

fn burned() -> Largest {
    let place = place();
    // Of a loop device the worker would wait for the processor, too, and that is the device's time.
    let job =
        format!("{PLUMB} fio --name=a --ioengine=psync --rw=randread --bs=4k --direct=1 --size=16m --filename=data");
    plumb(&place, job.split_once(' ').unwrap().1.replace("randread", "write").replace("4k", "1m")).succeeds();
    let burner = || Run::new("sh", &place).words(["-c", "while :; do :; done"]).under("taskset -c 0").start();
    let _burners = [burner(), burner(), burner(), burner()];
    of(&place, recorded(&place, &format!("taskset -c 0 {job} --number_ios=1000")), "read")
}

/// Direct writes beyond the end of a file hold its lock until they are done.
fn extended() -> Largest {
    let place = place();
    let disk = mounted(&place);
    let file = disk.path().join("grows").display().to_string();
    let writer = format!("dd if=/dev/zero of={file} bs=4k count=200 oflag=direct,append conv=notrunc status=none &");
    let script = place.write("writers", format!("{}\nwait\n", [writer.as_str(); 8].join("\n")));
    of(&place, recorded(&place, &format!("sh {}", script.display())), "write")
}

/// A file system that is thawed when dropped, before it is unmounted.
struct Thaw<'point>(&'point Path);

impl Drop for Thaw<'_> {
    fn drop(&mut self) {
        let _ = Run::new("fsfreeze", self.0.parent().unwrap()).words(["--unfreeze".as_ref(), self.0]).end();
    }
}

fn frozen() -> Largest {
    let place = place();
    let disk = mounted(&place);
    let point = disk.path().display();
    let freeze = format!("sleep 0.3; fsfreeze --freeze {point}; sleep 0.2; fsfreeze --unfreeze {point};");
    let _thawed = Thaw(disk.path());
    let mut freezer = shell(place.path(), &freeze.repeat(4));
    let job = format!("{PLUMB} fio --name=a --ioengine=psync --rw=write --bs=4k --size=4m --directory={point}");
    let run = recorded(&place, &format!("{job} --time_based --runtime=2500ms --rate_iops=160 --overwrite=1"));
    let largest = of(&place, run, "write");
    house::wait_for("the last thaw", || freezer.has_ended().then_some(()));
    largest
}

/// Commits of another program's fsync write its data first.
fn committed() -> Largest {
    let place = place();
    let disk = mounted(&place);
    let point = disk.path().display();
    let other = "while :; do dd if=/dev/zero of=large bs=1M count=8 conv=fsync,notrunc status=none; sleep 0.05; done";
    let _other = shell(disk.path(), other);
    let job = format!("{PLUMB} fio --name=a --ioengine=psync --rw=write --bs=4k --size=4m --directory={point}");
    of(&place, recorded(&place, &format!("{job} --fsync=1 --number_ios=200 --overwrite=0 --fallocate=none")), "sync")
}

fn logged() -> Largest {
    let place = place();
    // The least that mkfs.xfs makes.
    let disk = Mounted::on(LoopDevice::sparse(place.path(), 300 << 20).unwrap(), "mkfs.xfs -q", "noatime").unwrap();
    let job = format!("{PLUMB} fio --name=a --ioengine=psync --rw=write --bs=4k --size=4m --fsync=1 --number_ios=200");
    of(&place, recorded(&place, &format!("{job} --fallocate=none --directory={}", disk.path().display())), "sync")
}

/// Settings of a loop device, which outlives its file; put back when dropped.
struct Settings(Vec<(PathBuf, String)>);

impl Settings {
    fn of(directory: &Path, settings: &[(&str, &str)]) -> Self {
        let mut before = Settings(Vec::new());
        for (name, value) in settings {
            let path = directory.join(name);
            let old = std::fs::read_to_string(&path).unwrap();
            // Of several words the one in brackets is set.
            let old = old.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0)).unwrap_or(old.trim());
            before.0.push((path.clone(), old.to_owned()));
            std::fs::write(&path, value).unwrap();
        }
        before
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (path, value) in self.0.iter().rev() {
            let _ = std::fs::write(path, value);
        }
    }
}

fn dirty() -> Largest {
    let place = place();
    let disk = Disk::new(&place);
    let number = std::fs::read_to_string(format!("/sys/block/{}/dev", disk.name)).unwrap();
    let directory = Path::new("/sys/class/bdi").join(number.trim());
    let _settings = Settings::of(&directory, &[("strict_limit", "1"), ("max_bytes", "1048576")]);
    let job = format!("{PLUMB} fio --name=a --ioengine=psync --rw=randwrite --bs=64k --norandommap");
    of(&place, recorded(&place, &format!("{job} --filename={} --number_ios=1000", disk.path)), "write")
}

/// Others keep all requests of the device busy.
fn flooded() -> Largest {
    let place = place();
    let disk = Disk::new(&place);
    let queue = Path::new("/sys/block").join(&disk.name).join("queue");
    let _settings = Settings::of(&queue, &[("scheduler", "mq-deadline"), ("nr_requests", "4")]);
    let flood = format!(
        "fio --name=f --thread --numjobs=24 --ioengine=psync --rw=randread --bs=4k --direct=1 \
                         --time_based --runtime=60 --filename={}",
        disk.path
    );
    let _flood = plumb(&place, flood).start();
    std::thread::sleep(Duration::from_millis(500));
    of(&place, recorded(&place, &disk.reads(300)), "read")
}
