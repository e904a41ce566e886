//! Each check fires on a set-up made for it, stays silent over clean runs, and judges what others measured.
//!
//! Needs root, loop devices, tmpfs and control groups. A set-up is a test, `checks::CHECK::HOW`, and so is each clean
//! run, `checks::clean::N`, which may say what is true of a busy machine. On request (`make checks`) twenty clean runs
//! that may say nothing: they want a quiet machine.

mod costs;
mod plan_setups;
mod setups;
mod sweeps;

use house::{Cases, LoopDevice, Mounted};
use serde_json::Value;
use setups::{LONG_SETUPS, Rig, SETUPS, Setup};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");

fn fio(words: &str) -> Command {
    let mut command = Command::new(PLUMB);
    command.arg("fio").args(words.split_whitespace()).arg("--output-format=json");
    command
}

/// The notes of a finished run: (check, sentence), without those that could not be made.
fn findings(mut command: Command) -> Vec<(String, String)> {
    let outcome = command.output().expect("plumb runs");
    findings_in(&outcome.stdout)
}

fn findings_in(stdout: &[u8]) -> Vec<(String, String)> {
    let found: Value =
        serde_json::from_slice(stdout).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(stdout)));
    let notes = found["plumb"]["notes"].as_array().cloned().unwrap_or_default();
    let text = |note: &Value, key: &str| note[key].as_str().expect("text").to_owned();
    notes
        .iter()
        .filter(|note| note["grade"] != "not_checked")
        .map(|note| (text(note, "check"), text(note, "sentence")))
        .collect()
}

/// Set-ups, clean runs and single tests, one at a time: they share the machine's processors.
pub(super) fn groups() -> Vec<Cases> {
    let mut cases = Cases::new("checks", 1);
    for setup in SETUPS.iter().chain(plan_setups::PLAN_SETUPS) {
        cases = cases.case(&format!("{}::{}", setup.check, setup.how), || fires(setup));
    }
    for setup in LONG_SETUPS.iter().chain(plan_setups::LONG_PLAN_SETUPS) {
        cases = cases.on_request(&format!("{}::{}", setup.check, setup.how), || fires(setup));
    }
    cases = plan_setups::with_honest_runs(cases);
    for (number, load) in CLEAN.iter().enumerate() {
        cases = cases.case(&format!("clean::{number}"), || clean_run(Place::LoopOverMemory, load, Quiet::Unknown));
    }
    for place in Place::STORAGE {
        for (how, load) in [("reads", CLEAN[1]), ("flushed writes", CLEAN[3])] {
            cases = cases.case(&format!("clean::{place:?}::{how}"), move || clean_run(place, load, Quiet::Unknown));
        }
    }
    for number in 0..20 {
        let load = CLEAN[number % CLEAN.len()];
        cases = cases.on_request(&format!("clean_and_quiet::{number}"), || {
            clean_run(Place::LoopOverMemory, load, Quiet::Promised)
        });
    }
    vec![house::tests!(
        cases,
        every_check_has_a_setup,
        findings_are_told_on_standard_error_and_fail_a_strict_run,
        costs::a_printed_rate_is_held_against_its_own_counts_in_text_json_and_tables,
        costs::a_block_size_sweep_of_a_real_device_is_measured_fitted_and_told_with_its_errors,
        costs::what_jobs_and_device_say_of_the_same_stands_side_by_side,
        costs::a_sweep_that_cannot_be_measured_names_why,
        sweeps::exactly_the_rows_whose_rate_and_latency_do_not_match_their_users_are_told,
        sweeps::explain_puts_the_numbers_in_and_says_which_equation_breaks,
        sweeps::the_model_of_a_known_device_is_within_one_percent,
    )]
}

/// A machine that is busy with other work may hide what a set-up does to it: three tries.
fn fires(setup: &Setup) -> Result<(), String> {
    let mut found = Vec::new();
    for _ in 0..3 {
        found = (setup.run)(&Rig::new());
        if let Some((_, sentence)) = found.iter().find(|(check, _)| check == setup.check) {
            println!("{:<22} {:<34} {sentence}", setup.check, setup.how);
            return Ok(());
        }
    }
    Err(format!("did not fire; others: {found:?}"))
}

fn every_check_has_a_setup() {
    let without: Vec<&str> = analysis::CHECKS
        .iter()
        .map(|check| check.id)
        .filter(|id| SETUPS.iter().all(|setup| setup.check != *id))
        .collect();
    assert_eq!(without, Vec::<&str>::new(), "nothing makes these fire");
}

/// Loads without anything to say against them.
const CLEAN: [&str; 5] = [
    "--rw=randread --bs=4k --ioengine=psync --percentile_list=50:90",
    "--rw=randread --bs=4k --ioengine=libaio --iodepth=4 --percentile_list=50:90",
    "--rw=randread --bs=16k --ioengine=io_uring --iodepth=2 --percentile_list=50",
    "--rw=randwrite --bs=4k --ioengine=psync --fsync=64 --percentile_list=50",
    "--rw=randrw --bs=8k --ioengine=psync --end_fsync=1 --percentile_list=50",
];

/// Where a clean run has its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A loop device over memory: no other process uses it. That it is memory is the one thing to say.
    LoopOverMemory,
    /// A loop device over a file on the disk, past the page cache.
    LoopOverDisk,
    /// A file on the disk of this machine.
    Disk,
    /// A file system on such a loop device.
    Xfs,
    /// An overlay of two directories on the disk.
    Overlay,
}

impl Place {
    /// Places on a disk of storage, which other processes use, too.
    const STORAGE: [Place; 4] = [Place::LoopOverDisk, Place::Disk, Place::Xfs, Place::Overlay];

