//! Runs whose bottleneck is known because it was made: is it named? `make checks` prints the table.

use super::fio;
use super::honest::{Made, Place};
use super::other_work::{Tried, retried};
use super::seldom::{Burner, on_processor, with_setting, without_groups};
use super::setups::{Rig, on_a_slow_link, shell};
use crate::faults::SlowFuse;
use house::{Cases, Group, GroupLimit, Neighbour, Run};
use serde_json::Value;
use std::time::Duration;

/// Fewer verdicts than these are not enough, of all.
const RIGHT_MIN: usize = 22;
const RUNS_MIN: usize = 24;

/// A run whose limit is known.
#[derive(Clone, Copy)]
struct Known {
    limit: &'static str,
    /// The limiters that are right, as in JSON, and a part of a right sentence.
    right: &'static [&'static str],
    says: &'static str,
    run: fn(&Rig) -> Value,
}

/// The verdict of a run.
fn said(run: Run) -> Value {
    run.end().json()["plumb"]["limited_by"].clone()
}

fn on_device(rig: &Rig, words: &str) -> Value {
    said(rig.on_device(&timed(words)))
}

/// A run on a file of the disk.
fn on_disk(rig: &Rig, words: &str) -> Value {
    said(rig.on_file("file", &timed(words)))
}

fn timed(words: &str) -> String {
    format!("--size=32m --runtime=3 --time_based {words}")
}

fn in_group(rig: &Rig, limit: GroupLimit, per_second: u64, words: &str) -> Value {
    said(limited(rig, limit, per_second).inside(rig.on_device(&timed(words))))
}

fn limited(rig: &Rig, limit: GroupLimit, per_second: u64) -> Group {
    let group = Group::unlimited().expect("a control group with I/O limits");
    group.limit(&rig.name(), limit, per_second).expect("a control group with I/O limits");
    group
}

const fn known(
    limit: &'static str,
    (right, says): (&'static [&'static str], &'static str),
    run: fn(&Rig) -> Value,
) -> Known {
    Known { limit, right, says, run }
}

