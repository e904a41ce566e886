//! What reports of many results take, how large the result of many jobs is, and how time grows with what there is to
//! read.
//!
//! Reports are of 100 results (ten systems, ten workloads, each with its series). The time is that of the clock,
//! because they are drawn on all processors; next to it is the processor time. Growth is the exponent of the user time
//! over four sizes: 1 is twice the time for twice as much. Judged is what `LIMITS` and `MOST_EXPONENT` say. `--short`
//! draws 20 results, reads less, and judges sizes alone.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a bench finds is for a person to read")]

mod inputs;

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Seconds that a report of 100 results may take, by the end of its name.
const LIMITS: [(&str, f64); 4] = [("html", 1.0), ("svg", 5.0), ("pdf", 5.0), ("png", 20.0)];
/// Bytes of a result of 1,000 jobs with ten minutes of series.
const MOST_BYTES: usize = 5_000_000;
/// The largest exponent of the user time.
const MOST_EXPONENT: f64 = 1.1;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Full,
    Short,
}

fn main() -> ExitCode {
    let extent = if std::env::args().any(|word| word == "--short") { Extent::Short } else { Extent::Full };
    let found = tempfile::tempdir().and_then(|directory| {
        let mut failures = reports(directory.path(), extent)?;
        failures.extend(size());
        failures.extend(growth(directory.path(), extent)?);
        Ok(failures)
    });
    match found {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            failures.iter().for_each(|failure| eprintln!("reports: {failure}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("reports: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What one run of the program took.
#[derive(Clone, Copy, Debug)]
struct Cost {
    seconds: f64,
    user_seconds: f64,
    processor_seconds: f64,
}

/// Runs the program in this directory.
fn run(directory: &Path, words: &[&str]) -> io::Result<Cost> {
    let before = sys::processes::usage::of_children();
    let started = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    let status = command.args(words).current_dir(directory).stdout(Stdio::null()).status()?;
    let seconds = started.elapsed().as_secs_f64();
    if !status.success() {
        return Err(io::Error::other(format!("plumb {} ended with {status}", words.join(" "))));
    }
    let after = sys::processes::usage::of_children();
    let user = Duration::from_nanos(after.user_ns - before.user_ns).as_secs_f64();
    let system = Duration::from_nanos(after.system_ns - before.system_ns).as_secs_f64();
    Ok(Cost { seconds, user_seconds: user, processor_seconds: user + system })
}

/// The run of several that took the least user time: what others do on the machine only adds to it.
fn best(rounds: usize, run: impl Fn() -> io::Result<Cost>) -> io::Result<Cost> {
    let mut all = (0..rounds).map(|_| run()).collect::<io::Result<Vec<Cost>>>()?;
    all.sort_by(|one, other| one.user_seconds.total_cmp(&other.user_seconds));
    Ok(all[0])
}

fn reports(directory: &Path, extent: Extent) -> io::Result<Vec<String>> {
    let (systems, rounds) = if extent == Extent::Full { (10, 3) } else { (2, 1) };
    let files = inputs::results(directory, systems)?;
    println!("{:<8} {:>8} {:>8} {:>8}", "report", "results", "s", "s of CPU");
    let mut failures = Vec::new();
    for (form, limit) in LIMITS {
        let output = format!("all.{form}");
        let mut words = vec!["report", "--quiet", "-o", output.as_str()];
        words.extend(files.iter().map(String::as_str));
        let cost = best(rounds, || run(directory, &words))?;
        println!("{form:<8} {:>8} {:>8.2} {:>8.2}", files.len(), cost.seconds, cost.processor_seconds);
        if extent == Extent::Full && cost.seconds > limit {
            failures.push(format!("{form} of {} results: {:.2} s; {limit} s is the most", files.len(), cost.seconds));
        }
    }
    Ok(failures)
}

fn size() -> Option<String> {
    let bytes = |result| formats::native::write(&result).map_or(usize::MAX, |text| text.len());
    let (without, with) = (bytes(inputs::many_jobs(1000)), bytes(inputs::many_jobs_with_rates(1000)));
    println!("\nresult of 1,000 jobs with 10 minutes of series: {without} bytes, with rates {with}");
    (with > MOST_BYTES).then(|| format!("a result of 1,000 jobs with rates has {with} bytes; {MOST_BYTES} is the most"))
}

/// One thing whose time is to grow with its size.
struct Grown {
    name: &'static str,
    sizes: [u64; 4],
    make: fn(&Path, u64) -> io::Result<()>,
    what: What,
}

/// That whose time is taken.
enum What {
    /// The program with these words.
    Program(&'static [&'static str]),
    /// Writing a result with this number of jobs, in this process.
    Writing,
}

/// Writes a result of this many jobs; the time is without making it up.
fn written(jobs: u64) -> io::Result<Cost> {
    let result = inputs::many_jobs(jobs);
    let (before, started) = (sys::processes::usage::of_process(), Instant::now());
    let text = formats::native::write(&result).map_err(io::Error::other)?;
    let (used, seconds) = (sys::processes::usage::of_process().since(&before), started.elapsed().as_secs_f64());
    assert!(text.len() > 1000, "a result");
    let user_seconds = Duration::from_nanos(used.user_ns).as_secs_f64();
    let processor_seconds = user_seconds + Duration::from_nanos(used.system_ns).as_secs_f64();
    Ok(Cost { seconds, user_seconds, processor_seconds })
}

/// Jobs of a result.
const JOBS: [u64; 4] = [1_000, 2_000, 4_000, 8_000];

const GROWN: &[Grown] = &[
    Grown {
        name: "files of opendir",
        sizes: [8_000, 16_000, 32_000, 64_000],
        make: inputs::directory_of_files,
        what: What::Program(&[
            "fio",
            "--name=a",
            "--rw=read",
            "--bs=4k",
            "--ioengine=psync",
            "--opendir=files",
            "--openfiles=100",
        ]),
    },
    Grown {
        name: "sections of a job file",
        sizes: [8_000, 16_000, 32_000, 64_000],
        make: inputs::job_file,
        what: What::Program(&["fio", "--showcmd", "jobs.fio"]),
    },
    Grown {
        name: "lines of a replay",
        sizes: [10_000, 100_000, 1_000_000, 10_000_000],
        make: inputs::iolog,
        what: What::Program(&[
            "fio",
            "--name=a",
            "--ioengine=null",
            "--size=16m",
            "--read_iolog=log",
            "--filename=file1",
        ]),
    },
    Grown { name: "jobs of a result, written", sizes: JOBS, make: |_, _| Ok(()), what: What::Writing },
    Grown {
        name: "jobs of a result, read",
        sizes: JOBS,
        make: inputs::result_of,
        what: What::Program(&["parse", "--format", "csv", "jobs.json"]),
    },
    Grown {
        name: "jobs of a result, table",
        sizes: JOBS,
        make: inputs::result_of,
        what: What::Program(&["parse", "jobs.json"]),
    },
    Grown {
        name: "jobs of a result, check",
        sizes: JOBS,
        make: inputs::result_of,
        what: What::Program(&["check", "--quiet", "jobs.json"]),
    },
    Grown {
        name: "jobs of a result, page",
        sizes: JOBS,
        make: inputs::result_of,
        what: What::Program(&["report", "--quiet", "jobs.json", "-o", "jobs.html"]),
    },
];

fn growth(directory: &Path, extent: Extent) -> io::Result<Vec<String>> {
    let (rounds, divisor) = if extent == Extent::Full { (3, 1) } else { (1, 8) };
    println!("\n{:<26} {:>9}  user s by size", "grows with", "exponent");
    let mut failures = Vec::new();
    for Grown { name, sizes, make, what } in GROWN {
        let mut points = Vec::new();
        for size in sizes.map(|size| size / divisor) {
            make(directory, size)?;
            let cost = || match what {
                What::Program(words) => run(directory, words),
                What::Writing => written(size),
            };
            points.push((size, mean_user_seconds(rounds, cost)?));
        }
        let shown: Vec<String> = points.iter().map(|(size, seconds)| format!("{size}: {seconds:.3}")).collect();
        let exponent = exponent(&points);
        println!("{name:<26} {exponent:>9.2}  {}", shown.join(", "));
        if extent == Extent::Full && exponent > MOST_EXPONENT {
            failures.push(format!("{name}: the exponent is {exponent:.2}; {MOST_EXPONENT} is the most"));
        }
    }
    Ok(failures)
}

/// The slope of a straight line through the logarithms, by least squares.
/// The mean user time of `rounds` runs, or of as many as take half a second together, because the kernel counts it by
/// ticks: of a run of 30 ms it may see 10.
fn mean_user_seconds(rounds: usize, run: impl Fn() -> io::Result<Cost>) -> io::Result<f64> {
    const ENOUGH: f64 = 0.5;
    const MOST: usize = 20;
    let (mut runs, mut seconds) = (0, 0.0);
    while runs < rounds || (seconds < ENOUGH && runs < MOST) {
        seconds += run()?.user_seconds;
        runs += 1;
    }
    Ok(seconds / runs as f64)
}

fn exponent(points: &[(u64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> =
        points.iter().map(|&(size, seconds)| ((size as f64).ln(), seconds.max(1e-3).ln())).collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|log| log.0), mean(|log| log.1));
    let together: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    together / logs.iter().map(|log| (log.0 - x).powi(2)).sum::<f64>()
}
