//! Set-ups whose plan is not what happens: a ramp that takes all, a verification that does not come about, one file by
//! two names, writes that wait for each other, short stalls. Next to each, an honest run that is like it and stays
//! silent.

use super::setups::{Rig, Setup, shell};
use super::{findings, findings_in, fio};
use house::{Cases, Group, LoopDevice, Run, children, signal};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The remarks (check, sentence) of a run.
type Found = Vec<(String, String)>;

/// Those that say this.
fn saying(found: Found, words: &str) -> Found {
    found.into_iter().filter(|(_, sentence)| sentence.contains(words)).collect()
}

/// 8 MiB of writes that are verified.
const VERIFIED: &str =
    "--rw=write --bs=64k --size=8m --direct=1 --ioengine=psync --verify=crc32c --verify_state_save=0 --end_fsync=1";
/// Writes of a file from its start to its end, in flight at the same time.
const WRITES: &str = "--rw=write --bs=4k --size=32m --direct=1 --ioengine=libaio --iodepth=16 --end_fsync=1";
/// 8 MiB of direct reads.
const READS: &str = "--rw=randread --bs=4k --size=8m --direct=1 --ioengine=psync";

/// All set-ups of plans.
pub(super) const PLAN_SETUPS: &[Setup] = &[
    Setup {
        check: "impossible plan",
        how: "a time_based writer with verify",
        run: |rig| {
            let words = format!("{VERIFIED} --time_based --runtime=1");
            saying(
                findings(rig.on_file("v", &words)),
                "to be verified, and none of it was: its runtime of 1 s ended first",
            )
        },
    },
    Setup {
        check: "impossible plan",
        how: "verification is switched off by option",
        run: |rig| saying(findings(rig.on_file("v", &format!("{VERIFIED} --do_verify=0"))), "nothing was verified"),
    },
    Setup {
        check: "compressible",
        how: "one buffer is written over and over",
        run: |rig| saying(findings(rig.on_file("s", &format!("{WRITES} --scramble_buffers=0"))), "the same buffer"),
    },
    Setup {
        check: "too short",
        how: "a run of 100 ms",
        run: |rig| saying(findings(rig.on_file("r", &format!("{READS} --time_based --runtime=100ms"))), "mean"),
    },
    Setup {
        check: "impossible plan",
        how: "a ramp of 7 of 8 MiB",
        run: |rig| {
            let words = format!("{READS} --ramp_size=7m");
            saying(findings(rig.on_file("r", &words)), "warms up for 7 MiB, which left 1 MiB")
        },
    },
    Setup {
        check: "impossible plan",
        how: "a ramp longer than the run",
        run: |rig| {
            let words = format!("{READS} --ramp_time=60");
            saying(findings(rig.on_file("r", &words)), "ended within its ramp of 60 s")
        },
    },
    Setup {
        check: "overlap",
        how: "two writers of a file with two names",
        run: |rig| {
            let [one, other] = two_names(rig);
            saying(findings(two_writers([&one, &other], "")), "are the same bytes")
        },
    },
    Setup {
        check: "overlap",
        how: "two writers, of a loop device and of its file",
        run: |rig| {
            let device = LoopDevice::direct(rig.folder(), 64 << 20).expect("a loop device: are we root?");
            saying(findings(two_writers([device.path(), device.backing()], "")), "are the same bytes")
        },
    },
    Setup {
        check: "depth",
        how: "writes that extend a file",
        run: |rig| {
            let words = format!("{WRITES} --fallocate=none");
            saying(findings(rig.on_file("e", &words)), "writes past the end of a file wait for each other")
        },
    },
];

/// Set-ups that last long and want a quiet machine: for `make checks`.
pub(super) const LONG_PLAN_SETUPS: &[Setup] = &[Setup {
    check: "coordinated omission",
    how: "a worker stopped for 60 ms of each second",
    run: |rig| {
        let words = "--rw=randread --bs=4k --ioengine=psync --runtime=12 --time_based";
        let run = rig.on_device(words).start();
        std::thread::sleep(Duration::from_millis(700));
        for worker in children(run.id()) {
            for _ in 0..11 {
                signal(worker, Signal::STOP);
                std::thread::sleep(Duration::from_millis(60));
                signal(worker, Signal::CONT);
                std::thread::sleep(Duration::from_millis(940));
            }
        }
        saying(findings_in(&run.end()), "closed loop: a stall of about")
    },
}];