    /// Runs a load there.
    fn run(self, load: &str) -> Vec<(String, String)> {
        let rig = Rig::new();
        let run = |file: &Path| {
            let file = file.display();
            let words = format!("--name=clean --filename={file} --size=32m --direct=1 --runtime=2 --time_based {load}");
            findings(fio(&words))
        };
        let disk = |bytes| LoopDevice::direct(rig.folder(), bytes).expect("a loop device: are we root?");
        match self {
            Place::LoopOverMemory => {
                let (backing, others): (Vec<_>, Vec<_>) =
                    run(Path::new(&rig.device())).into_iter().partition(|(check, _)| check == "backing");
                assert!(
                    backing.len() == 1 && backing[0].1.ends_with("a file on tmpfs: this measures memory"),
                    "{backing:?}"
                );
                others
            }
            Place::LoopOverDisk => run(disk(64 << 20).path()),
            Place::Disk => run(&rig.folder().join("file")),
            Place::Xfs => run(&Mounted::on(disk(320 << 20), "mkfs.xfs -q", "rw").expect("xfs").path().join("file")),
            Place::Overlay => run(&setups::overlay(rig.folder(), rig.folder(), "rw").path().join("file")),
        }
    }

    /// True if other processes use the disk.
    fn is_shared(self) -> bool {
        self != Place::LoopOverMemory
    }

    /// The remarks that are true of a run while other processes use the processors or the disk.
    fn true_when_busy(self, check: &str) -> bool {
        // Requests of others are in the averages, too, and take the time.
        let of_disk = ["neighbour", "limiter", "split / merge", "amplification", "too short"].contains(&check);
        (of_disk && self.is_shared())
            || ["client CPU", "throttled", "coordinated omission", "not steady", "busy users", "two latencies"]
                .contains(&check)
    }

    /// The remarks that may be true although no other process is seen to work: the disk is shared with other machines, and
    /// the kernel threads of a loop device over memory need the processors themselves.
    fn true_at_any_time(self, check: &str) -> bool {
        if self.is_shared() { self.true_when_busy(check) } else { check == "client CPU" }
    }
}

/// Whether the machine does nothing else during a clean run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quiet {
    /// The run is judged against what the machine did meanwhile.
    Unknown,
    /// The person who started the run says so.
    Promised,
}

/// A clean run is silent, but for remarks that are true of a busy machine, if it was busy. Such a run is repeated first.
fn clean_run(place: Place, load: &str, quiet: Quiet) -> Result<(), String> {
    for attempt in 1.. {
        let work = OtherWork::start();
        let found = place.run(load);
        let busy = work.processors();
        let allowed = |(check, _): &(String, String)| {
            place.true_at_any_time(check) || (busy > BUSY && place.true_when_busy(check))
        };
        let explained = found.iter().all(allowed) && quiet == Quiet::Unknown;
        if found.is_empty() || (explained && (attempt == 3 || place.is_shared())) {
            println!("clean run {place:?} {load:<75} {found:?} at try {attempt}, other work: {busy:.2} processors");
            return Ok(());
        }
        if !explained {
            return Err(format!("{place:?} {load}: {found:?}; other work: {busy:.2} processors"));
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

/// From this much work of other processes on, in processors, a run has to wait for a processor now and then.
const BUSY: f64 = 0.1;

/// The processor time that is not available to our children: what other processes spend in user mode, and what the
/// hypervisor takes (steal). Kernel threads do the I/O of a loop device, so time in the kernel does not count.
struct OtherWork {
    started: Instant,
    seconds: f64,
}

impl OtherWork {
    fn start() -> Self {
        OtherWork { started: Instant::now(), seconds: Self::seconds() }
    }

    fn seconds() -> f64 {
        // Ticks of 10 ms, as on all of Linux's usual machines (USER_HZ is 100).
        let field = |text: &str, at: usize| text.split_whitespace().nth(at).and_then(|word| word.parse().ok());
        let all = std::fs::read_to_string("/proc/stat").expect("proc is mounted");
        let own = std::fs::read_to_string("/proc/self/stat").expect("proc is mounted");
        let own = own.rsplit(") ").next().unwrap_or_default();
        // user, nice and steal of all processors; cutime, the 16th field, of ours: the name and the number are cut off.
        let ticks = |text: &str, at: usize| -> f64 { field(text, at).expect("a number of ticks") };
        (ticks(&all, 1) + ticks(&all, 2) + ticks(&all, 8) - ticks(own, 13)) / 100.0
    }

    /// How many processors the others used on average.
    fn processors(&self) -> f64 {
        (Self::seconds() - self.seconds) / self.started.elapsed().as_secs_f64()
    }
}

fn findings_are_told_on_standard_error_and_fail_a_strict_run() {
    let run = |strict: &str| {
        let words = format!("--name=a --ioengine=null --rw=read --bs=4k --size=64m {strict}");
        fio(&words).env("PLUMB_REMARKS", "always").output().expect("plumb runs")
    };
    let plain = run("");
    let said = String::from_utf8_lossy(&plain.stderr).into_owned();
    assert_eq!(plain.status.code(), Some(0), "{said}");
    assert!(said.lines().any(|line| line.starts_with("plumb: check: ") && line.ends_with(']')), "{said}");
    assert_eq!(run("--strict=too-short").status.code(), Some(4));
    assert_eq!(run("--strict").status.code(), Some(4));
    assert_eq!(run("--strict=cache,limiter").status.code(), Some(0), "other checks found something");
    let unknown = run("--strict=cash");
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("--strict=cash: `cash` is neither a check nor a grade"));
    let quiet = fio("--name=a --ioengine=null --rw=read --size=64m").env("PLUMB_REMARKS", "never").output();
    assert!(quiet.expect("plumb runs").stderr.is_empty());
}