const CAP: &[&str] = &["cap"];
const DEPTH: &[&str] = &["depth"];
const CPU: &[&str] = &["client_cpu"];
const FLUSH: &[&str] = &["flush"];
const LIBAIO: &str = "--rw=randread --bs=4k --ioengine=libaio --iodepth=8";
const PSYNC: &str = "--rw=randread --bs=4k --ioengine=psync";

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    // Of the plan.
    known("the job's rate, 300 I/Os per second", (CAP, "rate_iops"), |rig| on_device(rig, &format!("{PSYNC} --rate_iops=300"))),
    known("the job's rate, 50 each of four workers", (CAP, "rate_iops"), |rig| on_device(rig, &format!("{PSYNC} --rate_iops=50 --numjobs=4"))),
    known("the job's rate, reads and writes", (CAP, "rate_iops"), |rig| on_device(rig, "--rw=randrw --bs=4k --ioengine=psync --rate_iops=100,100")),
    known("the job's rate, 4 MiB per second", (CAP, "own rate"), |rig| on_device(rig, "--rw=write --bs=16k --ioengine=psync --rate=4m")),
    known("pauses of 1 ms", (CAP, "thinktime=1ms"), |rig| on_device(rig, &format!("{PSYNC} --thinktime=1ms"))),
    known("one I/O in flight at a disk", (DEPTH, "one I/O"), |rig| on_disk(rig, &format!("--direct=1 {PSYNC}"))),
    known("two I/Os in flight at a disk", (DEPTH, "2 I/Os"), |rig| on_disk(rig, "--direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=2")),
    known("two workers with one I/O each", (DEPTH, "2 I/Os"), |rig| on_disk(rig, &format!("--direct=1 {PSYNC} --numjobs=2"))),
    // Of control groups.
    known("a group of 300 reads/s", (CAP, "300 reads/s"), |rig| in_group(rig, GroupLimit::Reads, 300, LIBAIO)),
    known("a group of 200 writes/s", (CAP, "200 writes/s"), |rig| in_group(rig, GroupLimit::Writes, 200, "--rw=randwrite --bs=4k --ioengine=libaio --iodepth=4")),
    known("a group of 20 MB read/s", (CAP, "20,000,000 bytes read/s"), |rig| in_group(rig, GroupLimit::BytesRead, 20_000_000, "--rw=read --bs=64k --ioengine=libaio --iodepth=4")),
    known("a group of 5 MB written/s", (CAP, "5,000,000 bytes written/s"), |rig| in_group(rig, GroupLimit::BytesWritten, 5_000_000, "--rw=write --bs=16k --ioengine=psync")),
    known("2,300 reads/s, out of sight", (CAP, "a limit"), |rig| {
        let run = rig.on_device(&format!("{LIBAIO} --ramp_time=1 --runtime=6 --time_based"));
        said(limited(rig, GroupLimit::Reads, 2_300).inside(without_groups(run)))
    }),
    known("a quota of 5 % of a processor", (CPU, "quota"), |_| {
        let group = Group::with_processor_percent(5).expect("a control group with a processor quota");
        said(group.inside(fio("--name=a --ioengine=null --rw=randread --bs=4k --size=1t --runtime=3 --time_based")))
    }),
    // Of processors and memory.
    known("one processor, shared with a burner", (CPU, "processor"), |rig| {
        let _burner = Burner::on("0");
        said(on_processor("0", rig.on_device(&timed(&format!("{PSYNC} --numjobs=2")))))
    }),
    known("checksums", (CPU, "processor"), |rig| on_device(rig, "--rw=write --bs=64k --ioengine=psync --verify=sha3-512 --verify_backlog=16 --verify_state_save=0")),
    known("the null engine", (CPU, "processor"), |_| said(fio("--name=a --ioengine=null --rw=randread --bs=4k --size=1t --runtime=3 --time_based"))),
    known("the page cache, 4 KiB", (&["client_cpu", "memory"], ""), |rig| warm(rig, "--rw=randread --bs=4k")),
    known("copying memory, 1 MiB", (&["client_cpu", "memory"], ""), |rig| warm(rig, "--rw=read --bs=1m")),
    // Of flushes.
    known("fsync after each write", (FLUSH, ""), |rig| on_disk(rig, "--rw=randwrite --bs=4k --ioengine=psync --fsync=1")),
    known("fdatasync after each write", (FLUSH, ""), |rig| on_disk(rig, "--rw=write --bs=4k --ioengine=psync --fdatasync=1")),
    known("synchronous writes", (FLUSH, ""), |rig| on_disk(rig, "--direct=1 --rw=randwrite --bs=4k --ioengine=psync --sync=1")),
    known("O_DSYNC of two writers", (FLUSH, ""), |rig| on_disk(rig, "--rw=write --bs=8k --ioengine=psync --sync=dsync --numjobs=2 --offset_increment=16m --size=16m")),
    // Of the path to the device.
    known("a server of files that takes 2 ms", (&["server"], "fuse"), |rig| {
        let fuse = SlowFuse::mount(&rig.folder().join("fuse"), Duration::from_millis(2)).expect("/dev/fuse");
        said(fio(&format!("--name=a --filename={} --size=1m --runtime=3 --time_based {PSYNC}", fuse.file())))
    }),
    known("the lock of one file, buffered writers", (&["file_system_lock"], "file system"), |rig| {
        on_disk(rig, "--rw=write --bs=1m --ioengine=psync --numjobs=8")
    }),
    known("the lock of one file, direct writes into holes", (&["file_system_lock"], "file system"), |rig| {
        shell("truncate -s 1G \"$1\"", &rig.folder().join("file"));
        on_disk(rig, "--direct=1 --rw=randwrite --bs=4k --ioengine=psync --numjobs=8 --fallocate=none --size=1g")
    }),
    known("nr_requests=4 under 32 I/Os", (&["depth", "cap", "device"], ""), |rig| with_setting(rig, "nr_requests", "4", || {
        on_device(rig, "--rw=randread --bs=64k --ioengine=libaio --iodepth=32")
    })),
    known("a link of 250 MB/s", (&["link"], "250 MB/s"), |rig| {
        said(on_a_slow_link(rig, rig.on_device(&timed("--rw=read --bs=1m --ioengine=libaio --iodepth=8"))))
    }),
    known("another program at the device", (&["neighbour"], "other programs"), |rig| {
        let other = rig.on_device("--rw=randread --bs=256k --ioengine=libaio --iodepth=32 --runtime=60 --time_based");
        let _other = Neighbour::start(other, &rig.name());
        on_device(rig, PSYNC)
    }),
    known("the disk itself", (&["device"], "at work"), |_| {
        let made = Made::new(Place::Disk);
        said(fio(&format!("--name=a --filename={} --direct=1 {}", made.target().display(), timed("--rw=randread --bs=64k --ioengine=libaio --iodepth=64"))))
    }),
];

