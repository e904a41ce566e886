//! What the bench reads: results as plumb writes them, with made-up numbers, job files, directories and records of
//! I/Os.

use measure::{Direction, Histogram, Moments, Nanos, PerDirection};
use model::{Interval, JobResult, LatencyStatistics, Monitored, RunResult, WorkerGain};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Latencies with rising and falling counts in 200 buckets, others for each number.
fn latency(number: u64, from_ns: u64) -> LatencyStatistics {
    const BUCKETS: u64 = 200;
    let (mut moments, mut histogram) = (Moments::new(), Box::new(Histogram::new()));
    for step in 0..BUCKETS {
        let latency = Nanos(from_ns + from_ns * step / 64 + number * 97 % 1009);
        histogram.record_many(latency, 1 + step * (BUCKETS - step) / 40 * (number * 31 % 17 + 1) / 9);
        moments.record(latency);
    }
    LatencyStatistics { moments, histogram: Some(histogram) }
}

fn job(number: u64, pattern: &str, block: u32) -> JobResult {
    let mut job = JobResult { workers: 1, pid: 4000, runtime: Nanos::from_secs(600), ..JobResult::default() };
    job.echo.name = "a job".to_owned();
    job.echo.number = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
    job.echo.iodepth = 4;
    job.echo.engine = "libaio".to_owned();
    job.echo.block_sizes = PerDirection { read: (block, block), write: (block, block), trim: (block, block) };
    let options = [("rw", pattern), ("runtime", "600"), ("iodepth", "4"), ("ioengine", "libaio")];
    job.echo.options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let directions: &[Direction] = match pattern {
        "randread" | "read" => &[Direction::Read],
        "randwrite" | "write" => &[Direction::Write],
        _ => &[Direction::Read, Direction::Write],
    };
    for &direction in directions {
        let found = &mut job.directions[direction];
        found.completion = Some(latency(number, 90_000));
        found.ios = 30_000 + number * 13 % 997;
        found.bytes = found.ios * u64::from(block);
        found.runtime = Nanos::from_secs(600);
    }
    job
}

/// Intervals of two seconds over ten minutes.
fn monitored(workers: u64) -> Monitored {
    let interval = |number: u64| {
        let worker = |worker: u64| WorkerGain {
            on_cpu: Some(Nanos(worker * number * 7_919_003 % 40_000_003)),
            run_delay: Some(Nanos(worker * number * 104_729 % 1_299_709)),
            switches: Some(100 + worker * number % 89),
            io_bytes: Some([worker * 4096 * (number % 7); 4]),
            ios: 50 + worker * number % 31,
        };
        let ios = 49_000 + number * 7919 % 2003;
        Interval {
            until: Nanos::from_secs(2 * number),
            measuring: 1,
            ios: [ios, ios / 2, 0],
            bytes: [ios * 4096, ios * 2048, 0],
            workers: (0..workers.min(64)).map(worker).collect(),
            ..Interval::default()
        }
    };
    Monitored { intervals: (1..=300).map(interval).collect(), ..Monitored::default() }
}

/// A result of this many jobs with ten minutes of series.
pub(crate) fn many_jobs(count: u64) -> RunResult {
    let jobs = (0..count).map(|number| job(number, "randrw", 4096)).collect();
    RunResult { jobs, monitored: Some(monitored(count)), ..RunResult::default() }
}

/// The same with a rate in each job, so that there are response times and how late I/Os were issued.
pub(crate) fn many_jobs_with_rates(count: u64) -> RunResult {
    let mut result = many_jobs(count);
    for (number, job) in (0..).zip(&mut result.jobs) {
        for direction in [Direction::Read, Direction::Write] {
            let found = &mut job.directions[direction];
            found.response = Some(latency(number * 7, 97_000));
            found.lateness = Some(latency(number * 3, 4_000));
        }
    }
    result
}

/// Writes the results of ten workloads on each of these systems; returns their names.
pub(crate) fn results(directory: &Path, systems: u64) -> io::Result<Vec<String>> {
    let patterns = ["randread", "randwrite", "read", "write", "randrw"];
    let mut names = Vec::new();
    for system in 0..systems {
        fs::create_dir_all(directory.join(format!("disk-{system}")))?;
        for (number, (pattern, block)) in (0..).zip(patterns.iter().flat_map(|&each| [(each, 4096), (each, 65_536)])) {
            let jobs = vec![job(system * 10 + number, pattern, block)];
            let result = RunResult { jobs, monitored: Some(monitored(1)), ..RunResult::default() };
            let name = format!("disk-{system}/{pattern}-{block}.json");
            write_result(&directory.join(&name), &result)?;
            names.push(name);
        }
    }
    Ok(names)
}

fn write_result(path: &Path, result: &RunResult) -> io::Result<()> {
    fs::write(path, formats::native::write(result).map_err(io::Error::other)?)
}

/// Writes a result of this many jobs.
pub(crate) fn result_of(directory: &Path, jobs: u64) -> io::Result<()> {
    write_result(&directory.join("jobs.json"), &many_jobs(jobs))
}

/// Makes a directory of this many files of a block each.
pub(crate) fn directory_of_files(directory: &Path, files: u64) -> io::Result<()> {
    let directory = directory.join("files");
    fs::create_dir_all(&directory)?;
    (0..files).try_for_each(|number| {
        let path = directory.join(format!("f{number}"));
        if path.exists() { Ok(()) } else { fs::write(path, [1; 4096]) }
    })
}

/// Writes a job file of this many sections.
pub(crate) fn job_file(directory: &Path, sections: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(directory.join("jobs.fio"))?);
    writeln!(file, "[global]\nioengine=null\nsize=1m")?;
    (0..sections)
        .try_for_each(|number| writeln!(file, "[job{number}]\nrw=randread\nbs=4k\niodepth={}", number % 32 + 1))?;
    file.flush()
}

/// Writes a record of this many I/Os.
pub(crate) fn iolog(directory: &Path, ios: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(directory.join("log"))?);
    writeln!(file, "fio version 2 iolog\nfile1 add\nfile1 open")?;
    (0..ios).try_for_each(|number| writeln!(file, "file1 read {} 4096", number % 4096 * 4096))?;
    writeln!(file, "file1 close")?;
    file.flush()
}
