//! What waiting costs: how late the I/Os of a job with a rate are and how long pauses last, with the CPU time that it takes.
//!
//! A sleep ends late by what the timer and the scheduler of the machine take, and no program can undo that: the bare sleep in the same
//! run says how much that is. Lateness is judged against the limit or, where that is more, twice the bare sleep's.

use super::{counted, plumb};
use measure::Histogram;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A rate, and how late the I/Os may be that do not belong to the latest hundredth.
const RATES: [(u32, Duration); 3] =
    [(1_000, Duration::from_micros(100)), (20_000, Duration::from_micros(100)), (100_000, Duration::from_micros(20))];
/// I/Os of the job with pauses.
const PAUSED: u32 = 40_000;

/// Measures and prints all; what is not as it has to be.
pub(super) fn show(file: &Path) -> io::Result<Vec<String>> {
    let bare = bare_sleep();
    println!("\nwaiting: a bare sleep of 1 ms ends {bare:.1?} late at the 99th percentile");
    let mut failures = Vec::new();
    for (rate, most) in RATES {
        let words = format!("--rate_iops={rate} --time_based --runtime=2");
        let (cpu, found) = run(plumb(), &words, "json-full", file)?;
        let late = lateness(&found)?;
        let (cpu_of_fio, _) = run(Command::new("fio"), &words, "json", file)?;
        let most = most.max(2 * bare);
        let (cpu, cpu_of_fio) = (cpu / 2.0 * 100.0, cpu_of_fio / 2.0 * 100.0);
        let line = format!(
            "{rate} I/Os per second: p99 of lateness {late:.1?}, at most {most:.1?}; {cpu:.1} % of a processor, fio {cpu_of_fio:.1} %"
        );
        println!("  {line}");
        failures.extend((late > most || cpu > cpu_of_fio.max(5.0) * 1.1).then_some(line));
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

/// The 99th percentile of how late a sleep ends, with the timer slack that plumb sets.
fn bare_sleep() -> Duration {
    // SAFETY: prctl(2) with this option takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let mut late: Vec<Duration> = (0..500)
        .map(|_| {
            let (begun, pause) = (Instant::now(), Duration::from_millis(1));
            std::thread::sleep(pause);
            begun.elapsed().saturating_sub(pause)
        })
        .collect();
    late.sort_unstable();
    late[late.len() * 99 / 100]
}
