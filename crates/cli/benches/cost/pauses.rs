//! What waiting costs: how late the I/Os of a job with a rate are and how long pauses last, with the CPU time that it
//! takes.
//!
//! A sleep ends late by what the timer and the scheduler of the machine take, and costs what they cost: no program can
//! undo that. A bare loop that sleeps until each I/O is due and reads says in the same run how much that is. What is
//! judged may be twice as late as the bare loop, and take a quarter more CPU time, where that is more than the limit.

use super::{counted, plumb};
use measure::Histogram;
use serde_json::Value;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// I/Os per second, how late those may be that do not belong to the latest hundredth, and the part of a processor.
const RATES: [(u32, Duration, f64); 3] = [
    (1_000, Duration::from_micros(100), 0.01),
    (20_000, Duration::from_micros(100), 0.33),
    (100_000, Duration::from_micros(20), 0.33),
];
/// Two runs, whose difference in CPU time is that of this many seconds without what starting takes.
const RUNS: [u32; 2] = [1, 4];
/// I/Os of the job with pauses.
const PAUSED: u32 = 40_000;
const BLOCK: usize = 4096;

/// Lateness at the 99th percentile, and the part of a processor.
#[derive(Clone, Copy)]
struct Waited {
    late: Duration,
    cpu: f64,
}

/// Measures and prints all; what is not as it has to be.
pub(super) fn show(file: &Path) -> io::Result<Vec<String>> {
    println!("\nwaiting: 99th percentile of lateness, and of a processor; the bare loop sleeps and reads");
    let mut failures = Vec::new();
    for (rate, latest, share) in RATES {
        let bare = bare_loop(file, rate)?;
        let ours = with_rate(plumb, rate, file)?;
        let of_fio = cpu_with_rate(|| Command::new("fio"), rate, "json", file)?.0;
        // A loop that sleeps too long for the rate falls behind by more and more, which is not an excuse.
        let kept_up = Some(2 * bare.late).filter(|late| *late < Duration::from_millis(1));
        let (latest, most) = (latest.max(kept_up.unwrap_or_default()), share.max(1.25 * bare.cpu));
        let line = format!(
            "{rate} I/Os per second: {:.1?}, at most {latest:.1?} (bare {:.1?}); {:.1} %, at most {:.1} % (bare {:.1} %, fio {:.1} %)",
            ours.late,
            bare.late,
            ours.cpu * 100.0,
            most * 100.0,
            bare.cpu * 100.0,
            of_fio * 100.0
        );
        println!("  {line}");
        failures.extend((ours.late > latest || ours.cpu > most).then_some(line));
    }
    let words = format!("--thinktime=10us --number_ios={PAUSED}");
    let [plumb, fio] = [plumb(), Command::new("fio")].map(|tool| {
        let (cpu, found) = run(tool, &words, "json", file)?;
        let micros = found["jobs"][0]["read"]["runtime"].as_f64().unwrap_or(0.0) * 1e3 / f64::from(PAUSED);
        Ok::<_, io::Error>((micros, cpu * 1e6 / f64::from(PAUSED)))
    });
    let (plumb, fio) = (plumb?, fio?);
    let line = format!(
        "thinktime=10us: {:.1} us from I/O to I/O, {:.1} us of CPU time; fio {:.1} us, {:.1} us",
        plumb.0, plumb.1, fio.0, fio.1
    );
    println!("  {line}");
    failures.extend((plumb.0 > fio.0 * 1.1 || plumb.1 > fio.1 * 1.1).then_some(line));
    Ok(failures)
}

fn with_rate(tool: impl Fn() -> Command, rate: u32, file: &Path) -> io::Result<Waited> {
    let (cpu, found) = cpu_with_rate(tool, rate, "json-full", file)?;
    Ok(Waited { late: lateness(&found)?, cpu })
}

/// The part of a processor that a rate takes, and what the longer run says of itself.
fn cpu_with_rate(tool: impl Fn() -> Command, rate: u32, format: &str, file: &Path) -> io::Result<(f64, Value)> {
    let run = |seconds| run(tool(), &format!("--rate_iops={rate} --time_based --runtime={seconds}"), format, file);
    let [short, long] = RUNS;
    let (starting, _) = run(short)?;
    let (cpu, found) = run(long)?;
    Ok(((cpu - starting) / f64::from(long - short), found))
}

/// CPU seconds of a run, and what it says of itself.
fn run(mut tool: Command, words: &str, format: &str, file: &Path) -> io::Result<(f64, Value)> {
    tool.args(["--name=paced", "--ioengine=psync", "--rw=randread", "--bs=4k", "--norandommap", "--size=64m"]);
    tool.arg(format!("--output-format={format}")).arg(format!("--filename={}", file.display())).args(words.split(' '));
    let (user, system, output) = counted(tool)?;
    let found = serde_json::from_str(output.get(output.find('{').unwrap_or(0)..).unwrap_or_default());
    Ok((user + system, found.map_err(|error| io::Error::other(format!("{error}: {output}")))?))
}

/// The 99th percentile of how late I/Os were.
fn lateness(found: &Value) -> io::Result<Duration> {
    let mut histogram = Histogram::new();
    let pairs = found["plumb"]["jobs"][0]["read"]["lateness"]["histogram"].as_array();
    for pair in pairs.into_iter().flatten() {
        if let (Some(bucket), Some(count)) = (pair[0].as_u64(), pair[1].as_u64()) {
            histogram.add_to_bucket(usize::try_from(bucket).unwrap_or(usize::MAX), count);
        }
    }
    let late = histogram.percentile(99.0).ok_or_else(|| io::Error::other("plumb says nothing of lateness"))?;
    Ok(Duration::from_nanos(late.get()))
}

/// Sleeps until each I/O is due, with the timer slack that plumb sets, and reads a block.
fn bare_loop(file: &Path, rate: u32) -> io::Result<Waited> {
    // SAFETY: prctl(2) with this option takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let file = File::open(file)?;
    let blocks = file.metadata()?.len() / BLOCK as u64;
    let mut block = [0u8; BLOCK];
    let gap = 1_000_000_000 / u64::from(rate);
    let ios = rate * RUNS[1];
    let mut late = Vec::with_capacity(ios as usize);
    let (begun, cpu) = (now(libc::CLOCK_MONOTONIC), now(libc::CLOCK_THREAD_CPUTIME_ID));
    for io in 1..=u64::from(ios) {
        let due = begun + io * gap;
        let until = libc::timespec {
            tv_sec: (due / 1_000_000_000).cast_signed(),
            tv_nsec: (due % 1_000_000_000).cast_signed(),
        };
        // SAFETY: clock_nanosleep(2) reads `until`; pread(2) writes at most the block's bytes.
        unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, std::ptr::null_mut());
            late.push(now(libc::CLOCK_MONOTONIC).saturating_sub(due));
            let offset = (io * 7919 % blocks * BLOCK as u64).cast_signed();
            if libc::pread(file.as_raw_fd(), block.as_mut_ptr().cast(), BLOCK, offset) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    let cpu = now(libc::CLOCK_THREAD_CPUTIME_ID) - cpu;
    let elapsed = now(libc::CLOCK_MONOTONIC) - begun;
    late.sort_unstable();
    let cpu = cpu as f64 / elapsed as f64;
    Ok(Waited { late: Duration::from_nanos(late[late.len() * 99 / 100]), cpu })
}

fn now(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) writes `time`.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
