//! The files of each child of throughput mode: latencies (-Q), a log (-+T), histograms (-+z).

use crate::failure::Failure;
use iozone::{Pass, Settings, Test};
use measure::{Direction, Histogram, Nanos};
use model::JobResult;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

/// The names of a pass in a child's files: the file of latencies, the words before the times of start and finish in the
/// log, the histogram. In the order of the tests.
const NAMES: &[(Test, u8, [&str; 4])] = &[
    (Test::Write, 0, ["wol", "Write test start:", "Write test finished:", "write"]),
    (Test::Write, 1, ["rwol", "Rewrite test start:", "Rewrite test finished:", "Rewrite"]),
    (Test::Read, 0, ["rol", "Read test start:", "Read test finished:", "Read"]),
    (Test::Read, 1, ["rrol", "Reread test start:", "Reread test finished:", "Reread"]),
    (Test::Backward, 0, ["revol", "Reverse read start:", "Reverse read finished:", "Read Backwards"]),
    (Test::Stride, 0, ["strol", "Stride test start:", "Stride test finished:", "Stride Read"]),
    (Test::Random, 0, ["randrol", "Random read start:", "Random read finished:", "Random Read"]),
    (Test::Random, 1, ["randwol", "Random write start:", "Random write finished:", "Random Write"]),
    (Test::Pwrite, 0, ["pwol", "Pwrite test start:", "Pwrite test finished:", "Pwrite"]),
    (Test::Pread, 0, ["prol", "Pread test start:", "Pread test finished:", "Pread"]),
    (Test::Fwrite, 0, ["fwol", "fwrite test start:", "Fwrite test finished:", "Fwrite"]),
    (Test::Fread, 0, ["frol", "fread test start:", "Fread test finished:", "Fread"]),
];

fn names_of(pass: Pass) -> Option<[&'static str; 4]> {
    NAMES.iter().find(|(test, number, _)| (*test, *number) == (pass.test, pass.number)).map(|(.., names)| *names)
}

/// Appends the results of a test to the files. `start` is its start time; the first of the jobs is the child
/// `range.first`.
pub(super) fn write(
    settings: &Settings,
    asked: Pass,
    start: &str,
    range: ChildRange,
    jobs: &[JobResult],
) -> Result<(), Failure> {
    for (index, job) in (range.first..).zip(jobs) {
        let pass = iozone::child_pass(settings, asked, index, range.count);
        let Some([_, start_words, finish_words, histogram]) = names_of(pass) else { continue };
        if settings.start_log {
            let finished = began();
            let lines = format!("{:<25} {start}\n{:<25} {finished}\n", start_words, finish_words);
            append(&format!("Child_{index}.log"), &lines)?;
        }
        if settings.histograms {
            let text = format!("Child: {index} Op: {}\n{}\n", histogram, bands(job));
            append(&format!("Iozone_histogram_child_{index}.txt"), &text)?;
        }
    }
    Ok(())
}

/// True if logs or histograms are requested.
pub(super) fn are_wanted(settings: &Settings) -> bool {
    settings.start_log || settings.histograms
}

/// The current time in the format of ctime(3).
pub(super) fn began() -> String {
    formats::local_time::spelled(measure::unix_ms(), &jiff::tz::TimeZone::system())
}

pub(super) fn append(name: &str, text: &str) -> Result<(), Failure> {
    sys::files::output_file::append(Path::new(name))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::writing(name, &error))
}

/// Upper bounds of the latency buckets, row by row, in microseconds, each with its label.
const BANDS: &[&[(u64, &str)]] = &[
    &[(20, "20us"), (40, "40us"), (60, "60us"), (80, "80us"), (100, "100us")],
    &[(200, "200us"), (400, "400us"), (600, "600us"), (800, "800us"), (1000, "1ms")],
    &[(2_000, "2ms"), (4_000, "4ms"), (6_000, "6ms"), (8_000, "8ms"), (10_000, "10ms")],
    &[(12_000, "12ms"), (14_000, "14ms"), (16_000, "16ms"), (18_000, "18ms"), (20_000, "20ms")],
    &[(40_000, "40ms"), (60_000, "60ms"), (80_000, "80ms"), (100_000, "100ms")],
    &[(200_000, "200ms"), (400_000, "400ms"), (600_000, "600ms"), (800_000, "800ms"), (1_000_000, "1s")],
    &[(2_000_000, "2s"), (4_000_000, "4s"), (6_000_000, "6s"), (8_000_000, "8s"), (10_000_000, "10s")],
    &[(20_000_000, "20s"), (40_000_000, "40s"), (60_000_000, "60s"), (80_000_000, "80s"), (120_000_000, "120s")],
    &[(u64::MAX, "120+s")],
];

/// The number of records per bucket; a record belongs to the first bucket whose upper bound is greater than its
/// latency.
fn bands(job: &JobResult) -> String {
    let mut latencies: Vec<(Nanos, u64)> = Vec::new();
    for direction in Direction::ALL {
        let found = job.directions[direction].completion.as_ref().and_then(|latency| latency.histogram.as_ref());
        let counted = found.iter().flat_map(|histogram| histogram.iter());
        latencies.extend(counted.map(|(bucket, count)| (Histogram::bucket_value(bucket), count)));
    }
    let mut text = String::new();
    let mut below = 0;
    for (number, band) in (1..).zip(BANDS) {
        let _ = write!(text, "Band {number}:   ");
        for &(edge, word) in *band {
            let within = |latency: &Nanos| (below..edge.saturating_mul(1000)).contains(&latency.get());
            let count: u64 = latencies.iter().filter(|(latency, _)| within(latency)).map(|(_, count)| count).sum();
            let _ = write!(text, "{word:>5}:{count:<8}");
            below = edge.saturating_mul(1000);
        }
        text.push('\n');
    }
    text
}

