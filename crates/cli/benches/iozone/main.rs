//! Throughput and cost of `plumb iozone` and of iozone: tests 0, 1 and 2 on tmpfs in 4k records, in alternating rounds.
//!
//! Throughput is what each prints of itself, the middle of the rounds. CPU time per record is the kernel's account of
//! the process tree (user and system), of a run of a large file less one of a small file, so that starting up does not
//! count. Instructions per record are callgrind's, in user space, which no neighbour changes; one child as a thread.
//!
//! `--short` judges: fewer rounds, and a failure when plumb certainly takes more CPU time per record or is slower in a
//! test than it may be, or takes too many instructions per record. The rates of short passes come from the automatic
//! runs: for each file size the middle of all tests and records. iozone takes the resolution of its clock, which it
//! prints, off the time of each pass: 1 us of 3 for 64 KiB in one record. That is added again here. Rates and CPU time
//! are compared within each round, and the middle of the ratios counts: the speed of memory on a shared machine varies
//! by a factor of two between rounds, and much less within one. Both print their tables only; then plumb, too, does not
//! measure the latencies of single records.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a bench finds is for a person to read")]

use house::Tmpfs;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

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
/// CPU time that an automatic run may take, as a part of iozone's. It consists of more than a thousand short passes.
const AUTOMATIC: f64 = 1.2;
/// Rate that plumb must reach in each test, as a part of iozone's: equal, but for the noise of 21 rounds.
const RATE: f64 = 0.95;
/// The same in an automatic run for files of this many KiB: the middle of all its tests and records.
const SHORT_RATES: [(u64, f64); 9] = [
    (64, 0.95),
    (128, 0.95),
    (256, 0.95),
    (512, 0.95),
    (1024, 0.95),
    (2048, 0.95),
    (4096, 0.95),
    (8192, 0.95),
    (16384, 0.95),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] => bench(41),
        ["--short"] => bench(21).and_then(|failures| match failures.as_slice() {
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
    println!(
        "tests 0, 1 and 2 on tmpfs, 4k records, {rounds} alternating rounds; middle (lowest to highest), middle of the ratios\n"
    );
    let mut found: [Vec<Round>; 2] = Default::default();
    for round in 0..rounds {
        // Who is first alternates.
        for at in [round % 2, 1 - round % 2] {
            let (tool, found) = (TOOLS[at], &mut found[at]);
            let (small, _) = run(tool, SIZES.0, tmpfs.path())?;
            let (large, rates) = run(tool, SIZES.1, tmpfs.path())?;
            let cpu_ns = (large - small) * 1e9 / records(SIZES);
            found.push(Round { rates, cpu_ns });
        }
    }
    let mut failures = Vec::new();
    for (at, test) in TESTS.iter().enumerate() {
        let pair = Pair::of(&found, |round| round.rates[at]);
        println!("  {test:<14} MiB/s {}", pair.row(1024.0));
        if pair.between().1 < RATE {
            failures.push(format!("{test}: {:.3} of iozone's rate, at least {RATE}", pair.ratio()));
        }
    }
    let pair = Pair::of(&found, |round| round.cpu_ns);
    println!("  {:<14} ns    {}", "CPU per record", pair.row(1.0));
    if pair.between().0 > 1.0 {
        failures.push(format!("{:.3} of iozone's CPU time per record, at most 1", pair.ratio()));
    }
    let automatic = automatic(rounds / 4, tmpfs.path())?;
    let [wall, cpu] = [Pair::of(&automatic, |run| run.wall_s), Pair::of(&automatic, |run| run.cpu_s)];
    println!("  {:<14} ms    {}", "-a -g 16m wall", wall.row(1e-3));
    println!("  {:<14} ms    {}", "-a -g 16m CPU", cpu.row(1e-3));
    if cpu.ratio() > AUTOMATIC {
        failures.push(format!("-a -g 16m: {:.3} of iozone's CPU time, at most {AUTOMATIC}", cpu.ratio()));
    }
    failures.extend(short_rates(&automatic));
    let [ours, theirs] = [instructions("plumb", tmpfs.path())?, instructions("iozone", tmpfs.path())?];
    println!("  {:<14}       {ours:>24.0} {theirs:>24.0}", "instructions");
    if ours > INSTRUCTIONS {
        failures.push(format!("{ours:.0} instructions per record, at most {INSTRUCTIONS}"));
    }
    Ok(failures)
}

/// A number of both tools, by round.
struct Pair {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Pair {
    fn of<Run>(found: &[Vec<Run>; 2], number: impl Fn(&Run) -> f64) -> Self {
        let [ours, theirs] = found.each_ref().map(|rounds| rounds.iter().map(&number).collect());
        Pair { ours, theirs }
    }

    /// plumb's number as a part of iozone's: the middle over the rounds.
    fn ratio(&self) -> f64 {
        middle(&self.ratios())
    }

    /// The interval in which the middle of many rounds would be (95 %): the ratios that are the square root of their
    /// number away from the middle one.
    fn between(&self) -> (f64, f64) {
        let mut ratios = self.ratios();
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len() - 1;
        let away = ratios.len().isqrt();
        (ratios[(last / 2).saturating_sub(away)], ratios[(ratios.len() / 2 + away).min(last)])
    }

    fn ratios(&self) -> Vec<f64> {
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).collect()
    }

    fn row(&self, unit: f64) -> String {
        format!("{:>24} {:>24} {:>8.3}", spread(&self.ours, unit), spread(&self.theirs, unit), self.ratio())
    }
}

/// Seconds of the passes of a table, by file size in KiB and record size, in the order of its columns.
type Cells = BTreeMap<(u64, u64), Vec<f64>>;

/// A whole automatic run of one tool.
struct Automatic {
    wall_s: f64,
    cpu_s: f64,
    cells: Cells,
}

/// Whole automatic runs up to 16 MiB of both tools.
fn automatic(rounds: usize, place: &Path) -> io::Result<[Vec<Automatic>; 2]> {
    let mut found: [Vec<Automatic>; 2] = Default::default();
    for round in 0..rounds {
        for at in [round % 2, 1 - round % 2] {
            let mut command = command(TOOLS[at]);
            command.args(["-a", "-g", "16m"]).current_dir(place).stdin(Stdio::null());
            let (before, begun) = (cpu_s()?, Instant::now());
            let output = command.output()?;
            let wall_s = begun.elapsed().as_secs_f64();
            if !output.status.success() {
                return Err(io::Error::other(format!("{command:?} ended with {}", output.status)));
            }
            let cells = cells_of(&String::from_utf8_lossy(&output.stdout), TOOLS[at])?;
            found[at].push(Automatic { wall_s, cpu_s: cpu_s()? - before, cells });
        }
    }
    Ok(found)
}

fn cells_of(said: &str, tool: &str) -> io::Result<Cells> {
    let resolution =
        said.lines().find_map(|line| line.trim().strip_prefix("Time Resolution =")?.split_whitespace().next());
    let taken_off: f64 = match (tool, resolution) {
        ("iozone", Some(seconds)) => seconds.parse().map_err(io::Error::other)?,
        ("iozone", None) => return Err(io::Error::other("iozone prints no resolution of its clock")),
        _ => 0.0,
    };
    let mut cells = Cells::new();
    for line in said.lines() {
        let words: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        if let Ok([size, record, rates @ ..]) = words.as_deref()
            && !rates.is_empty()
        {
            let seconds = |&rate: &u64| *size as f64 / rate as f64 + taken_off;
            cells.insert((*size, *record), rates.iter().map(seconds).collect());
        }
    }
    Ok(cells)
}

/// Prints the rates of short passes, as a part of iozone's; returns those that are too low.
fn short_rates([ours, theirs]: &[Vec<Automatic>; 2]) -> Vec<String> {
    let mut failures = Vec::new();
    for (size, least) in SHORT_RATES {
        let mut ratios = Vec::new();
        for (ours, theirs) in ours.iter().zip(theirs) {
            let of_size = theirs.cells.iter().filter(|((of, _), _)| *of == size);
            let pairs =
                of_size.flat_map(|(sizes, cells)| cells.iter().zip(ours.cells.get(sizes).into_iter().flatten()));
            ratios.extend(pairs.map(|(theirs, ours)| theirs / ours));
        }
        let ratio = middle(&ratios);
        println!("  {:<14} rate  {ratio:>58.3}", format!("-a, {size} KiB"));
        if ratio.is_nan() || ratio < least {
            failures.push(format!("-a, {size} KiB: {ratio:.3} of iozone's rate, at least {least}"));
        }
    }
    failures
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

fn spread(values: &[f64], unit: f64) -> String {
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    format!("{:.0} ({:.0} to {:.0})", middle(values) / unit, least / unit, most / unit)
}
