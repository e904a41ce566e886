//! Many jobs and many files: time, CPU time and memory of plumb and of fio, in alternating rounds on tmpfs.
//!
//! Time is from the start of a program to its end; where each job reads one block, starting and ending are all of it.
//! CPU time is the kernel's account of the process tree. Memory is the most that all processes of a run have together,
//! each page once (PSS), while its jobs read at a low rate. fio takes 2,048 jobs at most, so plumb's 4,096 are shown
//! with fio's 1,000.
//!
//! `--short` judges: fewer rounds, and a failure when plumb takes more than a row allows, as a part of what fio takes
//! in the same round, or when the CPU time per file grows with the number of files.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a bench finds is for a person to read")]

use house::Tmpfs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const TOOLS: [&str; 2] = ["plumb", "fio"];
/// Each job reads the one block of one file.
const ONE_BLOCK: &str = "--name=a --rw=read --filename=one --size=4k --ioengine=psync --group_reporting";
/// Each job reads its file at a rate that leaves the processors idle.
const AT_EASE: &str =
    "--name=a --rw=randread --size=64k --ioengine=psync --rate_iops=10 --time_based --runtime=6 --group_reporting";
/// Each job has one I/O in flight, from memory, so that what a call and a change of threads cost is most of it.
const ONE_IN_FLIGHT: &str =
    "--name=a --rw=randread --filename=one --size=16m --ioengine=io_uring --group_reporting --gtod_reduce=1";
/// Each file is created, opened and read once.
const EACH_FILE: &str =
    "--name=a --filesize=4k --openfiles=64 --rw=randread --fallocate=none --create_fsync=0 --directory=files";
/// How much more CPU time a file may take when there are five times as many.
const GROWTH: f64 = 1.3;
/// Time between two samples of memory: a sample of a thousand processes takes a tenth of it.
const PAUSE: Duration = Duration::from_millis(300);

