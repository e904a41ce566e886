//! How fast and in how much memory `plumb parse` reads text: reports of fio, and a log in which there are few.
//!
//! `--short` judges: a smaller file, and a failure only when memory grows with the file.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a bench finds is for a person to read")]

use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const REPORT: &str = include_str!("../../../formats/tests/seeds/fio_2.0.13.txt");
const PROSE: &str =
    "Nov 20 12:00:01 host app[4711]: request 0f3a took 13 ms, 200 OK, 5120 bytes; nothing to do with disks\n";
/// Resident memory that no file may need, in KiB.
const MOST_KIB: u64 = 64 * 1024;

struct Measured {
    mib_per_second: f64,
    peak_kib: u64,
}

fn main() -> ExitCode {
    let mib: usize = if std::env::args().any(|word| word == "--short") { 16 } else { 512 };
    println!("{:<10} {:>6} {:>8} {:>10}", "text", "MiB", "MiB/s", "peak KiB");
    let mut small = true;
    for (name, text) in [("reports", REPORT.to_owned()), ("log", PROSE.repeat(400) + REPORT)] {
        match measure(&text, mib) {
            Ok(measured) => {
                println!("{name:<10} {mib:>6} {:>8.0} {:>10}", measured.mib_per_second, measured.peak_kib);
                small &= measured.peak_kib < MOST_KIB;
            }
            Err(error) => {
                eprintln!("bench: {name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if small { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Feeds `mib` MiB of the text to the program's standard input.
fn measure(text: &str, mib: usize) -> io::Result<Measured> {
    let block = text.repeat((4 << 20) / text.len() + 1);
    let started = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_plumb"))
        .args(["parse", "--format", "csv", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let mut written = 0;
    let mut peak_kib = 0;
    while written < mib << 20 {
        input.write_all(block.as_bytes())?;
        written += block.len();
        peak_kib = peak(child.id()).max(peak_kib);
    }
    drop(input);
    let status = child.wait()?;
    if !status.success() {
        return Err(io::Error::other(format!("plumb parse ended with {status}")));
    }
    #[expect(clippy::cast_precision_loss, reason = "a size of a bench")]
    let mib_per_second = (written >> 20) as f64 / started.elapsed().as_secs_f64();
    Ok(Measured { mib_per_second, peak_kib })
}

/// The most memory that the program has had so far.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or(0)
}