/// A run that is like a set-up and about which these words may not be said.
struct Honest {
    how: &'static str,
    words: &'static str,
    run: fn(&Rig) -> Found,
}

const HONEST: &[Honest] = &[
    Honest { how: "all is verified", words: "to be verified", run: |rig| findings(rig.on_file("v", VERIFIED)) },
    Honest {
        how: "a time_based writer that verifies as it goes",
        words: "to be verified",
        run: |rig| findings(rig.on_file("v", &format!("{VERIFIED} --verify_backlog=16 --time_based --runtime=1"))),
    },
    Honest {
        how: "a ramp of 2 of 8 MiB",
        words: "ramp",
        run: |rig| findings(rig.on_file("r", &format!("{READS} --ramp_size=2m"))),
    },
    Honest {
        how: "a long ramp before a whole runtime",
        words: "warms up",
        run: |rig| findings(rig.on_file("r", &format!("{READS} --ramp_size=7m --time_based --runtime=1"))),
    },
    Honest {
        how: "two writers of two files",
        words: "write the same",
        run: |rig| findings(two_writers([&rig.folder().join("one"), &rig.folder().join("two")], "")),
    },
    Honest {
        how: "two writers of two halves of a file with two names",
        words: "write the same",
        run: |rig| {
            let [one, other] = two_names(rig);
            findings(two_writers([&one, &other], "--offset=16m"))
        },
    },
    Honest {
        how: "a file is written again",
        words: "past the end",
        run: |rig| {
            findings(rig.on_file("e", WRITES));
            findings(rig.on_file("e", WRITES))
        },
    },
    Honest {
        how: "a limit for the processes of the group above",
        words: "the limit of control group",
        run: |rig| {
            let name = rig.device().replace("/dev/", "");
            let group = Group::with_read_iops(&name, 300).expect("a control group with I/O limits");
            // Version 2 applies it to the groups below, too, where it is to be found.
            let above = Path::new("/sys/fs/cgroup/blkio").join(group.name());
            if !above.exists() {
                return Vec::new();
            }
            let below = above.join("below");
            std::fs::create_dir(&below).expect("a control group");
            let procs = below.join("cgroup.procs").display().to_string();
            let run = rig.on_device("--rw=randread --bs=4k --ioengine=psync --runtime=3 --time_based");
            let found = findings(run.under(["sh", "-c", "echo $$ > \"$0\" && exec \"$@\"", &procs]));
            std::fs::remove_dir(&below).expect("its processes have ended");
            found
        },
    },
];

/// Adds the honest runs, `checks::honest::HOW`.
pub(super) fn with_honest_runs(mut cases: Cases) -> Cases {
    for honest in HONEST {
        cases = cases.case(&format!("honest::{}", honest.how), || {
            let found = saying((honest.run)(&Rig::new()), honest.words);
            if found.is_empty() { Ok(()) } else { Err(format!("accused: {found:?}")) }
        });
    }
    cases
}

/// A file of 32 MiB with two names.
fn two_names(rig: &Rig) -> [PathBuf; 2] {
    let [one, other] = ["one", "other"].map(|name| rig.folder().join(name));
    shell("head -c 32M /dev/urandom > \"$1\" && sync \"$1\"", &one);
    std::fs::hard_link(&one, &other).expect("a hard link");
    [one, other]
}

/// Two jobs that write 16 MiB each, the second with these options.
fn two_writers(files: [&Path; 2], second: &str) -> Run {
    let common = "--rw=write --bs=64k --size=16m --direct=1 --ioengine=psync --end_fsync=1";
    let [one, other] = files.map(Path::display);
    fio(&format!("--name=a --filename={one} {common} --name=b --filename={other} {common} {second}"))
}