/// Stem of the raw latency log that a worker writes; it is later converted to iozone's file.
pub(super) fn latency_stem(settings: &Settings, child: u32) -> Option<String> {
    settings.latencies.then(|| format!(".plumb-iozone-{}-{child}", std::process::id()))
}

/// File name for a pass; a single worker has latency files for write and read only.
fn latency_file(pass: Pass, whose: Whose) -> Option<String> {
    if whose != Whose::Child && !matches!(pass.test, Test::Write | Test::Read) {
        return None;
    }
    names_of(pass).map(|[stem, ..]| format!("{stem}.dat"))
}

/// Appends the workers' logs of a pass to iozone's files. The first of `jobs` is the child `range.first`.
pub(super) fn convert_latencies(
    settings: &Settings,
    pass: Pass,
    jobs: &[JobResult],
    whose: Whose,
    range: ChildRange,
) -> Result<(), Failure> {
    // A pass that `-+n` drops has its heading all the same.
    if jobs.is_empty() && settings.latencies && whose == Whose::SingleFirst {
        return latency_file(pass, whose).map_or(Ok(()), |name| append(&name, &heading(" ")));
    }
    for (number, job) in (0..).zip(jobs) {
        let index = range.first + number;
        let Some(stem) = latency_stem(settings, index) else { return Ok(()) };
        let rows = std::fs::read_to_string(log(&stem, "clat", number)).unwrap_or_default();
        remove_log(&stem, number);
        let own = iozone::child_pass(settings, pass, index, range.count);
        let Some(name) = latency_file(own, whose) else { continue };
        let name = if whose == Whose::Child { format!("Child_{index}_{name}") } else { name };
        // iozone prints a single space in the header of a child's first file, and two in all others.
        let gap = if whose == Whose::Child && (own.test, own.number) == (Test::Write, 0) { "" } else { " " };
        let mut text = if whose == Whose::Single { String::new() } else { heading(gap) };
        for row in rows.lines() {
            let field =
                |at: usize| row.split(',').nth(at).and_then(|field| field.trim().parse::<u64>().ok()).unwrap_or(0);
            let _ = writeln!(text, "{:10} {:10} {:10}", field(4) / 1024, (field(1) + 500) / 1000, field(3));
        }
        if whose != Whose::Child {
            let (cpu, real) = (job.cpu, job.runtime.as_secs_f64());
            let (system, user) = (cpu.system.as_secs_f64(), cpu.user.as_secs_f64());
            let _ = writeln!(text, "\nSystem time {system:10.3} User time {user:10.3} Real {real:10.3}  (seconds)");
        }
        append(&name, &text)?;
    }
    Ok(())
}

fn heading(gap: &str) -> String {
    format!("Offset in kBytes   Latency in microseconds {gap}Transfer size in bytes\n")
}

/// Path of the log with one kind of latency, as written by the worker with this number.
fn log(stem: &str, kind: &str, number: u32) -> PathBuf {
    PathBuf::from(format!("{stem}_{kind}.{}.log", number + 1))
}

fn remove_log(stem: &str, number: u32) {
    for kind in ["slat", "lat", "clat"] {
        // Errors are ignored: only the logs of the kinds that the pass recorded exist.
        let _ = std::fs::remove_file(log(stem, kind, number));
    }
}

/// Removes the workers' logs of a pass that failed.
pub(super) fn forget_latencies(settings: &Settings, workers: usize) {
    for number in (0..).take(workers) {
        if let Some(stem) = latency_stem(settings, number) {
            remove_log(&stem, number);
        }
    }
}

/// The children that a list of jobs belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChildRange {
    /// Number of the first child.
    pub(crate) first: u32,
    /// Number of all children, including those on other hosts.
    pub(crate) count: u32,
}

impl ChildRange {
    pub(crate) fn all(jobs: &[JobResult]) -> ChildRange {
        ChildRange { first: 0, count: u32::try_from(jobs.len()).unwrap_or(u32::MAX) }
    }
}

/// The kind of worker that a latency file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The only worker of the run, in its first pair of sizes: the file gets its heading.
    SingleFirst,
    /// The only worker of the run, in a later pair of sizes.
    Single,
    /// A child of throughput mode.
    Child,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_counted_once() {
        let mut job = JobResult::default();
        let mut histogram = Histogram::default();
        for us in [5, 25, 150, 3_000, 15_000, 50_000, 500_000, 3_000_000, 30_000_000, 300_000_000] {
            histogram.record(Nanos::from_micros(us));
        }
        let moments = measure::Moments::default();
        job.directions.read.completion =
            Some(model::LatencyStatistics { moments, histogram: Some(Box::new(histogram)) });
        let text = bands(&job);
        let counts: u64 = text.split_whitespace().filter_map(|word| word.split_once(':')?.1.parse::<u64>().ok()).sum();
        assert_eq!((counts, text.lines().count()), (10, 9), "{text}");
        assert!(text.starts_with("Band 1:    20us:1        40us:1       "), "{text}");
    }
}