/// Reads of a file that is in memory.
fn warm(rig: &Rig, words: &str) -> Value {
    shell("head -c 32M /dev/urandom > \"$1\" && sync \"$1\" && cat \"$1\" > /dev/null", &rig.folder().join("file"));
    on_disk(rig, &format!("{words} --ioengine=psync --invalidate=0"))
}

impl Known {
    fn is_right(&self, verdict: &Value) -> bool {
        let limiter = verdict["limiter"].as_str().unwrap_or_default();
        self.right.contains(&limiter) && sentence(verdict).contains(self.says)
    }

    fn judged(&self) -> Tried<Value> {
        retried(|| (self.run)(&Rig::new()), |verdict| self.is_right(verdict))
    }
}

fn sentence(verdict: &Value) -> &str {
    verdict["sentence"].as_str().unwrap_or("nothing")
}

/// Adds each run as a test on request.
pub(super) fn add_to(cases: Cases) -> Cases {
    KNOWN.iter().fold(cases, |cases, known| {
        cases.on_request(&format!("limited_by::{}", known.limit), || {
            let verdict = known.judged().found;
            println!("{verdict}");
            if known.is_right(&verdict) { Ok(()) } else { Err(format!("not {:?}: {verdict}", known.right)) }
        })
    })
}

/// Limiters that are right while other processes work.
const OF_OTHERS: [&str; 2] = ["client_cpu", "neighbour"];

/// Makes the table and prints it. A run in which other processes were the limit is not judged.
pub(super) fn table() -> Result<(), String> {
    println!("{:<52} {:<17} {:<10} {:>6}  sentence", "known limit", "limited by", "right", "s");
    let (mut judged, mut right) = (0, 0);
    for known in KNOWN {
        let tried = known.judged();
        let is_right = known.is_right(&tried.found);
        let limiter = tried.found["limiter"].as_str().unwrap_or("-");
        let is_disturbed = !is_right && tried.others.are_busy() && OF_OTHERS.contains(&limiter);
        (judged, right) = (judged + usize::from(!is_disturbed), right + usize::from(is_right));
        let word = match is_right {
            true => "yes",
            false if is_disturbed => "disturbed",
            false => "NO",
        };
        let note = if is_disturbed { format!(" [{}]", tried.others) } else { String::new() };
        let (seconds, sentence) = (tried.took.as_secs_f64(), sentence(&tried.found));
        println!("{:<52} {limiter:<17} {word:<10} {seconds:>6.1}  {sentence}{note}", known.limit);
    }
    println!("{right} of {judged} verdicts are right; {} runs were disturbed", KNOWN.len() - judged);
    match judged >= RUNS_MIN && right * RUNS_MIN >= RIGHT_MIN * judged {
        true => Ok(()),
        false => Err(format!("{right} of {judged} right; {RIGHT_MIN} of {RUNS_MIN} are wanted")),
    }
}
