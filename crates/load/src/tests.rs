//! Loads run to their end without an engine: every I/O completes after a fixed time, and the clock is virtual.

use super::{Load, LoadSetup, Next, Reach, Region, Request};
use measure::{BytesPerSecond, Direction, Nanos, PerDirection};
use plan::{BlockSize, BufferPlan, Distribution, Extent, Generator, JobPlan, Mix, Operation, RateStep, Step};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

const K: u64 = 1024;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn alike<T: Clone>(value: T) -> PerDirection<T> {
    PerDirection { read: value.clone(), write: value.clone(), trim: value }
}

/// A sequential read of 4 KiB blocks.
pub(super) fn job() -> JobPlan {
    let mut job = JobPlan::with_defaults("a", "test", "null");
    job.load.seed = Some(1);
    job.files.invalidate = false;
    job.buffers = buffers();
    job
}

/// A buffer plan whose random bytes never change.
pub(super) fn buffers() -> BufferPlan {
    BufferPlan { scramble: false, ..BufferPlan::default() }
}

fn regions(sizes: &[u64]) -> Vec<Region> {
    sizes.iter().map(|&end| Region { start: 0, end, reach: Reach::Whole }).collect()
}

fn load(job: &JobPlan, regions: &[Region]) -> Load {
    load_number(job, regions, 1)
}

fn load_number(job: &JobPlan, regions: &[Region], number: u32) -> Load {
    let mut load = Load::new(&LoadSetup { job, number, regions, zones: &[], system_seed: 99 }).unwrap();
    load.begin(Nanos(0));
    load
}

/// The requests with their times, and all other steps.
#[derive(Default, Debug)]
struct Trace {
    requests: Vec<(u64, Request)>,
    drains: usize,
    drops: Vec<u32>,
    /// Target and file.
    opened: Vec<(u32, u32)>,
    /// Number of requests before; target, offset and length in KiB.
    ranges: Vec<(usize, u32, u64, u64)>,
    pauses: Vec<(u64, u64, u64)>,
    ended: u64,
}

/// Runs a load at depth 1; each I/O takes `service` nanoseconds. Ends after `most` requests at the latest.
fn run(load: &mut Load, service: u64, most: usize) -> Trace {
    let mut trace = Trace::default();
    let mut now = 0;
    let mut seated: HashMap<u32, u32> = HashMap::new();
    while trace.requests.len() < most {
        match load.next(Nanos(now)) {
            Next::Issue(request) | Next::Review { request, .. } => {
                let seated = seated.get(&request.target).copied().unwrap_or(request.target);
                assert_eq!(seated, request.file, "an I/O goes to the target that has its file");
                trace.requests.push((now, request));
                now += service;
                load.completed(&request);
            }
            Next::Wait(until) => {
                assert!(until.get() > now, "waiting for the past");
                now = until.get();
            }
            Next::Think { until, spin_from } => {
                trace.pauses.push((now, spin_from.get(), until.get()));
                now = until.get();
            }
            Next::Drain | Next::BeginReview | Next::EndReview => trace.drains += 1,
            Next::Open { target, file } => {
                seated.insert(target, file);
                trace.opened.push((target, file));
            }
            Next::SyncRange { request, length } => {
                trace.ranges.push((trace.requests.len(), request.file, request.offset / K, length / K));
            }
            Next::DropCache(target) => trace.drops.push(target),
            Next::Zone { request, action, .. } => {
                if action.is_trim() {
                    trace.requests.push((now, request));
                }
                load.zone_done(&request, action, Ok(0));
            }
            Next::Stop => break,
        }
    }
    trace.ended = now;
    trace
}

fn trace(job: &JobPlan, regions: &[Region]) -> Trace {
    run(&mut load(job, regions), 1000, 1_000_000)
}

/// `R0+4/0` as in the golden sequences: operation, offset and length in KiB, target.
fn words(trace: &Trace) -> String {
    let word = |(_, request): &(u64, Request)| {
        let letter = match request.operation {
            Operation::Read => 'R',
            Operation::Write => 'W',
            Operation::Trim => 'T',
            Operation::Sync => 'S',
            Operation::DataSync => 'D',
        };
        format!("{letter}{}+{}/{}", request.offset / K, u64::from(request.length) / K, request.file)
    };
    trace.requests.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn bytes(trace: &Trace) -> u64 {
    trace.requests.iter().map(|(_, request)| u64::from(request.length)).sum()
}

fn offsets(trace: &Trace) -> Vec<u64> {
    trace.requests.iter().map(|(_, request)| request.offset).collect()
}

fn count(trace: &Trace, operation: Operation) -> usize {
    trace.requests.iter().filter(|(_, request)| request.operation == operation).count()
}

mod amounts;
mod cost;
mod coverage;
mod device_zones;
mod extremes;
mod golden;
mod handling;
mod newest;
mod pacing;
mod steps;
mod zones;
