//! Members with known results, for tests.

use crate::member_result::{MemberResult, Sample};
use crate::message::{Facts, PROTOCOL};
use measure::{Histogram, Nanos};
use model::{JobResult, LatencyStatistics, MeasuredPart, RunResult};

fn member(rank: u32, job: JobResult) -> MemberResult {
    let facts = Facts {
        protocol: PROTOCOL,
        host: format!("node{}", rank + 1),
        boot_id: Some(format!("boot {rank}")),
        kernel: "6.1".to_owned(),
        cpus: 8,
        allowed_cpus: (0..8).collect(),
        ..Facts::default()
    };
    let mut result = RunResult { jobs: vec![job], ..RunResult::default() };
    result.environment.host = Some(facts.host.clone());
    result.environment.kernel = "6.1".to_owned();
    MemberResult {
        rank,
        members: 4,
        place: facts.host.clone(),
        facts: Some(facts),
        go: Some(Nanos::ZERO),
        started: Some(Nanos::ZERO),
        clock_error: Some(Nanos::ZERO),
        result: Some(result),
        ..MemberResult::default()
    }
}

fn job() -> JobResult {
    let mut job = JobResult { workers: 1, ..JobResult::default() };
    (job.echo.name, job.echo.number) = ("a".to_owned(), 1);
    job
}

/// A member that read `ios` blocks of 4 KiB, each with this latency.
pub(crate) fn busy(rank: u32, ios: u64, latency: Nanos) -> MemberResult {
    let mut job = job();
    let read = &mut job.directions.read;
    (read.ios, read.bytes, read.runtime) = (ios, ios * 4096, Nanos::SECOND);
    let mut found = LatencyStatistics { histogram: Some(Box::new(Histogram::new())), ..LatencyStatistics::default() };
    found.histogram.get_or_insert_default().record_many(latency, ios);
    (0..ios).for_each(|_| found.moments.record(latency));
    read.completion = Some(found);
    job.measured = Some(MeasuredPart { from: Nanos::ZERO, until: Nanos::SECOND });
    member(rank, job)
}

/// A member of a group of some workers.
pub(crate) fn group(rank: u32, workers: u32) -> MemberResult {
    let mut found = busy(rank, 10, Nanos(1000));
    let jobs = &mut found.result.as_mut().expect("it has one").jobs;
    let first = jobs[0].clone();
    *jobs = (0..workers)
        .map(|clone| {
            let mut job = first.clone();
            job.style.group_reporting = true;
            (job.echo.clone, job.echo.number) = (clone, clone + 1);
            job
        })
        .collect();
    found
}

/// A member that wrote these bytes in 1 MiB blocks, from and until these milliseconds.
pub(crate) fn at_work(rank: u32, bytes: u64, (from, until): (u64, u64)) -> MemberResult {
    let mut job = job();
    let (from, until) = (Nanos::from_millis(from), Nanos::from_millis(until));
    let write = &mut job.directions.write;
    (write.bytes, write.ios, write.runtime) = (bytes, bytes.div_ceil(1 << 20), until - from);
    job.measured = Some(MeasuredPart { from, until });
    member(rank, job)
}

/// Adds samples of written bytes at these milliseconds.
pub(crate) fn with_samples(member: &mut MemberResult, samples: &[(u64, u64)]) {
    let sample = |&(at, bytes): &(u64, u64)| Sample { at: Nanos::from_millis(at), bytes: [0, bytes, 0], ios: [0; 3] };
    member.samples = samples.iter().map(sample).collect();
}
