//! Throughput and cost of `plumb iozone` beside iozone: tests 0, 1 and 2 on tmpfs in 4k records, in alternating rounds.
//!
//! Throughput is what each prints of itself, the middle of the rounds. CPU time per record is the kernel's account of
//! the process tree (user and system), of a run of a large file less one of a small file, so that starting up does not
//! count. Instructions per record are callgrind's, in user space, which no neighbour changes; one child as a thread.
//!
//! `--short` judges: fewer rounds, and a failure when plumb's best round takes more CPU time or moves less than iozone's
//! middle one, or when a record takes more instructions than it may. It has more to do than iozone: the latency of each
//! record, and its place in a record that others can look at.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a bench finds is for a person to read")]

use house::Tmpfs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The columns of a row behind size and record, in their order.
const TESTS: [&str; 6] = ["write", "rewrite", "read", "reread", "random read", "random write"];
const TOOLS: [&str; 2] = ["plumb", "iozone"];
/// File sizes whose difference counts, in MiB.
const SIZES: (u64, u64) = (16, 144);
/// The same under callgrind.
const FEW: (u64, u64) = (2, 18);
const RECORD: u64 = 4096;
/// Instructions per record that plumb may take at most.
const INSTRUCTIONS: f64 = 280.0;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] => bench(7),
        ["--short"] => bench(3).and_then(|failures| match failures.as_slice() {
            [] => Ok(failures),
            some => Err(io::Error::other(some.join("; "))),
        }),
        _ => Err(io::Error::other(format!("{words:?} is nothing that this bench takes; try --short or nothing"))),
    };
    match outcome {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iozone: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One round of one tool.
#[derive(Clone, Debug)]
struct Round {
    /// kB/s of each test.
    rates: Vec<f64>,
    /// User and system ns per record.
    cpu_ns: f64,
}

fn bench(rounds: usize) -> io::Result<Vec<String>> {
    let tmpfs = Tmpfs::new(400 << 20)?;
    println!("tests 0, 1 and 2 on tmpfs, 4k records, {rounds} alternating rounds; middle (lowest to highest)\n");
    let mut found: [Vec<Round>; 2] = Default::default();
    for _ in 0..rounds {
        for (tool, found) in TOOLS.iter().zip(&mut found) {
            let (small, _) = run(tool, SIZES.0, tmpfs.path())?;
            let (large, rates) = run(tool, SIZES.1, tmpfs.path())?;
            let cpu_ns = (large - small) * 1e9 / records(SIZES);
            found.push(Round { rates, cpu_ns });
        }
    }
    let mut failures = Vec::new();
    for (at, test) in TESTS.iter().enumerate() {
        let [ours, theirs] =
            [0, 1].map(|tool: usize| found[tool].iter().map(|round| round.rates[at]).collect::<Vec<_>>());
        println!("  {test:<14} MiB/s {:>24} {:>24}", spread(&ours, 1024.0), spread(&theirs, 1024.0));
        if most(&ours) < middle(&theirs) {
            failures.push(format!("{test}: {:.0} kB/s at best where iozone has {:.0}", most(&ours), middle(&theirs)));
        }
    }
    let [ours, theirs] = [0, 1].map(|tool: usize| found[tool].iter().map(|round| round.cpu_ns).collect::<Vec<_>>());
    println!("  {:<14} ns    {:>24} {:>24}", "CPU per record", spread(&ours, 1.0), spread(&theirs, 1.0));
    if ours.iter().copied().fold(f64::MAX, f64::min) > middle(&theirs) {
        failures.push(format!("{:.0} ns of CPU per record where iozone takes {:.0}", middle(&ours), middle(&theirs)));
    }
    let [ours, theirs] = [instructions("plumb", tmpfs.path())?, instructions("iozone", tmpfs.path())?];
    println!("  {:<14}       {ours:>24.0} {theirs:>24.0}", "instructions");
    if ours > INSTRUCTIONS {
        failures.push(format!("{ours:.0} instructions per record, at most {INSTRUCTIONS}"));
    }
    Ok(failures)
}

/// Records of all six passes, of the large file less the small one.
fn records(sizes: (u64, u64)) -> f64 {
    (((sizes.1 - sizes.0) << 20) / RECORD * TESTS.len() as u64) as f64
}

fn command(tool: &str) -> Command {
    if tool == "iozone" {
        return Command::new("iozone");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    command.arg("iozone");
    command
}

/// CPU seconds of a run, and the kB/s of its row.
fn run(tool: &str, mib: u64, place: &Path) -> io::Result<(f64, Vec<f64>)> {
    let mut command = command(tool);
    command.args(["-i", "0", "-i", "1", "-i", "2", "-r", "4k", "-s", &format!("{mib}m")]).current_dir(place);
    let before = cpu_s()?;
    let output = command.stdin(Stdio::null()).output()?;
    let taken = cpu_s()? - before;
    let said = String::from_utf8_lossy(&output.stdout);
    let row = said.lines().find(|line| line.trim_start().starts_with(&(mib << 10).to_string()));
    let rates: Vec<f64> =
        row.into_iter().flat_map(str::split_whitespace).skip(2).filter_map(|word| word.parse().ok()).collect();
    if !output.status.success() || rates.len() != TESTS.len() {
        return Err(io::Error::other(format!("{command:?} ended with {}: {said}", output.status)));
    }
    Ok((taken, rates))
}

/// User and system time of all children that were waited for.
fn cpu_s() -> io::Result<f64> {
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the call.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(seconds(usage.ru_utime) + seconds(usage.ru_stime))
}

/// Instructions in user space for one record of the six passes.
fn instructions(tool: &str, place: &Path) -> io::Result<f64> {
    let total = |mib: u64| -> io::Result<f64> {
        let ours = command(tool);
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--callgrind-out-file=profile"])
            .arg(ours.get_program())
            .args(ours.get_args());
        command.args(["-T", "-t", "1", "-i", "0", "-i", "1", "-i", "2", "-r", "4k", "-s", &format!("{mib}m")]);
        let output = command.current_dir(place).stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let collected = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
        collected.ok_or_else(|| io::Error::other(format!("valgrind over {tool}: {}: {said}", output.status)))
    };
    Ok((total(FEW.1)? - total(FEW.0)?) / records(FEW))
}

fn middle(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}

fn spread(values: &[f64], unit: f64) -> String {
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    format!("{:.0} ({:.0} to {:.0})", middle(values) / unit, least / unit, most(values) / unit)
}