/// What both tools do, and what plumb may take of fio's time, CPU time and memory; what is `None` is not compared.
struct Row {
    what: &'static str,
    work: &'static str,
    /// Further words of plumb and of fio.
    words: [&'static str; 2],
    most: [Option<f64>; 3],
}

/// The numbers of a run in the order of [`Row::most`]: wall-clock seconds, seconds of CPU time, MiB of memory.
type Taken = [f64; 3];
const UNITS: [&str; 3] = ["wall s", "CPU s", "MiB"];

const ROWS: [Row; 7] = [
    Row { what: "1,000 processes", work: ONE_BLOCK, words: ["--numjobs=1000"; 2], most: [Some(1.0), Some(1.0), None] },
    Row {
        what: "4,096; fio 1,000",
        work: ONE_BLOCK,
        words: ["--numjobs=4096", "--numjobs=1000"],
        most: [Some(1.0), None, None],
    },
    Row { what: "1,000 at ease", work: AT_EASE, words: ["--numjobs=1000"; 2], most: [None, None, Some(1.0)] },
    Row {
        what: "the same, threads",
        work: AT_EASE,
        words: ["--numjobs=1000 --thread"; 2],
        most: [None, None, Some(1.0)],
    },
    Row {
        what: "100 on one thread",
        work: ONE_IN_FLIGHT,
        words: ["--numjobs=100 --number_ios=5000 --jobs_per_thread=100", "--numjobs=100 --number_ios=5000 --thread"],
        most: [None, Some(0.5), None],
    },
    Row {
        what: "1,000 on one",
        work: ONE_IN_FLIGHT,
        words: ["--numjobs=1000 --number_ios=500 --jobs_per_thread=1000", "--numjobs=1000 --number_ios=500 --thread"],
        most: [Some(1.0), Some(0.5), None],
    },
    Row { what: "50,000 files", work: EACH_FILE, words: ["--nrfiles=50000"; 2], most: [Some(1.0), Some(1.2), None] },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] => bench(9).map(|_| ()),
        ["--short"] => bench(3).and_then(|failures| match failures.as_slice() {
            [] => Ok(()),
            some => Err(io::Error::other(some.join("; "))),
        }),
        _ => Err(io::Error::other(format!("{words:?} is nothing that this bench takes; try --short or nothing"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("jobs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(rounds: usize) -> io::Result<Vec<String>> {
    let tmpfs = Tmpfs::new(1 << 30)?;
    println!("{rounds} alternating rounds on tmpfs; plumb, fio, and the middle of the ratios\n");
    let mut failures = Vec::new();
    for row in &ROWS {
        let memory = if row.most[2].is_some() { Memory::Sampled } else { Memory::Unseen };
        let mut found: [Vec<Taken>; 2] = Default::default();
        for round in 0..rounds {
            // Who is first alternates.
            for at in [round % 2, 1 - round % 2] {
                found[at].push(run(TOOLS[at], (row.work, row.words[at]), memory, tmpfs.path())?);
            }
        }
        for (number, most) in row.most.into_iter().enumerate().filter_map(|(number, most)| Some((number, most?))) {
            let of = |taken: &[Taken]| taken.iter().map(|taken| taken[number]).collect::<Vec<f64>>();
            let [ours, theirs] = found.each_ref().map(|taken| of(taken));
            let ratio = middle(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs));
            let (what, unit) = (row.what, UNITS[number]);
            println!(
                "  {what:<18} {unit:<6} {:>8.2} {:>8.2} {ratio:>8.3}",
                middle(ours.into_iter()),
                middle(theirs.into_iter())
            );
            if ratio > most {
                failures.push(format!("{what}, {unit}: {ratio:.3} of what fio takes, at most {most}"));
            }
        }
    }
    let per_file = |count: u32| -> io::Result<f64> {
        let words = format!("--nrfiles={count}");
        let taken = (0..rounds).map(|_| run("plumb", (EACH_FILE, &words), Memory::Unseen, tmpfs.path()));
        Ok(middle(taken.collect::<io::Result<Vec<Taken>>>()?.iter().map(|taken| taken[1])) / f64::from(count))
    };
    let growth = per_file(50_000)? / per_file(10_000)?;
    println!("  {:<43} {growth:>8.3}", "CPU time per file, 5 times as many");
    if growth > GROWTH {
        failures.push(format!("{growth:.3} times the CPU time per file with 5 times the files, at most {GROWTH}"));
    }
    Ok(failures)
}

/// Whether the memory of a run is sampled, which takes time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Sampled,
    Unseen,
}

/// Runs a tool in a directory that it leaves empty.
fn run(tool: &str, (work, words): (&str, &str), memory: Memory, place: &Path) -> io::Result<Taken> {
    std::fs::create_dir(place.join("files"))?;
    let mut command = match tool {
        "fio" => Command::new("fio"),
        _ => Command::new(env!("CARGO_BIN_EXE_plumb")),
    };
    if tool == "plumb" {
        command.arg("fio");
    }
    command.args(work.split_whitespace()).args(words.split_whitespace()).current_dir(place);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let (before, begun) = (cpu_s(), Instant::now());
    let child = command.spawn()?;
    let group = child.id().to_string();
    let waiter = std::thread::spawn(move || child.wait_with_output());
    let mut most = 0.0_f64;
    while memory == Memory::Sampled && !waiter.is_finished() {
        most = most.max(memory_mib(&group));
        std::thread::sleep(PAUSE);
    }
    let output = waiter.join().map_err(|_| io::Error::other("the waiting thread"))??;
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), cpu_s() - before);
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "{command:?}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )));
    }
    std::fs::remove_dir_all(place.join("files"))?;
    for entry in std::fs::read_dir(place)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok([wall, cpu, most])
}

/// Memory of all processes of a group, each page once.
fn memory_mib(group: &str) -> f64 {
    let kib = |entry: std::fs::DirEntry| -> Option<f64> {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let is_of_group = stat.rsplit(") ").next()?.split(' ').nth(2)? == group;
        let rollup = std::fs::read_to_string(entry.path().join("smaps_rollup")).ok().filter(|_| is_of_group)?;
        rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?.split_whitespace().next()?.parse().ok()
    };
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(kib).sum::<f64>() / 1024.0
}

/// User and system time of all children that were waited for.
fn cpu_s() -> f64 {
    let usage = sys::processes::usage::of_children();
    (usage.user_ns + usage.system_ns) as f64 / 1e9
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
