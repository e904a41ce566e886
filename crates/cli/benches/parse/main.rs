//! How fast and in how much memory `plumb parse` reads 2 GiB of text: reports, JSON and terse lines of fio, a log in
//! which there are few reports, and logs of fio's, with a line per I/O and with histograms.
//!
//! JSON and terse lines are those that the installed fio prints of four jobs, repeated with other digits, so that each
//! is another run. Judged are the memory, and MB per second of processor time: on a machine that others use, the time
//! that passes says little. `--short` reads a smaller file and judges the memory alone.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a bench finds is for a person to read")]

use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const REPORT: &str = include_str!("../../../formats/tests/seeds/fio_2.0.13.txt");
/// Lines of fio's logs that are repeated; what is measured is reading, and every line is read again.
const ROWS: usize = 4096;
const BINS: usize = 1856;
const PROSE: &str =
    "Nov 20 12:00:01 host app[4711]: request 0f3a took 13 ms, 200 OK, 5120 bytes; nothing to do with disks\n";
/// Resident memory that no file may need, in KiB.
const MOST_KIB: u64 = 64 * 1024;
/// Other runs that are made of one, by other digits.
const RUNS: u64 = 400;

struct Measured {
    mb: f64,
    seconds: f64,
    processor_seconds: f64,
    peak_kib: u64,
}

fn main() -> ExitCode {
    let short = std::env::args().any(|word| word == "--short");
    let mib: usize = if short { 16 } else { 2048 };
    println!("{:<10} {:>6} {:>8} {:>12} {:>10}", "text", "MB", "MB/s", "MB/s of CPU", "peak KiB");
    let mut good = true;
    // With the MB per second of processor time that it must read.
    let texts = [
        ("reports", 350.0, Ok(REPORT.to_owned())),
        ("prose", 350.0, Ok(PROSE.repeat(400) + REPORT)),
        ("latencies", 600.0, Ok(latencies())),
        ("histograms", 600.0, Ok(histograms())),
        ("json", 250.0, printed("json")),
        ("terse", 250.0, printed("terse")),
    ];
    for (name, least, text) in texts {
        match text.and_then(|text| measure(&text, mib)) {
            Ok(measured) => {
                let Measured { mb, seconds, processor_seconds, peak_kib } = measured;
                let (rate, processor_rate) = (mb / seconds, mb / processor_seconds.max(1e-9));
                println!("{name:<10} {mb:>6.0} {rate:>8.0} {processor_rate:>12.0} {peak_kib:>10}");
                if peak_kib >= MOST_KIB || (!short && processor_rate < least) {
                    eprintln!(
                        "bench: {name}: it may take {MOST_KIB} KiB, and must read {least} MB per second of processor time"
                    );
                    good = false;
                }
            }
            Err(error) => {
                eprintln!("bench: {name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What fio prints of four jobs in this format, and the same of other runs.
fn printed(format: &str) -> io::Result<String> {
    let mut fio = Command::new("fio");
    fio.args(["--ioengine=null", "--size=1g", "--runtime=1", "--time_based", "--iodepth=4", "--bs=4k"]);
    fio.args(["--name=a", "--rw=randrw", "--numjobs=2", "--name=b", "--rw=write", "--name=c", "--rw=randread"]);
    let output = fio.arg(format!("--output-format={format}")).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("fio ended with {}", output.status)));
    }
    let text = String::from_utf8(output.stdout).map_err(io::Error::other)?;
    Ok((0..RUNS).map(|run| with_other_digits(&text, run)).collect())
}

/// The text with other last digits in each number of four digits or more that is not a percentage: the names of
/// percentiles are the same in all runs.
fn with_other_digits(text: &str, run: u64) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut digits, mut words) = (0, measure::SplitMix::new(run));
    for at in 0..=bytes.len() {
        if bytes.get(at).is_some_and(u8::is_ascii_digit) {
            digits += 1;
            continue;
        }
        if digits >= 4 && run > 0 && bytes.get(at) != Some(&b'%') {
            for byte in &mut bytes[at - 2..at] {
                *byte = b"0123456789"[usize::try_from(words.next_word() % 10).unwrap_or(0)];
            }
        }
        digits = 0;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// A log with a line per I/O, as fio writes it with `log_offset=1`.
fn latencies() -> String {
    let line =
        |row: usize| format!("{row}, {}, {}, 4096, {}, 0\n", 90_000 + row * 7919 % 4_000_000, row % 2, row << 12);
    (0..ROWS).map(line).collect()
}

/// A log of histograms: few of the 1,856 bins are filled.
fn histograms() -> String {
    let bin = |bin: usize, row: usize| if bin / 64 == 9 { (bin * 31 + row) % 97 } else { 0 };
    let line = |row: usize| {
        let bins: Vec<String> = (0..BINS).map(|at| bin(at, row).to_string()).collect();
        format!("{}, {}, 4096, {}\n", row * 1000, row % 2, bins.join(", "))
    };
    (0..ROWS / 16).map(line).collect()
}

/// Feeds `mib` MiB of the text to the program's standard input.
fn measure(text: &str, mib: usize) -> io::Result<Measured> {
    let block = text.repeat((4 << 20) / text.len() + 1);
    let before = sys::processes::usage::of_children();
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
    let after = sys::processes::usage::of_children();
    let used = Duration::from_nanos(after.user_ns + after.system_ns - before.user_ns - before.system_ns);
    let mb = written as f64 / 1e6;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Measured { mb, seconds, processor_seconds: used.as_secs_f64(), peak_kib })
}

/// The most memory that the program has had so far.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or(0)
}
